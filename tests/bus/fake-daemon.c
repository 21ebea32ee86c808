/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon for tests of the client: it owns org.gpupass1 on the system bus it finds and says what
 * a scenario tells it to, right or wrong. It knows nothing of GPUs.
 *
 *   fake-daemon SCENARIO.json CALLS.log
 *
 * {"objects": {PATH: {INTERFACE: {PROPERTY: [SIGNATURE, VALUE]}}},
 *  "methods": {"Assign": {"before": [ACTION…],
 *                         "reply": [SIGNATURE, VALUE…] | "error": [NAME, MESSAGE] | nothing at all,
 *                         "then": [ACTION…]}}}
 *
 * ACTION is an object with one of
 *   "set": [PATH, INTERFACE, {PROPERTY: [SIGNATURE, VALUE]}]   with PropertiesChanged
 *   "hush": the same, without a signal
 *   "add": [PATH, {INTERFACE: {…}}]                              silently
 *   "signal": [PATH, INTERFACE, MEMBER, SIGNATURE, VALUE…]
 *   "exit": true
 * and perhaps "after" (milliseconds, since the one before), or "when": [MEMBER, N]: once as many
 * calls of that member have been answered since the method was called.
 * Structs are JSON arrays, dictionaries a{sv} objects of [SIGNATURE, VALUE]. Every call is written
 * to CALLS.log. "ready" on stdout says that the name is owned.
 */
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "gpupass/cleanup.h"

#define SIGNATURE_MAX 256

typedef struct Pending Pending;

typedef struct Fake {
	sd_bus *bus;
	sd_event *event;
	json_t *scenario;
	json_t *answered; /* {MEMBER: how many calls} */
	Pending *waiting; /* for calls */
	FILE *log;
} Fake;

struct Pending {
	Fake *fake;
	json_t *actions; /* borrowed from the scenario */
	json_t *before;	 /* what was answered when the method was called */
	size_t next;
	Pending *other; /* that waits, too */
};

/* Length of the one complete type that a signature starts with. */
static size_t type_length(const char *s)
{
	size_t depth = 0, n = 0;

	while (s[n] == 'a')
		n++;
	do {
		if (s[n] == '(' || s[n] == '{')
			depth++;
		else if (s[n] == ')' || s[n] == '}')
			depth--;
		n++;
	} while (depth > 0 && s[n]);
	return n;
}

static int append_value(sd_bus_message *m, const char *type, json_t *value);

/* The values of a JSON array (from `first` on), by the types of the signature. */
static int append_values(sd_bus_message *m, const char *signature, json_t *values, size_t first)
{
	for (size_t i = first; *signature; i++) {
		char type[SIGNATURE_MAX];
		size_t n = type_length(signature);
		int r;

		snprintf(type, sizeof(type), "%.*s", (int)n, signature);
		r = append_value(m, type, json_array_get(values, i));
		if (r < 0)
			return r;
		signature += n;
	}
	return 0;
}

static int append_dictionary(sd_bus_message *m, json_t *value)
{
	const char *key;
	json_t *v;
	int r;

	json_object_foreach (value, key, v) {
		const char *type = json_string_value(json_array_get(v, 0));

		if (!type)
			return -EINVAL;
		r = sd_bus_message_open_container(m, 'e', "sv");
		if (r >= 0)
			r = sd_bus_message_append(m, "s", key);
		if (r >= 0)
			r = sd_bus_message_open_container(m, 'v', type);
		if (r >= 0)
			r = append_value(m, type, json_array_get(v, 1));
		if (r >= 0)
			r = sd_bus_message_close_container(m);
		if (r >= 0)
			r = sd_bus_message_close_container(m);
		if (r < 0)
			return r;
	}
	return 0;
}

static int append_array(sd_bus_message *m, const char *element, json_t *value)
{
	json_t *v;
	size_t i;
	int r;

	r = sd_bus_message_open_container(m, 'a', element);
	if (r < 0)
		return r;
	if (*element == '{') {
		r = append_dictionary(m, value);
		if (r < 0)
			return r;
	} else {
		json_array_foreach (value, i, v) {
			r = append_value(m, element, v);
			if (r < 0)
				return r;
		}
	}
	return sd_bus_message_close_container(m);
}

