/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/bus-daemon.h"

#include <errno.h>

#include "util/text.h"

int bus_daemon_answered(sd_bus_message *answer)
{
	if (sd_bus_message_is_method_error(answer, NULL)) {
		int r = sd_bus_message_get_errno(answer);

		return r > 0 ? -r : -EPROTO;
	}
	return str_equal(sd_bus_message_get_sender(answer), BUS_DAEMON) ? 0 : -EPROTO;
}
