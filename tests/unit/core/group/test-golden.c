/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole hosts: for each fixtures/hosts/NAME.json (with NAME.conf as its declarations) the groups
 * must be those of NAME.expected, word for word.
 *
 *   test-core-group-golden --describe SNAPSHOT CONF     prints such a text, between lines of "--"
 */
#define OWN_MAIN
#include "rig/test.h"

#include <fcntl.h>
#include <stdio.h>

#include "core/facts/member.h"
#include "core/pci/pcie-nearest.h"
#include "rig/host-model.h"
#include "rig/text-diff.h"

#define FIXTURE_MAX (4U * 1024 * 1024)

static int hosts_directory(void)
{
	int fd = open(FIXTURES "/hosts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static char *read_fixture(int fd, const char *host, const char *suffix)
{
	_cleanup_free_ char *name = strf("%s%s", host, suffix);
	char *text = NULL;

	return file_read_at(fd, name, FIXTURE_MAX, &text, NULL) < 0 ? NULL : text;
}

static void load(HostModel *h, int fd, const char *host)
{
	_cleanup_free_ char *json = read_fixture(fd, host, ".json");
	_cleanup_free_ char *conf = read_fixture(fd, host, ".conf");
	char *message = NULL;

	assert_non_null(json);
	pci_snapshot_free(h->snapshot);
	h->snapshot = NULL;
	if (pci_snapshot_from_json(json, strlen(json), &h->snapshot, &message) < 0)
		fail_msg("%s: %s", host, str_or_empty(message));
	if (conf)
		host_declare(h, conf);
	host_resolve(h);
	host_observe(h, false);
}

static void print_group(FILE *f, const Group *group)
{
	_cleanup_free_ char *link = group_link_text(group);
	_cleanup_free_ char *model = group->n_gpus > 0 ? gpu_model(group->gpus[0]) : NULL;

	assert_non_null(link);
	fprintf(f, "%s:", group->name);
	for (size_t i = 0; i < group->n_gpus; i++)
		fprintf(f, " %s", BDF_TEXT(&group->gpus[i]->lead->bdf));
	fprintf(f, "\n  %zu %s, %s, %s from %s, %s, %s%s\n", group->n_gpus, str_or_empty(model),
		link, provenance_to_string(group->provenance), group->source, group_driver(group),
		group_state_to_string(group->state), group->assignable ? ", assignable" : "");
	fprintf(f, "  known: %s\n", group->reasoning);
	if (group->reason)
		fprintf(f, "  state: %s\n", group->reason);
}

static void print_gpus(FILE *f, const GpuSet *set)
{
	fputs("GPUs:\n", f);
	for (size_t i = 0; i < set->n_gpus; i++) {
		const Gpu *gpu = &set->gpus[i];
		_cleanup_free_ char *model = gpu_model(gpu);
		const char *exclusion = board_exclusion(gpu->board);

		fprintf(f, "  %s %s, %zu functions;", BDF_TEXT(&gpu->lead->bdf),
			str_or_empty(model), gpu->n_functions);
		for (size_t k = 0; k < set->n_gpus; k++)
			fprintf(f, " %s",
				pcie_distance_to_string(
					pcie_distance(gpu->lead, set->gpus[k].lead, 0)));
		fprintf(f, "%s%s\n", exclusion ? "; " : "", str_or_empty(exclusion));
	}
}

/* ---- companions ---- */

/* The candidates of a kind; *ret_n of them. */
static const PciFunction **of_kind(const HostModel *h, MemberKind kind, size_t *ret_n)
{
	const PciFunction **found = calloc(h->snapshot->n_functions + 1, sizeof(*found));

	assert_non_null(found);
	*ret_n = 0;
	for (size_t i = 0; i < h->snapshot->n_functions; i++)
		if (member_kind_is(kind, h->snapshot->functions[i]))
			found[(*ret_n)++] = h->snapshot->functions[i];
	return found;
}

static void print_nearest(FILE *f, const Group *group, MemberKind kind,
			  const PciFunction *const *candidates, size_t n)
{
	const PciFunction *gpus[16];
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *reason = NULL;
	Bdf bdf;

	assert_in_range(group->n_gpus, 1, ELEMENTS(gpus));
	for (size_t i = 0; i < group->n_gpus; i++)
		gpus[i] = group->gpus[i]->lead;
	(void)pcie_nearest(&(PcieNearest){ .kind = member_kind_to_string(kind),
					   .candidates = candidates,
					   .n_candidates = n,
					   .gpus = gpus,
					   .n_gpus = group->n_gpus },
			   &bdf, &reason, &problem);
	fprintf(f, "  nearest to %s: %s\n", group->name, problem ? problem->reason : reason);
}

static void print_companions(FILE *f, const HostModel *h)
{
	for (int kind = 0; kind < MEMBER_KIND_MAX_; kind++) {
		size_t n;
		_cleanup_free_ const PciFunction **found = of_kind(h, (MemberKind)kind, &n);

		if (n > 0)
			fprintf(f, "%ss:\n", member_kind_noun((MemberKind)kind));
		for (size_t i = 0; i < n; i++) {
			fprintf(f, "  %s %04x:%04x;", BDF_TEXT(&found[i]->bdf), found[i]->vendor,
				found[i]->device);
			for (size_t k = 0; k < h->set->n_gpus; k++)
				fprintf(f, " %s",
					pcie_distance_to_string(
						pcie_distance(found[i], h->set->gpus[k].lead, 0)));
			fputc('\n', f);
		}
		for (size_t i = 0; n > 0 && i < h->groups->n_items; i++)
			print_nearest(f, &h->groups->items[i], (MemberKind)kind, found, n);
	}
}

static char *describe(const HostModel *h)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (size_t i = 0; i < h->groups->n_items; i++)
		print_group(f, &h->groups->items[i]);
	for (char **note = h->groups->notes; note && *note; note++)
		fprintf(f, "note: %s\n", *note);
	print_gpus(f, h->set);
	print_companions(f, h);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* Every bridge board is in one group, and no other board is. */
static void expect_one_group_each(const HostModel *h, const char *host)
{
	for (size_t i = 0; i < h->set->n_gpus; i++) {
		const Gpu *gpu = &h->set->gpus[i];
		size_t n = 0;

		for (size_t g = 0; g < h->groups->n_items; g++)
			for (size_t k = 0; k < h->groups->items[g].n_gpus; k++)
				n += h->groups->items[g].gpus[k] == gpu;
		if (n != (gpu->board->kind == NVLINK_BRIDGE ? 1 : 0))
			fail_msg("%s: %s is in %zu groups", host, BDF_TEXT(&gpu->lead->bdf), n);
	}
}

static bool as_expected(int fd, const char *host)
{
	_cleanup_free_ char *expected = read_fixture(fd, host, ".expected");
	_cleanup_free_ char *actual = NULL, *diff = NULL;
	HostModel h = host_new();

	load(&h, fd, host);
	expect_one_group_each(&h, host);
	actual = describe(&h);
	host_done(&h);
	assert_non_null(actual);
	diff = text_diff(str_or_empty(expected), actual);
	assert_non_null(diff);
	/* Not print_error(), which cuts texts off at 1,024 bytes. */
	if (*diff)
		fprintf(stderr, "%s: groups differ from %s.expected\n%s", host, host, diff);
	return *diff == '\0';
}

TEST(every_host_gives_the_groups_written_beside_it)
{
	_cleanup_close_ int fd = hosts_directory();
	_cleanup_strv_ char **names = NULL;
	bool good = true;

	assert_int_equal(dir_list(fd, ".json", &names), 0);
	assert_true(strv_length(names) >= 10);
	for (char **name = names; *name; name++) {
		(*name)[strlen(*name) - strlen(".json")] = '\0';
		good = as_expected(fd, *name) && good;
	}
	assert_true(good);
}

static const char *described_snapshot, *described_conf;

static void print_description(_unused_ void **state)
{
	_cleanup_free_ char *json = NULL, *conf = NULL, *text = NULL;
	char *message = NULL;
	HostModel h;

	assert_int_equal(file_read_at(AT_FDCWD, described_snapshot, FIXTURE_MAX, &json, NULL), 0);
	assert_int_equal(file_read_at(AT_FDCWD, described_conf, FIXTURE_MAX, &conf, NULL), 0);
	h = host_new();
	pci_snapshot_free(h.snapshot);
	h.snapshot = NULL;
	if (pci_snapshot_from_json(json, strlen(json), &h.snapshot, &message) < 0)
		fail_msg("%s", str_or_empty(message));
	host_declare(&h, conf);
	host_resolve(&h);
	host_observe(&h, false);
	text = describe(&h);
	host_done(&h);
	printf("\n--\n%s--\n", text);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest description[] = {
		cmocka_unit_test(print_description),
	};

	if (argc != 4 || !str_equal(argv[1], "--describe"))
		return tests_run();
	described_snapshot = argv[2];
	described_conf = argv[3];
	return cmocka_run_group_tests(description, NULL, NULL);
}