static int append_struct(sd_bus_message *m, const char *type, json_t *value)
{
	char members[SIGNATURE_MAX];
	int r;

	snprintf(members, sizeof(members), "%.*s", (int)strlen(type) - 2, type + 1);
	r = sd_bus_message_open_container(m, 'r', members);
	if (r >= 0)
		r = append_values(m, members, value, 0);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_value(sd_bus_message *m, const char *type, json_t *value)
{
	json_int_t n = json_integer_value(value);
	char t[] = { type[0], '\0' };

	switch (type[0]) {
	case 's':
	case 'o':
		return sd_bus_message_append_basic(m, type[0], json_string_value(value));
	case 'b':
		return sd_bus_message_append(m, t, json_is_true(value));
	case 'q':
		return sd_bus_message_append(m, t, (uint16_t)n);
	case 'u':
		return sd_bus_message_append(m, t, (uint32_t)n);
	case 'i':
		return sd_bus_message_append(m, t, (int32_t)n);
	case 't':
		return sd_bus_message_append(m, t, (uint64_t)n);
	case 'a':
		return append_array(m, type + 1, value);
	case '(':
		return append_struct(m, type, value);
	default:
		return -EINVAL;
	}
}

static json_t *objects(Fake *f)
{
	return json_object_get(f->scenario, "objects");
}

static int append_objects(Fake *f, sd_bus_message *reply)
{
	const char *path, *interface;
	json_t *interfaces, *properties;

	sd_bus_message_open_container(reply, 'a', "{oa{sa{sv}}}");
	json_object_foreach (objects(f), path, interfaces) {
		/* As sd-bus does: only what is below the object that was asked. */
		if (strcmp(path, "/org/gpupass1") == 0)
			continue;
		sd_bus_message_open_container(reply, 'e', "oa{sa{sv}}");
		sd_bus_message_append(reply, "o", path);
		sd_bus_message_open_container(reply, 'a', "{sa{sv}}");
		json_object_foreach (interfaces, interface, properties) {
			sd_bus_message_open_container(reply, 'e', "sa{sv}");
			sd_bus_message_append(reply, "s", interface);
			if (append_array(reply, "{sv}", properties) < 0)
				return -EINVAL;
			sd_bus_message_close_container(reply);
		}
		sd_bus_message_close_container(reply);
		sd_bus_message_close_container(reply);
	}
	return sd_bus_message_close_container(reply);
}

static int set_properties(Fake *f, json_t *what, bool hush)
{
	const char *path = json_string_value(json_array_get(what, 0));
	const char *interface = json_string_value(json_array_get(what, 1));
	json_t *properties = json_array_get(what, 2), *object;
	sd_bus_message *m = NULL;
	int r;

	object = json_object_get(json_object_get(objects(f), path), interface);
	if (json_object_update(object, properties) < 0)
		return -EINVAL;
	if (hush)
		return 0;
	r = sd_bus_message_new_signal(f->bus, &m, path, "org.freedesktop.DBus.Properties",
				      "PropertiesChanged");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", interface);
	if (r >= 0)
		r = append_array(m, "{sv}", properties);
	if (r >= 0)
		r = sd_bus_message_append(m, "as", 0);
	if (r >= 0)
		r = sd_bus_send(f->bus, m, NULL);
	sd_bus_message_unref(m);
	return r;
}

static int send_signal(Fake *f, json_t *what)
{
	sd_bus_message *m = NULL;
	int r;

	r = sd_bus_message_new_signal(f->bus, &m, json_string_value(json_array_get(what, 0)),
				      json_string_value(json_array_get(what, 1)),
				      json_string_value(json_array_get(what, 2)));
	if (r >= 0)
		r = append_values(m, json_string_value(json_array_get(what, 3)), what, 4);
	if (r >= 0)
		r = sd_bus_send(f->bus, m, NULL);
	sd_bus_message_unref(m);
	return r;
}

static int run_action(Fake *f, json_t *action)
{
	json_t *what;

	if ((what = json_object_get(action, "set")))
		return set_properties(f, what, false);
	if ((what = json_object_get(action, "hush")))
		return set_properties(f, what, true);
	if ((what = json_object_get(action, "add")))
		return json_object_set(objects(f), json_string_value(json_array_get(what, 0)),
				       json_array_get(what, 1));
	if ((what = json_object_get(action, "signal")))
		return send_signal(f, what);
	if (json_object_get(action, "exit"))
		return sd_event_exit(f->event, 0);
	return -EINVAL;
}

static int schedule(Pending *pending);

/* Of this member. */
static json_int_t count(const json_t *calls, const char *member)
{
	return json_integer_value(json_object_get(calls, member));
}

static bool must_wait(const Pending *pending, json_t *action)
{
	json_t *when = json_object_get(action, "when");
	const char *member = json_string_value(json_array_get(when, 0));

	return member && count(pending->fake->answered, member) - count(pending->before, member) <
				 json_integer_value(json_array_get(when, 1));
}

static int on_time(_unused_ sd_event_source *s, _unused_ uint64_t usec, void *userdata)
{
	Pending *pending = userdata;
	int r;

	r = run_action(pending->fake, json_array_get(pending->actions, pending->next++));
	if (r < 0) {
		fprintf(stderr, "fake-daemon: action: %s\n", strerror(-r));
		return sd_event_exit(pending->fake->event, 1);
	}
	return schedule(pending);
}

static int schedule(Pending *pending)
{
	json_t *action = json_array_get(pending->actions, pending->next);
	uint64_t now;

	if (!action) {
		json_decref(pending->before);
		free(pending);
		return 0;
	}
	if (must_wait(pending, action)) {
		pending->other = pending->fake->waiting;
		pending->fake->waiting = pending;
		return 0;
	}
	sd_event_now(pending->fake->event, CLOCK_MONOTONIC, &now);
	now += (uint64_t)json_integer_value(json_object_get(action, "after")) * 1000;
	return sd_event_add_time(pending->fake->event, NULL, CLOCK_MONOTONIC, now, 1, on_time,
				 pending);
}

/* A call was answered: goes on with what waited for it. */
static int note_answer(Fake *f, const char *member)
{
	Pending *waiting = f->waiting;
	int r = json_object_set_new(f->answered, member,
				    json_integer(count(f->answered, member) + 1));

	f->waiting = NULL;
	while (waiting) {
		Pending *pending = waiting;
		int k;

		waiting = pending->other;
		k = schedule(pending);
		r = k < 0 ? k : r;
	}
	return r;
}

static int run_method(Fake *f, sd_bus_message *call, json_t *method, sd_bus_message *reply)
{
	json_t *error = json_object_get(method, "error"),
	       *values = json_object_get(method, "reply");
	json_t *action;
	Pending *pending;
	size_t i;
	int r = 0;

	json_array_foreach (json_object_get(method, "before"), i, action)
		if (run_action(f, action) < 0)
			return -EINVAL;
	if (error)
		r = sd_bus_reply_method_errorf(call, json_string_value(json_array_get(error, 0)),
					       "%s", json_string_value(json_array_get(error, 1)));
	else if (values)
		r = append_values(reply, json_string_value(json_array_get(values, 0)), values, 1);
	if (r >= 0 && values)
		r = sd_bus_send(f->bus, reply, NULL);
	pending = r < 0 ? NULL : calloc(1, sizeof(*pending));
	if (!pending)
		return -EINVAL;
	*pending = (Pending){ .fake = f,
			      .actions = json_object_get(method, "then"),
			      .before = json_copy(f->answered) };
	return schedule(pending);
}

static int reply_properties(Fake *f, sd_bus_message *call, sd_bus_message *reply)
{
	const char *interface;
	json_t *properties;
	int r;

	r = sd_bus_message_read(call, "s", &interface);
	if (r < 0)
		return r;
	properties = json_object_get(json_object_get(objects(f), sd_bus_message_get_path(call)),
				     interface);
	if (!properties)
		return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_UNKNOWN_OBJECT,
						  "Unknown object");
	r = append_array(reply, "{sv}", properties);
	return r < 0 ? r : sd_bus_send(f->bus, reply, NULL);
}

