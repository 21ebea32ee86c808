/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/client.h"

#include <stdarg.h>

#include "base/text.h"

int client_fail(Client *c, Failure *failure)
{
	failure_free(c->failure);
	c->failure = failure;
	return -ECANCELED;
}

static _printf_(3, 0) int fail(Client *c, GpupassError error, const char *format, va_list ap)
{
	_cleanup_free_ char *message = vstrf(format, ap);
	const char *name = error_name(error);

	return client_fail(c, failure_new(name, error_exit_code(name), message));
}

int client_error(Client *c, GpupassError error, const char *format, ...)
{
	va_list ap;
	int r;

	va_start(ap, format);
	r = fail(c, error, format, ap);
	va_end(ap);
	return r;
}

int client_usage(Client *c, const char *format, ...)
{
	va_list ap;
	int r;

	va_start(ap, format);
	r = fail(c, GPUPASS_ERROR_INVALID_ARGUMENT, format, ap);
	va_end(ap);
	c->failure->plain = true;
	return r;
}

void client_forgive(Client *c)
{
	c->failure = failure_free(c->failure);
	json_decref(c->failed_job);
	c->failed_job = NULL;
}
