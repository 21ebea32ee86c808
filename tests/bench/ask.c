/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks the daemon for all its objects, as clients do that start:
 *
 *   ask load CLIENTS CALLS PAUSE     each of CLIENTS connections makes CALLS calls, and waits PAUSE
 *                                    milliseconds after an answer; prints microseconds from call to
 *                                    answer, one a line
 *   ask again                        for each line on stdin asks until there is an answer, and
 *                                    prints the monotonic clock then, in nanoseconds
 *
 * Ends by itself: after the last answer, or with 1 after a minute without any.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "gpupass/dbus.h"

#define CLIENTS_MAX 1024
#define CALLS_MAX 100000
#define PAUSE_MAX_MS 60000
#define PATIENCE_USEC (60 * UINT64_C(1000000))
#define AGAIN_PAUSE_NSEC 500000

typedef struct Load {
	sd_event *event;
	unsigned calls, open;
	uint64_t pause_usec;
} Load;

typedef struct Client {
	Load *load;
	sd_bus *bus;
	sd_event_source *timer;
	unsigned left;
	uint64_t since;
} Client;

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int new_call(sd_bus *bus, sd_bus_message **ret)
{
	return sd_bus_message_new_method_call(bus, ret, GPUPASS_BUS_NAME, GPUPASS_PATH_ROOT,
					      "org.freedesktop.DBus.ObjectManager",
					      "GetManagedObjects");
}

static int on_answer(sd_bus_message *answer, void *userdata,
		     __attribute__((unused)) sd_bus_error *error)
{
	Client *client = userdata;
	Load *load = client->load;

	if (sd_bus_message_is_method_error(answer, NULL)) {
		fprintf(stderr, "ask: %s\n", sd_bus_message_get_error(answer)->message);
		return sd_event_exit(load->event, 1);
	}
	printf("%llu\n", (unsigned long long)(now_ns() - client->since) / 1000);
	if (--client->left == 0)
		return --load->open == 0 ? sd_event_exit(load->event, 0) : 0;
	sd_event_source_set_time_relative(client->timer, load->pause_usec);
	return sd_event_source_set_enabled(client->timer, SD_EVENT_ONESHOT);
}

static int on_turn(__attribute__((unused)) sd_event_source *source,
		   __attribute__((unused)) uint64_t usec, void *userdata)
{
	Client *client = userdata;
	sd_bus_message *call = NULL;
	int r = new_call(client->bus, &call);

	client->since = now_ns();
	if (r >= 0)
		r = sd_bus_call_async(client->bus, NULL, call, on_answer, client, PATIENCE_USEC);
	sd_bus_message_unref(call);
	return r < 0 ? sd_event_exit(client->load->event, 1) : 0;
}

/* The first calls are spread over one pause. */
static int begin(Load *load, Client *client, uint64_t delay_usec)
{
	int r = sd_bus_open_system(&client->bus);

	client->load = load;
	client->left = load->calls;
	if (r >= 0)
		r = sd_bus_attach_event(client->bus, load->event, 0);
	return r < 0 ? r
		     : sd_event_add_time_relative(load->event, &client->timer, CLOCK_MONOTONIC,
						  delay_usec, 1, on_turn, client);
}

static int put_load(unsigned n, Load *load)
{
	Client *clients = calloc(n, sizeof(Client));
	int r = sd_event_new(&load->event);

	load->open = n;
	for (unsigned i = 0; r >= 0 && i < n; i++)
		r = begin(load, &clients[i], 1000 + load->pause_usec * i / n);
	if (r >= 0)
		r = sd_event_loop(load->event);
	for (unsigned i = 0; i < n; i++) {
		sd_event_source_unref(clients[i].timer);
		sd_bus_flush_close_unref(clients[i].bus);
	}
	free(clients);
	sd_event_unref(load->event);
	return r;
}

static int ask_until_answered(sd_bus *bus)
{
	const struct timespec pause = { .tv_nsec = AGAIN_PAUSE_NSEC };
	uint64_t deadline = now_ns() + PATIENCE_USEC * 1000;

	for (;;) {
		sd_bus_message *call = NULL, *answer = NULL;
		int r = new_call(bus, &call);

		if (r < 0)
			return r;
		r = sd_bus_call(bus, call, PATIENCE_USEC, NULL, &answer);
		sd_bus_message_unref(call);
		sd_bus_message_unref(answer);
		if (r >= 0)
			return printf("%llu\n", (unsigned long long)now_ns());
		if (now_ns() > deadline)
			return r;
		nanosleep(&pause, NULL);
	}
}

static int ask_again(void)
{
	sd_bus *bus = NULL;
	char line[32];
	int r = sd_bus_open_system(&bus);

	while (r >= 0 && fgets(line, sizeof(line), stdin)) {
		r = ask_until_answered(bus);
		fflush(stdout);
	}
	sd_bus_flush_close_unref(bus);
	return r < 0 ? r : 0;
}

static bool number(const char *text, unsigned long max, unsigned *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*ret = (unsigned)n;
	return *text && !*end && n <= max;
}

int main(int argc, char **argv)
{
	unsigned clients, pause_ms;
	Load load = { 0 };
	int r;

	if (argc == 2 && strcmp(argv[1], "again") == 0) {
		r = ask_again();
	} else if (argc == 5 && strcmp(argv[1], "load") == 0 &&
		   number(argv[2], CLIENTS_MAX, &clients) && clients > 0 &&
		   number(argv[3], CALLS_MAX, &load.calls) && load.calls > 0 &&
		   number(argv[4], PAUSE_MAX_MS, &pause_ms)) {
		load.pause_usec = pause_ms * UINT64_C(1000);
		r = put_load(clients, &load);
	} else {
		fputs("Usage: ask load CLIENTS CALLS PAUSE | ask again\n", stderr);
		return 2;
	}
	if (r < 0)
		fprintf(stderr, "ask: %s\n", strerror(-r));
	return r != 0;
}
