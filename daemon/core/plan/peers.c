/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peer access over PCIe, as part of the plan that gives a group to a domain. A guest's driver takes
 * it for granted once it is allowed, so whatever is not known to work is refused.
 */
#include "core/domain/ref.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

/*
 * <qemu:override> came with libvirt 8.2 (docs/drvqemu.rst there). QEMU from 8.1 on puts the
 * capability where boards from Turing on have room (vfio_add_nv_gpudirect_cap() in
 * hw/vfio/pci-quirks.c).
 */
#define LIBVIRT_OVERRIDE LIBVIRT_VERSION(8, 2)
#define QEMU_LATER_PLACE LIBVIRT_VERSION(8, 1)

/* What an assignment has is not taken from it by another one. */
#define WITHOUT "assign without --peer-access; if it is assigned with it, gpupass release first"

static int refuse(const Planner *p, char *cause, char *remedy)
{
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			      .reason = strf("%s cannot have peer access over PCIe", p->use.name),
			      .cause = cause, .remedy = remedy ? remedy : xstrdup(WITHOUT));
}

int plan_check_hot_peers(const Planner *p)
{
	if (p->peer_access == PEER_ACCESS_OFF || !p->live ||
	    plan_count_hostdevs(p, true) == p->n_functions)
		return 0;
	return refuse(p, xstrdup("no device that is hotplugged can have it"),
		      xstrdup("shut it down, or assign to its definition: --config"));
}

char *plan_old_version(const char *what, uint64_t is, const char *who, uint64_t least)
{
	_cleanup_free_ char *has = libvirt_version_text(is);
	_cleanup_free_ char *needs = libvirt_version_text(least);

	if (is >= least)
		return NULL;
	return is == 0 ? strf("the version of %s is not known, and %s %s", what, who, needs)
		       : strf("%s is %s, and %s %s", what, has, who, needs);
}

static int check_versions(const Planner *p, const DomainXml *xml)
{
	static const HostFacts nothing;
	const HostFacts *host = p->facts->host ? p->facts->host : &nothing;
	const Group *group = p->facts->group;
	bool later = SOME_OF(group->gpus, group->n_gpus, !board_before_turing(it->lead->device));
	char *old =
		plan_old_version("libvirt", host->libvirt_version, "that needs", LIBVIRT_OVERRIDE);

	/* libvirt tells the version of the one that it takes itself. */
	if (!old && later && domain_xml_has_own_emulator(xml))
		old = xstrdup("the version of its own <emulator> is not known");
	else if (!old && later)
		old = plan_old_version("QEMU", host->hypervisor_version,
				       "boards from Turing on need", QEMU_LATER_PLACE);
	return old ? refuse(p, old, xstrdup("upgrade it, or " WITHOUT)) : 0;
}

/* NVIDIA/nccl issue 2335: between two RTX 3090 writes never arrived, and no error was told. */
static int check_boards(const Planner *p)
{
	const Group *group = p->facts->group;
	const Gpu *gpu;

	if (group->n_gpus < 2)
		return refuse(p, strf("%s is one board, which has no peer", group->name), NULL);
	gpu = FIND_OF(group->gpus, group->n_gpus, !board_is_professional(it->board));
	if (!gpu || p->peer_access == PEER_ACCESS_UNSAFE)
		return 0;
	return refuse(
		p,
		strf("%s is a GeForce board, or not known: between such boards data was "
		     "reported to be lost without an error",
		     BDF_TEXT(&gpu->lead->bdf)),
		xstrdup("assign without it; or with --peer-access=unsafe, and trust no result "
			"before gpupass verify --workload says that it is proved"));
}

/* Nobody asked for it, so somebody else wrote it, and it is not ours to take away. */
static int check_none(const Planner *p)
{
	EACH_OF (const PciFunction, f, p->functions, p->n_functions) {
		const DomainHostdev *hostdev = domain_use_hostdev(&p->use, &f->bdf);

		if (hostdev && hostdev->config && hostdev->clique)
			return refuse(p,
				      strf("it gives %s what no assignment has, and the new "
					   "definition would lack it",
					   BDF_TEXT(&f->bdf)),
				      xstrdup("take that <qemu:override> out (virsh edit), or "
					      "assign with --peer-access"));
	}
	return 0;
}

int plan_check_peers(Planner *p, const DomainXml *xml)
{
	const char *hides = domain_xml_hides_hypervisor(xml);
	int r;

	if (p->peer_access == PEER_ACCESS_OFF)
		return check_none(p);
	r = check_boards(p);
	if (r == 0)
		r = check_versions(p, xml);
	if (r == 0 && hides)
		r = refuse(p, strf("%s, so NVIDIA's driver there would not grant it", hides), NULL);
	/* iommufd maps no board's memory for another one but by a dma-buf: Linux 6.19, and QEMU. */
	if (r == 0 && domain_xml_has_iommufd(xml))
		r = refuse(p,
			   xstrdup("whether this QEMU maps the boards' memory by iommufd is not "
				   "known"),
			   xstrdup("take <iommufd enabled='yes'/> out of it, or " WITHOUT));
	if (r != 0)
		return r;
	plan_warn(p->plan,
		  "peer access is written past libvirt, so %s counts as tainted; only gpupass "
		  "verify %s --workload proves that it works",
		  p->use.name, domain_ref_word(p->use.name, p->use.uuid));
	if (p->facts->domain->active)
		plan_warn(p->plan, "running %s gets peer access at its next start", p->use.name);
	return 0;
}