static int answer(Fake *f, sd_bus_message *call, sd_bus_message *reply)
{
	const char *member = sd_bus_message_get_member(call);
	json_t *method = json_object_get(json_object_get(f->scenario, "methods"), member);
	int r;

	if (method)
		return run_method(f, call, method, reply);
	if (strcmp(member, "GetAll") == 0)
		return reply_properties(f, call, reply);
	if (strcmp(member, "GetManagedObjects") == 0) {
		r = append_objects(f, reply);
		return r < 0 ? r : sd_bus_send(f->bus, reply, NULL);
	}
	return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_UNKNOWN_METHOD, "Unknown method %s",
					  member);
}

static int on_call(sd_bus_message *call, void *userdata, _unused_ sd_bus_error *ret_error)
{
	sd_bus_message *reply = NULL;
	Fake *f = userdata;
	uint8_t type;
	int r;

	if (sd_bus_message_get_type(call, &type) < 0 || type != SD_BUS_MESSAGE_METHOD_CALL)
		return 0;
	sd_bus_message_dump(call, f->log, SD_BUS_MESSAGE_DUMP_WITH_HEADER);
	fflush(f->log);
	sd_bus_message_rewind(call, true);
	r = sd_bus_message_new_method_return(call, &reply);
	if (r >= 0)
		r = answer(f, call, reply);
	sd_bus_message_unref(reply);
	if (r >= 0)
		r = note_answer(f, sd_bus_message_get_member(call));
	if (r < 0)
		fprintf(stderr, "fake-daemon: %s: %s\n", sd_bus_message_get_member(call),
			strerror(-r));
	return 1;
}

int main(int argc, char *argv[])
{
	Fake f = { 0 };
	json_error_t error;
	int r = -EINVAL;

	if (argc != 3)
		return 2;
	f.scenario = json_load_file(argv[1], 0, &error);
	f.answered = json_object();
	f.log = fopen(argv[2], "we");
	if (!f.scenario || !f.answered || !f.log) {
		fprintf(stderr, "fake-daemon: %s: %s\n", argv[1], error.text);
		return 2;
	}
	r = sd_event_default(&f.event);
	if (r >= 0)
		r = sd_bus_open_system(&f.bus);
	if (r >= 0)
		r = sd_bus_add_filter(f.bus, NULL, on_call, &f);
	if (r >= 0)
		r = sd_bus_attach_event(f.bus, f.event, SD_EVENT_PRIORITY_NORMAL);
	if (r >= 0)
		r = sd_bus_request_name(f.bus, "org.gpupass1", 0);
	if (r >= 0) {
		puts("ready");
		fflush(stdout);
		r = sd_event_loop(f.event);
	}
	if (r < 0)
		fprintf(stderr, "fake-daemon: %s\n", strerror(-r));
	sd_bus_flush_close_unref(f.bus);
	sd_event_unref(f.event);
	json_decref(f.answered);
	json_decref(f.scenario);
	fclose(f.log);
	return r < 0;
}
