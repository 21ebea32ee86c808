/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysfs-kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "host/scan/sysfs.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

static bool strike(unsigned *count)
{
	if (*count == 0)
		return false;
	(*count)--;
	return true;
}

/* The driver whose id table has this function; "": none has. */
static const char *natural_driver(int sysfs_fd, const Bdf *bdf)
{
	static const struct {
		const char *class, *driver;
	} drivers[] = {
		{ "0x0108", "nvme" },	     { "0x02", "mlx5_core" }, { "0x03", "nvidia" },
		{ "0x04", "snd_hda_intel" }, { "0x0c", "xhci_hcd" },
	};
	_cleanup_free_ char *text = NULL;

	(void)sysfs_read_attribute(sysfs_fd, bdf, "class", &text);
	for (size_t i = 0; text && i < ELEMENTS(drivers); i++)
		if (str_starts_with(text, drivers[i].class))
			return drivers[i].driver;
	return "";
}

static bool registered(int sysfs_fd, const char *driver)
{
	_cleanup_free_ char *path = strf(SYSFS_PCI_DRIVERS "/%s", driver);

	return *driver && faccessat(sysfs_fd, path, F_OK, 0) == 0;
}

/* With an override the function is that driver's only. */
static int driver_for(int sysfs_fd, const Bdf *bdf, char **ret)
{
	int r = sysfs_read_override(sysfs_fd, bdf, ret);

	if (r >= 0 && !*ret)
		*ret = xstrdup(natural_driver(sysfs_fd, bdf));
	return r;
}

/* The device's own directory is behind the link, at a depth of its own. */
static int attach(int sysfs_fd, const Bdf *bdf, const char *driver)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, NULL), *up = NULL, *to = NULL;
	_cleanup_free_ char *link = sysfs_function_path(bdf, "driver");
	char target[PATH_MAX] = "";

	if (readlinkat(sysfs_fd, path, target, sizeof(target) - 1) < 0)
		return -ENOENT;
	up = tree_way_up(strstr(target, "devices/"));
	to = strf("%s" SYSFS_PCI_DRIVERS "/%s", up, driver);
	return symlinkat(to, sysfs_fd, link) < 0 ? -errno : 0;
}

static int detach(int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *link = sysfs_function_path(bdf, "driver");

	return unlinkat(sysfs_fd, link, 0) < 0 ? -errno : 0;
}

static int rewrite(int dir_fd, const char *path, const char *text)
{
	int fd = openat(dir_fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		r = -EIO;
	close(fd);
	return r;
}

static int write_override(int sysfs_fd, const Bdf *bdf, const char *value)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "driver_override");
	_cleanup_free_ char *line =
		strf("%s\n", *value == '\0' || strcmp(value, "\n") == 0 ? "(null)" : value);

	return rewrite(sysfs_fd, path, line);
}

/* The driver's file goes with it: nv_pci_remove() ends in nv_procfs_remove_gpu(). */
static void lose_unbind_lock(SysfsKernel *kernel, const Bdf *bdf)
{
	_cleanup_free_ char *path =
		strf("%s/%s/unbindLock", str_or_empty(kernel->gpus_dir), BDF_TEXT(bdf));

	if (kernel->gpus_dir)
		(void)unlink(path);
}

/* Where it does not take, the write succeeds all the same. */
static int write_unbind_lock(SysfsKernel *kernel, int gpus_fd, const char *path, const char *value)
{
	return rewrite(gpus_fd, path,
		       strcmp(value, "1\n") == 0 && kernel->gpu_users > 0 ? "0\n" : value);
}

static int write_unbind(SysfsKernel *kernel, int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *driver = NULL;
	int r;

	r = sysfs_read_driver(sysfs_fd, bdf, &driver);
	if (r < 0)
		return r;
	if (!driver)
		return -ENODEV;
	r = detach(sysfs_fd, bdf);
	if (r < 0)
		return r;
	lose_unbind_lock(kernel, bdf);
	if (kernel->while_unbinding)
		kernel->while_unbinding(kernel->userdata);
	return strike(&kernel->stolen_unbinds) ? attach(sysfs_fd, bdf, driver) : 0;
}

/* To `wanted`, or when that is NULL to whichever driver matches. */
static int bind_function(SysfsKernel *kernel, int sysfs_fd, const Bdf *bdf, const char *wanted)
{
	_cleanup_free_ char *driver = NULL, *taker = NULL;
	int r;

	if (strike(&kernel->deferred_probes))
		return -EAGAIN;
	r = sysfs_read_driver(sysfs_fd, bdf, &driver);
	if (r < 0)
		return r;
	if (driver)
		return wanted ? -EBUSY : 0;
	if (strike(&kernel->busy_probes))
		return -EBUSY;
	if (strike(&kernel->stolen_probes))
		return attach(sysfs_fd, bdf, kernel->thief);
	if (strike(&kernel->deaf_probes))
		return 0;
	r = driver_for(sysfs_fd, bdf, &taker);
	if (r < 0)
		return r;
	if (wanted)
		return strcmp(taker, wanted) == 0 ? attach(sysfs_fd, bdf, wanted) : -ENODEV;
	return registered(sysfs_fd, taker) ? attach(sysfs_fd, bdf, taker) : 0;
}

