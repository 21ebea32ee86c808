/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts whose topology is drawn: what a daemon would know of each, made by hand. */
#pragma once

#include "core/group/topology-json.h"
#include "host-model.h"

typedef struct Scene {
	HostModel model;
	HostFacts *facts;
	GpuHealth health; /* of one GPU; all 0: of none */
} Scene;

static inline _unused_ void scene_bridge(Scene *s, const char *bdf, int numa)
{
	Bdf address = bdf_of(bdf);
	PciFunction *f;

	for (size_t i = 0; i < s->model.snapshot->n_functions; i++)
		if (bdf_equal(&s->model.snapshot->functions[i]->bdf, &address))
			return;
	f = host_function(&s->model, bdf, 0x060400, 0xc010, "pcieport");
	f->vendor = 0x1000;
	f->bridge = true;
	f->numa_node = numa;
	f->iommu_group = address.bus * 4 + address.device;
}

/* `path`: the bridges above, root port first, with blanks between; "" for none. */
static inline _unused_ void scene_gpu(Scene *s, const char *slot, uint16_t device,
				      const char *driver, int numa, int iommu, const char *path)
{
	size_t first = s->model.snapshot->n_functions;
	_cleanup_strv_ char **bridges = NULL;

	strv_split(path, " ", &bridges);
	host_gpu(&s->model, slot, device, driver);
	for (size_t i = first; i < first + 2; i++) {
		PciFunction *f = s->model.snapshot->functions[i];

		f->numa_node = numa;
		f->iommu_group = iommu;
		f->power_state = strdup("D0");
		f->upstream = xcalloc(strv_length(bridges) + 1, sizeof(Bdf));
		for (char **bridge = bridges; bridge && *bridge; bridge++)
			f->upstream[f->n_upstream++] = bdf_of(*bridge);
	}
	for (char **bridge = bridges; bridge && *bridge; bridge++)
		scene_bridge(s, *bridge, numa);
}

static inline _unused_ void scene_node(Scene *s, unsigned number, const char *cpus, uint64_t gib)
{
	HostNode *node = GROW(s->facts->nodes, s->facts->n_nodes);

	node->node = number;
	node->cpus = strdup(cpus);
	node->memory_bytes = gib << 30;
}

static inline _unused_ void scene_name(Scene *s, const char *name)
{
	s->facts->name = strdup(name);
	s->model.snapshot->iommu = true;
}

static inline _unused_ void scene_declare(Scene *s, const char *name, const char *const *slots)
{
	_cleanup_free_ char *text = strf("[Group]\nName=%s\n", name);

	for (; *slots; slots++) {
		char *longer = strf("%sGpu=%s.0\n", text, *slots);

		free(text);
		text = longer;
	}
	host_declare(&s->model, text);
}

/* The group is a domain's, by gpupass: hostdevs, metadata, record. */
static inline _unused_ void scene_assign(Scene *s, const char *group, const char *domain,
					 const char *const *slots)
{
	_cleanup_strv_ char **functions = NULL;
	DomainUse *use;

	if (!s->model.set) /* the record names boards, so that they have to be found */
		host_seal(&s->model);
	for (; *slots; slots++)
		for (const char *f = "01"; *f; f++)
			strv_appendf(&functions, "%s.%c", *slots, *f);
	use = host_domain(&s->model, domain, true, (const char *const *)functions);
	strv_append(&use->gpupass_groups, group);
	host_assignment(&s->model, group, domain, (unsigned)s->model.uses->n_items,
			(const char *const *)functions);
}

#define SLOTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static inline _unused_ void scene_lone_4090(Scene *s)
{
	scene_name(s, "workstation");
	scene_gpu(s, "0000:01:00", 0x2684, "nvidia", NUMA_NODE_NONE, 16, "0000:00:01.0");
}

static inline _unused_ void scene_pair(Scene *s)
{
	scene_name(s, "bench");
	scene_node(s, 0, "0-23", 125);
	scene_gpu(s, "0000:0a:00", 0x2204, "nvidia", 0, 24, "0000:00:03.1");
	scene_gpu(s, "0000:0b:00", 0x2204, "nvidia", 0, 26, "0000:00:03.2");
}

