/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/look.h"

#include "host/scan/matter.h"
#include "manager/picture.h"
#include "manager/state.h"
#include "util/grow.h"
#include "util/log.h"
#include "util/xalloc.h"

static void waiter_add(Waiter **list, ManagerDone done, void *userdata)
{
	Waiter *waiter = xmalloc(sizeof(Waiter));

	*waiter = (Waiter){ .next = *list, .done = done, .userdata = userdata };
	*list = waiter;
}

static void waiters_tell(Waiter *waiter)
{
	while (waiter) {
		Waiter *next = waiter->next;

		waiter->done(waiter->userdata);
		free(waiter);
		waiter = next;
	}
}

static void begin(Manager *m, Look *look)
{
	look->running = true;
	look->start(m);
}

static void request(Manager *m, Look *look, ManagerDone done, void *userdata)
{
	bool runs = look->running;

	if (done)
		waiter_add(runs ? &look->next : &look->current, done, userdata);
	if (runs)
		look->again = true;
	else
		begin(m, look);
}

void look_request(Manager *m, Look *look, ManagerDone done, void *userdata)
{
	if (look == &m->scan)
		m->scan_whole = true;
	request(m, look, done, userdata);
}

void look_await(Manager *m, Look *look, bool made, ManagerDone done, void *userdata)
{
	if (look->running)
		waiter_add(look->again ? &look->next : &look->current, done, userdata);
	else if (made)
		done(userdata);
	else
		look_request(m, look, done, userdata);
}

void look_finished(Manager *m, Look *look)
{
	Waiter *told = TAKE_PTR(look->current);

	look->running = false;
	if (look->again) {
		look->again = false;
		look->current = TAKE_PTR(look->next);
		begin(m, look);
	}
	waiters_tell(told);
}

typedef struct ScanTask {
	Manager *manager _borrowed_;
	bool first; /* of this daemon: all receipts are read */
	Rules *rules;
	Identities *known;
	const PciSnapshot *before; /* the manager's, which this look alone replaces; NULL: whole */
	Bdf changed[SCAN_CHANGED_MAX];
	size_t n_changed;
	bool concerned;	      /* one of them is somebody's by a record */
	PciSnapshot *renewed; /* all that has changed concerns no GPU */
	Inventory *inventory;
	Assignments *assignments;
	Tenants *tenants;
	int result;
} ScanTask;
LOCAL_FREE(ScanTask, scan_task_free)

static bool same_mdevs(const PciSnapshot *a, const PciSnapshot *b)
{
	if (a->n_mdevs != b->n_mdevs)
		return false;
	for (size_t i = 0; i < a->n_mdevs; i++)
		if (!str_equal(a->mdevs[i].uuid, b->mdevs[i].uuid) ||
		    !bdf_equal(&a->mdevs[i].parent, &b->mdevs[i].parent))
			return false;
	return true;
}

/*
 * A message about a function that matters is followed even if it looks as before: what it told may
 * be seen elsewhere, in the health of a GPU, say.
 */
static bool concerns_gpus(const ScanTask *task, const PciSnapshot *now)
{
	if (task->concerned || now->iommu != task->before->iommu || !same_mdevs(task->before, now))
		return true;
	for (size_t i = 0; i < task->n_changed; i++) {
		const PciFunction *was = pci_snapshot_find(task->before, &task->changed[i]);
		const PciFunction *is = pci_snapshot_find(now, &task->changed[i]);

		if ((was && matter_to(task->before, was)) || (is && matter_to(now, is)))
			return true;
	}
	return false;
}

/* NULL: everything is to be read. */
static PciSnapshot *scan_changed(const ScanTask *task)
{
	Host *host = task->manager->place.job.host;
	PciSnapshot *now = NULL;

	if (task->before)
		(void)host->ops->scan_changed(host, task->before, task->changed, task->n_changed,
					      &now);
	return now;
}

/*
 * Which VFs have their rules from gpupass-bind. The fence is closed for others, and libvirt may start
 * its domains with autostart at this moment.
 */
static void see_vfs(const JobPlace *place, const GroupSet *groups)
{
	_cleanup_(inspection_freep) Inspection *seen = NULL;
	_cleanup_free_ Bdf *vfs = NULL;
	size_t n = 0;

	for (size_t i = 0; i < groups->n_items; i++)
		EACH (const Companion, it, groups->items[i].companions,
		      groups->items[i].n_companions)
			if (it->member.kind == MEMBER_VF && it->function)
				*GROW(vfs, n) = it->member.bdf;
	if (n > 0 && host_inspect(place->host, vfs, n, INSPECT_CONFIG_NOT, &seen, NULL) == 0)
		vf_watch_note(place->vfs, seen->nics, seen->n_nics);
}

