/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A healthy host for doctor: tests put one fault into it, and exactly the check about it must
 * speak, by its name, with the address and a remedy. One test program for each room of checks.
 */
#pragma once

#include "core/doctor/doctor.h"
#include "rig/plan-model.h"
#include "util/json.h"

#define GPUS 4
#define GPU "0000:41:00.0"
#define AUDIO "0000:41:00.1"
#define PORT "0000:40:01.1"
#define GIB (UINT64_C(1) << 30)

typedef struct Rig {
	PlanModel m;
	Examination *host;
	HostFacts machine;
	HostNode nodes[2];
	HugePool pool;
	GpuHealth health[GPUS + 1]; /* of the GPUs, and of a NIC of pair0 */
	bool with_nic;
	char **busy, **quarantined, **open_jobs, **settings;
	LastReset resets[GPUS];
	bool no_inspection, no_host, no_libvirt, no_machine, with_domain, golden, bad_xml;
	bool no_notes;
	int inspection_error, host_error;
	DoctorSymptom symptom;
	Finding drift, evidence, tenants, files, split;
	const char *fence_fault;
	VirtDomain domain;
	json_t *report;
} Rig;

static inline _unused_ PcieConfig good_link(unsigned type)
{
	return (PcieConfig){
		.read = true,
		.pcie = true,
		.type = type,
		.speed = 4,
		.speed_max = 4,
		.width = 16,
		.width_max = 16,
		.acs = type == PCIE_TYPE_ROOT_PORT,
		.acs_capability = 0x1f,
		.acs_control = 0x1d,
	};
}

static inline _unused_ void set(char **text, const char *value)
{
	free(*text);
	*text = value ? strdup(value) : NULL;
}

static inline _unused_ void add(char ***list, const char *line)
{
	strv_append(list, line);
}

static inline _unused_ void rig_init(Rig *rig)
{
	static const char *const leads[GPUS] = { GPU, "0000:61:00.0", "0000:a1:00.0",
						 "0000:c1:00.0" };

	*rig = (Rig){ .symptom = DOCTOR_SYMPTOM_MAX_, .host = xcalloc(1, sizeof(Examination)) };
	rig->m = model_new();
	for (size_t i = 0; i < GPUS; i++) {
		model_set(&model_function(&rig->m, leads[i])->power_state, "D0");
		rig->health[i] = (GpuHealth){
			.bdf = bdf_of(leads[i]),
			.power_state = strdup("D0"),
			.config = good_link(0),
			.aer = true,
			.correctable = 3,
			.ports = calloc(1, sizeof(HealthPort)),
			.n_ports = 1,
		};
		assert_non_null(rig->health[i].ports);
		rig->health[i].ports[0] = (HealthPort){
			.bdf = bdf_of(PORT),
			.config = good_link(PCIE_TYPE_ROOT_PORT),
		};
	}
	set(&rig->host->nvidia_version, "550.54.15");
	set(&rig->host->libvirt_daemon, "virtqemud (pid 12)");
	add(&rig->host->cmdline, "intel_iommu=on");
	rig->host->image = xcalloc(1, sizeof(Initramfs));
	set(&rig->host->image->path, "/boot/initrd.img-6.1");
	set(&rig->host->image->release, "6.1");
	set(&rig->host->image->maker, "initramfs-tools");
	rig->pool = (HugePool){ .page_bytes = 2UL << 20 };
	rig->nodes[0] = (HostNode){
		.cpus = (char *)"0-31",
		.memory_bytes = 128 * GIB,
		.pools = &rig->pool,
		.n_pools = 1,
	};
	rig->nodes[1] = (HostNode){ .node = 1, .cpus = (char *)"32-63", .memory_bytes = 128 * GIB };
	rig->machine = (HostFacts){
		.physical_bits = 46,
		.nodes = rig->nodes,
		.n_nodes = 1,
		.memory_bytes = 256 * GIB,
		.libvirt_version = LIBVIRT_VERSION(9, 0),
	};
	rig->m.inspection.interrupts_known = rig->m.inspection.interrupts_remapped = true;
	rig->m.inspection.iomem_read = true;
	for (size_t i = 0; i < rig->m.inspection.n_functions; i++)
		rig->m.inspection.functions[i].resource_read =
			rig->m.inspection.functions[i].regions_read = true;
	rig->host->systemd = rig->host->bind_enabled = true;
	rig->host->hook = rig->host->hook_runs = rig->host->hook_known = true;
	set(&rig->host->hook_is, "gpupass-hook");
}

