/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of steps share: looks at the functions, and notes of what they found. */
#include "job/steps.h"

#include <stdarg.h>

#include "job/guest-exit.h"
#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

/* One line, because it is shown with the warnings. */
void step_note_left(StepContext *c, const Problem *problem)
{
	_cleanup_free_ char *cause = xstrdup(str_or_empty(problem->cause));

	for (char *at = cause; (at = strchr(at, '\n'));)
		*at = ';';
	strv_appendf(&c->left, "%s%s%s%s%s%s", problem->reason, *cause ? " (" : "", cause,
		     *cause ? ")" : "", problem->remedy ? "; " : "", str_or_empty(problem->remedy));
}

int step_forgive_gone(int r, Problem **problem)
{
	if (r != PROBLEM || (*problem)->error != GPUPASS_ERROR_NO_SUCH_DOMAIN)
		return r;
	*problem = problem_free(*problem);
	return 0;
}

void step_remember_stuck(StepContext *c, const Bdf *function, const char *why, ...)
{
	va_list ap;

	*GROW(c->stuck_functions, c->n_stuck_functions) = *function;
	if (c->stuck)
		return;
	va_start(ap, why);
	c->stuck = vstrf(why, ap);
	va_end(ap);
}

WorkerName step_worker_name(pid_t pid)
{
	WorkerName name = { "a worker" };

	if (pid > 0)
		snprintf(name.text, sizeof(name.text), "worker %d", (int)pid);
	return name;
}

/* What is stuck is not touched again. */
static Bdf *list_functions(const StepContext *c, size_t *ret_n)
{
	Bdf *functions = xcalloc(c->plan->n_functions + 1, sizeof(Bdf));
	size_t n = 0;

	for (size_t i = 0; i < c->plan->n_functions; i++)
		if (!bdf_in(&c->plan->functions[i].bdf, c->stuck_functions, c->n_stuck_functions))
			functions[n++] = c->plan->functions[i].bdf;
	*ret_n = n;
	return functions;
}

static int inspect_by(StepContext *c, bool past_exit, Inspection **ret, Problem **ret_problem)
{
	Host *host = c->place->host;
	size_t n;
	_cleanup_free_ Bdf *functions = list_functions(c, &n);
	int r = (past_exit ? inspect_past_exit : host_inspect_marked)(
		host, c->prepared ? c->prepared->tenants : NULL, functions, n, INSPECT_CONFIG_NOT,
		ret, ret_problem);

	if (r == 0)
		trail_note_holders(c->place->trail, *ret);
	return r;
}

int step_inspect(StepContext *c, Inspection **ret, Problem **ret_problem)
{
	return inspect_by(c, false, ret, ret_problem);
}

int step_glance(StepContext *c, Inspection **ret, Problem **ret_problem)
{
	Host *host = c->place->host;
	size_t n;
	_cleanup_free_ Bdf *functions = list_functions(c, &n);

	return host_glance(host, functions, n, INSPECT_CONFIG_NOT, ret, ret_problem);
}

/*
 * The last check before functions leave vfio-pci. Unbinding a function that a guest has open kills
 * the guest, or waits for it for ever. The guest may have started since the preflight step.
 */
int step_refuse_while_in_guest(StepContext *c, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	const Holder *holder;
	int r = inspect_by(c, true, &now, ret_problem);

	if (r == -ENOENT)
		return 0; /* one has vanished: move the others all the same */
	if (r != 0)
		return r;
	holder = guest_holder(now);
	if (!holder)
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_HOST_IN_USE,
			      .reason = strf("a guest runs on %s", BDF_TEXT(&holder->bdf)),
			      .cause = strf("%s: %s by %s (pid %ld)", BDF_TEXT(&holder->bdf),
					    str_or_empty(holder->path),
					    str_or_empty(holder->command), (long)holder->pid),
			      .remedy = xstrdup("shut that guest down, then try again"));
}

static bool host_has(const Inspection *now, const Bdf *bdf)
{
	const FunctionFacts *facts = inspection_find(now, bdf);

	return !facts || !function_facts_on_vfio(facts);
}

/* "0000:41:00.0: /dev/nvidia0 by python3 (pid 812)"; what is not known counts. NULL: nobody. */
static char *host_user_text(const Inspection *now)
{
	const Holder *holder = FIND(now->holders, now->n_holders, !it->vfio);
	const NicUse *nic = FIND(now->nics, now->n_nics,
				 (it->n_users > 0 || it->why) && host_has(now, &it->bdf));
	const NvmeUse *nvme = FIND(now->nvmes, now->n_nvmes, it->n_holds > 0 || it->unread);
	_cleanup_free_ char *hold = NULL;

	if (holder)
		return holder_text(holder);
	if (nic && nic->n_users > 0)
		return nic_user_text(&nic->bdf, &nic->users[0]);
	if (nic)
		return strf("%s: %s", BDF_TEXT(&nic->bdf), nic->why);
	if (!nvme)
		return NULL;
	hold = nvme->n_holds > 0 ? nvme_hold_text(&nvme->holds[0]) : xstrdup(nvme->unread[0]);
	return strf("%s: %s", BDF_TEXT(&nvme->bdf), hold);
}

int step_refuse_while_host_uses(StepContext *c, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	_cleanup_free_ char *user = NULL;
	int r = step_inspect(c, &now, ret_problem);

	if (r == -ENOENT)
		return 0; /* likewise */
	if (r != 0)
		return r;
	user = host_user_text(now);
	if (!user)
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_HOST_IN_USE,
			      .reason = strf("the host uses it again: %s", user),
			      .remedy = xstrdup("stop that"));
}

int step_check_released(StepContext *c, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	PlanFacts facts = prepared_facts(c->prepared, c->place);
	int r = step_inspect(c, &now, ret_problem);

	if (r == 0)
		r = plan_check_fresh(c->plan, now, ret_problem);
	if (r != 0)
		return r;
	facts.inspection = now;
	return plan_check_functions(&facts, &c->prepared->request, NULL, ret_problem);
}
