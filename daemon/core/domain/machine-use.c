/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/machine-use.h"

#include "util/text.h"
#include "util/xalloc.h"

static void copy_devices(const Machine *m, DomainUse *use)
{
	for (size_t i = 0; i < m->n_devices; i++) {
		const DomainHostdev hostdev = {
			.bdf = m->devices[i].bdf,
			.live = m->running && m->devices[i].now,
			.config = m->devices[i].next,
			.maybe = m->devices[i].maybe,
		};

		if (hostdev.live || hostdev.config)
			domain_use_add(use, &hostdev, NULL);
	}
	for (char **mdev = m->mdevs; mdev && *mdev; mdev++)
		domain_use_add_mdev(use, *mdev, m->running, true);
}

static void as_use(const Machine *m, DomainUse *use)
{
	*use = (DomainUse){
		/* Version 8 of RFC 9562: made as its maker likes. "pv" stands in the middle. */
		.uuid = strf("%08x-7076-8000-8000-%012u", m->created, m->vmid),
		.name = m->name ? strf("%s (%u)", m->name, m->vmid) : strf("%u", m->vmid),
		.vmid = m->vmid,
		.active = m->running,
		.persistent = true,
		.unread = xstrdup(m->unread),
	};
	copy_devices(m, use);
	strv_copy(m->disks, &use->disks);
}

DomainUses *machines_as_uses(const Machines *machines)
{
	DomainUses *uses = xcalloc(1, sizeof(DomainUses));

	uses->items = xcalloc(machines->n_items + 1, sizeof(DomainUse));
	for (size_t i = 0; i < machines->n_items; i++)
		as_use(&machines->items[i], &uses->items[uses->n_items++]);
	return uses;
}

const DomainUse *machine_use_find(const DomainUses *uses, const char *word)
{
	unsigned long long vmid = 0;

	if (str_to_unsigned(word, 10, MACHINE_VMID_MAX, &vmid) < 0 || vmid == 0)
		return NULL;
	return FIND(uses->items, uses->n_items, it->vmid == vmid);
}
