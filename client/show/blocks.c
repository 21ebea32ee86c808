/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/blocks.h"

#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "show/describe.h"
#include "show/progress.h"
#include "util/xalloc.h"

static void field_list(const Terminal *t, const char *label, char *const *list)
{
	for (size_t i = 0; list && list[i]; i++)
		terminal_field(t, i == 0 ? label : NULL, "%s", list[i]);
}

static void group_links(const Terminal *t, const Group *g)
{
	if (g->links > 0 && g->links_expected > 0)
		terminal_field(t, "Links", "%" PRIu32 " of %" PRIu32, g->links, g->links_expected);
	else if (g->links > 0)
		terminal_field(t, "Links", "%" PRIu32, g->links);
	else if (g->links_expected > 0)
		terminal_field(t, "Links", "not observed; the board has %" PRIu32,
			       g->links_expected);
	if (*g->provenance && strcmp(g->provenance, "none") != 0)
		terminal_field(t, "Evidence", "%s%s%s%s", g->provenance, *g->source ? " (" : "",
			       g->source, *g->source ? ")" : "");
	else
		terminal_field(t, "Evidence", "none");
	if (!*g->source || !strstr(g->reasoning, g->source))
		terminal_field(t, NULL, "%s", g->reasoning);
}

/* ", 3 min ago": the time since a time of the daemon's clock; "" if that is in the future. */
static char *age_text(uint64_t usec)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	uint64_t now = (uint64_t)time(NULL), then = usec / 1000000;

	for (size_t i = 0; i < ELEMENTS(units); i++)
		if (now >= then && (now - then >= 2 * units[i].seconds || units[i].seconds == 1))
			return strf(", %" PRIu64 " %s ago", (now - then) / units[i].seconds,
				    units[i].name);
	return xstrdup("");
}

/* The evidence, strongest first: "Seen: probed, 4 links, 2026-01-31 14:02:11 (NVML 550)" */
static void group_evidence(const Terminal *t, const Group *g)
{
	bool first = true;

	EACH (const Evidence, e, g->evidence.items, g->evidence.n_items) {
		_cleanup_free_ char *when = time_format(e->seen_at), *age = age_text(e->seen_at);

		if (e->seen_at == 0)
			continue;
		terminal_field(t, first ? "Seen" : NULL, "%s, %" PRIu32 " link%s, %s%s%s%s%s",
			       e->provenance, e->links, e->links == 1 ? "" : "s", when, age,
			       *e->source ? " (" : "", e->source, *e->source ? ")" : "");
		first = false;
	}
}

static void group_gpus(const Terminal *t, const World *w, const Group *g)
{
	for (size_t i = 0; g->gpu_addresses && g->gpu_addresses[i]; i++) {
		const Gpu *gpu = world_find_gpu(w, g->gpu_addresses[i]);
		_cleanup_free_ char *iommu = NULL, *numa = NULL;

		if (!gpu) {
			terminal_field(t, i == 0 ? "GPUs" : NULL, "%s  missing",
				       g->gpu_addresses[i]);
			continue;
		}
		iommu = number_text(gpu->iommu_group);
		numa = number_text(gpu->numa_node);
		terminal_field(t, i == 0 ? "GPUs" : NULL,
			       "%s  %s, driver %s, IOMMU group %s, NUMA %s", gpu->address,
			       or_dash(gpu->model), *gpu->driver ? gpu->driver : "none", iommu,
			       numa);
	}
}

static void group_companions_field(const Terminal *t, const Group *g)
{
	for (size_t i = 0; i < g->companions.n_items; i++) {
		const BusCompanion *one = &g->companions.items[i];
		_cleanup_free_ char *iommu = number_text(one->iommu_group);
		_cleanup_free_ char *vlan = strf(", VLAN %u", one->vlan);
		const char *label = i == 0 ? "With" : NULL;

		if (one->vendor_id == 0)
			terminal_field(t, label, "%s:%s  missing", one->kind, one->address);
		else
			terminal_field(t, label, "%s:%s  %04x:%04x, driver %s, IOMMU group %s%s",
				       one->kind, one->address, one->vendor_id, one->device_id,
				       *one->driver ? one->driver : "none", iommu,
				       one->vlan > 0 ? vlan : "");
	}
}

