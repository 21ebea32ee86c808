/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift, as the loop sees it: found anew with every picture, told in the log once when it comes and
 * once when it goes; and the adoption of what a record was lost of, at start.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/pci/driver-name.h"
#include "job/drift-look.h"
#include "manager/private.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

#define BOOT_REPORT_MAX (4 * 1024 * 1024)

/* ---- what gpupass-bind left ---- */

static void log_boot_faults(const BootFaults *faults)
{
	for (size_t i = 0; i < faults->n_items; i++) {
		_cleanup_free_ char *text = boot_fault_text(&faults->items[i]);

		log_warning("at boot %s was not bound to vfio-pci: %s",
			    BDF_TEXT(&faults->items[i].bdf), str_or_empty(text));
	}
}

int manager_load_boot(Manager *m, const char *runtime_directory)
{
	_cleanup_free_ char *path = strf("%s/boot.json", runtime_directory);
	_cleanup_free_ char *text = NULL, *message = NULL;
	size_t size = 0;
	int r;

	if (!path)
		return -ENOMEM;
	r = file_read_state_at(AT_FDCWD, path, BOOT_REPORT_MAX, &text, &size);
	if (r == -ENOENT)
		return 0; /* nothing was assigned, or gpupass-bind did not run */
	if (r >= 0)
		r = boot_faults_parse(text, size, &m->boot, &message);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		log_warning("%s cannot be understood: %s", path,
			    message ? message : file_state_error(r));
		return strv_appendf(&m->state_notes,
				    "%s cannot be understood (%s), so what happened at boot is "
				    "not known; see: journalctl -u gpupass-bind",
				    path, message ? message : file_state_error(r));
	}
	log_boot_faults(m->boot);
	return 0;
}

char *manager_boot_reason(const Manager *m, const Group *group)
{
	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = 0; k < group->gpus[i]->n_functions; k++) {
			const PciFunction *function = group->gpus[i]->functions[k];
			const BootFault *fault = boot_faults_find(m->boot, &function->bdf);
			_cleanup_free_ char *text = NULL;

			if (!fault || driver_is_vfio(function->driver))
				continue;
			text = boot_fault_text(fault);
			return text ? strf("at boot %s was not bound: %s", BDF_TEXT(&function->bdf),
					   text)
				    : NULL;
		}
	return NULL;
}

/* ---- continuously ---- */

static void log_finding(const DriftFinding *finding, bool gone)
{
	const LogFields fields = {
		.message_id = gone ? LOG_ID_DRIFT_GONE : LOG_ID_DRIFT,
		.group = finding->group,
		.domain = finding->domain_name,
		.domain_uuid = finding->domain_uuid,
	};

	if (gone)
		log_line(LOG_NOTICE, &fields, "drift of %s is gone: %s", finding->group,
			 finding->what);
	else
		log_line(LOG_WARNING, &fields, "drift of %s: %s (remedy: %s)", finding->group,
			 finding->what, finding->remedy);
}

static void log_changes(const Drift *before, const Drift *now)
{
	for (size_t i = 0; before && i < before->n_items; i++)
		if (!drift_has(now, &before->items[i]))
			log_finding(&before->items[i], true);
	for (size_t i = 0; i < now->n_items; i++)
		if (!drift_has(before, &now->items[i]))
			log_finding(&now->items[i], false);
}

static bool a_job_runs(const Manager *m)
{
	for (size_t i = 0; i < m->n_jobs; i++)
		if (!m->jobs[i]->ended)
			return true;
	return m->recovering;
}