static inline _unused_ void rig_done(Rig *rig)
{
	Finding *const told[] = { &rig->drift, &rig->evidence, &rig->tenants, &rig->files,
				  &rig->split };

	json_decref(rig->report);
	for (size_t i = 0; i < ELEMENTS(told); i++)
		finding_clear(told[i]);
	for (size_t i = 0; i < ELEMENTS(rig->health); i++)
		gpu_health_clear(&rig->health[i]);
	examination_free(rig->host);
	strv_free(rig->machine.iommu_words);
	strv_free(rig->busy);
	strv_free(rig->quarantined);
	strv_free(rig->open_jobs);
	strv_free(rig->settings);
	model_done(&rig->m);
}

static inline _unused_ void rig_report(Rig *rig)
{
	PlanModel *m = &rig->m;
	CheckFacts facts = {
		.snapshot = m->host.snapshot,
		.gpus = m->host.set,
		.assignments = m->host.assignments,
		.policy = &m->policy,
		.inspection = rig->no_inspection ? NULL : &m->inspection,
		.inspection_error = rig->inspection_error,
		.machine = rig->no_machine ? NULL : &rig->machine,
		.host = rig->no_host ? NULL : rig->host,
		.host_error = rig->host_error,
		.health = rig->health,
		.n_health = rig->with_nic ? GPUS + 1 : GPUS,
		.marks = m->tenants,
		.resets = rig->resets,
		.n_resets = GPUS,
		.busy = rig->busy,
		.quarantined = rig->quarantined,
		.open_jobs = rig->open_jobs,
		.settings = rig->settings,
		.drift = rig->golden || rig->no_notes ? NULL : &rig->drift,
		.evidence = rig->golden || rig->no_notes ? NULL : &rig->evidence,
		.tenants = rig->golden || rig->no_notes ? NULL : &rig->tenants,
		.files = rig->golden || rig->no_notes ? NULL : &rig->files,
		.split = rig->golden || rig->no_notes ? NULL : &rig->split,
		.fence_fault = rig->fence_fault,
	};
	_cleanup_free_ char *text = NULL;

	if (rig->golden) {
		host_resolve(&m->host);
		host_observe(&m->host, false);
	} else {
		model_observe(m);
	}
	facts.gpus = m->host.set;
	facts.groups = m->host.groups;
	facts.uses = rig->no_libvirt ? NULL : m->host.uses;
	rig->domain = (VirtDomain){
		.uuid = (char *)VM42,
		.name = (char *)"vm42",
		.active = m->live_xml != NULL,
		.config_xml = rig->bad_xml ? (char *)"<domain>" : m->config_xml,
		.live_xml = m->live_xml,
	};
	if (rig->with_domain)
		facts.domain = &rig->domain;
	text = doctor_report(&facts, rig->symptom);
	assert_non_null(text);
	rig->report = json_loads(text, 0, NULL);
	assert_non_null(rig->report);
}

static const json_t *find_check(const Rig *rig, const char *id)
{
	const json_t *checks = json_object_get(rig->report, "checks"), *check;
	size_t i;

	json_array_foreach (checks, i, check)
		if (str_equal(json_string_value(json_object_get(check, "id")), id))
			return check;
	fail_msg("there is no check %s", id);
	return NULL;
}

static const char *status_of(const Rig *rig, const char *id)
{
	return json_string_value(json_object_get(find_check(rig, id), "status"));
}

static inline _unused_ const char *remedy_of(const Rig *rig, const char *id)
{
	return str_or_empty(json_string_value(json_object_get(find_check(rig, id), "remedy")));
}

