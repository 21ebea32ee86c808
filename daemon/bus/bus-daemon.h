/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon asks of the bus daemon itself. */
#pragma once

#include <systemd/sd-bus.h>

#define BUS_DAEMON "org.freedesktop.DBus"

/* Asks about the name of a client. The answer comes to `answered`. */
int bus_daemon_ask(sd_bus *bus, const char *interface, const char *member, const char *name,
		   uint64_t timeout_usec, sd_bus_message_handler_t answered, void *userdata,
		   sd_bus_slot **ret);
/*
 * A number of the dictionary that it answered with. < 0: it did not, or sd-bus answered by
 * itself, as at a deadline; or somebody else did; or that number is not there.
 */
int bus_daemon_read(sd_bus_message *answer, const char *key, uint32_t *ret);
