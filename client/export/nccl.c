/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NCCL's file of a guest's topology, by the rules of its reader: src/graph/xml.cc of NVIDIA/nccl.
 * One blank between attributes, no tabs, no declaration of XML. What is left out NCCL finds in the
 * guest, such as the links between GPUs, and speeds that the host does not know.
 */
#include "base/text.h"
#include "export/export.h"

/*
 * NUMA nodes that no guest has: NCCL takes the processors of a node of this number in the guest,
 * and finds none. The host's numbers may be those of others there.
 */
#define NODES_FROM 100

static size_t shared_switches(const ExportMember *a, const ExportMember *b)
{
	size_t n = 0;

	while (n < a->n_switches && n < b->n_switches &&
	       bdf_equal(&a->switches[n].host, &b->switches[n].host))
		n++;
	return n;
}

static int compare_members(const void *one, const void *other)
{
	const ExportMember *a = one, *b = other;
	size_t n = shared_switches(a, b);

	if (a->numa_node != b->numa_node)
		return a->numa_node < b->numa_node ? -1 : 1;
	if (n < a->n_switches && n < b->n_switches)
		return bdf_compare(&a->switches[n].host, &b->switches[n].host);
	if (a->n_switches != b->n_switches)
		return a->n_switches < b->n_switches ? -1 : 1;
	return bdf_compare(&a->guest, &b->guest);
}

void export_sort_members(ExportGuest *guest)
{
	if (guest->n_members > 1)
		qsort(guest->members, guest->n_members, sizeof(ExportMember), compare_members);
}

/*
 * `end`: behind the attributes. A speed is written "16.0 GT/s PCIe": without ".0" NCCL knows some
 * only (kvDictPciGen in src/graph/topo.cc).
 */
static void print_pci(FILE *to, size_t depth, const char *address, unsigned long long class_code,
		      const PcieLink *link, const char *end)
{
	const char *speed = pcie_speed_name(link->speed);
	int digits = speed ? (int)strcspn(speed, " ") : 0;

	fprintf(to, "%*s<pci busid=\"%s\" class=\"0x%06llx\"", (int)(4 + 2 * depth), "", address,
		class_code);
	if (speed)
		fprintf(to, " link_speed=\"%.*s%s GT/s PCIe\"", digits, speed,
			strchr(speed, '.') ? "" : ".0");
	if (link->width > 0)
		fprintf(to, " link_width=\"%u\"", link->width);
	fprintf(to, "%s\n", end);
}

/* "ffff:ff:01.0": no guest has one of that address. */
static void print_switch(FILE *to, size_t depth, const ExportSwitch *one, unsigned number)
{
	_cleanup_free_ char *address = strf("ffff:ff:%02x.%x", 1 + number / 8, number % 8);

	print_pci(to, depth, address, 0x060400, &one->link, ">");
}

static void close_switches(FILE *to, size_t from, size_t down_to)
{
	while (from-- > down_to)
		fprintf(to, "%*s</pci>\n", (int)(4 + 2 * from), "");
}

void export_nccl(FILE *to, const Export *e)
{
	const ExportGuest *guest = &e->guest;
	const ExportMember *before = NULL;
	unsigned number = 0;

	fputs("<!-- From gpupass export, for NCCL_TOPO_FILE in a guest: the switches and NUMA nodes of\n"
	      "the host, under numbers that no guest has, and the addresses of GPUs and NICs in the\n"
	      "guest, as its firmware numbers buses. For NCCL before 2.27.3 add a <pci> below a <cpu>\n"
	      "for each PCI NIC that the guest has besides. Export it again after each assign. -->\n"
	      "<system version=\"1\">\n",
	      to);
	EACH (const ExportMember, member, guest->members, guest->n_members) {
		size_t shared = 0;

		if (before && before->numa_node == member->numa_node)
			shared = shared_switches(before, member);
		if (before)
			close_switches(to, before->n_switches, shared);
		if (!before || before->numa_node != member->numa_node)
			fprintf(to, "%s  <cpu numaid=\"%d\">\n", before ? "  </cpu>\n" : "",
				member->numa_node < 0 ? -1 : NODES_FROM + member->numa_node);
		for (size_t i = shared; i < member->n_switches; i++)
			print_switch(to, i, &member->switches[i], number++);
		print_pci(to, member->n_switches, BDF_TEXT(&member->guest), member->class_code,
			  &member->link, "/>");
		before = member;
	}
	if (before)
		close_switches(to, before->n_switches, 0);
	fputs("  </cpu>\n</system>\n", to);
}
