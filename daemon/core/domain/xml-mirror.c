/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a mirrored tree back from the definition that has it. */
#include "core/domain/xml-tree.h"
#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Ours, of whichever group. */
static bool is_ours(const xmlNode *controller)
{
	const char *alias = xml_alias(controller);

	return xml_is_pci_controller(controller) && alias &&
	       str_starts_with(alias, DOMAIN_ALIAS_PREFIX) && strstr(alias, "-" DOMAIN_ALIAS_PORT);
}

/* Members, of which whoever writes the XML has as many as he likes, are behind all controllers. */
static int node_of_index(const MirrorTree *tree, unsigned index)
{
	for (size_t i = 0; i < tree->n_nodes && tree->nodes[i].role != MIRROR_MEMBER; i++)
		if (tree->nodes[i].index == (int)index)
			return (int)i;
	return MIRROR_NONE;
}

/* Only below what is in the tree already: libvirt sorts controllers by their indices. */
static MirrorNode *add(MirrorTree *tree, MirrorRole role, const xmlNode *device)
{
	bool top = role == MIRROR_EXPANDER;
	int parent;
	Bdf at;

	if (xml_guest_address(device, &at) < 0)
		return NULL;
	parent = top ? MIRROR_NONE : node_of_index(tree, at.bus);
	if (top ? at.bus != 0 : parent == MIRROR_NONE)
		return NULL;
	parent = mirror_tree_add(tree, role, parent, &at);
	return &tree->nodes[parent];
}

static int cell_of(const xmlNode *target)
{
	xmlNode *node = xml_child(target, "node");
	_cleanup_xml_char_ xmlChar *text = node ? xmlNodeGetContent(node) : NULL;
	unsigned long long cell;

	if (!text || str_to_unsigned((const char *)text, 10, UINT16_MAX, &cell) < 0)
		return MIRROR_NONE;
	return (int)cell;
}

static void read_controller(MirrorTree *tree, const xmlNode *controller)
{
	const xmlNode *target = xml_child(controller, "target");
	const char *model = xml_attribute(controller, "model");
	MirrorNode *node;
	MirrorRole role;
	unsigned index, bus_nr;

	if (!is_ours(controller) || !model || mirror_role_from_string(model, &role) < 0 ||
	    role == MIRROR_MEMBER || xml_number(controller, "index", UINT8_MAX, &index) < 0 ||
	    node_of_index(tree, index) != MIRROR_NONE)
		return;
	node = add(tree, role, controller);
	if (!node)
		return;
	node->index = (int)index;
	node->cell = cell_of(target);
	(void)xml_number(target, "chassis", UINT8_MAX, &node->chassis);
	if (xml_number(target, "busNr", UINT8_MAX, &bus_nr) == 0)
		node->bus_nr = (int)bus_nr;
}

static void read_member(MirrorTree *tree, const xmlNode *device, int *number)
{
	MirrorNode *node;
	Bdf host;

	if (!xml_is_pci_device(device) || xml_host_address(device, &host) < 0)
		return;
	node = add(tree, MIRROR_MEMBER, device);
	if (!node)
		return;
	node->host = host;
	node->member = (*number)++;
}

static size_t count_cells(const DomainXml *xml)
{
	size_t n = 0;

	for (xmlNode *i = xml_first(xml_child(xml_child(xml->root, "cpu"), "numa")); i;
	     i = xml_next(i))
		n += xml_is(i, "cell");
	return n;
}

MirrorTree *domain_xml_mirror(const DomainXml *xml)
{
	MirrorTree *tree = xcalloc(1, sizeof(*tree));
	int number = 0;

	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		read_controller(tree, i);
	if (tree->n_nodes == 0)
		return mirror_tree_free(tree);
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		read_member(tree, i, &number);
	tree->n_cells = count_cells(xml);
	mirror_tree_find_guest(tree);
	return tree;
}
