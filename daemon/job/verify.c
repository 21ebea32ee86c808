/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/verify.h"

#include "job/prepare.h"
#include "job/select.h"
#include "util/clock.h"
#include "util/xalloc.h"

/* With a badly seated bridge `nvidia-smi topo -m` was seen to take 112 s (NCCL issue 557). */
#define TIMEOUT_USEC (180 * USEC_PER_SEC)
/* More for programs that measure: each takes seconds on an idle pair. */
#define WORKLOAD_USEC (300 * USEC_PER_SEC)
/* A context on each GPU takes seconds to make. */
#define PEERS_USEC (60 * USEC_PER_SEC)
/* The most time that we spend on finding the reason. */
#define DIAGNOSIS_USEC (30 * USEC_PER_SEC)

#include "verify.inc"

/* The domain's group of this name, or its only one; `name` may be NULL. */
static const Group *group_of(const GroupSet *groups, const VirtDomain *domain, const char *name,
			     size_t *ret_n)
{
	const Group *found = NULL;

	*ret_n = 0;
	EACH (const Group, group, groups->items, groups->n_items) {
		if (!str_equal(group->domain_uuid, domain->uuid) ||
		    (name && !str_equal(group->name, name)))
			continue;
		found = group;
		(*ret_n)++;
	}
	return found;
}

static int find(const JobPlace *place, const JobRequest *request, Prepared *p,
		Problem **ret_problem)
{
	size_t n;
	int r = prepare_look(place, INSPECT_CONFIG_ALL, true, p, ret_problem);

	if (r == 0)
		r = select_domain(place, request, request->domain, p->uses, &p->domain,
				  ret_problem);
	if (r != 0)
		return r;
	p->group = group_of(p->inventory->groups, p->domain, request->group, &n);
	if (n == 1)
		return 0;
	if (n > 1)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
			.reason = strf("%s has %zu groups", p->domain->name, n),
			.remedy = strf("name one: gpupass verify %s %s",
				       domain_ref_word(p->domain->name, p->domain->uuid),
				       p->group->name));
	return problem_refuse(ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
			      .reason = request->group ? strf("%s does not have group %s",
							      p->domain->name, request->group)
						       : strf("%s has no group", p->domain->name),
			      .remedy = xstrdup("see which domain has which group: gpupass list"));
}

/* Where nobody knows which number firmware gives a bus, it is taken to be libvirt's index. */
static void add_gpu(Verification *v, const Gpu *gpu, const DomainHostdev *hostdev)
{
	VerifyGpu *added = &v->gpus[v->input.n_gpus++];

	*added = (VerifyGpu){ .bdf = gpu->lead->bdf, .uuid = gpu->uuid };
	if (!hostdev)
		return;
	added->has_guest = hostdev->has_guest;
	added->guest = hostdev->has_seen ? hostdev->seen : hostdev->guest;
}

static void add_speeds(Verification *v, const Board *board)
{
	v->input.link_mbps = board ? board->link_mbps / 2 : 0;
	v->input.pcie_mbps = board_pcie_mbps(board);
}

/* The running domain's hostdevs. *ret is empty if the domain does not run. */
static int live_use(const VirtDomain *domain, DomainUse *ret, Problem **ret_problem)
{
	return domain->live_xml ? domain_use_from_xml(domain->live_xml, NULL, ret, ret_problem) : 0;
}

