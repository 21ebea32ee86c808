/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of a running domain: attaching one, and detaching it.
 *
 * Hot-unplug is a request to the guest. libvirt's reply to the call says little: it comes after at
 * most five seconds, and is "success" even when the guest has not reacted. Events say when to check
 * the live XML, which decides.
 *
 * A thread of its own makes the call, because the call waits for as long as QEMU's monitor does not
 * answer, and our caller has a deadline. A thread that never returns from libvirt is left behind.
 */
#include <time.h>

#include "core/base/problem.h"
#include "core/domain/xml.h"
#include "host/libvirt/call.h"
#include "host/libvirt/libvirt.h"
#include "host/libvirt/virt.h"
#include "util/bdf.h"
#include "util/clock.h"
#include "util/mutex.h"
#include "util/text.h"
#include "util/thread.h"
#include "util/xalloc.h"

#define IDLE_PAUSE_NSEC 50000000L

/* ---- what a running domain has of a function, as its live XML says ---- */

/* All false for a domain that does not run, or no longer exists. */
typedef struct LiveDevice {
	bool running;
	bool present;
	bool acpi;   /* the guest can hear of a hotplug */
	char *alias; /* libvirt's name of the device; NULL: none */
} LiveDevice;

LOCAL_CLEAR(LiveDevice, live_device_clear)

/* Fills in what the live XML says of the function. */
static int find_live(const char *xml, const Bdf *function, LiveDevice *into, Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *parsed = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	const DomainHostdev *hostdev;
	int r = domain_use_from_xml(xml, NULL, &use, ret_problem);

	if (r != 0)
		return r;
	r = domain_xml_parse(xml, &parsed, ret_problem);
	if (r != 0)
		return r;
	into->acpi = domain_xml_sees_hotplug(parsed);
	hostdev = domain_use_hostdev(&use, function);
	into->present = hostdev != NULL;
	into->alias = hostdev ? xstrdup(hostdev->alias) : NULL;
	return 0;
}

static int live_device(const VirtCall *call, virDomainPtr domain, const Bdf *function,
		       LiveDevice *ret, Problem **ret_problem)
{
	_cleanup_(live_device_clear) LiveDevice device = { 0 };
	const char *name = virt_domain_name(domain);
	_cleanup_free_ char *xml = NULL;
	int active, r;

	active = virDomainIsActive(domain);
	if (active > 0)
		xml = virDomainGetXMLDesc(domain, 0);
	if ((active < 0 || (active > 0 && !xml)) && !virt_error_is_no_domain())
		return virt_read_problem(call, name, ret_problem);
	if (xml) {
		device.running = true;
		r = find_live(xml, function, &device, ret_problem);
		if (r != 0)
			return r;
	}
	*ret = device;
	device = (LiveDevice){ 0 };
	return 0;
}

/* ---- attach ---- */

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
	int r = hostdev_function(hostdev_xml, &function, ret_problem);

	if (r != 0)
		return r;
	r = virt_call_begin_on(virt, uuid, &call, &domain, ret_problem);
	if (r != 0)
		return r;
	name = virt_domain_name(domain);
	r = live_device(&call, domain, &function, &device, ret_problem);
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

/* ---- detach ---- */

/* The waiting caller and the calling thread share it; the last one frees it. */
typedef struct Detach {
	Virt *virt;
	DeviceWait wait; /* the caller's */
	Bdf function;
	uint64_t generation; /* the caller's: the connection that its last look used */
	/* Guarded by virt->lock: */
	unsigned refs;
	bool answered;
	int result;	  /* of the call: 0, PROBLEM or -errno */
	Problem *problem; /* of the call */
} Detach;

static void detach_unref(Detach *detach)
{
	Virt *virt = detach->virt;
	bool last;

	pthread_mutex_lock(&virt->lock);
	last = --detach->refs == 0;
	pthread_mutex_unlock(&virt->lock);
	if (last) {
		problem_free(detach->problem);
		free(detach->wait.device);
		free(detach);
	}
	virt_release(virt);
}

/* --- the thread that asks --- */

/*
 * By host address, not by alias: libvirt may give "hostdev0" to another device once this one has
 * gone. Integers only, so nothing needs quoting.
 */
static char *hostdev_xml(const Bdf *function)
{
	return strf("<hostdev mode='subsystem' type='pci'><source>"
		    "<address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'/>"
		    "</source></hostdev>",
		    function->segment, function->bus, function->device, function->function);
}

