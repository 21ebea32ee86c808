/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtual machine of Proxmox VE, by its file /etc/pve/qemu-server/VMID.conf. Whoever may
 * configure a machine through Proxmox VE's interface chooses much of that text: names, a
 * description, snapshots. So the parser is bounded, and takes and leaves what Proxmox VE's own
 * does. Where versions of that differ, the machine may have the functions, or, if none can be read,
 * any.
 */
#pragma once

#include "core/base/json-struct.h"
#include "util/bdf.h"

#define MACHINE_VMID_MIN 100
#define MACHINE_VMID_MAX 999999999
#define MACHINE_DEVICES_MAX 512
#define MACHINE_DISKS_MAX 1024
/* Proxmox VE's own limit of a file in /etc/pve. */
#define MACHINE_FILE_MAX (1024 * 1024)

#define MACHINE_FILES "/etc/pve/qemu-server"
#define MACHINE_MAPPINGS "/etc/pve/mapping/pci.cfg"

typedef struct MachineDevice {
	Bdf bdf;
	bool now _json_(if_any); /* it has it if it runs */
	bool next _json_(
		if_any); /* it gets it with its next start, when pending changes are applied */
	/* not surely: a mapping has alternatives on this node, or the line is doubtful */
	bool maybe _json_(if_any);
} MachineDevice;
DECLARE_JSON(MachineDevice, machine_device_members)

typedef struct Machine {
	uint32_t vmid _json_(max MACHINE_VMID_MAX);
	/* seconds since the epoch, which tells it from an earlier one; 0: not known */
	uint32_t created _json_(if_any);
	bool running _json_(if_any); /* not in the file */
	char *name _json_(if_any);   /* a DNS name; NULL: none */
	/* why not all functions are known: begins with a file's path; NULL: they are */
	char *unread _json_(if_any);
	MachineDevice *devices _json_(max MACHINE_DEVICES_MAX);
	size_t n_devices;
	char **mdevs; /* UUIDs of its vGPUs */
	char **disks; /* block devices of the host that its file names */
} Machine;
DECLARE_CLEAR(Machine, machine_clear)
DECLARE_JSON(Machine, machine_members)

typedef struct Machines {
	Machine *items;
	size_t n_items;
} Machines;
DECLARE_FREE(Machines, machines_free)

/* The paths that this node's part of a mapping has (/etc/pve/mapping/pci.cfg). */
typedef struct MachineMap {
	char *name;
	char **paths;  /* alternatives; each "0000:41:00", or several with ; between them */
	bool doubtful; /* other versions of Proxmox VE may read other paths */
} MachineMap;

typedef struct MachineMaps {
	MachineMap *items;
	size_t n_items;
	char *fault; /* why none of them counts; NULL: they do */
} MachineMaps;
DECLARE_CLEAR(MachineMaps, machine_maps_clear)

/* What is wrong with the file is `unread`. */
Machine machine_parse(uint32_t vmid, const char *text, size_t size, const MachineMaps *maps);

/* machine-map.c. `node` is this host's name in the cluster. */
MachineMaps machine_maps_parse(const char *text, size_t size, const char *node);
MachineMap *machine_maps_find(const MachineMaps *maps, const char *name);
/* "101.conf" is 101; 0: it is no such name. */
uint32_t machine_vmid(const char *file);

/* ---- what both files are made of ---- */

/* Perl's \s within a line, and PVE's digits of an address. */
#define MACHINE_BLANKS " \t\r\f\v"
#define MACHINE_HEX "0123456789abcdef"

/* PVE::JSONSchema's pve-configid. */
bool machine_is_config_id(const char *text);
/* Addresses with ; between them, as PVE::QemuServer::PCI, or PVE::Mapping::PCI, takes them. */
bool machine_is_host(const char *text, bool with_domain);
/*
 * The next KEY=VALUE of parse_property_string() of PVE::JSONSchema; *ret_key NULL: a value without
 * one. 0: there is no more. -EINVAL: it has neither form. Changes *rest and the text.
 */
int machine_property_next(char **rest, const char **ret_key, const char **ret_value);
