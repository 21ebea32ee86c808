/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fit/checks.h"

#include "util/text.h"
#include "util/xalloc.h"

#define GIB (UINT64_C(1) << 30)
/* What libvirt adds to the guest's RAM for its lock limit (qemuDomainGetMemLockLimitBytes). */
#define MEMLOCK_EXTRA GIB
/* A rule of thumb, not a measurement: ordinary pages are zeroed and pinned one by one. */
#define PINNING_GIB_A_SECOND 4
#define PINNING_LONG_SECONDS 20

static bool of_numa(FitId id)
{
	return id == FIT_NUMA_MEMORY || id == FIT_NUMA_CPUS || id == FIT_NUMA_SPREAD;
}

const FitFinding *fit_refusal(const FitReport *report, FitMode numa, FitMode fit)
{
	return FIND(report->items, report->n_items,
		    it->severity >= FIT_WARNING && (of_numa(it->id) ? numa : fit) == FIT_STRICT);
}

/* ---- memory ---- */

static void fit_check_memory(Fit *f)
{
	const FitDomain *d = &f->domain;
	uint64_t host = f->facts->host ? f->facts->host->memory_bytes : 0;
	_cleanup_free_ char *guest = fit_size_text(d->memory_bytes), *has = fit_size_text(host);

	if (host == 0)
		f->report->not_known[FIT_MEMORY] = FIT_NO_HOST ": its memory";
	if (host == 0 || d->memory_bytes <= host)
		return;
	fit_add(f->report, FIT_MEMORY, FIT_ERROR,
		strf("%s has %s of memory, all of which is pinned, and this host has %s", d->name,
		     guest, has),
		"give it less memory");
}

static size_t count_hostdevs(const Fit *f)
{
	return f->domain.n_hostdevs + (f->facts->within ? 0 : f->facts->n_functions);
}

/*
 * How much memory libvirt 9 lets QEMU lock (qemuDomainGetMemLockLimitBytes). If there is a
 * <hard_limit>, that is the limit, whatever vfio needs. Otherwise the limit is the guest's RAM plus
 * 1 GiB; with a vIOMMU the RAM counts once for each vfio device, because each has its own address
 * space.
 */
static void fit_check_memlock(Fit *f)
{
	const FitDomain *d = &f->domain;
	uint64_t times = d->viommu ? count_hostdevs(f) : 1, allowed;
	_cleanup_free_ char *limit = NULL, *ram = NULL, *wanted = NULL, *remedy = NULL;

	if (d->hard_limit_bytes == 0 ||
	    d->memory_bytes > (UINT64_MAX - MEMLOCK_EXTRA) / (times + 1))
		return;
	allowed = d->memory_bytes * (times > 0 ? times : 1) + MEMLOCK_EXTRA;
	if (d->hard_limit_bytes >= allowed)
		return;
	limit = fit_size_text(d->hard_limit_bytes);
	ram = fit_size_text(d->memory_bytes);
	wanted = fit_size_text(allowed);
	remedy = strf("take the <hard_limit> out of its <memtune>, or make it %s", wanted);
	if (d->hard_limit_bytes <= d->memory_bytes)
		fit_add(f->report, FIT_MEMLOCK, FIT_ERROR,
			strf("the hard_limit of %s is %s, and vfio locks all of its memory, "
			     "%s: it will not start",
			     d->name, limit, ram),
			remedy);
	else
		fit_add(f->report, FIT_MEMLOCK, FIT_WARNING,
			strf("the hard_limit of %s is %s, where libvirt would let a guest with these "
			     "devices lock %s: it may not start",
			     d->name, limit, wanted),
			remedy);
}

static uint64_t free_pages(const HostFacts *host, uint64_t page_bytes, bool *ret_known)
{
	uint64_t free = 0;

	*ret_known = false;
	for (size_t i = 0; host && i < host->n_nodes; i++)
		for (size_t k = 0; k < host->nodes[i].n_pools; k++)
			if (host->nodes[i].pools[k].page_bytes == page_bytes) {
				free += host->nodes[i].pools[k].free;
				*ret_known = true;
			}
	return free;
}

