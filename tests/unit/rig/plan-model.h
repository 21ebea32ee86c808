/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host to plan on: two declared pairs of RTX A6000 on nvidia, a NIC, and the domain vm42 from a
 * fixture. Tests change it, then ask for a plan.
 */
#pragma once

#include "core/plan/plan.h"
#include "domains.h"
#include "host-model.h"

#define VM42 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define NIC "0000:02:00.0"
#define NVME "0000:43:00.0"

typedef struct PlanModel {
	HostModel host;
	Inspection inspection;
	Policy policy;
	PlanRequest request;
	VirtDomain domain;
	const HostFacts *facts;	     /* NULL: not known */
	GpuPersistence *persistence; /* NULL: nobody asked */
	size_t n_persistence;
	const GpuHealth *health; /* NULL: nobody asked */
	size_t n_health;
	Tenants *tenants; /* NULL: no marks are kept */
	char *config_xml, *live_xml;
	const char *group;
	bool without_domain, without_libvirt;
	Plan *plan;
	Problem *problem;
} PlanModel;

static const char *const pair0_functions[] = { "0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
					       "0000:61:00.1", NULL };

static inline _unused_ PciFunction *model_function(PlanModel *m, const char *text)
{
	Bdf bdf = bdf_of(text);

	for (size_t i = 0; i < m->host.snapshot->n_functions; i++)
		if (bdf_equal(&m->host.snapshot->functions[i]->bdf, &bdf))
			return m->host.snapshot->functions[i];
	fail_msg("there is no %s", text);
	return NULL;
}

static inline _unused_ FunctionFacts *model_facts(PlanModel *m, const char *text)
{
	Bdf bdf = bdf_of(text);

	for (size_t i = 0; i < m->inspection.n_functions; i++)
		if (bdf_equal(&m->inspection.functions[i].bdf, &bdf))
			return &m->inspection.functions[i];
	fail_msg("%s is not inspected", text);
	return NULL;
}

static inline _unused_ void model_set(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value);
}

/* Driver and override, as snapshot and inspection see them. */
static inline _unused_ void model_drive(PlanModel *m, const char *bdf, const char *driver,
					const char *override)
{
	model_set(&model_function(m, bdf)->driver, driver);
	model_set(&model_facts(m, bdf)->driver, driver);
	model_set(&model_facts(m, bdf)->driver_override, override);
}

static inline _unused_ void model_bind_pair0(PlanModel *m)
{
	for (size_t i = 0; pair0_functions[i]; i++)
		model_drive(m, pair0_functions[i], "vfio-pci", "vfio-pci");
}

static inline _unused_ void model_inspect(PlanModel *m)
{
	for (size_t i = 0; i < m->host.snapshot->n_functions; i++) {
		const PciFunction *function = m->host.snapshot->functions[i];
		FunctionFacts *facts = GROW(m->inspection.functions, m->inspection.n_functions);

		facts->bdf = function->bdf;
		facts->device_minor = -1;
		model_set(&facts->driver, function->driver);
	}
	m->inspection.vfio_pci = true;
}

static inline _unused_ PlanModel model_new(void)
{
	static const struct {
		const char *slot;
		int iommu_group;
	} gpus[] = { { "0000:41:00", 33 },
		     { "0000:61:00", 41 },
		     { "0000:a1:00", 57 },
		     { "0000:c1:00", 60 } };
	PciFunction *bridge;
	PlanModel m = {
		.policy = POLICY_DEFAULT,
		.request = { .operation = OPERATION_ASSIGN, .caller_uid = 1000, .now_usec = 77 },
		.group = "pair0",
	};

	m.host = host_new();
	m.host.snapshot->iommu = true;
	host_function(&m.host, NIC, 0x020000, 0x1521, "igb");
	bridge = host_function(&m.host, "0000:40:01.0", 0x060400, 0x1483, "pcieport");
	bridge->bridge = true;
	bridge->iommu_group = 33;
	for (size_t i = 0; i < ELEMENTS(gpus); i++)
		host_gpu(&m.host, gpus[i].slot, 0x2230, "nvidia");
	for (size_t i = 0; i < m.host.snapshot->n_functions; i++)
		for (size_t k = 0; k < ELEMENTS(gpus); k++)
			if (str_starts_with(BDF_TEXT(&m.host.snapshot->functions[i]->bdf),
					    gpus[k].slot))
				m.host.snapshot->functions[i]->iommu_group = gpus[k].iommu_group;
	model_function(&m, NIC)->iommu_group = 12;
	host_seal(&m.host);
	model_inspect(&m);
	return m;
}