static int health_rank(const char *health)
{
	static const char *const ranks[] = { "ok", "unknown", "degraded", "lost" };

	for (size_t i = 0; i < ELEMENTS(ranks); i++)
		if (strcmp(health, ranks[i]) == 0)
			return (int)i;
	return -1;
}

static Colour health_colour(const char *health)
{
	int rank = health_rank(health);

	return rank >= 2 ? COLOUR_BAD : rank == 0 ? COLOUR_GOOD : COLOUR_NONE;
}

static void print_health(const Terminal *t, const Gpu *gpu, bool with_address)
{
	const char *reason = gpu->health_reason;

	terminal_field(t, "Health", "%s%s%s%s%s%s%s",
		       terminal_colour(t, health_colour(gpu->health)), gpu->health,
		       terminal_plain(t), *reason ? ": " : "",
		       with_address && *reason ? gpu->address : "",
		       with_address && *reason ? ": " : "", reason);
}

/* "dirty: last used by vm42, 3f0c…, and not reset since" */
static void print_tenant(const Terminal *t, const Gpu *gpu, bool with_address)
{
	bool dirty = strcmp(gpu->tenant_state, "dirty") == 0;
	const char *who = *gpu->tenant ? gpu->tenant : "a tenant that is not known";

	terminal_field(t, "Tenant", "%s%s%s: %s%s%s %s%s%s%s%s%s",
		       terminal_colour(t, dirty ? COLOUR_NONE : COLOUR_GOOD), gpu->tenant_state,
		       terminal_plain(t), with_address ? gpu->address : "",
		       with_address ? " was " : "", dirty ? "last used by" : "reset since",
		       gpu->tenant_name, *gpu->tenant_name ? ", " : "", who,
		       dirty ? ", and not reset since" : "",
		       dirty && *gpu->tenant_reason ? "; " : "", dirty ? gpu->tenant_reason : "");
}

/* A board that a domain has belongs to it. Otherwise the next domain may not get it as it is. */
static void group_tenant(const Terminal *t, const World *w, const Group *g)
{
	for (size_t i = 0; g->gpu_addresses && g->gpu_addresses[i]; i++) {
		const Gpu *gpu = world_find_gpu(w, g->gpu_addresses[i]);

		if (!gpu || strcmp(gpu->tenant_state, "dirty") != 0 ||
		    (*gpu->tenant && strcmp(gpu->tenant, g->domain_uuid) == 0))
			continue;
		print_tenant(t, gpu, true);
		return;
	}
}

/* A group is as healthy as the worst of its GPUs. */
static void group_health(const Terminal *t, const World *w, const Group *g)
{
	const Gpu *worst = NULL;

	for (size_t i = 0; g->gpu_addresses && g->gpu_addresses[i]; i++) {
		const Gpu *gpu = world_find_gpu(w, g->gpu_addresses[i]);

		if (gpu && *gpu->health &&
		    (!worst || health_rank(gpu->health) > health_rank(worst->health)))
			worst = gpu;
	}
	if (worst)
		print_health(t, worst, true);
}

static void group_job(const Terminal *t, const World *w, const Group *g)
{
	const Job *job = world_find_job_path(w, g->job);

	if (job)
		terminal_field(t, "Job", "%" PRIu32 " (%s, %s)", job->id, job->operation,
			       job->state);
}

/* An older daemon says nothing. */
static const char *group_kept_text(const Group *g)
{
	if (strcmp(g->kept, "asked") == 0)
		return ", kept on vfio-pci (bind --persist)";
	return strcmp(g->kept, "setting") == 0 ? ", kept on vfio-pci (KeepBound=)" : "";
}

