/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/mirror/guest.h"

#include "core/domain/guest-bus.h"
#include "core/pci/host-facts.h"
#include "util/grow.h"
#include "util/text.h"

#include "guest.inc"

static bool is_expander(const xmlNode *controller)
{
	return xml_attribute_is(controller, "model", "pcie-expander-bus");
}

/* Its bus number is one of an expander's. One whose place is not known takes one of pcie.0's. */
static bool is_below_expander(const GuestBus *buses, const xmlNode *controller)
{
	unsigned index = 0;

	(void)xml_number(controller, "index", UINT8_MAX, &index);
	for (unsigned depth = 0; !buses[index].is_root && depth < GUEST_BUSES; depth++)
		index = buses[index].at.bus;
	return buses[index].is_root && index > 0;
}

/* ---- refusals ---- */

int mirror_refuse(Problem **ret_problem, char *cause, const char *remedy)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			      .reason = xstrdup("its guest cannot have the host's topology"),
			      .cause = cause,
			      .remedy = strf("%sassign with --topology=flat", remedy));
}

static int check_kind(const DomainXml *xml, Problem **ret_problem)
{
	const char *machine = xml_machine(xml);

	if (!domain_xml_is_pcie(xml) || !strstr(machine, "q35"))
		return mirror_refuse(
			ret_problem,
			strf("it has machine type '%.64s', and libvirt has pcie-expander-bus "
			     "for q35 only",
			     machine),
			"use machine type q35, or ");
	if (!domain_xml_sees_hotplug(xml))
		return mirror_refuse(ret_problem,
				     xstrdup("it has no ACPI, by which a guest finds expanders"),
				     "add <acpi/> to its <features>, or ");
	if (guest_has_other_bridges(xml))
		return mirror_refuse(
			ret_problem,
			xstrdup("its <qemu:commandline> adds a bridge past libvirt, so which bus "
				"numbers are free is not known"),
			"make it a controller of libvirt's, or ");
	return 0;
}

/* libvirt writes a busNr into each definition that it keeps. */
static int read_bus_nr(MirrorGuest *guest, const xmlNode *expander, Problem **ret_problem)
{
	unsigned bus_nr;

	if (xml_number(xml_child(expander, "target"), "busNr", UINT8_MAX, &bus_nr) < 0)
		return mirror_refuse(
			ret_problem,
			strf("its controller %.8s, a pcie-expander-bus, has no busNr, so which "
			     "bus numbers are free is not known",
			     str_or_empty(xml_attribute(expander, "index"))),
			"give it a <target busNr=…>, or ");
	if (bus_nr < guest->ceiling)
		guest->ceiling = bus_nr;
	return 0;
}

/* ---- what is left ---- */

/* QEMU refuses two ports of one chassis and slot, and libvirt gives no slot. */
static void use_chassis(MirrorGuest *guest, const xmlNode *controller)
{
	unsigned chassis;

	if (xml_number(xml_child(controller, "target"), "chassis", UINT8_MAX, &chassis) == 0 ||
	    xml_number(controller, "index", UINT8_MAX, &chassis) == 0)
		guest->chassis[chassis] = true;
}

static int read_controllers(const DomainXml *xml, MirrorGuest *guest, Problem **ret_problem)
{
	GuestBus buses[GUEST_BUSES];
	int r = 0;

	guest_buses_read(xml, buses);
	guest->floor = MIRROR_SPARE_BUSES + 1; /* with pcie.0 itself */
	for (xmlNode *i = xml_devices(xml); i && r == 0; i = xml_next(i)) {
		if (!xml_is_pci_controller(i))
			continue;
		use_chassis(guest, i);
		if (is_expander(i))
			r = read_bus_nr(guest, i, ret_problem);
		else if (!xml_attribute_is(i, "model", "pcie-root") && !is_below_expander(buses, i))
			guest->floor++;
	}
	return r;
}

/* The only node of all memory; MIRROR_NONE: none is. Other modes only prefer what they name. */
static int only_node(const xmlNode *memory)
{
	const char *nodeset = xml_attribute(memory, "nodeset"),
		   *mode = xml_attribute(memory, "mode");
	CpuSet set;

	if (mode && !str_equal(mode, "strict") && !str_equal(mode, "restrictive"))
		return MIRROR_NONE;
	if (!nodeset || cpu_set_parse(nodeset, &set) < 0 || cpu_set_count(&set) != 1)
		return MIRROR_NONE;
	for (int node = 0; node < HOST_CPUS_MAX; node++)
		if (cpu_set_has(&set, (unsigned)node))
			return node;
	return MIRROR_NONE;
}

/* A cell that has no <memnode> is where <memory> says. */
static int node_of_cell(const DomainXml *xml, unsigned id)
{
	const xmlNode *tune = xml_child(xml->root, "numatune");
	unsigned of;

	for (xmlNode *i = xml_first(tune); i; i = xml_next(i))
		if (xml_is(i, "memnode") && xml_number(i, "cellid", UINT16_MAX, &of) == 0 &&
		    of == id)
			return only_node(i);
	return only_node(xml_child(tune, "memory"));
}

static void read_cells(const DomainXml *xml, MirrorGuest *guest)
{
	const xmlNode *numa = xml_child(xml_child(xml->root, "cpu"), "numa");

	for (xmlNode *i = xml_first(numa); i; i = xml_next(i)) {
		/* Without ids libvirt counts. */
		unsigned id = (unsigned)guest->n_cells;

		if (!xml_is(i, "cell"))
			continue;
		xml_number(i, "id", UINT16_MAX, &id);
		*GROW(guest->cells, guest->n_cells) =
			(MirrorCell){ .id = id, .host_node = node_of_cell(xml, id) };
	}
}

int mirror_guest_read(const DomainXml *xml, MirrorGuest *guest, Problem **ret_problem)
{
	int r = check_kind(xml, ret_problem);

	guest->ceiling = MIRROR_BUSES;
	if (r == 0)
		r = read_controllers(xml, guest, ret_problem);
	guest->index = xml_free_index(xml);
	xml_used_slots(xml, guest->slots);
	read_cells(xml, guest);
	return r;
}

int mirror_guest_cell(const MirrorGuest *guest, int host_node)
{
	const MirrorCell *cell = FIND(guest->cells, guest->n_cells, it->host_node == host_node);

	return cell && host_node != MIRROR_NONE ? (int)cell->id : MIRROR_NONE;
}

char *mirror_guest_cells_text(const MirrorGuest *guest)
{
	_cleanup_strv_ char **parts = NULL;

	for (size_t i = 0; i < guest->n_cells; i++) {
		const MirrorCell *cell = &guest->cells[i];

		if (cell->host_node == MIRROR_NONE)
			strv_appendf(&parts, "its cell %u on none or several", cell->id);
		else
			strv_appendf(&parts, "its cell %u on node %d", cell->id, cell->host_node);
	}
	return parts ? strv_join(parts, ", ") : xstrdup("it has no cells");
}
