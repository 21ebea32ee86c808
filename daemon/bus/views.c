/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/views.h"

#include "core/group/word.h"
#include "gpupass/dbus.h"
#include "util/grow.h"

const sd_bus_vtable manager_properties[] = {
	SD_BUS_VTABLE_START(0),
#define MANAGER_PROPERTY(...) VIEW_PROPERTY(ManagerView, __VA_ARGS__)
#include "gpupass/interfaces.h"
	SD_BUS_VTABLE_END,
};

const sd_bus_vtable group_properties[] = {
	SD_BUS_VTABLE_START(0),
#define GROUP_PROPERTY(...) VIEW_PROPERTY(GroupView, __VA_ARGS__)
#include "gpupass/interfaces.h"
	SD_BUS_VTABLE_END,
};

const sd_bus_vtable gpu_properties[] = {
	SD_BUS_VTABLE_START(0),
#define GPU_PROPERTY(...) VIEW_PROPERTY(GpuView, __VA_ARGS__)
#include "gpupass/interfaces.h"
	SD_BUS_VTABLE_END,
};

const sd_bus_vtable assignment_properties[] = {
	SD_BUS_VTABLE_START(0),
#define ASSIGNMENT_PROPERTY(...) VIEW_PROPERTY(AssignmentView, __VA_ARGS__)
#include "gpupass/interfaces.h"
	SD_BUS_VTABLE_END,
};

const sd_bus_vtable job_properties[] = {
	SD_BUS_VTABLE_START(0),
#define JOB_PROPERTY(...) VIEW_PROPERTY(JobView, __VA_ARGS__)
#include "gpupass/interfaces.h"
	SD_BUS_VTABLE_END,
};

/* ---- paths ---- */

char *group_path(const char *name)
{
	char *path = NULL;

	/* Nothing else fails with a prefix that is a path. */
	if (sd_bus_path_encode(GPUPASS_PATH_GROUPS, name, &path) < 0)
		no_memory();
	return path;
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

	for (char *c = path + strlen(GPUPASS_PATH_ASSIGNMENTS "/"); *c; c++)
		if (*c == '-' || *c == ':' || *c == '.')
			*c = '_';
	return path;
}

char *job_path(uint32_t id)
{
	return strf(GPUPASS_PATH_JOBS "/%u", id);
}

/* ---- filling ---- */

static char *copy(const char *value)
{
	return xstrdup(str_or_empty(value));
}

static char *path_or_none(char *path)
{
	return path ? path : xstrdup(GPUPASS_PATH_NONE);
}

static void add_int(BusInt32s *to, int32_t value)
{
	if (SOME_OF(to->items, to->n_items, it == value))
		return;
	*GROW(to->items, to->n_items) = value;
}

void manager_view_fill(const Manager *m, ManagerView *view)
{
	const Inventory *inventory = manager_inventory(m);

	view->version = copy(GPUPASS_VERSION);
	view->libvirt_connected = manager_libvirt_connected(m);
	view->domains_from = copy(domain_source_to_string(manager_domain_source(m)));
	view->iommu_enabled = inventory && inventory->snapshot->iommu;
	view->scanned_at = inventory ? inventory->snapshot->taken_usec : 0;
	strv_copy(manager_notes(m), &view->notes);
	view->audit_sequence = manager_audit_sequence(m);
}

static int compare_ints(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

static void fill_group_functions(const Group *group, GroupView *view)
{
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);

	for (size_t i = 0; i < n; i++) {
		strv_append(&view->functions, BDF_TEXT(&functions[i]->bdf));
		add_int(&view->iommu_groups, functions[i]->iommu_group);
	}
	for (size_t i = 0; i < group->n_gpus; i++) {
		const PciFunction *lead = group->gpus[i]->lead;

		strv_append_take(&view->gpus, gpu_path(&lead->bdf));
		strv_append(&view->gpu_addresses, BDF_TEXT(&lead->bdf));
		add_int(&view->numa_nodes, lead->numa_node);
	}
	EACH (const Companion, from, group->companions, group->n_companions) {
		const PciFunction *f = from->function;

		*GROW(view->companions.items, view->companions.n_items) = (BusCompanion){
			.kind = copy(member_kind_to_string(from->member.kind)),
			.address = copy(BDF_TEXT(&from->member.bdf)),
			.driver = copy(f ? f->driver : NULL),
			.iommu_group = f ? f->iommu_group : IOMMU_GROUP_NONE,
			.vendor_id = f ? f->vendor : 0,
			.device_id = f ? f->device : 0,
			.vlan = (uint16_t)(from->member.kind == MEMBER_VF ? group->vlan : 0),
		};
	}
	if (view->iommu_groups.n_items > 0)
		qsort(view->iommu_groups.items, view->iommu_groups.n_items, sizeof(int32_t),
		      compare_ints);
}

static void add_evidence(GroupView *view, const GroupEvidence *from)
{
	BusEvidence *to = GROW(view->evidence.items, view->evidence.n_items);

	to->provenance = copy(provenance_to_string(from->provenance));
	to->source = copy(from->source);
	to->links = from->links;
	to->seen_at = from->seen_usec;
}

