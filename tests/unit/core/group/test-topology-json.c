/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model of whole hosts: the scenes of topology-scenes.h.
 *   test-topology-json --write DIRECTORY   writes them, for test-draw, which draws each
 */
#define OWN_MAIN
#include "rig/test.h"
#include "rig/text-diff.h"

#include <fcntl.h>
#include <jansson.h>

#include "rig/topology-scenes.h"

#define DOCUMENT_MAX (4U * 1024 * 1024)

TEST(the_document_is_the_one_written_down)
{
	_cleanup_close_ int fd = open(FIXTURES "/topology", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *json = NULL, *expected = NULL, *diff = NULL;

	assert_true(fd >= 0);
	for (size_t i = 0; i < ELEMENTS(scenes); i++)
		if (str_equal(scenes[i].name, "pair"))
			json = scene_document(&scenes[i]);
	assert_int_equal(file_read_at(fd, "pair.json", DOCUMENT_MAX, &expected, NULL), 0);
	diff = text_diff(expected, json);
	assert_string_equal(diff, "");
}

static json_t *parsed(const char *scene)
{
	for (size_t i = 0; i < ELEMENTS(scenes); i++)
		if (str_equal(scenes[i].name, scene)) {
			_cleanup_free_ char *text = scene_document(&scenes[i]);
			json_t *json = json_loads(text, 0, NULL);

			assert_non_null(json);
			return json;
		}
	fail_msg("there is no scene %s", scene);
	return NULL;
}

static const char *text_at(const json_t *list, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(list, i), key));
}

TEST(a_switch_is_told_from_the_root_port_above_it)
{
	json_t *json = parsed("eight");
	const json_t *bridges = json_object_get(json, "bridges");

	assert_string_equal(text_at(bridges, 0, "kind"), "root-port");
	assert_null(text_at(bridges, 0, "parent"));
	assert_string_equal(text_at(bridges, 1, "kind"), "upstream-port");
	assert_string_equal(text_at(bridges, 1, "parent"), "0000:01:01.0");
	assert_string_equal(text_at(bridges, 2, "kind"), "downstream-port");
	json_decref(json);
}

TEST(every_pair_is_told_once_with_distance_and_links)
{
	json_t *json = parsed("sixteen");
	const json_t *pairs = json_object_get(json, "pairs");

	assert_int_equal(json_array_size(pairs), 16 * 15 / 2);
	assert_string_equal(text_at(pairs, 0, "pcie"), "PIX");
	assert_string_equal(text_at(pairs, 0, "nvlink"), "NV4?");
	assert_string_equal(text_at(pairs, 0, "provenance"), "declared");
	assert_null(text_at(pairs, 1, "nvlink"));
	assert_string_equal(text_at(pairs, 1, "provenance"), "none");
	json_decref(json);
}

TEST(candidates_are_not_linked)
{
	json_t *json = parsed("candidates"), *pair;
	size_t i;

	json_array_foreach (json_object_get(json, "pairs"), i, pair)
		assert_true(json_is_null(json_object_get(pair, "nvlink")));
	json_decref(json);
}

/* A domain that somebody gave a GPU without gpupass holds it all the same. */
TEST(whoever_holds_a_gpu_is_named)
{
	json_t *json = parsed("odd");
	const json_t *gpus = json_object_get(json, "gpus");
	const json_t *domains = json_object_get(json_array_get(gpus, 8), "domains");

	assert_int_equal(json_array_size(domains), 1);
	assert_non_null(strstr(text_at(domains, 0, "name"), "-with-a-very-long-name-indeed"));
	assert_true(json_is_false(json_object_get(json_array_get(domains, 0), "active")));
	domains = json_object_get(json_array_get(gpus, 9), "domains");
	assert_int_equal(json_array_size(domains), 0);
	json_decref(json);
}

TEST(an_iommu_group_is_told_with_all_that_is_in_it)
{
	Scene s = { .facts = calloc(1, sizeof(HostFacts)) };
	_cleanup_free_ char *text = NULL;
	json_t *json;

	s.model = host_new();
	scene_pair(&s);
	host_function(&s.model, "0000:0a:02.0", 0x020000, 0x1533, "igb")->iommu_group = 24;
	host_function(&s.model, "0000:0f:02.0", 0x020000, 0x1533, "igb")->iommu_group = 99;
	host_resolve(&s.model);
	text = topology_to_json(&(TopologyFacts){
		.snapshot = s.model.snapshot, .gpus = s.model.set, .groups = s.model.groups });
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	assert_int_equal(json_array_size(json_object_get(json, "iommu_groups")), 2);
	assert_int_equal(
		json_array_size(json_object_get(
			json_array_get(json_object_get(json, "iommu_groups"), 0), "functions")),
		3);
	assert_int_equal(json_array_size(json_object_get(json, "numa_nodes")), 0);
	json_decref(json);
	host_done(&s.model);
	host_facts_free(s.facts);
}

TEST(a_host_without_gpus_is_a_document_too)
{
	_cleanup_free_ char *text = NULL;
	json_t *json;
	_cleanup_(host_done) HostModel h = host_new();

	host_resolve(&h);
	text = topology_to_json(
		&(TopologyFacts){ .snapshot = h.snapshot, .gpus = h.set, .groups = h.groups });
	json = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(json, "gpus")), 0);
	assert_true(json_is_null(json_object_get(json, "host")));
	json_decref(json);
}

static int write_all(const char *directory)
{
	for (size_t i = 0; i < ELEMENTS(scenes); i++) {
		_cleanup_free_ char *json = scene_document(&scenes[i]);
		_cleanup_free_ char *path = strf("%s/%s.json", directory, scenes[i].name);
		_cleanup_fclose_ FILE *f = fopen(path, "w");

		if (!f || fputs(json, f) == EOF)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

int main(int argc, char *argv[])
{
	if (argc == 3 && str_equal(argv[1], "--write"))
		return write_all(argv[2]);
	return tests_run();
}
