/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/progress.h"

#include <inttypes.h>

#include "base/text.h"
#include "show/describe.h"
#include "util/xalloc.h"

#define NAME_WIDTH 16
#define DETAIL_WIDTH 40
#define DURATION_WIDTH 10

typedef struct StepLook {
	Glyph glyph;
	Colour colour;
	bool ended; /* on a line of its own if nothing is drawn in place */
} StepLook;

static StepLook step_look(const Step *step)
{
	static const StepLook looks[STEP_STATE_MAX_] = {
		[STEP_PENDING] = { GLYPH_PENDING, COLOUR_DIM, false },
		[STEP_RUNNING] = { GLYPH_RUNNING, COLOUR_MOVING, false },
		[STEP_DONE] = { GLYPH_DONE, COLOUR_GOOD, true },
		[STEP_UNCHANGED] = { GLYPH_UNCHANGED, COLOUR_GOOD, true },
		[STEP_NOT_DONE] = { GLYPH_NOT_DONE, COLOUR_MOVING, true },
		[STEP_FAILED] = { GLYPH_FAILED, COLOUR_BAD, true },
		[STEP_UNDONE] = { GLYPH_UNDONE, COLOUR_MOVING, true },
		[STEP_UNDO_FAILED] = { GLYPH_FAILED, COLOUR_BAD, true },
	};
	StepState state;

	if (step_state_from_string(step->state, &state) < 0)
		return (StepLook){ GLYPH_PENDING, COLOUR_NONE, true }; /* a newer daemon's */
	return looks[state];
}

/* Spaces that fill `s` up to `width` columns; printf() would count bytes. */
static int padding(const char *s, int width)
{
	size_t used = text_width(s);

	return used < (size_t)width ? width - (int)used : 0;
}

/* States that the glyph alone does not show go before the detail. */
static char *step_detail(const Step *step)
{
	static const char *const worded[] = { "unchanged", "failed", "undone", "undo-failed" };

	return SOME_OF(worded, ELEMENTS(worded), strcmp(step->state, it) == 0)
		       ? strf("%s%s%s", step->state, *step->detail ? ": " : "", step->detail)
		       : xstrdup(step->detail);
}

void progress_print_step(const Terminal *t, const Step *step)
{
	StepLook look = step_look(step);
	_cleanup_free_ char *detail = step_detail(step), *took = NULL, *shown = NULL;
	size_t fixed = 3 + NAME_WIDTH + 1 + 1 + DURATION_WIDTH, room = DETAIL_WIDTH;

	/* A line that wraps would count as one when it is drawn again in place: cut it to fit. */
	if (t->width > fixed)
		room = t->width - fixed - 1;
	shown = t->width > 0 ? text_cut(detail, room, terminal_glyph(t, GLYPH_ELLIPSIS))
			     : TAKE_PTR(detail);
	took = look.ended ? duration_format(step->duration_usec) : NULL;
	fprintf(t->stream, " %s%s%s %s", terminal_colour(t, look.colour),
		terminal_glyph(t, look.glyph), terminal_plain(t), step->name);
	if (took || *shown)
		fprintf(t->stream, "%*s %s", padding(step->name, NAME_WIDTH), "", shown);
	if (took)
		fprintf(t->stream, "%*s %*s",
			padding(shown, room < DETAIL_WIDTH ? (int)room : DETAIL_WIDTH), "",
			DURATION_WIDTH, took);
	fputc('\n', t->stream);
}

/* The sentence of an operation in its forms; %1 is the group, %2 the domain. */
typedef struct Wording {
	const char *doing, *done, *link, *already;
} Wording;

static const Wording *job_wording(const Job *job)
{
	static const Wording wordings[] = {
		[OPERATION_ASSIGN] = { "Assigning", "Assigned", "to", "is already assigned to" },
		[OPERATION_RELEASE] = { "Releasing", "Released", "from",
					"is already released from" },
		[OPERATION_BIND] = { "Binding", "Bound", "to", "is already bound to" },
		[OPERATION_UNBIND] = { "Giving back", "Gave back", "to",
				       "is already given back to" },
		[OPERATION_RECONCILE] = { "Reconciling", "Reconciled", "with",
					  "is as recorded for" },
		[OPERATION_VERIFY] = { "Verifying", "Verified", "in", "is verified in" },
		[OPERATION_PROBE] = { "Probing", "Probed", "of", "is already probed" },
		[OPERATION_PREPARE] = { "Preparing", "Prepared", "for", "is already prepared for" },
	};
	Operation operation;

	return operation_from_string(job->operation, &operation) < 0 ? NULL : &wordings[operation];
}

/* Where the group goes to, or comes from: a domain, or a driver. "" when not known. */
static const char *job_counterpart(const Job *job)
{
	if (strcmp(job->operation, "bind") == 0)
		return "vfio-pci";
	if (strcmp(job->operation, "unbind") == 0)
		return "the host's drivers";
	if (strcmp(job->operation, "probe") == 0)
		return "this host";
	if (strcmp(job->operation, "prepare") == 0)
		return "a domain";
	return job->domain_name;
}

