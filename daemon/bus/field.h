/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views: plain structs whose members are the properties of a D-Bus object. A view is described
 * once, as an X-macro list X(Name, type, member, KIND, CONST|CHANGES); the struct, its vtable
 * rows, its comparison (which properties changed?) and its destructor all come from that list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "gpupass/cleanup.h"

typedef struct Int32s {
	int32_t *items;
	size_t n;
} Int32s;

typedef struct Uint64s {
	uint64_t *items;
	size_t n;
} Uint64s;

typedef struct FunctionView {
	char *address, *driver;
	int32_t iommu_group;
	uint32_t class_code;
} FunctionView;

typedef struct FunctionViews {
	FunctionView *items;
	size_t n;
} FunctionViews;

typedef struct StepView {
	char *name, *state, *detail;
	uint64_t duration_usec;
} StepView;

typedef struct StepViews {
	StepView *items;
	size_t n;
} StepViews;

typedef struct EvidenceView {
	char *provenance, *source;
	uint32_t links;
	uint64_t seen_at;
} EvidenceView;

typedef struct EvidenceViews {
	EvidenceView *items;
	size_t n;
} EvidenceViews;

typedef enum FieldKind {
	FIELD_STRING,
	FIELD_STRINGS,
	FIELD_PATH,
	FIELD_PATHS,
	FIELD_BOOL, /* an int, as sd-bus has it */
	FIELD_UINT16,
	FIELD_UINT32,
	FIELD_INT32,
	FIELD_UINT64,
	FIELD_INT32S,
	FIELD_UINT64S,
	FIELD_FUNCTIONS,
	FIELD_STEPS,
	FIELD_EVIDENCE,
} FieldKind;

typedef struct Field {
	const char *name;
	size_t offset;
	FieldKind kind;
	bool changes;
} Field;

#define FIELD_SIGNATURE_STRING "s"
#define FIELD_SIGNATURE_STRINGS "as"
#define FIELD_SIGNATURE_PATH "o"
#define FIELD_SIGNATURE_PATHS "ao"
#define FIELD_SIGNATURE_BOOL "b"
#define FIELD_SIGNATURE_UINT16 "q"
#define FIELD_SIGNATURE_UINT32 "u"
#define FIELD_SIGNATURE_INT32 "i"
#define FIELD_SIGNATURE_UINT64 "t"
#define FIELD_SIGNATURE_INT32S "ai"
#define FIELD_SIGNATURE_UINT64S "at"
#define FIELD_SIGNATURE_FUNCTIONS "a(ssiu)"
#define FIELD_SIGNATURE_STEPS "a(ssst)"
#define FIELD_SIGNATURE_EVIDENCE "a(suts)"

/* NULL: sd-bus itself appends what the offset points at. */
#define FIELD_GETTER_STRING NULL
#define FIELD_GETTER_STRINGS NULL
#define FIELD_GETTER_PATH NULL
#define FIELD_GETTER_PATHS field_get_paths
#define FIELD_GETTER_BOOL NULL
#define FIELD_GETTER_UINT16 NULL
#define FIELD_GETTER_UINT32 NULL
#define FIELD_GETTER_INT32 NULL
#define FIELD_GETTER_UINT64 NULL
#define FIELD_GETTER_INT32S field_get_int32s
#define FIELD_GETTER_UINT64S field_get_uint64s
#define FIELD_GETTER_FUNCTIONS field_get_functions
#define FIELD_GETTER_STEPS field_get_steps
#define FIELD_GETTER_EVIDENCE field_get_evidence

#define FIELD_FLAG_CONST SD_BUS_VTABLE_PROPERTY_CONST
#define FIELD_FLAG_CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define FIELD_CHANGES_CONST false
#define FIELD_CHANGES_CHANGES true

/* For the lists: a struct member, a row of Field, a row of sd_bus_vtable. */
#define VIEW_MEMBER(Name, type, member, KIND, MODE) type member;
#define VIEW_FIELD(View, Name, member, KIND, MODE)                                                 \
	{                                                                                          \
		Name, offsetof(View, member), FIELD_##KIND, FIELD_CHANGES_##MODE                   \
	}
#define VIEW_PROPERTY(View, Name, member, KIND, MODE)                                              \
	SD_BUS_PROPERTY(Name, FIELD_SIGNATURE_##KIND, FIELD_GETTER_##KIND, offsetof(View, member), \
			FIELD_FLAG_##MODE)

int field_get_paths(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *error);
int field_get_int32s(sd_bus *bus, const char *path, const char *interface, const char *property,
		     sd_bus_message *reply, void *userdata, sd_bus_error *error);
int field_get_uint64s(sd_bus *bus, const char *path, const char *interface, const char *property,
		      sd_bus_message *reply, void *userdata, sd_bus_error *error);
int field_get_functions(sd_bus *bus, const char *path, const char *interface, const char *property,
			sd_bus_message *reply, void *userdata, sd_bus_error *error);
int field_get_steps(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *error);
int field_get_evidence(sd_bus *bus, const char *path, const char *interface, const char *property,
		       sd_bus_message *reply, void *userdata, sd_bus_error *error);

bool field_equal(const Field *field, const void *view_a, const void *view_b);
/* Frees what the members hold, not the view itself. */
void fields_clear(const Field *fields, size_t n, void *view);
