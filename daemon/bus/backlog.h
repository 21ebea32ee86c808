/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backlog: answers that callers do not read. The bus daemon keeps them, and counts them against
 * us. When they are too many (127 MiB on the system bus), it takes nothing from us any more, and
 * then every caller waits for those who do not read. So while we serve others than root, we ask the
 * bus daemon how much of ours it keeps. When that is a lot, we ask whose it is. Those users get no
 * more answers until they have read.
 *
 * A bus daemon that cannot tell is asked once. (dbus-broker closes the connection of a client that
 * does not read.)
 */
#pragma once

#include "bus/budget.h"
#include "bus/callers.h"

typedef struct Backlog Backlog;

/* All are borrowed; bus is on a loop already. */
int backlog_new(sd_bus *bus, Callers *callers, Users *users, Backlog **ret);

/* Somebody else than root is served. */
void backlog_served(Backlog *backlog);
/* This user must read first. */
bool backlog_blocks(const Backlog *backlog, const User *user);
/* The caller has left the bus, which drops what it kept for it. */
void backlog_left(Backlog *backlog, Caller *caller);

Backlog *backlog_free(Backlog *backlog);
DEFINE_CLEANUP(Backlog, backlog_free)
