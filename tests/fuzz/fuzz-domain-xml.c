/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A domain's XML: read, skimmed, written, edited, and shown as a difference. Whatever the tenant
 * wrote into it, an edit and its inverse leave the same document, and nothing of others is touched.
 */
#include <libxml/parser.h>

#include "core/domain/xml-tree.h"
#include "core/domain/xml-tune.h"
#include "core/domain/xml.h"
#include "core/fit/domain.h"
#include "core/mirror/mirror.h"
#include "fuzz.h"
#include "util/text.h"
#include "xml-mutator.h"

typedef struct Scene {
	const char *group;
	DomainXmlGpu gpus[2];
	size_t n_gpus;
	Bdf functions[4];
	size_t n_functions;
} Scene;

/* The addresses of the fixtures, and a board whose function 0 stays on the host. */
static const Scene scenes[] = {
	{ .group = "pair0",
	  .gpus = { { .functions = { { 0, 0x41, 0, 0 }, { 0, 0x41, 0, 1 } },
		      .n_functions = 2,
		      .clique = true },
		    { .functions = { { 0, 0x61, 0, 0 }, { 0, 0x61, 0, 1 } },
		      .n_functions = 2,
		      .clique = true } },
	  .n_gpus = 2,
	  .functions = { { 0, 0x41, 0, 0 },
			 { 0, 0x41, 0, 1 },
			 { 0, 0x61, 0, 0 },
			 { 0, 0x61, 0, 1 } },
	  .n_functions = 4 },
	{ .group = "a.b_c",
	  .gpus = { { .functions = { { 0x10000, 0x41, 0, 1 } }, .n_functions = 1 } },
	  .n_gpus = 1,
	  .functions = { { 0x10000, 0x41, 0, 1 } },
	  .n_functions = 1 },
};

static DomainXml *parse(const char *text)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainXml *xml = NULL;
	int r = domain_xml_parse(text, &xml, &problem);

	EXPECT((r == 0) == (xml != NULL));
	EXPECT(r == 0 || problem);
	return xml;
}

/* ---- reading ---- */

/* Our metadata is there by the name that is written: one that is not shows in the difference. */
static bool is_of_today(const char *text)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;

	EXPECT(xml_read(text, false, &xml, NULL) == 0);
	for (const xmlNode *i = xml_assignment(xml); i; i = xml_next_node((xmlNode *)i, i->parent))
		if (i->ns && str_equal((const char *)i->ns->href, DOMAIN_XML_FORMER_NAMESPACE))
			return false;
	return !xml_next_assignment(xml_assignment(xml));
}

static void what_is_written_reads_as_the_same(const char *text, const DomainXml *xml)
{
	_cleanup_free_ char *once = domain_xml_to_text(xml), *twice = NULL, *diff = NULL;
	_cleanup_(domain_xml_freep) DomainXml *again = parse(once);

	EXPECT(again);
	twice = domain_xml_to_text(again);
	EXPECT_SAME_TEXT(once, twice);
	EXPECT(domain_xml_equivalent(text, once) && domain_xml_equivalent(once, text));
	EXPECT_SAME_TEXT(domain_xml_name(xml), domain_xml_name(again));
	EXPECT_SAME_TEXT(domain_xml_uuid(xml), domain_xml_uuid(again));
	diff = domain_xml_diff(text, once);
	if (is_of_today(text))
		EXPECT_SAME_TEXT(diff, "");
}

static bool same_hostdevs(const DomainXml *a, const DomainXml *b)
{
	DomainUse one = { 0 }, other = { 0 };
	int r = domain_xml_hostdevs(a, &one.hostdevs, &one.n_hostdevs);
	bool same = r == domain_xml_hostdevs(b, &other.hostdevs, &other.n_hostdevs) &&
		    one.n_hostdevs == other.n_hostdevs;

	for (size_t i = 0; same && i < one.n_hostdevs; i++)
		same = bdf_equal(&one.hostdevs[i].bdf, &other.hostdevs[i].bdf) &&
		       one.hostdevs[i].managed == other.hostdevs[i].managed &&
		       str_equal(one.hostdevs[i].alias, other.hostdevs[i].alias);
	domain_use_clear(&one);
	domain_use_clear(&other);
	return same;
}

