/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/reset.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/inspection.h"
#include "host/capabilities.h"
#include "host/sysfs.h"
#include "util/file.h"
#include "util/text.h"

/* Config space after a reset, in milliseconds between looks: the kernel has waited already. */
static const unsigned look_pauses[] = { 50, 100, 200, 400, 800 };

typedef struct Reset {
	const DriverOps *ops;
	int sysfs_fd;
	ResetReport *report;
	char *first_method; /* NULL: none, or the kernel does not tell (before 5.15) */
	bool can_reset;	    /* there is a `reset` */
} Reset;

static int end_with(Reset *reset, ResetResult result, int error)
{
	reset->report->result = result;
	reset->report->error = error;
	return 1;
}

static int read_line(const Reset *reset, const char *attribute, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(&reset->report->bdf, attribute);

	return path ? sysfs_line_if_any(reset->sysfs_fd, path, ret) : -ENOMEM;
}

static void facts_clear(FunctionFacts *facts)
{
	free(facts->serial_number);
	free(facts->link_speed);
	free(facts->link_speed_max);
}

/* -ENODEV when config space answers nothing but ones. Reading it resumes a sleeping device. */
static int look(const Reset *reset, ResetLook *into)
{
	_cleanup_(facts_clear) FunctionFacts facts = { .bdf = reset->report->bdf };
	int r = capabilities_read(reset->sysfs_fd, &facts);

	if (r < 0)
		return r;
	reset_look_clear(into);
	into->link_width = facts.link_width;
	into->link_speed = TAKE_PTR(facts.link_speed);
	r = read_line(reset, "power_state", &into->power_state);
	if (r == -ENOMEM)
		return r;
	return facts.config_all_ones ? -ENODEV : 0;
}

static int read_method(Reset *reset)
{
	_cleanup_free_ char *path = sysfs_function_path(&reset->report->bdf, "reset");
	_cleanup_free_ char *methods = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	reset->can_reset = faccessat(reset->sysfs_fd, path, F_OK, 0) == 0;
	r = read_line(reset, "reset_method", &methods);
	if (r < 0)
		return r;
	if (!methods)
		return 0;
	reset->first_method = strndup(methods, strcspn(methods, " "));
	if (!reset->first_method)
		return -ENOMEM;
	/* The operator may have switched all methods off; then the write gives ENOTTY. */
	if (str_is_empty(reset->first_method))
		reset->can_reset = false;
	return 0;
}

/* A method that reaches all functions of the bus. */
static bool hits_bus(const char *method)
{
	return str_equal(method, "bus") || str_equal(method, "cxl_bus");
}

/* 1: ended. The kernel refuses as well; this names it, and holds for stale methods. */
static int check_bus(Reset *reset)
{
	_cleanup_strv_ char **names = NULL;
	const Bdf *own = &reset->report->bdf;
	_cleanup_close_ int fd = -1;
	int r;

	if (!hits_bus(reset->first_method))
		return 0;
	r = dir_open_at(reset->sysfs_fd, SYSFS_PCI_DEVICES, false, &fd);
	if (r >= 0)
		r = dir_list(fd, "", &names);
	if (r < 0)
		return r;
	for (char **name = names; name && *name; name++) {
		Bdf other;

		if (sysfs_parse_bdf(*name, &other) >= 0 && other.segment == own->segment &&
		    other.bus == own->bus && other.device != own->device)
			return end_with(reset, RESET_REFUSED, -EXDEV);
	}
	return 0;
}

/* 1: ended. On a host driver a reset pulls the device from under it. */
static int check_driver(Reset *reset)
{
	_cleanup_free_ char *driver = NULL;
	int r = sysfs_read_driver(reset->sysfs_fd, &reset->report->bdf, &driver);

	if (r < 0)
		return r;
	if (driver && !strstr(driver, "vfio"))
		return end_with(reset, RESET_REFUSED, -EBUSY);
	return 0;
}

static int write_reset(Reset *reset)
{
	_cleanup_free_ char *path = sysfs_function_path(&reset->report->bdf, "reset");

	return path ? reset->ops->write(reset->ops->userdata, reset->sysfs_fd, path, "1") : -ENOMEM;
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

static int judge(Reset *reset, int written)
{
	ResetReport *report = reset->report;
	int r = look_until_it_answers(reset);

	if (r == -ENODEV)
		return end_with(reset, RESET_SILENT, 0);
	if (r < 0)
		return r;
	if (written == -ENOTTY && hits_bus(reset->first_method))
		return end_with(reset, RESET_NO_METHOD, 0);
	report->method = strdup(reset->first_method ? reset->first_method : "kernel default");
	if (!report->method)
		return -ENOMEM;
	if (written < 0)
		return end_with(reset, RESET_FAILED, written);
	if (reset_link_is_worse(&report->before, &report->after))
		return end_with(reset, RESET_LINK_WORSE, 0);
	return end_with(reset, RESET_DONE, 0);
}

/* Returns 1 when the report is made. */
static int run(Reset *reset)
{
	int r;

	r = check_driver(reset);
	if (r == 0)
		r = read_method(reset);
	if (r == 0)
		r = check_bus(reset);
	if (r != 0)
		return r;
	/* Silent already: a reset would only wait a minute for what is not there. */
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

int function_reset_with(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, ResetReport *ret)
{
	_cleanup_(reset_report_clear) ResetReport report = {
		.bdf = *bdf,
		.result = RESET_UNKNOWN,
	};
	Reset reset = { .ops = ops, .sysfs_fd = sysfs_fd, .report = &report };
	int r = run(&reset);

	free(reset.first_method);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		end_with(&reset, RESET_FAILED, r);
	*ret = report;
	report = (ResetReport){ 0 };
	return 0;
}

int function_reset(int sysfs_fd, const Bdf *bdf, ResetReport *ret)
{
	return function_reset_with(driver_real_ops(), sysfs_fd, bdf, ret);
}
