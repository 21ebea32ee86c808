/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/probe.h"

#include "job/guest-exit.h"
#include "job/prepare.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define MMIO_TIMEOUT_USEC (20 * USEC_PER_SEC)
#define HOPPER_GENERATION 4 /* of NVLink */

#include "probe.inc"

static int look(const JobPlace *place, Probe *probe)
{
	_cleanup_(assignments_freep) Assignments *assignments = assignment_store_load(place->store);
	int r = inventory_take(place->host, place->rules, assignments, place->known,
			       INSPECT_CONFIG_ALL, &probe->inventory);

	if (r < 0)
		return r;
	probe->nvml = xcalloc(probe->inventory->gpus->n_gpus + 1, sizeof(Bdf));
	probe->mmio = xcalloc(probe->inventory->gpus->n_gpus + 1, sizeof(Bdf));
	return 0;
}

/* A board that may have a bridge. Links of other boards do not form groups. */
static bool is_candidate(const Gpu *gpu)
{
	return !gpu->board || gpu->board->kind == NVLINK_BRIDGE ||
	       gpu->board->kind == NVLINK_UNKNOWN;
}

static void leave_out(Probe *probe, const Gpu *gpu, const char *why)
{
	_cleanup_free_ char *model = gpu_model(gpu);

	strv_appendf(&probe->warnings, "%s (%s) was not looked at: %s", BDF_TEXT(&gpu->lead->bdf),
		     model, why);
}

static bool is_quarantined(const JobPlace *place, const Gpu *gpu)
{
	_cleanup_free_ char *reason =
		claims_quarantine_reason(place->claims, &gpu->lead->bdf, NULL);

	return reason != NULL;
}

/* While a guest runs with the GPU, its registers belong to the guest, too. */
static void add_mmio(const JobPlace *place, Probe *probe, const Gpu *gpu)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	const Bdf *bdf = &gpu->lead->bdf;

	if (host_inspect(place->host, bdf, 1, INSPECT_CONFIG_NOT, &now, NULL) < 0)
		leave_out(probe, gpu, "nobody could tell whether a guest runs with it");
	else if (guest_holder(now))
		leave_out(probe, gpu, "a guest runs with it");
	else
		probe->mmio[probe->n_mmio++] = *bdf;
}

static void choose(const JobPlace *place, Probe *probe, const Gpu *gpu, bool mmio)
{
	_cleanup_free_ char *why = strf("%s%s, and NVML sees GPUs of the nvidia driver only",
					gpu->lead->driver ? "it is on " : "it has no driver",
					str_or_empty(gpu->lead->driver));

	if (!is_candidate(gpu))
		return;
	if (is_quarantined(place, gpu))
		leave_out(probe, gpu, "it is in quarantine");
	else if (str_equal(gpu->lead->driver, NVIDIA_DRIVER))
		probe->nvml[probe->n_nvml++] = gpu->lead->bdf;
	else if (mmio && gpu->board && gpu->board->generation == HOPPER_GENERATION)
		add_mmio(place, probe, gpu);
	else
		leave_out(probe, gpu, why);
}

static int refuse_nobody(const Probe *probe, Problem **ret_problem)
{
	_cleanup_free_ char *left_out = strv_join(probe->warnings, "\n");

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_PROBE_FAILED,
		.reason = xstrdup("there is no GPU whose links could be looked at"),
		.cause = xstrdup(str_is_empty(left_out)
					 ? "no board here has an NVLink bridge connector"
					 : left_out),
		.remedy =
			xstrdup("give the GPUs to the nvidia driver first (gpupass unbind GROUP), "
				"or declare what is bridged: gpupass declare NAME GPU GPU"));
}

static int refuse_second(pid_t pid, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_GROUP_BUSY,
		.reason = strf("worker %d of an earlier probe still waits", (int)pid),
		.remedy = xstrdup("wait for it to end; when it does not, the driver hangs: see "
				  "gpupassd(8), EVIDENCE"));
}

