/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host/questions.h"

#include "util/grow.h"
#include "util/xalloc.h"

#include "questions.inc"

static void ask(Host *host, Ask *asks, size_t n, uint64_t timeout_usec)
{
	if (n > 0)
		host->ops->ask(host, asks, n, timeout_usec);
}

/* One ask for each of n, with an answer of its own. */
static Ask *asks_new(QuestionId id, size_t n, void **ret_answers)
{
	Ask *asks = xcalloc(n + 1, sizeof(Ask));
	char *answers = *ret_answers = xcalloc(n + 1, question(id)->size);

	for (size_t i = 0; i < n; i++)
		asks[i] = (Ask){ .id = id, .n = 1, .answer = answers + i * question(id)->size };
	return asks;
}

/* Hands on why there is no answer, in words where somebody wants them. */
static int take_error(Ask *ask, Problem **ret_problem)
{
	int r = ask->error;

	if (r < 0 && r != -ENOENT && ret_problem && ask->problem) {
		*ret_problem = TAKE_PTR(ask->problem);
		r = PROBLEM;
	}
	ask_clear(ask);
	return r;
}

static int ask_one(Host *host, Ask *one, uint64_t timeout_usec, Problem **ret_problem)
{
	ask(host, one, 1, timeout_usec);
	return take_error(one, ret_problem);
}

/* One sentence. */
static char *why_not(const Ask *ask)
{
	const Problem *problem = ask->problem;

	return xstrdup(!problem		? strerror(-ask->error)
		       : problem->cause ? problem->cause
					: problem->reason);
}

/* ---- looks ---- */

/* What config space says of one function, into what else is known of it. */
static void take_config(FunctionFacts *from, FunctionFacts *into)
{
	free(into->serial_number);
	free(into->link_speed);
	free(into->link_speed_max);
	into->serial_number = TAKE_PTR(from->serial_number);
	into->link_speed = TAKE_PTR(from->link_speed);
	into->link_speed_max = TAKE_PTR(from->link_speed_max);
	into->link_width = from->link_width;
	into->link_width_max = from->link_width_max;
	into->config_all_ones = from->config_all_ones;
	into->left_asleep = from->left_asleep;
}

/* Of a NIC that was not looked at: neither who uses it nor what it may do is known. */
static NicUse nothing_of_nic(const Ask *ask, const Bdf *nic)
{
	_cleanup_free_ char *why = why_not(ask);

	return (NicUse){
		.bdf = *nic,
		.why = strf("it was not looked at: %s", why),
		.vf_why = strf("its NIC was not asked: %s", why),
	};
}

/*
 * Of the NICs among the functions, by one part more. What it does not know is in its answer.
 * Without one nothing of them is known, so that nobody gets them; what takes functions back needs
 * no part that waits for rtnl, and who has one by vfio is a holder.
 */
static void look_at_nics(Host *host, Inspection *in)
{
	_cleanup_free_ Bdf *nics = xcalloc(in->n_functions + 1, sizeof(Bdf));
	NicsAnswer answer = { 0 };
	Ask one = { .id = ASK_NICS, .functions = nics, .answer = &answer };

	for (size_t i = 0; i < in->n_functions; i++)
		if (in->functions[i].network &&
		    (in->functions[i].vf || !function_facts_on_vfio(&in->functions[i])))
			nics[one.n++] = in->functions[i].bdf;
	if (one.n == 0)
		return;
	ask(host, &one, 1, ASK_USUAL_TIMEOUT);
	free(in->nics); /* an array of none, from the answer */
	in->nics = one.error == 0 ? answer.nics : xcalloc(one.n, sizeof(NicUse));
	in->n_nics = one.error == 0 ? answer.n_nics : one.n;
	for (size_t i = 0; one.error != 0 && i < one.n; i++)
		in->nics[i] = nothing_of_nic(&one, &nics[i]);
	ask_clear(&one);
}