/* The groups that our metadata names, in their order. */
static char *groups_text(const DomainXml *xml)
{
	_cleanup_strv_ char **groups = NULL;

	groups = domain_xml_groups(xml);
	return strv_join(groups, ",");
}

/* The quick look takes all that the full one takes, and sees the same there. */
static void a_skim_sees_the_same(const char *text, const DomainXml *xml)
{
	_cleanup_(domain_xml_freep) DomainXml *skimmed = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *one = groups_text(xml), *other = NULL;

	EXPECT(domain_xml_skim(text, &skimmed, &problem) == 0);
	EXPECT_SAME_TEXT(domain_xml_name(xml), domain_xml_name(skimmed));
	EXPECT_SAME_TEXT(domain_xml_uuid(xml), domain_xml_uuid(skimmed));
	other = groups_text(skimmed);
	EXPECT_SAME_TEXT(one, other);
	EXPECT(same_hostdevs(xml, skimmed));
}

/* Boards below one switch. */
static const PciFunction boards[] = {
	{ .bdf = { 0, 0x41, 0, 0 },
	  .upstream = (Bdf[]){ { 0, 0x40, 1, 0 }, { 0, 0x42, 0, 0 }, { 0, 0x43, 0, 0 } },
	  .n_upstream = 3 },
	{ .bdf = { 0, 0x61, 0, 0 },
	  .upstream = (Bdf[]){ { 0, 0x40, 1, 0 }, { 0, 0x42, 0, 0 }, { 0, 0x43, 1, 0 } },
	  .n_upstream = 3 },
};
static const PciFunction *const members[] = { &boards[0], &boards[1] };

static void its_tree_is_read(const DomainXml *xml)
{
	static const Bdf addresses[] = { { 0, 0x41, 0, 0 }, { 0, 0x61, 0, 0 } };
	_cleanup_(mirror_tree_freep) MirrorTree *tree = domain_xml_mirror(xml), *part = NULL;
	_cleanup_free_ char *flaw = mirror_flaw(tree, true, members, ELEMENTS(members), 1);
	_cleanup_(problem_freep) Problem *problem = NULL;

	part = mirror_tree_part(tree, addresses, ELEMENTS(addresses));
	EXPECT(flaw || part);
	EXPECT(!part || mirror_number(part, xml, &problem) == 0 || problem);
}

static void its_use_is_read(const char *text)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainUse use = { 0 };

	if (domain_use_from_xml(text, text, &use, &problem) == 0)
		EXPECT(use.uuid && use.name && use.active && use.persistent);
	else
		EXPECT(problem && !use.uuid && !use.hostdevs);
	domain_use_clear(&use);
}

static void its_fit_is_read(const DomainXml *xml)
{
	FitDomain fit = fit_domain_read(xml);

	fit_domain_clear(&fit);
	domain_xml_is_pcie(xml);
	domain_xml_sees_hotplug(xml);
	EXPECT(domain_xml_free_slots(xml) <= 32);
	domain_xml_free_root_ports(xml);
	domain_xml_in_shared_slot(xml, &scenes[0].functions[0]);
}

/* ---- editing ---- */

/* It may have been made by gpupass, or be one of these functions. */
static bool may_be_ours(const Scene *scene, const xmlNode *node, const char *text)
{
	Bdf bdf;

	return strstr(text, DOMAIN_ALIAS_PREFIX) ||
	       (xml_is_pci_hostdev(node) && xml_host_address(node, &bdf) == 0 &&
		bdf_in(&bdf, scene->functions, scene->n_functions));
}

