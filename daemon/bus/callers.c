/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/callers.h"

#include "core/base/problem.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

#define OUR_INTERFACES "org.gpupass1."
#define QUESTION_USEC (10 * USEC_PER_SEC)

/* A call whose handler has to wait. */
typedef struct Call {
	struct Call *next;
	Callers *callers;
	sd_bus_message *message;
	sd_bus_slot *process;  /* asks for the pid; answered before the question */
	sd_bus_slot *question; /* NULL: answered, and the message is in sd-bus's queue once more */
	uint32_t pid;	       /* 0: not known */
	Caller caller;
} Call;

struct Callers {
	sd_bus *bus;
	CallerResolver *resolver;
	Call *calls;
	Caller current;
};

/* ---- the bus daemon ---- */

int bus_daemon_ask(sd_bus *bus, const char *interface, const char *member, const char *name,
		   uint64_t timeout_usec, sd_bus_message_handler_t answered, void *userdata,
		   sd_bus_slot **ret)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(bus, &m, BUS_DAEMON, "/org/freedesktop/DBus",
					       interface, member);

	if (r >= 0)
		r = sd_bus_message_append(m, "s", name);
	return r < 0 ? r : sd_bus_call_async(bus, ret, m, answered, userdata, timeout_usec);
}

/* Values have any type. 1: that was it. */
static int read_entry(sd_bus_message *answer, const char *wanted, uint32_t *ret)
{
	const char *key;
	int r = sd_bus_message_read(answer, "s", &key);

	if (r < 0)
		return r;
	if (str_equal(key, wanted))
		return sd_bus_message_read(answer, "v", "u", ret);
	r = sd_bus_message_skip(answer, "v");
	return r < 0 ? r : 0;
}

int bus_daemon_read(sd_bus_message *answer, const char *key, uint32_t *ret)
{
	int r;

	if (sd_bus_message_is_method_error(answer, NULL) ||
	    !str_equal(sd_bus_message_get_sender(answer), BUS_DAEMON))
		return -EPROTO;
	r = sd_bus_message_rewind(answer, true);
	if (r >= 0 && !key)
		return sd_bus_message_read(answer, "u", ret);
	if (r >= 0)
		r = sd_bus_message_enter_container(answer, 'a', "{sv}");
	while (r >= 0 && (r = sd_bus_message_enter_container(answer, 'e', "sv")) > 0) {
		r = read_entry(answer, key, ret);
		if (r != 0)
			return r;
		r = sd_bus_message_exit_container(answer);
	}
	return r < 0 ? r : -ENODATA;
}

/* ---- callers ---- */

Caller caller_copy(const Caller *caller)
{
	return (Caller){ .uid = caller->uid, .identity = caller_identity_ref(caller->identity) };
}

void caller_clear(Caller *caller)
{
	caller_identity_unref(caller->identity);
	*caller = (Caller){ .uid = CALLER_UNKNOWN };
}

const Caller *callers_current(const Callers *callers)
{
	return &callers->current;
}

static void call_clear(Call *call)
{
	sd_bus_slot_unref(call->process);
	sd_bus_slot_unref(call->question);
	sd_bus_message_unref(call->message);
	caller_clear(&call->caller);
}

DEFINE_LOCAL_FREE(Call, call_free, call_clear)

/* Takes the call of this message that is due now; NULL: there is none. */
static Call *take(Callers *callers, const sd_bus_message *m)
{
	for (Call **i = &callers->calls; *i; i = &(*i)->next) {
		Call *call = *i;

		if (call->message != m || call->question)
			continue;
		*i = call->next;
		return call;
	}
	return NULL;
}

/* ---- the bus's answers ---- */

static int on_process(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Call *call = userdata;

	(void)bus_daemon_read(answer, NULL, &call->pid);
	return 1;
}

static int on_answer(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	uint32_t uid = CALLER_UNKNOWN;
	Call *call = userdata;
	int r;

	call->question = sd_bus_slot_unref(call->question);
	if (bus_daemon_read(answer, NULL, &uid) >= 0 && uid != CALLER_UNKNOWN) {
		call->caller.uid = uid;
		/* Now, while the caller waits for its answer, and so is there. */
		call->caller.identity =
			caller_identity_new(uid, call->pid > INT32_MAX ? 0 : (pid_t)call->pid);
		caller_resolver_push(call->callers->resolver, call->caller.identity);
	}
	/* One that nobody is known to have sent goes on, too: its handler says no. */
	r = sd_bus_message_rewind(call->message, true);
	if (r >= 0)
		r = sd_bus_enqueue_for_read(call->callers->bus, call->message);
	if (r < 0) {
		callers_refuse(call->message, r);
		call_free(take(call->callers, call->message));
	}
	return 1;
}

/* ---- each call ---- */

int callers_set_error(sd_bus_error *ret_error, int error)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *text = NULL;

	problem_errno(&problem, error, "gpupassd could not answer this call");
	text = problem_message(problem, NULL);
	return sd_bus_error_set(ret_error, problem_dbus_name(problem->error), text);
}

void callers_refuse(sd_bus_message *m, int error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error refusal = SD_BUS_ERROR_NULL;

	(void)callers_set_error(&refusal, error);
	(void)sd_bus_reply_method_error(m, &refusal);
}

/*
 * GetConnectionCredentials would say both at once, but dbus-broker 34 and later adds a descriptor
 * of the caller's process: as we take none, that answer would end our connection. The bus answers
 * in the order in which it is asked.
 */
int callers_dispatch_again(Callers *callers, sd_bus_message *m)
{
	_cleanup_(call_freep) Call *call = xcalloc(1, sizeof(Call));
	const char *sender = sd_bus_message_get_sender(m);
	int r;

	*call = (Call){
		.next = callers->calls,
		.callers = callers,
		.message = sd_bus_message_ref(m),
		.caller = { .uid = CALLER_UNKNOWN },
	};
	r = bus_daemon_ask(callers->bus, BUS_DAEMON, "GetConnectionUnixProcessID", sender,
			   QUESTION_USEC, on_process, call, &call->process);
	if (r >= 0)
		r = bus_daemon_ask(callers->bus, BUS_DAEMON, "GetConnectionUnixUser", sender,
				   QUESTION_USEC, on_answer, call, &call->question);
	if (r < 0)
		return r;
	callers->calls = TAKE_PTR(call);
	return 0;
}

static int on_message(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	const char *interface = sd_bus_message_get_interface(m);
	Callers *callers = userdata;
	Call *call;
	int r;

	/* A call may name no interface. */
	if (!sd_bus_message_is_method_call(m, NULL, NULL) ||
	    (interface && !str_starts_with(interface, OUR_INTERFACES)))
		return 0;
	caller_clear(&callers->current);
	call = take(callers, m);
	if (call) {
		callers->current = caller_copy(&call->caller);
		call_free(call);
		return 0;
	}
	r = callers_dispatch_again(callers, m);
	return r < 0 ? r : 1;
}

/* ---- life ---- */

int callers_new(sd_bus *bus, CallerResolver *resolver, Callers **ret)
{
	Callers *callers = xcalloc(1, sizeof(Callers));
	int r;

	callers->bus = bus;
	callers->resolver = resolver;
	callers->current.uid = CALLER_UNKNOWN;
	r = sd_bus_add_filter(bus, NULL, on_message, callers);
	if (r >= 0)
		*ret = callers;
	return r;
}
