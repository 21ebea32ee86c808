/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "core/links/nvlink-registers.h"
#include "util/text.h"

#define GH100 0x180000a1U
#define CHIP_HOPPER 7

/* The twelve links of an H100 PCIe that reach its bridges. */
static bool is_led_out(unsigned link)
{
	return link % 6 != 4 && link % 6 != 5;
}

static uint64_t sid_of_board(unsigned board)
{
	return 0x1000000000ULL + board;
}

/* Board 0 or 1, whose link i meets link 17 - i of the other where both are led out. */
static unsigned met_link(unsigned link)
{
	unsigned n = 0, mirrored = 0;

	for (unsigned i = 0; i < link; i++)
		n += is_led_out(i);
	for (unsigned i = NVLINK_LINKS; i-- > 0;) {
		if (!is_led_out(i))
			continue;
		if (mirrored++ == n)
			return i;
	}
	return 0xff;
}

static NvlinkRegisters board(unsigned self, unsigned other)
{
	NvlinkRegisters r = { .boot_0 = GH100 };

	for (unsigned i = 0; i < NVLINK_GROUPS; i++) {
		r.sid[i][0] = (uint32_t)sid_of_board(self);
		r.sid[i][1] = (uint32_t)(sid_of_board(self) >> 32);
	}
	for (unsigned i = 0; i < NVLINK_LINKS; i++) {
		bool up = is_led_out(i);

		r.links[i].dl_state = up ? 3 : 0;
		r.links[i].state = up ? 1 : 8;
		r.links[i].remote_chip = up ? CHIP_HOPPER : 0;
		r.links[i].remote_sid[0] = (uint32_t)sid_of_board(other);
		r.links[i].remote_sid[1] = (uint32_t)(sid_of_board(other) >> 32);
		r.links[i].remote_link = up ? met_link(i) : 0xff;
	}
	return r;
}

typedef struct Pair {
	NvlinkRegisters registers[2];
} Pair;

static Pair bridged(void)
{
	return (Pair){ { board(0, 1), board(1, 0) } };
}

static Bdf address(unsigned i)
{
	return (Bdf){ .bus = (uint8_t)(0x41 + i) };
}

/* Decodes what can be, and matches; what the first board is said to see: "42x12", or why not. */
static char *look_at(const NvlinkRegisters *registers, size_t n, unsigned expected)
{
	NvlinkView views[4];
	Sighting s = { 0 };
	char *why = NULL, *text;
	size_t n_views = 0;

	for (size_t i = 0; i < n; i++) {
		const char *what = NULL;

		views[n_views] = (NvlinkView){ .bdf = address((unsigned)i), .expected = expected };
		if (nvlink_decode(&registers[i], &views[n_views], &what) == 0)
			n_views++;
		else if (i == 0)
			return strdup(what);
	}
	if (nvlink_peers(views, n_views, 0, &s, &why) < 0)
		return why;
	assert_int_equal(s.n_peers, 1);
	text = strf("%02xx%u", s.peers[0].bdf.bus, s.peers[0].links);
	sighting_clear(&s);
	return text;
}

static void expect(const char *name, const NvlinkRegisters *registers, size_t n, const char *wanted)
{
	_cleanup_free_ char *found = look_at(registers, n, 12);

	if (!str_starts_with(found, wanted))
		fail_msg("%s: %s", name, found);
}

TEST(two_bridged_boards_see_each_other_by_all_links)
{
	Pair pair = bridged();
	NvlinkRegisters swapped[] = { pair.registers[1], pair.registers[0] };

	expect("first", pair.registers, 2, "42x12");
	expect("second", swapped, 2, "42x12");
	pair.registers[0].links[0].dl_state = 5; /* asleep, and a link all the same */
	expect("asleep", pair.registers, 2, "42x12");
}

