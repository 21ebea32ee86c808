/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of one domain's XML against its group. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/doctor-private.h"
#include "core/fit.h"
#include "core/xml-tree.h"

/* QEMU itself, the video memory and what else is locked with a guest's RAM: libvirt adds as much
 * (qemuDomainGetMemLockLimitBytes(), 1 GiB for VFIO). */
#define MEMLOCK_EXTRA_KIB (1024ULL * 1024)

static const DomainUse *use_of(const Doctor *d)
{
	return d->facts->uses ? domain_uses_find(d->facts->uses, d->facts->domain->uuid) : NULL;
}

void check_domain_group(const Doctor *d, Finding *f)
{
	const DoctorDomain *domain = d->facts->domain;

	if (!d->group) {
		finding_warn(f, domain->name, "%s has no group, and no GPU of one", domain->name);
		finding_remedy(f, "gpupass assign %s GROUP", domain->name);
	} else if (!str_equal(d->group->domain_uuid, domain->uuid)) {
		finding_fail(f, d->group->name, "%s is in %s's XML, but not assigned to it: %s",
			     d->group->name, domain->name,
			     str_or_empty(group_state_to_string(d->group->state)));
		finding_remedy(f, "gpupass status %s", d->group->name);
	} else {
		finding_pass(f, "%s, %s", d->group->name, group_state_to_string(d->group->state));
	}
}

/* The functions of the group that the domain lacks, in its definition or where it runs. */
static void check_side(const Doctor *d, const DomainUse *use, bool live, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++)
		for (size_t k = 0; k < d->gpus[i]->n_functions; k++) {
			const Bdf *bdf = &d->gpus[i]->functions[k]->bdf;
			const DomainHostdev *hostdev = domain_use_hostdev(use, bdf);

			if (hostdev && (live ? hostdev->live : hostdev->config))
				continue;
			finding_fail(f, BDF_TEXT(bdf), "%s is not in the %s of %s", BDF_TEXT(bdf),
				     live ? "running guest" : "definition", use->name);
		}
}

void check_domain_hostdevs(const Doctor *d, Finding *f)
{
	const DomainUse *use = use_of(d);

	if (!use) {
		finding_skip(f, "libvirt has no such domain any more");
		return;
	}
	if (use->persistent)
		check_side(d, use, false, f);
	if (use->active)
		check_side(d, use, true, f);
	if (f->status > FINDING_PASS)
		finding_remedy(f, "gpupass release %s, then: gpupass assign %s %s", use->name,
			       use->name, d->group->name);
	else
		finding_pass(f, "all functions of %s are there", d->group->name);
}

static DomainXml *parse(const Doctor *d, Finding *f)
{
	const DoctorDomain *domain = d->facts->domain;
	const char *text = domain->config_xml ? domain->config_xml : domain->live_xml;
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainXml *xml = NULL;
	int r = text ? domain_xml_parse(text, &xml, &problem) : -ENOENT;

	if (r == -ENOMEM)
		f->error = r;
	else if (r != 0)
		finding_skip(f, "its XML is not understood%s%s", problem ? ": " : "",
			     problem ? problem->reason : "");
	return xml;
}

void check_domain_machine(const Doctor *d, Finding *f)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = parse(d, f);

	if (!xml)
		return;
	if (domain_xml_is_pcie(xml)) {
		finding_pass(f, "PCI Express");
		return;
	}
	finding_warn(f, d->facts->domain->name,
		     "the machine type has no PCI Express: GPUs look like conventional PCI boards, "
		     "and the guest's driver may refuse large BARs or peer-to-peer");
	finding_remedy(f, "define the domain anew with machine='q35' and UEFI");
}

void check_domain_acpi(const Doctor *d, Finding *f)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = parse(d, f);

	if (!xml)
		return;
	if (domain_xml_has_acpi(xml)) {
		finding_pass(f, "the guest hears of it");
		return;
	}
	finding_warn(f, d->facts->domain->name,
		     "it has no ACPI: its guest hears of no hotplug, and assigns and releases only "
		     "while it is shut off");
	finding_remedy(f, "add <acpi/> to its <features>");
}

/* libvirt's unit suffixes of memory; KiB where none is given. 0: not understood. */
static unsigned long long to_kib(unsigned long long value, const char *unit)
{
	static const struct {
		const char *names[4];
		unsigned long long kib;
	} units[] = {
		{ { "k", "KiB" }, 1 },
		{ { "M", "MiB" }, 1024ULL },
		{ { "G", "GiB" }, 1024ULL * 1024 },
		{ { "T", "TiB" }, 1024ULL * 1024 * 1024 },
	};

	if (!unit)
		return value;
	for (size_t i = 0; i < ELEMENTS(units); i++)
		for (size_t k = 0; k < ELEMENTS(units[i].names) && units[i].names[k]; k++)
			if (strcmp(unit, units[i].names[k]) == 0)
				return value > (1ULL << 53) / units[i].kib ? 0
									   : value * units[i].kib;
	if (strcmp(unit, "b") == 0 || strcmp(unit, "bytes") == 0)
		return value / 1024;
	return 0;
}

/* The content of <memory unit='KiB'>4194304</memory> in KiB; 0: absent or not understood. */
static unsigned long long content_kib(const xmlNode *node)
{
	_cleanup_xml_char_ xmlChar *content = node ? xmlNodeGetContent(node) : NULL;
	unsigned long long value;

	if (!content || str_to_unsigned(str_strip((char *)content), 10, 1ULL << 53, &value) < 0)
		return 0;
	return to_kib(value, xml_attribute(node, "unit"));
}

