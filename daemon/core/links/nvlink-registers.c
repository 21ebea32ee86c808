/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/links/nvlink-registers.h"

#include "core/facts/memory-clear.h"
#include "util/text.h"

#define GROUP_STRIDE 0x40000U
#define LINK_BASE 0x10000U
#define LINK_STRIDE 0x8000U

#define CHIP_SHIFT 20
#define CHIP_MASK 0x1ffU
#define CHIP_GH100 0x180U

#define DL_STATE_MASK 0xffU
#define DL_STATE_ACTIVE 3U
#define DL_STATE_SLEEP 5U /* an active link that saves power */
#define STATE_MASK 0xfU
#define STATE_ACTIVE 1U
#define REMOTE_CHIP_MASK 0xffU
#define REMOTE_CHIP_HOPPER 7U
#define REMOTE_LINK_MASK 0xffU

uint32_t nvlink_link_register(unsigned link, uint32_t reg)
{
	return NVLINK_REGISTERS_BEGIN + link / NVLINK_GROUP_LINKS * GROUP_STRIDE + LINK_BASE +
	       link % NVLINK_GROUP_LINKS * LINK_STRIDE + reg;
}

uint32_t nvlink_group_register(unsigned group, uint32_t reg)
{
	return NVLINK_REGISTERS_BEGIN + group * GROUP_STRIDE + reg;
}

bool nvlink_is_gh100(uint32_t boot_0)
{
	return !memory_unreadable(boot_0) && (boot_0 >> CHIP_SHIFT & CHIP_MASK) == CHIP_GH100;
}

static uint64_t sid_of(const uint32_t words[2])
{
	return (uint64_t)words[1] << 32 | words[0];
}

static int decode_links(const NvlinkRegisters *r, NvlinkView *view, const char **ret_why)
{
	for (unsigned i = 0; i < NVLINK_LINKS; i++) {
		unsigned dl = r->links[i].dl_state & DL_STATE_MASK;

		if (memory_unreadable(r->links[i].dl_state) ||
		    memory_unreadable(r->links[i].state)) {
			*ret_why = "the state of a link cannot be read";
			return -ENODATA;
		}
		if ((dl != DL_STATE_ACTIVE && dl != DL_STATE_SLEEP) ||
		    (r->links[i].state & STATE_MASK) != STATE_ACTIVE)
			continue;
		if (memory_unreadable(r->links[i].remote_chip) ||
		    memory_unreadable(r->links[i].remote_link) ||
		    memory_unreadable(r->links[i].remote_sid[0]) ||
		    memory_unreadable(r->links[i].remote_sid[1])) {
			*ret_why = "the far end of an active link cannot be read";
			return -ENODATA;
		}
		if ((r->links[i].remote_chip & REMOTE_CHIP_MASK) != REMOTE_CHIP_HOPPER) {
			*ret_why = "the far end of an active link is no Hopper GPU";
			return -ENODATA;
		}
		view->links[i].active = true;
		view->links[i].remote_sid = sid_of(r->links[i].remote_sid);
		view->links[i].remote_link = r->links[i].remote_link & REMOTE_LINK_MASK;
		view->active++;
	}
	return 0;
}

int nvlink_decode(const NvlinkRegisters *r, NvlinkView *ret, const char **ret_why)
{
	NvlinkView view = { .bdf = ret->bdf, .expected = ret->expected };
	int result;

	if (memory_unreadable(r->boot_0)) {
		*ret_why = "its registers cannot be read: asleep, or off the bus";
		return -ENODATA;
	}
	if (!nvlink_is_gh100(r->boot_0)) {
		*ret_why = "it is not a GH100, the only chip whose registers are known";
		return -EOPNOTSUPP;
	}
	for (unsigned i = 0; i < NVLINK_GROUPS; i++) {
		if (memory_unreadable(r->sid[i][0]) || memory_unreadable(r->sid[i][1]) ||
		    sid_of(r->sid[i]) == 0) {
			*ret_why = "its own id cannot be read";
			return -ENODATA;
		}
		view.sid[i] = sid_of(r->sid[i]);
	}
	result = decode_links(r, &view, ret_why);
	if (result == 0)
		*ret = view;
	return result;
}

/* The view with the link that `remote` leads to. That link must lead back here. NULL: none. */
static const NvlinkView *far_end(const NvlinkView *views, size_t n, size_t index, unsigned link)
{
	const NvlinkView *near = &views[index];
	unsigned far = near->links[link].remote_link;
	const NvlinkView *found = NULL;

	for (size_t i = 0; far < NVLINK_LINKS && i < n; i++) {
		const NvlinkView *other = &views[i];

		if (i == index || !other->links[far].active ||
		    other->sid[far / NVLINK_GROUP_LINKS] != near->links[link].remote_sid ||
		    other->links[far].remote_sid != near->sid[link / NVLINK_GROUP_LINKS] ||
		    other->links[far].remote_link != link)
			continue;
		if (found)
			return NULL; /* two boards have this id: ambiguous */
		found = other;
	}
	return found;
}

int nvlink_peers(const NvlinkView *views, size_t n, size_t index, Sighting *ret, char **ret_why)
{
	const NvlinkView *view = &views[index];
	unsigned met = 0, expected = view->expected ? view->expected : view->active;

	for (unsigned link = 0; link < NVLINK_LINKS; link++) {
		const NvlinkView *other =
			view->links[link].active ? far_end(views, n, index, link) : NULL;

		if (!other)
			continue;
		met++;
		sighting_add_link(ret, &other->bdf);
	}
	if (met > 0 && met == expected && met == view->active)
		return 0;
	free(ret->peers);
	ret->peers = NULL;
	ret->n_peers = 0;
	*ret_why = strf("%u of %u links are active, and %u are met by another GPU's; nothing is "
			"concluded from that",
			view->active, expected, met);
	return -ENODATA;
}