/* Of elements outside of <devices> only these may be changed or come and go. */
static bool may_change(const xmlNode *node, bool tuned)
{
	const char *name = (const char *)node->name;

	if (str_equal(name, "metadata") || str_equal(name, "devices") ||
	    str_equal(name, "override"))
		return true;
	return tuned && (str_equal(name, "numatune") || str_equal(name, "vcpu") ||
			 str_equal(name, "cpu") || str_equal(name, "commandline"));
}

static char *dump(const xmlNode *node)
{
	xmlBuffer *buffer = xmlBufferCreate();
	char *text;

	EXPECT(xmlNodeDump(buffer, node->doc, (xmlNode *)node, 0, 0) >= 0);
	text = strdup((const char *)xmlBufferContent(buffer));
	EXPECT(text);
	xmlBufferFree(buffer);
	return text;
}

static bool is_mark(const xmlNode *node)
{
	return xml_is_in_ours(node);
}

/* What stands in an element of the domain that may be changed, and is none of ours. */
static void list_inside(const xmlNode *parent, const Scene *scene, char ***list)
{
	for (const xmlNode *i = xml_first(parent); i; i = xml_next(i)) {
		_cleanup_free_ char *text = dump(i);

		if (!is_mark(i) && !(xml_is(parent, "devices") && may_be_ours(scene, i, text)))
			strv_append(list, text);
	}
}

/* All that is none of ours, each element as it stands there, in order. */
static char **list_others(const DomainXml *xml, const Scene *scene, bool tuned)
{
	char **list = NULL;

	for (const xmlNode *i = xml_first(xml->root); i; i = xml_next(i)) {
		_cleanup_free_ char *text = may_change(i, tuned) ? NULL : dump(i);

		if (text)
			strv_append(&list, text);
		if (xml_is(i, "devices") || xml_is(i, "metadata"))
			list_inside(i, scene, &list);
	}
	return list;
}

/* They are all there, in order. A root port of ours that others use has become theirs. */
static void expect_same_others(char *const *before, const DomainXml *xml, const Scene *scene,
			       bool tuned)
{
	_cleanup_strv_ char **after = list_others(xml, scene, tuned);
	char **at = after;

	for (; before && *before; before++, at++) {
		while (at && *at && !str_equal(*at, *before) && str_starts_with(*at, "<controller"))
			at++;
		EXPECT_SAME_TEXT(*before, at ? *at : NULL);
	}
	for (; at && *at; at++)
		EXPECT(str_starts_with(*at, "<controller"));
}

/*
 * Elements that an edit may leave away when nothing is in them, or leave without their white space:
 * libvirt writes none of either kind.
 */
static void drop_empty(const DomainXml *xml, bool tuned)
{
	for (xmlNode *i = xml_first(xml->root), *next; i; i = next) {
		next = xml_next(i);
		if (!may_change(i, tuned) || !xml_is_empty(i))
			continue;
		if (i->properties || i->nsDef || xml_is(i, "vcpu") || xml_is(i, "cpu"))
			xmlNodeSetContent(i, NULL);
		else
			xml_remove(i);
	}
}

/* The document without what this group left in it, which is what an assign begins with. */
static DomainXml *cleaned(const char *text, const Scene *scene)
{
	DomainXml *xml = parse(text);
	_cleanup_strv_ char **others = list_others(xml, scene, true);
	_cleanup_free_ char *once = NULL, *twice = NULL;
	bool changed = false;

	while (domain_xml_unmark(xml))
		;
	domain_xml_remove_group(xml, scene->group, scene->functions, scene->n_functions, &changed);
	expect_same_others(others, xml, scene, true);
	once = domain_xml_to_text(xml);
	domain_xml_remove_group(xml, scene->group, scene->functions, scene->n_functions, &changed);
	EXPECT(!changed);
	twice = domain_xml_to_text(xml);
	EXPECT_SAME_TEXT(once, twice);
	drop_empty(xml, true);
	return xml;
}

