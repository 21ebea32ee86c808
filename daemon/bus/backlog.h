/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What listeners have not read, as a `gpupass monitor` that was stopped: the bus daemon keeps it
 * and counts it against us. At 127 MiB (on the system bus) it would take nothing from us any more,
 * and everybody would wait. So once a second, while we tell anything, we ask how much it keeps.
 *
 * A bus daemon that does not say is asked once. (dbus-broker disconnects a client that does not
 * read.)
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

typedef struct Backlog Backlog;

/* much: more than 8 MiB are unread; or, after that, less than half of it. */
typedef void (*BacklogChanged)(bool much, void *userdata);
/* The bus is borrowed, and on a loop already. */
int backlog_new(sd_bus *bus, BacklogChanged changed, void *userdata, Backlog **ret);
/* Something was sent that any number of listeners may have to read. */
void backlog_told(Backlog *backlog);
