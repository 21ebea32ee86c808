/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/fit-facts.h"

#include <fcntl.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/text.h"

#define NODES "devices/system/node"
#define ACPI_TABLES "firmware/acpi/tables"
#define CMDLINE_MAX 65536
/* The first CPU is enough; on a large host the file has megabytes. A CPU's flags fill a page. */
#define CPUINFO_READ 8192
#define MEMINFO_MAX 65536
#define NODE_MAX 1023 /* MAX_NUMNODES of the largest kernels is 1024 */
#define BITS_MIN 32
#define BITS_MAX 64

/* The number after "NAME:" in lines of "NAME: 123 kB"; 0 when there is none. */
static uint64_t number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	unsigned long long value;
	char digits[24] = "";

	if (!at)
		return 0;
	at += strlen(name);
	at += strspn(at, " \t:");
	if (strspn(at, "0123456789") >= sizeof(digits))
		return 0;
	memcpy(digits, at, strspn(at, "0123456789"));
	return str_to_unsigned(digits, 10, UINT64_MAX / 1024, &value) < 0 ? 0 : value;
}

/* An absent or unreadable file counts as an empty text. */
static char *read_text(int dir_fd, const char *path, size_t max)
{
	char *text = NULL;

	return file_read_at(dir_fd, path, max, &text, NULL) >= 0 ? text : xstrdup("");
}

/* "vendor_id\t: GenuineIntel"; "CPU implementer\t: 0x41" on arm64 */
static CpuVendor vendor_in(const char *text)
{
	const char *at = strstr(text, "vendor_id");

	if (!at)
		return strstr(text, "CPU implementer") ? CPU_VENDOR_ARM : CPU_VENDOR_UNKNOWN;
	at += strlen("vendor_id");
	at += strspn(at, " \t:");
	return str_starts_with(at, "GenuineIntel\n")   ? CPU_VENDOR_INTEL
	       : str_starts_with(at, "AuthenticAMD\n") ? CPU_VENDOR_AMD
						       : CPU_VENDOR_UNKNOWN;
}

/* In the line behind the newline that the text begins with: "\nflags\t\t: fpu vme …". */
static bool has_word(const char *text, const char *word)
{
	size_t line = 1 + strcspn(text + 1, "\n"), n = strlen(word);

	for (const char *at = strstr(text, word); at && at < text + line; at = strstr(at + 1, word))
		if (at[-1] == ' ' && (at[n] == ' ' || at[n] == '\n'))
			return true;
	return false;
}

/* "address sizes\t: 46 bits physical, 48 bits virtual", on x86. */
static void read_processor(int proc_fd, HostFacts *facts)
{
	_cleanup_close_ int fd = openat(proc_fd, "cpuinfo", O_RDONLY | O_CLOEXEC);
	char text[CPUINFO_READ + 1];
	const char *flags;
	size_t size = 0;
	uint64_t bits;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && size < CPUINFO_READ) {
		n = read(fd, text + size, CPUINFO_READ - size);
		size += n > 0 ? (size_t)n : 0;
	}
	text[size] = '\0';
	flags = strstr(text, "\nflags");
	bits = number_after(text, "address sizes");
	if (bits >= BITS_MIN && bits <= BITS_MAX)
		facts->physical_bits = (unsigned)bits;
	facts->cpu_vendor = vendor_in(text);
	facts->virtual_machine = flags && has_word(flags, "hypervisor");
}

static int is_unit(const char *name, void *userdata)
{
	const CpuVendor *vendor = userdata;

	return str_starts_with(name, *vendor == CPU_VENDOR_INTEL ? "dmar" : "ivhd");
}

/*
 * The firmware leaves the table out when the IOMMU is switched off in it. Its name can be seen by
 * everybody, its content only by root. A unit of the IOMMU proves the table, too. ARM's, IORT, is
 * there without an IOMMU as well.
 */
static void read_iommu_table(int sysfs_fd, HostFacts *facts)
{
	const char *table =
		facts->cpu_vendor == CPU_VENDOR_INTEL ? ACPI_TABLES "/DMAR" : ACPI_TABLES "/IVRS";

	if (facts->cpu_vendor != CPU_VENDOR_INTEL && facts->cpu_vendor != CPU_VENDOR_AMD)
		return;
	if (faccessat(sysfs_fd, table, F_OK, 0) == 0 ||
	    sysfs_each_name(sysfs_fd, "class/iommu", false, is_unit, &facts->cpu_vendor) > 0)
		facts->iommu_table = IOMMU_TABLE_THERE;
	else if (faccessat(sysfs_fd, ACPI_TABLES, F_OK, 0) == 0)
		facts->iommu_table = IOMMU_TABLE_NONE;
}