/* The GPUs of the running domain, the group's first. */
static int find_gpus(Verification *v, Problem **ret_problem)
{
	const Prepared *p = v->found;
	const GpuSet *all = p->inventory->gpus;
	int r = live_use(p->domain, &v->use, ret_problem);

	if (r != 0)
		return r;
	v->gpus = xcalloc(all->n_gpus + 1, sizeof(VerifyGpu));
	if (!p->domain->active)
		v->obstacle = VERIFY_NOT_RUNNING;
	EACH_OF (Gpu, gpu, p->group->gpus, p->group->n_gpus) {
		const DomainHostdev *hostdev = domain_use_hostdev(&v->use, &gpu->lead->bdf);

		add_gpu(v, gpu, hostdev);
		if (!hostdev && v->obstacle == VERIFY_NOTHING)
			v->obstacle = VERIFY_NOT_ATTACHED;
	}
	v->input.n_group = v->input.n_gpus;
	EACH (const Gpu, gpu, all->gpus, all->n_gpus) {
		const DomainHostdev *hostdev = domain_use_hostdev(&v->use, &gpu->lead->bdf);

		if (hostdev && !SOME_OF(p->group->gpus, p->group->n_gpus,
					bdf_equal(&it->lead->bdf, &gpu->lead->bdf)))
			add_gpu(v, gpu, hostdev);
	}
	v->input.gpus = v->gpus;
	v->input.domain = p->domain->name;
	v->input.domain_uuid = p->domain->uuid;
	v->input.group = p->group->name;
	v->input.links_expected = p->group->links_expected;
	add_speeds(v, p->group->gpus[0]->board);
	return 0;
}

int verification_new(const JobPlace *place, const JobRequest *request, Verification **ret,
		     Problem **ret_problem, char **ret_prefix)
{
	_cleanup_(verification_freep) Verification *v = xcalloc(1, sizeof(Verification));
	const Prepared *p;
	int r;

	v->found = xcalloc(1, sizeof(Prepared));
	p = v->found;
	r = find(place, request, v->found, ret_problem);
	if (r == 0)
		r = find_gpus(v, ret_problem);
	if (r == PROBLEM)
		*ret_prefix = prepare_prefix(request, p);
	if (r != 0)
		return r;
	*ret = TAKE_PTR(v);
	return 0;
}

static void clear_runs(GuestRun *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		guest_run_clear(&runs[i]);
}

static int ask(const JobPlace *place, Verification *v, uint64_t deadline, Problem **ret_problem)
{
	GuestRun runs[VERIFY_RUNS] = { 0 };
	int r = place->host->ops->guest_run(place->host, v->found->domain->uuid, verify_commands,
					    VERIFY_RUNS, deadline, runs, ret_problem);

	if (r == 0)
		v->report = verify_judge(&v->input, runs);
	clear_runs(runs, VERIFY_RUNS);
	return r;
}

/* A second round, only for the reason: the verdict stands if this round fails. */
static void diagnose(const JobPlace *place, Verification *v, uint64_t deadline)
{
	_cleanup_(problem_freep) Problem *ignored = NULL;
	uint64_t soon = now_monotonic() + DIAGNOSIS_USEC;
	int r = 0;

	/* One by one: not every driver knows both. */
	GuestRun runs[VERIFY_DIAGNOSES] = { 0 };

	if (!verify_wants_diagnosis(v->report))
		return;
	for (size_t i = 0; r == 0 && i < VERIFY_DIAGNOSES; i++)
		r = place->host->ops->guest_run(
			place->host, v->found->domain->uuid, &verify_diagnosis_commands[i], 1,
			soon < deadline ? soon : deadline, &runs[i], &ignored);
	verify_diagnose(&v->input, runs, v->report);
	clear_runs(runs, VERIFY_DIAGNOSES);
}

/* ---- what is looked at after the links: none of it changes the verdict ---- */

/* The guest is only asked to print small files. */
#define REPORT_USEC (10 * USEC_PER_SEC)

/* The agent has run programs, and has not fallen silent meanwhile. */
static bool agent_answers(const VerifyReport *report)
{
	switch (report->cause) {
	case VERIFY_NOT_RUNNING:
	case VERIFY_NOT_ATTACHED:
	case VERIFY_CHANGED:
	case VERIFY_NO_CHANNEL:
	case VERIFY_NO_AGENT:
	case VERIFY_EXEC_DISABLED:
	case VERIFY_TIMEOUT:
	case VERIFY_BAD_REPLY:
		return false;
	default:
		return true;
	}
}

/* What cannot be asked is not there. */
static void guest_run(const JobPlace *place, const char *uuid, const char *const *const *commands,
		      size_t n, uint64_t deadline, GuestRun *runs)
{
	_cleanup_(problem_freep) Problem *ignored = NULL;

	(void)place->host->ops->guest_run(place->host, uuid, commands, n, deadline, runs, &ignored);
}

