/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/reset.h"

#include <fcntl.h>

#include "host/device/config-space.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * Pauses between reads of config space after a reset, in milliseconds: the kernel has already
 * waited.
 */
static const unsigned look_pauses[] = { 50, 100, 200, 400, 800 };

/* A slot's functions have three bits. */
#define SLOT_FUNCTIONS 8

typedef struct Reset {
	const DriverOps *ops;
	int sysfs_fd;
	ResetReport *report;
	char *first_method; /* NULL: none, or the kernel has no such attribute (before 5.15) */
	bool can_reset;	    /* there is a `reset` */
} Reset;

static int end_with(Reset *reset, ResetResult result, int error)
{
	reset->report->result = result;
	reset->report->error = error;
	return 1;
}

/* -ENODEV when config space reads all ones. Reading it resumes a sleeping device. */
static int look(const Reset *reset, ResetLook *into)
{
	PcieConfig config = { 0 };

	config_space_read(reset->sysfs_fd, &reset->report->bdf, &config);
	reset_look_clear(into);
	into->link_width = config.width;
	into->link_speed = xstrdup(pcie_speed_name(config.speed));
	(void)sysfs_read_attribute(reset->sysfs_fd, &reset->report->bdf, "power_state",
				   &into->power_state);
	return config.all_ones ? -ENODEV : 0;
}

static int read_method(Reset *reset)
{
	_cleanup_free_ char *path = sysfs_function_path(&reset->report->bdf, "reset");
	_cleanup_free_ char *methods = NULL;
	int r;

	reset->can_reset = faccessat(reset->sysfs_fd, path, F_OK, 0) == 0;
	r = sysfs_read_attribute(reset->sysfs_fd, &reset->report->bdf, "reset_method", &methods);
	if (r < 0)
		return r;
	if (!methods)
		return 0;
	reset->first_method = xstrndup(methods, strcspn(methods, " "));
	/*
	 * The operator may have switched all methods off; then the write returns ENOTTY. The kernel
	 * tries the first method first, so one that does not count is not tried at all.
	 */
	if (str_is_empty(reset->first_method) || !reset_method_counts(reset->first_method))
		reset->can_reset = false;
	return 0;
}

/* A method that reaches all functions of the bus. */
static bool hits_bus(const char *method)
{
	return str_equal(method, "bus") || str_equal(method, "cxl_bus");
}

/*
 * Fills `ret` with the first n functions of the slot, in order. 1: the reset has ended, because a
 * board of another slot is on the bus. The kernel refuses as well; this check names the board, and
 * also covers stale methods.
 */
static int read_bus(Reset *reset, Bdf ret[SLOT_FUNCTIONS], size_t *ret_n)
{
	_cleanup_strv_ char **names = NULL;
	const Bdf *own = &reset->report->bdf;
	size_t n = 0;
	int r = dir_list_at(reset->sysfs_fd, SYSFS_PCI_DEVICES, "", &names);

	if (r < 0)
		return r;
	for (char **name = names; name && *name; name++) {
		Bdf other;

		if (sysfs_parse_bdf(*name, &other) < 0 || other.segment != own->segment ||
		    other.bus != own->bus)
			continue;
		if (other.device != own->device)
			return end_with(reset, RESET_REFUSED, -EXDEV);
		if (n < SLOT_FUNCTIONS)
			ret[n++] = other;
	}
	*ret_n = n;
	return 0;
}

static int check_bus(Reset *reset)
{
	Bdf slot[SLOT_FUNCTIONS];
	size_t n;

	return hits_bus(reset->first_method) ? read_bus(reset, slot, &n) : 0;
}

/* 1: the reset has ended. On a host driver a reset would pull the device from under the driver. */
static int check_driver(Reset *reset, const Bdf *bdf)
{
	_cleanup_free_ char *driver = NULL;
	int r = sysfs_read_driver(reset->sysfs_fd, bdf, &driver);

	if (r < 0)
		return r;
	if (driver && !sysfs_on_vfio(reset->sysfs_fd, bdf, driver))
		return end_with(reset, RESET_REFUSED, -EBUSY);
	return 0;
}

static int write_reset(Reset *reset)
{
	_cleanup_free_ char *path = sysfs_function_path(&reset->report->bdf, "reset");

	return reset->ops->write(reset->ops->userdata, reset->sysfs_fd, path, "1");
}

static int look_until_it_answers(Reset *reset)
{
	for (size_t i = 0;; i++) {
		int r = look(reset, &reset->report->after);

		if (r != -ENODEV || i == ELEMENTS(look_pauses))
			return r;
		reset->ops->wait(reset->ops->userdata, look_pauses[i]);
	}
}