static void fit_check_huge_pages(Fit *f)
{
	const FitDomain *d = &f->domain;
	uint64_t page = d->page_bytes > 0 ? d->page_bytes : UINT64_C(2) << 20, free, need;
	_cleanup_free_ char *size = fit_size_text(page);
	bool known;

	free = free_pages(f->facts->host, page, &known);
	need = d->memory_bytes / page + (d->memory_bytes % page > 0);
	if (!known)
		f->report->not_known[FIT_HUGEPAGES] =
			FIT_NO_HOST ": how many huge pages of this size are free";
	if (!known || free >= need)
		return;
	fit_add(f->report, FIT_HUGEPAGES, FIT_ERROR,
		strf("%s needs %llu huge pages of %s, and %llu are free", d->name,
		     (unsigned long long)need, size, (unsigned long long)free),
		"reserve more (vm.nr_hugepages, or hugepages= at boot)");
}

static void fit_check_pinning(Fit *f)
{
	const FitDomain *d = &f->domain;
	uint64_t seconds = d->memory_bytes / GIB / PINNING_GIB_A_SECOND;

	if (f->facts->running || f->facts->started)
		return; /* the guest has its pages already */
	if (d->hugepages)
		fit_check_huge_pages(f);
	else if (seconds >= PINNING_LONG_SECONDS)
		fit_add(f->report, FIT_PINNING, FIT_INFO,
			strf("%s will take some %llu s longer to start: all of its memory is pinned "
			     "(an estimate, at %d GiB/s)",
			     d->name, (unsigned long long)seconds, PINNING_GIB_A_SECOND),
			"back it by huge pages: <memoryBacking><hugepages/>");
}

/* ---- devices ---- */

static void fit_check_machine(Fit *f)
{
	const FitDomain *d = &f->domain;

	if (!d->pcie)
		fit_add(f->report, FIT_MACHINE_TYPE, FIT_WARNING,
			strf("%s has machine type i440fx, which puts GPUs on conventional "
			     "PCI",
			     d->name),
			"use machine type q35");
	else if (!f->facts->running && domain_xml_free_root_ports(f->facts->xml) == 0)
		fit_add(f->report, FIT_ROOT_PORTS, FIT_INFO,
			strf("%s has no free pcie-root-port: nothing more can be plugged in "
			     "while it runs",
			     d->name),
			"add a pcie-root-port for each device to be plugged in");
}

static void fit_check_devices(Fit *f)
{
	const FitDomain *d = &f->domain;

	if (d->viommu)
		fit_add(f->report, FIT_VIOMMU, FIT_INFO,
			strf("%s has a vIOMMU: its memory is locked once for each of %zu "
			     "functions",
			     d->name, count_hostdevs(f)),
			NULL);
	if (d->clique)
		fit_add(f->report, FIT_CLIQUE, FIT_WARNING,
			strf("%s sets x-nv-gpudirect-clique, which NVLink does not need; on "
			     "boards without working PCIe peer-to-peer it corrupts data",
			     d->name),
			"take it out, unless peer-to-peer over PCIe was tested");
}

/*
 * A device reads the rest encrypted: a T4 in a guest with SEV computes with wrong data
 * (AMDESE/AMDSEV#80). Boards can have confidential computing from Hopper on.
 */
static void fit_check_security(Fit *f)
{
	const FitDomain *d = &f->domain;

	if (d->security)
		fit_add(f->report, FIT_LAUNCH_SECURITY, FIT_WARNING,
			strf("%s has launchSecurity (%s): a board without confidential computing "
			     "cannot reach its memory",
			     d->name, d->security),
			"take <launchSecurity> out, or use boards that have it (H100 and later) "
			"and turn it on: nvidia_gpu_tools.py --set-cc-mode=on "
			"--reset-after-cc-mode-switch; there is no NVLink then");
}

/* ---- entry points ---- */

FitReport *fit_check(const FitFacts *facts)
{
	static void (*const checks[])(Fit *) = {
		fit_check_window,  fit_check_machine, fit_check_memory, fit_check_memlock,
		fit_check_pinning, fit_check_devices, fit_check_numa,	fit_check_security,
	};
	Fit f = {
		.facts = facts,
		.domain = fit_domain_read(facts->xml),
		.report = xcalloc(1, sizeof(FitReport)),
	};

	for (size_t i = 0; i < ELEMENTS(checks); i++)
		checks[i](&f);
	fit_domain_clear(&f.domain);
	return f.report;
}

FitTune fit_tune(const FitFacts *facts, bool numa, bool fit)
{
	FitTune tune = { 0 };
	FitDomain domain = fit_domain_read(facts->xml);

	if (fit)
		fit_tune_window(facts, &domain, &tune);
	if (numa)
		fit_tune_numa(facts, &domain, &tune);
	fit_domain_clear(&domain);
	return tune;
}