/* The ids of all checks that warn or fail: "answers power". */
static inline _unused_ char *spoken_by(const Rig *rig)
{
	const json_t *checks = json_object_get(rig->report, "checks"), *check;
	_cleanup_strv_ char **ids = NULL;
	size_t i;

	json_array_foreach (checks, i, check) {
		const char *status = json_string_value(json_object_get(check, "status"));

		if (str_equal(status, "warn") || str_equal(status, "fail"))
			add(&ids, json_string_value(json_object_get(check, "id")));
	}
	return strv_join(ids, " ");
}

static inline _unused_ bool says(const json_t *check, const char *text)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(check, "what"), i, line)
		if (strstr(json_string_value(line), text))
			return true;
	return false;
}

/* Call after changing addresses or ids. */
static inline _unused_ void reseal(Rig *r)
{
	gpu_set_free(r->m.host.set);
	r->m.host.set = NULL;
	host_seal(&r->m.host);
}

static inline _unused_ void assign_pair0(Rig *r)
{
	model_domain(&r->m, "q35-assigned", NULL);
	model_bind_pair0(&r->m);
	model_record(&r->m, NULL, NULL);
}

static inline _unused_ void held_bar(Rig *r, const char *bdf, int bar, const char *name)
{
	FunctionFacts *facts = model_facts(&r->m, bdf);

	*GROW(facts->bar_holders, facts->n_bar_holders) =
		(BarHolder){ .bar = bar, .name = strdup(name) };
}

/* The report is about vm42, which has pair0. */
static inline _unused_ void of_vm42(Rig *r)
{
	r->with_domain = true;
	assign_pair0(r);
}

/* ---- cases: rows that end with what is done to the healthy host, which is called r ---- */

#ifndef RIG_BEGIN
#define RIG_BEGIN (void)0
#endif

#define ON_RIG(then, ...)                                                                          \
	do {                                                                                       \
		Rig rig, *r = &rig;                                                                \
                                                                                                   \
		rig_init(r);                                                                       \
		RIG_BEGIN;                                                                         \
		__VA_ARGS__;                                                                       \
		rig_report(r);                                                                     \
		then;                                                                              \
		rig_done(r);                                                                       \
	} while (0)

/* These checks speak and no others, in the order of the report. */
#define SPEAKS(name, spoken, ...) ON_RIG(expect_spoken(name, r, spoken), __VA_ARGS__)

/* How a check stands, and a part of its words. */
#define STANDS(id, status, text, ...) ON_RIG(expect_status(r, id, status, text), __VA_ARGS__)

/* A fact is missing: the check does not pass. Of a list of the `cases`. */
#define LACKS(id, text, ...)                                                                       \
	ON_RIG((expect_status(r, id, "unknown", text), add(&cases, id)), __VA_ARGS__)

/* The last of these checks speaks, and a plan is refused, or is not. Of a list of the `cases`. */
#define TOLD(name, spoken, status, text, remedy, ...)                                              \
	REFUSED(name, spoken, status, text, remedy, NULL, 0, NULL, __VA_ARGS__)
#define REFUSED(name, spoken, status, text, remedy, reason, error, cause, ...)                     \
	ON_RIG(expect_case(&cases, r,                                                              \
			   &(Case){ name, spoken, status, text, remedy, reason, error, cause }),   \
	       __VA_ARGS__)

typedef struct Case {
	const char *name;
	const char *spoken;
	const char *status;
	const char *text;   /* in one of the check's lines */
	const char *remedy; /* in its remedy, and in the refusal's */
	const char *reason; /* in that of the refusal of an assign; NULL: there is none */
	GpupassError error;
	const char *cause; /* in the refusal's; NULL: not looked at */
} Case;

static inline _unused_ void expect_spoken(const char *name, const Rig *rig, const char *spoken)
{
	_cleanup_free_ char *found = spoken_by(rig);

	if (!str_equal(found, spoken))
		fail_msg("%s: \"%s\" spoke", name, found);
}

static inline _unused_ void expect_status(const Rig *rig, const char *id, const char *status,
					  const char *text)
{
	const json_t *check = find_check(rig, id);

	if (!str_equal(status_of(rig, id), status) || !says(check, text))
		fail_msg("%s is not %s, or does not say \"%s\": %s", id, status, text,
			 json_dumps(check, 0));
}

