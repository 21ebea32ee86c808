/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/use.h"

#include <strings.h>

#include "util/text.h"
#include "util/xalloc.h"

const char *domain_source_silence(DomainSource source)
{
	switch (source) {
	case DOMAINS_LIBVIRT:
		return "libvirt does not answer";
	case DOMAINS_PROXMOX:
		return "the files of Proxmox VE cannot be read";
	case DOMAINS_NONE:
	case DOMAIN_SOURCE_MAX_:
		break;
	}
	return "the domains of this host are not known";
}

int domain_source_refuse(DomainSource source, const char *what, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
		.reason = strf("%s, so %s is not known", domain_source_silence(source), what),
		.remedy = xstrdup(source == DOMAINS_LIBVIRT
					  ? "start libvirtd or virtqemud, then try again"
					  : "see: gpupass status"));
}

bool domain_source_is_none(const char *uri)
{
	return strcmp(uri, "none") == 0;
}

const DomainUse *domain_uses_find(const DomainUses *uses, const char *uuid)
{
	return uuid ? FIND(uses->items, uses->n_items, it->uuid && strcmp(it->uuid, uuid) == 0)
		    : NULL;
}

const DomainUse *domain_uses_find_name(const DomainUses *uses, const char *name)
{
	return FIND(uses->items, uses->n_items, str_equal(it->name, name));
}

const DomainUse *domain_uses_holding(const DomainUses *uses, const Bdf *bdf, size_t *position)
{
	while (*position < uses->n_items) {
		const DomainUse *use = &uses->items[(*position)++];

		/* Most have none, and a look asks of each function. */
		if (use->n_hostdevs > 0 && domain_use_hostdev(use, bdf))
			return use;
	}
	return NULL;
}

const DomainUse *domain_uses_unread(const DomainUses *uses, size_t *position)
{
	while (*position < uses->n_items) {
		const DomainUse *use = &uses->items[(*position)++];

		if (use->unread)
			return use;
	}
	return NULL;
}

const char *domain_use_unread_so(const DomainUse *use)
{
	return use->vmid > 0 ? "its hookscript does not let it start: "
			     : "nothing can be assigned: its XML: ";
}

/* By UUID: root may paste these commands, and anybody may have chosen the name. */
char *domain_use_unread_remedy(const DomainUse *use)
{
	if (use->vmid > 0)
		return strf("correct that in %.*s", (int)strcspn(use->unread, " "), use->unread);
	return strf(
		"look at: virsh dumpxml %s; if it is too long, take out its description (virsh desc "
		"%s '') and others' metadata (virsh metadata %s --uri URI --remove), otherwise "
		"correct it: virsh edit %s",
		use->uuid, use->uuid, use->uuid, use->uuid);
}

const DomainHostdev *domain_use_hostdev(const DomainUse *use, const Bdf *bdf)
{
	return BDF_FIND(use->hostdevs, use->n_hostdevs, bdf);
}

bool domain_use_has_clique(const DomainUse *use, const Bdf *bdf)
{
	const DomainHostdev *hostdev = domain_use_hostdev(use, bdf);

	return hostdev && hostdev->clique;
}

bool domain_use_has_vf(const DomainUse *use, const Bdf *vf, const char *mac, unsigned vlan)
{
	const DomainHostdev *hostdev = domain_use_hostdev(use, vf);

	return hostdev && hostdev->vlan == vlan && strcasecmp(hostdev->mac, mac) == 0;
}

const char *domain_hostdev_noun(const DomainHostdev *hostdev)
{
	return hostdev->argument ? "QEMU argument" : "hostdev";
}

bool domain_use_names(const DomainUse *use, const char *group)
{
	return group && strv_contains(use->gpupass_groups, group);
}

/* Room for one more of `n`; twice as much when it is full, since whoever writes XML has many. */
static void make_room(void *array, size_t n, size_t *space, size_t size)
{
	void *items;

	if (n < *space)
		return;
	memcpy(&items, array, sizeof(items));
	items = xreallocarray(items, 2 * n + 1, size);
	memcpy(array, &items, sizeof(items));
	*space = 2 * n + 1;
}

void domain_use_add(DomainUse *use, const DomainHostdev *hostdev, const char *alias)
{
	make_room(&use->hostdevs, use->n_hostdevs, &use->hostdevs_space, sizeof(*hostdev));
	use->hostdevs[use->n_hostdevs] = *hostdev;
	use->hostdevs[use->n_hostdevs++].alias = xstrdup(alias);
}

void domain_use_add_mdev(DomainUse *use, const char *uuid, bool live, bool config)
{
	make_room(&use->mdevs, use->n_mdevs, &use->mdevs_space, sizeof(DomainMdev));
	use->mdevs[use->n_mdevs++] =
		(DomainMdev){ .uuid = xstrdup(uuid), .live = live, .config = config };
}

static int compare_mdevs(const void *a, const void *b)
{
	return strcasecmp(((const DomainMdev *)a)->uuid, ((const DomainMdev *)b)->uuid);
}

void domain_use_fold_mdevs(DomainUse *use)
{
	size_t n = 0;

	if (use->n_mdevs > 1)
		qsort(use->mdevs, use->n_mdevs, sizeof(DomainMdev), compare_mdevs);
	for (size_t i = 0; i < use->n_mdevs; i++) {
		DomainMdev *mdev = &use->mdevs[i], *last = n > 0 ? &use->mdevs[n - 1] : NULL;

		if (last && compare_mdevs(last, mdev) == 0) {
			last->live |= mdev->live;
			last->config |= mdev->config;
			free(mdev->uuid);
		} else {
			use->mdevs[n++] = *mdev;
		}
	}
	use->n_mdevs = n;
}

void domain_use_add_unclear(DomainUse *use, const char *why)
{
	char *all;

	if (use->unclear && strstr(use->unclear, why))
		return;
	all = strf("%s%s%s", str_or_empty(use->unclear), use->unclear ? ", " : "", why);
	free(use->unclear);
	use->unclear = all;
}

LOCAL_COPY(DomainUse, copy_use)
#include "use.inc"

void domain_use_copy(const DomainUse *from, DomainUse *ret)
{
	*ret = copy_use(from);
	ret->hostdevs_space = ret->n_hostdevs;
	ret->mdevs_space = ret->n_mdevs;
}
