/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/driver.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <time.h>

#include "core/facts/persistence.h"
#include "core/pci/driver-name.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * Pauses before another try, in milliseconds. They are long enough for a deferred probe's
 * dependency or for udev to finish, and short beside a reset. The later ones are for a user that
 * had the device open through vfio until now: its process first lets go of the device, then unpins
 * its memory, which takes time, and only then gives back the IOMMU group. Until then no other
 * driver can bind (__vfio_group_detach_container(), iommu_device_use_default_domain()).
 */
static const unsigned retry_pauses[] = { 50, 100, 200, 400, 800, 1600, 3200 };
#define RETRIES 3U

typedef struct Move {
	const DriverOps *ops;
	int sysfs_fd;
	const DriverTarget *target;
	const char *override_while_binding;
	DriverResult *result;
} Move;

static int fail(Move *move, DriverPhase phase, int error)
{
	move->result->phase = phase;
	return error;
}

static int write_attribute(Move *move, const char *path, const char *value)
{
	int r = move->ops->write(move->ops->userdata, move->sysfs_fd, path, value);

	if (r >= 0)
		move->result->changed = true;
	return r;
}

static int write_function_attribute(Move *move, const char *attribute, const char *value)
{
	_cleanup_free_ char *path = sysfs_function_path(&move->target->bdf, attribute);

	return write_attribute(move, path, value);
}

/* Reads before and after: skips a write that is not needed, and notices one that did not hold. */
static int set_override(Move *move, const char *override)
{
	for (bool written = false;; written = true) {
		_cleanup_free_ char *now = NULL;
		int r;

		r = sysfs_read_override(move->sysfs_fd, &move->target->bdf, &now);
		if (r < 0)
			return fail(move, DRIVER_PHASE_OVERRIDE, r);
		if (str_equal(now, override))
			return 0;
		if (written)
			return fail(move, DRIVER_PHASE_OVERRIDE, -EBUSY);
		/* An empty write would be no write at all; a lone newline clears. */
		r = write_function_attribute(move, "driver_override", override ? override : "\n");
		if (r < 0)
			return fail(move, DRIVER_PHASE_OVERRIDE, r);
	}
}

static int driver_registered(int sysfs_fd, const char *driver)
{
	_cleanup_free_ char *path = strf(SYSFS_PCI_DRIVERS "/%s", driver);

	if (faccessat(sysfs_fd, path, F_OK, 0) == 0)
		return 0;
	return errno == ENOENT ? -ENODEV : -errno;
}

/*
 * Reads the function, and decides whether anything must be done: 1 when it is already as wanted.
 * Notices here that a driver is missing, before the old one is unbound for nothing.
 */
static int holds_already(Move *move)
{
	const DriverTarget *target = move->target;
	_cleanup_free_ char *driver = NULL, *override = NULL;
	int r;

	if ((target->driver && !driver_name_valid(target->driver)) ||
	    (target->driver_override && !driver_override_valid(target->driver_override)))
		return -EINVAL;
	r = sysfs_read_driver(move->sysfs_fd, &target->bdf, &driver);
	if (r < 0)
		return r;
	r = sysfs_read_override(move->sysfs_fd, &target->bdf, &override);
	if (r < 0)
		return r;
	if (!str_equal(driver, target->driver))
		return target->driver ? driver_registered(move->sysfs_fd, target->driver) : 0;
	return str_equal(override, target->driver_override) ? 1 : 0;
}

/* 1 or 0: as the driver says. -ENOENT: no vGPU host, or another driver has the function. */
static int read_unbind_lock(int gpus_fd, const char *path)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_line_at(gpus_fd, path, &text);

	return r < 0 ? r : str_equal(text, "1");
}

/*
 * The driver takes the lock when the file is closed, and only while nobody uses the GPU; the write
 * succeeds either way, so that only a read tells (nv_procfs_close_unbind_lock() in NVIDIA's
 * kernel-open/nvidia/nv-procfs.c). While it is on, the GPU cannot be opened. Unbinding drops it.
 */
