/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of a call. sd-bus has no function for it, so we walk the content, up to a limit. */
#pragma once

#include <systemd/sd-bus.h>

/*
 * Roughly what the call takes in memory. -EMSGSIZE: it is larger than max, or nested more deeply
 * than any of our methods; -EBADMSG: it has file descriptors, or cannot be read. Rewinds the
 * message.
 */
int call_size(sd_bus_message *call, size_t max, size_t *ret);