static GuestReport *read_guest_report(const JobPlace *place, const VerifyInput *input,
				      const VerifyReport *report, uint64_t deadline)
{
	uint64_t soon = now_monotonic() + REPORT_USEC;
	GuestRun runs[GUEST_REPORT_RUNS] = { 0 };
	GuestReport *found = NULL;

	if (!agent_answers(report))
		return NULL;
	guest_run(place, input->domain_uuid, guest_report_commands, GUEST_REPORT_RUNS,
		  soon < deadline ? soon : deadline, runs);
	found = guest_report_judge(runs, input->domain_uuid, now_realtime());
	clear_runs(runs, GUEST_REPORT_RUNS);
	return found;
}

static GuestTopology *look_at_topology(const JobPlace *place, const Verification *v,
				       uint64_t deadline)
{
	const HostFacts *host = v->found->inventory->facts;
	const Assignment *assignment = assignments_find_function(
		v->found->assignments, &v->found->group->gpus[0]->lead->bdf);
	uint64_t soon = now_monotonic() + REPORT_USEC;
	TopologyInput input = {
		.verify = &v->input,
		.n_nodes = host ? host->n_nodes : 0,
		.use = &v->use,
		.mirror = assignment && assignment->topology == TOPOLOGY_MIRROR,
	};
	GuestRun runs[SIGHT_RUNS] = { 0 };
	GuestTopology *topology;
	_cleanup_free_ const PciFunction **members = NULL;
	GpuHealth *health = NULL;

	if (!agent_answers(v->report))
		return NULL;
	guest_run(place, v->input.domain_uuid, sight_commands, SIGHT_RUNS,
		  soon < deadline ? soon : deadline, runs);
	input.members = members = group_leads(v->found->group, &input.n_members);
	if (place->health)
		health_look(place->health, place->host, members, input.n_members, &health);
	input.health = health;
	input.n_health = health ? input.n_members : 0;
	topology = guest_topology_judge(&input, runs);
	gpu_healths_free(health, input.n_health);
	clear_runs(runs, SIGHT_RUNS);
	return topology;
}

static Workload *measure(const JobPlace *place, const VerifyInput *input,
			 const VerifyReport *report, uint64_t deadline)
{
	Workload *w = NULL;
	bool done;

	w = measure_begin(input, report);
	done = w->cause != WORKLOAD_NO_PROGRAM;
	for (size_t i = 0; !done && i < MEASURE_COMMANDS; i++) {
		MeasureCommand command;
		const char *const *argv = command.argv;
		GuestRun run = { 0 };

		measure_command(i, report->n_gpus, &command);
		guest_run(place, input->domain_uuid, &argv, 1, deadline, &run);
		measure_hear(w, input, report, i, &run, &done);
		guest_run_clear(&run);
	}
	return w;
}

static PeerTest *test_peers(const JobPlace *place, const Verification *v, bool asked,
			    uint64_t deadline)
{
	const Prepared *p = v->found;
	const Assignment *record =
		assignments_find_function(p->assignments, &p->group->gpus[0]->lead->bdf);
	uint64_t soon = now_monotonic() + PEERS_USEC;
	_cleanup_strv_ char **command = NULL;
	const char *const *argv;
	GuestRun run = { 0 };
	PeerTest *test;
	bool run_it;

	/* What an operator wrote past gpupass is his to prove. */
	if (!record || record->peer_access == PEER_ACCESS_OFF)
		return NULL;
	test = peer_test_begin(&v->input, v->report,
			       EVERY_OF(p->group->gpus, p->group->n_gpus,
					domain_use_has_clique(&v->use, &it->lead->bdf)),
			       asked, &run_it);
	if (!run_it || !agent_answers(v->report))
		return test;
	command = peer_test_command(v->report);
	argv = (const char *const *)command;
	guest_run(place, v->input.domain_uuid, &argv, 1, soon < deadline ? soon : deadline, &run);
	peer_test_hear(test, &v->input, v->report, &run);
	guest_run_clear(&run);
	return test;
}

/* ---- the verification ---- */

