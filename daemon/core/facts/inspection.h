/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A close look at a few functions just before a decision about them. It has what a scan leaves out
 * because the kernel may make the reader wait (driver_override, sriov_numvfs, config space), who
 * holds the devices, and what the host offers. A disposable worker makes it, and it travels as
 * JSON.
 */
#pragma once

#include <sys/types.h>

#include "core/base/json-struct.h"
#include "core/facts/nic.h"
#include "core/nvme/state.h"
#include "core/nvme/use.h"
#include "core/pci/driver-name.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"
#include "util/text.h"

/* Whose config space is read. Reading it wakes a device that is in D3cold. */
typedef enum InspectConfig {
	INSPECT_CONFIG_NOT,
	INSPECT_CONFIG_ALL,
	INSPECT_CONFIG_AWAKE, /* of GPUs in D0 */
} InspectConfig;

#define INSPECTION_FUNCTIONS_MAX 4096
#define INSPECTION_HOLDERS_MAX 65536
#define INSPECTION_UNSEEN_MAX 4096
#define BAR_HOLDERS_MAX 64

/* Firmware framebuffers that have reserved a part of a BAR. */
typedef struct BarHolder {
	int bar _json_(index, if_any);	  /* -1: of which BAR is not known */
	char *name _json_(plain, if_any); /* as /proc/iomem has them: "BOOTFB, simpledrm" */
} BarHolder;
DECLARE_JSON(BarHolder, bar_holder_members)

typedef struct FunctionFacts {
	Bdf bdf;
	char *driver _json_(if_any);  /* NULL: none */
	bool vfio_dev _json_(if_any); /* it has a folder vfio-dev: driver_on_vfio() */
	bool network _json_(if_any);  /* its class is network: who uses it is in nics */
	bool vf _json_(if_any);	      /* and it is a VF: what it may do is there, too */
	bool nvme _json_(if_any);     /* its class is NVMe */
	char *driver_override _json_(plain, if_any); /* NULL: none ("(null)" in sysfs) */
	unsigned num_vfs _json_(or_0);
	unsigned vgpus _json_(max UINT16_MAX,
			      if_any);	   /* VFs with a type in nvidia/current_vgpu_type */
	unsigned vgpu_type _json_(if_any); /* of the first of them */
	Bdf vgpu_vf _json_(by vgpu_vf);	   /* its address; without any all zero */
	/* What the nvidia driver says, if it is bound: */
	char *uuid _json_(if_any);		/* NULL: not known */
	int device_minor _json_(index, if_any); /* N of /dev/nvidiaN; -1: not known */
	/* Only of GPUs whose config space was asked for: */
	char *serial_number _json_(if_any); /* NULL: no such capability, or not asked */
	char *link_speed _json_(if_any);    /* "16 GT/s"; NULL: not asked or not PCIe */
	char *link_speed_max _json_(if_any);
	unsigned link_width, link_width_max _json_(or_0); /* lanes; 0: not known */
	bool config_all_ones _json_(if_any); /* config space reads all ones: gone, or in D3cold */
	/* with INSPECT_CONFIG_AWAKE: not read, because it was not in D0 */
	bool left_asleep _json_(if_any);
	/*
	 * Only of Mellanox's network functions. SW_MNG in its VPD: the function is of the switches
	 * of a baseboard, and manages them.
	 */
	bool vpd_read _json_(if_any);
	bool sw_mng _json_(if_any);
	bool resource_read _json_(if_any); /* bars_unset is known */
	/* bit N: BAR N is of memory, and has no address on this host */
	unsigned bars_unset _json_(max 0x3f, if_any);
	BarHolder *bar_holders _json_(max BAR_HOLDERS_MAX, if_any);
	size_t n_bar_holders;
	/*
	 * "0x00000000bdf6e000-0x00000000bdf81fff": memory that the firmware wants mapped one to one
	 * for its IOMMU group (type "direct" in reserved_regions); NULL: none
	 */
	char *direct_region _json_(plain, if_any);
	bool regions_read _json_(if_any); /* direct_region is known */
} FunctionFacts;
DECLARE_JSON(FunctionFacts, function_facts_members)

/* It is an NVMe that the host can use and ask. */
static inline bool function_facts_on_nvme(const FunctionFacts *facts)
{
	return facts->nvme && str_equal(facts->driver, NVME_DRIVER);
}

static inline bool function_facts_on_vfio(const FunctionFacts *facts)
{
	return driver_on_vfio(facts->driver, facts->vfio_dev);
}

/* A variant's, too, once that has it. */
static inline bool function_facts_override_is_vfio(const FunctionFacts *facts)
{
	return driver_is_vfio(facts->driver_override) ||
	       (facts->vfio_dev && str_equal(facts->driver_override, facts->driver));
}

/*
 * Any user can choose names of processes and files: prctl(PR_SET_NAME) takes any bytes. The holder
 * is reported all the same.
 */