/* Of an NVMe that was not looked at, or did not answer. */
static char **nothing_of(const Ask *ask)
{
	_cleanup_free_ char *why = why_not(ask);
	char **unread = NULL;

	strv_appendf(&unread, "all of it (%s)", why);
	return unread;
}

static void take_use(Ask *ask, NvmeAnswer *answer, NvmeUse *ret)
{
	*ret = ask->error == 0 ? *answer->uses
			       : (NvmeUse){ .bdf = *ask->functions, .unread = nothing_of(ask) };
	free(answer->uses);
	ask_clear(ask);
}

static void take_state(Ask *ask, NvmeAnswer *answer, NvmeState *ret)
{
	*ret = ask->error == 0 ? *answer->states
			       : (NvmeState){ .bdf = *ask->functions, .unread = nothing_of(ask) };
	free(answer->states);
	ask_clear(ask);
}

/*
 * Of the NVMes among the functions, by two parts more, side by side: who uses each, and what it
 * says of itself. One that hangs hides no other, and nothing of it is known. Labels are not read
 * of one that a tenant gave back, nor where nobody says who had it: by the names of the host's own
 * disks, by very many, or by sectors that cannot be read, it would keep its data from being erased.
 */
static void look_at_nvmes(Host *host, const Tenants *tenants, Inspection *in)
{
	_cleanup_free_ NvmeAnswer *answers = xcalloc(2 * in->n_functions + 1, sizeof(NvmeAnswer));
	_cleanup_free_ Ask *asks = xcalloc(2 * in->n_functions + 1, sizeof(Ask));
	size_t n = 0;

	EACH (const FunctionFacts, f, in->functions, in->n_functions) {
		const char *before =
			!tenants || tenants_returned(tenants, &f->bdf) ? "--no-labels" : NULL;

		if (!function_facts_on_nvme(f))
			continue;
		asks[n] = (Ask){ ASK_NVME_STATE, .functions = &f->bdf, .n = 1 };
		asks[n + 1] = (Ask){ ASK_NVME, before, .functions = &f->bdf, .n = 1 };
		asks[n].answer = &answers[n];
		asks[n + 1].answer = &answers[n + 1];
		n += 2;
	}
	if (n > 0)
		ask(host, asks, n, ASK_USUAL_TIMEOUT);
	for (size_t i = 0; i < n; i += 2) {
		take_state(&asks[i], &answers[i], GROW(in->nvme_states, in->n_nvme_states));
		take_use(&asks[i + 1], &answers[i + 1], GROW(in->nvmes, in->n_nvmes));
	}
}

/* Two parts, side by side: one sees processes, the other one config space, and nothing else of it
 * counts. */
static int look(Host *host, QuestionId id, const Bdf *functions, size_t n, InspectConfig config,
		Inspection **ret, Problem **ret_problem)
{
	InspectAnswer answers[2] = { 0 };
	Ask asks[] = {
		{ .id = id, .functions = functions, .n = n, .answer = &answers[0] },
		{ .id = ASK_CONFIG,
		  .before = config == INSPECT_CONFIG_AWAKE ? "--awake" : NULL,
		  .functions = functions,
		  .n = n,
		  .answer = &answers[1] },
	};
	size_t n_asks = config == INSPECT_CONFIG_NOT ? 1 : 2;
	int r;

	ask(host, asks, n_asks, ASK_USUAL_TIMEOUT);
	r = asks[0].error < 0 ? take_error(&asks[0], ret_problem)
			      : take_error(&asks[1], ret_problem);
	if (r == 0) {
		Inspection *in = *ret = TAKE_PTR(answers[0].inspection);

		for (size_t i = 0; n_asks > 1 && i < n; i++)
			take_config((FunctionFacts *)inspection_find(answers[1].inspection,
								     &functions[i]),
				    (FunctionFacts *)inspection_find(in, &functions[i]));
	}
	for (size_t i = 0; i < n_asks; i++) {
		ask_clear(&asks[i]);
		answer_clear(question(id), &answers[i]);
	}
	return r;
}

