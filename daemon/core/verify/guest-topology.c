/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/guest-topology.h"

#include "util/grow.h"
#include "util/text.h"

/* Pairs that a sentence names. */
#define NAMED_MAX 4
#define BASE_CLASS_DISPLAY 0x03

/* A member in the guest's sysfs and in its file; NULL: not there, or not known which it is. */
typedef struct Place {
	const SightFunction *seen, *filed;
} Place;

typedef struct Judge {
	const TopologyInput *in;
	Sight sight;
	NcclFile file;
	Place *places _owned_(free); /* of each member */
	/* The first that the guest does not show, that is farther or nearer, or slower. NULL: none */
	char *lost, *other, *slow;
	char *untrue; /* what the file says otherwise than the host is; or NULL */
	/* Of pairs of a GPU and a NIC: those with GPUDirect RDMA, and without, unlike on the host. */
	char **near, **apart;
	size_t n_rdma, n_unclear; /* all of them; those of which NCCL's own view is not known */
	char **peers;		  /* two GPUs without NVLink that it takes for near */
	bool contrary;		  /* sysfs and file say different things of a pair */
} Judge;
LOCAL_CLEAR(Judge, judge_clear)

#include "guest-topology.inc"

/* ---- members ---- */

static bool is_known(const PcieLink *link)
{
	return link->speed > 0 && link->width > 0;
}

/* "the link of 0000:41:00.0 is 2.5 GT/s x1 there, on the host 16 GT/s x16" */
static void compare_links(const char *what, const Bdf *member, const PcieLink *is,
			  const char *where, const PcieLink *host, char **told)
{
	if (is_known(is) && is_known(host) &&
	    (is->speed != host->speed || is->width != host->width))
		STRF_FIRST(*told, "the %s of %s is %s x%u %s, on the host %s x%u", what,
			   BDF_TEXT(member), pcie_speed_text(is->speed), is->width, where,
			   pcie_speed_text(host->speed), host->width);
}

static void judge_links(Judge *j, const Bdf *member, const Place *place)
{
	const GpuHealth *health = gpu_healths_find(j->in->health, j->in->n_health, member);
	PcieLink link, up = { 0 };

	if (!health)
		return;
	link = (PcieLink){ gpu_health_speed_expected(health), gpu_health_width_expected(health) };
	/* A root port, and the two ports of a switch. */
	if (health->n_ports > 2) {
		const PcieConfig *port = &health->ports[health->n_ports - 2].config;

		up = (PcieLink){ port->speed_max, port->width_max };
	}
	compare_links("link", member, &place->seen->link, "there", &link, &j->slow);
	compare_links("link up from the switch", member, &place->seen->up, "there", &up, &j->slow);
	if (place->filed)
		compare_links("link", member, &place->filed->link, "in it", &link, &j->untrue);
}

/* Another device than was given is none: it, or the XML, changed meanwhile. */
static void judge_member(Judge *j, size_t i)
{
	const PciFunction *member = j->in->members[i];
	const DomainHostdev *hostdev = domain_use_hostdev(j->in->use, &member->bdf);
	const SightFunction *seen = hostdev ? sight_find(&j->sight, hostdev->path) : NULL;
	Place *place = &j->places[i];

	if (!seen || seen->function.class_code != member->class_code) {
		STRF_FIRST(j->lost, "which device of the guest is %s is not known",
			   BDF_TEXT(&member->bdf));
		return;
	}
	*place = (Place){ seen, sight_find(&j->file.sight, BDF_TEXT(&seen->function.bdf)) };
	/* NCCL wants to know nothing of an NVMe. */
	if (!place->filed && member->class_code != PCI_CLASS_NVME)
		STRF_FIRST(j->untrue, "it lacks %s, which is %s in the guest",
			   BDF_TEXT(&member->bdf), BDF_TEXT(&seen->function.bdf));
	judge_links(j, &member->bdf, place);
}

/* ---- distances ---- */

#define UNKNOWN PCIE_DISTANCE_MAX_

/* What NCCL has of a GPU and a NIC or another GPU; `own`: its view of them. */
static void hear_nccl(Judge *j, bool is_nic, const char *two, PcieDistance host, PcieDistance own)
{
	const char *word = pcie_distance_to_string(own);
	bool near = own <= PCIE_PXB;

	j->n_rdma += is_nic;
	j->n_unclear += is_nic && own == UNKNOWN;
	if (near && (is_nic || j->in->verify->links_expected == 0))
		strv_appendf(is_nic ? &j->near : &j->peers, "%s (%s)", two, word);
	else if (is_nic && !near && own != UNKNOWN && host <= PCIE_PXB)
		strv_appendf(&j->apart, "%s (%s, on the host %s)", two, word,
			     pcie_distance_to_string(host));
}

/* Two are farther apart, or nearer, than on the host. */
static void compare_distances(const char *two, PcieDistance is, const char *where,
			      PcieDistance host, char **told)
{
	if (is != UNKNOWN && is != host)
		STRF_FIRST(*told, "%s are %s in %s, on the host %s", two,
			   pcie_distance_to_string(is), where, pcie_distance_to_string(host));
}

