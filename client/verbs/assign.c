/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assign and release, which take several groups. Each group is one job, a transaction of its own.
 * For several groups every plan is made before the first job, and what this command assigned is
 * released when a later job fails.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "job/job.h"
#include "model/model.h"
#include "util/xalloc.h"
#include "verbs/acts.h"
#include "verbs/meant.h"
#include "verbs/plan.h"
#include "verbs/verbs.h"

static int refuse_several(Client *c, const char *option)
{
	return client_usage(c, "--%s is about one job\nRemedy: name one group", option);
}

/* Prints each plan. Exits as for one that would change something, if one of them would. */
static int show_plans(Client *c, Operation operation, const char *domain, char *const *groups,
		      size_t n)
{
	int code = GPUPASS_EXIT_DONE;

	for (size_t i = 0; i < n; i++) {
		int r = domain ? plan_show(c, operation, domain, groups[i])
			       : plan_show(c, operation, groups[i], NULL);

		if (r < 0)
			return r;
		if (r != GPUPASS_EXIT_DONE)
			code = r;
	}
	return code;
}

/* ---- assign ---- */

/* They are told of, and the failure that caused it stays what the command ends with. */
static void give_back(Client *c, char *const *groups, const bool *ours, size_t n)
{
	Failure *failure = TAKE_PTR(c->failure);
	json_t *job = TAKE_PTR(c->failed_job);

	for (size_t i = n; i > 0; i--) {
		int r;

		if (!ours[i - 1])
			continue;
		r = act(c, "Release", OPERATION_RELEASE, groups[i - 1], NULL);
		if (r == GPUPASS_EXIT_DONE)
			fprintf(c->err.stream,
				"gpupass: released %s again, which this command had assigned\n",
				groups[i - 1]);
		else
			fprintf(c->err.stream,
				"gpupass: %s stays assigned: it could not be released again\n"
				"  Remedy: gpupass release %s\n",
				groups[i - 1], groups[i - 1]);
		client_forgive(c);
		json_decref(c->failed_job);
		c->failed_job = NULL;
	}
	c->failure = failure;
	c->failed_job = job;
}

static void tell_not_begun(Client *c, char *const *groups, const bool *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i])
			fprintf(c->err.stream, "gpupass: %s was not begun\n", groups[i]);
}

static int assign_each(Client *c, const char *domain, char *const *groups, bool *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		if (!wanted[i])
			continue;
		r = act(c, "Assign", OPERATION_ASSIGN, domain, groups[i]);
		if (r == GPUPASS_EXIT_DONE)
			continue;
		/* Interrupted: the job goes on, and what was assigned is wanted still. */
		if (r == JOB_EXIT_INTERRUPTED)
			tell_not_begun(c, groups + i + 1, wanted + i + 1, n - i - 1);
		else
			give_back(c, groups, wanted, i);
		return r;
	}
	return GPUPASS_EXIT_DONE;
}

static int check_once(Client *c, char *const *groups, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(groups[i], groups[k]) == 0)
				return client_usage(c, "%s is named twice", groups[i]);
	return 0;
}

static int assign_several(Client *c, const char *domain, char *const *groups, size_t n)
{
	_cleanup_free_ bool *wanted = xcalloc(n, sizeof(bool));
	int r = check_once(c, groups, n);

	if (r >= 0 && (c->options->given & OPTION_NO_BLOCK))
		r = refuse_several(c, "no-block");
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = plan_changes(c, OPERATION_ASSIGN, domain, groups[i], &wanted[i]);
	return r < 0 ? r : assign_each(c, domain, groups, wanted, n);
}

/* What a person answers; NULL for none of them. */
static char *ask(Client *c, char *const *names)
{
	_cleanup_free_ char *line = NULL;
	char *word, *save = NULL;
	size_t size = 0;

	fprintf(c->err.stream, "Which group: ");
	fflush(c->err.stream);
	if (getline(&line, &size, stdin) < 0)
		return NULL;
	word = strtok_r(line, " \t\n", &save);
	if (!word || strtok_r(NULL, " \t\n", &save) || !strv_contains(names, word))
		return NULL;
	return xstrdup(word);
}

/*
 * Which of several free groups: gpupassd would take one, and who types has perhaps another in mind.
 * *ret NULL: gpupassd chooses, because there is one, because the domain has one, or because
 * somebody said that any will do.
 */
static int choose(Client *c, const char *domain, char **ret)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *list = NULL;
	bool linked = false;
	int r;

	if (c->options->given & (OPTION_ANY | OPTION_MODEL))
		return 0;
	r = world_load(c, &w);
	if (r < 0)
		return r;
	for (size_t i = 0; i < w.n_groups; i++)
		linked |= strv_length(w.groups[i].gpus) > 1;
	for (size_t i = 0; i < w.n_groups; i++) {
		const Group *group = &w.groups[i];

		if (group_is_of_domain(group, domain))
			return 0;
		/* A GPU alone is not chosen where others are linked (core/plan/choose). */
		if (group->assignable && (!linked || strv_length(group->gpus) > 1))
			strv_append(&names, group->name);
	}
	if (!names || strv_length(names) < 2)
		return 0;
	list = strv_join(names, ", ");
	if (c->err.tty && isatty(STDIN_FILENO) == 1 && !c->options->quiet) {
		fprintf(c->err.stream, "%zu groups are free: %s\n", strv_length(names), list);
		*ret = ask(c, names);
		if (*ret)
			return 0;
	}
	return client_usage(c,
			    "several groups are free: %s\n"
			    "Remedy: name one: gpupass assign %s %s; or take any: --any",
			    list, domain, names[0]);
}

int verb_assign(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_free_ char *chosen = NULL;
	const char *group = n_arguments > 1 ? arguments[1] : NULL;
	int r;

	if (n_arguments > 2 && (c->options->given & OPTION_DRY_RUN))
		return show_plans(c, OPERATION_ASSIGN, arguments[0], arguments + 1,
				  n_arguments - 1);
	if (n_arguments > 2)
		return assign_several(c, arguments[0], arguments + 1, n_arguments - 1);
	if (!group) {
		r = choose(c, arguments[0], &chosen);
		if (r < 0)
			return r;
		group = chosen;
	}
	if (c->options->given & OPTION_DRY_RUN)
		return plan_show(c, OPERATION_ASSIGN, arguments[0], group);
	return act(c, "Assign", OPERATION_ASSIGN, arguments[0], group ? group : "");
}

/* ---- release ---- */

static int release_each(Client *c, char *const *targets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = act(c, "Release", OPERATION_RELEASE, targets[i], NULL);

		if (r == GPUPASS_EXIT_DONE)
			continue;
		for (size_t k = i + 1; k < n; k++)
			fprintf(c->err.stream, "gpupass: the release of %s was not begun\n",
				targets[k]);
		return r;
	}
	return GPUPASS_EXIT_DONE;
}

int verb_release(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_strv_ char **groups = NULL;
	char *const *targets = arguments;
	size_t n = n_arguments;
	int r = check_once(c, arguments, n_arguments);

	if (r >= 0 && n == 1) {
		r = meant_groups(c, arguments[0], &groups);
		targets = groups;
		n = strv_length(groups);
	}
	if (r >= 0 && n > 1 && (c->options->given & OPTION_NO_BLOCK))
		r = refuse_several(c, "no-block");
	if (r < 0)
		return r;
	if (c->options->given & OPTION_DRY_RUN)
		return show_plans(c, OPERATION_RELEASE, NULL, targets, n);
	return release_each(c, targets, n);
}