static inline _unused_ void model_declare_both(PlanModel *m)
{
	host_declare(&m->host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"
			       "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n");
}

/* vm42, from fixtures; NULL texts as in VirtDomain. */
static inline _unused_ void model_domain(PlanModel *m, const char *config, const char *live)
{
	free(m->config_xml);
	free(m->live_xml);
	m->config_xml = config ? domain_fixture(config) : NULL;
	m->live_xml = live ? domain_fixture(live) : NULL;
}

/* Puts other words in the place of the first of these; with `after`, of the first behind that. */
static inline _unused_ void model_edit(char **xml, const char *after, const char *old,
				       const char *new)
{
	char *from = after ? strstr(*xml, after) : *xml, *at = from ? strstr(from, old) : NULL,
	     *text;

	if (!at)
		fail_msg("the XML has no %s", old);
	text = strf("%.*s%s%s", (int)(at - *xml), *xml, new, at + strlen(old));
	free(*xml);
	*xml = text;
}

/* Another domain with these functions; `group`: by gpupass. */
static inline _unused_ DomainUse *model_other_domain(PlanModel *m, const char *name, bool active,
						     const char *const *functions,
						     const char *group)
{
	DomainUse *use = host_domain(&m->host, name, active, functions);

	if (group)
		strv_append(&use->gpupass_groups, group);
	return use;
}

/* The record of pair0 for vm42; its functions were on these. */
static inline _unused_ Assignment *model_record(PlanModel *m, const char *driver,
						const char *override)
{
	Assignment *record = host_assignment(&m->host, "pair0", "vm42", 1, pair0_functions);

	model_set(&record->domain_uuid, VM42);
	for (size_t i = 0; i < record->n_functions; i++) {
		model_set(&record->functions[i].original_driver, driver);
		model_set(&record->functions[i].original_override, override);
	}
	return record;
}

static inline _unused_ Holder *model_holder(PlanModel *m, const char *bdf, const char *path,
					    bool vfio)
{
	Holder *holder = GROW(m->inspection.holders, m->inspection.n_holders);

	holder->bdf = bdf_of(bdf);
	holder->pid = 4242;
	holder->command = strdup("python3");
	holder->path = strdup(path);
	holder->vfio = vfio;
	return holder;
}

static inline _unused_ void model_unseen(PlanModel *m, UnseenReason reason)
{
	Unseen *unseen = GROW(m->inspection.unseen, m->inspection.n_unseen);

	unseen->pid = 4711;
	unseen->uid = 1000;
	unseen->command = strdup("mole");
	unseen->reason = reason;
	m->inspection.all_unseen++;
}

/* What NVML told of a GPU; `why` where it is unknown. */
static inline _unused_ void model_persistence(PlanModel *m, const char *bdf, PersistenceMode mode,
					      const char *why)
{
	GpuPersistence *gpu = GROW(m->persistence, m->n_persistence);

	gpu->bdf = bdf_of(bdf);
	gpu->mode = mode;
	gpu->why = xstrdup(why);
}

static inline _unused_ TenantMark *model_mark(PlanModel *m, const Gpu *board, TenantState state,
					      const char *uuid)
{
	TenantFile *file;

	if (!m->tenants)
		m->tenants = xcalloc(1, sizeof(Tenants));
	file = GROW(m->tenants->items, m->tenants->n_items);
	file->bdf = board->lead->bdf;
	file->mark = xcalloc(1, sizeof(TenantMark));
	tenant_mark_identify(file->mark, board);
	file->mark->state = state;
	file->mark->domain_uuid = xstrdup(uuid);
	return file->mark;
}

/* pair0 has an NVMe: it was erased by us, nobody uses it, and it is good in all. */
static inline _unused_ void model_add_nvme(PlanModel *m)
{
	PciFunction *function = host_function(&m->host, NVME, 0x010802, 0xa80a, "nvme");
	const PciFunction *functions = function;
	FunctionFacts *facts = GROW(m->inspection.functions, m->inspection.n_functions);
	NvmeUse *use = GROW(m->inspection.nvmes, m->inspection.n_nvmes);
	NvmeState *state = GROW(m->inspection.nvme_states, m->inspection.n_nvme_states);

	function->iommu_group = 70;
	function->reset_methods = xstrdup("flr");
	model_declare_both(m);
	host_companion(&m->host, "pair0", MEMBER_NVME, NVME);
	gpu_set_free(m->host.set);
	host_seal(&m->host);
	*facts = (FunctionFacts){ .bdf = bdf_of(NVME),
				  .driver = xstrdup("nvme"),
				  .nvme = true,
				  .device_minor = -1,
				  .resource_read = true,
				  .regions_read = true };
	*use = (NvmeUse){ .bdf = bdf_of(NVME),
			  .controller = xstrdup("nvme0"),
			  .state = xstrdup("live") };
	strv_append(&use->nodes, "/dev/nvme0n1");
	*state = (NvmeState){
		.bdf = bdf_of(NVME),
		.sanitizes_block = true,
		.lock = NVME_LOCK_OFF,
		.sanitize = NVME_SANITIZE_NONE,
	};
	*GROW(state->namespaces, state->n_namespaces) =
		(NvmeNamespace){ .id = 1, .attached = true };
	model_mark(m, &(Gpu){ .lead = function, .functions = &functions, .n_functions = 1 },
		   TENANT_CLEAN, NULL);
}

