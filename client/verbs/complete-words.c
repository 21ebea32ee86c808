/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for gpupass complete: of what gpupassd has, and of the domains in libvirt's folders. */
#include <dirent.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "bus/bus.h"
#include "model/model.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/complete.h"

#define SUFFIX ".xml"
#define DEFINITIONS_MAX 10000

/* Names with control characters cannot be typed, and would be others after they were cleaned. */
static bool is_plain(const char *text)
{
	_cleanup_free_ char *clean = text_printable(text);

	return *text && strcmp(clean, text) == 0;
}

void words_print(const WordPrinter *p, const char *word, const char *description)
{
	_cleanup_free_ char *clean = text_printable(description);

	if (is_plain(word))
		fprintf(p->client->out.stream, "%s%s\t%s\n", p->prefix, word, clean);
}

static void print_group(const WordPrinter *p, const Group *g)
{
	_cleanup_free_ char *summary = group_summary(&p->client->out, g);
	_cleanup_free_ char *state = group_state_text(g);
	_cleanup_free_ char *text = strf("%s, %s", summary, state);

	words_print(p, g->name, text);
}

static void print_groups(const WordPrinter *p, const World *w)
{
	for (size_t i = 0; i < w->n_groups; i++)
		print_group(p, &w->groups[i]);
}

static void print_gpus(const WordPrinter *p, const World *w)
{
	for (size_t i = 0; i < w->n_gpus; i++)
		words_print(p, w->gpus[i].address, w->gpus[i].model);
}

static void print_models(const WordPrinter *p, const World *w)
{
	for (size_t i = 0; i < w->n_groups; i++) {
		bool again = false;

		for (size_t j = 0; j < i; j++)
			again = again || strcmp(w->groups[i].model, w->groups[j].model) == 0;
		if (!again)
			words_print(p, w->groups[i].model, "");
	}
}

static void print_jobs(const WordPrinter *p, const World *w)
{
	for (size_t i = 0; i < w->n_jobs; i++) {
		const Job *job = &w->jobs[i];
		_cleanup_free_ char *id = strf("%" PRIu32, job->id);
		_cleanup_free_ char *text =
			strf("%s %s, %s", job->operation, job->group_name, job->state);

		words_print(p, id, text);
	}
}

/* A name once, with its first group. */
static const Group *group_of(const World *w, const char *domain)
{
	for (size_t i = 0; i < w->n_groups; i++)
		if (strcmp(w->groups[i].domain_name, domain) == 0)
			return &w->groups[i];
	return NULL;
}

static void print_held(const WordPrinter *p, const World *w)
{
	for (size_t i = 0; i < w->n_groups; i++) {
		const Group *g = &w->groups[i];
		_cleanup_free_ char *text = strf("domain, has %s", g->name);

		if (group_of(w, g->domain_name) == g)
			words_print(p, g->domain_name, text);
	}
}

/*
 * libvirt has one file a domain, NAME.xml, here those that are defined and there those that run.
 * Reading names is quick; virsh takes half a second to list them. Users who may not read the
 * folder are offered domains that have a group.
 */
static void print_defined(const WordPrinter *p, const World *w, const char *path)
{
	struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	dir = opendir(path);
	while (dir && n++ < DEFINITIONS_MAX && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (length <= strlen(SUFFIX) ||
		    strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		entry->d_name[length - strlen(SUFFIX)] = '\0';
		if (!group_of(w, entry->d_name))
			words_print(p, entry->d_name, "domain");
	}
	if (dir)
		closedir(dir);
}

static void print_domains(const WordPrinter *p, const World *w, bool held)
{
	const Options *o = p->client->options;

	print_held(p, w);
	if (held || o->host || (o->session && !p->definitions))
		return;
	print_defined(p, w, p->definitions ? p->definitions : "/etc/libvirt/qemu");
	if (!p->definitions)
		print_defined(p, w, "/run/libvirt/qemu");
}

static bool has_kind(const char *kinds, const char *kind)
{
	size_t length = strlen(kind);

	for (const char *s = kinds; *s; s += strcspn(s, "|"), s += *s == '|')
		if (strncmp(s, kind, length) == 0 && (s[length] == '\0' || s[length] == '|'))
			return true;
	return false;
}

bool words_are_known(const char *kinds)
{
	static const char *const known[] = { "GROUP", "NAME",  "GPU",  "DOMAIN", "ID",
					     "JOB",   "MODEL", "VMID", "PHASE" };

	for (const char *s = kinds; *s; s += strcspn(s, "|"), s += *s == '|') {
		_cleanup_free_ char *kind = xstrndup(s, strcspn(s, "|"));
		bool found = false;

		for (size_t i = 0; i < ELEMENTS(known); i++)
			found = found || strcmp(known[i], kind) == 0;
		if (!found)
			return false;
	}
	return true;
}

/* Asking would start it: a key that was pressed should not. */
static bool daemon_is_there(Client *c)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int there = 0;

	return bus_connect(c) >= 0 &&
	       sd_bus_call_method(c->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
				  "org.freedesktop.DBus", "NameHasOwner", NULL, &reply, "s",
				  GPUPASS_BUS_NAME) >= 0 &&
	       sd_bus_message_read(reply, "b", &there) >= 0 && there;
}

void words_of_daemon(const WordPrinter *p, const char *kinds, bool held)
{
	_cleanup_(world_clear) World w = { 0 };

	if (!daemon_is_there(p->client) || world_load(p->client, &w) < 0)
		client_forgive(p->client); /* then there are domains at most */
	if (has_kind(kinds, "GROUP") || has_kind(kinds, "NAME"))
		print_groups(p, &w);
	if (has_kind(kinds, "GPU"))
		print_gpus(p, &w);
	if (has_kind(kinds, "DOMAIN"))
		print_domains(p, &w, held);
	if (has_kind(kinds, "MODEL"))
		print_models(p, &w);
	if (has_kind(kinds, "ID") || has_kind(kinds, "JOB"))
		print_jobs(p, &w);
}