typedef struct Holder {
	Bdf bdf; /* the function it holds */
	pid_t pid;
	char *command _json_(plain, if_any);   /* comm */
	char *unit _json_(plain, if_any);      /* systemd unit from its cgroup; NULL: none */
	char *container _json_(plain, if_any); /* container id from its cgroup; NULL: none */
	/* /dev/nvidia0, /dev/vfio/33, /dev/dri/card1 …: as udev names it */
	char *path _json_(plain, if_any);
	bool vfio _json_(if_any); /* an open vfio group: a guest runs on it */
	bool lets_go _json_(no);  /* when asked, before the function is moved */
} Holder;
DECLARE_JSON(Holder, holder_members)

/* Why it is unknown whether a process holds a device. */
#define UNSEEN_REASONS(X)                                                                          \
	X(UNSEEN_REFUSED, "refused", "the kernel does not let gpupass look into it")               \
	X(UNSEEN_FILES, "files", "its open files could not all be looked at in time")              \
	X(UNSEEN_MAPPINGS, "mappings", "its memory mappings could not all be looked at in time")   \
	X(UNSEEN_MOVING, "moving", "its memory mappings changed whenever they were looked at")     \
	X(UNSEEN_VFIO_DEVICE, "vfio-device",                                                       \
	  "it has a device of vfio open, and this kernel does not tell which")
DECLARE_ENUM(unseen_reason, UnseenReason, UNSEEN_REASONS);

/*
 * A process that may hold a device. Any user can make one, so it refuses nothing and is only
 * reported.
 */
typedef struct Unseen {
	pid_t pid;
	uint32_t uid;
	char *command _json_(plain, if_any); /* comm */
	UnseenReason reason _json_(wrong "is none that there is");
} Unseen;
DECLARE_JSON(Unseen, inspection_unseen_members)

/*
 * What tells of obstacles is not on every host, and says itself that it is known. No other fact may
 * be absent: a missing one must not read as "all is well".
 */
typedef struct Inspection {
	bool vfio_pci;		/* the vfio-pci driver is registered */
	bool vfio_loadable;	/* not registered, but its module exists for this kernel */
	bool noiommu;		/* vfio's enable_unsafe_noiommu_mode is on */
	bool unsafe_interrupts; /* vfio_iommu_type1.allow_unsafe_interrupts is on */
	bool interrupts_known _json_(if_any);	 /* this architecture shows interrupt remapping */
	bool interrupts_remapped _json_(if_any); /* and it is on */
	bool iomem_read _json_(if_any);		 /* bar_holders are known */
	bool nvidia_modeset;			 /* nvidia_drm is loaded, with modeset=1 */
	/* "550.54.15", of the loaded driver; NULL: not known */
	char *nvidia_version _json_(if_any);
	FunctionFacts *functions _json_(max INSPECTION_FUNCTIONS_MAX);
	size_t n_functions;
	Holder *holders _json_(max INSPECTION_HOLDERS_MAX);
	size_t n_holders;
	Unseen *unseen _json_(max INSPECTION_UNSEEN_MAX); /* the first of them */
	size_t n_unseen;
	size_t all_unseen _json_(max INT32_MAX); /* how many there are */
	NicUse *nics _json_(max INSPECTION_FUNCTIONS_MAX,
			    if_any); /* of each `network` that is not on vfio, or a VF */
	size_t n_nics;
	/* Of each `nvme` that is on NVME_DRIVER: others have no disk, and cannot be asked. */
	NvmeUse *nvmes _json_(max INSPECTION_FUNCTIONS_MAX, if_any);
	size_t n_nvmes;
	NvmeState *nvme_states _json_(max INSPECTION_FUNCTIONS_MAX, if_any);
	size_t n_nvme_states;
	pid_t probe_worker _json_(no); /* its probe timed out, it may open GPUs; 0: none */
} Inspection;
DECLARE_FREE(Inspection, inspection_free)
DECLARE_DOCUMENT(Inspection, inspection_members, GPUPASS_SCHEMA_INSPECTION)

const FunctionFacts *inspection_find(const Inspection *inspection, const Bdf *bdf);

/*
 * It has none, vfio's, or one that the functions of a GPU usually have on a host. Somebody chose
 * any other driver on purpose.
 */
bool function_facts_driver_is_usual(const FunctionFacts *facts);

/*
 * This process will let go of this function when it is asked to: it is no reason to refuse. false:
 * it does not hold it, as far as it can be looked into.
 */
bool inspection_excuse(Inspection *inspection, const Bdf *bdf, pid_t pid);

/* "0000:41:00.0: /dev/nvidia0 by python3 (pid 812, unit a.service)" */
char *holder_text(const Holder *holder);

/*
 * Appends "whether python3 (pid 812, uid 1000) holds a device is not known: …" for each of the
 * first few, and a line with the number of the others.
 */
void inspection_tell_unseen(const Inspection *inspection, char ***lines);

int inspection_from_json(const json_t *json, Inspection **ret, char **ret_message);
