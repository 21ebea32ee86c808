/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look at /sys/bus/pci, immutable once made. host/scan fills it, and everything in core/ reads
 * it. It has only attributes that the kernel serves without the device's lock, so a scan never
 * waits for a driver that hangs in remove(). driver_override, sriov_numvfs and config space need
 * that lock: they are in an Inspection (core/facts/inspection.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "gpupass/cleanup.h"
#include "util/bdf.h"

/* As in include/linux/pci_ids.h. */
#define PCI_VENDOR_NVIDIA 0x10de
#define PCI_VENDOR_MELLANOX 0x15b3
#define PCI_BASE_CLASS_NETWORK 0x02
#define PCI_CLASS_NVME 0x010802
#define PCI_BARS 7 /* six BARs and the expansion ROM, as the first lines of `resource` */

#define IOMMU_GROUP_NONE (-1)
#define NUMA_NODE_NONE (-1)

typedef struct PciFunction {
	Bdf bdf;
	/* 24 bits: base class, subclass, programming interface */
	uint32_t class_code _json_(as "class", hex 6);
	uint16_t vendor, device _json_(hex 4);
	uint16_t subsystem_vendor, subsystem_device _json_(hex 4);
	/*
	 * What follows is read only of functions that matter to GPUs of NVIDIA: see
	 * pci_function_is_kin() and host/scan/scan.h. Others have none of it.
	 */
	char *driver _json_(if_any);	       /* NULL: none bound */
	bool vfio_dev _json_(if_any);	       /* it has a folder vfio-dev: driver_on_vfio() */
	int iommu_group _json_(index, if_any); /* IOMMU_GROUP_NONE: no IOMMU, or not behind it */
	int numa_node _json_(index, if_any);   /* NUMA_NODE_NONE: firmware names none */
	/* has a pci_bus directory: the kernel exempts it from viability */
	bool bridge _json_(if_any);
	bool boot_vga _json_(if_any);
	bool virtual_function _json_(if_any); /* an SR-IOV VF */
	Bdf physical _json_(if_any);	      /* of a VF: whose it is; all zero: not known */
	bool has_vfs _json_(if_any);	      /* a PF with VFs enabled */
	/*
	 * What follows is read only for slots that have a display or 3D controller of NVIDIA, and
	 * for NICs and NVMes (these without the slot's name), and is empty for all others.
	 */
	/*
	 * Where its VFs are, enabled or not: sriov_totalvfs and so on; 0: it can have none. And 1: a
	 * driver takes those that are made by itself.
	 */
	unsigned vfs_max, vf_offset, vf_stride, vf_autoprobe _json_(max UINT16_MAX, if_any);
	char *physical_slot _json_(if_any); /* name under /sys/bus/pci/slots; NULL: none */
	/* as in reset_method, "flr bus"; NULL: none or unreadable */
	char *reset_methods _json_(if_any);
	char *power_state _json_(if_any);		/* "D0", "D3hot" …; NULL: unreadable */
	uint64_t bar_size[PCI_BARS] _json_(write bars); /* bytes; 0: absent */
	/* bridges above, root port first; not the function itself */
	Bdf *upstream _json_(max 64, if_any);
	size_t n_upstream;
} PciFunction;
DECLARE_CLEAR(PciFunction, pci_function_clear)
DECLARE_EQUAL(PciFunction, pci_function_equal)

/* A mediated device: a vGPU that is no PCI function of its own. */
typedef struct PciMdev {
	char *uuid; /* as the kernel writes it */
	Bdf parent; /* the function or the VF that it is made of */
} PciMdev;

/* Functions that were read together. Snapshots share them, and the last one frees them. */
typedef struct PciBatch PciBatch;

typedef struct PciSnapshot {
	PciFunction **functions _owned_(free); /* sorted by address; the batches own them */
	size_t n_functions;
	const PciFunction **
		virtuals _owned_(free); /* those of them that are VFs; known once it is sealed */
	size_t n_virtuals;
	PciBatch **batches;
	size_t n_batches;
	PciMdev *mdevs;
	size_t n_mdevs;
	bool iommu;	     /* /sys/kernel/iommu_groups is not empty */
	uint64_t taken_usec; /* CLOCK_REALTIME, when all of it was last read; 0 in fixtures */
	atomic_uint shared;  /* references beside the first */
} PciSnapshot;

/* For builders: takes an array with all that its functions own. */
void pci_snapshot_adopt(PciSnapshot *snapshot, PciFunction *functions, size_t n);
/*
 * For builders: a snapshot that has the functions of another one, shared with it, except for those
 * at these addresses; of these it has the given ones, which it takes. Both lists are sorted, and
 * each function is at one of the addresses. It has no mediated devices.
 */
PciSnapshot *pci_snapshot_replace(const PciSnapshot *before, const Bdf *addresses,
				  size_t n_addresses, PciFunction *functions, size_t n);
/*
 * For builders, when all functions are there and filled: sorts them by address, and lists the VFs.
 * -EEXIST if an address is there twice.
 */
int pci_snapshot_seal(PciSnapshot *snapshot);

/* Of one that is sealed. */
DECLARE_REF(PciSnapshot, pci_snapshot_ref)

/* NULL when absent. */
const PciFunction *pci_snapshot_find(const PciSnapshot *snapshot, const Bdf *bdf);

const PciMdev *pci_snapshot_find_mdev(const PciSnapshot *snapshot, const char *uuid);

/*
 * The physical function that a VF at this address is of. There may be none now, because VFs come
 * and go: then the place counts that a board's SR-IOV capability gives its VFs. False: no VF of a
 * board that is known.
 */
bool pci_snapshot_physical(const PciSnapshot *snapshot, const Bdf *vf, Bdf *ret);

/*
 * Where the VF of this number is, or would be. False: it has none of this number, or does not say
 * where.
 */
bool pci_function_vf(const PciFunction *function, unsigned number, Bdf *ret);
/* How many VFs it must have for one to be at this address; 0: none ever is. */
unsigned pci_function_vfs_for(const PciFunction *function, const Bdf *vf);

/*
 * Its place on the board: "0000:40:01.1/00.0/02.0", the port and the numbers of what is below it.
 * Those of buses, and so addresses, move with other cards. NULL: on a root bus, or not known.
 */
char *pci_function_path(const PciFunction *function);

bool pci_function_on_vfio(const PciFunction *function);

/* Display (03 00), 3D (03 02) or other display class, of NVIDIA. */
bool pci_function_is_nvidia_gpu(const PciFunction *function);
/* An NVSwitch: an NVIDIA bridge of class 06 80 with one of the known ids. */
bool pci_function_is_nvswitch(const PciFunction *function);

/* A NIC, a VF of one or an NVMe: it may be given away with GPUs (core/facts/member.h). */
bool pci_function_may_accompany(const PciFunction *function);

/*
 * Of NVIDIA, or of a class that a function of such a board may have: display, audio, USB, serial.
 * It may be on the driver that a board's function needs. And what may accompany GPUs.
 */
bool pci_function_is_kin(const PciFunction *function);

/* Address, bridges above, IOMMU group, NUMA node and slot are the same. */
bool pci_function_same_place(const PciFunction *a, const PciFunction *b);
DECLARE_FREE(PciSnapshot, pci_snapshot_free)