void block_group(Client *c, const World *w, const Group *g)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *summary = group_summary(t, g);
	_cleanup_free_ char *state = group_state_text(g), *remedy = group_remedy(g);
	_cleanup_free_ char *verified_at = time_format(g->verified_at);

	fprintf(t->stream, "%s%s%s %s - %s\n", terminal_colour(t, group_colour(g)),
		group_bullet(t, g), terminal_plain(t), g->name, summary);
	terminal_field(t, "State", "%s%s%s%s", terminal_colour(t, group_colour(g)), state,
		       terminal_plain(t), g->assignable ? ", assignable" : "");
	terminal_field(t, "Reason", "%s", g->reason);
	domain_field(t, g->domain_name, g->domain_uuid);
	group_links(t, g);
	if (g->verified_at > 0)
		terminal_field(t, "In guest", "%s, %s", g->verified, verified_at);
	group_evidence(t, g);
	terminal_field(t, "History", "%s", g->past_guest_word);
	group_gpus(t, w, g);
	group_companions_field(t, g);
	terminal_field(t, "Driver", "%s%s", g->driver, group_kept_text(g));
	group_health(t, w, g);
	group_tenant(t, w, g);
	group_job(t, w, g);
	/* A reason ends in its own remedy. */
	terminal_field(t, "Remedy", "%s",
		       remedy && (!*g->reason || strcmp(g->state, "unready") == 0) ? remedy : "");
}

/* PCI's names for the classes of a GPU's functions. */
static const char *class_name(uint32_t code)
{
	static const struct {
		uint32_t class;
		const char *name;
	} names[] = {
		{ 0x0300, "VGA controller" }, { 0x0302, "3D controller" },
		{ 0x0403, "audio" },	      { 0x0c03, "USB controller" },
		{ 0x0680, "bridge" },	      { 0x0c80, "serial bus controller" },
	};

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (names[i].class == code >> 8)
			return names[i].name;
	return "class";
}

static void gpu_functions(const Terminal *t, const Gpu *g)
{
	for (size_t i = 0; i < g->functions.n_items; i++) {
		const Function *f = &g->functions.items[i];
		_cleanup_free_ char *iommu = number_text(f->iommu_group);

		terminal_field(t, i == 0 ? "Functions" : NULL,
			       "%s  driver %s, IOMMU group %s, %s [%04" PRIx32 "]", f->address,
			       *f->driver ? f->driver : "none", iommu, class_name(f->class_code),
			       f->class_code >> 8);
	}
}

static void gpu_nvlink(const Terminal *t, const Gpu *g)
{
	if (strcmp(g->nvlink, "bridge") == 0)
		terminal_field(t, "NVLink",
			       "generation %" PRIu32 ", %" PRIu32 " links, %" PRIu32
			       " GPUs a group",
			       g->nvlink_generation, g->nvlink_links, g->nvlink_group_size);
	else
		terminal_field(t, "NVLink", "%s%s%s", or_dash(g->nvlink),
			       *g->nvlink_note ? ": " : "", g->nvlink_note);
}

static void gpu_bars(const Terminal *t, const Gpu *g)
{
	_cleanup_strv_ char **sizes = NULL;
	_cleanup_free_ char *joined = NULL;

	for (size_t i = 0; i < g->bar_sizes.n_items; i++)
		if (g->bar_sizes.items[i] > 0)
			strv_append_take(&sizes, size_format(g->bar_sizes.items[i]));
	joined = strv_join(sizes, ", ");
	terminal_field(t, "BARs", "%s", joined);
}

/* As NVML said at the last probe: nobody is asked now, because that would open the GPU. */
static void print_mig(const Terminal *t, const Gpu *g)
{
	if (*g->mig_mode)
		terminal_field(t, "MIG", "%s%s%s%s", g->mig_mode,
			       strcmp(g->mig_mode, g->mig_pending) != 0 ? ", after a reset " : "",
			       strcmp(g->mig_mode, g->mig_pending) != 0 ? or_dash(g->mig_pending)
									: "",
			       strcmp(g->mig_mode, "on") == 0 ? ": NVLink is off" : "");
}

