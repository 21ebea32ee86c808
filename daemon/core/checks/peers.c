/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks of the way between a group's GPUs and its NICs. A NIC of a guest writes to guest
 * addresses. With ATS it asks the IOMMU for them once, and a switch whose ports have ACS Direct
 * Translated then carries its requests to the GPU itself; else each one goes up to the root complex
 * and back down.
 */

#include "core/checks/checks.h"
#include "core/pci/pcie-distance.h"
#include "core/setup/kernel-words.h"
#include "util/xalloc.h"

/* One of a checked group's NICs or VFs. */
typedef struct Nic {
	const PciFunction *function;
	const PcieConfig *config; /* NULL: not read */
} Nic;

static const GpuHealth *health_of(const Checks *c, const Bdf *bdf)
{
	const GpuHealth *health = gpu_healths_find(c->facts->health, c->facts->n_health, bdf);

	return health && health->error == 0 ? health : NULL;
}

static const PcieConfig *config_of(const Checks *c, const Bdf *bdf)
{
	const GpuHealth *health = health_of(c, bdf);

	return health && health->config.pcie ? &health->config : NULL;
}

/* One of a checked group's NICs that is there. That others are gone is no matter of these. */
static bool nic_of(const Checks *c, const Group *group, size_t companion, Nic *ret)
{
	const Companion *it_is = &group->companions[companion];

	*ret = (Nic){ it_is->function, config_of(c, &it_is->member.bdf) };
	return companion_is_nic(it_is) &&
	       SOME_OF(group->gpus, group->n_gpus, checks_gpu_of(c, &it->lead->bdf));
}

/* ---- the NIC's own ATS ---- */

/* The word of the kernel's command line that forbids it; NULL: none is known. */
static const char *find_noats(const Checks *c)
{
	char *const *word = c->facts->host ? c->facts->host->cmdline : NULL;

	for (; word && *word; word++)
		if (kernel_list_has(kernel_word_value(*word, "pci"), "noats"))
			return *word;
	return NULL;
}

static const DomainUse *guest_with(const Checks *c, const Bdf *bdf)
{
	return c->facts->uses ? FIND(c->facts->uses->items, c->facts->uses->n_items,
				     it->active && domain_use_hostdev(it, bdf))
			      : NULL;
}

/* The kernel turns it on when the function gets a domain of its IOMMU (pci_enable_ats()). */
static void tell_ats_off(const Checks *c, const Nic *nic, Finding *f)
{
	const DomainUse *guest = guest_with(c, &nic->function->bdf);
	const char *bdf = BDF_TEXT(&nic->function->bdf), *word = find_noats(c);

	if (word) {
		finding_warn(f, bdf, "%s may not use ATS: the kernel runs with %s", bdf, word);
		finding_remedy(f, "take noats off the kernel command line, and reboot");
	} else if (guest) {
		finding_warn(f, bdf, "%s has ATS, and it is off while %s runs", bdf, guest->name);
		finding_remedy(f, "turn it on for the IOMMU and for the slot in the firmware's "
				  "setup; dmesg | grep -i -e ATS -e DMAR -e AMD-Vi");
	} else {
		finding_unknown(f, bdf,
				"%s has ATS, and it is off: whether the kernel turns it on is "
				"seen while a guest runs",
				bdf);
	}
}

static void check_ats_of(const Checks *c, const Nic *nic, Finding *f)
{
	const char *bdf = BDF_TEXT(&nic->function->bdf);

	if (!nic->config) {
		finding_unknown(f, bdf, "%s sleeps or could not be read", bdf);
	} else if (nic->config->ats_on) {
		finding_pass(f, "%s: on", bdf);
	} else if (nic->config->ats) {
		tell_ats_off(c, nic, f);
	} else if (nic->function->vendor != PCI_VENDOR_MELLANOX) {
		finding_pass(f, "%s has none", bdf);
	} else {
		/* NVIDIA, Optimizing VM configuration for AI inference: it is off by default. */
		finding_warn(f, bdf,
			     "%s offers no ATS: what it sends to a GPU goes over the root complex",
			     bdf);
		finding_remedy(f,
			       "mlxconfig -d %s set ATS_ENABLED=true, then reboot the host: a "
			       "reboot of the guest is not enough",
			       bdf);
	}
}

static void check_ats(const Checks *c, Finding *f)
{
	EACH (const Group, group, c->facts->groups->items, c->facts->groups->n_items) {
		Nic nic;

		for (size_t k = 0; k < group->n_companions; k++)
			if (nic_of(c, group, k, &nic))
				check_ats_of(c, &nic, f);
	}
}

/* ---- the ports between ---- */

/* Between the GPUs and NICs of one group. */
typedef struct Way {
	char **ports[PCIE_TRANSLATED_MAX_]; /* by what they do */
} Way;

static void way_clear(Way *way)
{
	for (size_t i = 0; i < PCIE_TRANSLATED_MAX_; i++)
		strv_free(way->ports[i]);
}

/* Those ports above one end that the other end does not have above it. */
static void add_ports(const Checks *c, const PciFunction *end, size_t shared, Way *way)
{
	const GpuHealth *health = health_of(c, &end->bdf);

	for (size_t i = shared; i < end->n_upstream; i++) {
		const PcieConfig unread = { 0 };
		const HealthPort *port =
			health ? BDF_FIND(health->ports, health->n_ports, &end->upstream[i]) : NULL;
		const PcieConfig *config = port ? &port->config : &unread;
		char ***list = &way->ports[pcie_translated(config)];
		const char *bdf = BDF_TEXT(&end->upstream[i]);

		/* An upstream port sends on what a downstream port has decided. */
		if (config->pcie && config->type != PCIE_TYPE_ROOT_PORT &&
		    config->type != PCIE_TYPE_DOWNSTREAM)
			continue;
		if (!strv_contains(*list, bdf))
			strv_append(list, bdf);
	}
}

