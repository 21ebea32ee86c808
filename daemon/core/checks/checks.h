/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The register of checks: what may be wrong with this host, with a group, or with one domain and
 * its group. One row is one question, with one answer: doctor reports what all rows find, and a
 * plan is refused by the rows that say so. Pure: facts that the caller has gathered are the input.
 * A check that lacks a fact is "unknown" and says what is missing; it never passes.
 */
#pragma once

#include "core/base/problem.h"
#include "core/domain/use.h"
#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/facts/inspection.h"
#include "core/facts/receipt.h"
#include "core/fit/fit.h"
#include "core/group/group.h"
#include "core/nvme/erase.h"
#include "core/pci/host-facts.h"
#include "core/tenancy/tenancy.h"

#define FINDING_STATUSES(X)                                                                        \
	X(FINDING_SKIPPED, "skipped") /* it is about nothing that is here */                       \
	X(FINDING_PASS, "pass")	      /* all of it was seen, and nothing is wrong */               \
	X(FINDING_UNKNOWN, "unknown") /* a fact is missing, and nothing wrong was seen */          \
	X(FINDING_WARN, "warn")                                                                    \
	X(FINDING_FAIL, "fail")

/* In ascending order of severity. */
DECLARE_ENUM(finding_status, FindingStatus, FINDING_STATUSES, FINDING_STATUS_MAX_);

typedef struct FindingLine {
	FindingStatus status;
	char *object; /* an address, the name of a group or domain; NULL: of none */
	char *what;   /* one sentence, without a full stop */
	char *remedy; /* NULL: that of a line behind it, or there is nothing to do */
	bool bars;    /* a plan is refused by it: */
	GpupassError error;
	char *reason; /* of the refusal, whose cause are all lines with it; NULL: this line is it */
} FindingLine;

typedef struct Check Check;

typedef struct Finding {
	const Check *check;
	FindingLine *lines; /* in the order in which they were found */
	size_t n_lines;
	FindingStatus status; /* the highest of them */
} Finding;
DECLARE_CLEAR(Finding, finding_clear)

/* All pointers are borrowed. */
typedef struct CheckFacts {
	const PciSnapshot *snapshot;
	const GpuSet *gpus;
	const GroupSet *groups; /* observed */
	const DomainUses *uses; /* NULL: libvirt does not answer */
	const char *uses_note;	/* why libvirt does not answer; may be NULL */
	const Assignments *assignments;
	const Tenants *marks; /* NULL: none are kept */
	const Policy *policy;
	const Inspection *inspection; /* of all functions of groups; NULL: it failed */
	int inspection_error;
	const Problem *inspection_problem; /* the same in words; NULL: not known */
	const HostFacts *machine;	   /* memory, CPUs, NUMA nodes; NULL: not known */
	const Examination *host;	   /* NULL: it failed */
	int host_error;
	const Problem *host_problem;
	const GpuHealth *health; /* of all GPUs of groups */
	size_t n_health;
	const LastReset *resets; /* of the GPUs; NULL: nobody keeps receipts */
	size_t n_resets;
	char *const *busy;	  /* groups that a job works on: their state is no fault */
	char *const *quarantined; /* "pair0: why" */
	char *const *clears;	  /* their names for `gpupass clear`; NULL: the groups' */
	char *const *open_jobs;	  /* interrupted and not recovered yet: "job 7 (assign pair0)" */
	char *const *settings;	  /* faults of groups.d: "groups.d/x.conf:3: …" */
	/*
	 * Findings of other parts of gpupass, in their words; the object of a line is its group.
	 * NULL: not looked for.
	 */
	const Finding *drift, *evidence, *tenants, *split; /* split: domains with a part of one */
	const Finding *files;				   /* of no group */
	const char *fence_fault;  /* why libvirt's hook cannot use fence.json; NULL: it can */
	const VirtDomain *domain; /* NULL: the host as a whole */
	/* Of a plan: */
	bool allow_boot_vga;
	bool gives_back; /* functions leave vfio; false: they are to go there */
	bool detaches;	 /* it begins with a request to the one guest that may have them */
} CheckFacts;

typedef struct Findings {
	Finding *items;
	size_t n_items;
} Findings;
DECLARE_CLEAR(Findings, findings_clear)

/* What one run of the checks is about. */
typedef struct Checks {
	const CheckFacts *facts;
	const Group **groups; /* of the domain that the report is about */
	size_t n_groups;
	const Gpu *const *gpus; /* that are checked */
	size_t n_gpus;
	const Companion *companions; /* that are checked */
	size_t n_companions;
	/* The GPUs' functions, then the companions, by the snapshot of the facts. */
	const PciFunction **functions;
	size_t n_functions;
	DomainXml *xml;	 /* the definition, or else the live XML; NULL: cannot be parsed */
	FitReport *fit;	 /* what fit_check() finds in `xml`; NULL if that is NULL */
	char *xml_error; /* why it cannot be parsed */
} Checks;

/*
 * What a check needs. Without what it is about, it is skipped. Without facts, it is unknown, and
 * says what is missing.
 */
typedef enum CheckNeeds {
	NEEDS_HOST = 1 << 0,	   /* facts: the examination */
	NEEDS_INSPECTION = 1 << 1, /* facts: an inspection of the groups' functions */
	NEEDS_GPUS = 1 << 2,	   /* at least one GPU that is in a group */
	NEEDS_IOMMU = 1 << 3,
	NEEDS_LIBVIRT = 1 << 4, /* facts: the domains */
	NEEDS_DOMAIN = 1 << 5,	/* without a domain the check is not in the report at all */
	NEEDS_GROUP = 1 << 6,	/* and the domain has a group */
	/* What it does not pass without, though it runs. */
	WANTS_INSPECTION = 1 << 7,  /* a close look at each of the GPUs */
	WANTS_DOMAINS = 1 << 8,	    /* what every domain has */
	WANTS_ASSIGNMENTS = 1 << 9, /* what is assigned and kept */
	NEEDS_NVMES = 1 << 10,	    /* at least one that a group has */
} CheckNeeds;

