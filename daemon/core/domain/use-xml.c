/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a domain uses: read from its XML, and merged from what runs and what is defined. */
#include <search.h>

#include "core/domain/guest-bus.h"
#include "core/domain/ref.h"
#include "core/domain/xml-tree.h"
#include "core/domain/xml.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * Where libvirt has a PCI address of the host: <source><address> in these elements, at any depth.
 * tests/check-libvirt-schema compares them with libvirt's own schemas.
 * X(element, type, which element's type tells that the address is PCI)
 */
#define XML_HOST_PLACES(X)                                                                         \
	X("hostdev", "pci", ITSELF)                                                                \
	X("interface", "hostdev", ADDRESS)                                                         \
	X("disk", "nvme", SOURCE)                                                                  \
	X("backingStore", "nvme", SOURCE) /* of a disk, a mirror or another one */                 \
	X("mirror", "nvme", SOURCE)                                                                \
	X("dataStore", "nvme", SOURCE) /* since 11.0, in the source itself */                      \
	X("nvram", "nvme", SOURCE)     /* <os><nvram>: QEMU's driver refuses it by now */

/* The function that an SCSI host is on, which stays with the host: <adapter><parentaddr>. */
#define XML_HOST_PARENT "parentaddr"

typedef enum Teller { ITSELF, SOURCE, ADDRESS } Teller;

static const struct HostPlace {
	const char *element, *type;
	Teller teller;
} places[] = {
#define X(element, type, teller) { element, type, teller },
	XML_HOST_PLACES(X)
#undef X
};

static const struct HostPlace *find_place(const xmlNode *node)
{
	return FIND(places, ELEMENTS(places),
		    xml_is(node, it->element) && xml_attribute_is(node, "type", it->type));
}

/* It gives the guest a PCI function of the host. */
static bool takes_function(const xmlNode *node)
{
	const struct HostPlace *place = find_place(node);
	const xmlNode *source = xml_child(node, "source");

	if (!place || place->teller == ITSELF)
		return place && xml_is_pci_hostdev(node);
	return xml_attribute_is(place->teller == SOURCE ? source : xml_child(source, "address"),
				"type", "pci");
}

static bool is_device(const xmlNode *root, const xmlNode *node)
{
	return node != root && node->parent != root && node->parent->parent == root &&
	       xml_is(node->parent, "devices");
}

/* <address> of a device itself: that in the guest. */
static bool is_guest_address(const xmlNode *root, const xmlNode *address)
{
	return address->parent != root && is_device(root, address->parent);
}

/*
 * A PCI address of the host where no row of the table has one. What a later libvirt means by it is
 * not known, so it counts as one that the guest gets.
 */
static bool is_stray_address(const xmlNode *root, const xmlNode *node)
{
	const char *type;

	if (!xml_is(node, "address") || node == root || is_guest_address(root, node) ||
	    xml_is(node->parent, XML_HOST_PARENT))
		return false;
	if (xml_is(node->parent, "source") && takes_function(node->parent->parent) &&
	    xml_child(node->parent->parent, "source") == node->parent &&
	    xml_child(node->parent, "address") == node)
		return false;
	type = xml_attribute(node, "type");
	if (type)
		return str_equal(type, "pci");
	return xml_attribute(node, "domain") || xml_attribute(node, "slot") ||
	       xml_attribute(node, "function");
}

/* libvirt gives each a MAC. With more than one tag the guest may choose. */
static void read_interface(const xmlNode *node, DomainHostdev *hostdev)
{
	const xmlNode *vlan = xml_child(node, "vlan"), *tag = xml_child(vlan, "tag");

	snprintf(hostdev->mac, sizeof(hostdev->mac), "%s",
		 str_or_empty(xml_attribute(xml_child(node, "mac"), "address")));
	if (vlan && (!tag || xml_next(tag) || xml_attribute_is(vlan, "trunk", "yes") ||
		     xml_number(tag, "id", UINT16_MAX, &hostdev->vlan) < 0))
		hostdev->vlan = UINT_MAX;
}

static int read_function(const xmlNode *node, bool stray, DomainUse *use)
{
	DomainHostdev hostdev = { .managed = xml_attribute_is(node, "managed", "yes") };
	int r = stray ? xml_address(node, &hostdev.bdf) : xml_host_address(node, &hostdev.bdf);

	if (r < 0)
		return -EBADMSG;
	/* <source managed=…> of an NVMe disk, whose own address is that of a disk. */
	if (!stray && find_place(node)->teller == SOURCE)
		hostdev.managed = xml_attribute_is(xml_child(node, "source"), "managed", "yes");
	else
		hostdev.has_guest = xml_guest_address(node, &hostdev.guest) == 0;
	if (!stray && find_place(node)->teller == ADDRESS)
		read_interface(node, &hostdev);
	domain_use_add(use, &hostdev, xml_alias(node));
	return 0;
}

/* Libvirt's own: neither metadata nor what is in a name space. */
static bool is_libvirts(const xmlNode *root, const xmlNode *node)
{
	return !node->ns && !(node->parent == root && xml_is(node, "metadata"));
}

/* The next element in document order. Without recursion: it may be deep. */
static const xmlNode *next_element(const xmlNode *root, const xmlNode *at)
{
	const xmlNode *next = is_libvirts(root, at) ? xml_first(at) : NULL;

	for (; !next && at != root; at = at->parent)
		next = xml_next(at);
	return next;
}

static int read_functions(const DomainXml *xml, bool devices, DomainUse *use,
			  const xmlNode **ret_bad)
{
	int r = 0;

	for (const xmlNode *i = xml->root; i && r == 0; i = next_element(xml->root, i)) {
		bool stray = is_stray_address(xml->root, i);

		if ((!stray && !takes_function(i)) ||
		    (!stray && is_device(xml->root, i)) != devices)
			continue;
		*ret_bad = i;
		r = read_function(i, stray, use);
	}
	return r;
}

/*
 * On -EBADMSG *ret_bad is the element whose address cannot be read. Devices first: of two elements
 * with one function theirs has an alias, and its guest address.
 */
static int read_hostdevs(const DomainXml *xml, DomainUse *use, const xmlNode **ret_bad)
{
	int r = read_functions(xml, true, use, ret_bad);

	return r < 0 ? r : read_functions(xml, false, use, ret_bad);
}

bool domain_xml_in_shared_slot(const DomainXml *xml, const Bdf *function)
{
	const xmlNode *devices = xml_child(xml->root, "devices");
	const xmlNode *mine = NULL;
	Bdf place, other;

	for (const xmlNode *d = xml_first(devices); d && !mine; d = xml_next(d))
		if (xml_is_pci_device(d) && xml_host_address(d, &other) == 0 &&
		    bdf_equal(&other, function))
			mine = d;
	if (!mine || xml_guest_address(mine, &place) < 0)
		return false;
	for (const xmlNode *d = xml_first(devices); d; d = xml_next(d))
		if (d != mine && xml_guest_address(d, &other) == 0 && bdf_same_slot(&other, &place))
			return true;
	return false;
}

int domain_xml_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n)
{
	DomainUse use = { 0 }; /* so that domain_use_clear() can free what there is */
	const xmlNode *bad;
	int r = read_hostdevs(xml, &use, &bad);

	if (r < 0) {
		domain_use_clear(&use);
		return r;
	}
	*ret = use.hostdevs;
	*ret_n = use.n_hostdevs;
	return 0;
}

