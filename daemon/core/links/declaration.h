/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups that the operator declares, in groups.d/NAME.conf:
 *
 *   [Group]
 *   Name=pair0
 *   Gpu=0000:41:00.0          by address (any form of bdf_parse), or
 *   Gpu=GPU-1b5c…             by UUID, or
 *   Gpu=serial:00-04-4b-…     by Device Serial Number, or
 *   Gpu=slot:3                by physical slot
 *   ForeignUse=yes            domains may have the whole group without gpupass; default no
 *   With=nic:0000:42:00.0     and what a domain gets with the GPUs: nic, vf or nvme, by address
 *   WholeNic=yes              a whole NIC, which a tenant can re-flash, may be with them
 *   Vlan=42                   of its VFs
 *   Erase=yes                 data on an NVMe that no receipt knows may be erased
 *
 * Each section is one group, and a file may have several. This code is pure and works on text;
 * manager/config.c reads the files.
 */
#pragma once

#include "core/base/group-name.h"
#include "core/base/limits.h"
#include "core/base/problem.h"
#include "core/facts/member.h"
#include "core/pci/gpu.h"

#define GROUP_MEMBERS_MIN 1
/* IEEE 802.1Q: 0 is none, 4095 is kept. */
#define VLAN_MAX 4094

typedef enum SelectorKind {
	SELECTOR_ADDRESS,
	SELECTOR_UUID,
	SELECTOR_SERIAL,
	SELECTOR_SLOT
} SelectorKind;

typedef struct Selector {
	SelectorKind kind;
	Bdf address; /* SELECTOR_ADDRESS */
	char *text;  /* as written, without its "serial:" or "slot:" */
} Selector;
DECLARE_CLEAR(Selector, selector_clear)

typedef struct Declaration {
	char *name;
	Selector *members;
	size_t n_members;
	Member *companions;
	size_t n_companions;
	bool foreign_use;
	bool foreign_use_set; /* the section says so, or the contrary */
	bool whole_nic, whole_nic_set;
	bool erase, erase_set;
	unsigned vlan; /* of its VFs; 0: none */
	char *source;  /* "groups.d/pair0.conf:1": file and line of the section */
	bool edited;   /* by hand, and no reload has asked for it yet */
} Declaration;
DECLARE_CLEAR(Declaration, declaration_clear)

typedef struct Declarations {
	Declaration *items;
	size_t n_items;
} Declarations;
DECLARE_FREE(Declarations, declarations_free)

int selector_parse(const char *text, Selector *ret);

/*
 * Appends what `text` declares. An error in the text gives PROBLEM (InvalidConfig) with the reason
 * "groups.d/a.conf:7: …", and leaves `into` as it was. Within and across files, names must be
 * unique, groups have 1 … 16 GPUs, and nothing is a member twice.
 */
int declarations_parse(Declarations *into, const char *file_name, const char *text,
		       Problem **ret_problem);

/* What a caller wants declared. */
typedef struct DeclareWish {
	char *name;
	char **members;	   /* GPUs, as Gpu= has them */
	char **companions; /* as With= has them; NULL: none */
	bool whole_nic, erase;
	unsigned vlan; /* 0: none */
} DeclareWish;
DECLARE_CLEAR(DeclareWish, declare_wish_clear)
DECLARE_COPY(DeclareWish, declare_wish_copy)

/*
 * The text of a file that declares this one group. NULL when the name or a member is not valid: no
 * value can add another line to the file.
 */
char *declaration_to_text(const DeclareWish *wish);

/*
 * What was read because the group of this name was declared or forgotten, and is not as `before`,
 * is an edit that nobody has asked for yet.
 */
void declarations_find_edits(Declarations *declarations, const Declarations *before,
			     const char *name);

/* Takes the declaration of this name out. */
void declarations_remove(Declarations *declarations, const char *name);