static inline _unused_ unsigned plans_of(const char *id)
{
	const Check *check;
	size_t i = 0;

	while ((check = checks_at(i++)) && !str_equal(check->id, id))
		;
	return check ? check->plans : 0;
}

/* What doctor says and what a plan says of the same host is one answer. */
static inline _unused_ void check_refusal(const Case *c, const char *id, Rig *rig)
{
	const Problem *problem;
	int r;

	rig->m.host.groups = group_set_free(rig->m.host.groups);
	rig->m.facts = &rig->machine;
	if (rig->with_nic) {
		rig->m.health = rig->health;
		rig->m.n_health = ELEMENTS(rig->health);
	}
	r = model_plan(&rig->m);
	problem = rig->m.problem;
	if (!c->reason) {
		if (r != 0 && plans_of(id))
			fail_msg("%s: refused: %s", c->name, problem ? problem->reason : "");
		if (plans_of(id) & WARNS_TAKING) {
			_cleanup_free_ char *warnings = strv_join(rig->m.plan->warnings, "\n");

			if (!strstr(warnings, str_or_empty(c->text)))
				fail_msg("%s: it warns: %s", c->name, warnings);
		}
		return;
	}
	if (r != PROBLEM)
		fail_msg("%s: it is planned", c->name);
	if (problem->error != c->error || !strstr(problem->reason, c->reason) ||
	    !strstr(str_or_empty(problem->remedy), c->remedy) ||
	    (c->cause && !strstr(str_or_empty(problem->cause), c->cause)))
		fail_msg("%s: %s: %s; %s; %s", c->name, problem_dbus_name(problem->error),
			 problem->reason, str_or_empty(problem->cause),
			 str_or_empty(problem->remedy));
}

static inline _unused_ void expect_case(char ***cases, Rig *rig, const Case *c)
{
	const char *last = strrchr(c->spoken, ' '), *id = last ? last + 1 : c->spoken;

	add(cases, id);
	expect_spoken(c->name, rig, c->spoken);
	expect_status(rig, id, c->status, c->text);
	if (!strstr(remedy_of(rig, id), c->remedy))
		fail_msg("%s: the remedy is %s", c->name, remedy_of(rig, id));
	if (!rig->with_domain)
		check_refusal(c, id, rig);
}

/* Each check of the table had a case, but for those in `sure`. */
static inline _unused_ void all_had_cases(char **cases, const Check *table, const char *sure)
{
	_cleanup_strv_ char **ids = NULL;

	strv_split(sure, " ", &ids);
	for (; table->id; table++)
		if (!strv_contains(ids, table->id) && !strv_contains(cases, table->id))
			fail_msg("%s has no case", table->id);
}

/* ---- facts that are missing ---- */

static inline _unused_ void no_inspection(Rig *r)
{
	r->no_inspection = true;
	r->inspection_error = -EPROTO;
}

static inline _unused_ void no_host(Rig *r)
{
	r->no_host = true;
	r->host_error = -ETIMEDOUT;
}

static inline _unused_ void unread_domain(Rig *r)
{
	set(&host_domain(&r->m.host, "vm7", false, (const char *const[]){ NULL })->unread, "torn");
}

/* One GPU was not looked at: it sleeps, or its worker failed. */
static inline _unused_ void not_read(Rig *r, int error)
{
	gpu_health_clear(&r->health[0]);
	r->health[0] = (GpuHealth){ .bdf = bdf_of(GPU), .error = error };
}

static inline _unused_ void files_unread(Rig *r)
{
	static const char *const facts[] = { "cmdline",	  "modprobe", "driverctl",
					     "processes", "memlock",  "boot" };

	for (size_t i = 0; i < ELEMENTS(facts); i++) {
		_cleanup_free_ char *line = strf("%s /a/file: Permission denied", facts[i]);

		add(&r->host->unread, line);
	}
}

static inline _unused_ void unread_assignment(Rig *r)
{
	Assignments *all = r->m.host.assignments;
	RecordFault *fence = GROW(all->faults.items, all->faults.n_items);

	fence->kind = &assignment_kind;
	fence->file = strdup("x.json");
	fence->why = strdup("torn");
}
