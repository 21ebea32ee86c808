/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of who else uses the GPUs: drivers, processes, other tools, libvirt past gpupass. */

#include "core/checks/checks.h"
#include "core/domain/ref.h"
#include "core/setup/driver-release.h"
#include "core/setup/setup-files.h"
#include "util/xalloc.h"

/* Driver versions known to hang on what gpupass does. `from` and `to` are included. */
static const struct KnownBad {
	const char *from, *to;
	const char *what;
	const char *source;
} known_bad[] = {
	{ "595.45", "610.57.04",
	  "unbind unlists a GPU before its users have closed it, and then waits for ever",
	  "NVIDIA/open-gpu-kernel-modules issues 1119 and 1374" },
	{ "595.71.05", "595.71.05",
	  "on H100 NVL pairs NVML calls hang for ever after a CUDA process has ended",
	  "NVIDIA/open-gpu-kernel-modules issue 1333" },
};

static void check_driver_version(const Checks *c, Finding *f)
{
	const char *version = c->facts->host->nvidia_version;

	if (!version && strv_contains(c->facts->host->modules, "nvidia")) {
		finding_unknown(f, NULL, "the nvidia driver does not report its version");
		return;
	}
	if (!version) {
		finding_skip(f, "the nvidia driver is not loaded");
		return;
	}
	EACH (const struct KnownBad, bad, known_bad, ELEMENTS(known_bad)) {
		if (setup_compare_versions(version, bad->from) < 0 ||
		    setup_compare_versions(version, bad->to) > 0)
			continue;
		finding_warn(f, NULL, "%s: %s (%s)", version, bad->what, bad->source);
		finding_remedy(f,
			       "stop everything that uses the GPUs before assign, or keep them on "
			       "vfio-pci from boot (gpupass bind GROUP --persist, or assign, then "
			       "reboot); or use another version");
	}
	if (f->status != FINDING_SKIPPED)
		return;
	if (release_wait_can_end(version) == RELEASE_YES)
		finding_pass(f, "%s: no hang is known of it", version);
	else
		finding_unknown(f, NULL, "%s: gpupass's table does not reach this version",
				version);
}

static bool is_on_nvidia(const Checks *c, const PciFunction *function)
{
	const FunctionFacts *facts = checks_function(c, &function->bdf);

	return str_equal(facts ? facts->driver : function->driver, NVIDIA_DRIVER);
}

/* "0000:41:00.0, 0000:61:00.0"; NULL: none is. */
static char *on_nvidia(const Checks *c)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < c->n_functions; i++)
		if (is_on_nvidia(c, c->functions[i]))
			strv_append(&addresses, BDF_TEXT(&c->functions[i]->bdf));
	return addresses ? strv_join(addresses, ", ") : NULL;
}

/*
 * No holder shows: nvidia-modeset has the GPUs in use without a file. A GPU on nvidia that it has
 * not taken (it came after nvidia_drm) looks the same, and is told, too.
 */
static void check_nvidia_drm(const Checks *c, Finding *f)
{
	const char *version = c->facts->inspection->nvidia_version;
	_cleanup_free_ char *cause = NULL, *held = NULL;

	if (!c->facts->inspection->nvidia_modeset)
		return;
	held = on_nvidia(c);
	if (!held || release_frees_modeset(version) == RELEASE_YES) {
		finding_pass(f, "it runs with modeset=1, and keeps no GPU from leaving nvidia");
		return;
	}
	cause = release_modeset_cause(version);
	finding_warn(f, NULL, RELEASE_MODESET_REASON);
	finding_remedy(f, RELEASE_MODESET_REMEDY);
	finding_warn(f, NULL, "%s: %s", held, cause);
	finding_remedy(f, RELEASE_MODESET_REMEDY);
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, RELEASE_MODESET_REASON);
}

/* By its unit, not by a name that any process can take. It lets go when it is asked. */
static bool is_persistenced(const char *line)
{
	return str_starts_with(line, "nvidia-persiste (") &&
	       strstr(line, "unit nvidia-persistenced.service)");
}