static int set_unbind_lock(Move *move, bool on)
{
	_cleanup_free_ char *path = strf("%s/unbindLock", BDF_TEXT(&move->target->bdf));
	_cleanup_close_ int gpus_fd = -1;
	int r;

	if (!move->ops->gpus_dir)
		return 0;
	gpus_fd = open(move->ops->gpus_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = gpus_fd < 0 ? -errno : read_unbind_lock(gpus_fd, path);
	if (r >= 0 && r != on) {
		r = move->ops->write(move->ops->userdata, gpus_fd, path, on ? "1\n" : "0\n");
		if (r >= 0)
			r = read_unbind_lock(gpus_fd, path);
	}
	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = r == on ? 0 : -EBUSY;
	return r < 0 ? fail(move, DRIVER_PHASE_LOCK, r) : 0;
}

static int unbind(Move *move)
{
	int r = set_unbind_lock(move, true);

	if (r < 0)
		return r;
	r = write_function_attribute(move, "driver/unbind", BDF_TEXT(&move->target->bdf));

	/* Another program unbound it between our read and our write; the next read decides. */
	if (r == -ENOENT || r == -ENODEV)
		return 0;
	return r < 0 ? fail(move, DRIVER_PHASE_UNBIND, r) : 0;
}

/*
 * drivers_probe goes by the override. Without an override it would let every driver try, so bind by
 * name.
 */
static int probe(Move *move)
{
	const char *driver = move->target->driver;
	_cleanup_free_ char *path = NULL;
	char bdf[BDF_TEXT_MAX];

	bdf_format(&move->target->bdf, bdf);
	if (str_equal(move->override_while_binding, driver))
		return write_attribute(move, "bus/pci/drivers_probe", bdf);
	path = strf(SYSFS_PCI_DRIVERS "/%s/bind", driver);
	return write_attribute(move, path, bdf);
}

/* Compares what the driver link says now with what it should say. */
static int verify(Move *move)
{
	_cleanup_free_ char *driver = NULL;
	int r = sysfs_read_driver(move->sysfs_fd, &move->target->bdf, &driver);

	if (r < 0)
		return fail(move, DRIVER_PHASE_VERIFY, r);
	if (str_equal(driver, move->target->driver))
		return 0;
	return fail(move, DRIVER_PHASE_VERIFY, driver ? -EBUSY : -ENXIO);
}

static int try_once(Move *move)
{
	int r, probed = 0;

	r = verify(move);
	if (r == 0)
		return 0;
	if (r == -EBUSY) { /* another driver has it */
		if (move->target->never_unbind)
			return r;
		r = unbind(move);
		if (r < 0)
			return r;
	} else if (r != -ENXIO) {
		return r;
	}
	if (move->target->driver)
		probed = probe(move);
	r = verify(move);
	/*
	 * The probe's own error says more than "no driver". If udev was faster, a bind returns
	 * -EBUSY, and it matters only which driver udev bound.
	 */
	return r == -ENXIO && probed < 0 ? fail(move, DRIVER_PHASE_PROBE, probed) : r;
}

static bool is_for_vfio(const Move *move)
{
	return sysfs_on_vfio(move->sysfs_fd, &move->target->bdf, move->target->driver);
}

/* The highest number of tries. */
static size_t retries_for(const Move *move, int error)
{
	const DriverResult *result = move->result;

	if (result->phase == DRIVER_PHASE_PROBE)
		return error == -EAGAIN			       ? RETRIES
		       : error == -EBUSY && !is_for_vfio(move) ? ELEMENTS(retry_pauses)
							       : 0;
	if (error == -EBUSY && move->target->never_unbind)
		return 0;
	/* drivers_probe hides a deferred probe, which therefore also looks like "no driver". */
	return result->phase == DRIVER_PHASE_VERIFY && (error == -ENXIO || error == -EBUSY)
		       ? RETRIES
		       : 0;
}

static int change_driver(Move *move)
{
	for (size_t i = 0;; i++) {
		int r = try_once(move);

		if (r == 0 || i >= retries_for(move, r))
			return r;
		move->ops->wait(move->ops->userdata, retry_pauses[i]);
	}
}

/* Takes the lock before the first write, so that a GPU in use is left as it was. */
static int lock_for_unbind(Move *move)
{
	_cleanup_free_ char *driver = NULL;
	int r;

	if (move->target->never_unbind)
		return 0;
	r = sysfs_read_driver(move->sysfs_fd, &move->target->bdf, &driver);
	if (r < 0)
		return fail(move, DRIVER_PHASE_READ, r);
	return str_equal(driver, NVIDIA_DRIVER) && !str_equal(driver, move->target->driver)
		       ? set_unbind_lock(move, true)
		       : 0;
}

/*
 * The function stays with nvidia, or came back to it: somebody who was cut off may have left the
 * lock on, and then nobody can open the GPU.
 */
static void let_go_of_lock(Move *move)
{
	DriverResult kept = *move->result;

	(void)set_unbind_lock(move, false);
	*move->result = kept;
}

/*
 * vfio-pci also takes a device that does not wake up: it ignores the result of
 * pci_set_power_state() (vfio_pci_core_register_device() in drivers/vfio/pci/vfio_pci_core.c). A
 * read of config space wakes a device that sleeps in D3cold. If the device stays asleep, or is
 * gone, the read returns all ones. A VF's ids are all ones in any case, and not what follows them:
 * command and status.
 */
static int check_answers(Move *move)
{
	_cleanup_free_ char *path = sysfs_function_path(&move->target->bdf, "config");
	_cleanup_close_ int fd = -1;
	uint64_t ids = UINT64_MAX;

	fd = openat(move->sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &ids, sizeof(ids)) > 0 && ids == UINT64_MAX)
		return fail(move, DRIVER_PHASE_VERIFY, -ENODEV);
	return 0;
}