static void scan_work(void *data)
{
	ScanTask *task = data;
	const JobPlace *place = &task->manager->place.job;
	PciSnapshot *now = scan_changed(task);

	if (now && !concerns_gpus(task, now)) {
		task->renewed = now;
		return;
	}
	task->assignments = assignment_store_load(place->store);
	if (now)
		task->result = inventory_derive(place->host, now, task->rules, task->assignments,
						task->known, INSPECT_CONFIG_ALL, &task->inventory);
	else
		task->result = inventory_take(place->host, task->rules, task->assignments,
					      task->known, INSPECT_CONFIG_ALL, &task->inventory);
	if (task->result >= 0)
		task->tenants = tenant_store_load(place->tenants);
	if (task->result >= 0 && task->first)
		see_vfs(place, task->inventory->groups);
	if (place->receipts && task->first)
		records_load(place->receipts, NULL, NULL);
	else if (place->receipts)
		records_review(place->receipts);
	records_review(&place->topology->records);
}

static void take_over(Manager *m, ScanTask *task)
{
	inventory_free(m->inventory);
	m->inventory = TAKE_PTR(task->inventory);
	assignments_free(m->assignments);
	m->assignments = TAKE_PTR(task->assignments);
	tenants_free(m->tenants);
	m->tenants = TAKE_PTR(task->tenants);
	claims_settle(m->place.job.claims, m->inventory->groups);
	vf_watch_settle(m->place.job.vfs, m->inventory->groups, true);
}

static void scan_done(void *data)
{
	_cleanup_(scan_task_freep) ScanTask *task = data;
	Manager *m = task->manager;

	/* Nothing that anybody is shown, or that a hook looks at, is another now. */
	if (task->renewed) {
		inventory_renew(m->inventory, TAKE_PTR(task->renewed));
		look_finished(m, &m->scan);
		return;
	}
	free(m->scan_note);
	m->scan_note = NULL;
	if (task->result < 0) {
		m->scan_note =
			strf("the last scan of this host failed: %s", strerror(-task->result));
		log_error("cannot scan this host: %s", strerror(-task->result));
	} else {
		take_over(m, task);
	}
	m->fence_old = true;
	manager_observe(m);
	look_finished(m, &m->scan);
	m->hooks->scanned(m);
}

/* What is to be read, and what of it is somebody's. */
static void set_scope(Manager *m, ScanTask *task)
{
	if (m->scan_whole || !m->inventory || m->scan_note || !m->assignments)
		return;
	task->before = m->inventory->snapshot;
	EACH (const Bdf, bdf, m->changed, m->n_changed) {
		task->changed[task->n_changed++] = *bdf;
		task->concerned |= assignments_find_function(m->assignments, bdf) ||
				   kept_find_function(m->assignments, bdf);
	}
}

static void scan_start(Manager *m)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = topology_store_get(m->place.job.topology);
	ScanTask *task = xcalloc(1, sizeof(ScanTask));

	task->manager = m;
	task->first = !m->inventory;
	task->rules = rules_ref(m->rules);
	set_scope(m, task);
	identities_copy(m->inventory ? m->inventory->identities : NULL, &task->known);
	identities_set_evidence(task->known, evidence);
	m->scan_whole = false;
	m->n_changed = 0;
	mailbox_run(m->place.mailbox, scan_work, scan_done, task);
}

typedef struct UsesTask {
	Manager *manager _borrowed_;
	bool fresh;
	DomainUses *uses;
	uint64_t looked;
	Problem *problem;
	int result;
} UsesTask;
LOCAL_FREE(UsesTask, uses_task_free)

static void uses_work(void *data)
{
	UsesTask *task = data;
	Host *host = task->manager->place.job.host;

	task->result = host->ops->domain_uses(host, task->fresh, &task->uses, &task->problem);
}

static char *uses_note(const Problem *problem, int error)
{
	return strf("libvirt's domains cannot be read, so nothing can be assigned or released: "
		    "%s%s%s",
		    problem ? problem->reason : strerror(-error),
		    problem && problem->cause ? ": " : "",
		    problem ? str_or_empty(problem->cause) : "");
}

