/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The D-Bus API, once: properties, methods, their options, signals. This file is included where
 * something is made of its rows, with one of the macros below defined: the daemon's views, vtables
 * and checks of a call (daemon/bus), the client's model, its JSON and its keys of options. From the
 * same rows ../interfaces.py makes the installed interface files and the tables of org.gpupass1(5).
 * The comment above a row is its text in that page, and also that of the rows below it which have
 * none.
 *
 *   KIND_PROPERTY("Name", TYPE, member, MODE, NEED)
 *
 * TYPE    a PropertyType without its prefix (properties.h)
 * member  of the struct, on both sides; in the client's JSON, too, but for renamed[] of object.c
 * MODE    CONST: it never changes. CHANGES: PropertiesChanged names it when it does
 * NEED    MUST: the client refuses an object without it. MAY: when it is absent, the client takes
 *         the value that means "not known": "", an empty list, false, 0, or -1 for an INT32
 *
 *   KIND_METHOD("Name", ID, "in", ARG()..., "out", ARG()..., NEED, ACTION, TAKES() | ...)
 *
 * in, out signatures, without the options, and the arguments' names
 * NEED    MUST: the first argument is a name, and not empty. MAY: it may be, or there is none
 * ACTION  the GPUPASS_ACTION_... that the caller must be allowed; OPEN: whoever the bus lets in
 *         may; ITS_JOB: that of the job which is named
 * TAKES   the options in the dictionary a{sv} that is the last argument of every method
 *
 *   METHOD_OPTION(ID, "key", TYPE, member)
 *   KIND_SIGNAL("Name", "signature", ARG()...)
 *
 * TYPE    BOOL, STRING or UINT64, of a member of the daemon's CallOptions
 *
 * A name in At is a time in microseconds since the epoch, one in Usec a length of time.
 */
#ifndef MANAGER_PROPERTY
#define MANAGER_PROPERTY(...)
#endif
#ifndef GROUP_PROPERTY
#define GROUP_PROPERTY(...)
#endif
#ifndef GPU_PROPERTY
#define GPU_PROPERTY(...)
#endif
#ifndef ASSIGNMENT_PROPERTY
#define ASSIGNMENT_PROPERTY(...)
#endif
#ifndef JOB_PROPERTY
#define JOB_PROPERTY(...)
#endif
#ifndef MANAGER_METHOD
#define MANAGER_METHOD(...)
#endif
#ifndef GPU_METHOD
#define GPU_METHOD(...)
#endif
#ifndef MANAGER_SIGNAL
#define MANAGER_SIGNAL(...)
#endif
#ifndef METHOD_OPTION
#define METHOD_OPTION(...)
#endif

/* ---- org.gpupass1.Manager ---- */

/*
 * Declares that these GPUs, up to 16, are bridged, or that one of them is a group by itself, in
 * _groups.d/NAME.conf_. A GPU is given as in *gpupassd.conf*(5). A group that is not possible on
 * this host is NotBridged, and no file is written. Among them may stand what a domain gets with
 * them: *nic:*, *vf:* or *nvme:* with an address; *vf:* with that of a NIC is its next VF that no
 * group has. LinksUnknown: a bridge may tie the only GPU to
 * another. Returns when the group's object shows it.
 */
MANAGER_METHOD("Declare", DECLARE, "sas", ARG(name) ARG(gpus), "o", ARG(group), MUST, MANAGE,
	       TAKES(NO_BRIDGE_SEEN) | TAKES(WHOLE_NIC) | TAKES(ERASE) | TAKES(VLAN))
/*
 * Returns which NIC, VF or NVMe (_kind_) that no group has is nearest to these GPUs over PCIe, as
 * *Declare* takes it, and why. What stands among the GPUs is not chosen again. InvalidArgument: two
 * are equally near, or there is none.
 */
MANAGER_METHOD("Nearest", NEAREST, "sas", ARG(kind) ARG(gpus), "ss", ARG(member) ARG(reason), MUST,
	       OPEN, 0)
/*
 * Removes a declaration that *Declare* made. Refused while the group is assigned, or a job has it
 * in hand.
 */
MANAGER_METHOD("Forget", FORGET, "s", ARG(name), "", "", MUST, MANAGE, 0)
/*
 * Returns what an operation would do, as JSON (see *PLAN*), or the error it would end with. Changes
 * nothing. For a caller who is not root it opens no GPU and wakes none: warnings say what was not
 * checked. For assign, an empty _group_ lets the daemon choose. For release, _domain_ is the
 * target, and _group_ the option of *Release*. For bind, unbind and reconcile, _domain_ is empty.
 */
