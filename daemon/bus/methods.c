/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The methods. Each call is read and checked by its row in gpupass/interfaces.h, polkit is asked
 * whether the caller may, by the same row, and only then something is done. What takes time answers
 * later, from a job or a callback.
 *
 * Nothing has an effect before the caller is known to be allowed: until then the same call may come
 * again. Whoever the bus lets in may read what is already in the picture; a method that starts a
 * thread asks polkit.
 */
#include "bus/call.h"

#include "core/group/nearest.h"
#include "core/group/topology-json.h"
#include "core/links/declaration.h"
#include "gpupass/dbus.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- plans and reports, from a thread ---- */

static int check_plan(Call *call)
{
	const char *text = call->options.operation;
	Operation operation = OPERATION_ASSIGN;
	bool on_group;
	int r;

	if (text && (operation_from_string(text, &operation) < 0 || operation == OPERATION_VERIFY ||
		     operation == OPERATION_PROBE)) /* have no plan */
		return call_invalid(call, "there is no such operation to plan",
				    "give assign, release, bind, unbind, reconcile or prepare");
	on_group = operation == OPERATION_BIND || operation == OPERATION_UNBIND ||
		   operation == OPERATION_RECONCILE || operation == OPERATION_PREPARE;
	r = call_check_name(call, call->names[on_group], "domain or group", false);
	return r < 0 ? r : call_make_request(call, operation);
}

static void planned(PlanResult *result, void *userdata)
{
	pending_answer(result->json, result->error_name, result->message, userdata);
}

static int plan(Call *call)
{
	call->request.plan.wakes_nothing = !caller_is_privileged(call->pending->caller.uid);
	manager_plan(call->face->manager, &call->request, planned, call->pending);
	return 0;
}

static int check_doctor(Call *call)
{
	const char *symptom = call->options.symptom;
	bool of_domain = *call->names[0] != '\0';

	call->symptom = DOCTOR_SYMPTOM_MAX_;
	if (symptom && doctor_symptom_from_string(symptom, &call->symptom) < 0)
		return call_invalid(call, "there is no such symptom",
				    "give no-nvlink, one-gpu, no-p2p or slow");
	if (symptom && !of_domain)
		return call_invalid(call, "a symptom is of a domain", "name the domain, too");
	if (call->options.capture && of_domain)
		return call_invalid(call, "a capture is of the host as a whole",
				    "leave the domain out");
	return 0;
}

static int doctor(Call *call)
{
	manager_doctor(call->face->manager,
		       &(DoctorRequest){ .domain = xstrdup(named(call->names[0])),
					 .symptom = call->symptom,
					 .capture = call->options.capture },
		       pending_answer, call->pending);
	return 0;
}

static int get_drift(Call *call)
{
	manager_get_drift(call->face->manager, pending_answer, call->pending);
	return 0;
}

static void rescanned(void *userdata)
{
	_cleanup_(pending_freep) Pending *pending = userdata;

	sd_bus_reply_method_return(pending->call, NULL);
}

static int rescan(Call *call)
{
	manager_refresh(call->face->manager, rescanned, call->pending);
	return 0;
}

static int check_audit(Call *call)
{
	const CallOptions *o = &call->options;

	if (o->user >= AUDIT_NO_UID || o->job > UINT32_MAX)
		return call_invalid(call, "this is no user or no job", "give their numbers");
	return 0;
}

/* Reading leaves no record: otherwise a reader who follows the trail would make more to read. */
static int get_audit(Call *call)
{
	const CallOptions *o = &call->options;

	return manager_get_audit(call->face->manager,
				 &(AuditQuery){
					 .since_usec = o->since_usec,
					 .until_usec = o->until_usec,
					 .after = o->after,
					 .group = o->group,
					 .domain = o->domain,
					 .by_user = o->given & TAKES(USER),
					 .user = (uint32_t)o->user,
					 .job = (uint32_t)o->job,
					 .holders = o->holders,
				 },
				 pending_answer, call->pending);
}

/* A look at what a job has in hand may leave its worker behind: see Inspect. */
static int get_holders(Call *call)
{
	return manager_get_holders(call->face->manager,
				   caller_is_privileged(call->pending->caller.uid), pending_answer,
				   call->pending);
}