static inline _unused_ void scene_candidates(Scene *s)
{
	scene_name(s, "gpu03");
	scene_node(s, 0, "0-31,64-95", 256);
	scene_node(s, 1, "32-63,96-127", 256);
	scene_gpu(s, "0000:41:00", 0x2230, "nvidia", 0, 65, "0000:40:01.1");
	scene_gpu(s, "0000:61:00", 0x2230, "nvidia", 0, 97, "0000:60:01.1");
	scene_gpu(s, "0000:a1:00", 0x2230, "nvidia", 1, 161, "0000:a0:01.1");
	scene_gpu(s, "0000:c1:00", 0x2230, "nvidia", 1, 193, "0000:c0:01.1");
}

static inline _unused_ void scene_quad(Scene *s)
{
	const char *const *slots = SLOTS("0000:16:00", "0000:38:00", "0000:98:00", "0000:b8:00");

	scene_name(s, "h200-01");
	scene_node(s, 0, "0-55,112-167", 1007);
	scene_node(s, 1, "56-111,168-223", 1008);
	scene_gpu(s, "0000:16:00", 0x233b, "vfio-pci", 0, 22, "0000:15:01.0");
	scene_gpu(s, "0000:38:00", 0x233b, "vfio-pci", 0, 55, "0000:37:01.0");
	scene_gpu(s, "0000:98:00", 0x233b, "vfio-pci", 1, 152, "0000:97:01.0");
	scene_gpu(s, "0000:b8:00", 0x233b, "vfio-pci", 1, 184, "0000:b7:01.0");
	scene_declare(s, "quad0", slots);
	scene_assign(s, "quad0", "llm-train", slots);
}

/* One pair in each state that needs a look, behind switches. */
static inline _unused_ void scene_eight(Scene *s)
{
	scene_name(s, "gpu07");
	scene_node(s, 0, "0-31,64-95", 512);
	scene_node(s, 1, "32-63,96-127", 512);
	scene_gpu(s, "0000:04:00", 0x2235, "vfio-pci", 0, 20,
		  "0000:01:01.0 0000:02:00.0 0000:03:00.0");
	scene_gpu(s, "0000:05:00", 0x2235, "vfio-pci", 0, 21,
		  "0000:01:01.0 0000:02:00.0 0000:03:01.0");
	scene_gpu(s, "0000:06:00", 0x2235, "nvidia", 0, 22,
		  "0000:01:01.0 0000:02:00.0 0000:03:02.0");
	scene_gpu(s, "0000:07:00", 0x2235, "nvidia", 0, 23,
		  "0000:01:01.0 0000:02:00.0 0000:03:03.0");
	scene_gpu(s, "0000:84:00", 0x2235, "vfio-pci", 1, 40,
		  "0000:81:01.0 0000:82:00.0 0000:83:00.0");
	scene_gpu(s, "0000:85:00", 0x2235, "nvidia", 1, 41,
		  "0000:81:01.0 0000:82:00.0 0000:83:01.0");
	scene_gpu(s, "0000:c1:00", 0x2235, NULL, 1, 60, "0000:c0:01.0");
	scene_gpu(s, "0000:c2:00", 0x2235, "vfio-pci", 1, 61, "0000:c0:02.0");
	scene_declare(s, "pair0", SLOTS("0000:04:00", "0000:05:00"));
	scene_declare(s, "pair1", SLOTS("0000:06:00", "0000:07:00"));
	scene_declare(s, "pair2", SLOTS("0000:84:00", "0000:85:00"));
	scene_declare(s, "pair3", SLOTS("0000:c1:00", "0000:c2:00"));
	host_link(&s->model, "0000:04:00.0", "0000:05:00.0", PROVENANCE_PROBED, 4);
	scene_assign(s, "pair0", "render-farm", SLOTS("0000:04:00", "0000:05:00"));
}

/* What the manager adds to what is observed. */
static inline _unused_ void scene_eight_after(Scene *s)
{
	Group *group = host_group(&s->model, "pair3");

	group->state = GROUP_QUARANTINED;
	group->assignable = false;
	free(group->reason);
	group->reason = strdup("job 12: 0000:c1:00.0 did not let go of nvidia within 30 s, and a "
			       "worker still waits in the kernel");
}