MANAGER_METHOD("Plan", PLAN, "ss", ARG(domain) ARG(group), "s", ARG(plan), MAY, READ,
	       TAKES(OPERATION) | TAKES(LIVE) | TAKES(CONFIG) | TAKES(MODEL) | TAKES(KEEP_VFIO) |
		       TAKES(PERSIST) | TAKES(RESET) | TAKES(TIMEOUT) | TAKES(ALLOW_BOOT_VGA) |
		       TAKES(ACCEPT_DIRTY) | TAKES(NUMA) | TAKES(FIT) | TAKES(TOPOLOGY) |
		       TAKES(PEER_ACCESS))
/*
 * Gives the group to the domain (a UUID, or else a name: see *gpupass*(1), NAMES OF DOMAINS). An
 * empty _group_ means the first that the domain already has, or the first free one in natural order
 * of names; a group of one GPU only where there is no other of that model. A domain may have
 * several groups: one call each.
 */
MANAGER_METHOD("Assign", ASSIGN, "ss", ARG(domain) ARG(group), "o", ARG(job), MUST, ASSIGN,
	       TAKES(LIVE) | TAKES(CONFIG) | TAKES(MODEL) | TAKES(TIMEOUT) | TAKES(ALLOW_BOOT_VGA) |
		       TAKES(ACCEPT_DIRTY) | TAKES(NUMA) | TAKES(FIT) | TAKES(TOPOLOGY) |
		       TAKES(PEER_ACCESS))
/*
 * Takes a group out of its domain and gives its functions back to the drivers they were on. The
 * target is a group's name, or a domain's UUID or name. InvalidArgument: it is the name of a group
 * and also of a domain without this group, or the domain has several. With the option _group_ the
 * target is a domain; NotAssigned: it does not have that group.
 */
MANAGER_METHOD("Release", RELEASE, "s", ARG(target), "o", ARG(job), MUST, RELEASE,
	       TAKES(GROUP) | TAKES(KEEP_VFIO) | TAKES(TIMEOUT))
/* Binds all functions of the group to vfio-pci. No domain is changed. */
MANAGER_METHOD("Bind", BIND, "s", ARG(group), "o", ARG(job), MUST, BIND,
	       TAKES(DOMAIN) | TAKES(PERSIST) | TAKES(RESET) | TAKES(TIMEOUT) |
		       TAKES(ALLOW_BOOT_VGA))
/*
 * Gives the functions of a group that no domain has to their usual drivers. A function whose usual
 * driver is not in use on this host stays without one, with a warning. The group is no longer kept.
 */
MANAGER_METHOD("Unbind", UNBIND, "s", ARG(group), "o", ARG(job), MUST, BIND,
	       TAKES(TIMEOUT) | TAKES(ALLOW_BOOT_VGA))
/*
 * Makes the companions of a group ready for a domain: makes the VFs that are not there, and erases
 * the NVMes that are not known to be clean. gpupassd starts it by itself for each group that is
 * _unready_. Cancelled, it ends; an erase that has begun in a device goes on there.
 */
MANAGER_METHOD("Prepare", PREPARE, "s", ARG(group), "o", ARG(job), MUST, BIND, TAKES(TIMEOUT))
/*
 * Checks in the guest of a running domain that NVLink works between the GPUs of its group. The job
 * changes nothing, has no steps, and is done when there is a verdict of any kind, its Result (see
 * *VERDICTS*). A domain that has several groups needs the option _group_. Two at a time for each
 * user, four in all.
 */
MANAGER_METHOD("Verify", VERIFY, "s", ARG(domain), "o", ARG(job), MUST, PROBE,
	       TAKES(GROUP) | TAKES(TIMEOUT) | TAKES(WORKLOAD))
/*
 * Has a job stop, and undo what it did. Before its first write it ends at once; after that it is
 * rolled back as if its next step had failed, and ends as cancelled. A step that has begun comes to
 * its end first, or to its deadline, and so does each look at the machine. Returns when the cancel
 * is accepted; the job then does not end as done. If the running step or the undo fails, the job
 * ends as any other. Refused with TooLate when the job has ended, is rolled back because it failed,
 * or is of an earlier daemon. A second call changes nothing.
 */
MANAGER_METHOD("Cancel", CANCEL, "u", ARG(id), "o", ARG(job), MAY, ITS_JOB, 0)
/*
 * Lifts the quarantine of a group whose cause is gone. Refused with Quarantined while a worker
 * still moves one of its functions, a function does not answer, or a domain has a part of it; with
 * GroupBusy while an interrupted job is being recovered; with NoSuchGroup when nothing is
 * quarantined.
 */
