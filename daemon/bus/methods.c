/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manager's methods. Every handler reads the call, validates it, asks polkit whether the caller
 * may, hands the request on, and replies. What takes time replies later, from a job or a callback.
 *
 * A handler has no effect before authorize() returns 1: until then it may be entered again.
 * Validation bounds the size of the call, because we keep the message while polkit decides.
 * Validation looks at the call alone, never at the machine, so its errors do not reveal whether a
 * domain exists. Whoever the bus lets in may read what is already in the picture; a method that
 * starts a thread asks polkit.
 */
#include "bus/methods.h"

#include <string.h>

#include "bus/methods-audit.h"
#include "bus/methods-cancel.h"
#include "bus/methods-doctor.h"
#include "bus/methods-metrics.h"
#include "bus/methods-probe.h"
#include "bus/methods-read.h"
#include "bus/start-job.h"
#include "core/links/declaration.h"
#include "gpupass/dbus.h"
#include "util/text.h"

static const OptionSpec assign_options[] = {
	OPTION(GPUPASS_OPTION_LIVE, 'b', live),
	OPTION(GPUPASS_OPTION_CONFIG, 'b', config),
	OPTION(GPUPASS_OPTION_MODEL, 's', model),
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
	OPTION(GPUPASS_OPTION_ALLOW_BOOT_VGA, 'b', allow_boot_vga),
	OPTION(GPUPASS_OPTION_ACCEPT_DIRTY, 'b', accept_dirty),
	OPTION(GPUPASS_OPTION_NUMA, 's', numa),
	OPTION(GPUPASS_OPTION_FIT, 's', fit),
};

static const OptionSpec release_options[] = {
	OPTION(GPUPASS_OPTION_KEEP_VFIO, 'b', keep_vfio),
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
};

static const OptionSpec bind_options[] = {
	OPTION(GPUPASS_OPTION_DOMAIN, 's', domain),
	OPTION(GPUPASS_OPTION_PERSIST, 'b', persist),
	OPTION(GPUPASS_OPTION_RESET, 'b', reset),
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
	OPTION(GPUPASS_OPTION_ALLOW_BOOT_VGA, 'b', allow_boot_vga),
};

static const OptionSpec unbind_options[] = {
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
	OPTION(GPUPASS_OPTION_ALLOW_BOOT_VGA, 'b', allow_boot_vga),
};

static const OptionSpec declare_options[] = {
	OPTION(GPUPASS_OPTION_NO_BRIDGE_SEEN, 'b', no_bridge_seen),
};

static const OptionSpec verify_options[] = {
	OPTION(GPUPASS_OPTION_GROUP, 's', group),
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
	OPTION(GPUPASS_OPTION_WORKLOAD, 'b', workload),
};

/* ---- jobs ---- */

/*
 * A caller who may assign a group to a domain may not decide that the data of the last tenant do
 * not matter: they belong to another domain. A polkit rule cannot tell whose data they are. So only
 * root may.
 */
static int check_acceptance(Face *f, sd_bus_message *m, const JobRequest *request,
			    sd_bus_error *error)
{
	const PolkitQuestion question = {
		.action = GPUPASS_ACTION_ASSIGN " with accept-dirty",
		.domain = request->domain,
		.group = request->group,
	};

	return request->accept_dirty ? polkit_require_root(f->polkit, m, &question, error) : 0;
}

static int method_assign(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(request_options_clear) RequestOptions options = { 0 };
	const char *domain, *group;
	JobRequest request;
	int r;

	r = sd_bus_message_read(m, "ss", &domain, &group);
	if (r >= 0)
		r = options_read(m, assign_options, ELEMENTS(assign_options), &options, error);
	if (r >= 0)
		r = check_name(domain, "domain", false, error);
	if (r >= 0)
		r = check_name(group, "group", true, error);
	if (r >= 0)
		r = check_name(str_or_empty(options.model), "model", true, error);
	if (r >= 0)
		r = check_timeout(&options, error);
	if (r < 0)
		return r;
	request = request_from(userdata, OPERATION_ASSIGN, &options);
	r = check_fit(&options, &request, error);
	if (r < 0)
		return r;
	request.domain = (char *)domain;
	request.group = *group ? (char *)group : NULL;
	r = check_acceptance(userdata, m, &request, error);
	if (r < 0)
		return r;
	return start_job(userdata, m, GPUPASS_ACTION_ASSIGN, &request, error);
}

/* A job on the one thing that its call names: what it is, and its member of the request. */
typedef struct OneName {
	Operation operation;
	const char *action;
	const char *what;
	size_t member; /* of JobRequest: a char * */
	const OptionSpec *specs;
	size_t n_specs;
} OneName;

