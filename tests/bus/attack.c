/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a local user without privilege can do to a service on the bus, as much of it as goes:
 *
 *   attack COUNT KIND [SECONDS [SERVICE]]
 *   attack serve NAME
 *   attack poll
 *
 * It ends after COUNT messages or SECONDS (20), whichever comes first, and prints how many it sent
 * and how many answers it read. SERVICE is org.gpupass1, unless another is given. `serve` is a
 * service of the attacker's own that does nothing: what an attack costs on this machine and this
 * bus without gpupassd. `poll` is no attack: one call of gpupassd for each line it reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "gpupass/dbus.h"

#define SECONDS 20
#define SECONDS_MAX 3600
/* So that the bus's own limit of calls without an answer (128) is not what is met first. */
#define OPEN_MAX_CALLS 100
#define CONNECTIONS 100
#define DESCRIPTORS 16
#define LARGE_BYTES (1024U * 1024)
#define HUGE_BYTES (30U * 1024 * 1024)

typedef struct Attack {
	const char *service;
	unsigned count;
	time_t deadline;
	unsigned sent, answered, open;
	char *text; /* of large calls */
} Attack;

typedef int (*NewCall)(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret);

static bool over(const Attack *a)
{
	return a->sent >= a->count || time(NULL) >= a->deadline;
}

/* ---- calls ---- */

static int new_call(Attack *a, sd_bus *bus, const char *member, sd_bus_message **ret)
{
	return sd_bus_message_new_method_call(bus, ret, a->service, GPUPASS_PATH_ROOT,
					      GPUPASS_IFACE_MANAGER, member);
}

static int new_assign(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	int r = new_call(a, bus, "Assign", ret);

	return r < 0 ? r : sd_bus_message_append(*ret, "ssa{sv}", "vm42", "pair0", 0);
}

static int new_plan(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	int r = new_call(a, bus, "Plan", ret);

	return r < 0 ? r : sd_bus_message_append(*ret, "ssa{sv}", "vm42", "pair0", 0);
}

static int new_with_text(Attack *a, sd_bus *bus, size_t bytes, sd_bus_message **ret)
{
	int r;

	if (!a->text) {
		a->text = malloc(bytes + 1);
		if (!a->text)
			return -ENOMEM;
		memset(a->text, 'x', bytes);
		a->text[bytes] = '\0';
	}
	r = new_call(a, bus, "Assign", ret);
	return r < 0 ? r : sd_bus_message_append(*ret, "ssa{sv}", a->text, "pair0", 0);
}

static int new_large(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	return new_with_text(a, bus, LARGE_BYTES, ret);
}

static int new_huge(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	return new_with_text(a, bus, HUGE_BYTES, ret);
}

static int append_descriptors(sd_bus_message *m)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : 0;
	char key[16];

	for (unsigned i = 0; r >= 0 && i < DESCRIPTORS; i++) {
		snprintf(key, sizeof(key), "fd%u", i);
		r = sd_bus_message_append(m, "{sv}", key, "h", fd);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static int new_with_descriptors(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	int r = new_call(a, bus, "Assign", ret);

	if (r >= 0)
		r = sd_bus_message_append(*ret, "ss", "vm42", "pair0");
	if (r >= 0)
		r = sd_bus_message_open_container(*ret, 'a', "{sv}");
	if (r >= 0)
		r = append_descriptors(*ret);
	return r < 0 ? r : sd_bus_message_close_container(*ret);
}

/* Of whatever sd-bus answers by itself. */
static int new_standard(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	static const char *const calls[][3] = {
		{ "ObjectManager", "GetManagedObjects", "" },
		{ "Properties", "GetAll", "s" },
		{ "Introspectable", "Introspect", "" },
		{ "Peer", "GetMachineId", "" },
		{ "Peer", "Ping", "" },
	};
	const char *const *call = calls[i % (sizeof(calls) / sizeof(calls[0]))];
	char interface[64];
	int r;

	snprintf(interface, sizeof(interface), "org.freedesktop.DBus.%s", call[0]);
	r = sd_bus_message_new_method_call(bus, ret, a->service, GPUPASS_PATH_ROOT, interface,
					   call[1]);
	return r < 0 || !*call[2] ? r : sd_bus_message_append(*ret, "s", GPUPASS_IFACE_MANAGER);
}

static int new_objects(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	return new_standard(a, bus, 0, ret);
}

/* What a handler must refuse, each in another way. */
static int new_malformed(Attack *a, sd_bus *bus, unsigned i, sd_bus_message **ret)
{
	int r = new_call(a, bus, i % 7 == 0 ? "NoSuchMethod" : "Assign", ret);

	if (r < 0)
		return r;
	switch (i % 6) {
	case 0:
		return sd_bus_message_append(*ret, "ss", "vm42", "pair0");
	case 1:
		return sd_bus_message_append(*ret, "ssa{sv}", "", "\xc2\xa0", 1, "live", "s", "x");
	case 2:
		return sd_bus_message_append(*ret, "ssa{sv}", "vm42", "", 2, "live", "b", 1, "live",
					     "b", 1);
	case 3:
		return sd_bus_message_append(*ret, "ssa{sv}", "vm42", "", 1, "numa", "v", "v", "v",
					     "v", "v", "v", "v", "v", "v", "s", "x");
	case 4:
		return sd_bus_message_append(*ret, "ssa{sv}", "vm42", "", 1, "timeout", "t",
					     UINT64_MAX);
	default:
		return sd_bus_message_append(*ret, "(ayas)", 3, 1, 2, 3, 2, "a", "b");
	}
}

/* ---- ways to send ---- */

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	Attack *a = userdata;

	a->answered++;
	a->open--;
	return 0;
}