/* Strongest first: what the guest that has the group sees comes after a declaration. */
static void fill_evidence(const Group *group, GroupView *view)
{
	const GroupEvidence word = {
		.provenance = PROVENANCE_GUEST,
		.links = group->word.links,
		.seen_usec = group->word.seen_usec,
		.source = group->word.source,
	};
	bool counts = group->word.counts;

	for (size_t i = 0; i < group->n_evidence; i++) {
		if (counts && group->evidence[i].provenance < PROVENANCE_GUEST) {
			add_evidence(view, &word);
			counts = false;
		}
		add_evidence(view, &group->evidence[i]);
	}
	if (counts)
		add_evidence(view, &word);
	view->evidence_at = group->evidence_usec;
}

/* The worst of its boards': dirty before clean before none. */
static TenantState group_tenancy(const Manager *m, const Group *group)
{
	TenantState worst = TENANT_NONE;

	size_t n;
	_cleanup_free_ Gpu *boards = group_boards(group, &n);

	for (size_t i = 0; i < n; i++) {
		TenantState state = manager_gpu_tenancy(m, &boards[i]).state;

		worst = state > worst ? state : worst;
	}
	return worst;
}

void group_view_fill(const Manager *m, const Group *group, GroupView *view)
{
	uint32_t job = manager_group_job(m, group);
	Verdict verdict;

	view->name = copy(group->name);
	view->state = copy(group_state_to_string(group->state));
	view->reason = copy(group->reason);
	view->provenance = copy(provenance_to_string(group->provenance));
	view->source = copy(group->source);
	view->reasoning = copy(group->reasoning);
	view->model = group->n_gpus > 0 ? gpu_model(group->gpus[0]) : xstrdup("");
	view->link = group_link_text(group);
	view->links = group_links(group);
	view->links_expected = group->links_expected;
	view->driver = copy(group_driver(group));
	view->domain_name = copy(group->domain_name);
	view->domain_uuid = copy(group->domain_uuid);
	view->assignable = group->assignable;
	view->kept = copy(kept_why_to_string(group->kept));
	view->job = path_or_none(job > 0 ? job_path(job) : NULL);
	view->tenant_state = copy(tenant_state_to_string(group_tenancy(m, group)));
	verdict = manager_group_verdict(m, group, &view->verified_at);
	view->verified = copy(view->verified_at > 0 ? verdict_to_string(verdict) : NULL);
	view->past_guest_word = group_word_past(group);
	if (!view->past_guest_word)
		view->past_guest_word = xstrdup("");
	fill_group_functions(group, view);
	fill_evidence(group, view);
}

static void fill_board(const Gpu *gpu, GpuView *view)
{
	const Board *board = gpu->board;
	const char *exclusion = board_exclusion(board);

	view->nvlink = copy(nvlink_kind_to_string(board ? board->kind : NVLINK_UNKNOWN));
	view->nvlink_note = copy(exclusion ? exclusion : board ? board->note : NULL);
	view->nvlink_generation = board ? board->generation : 0;
	view->nvlink_links = board ? board->links : 0;
	view->nvlink_group_size = board ? board->group_size : 0;
}

static void fill_gpu_functions(const Gpu *gpu, GpuView *view)
{
	for (size_t i = 0; i < gpu->n_functions; i++) {
		BusFunction *f = GROW(view->functions.items, view->functions.n_items);

		f->address = copy(BDF_TEXT(&gpu->functions[i]->bdf));
		f->driver = copy(gpu->functions[i]->driver);
		f->iommu_group = gpu->functions[i]->iommu_group;
		f->class_code = gpu->functions[i]->class_code;
	}
}

static void fill_location(const PciFunction *lead, GpuView *view)
{
	view->iommu_group = lead->iommu_group;
	view->numa_node = lead->numa_node;
	view->physical_slot = copy(lead->physical_slot);
	for (size_t i = 0; i < lead->n_upstream; i++)
		strv_append(&view->upstream_path, BDF_TEXT(&lead->upstream[i]));
	view->bar_sizes.items = xcalloc(PCI_BARS, sizeof(uint64_t));
	memcpy(view->bar_sizes.items, lead->bar_size, sizeof(lead->bar_size));
	view->bar_sizes.n_items = PCI_BARS;
}

static const char *speed_or_none(unsigned code)
{
	return code > 0 ? pcie_speed_text(code) : NULL;
}

static void fill_health(const GpuHealth *health, GpuView *view)
{
	static const GpuHealth nothing = { 0 };
	const GpuHealth *h = health ? health : &nothing;

	view->health = copy(health_to_string(gpu_health_judge(health, &view->health_reason)));
	view->link_speed = copy(speed_or_none(h->config.speed));
	view->max_link_speed = copy(speed_or_none(h->config.speed_max));
	view->link_width = h->config.width;
	view->max_link_width = h->config.width_max;
	view->aer_correctable = h->correctable;
	view->aer_nonfatal = h->nonfatal;
	view->aer_fatal = h->fatal;
}