/* ---- what is in the picture, at once ---- */

static int get_evidence(Call *call)
{
	const Manager *m = call->face->manager;
	const Inventory *inventory = manager_inventory(m);
	_cleanup_free_ char *report = NULL;

	if (!inventory)
		return -EAGAIN; /* the name is not taken before there is one */
	report = evidence_report(manager_evidence(m), inventory->gpus, manager_assignments(m));
	return sd_bus_reply_method_return(call->message, "s", report);
}

static int get_topology(Call *call)
{
	const Manager *m = call->face->manager;
	const Inventory *inventory = manager_inventory(m);
	_cleanup_free_ char *json = NULL;
	const GpuHealth *healths;
	size_t n;

	if (!inventory)
		return -EAGAIN; /* as above */
	healths = manager_gpu_healths(m, &n);
	json = topology_to_json(&(TopologyFacts){
		.snapshot = inventory->snapshot,
		.gpus = inventory->gpus,
		.groups = inventory->groups,
		.uses = manager_uses(m),
		.host = inventory->facts,
		.healths = healths,
		.n_healths = n,
	});
	return sd_bus_reply_method_return(call->message, "s", json);
}

static int compare_names(const void *a, const void *b)
{
	const DomainUse *const *x = a, *const *y = b;

	return strverscmp((*x)->name, (*y)->name);
}

static int append_domains(sd_bus_message *reply, const DomainUses *uses)
{
	_cleanup_free_ const DomainUse **sorted = xcalloc(uses->n_items + 1, sizeof(*sorted));
	int r = sd_bus_message_open_container(reply, 'a', "(ssb)");

	for (size_t i = 0; i < uses->n_items; i++)
		sorted[i] = &uses->items[i];
	qsort(sorted, uses->n_items, sizeof(*sorted), compare_names);
	for (size_t i = 0; r >= 0 && i < uses->n_items; i++)
		r = sd_bus_message_append(reply, "(ssb)", sorted[i]->name, sorted[i]->uuid,
					  sorted[i]->active);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int get_domains(Call *call)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_cleanup_(pending_freep) Pending *pending = TAKE_PTR(call->pending);
	const Manager *m = call->face->manager;
	const DomainUses *uses = manager_uses(m);
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r;

	if (!uses) {
		domain_source_refuse(manager_domain_source(m), "which domains there are", &problem);
		return call_set_problem(call, problem, NULL);
	}
	r = sd_bus_message_new_method_return(pending->call, &reply);
	if (r >= 0)
		r = append_domains(reply, uses);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

/* What was counted since the start: numbers without names of callers or domains, open to all. */
static int get_metrics(Call *call)
{
	const Refusals *refusals = &call->face->refusals;
	_cleanup_free_ char *text =
		manager_metrics(call->face->manager, refusals->denied, refusals->limited);

	return sd_bus_reply_method_return(call->message, "s", text);
}

/* ---- declarations and quarantines ---- */

static int check_declare(Call *call)
{
	size_t n = strv_length(call->list);
	int r = 0;

	if (n < GROUP_MEMBERS_MIN)
		return call_invalid(call, "a group has at least one GPU",
				    "name each of the GPUs that the bridge ties together, or one "
				    "that has no bridge");
	if (n > GROUP_GPUS_MAX + GROUP_COMPANIONS_MAX)
		return call_invalid(call, "that is more than a group may have",
				    "name at most 16 GPUs, those that the bridge ties together");
	if (call->options.given & TAKES(VLAN) &&
	    (call->options.vlan == 0 || call->options.vlan > VLAN_MAX))
		return call_invalid(call, "that is no VLAN", "give a number from 1 to 4094");
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = call_check_name(call, call->list[i], "GPU", false);
	return r;
}

static int nearest(Call *call)
{
	const Inventory *inventory = manager_inventory(call->face->manager);
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *reason = NULL;
	Member member;
	int r;

	if (!inventory)
		return -EAGAIN; /* as above */
	r = companion_nearest(call->names[0], call->list, inventory->groups, inventory->gpus,
			      inventory->facts ? inventory->facts->n_nodes : 0, &member, &reason,
			      &problem);
	if (r == PROBLEM)
		return call_set_problem(call, problem, NULL);
	return sd_bus_reply_method_return(call->message, "ss", MEMBER_TEXT(&member), reason);
}

static void changed(_unused_ const char *text, const char *error_name, const char *message,
		    void *userdata)
{
	_cleanup_(pending_freep) Pending *pending = userdata;

	decision_record_result(manager_trail(pending->face->manager), pending->call,
			       &pending->caller, 0, error_name, message);
	if (error_name)
		pending_reply_error(pending, error_name, message);
	else if (pending->path)
		sd_bus_reply_method_return(pending->call, "o", pending->path);
	else
		sd_bus_reply_method_return(pending->call, NULL);
}

static int declare(Call *call)
{
	const DeclareWish wish = {
		.name = call->names[0],
		.members = call->list,
		.whole_nic = call->options.whole_nic,
		.erase = call->options.erase,
		.vlan = (unsigned)call->options.vlan,
	};

	call->pending->path = group_path(call->names[0]);
	manager_declare(call->face->manager, &wish, call->options.no_bridge_seen, changed,
			call->pending);
	return 0;
}

static int forget(Call *call)
{
	manager_forget(call->face->manager, call->names[0], changed, call->pending);
	return 0;
}

static int clear(Call *call)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = manager_clear(call->face->manager, call->names[0], changed, call->pending,
			      &problem);

	return r == PROBLEM ? call_set_problem(call, problem, "cannot clear it") : r;
}

