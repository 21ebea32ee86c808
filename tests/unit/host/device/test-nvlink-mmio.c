/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two H100 PCIe on vfio-pci, whose BAR 0 is a sparse file with the registers in it. */
#include "rig/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/links/nvlink-registers.h"
#include "host/device/bar0.h"
#include "rig/bar0.h"
#include "rig/worker-model.h"
#include "util/clock.h"
#include "util/text.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define GH100 0x180000a1U
#define LED_OUT 12 /* the first twelve links reach the bridges, and meet those of the same number */

static void set_link(const SysfsTree *tree, const char *bdf, unsigned link, bool up,
		     uint32_t remote_sid)
{
	put(tree, bdf, nvlink_link_register(link, NVLDL_STATE), up ? 3 : 0);
	put(tree, bdf, nvlink_link_register(link, NVLIPT_LNK_STATE), up ? 1 : 8);
	put(tree, bdf, nvlink_link_register(link, NVLIPT_LNK_REMOTE_CHIP), up ? 7 : 0);
	put(tree, bdf, nvlink_link_register(link, NVLIPT_LNK_REMOTE_SID_LOW), up ? remote_sid : 0);
	put(tree, bdf, nvlink_link_register(link, NVLIPT_LNK_REMOTE_LINK), up ? link : 0xff);
}

static void add_board(SysfsTree *tree, const char *bdf, uint32_t sid, uint32_t remote_sid)
{
	add_board_on_vfio(tree, bdf, 0x2331, GH100);
	for (unsigned i = 0; i < NVLINK_GROUPS; i++)
		put(tree, bdf, nvlink_group_register(i, NVLIPT_COMMON_SID_LOW), sid);
	for (unsigned i = 0; i < NVLINK_LINKS; i++)
		set_link(tree, bdf, i, i < LED_OUT, remote_sid);
}

static SysfsTree *bridged(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);

	add_board(tree, A, 0xaaaa, 0xbbbb);
	add_board(tree, B, 0xbbbb, 0xaaaa);
	return tree;
}

/* The two boards' answers: "B x12; A x12", or why not. */
static char *probe(const SysfsTree *tree)
{
	const WorkerConfig config = { .program = WORKER,
				      .sysfs_dir = tree->sysfs,
				      .proc_dir = tree->proc };
	const Bdf functions[] = { tree_bdf(A), tree_bdf(B) };
	_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
	_cleanup_strv_ char **list = NULL;

	assert_int_equal(
		host_probe(WORKERS(&config), functions, 2, true, 60 * USEC_PER_SEC, &answer, NULL),
		0);
	assert_null(answer.error);
	for (size_t i = 0; i < answer.boards->n_items; i++) {
		const Sighting *s = &answer.boards->items[i];

		assert_int_equal(s->n_peers, 1);
		assert_int_equal(s->device, 0x2331);
		assert_string_equal(s->source, "link registers");
		strv_appendf(&list, "%02x sees %02x x%u", s->bdf.bus, s->peers[0].bdf.bus,
			     s->peers[0].links);
	}
	for (size_t i = 0; i < answer.n_unseen; i++)
		strv_appendf(&list, "%02x: %s", answer.unseen[i].bdf.bus, answer.unseen[i].reason);
	return strv_join(list, "; ");
}

static void expect(const SysfsTree *tree, const char *wanted)
{
	_cleanup_free_ char *found = probe(tree);

	if (!str_starts_with(found, wanted))
		fail_msg("%s\n  and not %s", found, wanted);
}

#define CONFIG "sys/bus/pci/devices/" A "/config"
#define ASLEEP "41: it is asleep, and is not woken for this; 61: 12 of 12"
#define OTHERS "; nothing is concluded from that; "

