/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/bus-daemon.h"

#include <errno.h>

#include "gpupass/cleanup.h"
#include "util/text.h"

int bus_daemon_ask(sd_bus *bus, const char *interface, const char *member, const char *name,
		   uint64_t timeout_usec, sd_bus_message_handler_t answered, void *userdata,
		   sd_bus_slot **ret)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(bus, &m, BUS_DAEMON, "/org/freedesktop/DBus",
					       interface, member);

	if (r >= 0)
		r = sd_bus_message_append(m, "s", name);
	return r < 0 ? r : sd_bus_call_async(bus, ret, m, answered, userdata, timeout_usec);
}

/* Values have any type. 1: that was it. */
static int read_entry(sd_bus_message *answer, const char *wanted, uint32_t *ret)
{
	const char *key;
	int r = sd_bus_message_read(answer, "s", &key);

	if (r < 0)
		return r;
	if (str_equal(key, wanted))
		return sd_bus_message_read(answer, "v", "u", ret);
	r = sd_bus_message_skip(answer, "v");
	return r < 0 ? r : 0;
}

int bus_daemon_read(sd_bus_message *answer, const char *key, uint32_t *ret)
{
	int r;

	if (sd_bus_message_is_method_error(answer, NULL) ||
	    !str_equal(sd_bus_message_get_sender(answer), BUS_DAEMON))
		return -EPROTO;
	r = sd_bus_message_rewind(answer, true);
	if (r >= 0)
		r = sd_bus_message_enter_container(answer, 'a', "{sv}");
	while (r >= 0 && (r = sd_bus_message_enter_container(answer, 'e', "sv")) > 0) {
		r = read_entry(answer, key, ret);
		if (r != 0)
			return r;
		r = sd_bus_message_exit_container(answer);
	}
	return r < 0 ? r : -ENODATA;
}
