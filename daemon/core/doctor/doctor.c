/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/doctor/doctor.h"

#include "core/group/record.h"
#include "gpupass/dbus.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(doctor_symptom, DoctorSymptom, DOCTOR_SYMPTOMS)

/* Adds a group to the domain's, once. NULL is none. */
static void add_group(Checks *c, const Group *group)
{
	if (SOME_OF(c->groups, c->n_groups, it == group))
		return;
	if (group)
		c->groups[c->n_groups++] = group;
}

/* The domain's groups: by its records, its metadata, and its hostdevs. */
static void find_groups(Checks *c)
{
	const CheckFacts *facts = c->facts;
	const char *uuid = facts->domain ? facts->domain->uuid : NULL;
	const DomainUse *use = facts->uses ? domain_uses_find(facts->uses, uuid) : NULL;
	const Assignment *record;
	size_t position = 0;

	c->groups = xcalloc(facts->groups->n_items + 1, sizeof(*c->groups));
	while ((record = assignments_of_domain(facts->assignments, uuid, &position)))
		add_group(c, group_set_find_assigned(facts->groups, record));
	for (char **name = use ? use->gpupass_groups : NULL; name && *name; name++)
		if (mark_counts(facts->groups, use, *name))
			add_group(c, group_set_find(facts->groups, *name));
	for (size_t i = 0; use && i < use->n_hostdevs; i++)
		add_group(c, group_set_find_gpu(facts->groups, &use->hostdevs[i].bdf));
}

static const Gpu **select_gpus(const Checks *c, size_t *ret_n)
{
	const CheckFacts *facts = c->facts;
	const Gpu **gpus = xcalloc(facts->gpus->n_gpus + 1, sizeof(*gpus));

	*ret_n = 0;
	EACH (const Gpu, gpu, facts->gpus->gpus, facts->gpus->n_gpus) {
		const Group *group = group_set_find_gpu(facts->groups, &gpu->lead->bdf);

		if (group && checks_cover_group(c, group->name))
			gpus[(*ret_n)++] = gpu;
	}
	return gpus;
}

static Companion *select_companions(const Checks *c, size_t *ret_n)
{
	const GroupSet *groups = c->facts->groups;
	Companion *companions = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < groups->n_items; i++)
		for (size_t k = 0; k < groups->items[i].n_companions; k++)
			if (checks_cover_group(c, groups->items[i].name))
				*GROW(companions, *ret_n) = groups->items[i].companions[k];
	return companions;
}

/*
 * ---- from a symptom in a guest to its cause: the checks of this report that may explain it, in
 * the order in which to read them, and hints at what can only be seen in the guest ----
 */

#define SUSPECTS_MAX 13
#define HINTS_MAX 6

typedef struct Hint {
	const char *cause, *remedy;
} Hint;

typedef struct Symptom {
	DoctorSymptom symptom;
	const char *title;
	const char *suspects[SUSPECTS_MAX]; /* ids of checks */
	Hint hints[HINTS_MAX];
} Symptom;