/* In their order, since the kernel takes one after the other. What is behind "--" is for init. */
static void read_iommu_words(int proc_fd, HostFacts *facts)
{
	static const char *const begins[] = { "intel_iommu=", "amd_iommu=", "iommu=" };
	_cleanup_strv_ char **words = NULL;
	_cleanup_free_ char *text = read_text(proc_fd, "cmdline", CMDLINE_MAX);

	strv_split(text, " \t\n", &words);
	for (char **word = words; word && *word && !str_equal(*word, "--"); word++) {
		/* In names dashes count as underscores (kernel/params.c, dash2underscore()). */
		for (char *c = *word; *c && *c != '='; c++)
			*c = *c == '-' ? '_' : *c;
		for (size_t i = 0; i < ELEMENTS(begins); i++)
			if (str_starts_with(*word, begins[i]))
				strv_append(&facts->iommu_words, *word);
	}
}

/* "6.1.0-56-amd64" */
static void read_kernel(int proc_fd, HostFacts *facts)
{
	_cleanup_free_ char *release = NULL;
	unsigned major, minor;

	if (file_read_line_at(proc_fd, "sys/kernel/osrelease", &release) >= 0 &&
	    sscanf(release, "%3u.%4u.", &major, &minor) == 2) {
		facts->kernel_major = major;
		facts->kernel_minor = minor;
	}
}

static void read_memory(int proc_fd, HostFacts *facts)
{
	_cleanup_free_ char *text = read_text(proc_fd, "meminfo", MEMINFO_MAX);

	facts->memory_bytes = number_after(text, "MemTotal") * 1024;
}

static uint64_t read_number(int dir_fd, const char *directory, const char *name)
{
	_cleanup_free_ char *path = strf("%s/%s", directory, name);
	_cleanup_free_ char *line = NULL;
	unsigned long long value;

	if (file_read_line_at(dir_fd, path, &line) < 0 ||
	    str_to_unsigned(line, 10, UINT64_MAX, &value) < 0)
		return 0;
	return value;
}

/* "hugepages-1048576kB" */
static void add_pool(int fd, const char *name, HostNode *node)
{
	uint64_t kib = number_after(name, "hugepages-");

	if (kib == 0)
		return;
	*GROW(node->pools, node->n_pools) = (HugePool){
		.page_bytes = kib * 1024,
		.total = read_number(fd, name, "nr_hugepages"),
		.free = read_number(fd, name, "free_hugepages"),
	};
}

static void read_pools(int node_fd, HostNode *node)
{
	_cleanup_close_ int fd = openat(node_fd, "hugepages", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_strv_ char **names = NULL;

	if (fd >= 0)
		(void)dir_list(fd, "kB", &names);
	for (char **name = names; name && *name; name++)
		add_pool(fd, *name, node);
}

static void read_node(int nodes_fd, unsigned number, HostNode *node)
{
	_cleanup_free_ char *name = strf("node%u", number), *meminfo = NULL;
	_cleanup_close_ int fd = openat(nodes_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CpuSet cpus;

	node->node = number;
	if (fd < 0)
		return;
	if (file_read_line_at(fd, "cpulist", &node->cpus) >= 0 &&
	    cpu_set_parse(node->cpus, &cpus) < 0) {
		free(node->cpus);
		node->cpus = NULL;
	}
	meminfo = read_text(fd, "meminfo", MEMINFO_MAX);
	node->memory_bytes = number_after(meminfo, "MemTotal") * 1024;
	node->free_bytes = number_after(meminfo, "MemFree") * 1024;
	read_pools(fd, node);
}

/* The nodes that are online; their directories have no certain order. */
static void read_nodes(int sysfs_fd, HostFacts *facts)
{
	_cleanup_close_ int fd = openat(sysfs_fd, NODES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *online = NULL;
	CpuSet nodes;

	if (fd < 0 || file_read_line_at(fd, "online", &online) < 0 ||
	    cpu_set_parse(online, &nodes) < 0)
		return;
	facts->nodes = xcalloc(cpu_set_count(&nodes) + 1, sizeof(HostNode));
	for (unsigned number = 0; number <= NODE_MAX; number++)
		if (cpu_set_has(&nodes, number))
			read_node(fd, number, &facts->nodes[facts->n_nodes++]);
}

HostFacts *fit_facts_read(int sysfs_fd, int proc_fd)
{
	HostFacts *facts = xcalloc(1, sizeof(HostFacts));

	(void)file_read_line_at(proc_fd, "sys/kernel/hostname", &facts->name);
	read_processor(proc_fd, facts);
	read_iommu_table(sysfs_fd, facts);
	read_iommu_words(proc_fd, facts);
	read_kernel(proc_fd, facts);
	read_memory(proc_fd, facts);
	read_nodes(sysfs_fd, facts);
	return facts;
}