MANAGER_METHOD("Clear", CLEAR, "s", ARG(group), "", "", MUST, MANAGE, 0)
/*
 * Brings a group back to what its assignment says: functions to vfio-pci, the domain's definition,
 * the record. The job fails when only a person can settle the drift: the domain is gone
 * (NoSuchDomain), another domain has a part (GroupBusy, ForeignOwner), the boards are not those
 * that were assigned (GroupBusy).
 */
MANAGER_METHOD("Reconcile", RECONCILE, "s", ARG(group), "o", ARG(job), MUST, MANAGE, TAKES(TIMEOUT))
/* Reads the machine again and returns what has drifted (see *DRIFT*). Changes nothing. */
MANAGER_METHOD("GetDrift", GET_DRIFT, "", "", "s", ARG(drift), MAY, READ, 0)
/*
 * Returns what is wrong with this host, or with a domain and its group ("": the host), when all
 * checks have ended: within a second, or 40 when devices do not answer. See *DOCTOR*.
 */
MANAGER_METHOD("Doctor", DOCTOR, "s", ARG(domain), "s", ARG(json), MAY, READ,
	       TAKES(CAPTURE) | TAKES(SYMPTOM))
/*
 * Observes the NVLinks of all GPUs that can report them: see *gpupassd*(8), EVIDENCE. The job has
 * no steps, group and domain; its Warnings name the GPUs that were left out. When it has ended, the
 * groups follow from what it saw.
 */
MANAGER_METHOD("Probe", PROBE, "", "", "o", ARG(job), MAY, PROBE, TAKES(MMIO) | TAKES(TIMEOUT))
/* Returns the observations of links: see *DOCUMENTS*. */
MANAGER_METHOD("GetEvidence", GET_EVIDENCE, "", "", "s", ARG(evidence), MAY, OPEN, 0)
/*
 * Reads the PCI devices, the assignments and, while libvirt is connected, the domains again, and
 * returns when all objects are current. The daemon does so by itself when udev or libvirt reports a
 * change.
 */
MANAGER_METHOD("Rescan", RESCAN, "", "", "", "", MAY, MANAGE, 0)
/* Returns the model of the host at one moment: see *DOCUMENTS*. */
MANAGER_METHOD("GetTopology", GET_TOPOLOGY, "", "", "s", ARG(topology), MAY, OPEN, 0)
/*
 * Returns name and UUID of each domain, in natural order of names, and whether it runs, as they
 * were last read. LibvirtUnavailable: they are not known.
 */
MANAGER_METHOD("GetDomains", GET_DOMAINS, "", "", "a(ssb)", ARG(domains), MAY, READ, 0)
/*
 * Returns for each of the verbs, which are names of methods, what polkit would answer a call of it
 * with this domain and this group: yes; password, if it would ask for one; no; or unknown, if
 * polkit did not answer. An empty domain or group is not told to polkit. Nobody is asked for a
 * password, nothing is recorded, and nothing is permitted: the call itself asks again, and may be
 * refused for other reasons. _Cancel_ takes the option _job_.
 */
MANAGER_METHOD("Allowed", ALLOWED, "asss", ARG(verbs) ARG(domain) ARG(group), "a{ss}", ARG(answers),
	       MAY, OPEN, TAKES(JOB))
/*
 * Returns records of the audit trail, oldest first: see *AUDIT*. Of many records it returns some
 * hundreds; call it again with _after_.
 */
MANAGER_METHOD("GetAudit", GET_AUDIT, "", "", "s", ARG(page), MAY, AUDIT,
	       TAKES(SINCE) | TAKES(UNTIL) | TAKES(AFTER) | TAKES(USER) | TAKES(JOB) |
		       TAKES(GROUP) | TAKES(DOMAIN) | TAKES(HOLDERS))
/*
 * Returns which processes have a file of a GPU open now: see *AUDIT*. Callers who are not root are
 * told nothing of GPUs that are quarantined or in a job's hand, because a look at them may have to
 * wait.
 */
MANAGER_METHOD("GetHolders", GET_HOLDERS, "", "", "s", ARG(holders), MAY, AUDIT, 0)
/* Returns what the daemon has counted since its start: see *METRICS*. */
MANAGER_METHOD("GetMetrics", GET_METRICS, "", "", "s", ARG(metrics), MAY, OPEN, 0)

/* A job was started. */
MANAGER_SIGNAL("JobNew", "uo", ARG(id) ARG(job))
/*
 * A job has ended and left the queue. The result is done, failed, cancelled or incomplete; error
 * and message are empty when it is done.
 */
