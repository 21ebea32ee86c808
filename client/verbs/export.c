/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpupass export`: what a guest, or another tool, should be told about GPUs. */
#include <string.h>

#include "base/text.h"
#include "export/formats.h"
#include "verbs/export.h"
#include "verbs/verbs.h"

/* Numbers that Proxmox VE gives to machines. */
#define MACHINE_MIN 100
#define MACHINE_MAX 999999999

static int read_format(Client *c, const ExportFormat **ret)
{
	_cleanup_free_ char *names = export_format_names();

	if (!c->options->format)
		return client_usage(c,
				    "export needs a format\nRemedy: give one of: %s, as in: "
				    "--format=cloud-init",
				    names);
	*ret = export_format_find(c->options->format);
	if (!*ret)
		return client_usage(c, "--format=%s: no such format\nRemedy: one of %s",
				    c->options->format, names);
	if (c->options->json != JSON_OFF)
		return client_usage(c, "--json is no option of export, whose formats are its own");
	return 0;
}

/* Decimal, without signs and blanks. */
static bool read_number(const char *text, unsigned min, unsigned max, unsigned *ret)
{
	unsigned long long value;

	if (str_to_unsigned(text, 10, max, &value) < 0 || value < min)
		return false;
	*ret = (unsigned)value;
	return true;
}

static int check_arguments(Client *c, const ExportFormat *format, char *const *arguments, size_t n,
			   Export *e)
{
	static const struct {
		size_t min, max;
		const char *usage;
	} subjects[] = {
		[SUBJECT_DOMAIN] = { 1, 1, " DOMAIN" },
		[SUBJECT_GROUPS] = { 0, 1, " [GROUP]" },
		[SUBJECT_HOST] = { 0, 0, "" },
		[SUBJECT_MACHINE_GROUP] = { 2, 2, " VMID GROUP" },
	};
	size_t min = subjects[format->subject].min, max = subjects[format->subject].max;

	if (n < min || n > max)
		return client_usage(
			c,
			"--format=%s: too %s arguments\nRemedy: write it as: gpupass export "
			"--format=%s%s",
			format->name, n < min ? "few" : "many", format->name,
			subjects[format->subject].usage);
	if (format->subject == SUBJECT_MACHINE_GROUP &&
	    !read_number(arguments[0], MACHINE_MIN, MACHINE_MAX, &e->machine))
		return client_usage(c, "'%s' is no VMID: they are numbers from %d to %d",
				    arguments[0], MACHINE_MIN, MACHINE_MAX);
	return 0;
}

static int read_distribution(Client *c, const ExportFormat *format, Export *e)
{
	const char *given = c->options->distribution;

	if (given && format->subject != SUBJECT_DOMAIN)
		return client_usage(c, "--distribution is no option of --format=%s", format->name);
	e->guest.distribution = given ? given : "auto";
	return 0;
}

static int read_first(Client *c, const ExportFormat *format, Export *e)
{
	const char *given = c->options->first;

	e->first = format->first;
	if (!given)
		return 0;
	if (format->last == 0)
		return client_usage(c, "--first is no option of --format=%s", format->name);
	if (!read_number(given, format->first, format->last, &e->first))
		return client_usage(c, "--first=%s: --format=%s has the numbers %u to %u", given,
				    format->name, format->first, format->last);
	return 0;
}

/* As many as there are. */
static int check_numbers(Client *c, const ExportFormat *format, const Export *e)
{
	size_t n = export_gpus(e);

	if (format->last == 0 || e->first + n <= (size_t)format->last + 1)
		return 0;
	return client_usage(c,
			    "%zu GPUs from number %u on are too many: --format=%s has the numbers "
			    "%u to %u\nRemedy: export single groups, or choose a lower --first",
			    n, e->first, format->name, format->first, format->last);
}

static int load(Client *c, const ExportFormat *format, char *const *arguments, size_t n_arguments,
		World *w, Export *e)
{
	int r = world_load(c, w);

	if (r != 0)
		return r;
	if (format->subject == SUBJECT_DOMAIN)
		return export_load_guest(c, w, arguments[0], &e->guest);
	/* The group stands last. */
	r = export_load_groups(c, w, n_arguments > 0 ? arguments[n_arguments - 1] : NULL, e);
	return r == 0 ? check_numbers(c, format, e) : r;
}

int verb_export(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_(export_clear) Export e = { 0 };
	const ExportFormat *format = NULL;
	int r;

	r = read_format(c, &format);
	if (r != 0 || !format)
		return r;
	r = check_arguments(c, format, arguments, n_arguments, &e);
	if (r == 0)
		r = read_distribution(c, format, &e);
	if (r == 0)
		r = read_first(c, format, &e);
	if (r == 0)
		r = load(c, format, arguments, n_arguments, &w, &e);
	if (r == 0)
		format->print(c->out.stream, &e);
	return r;
}
