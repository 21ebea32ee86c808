/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "core/links/nvlink-registers.h"
#include "util/text.h"

#define GH100 0x180000a1U
#define CHIP_HOPPER 7

/* The twelve links of an H100 PCIe that reach its bridges. */
static const uint8_t led_out[] = { 0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15 };

/* Each of board 0 or 1 meets the one of the other that is as far from the end; 0xff: not led out. */
static unsigned met_link(unsigned link)
{
	for (size_t i = 0; i < ELEMENTS(led_out); i++)
		if (led_out[i] == link)
			return led_out[ELEMENTS(led_out) - 1 - i];
	return 0xff;
}

static uint64_t sid_of_board(unsigned board)
{
	return 0x1000000000ULL + board;
}

static NvlinkRegisters board(unsigned self, unsigned other)
{
	NvlinkRegisters r = { .boot_0 = GH100 };

	for (unsigned i = 0; i < NVLINK_GROUPS; i++) {
		r.sid[i][0] = (uint32_t)sid_of_board(self);
		r.sid[i][1] = (uint32_t)(sid_of_board(self) >> 32);
	}
	for (unsigned i = 0; i < NVLINK_LINKS; i++) {
		bool up = met_link(i) != 0xff;

		r.links[i].dl_state = up ? 3 : 0;
		r.links[i].state = up ? 1 : 8;
		r.links[i].remote_chip = up ? CHIP_HOPPER : 0;
		r.links[i].remote_sid[0] = (uint32_t)sid_of_board(other);
		r.links[i].remote_sid[1] = (uint32_t)(sid_of_board(other) >> 32);
		r.links[i].remote_link = met_link(i);
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
}

/* The link of the other board that link 0 meets. */
#define MET 15
#define AT(member) offsetof(NvlinkRegisters, member)

/* One register that is another, of the first board or the one that it is bridged to. */
typedef struct Change {
	const char *name;
	unsigned board;
	size_t at; /* in the board's NvlinkRegisters */
	uint32_t value;
	const char *wanted;
} Change;

static void expect_change(const Change *change, uint32_t value)
{
	Pair pair = bridged();

	memcpy((char *)&pair.registers[change->board] + change->at, &value, sizeof(value));
	expect(change->name, pair.registers, 2, change->wanted);
}

/* fault L9 */
TEST(nothing_is_concluded_from_less_than_all)
{
	static const char down_here[] = "11 of 12 links are active, and 11 are met";
	static const char down_there[] = "12 of 12 links are active, and 11 are met";
	const Change rows[] = {
		{ "fault here", 0, AT(links[0].dl_state), 4, down_here },
		/* no number of a state that is known */
		{ "state here", 0, AT(links[0].state), 0xc, down_here },
		{ "down there", 1, AT(links[MET].dl_state), 0, down_there },
		{ "another number there", 1, AT(links[MET].remote_link), 1, down_there },
		{ "no number here", 0, AT(links[3].remote_link), 0xff, down_there },
		{ "another id there", 1, AT(links[0].remote_sid[0]), (uint32_t)sid_of_board(1),
		  down_there },
		{ "Ampere", 0, AT(links[0].remote_chip), 3,
		  "the far end of an active link is no Hopper GPU" },
		{ "asleep, and a link all the same", 0, AT(links[0].dl_state), 5, "42x12" },
	};
	Pair pair = bridged();

	assert_int_equal(met_link(0), MET);
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect_change(&rows[i], rows[i].value);
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
	static const uint32_t other_chips[] = { 0x170000a1, 0x1720a0a1, 0x190000a1, 0x1b2000a1, 0 };
	static const Change chip = { "chip", 0, AT(boot_0), 0, "it is not a GH100" };
	static const Change rows[] = {
		{ "boot", 0, AT(boot_0), 0, "its registers cannot be read" },
		{ "own id", 0, AT(sid[1][0]), 0, "its own id cannot be read" },
		{ "a link that is not led out", 0, AT(links[17].dl_state), 0,
		  "the state of a link" },
		{ "a link's state", 0, AT(links[2].state), 0, "the state of a link" },
		{ "far end", 0, AT(links[2].remote_sid[1]), 0,
		  "the far end of an active link cannot be read" },
		{ "the other board", 1, AT(boot_0), 0, "12 of 12 links are active, and 0" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (size_t k = 0; k < ELEMENTS(values); k++)
			expect_change(&rows[i], values[k]);
	for (size_t i = 0; i < ELEMENTS(other_chips); i++)
		expect_change(&chip, other_chips[i]);
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