MANAGER_SIGNAL("JobRemoved", "uosss", ARG(id) ARG(job) ARG(result) ARG(error) ARG(message))

/* The daemon's version. */
MANAGER_PROPERTY("Version", STRING, version, CONST, MAY)
/* Whether libvirt is connected. Without it nothing can be assigned or released. */
MANAGER_PROPERTY("LibvirtConnected", BOOL, libvirt_connected, CHANGES, MAY)
/*
 * Where the daemon reads which domains have which functions: libvirt; with Uri=none of
 * *gpupassd.conf*(5) proxmox (Guests=yes), or none.
 */
MANAGER_PROPERTY("DomainsFrom", STRING, domains_from, CONST, MAY)
/* The kernel has IOMMU groups. */
MANAGER_PROPERTY("IommuEnabled", BOOL, iommu_enabled, CHANGES, MAY)
/* When all PCI devices were last read; 0: not yet. Where only some are read anew, it stays. */
MANAGER_PROPERTY("ScannedAt", UINT64, scanned_at, CHANGES, MAY)
/*
 * Notes for the operator, one sentence each: unreadable files, missing members of groups, boards
 * that cannot be grouped.
 */
MANAGER_PROPERTY("Notes", STRINGS, notes, CHANGES, MAY)
/* Number of the last record of the audit trail that is on disk; 0: none yet. */
MANAGER_PROPERTY("AuditSequence", UINT64, audit_sequence, CHANGES, MAY)

/* ---- org.gpupass1.Group ---- */

/* Its path has the same name, encoded. */
GROUP_PROPERTY("Name", STRING, name, CONST, MUST)
/* See *STATES*; and why, where the state needs a reason. */
GROUP_PROPERTY("State", STRING, state, CHANGES, MUST)
GROUP_PROPERTY("Reason", STRING, reason, CHANGES, MAY)
/* How the links are known: see *STATES*. */
GROUP_PROPERTY("Provenance", STRING, provenance, CHANGES, MAY)
/*
 * The source of that knowledge (groups.d/pair0.conf:1, NVML 550.54.15, link registers, guest vm42,
 * sysfs); and all of it in one sentence.
 */
GROUP_PROPERTY("Source", STRING, source, CHANGES, MAY)
GROUP_PROPERTY("Reasoning", STRING, reasoning, CHANGES, MAY)
/* Of its GPUs: RTX A6000, or 10de:2684 if the board is not in the catalogue. */
GROUP_PROPERTY("Model", STRING, model, CHANGES, MAY)
/* NV4: four links seen between two GPUs. NV4?: not seen, but the board has four. ?: not known. */
GROUP_PROPERTY("Link", STRING, link, CHANGES, MAY)
/* Links between two of its GPUs, as seen, and as the board should have; 0: not known. */
GROUP_PROPERTY("Links", UINT32, links, CHANGES, MAY)
GROUP_PROPERTY("LinksExpected", UINT32, links_expected, CHANGES, MAY)
/*
 * Each piece of evidence, strongest first: provenance, fewest links between two of its GPUs (0:
 * none, or not told), when the oldest was seen (0: no observation), source.
 */
GROUP_PROPERTY("Evidence", EVIDENCE, evidence, CHANGES, MAY)
/* When the links that count were seen; 0: never. */
GROUP_PROPERTY("EvidenceAt", TIME, evidence_at, CHANGES, MAY)
/* Its GPUs, and the addresses of their display functions, in one order. */
GROUP_PROPERTY("Gpus", PATHS, gpus, CHANGES, MAY)
GROUP_PROPERTY("GpuAddresses", STRINGS, gpu_addresses, CHANGES, MUST)
/*
 * What a domain gets with its GPUs: kind (nic, vf or nvme), address, driver ("": none), IOMMU group
 * (-1: none), vendor and device id (0: it is not there), VLAN of a VF (0: none).
 */
GROUP_PROPERTY("Companions", COMPANIONS, companions, CHANGES, MAY)
/*
 * Addresses of all functions of all its GPUs, then its companions; their IOMMU groups (-1: none),
 * and the GPUs' NUMA nodes (-1: not known), each once.
 */