/* The GPU groups as they are seen now. */
static inline _unused_ void model_observe(PlanModel *m)
{
	DomainUse use = { 0 };

	if (m->config_xml || m->live_xml) {
		assert_int_equal(domain_use_from_xml(m->live_xml, m->config_xml, &use, &m->problem),
				 0);
		*GROW(m->host.uses->items, m->host.uses->n_items) = use;
	}
	if (m->host.declarations->n_items == 0 && m->host.links->n_items == 0)
		model_declare_both(m);
	m->host.tenants = m->tenants;
	host_resolve(&m->host);
	host_observe(&m->host, m->policy.accept_inferred);
}

/* plan_make() on all of it. */
static inline _unused_ int model_plan(PlanModel *m)
{
	PlanFacts facts = {
		.snapshot = m->host.snapshot,
		.gpus = m->host.set,
		.inspection = &m->inspection,
		.assignments = m->host.assignments,
		.tenants = m->tenants,
		.policy = &m->policy,
		.host = m->facts,
		.persistence = m->persistence,
		.n_persistence = m->n_persistence,
		.health = m->health,
		.n_health = m->n_health,
	};

	if (!m->config_xml && !m->live_xml && !m->without_domain)
		model_domain(m, "q35", NULL);
	if (!m->host.groups)
		model_observe(m);
	m->domain = (VirtDomain){
		.uuid = (char *)VM42,
		.name = (char *)"vm42",
		.active = m->live_xml != NULL,
		.persistent = m->config_xml != NULL,
		.config_xml = m->config_xml,
		.live_xml = m->live_xml,
	};
	facts.domain = m->without_domain ? NULL : &m->domain;
	facts.uses = m->without_libvirt ? NULL : m->host.uses;
	facts.groups = m->host.groups;
	facts.group = host_group(&m->host, m->group);
	return plan_make(&m->request, &facts, &m->plan, &m->problem);
}

static inline _unused_ void model_done(PlanModel *m)
{
	for (size_t i = 0; i < m->inspection.n_functions; i++) {
		FunctionFacts *facts = &m->inspection.functions[i];

		free(facts->driver);
		free(facts->driver_override);
		free(facts->uuid);
		free(facts->serial_number);
		free(facts->direct_region);
		for (size_t k = 0; k < facts->n_bar_holders; k++)
			free(facts->bar_holders[k].name);
		free(facts->bar_holders);
	}
	for (size_t i = 0; i < m->inspection.n_holders; i++) {
		Holder *holder = &m->inspection.holders[i];

		free(holder->command);
		free(holder->unit);
		free(holder->container);
		free(holder->path);
	}
	persistence_list_free(m->persistence, m->n_persistence);
	for (size_t i = 0; i < m->inspection.n_unseen; i++)
		free(m->inspection.unseen[i].command);
	for (size_t i = 0; i < m->inspection.n_nics; i++)
		nic_use_clear(&m->inspection.nics[i]);
	free(m->inspection.nics);
	for (size_t i = 0; i < m->inspection.n_nvmes; i++)
		nvme_use_clear(&m->inspection.nvmes[i]);
	free(m->inspection.nvmes);
	for (size_t i = 0; i < m->inspection.n_nvme_states; i++)
		nvme_state_clear(&m->inspection.nvme_states[i]);
	free(m->inspection.nvme_states);
	free(m->inspection.nvidia_version);
	free(m->inspection.functions);
	free(m->inspection.holders);
	m->tenants = tenants_free(m->tenants);
	free(m->inspection.unseen);
	free(m->config_xml);
	free(m->live_xml);
	m->plan = plan_free(m->plan);
	m->problem = problem_free(m->problem);
	host_done(&m->host);
}