static int start_on_one_name(sd_bus_message *m, Face *f, const OneName *job, sd_bus_error *error)
{
	_cleanup_(request_options_clear) RequestOptions options = { 0 };
	JobRequest request;
	const char *name;
	int r;

	r = sd_bus_message_read(m, "s", &name);
	if (r >= 0)
		r = options_read(m, job->specs, job->n_specs, &options, error);
	if (r >= 0)
		r = check_name(name, job->what, false, error);
	if (r >= 0)
		r = check_timeout(&options, error);
	if (r >= 0)
		r = check_name(str_or_empty(options.group), "group", true, error);
	if (r >= 0)
		r = check_name(str_or_empty(options.domain), "domain", true, error);
	if (r < 0)
		return r;
	request = request_from(f, job->operation, &options);
	request.domain = str_is_empty(options.domain) ? NULL : options.domain;
	request.group = str_is_empty(options.group) ? NULL : options.group;
	*(char **)((char *)&request + job->member) = (char *)name;
	return start_job(f, m, job->action, &request, error);
}

#define ON_ONE_NAME(Operation_, Action, What, Member, Specs)                                       \
	(&(const OneName){                                                                         \
		.operation = (Operation_),                                                         \
		.action = (Action),                                                                \
		.what = (What),                                                                    \
		.member = offsetof(JobRequest, Member),                                            \
		.specs = (Specs),                                                                  \
		.n_specs = ELEMENTS(Specs),                                                        \
	})

static int method_release(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return start_on_one_name(m, userdata,
				 ON_ONE_NAME(OPERATION_RELEASE, GPUPASS_ACTION_RELEASE,
					     "domain or group", target, release_options),
				 error);
}

static int method_verify(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return start_on_one_name(m, userdata,
				 ON_ONE_NAME(OPERATION_VERIFY, GPUPASS_ACTION_PROBE, "domain",
					     domain, verify_options),
				 error);
}

static int method_bind(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return start_on_one_name(
		m, userdata,
		ON_ONE_NAME(OPERATION_BIND, GPUPASS_ACTION_BIND, "group", group, bind_options),
		error);
}

static int method_unbind(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return start_on_one_name(
		m, userdata,
		ON_ONE_NAME(OPERATION_UNBIND, GPUPASS_ACTION_BIND, "group", group, unbind_options),
		error);
}

static const OptionSpec reconcile_options[] = {
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
};

static int method_reconcile(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return start_on_one_name(m, userdata,
				 ON_ONE_NAME(OPERATION_RECONCILE, GPUPASS_ACTION_MANAGE, "group",
					     group, reconcile_options),
				 error);
}

static void declared(_unused_ const char *text, const char *error_name, const char *message,
		     void *userdata)
{
	_cleanup_(pending_freep) Pending *pending = userdata;
	Face *f = pending->face;

	decision_record_result(manager_trail(f->manager), pending->call, &pending->caller, 0,
			       error_name, message);
	if (error_name)
		pending_reply_error(pending, error_name, message);
	else if (pending->path)
		sd_bus_reply_method_return(pending->call, "o", pending->path);
	else
		sd_bus_reply_method_return(pending->call, NULL);
}