/* bus/pci/devices/BDF/ATTRIBUTE */
static int write_device(SysfsKernel *kernel, int sysfs_fd, const char *rest, const char *value)
{
	char name[BDF_TEXT_MAX] = "";
	const char *slash = strchr(rest, '/');
	Bdf bdf, named;

	if (!slash || (size_t)(slash - rest) >= sizeof(name))
		return -ENOENT;
	memcpy(name, rest, (size_t)(slash - rest));
	if (sysfs_parse_bdf(name, &bdf) < 0 || !sysfs_has_function(sysfs_fd, &bdf))
		return -ENOENT;
	if (strcmp(slash + 1, "driver_override") == 0)
		return write_override(sysfs_fd, &bdf, value);
	if (strcmp(slash + 1, "reset") == 0)
		return kernel->while_resetting ? kernel->while_resetting(kernel->userdata) : 0;
	if (strcmp(slash + 1, "driver/unbind") != 0)
		return -ENOENT;
	if (sysfs_parse_bdf(value, &named) < 0 || !bdf_equal(&bdf, &named))
		return -ENODEV;
	return write_unbind(kernel, sysfs_fd, &bdf);
}

/* bus/pci/drivers/DRIVER/bind */
static int write_driver(SysfsKernel *kernel, int sysfs_fd, const char *rest, const Bdf *bdf)
{
	_cleanup_free_ char *driver = NULL;
	const char *slash = strchr(rest, '/');

	if (!slash || strcmp(slash, "/bind") != 0)
		return -ENOENT;
	driver = xstrndup(rest, (size_t)(slash - rest));
	return registered(sysfs_fd, driver) ? bind_function(kernel, sysfs_fd, bdf, driver)
					    : -ENOENT;
}

static int dispatch(SysfsKernel *kernel, int sysfs_fd, const char *path, const char *value)
{
	static const char devices[] = SYSFS_PCI_DEVICES "/", drivers[] = SYSFS_PCI_DRIVERS "/";
	Bdf bdf;

	if (str_starts_with(path, devices))
		return write_device(kernel, sysfs_fd, path + strlen(devices), value);
	if (str_ends_with(path, "/unbindLock"))
		return write_unbind_lock(kernel, sysfs_fd, path, value);
	/* Names of devices are compared as they are, but for one newline. */
	if (sysfs_parse_bdf(value, &bdf) < 0 || !sysfs_has_function(sysfs_fd, &bdf))
		return -ENODEV;
	if (strcmp(path, "bus/pci/drivers_probe") == 0)
		return bind_function(kernel, sysfs_fd, &bdf, NULL);
	if (str_starts_with(path, drivers))
		return write_driver(kernel, sysfs_fd, path + strlen(drivers), &bdf);
	return -ENOENT;
}

static int kernel_write(void *userdata, int sysfs_fd, const char *path, const char *value)
{
	SysfsKernel *kernel = userdata;
	const char *name = strrchr(path, '/') + 1;

	strv_appendf(&kernel->writes, "%s %s", name,
		     strcmp(value, "\n") == 0	 ? "\\n"
		     : strcmp(value, "0\n") == 0 ? "0"
		     : strcmp(value, "1\n") == 0 ? "1"
						 : value);
	if (kernel->failing_path && str_ends_with(path, kernel->failing_path))
		return kernel->failing_error;
	return dispatch(kernel, sysfs_fd, path, value);
}

static void kernel_wait(void *userdata, unsigned milliseconds)
{
	SysfsKernel *kernel = userdata;

	kernel->waited += milliseconds;
	if (kernel->while_waiting)
		kernel->while_waiting(kernel->userdata);
}

static int kernel_hot_reset(void *userdata, int sysfs_fd _unused_, const Bdf *functions, size_t n)
{
	SysfsKernel *kernel = userdata;
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < n; i++)
		strv_append(&names, BDF_TEXT(&functions[i]));
	text = strv_join(names, ",");
	strv_appendf(&kernel->writes, "hot reset %s", text);
	return kernel->while_resetting ? kernel->while_resetting(kernel->userdata) : 0;
}

DriverOps sysfs_kernel_ops(SysfsKernel *kernel)
{
	return (DriverOps){
		.write = kernel_write,
		.wait = kernel_wait,
		.hot_reset = kernel_hot_reset,
		.gpus_dir = kernel->gpus_dir,
		.userdata = kernel,
	};
}

void sysfs_kernel_clear(SysfsKernel *kernel)
{
	kernel->writes = strv_free(kernel->writes);
}