int host_inspect(Host *host, const Bdf *functions, size_t n, InspectConfig config, Inspection **ret,
		 Problem **ret_problem)
{
	return host_inspect_marked(host, NULL, functions, n, config, ret, ret_problem);
}

int host_inspect_marked(Host *host, const Tenants *tenants, const Bdf *functions, size_t n,
			InspectConfig config, Inspection **ret, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	int r = look(host, ASK_INSPECT, functions, n, config, &in, ret_problem);

	if (r != 0)
		return r;
	look_at_nics(host, in);
	look_at_nvmes(host, tenants, in);
	in->probe_worker = host->ops->worker_on(host, NULL);
	*ret = TAKE_PTR(in);
	return 0;
}

int host_glance(Host *host, const Bdf *functions, size_t n, InspectConfig config, Inspection **ret,
		Problem **ret_problem)
{
	return look(host, ASK_GLANCE, functions, n, config, ret, ret_problem);
}

/* ---- moves and resets ---- */

static MoveOutcome move_outcome(Ask *ask, MoveAnswer *answer)
{
	MoveOutcome outcome = {
		.result = answer->result,
		.problem = TAKE_PTR(ask->problem),
		.still_running = ask->still_running,
		.pid = ask->error != 0 ? ask->pid : 0,
	};
	bool asked = ask->error == -ETIMEDOUT || ask->error == -EPROTO || ask->error == -EBADMSG;

	if (ask->error < 0)
		outcome.result =
			(DriverResult){ .error = ask->error,
					.phase = asked ? DRIVER_PHASE_UNBIND : DRIVER_PHASE_READ,
					.changed = asked };
	return outcome;
}

int host_move(Host *host, const DriverTarget *targets, size_t n, uint64_t timeout_usec,
	      MoveOutcome *ret_outcomes)
{
	_cleanup_free_ MoveAnswer *answers = NULL;
	_cleanup_free_ Ask *asks = asks_new(ASK_MOVE, n, (void **)&answers);
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		/* It ends the options: an override of another tool may begin with a dash. */
		asks[i].before = "--";
		asks[i].functions = &targets[i].bdf;
		asks[i].after[0] = targets[i].driver ? targets[i].driver : "-";
		asks[i].after[1] = targets[i].driver_override ? targets[i].driver_override : "-";
	}
	ask(host, asks, n, timeout_usec);
	for (size_t i = 0; i < n; i++) {
		ret_outcomes[i] = move_outcome(&asks[i], &answers[i]);
		r = r == 0 ? ret_outcomes[i].result.error : r;
	}
	return r;
}

int host_reset(Host *host, const ResetTarget *targets, size_t n, ResetOutcome *ret_outcomes)
{
	_cleanup_free_ ResetAnswer *answers = NULL;
	_cleanup_free_ Ask *asks = asks_new(ASK_RESET, n, (void **)&answers);
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		asks[i].before = targets[i].slot ? "--slot" : NULL;
		asks[i].functions = &targets[i].bdf;
	}
	ask(host, asks, n, ASK_USUAL_TIMEOUT);
	for (size_t i = 0; i < n; i++) {
		ret_outcomes[i] = (ResetOutcome){ .report = answers[i].report,
						  .problem = TAKE_PTR(asks[i].problem),
						  .still_running = asks[i].still_running,
						  .pid = asks[i].error != 0 ? asks[i].pid : 0 };
		if (asks[i].error == 0)
			continue;
		ret_outcomes[i].report = (ResetReport){ .bdf = targets[i].bdf,
							.result = RESET_UNKNOWN,
							.error = asks[i].error };
		r = r == 0 ? asks[i].error : r;
	}
	return r;
}

