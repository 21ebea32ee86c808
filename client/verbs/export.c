/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpupass export`: what a guest, or another tool, should be told about GPUs. */

#include "base/text.h"
#include "bus/bus.h"
#include "model/model.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

/* ---- the groups of a domain ---- */

/* The largest number of GPUs that this speaks of: of 16 groups of 4. */
#define GPUS_MAX 64

/* `links`: active ones of each GPU, to all others of its group. */
static void add_to_guest(const Group *group, ExportGuest *guest, unsigned *links)
{
	size_t n = strv_length(group->gpu_addresses);

	if (!strv_contains(guest->models, group->model))
		strv_append(&guest->models, group->model);
	for (size_t i = 0; i < n && guest->n_gpus < GPUS_MAX; i++)
		links[guest->n_gpus++] = group->links_expected * (unsigned)(n - 1);
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* All groups of a domain together. *ret borrows from the world. */
static int load_guest(Client *c, const World *w, const char *domain, ExportGuest *ret)
{
	unsigned links[GPUS_MAX];

	EACH (const Group, group, w->groups, w->n_groups) {
		if (!group_is_of_domain(group, domain))
			continue;
		/* A name is that of two domains while one takes it over from the other. */
		if (ret->domain_uuid && strcmp(ret->domain_uuid, group->domain_uuid) != 0)
			return client_usage(c, "%s names several domains\nRemedy: give its UUID",
					    domain);
		ret->domain_uuid = group->domain_uuid;
		add_to_guest(group, ret, links);
	}
	if (!ret->domain_uuid)
		return client_error(c, GPUPASS_ERROR_NOT_ASSIGNED,
				    "no group is assigned to %s\n"
				    "Remedy: assign one first: gpupass assign %s",
				    domain, domain);
	qsort(links, ret->n_gpus, sizeof(unsigned), by_number);
	for (unsigned i = 0; i < ret->n_gpus; i++)
		strv_appendf(&ret->links, "%u", links[i]);
	return 0;
}

/* ---- groups ---- */

/* What the format cannot tie to GPUs: whoever got these alone would have a part. NULL: nothing. */
static const char *cannot_say(const ExportFormat *format, const Group *group)
{
	for (size_t i = 0; i < group->companions.n_items; i++) {
		const char *kind = group->companions.items[i].kind;

		if (!format->companions || words_index(format->companions, kind) < 0)
			return kind;
	}
	return NULL;
}

/* Of a degraded group a board may be missing, and who got the rest would have a part of it. */
static bool is_whole(const World *w, const Group *group)
{
	size_t n = strv_length(group->gpu_addresses);
	GroupState state;

	if (group_state_from_string(group->state, &state) < 0)
		return false;
	return state != GROUP_UNKNOWN && state != GROUP_INFERRED && state != GROUP_DEGRADED &&
	       state != GROUP_QUARANTINED && n > 0 &&
	       EVERY_OF(group->gpu_addresses, n, world_find_gpu(w, it));
}

static int fill_functions(const Gpu *from, ExportGpu *to)
{
	to->functions = xcalloc(from->functions.n_items + 1, sizeof(Bdf));
	for (size_t i = 0; i < from->functions.n_items; i++)
		if (bdf_parse(from->functions.items[i].address, &to->functions[to->n_functions]) ==
		    0)
			to->n_functions++;
	/* An address that is none would be left out, and the board be split. */
	return to->n_functions > 0 && to->n_functions == from->functions.n_items ? 0 : -EBADMSG;
}

static int fill_gpu(const Gpu *from, ExportGpu *to)
{
	to->name = export_plain_text(*from->name ? from->name : from->model);
	to->vendor_id = from->vendor_id;
	to->device_id = from->device_id;
	to->nvlink_generation = from->nvlink_generation;
	/* The last is the expansion ROM. */
	for (size_t i = 0; i + 1 < from->bar_sizes.n_items; i++)
		if (__builtin_add_overflow(to->bar_bytes, from->bar_sizes.items[i], &to->bar_bytes))
			return -EBADMSG;
	return fill_functions(from, to);
}

static int fill_companion(const BusCompanion *from, ExportGpu *to)
{
	to->functions = xcalloc(1, sizeof(Bdf));
	to->n_functions = 1;
	to->kind = xstrdup(from->kind);
	to->vendor_id = from->vendor_id;
	to->device_id = from->device_id;
	to->vlan = from->vlan;
	return bdf_parse(from->address, to->functions) < 0 ? -EBADMSG : 0;
}

static bool is_held(const Group *group)
{
	GroupState state;

	return group_state_from_string(group->state, &state) == 0 &&
	       (state == GROUP_ATTACHING || state == GROUP_ASSIGNED || state == GROUP_DETACHING);
}

static int fill_group(const World *w, const Group *from, ExportGroup *to)
{
	size_t n = strv_length(from->gpu_addresses);
	int r = 0;

	to->name = export_plain_name(from->name);
	to->model = export_plain_text(from->model);
	to->n_companions = from->companions.n_items;
	to->gpus = xcalloc(n + to->n_companions, sizeof(ExportGpu));
	to->held = is_held(from);
	to->links = n > 1 ? from->links_expected : 0;
	while (r == 0 && to->n_gpus < n) {
		const Gpu *gpu = world_find_gpu(w, from->gpu_addresses[to->n_gpus]);

		r = gpu ? fill_gpu(gpu, &to->gpus[to->n_gpus++]) : -EBADMSG;
	}
	for (size_t i = 0; r == 0 && i < to->n_companions; i++)
		r = fill_companion(&from->companions.items[i], &to->gpus[to->n_gpus++]);
	return r;
}

static int refuse(Client *c, const ExportFormat *format, const Group *group)
{
	_cleanup_free_ char *state = group_state_text(group);
	const char *kind = cannot_say(format, group);

	if (kind)
		return client_error(
			c, GPUPASS_ERROR_SPLIT_GROUP,
			"--format=%s cannot tie the %s of %s to its GPUs\n"
			"Remedy: declare the group without it, or let gpupass assign it",
			format->name, kind, group->name);
	return client_error(c,
			    strcmp(group->state, "quarantined") == 0 ? GPUPASS_ERROR_QUARANTINED
								     : GPUPASS_ERROR_LINKS_UNKNOWN,
			    "%s is not known to be whole: it is %s\n"
			    "Remedy: see: gpupass status %s",
			    group->name, state, group->name);
}

static int find(Client *c, const ExportFormat *format, const World *w, const char *name,
		const Group **ret)
{
	*ret = world_find_group(w, name);
	if (!*ret)
		return client_error(c, GPUPASS_ERROR_NO_SUCH_GROUP,
				    "there is no group '%s'\nRemedy: see: gpupass list", name);
	return is_whole(w, *ret) && !cannot_say(format, *ret) ? 0 : refuse(c, format, *ret);
}

/* One group, which must be whole; NULL: all that are, of which there must be one. */
static int load_groups(Client *c, const ExportFormat *format, const World *w, const char *name,
		       Export *e)
{
	_cleanup_free_ char *why = NULL;
	const Group *only = NULL;
	int r = name ? find(c, format, w, name, &only) : 0;

	if (r != 0)
		return r;
	e->groups = xcalloc(w->n_groups + 1, sizeof(ExportGroup));
	for (size_t i = 0; r == 0 && i < w->n_groups; i++) {
		const Group *group = &w->groups[i];
		_cleanup_free_ char *plain = export_plain_name(group->name);

		if (only && group != only)
			continue;
		if (!is_whole(w, group))
			strv_appendf(&e->left_out,
				     "%s: left out, since it is not known to be whole now", plain);
		else if (cannot_say(format, group))
			strv_appendf(&e->left_out, "%s: left out, since %s cannot tie its %s to it",
				     plain, format->name, cannot_say(format, group));
		else
			r = fill_group(w, group, &e->groups[e->n_groups++]);
	}
	if (r == -EBADMSG)
		return bus_bad_reply(c, "a GPU with impossible addresses or sizes");
	if (r != 0 || e->n_groups > 0)
		return r;
	why = strv_join(e->left_out, "; ");
	return client_error(c, GPUPASS_ERROR_NO_SUCH_GROUP, "%s\nRemedy: see: gpupass list",
			    *why ? why : "no group is known to be whole");
}

/* ---- the verb ---- */

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
		[SUBJECT_TREE] = { 1, 1, " DOMAIN" },
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
	return client_usage(
		c,
		"%zu devices from number %u on are too many: --format=%s has the numbers "
		"%u to %u\nRemedy: export single groups, or choose a lower --first",
		n, e->first, format->name, format->first, format->last);
}

static int load(Client *c, const ExportFormat *format, char *const *arguments, size_t n_arguments,
		World *w, Export *e)
{
	int r = world_load(c, w);

	if (r != 0)
		return r;
	if (format->subject == SUBJECT_DOMAIN || format->subject == SUBJECT_TREE) {
		r = load_guest(c, w, arguments[0], &e->guest);
		if (r == 0)
			r = guest_tree_load(c, w, &e->guest);
		if (r != 0 || !e->guest.treeless || format->subject == SUBJECT_DOMAIN)
			return r;
		return client_error(c, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
				    "NCCL cannot be told the tree of %s: %s", arguments[0],
				    e->guest.treeless);
	}
	/* The group stands last. */
	r = load_groups(c, format, w, n_arguments > 0 ? arguments[n_arguments - 1] : NULL, e);
	return r == 0 ? check_numbers(c, format, e) : r;
}

int verb_export(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_(export_clear) Export e = { 0 };
	const ExportFormat *format = NULL;
	int r = read_format(c, &format);

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
		export_print(c->out.stream, format, &e);
	return r;
}