/*
 * NVML also opens GPUs that it is not asked about (nvmlInit, nvmlDeviceGetHandleByPciBusId_v2).
 * When a GPU is unbound while it is open, its driver's remove() never returns. Every job checks for
 * open files before it moves a GPU, but NVML may open the GPU after that check. So a probe claims
 * all GPUs of the nvidia driver and those whose registers it reads, and no job moves them
 * meanwhile. What a job gives to nvidia while the probe runs becomes its own when that job ends. No
 * job moves a quarantined GPU anyway.
 */
static int claim(const JobPlace *place, const Probe *probe, uint32_t job, uint64_t looked,
		 Problem **ret_problem)
{
	const GpuSet *gpus = probe->inventory->gpus;
	_cleanup_free_ Bdf *leads = xcalloc(gpus->n_gpus + 1, sizeof(Bdf));
	size_t n = 0;

	EACH (const Gpu, gpu, gpus->gpus, gpus->n_gpus)
		if ((str_equal(gpu->lead->driver, NVIDIA_DRIVER) ||
		     bdf_in(&gpu->lead->bdf, probe->mmio, probe->n_mmio)) &&
		    !is_quarantined(place, gpu))
			leads[n++] = gpu->lead->bdf;
	return claims_take(place->claims,
			   &(ClaimRequest){
				   .kind = CLAIM_PROBE,
				   .job = job,
				   .footprint = &(Footprint){ leads, n, n },
				   .looked = looked,
			   },
			   ret_problem);
}

static int prepare_once(const JobPlace *place, const JobRequest *request, uint32_t job,
			Probe *probe, Problem **ret_problem)
{
	bool mmio = request->mmio || place->rules->policy.allow_mmio;
	uint64_t looked = claims_now(place->claims);
	const GpuSet *gpus;
	pid_t pid;
	int r = look(place, probe);

	if (r < 0)
		return r;
	gpus = probe->inventory->gpus;
	for (size_t i = 0; i < gpus->n_gpus; i++)
		choose(place, probe, &gpus->gpus[i], mmio);
	if (probe->n_nvml + probe->n_mmio == 0)
		return refuse_nobody(probe, ret_problem);
	pid = place->host->ops->worker_on(place->host, NULL);
	return pid > 0 ? refuse_second(pid, ret_problem)
		       : claim(place, probe, job, looked, ret_problem);
}

int probe_prepare(const JobPlace *place, const JobRequest *request, uint32_t job, Probe *ret,
		  Problem **ret_problem)
{
	for (unsigned looks = 0; looks < PREPARE_LOOKS_MAX; looks++) {
		int r = prepare_once(place, request, job, ret, ret_problem);

		if (r != -ESTALE)
			return r;
		probe_clear(ret);
	}
	return prepare_too_busy(ret_problem);
}

/* ---- asking, and judging the answer ---- */

static int refused_by_nvml(const char *why, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_PROBE_FAILED,
			      .reason = xstrdup("nothing could be looked at"),
			      .cause = xstrdup(why),
			      .remedy = xstrdup("does nvidia-smi work? see gpupassd(8), EVIDENCE"));
}

/* What the worker says of a board must be about the board that a scan sees there. */
static char *mismatch(const Sighting *s, const Gpu *gpu)
{
	if (s->vendor != gpu->lead->vendor || s->device != gpu->lead->device)
		return strf("the answer is about %04x:%04x, and %04x:%04x is there", s->vendor,
			    s->device, gpu->lead->vendor, gpu->lead->device);
	if (s->uuid && gpu->uuid && strcasecmp(s->uuid, gpu->uuid) != 0)
		return strf("the answer is about %s, and %s is there", s->uuid, gpu->uuid);
	return NULL;
}

static void take_text(char **to, const char *from)
{
	if (!*to)
		*to = xstrdup(from);
}

/* Takes the sighting out of the answer. */
static int take_sighting(Probe *probe, Sighting *from, Evidence *into)
{
	const Gpu *gpu = gpu_set_find(probe->inventory->gpus, &from->bdf);
	_cleanup_free_ char *wrong = mismatch(from, gpu);

	if (wrong) {
		leave_out(probe, gpu, wrong);
		return 0;
	}
	from->subsystem_vendor = gpu->lead->subsystem_vendor;
	from->subsystem_device = gpu->lead->subsystem_device;
	from->seen_usec = now_realtime();
	from->fresh = true;
	take_text(&from->uuid, gpu->uuid);
	take_text(&from->serial_number, gpu->serial_number);
	return evidence_add(into, from);
}