static int connect_bus(sd_bus **ret)
{
	return sd_bus_open_system(ret);
}

/* Nobody waits for an answer, so that only the bus's speed is a limit. */
static int send_without_answer(Attack *a, NewCall new)
{
	sd_bus *bus = NULL;
	int r = connect_bus(&bus);

	while (r >= 0 && !over(a)) {
		sd_bus_message *m = NULL;

		r = new (a, bus, a->sent, &m);
		if (r >= 0)
			r = sd_bus_send(bus, m, NULL);
		sd_bus_message_unref(m);
		/*
		 * The kernel lets a user have so many descriptors on their way: a moment later
		 * again.
		 */
		if (r == -ETOOMANYREFS && usleep(10000) == 0)
			r = 0;
		a->sent++;
		if (r >= 0 && (a->sent % 64 == 0 || a->text))
			r = sd_bus_flush(bus);
	}
	sd_bus_flush_close_unref(bus);
	return r;
}

/* As many as the bus lets be open. */
static int send_and_read(Attack *a, NewCall new)
{
	sd_bus *bus = NULL;
	int r = connect_bus(&bus);

	while (r >= 0 && (!over(a) || (a->open > 0 && time(NULL) < a->deadline))) {
		sd_bus_message *m = NULL;

		if (!over(a) && a->open < OPEN_MAX_CALLS) {
			r = new (a, bus, a->sent, &m);
			if (r >= 0)
				r = sd_bus_call_async(bus, NULL, m, on_answer, a, UINT64_MAX);
			sd_bus_message_unref(m);
			a->sent++;
			a->open++;
			continue;
		}
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, 100000);
	}
	sd_bus_close_unref(bus);
	return r;
}

/* From many connections, and what is answered is never read. */
static int send_unread(Attack *a, NewCall new)
{
	sd_bus *bus[CONNECTIONS] = { NULL };
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < CONNECTIONS; i++)
		r = connect_bus(&bus[i]);
	/* sd-bus says Hello when it processes, and must not read what comes later. */
	for (unsigned i = 0; r >= 0 && i < CONNECTIONS; i++)
		r = sd_bus_flush(bus[i]);
	for (; r >= 0 && !over(a); a->sent++) {
		sd_bus *from = bus[a->sent % CONNECTIONS];
		sd_bus_message *m = NULL;
		uint64_t cookie;

		r = new (a, from, a->sent, &m);
		if (r >= 0)
			r = sd_bus_send(from, m, &cookie);
		sd_bus_message_unref(m);
		/* Slowly enough not to be refused. */
		usleep(2000);
	}
	while (r >= 0 && time(NULL) < a->deadline)
		usleep(100000);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		sd_bus_close_unref(bus[i]);
	return r;
}

