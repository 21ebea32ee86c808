/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/describe.h"

#include "base/text.h"
#include "topology/model.h"
#include "util/xalloc.h"

Colour group_colour(const Group *group)
{
	GroupState state;

	if (group_state_from_string(group->state, &state) < 0)
		return COLOUR_NONE; /* a newer daemon's state */
	return topology_colour(topology_look(group->state));
}

const char *group_bullet(const Terminal *t, const Group *group)
{
	return terminal_glyph(t,
			      strcmp(group->state, "assigned") == 0 ? GLYPH_HELD : GLYPH_NOT_HELD);
}

char *group_summary(const Terminal *t, const Group *group)
{
	_cleanup_strv_ char **parts = NULL;

	strv_appendf(&parts, "%zu%s %s", strv_length(group->gpu_addresses),
		     terminal_glyph(t, GLYPH_TIMES), *group->model ? group->model : "GPU");
	if (*group->link)
		strv_append(&parts, group->link);
	for (size_t i = 0; i < group->companions.n_items; i++)
		strv_append(&parts, topology_noun(group->companions.items[i].kind));
	return strv_join(parts, ", ");
}

char *group_state_text(const Group *group)
{
	const char *domain = *group->domain_name ? group->domain_name : group->domain_uuid;

	if (!*domain)
		return xstrdup(group->state);
	if (strcmp(group->state, "assigned") == 0)
		return strf("%s to %s", group->state, domain);
	return strf("%s (domain %s)", group->state, domain);
}

char **group_companions(const Group *group)
{
	char **list = NULL;

	for (size_t i = 0; i < group->companions.n_items; i++)
		strv_appendf(&list, "%s:%s", group->companions.items[i].kind,
			     group->companions.items[i].address);
	return list;
}

char *numbers_text(const BusInt32s *list)
{
	_cleanup_strv_ char **texts = NULL;

	for (size_t i = 0; i < list->n_items; i++) {
		_cleanup_free_ char *text = number_text(list->items[i]);

		if (!strv_contains(texts, text))
			strv_append(&texts, text);
	}
	return texts ? strv_join(texts, ",") : xstrdup("-");
}

const char *gpu_exclusion(const Gpu *gpu)
{
	if (strcmp(gpu->nvlink, "none") == 0)
		return "no NVLink";
	if (strcmp(gpu->nvlink, "sxm") == 0)
		return "SXM";
	if (strcmp(gpu->nvlink, "unknown") == 0)
		return "unknown board";
	return "no group";
}

const char *job_shown_state(const Job *job)
{
	bool undone = strcmp(job->state, "rolling-back") == 0 || job_is_over(job);

	return job->cancel_requested && !undone ? "cancelling" : job->state;
}

char *job_title(const Job *job)
{
	return strf("%s%s%s%s%s", job->operation, *job->group_name ? " " : "", job->group_name,
		    *job->domain_name ? ", domain " : "", job->domain_name);
}

void domain_field(const Terminal *t, const char *name, const char *uuid)
{
	if (*uuid)
		terminal_field(t, "Domain", "%s%s%s", name, *name ? ", " : "", uuid);
}

const char *or_dash(const char *s)
{
	return *s ? s : "-";
}

/* A sentence without its full stop, to be continued. */
static char *clause(const char *sentence)
{
	size_t n = strlen(sentence);

	while (n > 0 && (sentence[n - 1] == '.' || sentence[n - 1] == ' '))
		n--;
	return xstrndup(sentence, n);
}

/* "gpupass declare pair0 41:00.0 61:00.0": to be typed, so that the usual segment is left out. */
static char *declare_command(const Group *group)
{
	static const char usual[] = "0000:";
	_cleanup_strv_ char **words = NULL;

	strv_append(&words, "gpupass declare");
	strv_append(&words, group->name);
	for (size_t i = 0; group->gpu_addresses && group->gpu_addresses[i]; i++) {
		const char *address = group->gpu_addresses[i];

		strv_append(&words,
			    address + (str_starts_with(address, usual) ? strlen(usual) : 0));
	}
	return strv_join(words, " ");
}

char *group_remedy(const Group *group)
{
	_cleanup_free_ char *command = NULL;
	GroupState state;

	if (group->assignable || group_state_from_string(group->state, &state) < 0)
		return NULL;
	if (state == GROUP_UNKNOWN)
		return xstrdup("look at the bridges and declare each group with: "
			       "gpupass declare NAME GPU GPU");
	if (state == GROUP_UNREADY)
		return strf("gpupassd does so by itself (gpupass jobs), or: gpupass prepare %s",
			    group->name);
	if (state != GROUP_INFERRED)
		return NULL;
	command = declare_command(group);
	return strf("declare it with: %s", command);
}

char *group_hint(const Group *group)
{
	_cleanup_free_ char *why = NULL, *remedy = group_remedy(group);

	if (!remedy && group_colour(group) != COLOUR_BAD)
		return NULL;
	/* What a declaration mends is how its links are known. */
	why = clause(!*group->reason || (remedy && strcmp(group->state, "unready") != 0)
			     ? group->reasoning
			     : group->reason);
	if (!remedy)
		remedy = strf("see: gpupass status %s", group->name);
	return strf("%s is %s: %s; %s", group->name, group->state, why, remedy);
}

void print_notes(Client *c, const World *w)
{
	for (size_t i = 0; !c->options->quiet && w->manager.notes && w->manager.notes[i]; i++) {
		fputs("Note: ", c->err.stream);
		terminal_prose(&c->err, strlen("Note: "), 2, w->manager.notes[i]);
	}
}
