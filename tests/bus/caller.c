/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client that stays: one connection, and one call of the daemon for each line that it reads. So a
 * test can make thousands of calls, by several clients at once, without a process for each.
 *
 *   caller
 *
 * Lines, and what it prints for each, one line:
 *   Assign DOMAIN GROUP | Release TARGET | Bind GROUP | Unbind GROUP | Reconcile GROUP
 *   Forget GROUP | Clear GROUP | Declare GROUP GPU…
 *       "done", when the call and its job have succeeded; otherwise the error's name and the first
 *       line of its message
 *   get PATH INTERFACE PROPERTY
 *       a property that is a string or a path, or the error's name
 *   leave MICROSECONDS MEMBER ARGUMENT…
 *       "left": it sends the call, waits so long, and leaves the bus without an answer; the next
 *       line finds it on the bus again, under another name
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "gpupass/dbus.h"

#define WORDS_MAX 16

typedef struct Caller {
	sd_bus *bus;
	char path[128]; /* of the job that is awaited */
	char result[64], error[128], message[256];
	bool removed;
} Caller;

static void first_line(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static int on_removed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	const char *path, *result, *error, *message;
	Caller *c = userdata;
	uint32_t id;

	if (sd_bus_message_read(m, "uosss", &id, &path, &result, &error, &message) < 0 ||
	    strcmp(path, c->path) != 0)
		return 0;
	first_line(c->result, sizeof(c->result), result);
	first_line(c->error, sizeof(c->error), error);
	first_line(c->message, sizeof(c->message), message);
	c->removed = true;
	return 0;
}

static int join(Caller *c)
{
	int r = sd_bus_open_system(&c->bus);

	return r < 0 ? r
		     : sd_bus_match_signal(c->bus, NULL, GPUPASS_BUS_NAME, GPUPASS_PATH_ROOT,
					   GPUPASS_IFACE_MANAGER, "JobRemoved", on_removed, c);
}

static int new_call(Caller *c, char **words, sd_bus_message **ret)
{
	bool declares = strcmp(words[0], "Declare") == 0;
	int r = sd_bus_message_new_method_call(c->bus, ret, GPUPASS_BUS_NAME, GPUPASS_PATH_ROOT,
					       GPUPASS_IFACE_MANAGER, words[0]);

	for (char **w = words + 1; r >= 0 && *w && (!declares || w == words + 1); w++)
		r = sd_bus_message_append(*ret, "s", *w);
	if (r >= 0 && declares)
		r = sd_bus_message_append_strv(*ret, words + 2);
	return r < 0 ? r : sd_bus_message_append(*ret, "a{sv}", 0);
}

static int wait_for_job(Caller *c)
{
	while (!c->removed) {
		int r = sd_bus_process(c->bus, NULL);

		if (r == 0)
			r = sd_bus_wait(c->bus, UINT64_MAX);
		if (r < 0)
			return r;
	}
	if (strcmp(c->result, "done") == 0)
		puts("done");
	else
		printf("%s %s\n", c->error, c->message);
	return 0;
}

static int call(Caller *c, char **words)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL, *reply = NULL;
	const char *path;
	int r = 1;

	/* Signals that came meanwhile: of the daemon before, whose jobs had the same paths. */
	*c->path = '\0';
	while (r > 0)
		r = sd_bus_process(c->bus, NULL);
	c->removed = false;
	if (r >= 0)
		r = new_call(c, words, &m);
	if (r >= 0)
		r = sd_bus_call(c->bus, m, 0, &error, &reply);
	if (r < 0 && sd_bus_error_is_set(&error)) {
		first_line(c->message, sizeof(c->message), error.message);
		printf("%s %s\n", error.name, c->message);
		r = 0;
	} else if (r >= 0 && sd_bus_message_has_signature(reply, "o") &&
		   strcmp(words[0], "Declare") != 0) {
		r = sd_bus_message_read(reply, "o", &path);
		snprintf(c->path, sizeof(c->path), "%s", path);
		if (r >= 0)
			r = wait_for_job(c);
	} else if (r >= 0) {
		puts("done");
	}
	sd_bus_error_free(&error);
	sd_bus_message_unref(reply);
	sd_bus_message_unref(m);
	return r;
}

static void get(Caller *c, char **words)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *value = NULL, *type;
	char kind;
	int r = sd_bus_get_property(c->bus, GPUPASS_BUS_NAME, words[1], words[2], words[3], &error,
				    &reply, "s");

	if (r < 0)
		r = sd_bus_get_property(c->bus, GPUPASS_BUS_NAME, words[1], words[2], words[3],
					&error, &reply, "o");
	if (r >= 0)
		r = sd_bus_message_peek_type(reply, &kind, &type);
	if (r >= 0)
		r = sd_bus_message_read_basic(reply, kind, &value);
	puts(value ? value : error.name ? error.name : strerror(-r));
	sd_bus_error_free(&error);
	sd_bus_message_unref(reply);
}

static int leave(Caller *c, char **words)
{
	sd_bus_message *m = NULL;
	int r = new_call(c, words + 2, &m);

	if (r >= 0)
		r = sd_bus_send(c->bus, m, &(uint64_t){ 0 });
	if (r >= 0)
		r = sd_bus_flush(c->bus);
	sd_bus_message_unref(m);
	usleep((useconds_t)strtoul(words[1], NULL, 10));
	sd_bus_close_unref(c->bus);
	c->bus = NULL;
	puts("left");
	return r < 0 ? r : join(c);
}

static int obey(Caller *c, char *line)
{
	char *words[WORDS_MAX + 1] = { NULL }, *rest = NULL;
	size_t n = 0;

	for (char *w = strtok_r(line, " \n", &rest); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " \n", &rest))
		words[n++] = w;
	if (n >= 4 && strcmp(words[0], "get") == 0) {
		get(c, words);
		return 0;
	}
	if (n >= 3 && strcmp(words[0], "leave") == 0)
		return leave(c, words);
	return n >= 2 ? call(c, words) : -EINVAL;
}

int main(void)
{
	Caller c = { 0 };
	char *line = NULL;
	size_t size = 0;
	int r = join(&c);

	setlinebuf(stdout);
	if (r >= 0)
		puts("ready");
	while (r >= 0 && getline(&line, &size, stdin) > 0)
		r = obey(&c, line);
	if (r < 0)
		fprintf(stderr, "caller: %s\n", strerror(-r));
	free(line);
	sd_bus_unref(c.bus);
	return r < 0;
}
