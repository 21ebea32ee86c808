/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <inttypes.h>

#include "host/scan/fit-facts.h"
#include "rig/look-rows.h"

#define KIB UINT64_C(1024)

static SysfsTree *nothing(void)
{
	return sysfs_tree_new(NULL);
}

/*
 * "NAME, BITS, VENDOR, KERNEL, KIB; [in a machine,] IOMMU TABLE[, WORDS]", and of each node "; NODE:
 * CPUS, KIB, FREE[, TOTAL/FREE of KIB]". "-": not known.
 */
static json_t *look(SysfsTree *tree)
{
	static const char *const vendors[] = { "unknown", "intel", "amd", "arm" };
	static const char *const tables[] = { "unknown", "none", "there" };
	_cleanup_(host_facts_freep) HostFacts *f =
		fit_facts_read(tree->roots.sysfs_fd, tree->roots.proc_fd);
	_cleanup_free_ char *words = strv_join(f->iommu_words, " "), *text = NULL;
	_cleanup_strv_ char **lines = NULL;

	strv_appendf(&lines, "%s, %u, %s, %u.%u, %" PRIu64, f->name ? f->name : "-",
		     f->physical_bits, vendors[f->cpu_vendor], f->kernel_major, f->kernel_minor,
		     f->memory_bytes / KIB);
	strv_appendf(&lines, "%s%s%s%s", f->virtual_machine ? "in a machine, " : "",
		     tables[f->iommu_table], *words ? ", " : "", words);
	EACH (const HostNode, node, f->nodes, f->n_nodes) {
		_cleanup_strv_ char **pools = NULL;
		_cleanup_free_ char *of_node = NULL;

		assert_ptr_equal(host_facts_node(f, (int)node->node), node);
		strv_appendf(&pools, "%u: %s, %" PRIu64 ", %" PRIu64, node->node,
			     node->cpus ? node->cpus : "-", node->memory_bytes / KIB,
			     node->free_bytes / KIB);
		for (size_t i = 0; i < node->n_pools; i++)
			strv_appendf(&pools, "%" PRIu64 "/%" PRIu64 " of %" PRIu64,
				     node->pools[i].total, node->pools[i].free,
				     node->pools[i].page_bytes / KIB);
		of_node = strv_join(pools, ", ");
		strv_append(&lines, of_node);
	}
	assert_null(host_facts_node(f, 1000));
	assert_null(host_facts_node(f, -1));
	text = strv_join(lines, "; ");
	return json_string(text);
}

#define NODES "sys/devices/system/node/"
#define NODE(n, cpus, kib)                                                                         \
	NODES "node" n "/cpulist", cpus, NODES "node" n "/meminfo",                                \
		"Node " n " MemTotal:       " kib " kB\nNode " n " MemFree:        1024 kB\n"
#define POOL(n, kib) NODES "node" n "/hugepages/hugepages-" kib "kB/"
#define INTEL "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor vme\n"
#define IVRS "sys/firmware/acpi/tables/IVRS", "", "sys/class/iommu/ivhd0/x", ""
#define DMAR "sys/firmware/acpi/tables/DMAR", ""
#define X100                                                                                       \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X1000 X100 X100 X100 X100 X100 X100 X100 X100 X100 X100