static void the_whole_group_is_there(const DomainXml *xml, const Scene *scene)
{
	_cleanup_strv_ char **groups = NULL;
	DomainUse use = { 0 };

	groups = domain_xml_groups(xml);
	EXPECT(strv_contains(groups, scene->group));
	if (domain_xml_hostdevs(xml, &use.hostdevs, &use.n_hostdevs) < 0)
		return; /* another hostdev cannot be read */
	for (size_t i = 0; i < scene->n_functions; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(&use, &scene->functions[i]);

		EXPECT(hostdev && !hostdev->managed && hostdev->has_guest);
		EXPECT(str_starts_with(str_or_empty(hostdev->alias), DOMAIN_ALIAS_PREFIX));
	}
	domain_use_clear(&use);
}

/* What --fit=apply and --numa=apply add, as far as the domain has nothing of its own there. */
static bool tune(DomainXml *xml)
{
	const xmlNode *numatune = xml_child(xml->root, "numatune");
	const xmlNode *vcpu = xml_child(xml->root, "vcpu"), *cpu = xml_child(xml->root, "cpu");
	FitDomain fit = fit_domain_read(xml);
	FitTune what = { 0 };

	if (!xml_child(numatune, "memory"))
		what.nodeset = strdup("1");
	if (vcpu && !xml_attribute(vcpu, "cpuset"))
		what.cpuset = strdup("8-15");
	what.passthrough = cpu && !xml_child(cpu, "maxphysaddr");
	what.mmio_mb = fit.mmio_mb == 0 ? 262144 : 0;
	EXPECT(domain_xml_tune(xml, &what) == 0);
	fit_tune_clear(&what);
	fit_domain_clear(&fit);
	return true;
}

static bool has_secret(const xmlChar *text)
{
	return text && strstr((const char *)text, XML_SECRET);
}

/* Texts of these elements are shown. */
static bool is_open(const xmlNode *node)
{
	static const char *const names[] = { "name", "uuid", "memory", "currentMemory",
					     "vcpu", "type", NULL };

	for (size_t i = 0; !node->ns && names[i]; i++)
		if (str_equal((const char *)node->name, names[i]))
			return true;
	return false;
}

/* The fuzzer has put it where it is no secret. */
static bool shows_secret(const xmlNode *node)
{
	if (node->type != XML_ELEMENT_NODE)
		return (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) &&
		       has_secret(node->content) && is_open(node->parent);
	if (xml_is(node, "hostdev") || xml_is(node, "controller") || is_mark(node)) {
		/* An edit may remove all of it. */
		_cleanup_free_ char *text = dump(node);

		return has_secret((const xmlChar *)text);
	}
	if (has_secret(node->name))
		return true;
	for (const xmlNs *i = node->nsDef; i; i = i->next)
		if (has_secret(i->prefix) || has_secret(i->href))
			return true;
	for (const xmlAttr *i = node->properties; i; i = i->next)
		if (has_secret(i->name) ||
		    (i->children && has_secret(i->children->content) && !node->ns &&
		     !str_equal((const char *)i->name, "passwd") &&
		     !str_equal((const char *)i->name, "secret")))
			return true;
	for (const xmlNode *i = node->children; i; i = i->next)
		if (shows_secret(i))
			return true;
	return false;
}

static void the_difference_has_no_secret(const char *before, const char *after)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = parse(before);
	_cleanup_free_ char *diff = domain_xml_diff(before, after);

	EXPECT(!diff || !strstr(diff, XML_SECRET) || shows_secret(xml->root));
	EXPECT(!diff || *diff || domain_xml_equivalent(before, after));
}

/* White space beside texts of <devices> means nothing: libvirt has no texts there. */
static char *squeeze(char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++)
		if (!strchr(" \t\n", *c))
			*to++ = *c;
	*to = '\0';
	return text;
}

