/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/views.h"

#include <string.h>

#include "core/group/word.h"
#include "gpupass/dbus.h"
#include "util/text.h"
#include "util/xalloc.h"

#define VIEW_TABLES(view, View, PROPERTIES)                                                        \
	const Field view##_fields[] = { PROPERTIES(VIEW_FIELD, View) };                            \
	const size_t n_##view##_fields = ELEMENTS(view##_fields);                                  \
	const sd_bus_vtable view##_properties[] = { SD_BUS_VTABLE_START(0),                        \
						    PROPERTIES(VIEW_PROPERTY, View)                \
							    SD_BUS_VTABLE_END };

VIEW_TABLES(manager, ManagerView, GPUPASS_MANAGER_PROPERTIES)
VIEW_TABLES(group, GroupView, GPUPASS_GROUP_PROPERTIES)
VIEW_TABLES(gpu, GpuView, GPUPASS_GPU_PROPERTIES)
VIEW_TABLES(assignment, AssignmentView, GPUPASS_ASSIGNMENT_PROPERTIES)
VIEW_TABLES(job, JobView, GPUPASS_JOB_PROPERTIES)

/* ---- paths ---- */

static char *encode(const char *prefix, const char *name)
{
	char *path = NULL;

	return sd_bus_path_encode(prefix, name, &path) < 0 ? NULL : path;
}

char *group_path(const char *name)
{
	return encode(GPUPASS_PATH_GROUPS, name);
}

/* By hand: an encoded colon would be unreadable, and an address needs no escape. */
char *gpu_path(const Bdf *bdf)
{
	return strf(GPUPASS_PATH_GPUS "/%04x_%02x_%02x_%x", bdf->segment, bdf->bus, bdf->device,
		    bdf->function);
}

/* A domain has one for each group, which its first function tells apart. */
char *assignment_path(const Assignment *assignment)
{
	char *path = strf(GPUPASS_PATH_ASSIGNMENTS "/%s_%s", assignment->domain_uuid,
			  BDF_TEXT(&assignment->functions[0].bdf));

	for (char *c = path + strlen(GPUPASS_PATH_ASSIGNMENTS "/"); c && *c; c++)
		if (*c == '-' || *c == ':' || *c == '.')
			*c = '_';
	return path;
}

char *job_path(uint32_t id)
{
	return strf(GPUPASS_PATH_JOBS "/%u", id);
}

/* ---- filling: each helper keeps the first failure in *r and does nothing after it ---- */

static void put(int *r, char **to, char *value)
{
	*to = value;
}

static void put_copy(int *r, char **to, const char *value)
{
	put(r, to, xstrdup(str_or_empty(value)));
}

static void put_path(int *r, char **to, char *path)
{
	put(r, to, path ? path : xstrdup(GPUPASS_PATH_NONE));
}

static void put_list(int *r, char ***to, char *const *list)
{
	if (*r >= 0) {
		strv_copy(list, to);
		*r = 0;
	}
}

static void add(int *r, char ***to, const char *value)
{
	if (*r >= 0) {
		strv_append(to, value);
		*r = 0;
	}
}

static void add_taken(int *r, char ***to, char *value)
{
	add(r, to, value);
	free(value);
}

static void add_int(int *r, Int32s *to, int32_t value)
{
	int32_t *bigger;

	for (size_t i = 0; i < to->n; i++)
		if (to->items[i] == value)
			return;
	bigger = xreallocarray(to->items, to->n + 1, sizeof(int32_t));
	to->items = bigger;
	to->items[to->n++] = value;
}

int manager_view_fill(const Manager *m, ManagerView *view)
{
	const Inventory *inventory = manager_inventory(m);
	int r = 0;

	put_copy(&r, &view->version, GPUPASS_VERSION);
	view->libvirt_connected = manager_libvirt_connected(m);
	put_copy(&r, &view->domains_from, domain_source_to_string(manager_domain_source(m)));
	view->iommu_enabled = inventory && inventory->snapshot->iommu;
	view->scanned_at = inventory ? inventory->snapshot->taken_usec : 0;
	put_list(&r, &view->notes, manager_notes(m));
	view->audit_sequence = manager_audit_sequence(m);
	return r;
}