static int run(Move *move)
{
	int r = holds_already(move);

	if (r != 0)
		return r < 0 ? fail(move, DRIVER_PHASE_READ, r) : 0;
	r = lock_for_unbind(move);
	if (r >= 0)
		r = set_override(move, move->override_while_binding);
	if (r < 0)
		return r;
	r = change_driver(move);
	if (r >= 0 && is_for_vfio(move))
		r = check_answers(move);
	if (r < 0)
		return r;
	return set_override(move, move->target->driver_override);
}

int driver_set_override(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, const char *override)
{
	DriverTarget target = { .bdf = *bdf };
	DriverResult result = { 0 };
	Move move = { .ops = ops, .sysfs_fd = sysfs_fd, .target = &target, .result = &result };

	return set_override(&move, override);
}

void driver_move_with(const DriverOps *ops, int sysfs_fd, const DriverTarget *target,
		      DriverResult *ret)
{
	DriverResult result = { 0 };
	Move move = {
		.ops = ops,
		.sysfs_fd = sysfs_fd,
		.target = target,
		.override_while_binding = target->driver_override,
		.result = &result,
	};

	if (target->driver && !str_equal(target->driver, target->driver_override))
		move.override_while_binding = NULL;
	result.error = run(&move);
	if (!target->never_unbind)
		let_go_of_lock(&move);
	if (result.error == 0)
		result.phase = DRIVER_PHASE_READ; /* of an earlier try */
	/*
	 * Also after a failure, because the caller must know where the function is. Best effort;
	 * NULL when it has vanished.
	 */
	sysfs_read_driver(sysfs_fd, &target->bdf, &result.driver);
	sysfs_read_override(sysfs_fd, &target->bdf, &result.driver_override);
	*ret = result;
}

static int write_sysfs(void *userdata _unused_, int sysfs_fd, const char *path, const char *value)
{
	return file_write_exact_at(sysfs_fd, path, value);
}

static void wait_monotonic(void *userdata _unused_, unsigned milliseconds)
{
	struct timespec left = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = (long)(milliseconds % 1000) * 1000000,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

/* ---- resetting a slot through vfio ---- */

/* A slot has at most 8 functions, so no bus with one board can have more than this. */
#define AFFECTED_MAX 64U

typedef struct HotReset {
	int container;
	int device;
	int groups[8]; /* open files, one an IOMMU group */
	int numbers[8];
	size_t n_groups;
} HotReset;

static void hot_reset_done(HotReset *h)
{
	/*
	 * Closes the device before its group, and the group before its container: the kernel resets
	 * a function once more when the last user of its bus closes it (vfio_pci_core_disable()).
	 */
	close_fd(h->device);
	for (size_t i = 0; i < h->n_groups; i++)
		close_fd(h->groups[i]);
	close_fd(h->container);
}

static int read_iommu_group(int sysfs_fd, const Bdf *bdf, int *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "iommu_group");
	_cleanup_free_ char *name = NULL;
	unsigned long long number;
	int r = file_link_name_at(sysfs_fd, path, &name);

	if (r < 0)
		return r;
	if (str_to_unsigned(name, 10, INT32_MAX, &number) < 0)
		return -EBADMSG;
	*ret = (int)number;
	return 0;
}

