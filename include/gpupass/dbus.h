/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Well-known names of the D-Bus API org.gpupass1, and what travels in it.
 * The interfaces themselves are in the *.xml beside this file; a test compares those with the
 * running daemon's introspection.
 */
#pragma once

#define GPUPASS_BUS_NAME "org.gpupass1"

#define GPUPASS_PATH_ROOT "/org/gpupass1"
#define GPUPASS_PATH_GROUPS GPUPASS_PATH_ROOT "/groups"
#define GPUPASS_PATH_GPUS GPUPASS_PATH_ROOT "/gpus"
#define GPUPASS_PATH_ASSIGNMENTS GPUPASS_PATH_ROOT "/assignments"
#define GPUPASS_PATH_JOBS GPUPASS_PATH_ROOT "/jobs"
/* A property of type 'o' with nothing to point at. */
#define GPUPASS_PATH_NONE "/"

#define GPUPASS_IFACE_MANAGER "org.gpupass1.Manager"
#define GPUPASS_IFACE_GROUP "org.gpupass1.Group"
#define GPUPASS_IFACE_GPU "org.gpupass1.Gpu"
#define GPUPASS_IFACE_ASSIGNMENT "org.gpupass1.Assignment"
#define GPUPASS_IFACE_JOB "org.gpupass1.Job"

/* polkit's actions; conf/org.gpupass1.policy has them, too. */
#define GPUPASS_ACTION_ASSIGN "org.gpupass1.assign"   /* Assign */
#define GPUPASS_ACTION_RELEASE "org.gpupass1.release" /* Release */
#define GPUPASS_ACTION_BIND "org.gpupass1.bind"	      /* Bind, Unbind */
#define GPUPASS_ACTION_PROBE "org.gpupass1.probe"     /* Probe, Verify */
#define GPUPASS_ACTION_MANAGE "org.gpupass1.manage" /* Declare, Forget, Clear, Rescan, Reconcile */
#define GPUPASS_ACTION_READ "org.gpupass1.read"	    /* Plan, GetDrift, Doctor, Inspect */
#define GPUPASS_ACTION_AUDIT "org.gpupass1.audit"   /* GetAudit, GetHolders */

/* In the help of gpupass-hook: by this doctor tells its file from another in its place. */
#define GPUPASS_HOOK_SAYS "Run by libvirt as hooks/qemu.d/gpupass"

/* Option keys of the a{sv} arguments. An unknown key is refused with InvalidArgument. */
#define GPUPASS_OPTION_LIVE "live"	     /* b: the running domain */
#define GPUPASS_OPTION_CONFIG "config"	     /* b: the definition */
#define GPUPASS_OPTION_MODEL "model"	     /* s: only groups of this board */
#define GPUPASS_OPTION_TIMEOUT "timeout"     /* t: microseconds a device step may take */
#define GPUPASS_OPTION_OPERATION "operation" /* s: Plan: "assign" or "release" */
#define GPUPASS_OPTION_KEEP_VFIO "keep-vfio" /* b: Release: leave the functions on vfio-pci */
#define GPUPASS_OPTION_PERSIST "persist"     /* b: Bind: keep it on vfio-pci, boots included */
#define GPUPASS_OPTION_RESET "reset"	     /* b: Bind: reset all boards of the group */
#define GPUPASS_OPTION_ALLOW_BOOT_VGA "allow-boot-vga" /* b: take the host's boot display */
#define GPUPASS_OPTION_ACCEPT_DIRTY "accept-dirty"     /* b: Assign, root: give it unreset */
#define GPUPASS_OPTION_NO_BRIDGE_SEEN "no-bridge-seen" /* b: Declare: of a board alone */
#define GPUPASS_OPTION_SYMPTOM "symptom"	       /* s: Doctor: what is seen in the guest */
#define GPUPASS_OPTION_CAPTURE "capture"	       /* b: Doctor: with the facts, of the host */
#define GPUPASS_OPTION_MMIO "mmio"		       /* b: Probe: read link registers, too */
#define GPUPASS_OPTION_WORKLOAD "workload"	       /* b: Verify: measure the links, too */
#define GPUPASS_OPTION_NUMA "numa"	 /* s: Assign: advise, apply or strict; memory and vCPUs */
#define GPUPASS_OPTION_FIT "fit"	 /* s: Assign: the same; address space, firmware, memory */
#define GPUPASS_OPTION_SINCE "since"	 /* t: GetAudit: microseconds since 1970, as in records */
#define GPUPASS_OPTION_UNTIL "until"	 /* t: likewise */
#define GPUPASS_OPTION_AFTER "after"	 /* t: GetAudit: only records behind this sequence number */
#define GPUPASS_OPTION_GROUP "group"	 /* s: GetAudit */
#define GPUPASS_OPTION_DOMAIN "domain"	 /* s: GetAudit: a UUID, or a name; Bind: a VMID */
#define GPUPASS_OPTION_USER "user"	 /* u: GetAudit: a uid, or a login uid */
#define GPUPASS_OPTION_JOB "job"	 /* u: GetAudit */
#define GPUPASS_OPTION_HOLDERS "holders" /* b: GetAudit: only holders that came or went */

