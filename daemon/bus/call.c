/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/call.h"

#include "gpupass/dbus.h"
#include "util/xalloc.h"

#define NAME_ARGUMENT_MAX 255
#define TIMEOUT_USEC_MAX (3600 * 1000000ULL)
#define PENDING_MAX 16

void call_clear(Call *call)
{
	call_options_clear(&call->options);
	strv_free(call->list);
	pending_free(call->pending);
}

int call_set_problem(Call *call, const Problem *problem, const char *prefix)
{
	_cleanup_free_ char *message = problem_message(problem, prefix);

	return sd_bus_error_set(call->error, problem_dbus_name(problem->error), message);
}

int call_failed(Call *call, int error)
{
	return sd_bus_error_is_set(call->error) ? error : callers_set_error(call->error, error);
}

/* ---- reading and checking ---- */

int call_invalid(Call *call, const char *what, const char *remedy)
{
	return sd_bus_error_setf(call->error, problem_dbus_name(GPUPASS_ERROR_INVALID_ARGUMENT),
				 "%s\nState:  nothing was changed\nRemedy: %s", what, remedy);
}

/* ASCII control characters: in a message, one could begin a new line. */
static bool has_control_character(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

int call_check_name(Call *call, const char *name, const char *what, bool may_be_empty)
{
	_cleanup_free_ char *text = NULL;

	if (*name == '\0' && may_be_empty)
		return 0;
	if (*name == '\0')
		text = strf("the %s is empty", what);
	else if (strlen(name) > NAME_ARGUMENT_MAX)
		text = strf("the %s is longer than %d bytes", what, NAME_ARGUMENT_MAX);
	else if (has_control_character(name))
		text = strf("the %s has a control character; a domain that is named so has a UUID",
			    what);
	else
		return 0;
	return call_invalid(call, text, "give the name as gpupass list or virsh list shows it");
}

static int read_arguments(Call *call)
{
	sd_bus_message *m = call->message;
	size_t n = 0;
	int r = 0;

	for (const char *type = call->method->in; r >= 0 && *type; type++)
		if (str_starts_with(type, "as"))
			r = sd_bus_message_read_strv(m, &call->list);
		else if (*type == 'u')
			r = sd_bus_message_read(m, "u", &call->id);
		else if (type == call->method->in || type[-1] != 'a')
			r = sd_bus_message_read(m, "s", &call->names[n++]);
	if (r < 0)
		return r;
	return call_options_read(m, call->method->takes, &call->options, call->error);
}

static int check_options(Call *call)
{
	const CallOptions *o = &call->options;
	int r = call_check_name(call, str_or_empty(o->model), "model", true);

	if (r >= 0)
		r = call_check_name(call, str_or_empty(o->group), "group", true);
	if (r >= 0)
		r = call_check_name(call, str_or_empty(o->domain), "domain", true);
	if (r >= 0 && o->timeout_usec > TIMEOUT_USEC_MAX)
		r = call_invalid(call, "the timeout is longer than an hour",
				 "give at most 3600 seconds");
	return r;
}

int call_read(Call *call)
{
	const char *what = call->method->names;
	int r = read_arguments(call);

	if (str_starts_with(call->method->in, "as"))
		what += strlen(what) + 1;
	for (size_t i = 0; r >= 0 && i < ELEMENTS(call->names) && call->names[i]; i++) {
		r = call_check_name(call, call->names[i],
				    str_equal(what, "target") ? "domain or group" : what,
				    i > 0 || !call->method->must);
		what += strlen(what) + 1;
	}
	return r < 0 ? r : check_options(call);
}

static int read_mode(Call *call, const char *text, const char *option, FitMode *ret)
{
	_cleanup_free_ char *what = NULL;

	if (!text || fit_mode_from_string(text, ret) >= 0)
		return 0;
	what = strf("option \"%s\" is not one of the words it takes", option);
	return call_invalid(call, what, "give advise, apply or strict");
}

static int read_topology(Call *call, const char *text, PlanRequest *request)
{
	request->asks_topology = text;
	if (!text || topology_from_string(text, &request->topology) >= 0)
		return 0;
	return call_invalid(call, "option \"topology\" is not one of the words it takes",
			    "give mirror or flat");
}

static int read_peer_access(Call *call, const char *text, PeerAccess *ret)
{
	/* None takes it away again, so "off" would promise too much. */
	if (!text || (peer_access_from_string(text, ret) >= 0 && *ret != PEER_ACCESS_OFF))
		return 0;
	return call_invalid(call, "option \"peer-access\" is not one of the words it takes",
			    "give on or unsafe");
}

const char *named(const char *text)
{
	return str_is_empty(text) ? NULL : text;
}

int call_make_request(Call *call, Operation operation)
{
	const Caller *caller = callers_current(call->face->callers);
	const CallOptions *o = &call->options;
	JobRequest *request = &call->request;
	char **subject = &request->group;
	int r;

	*request = (JobRequest){
		.plan = {
			.operation = operation,
			.live = o->live,
			.config = o->config,
			.keep_vfio = o->keep_vfio,
			.persist = o->persist,
			.reset = o->reset,
			.allow_boot_vga = o->allow_boot_vga,
			.accept_dirty = o->accept_dirty,
			.caller_uid = caller->uid,
		},
		.domain = (char *)named(o->domain),
		.group = (char *)named(o->group),
		.model = o->model,
		.mmio = o->mmio,
		.workload = o->workload,
		.timeout_usec = o->timeout_usec,
		.caller = caller->identity,
	};
	if (call->names[1])
		request->group = (char *)named(call->names[1]);
	/* The first name is what it is about: a domain, where a second one is a group. */
	if (operation == OPERATION_RELEASE && !request->group)
		subject = &request->target;
	else if (operation == OPERATION_RELEASE || operation == OPERATION_VERIFY || call->names[1])
		subject = &request->domain;
	if (call->names[0])
		*subject = (char *)named(call->names[0]);
	if (operation != OPERATION_ASSIGN && (o->topology || o->peer_access))
		return call_invalid(call, "only an assign takes a topology or peer access",
				    "leave out topology and peer-access");
	r = read_mode(call, o->numa, "numa", &request->plan.numa);
	if (r >= 0)
		r = read_peer_access(call, o->peer_access, &request->plan.peer_access);
	if (r >= 0)
		r = read_mode(call, o->fit, "fit", &request->plan.fit);
	return r < 0 ? r : read_topology(call, o->topology, &request->plan);
}

/* ---- answers that come later ---- */

static void pending_clear(Pending *pending)
{
	WAITING_REMOVE(pending->face->pending, pending);
	sd_bus_message_unref(pending->call);
	caller_clear(&pending->caller);
	free(pending->path);
}

DEFINE_FREE(Pending, pending_free, pending_clear)

static int pending_new(Call *call)
{
	Face *f = call->face;
	const Caller *caller = callers_current(f->callers);
	Pending *pending;

	if (WAITING_OF(f->pending, caller.uid, caller->uid) >= PENDING_MAX)
		return refusals_over_limit(&f->refusals,
					   &(Decision){ .call = call->message,
							.caller = *caller,
							.action = "looks and changes" },
					   PENDING_MAX, call->error);
	pending = xcalloc(1, sizeof(Pending));
	*pending = (Pending){
		.next = f->pending,
		.face = f,
		.call = sd_bus_message_ref(call->message),
		.caller = caller_copy(caller),
	};
	f->pending = call->pending = pending;
	return 1;
}

/* polkit learns no detail of a look: a caller who may read may read about every domain. */
Decision call_question(const Call *call)
{
	const char *action = call->method->action;

	return (Decision){
		.action = action,
		.group = str_equal(action, GPUPASS_ACTION_MANAGE) ? named(call->names[0]) : NULL,
	};
}

int call_begin(Call *call)
{
	const Decision question = call_question(call);
	int r = polkit_authorize(call->face->polkit, call->message, &question, call->error);

	return r <= 0 ? r : pending_new(call);
}

void pending_reply_error(Pending *pending, const char *name, const char *message)
{
	sd_bus_reply_method_errorf(pending->call, name, "%s", str_or_empty(message));
}

void pending_answer(const char *text, const char *error_name, const char *message, void *userdata)
{
	_cleanup_(pending_freep) Pending *pending = userdata;

	if (error_name)
		pending_reply_error(pending, error_name, message);
	else
		sd_bus_reply_method_return(pending->call, "s", text);
}