static int compare_ints(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

static void fill_group_functions(const Group *group, GroupView *view, int *r)
{
	_cleanup_free_ const PciFunction **functions = NULL;
	size_t n = 0;

	if (*r >= 0) {
		group_functions(group, &functions, &n);
		*r = 0;
	}
	for (size_t i = 0; *r >= 0 && i < n; i++) {
		add(r, &view->functions, BDF_TEXT(&functions[i]->bdf));
		add_int(r, &view->iommu_groups, functions[i]->iommu_group);
	}
	for (size_t i = 0; *r >= 0 && i < group->n_gpus; i++) {
		const PciFunction *lead = group->gpus[i]->lead;

		add_taken(r, &view->gpus, gpu_path(&lead->bdf));
		add(r, &view->gpu_addresses, BDF_TEXT(&lead->bdf));
		add_int(r, &view->numa_nodes, lead->numa_node);
	}
	if (view->iommu_groups.n > 0)
		qsort(view->iommu_groups.items, view->iommu_groups.n, sizeof(int32_t),
		      compare_ints);
}

static void add_evidence(GroupView *view, const GroupEvidence *from, int *r)
{
	EvidenceView *to = &view->evidence.items[view->evidence.n++];

	put_copy(r, &to->provenance, provenance_to_string(from->provenance));
	put_copy(r, &to->source, from->source);
	to->links = from->links;
	to->seen_at = from->seen_usec;
}

/* Strongest first: what the guest that has the group sees comes after a declaration. */
static void fill_evidence(const Group *group, GroupView *view, int *r)
{
	const GroupEvidence word = {
		.provenance = PROVENANCE_GUEST,
		.links = group->word.links,
		.seen_usec = group->word.seen_usec,
		.source = group->word.source,
	};
	bool counts = group->word.counts;

	view->evidence.items = xcalloc(group->n_evidence + 2, sizeof(EvidenceView));
	for (size_t i = 0; i < group->n_evidence; i++) {
		if (counts && group->evidence[i].provenance < PROVENANCE_GUEST) {
			add_evidence(view, &word, r);
			counts = false;
		}
		add_evidence(view, &group->evidence[i], r);
	}
	if (counts)
		add_evidence(view, &word, r);
	view->evidence_at = group->evidence_usec;
}

static void fill_past_word(const Group *group, GroupView *view, int *r)
{
	char *past = NULL;

	group_word_past(group, &past);

	put(r, &view->past_guest_word, past ? past : xstrdup(""));
}

/* The worst of its boards': dirty before clean before none. */
static TenantState group_tenancy(const Manager *m, const Group *group)
{
	TenantState worst = TENANT_NONE;

	for (size_t i = 0; i < group->n_gpus; i++) {
		TenantState state = manager_gpu_tenancy(m, group->gpus[i]).state;

		worst = state > worst ? state : worst;
	}
	return worst;
}

int group_view_fill(const Manager *m, const Group *group, GroupView *view)
{
	uint32_t job = manager_group_job(m, group);
	Verdict verdict;
	int r = 0;

	put_copy(&r, &view->name, group->name);
	put_copy(&r, &view->state, group_state_to_string(group->state));
	put_copy(&r, &view->reason, group->reason);
	put_copy(&r, &view->provenance, provenance_to_string(group->provenance));
	put_copy(&r, &view->source, group->source);
	put_copy(&r, &view->reasoning, group->reasoning);
	put(&r, &view->model, group->n_gpus > 0 ? gpu_model(group->gpus[0]) : xstrdup(""));
	put(&r, &view->link, group_link_text(group));
	view->links = group_links(group);
	view->links_expected = group->links_expected;
	put_copy(&r, &view->driver, group_driver(group));
	put_copy(&r, &view->domain_name, group->domain_name);
	put_copy(&r, &view->domain_uuid, group->domain_uuid);
	view->assignable = group->assignable;
	put_copy(&r, &view->kept, kept_why_to_string(group->kept));
	put_path(&r, &view->job, job > 0 ? job_path(job) : NULL);
	put_copy(&r, &view->tenant_state, tenant_state_to_string(group_tenancy(m, group)));
	verdict = manager_group_verdict(m, group, &view->verified_at);
	put_copy(&r, &view->verified, view->verified_at > 0 ? verdict_to_string(verdict) : NULL);
	fill_past_word(group, view, &r);
	fill_group_functions(group, view, &r);
	fill_evidence(group, view, &r);
	return r;
}

static void fill_board(const Gpu *gpu, GpuView *view, int *r)
{
	const Board *board = gpu->board;
	const char *exclusion = board_exclusion(board);

	put_copy(r, &view->nvlink, nvlink_kind_to_string(board ? board->kind : NVLINK_UNKNOWN));
	put_copy(r, &view->nvlink_note, exclusion ? exclusion : board ? board->note : NULL);
	view->nvlink_generation = board ? board->generation : 0;
	view->nvlink_links = board ? board->links : 0;
	view->nvlink_group_size = board ? board->group_size : 0;
}

static void fill_gpu_functions(const Gpu *gpu, GpuView *view, int *r)
{
	view->functions.items = xcalloc(gpu->n_functions + 1, sizeof(FunctionView));
	for (size_t i = 0; i < gpu->n_functions; i++) {
		FunctionView *f = &view->functions.items[view->functions.n++];

		put_copy(r, &f->address, BDF_TEXT(&gpu->functions[i]->bdf));
		put_copy(r, &f->driver, gpu->functions[i]->driver);
		f->iommu_group = gpu->functions[i]->iommu_group;
		f->class_code = gpu->functions[i]->class_code;
	}
}

static void fill_location(const PciFunction *lead, GpuView *view, int *r)
{
	view->iommu_group = lead->iommu_group;
	view->numa_node = lead->numa_node;
	put_copy(r, &view->physical_slot, lead->physical_slot);
	for (size_t i = 0; i < lead->n_upstream; i++)
		add(r, &view->upstream_path, BDF_TEXT(&lead->upstream[i]));
	view->bar_sizes.items = xcalloc(PCI_BARS, sizeof(uint64_t));
	memcpy(view->bar_sizes.items, lead->bar_size, sizeof(lead->bar_size));
	view->bar_sizes.n = PCI_BARS;
}

static const char *speed_or_none(unsigned code)
{
	return code > 0 ? pcie_speed_text(code) : NULL;
}

static void fill_health(const GpuHealth *health, GpuView *view, int *r)
{
	static const GpuHealth nothing = { 0 };
	const GpuHealth *h = health ? health : &nothing;
	Health verdict = HEALTH_UNKNOWN;
	char *reason = NULL;

	if (*r >= 0) {
		gpu_health_judge(health, &verdict, &reason);
		*r = 0;
	}
	put(r, &view->health_reason, reason);
	put_copy(r, &view->health, health_to_string(verdict));
	put_copy(r, &view->link_speed, speed_or_none(h->config.speed));
	put_copy(r, &view->max_link_speed, speed_or_none(h->config.speed_max));
	view->link_width = h->config.width;
	view->max_link_width = h->config.width_max;
	view->aer_correctable = h->correctable;
	view->aer_nonfatal = h->nonfatal;
	view->aer_fatal = h->fatal;
}

static void fill_tenancy(const Manager *m, const Gpu *gpu, GpuView *view, int *r)
{
	const Tenancy tenancy = manager_gpu_tenancy(m, gpu);

	put_copy(r, &view->tenant_state, tenant_state_to_string(tenancy.state));
	put_copy(r, &view->tenant, tenancy.domain_uuid);
	put_copy(r, &view->tenant_name, tenancy.domain_name);
	put_copy(r, &view->tenant_reason,
		 tenancy.no_method ? "the last try found no way to reset it" : tenancy.why);
}

/* Of a board that was swapped since, the probe tells nothing. */
static void fill_mig(const Manager *m, const Gpu *gpu, GpuView *view, int *r)
{
	const Evidence *evidence = manager_evidence(m);
	const Sighting *s = evidence ? evidence_find_host(evidence, &gpu->lead->bdf) : NULL;
	_cleanup_free_ char *stale = NULL;

	if (*r >= 0 && s) {
		sighting_stale(evidence, s, manager_inventory(m)->gpus, &stale);
		*r = 0;
	}
	if (*r < 0 || !s || stale)
		s = NULL;
	put_copy(r, &view->mig_mode,
		 s && s->mig != MIG_UNKNOWN ? mig_mode_to_string(s->mig) : NULL);
	put_copy(r, &view->mig_pending,
		 s && s->mig_pending != MIG_UNKNOWN ? mig_mode_to_string(s->mig_pending) : NULL);
}

int gpu_view_fill(const Manager *m, PciNames *names, const Gpu *gpu, GpuView *view)
{
	const PciFunction *lead = gpu->lead;
	const Group *group = group_set_find_gpu(manager_inventory(m)->groups, &lead->bdf);
	int r = 0;

	put_copy(&r, &view->address, BDF_TEXT(&lead->bdf));
	put(&r, &view->name, pci_names_device(names, lead->vendor, lead->device));
	put(&r, &view->model, gpu_model(gpu));
	view->vendor_id = lead->vendor;
	view->device_id = lead->device;
	view->subsystem_vendor_id = lead->subsystem_vendor;
	view->subsystem_device_id = lead->subsystem_device;
	fill_board(gpu, view, &r);
	fill_gpu_functions(gpu, view, &r);
	fill_location(lead, view, &r);
	put_copy(&r, &view->driver, lead->driver ? lead->driver : "none");
	if (r >= 0 && lead->reset_methods) {
		strv_split(lead->reset_methods, " ", &view->reset_methods);
		r = 0;
	}
	view->boot_vga = lead->boot_vga;
	view->virtual_functions = lead->has_vfs;
	fill_mig(m, gpu, view, &r);
	put_copy(&r, &view->power_state, lead->power_state);
	fill_health(manager_gpu_health(m, &lead->bdf), view, &r);
	put_copy(&r, &view->uuid, gpu->uuid);
	put_copy(&r, &view->serial_number, gpu->serial_number);
	fill_tenancy(m, gpu, view, &r);
	put_path(&r, &view->group, group ? group_path(group->name) : NULL);
	return r;
}

int assignment_view_fill(const Manager *m, const Assignment *assignment, AssignmentView *view)
{
	const Inventory *inventory = manager_inventory(m);
	const Group *group =
		inventory ? group_set_find_assigned(inventory->groups, assignment) : NULL;
	int r = 0;

	put_copy(&r, &view->domain_name, assignment->domain_name);
	put_copy(&r, &view->domain_uuid, assignment->domain_uuid);
	put_copy(&r, &view->group_name, assignment->group_name);
	put_path(&r, &view->group, group ? group_path(group->name) : NULL);
	if (assignment->apply_fit)
		add(&r, &view->applies, "fit");
	if (assignment->apply_numa)
		add(&r, &view->applies, "numa");
	for (size_t i = 0; i < assignment->n_functions; i++)
		add(&r, &view->functions, BDF_TEXT(&assignment->functions[i].bdf));
	view->created_at = assignment->created_usec;
	view->created_by_uid = assignment->created_by;
	return r;
}

static void fill_steps(const JobRecord *job, JobView *view, int *r)
{
	view->steps.items = xcalloc(job->n_steps + 1, sizeof(StepView));
	for (size_t i = 0; i < job->n_steps; i++) {
		StepView *step = &view->steps.items[view->steps.n++];

		put_copy(r, &step->name, step_kind_to_string(job->steps[i].kind));
		put_copy(r, &step->state, step_state_to_string(job->steps[i].state));
		put_copy(r, &step->detail, job->steps[i].detail);
		step->duration_usec = job->steps[i].duration_usec;
	}
}

int job_view_fill(const JobRecord *job, JobView *view)
{
	int r = 0;

	view->id = job->id;
	put_copy(&r, &view->operation, operation_to_string(job->operation));
	put_copy(&r, &view->group_name, job->group);
	put_copy(&r, &view->domain_name, job->domain_name);
	put_copy(&r, &view->domain_uuid, job->domain_uuid);
	put_copy(&r, &view->state, job_state_to_string(job->state));
	fill_steps(job, view, &r);
	view->changed = job->changed;
	put_copy(&r, &view->error_name, job->error_name);
	put_copy(&r, &view->error_message, job->message);
	put_list(&r, &view->warnings, job->warnings);
	view->created_at = job->created_usec;
	view->duration_usec = job->duration_usec;
	view->caller_uid = job->caller_uid;
	put_copy(&r, &view->result, job->result);
	view->cancel_requested = job->cancel_requested;
	view->cancelled_by_uid = job->cancelled_by_uid;
	return r;
}