/* Eight pairs over two nodes, of four tenants. */
static inline _unused_ void scene_sixteen(Scene *s)
{
	static const char *const tenants[] = {
		"acme-train-01",	  NULL,	   "bolt-infer", NULL, NULL,
		"crane-sim-large-memory", "delta", NULL
	};

	scene_name(s, "gpu16");
	scene_node(s, 0, "0-63,128-191", 1024);
	scene_node(s, 1, "64-127,192-255", 1024);
	for (int i = 0; i < 16; i++) {
		int root = 0x10 + i / 4 * 0x20, pair = i / 2;
		const char *driver = tenants[pair] || pair == 1 ? "vfio-pci" : "nvidia";
		_cleanup_free_ char *slot = strf("0000:%02x:00", root + 4 + i % 4);
		_cleanup_free_ char *path = strf("0000:%02x:01.0 0000:%02x:00.0 0000:%02x:%02x.0",
						 root, root + 1, root + 2, i % 4);

		scene_gpu(s, slot, 0x2235, driver, i / 8, 30 + i, path);
	}
	for (int pair = 0; pair < 8; pair++) {
		int bus = 0x10 + pair / 2 * 0x20 + 4 + pair % 2 * 2;
		_cleanup_free_ char *a = strf("0000:%02x:00", bus),
				    *b = strf("0000:%02x:00", bus + 1);
		_cleanup_free_ char *name = strf("pair%d", pair);

		scene_declare(s, name, SLOTS(a, b));
		if (tenants[pair])
			scene_assign(s, name, tenants[pair], SLOTS(a, b));
	}
}

/* Pairs that a person bridged across nodes and rows, and names that want to break out. */
static inline _unused_ void scene_odd(Scene *s)
{
	scene_name(s, "a<b>&\"c\"");
	for (int i = 0; i < 10; i++) {
		_cleanup_free_ char *slot = strf("0000:%02x:00", 0x21 + i);

		scene_gpu(s, slot,
			  i < 8	   ? 0x2230
			  : i == 8 ? 0x2684
				   : 0x1234,
			  i < 2 ? "vfio-pci" : "nvidia", i % 3 == 2 ? NUMA_NODE_NONE : i % 3,
			  i == 9 ? IOMMU_GROUP_NONE : 60 + i, i == 4 ? "" : "0000:20:01.0");
	}
	scene_declare(s, "pair0", SLOTS("0000:21:00", "0000:22:00"));
	scene_declare(s, "a-group-with-a-name-as-long-as-names-may-be",
		      SLOTS("0000:23:00", "0000:24:00"));
	scene_declare(s, "pair2", SLOTS("0000:25:00", "0000:28:00"));
	scene_declare(s, "pair3", SLOTS("0000:26:00", "0000:27:00"));
	scene_assign(s, "pair0", "</text><script>alert('1')</script>\\\"$]]>",
		     SLOTS("0000:21:00", "0000:22:00"));
	host_domain(&s->model, "jürgens-ゲーム機-\xf0\x9f\x8e\xae-with-a-very-long-name-indeed",
		    false, SLOTS("0000:29:00.0", "0000:29:00.1"));
}

static inline _unused_ PciFunction *scene_companion(Scene *s, const char *bdf, uint32_t class_code,
						    uint16_t vendor, uint16_t device,
						    const char *driver, int numa, int iommu,
						    const char *path)
{
	PciFunction *f = host_function(&s->model, bdf, class_code, device, driver);
	_cleanup_strv_ char **bridges = NULL;

	strv_split(path, " ", &bridges);
	f->vendor = vendor;
	f->numa_node = numa;
	f->iommu_group = iommu;
	f->upstream = xcalloc(strv_length(bridges) + 1, sizeof(Bdf));
	for (char **bridge = bridges; bridge && *bridge; bridge++)
		f->upstream[f->n_upstream++] = bdf_of(*bridge);
	for (char **bridge = bridges; bridge && *bridge; bridge++)
		scene_bridge(s, *bridge, numa);
	return f;
}