static const char *job_group(const Job *job)
{
	if (strcmp(job->operation, "probe") == 0)
		return "the links";
	return *job->group_name ? job->group_name : "a group";
}

void progress_headline(Progress *p, const Job *job, const Group *group)
{
	const Wording *wording = job_wording(job);
	const char *counterpart = job_counterpart(job);
	_cleanup_free_ char *summary = group ? group_summary(p->terminal, group) : NULL;

	if (p->quiet || p->headline)
		return;
	p->headline = true;
	if (wording)
		fprintf(p->terminal->stream, "%s %s%s%s%s%s%s%s%s\n", wording->doing,
			job_group(job), summary ? " (" : "", summary ? summary : "",
			summary ? ")" : "", *counterpart ? " " : "",
			*counterpart ? wording->link : "", *counterpart ? " " : "", counterpart);
}

void progress_domain(Progress *p, const Job *job)
{
	if (p->quiet || p->domain || !p->headline || !*job->domain_uuid)
		return;
	p->domain = true;
	domain_field(p->terminal, job->domain_name, job->domain_uuid);
}

/* false: nobody cancelled it, or it is undone already, as its steps show. */
static bool waits_to_stop(const Job *job)
{
	return strcmp(job_shown_state(job), "cancelling") == 0;
}

/* A step that has begun comes to its end, or to its deadline. */
static void print_cancelling(const Progress *p, const Job *job)
{
	const char *running = NULL;

	for (size_t i = 0; i < job->steps.n_items; i++)
		if (strcmp(job->steps.items[i].state, "running") == 0)
			running = job->steps.items[i].name;
	fprintf(p->terminal->stream, " %s%s%s being cancelled%s%s\n",
		terminal_colour(p->terminal, COLOUR_MOVING),
		terminal_glyph(p->terminal, GLYPH_UNDONE), terminal_plain(p->terminal),
		running ? ", as soon as this step has ended: " : "", running ? running : "");
}

static void draw_in_place(Progress *p, const Job *job)
{
	FILE *f = p->terminal->stream;
	size_t n = job->steps.n_items;

	if (p->n_drawn > 0)
		fprintf(f, "\033[%zuA", p->n_drawn);
	for (size_t i = 0; i < job->steps.n_items; i++) {
		fputs("\r\033[K", f);
		progress_print_step(p->terminal, &job->steps.items[i]);
	}
	if (waits_to_stop(job)) {
		fputs("\r\033[K", f);
		print_cancelling(p, job);
		n++;
	}
	/* A plan does not shrink, but if a list did, its tail must not remain. */
	for (size_t i = n; i < p->n_drawn; i++)
		fputs("\r\033[K\n", f);
	if (n > p->n_drawn)
		p->n_drawn = n;
	fflush(f);
}

static void print_ended(Progress *p, const Job *job)
{
	for (size_t i = 0; i < job->steps.n_items; i++) {
		const Step *step = &job->steps.items[i];

		while (strv_length(p->printed) <= i)
			strv_append(&p->printed, "");
		if (!step_look(step).ended || strcmp(p->printed[i], step->state) == 0)
			continue;
		free(p->printed[i]);
		p->printed[i] = xstrdup(step->state);
		progress_print_step(p->terminal, step);
	}
	if (!p->cancelled && waits_to_stop(job)) {
		p->cancelled = true;
		print_cancelling(p, job);
	}
}

void progress_update(Progress *p, const Job *job)
{
	if (p->quiet || job->steps.n_items == 0)
		return;
	if (p->terminal->tty && !p->terminal->dumb)
		draw_in_place(p, job);
	else
		print_ended(p, job);
}

static void print_warning(const Terminal *t, const char *warning)
{
	fprintf(t->stream, "%sWarning:%s ", terminal_colour(t, COLOUR_MOVING), terminal_plain(t));
	terminal_prose(t, strlen("Warning: "), 2, warning);
}

void progress_result(Progress *p, const Job *job)
{
	const Wording *wording = job_wording(job);
	const char *counterpart = job_counterpart(job);
	_cleanup_free_ char *took = duration_format(job->duration_usec);
	FILE *f = p->terminal->stream;

	for (size_t i = 0; job->warnings && job->warnings[i]; i++)
		print_warning(p->terminal, job->warnings[i]);
	if (p->quiet)
		return;
	if (!wording)
		fprintf(f, "Job %" PRIu32 " is done, in %s\n", job->id, took);
	else if (!job->changed)
		fprintf(f, "%s %s %s; nothing to do\n", job_group(job), wording->already,
			*counterpart ? counterpart : "its domain");
	else
		fprintf(f, "%s %s%s%s%s%s in %s (job %" PRIu32 ")\n", wording->done, job_group(job),
			*counterpart ? " " : "", *counterpart ? wording->link : "",
			*counterpart ? " " : "", counterpart, took, job->id);
}

void progress_clear(Progress *p)
{
	p->printed = strv_free(p->printed);
}