static void judge_pair(Judge *j, size_t a, size_t b)
{
	const PciFunction *ma = j->in->members[a], *mb = j->in->members[b];
	const Place *pa = &j->places[a], *pb = &j->places[b];
	_cleanup_free_ char *two = strf("%s and %s", BDF_TEXT(&ma->bdf), BDF_TEXT(&mb->bdf));
	PcieDistance host = nccl_distance(ma, mb), guest = UNKNOWN, file = UNKNOWN, own;

	/* Ports of one NIC: the guest has them in slots of their own, and nobody asks. */
	if (bdf_same_slot(&ma->bdf, &mb->bdf))
		return;
	if (pa->seen && pb->seen) {
		const PciFunction *ga = &pa->seen->function, *gb = &pb->seen->function;

		guest = nccl_distance(ga, gb);
		compare_distances(two, pcie_distance(ga, gb, j->sight.n_nodes), "the guest",
				  pcie_distance(ma, mb, j->in->n_nodes), &j->other);
	}
	if (pa->filed && pb->filed)
		file = nccl_distance(&pa->filed->function, &pb->filed->function);
	compare_distances(two, file, "it", host, &j->untrue);
	/* Its file counts where that has both. One that it lacks it hangs where nobody knows. */
	own = pa->filed && pb->filed ? file : pa->filed || pb->filed ? UNKNOWN : guest;
	if (ma->class_code >> 16 != BASE_CLASS_DISPLAY || mb->class_code == PCI_CLASS_NVME)
		return;
	hear_nccl(j, mb->class_code >> 16 == PCI_BASE_CLASS_NETWORK, two, host, own);
	j->contrary |= file != UNKNOWN && guest != UNKNOWN && file != guest;
}

/* ---- in words ---- */

static void tell_seen(const Judge *j, bool heard, GuestTopology *t)
{
	const char *words = !heard     ? "the guest does not say what its sysfs has of PCI Express"
			    : j->other ? j->other
			    : j->lost  ? j->lost
				       : "the guest sees the distances of the host";

	t->state = j->other ? GUEST_SIGHT_OTHER : j->lost ? GUEST_SIGHT_UNKNOWN : GUEST_SIGHT_HOST;
	t->seen = strf("%s%s%s", words, j->slow ? "; " : "", str_or_empty(j->slow));
}

static void tell_file(const Judge *j, GuestTopology *t)
{
	static const char *const texts[NCCL_FILE_STATE_MAX_] = {
		[NCCL_FILE_MISSING] = "nccl.conf names one that is not there",
		[NCCL_FILE_UNREADABLE] = "it is not one that NCCL can read",
		/* The links of switches are its own word. */
		[NCCL_FILE_TRUE] = "it has the distances of the host",
	};

	t->file = j->file.state;
	if (t->file == NCCL_FILE_TRUE)
		t->file = j->untrue ? NCCL_FILE_UNTRUE
			  : j->lost ? NCCL_FILE_UNKNOWN
				    : NCCL_FILE_TRUE;
	t->file_told = xstrdup(t->file == NCCL_FILE_UNTRUE ? j->untrue
			       : j->file.too_large	   ? "it is too large to be looked at"
							   : texts[t->file]);
}

/* "0000:41:00.0 and 0000:43:00.0 (PIX), …" */
static char *pairs_text(char *const *pairs)
{
	size_t n = strv_length(pairs);
	_cleanup_strv_ char **named = NULL;

	for (size_t i = 0; i < n && i < NAMED_MAX; i++)
		strv_append(&named, pairs[i]);
	if (n > NAMED_MAX)
		strv_appendf(&named, "and %zu more", n - NAMED_MAX);
	return strv_join(named, ", ");
}

static void tell_nccl(const Judge *j, GuestTopology *t)
{
	_cleanup_free_ char *near = pairs_text(j->near), *apart = pairs_text(j->apart),
			    *peers = pairs_text(j->peers);
	_cleanup_strv_ char **told = NULL;

	if (j->near)
		strv_appendf(&told, "it allows GPUDirect RDMA between %s", near);
	else if (j->n_rdma > 0)
		strv_append(&told, j->n_unclear == 0
					   ? "it allows no GPUDirect RDMA"
					   : "whether it allows GPUDirect RDMA is not known");
	if (j->apart)
		strv_appendf(&told, "none between %s", apart);
	/* ncclTopoCheckP2p() in its src/graph/paths.cc */
	if (j->peers)
		strv_appendf(&told,
			     "it uses peer access over PCIe, if the driver has it, between %s",
			     peers);
	if (told && j->contrary)
		strv_append(&told, "it believes its file, which is not what the guest sees");
	if (j->n_rdma > 0 && j->file.sets_level)
		strv_append(&told, "but nccl.conf sets NCCL_NET_GDR_LEVEL");
	t->nccl = told ? strv_join(told, "; ") : NULL;
}

#define GIVE_FILE "give the guest NCCL's file: gpupass export --format=nccl-topo %1$s"

static void tell_remedy(const Judge *j, GuestTopology *t)
{
	bool good = !j->other && !j->slow;

	if (t->file == NCCL_FILE_TRUE ||
	    (good && (t->file == NCCL_FILE_NONE || t->file == NCCL_FILE_UNKNOWN)))
		return;
	t->remedy = verify_fill(j->in->mirror ? GIVE_FILE
					      : GIVE_FILE "; or assign %2$s with --topology=mirror",
				j->in->verify, "", "");
}

GuestTopology *guest_topology_judge(const TopologyInput *input, const GuestRun runs[SIGHT_RUNS])
{
	GuestTopology *t = xcalloc(1, sizeof(GuestTopology));
	_cleanup_(judge_clear) Judge j = { .in = input };
	bool heard = sight_read(&runs[SIGHT_RUN_SYSFS], &j.sight) == 0;

	nccl_file_read(&runs[SIGHT_RUN_FILE], &j.file);
	j.places = xcalloc(input->n_members + 1, sizeof(Place));
	for (size_t i = 0; i < input->n_members; i++)
		judge_member(&j, i);
	for (size_t a = 0; a < input->n_members; a++)
		for (size_t b = a + 1; b < input->n_members; b++)
			judge_pair(&j, a, b);
	tell_seen(&j, heard, t);
	tell_file(&j, t);
	tell_nccl(&j, t);
	tell_remedy(&j, t);
	return t;
}