/* Schema ids: first member "schema" of every JSON document. */
#define GPUPASS_SCHEMA_PLAN "org.gpupass1.plan/1"
#define GPUPASS_SCHEMA_SNAPSHOT "org.gpupass1.snapshot/1"
#define GPUPASS_SCHEMA_INSPECTION "org.gpupass1.inspection/1"
#define GPUPASS_SCHEMA_ASSIGNMENT "org.gpupass1.assignment/1"
#define GPUPASS_SCHEMA_ASSIGNMENT_2 "org.gpupass1.assignment/2" /* says more than /1 can */
#define GPUPASS_SCHEMA_ASSIGNMENT_3 "org.gpupass1.assignment/3" /* one of several of a domain */
#define GPUPASS_SCHEMA_ASSIGNMENT_4 "org.gpupass1.assignment/4" /* each, with a checksum */
#define GPUPASS_SCHEMA_KEPT "org.gpupass1.kept/1"
#define GPUPASS_SCHEMA_KEPT_2 "org.gpupass1.kept/2" /* with a checksum */
#define GPUPASS_SCHEMA_DRIFT "org.gpupass1.drift/1"
#define GPUPASS_SCHEMA_BOOT "org.gpupass1.boot/1"
#define GPUPASS_SCHEMA_QUARANTINE "org.gpupass1.quarantine/1"
#define GPUPASS_SCHEMA_QUARANTINE_2 "org.gpupass1.quarantine/2" /* with a checksum */
#define GPUPASS_SCHEMA_EVIDENCE "org.gpupass1.evidence/1"
#define GPUPASS_SCHEMA_EVIDENCE_2 "org.gpupass1.evidence/2" /* of a guest: which domain's */
#define GPUPASS_SCHEMA_EVIDENCE_3 "org.gpupass1.evidence/3" /* with a checksum */
#define GPUPASS_SCHEMA_MACHINES "org.gpupass1.machines/1"
#define GPUPASS_SCHEMA_MEMORY "org.gpupass1.memory/1"
#define GPUPASS_SCHEMA_PROBE "org.gpupass1.probe/1"
#define GPUPASS_SCHEMA_WORKER "org.gpupass1.worker/1"
#define GPUPASS_SCHEMA_RECEIPT "org.gpupass1.receipt/1"
#define GPUPASS_SCHEMA_RECEIPT_2 "org.gpupass1.receipt/2" /* with a number and a checksum */
#define GPUPASS_SCHEMA_TENANT "org.gpupass1.tenant/1"
#define GPUPASS_SCHEMA_TENANT_2 "org.gpupass1.tenant/2" /* with a checksum */
#define GPUPASS_SCHEMA_FENCE "org.gpupass1.fence/1"
#define GPUPASS_SCHEMA_DOCTOR "org.gpupass1.doctor/1"
#define GPUPASS_SCHEMA_CAPTURE "org.gpupass1.capture/1" /* a report of doctor with its facts */
#define GPUPASS_SCHEMA_VERIFY "org.gpupass1.verify/1"
#define GPUPASS_SCHEMA_AUDIT "org.gpupass1.audit/1" /* one record */
#define GPUPASS_SCHEMA_NUMBERS "org.gpupass1.numbers/1"
#define GPUPASS_SCHEMA_JOURNAL "org.gpupass1.journal/3"	      /* a line of an open job */
#define GPUPASS_SCHEMA_AUDIT_PAGE "org.gpupass1.audit-page/1" /* some of them */
#define GPUPASS_SCHEMA_AUDIT_CHECK "org.gpupass1.audit-check/1"
#define GPUPASS_SCHEMA_HOLDERS "org.gpupass1.holders/1"
#define GPUPASS_SCHEMA_METRICS "org.gpupass1.metrics/1"
#define GPUPASS_SCHEMA_LIST "org.gpupass1.list/1"
#define GPUPASS_SCHEMA_STATUS "org.gpupass1.status/1"
#define GPUPASS_SCHEMA_SHOW "org.gpupass1.show/1"
#define GPUPASS_SCHEMA_TOPOLOGY "org.gpupass1.topology/1"
#define GPUPASS_SCHEMA_JOB "org.gpupass1.job/1"
#define GPUPASS_SCHEMA_JOBS "org.gpupass1.jobs/1"
#define GPUPASS_SCHEMA_ERROR "org.gpupass1.error/1"