/* The container's IOMMU can be chosen only once it has a group. */
static int add_group(HotReset *h, int vfio_fd, int number)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	_cleanup_close_ int fd = -1;
	char name[16];

	if (SOME_OF(h->numbers, h->n_groups, it == number))
		return 0;
	if (h->n_groups == ELEMENTS(h->groups))
		return -E2BIG;
	snprintf(name, sizeof(name), "%d", number);
	fd = openat(vfio_fd, name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, VFIO_GROUP_GET_STATUS, &status) < 0)
		return -errno;
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		return -EPERM;
	if (ioctl(fd, VFIO_GROUP_SET_CONTAINER, &h->container) < 0)
		return -errno;
	if (h->n_groups == 0 && ioctl(h->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
		return -errno;
	h->numbers[h->n_groups] = number;
	h->groups[h->n_groups++] = TAKE_FD(fd);
	return 0;
}

static int open_groups(HotReset *h, int sysfs_fd, int vfio_fd, const Bdf *functions, size_t n)
{
	h->container = openat(vfio_fd, "vfio", O_RDWR | O_CLOEXEC);
	if (h->container < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		int number = -1;
		int r = read_iommu_group(sysfs_fd, &functions[i], &number);

		if (r >= 0)
			r = add_group(h, vfio_fd, number);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The first group that was opened has the leading function. */
static int open_device(HotReset *h, const Bdf *lead)
{
	h->device = ioctl(h->groups[0], VFIO_GROUP_GET_DEVICE_FD, BDF_TEXT(lead));
	return h->device < 0 ? -errno : 0;
}

/* The kernel would refuse as well; this check makes sure, and names the function. */
static int check_affected(const HotReset *h, const Bdf *functions, size_t n)
{
	_cleanup_free_ struct vfio_pci_hot_reset_info *info = NULL;
	size_t size = sizeof(*info) + AFFECTED_MAX * sizeof(info->devices[0]);

	info = xcalloc(1, size);
	info->argsz = (uint32_t)size;
	if (ioctl(h->device, VFIO_DEVICE_GET_PCI_HOT_RESET_INFO, info) < 0)
		return errno == ENODEV ? -EOPNOTSUPP : errno == ENOSPC ? -EXDEV : -errno;
	for (uint32_t i = 0; i < info->count && i < AFFECTED_MAX; i++) {
		const Bdf other = {
			.segment = info->devices[i].segment,
			.bus = info->devices[i].bus,
			.device = info->devices[i].devfn >> 3,
			.function = info->devices[i].devfn & 7,
		};

		if (!bdf_in(&other, functions, n))
			return -EXDEV;
	}
	return 0;
}

static int reset(const HotReset *h)
{
	_cleanup_free_ struct vfio_pci_hot_reset *request = NULL;
	size_t size = sizeof(*request) + h->n_groups * sizeof(request->group_fds[0]);

	request = xcalloc(1, size);
	request->argsz = (uint32_t)size;
	request->count = (uint32_t)h->n_groups;
	for (size_t i = 0; i < h->n_groups; i++)
		request->group_fds[i] = h->groups[i];
	return ioctl(h->device, VFIO_DEVICE_PCI_HOT_RESET, request) < 0 ? -errno : 0;
}

/*
 * The reset of a whole slot through vfio, for boards whose functions have no reset of their own. A
 * display function and its audio share a bus, and the kernel's `reset` does not reset a bus for one
 * of several functions (drivers/pci/pci.c, pci_parent_bus_reset(): ENOTTY). vfio does it for a
 * process that has the IOMMU groups of all of them (VFIO_DEVICE_PCI_HOT_RESET). QEMU does the same
 * when a guest starts; here the caller learns whether it worked.
 *
 * All functions of the slot are given, the leading one first. Opens their IOMMU groups below
 * /dev/vfio meanwhile. The kernel may wait a minute for the device.
 *
 *   -ENOENT   no vfio for one of them: not on a vfio driver, or no IOMMU
 *   -EBUSY    a process, such as a guest, has one of the groups open
 *   -EXDEV    the reset would reach a function that was not given
 *   -EPERM    an IOMMU group is not viable: a host driver has another function of it
 *   -EOPNOTSUPP   the kernel cannot reset this slot either
 *   others    errors of the kernel
 */
static int vfio_hot_reset(void *userdata _unused_, int sysfs_fd, const Bdf *functions, size_t n)
{
	_cleanup_close_ int vfio_fd = open("/dev/vfio", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(hot_reset_done) HotReset h = { .container = -1, .device = -1 };
	int r;

	if (vfio_fd < 0)
		return -errno;
	if (n == 0)
		return -EINVAL;
	r = open_groups(&h, sysfs_fd, vfio_fd, functions, n);
	if (r >= 0)
		r = open_device(&h, &functions[0]);
	if (r >= 0)
		r = check_affected(&h, functions, n);
	return r >= 0 ? reset(&h) : r;
}

const DriverOps *driver_real_ops(void)
{
	static const DriverOps ops = {
		.write = write_sysfs,
		.wait = wait_monotonic,
		.hot_reset = vfio_hot_reset,
	};

	return &ops;
}