/* ---- cancelling ---- */

static int check_cancel(Call *call)
{
	return call_check_job(call, call->id);
}

static int cancel(Call *call)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *path = NULL;
	Face *f = call->face;
	const Caller *caller;
	int r = call_may_cancel(call);

	if (r <= 0)
		return r;
	caller = callers_current(f->callers);
	r = manager_cancel_job(f->manager, call->id, caller->uid, &problem);
	if (r == PROBLEM) {
		decision_record_result(manager_trail(f->manager), call->message, caller, call->id,
				       problem_dbus_name(problem->error), problem->reason);
		return call_set_problem(call, problem, "cannot cancel it");
	}
	if (r < 0)
		return r;
	path = job_path(call->id);
	return sd_bus_reply_method_return(call->message, "o", path);
}

/* ---- all of them ---- */

typedef enum MethodId {
#define MANAGER_METHOD(Name, ID, ...) METHOD_##ID,
#define GPU_METHOD(Name, ID, ...) METHOD_##ID,
#include "gpupass/interfaces.h"
	METHOD_MAX_,
} MethodId;

#define NEED_MUST true
#define NEED_MAY false
#define GPUPASS_ACTION_OPEN NULL
#define GPUPASS_ACTION_ITS_JOB NULL
#define METHOD(Name, ID, in, names, out, out_names, NEED, ACTION, takes)                           \
	[METHOD_##ID] = { Name, in, names, GPUPASS_ACTION_##ACTION, takes, NEED_##NEED },

static const Method methods[] = {
#define ARG(name) #name "\0"
#define MANAGER_METHOD METHOD
#define GPU_METHOD METHOD
#include "gpupass/interfaces.h"
};

static const Handler handlers[] = {
	[METHOD_DECLARE] = { check_declare, declare, KIND_LATE, 0 },
	[METHOD_NEAREST] = { check_declare, nearest, KIND_OPEN, 0 },
	[METHOD_FORGET] = { NULL, forget, KIND_LATE, 0 },
	[METHOD_PLAN] = { check_plan, plan, KIND_LATE, 0 },
	[METHOD_ASSIGN] = { NULL, NULL, KIND_JOB, OPERATION_ASSIGN },
	[METHOD_RELEASE] = { NULL, NULL, KIND_JOB, OPERATION_RELEASE },
	[METHOD_BIND] = { NULL, NULL, KIND_JOB, OPERATION_BIND },
	[METHOD_UNBIND] = { NULL, NULL, KIND_JOB, OPERATION_UNBIND },
	[METHOD_PREPARE] = { NULL, NULL, KIND_JOB, OPERATION_PREPARE },
	[METHOD_VERIFY] = { NULL, NULL, KIND_JOB, OPERATION_VERIFY },
	[METHOD_CANCEL] = { check_cancel, cancel, KIND_OWN, 0 },
	[METHOD_CLEAR] = { NULL, clear, KIND_LATE, 0 },
	[METHOD_RECONCILE] = { NULL, NULL, KIND_JOB, OPERATION_RECONCILE },
	[METHOD_GET_DRIFT] = { NULL, get_drift, KIND_LATE, 0 },
	[METHOD_DOCTOR] = { check_doctor, doctor, KIND_LATE, 0 },
	[METHOD_PROBE] = { NULL, NULL, KIND_JOB, OPERATION_PROBE },
	[METHOD_GET_EVIDENCE] = { NULL, get_evidence, KIND_OPEN, 0 },
	[METHOD_RESCAN] = { NULL, rescan, KIND_LATE, 0 },
	[METHOD_GET_TOPOLOGY] = { NULL, get_topology, KIND_OPEN, 0 },
	[METHOD_GET_DOMAINS] = { NULL, get_domains, KIND_LATE, 0 },
	[METHOD_GET_AUDIT] = { check_audit, get_audit, KIND_LATE, 0 },
	[METHOD_GET_HOLDERS] = { NULL, get_holders, KIND_LATE, 0 },
	[METHOD_ALLOWED] = { call_check_allowed, call_allowed, KIND_OPEN, 0 },
	[METHOD_GET_METRICS] = { NULL, get_metrics, KIND_OPEN, 0 },
	[METHOD_INSPECT] = { NULL, call_inspect, KIND_LATE, 0 },
};
_Static_assert(ELEMENTS(handlers) == METHOD_MAX_, "every method has its handler");

static const Method *find(const char *name, const Handler **ret)
{
	for (size_t id = 0; id < METHOD_MAX_; id++)
		if (strcmp(methods[id].name, name) == 0) {
			*ret = &handlers[id];
			return &methods[id];
		}
	return NULL;
}

static int act(Call *call, const Handler *handler)
{
	MethodKind kind = handler->kind;
	bool asks = kind == KIND_LATE || kind == KIND_JOB;
	int r = 1;

	/* Rights never follow from a row that has none, or from a handler that there is not. */
	if (asks != (call->method->action != NULL) || (kind != KIND_JOB) != (handler->act != NULL))
		return -EACCES;
	if (kind == KIND_JOB)
		return call_start_job(call);
	if (kind == KIND_LATE)
		r = call_begin(call);
	return r <= 0 ? r : handler->act(call);
}

/* sd-bus has checked path, interface, member and signature. */
static int on_call(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(call_clear)
		Call call = { .face = userdata, .message = m, .error = error, .find = find };
	const Handler *handler;
	int r;

	call.method = find(sd_bus_message_get_member(m), &handler);
	if (!call.method)
		return -ENOSYS;
	r = call_read(&call);
	if (r >= 0 && handler->check)
		r = handler->check(&call);
	if (r >= 0 && handler->kind == KIND_JOB)
		r = call_make_request(&call, handler->operation);
	if (r >= 0)
		r = act(&call, handler);
	if (r >= 0)
		call.pending = NULL; /* the answer has it */
	return r < 0 ? call_failed(&call, r) : 1;
}

/* Everybody may call: the row says what is asked of him. */
#define VTABLE_METHOD(Name, ID, in, names, out, out_names, NEED, ACTION, takes)                    \
	SD_BUS_METHOD_WITH_NAMES(Name, in "a{sv}", names ARG(options), out, out_names, on_call,    \
				 SD_BUS_VTABLE_UNPRIVILEGED),
#define VTABLE_SIGNAL(Name, signature, names) SD_BUS_SIGNAL_WITH_NAMES(Name, signature, names, 0),

const sd_bus_vtable manager_methods[] = {
	SD_BUS_VTABLE_START(0),
#define MANAGER_METHOD VTABLE_METHOD
#define MANAGER_SIGNAL VTABLE_SIGNAL
#include "gpupass/interfaces.h"
	SD_BUS_VTABLE_END,
};

const sd_bus_vtable gpu_methods[] = {
	SD_BUS_VTABLE_START(0),
#define GPU_METHOD VTABLE_METHOD
#include "gpupass/interfaces.h"
	SD_BUS_VTABLE_END,
};
