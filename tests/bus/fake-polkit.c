/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for polkitd on a private bus. What it answers is the first word of a file, read anew
 * for each question:
 *   yes | no | challenge | error | nonsense | silent | leave | hold
 * A challenge becomes a yes where interaction is allowed, as if somebody had typed the password.
 * "silent" never answers; "leave" ends the process instead; what is asked while it is "hold" gets a
 * yes as soon as it is another word. What it is asked is told on standard
 * output, a line each:
 *   check KIND name=NAME ACTION [KEY=DETAIL…] flags=FLAGS id=ID
 *   cancel id=ID
 *
 *   fake-polkit FILE
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define ALLOW_USER_INTERACTION 1U
#define HELD_MAX 32

static sd_bus_message *held[HELD_MAX];
static size_t n_held;

static const char *read_answer(const char *path)
{
	static char word[32];
	FILE *f = fopen(path, "re");

	if (!f || fscanf(f, "%31s", word) != 1)
		strcpy(word, "no");
	if (f)
		fclose(f);
	return word;
}

static int read_subject(sd_bus_message *m)
{
	const char *kind, *key, *name;
	int r;

	r = sd_bus_message_enter_container(m, 'r', "sa{sv}");
	if (r >= 0)
		r = sd_bus_message_read(m, "s", &kind);
	if (r >= 0)
		r = sd_bus_message_read(m, "a{sv}", 1, &key, "s", &name);
	if (r >= 0)
		r = sd_bus_message_exit_container(m);
	if (r >= 0)
		printf(" %s %s=%s", kind, key, name);
	return r;
}

static int read_details(sd_bus_message *m)
{
	const char *key, *value;
	int r = sd_bus_message_enter_container(m, 'a', "{ss}");

	while (r >= 0 && (r = sd_bus_message_read(m, "{ss}", &key, &value)) > 0)
		printf(" %s=%s", key, value);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int reply(sd_bus_message *m, const char *answer, bool interactive)
{
	bool challenge = strcmp(answer, "challenge") == 0;
	bool yes = strcmp(answer, "yes") == 0 || (challenge && interactive);

	if (strcmp(answer, "hold") == 0 && n_held < HELD_MAX)
		held[n_held++] = sd_bus_message_ref(m);
	if (strcmp(answer, "silent") == 0 || strcmp(answer, "hold") == 0)
		return 1;
	if (strcmp(answer, "leave") == 0)
		exit(0);
	if (strcmp(answer, "error") == 0)
		return sd_bus_reply_method_errorf(m, "org.freedesktop.PolicyKit1.Error.Failed",
						  "polkit is not well");
	if (strcmp(answer, "nonsense") == 0)
		return sd_bus_reply_method_return(m, "s", "yes");
	return sd_bus_reply_method_return(m, "(bba{ss})", yes, challenge && !yes, 0);
}

static int check(sd_bus_message *m, const char *path)
{
	const char *action, *id;
	uint32_t flags;
	int r;

	printf("check");
	r = read_subject(m);
	if (r >= 0)
		r = sd_bus_message_read(m, "s", &action);
	if (r >= 0)
		r = printf(" %s", action);
	if (r >= 0)
		r = read_details(m);
	if (r >= 0)
		r = sd_bus_message_read(m, "us", &flags, &id);
	if (r < 0)
		return r;
	printf(" flags=%u id=%s\n", flags, id);
	return reply(m, read_answer(path), flags & ALLOW_USER_INTERACTION);
}

static int cancel(sd_bus_message *m)
{
	const char *id;
	int r = sd_bus_message_read(m, "s", &id);

	if (r < 0)
		return r;
	printf("cancel id=%s\n", id);
	return sd_bus_reply_method_return(m, NULL);
}

/* Not a vtable: that would not let an answer of the wrong type through. */
static int on_call(sd_bus_message *m, void *userdata, __attribute__((unused)) sd_bus_error *error)
{
	static const char authority[] = "org.freedesktop.PolicyKit1.Authority";

	if (sd_bus_message_is_method_call(m, authority, "CheckAuthorization"))
		return check(m, userdata);
	if (sd_bus_message_is_method_call(m, authority, "CancelCheckAuthorization"))
		return cancel(m);
	return 0;
}

static int release(const char *path)
{
	int r = 0;

	if (n_held == 0 || strcmp(read_answer(path), "hold") == 0)
		return 0;
	while (r >= 0 && n_held > 0) {
		r = reply(held[--n_held], "yes", false);
		sd_bus_message_unref(held[n_held]);
	}
	return r;
}

static int serve(const char *path)
{
	sd_bus *bus = NULL;
	int r;

	setlinebuf(stdout);
	r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = sd_bus_add_object(bus, NULL, "/org/freedesktop/PolicyKit1/Authority", on_call,
				      (char *)path);
	if (r >= 0)
		r = sd_bus_request_name(bus, "org.freedesktop.PolicyKit1", 0);
	if (r >= 0)
		puts("ready");
	while (r >= 0) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, n_held > 0 ? 50000 : UINT64_MAX);
		if (r >= 0)
			r = release(path);
		if (r == -EINTR)
			r = 0;
	}
	sd_bus_unref(bus);
	return r;
}

int main(int argc, char **argv)
{
	int r = argc == 2 ? serve(argv[1]) : -EINVAL;

	if (r == -ENOTCONN || r == -ECONNRESET)
		return 0; /* the bus has gone */
	fprintf(stderr, "fake-polkit: %s\n", strerror(-r));
	return 1;
}