GROUP_PROPERTY("Functions", STRINGS, functions, CHANGES, MAY)
GROUP_PROPERTY("IommuGroups", INT32S, iommu_groups, CHANGES, MAY)
GROUP_PROPERTY("NumaNodes", INT32S, numa_nodes, CHANGES, MAY)
/* Of the display functions: mixed if they differ, none if they have none. */
GROUP_PROPERTY("Driver", STRING, driver, CHANGES, MAY)
/* The domain that has it, or to which it is assigned. */
GROUP_PROPERTY("DomainName", STRING, domain_name, CHANGES, MAY)
GROUP_PROPERTY("DomainUuid", STRING, domain_uuid, CHANGES, MAY)
/* Its links are proven well enough for the settings, and no domain has it. */
GROUP_PROPERTY("Assignable", BOOL, assignable, CHANGES, MAY)
/*
 * Whether it stays on vfio-pci while no domain has it: no; asked (option _persist_); setting
 * (KeepBound= names it).
 */
GROUP_PROPERTY("Kept", STRING, kept, CHANGES, MAY)
/* The job that has it in hand. */
GROUP_PROPERTY("Job", PATH, job, CHANGES, MAY)
/* The worst of its GPUs'. */
GROUP_PROPERTY("TenantState", STRING, tenant_state, CHANGES, MAY)
/*
 * The last verdict of the guest that has it (see *VERDICTS*), and when it was asked (0: never).
 * Gone once the group has left that domain.
 */
GROUP_PROPERTY("Verified", STRING, verified, CHANGES, MAY)
GROUP_PROPERTY("VerifiedAt", TIME, verified_at, CHANGES, MAY)
/* What an earlier guest said last of the links, in one sentence: history, which decides nothing. */
GROUP_PROPERTY("PastGuestWord", STRING, past_guest_word, CHANGES, MAY)

/* ---- org.gpupass1.Gpu ---- */

/*
 * Returns details that a scan does not read, within 20 seconds. A device that is not in D0 is not
 * woken, so its link and serial number are missing. While a job has the GPU in hand, or it is
 * quarantined, users other than root get GroupBusy or Quarantined, because a look may wait for
 * ever. Keys, if known: link-speed, link-speed-max (s), link-width, link-width-max (u), serial-
 * number, uuid, driver-override (s), virtual-functions (u), holders (as: processes that have the
 * device open), unseen (as: those that may have, and why that is not known).
 */
GPU_METHOD("Inspect", INSPECT, "", "", "a{sv}", ARG(facts), MAY, READ, 0)

/* Of its display function, as the kernel writes it. */
GPU_PROPERTY("Address", STRING, address, CONST, MUST)
/* From pci.ids, and from gpupass's catalogue of boards. */
GPU_PROPERTY("Name", STRING, name, CONST, MAY)
GPU_PROPERTY("Model", STRING, model, CONST, MAY)
/* PCI ids. */
GPU_PROPERTY("VendorId", UINT16, vendor_id, CONST, MAY)
GPU_PROPERTY("DeviceId", UINT16, device_id, CONST, MAY)
GPU_PROPERTY("SubsystemVendorId", UINT16, subsystem_vendor_id, CONST, MAY)
GPU_PROPERTY("SubsystemDeviceId", UINT16, subsystem_device_id, CONST, MAY)
/*
 * bridge: it has a bridge connector. none: it has no NVLink. sxm: an SXM board or superchip.
 * unknown: not in the catalogue. And why it cannot be grouped, or a note about it.
 */
GPU_PROPERTY("Nvlink", STRING, nvlink, CONST, MAY)
GPU_PROPERTY("NvlinkNote", STRING, nvlink_note, CONST, MAY)
/*
 * Of a board with a bridge connector, otherwise 0: generation, links between the GPUs of a fully
 * bridged pair, most GPUs that one bridge ties.
 */
GPU_PROPERTY("NvlinkGeneration", UINT32, nvlink_generation, CONST, MAY)
GPU_PROPERTY("NvlinkLinks", UINT32, nvlink_links, CONST, MAY)
GPU_PROPERTY("NvlinkGroupSize", UINT32, nvlink_group_size, CONST, MAY)
/* All functions of its slot: address, driver (empty: none), IOMMU group (-1: none), class code. */
GPU_PROPERTY("Functions", FUNCTIONS, functions, CHANGES, MAY)
/* Of its display function; none without a driver, -1 where there is none or it is not known. */
GPU_PROPERTY("Driver", STRING, driver, CHANGES, MAY)
GPU_PROPERTY("IommuGroup", INT32, iommu_group, CHANGES, MAY)
GPU_PROPERTY("NumaNode", INT32, numa_node, CHANGES, MAY)
/* Its name under _/sys/bus/pci/slots_. */
GPU_PROPERTY("PhysicalSlot", STRING, physical_slot, CHANGES, MAY)
/* The bridges above it, root port first. */
GPU_PROPERTY("UpstreamPath", STRINGS, upstream_path, CHANGES, MAY)
/* Bytes of the six BARs and the expansion ROM; 0: absent. */
GPU_PROPERTY("BarSizes", UINT64S, bar_sizes, CHANGES, MAY)
/* The kernel's reset_method, in its order. */
GPU_PROPERTY("ResetMethods", STRINGS, reset_methods, CHANGES, MAY)
/* It is the host's boot display; SR-IOV virtual functions are enabled. */
GPU_PROPERTY("BootVga", BOOL, boot_vga, CHANGES, MAY)
GPU_PROPERTY("VirtualFunctions", BOOL, virtual_functions, CHANGES, MAY)
/*
 * MIG mode, _on_ or _off_, as NVML told it at the last probe of this board, and what it will be
 * after the next reset. Empty: not probed, or no MIG. In MIG mode NVLink is off. gpupass never
 * changes it.
 */
