/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Well-known names of the D-Bus API org.gpupass1, and what travels in it.
 * The interfaces themselves are in interfaces.h.
 */
#pragma once

#include "gpupass/cleanup.h"

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

/* polkit's actions, and what its rules see of a call; conf/org.gpupass1.policy has them, too. */
#define GPUPASS_ACTION_READ "org.gpupass1.read"	      /* without details */
#define GPUPASS_ACTION_ASSIGN "org.gpupass1.assign"   /* with domain and _group_ */
#define GPUPASS_ACTION_RELEASE "org.gpupass1.release" /* with _target_, domain, _group_ */
#define GPUPASS_ACTION_BIND "org.gpupass1.bind"	      /* with _group_ */
#define GPUPASS_ACTION_MANAGE "org.gpupass1.manage"   /* with _group_, if any */
#define GPUPASS_ACTION_PROBE "org.gpupass1.probe"     /* with domain, if any */
#define GPUPASS_ACTION_AUDIT "org.gpupass1.audit"     /* without details */

/* In the help of gpupass-hook: by this doctor tells its file from another in its place. */
#define GPUPASS_HOOK_SAYS "Run by libvirt as hooks/qemu.d/gpupass"

/* Keys of options of methods: GPUPASS_OPTION_LIVE is "live". */
#define METHOD_OPTION(ID, key, TYPE, member) static const char GPUPASS_OPTION_##ID[] _unused_ = key;
#include "gpupass/interfaces.h"

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
#define GPUPASS_SCHEMA_VERSION "org.gpupass1.version/1"
