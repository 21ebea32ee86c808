/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpupass export`: what the guest, or another tool, should be told about a domain's GPUs. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/formats.h"
#include "model/model.h"
#include "verbs/verbs.h"

/* The largest number of GPUs that this speaks of: of 16 groups of 4. */
#define GPUS_MAX 64

typedef struct Found {
	const char *domain_uuid; /* of the world; NULL: no group */
	char **models, **links;
	unsigned n_gpus;
	unsigned per_gpu[GPUS_MAX];
} Found;

static void found_clear(Found *found)
{
	strv_free(found->models);
	strv_free(found->links);
}

/* Each GPU has links to all others of its group. */
static int add_group(const Group *group, Found *found)
{
	size_t n = strv_length(group->gpu_addresses);

	if (!strv_contains(found->models, group->model) &&
	    strv_append(&found->models, group->model) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n && found->n_gpus < GPUS_MAX; i++)
		found->per_gpu[found->n_gpus++] = group->links_expected * (unsigned)(n - 1);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static int sort_links(Found *found)
{
	qsort(found->per_gpu, found->n_gpus, sizeof(unsigned), by_number);
	for (unsigned i = 0; i < found->n_gpus; i++) {
		_cleanup_free_ char *number = strf("%u", found->per_gpu[i]);

		if (!number || strv_append(&found->links, number) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find(Client *c, const World *w, const char *word, Found *found)
{
	for (size_t i = 0; i < w->n_groups; i++) {
		const Group *group = &w->groups[i];

		if (!group_is_of_domain(group, word))
			continue;
		/* A name is that of two domains while one takes it over from the other. */
		if (found->domain_uuid && strcmp(found->domain_uuid, group->domain_uuid) != 0)
			return client_usage(c, "%s names several domains\nRemedy: give its UUID",
					    word);
		found->domain_uuid = group->domain_uuid;
		if (add_group(group, found) < 0)
			return -ENOMEM;
	}
	if (!found->domain_uuid)
		return client_error(c, GPUPASS_ERROR_NOT_ASSIGNED,
				    "no group is assigned to %s\n"
				    "Remedy: assign one first: gpupass assign %s",
				    word, word);
	return sort_links(found);
}

static int read_format(Client *c, const ExportFormat **ret)
{
	_cleanup_free_ char *names = export_format_names();

	if (!names)
		return -ENOMEM;
	if (!c->options->format)
		return client_usage(c,
				    "export needs a format\nRemedy: give one of: %s, as in: "
				    "--format=cloud-init",
				    names);
	*ret = export_format_find(c->options->format);
	if (!*ret)
		return client_usage(c, "--format=%s: there is %s", c->options->format, names);
	if (c->options->json != JSON_OFF)
		return client_usage(c, "--json is no option of export, whose formats are its own");
	return 0;
}

static int read_distribution(Client *c, const char **ret)
{
	static const char *const names[] = { "auto", "debian", "ubuntu", "rhel" };

	*ret = c->options->distribution ? c->options->distribution : names[0];
	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (strcmp(*ret, names[i]) == 0)
			return 0;
	return client_usage(c, "--distribution=%s: not one of auto, debian, ubuntu, rhel", *ret);
}

int verb_export(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_(found_clear) Found found = { 0 };
	const ExportFormat *format = NULL;
	const char *distribution = NULL;
	int r;

	r = read_format(c, &format);
	if (r == 0)
		r = read_distribution(c, &distribution);
	if (r == 0)
		r = world_load(c, &w);
	if (r == 0)
		r = find(c, &w, arguments[0], &found);
	if (r != 0 || !format)
		return r;
	r = format->print(c->out.stream, &(ExportGuest){
						 .domain_uuid = found.domain_uuid,
						 .distribution = distribution,
						 .models = found.models,
						 .n_gpus = found.n_gpus,
						 .links = found.links,
					 });
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
