/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/request.h"

#include <errno.h>
#include <string.h>

#include "gpupass/dbus.h"
#include "util/text.h"
#include "util/xalloc.h"

#define NAME_ARGUMENT_MAX 255
#define TIMEOUT_USEC_MAX (3600 * 1000000ULL)
#define PENDING_MAX 16

void request_options_clear(RequestOptions *options)
{
	free(options->model);
	free(options->operation);
	free(options->symptom);
	free(options->numa);
	free(options->fit);
	free(options->group);
	free(options->domain);
}

int set_problem(sd_bus_error *error, const Problem *problem, const char *prefix)
{
	_cleanup_free_ char *message = problem_message(problem, prefix);

	return sd_bus_error_set(error, problem_dbus_name(problem->error), message);
}

int invalid_argument(sd_bus_error *error, const char *what, const char *remedy)
{
	return sd_bus_error_setf(error, problem_dbus_name(GPUPASS_ERROR_INVALID_ARGUMENT),
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

int check_name(const char *name, const char *what, bool may_be_empty, sd_bus_error *error)
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
	return invalid_argument(error, text,
				"give the name as gpupass list or virsh list shows it");
}

static int check_mode(const char *text, const char *option, FitMode *ret, sd_bus_error *error)
{
	_cleanup_free_ char *what = NULL;

	if (!text || fit_mode_from_string(text, ret) >= 0)
		return 0;
	what = strf("option \"%s\" is not one of the words it takes", option);
	return invalid_argument(error, what, "give advise, apply or strict");
}

int check_fit(const RequestOptions *options, JobRequest *request, sd_bus_error *error)
{
	int r = check_mode(options->numa, "numa", &request->numa, error);

	return r < 0 ? r : check_mode(options->fit, "fit", &request->fit, error);
}

int check_timeout(const RequestOptions *options, sd_bus_error *error)
{
	if (options->timeout_usec <= TIMEOUT_USEC_MAX)
		return 0;
	return invalid_argument(error, "the timeout is longer than an hour",
				"give at most 3600 seconds");
}

const char *named(const char *text)
{
	return str_is_empty(text) ? NULL : text;
}

int authorize(Face *face, sd_bus_message *m, const char *action, const char *domain,
	      const char *group, const char *target, sd_bus_error *error)
{
	const PolkitQuestion question = {
		.action = action,
		.domain = named(domain),
		.group = named(group),
		.target = named(target),
	};

	return polkit_authorize(face->polkit, m, &question, error);
}

JobRequest request_from(const Face *face, Operation operation, const RequestOptions *options)
{
	const Caller *caller = callers_current(face->callers);

	return (JobRequest){
		.operation = operation,
		.model = options->model,
		.live = options->live,
		.config = options->config,
		.keep_vfio = options->keep_vfio,
		.persist = options->persist,
		.reset = options->reset,
		.allow_boot_vga = options->allow_boot_vga,
		.accept_dirty = options->accept_dirty,
		.workload = options->workload,
		.timeout_usec = options->timeout_usec,
		.caller_uid = caller->uid,
		.caller = caller->identity,
	};
}

static void pending_clear(Pending *pending)
{
	for (Pending **i = &pending->face->pending; *i; i = &(*i)->next) {
		if (*i != pending)
			continue;
		*i = pending->next;
		break;
	}
	sd_bus_message_unref(pending->call);
	caller_clear(&pending->caller);
	free(pending->path);
}

DEFINE_FREE(Pending, pending_free, pending_clear)

int pending_new(Face *f, sd_bus_message *m, Pending **ret, sd_bus_error *error)
{
	const Caller *caller = callers_current(f->callers);
	Pending *pending;
	size_t n = 0;

	for (const Pending *i = f->pending; i; i = i->next)
		n += i->caller.uid == caller->uid;
	if (n >= PENDING_MAX)
		return refusals_over_limit(
			&f->refusals,
			&(Decision){ .call = m, .caller = *caller, .action = "looks and changes" },
			PENDING_MAX, error);
	pending = xcalloc(1, sizeof(Pending));
	*pending = (Pending){
		.next = f->pending,
		.face = f,
		.call = sd_bus_message_ref(m),
		.caller = caller_copy(caller),
	};
	f->pending = *ret = pending;
	return 0;
}

int begin(Face *f, sd_bus_message *m, const char *action, const char *group, Pending **ret,
	  sd_bus_error *error)
{
	int r = authorize(f, m, action, NULL, group, NULL, error);

	if (r <= 0)
		return r;
	r = pending_new(f, m, ret, error);
	return r < 0 ? r : 1;
}

int begin_read(Face *f, sd_bus_message *m, Pending **ret, sd_bus_error *error)
{
	return begin(f, m, GPUPASS_ACTION_READ, NULL, ret, error);
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