static const Symptom symptoms[] = {
	{
		.symptom = SYMPTOM_NO_NVLINK,
		.title = "nvidia-smi in the guest shows no NVLink",
		.suspects = { "groups", "quarantine", "evidence", "drift", "domain-group",
			      "domain-hostdevs", "answers", "aer", "power", "domain-machine",
			      "domain-security" },
		.hints = {
			{ "the guest has only one of the bridged GPUs, so its link has no other end",
			  "in the guest: nvidia-smi -L; if one is missing: gpupass doctor DOMAIN "
			  "--symptom=one-gpu" },
			{ "the links did not train at this start of the guest: nvidia-smi nvlink --status "
			  "shows them inactive",
			  "reboot the guest, then: gpupass verify DOMAIN" },
			{ "Confidential Computing or MIG is on, and turns NVLink between GPUs off",
			  "in the guest: nvidia-smi conf-compute -f; nvidia-smi -mig 0" },
			{ "the guest's driver is too old for the board, or is not NVIDIA's",
			  "install NVIDIA's driver in the guest; nouveau does not support NVLink" },
			{ "after a reboot the links are still inactive, and the host did not see them "
			  "either: the bridge is not seated, or not on the declared boards",
			  "compare with what the host saw: gpupass status GROUP; then reseat the bridge "
			  "with the host switched off" },
		},
	},
	{
		.symptom = SYMPTOM_ONE_GPU,
		.title = "only one of the GPUs is visible in the guest",
		.suspects = { "domain-hostdevs", "domain-group", "domain-window", "bars",
			      "framebuffer", "answers", "groups", "reset", "domain-machine",
			      "domain-memlock", "managed" },
		.hints = {
			{ "the BARs of both do not fit into the guest's address window: lspci in the "
			  "guest shows both, and dmesg \"can't assign; no space\" or \"BAR … failed to "
			  "assign\"",
			  "<maxphysaddr mode='passthrough'/> in the domain's <cpu>, with UEFI; or the "
			  "QEMU option fw_cfg opt/ovmf/X-PciMmio64Mb" },
			{ "lspci in the guest shows only one: the hostdev is missing or was unplugged",
			  "virsh dumpxml DOMAIN; gpupass status DOMAIN" },
			{ "lspci shows both and dmesg \"RmInitAdapter failed\": the driver could not "
			  "start one",
			  "shut the guest down and start it again, which resets the board; then see "
			  "dmesg of the host" },
		},
	},
	{
		.symptom = SYMPTOM_NO_P2P,
		.title = "peer-to-peer between the GPUs is disabled in the guest",
		.suspects = { "groups", "domain-group", "domain-hostdevs", "answers",
			      "domain-machine", "domain-clique", "domain-security", "aer" },
		.hints = {
			{ "NVLink does not work either: nvidia-smi topo -m shows no NV in the pair",
			  "gpupass doctor DOMAIN --symptom=no-nvlink" },
			{ "nvidia-smi topo -p2p n shows CNS or TNS: this is about PCIe only, which a "
			  "guest's topology does not offer and NVLink does not need",
			  "ask for NVLink: NCCL_P2P_LEVEL=NVL, CUDA's cudaDeviceCanAccessPeer" },
			{ "nvidia-smi topo -p2p n shows GNS: the driver offers none for this board",
			  "see NVIDIA's notes for this board; GeForce boards have it over NVLink only" },
			{ "nvidia-smi topo -p2p n shows DR: a driver setting turns it off",
			  "look for NVreg_ options in the guest's modprobe.d" },
			{ "Confidential Computing or MIG is on", "in the guest: nvidia-smi -mig 0" },
		},
	},
	{
		.symptom = SYMPTOM_SLOW,
		.title = "bandwidth between the GPUs, or to the host, is low",
		.suspects = { "link-width", "link-speed", "aer", "answers", "domain-hostdevs",
			      "domain-numa", "domain-hugepages", "domain-machine", "acs", "peer-path",
			      "nic-ats", "power", "groups" },
		.hints = {
			{ "fewer links are active than the board has: count those that nvidia-smi nvlink "
			  "--status does not call <inactive>, and compare with gpupass show GROUP",
			  "reboot the guest and count again; then reseat the bridge with the host "
			  "switched off; boards with three bridges need all three" },
			{ "the program does not use NVLink: NCCL_DEBUG=INFO shows via SHM or NET",
			  "NCCL_P2P_LEVEL=NVL; gpupass doctor DOMAIN --symptom=no-p2p" },
			{ "memory or virtual CPUs of the guest are on another NUMA node than the GPUs",
			  "gpupass topology; <numatune> and <vcpupin> in the domain" },
			{ "NCCL uses no GPUDirect RDMA (NCCL_DEBUG=INFO shows no GDRDMA): by itself it does "
			  "only where the guest shows NIC and GPU below one switch",
			  "where gpupass topology shows PIX or PXB: NCCL_NET_GDR_LEVEL=PHB in the guest" },
			{ "in the guest the link reads 2.5 GT/s while idle, which is normal",
			  "look at it under load" },
		},
	},
};

