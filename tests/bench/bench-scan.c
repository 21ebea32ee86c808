/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a scan takes: bench-scan [--json] [FUNCTIONS [ROUNDS [KEEP]]], default 4096 and 50.
 * Builds a simulated bus in /dev/shm (boards of two functions, each behind a bridge; 64 of them
 * GPUs) and prints wall-clock and processor times. With KEEP the tree stays and its path is
 * printed, to compare with
 *   lspci -n -O sysfs.path=PATH/sys/bus/pci 2>/dev/null
 * With --json it prints one object instead, all times in milliseconds, medians of as many rounds,
 * which take turns: a scan with its groups, the same of 256 functions, a rescan of a network card
 * and of a GPU, and lspci where there is one; and the ratios scan_4096, scan_growth and rescan_one.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "core/group/resolve.h"
#include "host/scan/scan.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define FUNCTIONS_DEFAULT 4096
#define FUNCTIONS_MAX 65536
#define ROUNDS_DEFAULT 50
#define ROUNDS_MAX 10000
#define FUNCTIONS_A_BOARD 3 /* with its bridge */
#define GPUS 64		    /* more than any host has; details are read of these */
#define BOARDS_SMALL 85	    /* 255 functions */

static double now_ms(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void add_network_board(SysfsTree *tree, const char *bdf, int iommu_group,
			      const char *upstream)
{
	Bdf above = tree_bdf(upstream);
	PciFunction f = {
		.bdf = tree_bdf(bdf),
		.vendor = 0x15b3,
		.device = 0x101d,
		.subsystem_vendor = 0x15b3,
		.class_code = 0x020000,
		.driver = (char[]){ "mlx5_core" },
		.iommu_group = iommu_group,
		.upstream = &above,
		.n_upstream = 1,
	};

	tree_add_function(tree, &f);
	f.bdf.function++;
	tree_add_function(tree, &f);
}

/* One segment for every 64 boards: buses 0 … 63 have the bridges, 64 … 127 the boards. */
static void add_board(SysfsTree *tree, unsigned index, unsigned boards)
{
	char bridge[32], board[32];
	int group = (int)index * 2;
	/* One of so many is a GPU, so that small trees have as large a share of them. */
	unsigned every = boards == BOARDS_SMALL ? FUNCTIONS_DEFAULT / FUNCTIONS_A_BOARD / GPUS
						: boards / GPUS;

	snprintf(bridge, sizeof(bridge), "%04x:%02x:01.0", index / 64, index % 64);
	snprintf(board, sizeof(board), "%04x:%02x:00.0", index / 64, 64 + index % 64);
	tree_add_bridge(tree, bridge, group);
	if (boards <= GPUS || index % every == 0)
		tree_add_gpu(tree, board, 0x2230, "nvidia", group + 1, bridge);
	else
		add_network_board(tree, board, group + 1, bridge);
}

static void print_times(const char *what, double *times, size_t rounds)
{
	qsort(times, rounds, sizeof(double), compare_times);
	printf("%-9s  best %.1f ms, median %.1f ms, worst %.1f ms\n", what, times[0],
	       times[rounds / 2], times[rounds - 1]);
}

static int measure(const SysfsTree *tree, double *wall, double *processor, size_t rounds)
{
	size_t n = 0;

	for (size_t i = 0; i < rounds; i++) {
		_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
		double start = now_ms(CLOCK_MONOTONIC);
		double used = now_ms(CLOCK_PROCESS_CPUTIME_ID);
		int r = scan_pci(tree->roots.sysfs_fd, &snapshot);

		if (r < 0) {
			fprintf(stderr, "scan: %s\n", strerror(-r));
			return r;
		}
		wall[i] = now_ms(CLOCK_MONOTONIC) - start;
		processor[i] = now_ms(CLOCK_PROCESS_CPUTIME_ID) - used;
		n = snapshot->n_functions;
	}
	printf("%zu functions, %zu rounds\n", n, rounds);
	print_times("wall", wall, rounds);
	print_times("processor", processor, rounds);
	return 0;
}

/* ---- for machines ---- */

typedef struct Figures {
	double *scan, *small, *card, *gpu, *lspci;
	size_t rounds;
} Figures;

static double median(double *times, size_t n)
{
	qsort(times, n, sizeof(double), compare_times);
	return times[n / 2];
}

static int scan_and_group(int sysfs_fd, PciSnapshot **ret, double *ret_ms)
{
	_cleanup_(gpu_set_freep) GpuSet *gpus = NULL;
	_cleanup_(links_freep) Links *links = calloc(1, sizeof(Links));
	_cleanup_(group_set_freep) GroupSet *groups = NULL;
	const Declarations none = { 0 };
	const Assignments nobody = { 0 };
	const Policy policy = { 0 };
	double start = now_ms(CLOCK_MONOTONIC);
	int r = scan_pci(sysfs_fd, ret);

	if (r >= 0)
		gpus = gpu_set_new(*ret);
	if (r >= 0)
		links_infer(links, gpus);
	if (r >= 0)
		groups = groups_resolve(gpus, &none, links, &nobody, &policy);
	*ret_ms = now_ms(CLOCK_MONOTONIC) - start;
	return r;
}

static int rescan(int sysfs_fd, const PciSnapshot *before, const Bdf *bdf, double *ret_ms)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *after = NULL;
	double start = now_ms(CLOCK_MONOTONIC);
	int r = scan_pci_changed(sysfs_fd, before, bdf, 1, &after);

	*ret_ms = now_ms(CLOCK_MONOTONIC) - start;
	return r;
}

