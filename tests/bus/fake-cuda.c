/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcuda.so.1 of four boards that are memory of this process, for verify's program. The last one is
 * another group's, and must not be used. What GPUPASS_FAKE_CUDA says of the way from board 0 to
 * board 1: "ok"; "none"; "error"; "hang"; "lost": writes go to a mirror, as between two boards of
 * NVIDIA/nccl issue 2335.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that are looked up by name have no header here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define BOARDS 4
#define SIZE (4U << 18)

static struct Board {
	unsigned char memory[SIZE], mirror[SIZE];
} boards[BOARDS];
static long current = -1, peer = -1;

static int is(const char *what)
{
	const char *mode = getenv("GPUPASS_FAKE_CUDA");

	return mode && strcmp(mode, what) == 0;
}

int cuInit(unsigned flags)
{
	const char *mps = getenv("CUDA_MPS_PIPE_DIRECTORY");

	/* A server that listens there would be a tenant's. */
	return flags || !mps || strcmp(mps, "/nonexistent") != 0 ? 1 : 0;
}

int cuDeviceGetCount(int *ret)
{
	*ret = BOARDS;
	return 0;
}

int cuDeviceGet(int *ret, int i)
{
	*ret = i;
	return 0;
}

int cuDeviceGetPCIBusId(char *text, int size, int device)
{
	return snprintf(text, (size_t)size, "0000:%02X:00.0", 0x0a + device) < size ? 0 : 1;
}

int cuDevicePrimaryCtxRetain(void **ret, int device)
{
	*ret = (void *)(intptr_t)(device + 1);
	return device == BOARDS - 1 ? 2 : 0;
}

int cuCtxSetCurrent(void *context)
{
	current = (long)(intptr_t)context - 1;
	return 0;
}

int cuMemAlloc_v2(uint64_t *ret, size_t size)
{
	*ret = (uint64_t)(uintptr_t)boards[current].memory;
	return size == SIZE ? 0 : 2;
}

int cuModuleLoadData(void **ret, const char *ptx)
{
	*ret = strstr(ptx, ".visible .entry fill(") ? (void *)ptx : NULL;
	return *ret ? 0 : 218;
}

int cuModuleGetFunction(void **ret, void *module, const char *name)
{
	*ret = module;
	return strcmp(name, "fill") == 0 ? 0 : 500;
}

int cuDeviceCanAccessPeer(int *ret, int from, int to)
{
	*ret = !(is("none") && from == 0 && to == 1);
	return 0;
}

int cuMemsetD32_v2(uint64_t memory, unsigned value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy((unsigned char *)(uintptr_t)memory + 4 * i, &value, 4);
	return (unsigned char *)(uintptr_t)memory == boards[current].memory ? 0 : 700;
}

int cuCtxSynchronize(void)
{
	return 0;
}

int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
	peer = (long)(intptr_t)context - 1;
	return flags || peer == current ? 1 : 0;
}

int cuCtxDisablePeerAccess(void *context)
{
	int r = peer == (long)(intptr_t)context - 1 ? 0 : 705;

	peer = -1;
	return r;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra)
{
	unsigned char *to = (unsigned char *)*(uintptr_t *)arguments[0];
	unsigned seed = *(unsigned *)arguments[1];

	if (!function || y * z * by * bz != 1 || shared || stream || extra || peer < 0 ||
	    to != boards[peer].memory || x * bx * 4 != SIZE)
		return 1;
	if (current == 0 && peer == 1 && is("error"))
		return 719;
	while (current == 0 && peer == 1 && is("hang"))
		(void)0;
	if (current == 0 && peer == 1 && is("lost"))
		to = boards[peer].mirror;
	for (unsigned i = 0; i < x * bx; i++) {
		unsigned value = seed + i;

		memcpy(to + 4 * (size_t)i, &value, 4);
	}
	return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size)
{
	if ((unsigned char *)(uintptr_t)from != boards[current].memory)
		return 1;
	memcpy(to, boards[current].memory, size);
	return 0;
}