static const LookRow hosts[] = {
	ROW("a host as it is",
	    { "proc/sys/kernel/hostname", "gpu07\n", "proc/sys/kernel/osrelease",
	      "6.14.0-24-generic\n", "proc/cpuinfo",
	      "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme\n"
	      "address sizes\t: 46 bits physical, 57 bits virtual\n\n",
	      "proc/meminfo", "MemTotal:       131072 kB\nMemFree:  1 kB\n", NODES "online",
	      "0,2\n", NODE("0", "0-1,4\n", "65536"), NODE("2", "\n", "2097152"),
	      POOL("0", "2048") "nr_hugepages", "512\n", POOL("0", "2048") "free_hugepages", "12\n",
	      POOL("0", "1048576") "nr_hugepages", "3\n" },
	    "'gpu07, 46, amd, 6.14, 131072; unknown; 0: 0-1,4, 65536, 1024, 3/0 of 1048576, "
	    "512/12 of 2048; 2: , 2097152, 1024'"),
	/* field: host/29 */
	ROW("what switches the IOMMU",
	    { INTEL, "proc/cmdline",
	      "root=/dev/sda1 intel-iommu=off  intel_iommu=on,sm_on\tiommu=pt "
	      "my_iommu=off -- iommu=off\n" },
	    "'-, 0, intel, 0.0, 0; in a machine, unknown, "
	    "intel_iommu=off intel_iommu=on,sm_on iommu=pt'"),
	ROW("a table of another maker", { INTEL, IVRS },
	    "'-, 0, intel, 0.0, 0; in a machine, none'"),
	ROW("its table", { INTEL, IVRS, DMAR }, "'-, 0, intel, 0.0, 0; in a machine, there'"),
	ROW("AMD's",
	    { "proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: hypervisors\n", IVRS, DMAR },
	    "'-, 0, amd, 0.0, 0; there'"),
	ROW("arm64, whose table says nothing of an SMMU",
	    { "proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n",
	      "sys/firmware/acpi/tables/IORT", "" },
	    "'-, 0, arm, 0.0, 0; unknown'"),
	ROW("a host that tells nothing", { NULL }, "'-, 0, unknown, 0.0, 0; unknown'"),
	/* The second node has no directory. */
	ROW("nonsense is not believed",
	    { "proc/cpuinfo",
	      "vendor_id : GenuineIntelligence\naddress sizes : 900 bits physical\n",
	      "proc/sys/kernel/osrelease", "six.one\n", "proc/meminfo",
	      "MemTotal: 99999999999999999999999999999999 kB\n", NODES "online", "0-1\n",
	      NODE("0", "7-3\n", "-5") },
	    "'-, 0, unknown, 0.0, 0; unknown; 0: -, 0, 1024; 1: -, 0, 0'"),
	ROW("a line without end",
	    { "proc/cpuinfo", X1000 X1000 X1000 X1000 X1000 X1000 X1000 X1000 X1000 X1000,
	      NODES "online", "everything\n" },
	    "'-, 0, unknown, 0.0, 0; unknown'"),
};

TEST(a_host_is_read_as_it_is)
{
	look_rows(hosts, ELEMENTS(hosts), nothing, look);
}

TEST(lists_of_cpus_are_read_as_the_kernel_and_libvirt_write_them)
{
	static const struct {
		const char *text;
		int result;
		unsigned count;
	} rows[] = {
		{ "", 0, 0 },	       { "0", 0, 1 },	       { "0-3", 0, 4 },
		{ "0-3,8-11", 0, 8 },  { "0-7,^3", 0, 7 },     { "^3,0-7", 0, 8 },
		{ "8191", 0, 1 },      { "8192", -ERANGE, 0 }, { "99999999999", -ERANGE, 0 },
		{ "3-1", -EINVAL, 0 }, { "0-", -EINVAL, 0 },   { "-1", -EINVAL, 0 },
		{ "0 1", -EINVAL, 0 }, { "0x3", -EINVAL, 0 },  { "a", -EINVAL, 0 },
		{ ",", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		CpuSet set;
		int r = cpu_set_parse(rows[i].text, &set);

		if (r != rows[i].result || (r == 0 && cpu_set_count(&set) != rows[i].count))
			fail_msg("\"%s\" gives %d", rows[i].text, r);
	}
}

TEST(one_set_of_cpus_is_within_another)
{
	CpuSet some, all;

	assert_int_equal(cpu_set_parse("4,70-80", &some), 0);
	assert_int_equal(cpu_set_parse("0-79", &all), 0);
	assert_true(cpu_set_has(&all, 70));
	assert_false(cpu_set_has(&all, HOST_CPUS_MAX));
	assert_false(cpu_set_within(&some, &all));
	assert_int_equal(cpu_set_parse("0-80", &all), 0);
	assert_true(cpu_set_within(&some, &all));
}
