/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/*
 * The most of a processor that one input may take. The time on the clock says nothing beside a busy
 * machine, so libFuzzer's own -timeout= is only for what never ends.
 */
#define SECONDS_MAX 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t processor_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	uint64_t begun = processor_usec(), took;

	EXPECT(text);
	fuzz_one((const char *)data, size, text);
	took = processor_usec() - begun;
	if (took > SECONDS_MAX * UINT64_C(1000000)) {
		dprintf(2, "%zu bytes take %llu ms\n", size, (unsigned long long)took / 1000);
		abort();
	}
	return 0;
}

static char directory[] = "/tmp/gpupass-fuzz-XXXXXX";

static int remove_one(const char *path, _unused_ const struct stat *st, _unused_ int type,
		      _unused_ struct FTW *ftw)
{
	return remove(path);
}

static void remove_directory(void)
{
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_directory(int *ret_fd)
{
	static int fd = -1;

	if (fd < 0) {
		EXPECT(mkdtemp(directory));
		EXPECT(atexit(remove_directory) == 0);
		fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		EXPECT(fd >= 0);
	}
	*ret_fd = fd;
	return directory;
}

void fuzz_write(int dir_fd, const char *name, const char *bytes, size_t size)
{
	_cleanup_close_ int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	EXPECT(fd >= 0);
	EXPECT(write(fd, bytes, size) == (ssize_t)size);
}

uint8_t fuzz_byte(FuzzBytes *from)
{
	return from->at < from->end ? *from->at++ : 0;
}

uint64_t fuzz_number(FuzzBytes *from, size_t bytes)
{
	uint64_t number = 0;

	for (; bytes > 0; bytes--)
		number = number << 8 | fuzz_byte(from);
	return number;
}

char *fuzz_string(FuzzBytes *from, size_t max)
{
	size_t n = fuzz_byte(from) % (max + 1), left = (size_t)(from->end - from->at);
	char *text;

	if (n > left)
		n = left;
	text = strndup((const char *)from->at, n);
	EXPECT(text);
	from->at += n;
	return text;
}
