/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/guest-topology.h"

#include "util/grow.h"
#include "util/text.h"

/* Pairs that a sentence names. */
#define NAMED_MAX 4
#define BASE_CLASS_DISPLAY 0x03

/* A member in the guest's sysfs and in its file; NULL: it is not there, or not known which it is. */
typedef struct Place {
	const SightFunction *seen, *filed;
} Place;

typedef struct Judge {
	const TopologyInput *in;
	Sight sight;
	NcclFile file;
	Place *places _owned_(free); /* of each member */
	GuestTopology *t _borrowed_;
	const PciFunction *lost; /* the first member that the guest does not show; or NULL */
	char *untrue;		 /* what the file says otherwise than the host is; or NULL */
	/* Of pairs of a GPU and a NIC: those with GPUDirect RDMA, and without, unlike on the host. */
	char **near, **apart;
	size_t n_rdma;	  /* all of them */
	bool contrary;	  /* sysfs and file say different things of one */
	size_t n_unclear; /* of which NCCL's own view is not known */
} Judge;
LOCAL_CLEAR(Judge, judge_clear)

#include "guest-topology.inc"

static bool has_class(const Judge *j, size_t member, unsigned base)
{
	return j->in->members[member]->class_code >> 16 == base;
}

static char *link_text(unsigned speed, unsigned width)
{
	return speed > 0 && width > 0 ? strf("%s x%u", pcie_speed_text(speed), width) : NULL;
}

/* They are known, and are not the same. */
static bool differ(const char *a, const char *b)
{
	return a && b && !str_equal(a, b);
}

/* Another device than was given is none: it, or the XML, changed meanwhile. */
static void find_place(Judge *j, size_t i)
{
	const PciFunction *member = j->in->members[i];
	const SightFunction *seen = sight_find_path(&j->sight, j->in->paths[i]);

	if (seen && seen->function.class_code == member->class_code)
		j->places[i] = (Place){ seen, sight_find(&j->file.sight, &seen->function.bdf) };
	else if (!j->lost)
		j->lost = member;
}

static void add_member(Judge *j, size_t i)
{
	const SightFunction *seen = j->places[i].seen, *filed = j->places[i].filed;
	SightMember *member = GROW(j->t->members, j->t->n_members);
	_cleanup_free_ char *link = filed ? link_text(filed->speed, filed->width) : NULL;
	const GpuHealth *health;

	member->address = j->in->members[i]->bdf;
	health = gpu_healths_find(j->in->health, j->in->n_health, &member->address);
	if (health)
		member->host_link = link_text(gpu_health_speed_expected(health),
					      gpu_health_width_expected(health));
	/* A root port, and the two ports of a switch. */
	if (health && health->n_ports > 2)
		member->host_uplink =
			link_text(health->ports[health->n_ports - 2].config.speed_max,
				  health->ports[health->n_ports - 2].config.width_max);
	if (!seen)
		return;
	member->guest_address = seen->function.bdf;
	member->link = link_text(seen->speed, seen->width);
	member->uplink = link_text(seen->up_speed, seen->up_width);
	/* NCCL wants to know nothing of an NVMe. */
	if (j->untrue || j->in->members[i]->class_code == PCI_CLASS_NVME)
		return;
	if (!filed)
		j->untrue = strf("it lacks %s, which is %s in the guest",
				 BDF_TEXT(&member->address), BDF_TEXT(&member->guest_address));
	else if (differ(link, member->host_link))
		j->untrue = strf("the link of %s is %s in it, on the host %s",
				 BDF_TEXT(&member->address), link, member->host_link);
}

/* ---- distances ---- */

static PcieDistance as_nccl(PcieDistance distance)
{
	return distance == PCIE_NODE ? PCIE_PHB : distance;
}

/* What NCCL has of a GPU and a NIC: its file counts, where that has both. */
static void hear_rdma(Judge *j, const SightPair *pair, PcieDistance host, PcieDistance guest,
		      PcieDistance file)
{
	PcieDistance own = pair->file ? file : as_nccl(guest);
	const char *word = pcie_distance_to_string(own);

	j->n_rdma++;
	j->n_unclear += !word;
	j->contrary |= pair->file && pair->guest && file != as_nccl(guest);
	if (own <= PCIE_PXB)
		strv_appendf(&j->near, "%s and %s (%s)", BDF_TEXT(&pair->a), BDF_TEXT(&pair->b),
			     word);
	else if (word && host <= PCIE_PXB)
		strv_appendf(&j->apart, "%s and %s (%s, on the host %s)", BDF_TEXT(&pair->a),
			     BDF_TEXT(&pair->b), word, pair->host);
}

static void add_pair(Judge *j, size_t a, size_t b)
{
	const Place *pa = &j->places[a], *pb = &j->places[b];
	PcieDistance host = pcie_distance(j->in->members[a], j->in->members[b], j->in->n_nodes);
	PcieDistance guest = PCIE_DISTANCE_MAX_, file = PCIE_DISTANCE_MAX_;
	SightPair *pair = GROW(j->t->pairs, j->t->n_pairs);

	if (pa->seen && pb->seen)
		guest = pcie_distance(&pa->seen->function, &pb->seen->function, j->sight.n_nodes);
	if (pa->filed && pb->filed)
		file = nccl_file_distance(pa->filed, pb->filed);
	*pair = (SightPair){
		.a = j->in->members[a]->bdf,
		.b = j->in->members[b]->bdf,
		.host = xstrdup(pcie_distance_to_string(host)),
		.guest = xstrdup(pcie_distance_to_string(guest)),
		.file = xstrdup(pcie_distance_to_string(file)),
	};
	if (pair->file && file != as_nccl(host) && !j->untrue)
		j->untrue = strf("%s and %s are %s in it, on the host %s", BDF_TEXT(&pair->a),
				 BDF_TEXT(&pair->b), pair->file, pair->host);
	if (has_class(j, a, BASE_CLASS_DISPLAY) && has_class(j, b, PCI_BASE_CLASS_NETWORK))
		hear_rdma(j, pair, host, guest, file);
}