/* A name for each call, and it is left before the answer comes. */
static int send_and_leave(Attack *a, NewCall new)
{
	int r = 0;

	while (r >= 0 && !over(a)) {
		sd_bus *bus = NULL;
		sd_bus_message *m = NULL;

		r = connect_bus(&bus);
		if (r >= 0)
			r = new (a, bus, a->sent, &m);
		if (r >= 0)
			r = sd_bus_send(bus, m, NULL);
		sd_bus_message_unref(m);
		sd_bus_flush_close_unref(bus);
		a->sent++;
	}
	return r;
}

static int send_signals(Attack *a, NewCall new)
{
	sd_bus *bus = NULL;
	int r = connect_bus(&bus);

	while (r >= 0 && !over(a)) {
		sd_bus_message *m = NULL;

		r = sd_bus_message_new_signal(bus, &m, "/org/freedesktop/DBus",
					      "org.freedesktop.DBus", "NameOwnerChanged");
		if (r >= 0)
			r = sd_bus_message_append(m, "sss", ":1.1", ":1.1", "");
		if (r >= 0)
			r = sd_bus_send_to(bus, m, a->service, NULL);
		sd_bus_message_unref(m);
		a->sent++;
		if (r >= 0 && a->sent % 64 == 0)
			r = sd_bus_flush(bus);
	}
	sd_bus_flush_close_unref(bus);
	return r;
}

/* ---- all of them ---- */

static const struct Kind {
	const char *name;
	int (*send)(Attack *, NewCall);
	NewCall new;
} kinds[] = {
	{ "descriptors", send_without_answer, new_with_descriptors },
	{ "noreply", send_without_answer, new_assign },
	{ "reply", send_and_read, new_assign },
	{ "plan", send_and_read, new_plan },
	{ "large", send_without_answer, new_large },
	{ "huge", send_without_answer, new_huge },
	{ "malformed", send_and_read, new_malformed },
	{ "objects", send_and_read, new_objects },
	{ "standard", send_and_read, new_standard },
	{ "unread", send_unread, new_objects },
	{ "connect", send_and_leave, new_objects },
	{ "signals", send_signals, NULL },
};

static int usage(void)
{
	fputs("attack COUNT KIND [SECONDS [SERVICE]]\nattack serve NAME\nattack poll\nKIND:",
	      stderr);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(stderr, " %s", kinds[i].name);
	fputs("\n", stderr);
	return 2;
}

static int serve(const char *name)
{
	sd_bus *bus = NULL;
	int r = connect_bus(&bus);

	if (r >= 0)
		r = sd_bus_request_name(bus, name, 0);
	if (r >= 0)
		puts("ready");
	fflush(stdout);
	while (r >= 0) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, UINT64_MAX);
	}
	sd_bus_unref(bus);
	return 1;
}

static int poll_service(void)
{
	sd_bus *bus = NULL;
	int r = connect_bus(&bus);

	while (r >= 0 && getchar() == '\n') {
		r = sd_bus_call_method(bus, GPUPASS_BUS_NAME, GPUPASS_PATH_ROOT,
				       "org.freedesktop.DBus.Properties", "GetAll", NULL, NULL, "s",
				       GPUPASS_IFACE_MANAGER);
		puts(r >= 0 ? "ok" : strerror(-r));
		fflush(stdout);
	}
	sd_bus_unref(bus);
	return r < 0;
}

/* A bus that takes nothing any more must not keep us. */
static void end(int number)
{
	_exit(1);
}

int main(int argc, char **argv)
{
	Attack a = { .service = GPUPASS_BUS_NAME };
	unsigned seconds = SECONDS;
	int r = -EINVAL;

	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2]);
	if (argc == 2 && strcmp(argv[1], "poll") == 0)
		return poll_service();
	if (argc < 3 || argc > 5)
		return usage();
	if (argc > 3)
		seconds = (unsigned)strtoul(argv[3], NULL, 10);
	if (argc > 4)
		a.service = argv[4];
	if (seconds > SECONDS_MAX)
		return usage();
	a.count = (unsigned)strtoul(argv[1], NULL, 10);
	a.deadline = time(NULL) + (time_t)seconds;
	signal(SIGALRM, end);
	alarm(seconds + 10);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[2], kinds[i].name) == 0)
			r = kinds[i].send(&a, kinds[i].new);
	if (r == -EINVAL)
		return usage();
	printf("sent %u\nanswered %u\n", a.sent, a.answered);
	if (r < 0)
		fprintf(stderr, "attack: %s\n", strerror(-r));
	free(a.text);
	return r < 0;
}
