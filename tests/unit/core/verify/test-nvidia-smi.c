/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/verify/told.h"
#include "rig/guests.h"

#define UUID1 "GPU-00000001-5c3e-4f7a-9d21-012345678901"
#define UUID2 "GPU-00000002-5c3e-4f7a-9d21-012345678902"

/* ---- good output ---- */

TEST(each_generation_is_read)
{
	static const struct {
		const char *guest;
		unsigned gpus, nv, active, inactive, mbps;
	} rows[] = {
		{ "turing-rtx-2080", 2, 1, 1, 0, 25781 },
		{ "turing-rtx-2080-ti", 2, 2, 2, 0, 25781 },
		{ "ga102-rtx-a6000", 2, 4, 4, 0, 14062 },
		{ "ga102-nics", 2, 4, 4, 0, 14062 },
		{ "a30", 2, 4, 4, 0, 25000 },
		{ "a100-pcie", 2, 12, 12, 0, 25000 },
		{ "h100-pcie", 2, 12, 12, 6, 26562 },
		{ "h200-nvl-two", 2, 18, 18, 0, 26562 },
		{ "h200-nvl-four", 4, 6, 18, 0, 26562 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		GuestRun runs[VERIFY_RUNS];
		SmiGpus gpus;
		SmiMatrix topology, peers;
		SmiNvlinks links;

		print_message("%s\n", rows[i].guest);
		guest_runs(rows[i].guest, runs);
		assert_int_equal(smi_parse_gpus(runs[0].out, runs[0].out_size, &gpus, NULL), 0);
		assert_int_equal(smi_parse_topology(runs[1].out, runs[1].out_size, &topology, NULL),
				 0);
		assert_int_equal(smi_parse_nvlinks(runs[2].out, runs[2].out_size, &links, NULL), 0);
		assert_int_equal(smi_parse_peers(runs[3].out, runs[3].out_size, &peers, NULL), 0);
		assert_int_equal(gpus.n_items, rows[i].gpus);
		assert_string_equal(gpus.items[1].uuid, UUID2);
		assert_int_equal(gpus.items[1].address.bus, 2);
		assert_int_equal(topology.gpus, (1U << rows[i].gpus) - 1);
		assert_int_equal(peers.gpus, topology.gpus);
		for (unsigned a = 0; a < rows[i].gpus; a++)
			for (unsigned b = 0; b < rows[i].gpus; b++) {
				assert_int_equal(topology.cells[a][b].kind,
						 a == b ? SMI_PATH_SELF : SMI_PATH_NVLINK);
				assert_int_equal(topology.cells[a][b].links,
						 a == b ? 0 : rows[i].nv);
				assert_int_equal(peers.cells[a][b].kind,
						 a == b ? SMI_PEER_SELF : SMI_PEER_OK);
			}
		assert_int_equal(links.n_items, rows[i].gpus);
		assert_string_equal(links.items[0].uuid, UUID1);
		assert_int_equal(links.items[0].active, rows[i].active);
		assert_int_equal(links.items[0].inactive, rows[i].inactive);
		assert_int_equal(links.items[0].min_mbps, rows[i].mbps);
		assert_int_equal(links.items[0].max_mbps, rows[i].mbps);
		guest_runs_clear(runs, VERIFY_RUNS);
	}
}

TEST(every_word_of_a_cell_is_known)
{
	for (SmiPath path = SMI_PATH_PIX; path < SMI_PATH_MAX_; path++) {
		_cleanup_free_ char *text =
			strf("\tGPU0\tGPU1\nGPU0\tX\t%s\nGPU1\tNV4\tX\n", smi_path_to_string(path));
		SmiMatrix matrix;

		assert_int_equal(smi_parse_topology(text, strlen(text), &matrix, NULL), 0);
		assert_int_equal(matrix.cells[0][1].kind, path);
		assert_int_equal(matrix.cells[1][0].links, 4);
	}
	for (SmiPeer peer = SMI_PEER_OK; peer < SMI_PEER_MAX_; peer++) {
		_cleanup_free_ char *text =
			strf(" \tGPU0\tGPU1\t\n GPU0\tX\t%s\t\n GPU1\tOK\tX\t\n",
			     smi_peer_to_string(peer));
		SmiMatrix matrix;

		assert_int_equal(smi_parse_peers(text, strlen(text), &matrix, NULL), 0);
		assert_int_equal(matrix.cells[0][1].kind, peer);
	}
}

TEST(gpus_are_told_by_their_index_and_not_by_their_place)
{
	static const char text[] = "\tNIC0\tGPU3\tCPU Affinity\tGPU1\tGPU NUMA ID\n"
				   "GPU1\tSYS\tNV2\t0-7\t X \tN/A\r\n"
				   "NIC0\t X \tSYS\t\tSYS\n"
				   "GPU3\tSYS\t X \t0-7\tPHB\tN/A\n";
	SmiMatrix matrix;

	assert_int_equal(smi_parse_topology(text, strlen(text), &matrix, NULL), 0);
	assert_int_equal(matrix.gpus, 1U << 1 | 1U << 3);
	assert_int_equal(matrix.cells[1][3].links, 2);
	assert_int_equal(matrix.cells[3][1].kind, SMI_PATH_PHB);
	assert_int_equal(matrix.cells[0][1].kind, SMI_PATH_NONE);
}

TEST(links_that_are_all_down_are_told_by_a_message)
{
	static const char alone[] =
		"NVML: Unable to retrieve NVLink information as ALL links are inActive\n";
	GuestRun runs[VERIFY_RUNS];
	SmiNvlinks links;

	guest_runs("all-inactive", runs);
	assert_int_equal(smi_parse_nvlinks(runs[2].out, runs[2].out_size, &links, NULL), 0);
	assert_int_equal(links.n_items, 2);
	assert_true(links.items[0].all_inactive && links.items[1].all_inactive);
	assert_int_equal(links.items[0].active, 0);
	guest_runs_clear(runs, VERIFY_RUNS);
	assert_int_equal(smi_parse_nvlinks(alone, strlen(alone), &links, NULL), 0);
	assert_int_equal(links.n_items, 0);
	assert_true(links.all_inactive);
}

TEST(rates_may_differ_and_zero_is_not_active)
{
	static const char text[] =
		"GPU 0: A (UUID: x) (UUID: " UUID1 ")\n\t Link 0: 50 GB/s\n"
		"\t Link 1: 25.5 GB/s\n\t Link 2: 0 GB/s\n\t Link 35: <inactive>";
	SmiNvlinks links;

	assert_int_equal(smi_parse_nvlinks(text, strlen(text), &links, NULL), 0);
	assert_int_equal(links.items[0].active, 2);
	assert_int_equal(links.items[0].inactive, 2);
	assert_int_equal(links.items[0].min_mbps, 25500);
	assert_int_equal(links.items[0].max_mbps, 50000);
}

TEST(no_links_and_no_devices_are_answers)
{
	static const char none[] = "No devices were found\n";
	SmiNvlinks links = { .n_items = 7 };
	SmiGpus gpus = { .n_items = 7 };

	assert_int_equal(smi_parse_nvlinks("", 0, &links, NULL), 0);
	assert_int_equal(links.n_items, 0);
	assert_int_equal(smi_parse_gpus(none, strlen(none), &gpus, NULL), 0);
	assert_int_equal(gpus.n_items, 0);
}

TEST(mig_and_confidential_computing_are_read)
{
	static const char mig[] = "0, [N/A]\n1, Enabled\n2, Disabled\n", on[] = "CC status: ON\n",
			  off[] = "CC status: OFF\n";
	uint64_t enabled = 0;
	bool confidential = false;

	assert_int_equal(smi_parse_mig(mig, strlen(mig), &enabled), 0);
	assert_int_equal(enabled, 1U << 1);
	assert_int_equal(smi_parse_confidential(on, strlen(on), &confidential), 0);
	assert_true(confidential);
	assert_int_equal(smi_parse_confidential(off, strlen(off), &confidential), 0);
	assert_false(confidential);
	assert_int_equal(smi_parse_confidential("", 0, &confidential), -EBADMSG);
	assert_int_equal(smi_parse_mig("", 0, &enabled), -EBADMSG);
}

TEST(an_excerpt_is_one_short_harmless_line)
{
	static const char evil[] =
		"\n\n \x1b[2J\a  Failed\x00 to\t\xe2\x80\xae start \nsecond line";
	_cleanup_free_ char *line = smi_excerpt(evil, sizeof(evil) - 1);
	_cleanup_free_ char *none = smi_excerpt("", 0);
	char many[4096];
	_cleanup_free_ char *cut = NULL;

	assert_string_equal(line, "[2J Failed to start");
	assert_string_equal(none, "");
	memset(many, 'a', sizeof(many));
	cut = smi_excerpt(many, sizeof(many));
	assert_int_equal(strlen(cut), 200);
}

/* ---- bad output ---- */

typedef int (*Parser)(const char *text, size_t size);

#define PARSER(what, Type)                                                                         \
	static int parse_##what(const char *text, size_t size)                                     \
	{                                                                                          \
		Type ret;                                                                          \
                                                                                                   \
		return smi_parse_##what(text, size, &ret, NULL);                                   \
	}
PARSER(gpus, SmiGpus)
PARSER(topology, SmiMatrix)
PARSER(nvlinks, SmiNvlinks)
PARSER(peers, SmiMatrix)

#define LINKS_OF "GPU 0: A (UUID: " UUID1 ")\n"

/* fault 54 */
/* promise G1 */
TEST(what_is_not_that_output_is_refused)
{
	static const struct {
		Parser parser;
		const char *text;
	} rows[] = {
		{ parse_gpus, "" },
		{ parse_gpus, "hello\n" },
		{ parse_gpus, "NVIDIA-SMI has failed because it couldn't communicate\n" },
		{ parse_gpus, "0, " UUID1 "\n" },
		{ parse_gpus, "0, " UUID1 ", 00000000:01:00.0, more\n" },
		{ parse_gpus, "-1, " UUID1 ", 00000000:01:00.0\n" },
		{ parse_gpus, "64, " UUID1 ", 00000000:01:00.0\n" },
		{ parse_gpus, "99999999999999999999, " UUID1 ", 00000000:01:00.0\n" },
		{ parse_gpus, "00, " UUID1 ", 00000000:01:00.0\n" },
		{ parse_gpus, "0, GPU-1, 00000000:01:00.0\n" },
		{ parse_gpus, "0, MIG-00000001-5c3e-4f7a-9d21-012345678901, 00000000:01:00.0\n" },
		{ parse_gpus, "0, GPU-00000001-5c3e-4f7a-9d21-01234567890g, 00000000:01:00.0\n" },
		{ parse_gpus, "0, " UUID1 ", 00000000:01:20.0\n" },
		{ parse_gpus, "0, " UUID1 ", 00000000:01:00.0\n0, " UUID2 ", 00000000:02:00.0\n" },
		{ parse_gpus, "0, " UUID1 ", 00000000:01:00.0\n1, " UUID1 ", 00000000:02:00.0\n" },
		{ parse_gpus, "0, " UUID1 ", 00000000:01:00.0\n1, " UUID2 ", 00000000:01:00.0\n" },
		{ parse_gpus, "No devices were found\n0, " UUID1 ", 00000000:01:00.0\n" },
		{ parse_topology, "" },
		{ parse_topology, "GPU0\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV4\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU0\tX\tNV4\n" },
		{ parse_topology, "\tGPU0\tGPU0\nGPU0\tX\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV0\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV37\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV-4\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV04\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV99999999999\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tnothing\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tX\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tNV4\tX\nGPU1\tX\tNV4\n" },
		{ parse_topology, "\tGPU0\tGPU64\nGPU0\tX\tNV4\nGPU64\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\n\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\nGPU2\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\x1b[2J\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n" },
		{ parse_topology, "\tGPU0\x1b" },
		{ parse_topology, "\tGPU0\x1b[4" },
		{ parse_topology, "\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n" },
		{ parse_peers, "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n" },
		{ parse_nvlinks, "hello\n" },
		{ parse_nvlinks, "\t Link 0: 25 GB/s\n" },
		{ parse_nvlinks, "GPU 0: A\n" },
		{ parse_nvlinks, "GPU 0: A (UUID: " UUID1 "\n" },
		{ parse_nvlinks, "GPU -1: A (UUID: " UUID1 ")\n" },
		{ parse_nvlinks, LINKS_OF LINKS_OF },
		{ parse_nvlinks, LINKS_OF "\t Link 36: 25 GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link -1: 25 GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: 25 GB/s\n\t Link 0: 25 GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: -25 GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: 25000 GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: 25.7812 GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: 25. GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: 1e3 GB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: 25 MB/s\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0: active\n" },
		{ parse_nvlinks, LINKS_OF "\t Link 0\n" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].parser(rows[i].text, strlen(rows[i].text)) != -EBADMSG)
			fail_msg("taken: %s", rows[i].text);
}

/* fault 54 */
TEST(sizes_are_bounded)
{
	static const Parser parsers[] = { parse_gpus, parse_topology, parse_nvlinks, parse_peers };
	size_t size = 10 * 1024 * 1024;
	_cleanup_free_ char *many = malloc(size);
	static const char *const fillers[] = { "a", "\t", "\n", "GPU0\t", "GPU 0: " };

	assert_non_null(many);
	for (size_t f = 0; f < ELEMENTS(fillers); f++) {
		size_t n = strlen(fillers[f]);

		for (size_t i = 0; i < size; i++)
			many[i] = fillers[f][i % n];
		for (size_t i = 0; i < ELEMENTS(parsers); i++) {
			assert_int_equal(parsers[i](many, size), -EFBIG);
			assert_int_equal(parsers[i](many, SMI_TEXT_MAX + 1), -EFBIG);
			if (parsers[i](many, SMI_TEXT_MAX) != -EBADMSG)
				/* Blank lines alone are an empty answer. */
				assert_true(parsers[i] == parse_nvlinks && f <= 2 && f >= 1);
		}
	}
}

/* fault 54 */
TEST(nuls_are_refused)
{
	static const char gpus[] = "0, " UUID1 ", 00000000:01:00.0\n\0";
	static const char topology[] = "\tGPU0\0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n";
	static const char links[] = LINKS_OF "\0";

	assert_int_equal(parse_gpus(gpus, sizeof(gpus) - 1), -EBADMSG);
	assert_int_equal(parse_topology(topology, sizeof(topology) - 1), -EBADMSG);
	assert_int_equal(parse_nvlinks(links, sizeof(links) - 1), -EBADMSG);
}