static int take_answer(Probe *probe, ProbeAnswer *answer, Evidence *into)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < answer->boards->n_items; i++)
		r = take_sighting(probe, &answer->boards->items[i], into);
	for (size_t i = 0; r >= 0 && i < answer->n_unseen; i++)
		leave_out(probe, gpu_set_find(probe->inventory->gpus, &answer->unseen[i].bdf),
			  answer->unseen[i].reason);
	return r;
}

static int ask(const JobPlace *place, Probe *probe, bool mmio, uint64_t timeout_usec,
	       Evidence *into, Problem **ret_problem)
{
	_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
	const Bdf *functions = mmio ? probe->mmio : probe->nvml;
	size_t n = mmio ? probe->n_mmio : probe->n_nvml;
	int r;

	if (n == 0)
		return 0;
	r = host_probe(place->host, functions, n, mmio, timeout_usec, &answer, ret_problem);
	if (r != 0)
		return r;
	if (answer.error)
		return refused_by_nvml(answer.error, ret_problem);
	return take_answer(probe, &answer, into);
}

/* Record that the board was there: a board that comes later may have got its bridge. */
static int add_present(const Probe *probe, Evidence *into)
{
	const GpuSet *gpus = probe->inventory->gpus;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < gpus->n_gpus; i++) {
		const Gpu *gpu = &gpus->gpus[i];
		Sighting s = {
			.bdf = gpu->lead->bdf,
			.way = WAY_PRESENT,
			.seen_usec = now_realtime(),
			PCI_IDS_OF(gpu->lead),
		};

		if (is_candidate(gpu) && !evidence_knows(into, &gpu->lead->bdf))
			r = evidence_add(into, &s);
	}
	return r;
}

static void keep(const JobPlace *place, Probe *probe, const Evidence *seen)
{
	int r = topology_store_update(place->topology, seen, true);

	if (r < 0)
		strv_appendf(
			&probe->warnings,
			"what was seen could not be saved (%s), and is forgotten when gpupassd "
			"ends",
			r == -EPROTO ? TOPOLOGY_FILE " is of a later version" : strerror(-r));
}

static int ask_each_way(const JobPlace *place, Probe *probe, uint64_t timeout_usec, Evidence *into,
			Problem **ret_problem)
{
	int r = cancellation_check(place->cancel, ret_problem);

	if (r == 0)
		r = ask(place, probe, true, MMIO_TIMEOUT_USEC, into, ret_problem);
	if (r == 0)
		r = cancellation_check(place->cancel, ret_problem);
	return r == 0 ? ask(place, probe, false, timeout_usec, into, ret_problem) : r;
}

/* A cancelled probe keeps nothing, whatever it saw. */
static int close_to_cancels(const JobPlace *place, Problem **ret_problem)
{
	Problem *cancelled = NULL;
	int r = cancellation_close(place->cancel, &cancelled);

	if (r != PROBLEM)
		return r;
	problem_free(*ret_problem);
	*ret_problem = cancelled;
	return r;
}

/* One way may fail and the other succeed: keep what either has seen. */
int probe_run(const JobPlace *place, const JobRequest *request, Probe *probe, Problem **ret_problem)
{
	uint64_t timeout = request->timeout_usec ? request->timeout_usec
						 : place->rules->policy.probe_timeout_usec;
	_cleanup_(evidence_unrefp) Evidence *seen = NULL;
	_cleanup_free_ char *why = NULL;
	int r, kept = 0, cancelled;
	size_t n_seen;

	seen = xcalloc(1, sizeof(Evidence));
	r = ask_each_way(place, probe, timeout, seen, ret_problem);
	cancelled = close_to_cancels(place, ret_problem);
	if (cancelled != 0)
		return cancelled;
	n_seen = seen->n_items;
	if (r >= 0 && n_seen > 0) {
		kept = add_present(probe, seen);
		if (kept >= 0)
			keep(place, probe, seen);
	}
	if (r != 0 || n_seen > 0)
		return r != 0 ? r : kept;
	why = strv_join(probe->warnings, "\n");
	return refused_by_nvml(why, ret_problem);
}