static int method_declare(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(pending_freep) Pending *pending = NULL;
	_cleanup_strv_ char **gpus = NULL;
	RequestOptions options = { 0 };
	const char *name;
	Face *f = userdata;
	int r;

	r = sd_bus_message_read(m, "s", &name);
	if (r >= 0)
		r = sd_bus_message_read_strv(m, &gpus);
	if (r >= 0)
		r = options_read(m, declare_options, ELEMENTS(declare_options), &options, error);
	if (r >= 0)
		r = check_name(name, "name", false, error);
	if (r >= 0 && strv_length(gpus) < GROUP_MEMBERS_MIN)
		r = invalid_argument(error, "a group has at least one GPU",
				     "name each of the GPUs that the bridge ties together, or one "
				     "that has no bridge");
	if (r >= 0 && strv_length(gpus) > GROUP_GPUS_MAX)
		r = invalid_argument(error, "that is more GPUs than a group may have",
				     "name at most 16, those that the bridge ties together");
	for (char **gpu = gpus; r >= 0 && gpu && *gpu; gpu++)
		r = check_name(*gpu, "GPU", false, error);
	if (r >= 0)
		r = begin(f, m, GPUPASS_ACTION_MANAGE, name, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	pending->path = group_path(name);
	manager_declare(f->manager, name, gpus, options.no_bridge_seen, declared,
			TAKE_PTR(pending));
	return 1;
}

/* 1: go on. 0: polkit decides first, and then the handler is entered again. */
static int begin_on_one_name(sd_bus_message *m, Face *f, const char *what, const char **ret_name,
			     Pending **ret_pending, sd_bus_error *error)
{
	int r;

	r = sd_bus_message_read(m, "s", ret_name);
	if (r >= 0)
		r = options_read(m, NULL, 0, NULL, error);
	if (r >= 0)
		r = check_name(*ret_name, what, false, error);
	return r < 0 ? r : begin(f, m, GPUPASS_ACTION_MANAGE, *ret_name, ret_pending, error);
}

static int method_forget(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(pending_freep) Pending *pending = NULL;
	const char *name;
	Face *f = userdata;
	int r;

	r = begin_on_one_name(m, f, "name", &name, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	manager_forget(f->manager, name, declared, TAKE_PTR(pending));
	return 1;
}

static int method_clear(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(pending_freep) Pending *pending = NULL;
	const char *group;
	Face *f = userdata;
	int r;

	r = begin_on_one_name(m, f, "group", &group, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	r = manager_clear(f->manager, group, declared, pending, &problem);
	if (r == PROBLEM)
		return set_problem(error, problem, "cannot clear it");
	if (r < 0)
		return r;
	TAKE_PTR(pending);
	return 1;
}

const sd_bus_vtable manager_methods[] = {
	SD_BUS_VTABLE_START(0),
	METHOD_ASKS("Declare", "sasa{sv}",
		    SD_BUS_PARAM(name) SD_BUS_PARAM(gpus) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(group), method_declare),
	METHOD_ASKS("Forget", "sa{sv}", SD_BUS_PARAM(name) SD_BUS_PARAM(options), "", ,
		    method_forget),
	METHOD_ASKS("Plan", "ssa{sv}",
		    SD_BUS_PARAM(domain) SD_BUS_PARAM(group) SD_BUS_PARAM(options), "s",
		    SD_BUS_PARAM(plan), method_plan),
	METHOD_ASKS("Assign", "ssa{sv}",
		    SD_BUS_PARAM(domain) SD_BUS_PARAM(group) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(job), method_assign),
	METHOD_ASKS("Release", "sa{sv}", SD_BUS_PARAM(target) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(job), method_release),
	METHOD_ASKS("Bind", "sa{sv}", SD_BUS_PARAM(group) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(job), method_bind),
	METHOD_ASKS("Unbind", "sa{sv}", SD_BUS_PARAM(group) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(job), method_unbind),
	METHOD_ASKS("Verify", "sa{sv}", SD_BUS_PARAM(domain) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(job), method_verify),
	METHOD_ASKS("Cancel", "ua{sv}", SD_BUS_PARAM(id) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(job), method_cancel),
	METHOD_ASKS("Clear", "sa{sv}", SD_BUS_PARAM(group) SD_BUS_PARAM(options), "", ,
		    method_clear),
	METHOD_ASKS("Reconcile", "sa{sv}", SD_BUS_PARAM(group) SD_BUS_PARAM(options), "o",
		    SD_BUS_PARAM(job), method_reconcile),
	METHOD_ASKS("GetDrift", "a{sv}", SD_BUS_PARAM(options), "s", SD_BUS_PARAM(drift),
		    method_get_drift),
	METHOD_ASKS("Doctor", "sa{sv}", SD_BUS_PARAM(domain) SD_BUS_PARAM(options), "s",
		    SD_BUS_PARAM(json), method_doctor),
	METHOD_ASKS("Probe", "a{sv}", SD_BUS_PARAM(options), "o", SD_BUS_PARAM(job), method_probe),
	METHOD_READS("GetEvidence", "a{sv}", SD_BUS_PARAM(options), "s", SD_BUS_PARAM(evidence),
		     method_get_evidence),
	METHOD_ASKS("Rescan", "a{sv}", SD_BUS_PARAM(options), "", , method_rescan),
	METHOD_READS("GetTopology", "a{sv}", SD_BUS_PARAM(options), "s", SD_BUS_PARAM(topology),
		     method_get_topology),
	METHOD_ASKS("GetAudit", "a{sv}", SD_BUS_PARAM(options), "s", SD_BUS_PARAM(page),
		    method_get_audit),
	METHOD_ASKS("GetHolders", "a{sv}", SD_BUS_PARAM(options), "s", SD_BUS_PARAM(holders),
		    method_get_holders),
	METHOD_READS("GetMetrics", "a{sv}", SD_BUS_PARAM(options), "s", SD_BUS_PARAM(metrics),
		     method_get_metrics),
	SD_BUS_SIGNAL_WITH_NAMES("JobNew", "uo", SD_BUS_PARAM(id) SD_BUS_PARAM(job), 0),
	SD_BUS_SIGNAL_WITH_NAMES("JobRemoved", "uosss",
				 SD_BUS_PARAM(id) SD_BUS_PARAM(job) SD_BUS_PARAM(result)
					 SD_BUS_PARAM(error) SD_BUS_PARAM(message),
				 0),
	SD_BUS_VTABLE_END,
};
