/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtual machine of Proxmox VE, by its file /etc/pve/qemu-server/VMID.conf. Whoever may
 * configure a machine through Proxmox VE's interface chooses much of that text: names, a
 * description, snapshots. So the parser is strict and bounded, and a file that it does not
 * understand is one of a machine that may have any function.
 */
#pragma once

#include <stddef.h>

#include "core/base/bdf.h"
#include "gpupass/cleanup.h"

#define MACHINE_VMID_MIN 100
#define MACHINE_VMID_MAX 999999999
#define MACHINE_DEVICES_MAX 512
/* Proxmox VE's own limit of a file in /etc/pve. */
#define MACHINE_FILE_MAX (1024 * 1024)

typedef struct MachineDevice {
	Bdf bdf;
	bool maybe; /* a mapping has alternatives on this node: it gets one of them */
} MachineDevice;

typedef struct Machine {
	uint32_t vmid;
	uint32_t
		created; /* seconds since the epoch, which tells it from an earlier one; 0: not known */
	bool running; /* not in the file */
	char *name;   /* a DNS name; NULL: none */
	char *unread; /* why its functions are not known; NULL: they are */
	MachineDevice *devices;
	size_t n_devices;
	char **mdevs; /* UUIDs of its vGPUs */
} Machine;

typedef struct Machines {
	Machine *items;
	size_t n_items;
} Machines;

/* The paths that this node's part of a mapping has (/etc/pve/mapping/pci.cfg). */
typedef struct MachineMap {
	char *name;
	char **paths; /* alternatives; each "0000:41:00", or several with ; between them */
} MachineMap;

typedef struct MachineMaps {
	MachineMap *items;
	size_t n_items;
	char *fault; /* why none of them counts; NULL: they do */
} MachineMaps;

/*
 * Reads what decides before a start: the present configuration, with its pending changes, which
 * Proxmox VE applies then. Snapshots do not. Only -ENOMEM: what is wrong with it is ret->unread.
 */
int machine_parse(uint32_t vmid, const char *text, size_t size, const MachineMaps *maps,
		  Machine *ret);
void machine_clear(Machine *machine);

Machines *machines_free(Machines *machines);
DEFINE_CLEANUP(Machines, machines_free)

/* machine-map.c. `node` is this host's name in the cluster. Only -ENOMEM, as above. */
int machine_maps_parse(const char *text, size_t size, const char *node, MachineMaps *ret);
const MachineMap *machine_maps_find(const MachineMaps *maps, const char *name);
void machine_maps_clear(MachineMaps *maps);
/* "101.conf" is 101; 0: it is no such name. */
uint32_t machine_vmid(const char *file);
