/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What callers ask for and a thread finds out: reports, close looks, pages of the audit trail. */
#pragma once

#include "core/audit/record.h"
#include "job/doctor-look.h"
#include "manager/types.h"

/* Lifts a quarantine whose cause is gone. PROBLEM: refused at once, and `done` is not called. */
int manager_clear(Manager *m, const char *group, ManagerAnswered done, void *userdata,
		  Problem **ret_problem);

/*
 * A report of what is wrong with this host, or with a domain and its group. Takes the request, and
 * fills in what only the manager knows.
 */
void manager_doctor(Manager *m, DoctorRequest *request, ManagerAnswered done, void *userdata);

/* Looks afresh for everything that has drifted: schema org.gpupass1.drift/1. */
void manager_get_drift(Manager *m, ManagerAnswered done, void *userdata);

/*
 * A page of the trail: schema org.gpupass1.audit-page/1. Copies the query. -ENOENT: there is none.
 */
int manager_get_audit(Manager *m, const AuditQuery *query, ManagerAnswered done, void *userdata);

/* A close look at one GPU for `show`, which wakes no device. One of the two is NULL. */
typedef void (*ManagerInspected)(const Inspection *inspection, const Problem *problem,
				 void *userdata);
void manager_inspect(Manager *m, const Bdf *functions, size_t n, ManagerInspected done,
		     void *userdata);

/*
 * Which processes have a file of a GPU open now: schema org.gpupass1.holders/1. all: also of GPUs
 * that a job has in hand, or that are quarantined, where the look may have to wait.
 */
int manager_get_holders(Manager *m, bool all, ManagerAnswered done, void *userdata);

/*
 * Asks libvirt for the domain that a person's word means, before a job begins. NULL: there is no
 * such domain, or libvirt does not answer.
 */
typedef void (*ManagerFound)(const DomainId *id, void *userdata);
void manager_find_domain(Manager *m, const char *word, ManagerFound done, void *userdata);

/* What the manager counted since its start, and what it alone knows of the present: schema
 * org.gpupass1.metrics/1. denied, limited: calls, by the bus. */
char *manager_metrics(const Manager *m, uint64_t denied, uint64_t limited);
