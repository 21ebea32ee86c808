/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a scan takes: bench-scan [FUNCTIONS [ROUNDS [KEEP]]], default 4096 and 50. Builds a
 * simulated bus in /dev/shm (boards of two functions, each behind a bridge; 64 of them GPUs) and
 * prints wall-clock and processor times. With KEEP the tree stays and its path is printed, to
 * compare with
 *   lspci -n -O sysfs.path=PATH/sys/bus/pci 2>/dev/null
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host/scan/scan.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define FUNCTIONS_DEFAULT 4096
#define FUNCTIONS_MAX 65536
#define ROUNDS_DEFAULT 50
#define ROUNDS_MAX 10000
#define FUNCTIONS_A_BOARD 3 /* with its bridge */
#define GPUS 64		    /* more than any host has; details are read of these */

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

	snprintf(bridge, sizeof(bridge), "%04x:%02x:01.0", index / 64, index % 64);
	snprintf(board, sizeof(board), "%04x:%02x:00.0", index / 64, 64 + index % 64);
	tree_add_bridge(tree, bridge, group);
	if (boards <= GPUS || index % (boards / GPUS) == 0)
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

int main(int argc, char **argv)
{
	unsigned long long functions = FUNCTIONS_DEFAULT, rounds = ROUNDS_DEFAULT;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = NULL;
	_cleanup_free_ double *wall = NULL, *processor = NULL;
	unsigned boards;
	bool keep = argc > 3 && strcmp(argv[3], "KEEP") == 0;
	int r;

	if ((argc > 1 && str_to_unsigned(argv[1], 10, FUNCTIONS_MAX, &functions) < 0) ||
	    (argc > 2 && str_to_unsigned(argv[2], 10, ROUNDS_MAX, &rounds) < 0) || rounds == 0) {
		fputs("Usage: bench-scan [FUNCTIONS [ROUNDS [KEEP]]]\n", stderr);
		return 2;
	}
	wall = calloc(rounds, sizeof(double));
	processor = calloc(rounds, sizeof(double));
	if (!wall || !processor)
		return 1;
	boards = (unsigned)functions / FUNCTIONS_A_BOARD;
	tree = sysfs_tree_new("/dev/shm");
	for (unsigned i = 0; i < boards; i++)
		add_board(tree, i, boards);
	r = measure(tree, wall, processor, rounds);
	if (keep) {
		printf("%s\n", tree->path);
		TAKE_PTR(tree);
	}
	return r < 0 ? 1 : 0;
}