/* Only the books: what was there before this daemon is taken for what it shows itself to be. */
static void adopt(void *data)
{
	Manager *m = data;

	for (size_t i = 0; m->drift && i < m->drift->n_items; i++) {
		const DriftFinding *finding = &m->drift->items[i];
		_cleanup_(problem_freep) Problem *problem = NULL;
		JobRequest request = {
			.operation = OPERATION_RECONCILE,
			.group = finding->group,
			.only_record = true,
			.caller_uid = getuid(),
		};
		uint32_t id = 0;

		if (finding->repair != DRIFT_REPAIR_RECORD &&
		    finding->repair != DRIFT_REPAIR_RENAME)
			continue;
		if (manager_start_job(m, &request, &id, &problem) != 0) {
			log_error("%s could not be adopted", finding->group);
			continue;
		}
		log_line(LOG_NOTICE,
			 &(LogFields){ .group = finding->group,
				       .domain = finding->domain_name,
				       .domain_uuid = finding->domain_uuid,
				       .job = id },
			 "adopting %s for %s: %s%s", finding->group,
			 str_or_empty(finding->domain_name), finding->what,
			 finding->repair == DRIFT_REPAIR_RECORD
				 ? "; what its functions were on before is not known, so a release "
				   "will leave them on vfio-pci"
				 : "");
	}
}

/* Not from within an observation, which the start of a job would begin again. */
static void adopt_once(Manager *m)
{
	if (m->adopted || m->n_open_jobs > 0)
		return;
	m->adopted = true;
	if (mailbox_post(m->place.mailbox, adopt, m) < 0)
		log_error("out of memory: lost records were not written again");
}

void manager_observe_drift(Manager *m)
{
	_cleanup_(drift_freep) Drift *now = NULL;
	DriftFacts facts;

	/* Half of a job, or half of the facts, is no drift: what was known stands until then. */
	if (!m->inventory || !m->assignments || !m->uses || a_job_runs(m))
		return;
	facts = (DriftFacts){
		.snapshot = m->inventory->snapshot,
		.groups = m->inventory->groups,
		.uses = m->uses,
		.assignments = m->assignments,
		.boot = m->boot,
	};
	if (drift_find(&facts, &now) < 0) {
		log_error("out of memory: drift was not looked for");
		return;
	}
	log_changes(m->drift, now);
	drift_free(m->drift);
	m->drift = TAKE_PTR(now);
	adopt_once(m);
}

/* ---- on demand ---- */

typedef struct DriftTask {
	Manager *manager;
	JobPlace place;
	Identities *known;
	char *json;
	int result;
	ManagerDrift done;
	void *userdata;
} DriftTask;

static void drift_work(void *data)
{
	DriftTask *task = data;
	_cleanup_(drift_freep) Drift *drift = NULL;
	bool domains_known = false;

	task->result = drift_look(&task->place, task->manager->boot, &drift, &domains_known);
	if (task->result < 0)
		return;
	task->json = drift_to_json(drift, domains_known);
	if (!task->json)
		task->result = -ENOMEM;
}

static void drift_task_free(DriftTask *task)
{
	rules_unref(task->place.rules);
	identities_free(task->known);
	free(task->json);
	free(task);
}

static void shown(_unused_ void *userdata)
{
}

/* What a fresh look has found the picture shall show, too: libvirt sends no event for every edit. */
static void drift_done(void *data)
{
	DriftTask *task = data;

	task->done(task->json, task->result, task->userdata);
	if (manager_refresh(task->manager, shown, NULL) < 0)
		log_error("out of memory: the picture of this host may be old");
	drift_task_free(task);
}

int manager_get_drift(Manager *m, ManagerDrift done, void *userdata)
{
	DriftTask *task = calloc(1, sizeof(DriftTask));
	int r;

	if (!task)
		return -ENOMEM;
	*task = (DriftTask){
		.manager = m, .place = manager_job_place(m), .done = done, .userdata = userdata
	};
	task->place.rules = rules_ref(task->place.rules);
	r = identities_copy(task->place.known, &task->known);
	task->place.known = task->known;
	if (r >= 0)
		r = mailbox_run(m->place.mailbox, drift_work, drift_done, task);
	if (r < 0)
		drift_task_free(task);
	return r;
}