int host_make_vfs(Host *host, const Bdf *nic, unsigned number, bool autoprobe, bool *ret_running,
		  Problem **ret_problem)
{
	_cleanup_free_ char *text = strf("%u", number);
	VfsAnswer answer = { 0 };
	Ask one = { .id = ASK_VFS,
		    .after = { text, autoprobe ? "1" : "0" },
		    .functions = nic,
		    .n = 1,
		    .answer = &answer };

	ask(host, &one, 1, ASK_USUAL_TIMEOUT);
	*ret_running = one.still_running;
	return take_error(&one, ret_problem);
}

int host_rule_vfs(Host *host, const Bdf *vfs, size_t n, bool set, Problem **ret_problem)
{
	NicsAnswer answer = { 0 };
	Ask one = { .id = set ? ASK_RULES : ASK_NICS, .functions = vfs, .n = n, .answer = &answer };
	int r = ask_one(host, &one, ASK_USUAL_TIMEOUT, ret_problem);

	for (size_t i = 0; r == 0 && i < answer.n_nics; i++)
		if (!nic_use_vf_is_ruled(&answer.nics[i]))
			r = problem_refuse(
				ret_problem, GPUPASS_ERROR_BIND_FAILED,
				.reason = strf("%s could not be kept to its own address",
					       BDF_TEXT(&vfs[i])),
				.cause = answer.nics[i].vf_why
						 ? xstrdup(answer.nics[i].vf_why)
						 : xstrdup("its spoof check is off, or it is "
							   "trusted, after all"),
				.remedy = xstrdup("see ip -d link, and journalctl -t "
						  "gpupass-rules"));
	answer_clear(question(one.id), &answer);
	return r;
}

/* ---- persistence modes, memory ---- */

/* Takes the list out of the answer, or says of each why its mode is not known. */
static void take_modes(Ask *ask, PersistenceAnswer *answer, GpuPersistence *ret)
{
	for (size_t i = 0; i < ask->n; i++)
		ret[i] = ask->error == 0 ? answer->gpus[i]
					 : (GpuPersistence){ .bdf = ask->functions[i],
							     .why = why_not(ask) };
	free(answer->gpus);
	ask_clear(ask);
}

void host_persistence(Host *host, const Bdf *gpus, size_t n, GpuPersistence *ret)
{
	PersistenceAnswer answer = { 0 };
	Ask one = { .id = ASK_PERSISTENCE, .functions = gpus, .n = n, .answer = &answer };

	ask(host, &one, 1, ASK_USUAL_TIMEOUT);
	take_modes(&one, &answer, ret);
}

void host_set_persistence(Host *host, const Bdf *gpus, size_t n, bool on, uint64_t timeout_usec,
			  GpuPersistence *ret)
{
	_cleanup_free_ PersistenceAnswer *answers = NULL;
	_cleanup_free_ Ask *asks = asks_new(ASK_SET_PERSISTENCE, n, (void **)&answers);

	for (size_t i = 0; i < n; i++) {
		asks[i].before = on ? "--set=on" : "--set=off";
		asks[i].functions = &gpus[i];
	}
	ask(host, asks, n, timeout_usec);
	for (size_t i = 0; i < n; i++)
		take_modes(&asks[i], &answers[i], &ret[i]);
}

void host_memory(Host *host, const Bdf *boards, size_t n, MemoryReport *ret)
{
	MemoryAnswer answer = { 0 };
	Ask one = { .id = ASK_MEMORY, .functions = boards, .n = n, .answer = &answer };

	ask(host, &one, 1, ASK_USUAL_TIMEOUT);
	for (size_t i = 0; i < n; i++)
		ret[i] = one.error == 0 ? answer.boards[i]
					: (MemoryReport){ .bdf = boards[i], .why = why_not(&one) };
	free(answer.boards);
	ask_clear(&one);
}

/* ---- NVMes ---- */

