/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was counted since the start: numbers without names of callers or domains, open to all. */
#include "bus/methods-metrics.h"

#include "bus/request.h"

int method_get_metrics(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	Face *f = userdata;
	_cleanup_free_ char *text = NULL;
	int r;

	r = options_read(m, NULL, 0, NULL, error);
	if (r < 0)
		return r;
	text = manager_metrics(f->manager, f->refusals.denied, f->refusals.limited);
	return sd_bus_reply_method_return(m, "s", text);
}
