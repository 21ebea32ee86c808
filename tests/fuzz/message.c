/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "message.h"

#include <sys/socket.h>

#define VALUES_MAX 5 /* in one array */

sd_bus_message *message_new(void)
{
	static sd_bus *bus;
	sd_bus_message *m = NULL;
	int ends[2];

	if (!bus) {
		EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
		EXPECT(sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, ends[0], ends[0]) >= 0);
		EXPECT(sd_bus_start(bus) >= 0);
	}
	EXPECT(sd_bus_message_new_method_call(bus, &m, "org.test", "/", "org.test", "Call") >= 0);
	return m;
}

/* type: one of "a(…)", "as" and the like. */
static int append_array(sd_bus_message *m, const char *type, FuzzBytes *from)
{
	size_t n = fuzz_byte(from) % (VALUES_MAX + 1);
	int r = sd_bus_message_open_container(m, 'a', type + 1);

	for (; r >= 0 && n > 0; n--)
		r = message_append(m, type + 1, from);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_struct(sd_bus_message *m, const char *type, FuzzBytes *from)
{
	_cleanup_free_ char *inside = strndup(type + 1, strlen(type) - 2);
	int r;

	EXPECT(inside);
	r = sd_bus_message_open_container(m, 'r', inside);
	for (const char *c = inside; r >= 0 && *c; c++)
		r = message_append(m, (char[]){ *c, '\0' }, from);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_basic(sd_bus_message *m, char type, FuzzBytes *from)
{
	static const char *const paths[] = { "/", "/org/gpupass1/job/7", "/org/gpupass1/group/a" };
	_cleanup_free_ char *text = NULL;
	uint64_t number;

	switch (type) {
	case 's':
		text = fuzz_string(from, 60);
		return sd_bus_message_append_basic(m, 's', text);
	case 'o':
		return sd_bus_message_append_basic(m, 'o',
						   paths[fuzz_byte(from) % ELEMENTS(paths)]);
	case 'b':
		return sd_bus_message_append_basic(m, 'b', &(int){ fuzz_byte(from) & 1 });
	default:
		/* Little-endian, as all that gpupass runs on: the lower bytes are the number. */
		number = fuzz_number(from, 8);
		return sd_bus_message_append_basic(m, type, &number);
	}
}

int message_append(sd_bus_message *m, const char *type, FuzzBytes *from)
{
	if (*type == 'a')
		return append_array(m, type, from);
	if (*type == '(')
		return append_struct(m, type, from);
	return append_basic(m, *type, from);
}

int message_append_entry(sd_bus_message *m, const char *name, const char *type, FuzzBytes *from)
{
	int r = sd_bus_message_open_container(m, 'e', "sv");

	if (r >= 0)
		r = sd_bus_message_append_basic(m, 's', name);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', type);
	if (r >= 0)
		r = message_append(m, type, from);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

void message_seal(sd_bus_message *m)
{
	EXPECT(sd_bus_message_close_container(m) >= 0);
	EXPECT(sd_bus_message_seal(m, 1, 0) >= 0 && sd_bus_message_rewind(m, true) >= 0);
}