static json_t *suspects_json(const Symptom *symptom, const Findings *findings)
{
	json_t *list = json_array();

	/* Failed checks first: they explain more than warnings. */
	for (int status = FINDING_FAIL; status >= FINDING_WARN; status--)
		for (size_t i = 0; i < SUSPECTS_MAX && symptom->suspects[i]; i++)
			for (size_t k = 0; k < findings->n_items; k++)
				if (findings->items[k].status == (FindingStatus)status &&
				    str_equal(findings->items[k].check->id, symptom->suspects[i]))
					json_append(list, json_text(symptom->suspects[i]));
	return list;
}

static json_t *hints_json(const Symptom *symptom)
{
	json_t *list = json_array();

	for (size_t i = 0; i < HINTS_MAX && symptom->hints[i].cause; i++)
		json_append(list, json_build("{s:s, s:s}", "cause", symptom->hints[i].cause,
					     "remedy", symptom->hints[i].remedy));
	return list;
}

static json_t *symptom_json(DoctorSymptom symptom, const Findings *findings)
{
	for (size_t i = 0; i < ELEMENTS(symptoms); i++)
		if (symptoms[i].symptom == symptom)
			return json_build("{s:s, s:s, s:o, s:o}", "name",
					  doctor_symptom_to_string(symptom), "title",
					  symptoms[i].title, "suspects",
					  suspects_json(&symptoms[i], findings), "hints",
					  hints_json(&symptoms[i]));
	return json_null();
}

/* ---- the report ---- */

static json_t *finding_json(const Finding *f)
{
	json_t *what = json_array(), *objects = json_array();
	_cleanup_strv_ char **seen = NULL;

	for (size_t i = 0; i < f->n_lines; i++) {
		const char *object = f->lines[i].object;

		json_append(what, json_text(f->lines[i].what));
		if (!object || strv_contains(seen, object))
			continue;
		strv_append(&seen, object);
		json_append(objects, json_text(object));
	}
	return json_build(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "id", f->check->id, "title",
		f->check->title, "status", finding_status_to_string(f->status), "what", what,
		"remedy",
		json_string_or_null(f->status > FINDING_PASS ? finding_remedy_text(f) : NULL),
		"objects", objects, "see", f->check->see, "evidence", f->check->evidence);
}

static json_t *domain_json(const Checks *c)
{
	const VirtDomain *domain = c->facts->domain;

	if (!domain)
		return json_null();
	return json_build("{s:o, s:s, s:o, s:o}", "name", json_text(domain->name), "uuid",
			  domain->uuid, "group",
			  json_string_or_null(c->n_groups > 0 ? c->groups[0]->name : NULL),
			  "groups", JSON_ARRAY(c->groups, c->n_groups, json_text((*it)->name)));
}

static json_t *counts_json(const Findings *findings)
{
	json_t *o = json_object();

	for (int status = FINDING_STATUS_MAX_ - 1; status >= 0; status--) {
		size_t count = COUNT(findings->items, findings->n_items,
				     it->status == (FindingStatus)status);

		json_set(o, finding_status_to_string((FindingStatus)status),
			 json_integer((json_int_t)count));
	}
	return o;
}

static char *report_json(const Checks *c, const Findings *findings, DoctorSymptom symptom)
{
	_cleanup_json_ json_t *root = json_object();

	json_set(root, "schema", json_text(GPUPASS_SCHEMA_DOCTOR));
	json_set(root, "domain", domain_json(c));
	json_set(root, "symptom", symptom_json(symptom, findings));
	json_set(root, "counts", counts_json(findings));
	json_set(root, "checks", JSON_ARRAY(findings->items, findings->n_items, finding_json(it)));
	return json_dumps(root, JSON_COMPACT);
}

char *doctor_report(const CheckFacts *facts, DoctorSymptom symptom)
{
	Checks c = { .facts = facts };
	_cleanup_(findings_clear) Findings findings = { 0 };
	_cleanup_free_ const Gpu **gpus = NULL;
	_cleanup_free_ Companion *companions = NULL;
	char *text;

	find_groups(&c);
	gpus = select_gpus(&c, &c.n_gpus);
	c.gpus = gpus;
	companions = select_companions(&c, &c.n_companions);
	c.companions = companions;
	findings = checks_run(&c, 0);
	text = report_json(&c, &findings, symptom);
	free(c.groups);
	checks_clear(&c);
	return text;
}