/* fault L9 */
TEST(nothing_is_concluded_from_less_than_all)
{
	static const char nothing[] = "11 of 12 links are active, and 11 are met";
	Pair pair;

	pair = bridged();
	pair.registers[0].links[0].dl_state = 4;
	expect("fault here", pair.registers, 2, nothing);
	pair = bridged();
	pair.registers[0].links[0].state = 0xc; /* no number of a state that is known */
	expect("state here", pair.registers, 2, nothing);
	pair = bridged();
	pair.registers[1].links[met_link(0)].dl_state = 0;
	expect("down there", pair.registers, 2, "12 of 12 links are active, and 11 are met");
	pair = bridged();
	pair.registers[1].links[met_link(0)].remote_link = 1;
	expect("another number there", pair.registers, 2, "12 of 12 links are active, and 11");
	pair = bridged();
	pair.registers[0].links[3].remote_link = 0xff;
	expect("no number here", pair.registers, 2, "12 of 12 links are active, and 11");
	pair = bridged();
	pair.registers[1].links[0].remote_sid[0]++;
	expect("another id there", pair.registers, 2, "12 of 12 links are active, and 11");
	pair = bridged();
	expect("alone", pair.registers, 1, "12 of 12 links are active, and 0");
}

TEST(one_id_twice_is_no_peer)
{
	Pair pair = bridged();
	NvlinkRegisters three[] = { pair.registers[0], pair.registers[1], pair.registers[1] };

	expect("twice", three, 3, "12 of 12 links are active, and 0");
}

/* fault L9 */
TEST(what_cannot_be_read_is_unknown_never_no_link)
{
	static const uint32_t values[] = { UINT32_MAX, 0xbadf5040, 0xbadf1100, 0xbad00200 };

	for (size_t i = 0; i < ELEMENTS(values); i++) {
		Pair pair = bridged();

		pair.registers[0].boot_0 = values[i];
		expect("boot", pair.registers, 2, "its registers cannot be read");
		pair = bridged();
		pair.registers[0].sid[1][0] = values[i];
		expect("own id", pair.registers, 2, "its own id cannot be read");
		pair = bridged();
		pair.registers[0].links[17].dl_state = values[i];
		expect("a link that is not led out", pair.registers, 2, "the state of a link");
		pair = bridged();
		pair.registers[0].links[2].state = values[i];
		expect("a link's state", pair.registers, 2, "the state of a link");
		pair = bridged();
		pair.registers[0].links[2].remote_sid[1] = values[i];
		expect("far end", pair.registers, 2,
		       "the far end of an active link cannot be read");
		pair = bridged();
		pair.registers[1].boot_0 = values[i];
		expect("the other board", pair.registers, 2, "12 of 12 links are active, and 0");
	}
}

/* fault L9 */
TEST(other_chips_are_not_understood)
{
	static const uint32_t boots[] = { 0x170000a1, 0x1720a0a1, 0x190000a1, 0x1b2000a1, 0 };

	for (size_t i = 0; i < ELEMENTS(boots); i++) {
		Pair pair = bridged();

		pair.registers[0].boot_0 = boots[i];
		expect("chip", pair.registers, 2, "it is not a GH100");
	}
}

TEST(a_far_end_that_is_no_gpu_of_this_kind_is_not_taken)
{
	Pair pair = bridged();

	pair.registers[0].links[0].remote_chip = 3;
	expect("Ampere", pair.registers, 2, "the far end of an active link is no Hopper GPU");
}

TEST(registers_are_where_they_are_published)
{
	assert_int_equal(nvlink_link_register(0, NVLDL_STATE), 0xa10000);
	assert_int_equal(nvlink_link_register(5, NVLIPT_LNK_STATE), 0xa3f484);
	assert_int_equal(nvlink_link_register(6, NVLIPT_LNK_REMOTE_LINK), 0xa57110);
	assert_int_equal(nvlink_link_register(17, NVLIPT_LNK_STATE), 0xabf484);
	assert_int_equal(nvlink_group_register(0, NVLIPT_COMMON_SID_LOW), 0xa02108);
	assert_int_equal(nvlink_group_register(2, NVLIPT_COMMON_SID_HIGH), 0xa8210c);
	assert_true(nvlink_link_register(17, NVLIPT_LNK_STATE) < NVLINK_REGISTERS_END);
}
