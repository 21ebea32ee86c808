/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the NUMA nodes of the guest's memory and CPUs with those of its GPUs. */

#include "core/fit/checks.h"
#include "util/text.h"

/* The nodes of the group's GPUs. False: the host does not say the node of one of them. */
static bool gpu_nodes(const FitFacts *facts, CpuSet *ret)
{
	*ret = (CpuSet){ 0 };
	for (size_t i = 0; i < facts->n_functions; i++) {
		int node = facts->functions[i]->numa_node;

		if (!host_facts_node(facts->host, node))
			return false;
		ret->bits[node / 64] |= UINT64_C(1) << (node % 64);
	}
	return facts->n_functions > 0;
}

/* Placement matters: the host has several nodes, and the GPUs are not on all of them. */
static bool numa_has_choice(const FitFacts *facts, CpuSet *ret_nodes)
{
	return facts->host && facts->host->n_nodes > 1 && gpu_nodes(facts, ret_nodes) &&
	       cpu_set_count(ret_nodes) < facts->host->n_nodes;
}

/* "0,1"; with `cpus` the CPUs of these nodes instead: "0-31,64-95". */
static char *nodes_text(const HostFacts *host, const CpuSet *nodes, bool cpus)
{
	_cleanup_strv_ char **parts = NULL;

	EACH (const HostNode, node, host->nodes, host->n_nodes) {
		if (!cpu_set_has(nodes, node->node))
			continue;
		if (!cpus)
			strv_appendf(&parts, "%u", node->node);
		else if (!str_is_empty(node->cpus))
			strv_append(&parts, node->cpus);
	}
	return strv_join(parts, ",");
}

static uint64_t memory_of(const HostFacts *host, const CpuSet *nodes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < host->n_nodes; i++)
		if (cpu_set_has(nodes, host->nodes[i].node))
			sum += host->nodes[i].memory_bytes;
	return sum;
}

static void numa_check_memory(Fit *f, const CpuSet *nodes, const char *names)
{
	const FitDomain *d = &f->domain;
	uint64_t memory = memory_of(f->facts->host, nodes);
	_cleanup_free_ char *size = fit_size_text(memory),
			    *guest = fit_size_text(d->memory_max_bytes);
	CpuSet bound;

	if (memory > 0 && d->memory_max_bytes > memory)
		fit_add(f->report, FIT_NUMA_MEMORY, FIT_WARNING,
			strf("%s has %s of memory, and NUMA node %s of its GPUs has %s: the "
			     "rest will be remote",
			     d->name, guest, names, size),
			"give it less memory, or a guest NUMA topology of its own");
	else if (d->memory_auto)
		return;
	else if (!d->nodeset)
		fit_add(f->report, FIT_NUMA_MEMORY, FIT_WARNING,
			strf("the memory of %s may be on any NUMA node; its GPUs are on "
			     "node %s",
			     d->name, names),
			"use --numa=apply, or add a <numatune>");
	else if (cpu_set_parse(d->nodeset, &bound) == 0 && !cpu_set_within(&bound, nodes))
		fit_add(f->report, FIT_NUMA_MEMORY, FIT_WARNING,
			strf("the memory of %s is on NUMA node %s; its GPUs are on node %s",
			     d->name, d->nodeset, names),
			"change its <numatune>");
}

static void numa_check_cpus(Fit *f, const CpuSet *nodes, const char *names)
{
	const FitDomain *d = &f->domain;
	_cleanup_free_ char *text = nodes_text(f->facts->host, nodes, true);
	CpuSet cpus;

	if (!*text || d->cpus_auto || cpu_set_parse(text, &cpus) < 0)
		return;
	if (d->vcpus > cpu_set_count(&cpus))
		fit_add(f->report, FIT_NUMA_CPUS, FIT_WARNING,
			strf("%s has %u vCPUs, and NUMA node %s of its GPUs has %u CPUs", d->name,
			     d->vcpus, names, cpu_set_count(&cpus)),
			"give it fewer vCPUs, or a guest NUMA topology of its own");
	else if (!d->cpus_bound)
		fit_add(f->report, FIT_NUMA_CPUS, FIT_WARNING,
			strf("the vCPUs of %s may run on any NUMA node; its GPUs are on "
			     "node %s",
			     d->name, names),
			"use --numa=apply, or give its <vcpu> a cpuset");
	else if (!cpu_set_within(&d->cpus, &cpus))
		fit_add(f->report, FIT_NUMA_CPUS, FIT_WARNING,
			strf("vCPUs of %s are pinned to CPUs that are not on NUMA node %s of its "
			     "GPUs",
			     d->name, names),
			"change its <vcpupin> or the cpuset of its <vcpu>");
}

void fit_check_numa(Fit *f)
{
	_cleanup_free_ char *names = NULL;
	CpuSet nodes;

	if (!f->facts->host || f->facts->host->n_nodes == 0)
		f->report->not_known[FIT_NUMA_MEMORY] = FIT_NO_HOST ": its NUMA nodes";
	else if (f->facts->host->n_nodes > 1 && !gpu_nodes(f->facts, &nodes))
		f->report->not_known[FIT_NUMA_MEMORY] =
			"the kernel does not say on which NUMA node its GPUs are";
	if (!f->facts->host || f->facts->host->n_nodes < 2 || !gpu_nodes(f->facts, &nodes))
		return;
	names = nodes_text(f->facts->host, &nodes, false);
	if (cpu_set_count(&nodes) > 1)
		fit_add(f->report, FIT_NUMA_SPREAD, FIT_INFO,
			strf("the GPUs of the group are on NUMA nodes %s", names), NULL);
	if (numa_has_choice(f->facts, &nodes)) {
		numa_check_memory(f, &nodes, names);
		numa_check_cpus(f, &nodes, names);
	}
}

void fit_tune_numa(const FitFacts *facts, const FitDomain *d, FitTune *tune)
{
	_cleanup_free_ char *names = NULL, *text = NULL;
	CpuSet nodes, cpus;

	if (!numa_has_choice(facts, &nodes))
		return;
	names = nodes_text(facts->host, &nodes, false);
	text = nodes_text(facts->host, &nodes, true);
	if (!d->nodeset && !d->memory_auto &&
	    memory_of(facts->host, &nodes) >= d->memory_max_bytes) {
		tune->nodeset = TAKE_PTR(names);
		/*
		 * "preferred" and "interleave" let the guest start when a node is full; "strict"
		 * does not.
		 */
		tune->interleave = cpu_set_count(&nodes) > 1;
	}
	if (*text && !d->cpus_bound && !d->cpus_auto && cpu_set_parse(text, &cpus) == 0 &&
	    cpu_set_count(&cpus) >= d->vcpus)
		tune->cpuset = TAKE_PTR(text);
}