GPU_PROPERTY("MigMode", STRING, mig_mode, CHANGES, MAY)
GPU_PROPERTY("MigPending", STRING, mig_pending, CHANGES, MAY)
/* D0, D3hot, D3cold. */
GPU_PROPERTY("PowerState", STRING, power_state, CHANGES, MAY)
/*
 * See *STATES*; and why it is not ok. Read after each scan, at most every 5 seconds, and once a
 * minute; not while a job has the GPU in hand.
 */
GPU_PROPERTY("Health", STRING, health, CHANGES, MAY)
GPU_PROPERTY("HealthReason", STRING, health_reason, CHANGES, MAY)
/*
 * Speed ("16 GT/s") and lanes of the PCI Express link, and the most that the board can do. Empty
 * and 0 while the GPU is not in D0: reading would wake it, or return nonsense. What it can do stays
 * as it was last read.
 */
GPU_PROPERTY("LinkSpeed", STRING, link_speed, CHANGES, MAY)
GPU_PROPERTY("MaxLinkSpeed", STRING, max_link_speed, CHANGES, MAY)
GPU_PROPERTY("LinkWidth", UINT32, link_width, CHANGES, MAY)
GPU_PROPERTY("MaxLinkWidth", UINT32, max_link_width, CHANGES, MAY)
/* PCI Express errors that the kernel has counted since boot. */
GPU_PROPERTY("AerCorrectable", UINT64, aer_correctable, CHANGES, MAY)
GPU_PROPERTY("AerNonFatal", UINT64, aer_nonfatal, CHANGES, MAY)
GPU_PROPERTY("AerFatal", UINT64, aer_fatal, CHANGES, MAY)
/* Known once the nvidia driver has had the GPU, or from an assignment's record. */
GPU_PROPERTY("Uuid", STRING, uuid, CHANGES, MAY)
/*
 * PCIe Device Serial Number, which Hopper and later boards have. Known if a declaration names one.
 */
GPU_PROPERTY("SerialNumber", STRING, serial_number, CHANGES, MAY)
/*
 * none: no domain is known to have had it. dirty: one has it, or had it and it was not reset since.
 * clean: it was reset since. See *gpupassd*(8), TURNOVER.
 */
GPU_PROPERTY("TenantState", STRING, tenant_state, CHANGES, MAY)
/* UUID of that domain, the name that it had, and what the state rests on, for people. */
GPU_PROPERTY("Tenant", STRING, tenant, CHANGES, MAY)
GPU_PROPERTY("TenantName", STRING, tenant_name, CHANGES, MAY)
GPU_PROPERTY("TenantReason", STRING, tenant_reason, CHANGES, MAY)
/* Its group. */
GPU_PROPERTY("Group", PATH, group, CHANGES, MAY)

/* ---- org.gpupass1.Assignment ---- */

/* The domain's name when the record was last written; its UUID, which is the key. */
ASSIGNMENT_PROPERTY("DomainName", STRING, domain_name, CHANGES, MUST)
ASSIGNMENT_PROPERTY("DomainUuid", STRING, domain_uuid, CONST, MUST)
/*
 * The group's name when the record was last written, which still finds it under another name; and
 * that group, if it still exists.
 */
ASSIGNMENT_PROPERTY("GroupName", STRING, group_name, CHANGES, MUST)
ASSIGNMENT_PROPERTY("Group", PATH, group, CHANGES, MAY)
/*
 * Which of fit, numa and peer-access are applied: their settings go into the definition whenever the
 * group does.
 */
