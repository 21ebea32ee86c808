/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How large a call is. sd-bus does not tell, so its content is walked, as far as it may be. */
#pragma once

#include <systemd/sd-bus.h>

/*
 * About what a call holds in memory. -EMSGSIZE: it is larger than max, or deeper than anything that
 * is understood here; -EBADMSG: it has descriptors, or cannot be read. The message is rewound.
 */
int call_size(sd_bus_message *call, size_t max, size_t *ret);
