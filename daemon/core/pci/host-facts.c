/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/host-facts.h"

#include <ctype.h>

#include "util/text.h"

const HostNode *host_facts_node(const HostFacts *facts, int node)
{
	return facts ? FIND(facts->nodes, facts->n_nodes, node >= 0 && it->node == (unsigned)node)
		     : NULL;
}

bool host_facts_libvirt_has(const HostFacts *facts, uint64_t version)
{
	return !facts || facts->libvirt_version == 0 || facts->libvirt_version >= version;
}

bool host_facts_kernel_before(const HostFacts *facts, unsigned major, unsigned minor)
{
	return facts && facts->kernel_major > 0 &&
	       (facts->kernel_major < major ||
		(facts->kernel_major == major && facts->kernel_minor < minor));
}

char *libvirt_version_text(uint64_t version)
{
	return strf("%llu.%llu.%llu", (unsigned long long)(version / 1000000),
		    (unsigned long long)(version / 1000 % 1000),
		    (unsigned long long)(version % 1000));
}

#include "host-facts.inc"

static void set_cpu(CpuSet *set, unsigned cpu, bool value)
{
	uint64_t bit = UINT64_C(1) << (cpu % 64);

	if (value)
		set->bits[cpu / 64] |= bit;
	else
		set->bits[cpu / 64] &= ~bit;
}

static int read_number(const char **s, unsigned *ret)
{
	unsigned value = 0;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	for (; isdigit((unsigned char)**s); (*s)++) {
		value = value * 10 + (unsigned)(**s - '0');
		if (value >= HOST_CPUS_MAX)
			return -ERANGE;
	}
	*ret = value;
	return 0;
}

static int read_range(const char **s, CpuSet *set)
{
	unsigned first, last;
	bool value = **s != '^';
	int r;

	*s += !value;
	r = read_number(s, &first);
	if (r < 0)
		return r;
	last = first;
	if (value && **s == '-') {
		(*s)++;
		r = read_number(s, &last);
		if (r < 0)
			return r;
	}
	if (last < first)
		return -EINVAL;
	for (unsigned cpu = first; cpu <= last; cpu++)
		set_cpu(set, cpu, value);
	return 0;
}

int cpu_set_parse(const char *text, CpuSet *ret)
{
	CpuSet set = { 0 };
	const char *s = text;

	while (*s) {
		int r = read_range(&s, &set);

		if (r < 0)
			return r;
		if (*s && *s++ != ',')
			return -EINVAL;
	}
	*ret = set;
	return 0;
}

bool cpu_set_has(const CpuSet *set, unsigned cpu)
{
	return cpu < HOST_CPUS_MAX && (set->bits[cpu / 64] >> (cpu % 64) & 1);
}

unsigned cpu_set_count(const CpuSet *set)
{
	return COUNT(set->bits, ELEMENTS(set->bits), (unsigned)__builtin_popcountll(*it));
}

bool cpu_set_within(const CpuSet *part, const CpuSet *whole)
{
	for (size_t i = 0; i < ELEMENTS(part->bits); i++)
		if (part->bits[i] & ~whole->bits[i])
			return false;
	return true;
}
