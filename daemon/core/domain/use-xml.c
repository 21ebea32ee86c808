/* SPDX-License-Identifier: GPL-2.0-or-later */
/* domain_use_from_xml(): merges what the live XML and the definition say. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/domain/qemu-args.h"
#include "core/domain/ref.h"
#include "core/domain/xml-hostdevs.h"
#include "core/domain/xml.h"
#include "util/text.h"
#include "util/xalloc.h"

/* A tree: whoever writes the XML chooses how many there are. */
typedef struct Place {
	Bdf bdf;
	size_t index;
} Place;

static int compare_places(const void *a, const void *b)
{
	return bdf_compare(&((const Place *)a)->bdf, &((const Place *)b)->bdf);
}

/* The one that is there, or a new one with this index. */
static const Place *find_place(void **known, const Bdf *bdf, size_t index)
{
	Place *place = xmalloc(sizeof(Place));
	Place **found;

	*place = (Place){ *bdf, index };
	found = tsearch(place, known, compare_places);
	if (!found)
		no_memory();
	if (*found != place)
		free(place);
	return *found;
}

/*
 * A function in both XMLs is one hostdev. It keeps the alias of the definition, which outlasts a
 * run.
 */
static void domain_use_merge(DomainUse *use, void **known, const DomainHostdev *hostdev)
{
	const Place *place = find_place(known, &hostdev->bdf, use->n_hostdevs);
	DomainHostdev *there;

	if (!use->hostdevs || place->index == use->n_hostdevs) {
		domain_use_add(use, hostdev, hostdev->alias);
		return;
	}
	there = &use->hostdevs[place->index];
	there->live |= hostdev->live;
	if (hostdev->live) {
		there->has_guest = hostdev->has_guest;
		there->guest = hostdev->guest;
	}
	there->config |= hostdev->config;
	there->managed |= hostdev->managed;
	there->argument |= hostdev->argument;
}

/* `bad` is an address, or the device that should have one. */
static int refuse_address(const DomainXml *xml, const xmlNode *bad, Problem **ret_problem)
{
	const xmlNode *address =
		xml_is(bad, "address") ? bad : xml_child(xml_child(bad, "source"), "address");
	const char *parts[] = { "domain", "bus", "slot", "function" };
	_cleanup_strv_ char **texts = NULL;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; address && i < ELEMENTS(parts); i++) {
		const char *value = xml_attribute(address, parts[i]);

		if (value)
			strv_appendf(&texts, "%s='%.32s'", parts[i], value);
	}
	text = strv_join(texts, " ");
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = strf(
			"domain %s has a PCI function of the host whose address cannot be read",
			xml->name),
		.cause = strf("line %ld of its XML: <address%s%s/>", xmlGetLineNo(bad),
			      texts ? " " : "", text),
		.remedy = strf("correct it with: virsh edit %s",
			       domain_ref_word(xml->name, xml->uuid)));
}

static void merge_part(DomainUse *use, DomainUse *part, bool live)
{
	void *known = NULL;

	for (size_t i = 0; i < use->n_hostdevs; i++)
		find_place(&known, &use->hostdevs[i].bdf, i);
	for (size_t i = 0; i < part->n_hostdevs; i++) {
		part->hostdevs[i].live = live;
		part->hostdevs[i].config = !live;
		domain_use_merge(use, &known, &part->hostdevs[i]);
	}
	tdestroy(known, free);
	for (size_t i = 0; i < part->n_mdevs; i++)
		domain_use_add_mdev(use, part->mdevs[i].uuid, live, !live);
	if (part->unclear)
		domain_use_add_unclear(use, part->unclear);
}

static int domain_use_add_hostdevs(DomainUse *use, const DomainXml *xml, bool live,
				   Problem **ret_problem)
{
	DomainUse part = { 0 };
	const xmlNode *bad = NULL;
	int r;

	r = xml_read_hostdevs(xml, &part.hostdevs, &part.n_hostdevs, &bad);
	if (r < 0)
		return refuse_address(xml, bad, ret_problem);
	xml_read_arguments(xml, &part);
	merge_part(use, &part, live);
	domain_use_clear(&part);
	return 0;
}

/* libvirt takes no mdev without a UUID, and writes it in lower case. */
static void domain_use_add_mdevs(DomainUse *use, const DomainXml *xml, bool live)
{
	for (xmlNode *i = xml_first(xml_child(xml->root, "devices")); i; i = xml_next(i)) {
		const char *uuid = xml_mdev_uuid(i);

		if (uuid)
			domain_use_add_mdev(use, uuid, live, !live);
	}
}

/*
 * A running domain keeps the metadata that it was started with, even if the definition loses its
 * own. So if there is a definition, its metadata counts.
 */
static int domain_use_set_identity(DomainUse *use, const DomainXml *xml, Problem **ret_problem)
{
	if (use->uuid && strcmp(use->uuid, xml->uuid) != 0)
		return problem_set(ret_problem, GPUPASS_ERROR_INTERNAL,
				   "running domain %s is not the defined one %s", xml->uuid,
				   use->uuid);
	if (use->uuid)
		return 0;
	use->uuid = xstrdup(xml->uuid);
	use->name = xstrdup(xml->name);
	use->gpupass_groups = domain_xml_groups(xml);
	return 0;
}

static int domain_use_add_text(DomainUse *use, const char *text, bool live, Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	int r;

	if (!text)
		return 0;
	r = domain_xml_skim(text, &xml, ret_problem);
	if (r == 0)
		r = domain_use_set_identity(use, xml, ret_problem);
	if (r == 0)
		r = domain_use_add_hostdevs(use, xml, live, ret_problem);
	if (r == 0)
		domain_use_add_mdevs(use, xml, live);
	return r;
}

int domain_use_from_xml(const char *live, const char *config, DomainUse *ret, Problem **ret_problem)
{
	DomainUse use = { .active = live != NULL, .persistent = config != NULL };
	int r;

	if (!live && !config)
		return -EINVAL;
	/* The definition comes first: its name, group and aliases outlast a run. */
	r = domain_use_add_text(&use, config, false, ret_problem);
	if (r == 0)
		r = domain_use_add_text(&use, live, true, ret_problem);
	if (r != 0) {
		domain_use_clear(&use);
		return r;
	}
	domain_use_fold_mdevs(&use);
	*ret = use;
	return 0;
}