int host_nvme_state(Host *host, const Bdf *function, NvmeState *ret, Problem **ret_problem)
{
	NvmeAnswer answer = { 0 };
	Ask one = { .id = ASK_NVME_STATE, .functions = function, .n = 1, .answer = &answer };
	int r = ask_one(host, &one, ASK_USUAL_TIMEOUT, ret_problem);

	if (r == 0)
		*ret = *answer.states;
	free(answer.states);
	return r;
}

int host_nvme_erase(Host *host, const Bdf *function, NvmeWay way, const char *serial,
		    uint64_t timeout_usec, NvmeErase *ret, Problem **ret_problem)
{
	_cleanup_free_ char *option = strf("--way=%s", nvme_way_to_string(way));
	_cleanup_free_ char *meant = strf("--serial=%s", str_or_empty(serial));
	NvmeAnswer answer = { 0 };
	Ask one = {
		.id = ASK_ERASE,
		.before = option,
		.after = { meant },
		.functions = function,
		.n = 1,
		.answer = &answer,
	};
	int r = ask_one(host, &one, timeout_usec, ret_problem);

	if (r == 0)
		*ret = *answer.erases;
	free(answer.erases);
	return r;
}

/* ---- probe, setup, health ---- */

int host_probe(Host *host, const Bdf *functions, size_t n, bool mmio, uint64_t timeout_usec,
	       ProbeAnswer *ret, Problem **ret_problem)
{
	Ask one = { .id = mmio ? ASK_REGISTERS : ASK_LINKS,
		    .functions = functions,
		    .n = n,
		    .answer = ret };

	return ask_one(host, &one, timeout_usec, ret_problem);
}

/* Two, side by side: what unpacks the image sees nothing else of the host. */
int host_examine(Host *host, Examination **ret, Problem **ret_problem)
{
	HostAnswer answers[2] = { 0 };
	Ask asks[] = { { .id = ASK_SETUP, .answer = &answers[0] },
		       { .id = ASK_IMAGE, .answer = &answers[1] } };
	int r;

	ask(host, asks, ELEMENTS(asks), ASK_USUAL_TIMEOUT);
	r = asks[0].error < 0 ? take_error(&asks[0], ret_problem)
			      : take_error(&asks[1], ret_problem);
	if (r == 0) {
		*ret = TAKE_PTR(answers[0].host);
		initramfs_free((*ret)->image);
		(*ret)->image = TAKE_PTR(answers[1].host->image);
	}
	for (size_t i = 0; i < ELEMENTS(asks); i++) {
		ask_clear(&asks[i]);
		answer_clear(question(asks[i].id), &answers[i]);
	}
	return r;
}

static Bdf *with_ports(const PciFunction *lead)
{
	Bdf *list = xcalloc(lead->n_upstream + 1, sizeof(Bdf));

	list[0] = lead->bdf;
	if (lead->n_upstream > 0)
		memcpy(list + 1, lead->upstream, lead->n_upstream * sizeof(Bdf));
	return list;
}

void host_health(Host *host, const PciFunction *const *leads, size_t n, GpuHealth *ret)
{
	_cleanup_free_ HealthAnswer *answers = NULL;
	_cleanup_free_ Ask *asks = asks_new(ASK_HEALTH, n, (void **)&answers);

	for (size_t i = 0; i < n; i++) {
		asks[i].functions = with_ports(leads[i]);
		asks[i].n = leads[i]->n_upstream + 1;
	}
	ask(host, asks, n, ASK_USUAL_TIMEOUT);
	for (size_t i = 0; i < n; i++) {
		ret[i] = answers[i].gpu;
		if (asks[i].error < 0)
			ret[i] = (GpuHealth){ .bdf = leads[i]->bdf,
					      .error = asks[i].error,
					      .why = why_not(&asks[i]),
					      .stuck = asks[i].still_running ? asks[i].pid : 0 };
		free((Bdf *)asks[i].functions);
		ask_clear(&asks[i]);
	}
}