static int run_lspci(const SysfsTree *tree, double *ret_ms)
{
	_cleanup_free_ char *option = strf("sysfs.path=%s/sys/bus/pci", tree->path);
	char *argv[] = { (char[]){ "lspci" }, (char[]){ "-n" }, (char[]){ "-O" }, option, NULL };
	posix_spawn_file_actions_t files;
	double start = now_ms(CLOCK_MONOTONIC);
	int status = -1, r;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawnp(&pid, "lspci", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (r >= 0)
		waitpid(pid, &status, 0);
	*ret_ms = now_ms(CLOCK_MONOTONIC) - start;
	return r < 0 || status != 0 ? -ENOENT : 0;
}

static const PciFunction *first_of(const PciSnapshot *snapshot, uint16_t vendor)
{
	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (snapshot->functions[i]->vendor == vendor)
			return snapshot->functions[i];
	return NULL;
}

/* *lspci becomes false where there is none. */
static int measure_round(const SysfsTree *large, const SysfsTree *small, Figures *f, size_t i,
			 bool *lspci)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL, *few = NULL;
	const PciFunction *card, *gpu;
	int r = scan_and_group(large->roots.sysfs_fd, &snapshot, &f->scan[i]);

	if (r >= 0)
		r = scan_and_group(small->roots.sysfs_fd, &few, &f->small[i]);
	if (r < 0)
		return r;
	card = first_of(snapshot, 0x15b3);
	gpu = first_of(snapshot, PCI_VENDOR_NVIDIA);
	if (card)
		r = rescan(large->roots.sysfs_fd, snapshot, &card->bdf, &f->card[i]);
	if (r >= 0 && gpu)
		r = rescan(large->roots.sysfs_fd, snapshot, &gpu->bdf, &f->gpu[i]);
	*lspci = *lspci && run_lspci(large, &f->lspci[i]) >= 0;
	return r;
}

static void print_figures(Figures *f, unsigned boards, bool lspci)
{
	double scan = median(f->scan, f->rounds), small = median(f->small, f->rounds);
	double card = median(f->card, f->rounds), gpu = median(f->gpu, f->rounds);
	double peer = median(f->lspci, f->rounds);
	double grown = boards / (double)BOARDS_SMALL;

	printf("{\"functions\":%u,\"rounds\":%zu,\"scan_ms\":%.3f,\"scan_256_ms\":%.3f,"
	       "\"rescan_card_ms\":%.4f,\"rescan_gpu_ms\":%.4f,",
	       boards * FUNCTIONS_A_BOARD, f->rounds, scan, small, card, gpu);
	if (lspci)
		printf("\"lspci_ms\":%.3f,\"scan_4096\":%.4f,", peer, scan / peer);
	else
		printf("\"lspci_ms\":null,\"scan_4096\":null,");
	printf("\"scan_growth\":%.3f,\"rescan_one\":%.5f}\n", scan / grown / small,
	       (card > gpu ? card : gpu) / scan);
}

static SysfsTree *make_tree(unsigned boards)
{
	SysfsTree *tree = sysfs_tree_new("/dev/shm");

	for (unsigned i = 0; i < boards; i++)
		add_board(tree, i, boards);
	return tree;
}

static int measure_for_machines(const SysfsTree *large, unsigned boards, size_t rounds)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *small = make_tree(BOARDS_SMALL);
	_cleanup_free_ double *times = calloc(5 * rounds, sizeof(double));
	Figures f = {
		.scan = times,
		.small = times + rounds,
		.card = times + 2 * rounds,
		.gpu = times + 3 * rounds,
		.lspci = times + 4 * rounds,
		.rounds = rounds,
	};
	bool lspci = true;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < rounds; i++)
		r = measure_round(large, small, &f, i, &lspci);
	if (r >= 0)
		print_figures(&f, boards, lspci);
	return r;
}

static int measure_for_people(const SysfsTree *tree, size_t rounds)
{
	_cleanup_free_ double *wall = calloc(rounds, sizeof(double));
	_cleanup_free_ double *processor = calloc(rounds, sizeof(double));

	return measure(tree, wall, processor, rounds);
}

int main(int argc, char **argv)
{
	unsigned long long functions = FUNCTIONS_DEFAULT, rounds = ROUNDS_DEFAULT;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = NULL;
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0, keep;
	unsigned boards;
	int r;

	argc -= json;
	argv += json;
	keep = argc > 3 && strcmp(argv[3], "KEEP") == 0;
	if ((argc > 1 && str_to_unsigned(argv[1], 10, FUNCTIONS_MAX, &functions) < 0) ||
	    (argc > 2 && str_to_unsigned(argv[2], 10, ROUNDS_MAX, &rounds) < 0) || rounds == 0) {
		fputs("Usage: bench-scan [--json] [FUNCTIONS [ROUNDS [KEEP]]]\n", stderr);
		return 2;
	}
	boards = (unsigned)functions / FUNCTIONS_A_BOARD;
	tree = make_tree(boards);
	r = json ? measure_for_machines(tree, boards, rounds) : measure_for_people(tree, rounds);
	if (r < 0)
		fprintf(stderr, "bench-scan: %s\n", strerror(-r));
	if (keep) {
		printf("%s\n", tree->path);
		TAKE_PTR(tree);
	}
	return r < 0 ? 1 : 0;
}