static int ask(Virt *virt, const char *uuid, const Bdf *function, Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	_cleanup_domain_ virDomainPtr domain = NULL;
	_cleanup_free_ char *xml = hostdev_xml(function);
	const char *name;
	int r = virt_call_begin_on(virt, uuid, &call, &domain, ret_problem);

	if (r != 0)
		return r;
	name = virt_domain_name(domain);
	if (virDomainDetachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE) < 0)
		return virt_problem(&call, ret_problem, GPUPASS_ERROR_DETACH_TIMEOUT,
				    "domain %s does not let go of %s", name, BDF_TEXT(function));
	return 0;
}

static void *ask_main(void *userdata)
{
	Detach *detach = userdata;
	Virt *virt = detach->virt;
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = ask(virt, detach->wait.uuid, &detach->function, &problem);

	pthread_mutex_lock(&virt->lock);
	detach->answered = true;
	detach->result = r;
	detach->problem = TAKE_PTR(problem);
	detach->wait.news = true;
	pthread_cond_broadcast(&virt->changed);
	pthread_mutex_unlock(&virt->lock);
	detach_unref(detach);
	return NULL;
}

/*
 * Takes the alias on success. Enlists the wait before the request is made, so that no event is
 * lost.
 */
static int detach_start(Virt *virt, const char uuid[VIR_UUID_STRING_BUFLEN], const Bdf *function,
			char **alias, Detach **ret)
{
	Detach *detach = xcalloc(1, sizeof(*detach));
	pthread_t thread;
	int r;

	detach->virt = virt;
	detach->function = *function;
	detach->refs = 2;
	memcpy(detach->wait.uuid, uuid, sizeof(detach->wait.uuid));
	detach->wait.device = TAKE_PTR(*alias);
	virt_hold(virt);
	virt_hold(virt);
	pthread_mutex_lock(&virt->lock);
	detach->generation = virt->generation;
	pthread_mutex_unlock(&virt->lock);
	virt_wait_enlist(virt, &detach->wait);
	r = thread_start(&thread, ask_main, detach, true);
	if (r < 0) {
		virt_wait_dismiss(virt, &detach->wait);
		detach->refs--; /* those of the thread, and its hold on Virt */
		virt_release(virt);
		detach_unref(detach);
		return r;
	}
	*ret = detach;
	return 0;
}

/* --- the caller, who waits --- */

typedef struct View {
	char uuid[VIR_UUID_STRING_BUFLEN]; /* in the form that events use */
	char *name;
	LiveDevice device;
} View;

LOCAL_CLEAR(View, view_clear)
#include "device.inc"

/*
 * An attach goes on in libvirtd after its caller has died (an earlier daemon): until it has ended,
 * the live XML lacks the device that the guest is about to have. Reading XML does not wait for it.
 * Drivers that do not report this (test:///) have nothing to wait for either.
 */
static void wait_until_idle(virDomainPtr domain, uint64_t deadline)
{
	const struct timespec pause = { .tv_nsec = IDLE_PAUSE_NSEC };
	virDomainControlInfo info;

	while (virDomainGetControlInfo(domain, &info, 0) == 0 &&
	       (info.state == VIR_DOMAIN_CONTROL_JOB ||
		info.state == VIR_DOMAIN_CONTROL_OCCUPIED) &&
	       now_monotonic() < deadline)
		nanosleep(&pause, NULL);
	virResetLastError();
}

/*
 * Makes a call of its own, because the connection may be another one by now. Waits until the
 * deadline for other clients' calls. 0: does not wait, for use while our own call is at work.
 */
static int look(Virt *virt, const char *uuid, const Bdf *function, uint64_t deadline, View *ret,
		Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	_cleanup_domain_ virDomainPtr domain = NULL;
	_cleanup_free_ char *name = NULL;
	int r = virt_call_begin_on(virt, uuid, &call, &domain, ret_problem);

	if (r != 0)
		return r;
	name = xstrdup(virt_domain_name(domain));
	if (virDomainGetUUIDString(domain, ret->uuid) < 0)
		return virt_read_problem(&call, name, ret_problem);
	wait_until_idle(domain, deadline);
	r = live_device(&call, domain, function, &ret->device, ret_problem);
	if (r != 0)
		return r;
	ret->name = TAKE_PTR(name);
	return 0;
}

/* The call failed for a permanent reason; a lost connection is not one. */
static bool call_refused(const Detach *detach)
{
	if (!detach->answered || detach->result == 0)
		return false;
	return detach->result < 0 || detach->problem->error != GPUPASS_ERROR_LIBVIRT_UNAVAILABLE;
}

