/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/callers.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "bus/bus-daemon.h"
#include "util/clock.h"
#include "util/text.h"

/*
 * One match for all that leave, and not one a caller: a connection may have 512 matches in all on
 * the system bus, and a match costs the bus daemon two calls more.
 */
#define MATCH_LEFT                                                                                 \
	"type='signal',sender='" BUS_DAEMON "',path='" BUS_DAEMON_PATH "',interface='" BUS_DAEMON  \
	"',member='NameOwnerChanged',arg2=''"

/* More than the system bus has connections (2048). */
#define CALLERS_MAX 4096
#define BUCKETS 1024
#define QUESTION_USEC (10 * USEC_PER_SEC)

struct Callers {
	sd_bus *bus;
	CallerResolver *resolver;
	CallersListener listener;
	sd_bus_slot *match;
	Caller *buckets[BUCKETS];
	size_t n;
	uint64_t uses;
};

/* FNV-1a */
static Caller **bucket_of(Callers *callers, const char *name)
{
	uint32_t hash = 2166136261U;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619U;
	return &callers->buckets[hash % BUCKETS];
}

Caller *callers_find(Callers *callers, const char *name)
{
	for (Caller *i = *bucket_of(callers, name); i; i = i->next) {
		if (strcmp(i->name, name) != 0)
			continue;
		i->last_use = ++callers->uses;
		return i;
	}
	return NULL;
}

static Caller *caller_free(Caller *caller)
{
	if (!caller)
		return NULL;
	sd_bus_slot_unref(caller->question);
	sd_bus_slot_unref(caller->backlog_question);
	call_queue_clear(&caller->held);
	caller_identity_unref(caller->identity);
	free(caller->name);
	free(caller);
	return NULL;
}
DEFINE_CLEANUP(Caller, caller_free)

static void forget(Caller *caller)
{
	for (Caller **i = bucket_of(caller->callers, caller->name); *i; i = &(*i)->next) {
		if (*i != caller)
			continue;
		*i = caller->next;
		caller->callers->n--;
		break;
	}
	caller_free(caller);
}

/* Never takes a place of root: the table has room for more names than the bus gives other users.
 * Nor the place of a caller with a backlog, which counts against its user. */
static Caller *longest_unused(const Callers *callers)
{
	Caller *found = NULL;

	for (size_t i = 0; i < BUCKETS; i++)
		for (Caller *c = callers->buckets[i]; c; c = c->next)
			if (c->known && c->uid != 0 && c->backlog == 0 &&
			    (!found || c->last_use < found->last_use))
				found = c;
	return found;
}

void callers_visit(Callers *callers, CallerVisit visit, void *userdata)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (Caller *c = callers->buckets[i]; c; c = c->next)
			if (c->known)
				visit(c, userdata);
}

/* ---- whose a name is ---- */

/* Of GetConnectionCredentials. There may be others, of any type. */
static int read_entry(sd_bus_message *answer, uint32_t *ret_uid, uint32_t *ret_pid)
{
	const char *key;
	int r = sd_bus_message_read(answer, "s", &key);

	if (r < 0)
		return r;
	if (str_equal(key, "UnixUserID"))
		r = sd_bus_message_read(answer, "v", "u", ret_uid);
	else if (str_equal(key, "ProcessID"))
		r = sd_bus_message_read(answer, "v", "u", ret_pid);
	else
		r = sd_bus_message_skip(answer, "v");
	return r;
}

/*
 * The bus daemon would give a descriptor of the process, too (ProcessFD), but only to a connection
 * that takes descriptors, from everybody. This one takes none.
 */
static int read_credentials(sd_bus_message *answer, uid_t *ret_uid, pid_t *ret_pid)
{
	uint32_t uid = (uint32_t)-1, pid = 0;
	int r;

	r = bus_daemon_answered(answer);
	if (r < 0)
		return r;
	r = sd_bus_message_enter_container(answer, 'a', "{sv}");
	while (r >= 0 && (r = sd_bus_message_enter_container(answer, 'e', "sv")) > 0) {
		r = read_entry(answer, &uid, &pid);
		if (r >= 0)
			r = sd_bus_message_exit_container(answer);
	}
	if (r < 0 || uid == (uint32_t)-1)
		return -EPROTO;
	*ret_uid = uid;
	*ret_pid = pid > INT32_MAX ? 0 : (pid_t)pid;
	return 0;
}