static void uses_done(void *data)
{
	_cleanup_(uses_task_freep) UsesTask *task = data;
	Manager *m = task->manager;

	/* When domains cannot be read, forget the old uses: "not known" is better than outdated. */
	domain_uses_free(m->uses);
	m->uses = task->result == 0 ? TAKE_PTR(task->uses) : NULL;
	m->uses_looked = task->looked;
	free(m->uses_note);
	m->uses_note = task->result == 0 ? NULL : uses_note(task->problem, task->result);
	m->fence_old = true;
	manager_observe(m);
	look_finished(m, &m->uses_look);
	m->hooks->domains_read(m);
}

static void uses_start(Manager *m)
{
	UsesTask *task = xcalloc(1, sizeof(UsesTask));

	*task = (UsesTask){
		.manager = m,
		.fresh = m->uses_fresh,
		.looked = claims_now(m->place.job.claims),
	};
	m->uses_fresh = false;
	mailbox_run(m->place.mailbox, uses_work, uses_done, task);
}

void manager_rescan(Manager *m, ManagerDone done, void *userdata)
{
	look_request(m, &m->scan, done, userdata);
}

static void note_changed(Manager *m, const Bdf *changed, size_t n)
{
	for (size_t i = 0; i < n && !m->scan_whole; i++) {
		if (bdf_in(&changed[i], m->changed, m->n_changed))
			continue;
		if (m->n_changed == ELEMENTS(m->changed))
			m->scan_whole = true;
		else
			m->changed[m->n_changed++] = changed[i];
	}
}

void manager_rescan_changed(Manager *m, const Bdf *changed, size_t n)
{
	note_changed(m, changed, n);
	request(m, &m->scan, NULL, NULL);
}

void manager_libvirt_changed(Manager *m, bool connected)
{
	m->connected = connected;
	if (connected) {
		look_request(m, &m->uses_look, NULL, NULL);
		return;
	}
	m->uses = domain_uses_free(m->uses);
	manager_observe(m);
}

/* ---- one look after another: the machine, libvirt's domains, the file of libvirt's hook ---- */

typedef struct Refresh {
	Manager *manager;
	bool settles; /* looks that were asked for will do; else each begins now */
	bool fence;   /* that file says it, too, before the caller hears of it */
	unsigned n;   /* looks that have ended */
	ManagerDone done;
	void *userdata;
} Refresh;

static void refresh_next(void *userdata)
{
	Refresh *refresh = userdata;
	Manager *m = refresh->manager;

	if (refresh->n++ == 0 && m->connected) {
		if (refresh->settles)
			look_await(m, &m->uses_look, m->uses != NULL, refresh_next, refresh);
		else
			look_request(m, &m->uses_look, refresh_next, refresh);
		return;
	}
	if (refresh->fence) {
		refresh->fence = false;
		/* Each look asks for a write of the fence when it ends. */
		if (refresh->settles)
			look_await(m, &m->fence_look, m->fence_usec > 0, refresh_next, refresh);
		else
			m->hooks->refreshed(m, refresh_next, refresh);
		return;
	}
	refresh->done(refresh->userdata);
	free(refresh);
}

static Refresh *refresh_new(Manager *m, bool settles, bool fence, ManagerDone done, void *userdata)
{
	Refresh *refresh = xcalloc(1, sizeof(Refresh));

	*refresh = (Refresh){ m, settles, fence, 0, done, userdata };
	return refresh;
}

void manager_refresh(Manager *m, ManagerDone done, void *userdata)
{
	m->scan_whole = m->uses_fresh = true;
	request(m, &m->scan, refresh_next, refresh_new(m, false, true, done, userdata));
}

void manager_refresh_changed(Manager *m, const Bdf *changed, size_t n, ManagerDone done,
			     void *userdata)
{
	m->scan_whole |= n == 0;
	note_changed(m, changed, n);
	request(m, &m->scan, refresh_next, refresh_new(m, false, false, done, userdata));
}

void manager_settle(Manager *m, ManagerDone done, void *userdata)
{
	look_await(m, &m->scan, m->inventory != NULL, refresh_next,
		   refresh_new(m, true, true, done, userdata));
}

void manager_init_looks(Manager *m)
{
	m->scan.start = scan_start;
	m->uses_look.start = uses_start;
}

Waiter *waiters_free(Waiter *waiter)
{
	while (waiter) {
		Waiter *next = waiter->next;

		free(waiter);
		waiter = next;
	}
	return NULL;
}

#include "look.inc"
