/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had a board last, and whether it was reset since. Each board has one durable mark that says
 * so (store/tenants.h). The mark is dirty from before the first
 * moment in which a guest could touch the board until a reset that was checked. tenancy_of()
 * combines mark, records and domains. In doubt the answer is dirty.
 */
#pragma once

#include "core/domain/use.h"
#include "core/facts/assignment.h"
#include "core/nvme/erase.h"
#include "core/pci/gpu.h"
#include "gpupass/string-table.h"

#define TENANT_STATES(X)                                                                           \
	X(TENANT_NONE, "none")	 /* no tenant is known */                                          \
	X(TENANT_CLEAN, "clean") /* reset since its last tenant */                                 \
	X(TENANT_DIRTY, "dirty") /* not reset since its last tenant, or not known to be */

/* From best to worst. */
DECLARE_ENUM(tenant_state, TenantState, TENANT_STATES, TENANT_STATE_MAX_);

typedef struct TenantMark {
	Bdf bdf _json_(as "address"); /* of the leading function */
	uint16_t vendor, device, subsystem_vendor, subsystem_device _json_(hex 4);
	char *uuid _json_(if_any);	    /* of the GPU; NULL: was not known */
	char *serial_number _json_(if_any); /* likewise */
	/* clean or dirty */
	TenantState state _json_(not_0, wrong "is neither clean nor dirty");
	char *domain_uuid _json_(if_any); /* NULL: the tenant is not known */
	char *domain_name _json_(if_any); /* for people to read; NULL: not known */
	uint64_t since_usec;		  /* CLOCK_REALTIME */
	char *why;			  /* what made it so, in a few words; for people to read */
	bool no_method _json_(if_any);	  /* dirty: the last try found no way to reset it */
	/*
	 * An NVMe that gpupass has erased, and that nobody had since but by gpupass: clean is only
	 * what was erased, and what is dirty may be.
	 */
	NvmeReceipt *erases _json_(if_any, max 1);
	size_t n_erases;
	bool begun _json_(if_any); /* its first erase has: who had it before does not count */
	/* Then: of what serial number. NULL: it was not asked yet. */
	char *begun_serial _json_(plain, if_any);
	bool cleared
		_json_(if_any); /* a person has lifted its quarantine: it need not be as then */
} TenantMark;
DECLARE_CLEAR(TenantMark, tenant_mark_clear)
DECLARE_FREE(TenantMark, tenant_mark_free)

/* What the directory of marks has for one address. */
typedef struct TenantFile {
	Bdf bdf;
	TenantMark *mark; /* NULL: it cannot be used */
	size_t fault;	  /* then: which of the faults says why */
} TenantFile;

typedef struct Tenants {
	TenantFile *items;
	size_t n_items;
	RecordFaults faults;
	bool unread; /* no mark could be read at all; the only fault says why */
} Tenants;
DECLARE_FREE(Tenants, tenants_free)

extern const RecordKind tenant_kind;
json_t *tenant_mark_document(const TenantMark *mark);
char *tenant_file_name(const Bdf *bdf);

/* Copies what identifies the board into the mark. */
void tenant_mark_identify(TenantMark *mark, const Gpu *gpu);
/* They are of one board, as far as both say. */
bool tenant_marks_match(const TenantMark *a, const TenantMark *b);

/* The mark of this function itself, as far as it is known; NULL: there is none that can be used. */
const TenantMark *tenants_mark(const Tenants *tenants, const PciFunction *function);
/*
 * Of a GPU any function of its slot will do; of a companion only its own: the ports of a NIC may
 * have two tenants. NULL: there is no mark.
 */
const TenantFile *tenants_find(const Tenants *tenants, const Bdf *bdf);
/* An NVMe that a tenant gave back, not erased since: that one chose what is on it. */
bool tenants_returned(const Tenants *tenants, const Bdf *nvme);
/* Why the mark of this board, or any, cannot be used; NULL: it can, or there is none. */
const RecordFault *tenants_fault(const Tenants *tenants, const Bdf *bdf);

/* What is known, all borrowed. A pointer is NULL when that is not known. */
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
	const char *why;	 /* NULL: there is nothing to say */
	bool no_method;
} Tenancy;

Tenancy tenancy_of(const TenancyFacts *facts, const Gpu *gpu);

/* The stored mark does not say this yet, and must. */
bool tenancy_is_news(const Tenancy *tenancy);
/* The mark that must be stored then. */
TenantMark tenancy_mark(const Tenancy *tenancy, const Gpu *gpu, uint64_t now_usec);

/* "vm42 (3f0c…)", "3f0c…", or "a tenant that is not known". */
char *tenancy_tenant_text(const char *domain_uuid, const char *domain_name);

/* Appends a line for each mark that is of another board. */
void tenancy_notes(const TenancyFacts *facts, char ***notes);