/*
 * Waits for a reason to look at the live XML. Returns true if that look is the last: the deadline
 * has passed, the guest or libvirt has refused, or Virt is being freed. A lost connection is not a
 * reason to look; a new connection is.
 */
static bool wait_for_news(Detach *detach, uint64_t deadline)
{
	Virt *virt = detach->virt;
	MUTEX_HOLD(&virt->lock);

	while (!detach->wait.news && !virt->stopping && now_monotonic() < deadline &&
	       !(virt->link == LINK_UP && virt->generation != detach->generation))
		virt_wait(virt, deadline);
	detach->wait.news = false;
	detach->generation = virt->generation;
	return virt->stopping || detach->wait.refused || call_refused(detach) ||
	       now_monotonic() >= deadline;
}

/* Why the device is still there, as far as events and the live XML show. */
static int guest_problem(const Detach *detach, const View *view, bool refused, uint64_t timeout,
			 Problem **ret_problem)
{
	char bdf[BDF_TEXT_MAX];

	bdf_format(&detach->function, bdf);
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_DETACH_TIMEOUT,
		.reason = strf("domain %s does not let go of %s", view->name, bdf),
		.cause =
			refused ? strf("the guest refused to let go of %s", bdf)
				: strf("%s is still there after %.1f s: %s", bdf,
				       (double)timeout / USEC_PER_SEC,
				       view->device.acpi
					       ? "the guest has not answered; a driver in it may be using it"
					       : "the domain has no <acpi/> in its <features>, and without it "
						 "a guest cannot hear of an unplug"),
		.state = refused ? NULL
				 : strf("the guest was asked to let go of %s and may still do so",
					bdf),
		.remedy = strf("stop what uses the GPU in the guest and try again, or shut %s down",
			       view->name));
}

/* The device is still there, and the wait is over. */
static int still_there(Detach *detach, const View *view, uint64_t timeout, Problem **ret_problem)
{
	bool refused;
	int r = 0;

	pthread_mutex_lock(&detach->virt->lock);
	refused = detach->wait.refused;
	if (!refused && call_refused(detach)) {
		r = detach->result;
		if (r == PROBLEM)
			*ret_problem = TAKE_PTR(detach->problem);
	}
	pthread_mutex_unlock(&detach->virt->lock);
	if (r == 0)
		return guest_problem(detach, view, refused, timeout, ret_problem);
	if (r < 0)
		return r;
	return problem_remedy(*ret_problem, "shut %s down, and release the group then", view->name);
}

static int wait_until_gone(Detach *detach, uint64_t timeout, uint64_t deadline,
			   Problem **ret_problem)
{
	for (;;) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_(view_clear) View view = { 0 };
		bool last;
		int r;

		last = wait_for_news(detach, deadline);
		r = look(detach->virt, detach->wait.uuid, &detach->function, 0, &view, &problem);
		if (r < 0)
			return r;
		if (r == PROBLEM && problem->error == GPUPASS_ERROR_NO_SUCH_DOMAIN)
			return 0; /* a transient domain that ended */
		if (r == PROBLEM && problem->error == GPUPASS_ERROR_LIBVIRT_UNAVAILABLE && !last)
			continue;
		if (r == PROBLEM) {
			problem_state(problem, "the guest was asked to let go of %s",
				      BDF_TEXT(&detach->function));
			*ret_problem = TAKE_PTR(problem);
			return PROBLEM;
		}
		if (!view.device.present)
			return 0;
		if (last)
			return still_there(detach, &view, timeout, ret_problem);
	}
}

int virt_domain_detach(Virt *virt, const char *uuid, const Bdf *function, uint64_t timeout_usec,
		       Problem **ret_problem)
{
	_cleanup_(view_clear) View view = { 0 };
	uint64_t now = now_monotonic();
	uint64_t deadline = timeout_usec < UINT64_MAX - now ? now + timeout_usec : UINT64_MAX;
	Detach *detach;
	int r = look(virt, uuid, function, deadline, &view, ret_problem);

	if (r != 0)
		return r;
	if (!view.device.present)
		return 0;
	r = detach_start(virt, view.uuid, function, &view.device.alias, &detach);
	if (r < 0)
		return r;
	r = wait_until_gone(detach, timeout_usec, deadline, ret_problem);
	virt_wait_dismiss(virt, &detach->wait);
	detach_unref(detach);
	virt_known_changed(virt, uuid);
	return r;
}
