/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that nobody reads. The bus daemon keeps them for who asked, counts them against us, and
 * takes nothing from us any more when they are too many (127 MiB on the system bus): then everybody
 * waits for those who do not read. So while others than root are served the bus daemon is asked how
 * much of ours it keeps; and when that is a lot, whose it is. Those users get no more until they have
 * read.
 *
 * A bus daemon that does not tell is not asked again. (dbus-broker ends the connection of a client
 * who does not read.)
 */
#pragma once

#include "bus/budget.h"
#include "bus/callers.h"

typedef struct Unread Unread;

/* All are borrowed; bus is on a loop already. */
int unread_new(sd_bus *bus, Callers *callers, Users *users, Unread **ret);

/* Somebody else than root is served. */
void unread_served(Unread *unread);
/* Whether he must read first. */
bool unread_blocks(const Unread *unread, const User *user);
/* He has left the bus, and what was kept for him is dropped. */
void unread_left(Unread *unread, Caller *caller);

Unread *unread_free(Unread *unread);
DEFINE_CLEANUP(Unread, unread_free)
