/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/bar0.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "host/scan/sysfs.h"
#include "util/text.h"

#define CONFIG_COMMAND 4
#define COMMAND_MEMORY 0x2

static int is_awake(int sysfs_fd, const Bdf *bdf, const char **ret_why)
{
	_cleanup_free_ char *state = NULL;
	int r = sysfs_read_attribute(sysfs_fd, bdf, "power_state", &state);

	if (r < 0)
		return r;
	if (str_equal(state, "D0"))
		return 0;
	*ret_why = "it is asleep, and is not woken for this";
	return -ENODATA;
}

static int decodes_memory(int sysfs_fd, const Bdf *bdf, const char **ret_why)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "config");
	_cleanup_close_ int fd = -1;
	uint8_t command[2];

	fd = openat(sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, command, sizeof(command), CONFIG_COMMAND) != sizeof(command)) {
		*ret_why = "its config space cannot be read";
		return -ENODATA;
	}
	if (command[0] == 0xff && command[1] == 0xff) {
		*ret_why = "its config space reads all ones";
		return -ENODATA;
	}
	if (!(command[0] & COMMAND_MEMORY)) {
		*ret_why = "it does not decode memory: no driver has enabled it";
		return -ENODATA;
	}
	return 0;
}

int bar0_open(int sysfs_fd, const Bdf *bdf, off_t min_size, int *ret_fd, const char **ret_why)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "resource0");
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r = is_awake(sysfs_fd, bdf, ret_why);

	if (r >= 0)
		r = decodes_memory(sysfs_fd, bdf, ret_why);
	if (r < 0)
		return r;
	fd = openat(sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < min_size) {
		*ret_why = "its BAR 0 is too small to have these registers";
		return -ENODATA;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

const char *bar0_error(int r)
{
	return r == -EPERM ? "the kernel does not permit it, as one in lockdown does not: see "
			     "/sys/kernel/security/lockdown"
			   : strerror(-r);
}

int bar0_map(int fd, size_t size, off_t offset, const volatile uint32_t **ret)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}