static void check_services(const Checks *c, Finding *f)
{
	bool fabric_wanted = c->facts->gpus->n_nvswitches > 0;
	_cleanup_free_ char *held = on_nvidia(c);

	for (char **line = c->facts->host->services; line && *line; line++) {
		bool fabric = str_starts_with(*line, "nv-fabricmanage");

		if (fabric && !fabric_wanted) {
			finding_warn(
				f, NULL,
				"%s runs, but there is no NVSwitch: bridged GPUs do not need it",
				*line);
			finding_remedy(f, "systemctl disable --now nvidia-fabricmanager");
		} else if (held && is_persistenced(*line)) {
			finding_pass(f,
				     "%s keeps GPUs initialised; assign makes it let go of those "
				     "that leave nvidia, by nvidia-smi",
				     *line);
		} else if (!fabric && held) {
			finding_warn(f, NULL,
				     "%s runs and holds GPUs that are on nvidia: assign is refused",
				     *line);
			finding_remedy(
				f, "stop it before assign (systemctl stop); then start it again "
				   "for the remaining GPUs");
		}
	}
	checks_need_read(c, "processes", f);
}

bool checks_is_service(const Holder *holder)
{
	return holder->command && (str_starts_with(holder->command, "nvidia-persiste") ||
				   str_starts_with(holder->command, "nv-hostengine") ||
				   str_starts_with(holder->command, "dcgm"));
}

static bool runs_in_domain(const Checks *c, const Bdf *bdf)
{
	const DomainUse *use;
	size_t position = 0;

	while (c->facts->uses && (use = domain_uses_holding(c->facts->uses, bdf, &position)))
		if (use->active)
			return true;
	position = 0;
	while (c->facts->uses && (use = domain_uses_unread(c->facts->uses, &position)))
		if (use->active)
			return true; /* that domain may have the function */
	return false;
}

/* Usually there is nothing to mend, but the operator must know. */
static void tell_unseen(const Inspection *inspection, Finding *f)
{
	_cleanup_strv_ char **lines = NULL;

	inspection_tell_unseen(inspection, &lines);
	for (char **line = lines; line && *line; line++)
		finding_warn(f, NULL, "%s", *line);
	if (lines)
		finding_remedy(f, "look at that process: if it holds a GPU unseen, the driver can "
				  "wait for it without a limit");
}

static bool is_only_guest(const Checks *c, pid_t pid)
{
	return !SOME(c->facts->inspection->holders, c->facts->inspection->n_holders,
		     it->vfio && it->pid != pid && checks_have(c, &it->bdf));
}

/*
 * A write to a function whose vfio group is open kills the guest that runs on it. So nothing is
 * touched, no matter whose guest it is.
 */
static void tell_guest(const Checks *c, const Holder *holder, const char *text, Finding *f)
{
	bool ours = assignments_find_function(c->facts->assignments, &holder->bdf);

	if (!c->facts->uses || runs_in_domain(c, &holder->bdf))
		finding_pass(f, "%s", text);
	else
		finding_warn(f, BDF_TEXT(&holder->bdf), "%s: a guest that libvirt does not know of",
			     text);
	finding_remedy(f, ours ? "shut that guest down, or detach the functions from it"
			       : "shut that guest down");
	if (!c->facts->detaches || !is_only_guest(c, holder->pid))
		finding_bars(f, ours ? GPUPASS_ERROR_HOST_IN_USE : GPUPASS_ERROR_FOREIGN_OWNER,
			     ours ? "a guest runs on it"
				  : "a guest that gpupass does not know runs on it");
}
/* The row of the services tells of theirs. */
static void tell_process(const Checks *c, const Holder *holder, const char *text, Finding *f)
{
	if (checks_is_service(holder)) {
		finding_pass(f, "%s", text);
	} else {
		finding_warn(f, BDF_TEXT(&holder->bdf), "%s", text);
	}
	if (!checks_gpu_of(c, &holder->bdf))
		finding_remedy(f, "stop it");
	finding_remedy(f, "stop it before assign: the driver waits for it without a limit; DCGM is "
			  "a service to be stopped (nvidia-dcgm), and so is nvidia-persistenced "
			  "where it does not let go when nvidia-smi asks it");
	if (!c->facts->gives_back)
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, "processes of the host use it");
}

/* It opens every GPU on nvidia, and no holder shows until then; see claim() in job/probe.c. */
static void check_probe(const Checks *c, Finding *f)
{
	pid_t pid = c->facts->inspection->probe_worker;
	_cleanup_free_ char *held = pid > 0 && !c->facts->gives_back ? on_nvidia(c) : NULL;
	_cleanup_free_ char *reason =
		strf("worker %d of an earlier probe still waits in NVML", (int)pid);

	if (!held)
		return;
	finding_warn(
		f, NULL,
		"%s: NVML opens every GPU of the nvidia driver, and one that is open when it is "
		"unbound hangs the driver",
		reason);
	finding_remedy(f,
		       "wait for it, or end it (kill %d), then try again; see gpupassd(8), "
		       "EVIDENCE",
		       (int)pid);
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NULL);
}

