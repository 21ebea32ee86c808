/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scan of what has changed is what a scan of everything gives. */
#include "rig/test.h"

#include <string.h>

#include "core/pci/snapshot-json.h"
#include "host/scan/scan.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define BOARDS 6
#define STEPS 400

static PciSnapshot *scan(const SysfsTree *tree)
{
	PciSnapshot *snapshot = NULL;

	assert_int_equal(scan_pci(tree->roots.sysfs_fd, &snapshot), 0);
	return snapshot;
}

static char *text_of(const PciSnapshot *snapshot)
{
	PciSnapshot timeless = *snapshot;
	char *text;

	timeless.taken_usec = 0;
	text = pci_snapshot_to_json(&timeless);
	assert_non_null(text);
	return text;
}

/* Numbers that are the same in every run. */
static unsigned pick(uint64_t *state, unsigned n)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(*state >> 33) % n;
}

typedef struct Play {
	SysfsTree *tree;
	uint64_t random;
	bool sata;		     /* and no other cards */
	Bdf named[SCAN_CHANGED_MAX]; /* what the kernel would have told */
	size_t n_named;
	unsigned only_changed; /* how often not everything was to be read */
} Play;

static void name(Play *p, const char *text)
{
	p->named[p->n_named++] = tree_bdf(text);
}

static bool is_there(const Play *p, const char *text)
{
	_cleanup_free_ char *path = strf("bus/pci/devices/%s", text);

	return faccessat(p->tree->roots.sysfs_fd, path, F_OK, 0) == 0;
}

static void take_away(Play *p, const char *text)
{
	_cleanup_free_ char *link = strf("%s/bus/pci/devices/%s/iommu_group", p->tree->sysfs, text);
	_cleanup_free_ char *group = realpath(link, NULL), *member = NULL;

	member = group ? strf("%s/devices/%s", strstr(group, "/sys/") + 1, text) : NULL;
	tree_remove_function(p->tree, text);
	if (member)
		tree_remove(p->tree, member);
	name(p, text);
}

/* Some are kin by their class, and some may be given away with GPUs. */
static uint32_t card_class(Play *p)
{
	static const uint32_t classes[] = { 0x0c0330, 0x010601, 0x010601, 0x020000 };

	return p->sata ? 0x010601 : classes[pick(&p->random, ELEMENTS(classes))];
}

static void add_card(Play *p, const char *text, const char *bridge, int group)
{
	Bdf above = tree_bdf(bridge);
	PciFunction card = {
		.bdf = tree_bdf(text),
		.vendor = 0x15b3,
		.device = (uint16_t)(0x1000 + pick(&p->random, 3)),
		.class_code = card_class(p),
		.driver = pick(&p->random, 2) ? (char[]){ "mlx5_core" } : NULL,
		.iommu_group = group,
		.numa_node = (int)pick(&p->random, 2),
		.upstream = &above,
		.n_upstream = 1,
	};

	tree_add_function(p->tree, &card);
	name(p, text);
}

static void change_driver(Play *p, const char *text)
{
	static const char *const drivers[] = { "nvidia", "vfio-pci", "snd_hda_intel", "mlx5_core" };
	_cleanup_free_ char *link = strf("sys/bus/pci/devices/%s/driver", text);
	_cleanup_free_ char *full = strf("%s/%s", p->tree->path, link);
	_cleanup_free_ char *target =
		strf("../../../../bus/pci/drivers/%s", drivers[pick(&p->random, 4)]);

	(void)unlink(full);
	if (pick(&p->random, 4) > 0)
		tree_link(p->tree, link, target);
	name(p, text);
}

/* On the bus of a GPU, in its IOMMU group, or far from all of them. */
static void play_card(Play *p, unsigned board)
{
	unsigned place = pick(&p->random, 3);
	_cleanup_free_ char *bridge = strf("0000:40:%02x.0", board + (place == 2 ? BOARDS : 0));
	_cleanup_free_ char *card = strf("0000:%02x:%02x.0",
					 (place == 0   ? 0x41
					  : place == 1 ? 0x61
						       : 0x81) +
						 board,
					 place == 0 ? 1U : 0U);

	if (!is_there(p, card))
		add_card(p, card, bridge, place == 1 ? 100 + (int)board : 200 + (int)board);
	else if (pick(&p->random, 2))
		take_away(p, card);
	else
		change_driver(p, card);
}

