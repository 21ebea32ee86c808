/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views: plain structs whose members are the properties of a D-Bus object. A view is described
 * once, by a list as in gpupass/properties.h; the struct, its vtable rows, its comparison (which
 * properties changed?) and its destructor all come from that list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "gpupass/cleanup.h"
#include "gpupass/properties.h"

typedef struct Int32s {
	int32_t *items;
	size_t n;
} Int32s;

typedef struct Uint64s {
	uint64_t *items;
	size_t n;
} Uint64s;

/* The C type of each PropertyType. */
#define VIEW_TYPE_STRING char *
#define VIEW_TYPE_LINES char *
#define VIEW_TYPE_STRINGS char **
#define VIEW_TYPE_PATH char *
#define VIEW_TYPE_PATHS char **
#define VIEW_TYPE_BOOL int /* as sd-bus has it */
#define VIEW_TYPE_UINT16 uint16_t
#define VIEW_TYPE_UINT32 uint32_t
#define VIEW_TYPE_INT32 int32_t
#define VIEW_TYPE_UINT64 uint64_t
#define VIEW_TYPE_INT32S Int32s
#define VIEW_TYPE_UINT64S Uint64s
#define VIEW_TYPE_FUNCTIONS FunctionViews
#define VIEW_TYPE_STEPS StepViews
#define VIEW_TYPE_EVIDENCE EvidenceViews

#define VIEW_ITEM_MEMBER(S, TYPE, member) VIEW_TYPE_##TYPE member;

typedef struct FunctionView {
	GPUPASS_FUNCTION_MEMBERS(VIEW_ITEM_MEMBER, )
} FunctionView;

typedef struct FunctionViews {
	FunctionView *items;
	size_t n;
} FunctionViews;

typedef struct StepView {
	GPUPASS_STEP_MEMBERS(VIEW_ITEM_MEMBER, )
} StepView;

typedef struct StepViews {
	StepView *items;
	size_t n;
} StepViews;

typedef struct EvidenceView {
	GPUPASS_EVIDENCE_MEMBERS(VIEW_ITEM_MEMBER, )
} EvidenceView;

typedef struct EvidenceViews {
	EvidenceView *items;
	size_t n;
} EvidenceViews;

typedef struct Field {
	const char *name;
	size_t offset;
	PropertyType type;
	bool changes;
} Field;

/* NULL: sd-bus itself appends what the offset points at. */
#define FIELD_GETTER_STRING NULL
#define FIELD_GETTER_LINES NULL
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
#define VIEW_MEMBER(View, Name, TYPE, member, MODE, NEED) VIEW_TYPE_##TYPE member;
#define VIEW_FIELD(View, Name, TYPE, member, MODE, NEED)                                           \
	{ Name, offsetof(View, member), PROPERTY_##TYPE, FIELD_CHANGES_##MODE },
#define VIEW_PROPERTY(View, Name, TYPE, member, MODE, NEED)                                        \
	SD_BUS_PROPERTY(Name, PROPERTY_SIGNATURE_##TYPE, FIELD_GETTER_##TYPE,                      \
			offsetof(View, member), FIELD_FLAG_##MODE),

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