static void expect_gone_again(const char *clean, const char *after, const Scene *scene, bool tuned)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = parse(after), *was = parse(clean);
	_cleanup_strv_ char **others = list_others(was, scene, tuned);
	_cleanup_free_ char *back = NULL, *began = strdup(clean);
	bool changed = false;

	domain_xml_remove_group(xml, scene->group, scene->functions, scene->n_functions, &changed);
	EXPECT(changed);
	expect_same_others(others, xml, scene, tuned);
	drop_empty(xml, true);
	back = domain_xml_to_text(xml);
	if (!domain_xml_equivalent(clean, back))
		EXPECT_SAME_TEXT(squeeze(began), squeeze(back));
}

/* A prefix that nothing declares, which becomes a namespace when an edit declares it. */
static bool has_loose_prefix(const xmlNode *node)
{
	for (; node; node = node->next) {
		if (node->type != XML_ELEMENT_NODE)
			continue;
		if (strchr((const char *)node->name, ':') || has_loose_prefix(node->children))
			return true;
		for (const xmlAttr *i = node->properties; i; i = i->next)
			if (strchr((const char *)i->name, ':'))
				return true;
	}
	return false;
}

/* libvirt writes one <metadata> and one <devices> at most. */
static bool is_of_libvirts_form(const DomainXml *xml)
{
	unsigned n_metadata = 0, n_devices = 0;

	for (const xmlNode *i = xml_first(xml->root); i; i = xml_next(i)) {
		n_metadata += xml_is(i, "metadata");
		n_devices += xml_is(i, "devices");
	}
	return n_metadata <= 1 && n_devices <= 1 && !has_loose_prefix(xml->root);
}

/* NULL: this domain can have no such tree. */
static MirrorTree *mirror_of(const DomainXml *xml, const Scene *scene)
{
	MirrorFacts facts = {
		.xml = xml, .members = members, .n_members = scene->n_gpus, .n_nodes = 1
	};
	_cleanup_(problem_freep) Problem *problem = NULL;
	MirrorTree *tree = NULL;
	int r = mirror_make(&facts, &tree, &problem);

	EXPECT((r == 0) == (tree != NULL));
	EXPECT(r == 0 || problem);
	return tree;
}

static void an_edit_and_its_inverse(const char *text, const Scene *scene, bool tuned, bool mirrored)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = cleaned(text, scene);
	_cleanup_free_ char *clean = domain_xml_to_text(xml), *after = NULL;
	_cleanup_(mirror_tree_freep) MirrorTree *tree = mirrored ? mirror_of(xml, scene) : NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r;

	r = domain_xml_add_group(xml, scene->group, scene->gpus, scene->n_gpus, tree, &problem);
	if (r != 0) {
		EXPECT(problem);
		after = domain_xml_to_text(xml);
		EXPECT_SAME_TEXT(clean, after);
		return;
	}
	tuned = tuned && tune(xml);
	the_whole_group_is_there(xml, scene);
	after = domain_xml_to_text(xml);
	EXPECT(!domain_xml_equivalent(clean, after));
	the_difference_has_no_secret(clean, after);
	the_difference_has_no_secret(text, after);
	expect_gone_again(clean, after, scene, tuned);
}

/* promise T6 */
void fuzz_one(const char *bytes, size_t size, const char *text)
{
	const Scene *scene = &scenes[size % ELEMENTS(scenes)];
	_cleanup_(domain_xml_freep) DomainXml *xml = parse(text);

	its_use_is_read(text);
	if (!xml)
		return;
	what_is_written_reads_as_the_same(text, xml);
	a_skim_sees_the_same(text, xml);
	its_fit_is_read(xml);
	its_tree_is_read(xml);
	if (is_of_libvirts_form(xml))
		an_edit_and_its_inverse(text, scene, size & 2, size & 4);
}