static void play_gpu(Play *p, unsigned board)
{
	_cleanup_free_ char *bridge = strf("0000:40:%02x.0", board);
	_cleanup_free_ char *display = strf("0000:%02x:00.0", 0x41 + board);
	_cleanup_free_ char *audio = strf("0000:%02x:00.1", 0x41 + board);

	if (!is_there(p, display)) {
		tree_add_gpu(p->tree, display, 0x2230, "nvidia", 100 + (int)board, bridge);
		name(p, display);
		name(p, audio);
	} else if (pick(&p->random, 8) == 0) {
		take_away(p, audio);
		take_away(p, display);
	} else {
		change_driver(p, pick(&p->random, 2) ? display : audio);
	}
}

static void play(Play *p)
{
	unsigned board = pick(&p->random, BOARDS), kind = pick(&p->random, 8);
	_cleanup_free_ char *bridge = strf("0000:40:%02x.0", board);

	if (kind == 0)
		change_driver(p, bridge);
	else if (kind == 1)
		name(p, bridge); /* a message, and nothing has changed */
	else if (kind < 5)
		play_card(p, board);
	else
		play_gpu(p, board);
}

static PciSnapshot *follow(Play *p, const PciSnapshot *before)
{
	PciSnapshot *after = NULL;
	int r = scan_pci_changed(p->tree->roots.sysfs_fd, before, p->named, p->n_named, &after);

	p->n_named = 0;
	if (r == -ESTALE)
		return scan(p->tree);
	assert_int_equal(r, 0);
	p->only_changed++;
	return after;
}

TEST(what_has_changed_gives_the_same_as_everything)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new("/dev/shm");
	PciSnapshot *snapshot = NULL;
	Play p = { .tree = tree, .random = 4711 };

	for (unsigned i = 0; i < 2 * BOARDS; i++) {
		_cleanup_free_ char *bridge = strf("0000:40:%02x.0", i);

		tree_add_bridge(tree, bridge, (int)i);
	}
	snapshot = scan(tree);
	for (unsigned i = 0; i < STEPS; i++) {
		_cleanup_(pci_snapshot_freep) PciSnapshot *whole = NULL, *before = snapshot;
		_cleanup_free_ char *was = text_of(before), *is = NULL, *expected = NULL;
		_cleanup_free_ char *still = NULL;

		for (unsigned n = 1 + pick(&p.random, 3); n > 0; n--)
			play(&p);
		snapshot = follow(&p, before);
		whole = scan(tree);
		is = text_of(snapshot);
		expected = text_of(whole);
		still = text_of(before);
		if (!str_equal(is, expected))
			fail_msg("step %u: expected %s\nfound %s", i, expected, is);
		if (!str_equal(was, still))
			fail_msg("step %u: an earlier snapshot is another now", i);
	}
	pci_snapshot_free(snapshot);
	snapshot = 0;
	assert_in_range(p.only_changed, STEPS / 4, STEPS - 1);
}

TEST(a_gpu_that_comes_or_goes_needs_a_look_at_everything)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *before = NULL, *with = NULL, *after = NULL;
	const Bdf gpu = tree_bdf("0000:41:00.0");

	tree_add_bridge(tree, "0000:40:01.0", 1);
	before = scan(tree);
	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, "0000:40:01.0");
	assert_int_equal(scan_pci_changed(tree->roots.sysfs_fd, before, &gpu, 1, &after), -ESTALE);
	with = scan(tree);
	assert_int_equal(scan_pci_changed(tree->roots.sysfs_fd, with, &gpu, 1, &after), 0);
	pci_snapshot_free(after);
	after = 0;
	tree_remove_function(tree, "0000:41:00.0");
	assert_int_equal(scan_pci_changed(tree->roots.sysfs_fd, with, &gpu, 1, &after), -ESTALE);
	assert_null(after);
}

TEST(a_chain_of_snapshots_comes_to_an_end)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	PciSnapshot *snapshot = NULL, *next = NULL;
	Play p = { .tree = tree, .random = 1, .sata = true };
	unsigned n = 0;
	int r = 0;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	snapshot = scan(tree);
	for (; r == 0 && n < 1000; n++) {
		bool there = is_there(&p, "0000:81:00.0");

		if (there)
			take_away(&p, "0000:81:00.0");
		else
			add_card(&p, "0000:81:00.0", "0000:40:01.0", 7);
		r = scan_pci_changed(tree->roots.sysfs_fd, snapshot, p.named, p.n_named, &next);
		p.n_named = 0;
		if (r == 0) {
			pci_snapshot_free(snapshot);
			snapshot = next;
		}
	}
	assert_int_equal(r, -ESTALE);
	assert_in_range(snapshot->n_batches, 2, 128);
	pci_snapshot_free(snapshot);
}