static void check_holders(const Checks *c, Finding *f)
{
	const Inspection *inspection = c->facts->inspection;

	/* Guests first: that one runs is the better reason. */
	for (int vfio = 1; vfio >= 0; vfio--)
		EACH (const Holder, holder, inspection->holders, inspection->n_holders) {
			_cleanup_free_ char *text = NULL;

			if (holder->vfio != vfio || holder->lets_go ||
			    !checks_have(c, &holder->bdf))
				continue;
			text = holder_text(holder);
			if (vfio)
				tell_guest(c, holder, text, f);
			else
				tell_process(c, holder, text, f);
		}
	check_probe(c, f);
	tell_unseen(inspection, f);
}

static void check_override(const FunctionFacts *facts, Finding *f)
{
	const char *bdf = BDF_TEXT(&facts->bdf);

	if (!facts->driver_override || function_facts_override_is_vfio(facts))
		return;
	finding_warn(f, bdf, "%s has somebody else's driver_override: %s", bdf,
		     facts->driver_override);
	finding_remedy(f, "find who set it (driverctl list-overrides), and clear it");
	finding_bars(f, GPUPASS_ERROR_DRIVER_CONFLICT, NULL);
}

/* Nobody can list the drivers of all NICs. These give a device to programs, or to nobody. */
static bool is_usual_of_companion(const FunctionFacts *facts)
{
	static const char *const others[] = { "pci-stub", "uio_pci_generic", "igb_uio",
					      "xen-pciback" };

	return !SOME_OF(others, ELEMENTS(others), str_equal(facts->driver, it));
}

static void check_function_driver(const Checks *c, const FunctionFacts *facts, Finding *f)
{
	const char *bdf = BDF_TEXT(&facts->bdf);
	_cleanup_free_ char *stub = NULL;

	if (checks_gpu_of(c, &facts->bdf) ? function_facts_driver_is_usual(facts)
					  : is_usual_of_companion(facts))
		return;
	if (!str_equal(facts->driver, "pci-stub")) {
		finding_warn(f, bdf, "%s is on a driver nobody expected there: %s", bdf,
			     facts->driver);
		finding_remedy(f, "find out why, and unbind it from that driver");
	} else if ((stub = checks_find_stub(c, &facts->bdf))) {
		finding_warn(f, bdf, "%s is on pci-stub: %s takes it at boot", bdf, stub);
		finding_remedy(f, "take that ids= out, and reboot");
	} else {
		finding_warn(f, bdf, "%s is on pci-stub", bdf);
		finding_remedy(f, "take ids= of pci-stub off the kernel command line "
				  "(pci-stub.ids=) or out of modprobe.d, and reboot; gpupass "
				  "doctor says which of them it is");
	}
	finding_bars(f, GPUPASS_ERROR_DRIVER_CONFLICT, NULL);
}

static void check_driver(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_functions; i++) {
		const FunctionFacts *facts = checks_function(c, &c->functions[i]->bdf);

		if (!facts)
			continue;
		check_override(facts, f);
		check_function_driver(c, facts, f);
	}
}

static void check_driverctl(const Checks *c, Finding *f)
{
	for (char **line = c->facts->host->driverctl; line && *line; line++) {
		_cleanup_free_ char *address = xstrndup(*line, strcspn(*line, " "));
		Bdf bdf;

		if (bdf_parse(address, &bdf) < 0 || !checks_have(c, &bdf))
			continue;
		finding_warn(f, address, "driverctl has its own override: %s", *line);
		finding_remedy(f, "driverctl unset-override %s: two tools must not bind one device",
			       address);
	}
	checks_need_read(c, "driverctl", f);
}

static void check_host_hooks(const Checks *c, Finding *f)
{
	bool calls = false;

	for (char **line = c->facts->host->host_hooks; line && *line; line++) {
		finding_warn(f, NULL, "%s", *line);
		calls |= strstr(*line, " names virsh") || strstr(*line, " names libvirt");
	}
	finding_remedy(f,
		       "if it is about GPUs of gpupass, take it out of that script: gpupass "
		       "binds and gives back itself%s",
		       calls ? "; and libvirt waits for its hook, which must not call it" : "");
}

/*
 * When the guest ends, libvirt gives such a function to the host's driver without gpupass knowing.
 */