/* ---- in words ---- */

#define LINK_TEXT(what) "; to NCCL the " what " of %s is %s there, on the host %s"

/* *ret_good: distances and links are those of the host, as far as they are known. */
static void tell_seen(Judge *j, bool heard, bool *ret_good)
{
	GuestTopology *t = j->t;
	const SightPair *other = FIND(t->pairs, t->n_pairs, differ(it->guest, it->host));
	const SightMember *slow = FIND(t->members, t->n_members, differ(it->link, it->host_link));
	const SightMember *above =
		FIND(t->members, t->n_members, differ(it->uplink, it->host_uplink));
	_cleanup_free_ char *link =
		slow	? strf(LINK_TEXT("link"), BDF_TEXT(&slow->address), slow->link,
			       slow->host_link)
		: above ? strf(LINK_TEXT("link up from the switch"), BDF_TEXT(&above->address),
			       above->uplink, above->host_uplink)
			: xstrdup("");

	*ret_good = !other && !slow && !above;
	t->state = other ? GUEST_SIGHT_OTHER : !j->lost ? GUEST_SIGHT_HOST : GUEST_SIGHT_UNKNOWN;
	if (!heard)
		t->seen = xstrdup("the guest does not say what its sysfs has of PCI Express");
	else if (other)
		t->seen =
			strf("%s and %s are %s in the guest, on the host %s%s", BDF_TEXT(&other->a),
			     BDF_TEXT(&other->b), other->guest, other->host, link);
	else if (j->lost)
		t->seen = strf("which device of the guest is %s is not known%s",
			       BDF_TEXT(&j->lost->bdf), link);
	else
		t->seen = strf("the guest sees the distances of the host%s", link);
}

static void tell_file(Judge *j)
{
	static const char *const texts[NCCL_FILE_STATE_MAX_] = {
		[NCCL_FILE_MISSING] = "nccl.conf names one that is not there",
		[NCCL_FILE_UNREADABLE] = "it is not one that NCCL can read",
		[NCCL_FILE_TRUE] = "it says what the host has",
	};
	NcclFileState state = j->file.state;

	if (state == NCCL_FILE_TRUE)
		state = j->untrue ? NCCL_FILE_UNTRUE : j->lost ? NCCL_FILE_UNKNOWN : state;
	j->t->file = state;
	j->t->file_told = xstrdup(state == NCCL_FILE_UNTRUE ? j->untrue : texts[state]);
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

static void tell_nccl(Judge *j)
{
	_cleanup_free_ char *near = pairs_text(j->near), *apart = pairs_text(j->apart);

	if (j->n_rdma == 0)
		return;
	j->t->nccl =
		strf("%s%s%s%s%s%s",
		     j->near			? "GPUDirect RDMA between "
		     : j->n_unclear < j->n_rdma ? "no GPUDirect RDMA"
						: "whether it uses GPUDirect RDMA is not known",
		     near, j->apart ? "; none between " : "", apart,
		     j->contrary ? "; it believes its file, which is not what the guest sees" : "",
		     j->file.sets_level ? "; but nccl.conf sets NCCL_NET_GDR_LEVEL" : "");
}

#define GIVE_FILE "give the guest NCCL's file: gpupass export --format=nccl-topo %1$s"

static void tell_remedy(Judge *j, bool good)
{
	NcclFileState file = j->t->file;

	if (file == NCCL_FILE_TRUE ||
	    (good && (file == NCCL_FILE_NONE || file == NCCL_FILE_UNKNOWN)))
		return;
	j->t->remedy = verify_fill(
		j->in->mirror ? GIVE_FILE : GIVE_FILE "; or assign %2$s with --topology=mirror",
		j->in->verify, "", "");
}

GuestTopology *guest_topology_judge(const TopologyInput *input, const GuestRun runs[SIGHT_RUNS])
{
	GuestTopology *t = xcalloc(1, sizeof(GuestTopology));
	_cleanup_(judge_clear) Judge j = { .in = input, .t = t };
	bool heard = sight_read(&runs[SIGHT_RUN_SYSFS], &j.sight) == 0, good;

	nccl_file_read(&runs[SIGHT_RUN_FILE], &j.file);
	j.places = xcalloc(input->n_members + 1, sizeof(Place));
	for (size_t i = 0; i < input->n_members; i++) {
		find_place(&j, i);
		add_member(&j, i);
	}
	for (size_t a = 0; a < input->n_members; a++)
		for (size_t b = a + 1; b < input->n_members; b++)
			add_pair(&j, a, b);
	tell_seen(&j, heard, &good);
	tell_file(&j);
	tell_nccl(&j);
	tell_remedy(&j, good);
	return t;
}