static const struct {
	const char *what;
	const char *power_state; /* of A; NULL: awake */
	uint8_t command;	 /* of its config space; 0: as it is */
	const char *down;	 /* the board whose links are down, these */
	unsigned first, last;
	uint32_t address, value; /* of one of its registers */
	const char *wanted;
} rows[] = {
	ROW("bridged", .wanted = "41 sees 61 x12; 61 sees 41 x12"),
	ROW("one link down leaves both unknown", .down = A, .first = 3, .last = 3,
	    .wanted = "41: 11 of 12 links are active, and 11 are met by another GPU's" OTHERS
		      "61: 12 of 12 links are active, and 11 are met"),
	/* fault L9 */
	ROW("one-sided", .down = B, .first = 0, .last = NVLINK_LINKS - 1,
	    .wanted = "41: 12 of 12 links are active, and 0 are met by another GPU's" OTHERS
		      "61: 0 of 12 links are active"),
	/* fault L10 */
	ROW("asleep", .power_state = "D3hot\n", .wanted = ASLEEP),
	ROW("cold", .power_state = "D3cold\n", .wanted = ASLEEP),
	ROW("nobody knows", .power_state = "unknown\n", .wanted = ASLEEP),
	ROW("half asleep", .power_state = "D1\n", .wanted = ASLEEP),
	ROW("no memory is decoded", .command = 0x04, .wanted = "41: it does not decode memory"),
	ROW("gone", .command = 0xff, .wanted = "41: its config space reads all ones"),
	/* fault L9 */
	ROW("all ones", .address = PMC_BOOT_0, .value = 0xffffffff,
	    .wanted = "41: its registers cannot be read"),
	ROW("not for us", .address = PMC_BOOT_0, .value = 0xbadf1100,
	    .wanted = "41: its registers cannot be read"),
	ROW("another chip", .address = PMC_BOOT_0, .value = 0x170000a1,
	    .wanted = "41: it is not a GH100"),
	ROW("no id", .address = NVLINK_REGISTERS_BEGIN + NVLIPT_COMMON_SID_LOW, .value = 0xbadf5040,
	    .wanted = "41: its own id"),
	ROW("no state", .address = 0xa10000 + NVLIPT_LNK_STATE, .value = 0xbadf5040,
	    .wanted = "41: the state of a link"),
};

TEST(boards_see_each_other_where_all_links_of_both_say_so)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();
		uint8_t config[64] = {
			0xde, 0x10, 0x31, 0x23, rows[i].command, rows[i].command == 0xff ? 0xff : 0
		};

		print_message("%s\n", rows[i].what);
		if (rows[i].command)
			tree_write_bytes(tree, CONFIG, config, sizeof(config));
		if (rows[i].power_state) {
			tree_write_attribute(tree, A, "power_state", rows[i].power_state);
			/* Reading it would wake the device: it is not there to be read. */
			tree_remove(tree, CONFIG);
		}
		for (unsigned link = rows[i].first; rows[i].down && link <= rows[i].last; link++)
			set_link(tree, rows[i].down, link, false, 0);
		if (rows[i].value)
			put(tree, A, rows[i].address, rows[i].value);
		expect(tree, rows[i].wanted);
	}
}

TEST(a_bar_that_is_too_small_or_missing_is_told)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();
	_cleanup_free_ char *path = resource0(tree, A);

	assert_int_equal(truncate(path, 4096), 0);
	expect(tree, "41: its BAR 0 is too small");
	tree_remove_attribute(tree, A, "resource0");
	expect(tree, "41: No such file or directory");
}

/* Seen on a real board: the mapping fails with EPERM, which says nothing to an operator. */
TEST(lockdown_is_told_by_its_name)
{
	assert_non_null(strstr(bar0_error(-EPERM), "lockdown"));
	assert_string_equal(bar0_error(-ENOENT), "No such file or directory");
}

TEST(nothing_is_written)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();
	_cleanup_free_ char *path = resource0(tree, A);

	/* As root, who may write all the same, only the open flags tell; so look at the content. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ uint8_t *before = malloc(BAR0_BYTES), *after = malloc(BAR0_BYTES);

	assert_int_equal(pread(fd, before, BAR0_BYTES, 0), BAR0_BYTES);
	expect(tree, "41 sees 61 x12");
	assert_int_equal(pread(fd, after, BAR0_BYTES, 0), BAR0_BYTES);
	assert_memory_equal(before, after, BAR0_BYTES);
}
