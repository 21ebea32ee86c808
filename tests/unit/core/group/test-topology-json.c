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

/* A pair, and what is no GPU in the IOMMU group of one of it. */
static void scene_shared(Scene *s)
{
	scene_pair(s);
	host_function(&s->model, "0000:0a:02.0", 0x020000, 0x1533, "igb")->iommu_group = 24;
	host_function(&s->model, "0000:0f:02.0", 0x020000, 0x1533, "igb")->iommu_group = 99;
}

static void scene_empty(Scene *s)
{
	(void)s;
}

static const SceneRow shared = { "shared", scene_shared, NULL };
static const SceneRow empty = { "empty", scene_empty, NULL };

static char *document_of(const char *scene)
{
	for (size_t i = 0; i < ELEMENTS(scenes); i++)
		if (str_equal(scenes[i].name, scene))
			return scene_document(&scenes[i]);
	return scene_document(str_equal(scene, "shared") ? &shared : &empty);
}

TEST(the_document_is_the_one_written_down)
{
	static const char *const written[] = { "pair", "companions" };
	_cleanup_close_ int fd = open(FIXTURES "/topology", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < ELEMENTS(written); i++) {
		_cleanup_free_ char *file = strf("%s.json", written[i]), *expected = NULL;
		_cleanup_free_ char *json = document_of(written[i]), *diff = NULL;

		assert_int_equal(file_read_at(fd, file, DOCUMENT_MAX, &expected, NULL), 0);
		diff = text_diff(expected, json);
		assert_string_equal(diff, "");
	}
}

/* The member at "gpus.8.domains", as text; of a list how many items it has. */
static char *member_at(const json_t *json, const char *path)
{
	_cleanup_strv_ char **keys = NULL;

	strv_split(path, ".", &keys);
	for (char **key = keys; *key; key++)
		json = json_is_array(json) ? json_array_get(json, strtoul(*key, NULL, 10))
					   : json_object_get(json, *key);
	return json_is_array(json) ? strf("%zu", json_array_size(json))
				   : json_dumps(json, JSON_ENCODE_ANY);
}

TEST(a_host_is_told_as_it_is)
{
	static const struct {
		const char *scene, *path, *expected;
	} rows[] = {
		/* A switch is told from the root port above it. */
		{ "eight", "bridges.0.kind", "\"root-port\"" },
		{ "eight", "bridges.0.parent", "null" },
		{ "eight", "bridges.1.kind", "\"upstream-port\"" },
		{ "eight", "bridges.1.parent", "\"0000:01:01.0\"" },
		{ "eight", "bridges.2.kind", "\"downstream-port\"" },
		/* Every pair once: 16 * 15 / 2. */
		{ "sixteen", "pairs", "120" },
		{ "sixteen", "pairs.0.pcie", "\"PIX\"" },
		{ "sixteen", "pairs.0.nvlink", "\"NV4?\"" },
		{ "sixteen", "pairs.0.provenance", "\"declared\"" },
		{ "sixteen", "pairs.1.nvlink", "null" },
		{ "sixteen", "pairs.1.provenance", "\"none\"" },
		/* Candidates are not linked. */
		{ "candidates", "pairs.0.nvlink", "null" },
		{ "candidates", "pairs.5.nvlink", "null" },
		/* A domain that somebody gave a GPU without gpupass holds it all the same. */
		{ "odd", "gpus.8.domains", "1" },
		{ "odd", "gpus.8.domains.0.active", "false" },
		{ "odd", "gpus.8.domains.0.name",
		  "\"jürgens-ゲーム機-\xf0\x9f\x8e\xae-with-a-very-long-name-indeed\"" },
		{ "odd", "gpus.9.domains", "0" },
		/* An IOMMU group is told with all that is in it. */
		{ "shared", "iommu_groups", "2" },
		{ "shared", "iommu_groups.0.functions", "3" },
		/* NICs all; an NVMe below a GPU's switch; a VF of a group, and none of nobody. */
		{ "companions", "companions", "5" },
		{ "companions", "companions.0.group", "\"pair0\"" },
		{ "companions", "companions.4.kind", "\"vf\"" },
		{ "companions", "companions.0.kind", "\"nic\"" },
		{ "companions", "companions.1.kind", "\"nvme\"" },
		{ "companions", "companions.1.distances", "5" },
		{ "companions", "companions.1.distances.0.pcie", "\"PIX\"" },
		{ "companions", "companions.1.distances.4.to", "\"0000:06:00.0\"" },
		{ "companions", "companions.2.distances.0.pcie", "\"NODE\"" },
		{ "companions", "companions.3.distances.2.pcie", "\"PIX\"" },
		{ "companions", "companions.3.distances.3.pcie", "\"NODE\"" },
		{ "companions", "companions.3.distances.0.pcie", "\"SYS\"" },
		{ "companions", "companions.3.group", "null" },
		{ "companions", "bridges.2.address", "\"0000:03:00.0\"" },
		/* What a link can do, and where a guest finds a board. */
		{ "companions", "gpus.0.max_link_speed", "\"32 GT/s\"" },
		{ "companions", "gpus.0.max_link_width", "16" },
		{ "companions", "gpus.1.max_link_speed", "null" },
		{ "companions", "companions.0.max_link_width", "0" },
		{ "companions", "bridges.1.max_link_speed", "\"16 GT/s\"" },
		{ "companions", "bridges.1.max_link_width", "8" },
		{ "companions", "bridges.0.max_link_width", "0" },
		{ "companions", "gpus.0.domains.0.guest_address", "\"0000:05:00.0\"" },
		{ "companions", "gpus.0.domains.0.guest_path", "\"00/02.3/00.0\"" },
		{ "companions", "gpus.1.domains.0.guest_address", "null" },
		{ "companions", "companions.0.class", "\"020700\"" },
		{ "companions", "companions.0.domains", "0" },
		{ "empty", "gpus", "0" },
		{ "empty", "numa_nodes", "0" },
		{ "empty", "host", "null" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = document_of(rows[i].scene), *found = NULL;
		json_t *json = json_loads(text, 0, NULL);

		assert_non_null(json);
		found = member_at(json, rows[i].path);
		if (!str_equal(found, rows[i].expected))
			fail_msg("%s, %s: %s", rows[i].scene, rows[i].path, str_or_empty(found));
		json_decref(json);
	}
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
