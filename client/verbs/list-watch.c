/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass list --watch: the table, printed again whenever gpupassd says that something changed. */
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "bus/listen.h"
#include "verbs/list.h"

/* On a terminal the table has a screen of its own, which leaves what was there before as it was. */
#define SCREEN_OPEN "\033[?1049h"
#define SCREEN_CLOSE "\033[?1049l"
#define SCREEN_HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

typedef struct ListWatch {
	Client *client;
	const ColumnChoice *choice;
	Listener listener;
	char *table;   /* as it was last */
	char *heading; /* of when that is */
	bool in_place;
	bool anew; /* show it even if it is the same: the heading has another meaning now */
} ListWatch;

/* The table as text. Messages that belong to it, such as "there are no GPUs", come with it. */
static int make_text(Client *c, const World *w, const ColumnChoice *choice, char **ret)
{
	FILE *out = c->out.stream, *err = c->err.stream;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f;
	int r;

	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	c->out.stream = c->err.stream = f;
	r = list_print(c, w, choice);
	c->out.stream = out;
	c->err.stream = err;
	if (fclose(f) != 0 || !text)
		return -ENOMEM;
	if (r >= 0)
		*ret = TAKE_PTR(text);
	return r < 0 ? r : 0;
}

static char *heading(const char *what)
{
	_cleanup_free_ char *time = NULL;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	time = time_format((uint64_t)now.tv_sec * 1000000);
	return time ? strf("%s%s", time, what) : NULL;
}

/* From the top of the screen, as much as there is room for: a last row stays free for "more". */
static void draw(const ListWatch *w)
{
	const Terminal *t = &w->client->out;
	size_t room = t->height > 2 ? t->height - 2 : 1, left = 0;
	const char *line = w->table;

	fprintf(t->stream, SCREEN_HOME "%s%s%s" CLEAR_LINE "\n", terminal_colour(t, COLOUR_DIM),
		w->heading, terminal_plain(t));
	for (; *line; line += strcspn(line, "\n") + 1) {
		size_t rows = text_rows(line, t->width);

		if (rows > room || left > 0) {
			left++;
			continue;
		}
		fprintf(t->stream, "%.*s" CLEAR_LINE "\n", (int)strcspn(line, "\n"), line);
		room -= rows;
	}
	if (left > 0)
		fprintf(t->stream, "%s%zu more line%s%s" CLEAR_LINE, terminal_colour(t, COLOUR_DIM),
			left, left == 1 ? "" : "s", terminal_plain(t));
	fputs(CLEAR_BELOW, t->stream);
}

/* A block for each change; headings tell them apart. */
static void append(const ListWatch *w, bool table)
{
	FILE *f = w->client->out.stream;

	if (w->client->options->legend)
		fprintf(f, "%s\n", w->heading);
	if (table)
		fprintf(f, "%s\n", w->table);
}

static int show(ListWatch *w, const char *what, bool table)
{
	char *text = heading(what);

	if (!text)
		return -ENOMEM;
	free(w->heading);
	w->heading = text;
	if (w->in_place)
		draw(w);
	else
		append(w, table);
	return fflush(w->client->out.stream) == EOF ? -errno : 0;
}

static int on_daemon(bool there, void *userdata)
{
	ListWatch *w = userdata;

	if (!there)
		return show(w, "  gpupassd is not running; this is what it said last", false);
	w->anew = true;
	return 0;
}

/* Reads everything again, and shows it if it has changed. Returns 0 if it could not be read. */
static int look(ListWatch *w)
{
	_cleanup_(world_clear) World world = { 0 };
	_cleanup_free_ char *text = NULL;
	int r = world_load(w->client, &world);

	if (r == -ECANCELED && w->table) {
		client_forgive(w->client);
		return 0;
	}
	if (r < 0)
		return r;
	w->listener.changed = false;
	if (w->listener.resized)
		terminal_measure(&w->client->out);
	w->listener.resized = false;
	r = make_text(w->client, &world, w->choice, &text);
	if (r < 0)
		return r;
	if (w->table && !w->in_place && !w->anew && strcmp(w->table, text) == 0)
		return 1;
	w->anew = false;
	free(w->table);
	w->table = TAKE_PTR(text);
	r = show(w, "", true);
	return r < 0 ? r : 1;
}

/* Where they come faster than they are read, the table is drawn in between. */
#define SIGNALS_MAX 256

/* One change is many signals: those that are there already belong to one look. */
static int wait_for_changes(ListWatch *w, uint64_t timeout)
{
	int r = listener_wait(&w->listener, timeout);

	for (unsigned n = 0; r > 0 && n < SIGNALS_MAX && !w->listener.over; n++)
		r = listener_wait(&w->listener, 0);
	return r;
}

static int run(ListWatch *w)
{
	Listener *l = &w->listener;
	uint64_t timeout = UINT64_MAX;
	int r = 0;

	while (r >= 0 && !l->over) {
		r = wait_for_changes(w, timeout);
		timeout = UINT64_MAX;
		if (r < 0 || l->over)
			continue;
		if (l->resized && !l->there) {
			/* Without the daemon there are no rows to lay out anew. */
			terminal_measure(&w->client->out);
			l->resized = false;
			draw(w);
			fflush(w->client->out.stream);
		} else if (l->there && (l->changed || l->resized)) {
			r = look(w);
			if (r == 0)
				timeout = LISTENER_RETRY_USEC;
		}
	}
	return r;
}

int list_watch(Client *c, const ColumnChoice *choice)
{
	const ListenerHooks hooks = { .daemon = on_daemon, .gpus = true, .window = c->out.tty };
	ListWatch w = { .client = c, .choice = choice, .in_place = c->out.tty };
	int r = listener_start(&w.listener, c, &hooks, &w);

	if (r >= 0 && w.in_place)
		fputs(SCREEN_OPEN, c->out.stream);
	if (r >= 0) {
		r = look(&w);
		if (r >= 0)
			r = run(&w);
		if (w.in_place)
			fprintf(c->out.stream, SCREEN_CLOSE "%s", w.table ? w.table : "");
	}
	listener_clear(&w.listener);
	free(w.table);
	free(w.heading);
	return r;
}