/* The answer is about the group only if the domain had the group all the time. */
static int look_again(const JobPlace *place, Verification *v, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	VerifyReport *report = NULL;
	bool same = true;
	int r = place->host->ops->domain_get(place->host, v->found->domain->uuid, &domain,
					     ret_problem);

	if (r == 0)
		r = live_use(domain, &use, ret_problem);
	if (r != 0)
		return r;
	for (size_t i = 0; i < v->input.n_gpus; i++)
		same &= domain_use_hostdev(&use, &v->gpus[i].bdf) != NULL;
	if (same)
		return 0;
	report = verify_give_up(&v->input, VERIFY_CHANGED);
	verify_report_free(v->report);
	v->report = report;
	/* What was seen may have been seen of other boards. */
	workload_free(v->workload);
	guest_topology_free(v->topology);
	peer_test_free(v->peers);
	v->workload = NULL;
	v->topology = NULL;
	v->peers = NULL;
	return 0;
}

/* The verdict stands even if it cannot be kept as evidence. */
static void keep_evidence(const JobPlace *place, Verification *v)
{
	const char *domain = v->found->domain->name;
	const Group *group = v->found->group;
	_cleanup_(evidence_unrefp) Evidence *seen = NULL;
	int r;

	/* One GPU has nothing to tell of links between two. */
	if (!place->topology || v->report->n_gpus != group->n_gpus || group->n_gpus < 2)
		return;
	r = verify_evidence(v->report, &v->input, group->gpus, v->asked_usec, &seen);
	if (r >= 0 && !seen)
		return;
	v->note.kind = JOB_NOTE_LINKS;
	if (r == -EINVAL)
		v->note.text =
			strf("%s tells of more links than the boards of %s have: not believed",
			     domain, group->name);
	else if (r >= 0)
		r = topology_store_update(place->topology, seen, false);
	if (r < 0 && !v->note.text)
		v->note.text =
			strf("what %s tells of the links of %s is not kept over a restart: %s",
			     domain, group->name, strerror(-r));
}

static int ask_guest(const JobPlace *place, const JobRequest *request, Verification *v,
		     uint64_t deadline, Problem **ret_problem)
{
	int r = cancellation_check(place->cancel, ret_problem);

	if (r == 0)
		r = ask(place, v, deadline, ret_problem);
	if (r == 0)
		r = cancellation_check(place->cancel, ret_problem);
	if (r != 0)
		return r;
	diagnose(place, v, deadline);
	v->guest_report = read_guest_report(place, &v->input, v->report, deadline);
	v->topology = look_at_topology(place, v, deadline);
	/* What measures keeps the guest's GPUs busy for minutes. */
	r = cancellation_check(place->cancel, ret_problem);
	if (r == 0)
		v->peers = test_peers(place, v, request->workload, deadline);
	if (r == 0 && request->workload)
		v->workload = measure(place, &v->input, v->report, deadline);
	return r == 0 ? look_again(place, v, ret_problem) : r;
}

int verification_run(const JobPlace *place, const JobRequest *request, Verification *v,
		     Problem **ret_problem)
{
	uint64_t usual = TIMEOUT_USEC + (request->workload ? WORKLOAD_USEC : 0);
	uint64_t timeout = request->timeout_usec > 0 ? request->timeout_usec : usual;
	bool asks = v->obstacle == VERIFY_NOTHING;
	int r = 0;

	v->asked_usec = now_realtime();
	if (asks)
		r = ask_guest(place, request, v, now_monotonic() + timeout, ret_problem);
	else
		v->report = verify_give_up(&v->input, v->obstacle);
	/* What a cancelled verification heard is not kept. */
	if (r == 0)
		r = cancellation_close(place->cancel, ret_problem);
	if (r == 0 && asks)
		keep_evidence(place, v);
	if (r != 0)
		return r;
	v->json = verify_report_to_json(
		v->report, &v->input, v->found->domain->uuid, v->asked_usec,
		v->guest_report ? guest_report_to_json(v->guest_report) : NULL,
		v->topology ? json_struct_write(guest_topology_members, v->topology) : NULL,
		v->workload ? json_struct_write(workload_members, v->workload) : NULL,
		v->peers ? json_struct_write(peer_test_members, v->peers) : NULL);
	return 0;
}