/* A tree: whoever writes the XML chooses how many there are. */
typedef struct Known {
	Bdf bdf;
	size_t index;
} Known;

/* The one that is there, or a new one with this index. */
static const Known *find_known(void **known, const Bdf *bdf, size_t index)
{
	Known *place = xmalloc(sizeof(Known));
	Known **found;

	*place = (Known){ *bdf, index };
	found = tsearch(place, known, bdf_compare);
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
	const Known *place = find_known(known, &hostdev->bdf, use->n_hostdevs);
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
		there->has_seen = hostdev->has_seen;
		there->seen = hostdev->seen;
		memcpy(there->path, hostdev->path, sizeof(there->path));
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

#define DISKS_MAX 4096

/*
 * Block devices by their paths, wherever a <source> has one: of a disk of type 'block', of one of
 * type 'file' all the same, of what is below it. Of an interface `dev` is a name without a slash.
 */
static void read_disks(const DomainXml *xml, DomainUse *use)
{
	size_t n = strv_length(use->disks);

	for (const xmlNode *i = xml->root; i; i = next_element(xml->root, i)) {
		const char *path = xml_is(i, "source") ? xml_attribute(i, "dev") : NULL;

		if (!path && xml_is(i, "source"))
			path = xml_attribute(i, "file");
		if (!path || !str_starts_with(path, "/dev/") || strv_contains(use->disks, path))
			continue;
		if (n++ == DISKS_MAX) {
			domain_use_add_unclear(use, "more disks than gpupass looks at");
			return;
		}
		strv_append(&use->disks, path);
	}
}

static void merge_part(DomainUse *use, DomainUse *part, bool live)
{
	void *known = NULL;

	for (size_t i = 0; i < use->n_hostdevs; i++)
		find_known(&known, &use->hostdevs[i].bdf, i);
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

static void find_in_guest(const DomainXml *xml, DomainUse *part)
{
	GuestBus buses[GUEST_BUSES];

	if (part->n_hostdevs == 0)
		return;
	guest_buses_read(xml, buses);
	for (size_t i = 0; i < part->n_hostdevs; i++)
		if (part->hostdevs[i].has_guest)
			guest_buses_find(buses, &part->hostdevs[i]);
}

static int domain_use_add_hostdevs(DomainUse *use, const DomainXml *xml, bool live,
				   Problem **ret_problem)
{
	_cleanup_(domain_use_clear) DomainUse part = { 0 };
	const xmlNode *bad = NULL;

	if (read_hostdevs(xml, &part, &bad) < 0)
		return refuse_address(xml, bad, ret_problem);
	find_in_guest(xml, &part);
	xml_read_arguments(xml, &part);
	/* libvirt takes no mdev without a UUID, and writes it in lower case. */
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		if (xml_mdev_uuid(i))
			domain_use_add_mdev(&part, xml_mdev_uuid(i), live, !live);
	merge_part(use, &part, live);
	if (!live)
		use->tree = domain_xml_mirror(xml);
	read_disks(xml, use);
	return 0;
}

/*
 * A running domain keeps the metadata that it was started with, even if the definition loses its
 * own. So if there is a definition, its metadata counts.
 */
static int domain_use_set_identity(DomainUse *use, const DomainXml *xml, Problem **ret_problem)
{
	if (use->uuid && strcmp(use->uuid, xml->uuid) != 0)
		return problem_set(ret_problem, GPUPASS_ERROR_LIBVIRT_FAILED,
				   "running domain %s is not the defined one %s", xml->uuid,
				   use->uuid);
	if (use->uuid)
		return 0;
	use->uuid = xstrdup(xml->uuid);
	use->name = xstrdup(xml->name);
	use->gpupass_groups = domain_xml_groups(xml);
	use->former_mark = domain_xml_has_former(xml);
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