static void add_way(const Checks *c, const Nic *nic, const PciFunction *gpu, Way *way, Finding *f)
{
	size_t shared = pcie_shared_bridges(nic->function, gpu);
	size_t n_nodes = c->facts->machine ? c->facts->machine->n_nodes : 0;

	if (shared == 0) {
		/* No setting changes it. */
		finding_pass(f, "%s to %s: over the root complex in any case (%s)",
			     BDF_TEXT(&nic->function->bdf), BDF_TEXT(&gpu->bdf),
			     pcie_distance_to_string(pcie_distance(nic->function, gpu, n_nodes)));
		return;
	}
	add_ports(c, nic->function, shared, way);
	add_ports(c, gpu, shared, way);
}

/*
 * Documentation/admin-guide/kernel-parameters: pci=config_acs= (Linux 6.11) has the flags from the
 * right, bit 0 first, and "x" for what stays. A write by setpci is lost at the port's next reset,
 * and the kernel does not know of it.
 */
static char *direct_remedy(const Checks *c, char *const *ports)
{
	bool old = host_facts_kernel_before(c->facts->machine, 6, 11);
	_cleanup_strv_ char **words = NULL;
	_cleanup_free_ char *joined = NULL, *now = NULL;

	for (char *const *port = ports; *port; port++)
		strv_appendf(&words, "1xxxxxx@%s", *port);
	joined = strv_join(words, ";");
	if (old)
		now = strf("; before: setpci -s PORT ECAP_ACS+6.w=40:40 at each of them, which a "
			   "reset of the port undoes");
	return strf("with Linux 6.11 or later boot with 'pci=config_acs=%s'%s; what it costs: a "
		    "device below this switch that lies about translated addresses then reaches "
		    "the others there past the IOMMU",
		    joined, str_or_empty(now));
}

#define SENT "what its NIC sends to its GPUs "
#define OVER_THE_ROOT SENT "goes over the root complex, since "

static const struct {
	FindingStatus status;
	const char *what, *remedy;
} told[PCIE_TRANSLATED_MAX_] = {
	[PCIE_TRANSLATED_UNKNOWN] = { FINDING_UNKNOWN, "not read:", NULL },
	[PCIE_TRANSLATED_DIRECT] = { FINDING_PASS, "directly at", NULL },
	[PCIE_TRANSLATED_REDIRECTED] = { FINDING_WARN,
					 OVER_THE_ROOT "ACS Direct Translated is off at", NULL },
	[PCIE_TRANSLATED_NEVER] = { FINDING_WARN,
				    OVER_THE_ROOT "there is no ACS Direct Translated at",
				    "nothing on this host: use ports or a switch that have it" },
	[PCIE_TRANSLATED_BLOCKED] = { FINDING_WARN,
				      SENT "ends with an error, since ACS Translation Blocking is "
					   "on at",
				      "the kernel does this for pci=noats, and below ports that "
				      "the firmware calls external: change that, and reboot" },
};

static void tell_ports(const Checks *c, const Group *group, size_t how, char *const *ports,
		       Finding *f)
{
	_cleanup_free_ char *remedy = how == PCIE_TRANSLATED_REDIRECTED ? direct_remedy(c, ports)
									: xstrdup(told[how].remedy);
	_cleanup_free_ char *joined = strv_join(ports, ", ");

	finding_add(f, told[how].status, told[how].status == FINDING_PASS ? NULL : group->name,
		    "%s: %s %s", group->name, told[how].what, joined);
	if (remedy)
		finding_remedy(f, "%s", remedy);
}

/* A NIC that cannot send them, and cannot be made to, needs no way. */
static bool may_translate(const Nic *nic)
{
	return !nic->config || nic->config->ats || nic->function->vendor == PCI_VENDOR_MELLANOX;
}

static void check_peer_path(const Checks *c, Finding *f)
{
	EACH (const Group, group, c->facts->groups->items, c->facts->groups->n_items) {
		_cleanup_(way_clear) Way way = { 0 };
		Nic nic;

		for (size_t k = 0; k < group->n_companions; k++)
			for (size_t g = 0;
			     nic_of(c, group, k, &nic) && may_translate(&nic) && g < group->n_gpus;
			     g++)
				add_way(c, &nic, group->gpus[g]->lead, &way, f);
		for (size_t how = 0; how < PCIE_TRANSLATED_MAX_; how++)
			if (way.ports[how])
				tell_ports(c, group, how, way.ports[how], f);
	}
}

const Check checks_of_peers[] = {
	CHECK("nic-ats", "ATS of the NICs", NEEDS_GPUS, check_ats, "no group has a NIC", SEE_TABLE,
	      "the ATS registers of every NIC of a group, read by the config part",
	      .plans = WARNS_TAKING),
	CHECK("peer-path", "Where NICs' translated requests to GPUs go", NEEDS_GPUS,
	      check_peer_path, "no group has a NIC that sends any", SEE_TABLE,
	      "the ACS registers of every port between a group's GPUs and NICs, read by the config "
	      "part",
	      .plans = WARNS_TAKING),
	{ 0 },
};