static unsigned long long page_kib(const xmlNode *hugepages)
{
	const xmlNode *page = xml_child(hugepages, "page");
	const char *size = page ? xml_attribute(page, "size") : NULL;
	unsigned long long value;

	if (!size || str_to_unsigned(size, 10, 1ULL << 40, &value) < 0)
		return 0;
	return to_kib(value, xml_attribute(page, "unit"));
}

/* Free pages of a size on this host, in KiB; of the one size that has any when size is 0. */
static unsigned long long pool_free_kib(const Examination *host, unsigned long long size)
{
	unsigned long long found = 0;

	for (char **line = host->hugepages; line && *line; line++) {
		unsigned long long kib, total, spare;

		if (sscanf(*line, "%19llu %19llu %19llu", &kib, &total, &spare) != 3 || kib == 0 ||
		    spare > (1ULL << 53) / kib)
			continue;
		if (kib == size || (size == 0 && total > 0))
			found = found < kib * spare ? kib * spare : found;
	}
	return found;
}

void check_domain_hugepages(const Doctor *d, Finding *f)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = parse(d, f);
	const DoctorDomain *domain = d->facts->domain;
	unsigned long long memory, spare;
	const xmlNode *hugepages;

	if (!xml)
		return;
	memory = content_kib(xml_child(xml->root, "memory"));
	hugepages = xml_child(xml_child(xml->root, "memoryBacking"), "hugepages");
	if (!hugepages) {
		finding_pass(f,
			     "it asks for none. vfio locks all of its memory, which without them "
			     "takes the longer the more it has");
		return;
	}
	if (domain->active) {
		finding_pass(f, "it runs, and has them");
		return;
	}
	spare = pool_free_kib(d->facts->host, page_kib(hugepages));
	if (memory > 0 && spare < memory) {
		finding_fail(f, domain->name,
			     "it needs %llu MiB of huge pages, and %llu MiB are free: it does not "
			     "start",
			     memory / 1024, spare / 1024);
		finding_remedy(f,
			       "raise vm.nr_hugepages (or hugepages= on the kernel command line)");
	} else {
		finding_pass(f, "%llu MiB are free", spare / 1024);
	}
}

/* libvirt takes <hard_limit> for the limit of locked memory, whatever vfio needs. */
void check_domain_memlock(const Doctor *d, Finding *f)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = parse(d, f);
	unsigned long long memory, limit;

	if (!xml)
		return;
	memory = content_kib(xml_child(xml->root, "memory"));
	limit = content_kib(xml_child(xml_child(xml->root, "memtune"), "hard_limit"));
	if (limit == 0 || memory == 0 || limit >= memory + MEMLOCK_EXTRA_KIB) {
		finding_pass(f, "none that is too low");
		return;
	}
	finding_warn(
		f, d->facts->domain->name,
		"<hard_limit> is %llu MiB, and its memory %llu MiB: vfio cannot lock all of it "
		"beside what QEMU needs",
		limit / 1024, memory / 1024);
	finding_remedy(f, "take <hard_limit> out (virsh edit %s), or make it %llu MiB",
		       d->facts->domain->name, (memory + MEMLOCK_EXTRA_KIB) / 1024);
}

static void tell_open(const Doctor *d, const FitTune *tune, Finding *f)
{
	const char *domain = d->facts->domain->name, *group = d->group->name;
	bool fit = tune->passthrough || tune->mmio_mb > 0, numa = tune->nodeset || tune->cpuset;

	if (fit)
		finding_warn(f, domain,
			     "%s was assigned with --fit=apply, and the definition does not have "
			     "what makes room for its BARs",
			     group);
	if (tune->nodeset)
		finding_warn(f, domain,
			     "%s was assigned with --numa=apply, and memory may come from "
			     "elsewhere than NUMA node %s",
			     group, tune->nodeset);
	if (tune->cpuset)
		finding_warn(f, domain,
			     "%s was assigned with --numa=apply, and vCPUs may run elsewhere than "
			     "on CPUs %s",
			     group, tune->cpuset);
	if (fit || numa)
		finding_remedy(f, "if that was not meant: gpupass assign %s %s%s%s", domain, group,
			       fit ? " --fit=apply" : "", numa ? " --numa=apply" : "");
	else
		finding_pass(f, "it is there, or something else in its place");
}

/*
 * Who edits the definition may take it out, which is no drift. That it is not there is worth a word
 * where somebody asks.
 */
void check_domain_applied(const Doctor *d, Finding *f)
{
	const Assignment *record =
		assignments_find_domain(d->facts->assignments, d->facts->domain->uuid);
	_cleanup_free_ const PciFunction **functions = NULL;
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_(fit_tune_clear) FitTune tune = { 0 };
	FitFacts facts = { .host = d->facts->machine, .within = true };

	if (!record || (!record->apply_fit && !record->apply_numa)) {
		finding_pass(f, "not asked for");
		return;
	}
	if (!d->facts->domain->config_xml) {
		finding_skip(f, "it has no definition");
		return;
	}
	xml = parse(d, f);
	if (!xml)
		return;
	f->error = group_functions(d->group, &functions, &facts.n_functions);
	facts.xml = xml;
	facts.functions = functions;
	if (f->error == 0)
		f->error = fit_tune(&facts, record->apply_numa, record->apply_fit, &tune);
	if (f->error == 0)
		tell_open(d, &tune, f);
}
