/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon asks of the bus daemon itself, and whether an answer is that one's. */
#pragma once

#include <systemd/sd-bus.h>

#define BUS_DAEMON "org.freedesktop.DBus"
#define BUS_DAEMON_PATH "/org/freedesktop/DBus"

/*
 * 0: the bus daemon's own answer. < 0: an error, also one that sd-bus makes itself, as at a
 * deadline; -EPROTO: somebody else's.
 */
int bus_daemon_answered(sd_bus_message *answer);
