/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/machine-use.h"

#include <errno.h>
#include <string.h>

#include "util/text.h"

static int copy_devices(const Machine *m, DomainUse *use)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < m->n_devices; i++) {
		const DomainHostdev hostdev = {
			.bdf = m->devices[i].bdf,
			.live = m->running && m->devices[i].now,
			.config = m->devices[i].next,
			.maybe = m->devices[i].maybe,
		};

		if (hostdev.live || hostdev.config)
			r = domain_use_add(use, &hostdev, NULL);
	}
	for (char **mdev = m->mdevs; r >= 0 && mdev && *mdev; mdev++)
		r = domain_use_add_mdev(use, *mdev, m->running, true);
	return r;
}

static int as_use(const Machine *m, DomainUse *use)
{
	*use = (DomainUse){
		/* Version 8 of RFC 9562: made as its maker likes. "pv" stands in the middle. */
		.uuid = strf("%08x-7076-8000-8000-%012u", m->created, m->vmid),
		.name = m->name ? strf("%s (%u)", m->name, m->vmid) : strf("%u", m->vmid),
		.vmid = m->vmid,
		.active = m->running,
		.persistent = true,
		.unread = m->unread ? strdup(m->unread) : NULL,
	};
	if (!use->uuid || !use->name || !use->unread != !m->unread)
		return -ENOMEM;
	return copy_devices(m, use);
}

int machines_as_uses(const Machines *machines, DomainUses **ret)
{
	_cleanup_(domain_uses_freep) DomainUses *uses = calloc(1, sizeof(DomainUses));
	int r = 0;

	if (!uses)
		return -ENOMEM;
	uses->items = calloc(machines->n_items + 1, sizeof(DomainUse));
	if (!uses->items)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < machines->n_items; i++)
		r = as_use(&machines->items[i], &uses->items[uses->n_items++]);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(uses);
	return 0;
}

const DomainUse *machine_use_find(const DomainUses *uses, const char *word)
{
	unsigned long long vmid = 0;

	if (str_to_unsigned(word, 10, MACHINE_VMID_MAX, &vmid) < 0 || vmid == 0)
		return NULL;
	for (size_t i = 0; i < uses->n_items; i++)
		if (uses->items[i].vmid == vmid)
			return &uses->items[i];
	return NULL;
}
