/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Doctor: answered late, from a thread, with the report as JSON. */
#include "bus/methods-doctor.h"

#include "bus/request.h"
#include "gpupass/dbus.h"

static const OptionSpec doctor_options[] = {
	OPTION(GPUPASS_OPTION_CAPTURE, 'b', capture),
	OPTION(GPUPASS_OPTION_SYMPTOM, 's', symptom),
};

static int check_symptom(const RequestOptions *options, const char *domain, DoctorSymptom *ret,
			 sd_bus_error *error)
{
	*ret = DOCTOR_SYMPTOM_MAX_;
	if (!options->symptom)
		return 0;
	if (doctor_symptom_from_string(options->symptom, ret) < 0)
		return invalid_argument(error, "there is no such symptom",
					"give no-nvlink, one-gpu, no-p2p or slow");
	if (*domain == '\0')
		return invalid_argument(error, "a symptom is of a domain", "name the domain, too");
	return 0;
}

int method_doctor(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(request_options_clear) RequestOptions options = { 0 };
	_cleanup_(pending_freep) Pending *pending = NULL;
	DoctorSymptom symptom;
	const char *domain;
	Face *f = userdata;
	int r;

	r = sd_bus_message_read(m, "s", &domain);
	if (r >= 0)
		r = options_read(m, doctor_options, ELEMENTS(doctor_options), &options, error);
	if (r >= 0)
		r = check_name(domain, "domain", true, error);
	if (r >= 0)
		r = check_symptom(&options, domain, &symptom, error);
	if (r >= 0 && options.capture && *domain)
		r = invalid_argument(error, "a capture is of the host as a whole",
				     "leave the domain out");
	if (r >= 0)
		r = begin_read(f, m, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	manager_doctor(f->manager,
		       &(ManagerDoctor){ .domain = *domain ? domain : NULL,
					 .symptom = symptom,
					 .capture = options.capture },
		       pending_answer, TAKE_PTR(pending));
	return 1;
}
