/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaching a function to a running domain. */
#include <string.h>

#include "core/domain/xml.h"
#include "host/libvirt/call.h"
#include "host/libvirt/error.h"
#include "host/libvirt/known.h"
#include "host/libvirt/libvirt.h"
#include "host/libvirt/live.h"
#include "host/libvirt/lookup.h"
#include "util/text.h"

/*
 * The function of a <hostdev>, which must have exactly one. Reads it as part of a domain, so that
 * core/domain/xml.h reads it as it reads all others.
 */
static int hostdev_function(const char *hostdev_xml, Bdf *ret, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *why = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_free_ char *text = NULL;
	int r;

	text = strf("<domain><name>-</name><uuid>00000000-0000-0000-0000-000000000000</uuid>"
		    "<devices>%s</devices></domain>",
		    hostdev_xml);
	r = domain_use_from_xml(text, NULL, &use, &why);
	if (r < 0)
		return r;
	if (r == PROBLEM || use.n_hostdevs != 1)
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				   "the device to attach is not one PCI hostdev");
	*ret = use.hostdevs[0].bdf;
	return 0;
}

/*
 * QEMU has a device of that id that libvirt does not know. A libvirtd was killed after QEMU had
 * taken the device (qemuMonitorAddDevice() in qemuDomainAttachHostPCIDevice()), and before it was
 * in the domain's status file. libvirt reads that file when it starts, and so can no longer name
 * the device: only the end of QEMU removes it.
 */
static bool libvirt_forgot_it(void)
{
	const virError *error = virGetLastError();

	return error && error->message && strstr(error->message, "Duplicate device ID");
}

static int forgotten_problem(const VirtCall *call, const char *name, const Bdf *function,
			     Problem **ret_problem)
{
	int r = virt_problem(
		call, ret_problem, GPUPASS_ERROR_ATTACH_FAILED,
		"the guest of %s has %s already, and libvirt does not know of it: libvirtd was "
		"killed while it attached it",
		name, BDF_TEXT(function));

	return r != PROBLEM
		       ? r
		       : problem_remedy(*ret_problem, "shut %s down: its devices go with it", name);
}

static int attach_problem(const VirtCall *call, const char *name, const Bdf *function,
			  Problem **ret_problem)
{
	int r;

	if (libvirt_forgot_it())
		return forgotten_problem(call, name, function, ret_problem);
	r = virt_problem(call, ret_problem, GPUPASS_ERROR_ATTACH_FAILED,
			 "libvirt refuses to attach %s to domain %s", BDF_TEXT(function), name);
	if (r == PROBLEM && (*ret_problem)->error == GPUPASS_ERROR_LIBVIRT_UNAVAILABLE)
		problem_state(
			*ret_problem,
			"libvirt went away while it attached %s; the domain's XML shows whether "
			"it did",
			BDF_TEXT(function));
	return r;
}

int virt_domain_attach(Virt *virt, const char *uuid, const char *hostdev_xml, Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	_cleanup_domain_ virDomainPtr domain = NULL;
	_cleanup_(live_device_clear) LiveDevice device = { 0 };
	const char *name;
	Bdf function;
	int r;

	r = hostdev_function(hostdev_xml, &function, ret_problem);
	if (r != 0)
		return r;
	r = virt_call_begin_on(virt, uuid, &call, &domain, ret_problem);
	if (r != 0)
		return r;
	name = virt_domain_name(domain);
	r = virt_live_device(&call, domain, &function, &device, ret_problem);
	if (r != 0)
		return r;
	if (device.present)
		return 0;
	if (!device.running)
		return problem_set(ret_problem, GPUPASS_ERROR_ATTACH_FAILED,
				   "domain %s is not running", name);
	if (virDomainAttachDeviceFlags(domain, hostdev_xml, VIR_DOMAIN_AFFECT_LIVE) < 0)
		r = attach_problem(&call, name, &function, ret_problem);
	virt_known_changed(virt, uuid);
	return r;
}