static void check_managed(const Checks *c, Finding *f)
{
	const DomainUses *uses = c->facts->uses;

	for (size_t i = 0; i < uses->n_items; i++)
		EACH (const DomainHostdev, hostdev, uses->items[i].hostdevs,
		      uses->items[i].n_hostdevs) {
			if (!hostdev->managed || !checks_have(c, &hostdev->bdf))
				continue;
			finding_warn(f, BDF_TEXT(&hostdev->bdf),
				     "%s has %s with managed='yes': libvirt binds it, too",
				     uses->items[i].name, BDF_TEXT(&hostdev->bdf));
			finding_remedy(f,
				       "take the hostdev out (virsh edit %s) and assign the group",
				       domain_ref_word(uses->items[i].name, uses->items[i].uuid));
		}
}

/* libvirt knows of no such function: it neither binds nor locks it. */
static void check_arguments(const Checks *c, Finding *f)
{
	const DomainUses *uses = c->facts->uses;

	EACH (const DomainUse, use, uses->items, uses->n_items) {
		const char *word = domain_ref_word(use->name, use->uuid);

		for (size_t k = 0; k < use->n_hostdevs; k++) {
			const char *bdf = BDF_TEXT(&use->hostdevs[k].bdf);

			if (!use->hostdevs[k].argument || !checks_have(c, &use->hostdevs[k].bdf))
				continue;
			finding_warn(f, bdf,
				     "%s has %s by a QEMU argument (<qemu:commandline> or "
				     "<qemu:override>), past libvirt",
				     use->name, bdf);
			finding_remedy(f, "take it out (virsh edit %s) and assign the group", word);
		}
		if (!use->unclear)
			continue;
		finding_warn(f, use->name,
			     "whether the QEMU arguments of %s take a GPU cannot be told: %s",
			     use->name, use->unclear);
		finding_remedy(f, "if they do, take them out (virsh edit %s) and assign the group",
			       word);
	}
}

const Check checks_of_use[] = {
	CHECK("driver-version", "Version of the nvidia driver", NEEDS_HOST, check_driver_version,
	      NULL, SEE_TABLE,
	      "the loaded driver's own version, read by the examiner; a table of versions"),
	CHECK("nvidia-drm", "GPUs that nvidia_drm keeps", NEEDS_INSPECTION | NEEDS_GPUS,
	      check_nvidia_drm, "it is not loaded, or runs without modeset=1", "hostinuse",
	      "nvidia_drm's parameter and the driver's version, read by the inspector",
	      .plans = REFUSES_TAKING),
	CHECK("services", "Services that hold GPUs", NEEDS_HOST, check_services,
	      "none is in the way", "holders",
	      "every process and its control group, read by the examiner"),
	/* Without the domains, a guest that they do not have is not told from the others. */
	CHECK("holders", "Processes that hold GPUs",
	      NEEDS_INSPECTION | NEEDS_GPUS | WANTS_INSPECTION | WANTS_DOMAINS, check_holders,
	      "only guests hold GPUs", "holders",
	      "files and mappings of every process, read by the inspector; guests, from libvirt",
	      .plans = REFUSES_TAKING | REFUSES_GIVING | REFUSES_ERASING),
	CHECK("driver", "Drivers and overrides", NEEDS_INSPECTION | NEEDS_GPUS | WANTS_INSPECTION,
	      check_driver, "they are those of the host or of gpupass", "driverconflict",
	      "driver and driver_override of every function in sysfs, read by the inspector",
	      .plans = REFUSES_TAKING),
	CHECK("driverctl", "driverctl", NEEDS_HOST | NEEDS_GPUS, check_driverctl,
	      "it has no override for these GPUs", "driverconflict",
	      "/etc/driverctl.d, read by the examiner"),
	CHECK("host-hooks", "Other hooks of libvirt", NEEDS_HOST, check_host_hooks,
	      "no text of them names what moves a board", "other-hooks",
	      "the texts of the scripts, read by the examiner"),
	CHECK("managed", "Hostdevs with managed='yes'", NEEDS_LIBVIRT | NEEDS_GPUS | WANTS_DOMAINS,
	      check_managed, "none for these GPUs", SEE_TABLE,
	      "the XML of every domain, from libvirt"),
	CHECK("qemu-arguments", "GPUs by QEMU arguments",
	      NEEDS_LIBVIRT | NEEDS_GPUS | WANTS_DOMAINS, check_arguments,
	      "none takes one of these GPUs", SEE_TABLE, "the XML of every domain, from libvirt"),
	{ 0 },
};
