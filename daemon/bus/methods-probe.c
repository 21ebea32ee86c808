/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Methods about the links themselves: looking, and what was seen. */
#include "bus/methods-probe.h"

#include "bus/start-job.h"
#include "gpupass/dbus.h"

static const OptionSpec probe_options[] = {
	OPTION(GPUPASS_OPTION_MMIO, 'b', mmio),
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
};

int method_probe(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(request_options_clear) RequestOptions options = { 0 };
	JobRequest request;
	int r;

	r = options_read(m, probe_options, ELEMENTS(probe_options), &options, error);
	if (r >= 0)
		r = check_timeout(&options, error);
	if (r < 0)
		return r;
	request = request_from(userdata, OPERATION_PROBE, &options);
	request.mmio = options.mmio;
	return start_job(userdata, m, GPUPASS_ACTION_PROBE, &request, error);
}

int method_get_evidence(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	Face *f = userdata;
	const Inventory *inventory = manager_inventory(f->manager);
	_cleanup_free_ char *report = NULL;
	int r;

	r = options_read(m, NULL, 0, NULL, error);
	if (r < 0)
		return r;
	if (!inventory)
		return -EAGAIN; /* the name is not taken before there is one */
	report = evidence_report(manager_evidence(f->manager), inventory->gpus,
				 manager_assignments(f->manager));
	return sd_bus_reply_method_return(m, "s", report);
}