static void fill_tenancy(const Manager *m, const Gpu *gpu, GpuView *view)
{
	const Tenancy tenancy = manager_gpu_tenancy(m, gpu);

	view->tenant_state = copy(tenant_state_to_string(tenancy.state));
	view->tenant = copy(tenancy.domain_uuid);
	view->tenant_name = copy(tenancy.domain_name);
	view->tenant_reason =
		copy(tenancy.no_method ? "the last try found no way to reset it" : tenancy.why);
}

/* Of a board that was swapped since, the probe tells nothing. */
static void fill_mig(const Manager *m, const Gpu *gpu, GpuView *view)
{
	const Evidence *evidence = manager_evidence(m);
	const Sighting *s = evidence ? evidence_find_host(evidence, &gpu->lead->bdf) : NULL;
	_cleanup_free_ char *stale = NULL;

	if (s)
		stale = sighting_stale(evidence, s, manager_inventory(m)->gpus);
	if (stale)
		s = NULL;
	view->mig_mode = copy(s && s->mig != MIG_UNKNOWN ? mig_mode_to_string(s->mig) : NULL);
	view->mig_pending = copy(
		s && s->mig_pending != MIG_UNKNOWN ? mig_mode_to_string(s->mig_pending) : NULL);
}

void gpu_view_fill(const Manager *m, PciNames *names, const Gpu *gpu, GpuView *view)
{
	const PciFunction *lead = gpu->lead;
	const Group *group = group_set_find_gpu(manager_inventory(m)->groups, &lead->bdf);

	view->address = copy(BDF_TEXT(&lead->bdf));
	view->name = pci_names_device(names, lead->vendor, lead->device);
	view->model = gpu_model(gpu);
	view->vendor_id = lead->vendor;
	view->device_id = lead->device;
	view->subsystem_vendor_id = lead->subsystem_vendor;
	view->subsystem_device_id = lead->subsystem_device;
	fill_board(gpu, view);
	fill_gpu_functions(gpu, view);
	fill_location(lead, view);
	view->driver = copy(lead->driver ? lead->driver : "none");
	if (lead->reset_methods)
		strv_split(lead->reset_methods, " ", &view->reset_methods);
	view->boot_vga = lead->boot_vga;
	view->virtual_functions = lead->has_vfs;
	fill_mig(m, gpu, view);
	view->power_state = copy(lead->power_state);
	fill_health(manager_gpu_health(m, &lead->bdf), view);
	view->uuid = copy(gpu->uuid);
	view->serial_number = copy(gpu->serial_number);
	fill_tenancy(m, gpu, view);
	view->group = path_or_none(group ? group_path(group->name) : NULL);
}

void assignment_view_fill(const Manager *m, const Assignment *assignment, AssignmentView *view)
{
	const Inventory *inventory = manager_inventory(m);
	const Group *group =
		inventory ? group_set_find_assigned(inventory->groups, assignment) : NULL;

	view->domain_name = copy(assignment->domain_name);
	view->domain_uuid = copy(assignment->domain_uuid);
	view->group_name = copy(assignment->group_name);
	view->group = path_or_none(group ? group_path(group->name) : NULL);
	if (assignment->apply_fit)
		strv_append(&view->applies, "fit");
	if (assignment->apply_numa)
		strv_append(&view->applies, "numa");
	view->topology = copy(topology_to_string(assignment->topology));
	for (size_t i = 0; i < assignment->n_functions; i++)
		strv_append(&view->functions, BDF_TEXT(&assignment->functions[i].bdf));
	view->created_at = assignment->created_usec;
	view->created_by_uid = assignment->created_by;
}

static void fill_steps(const JobRecord *job, JobView *view)
{
	for (size_t i = 0; i < job->n_steps; i++) {
		BusStep *step = GROW(view->steps.items, view->steps.n_items);

		step->name = copy(step_kind_to_string(job->steps[i].kind));
		step->state = copy(step_state_to_string(job->steps[i].state));
		step->detail = copy(job->steps[i].detail);
		step->duration_usec = job->steps[i].duration_usec;
	}
}

void job_view_fill(const JobRecord *job, JobView *view)
{
	view->id = job->id;
	view->operation = copy(operation_to_string(job->operation));
	view->group_name = copy(job->group);
	view->domain_name = copy(job->domain_name);
	view->domain_uuid = copy(job->domain_uuid);
	view->state = copy(job_state_to_string(job->state));
	fill_steps(job, view);
	view->changed = job->changed;
	view->error_name = copy(job->error_name);
	view->error_message = copy(job->message);
	strv_copy(job->warnings, &view->warnings);
	view->created_at = job->created_usec;
	view->duration_usec = job->duration_usec;
	view->caller_uid = job->caller_uid;
	view->result = copy(job->result);
	view->cancel_requested = job->cancel_requested;
	view->cancelled_by_uid = job->cancelled_by_uid;
}
