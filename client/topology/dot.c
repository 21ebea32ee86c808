/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/dot.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

/* In a quoted string only quotes and backslashes are special to Graphviz. */
static void escape(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc(*s, f);
	}
}

static void quoted(FILE *f, const char *s)
{
	fputc('"', f);
	escape(f, s);
	fputc('"', f);
}

/* The GPU that stands for a node or a bridge: the first below it. */
static bool first_of_node(const Topology *t, size_t gpu)
{
	for (size_t i = 0; i < gpu; i++)
		if (t->gpus[i].numa_node == t->gpus[gpu].numa_node)
			return false;
	return true;
}

static bool first_of_bridge(const Topology *t, size_t gpu, const char *bridge)
{
	for (size_t i = 0; i < gpu; i++)
		if (strv_contains(t->gpus[i].path, bridge))
			return false;
	return true;
}

static void print_gpu(FILE *f, const Topology *t, const TopologyGpu *gpu, const char *indent)
{
	const TopologyGroup *group = topology_group(t, gpu);

	fprintf(f, "%s", indent);
	quoted(f, gpu->address);
	fputs(" [label=\"", f);
	escape(f, *gpu->model ? gpu->model : "GPU");
	fputs("\\n", f);
	escape(f, gpu->address);
	fputs("\\n", f);
	escape(f, *gpu->driver ? gpu->driver : "no driver");
	if (gpu->iommu_group >= 0)
		fprintf(f, ", IOMMU %d", gpu->iommu_group);
	fputs("\\n", f);
	if (group) {
		escape(f, group->name);
		fputs(": ", f);
	}
	escape(f, gpu->state);
	fprintf(f, "\", fillcolor=\"%s\"];\n",
		gpu->look == LOOK_BAD || gpu->look == LOOK_CLOSED ? "#f6d3bd"
		: gpu->look == LOOK_UNSURE			  ? "#f5ecc8"
		: gpu->look == LOOK_HELD			  ? "#cfe3f1"
								  : "#ffffff");
}

static void print_domain(FILE *f, const Topology *t, int node, size_t domain)
{
	bool any = false;

	for (size_t i = 0; i < t->n_gpus; i++) {
		const TopologyGpu *gpu = &t->gpus[i];

		if (gpu->numa_node != node || strcmp(gpu->domain, t->domains[domain]) != 0)
			continue;
		if (!any) {
			fprintf(f,
				"    subgraph \"cluster_node%d_domain%zu\" {\n      "
				"label=\"domain ",
				node, domain);
			escape(f, t->domains[domain]);
			fputs("\"; style=rounded; color=\"#0072b2\";\n", f);
			any = true;
		}
		print_gpu(f, t, gpu, "      ");
	}
	if (any)
		fputs("    }\n", f);
}

static void print_bridges(FILE *f, const Topology *t, size_t gpu)
{
	for (char **bridge = t->gpus[gpu].path; bridge && *bridge; bridge++) {
		const TopologyBridge *facts = topology_bridge(t, *bridge);

		if (!first_of_bridge(t, gpu, *bridge))
			continue;
		fputs("    ", f);
		quoted(f, *bridge);
		fputs(" [shape=box, style=filled, fillcolor=\"#e6eaf0\", fontsize=10, label=\"", f);
		escape(f, facts && *facts->kind ? facts->kind : "bridge");
		fputs("\\n", f);
		escape(f, *bridge);
		fputs("\"];\n", f);
	}
}

static void print_node(FILE *f, const Topology *t, int node)
{
	_cleanup_free_ char *facts = topology_node_text(t, node, ", ");

	fprintf(f,
		"  subgraph \"cluster_node%d\" {\n    style=rounded; color=\"#9aa5b2\"; label=\"",
		node);
	if (node < 0)
		fputs("NUMA node not known", f);
	else
		fprintf(f, "NUMA node %d", node);
	if (facts && *facts) {
		fputs("\\n", f);
		escape(f, facts);
	}
	fputs("\";\n", f);
	for (size_t i = 0; i < t->n_gpus; i++)
		if (t->gpus[i].numa_node == node)
			print_bridges(f, t, i);
	for (size_t i = 0; t->domains && t->domains[i]; i++)
		print_domain(f, t, node, i);
	for (size_t i = 0; i < t->n_gpus; i++)
		if (t->gpus[i].numa_node == node && !*t->gpus[i].domain)
			print_gpu(f, t, &t->gpus[i], "    ");
	fputs("  }\n", f);
}

static void print_edge(FILE *f, const char *a, const char *b)
{
	fputs("  ", f);
	quoted(f, a);
	fputs(" -- ", f);
	quoted(f, b);
}

static void print_paths(FILE *f, const Topology *t, size_t gpu)
{
	const char *above = NULL;

	for (char **bridge = t->gpus[gpu].path; bridge && *bridge; bridge++) {
		if (above && first_of_bridge(t, gpu, *bridge)) {
			print_edge(f, above, *bridge);
			fputs(";\n", f);
		}
		above = *bridge;
	}
	if (above) {
		print_edge(f, above, t->gpus[gpu].address);
		fputs(";\n", f);
	}
}

static void print_links(FILE *f, const Topology *t)
{
	for (size_t a = 0; a < t->n_gpus; a++)
		for (size_t b = a + 1; b < t->n_gpus; b++) {
			const TopologyGroup *group = topology_link(t, a, b);

			if (!group)
				continue;
			print_edge(f, t->gpus[a].address, t->gpus[b].address);
			fputs(" [constraint=false, penwidth=5, color=\"#009e73\", label=\"", f);
			escape(f, group->link);
			fprintf(f, "\"%s];\n",
				strcmp(group->provenance, "inferred") == 0 ? ", style=dashed" : "");
		}
}

void topology_print_dot(FILE *f, const Topology *t)
{
	fputs("graph gpupass {\n  graph [labelloc=t, fontname=\"sans-serif\", label=\"GPUs of ", f);
	escape(f, *t->host ? t->host : "this host");
	fputs("\"];\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n"
	      "  edge [fontname=\"sans-serif\"];\n",
	      f);
	for (size_t i = 0; i < t->n_gpus; i++)
		if (first_of_node(t, i))
			print_node(f, t, t->gpus[i].numa_node);
	for (size_t i = 0; i < t->n_gpus; i++)
		print_paths(f, t, i);
	print_links(f, t);
	fputs("}\n", f);
}
