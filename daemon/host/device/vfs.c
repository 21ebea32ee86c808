/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/vfs.h"

#include <fcntl.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"

#define NUMVFS "sriov_numvfs"
/*
 * drivers/pci/pci-driver.c, pci_device_can_probe(): with 0 only a driver_override makes a driver
 * take a VF. The kernel's own choice is 1.
 */
#define AUTOPROBE "sriov_drivers_autoprobe"

typedef struct Nic {
	const DriverOps *ops;
	int sysfs_fd;
	const Bdf *bdf;
} Nic;

static int read_number(const Nic *nic, unsigned *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(nic->bdf, NUMVFS), *text = NULL;
	_cleanup_free_ char *folder = sysfs_function_path(nic->bdf, NULL);
	unsigned long long number;
	int r = file_read_line_at(nic->sysfs_fd, path, &text);

	if (r == -ENOENT && faccessat(nic->sysfs_fd, folder, F_OK, 0) == 0)
		return -EOPNOTSUPP;
	if (r >= 0)
		r = str_to_unsigned(text, 10, UINT16_MAX, &number);
	if (r >= 0)
		*ret = (unsigned)number;
	return r;
}

static int write_attribute(const Nic *nic, const char *name, const char *value)
{
	_cleanup_free_ char *path = sysfs_function_path(nic->bdf, name);

	return nic->ops->write(nic->ops->userdata, nic->sysfs_fd, path, value);
}

/* Without a driver that can, the kernel says ENOENT (sriov_numvfs_store() in drivers/pci/iov.c). */
static int write_number(const Nic *nic, unsigned number)
{
	_cleanup_free_ char *text = strf("%u", number);
	int r = write_attribute(nic, NUMVFS, text);

	return r == -ENOENT ? -EOPNOTSUPP : r;
}

/* To end a VF waits for its driver, and vfio's for whoever has it open. */
static int check_unused(const Nic *nic, unsigned number)
{
	for (unsigned i = 0; i < number; i++) {
		_cleanup_free_ char *name = strf("virtfn%u/driver", i), *driver = NULL;
		_cleanup_free_ char *path = sysfs_function_path(nic->bdf, name);
		int r = sysfs_link_name_if_any(nic->sysfs_fd, path, &driver);

		if (r < 0 || driver)
			return r < 0 ? r : -EBUSY;
	}
	return 0;
}

static int change_number(const Nic *nic, unsigned now, unsigned number)
{
	int r = check_unused(nic, now);

	if (r >= 0)
		r = write_attribute(nic, AUTOPROBE, "0");
	/* From one number to another the kernel goes by 0 only. */
	if (r >= 0 && now > 0)
		r = write_number(nic, 0);
	return r >= 0 && number > 0 ? write_number(nic, number) : r;
}

int vfs_set(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, unsigned number, bool autoprobe,
	    unsigned *ret_number)
{
	const Nic nic = { ops, sysfs_fd, bdf };
	unsigned now = 0;
	int r = read_number(&nic, &now);

	if (r >= 0 && now != number)
		r = change_number(&nic, now, number);
	if (r >= 0 && autoprobe)
		r = write_attribute(&nic, AUTOPROBE, "1");
	if (read_number(&nic, ret_number) < 0)
		*ret_number = 0;
	return r >= 0 && *ret_number != number ? -EIO : r;
}
