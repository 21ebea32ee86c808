/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had a board last, and whether it was reset since. A mark says so: one a board, durable
 * (schema org.gpupass1.tenant/1, store/tenants.h). It is dirty from before the first moment in
 * which a guest could touch the board until a reset that was checked. tenancy_of() puts mark,
 * records and domains together, and where these leave a doubt the answer is dirty.
 */
#pragma once

#include "core/domain/use.h"
#include "core/facts/assignment.h"
#include "core/pci/gpu.h"
#include "gpupass/string-table.h"

#define TENANT_STATES(X)                                                                           \
	X(TENANT_NONE, "none")	 /* nobody is known to have had it */                              \
	X(TENANT_CLEAN, "clean") /* reset since its last tenant */                                 \
	X(TENANT_DIRTY, "dirty") /* not reset since its last tenant, or nobody can tell */

/* From best to worst. */
typedef enum TenantState {
#define X(enumerator, name) enumerator,
	TENANT_STATES(X)
#undef X
		TENANT_STATE_MAX_,
} TenantState;
DECLARE_STRING_TABLE(tenant_state, TenantState);

typedef struct TenantMark {
	Bdf bdf; /* of the leading function */
	uint16_t vendor, device, subsystem_vendor, subsystem_device;
	char *uuid;	     /* of the GPU; NULL: was not known */
	char *serial_number; /* likewise */
	TenantState state;   /* clean or dirty */
	char *domain_uuid;   /* NULL: a tenant that is not known */
	char *domain_name;   /* for a reader; NULL: not known */
	uint64_t since_usec; /* CLOCK_REALTIME */
	char *why;	     /* what made it so, a few words; for a reader */
	bool no_method;	     /* dirty: the last try found no way to reset it */
} TenantMark;

/* What the directory has about one address. */
typedef struct TenantFile {
	Bdf bdf;
	TenantMark *mark; /* NULL: it cannot be used */
	char *fault;	  /* why */
} TenantFile;

typedef struct Tenants {
	TenantFile *items;
	size_t n_items;
	char *fault; /* why nothing can be said of any board; NULL: something can */
} Tenants;

/* JSON with a newline, and back. Strict: -EBADMSG, or -EPROTO for another version, with a message. */
char *tenant_mark_to_json(const TenantMark *mark);
int tenant_mark_from_json(const char *text, size_t size, TenantMark **ret, char **ret_message);

/* Which board it is, all of it copied. */
int tenant_mark_identify(TenantMark *mark, const Gpu *gpu);
/* They are of one board, as far as both tell. */
bool tenant_marks_match(const TenantMark *a, const TenantMark *b);
void tenant_mark_clear(TenantMark *mark);
TenantMark *tenant_mark_free(TenantMark *mark);
DEFINE_CLEANUP(TenantMark, tenant_mark_free)

/* By any function of the board's slot; NULL: there is none. */
const TenantFile *tenants_find(const Tenants *tenants, const Bdf *bdf);
Tenants *tenants_free(Tenants *tenants);
DEFINE_CLEANUP(Tenants, tenants_free)

/* What is known, all borrowed; NULL: that is not known. */
typedef struct TenancyFacts {
	const Tenants *tenants;
	const GpuSet *gpus;
	const Assignments *assignments;
	const DomainUses *uses;
} TenancyFacts;

/* What an answer rests on. */
typedef enum TenancySource {
	TENANCY_NOTHING,
	TENANCY_MARK,
	TENANCY_RECORD, /* an assignment of a version that kept no marks */
	TENANCY_SEEN,	/* a domain that has it */
	TENANCY_MOVED,	/* the mark of a board that is missing, and may be this one */
	TENANCY_FAULT,	/* the mark cannot be used */
} TenancySource;

/* Texts are borrowed from the facts. */
typedef struct Tenancy {
	TenantState state;
	TenancySource source;
	const char *domain_uuid; /* NULL: nobody, or a tenant that is not known */
	const char *domain_name; /* NULL: not known */
	const char *why;	 /* NULL: nothing is to be said */
	bool no_method;
} Tenancy;

Tenancy tenancy_of(const TenancyFacts *facts, const Gpu *gpu);

/* The domain may have the board as it is: nobody else's data can be in it. */
bool tenancy_suits(const Tenancy *tenancy, const char *domain_uuid);

/* The mark does not say it yet, and has to. */
bool tenancy_is_news(const Tenancy *tenancy);
/* What it has to say then. */
int tenancy_mark(const Tenancy *tenancy, const Gpu *gpu, uint64_t now_usec, TenantMark *ret);

/* "vm42 (3f0c…)", "3f0c…", or "a tenant that is not known"; NULL when memory is out. */
char *tenancy_tenant_text(const char *domain_uuid, const char *domain_name);

/* A line for each mark that cannot be used; appended. */
int tenancy_notes(const TenancyFacts *facts, char ***notes);
