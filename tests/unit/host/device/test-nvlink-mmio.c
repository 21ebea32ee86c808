/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two H100 PCIe on vfio-pci, whose BAR 0 is a sparse file with the registers in it. */
#include "rig/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/links/nvlink-registers.h"
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

TEST(two_bridged_boards_see_each_other)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();

	expect(tree, "41 sees 61 x12; 61 sees 41 x12");
}

TEST(one_link_down_leaves_both_unknown)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();

	set_link(tree, A, 3, false, 0);
	expect(tree, "41: 11 of 12 links are active, and 11 are met by another GPU's; nothing is "
		     "concluded from that; 61: 12 of 12 links are active, and 11 are met");
}

/* fault L9 */
TEST(one_sided_registers_are_unknown)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();

	for (unsigned i = 0; i < NVLINK_LINKS; i++)
		set_link(tree, B, i, false, 0);
	expect(tree, "41: 12 of 12 links are active, and 0 are met by another GPU's; nothing is "
		     "concluded from that; 61: 0 of 12 links are active");
}

/* fault L10 */
TEST(a_board_asleep_is_neither_woken_nor_read)
{
	static const char *const states[] = { "D3hot\n", "D3cold\n", "unknown\n", "D1\n" };

	for (size_t i = 0; i < ELEMENTS(states); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();

		tree_write_attribute(tree, A, "power_state", states[i]);
		/* Reading it would wake the device: it is not there to be read. */
		tree_remove_attribute(tree, A, "config");
		expect(tree, "41: it is asleep, and is not woken for this; 61: 12 of 12");
	}
}

TEST(a_board_that_decodes_no_memory_is_not_read)
{
	static const struct {
		uint8_t command[2];
		const char *why;
	} rows[] = {
		{ { 0x04, 0x00 }, "41: it does not decode memory" },
		{ { 0xff, 0xff }, "41: its config space reads all ones" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();
		uint8_t config[64] = {
			0xde, 0x10, 0x31, 0x23, rows[i].command[0], rows[i].command[1]
		};

		tree_write_bytes(tree, "sys/bus/pci/devices/" A "/config", config, sizeof(config));
		expect(tree, rows[i].why);
	}
}

/* fault L9 */
TEST(registers_that_cannot_be_read_are_unknown)
{
	static const struct {
		uint32_t address, value;
		const char *why;
	} rows[] = {
		{ PMC_BOOT_0, 0xffffffff, "41: its registers cannot be read" },
		{ PMC_BOOT_0, 0xbadf1100, "41: its registers cannot be read" },
		{ PMC_BOOT_0, 0x170000a1, "41: it is not a GH100" },
		{ NVLINK_REGISTERS_BEGIN + NVLIPT_COMMON_SID_LOW, 0xbadf5040, "41: its own id" },
		{ 0xa10000 + NVLIPT_LNK_STATE, 0xbadf5040, "41: the state of a link" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = bridged();

		put(tree, A, rows[i].address, rows[i].value);
		expect(tree, rows[i].why);
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
