/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/call-size.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Options are a{sv}: an array, its entry, a variant, and what is in that. */
#define DEPTH_MAX 8
/* Counted for each value, so that many empty values add up, too. */
#define VALUE_BYTES 8

static int read_value(sd_bus_message *m, char type, size_t *ret)
{
	union {
		const char *text;
		uint64_t number;
	} value = { .number = 0 };
	int r;

	if (type == SD_BUS_TYPE_UNIX_FD)
		return -EBADMSG;
	r = sd_bus_message_read_basic(m, type, &value);
	if (r < 0)
		return r;
	*ret = strchr("sog", type) ? strlen(value.text) : 0;
	return 0;
}

static int add_values(sd_bus_message *m, size_t max, unsigned depth, size_t *sum);

static int add_container(sd_bus_message *m, char type, const char *contents, size_t max,
			 unsigned depth, size_t *sum)
{
	int r;

	if (depth == DEPTH_MAX)
		return -EMSGSIZE;
	r = sd_bus_message_enter_container(m, type, contents);
	if (r >= 0)
		r = add_values(m, max, depth + 1, sum);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* Until the end of what was entered. */
static int add_values(sd_bus_message *m, size_t max, unsigned depth, size_t *sum)
{
	const char *contents;
	char type;
	int r;

	for (;;) {
		size_t bytes = 0;

		r = sd_bus_message_peek_type(m, &type, &contents);
		if (r <= 0)
			return r;
		r = strchr("avre", type) ? add_container(m, type, contents, max, depth, sum)
					 : read_value(m, type, &bytes);
		if (r < 0)
			return r;
		*sum += bytes + VALUE_BYTES;
		if (*sum > max)
			return -EMSGSIZE;
	}
}

int call_size(sd_bus_message *call, size_t max, size_t *ret)
{
	const char *path = sd_bus_message_get_path(call);
	size_t sum = path ? strlen(path) : 0;
	int r, rewound;

	r = sum > max ? -EMSGSIZE : add_values(call, max, 0, &sum);
	rewound = sd_bus_message_rewind(call, true);
	if (r >= 0)
		r = rewound;
	if (r >= 0)
		*ret = sum;
	return r >= 0 || r == -EMSGSIZE ? r : -EBADMSG;
}