/* The device answers; `error` is the kernel's result of the reset. */
static int judge_outcome(Reset *reset, const char *method, int error)
{
	ResetReport *report = reset->report;

	report->method = xstrdup(method);
	if (error < 0)
		return end_with(reset, RESET_FAILED, error);
	if (reset_link_is_worse(&report->before, &report->after))
		return end_with(reset, RESET_LINK_WORSE, 0);
	return end_with(reset, RESET_DONE, 0);
}

static int judge(Reset *reset, int written)
{
	int r = look_until_it_answers(reset);

	if (r == -ENODEV)
		return end_with(reset, RESET_SILENT, 0);
	if (r < 0)
		return r;
	if (written == -ENOTTY && hits_bus(reset->first_method))
		return end_with(reset, RESET_NO_METHOD, 0);
	return judge_outcome(reset, reset->first_method ? reset->first_method : "kernel default",
			     written);
}

/* Returns 1 when the report is made. */
static int run(Reset *reset)
{
	int r = check_driver(reset, &reset->report->bdf);

	if (r == 0)
		r = read_method(reset);
	if (r == 0)
		r = check_bus(reset);
	if (r != 0)
		return r;
	/* It is silent already: a reset would only wait a minute for a device that is not there. */
	r = look(reset, &reset->report->before);
	if (r == -ENODEV)
		return end_with(reset, RESET_SILENT, 0);
	if (r < 0)
		return r;
	if (reset->can_reset)
		return judge(reset, write_reset(reset));
	r = look(reset, &reset->report->after);
	return r < 0 ? r : end_with(reset, RESET_NO_METHOD, 0);
}

/* 1: the reset has ended. */
static int check_slot(Reset *reset, Bdf slot[SLOT_FUNCTIONS], size_t *ret_n)
{
	int r = read_bus(reset, slot, ret_n);

	for (size_t i = 0; r == 0 && i < *ret_n; i++)
		r = check_driver(reset, &slot[i]);
	if (r != 0)
		return r;
	/* vfio is asked through the IOMMU group of the leading function. */
	return *ret_n > 0 && bdf_equal(&slot[0], &reset->report->bdf) ? 0 : -ENODEV;
}

/* -ENODEV: one of the other functions no longer answers. */
static int look_at_others(const Reset *reset, const Bdf *slot, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		ResetReport report = { .bdf = slot[i], .result = RESET_UNKNOWN };
		Reset other = *reset;
		int r;

		other.report = &report;
		r = look_until_it_answers(&other);
		reset_report_clear(&report);
		if (r < 0)
			return r;
	}
	return 0;
}

static int run_slot(Reset *reset)
{
	Bdf slot[SLOT_FUNCTIONS];
	size_t n = 0;
	int r, done = -ENOENT;

	r = check_slot(reset, slot, &n);
	if (r != 0)
		return r;
	r = look(reset, &reset->report->before);
	if (r == -ENODEV)
		return end_with(reset, RESET_SILENT, 0);
	if (r < 0)
		return r;
	if (reset->ops->hot_reset)
		done = reset->ops->hot_reset(reset->ops->userdata, reset->sysfs_fd, slot, n);
	r = look_until_it_answers(reset);
	if (r == 0)
		r = look_at_others(reset, slot, n);
	if (r == -ENODEV)
		return end_with(reset, RESET_SILENT, 0);
	if (r < 0)
		return r;
	/*
	 * Without vfio's groups, or if the kernel cannot do it either: the same as without a
	 * method.
	 */
	if (done == -ENOENT || done == -EOPNOTSUPP)
		return end_with(reset, RESET_NO_METHOD, 0);
	return judge_outcome(reset, "slot", done);
}

static void tell(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, int (*reset_it)(Reset *reset),
		 ResetReport *ret)
{
	ResetReport report = { .bdf = *bdf, .result = RESET_UNKNOWN };
	Reset reset = { .ops = ops, .sysfs_fd = sysfs_fd, .report = &report };
	int r = reset_it(&reset);

	free(reset.first_method);
	if (r < 0)
		end_with(&reset, RESET_FAILED, r);
	*ret = report;
}

void function_reset_with(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, ResetReport *ret)
{
	tell(ops, sysfs_fd, bdf, run, ret);
}

void slot_reset_with(const DriverOps *ops, int sysfs_fd, const Bdf *lead, ResetReport *ret)
{
	tell(ops, sysfs_fd, lead, run_slot, ret);
}
