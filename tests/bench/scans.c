/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scans when it is told to, so that others can be measured in between:
 *
 *   scans SYSFS…
 *
 * For each line on stdin, a number from 0, it looks at that tree as the manager does: snapshot,
 * GPUs, links, groups and their states, with every two GPUs declared as a pair. With an address
 * behind the number it looks as after a message about that function. It answers with
 * "WALL CPU FUNCTIONS GROUPS", times in nanoseconds. What a first look costs more is not told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/group/observe.h"
#include "core/group/resolve.h"
#include "core/links/link.h"
#include "host/scan/scan.h"
#include "util/file.h"
#include "util/text.h"

typedef struct Look {
	PciSnapshot *snapshot;
	GpuSet *gpus;
	GroupSet *groups;
} Look;

typedef struct Tree {
	int sysfs_fd;
	Declarations *declarations;
	Look first;
} Tree;

static int64_t now_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void look_clear(Look *look)
{
	group_set_free(look->groups);
	gpu_set_free(look->gpus);
	pci_snapshot_free(look->snapshot);
}

static void resolve(const Tree *tree, Look *look)
{
	_cleanup_(assignments_freep) Assignments *assignments = calloc(1, sizeof(Assignments));
	_cleanup_(domain_uses_freep) DomainUses *uses = calloc(1, sizeof(DomainUses));
	_cleanup_(links_freep) Links *links = calloc(1, sizeof(Links));
	_cleanup_strv_ char **notes = NULL;
	const Policy policy = POLICY_DEFAULT;

	links_from_declarations(links, tree->declarations, look->gpus, &notes);
	links_infer(links, look->gpus);
	look->groups = groups_resolve(look->gpus, tree->declarations, links, assignments, &policy);
	groups_observe(look->groups, uses, assignments, NULL, &policy);
}

/* changed: the only function that may differ from the first look; NULL: any may. */
static int look_at(const Tree *tree, const Bdf *changed, Look *look)
{
	int r = changed ? scan_pci_changed(tree->sysfs_fd, tree->first.snapshot, changed, 1,
					   &look->snapshot)
			: scan_pci(tree->sysfs_fd, &look->snapshot);

	if (r >= 0)
		look->gpus = gpu_set_new(look->snapshot);
	if (r < 0)
		return r;
	resolve(tree, look);
	return 0;
}

/* Each two of the GPUs, in order of address. */
static int declare(Tree *tree, const GpuSet *gpus)
{
	for (size_t i = 0; i + 1 < gpus->n_gpus; i += 2) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *a = strdup(BDF_TEXT(&gpus->gpus[i].lead->bdf));
		_cleanup_free_ char *b = strdup(BDF_TEXT(&gpus->gpus[i + 1].lead->bdf));
		_cleanup_free_ char *text =
			strf("[Group]\nName=pair%zu\nGpu=%s\nGpu=%s\n", i / 2, a, b);
		int r;

		r = declarations_parse(tree->declarations, "groups.d/bench.conf", text, &problem);
		if (r != 0)
			return r < 0 ? r : -EINVAL;
	}
	return 0;
}

static int open_tree(const char *path, Tree *tree)
{
	int r;

	tree->declarations = calloc(1, sizeof(Declarations));
	r = dir_open_at(AT_FDCWD, path, false, &tree->sysfs_fd);
	if (r >= 0)
		r = look_at(tree, NULL, &tree->first);
	return r < 0 ? r : declare(tree, tree->first.gpus);
}

static int measure(const Tree *tree, const Bdf *changed)
{
	int64_t start = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	Look look = { 0 };
	int r = look_at(tree, changed, &look);
	int64_t wall = now_ns(CLOCK_MONOTONIC) - start;

	used = now_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
	if (r >= 0) {
		printf("%lld %lld %zu %zu\n", (long long)wall, (long long)used,
		       look.snapshot->n_functions, look.groups->n_items);
		fflush(stdout);
	}
	look_clear(&look);
	return r;
}

/* "INDEX" or "INDEX ADDRESS". */
static int obey(char *line, const Tree *trees, size_t n)
{
	char *address = strchr(line, ' ');
	unsigned long long i;
	Bdf bdf;
	int r;

	if (address)
		*address++ = '\0';
	r = str_to_unsigned(line, 10, n - 1, &i);
	if (r >= 0 && address)
		r = bdf_parse(address, &bdf);
	return r < 0 ? r : measure(&trees[i], address ? &bdf : NULL);
}

int main(int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	_cleanup_free_ Tree *trees = calloc(n + 1, sizeof(Tree));
	char line[64];
	int r = 0;

	if (argc < 2) {
		fputs("Usage: scans SYSFS...\n", stderr);
		return 2;
	}
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = open_tree(argv[i + 1], &trees[i]);
	while (r >= 0 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		r = obey(line, trees, n);
	}
	for (size_t i = 0; i < n; i++) {
		look_clear(&trees[i].first);
		declarations_free(trees[i].declarations);
		close_fd(trees[i].sysfs_fd);
	}
	if (r < 0)
		fprintf(stderr, "scans: %s\n", strerror(-r));
	return r < 0;
}