/* Now, while the caller waits for its answer, and so is there. */
static void identify(Caller *caller, pid_t pid)
{
	caller->identity = caller_identity_new(caller->uid, pid);
	if (caller->identity)
		caller_resolver_push(caller->callers->resolver, caller->identity);
}

static int on_answer(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Caller *caller = userdata;
	const CallersListener *listener = &caller->callers->listener;
	pid_t pid = 0;
	int r;

	caller->question = sd_bus_slot_unref(caller->question);
	r = read_credentials(answer, &caller->uid, &pid);
	caller->known = r >= 0;
	if (caller->known) {
		identify(caller, pid);
		listener->known(caller, listener->userdata);
		return 1;
	}
	if (sd_bus_message_is_method_error(answer, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
		listener->left(caller, listener->userdata);
	else
		listener->unknown(caller, strerror(-r), listener->userdata);
	forget(caller);
	return 1;
}

static int ask(Caller *caller)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	sd_bus *bus = caller->callers->bus;
	int r;

	r = sd_bus_message_new_method_call(bus, &m, BUS_DAEMON, BUS_DAEMON_PATH, BUS_DAEMON,
					   "GetConnectionCredentials");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", caller->name);
	return r < 0 ? r
		     : sd_bus_call_async(bus, &caller->question, m, on_answer, caller,
					 QUESTION_USEC);
}

int callers_get(Callers *callers, const char *name, Caller **ret)
{
	_cleanup_(caller_freep) Caller *caller = NULL;
	Caller **bucket;
	int r;

	*ret = callers_find(callers, name);
	if (*ret)
		return 0;
	if (callers->n >= CALLERS_MAX) {
		Caller *old = longest_unused(callers);

		if (!old)
			return -ENOSPC;
		forget(old);
	}
	caller = calloc(1, sizeof(Caller));
	if (!caller)
		return -ENOMEM;
	caller->callers = callers;
	caller->uid = (uid_t)-1;
	caller->last_use = ++callers->uses;
	caller->name = strdup(name);
	if (!caller->name)
		return -ENOMEM;
	r = ask(caller);
	if (r < 0)
		return r;
	bucket = bucket_of(callers, name);
	caller->next = *bucket;
	*bucket = caller;
	callers->n++;
	*ret = TAKE_PTR(caller);
	return 0;
}

/* ---- who leaves ---- */

static int on_left(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Callers *callers = userdata;
	const char *name;
	Caller *caller;

	if (sd_bus_message_read(m, "s", &name) < 0)
		return 0;
	caller = callers_find(callers, name);
	if (caller) {
		callers->listener.left(caller, callers->listener.userdata);
		forget(caller);
	}
	return 0;
}

/* ---- life ---- */

int callers_new(sd_bus *bus, CallerResolver *resolver, const CallersListener *listener,
		Callers **ret)
{
	_cleanup_(callers_freep) Callers *callers = calloc(1, sizeof(Callers));
	int r;

	if (!callers)
		return -ENOMEM;
	callers->bus = bus;
	callers->resolver = resolver;
	callers->listener = *listener;
	/* In the bus daemon's order it comes before every question, so that nobody leaves unseen.
	 * Where it is refused sd-bus ends the connection, and with it the daemon. */
	r = sd_bus_add_match_async(bus, &callers->match, MATCH_LEFT, on_left, NULL, callers);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(callers);
	return 0;
}

Callers *callers_free(Callers *callers)
{
	if (!callers)
		return NULL;
	sd_bus_slot_unref(callers->match);
	for (size_t i = 0; i < BUCKETS; i++)
		while (callers->buckets[i])
			forget(callers->buckets[i]);
	free(callers);
	return NULL;
}
