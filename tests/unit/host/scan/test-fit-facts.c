/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "host/scan/fit-facts.h"
#include "rig/temp-dir.h"

#define KIB 1024ULL
#define GIB (1024ULL * 1024 * 1024)

/* One directory plays /sys and /proc. */
static HostFacts *read_facts(const TempDir *dir)
{
	HostFacts *facts = NULL;

	facts = fit_facts_read(dir->fd, dir->fd);
	assert_non_null(facts);
	return facts;
}

static void write_node(const TempDir *dir, const char *number, const char *cpus, const char *kib)
{
	_cleanup_free_ char *base = strf("devices/system/node/node%s", number);
	_cleanup_free_ char *list = strf("%s/cpulist", base), *info = strf("%s/meminfo", base);
	_cleanup_free_ char *text = strf("Node %s MemTotal:       %s kB\n"
					 "Node %s MemFree:        1024 kB\n",
					 number, kib, number);

	temp_dir_write(dir, list, cpus);
	temp_dir_write(dir, info, text);
}

WITH_DIR(a_host_is_read_as_it_is)
{
	const TempDir *dir = *state;
	_cleanup_(host_facts_freep) HostFacts *facts = NULL;
	const HostNode *node;

	temp_dir_write(dir, "sys/kernel/hostname", "gpu07\n");
	temp_dir_write(dir, "sys/kernel/osrelease", "6.14.0-24-generic\n");
	temp_dir_write(dir, "cpuinfo",
		       "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme\n"
		       "address sizes\t: 46 bits physical, 57 bits virtual\n\n");
	temp_dir_write(dir, "meminfo", "MemTotal:       131072 kB\nMemFree:  1 kB\n");
	temp_dir_write(dir, "devices/system/node/online", "0,2\n");
	write_node(dir, "0", "0-1,4\n", "65536");
	write_node(dir, "2", "\n", "2097152");
	temp_dir_write(dir, "devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
		       "512\n");
	temp_dir_write(dir, "devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages",
		       "12\n");
	temp_dir_write(dir, "devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages",
		       "3\n");
	facts = read_facts(dir);
	assert_string_equal(facts->name, "gpu07");
	assert_int_equal(facts->physical_bits, 46);
	assert_int_equal(facts->cpu_vendor, CPU_VENDOR_AMD);
	assert_int_equal(facts->kernel_major, 6);
	assert_int_equal(facts->kernel_minor, 14);
	assert_int_equal(facts->memory_bytes, 131072 * KIB);
	assert_int_equal(facts->n_nodes, 2);
	node = host_facts_node(facts, 0);
	assert_string_equal(node->cpus, "0-1,4");
	assert_int_equal(node->memory_bytes, 65536 * KIB);
	assert_int_equal(node->free_bytes, 1024 * KIB);
	assert_int_equal(node->n_pools, 2);
	assert_int_equal(node->pools[0].page_bytes, GIB);
	assert_int_equal(node->pools[0].total, 3);
	assert_int_equal(node->pools[0].free, 0);
	assert_int_equal(node->pools[1].page_bytes, 2048 * KIB);
	assert_int_equal(node->pools[1].total, 512);
	assert_int_equal(node->pools[1].free, 12);
	assert_string_equal(host_facts_node(facts, 2)->cpus, "");
	assert_null(host_facts_node(facts, 1));
	assert_null(host_facts_node(facts, -1));
}

/* field: host/29 */
WITH_DIR(what_switches_the_iommu_is_read)
{
	const TempDir *dir = *state;
	_cleanup_(host_facts_freep) HostFacts *facts = NULL;

	temp_dir_write(dir, "cpuinfo",
		       "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor vme\n");
	temp_dir_write(dir, "cmdline",
		       "root=/dev/sda1 intel-iommu=off  intel_iommu=on,sm_on\tiommu=pt "
		       "my_iommu=off -- iommu=off\n");
	facts = read_facts(dir);
	assert_true(facts->virtual_machine);
	assert_int_equal(facts->iommu_table, IOMMU_TABLE_UNKNOWN);
	assert_int_equal(strv_length(facts->iommu_words), 3);
	assert_string_equal(facts->iommu_words[0], "intel_iommu=off");
	assert_string_equal(facts->iommu_words[1], "intel_iommu=on,sm_on");
	assert_string_equal(facts->iommu_words[2], "iommu=pt");
	host_facts_free(facts);
	temp_dir_write(dir, "firmware/acpi/tables/IVRS", "");
	temp_dir_write(dir, "class/iommu/ivhd0/x", "");
	facts = read_facts(dir);
	assert_int_equal(facts->iommu_table, IOMMU_TABLE_NONE);
	host_facts_free(facts);
	temp_dir_write(dir, "firmware/acpi/tables/DMAR", "");
	facts = read_facts(dir);
	assert_int_equal(facts->iommu_table, IOMMU_TABLE_THERE);
	host_facts_free(facts);
	temp_dir_write(dir, "cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: hypervisors\n");
	facts = read_facts(dir);
	assert_int_equal(facts->iommu_table, IOMMU_TABLE_THERE);
	assert_false(facts->virtual_machine);
}

WITH_DIR(a_host_that_tells_nothing_is_not_known)
{
	_cleanup_(host_facts_freep) HostFacts *facts = read_facts(*state);

	assert_null(facts->name);
	assert_int_equal(facts->physical_bits, 0);
	assert_int_equal(facts->cpu_vendor, CPU_VENDOR_UNKNOWN);
	assert_int_equal(facts->kernel_major, 0);
	assert_int_equal(facts->memory_bytes, 0);
	assert_int_equal(facts->n_nodes, 0);
	assert_null(facts->iommu_words);
	assert_int_equal(facts->iommu_table, IOMMU_TABLE_UNKNOWN);
	assert_null(host_facts_node(NULL, 0));
}

WITH_DIR(nonsense_is_not_believed)
{
	const TempDir *dir = *state;
	_cleanup_(host_facts_freep) HostFacts *facts = NULL;
	_cleanup_free_ char *flags = malloc(20000);

	memset(flags, 'x', 19999);
	flags[19999] = '\0';
	temp_dir_write(dir, "cpuinfo",
		       "vendor_id : GenuineIntelligence\n"
		       "address sizes : 900 bits physical\n");
	temp_dir_write(dir, "sys/kernel/osrelease", "six.one\n");
	temp_dir_write(dir, "meminfo", "MemTotal: 99999999999999999999999999999999 kB\n");
	temp_dir_write(dir, "devices/system/node/online", "0-1\n");
	write_node(dir, "0", "7-3\n", "-5");
	facts = read_facts(dir);
	assert_int_equal(facts->physical_bits, 0);
	assert_int_equal(facts->cpu_vendor, CPU_VENDOR_UNKNOWN);
	assert_int_equal(facts->kernel_major, 0);
	assert_int_equal(facts->memory_bytes, 0);
	assert_int_equal(facts->n_nodes, 2); /* the second has no directory */
	assert_null(facts->nodes[0].cpus);
	assert_int_equal(facts->nodes[0].memory_bytes, 0);
	host_facts_free(facts);
	temp_dir_write(dir, "cpuinfo", flags);
	temp_dir_write(dir, "devices/system/node/online", "everything\n");
	facts = read_facts(dir);
	assert_int_equal(facts->physical_bits, 0);
	assert_int_equal(facts->n_nodes, 0);
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
