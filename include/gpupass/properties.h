/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of the properties in interfaces.h, on the bus and in C, for both its sides. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum PropertyType {
	PROPERTY_STRING,
	PROPERTY_LINES, /* a string of several lines */
	PROPERTY_STRINGS,
	PROPERTY_PATH, /* "/": points at nothing */
	PROPERTY_PATHS,
	PROPERTY_BOOL,
	PROPERTY_UINT16,
	PROPERTY_UINT32,
	PROPERTY_INT32, /* an IOMMU group or a NUMA node; -1: none, or not known */
	PROPERTY_UINT64,
	PROPERTY_TIME, /* as UINT64; 0: never */
	PROPERTY_INT32S,
	PROPERTY_UINT64S,
	PROPERTY_FUNCTIONS,
	PROPERTY_STEPS,
	PROPERTY_EVIDENCE,
	PROPERTY_COMPANIONS,
} PropertyType;

#define PROPERTY_SIGNATURE_STRING "s"
#define PROPERTY_SIGNATURE_LINES "s"
#define PROPERTY_SIGNATURE_STRINGS "as"
#define PROPERTY_SIGNATURE_PATH "o"
#define PROPERTY_SIGNATURE_PATHS "ao"
#define PROPERTY_SIGNATURE_BOOL "b"
#define PROPERTY_SIGNATURE_UINT16 "q"
#define PROPERTY_SIGNATURE_UINT32 "u"
#define PROPERTY_SIGNATURE_INT32 "i"
#define PROPERTY_SIGNATURE_UINT64 "t"
#define PROPERTY_SIGNATURE_TIME "t"
#define PROPERTY_SIGNATURE_INT32S "ai"
#define PROPERTY_SIGNATURE_UINT64S "at"
#define PROPERTY_SIGNATURE_FUNCTIONS "a(" GPUPASS_FUNCTION_MEMBERS(PROPERTY_SIGNATURE_OF) ")"
#define PROPERTY_SIGNATURE_STEPS "a(" GPUPASS_STEP_MEMBERS(PROPERTY_SIGNATURE_OF) ")"
#define PROPERTY_SIGNATURE_EVIDENCE "a(" GPUPASS_EVIDENCE_MEMBERS(PROPERTY_SIGNATURE_OF) ")"
#define PROPERTY_SIGNATURE_COMPANIONS "a(" GPUPASS_COMPANION_MEMBERS(PROPERTY_SIGNATURE_OF) ")"
#define PROPERTY_SIGNATURE_OF(TYPE, member) PROPERTY_SIGNATURE_##TYPE

/* In C; util/bus-value.h has what is done with them. */
#define PROPERTY_C_STRING char *
#define PROPERTY_C_LINES char *
#define PROPERTY_C_STRINGS char ** /* NULL at the end, or instead of an empty list */
#define PROPERTY_C_PATH char *
#define PROPERTY_C_PATHS char **
#define PROPERTY_C_BOOL int /* as sd-bus has it */
#define PROPERTY_C_UINT16 uint16_t
#define PROPERTY_C_UINT32 uint32_t
#define PROPERTY_C_INT32 int32_t
#define PROPERTY_C_UINT64 uint64_t
#define PROPERTY_C_TIME uint64_t
#define PROPERTY_C_INT32S BusInt32s
#define PROPERTY_C_UINT64S BusUint64s
#define PROPERTY_C_FUNCTIONS BusFunctions
#define PROPERTY_C_STEPS BusSteps
#define PROPERTY_C_EVIDENCE BusEvidences
#define PROPERTY_C_COMPANIONS BusCompanions

/* Makes a member of a struct of a row. */
#define PROPERTY_MEMBER(Name, TYPE, member, MODE, NEED) PROPERTY_C_##TYPE member;

/* The structures in lists: X(TYPE, member), in the order on the bus. */

/* A PCI function of a GPU. */
#define GPUPASS_FUNCTION_MEMBERS(X)                                                                \
	X(STRING, address)                                                                         \
	X(STRING, driver) /* "": none */                                                           \
	X(INT32, iommu_group)                                                                      \
	X(UINT32, class_code) /* 24 bits, as in sysfs */

/* A step of a job. */
#define GPUPASS_STEP_MEMBERS(X)                                                                    \
	X(STRING, name)                                                                            \
	X(STRING, state)                                                                           \
	X(STRING, detail) /* what it acts on */                                                    \
	X(UINT64, duration_usec)

/* What tells of a group's links. */
#define GPUPASS_EVIDENCE_MEMBERS(X)                                                                \
	X(STRING, provenance)                                                                      \
	X(UINT32, links) /* 0: none, or not told */                                                \
	X(TIME, seen_at) /* 0: not an observation */                                               \
	X(STRING, source)

/* A NIC, a VF or an NVMe of a group. */
#define GPUPASS_COMPANION_MEMBERS(X)                                                               \
	X(STRING, kind)                                                                            \
	X(STRING, address)                                                                         \
	X(STRING, driver) /* "": none */                                                           \
	X(INT32, iommu_group)                                                                      \
	X(UINT16, vendor_id) /* 0: it is not there */                                              \
	X(UINT16, device_id)                                                                       \
	X(UINT16, vlan) /* of a VF; 0: none */

#define BUS_LIST_OF(Item, List)                                                                    \
	typedef struct List {                                                                      \
		Item *items;                                                                       \
		size_t n_items;                                                                    \
	} List;
#define BUS_STRUCTURE(Item, List, MEMBERS)                                                         \
	typedef struct Item {                                                                      \
		MEMBERS(BUS_STRUCTURE_MEMBER)                                                      \
	} Item;                                                                                    \
	BUS_LIST_OF(Item, List)
#define BUS_STRUCTURE_MEMBER(TYPE, member) PROPERTY_C_##TYPE member;

BUS_LIST_OF(int32_t, BusInt32s)
BUS_LIST_OF(uint64_t, BusUint64s)
BUS_STRUCTURE(BusFunction, BusFunctions, GPUPASS_FUNCTION_MEMBERS)
BUS_STRUCTURE(BusStep, BusSteps, GPUPASS_STEP_MEMBERS)
BUS_STRUCTURE(BusEvidence, BusEvidences, GPUPASS_EVIDENCE_MEMBERS)
BUS_STRUCTURE(BusCompanion, BusCompanions, GPUPASS_COMPANION_MEMBERS)