ASSIGNMENT_PROPERTY("Applies", STRINGS, applies, CHANGES, MAY)
/* mirror or flat: see the option _topology_ of Assign. */
ASSIGNMENT_PROPERTY("Topology", STRING, topology, CHANGES, MAY)
/* Addresses. */
ASSIGNMENT_PROPERTY("Functions", STRINGS, functions, CONST, MAY)
/* When, and by whom, Assign was called. */
ASSIGNMENT_PROPERTY("CreatedAt", UINT64, created_at, CONST, MAY)
ASSIGNMENT_PROPERTY("CreatedByUid", UINT32, created_by_uid, CONST, MAY)

/* ---- org.gpupass1.Job ---- */

/* From 1, since the daemon's start. */
JOB_PROPERTY("Id", UINT32, id, CONST, MUST)
/* See *STATES*. */
JOB_PROPERTY("Operation", STRING, operation, CONST, MAY)
/*
 * Group and domain that the caller named; once the plan is made, those of the plan. The UUID is
 * known from the start where polkit permitted the job for that domain.
 */
JOB_PROPERTY("GroupName", STRING, group_name, CHANGES, MAY)
JOB_PROPERTY("DomainName", STRING, domain_name, CHANGES, MAY)
JOB_PROPERTY("DomainUuid", STRING, domain_uuid, CHANGES, MAY)
/* See *STATES*. */
JOB_PROPERTY("State", STRING, state, CHANGES, MUST)
/* The job changes something, or did. False for a job that ended as anything but done. */
JOB_PROPERTY("Changed", BOOL, changed, CHANGES, MAY)
/*
 * Name, state, detail, duration in microseconds; empty until the plan is made. Names: preflight,
 * persistence off, bind vfio-pci, define, attach, detach, reset, give back, persistence on, verify,
 * record, forget, keep, unkeep. A job can be done although _persistence on_ failed: see Warnings.
 */
JOB_PROPERTY("Steps", STEPS, steps, CHANGES, MAY)
/* One of *ERRORS*, and its message; empty when there is none. */
JOB_PROPERTY("ErrorName", STRING, error_name, CHANGES, MAY)
JOB_PROPERTY("ErrorMessage", LINES, error_message, CHANGES, MAY)
/* Warnings of the plan; at the end also what could not be restored. */
JOB_PROPERTY("Warnings", STRINGS, warnings, CHANGES, MAY)
/* When it was called for, and how long it took; 0 until it has ended. */
JOB_PROPERTY("CreatedAt", UINT64, created_at, CONST, MAY)
JOB_PROPERTY("DurationUsec", UINT64, duration_usec, CHANGES, MAY)
/* 4294967295 if not known. */
JOB_PROPERTY("CallerUid", UINT32, caller_uid, CONST, MAY)
/* Of a verification that is done: its verdict as JSON, see *VERDICTS*. */
JOB_PROPERTY("Result", STRING, result, CHANGES, MAY)
/* A *Cancel* was accepted; and who called the first of them. */
JOB_PROPERTY("CancelRequested", BOOL, cancel_requested, CHANGES, MAY)
JOB_PROPERTY("CancelledByUid", UINT32, cancelled_by_uid, CHANGES, MAY)

/* ---- options of methods ---- */

/* Change the running domain. */
METHOD_OPTION(LIVE, "live", BOOL, live)
/*
 * Change the definition. With neither option, or both false: the definition, and, if the domain
 * runs, the running domain, too.
 */
METHOD_OPTION(CONFIG, "config", BOOL, config)
/*
 * Without a group: take only a group of this board, by the name in Gpu.Model, in upper or lower
 * case.
 */
METHOD_OPTION(MODEL, "model", STRING, model)
/*
 * Microseconds that the functions may take to change drivers, or NVML to answer; 0:
 * DeviceTimeoutSec= and ProbeTimeoutSec= of *gpupassd.conf*(5). Where it is not 0, all looks before
 * the first change together take no longer either, or 5 seconds if it is less. Of Verify: that the
 * guest may take in all; 0: three minutes, with _workload_ eight. At most an hour.
 */
METHOD_OPTION(TIMEOUT, "timeout", UINT64, timeout_usec)
/* assign (the default), release, bind, unbind or reconcile. */
METHOD_OPTION(OPERATION, "operation", STRING, operation)
/* Leave the functions on vfio-pci. */
METHOD_OPTION(KEEP_VFIO, "keep-vfio", BOOL, keep_vfio)
/*
 * Keep the group on vfio-pci: it is bound at every boot, and stays there after a release, until
 * Unbind.
 */
