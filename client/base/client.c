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

static _printf_(2, 0) Failure *failure_vnew(GpupassError error, const char *format, va_list ap)
{
	_cleanup_free_ char *message = NULL;

	if (vasprintf(&message, format, ap) < 0) {
		message = NULL;
		return NULL;
	}
	return failure_new(error_name(error), error_exit_code(error_name(error)), message);
}

int client_error(Client *c, GpupassError error, const char *format, ...)
{
	Failure *failure;
	va_list ap;

	va_start(ap, format);
	failure = failure_vnew(error, format, ap);
	va_end(ap);
	return client_fail(c, failure);
}

int client_usage(Client *c, const char *format, ...)
{
	Failure *failure;
	va_list ap;

	va_start(ap, format);
	failure = failure_vnew(GPUPASS_ERROR_INVALID_ARGUMENT, format, ap);
	va_end(ap);
	if (failure)
		failure->plain = true;
	return client_fail(c, failure);
}

void client_forgive(Client *c)
{
	c->failure = failure_free(c->failure);
}