/* A pair with a NIC and an NVMe below its switch; a NIC of the host; NVMes and VFs of nobody. */
static inline _unused_ void scene_companions(Scene *s)
{
	scene_name(s, "gpu09");
	scene_node(s, 0, "0-31,64-95", 512);
	scene_node(s, 1, "32-63,96-127", 512);
	scene_gpu(s, "0000:04:00", 0x2321, "vfio-pci", 0, 20,
		  "0000:01:01.0 0000:02:00.0 0000:03:00.0");
	scene_gpu(s, "0000:05:00", 0x2321, "vfio-pci", 0, 21,
		  "0000:01:01.0 0000:02:00.0 0000:03:01.0");
	scene_gpu(s, "0000:84:00", 0x2321, "nvidia", 1, 40,
		  "0000:81:01.0 0000:82:00.0 0000:83:00.0");
	scene_gpu(s, "0000:c1:00", 0x2321, "nvidia", 1, 41, "0000:c0:01.0");
	scene_companion(s, "0000:06:00.0", 0x020700, 0x15b3, 0x1021, "vfio-pci", 0, 22,
			"0000:01:01.0 0000:02:00.0 0000:03:02.0");
	scene_companion(s, "0000:07:00.0", 0x010802, 0x144d, 0xa80a, "nvme", 0, 23,
			"0000:01:01.0 0000:02:00.0 0000:03:03.0");
	scene_companion(s, "0000:61:00.0", 0x020000, 0x8086, 0x1563, "ixgbe", 0, 60,
			"0000:60:03.1");
	scene_companion(s, "0000:62:00.0", 0x010802, 0x144d, 0xa80a, "nvme", 0, 61, "0000:60:03.2");
	scene_companion(s, "0000:85:00.0", 0x020000, 0x15b3, 0x1021, "mlx5_core", 1, 42,
			"0000:81:01.0 0000:82:00.0 0000:83:01.0");
	scene_companion(s, "0000:85:00.1", 0x020000, 0x15b3, 0x101e, NULL, 1, 43,
			"0000:81:01.0 0000:82:00.0 0000:83:01.0")
		->virtual_function = true;
	scene_companion(s, "0000:85:00.2", 0x020000, 0x15b3, 0x101e, NULL, 1, 44,
			"0000:81:01.0 0000:82:00.0 0000:83:01.0")
		->virtual_function = true;
	scene_declare(s, "pair0", SLOTS("0000:04:00", "0000:05:00"));
	scene_declare(s, "pair1", SLOTS("0000:84:00", "0000:c1:00"));
	scene_assign(s, "pair0", "train", SLOTS("0000:04:00", "0000:05:00"));
}

static inline _unused_ void scene_join(Scene *s, const char *name, MemberKind kind, const char *bdf)
{
	Group *group = host_group(&s->model, name);

	*GROW(group->companions, group->n_companions) =
		(Companion){ .member = { .kind = kind, .bdf = bdf_of(bdf) } };
}

static inline _unused_ void scene_companions_after(Scene *s)
{
	DomainHostdev *hostdev = &s->model.uses->items[0].hostdevs[0];

	s->health =
		(GpuHealth){ .bdf = hostdev->bdf, .config = { .speed_max = 5, .width_max = 16 } };
	*GROW(s->health.ports, s->health.n_ports) =
		(HealthPort){ .bdf = bdf_of("0000:02:00.0"),
			      .config = { .speed_max = 4, .width_max = 8 } };
	hostdev->has_seen = true;
	hostdev->seen = bdf_of("0000:05:00.0");
	snprintf(hostdev->path, sizeof(hostdev->path), "00/02.3/00.0");
	scene_join(s, "pair0", MEMBER_NIC, "0000:06:00.0");
	scene_join(s, "pair1", MEMBER_VF, "0000:85:00.1");
}

typedef struct SceneRow {
	const char *name;
	void (*build)(Scene *scene);
	void (*after)(Scene *scene); /* groups are observed; may be NULL */
} SceneRow;

static const SceneRow scenes[] = {
	{ "lone-4090", scene_lone_4090, NULL },
	{ "pair", scene_pair, NULL },
	{ "candidates", scene_candidates, NULL },
	{ "quad", scene_quad, NULL },
	{ "eight", scene_eight, scene_eight_after },
	{ "sixteen", scene_sixteen, NULL },
	{ "odd", scene_odd, NULL },
	{ "companions", scene_companions, scene_companions_after },
};

/* The document a daemon would give of the scene. */
static inline _unused_ char *scene_document(const SceneRow *row)
{
	Scene s = { .facts = xcalloc(1, sizeof(HostFacts)) };
	char *json;

	s.model = host_new();
	row->build(&s);
	host_resolve(&s.model);
	host_observe(&s.model, false);
	if (row->after)
		row->after(&s);
	json = topology_to_json(&(TopologyFacts){
		.snapshot = s.model.snapshot,
		.gpus = s.model.set,
		.groups = s.model.groups,
		.uses = s.model.uses,
		.host = s.facts,
		.healths = &s.health,
		.n_healths = 1,
	});
	assert_non_null(json);
	gpu_health_clear(&s.health);
	host_done(&s.model);
	host_facts_free(s.facts);
	return json;
}