void block_gpu(Client *c, const World *w, const Gpu *g)
{
	const Terminal *t = &c->out;
	const Group *group = world_find_group_path(w, g->group);
	_cleanup_free_ char *state = group ? group_state_text(group) : NULL;
	_cleanup_free_ char *upstream = strv_join(g->upstream_path, " > ");
	_cleanup_free_ char *resets = strv_join(g->reset_methods, ", ");
	_cleanup_free_ char *numa = number_text(g->numa_node);

	fprintf(t->stream, "%s - %s\n", g->address, *g->name ? g->name : or_dash(g->model));
	terminal_field(t, "Model", "%s (%04x:%04x, subsystem %04x:%04x)", or_dash(g->model),
		       g->vendor_id, g->device_id, g->subsystem_vendor_id, g->subsystem_device_id);
	gpu_nvlink(t, g);
	terminal_field(t, "Group", "%s%s%s%s", group ? group->name : "none", group ? " (" : "",
		       group ? state : "", group ? ")" : "");
	gpu_functions(t, g);
	terminal_field(t, "NUMA node", "%s", numa);
	terminal_field(t, "Slot", "%s", g->physical_slot);
	terminal_field(t, "Upstream", "%s", upstream);
	gpu_bars(t, g);
	terminal_field(t, "Resets", "%s", *resets ? resets : "none");
	terminal_field(t, "Boot VGA", "%s", g->boot_vga ? "yes" : "no");
	terminal_field(t, "Virtual fns", "%s", g->virtual_functions ? "enabled" : "");
	print_mig(t, g);
	terminal_field(t, "Power", "%s", g->power_state);
	if (*g->health)
		print_health(t, g, false);
	if (g->aer_correctable + g->aer_nonfatal + g->aer_fatal > 0)
		terminal_field(t, "PCIe errors",
			       "%" PRIu64 " corrected, %" PRIu64 " non-fatal, %" PRIu64
			       " fatal since boot",
			       g->aer_correctable, g->aer_nonfatal, g->aer_fatal);
	if (*g->tenant_state && strcmp(g->tenant_state, "none") != 0)
		print_tenant(t, g, false);
	terminal_field(t, "UUID", "%s", g->uuid);
	terminal_field(t, "Serial", "%s", g->serial_number);
}

void block_assignment(Client *c, const World *w, const Assignment *a)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *created = time_format(a->created_at);
	const Group *group = world_find_group_path(w, a->group);

	fprintf(t->stream, "%s - assigned %s\n", *a->domain_name ? a->domain_name : a->domain_uuid,
		group ? group->name : a->group_name);
	domain_field(t, a->domain_name, a->domain_uuid);
	if (group && strcmp(group->name, a->group_name) != 0)
		terminal_field(t, "Group", "%s (assigned as %s)", group->name, a->group_name);
	else
		terminal_field(t, "Group", "%s%s", a->group_name,
			       group ? "" : " (there is no such group)");
	terminal_field(t, "Since", "%s, by uid %" PRIu32, created, a->created_by_uid);
	field_list(t, "Applies", a->applies);
	if (strcmp(a->topology, "mirror") == 0)
		terminal_field(t, "Topology", "%s", a->topology);
	field_list(t, "Functions", a->functions);
}

void block_job(Client *c, const Job *j)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *created = time_format(j->created_at);
	_cleanup_free_ char *took = duration_format(j->duration_usec);
	_cleanup_free_ char *title = job_title(j);

	fprintf(t->stream, "Job %" PRIu32 " - %s%s\n", j->id, *j->operation ? "" : "-", title);
	domain_field(t, j->domain_name, j->domain_uuid);
	terminal_field(t, "State", "%s%s", job_shown_state(j),
		       job_is_over(j) && !j->changed ? ", nothing was changed" : "");
	terminal_field(t, "Started", "%s, by uid %" PRIu32, created, j->caller_uid);
	if (j->cancel_requested)
		terminal_field(t, "Cancelled", "by uid %" PRIu32, j->cancelled_by_uid);
	terminal_field(t, "Took", "%s", job_is_over(j) ? took : "");
	terminal_field(t, "Result", "%s", j->result);
	field_list(t, "Warnings", j->warnings);
	terminal_field(t, "Error", "%s", j->error_name);
	for (const char *line = j->error_message; *line;
	     line += strcspn(line, "\n"), line += *line == '\n')
		terminal_field(t, NULL, "%.*s", (int)strcspn(line, "\n"), line);
	for (size_t i = 0; i < j->steps.n_items; i++)
		progress_print_step(t, &j->steps.items[i]);
}
