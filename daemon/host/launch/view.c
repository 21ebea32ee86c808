/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/view.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/file.h"

#define DEVICES_MAX 65536U

/* FNV-1a, 64 bits: these are no secrets, and nobody gains by two that are alike. */
#define FNV_BASIS 0xcbf29ce484222325U
#define FNV_PRIME 0x100000001b3U

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ byte[i]) * FNV_PRIME;
	return hash;
}

/* A bind mount stays with the inode that it was made of. A number of an inode may be used again. */
static uint64_t mix_mounted(uint64_t hash, const char *root, const char *path)
{
	char whole[PATH_MAX];
	struct stat st;
	int n = snprintf(whole, sizeof(whole), "%s/%s", root, path);
	uint64_t seen[4] = { 0 };

	if (n > 0 && (size_t)n < sizeof(whole) && stat(whole, &st) == 0) {
		seen[0] = (uint64_t)st.st_dev;
		seen[1] = (uint64_t)st.st_ino;
		seen[2] = (uint64_t)st.st_ctim.tv_sec;
		seen[3] = (uint64_t)st.st_ctim.tv_nsec;
	}
	return mix(hash, seen, sizeof(seen));
}

/* DeviceAllow=char-nvidia* is made into numbers when the unit starts. */
static uint64_t mix_majors(uint64_t hash, const char *proc)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	size_t size = 0;
	int n = snprintf(path, sizeof(path), "%s/devices", proc);

	if (n < 0 || (size_t)n >= sizeof(path) ||
	    file_read_at(AT_FDCWD, path, DEVICES_MAX, &text, &size) < 0)
		return hash;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (strstr(line, "nvidia"))
			hash = mix(hash, line, strlen(line) + 1);
	return hash;
}

uint64_t view_of_prober(const char *root, const char *proc)
{
	uint64_t hash = FNV_BASIS;

	hash = mix_mounted(hash, root, "etc/ld.so.cache");
	hash = mix_mounted(hash, root, "etc/alternatives");
	hash = mix_mounted(hash, root, "run/nvidia-persistenced");
	return mix_majors(hash, proc);
}