/* What a plan does by what a check finds. */
typedef enum CheckPlans {
	REFUSES_TAKING = 1 << 0,  /* it is refused if it takes functions for vfio */
	REFUSES_GIVING = 1 << 1,  /* it is refused if it gives them back */
	WARNS_TAKING = 1 << 2,	  /* it warns of what does not refuse it */
	REFUSES_ERASING = 1 << 3, /* it is refused if it erases NVMes */
} CheckPlans;

/* One row. The rows stand behind their functions, a table a file. */
struct Check {
	const char *id, *title;
	void (*run)(const Checks *c, Finding *f);
	const char *nothing; /* what it says if it found nothing; NULL: it says all itself */
	const char *see;     /* a heading of docs/TROUBLESHOOTING.md */
	/* What a pass rests on: what is observed, and by whom. CHECK() demands it of each row. */
	const char *evidence;
	unsigned needs; /* CheckNeeds */
	unsigned plans; /* CheckPlans */
	unsigned fit;	/* bits of FitId: what run() tells of the fit */
	unsigned users; /* bits of NicUserKind: what run() tells of NICs */
	size_t told;	/* where CheckFacts has the finding that run() tells */
};
#define CHECK(id_, title_, needs_, run_, nothing_, see_, evidence_, ...)                           \
	{                                                                                          \
		.id = (id_), .title = (title_), .needs = (needs_), .run = (run_),                  \
		.nothing = (nothing_), .see = (see_), .evidence = (evidence_), __VA_ARGS__         \
	}
#define SEE_TABLE "what-doctor-finds"

/* The row with this number, in the order of the report; NULL behind the last. */
const Check *checks_at(size_t number);

/*
 * Runs the rows that ask one of `plans` (0: all rows) for the GPUs in `c`. Fills `functions` and
 * reads the domain's XML.
 */
Findings checks_run(Checks *c, unsigned plans);
/* Frees what checks_run() has filled. */
void checks_clear(Checks *c);
/*
 * 0, or a refusal by the first line of these rows that bars a plan. Appends what else they warn of
 * to `ret_warnings`, which may be NULL.
 */
int checks_refuse(Checks *c, unsigned plans, char ***ret_warnings, Problem **ret_problem);
/* The remedy of its first most severe line that has one, or of a line behind it; NULL: none. */
const char *finding_remedy_text(const Finding *finding);

/* Of a table of rows: */

/*
 * Adds a line and raises the status to at least this one; the status never falls. `object` may be
 * NULL. The next two are about the line that was added last.
 */
void finding_add(Finding *f, FindingStatus status, const char *object, const char *format, ...)
	_printf_(4, 5);
#define finding_pass(f, ...) finding_add(f, FINDING_PASS, NULL, __VA_ARGS__)
#define finding_skip(f, ...) finding_add(f, FINDING_SKIPPED, NULL, __VA_ARGS__)
#define finding_unknown(f, object, ...) finding_add(f, FINDING_UNKNOWN, object, __VA_ARGS__)
#define finding_warn(f, object, ...) finding_add(f, FINDING_WARN, object, __VA_ARGS__)
#define finding_fail(f, object, ...) finding_add(f, FINDING_FAIL, object, __VA_ARGS__)
/* Keeps the first. */
void finding_remedy(Finding *f, const char *format, ...) _printf_(2, 3);
/* A plan is refused by it. `reason` as in FindingLine; copied. */
void finding_bars(Finding *f, GpupassError error, const char *reason);

/* NULL: not looked at closely. */
const FunctionFacts *checks_function(const Checks *c, const Bdf *bdf);
/* NULL: the GPU's health was not read, or could not be. */
const GpuHealth *checks_health(const Checks *c, const Gpu *gpu);
/* It is a function of what is checked: of a GPU, or a companion. */
bool checks_have(const Checks *c, const Bdf *bdf);
/* The checked GPU that has this function; NULL: none. */
const Gpu *checks_gpu_of(const Checks *c, const Bdf *bdf);
/* The report is about this group: it is about the host, or the group is its domain's. */
bool checks_cover_group(const Checks *c, const char *name);
/* A job works on the group. */
bool checks_busy(const Checks *c, const Group *group);
/* One of these lines, "pair0: why", is about the group. */
bool checks_name_group(char *const *lines, const Group *group);
/* What of the host's setup could not be read: `key` as in Examination's `unread`. */
void checks_need_read(const Checks *c, const char *key, Finding *f);
void checks_need_domains(const Checks *c, Finding *f);

/*
 * device.c: refuses if any function outside the slot is on the same bus, whether of the group or
 * not: a reset of the bus would reset it, too.
 */
int checks_refuse_bus_reset(const PciSnapshot *snapshot, const Bdf *bdf, Problem **ret_problem);
/* use.c: a daemon of NVIDIA's, by its name. */
bool checks_is_service(const Holder *holder);
/* ids.c: what has pci-stub take the function at boot, in words; NULL: nothing known. */
char *checks_find_stub(const Checks *c, const Bdf *bdf);
/* domain.c: parses the domain's XML and runs fit_check() on it. */
void checks_read_domain(Checks *c);

extern const Check checks_of_host[], checks_of_ids[], checks_of_initramfs[], checks_of_use[],
	checks_of_nics[], checks_of_nvme[], checks_of_device[], checks_of_companions[],
	checks_of_peers[], checks_of_self[], checks_of_domain[];
