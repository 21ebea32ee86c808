/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends a method of the daemon many times at once, without waiting, and counts the answers:
 *
 *   flood COUNT assign|huge|plan|rescan
 *
 * Prints "NAME COUNT" for each kind of answer, "ok" for those without an error. Ends when all have
 * been answered, or with 1 after a minute.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include "gpupass/dbus.h"

#define KINDS_MAX 16
#define NAME_MAX_BYTES 128
#define PATIENCE_SECONDS 60
#define HUGE_BYTES (30U * 1024 * 1024)

typedef struct Answers {
	char names[KINDS_MAX][NAME_MAX_BYTES];
	unsigned counts[KINDS_MAX];
	unsigned total;
} Answers;

static int on_answer(sd_bus_message *answer, void *userdata,
		     __attribute__((unused)) sd_bus_error *error)
{
	const sd_bus_error *e = sd_bus_message_get_error(answer);
	const char *name = e ? e->name : "ok";
	Answers *answers = userdata;

	answers->total++;
	for (size_t i = 0; i < KINDS_MAX; i++) {
		if (answers->counts[i] == 0) {
			snprintf(answers->names[i], NAME_MAX_BYTES, "%s", name);
			/* At once: the test waits for the first answer of a kind. */
			printf("%s 0\n", name);
			fflush(stdout);
		} else if (strcmp(answers->names[i], name) != 0) {
			continue;
		}
		answers->counts[i]++;
		break;
	}
	return 0;
}

static int append_huge(sd_bus_message *m)
{
	char *text = calloc(1, HUGE_BYTES + 1);
	int r;

	memset(text, 'x', HUGE_BYTES);
	r = sd_bus_message_append(m, "s", text);
	free(text);
	return r;
}

static int new_call(sd_bus *bus, const char *kind, sd_bus_message **ret)
{
	static const char *const members[][2] = {
		{ "assign", "Assign" },
		{ "huge", "Bind" },
		{ "plan", "Plan" },
		{ "rescan", "Rescan" },
	};
	const char *member = NULL;
	int r;

	for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
		if (strcmp(kind, members[k][0]) == 0)
			member = members[k][1];
	if (!member)
		return -EINVAL;
	r = sd_bus_message_new_method_call(bus, ret, GPUPASS_BUS_NAME, GPUPASS_PATH_ROOT,
					   GPUPASS_IFACE_MANAGER, member);
	if (r < 0)
		return r;
	if (strcmp(kind, "huge") == 0)
		r = append_huge(*ret);
	else if (strcmp(kind, "rescan") != 0)
		r = sd_bus_message_append(*ret, "ss", "vm42", "pair0");
	return r < 0 ? r : sd_bus_message_append(*ret, "a{sv}", 0);
}

static int send_all(sd_bus *bus, const char *kind, unsigned count, Answers *answers)
{
	for (unsigned i = 0; i < count; i++) {
		sd_bus_message *call = NULL;
		int r = new_call(bus, kind, &call);

		if (r >= 0)
			r = sd_bus_call_async(bus, NULL, call, on_answer, answers,
					      PATIENCE_SECONDS * UINT64_C(1000000));
		sd_bus_message_unref(call);
		if (r < 0)
			return r;
	}
	return 0;
}

static int flood(const char *kind, unsigned count, Answers *answers)
{
	time_t deadline = time(NULL) + PATIENCE_SECONDS;
	sd_bus *bus = NULL;
	int r;

	r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = send_all(bus, kind, count, answers);
	while (r >= 0 && answers->total < count && time(NULL) < deadline) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, UINT64_C(1000000));
	}
	sd_bus_flush_close_unref(bus);
	return r < 0 ? r : answers->total == count ? 0 : -ETIMEDOUT;
}

int main(int argc, char **argv)
{
	static Answers answers;
	int r;

	if (argc != 3)
		return 2;
	r = flood(argv[2], (unsigned)strtoul(argv[1], NULL, 10), &answers);
	for (size_t i = 0; i < KINDS_MAX && answers.counts[i] > 0; i++)
		printf("%s %u\n", answers.names[i], answers.counts[i]);
	if (r < 0)
		fprintf(stderr, "flood: %s\n", strerror(-r));
	return r < 0;
}