METHOD_OPTION(PERSIST, "persist", BOOL, persist)
/*
 * Reset all boards of the group that can be, on vfio-pci, and write a receipt. Refused while a
 * process has one open.
 */
METHOD_OPTION(RESET, "reset", BOOL, reset)
/* Also take the host's boot display. */
METHOD_OPTION(ALLOW_BOOT_VGA, "allow-boot-vga", BOOL, allow_boot_vga)
/*
 * Also give the domain a board, as it is, that another domain had and that no method can reset: see
 * *gpupassd*(8), TURNOVER. In Assign for root only.
 */
METHOD_OPTION(ACCEPT_DIRTY, "accept-dirty", BOOL, accept_dirty)
/*
 * Of one GPU: somebody looked at the board, and no bridge is on it. Needed where its chip has
 * NVLink, or is not known.
 */
METHOD_OPTION(NO_BRIDGE_SEEN, "no-bridge-seen", BOOL, no_bridge_seen)
/* A whole NIC may be among them, which a tenant can re-flash. */
METHOD_OPTION(WHOLE_NIC, "whole-nic", BOOL, whole_nic)
/* Data on an NVMe that no receipt knows may be erased. */
METHOD_OPTION(ERASE, "erase", BOOL, erase)
/* The VLAN of its VFs, 1 to 4094, which their guest does not see. */
METHOD_OPTION(VLAN, "vlan", UINT64, vlan)
/* In the guest: no-nvlink, one-gpu, no-p2p or slow. Only with a domain. */
METHOD_OPTION(SYMPTOM, "symptom", STRING, symptom)
/* Answer with the facts of the report, too: see *CAPTURE*. Only without a domain. */
METHOD_OPTION(CAPTURE, "capture", BOOL, capture)
/* Also read the link registers of Hopper GPUs that are not on the nvidia driver. */
METHOD_OPTION(MMIO, "mmio", BOOL, mmio)
/* Also measure how fast the links are, with programs that the guest has. This uses its GPUs. */
METHOD_OPTION(WORKLOAD, "workload", BOOL, workload)
/*
 * advise (the default), apply or strict: what to do when the domain's memory and vCPUs are not on
 * the GPUs' NUMA nodes (numa), or its address space, firmware or memory does not suit the GPUs
 * (fit). The assignment keeps apply. See *gpupass*(1), FIT.
 */
METHOD_OPTION(NUMA, "numa", STRING, numa)
METHOD_OPTION(FIT, "fit", STRING, fit)
/*
 * mirror or flat: whether the guest sees the group's members as far apart as the host does, by
 * expanders and switches in the domain's definition, or each on a port of its own. The assignment
 * keeps it. Without it: as it was assigned, or flat. Of assign.
 */
METHOD_OPTION(TOPOLOGY, "topology", STRING, topology)
/*
 * on, or unsafe: the guest's boards may reach each other over PCIe. On is refused for GeForce boards.
 * The assignment keeps it until its release. Of assign. See *gpupass*(1), PEER ACCESS.
 */
METHOD_OPTION(PEER_ACCESS, "peer-access", STRING, peer_access)
/*
 * Only records from then, up to then: microseconds since the epoch; only those behind this sequence
 * number.
 */
METHOD_OPTION(SINCE, "since", UINT64, since_usec)
METHOD_OPTION(UNTIL, "until", UINT64, until_usec)
METHOD_OPTION(AFTER, "after", UINT64, after)
/*
 * Only records of this user, by uid or login uid; about this job (of *Allowed*: the one that would
 * be cancelled); of processes that came to hold a GPU, or ceased to.
 */
METHOD_OPTION(USER, "user", UINT64, user)
METHOD_OPTION(JOB, "job", UINT64, job)
METHOD_OPTION(HOLDERS, "holders", BOOL, holders)
/* Of the domain's groups this one; only records about it. */
METHOD_OPTION(GROUP, "group", STRING, group)
/*
 * Only records about this domain, a UUID or a name. Of Bind: the number of the virtual machine of
 * Proxmox VE that the group is bound for. It must have the whole group in its definition, and no
 * other machine any of it; a board that another one had last is reset. NotAssigned: it has no part
 * of the group. In a Plan of bind it is the argument _domain_.
 */
METHOD_OPTION(DOMAIN, "domain", STRING, domain)

#undef MANAGER_PROPERTY
#undef GROUP_PROPERTY
#undef GPU_PROPERTY
#undef ASSIGNMENT_PROPERTY
#undef JOB_PROPERTY
#undef MANAGER_METHOD
#undef GPU_METHOD
#undef MANAGER_SIGNAL
#undef METHOD_OPTION
