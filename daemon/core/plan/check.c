/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/check.h"

#include "core/facts/driver-release.h"
#include "core/facts/obstacle.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

/* What the checks look at. */
typedef struct Check {
	const Group *group;
	const PciSnapshot *snapshot;
	const Inspection *inspection;
	const Assignments *assignments;
	const HostFacts *host;
	const PlanRequest *request;
	const PciFunction **functions;
	size_t n_functions;
	Problem **ret_problem;
} Check;

static bool gives_back(const Check *c)
{
	return c->request->operation == OPERATION_RELEASE ||
	       c->request->operation == OPERATION_UNBIND;
}

/* Joins the lines to the cause of the problem. */
static int refuse_lines(const Check *c, GpupassError error, const char *reason, char *const *lines,
			const char *remedy)
{
	return problem_refuse(c->ret_problem, error, .reason = xstrdup(reason),
			      .cause = lines ? strv_join(lines, "\n") : NULL,
			      .remedy = xstrdup(remedy));
}

static int check_iommu(const Check *c)
{
	if (!c->snapshot->iommu)
		return problem_refuse(c->ret_problem, GPUPASS_ERROR_IOMMU_DISABLED,
				      .reason = xstrdup("the IOMMU is off"),
				      .remedy = obstacle_iommu_remedy(c->host));
	if (c->inspection->noiommu)
		return refuse_lines(c, GPUPASS_ERROR_IOMMU_DISABLED,
				    "vfio runs without protection by an IOMMU", NULL,
				    "set vfio.enable_unsafe_noiommu_mode=0");
	for (size_t i = 0; i < c->n_functions; i++) {
		if (c->functions[i]->iommu_group != IOMMU_GROUP_NONE)
			continue;
		return problem_refuse(
			c->ret_problem, GPUPASS_ERROR_IOMMU_DISABLED,
			.reason = strf("%s is in no IOMMU group", BDF_TEXT(&c->functions[i]->bdf)),
			.remedy = xstrdup(
				"dmesg | grep -i -e DMAR -e AMD-Vi tells what the IOMMU covers"));
	}
	return 0;
}

static int check_vfio(const Check *c)
{
	bool bound = true;

	for (size_t i = 0; i < c->n_functions; i++)
		bound &= pci_function_on_vfio(c->functions[i]);
	if (bound || c->inspection->vfio_pci)
		return 0;
	if (c->inspection->vfio_loadable)
		return refuse_lines(c, GPUPASS_ERROR_VFIO_MISSING, "vfio-pci is not loaded", NULL,
				    "modprobe vfio-pci");
	return refuse_lines(c, GPUPASS_ERROR_VFIO_MISSING, "this kernel has no vfio-pci", NULL,
			    "install the kernel's full set of modules (CONFIG_VFIO_PCI)");
}

static bool is_ours(const Check *c, const PciFunction *function)
{
	for (size_t i = 0; i < c->n_functions; i++)
		if (bdf_equal(&c->functions[i]->bdf, &function->bdf))
			return true;
	return false;
}

static bool shares_iommu_group(const Check *c, const PciFunction *function)
{
	for (size_t i = 0; i < c->n_functions; i++)
		if (c->functions[i]->iommu_group == function->iommu_group)
			return true;
	return false;
}

/* The domain that a neighbour in the IOMMU group is assigned to; NULL: none. */
static const char *tenant(const Check *c, const PciFunction *function)
{
	const Assignment *other = assignments_find_function(c->assignments, &function->bdf);

	if (!other || str_equal(other->group_name, c->group->name))
		return NULL;
	return other->domain_name;
}

/*
 * The kernel's own rule (vfio_group_viable): an IOMMU group may have only bridges, and functions
 * that have no driver, a vfio driver or pci-stub. And there is no second tenant, because an IOMMU
 * group has one owner.
 */
static bool disturbs(const Check *c, const PciFunction *function)
{
	if (function->bridge || function->iommu_group == IOMMU_GROUP_NONE || is_ours(c, function) ||
	    !shares_iommu_group(c, function))
		return false;
	if (tenant(c, function))
		return true;
	return function->driver && !pci_function_on_vfio(function) &&
	       !str_equal(function->driver, "pci-stub");
}

static int check_viable(const Check *c)
{
	_cleanup_strv_ char **lines = NULL;
	int iommu_group = 0;

	for (size_t i = 0; i < c->snapshot->n_functions; i++) {
		const PciFunction *function = c->snapshot->functions[i];
		const char *domain;

		if (!disturbs(c, function))
			continue;
		if (!lines)
			iommu_group = function->iommu_group;
		domain = tenant(c, function);
		if (domain)
			strv_appendf(&lines, "%s in IOMMU group %d is assigned to %s",
				     BDF_TEXT(&function->bdf), function->iommu_group, domain);
		else
			strv_appendf(&lines, "%s (%s) shares IOMMU group %d",
				     BDF_TEXT(&function->bdf), function->driver,
				     function->iommu_group);
	}
	if (!lines)
		return 0;
	return problem_refuse(
		c->ret_problem, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
		.reason = strf("IOMMU group %d is not viable", iommu_group),
		.cause = strv_join(lines, "\n"),
		.remedy = xstrdup("use another slot or enable ACS; see gpupassd(8), IOMMU GROUPS"));
}

static int refuse_function(const Check *c, GpupassError error, const PciFunction *function,
			   const char *what, const char *remedy)
{
	return problem_refuse(c->ret_problem, error,
			      .reason = strf("%s %s", BDF_TEXT(&function->bdf), what),
			      .remedy = xstrdup(remedy));
}

static int check_alive(const Check *c, const PciFunction *function, const FunctionFacts *facts)
{
	if (!facts)
		return refuse_function(c, GPUPASS_ERROR_NO_SUCH_GPU, function, "is no longer there",
				       "look for it with lspci, then: gpupass rescan");
	if (facts->config_all_ones)
		return refuse_function(c, GPUPASS_ERROR_BIND_FAILED, function,
				       "does not answer: its config space reads all ones",
				       gives_back(c) ? "leave it on vfio-pci (--keep-vfio), then "
						       "power-cycle the host"
						     : "power-cycle the host; see dmesg for Xid or "
						       "AER messages");
	return 0;
}

/* On a host with vendor-specific VFs: see read_vgpus() of the worker. Its domain was looked for. */
static int refuse_vgpu(const Check *c, const FunctionFacts *facts)
{
	return problem_refuse(
		c->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
		.reason = strf("%s has a vGPU that no domain names", BDF_TEXT(&facts->bdf)),
		.cause = strf("%u of its virtual functions have a vGPU type set; %s has type %u",
			      facts->vgpus, BDF_TEXT(&facts->vgpu_vf), facts->vgpu_type),
		.remedy = strf("see who made it, and remove it: echo 0 > "
			       "/sys/bus/pci/devices/%s/nvidia/current_vgpu_type; then: "
			       "/usr/lib/nvidia/sriov-manage -d %s",
			       BDF_TEXT(&facts->vgpu_vf), BDF_TEXT(&facts->bdf)));
}

static int check_use(const Check *c, const PciFunction *function, const FunctionFacts *facts)
{
	if (facts->vgpus > 0)
		return refuse_vgpu(c, facts);
	if (function->has_vfs || facts->num_vfs > 0)
		return problem_refuse(
			c->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
			.reason =
				strf("%s has virtual functions enabled", BDF_TEXT(&function->bdf)),
			.remedy = strf("/usr/lib/nvidia/sriov-manage -d %s; on a host without "
				       "NVIDIA's vGPU manager: echo 0 > "
				       "/sys/bus/pci/devices/%s/sriov_numvfs",
				       BDF_TEXT(&function->bdf), BDF_TEXT(&function->bdf)));
	/* On vfio the console has gone already; a framebuffer that is left there is warned of. */
	if (function->boot_vga && !driver_is_vfio(facts->driver) && !c->request->allow_boot_vga)
		return refuse_function(c, GPUPASS_ERROR_HOST_IN_USE, function,
				       "is the host's boot display",
				       "make another display the primary one in the firmware, or "
				       "give up the console: --allow-boot-vga");
	return 0;
}

static int refuse_driver(const Check *c, const PciFunction *function, const char *what,
			 const char *name, const char *remedy)
{
	return problem_refuse(c->ret_problem, GPUPASS_ERROR_DRIVER_CONFLICT,
			      .reason = strf("%s %s %s", BDF_TEXT(&function->bdf), what, name),
			      .remedy = xstrdup(remedy));
}

static int check_driver(const Check *c, const PciFunction *function, const FunctionFacts *facts)
{
	if (facts->driver_override && !function_facts_override_is_vfio(facts))
		return refuse_driver(c, function, "has somebody else's driver_override",
				     facts->driver_override,
				     "find who set it (driverctl list-overrides), and clear it");
	if (str_equal(facts->driver, "pci-stub"))
		return refuse_driver(c, function, "is on", "pci-stub",
				     "take ids= of pci-stub off the kernel command line "
				     "(pci-stub.ids=) or out of modprobe.d, and reboot; gpupass "
				     "doctor says which of them it is");
	if (!function_facts_driver_is_usual(facts))
		return refuse_driver(c, function,
				     "is on a driver nobody expected there:", facts->driver,
				     "find out why, and unbind it from that driver");
	return 0;
}

static int check_each(const Check *c)
{
	for (size_t i = 0; i < c->n_functions; i++) {
		const PciFunction *function = c->functions[i];
		const FunctionFacts *facts = inspection_find(c->inspection, &function->bdf);
		int r;

		r = check_alive(c, function, facts);
		if (r == 0 && !gives_back(c))
			r = check_use(c, function, facts);
		if (r == 0 && !gives_back(c))
			r = check_driver(c, function, facts);
		if (r != 0)
			return r;
	}
	return 0;
}

static bool is_of_group(const Check *c, const Holder *holder)
{
	for (size_t i = 0; i < c->n_functions; i++)
		if (bdf_equal(&c->functions[i]->bdf, &holder->bdf))
			return true;
	return false;
}

/* The first one, with a line for each; NULL: there is none. */
static const Holder *list_holders(const Check *c, bool vfio, char ***lines)
{
	const Holder *first = NULL;

	for (size_t i = 0; i < c->inspection->n_holders; i++) {
		const Holder *holder = &c->inspection->holders[i];

		if (holder->vfio != vfio || holder->lets_go || !is_of_group(c, holder))
			continue;
		if (!first)
			first = holder;
		strv_append_take(lines, holder_text(holder));
	}
	return first;
}

static bool only_guest(const Check *c, pid_t pid)
{
	for (size_t i = 0; i < c->inspection->n_holders; i++) {
		const Holder *holder = &c->inspection->holders[i];

		if (holder->vfio && holder->pid != pid && is_of_group(c, holder))
			return false;
	}
	return true;
}

/*
 * A write to a function whose vfio group is open kills the guest that runs on it. So nothing is
 * touched, no matter whose guest it is.
 */
static int check_guests(const Check *c)
{
	_cleanup_strv_ char **lines = NULL;
	const Holder *first = list_holders(c, true, &lines);
	const Assignment *record;

	if (!first)
		return 0;
	/* A live release starts with a request to its one guest; see plan_check_functions(). */
	if (c->request->operation == OPERATION_RELEASE && c->request->live &&
	    only_guest(c, first->pid))
		return 0;
	record = assignments_find_function(c->assignments, &first->bdf);
	if (!record)
		return refuse_lines(c, GPUPASS_ERROR_FOREIGN_OWNER,
				    "a guest that gpupass does not know runs on it", lines,
				    "shut that guest down");
	return refuse_lines(c, GPUPASS_ERROR_HOST_IN_USE, "a guest runs on it", lines,
			    "shut that guest down, or detach the functions from it");
}

static int check_holders(const Check *c)
{
	_cleanup_strv_ char **lines = NULL;

	if (!list_holders(c, false, &lines))
		return 0;
	return refuse_lines(c, GPUPASS_ERROR_HOST_IN_USE, "processes of the host use it", lines,
			    "stop them; DCGM is a service to be stopped (nvidia-dcgm), and so is "
			    "nvidia-persistenced where it does not let go when nvidia-smi asks it");
}

/* No holder shows until NVML has opened a GPU; see claim() in job/probe.c. */
static int check_probe_worker(const Check *c)
{
	pid_t pid = c->inspection->probe_worker;
	bool on_nvidia = false;

	for (size_t i = 0; i < c->n_functions; i++)
		on_nvidia |= str_equal(c->functions[i]->driver, NVIDIA_DRIVER);
	if (pid == 0 || !on_nvidia)
		return 0;
	return problem_refuse(
		c->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
		.reason = strf("worker %d of an earlier probe still waits in NVML", (int)pid),
		.cause = xstrdup("NVML opens every GPU of the nvidia driver, and one that is open "
				 "when it is unbound hangs the driver"),
		.remedy = strf("wait for it, or end it (kill %d), then try again; see "
			       "gpupassd(8), EVIDENCE",
			       (int)pid));
}

/*
 * No holder shows: nvidia-modeset has the GPUs in use without a file. A GPU on nvidia that it has
 * not taken (it came after nvidia_drm) looks the same, and is refused, too.
 */
static int check_modeset(const Check *c)
{
	const char *version = c->inspection->nvidia_version;
	_cleanup_strv_ char **addresses = NULL;
	_cleanup_free_ char *which = NULL, *cause = NULL;

	if (!c->inspection->nvidia_modeset || release_frees_modeset(version) == RELEASE_YES)
		return 0;
	for (size_t i = 0; i < c->n_functions; i++)
		if (str_equal(c->functions[i]->driver, NVIDIA_DRIVER))
			strv_append(&addresses, BDF_TEXT(&c->functions[i]->bdf));
	if (!addresses)
		return 0;
	which = strv_join(addresses, ", ");
	cause = release_modeset_cause(version);
	return problem_refuse(c->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
			      .reason = xstrdup(RELEASE_MODESET_REASON),
			      .cause = strf("%s: %s", which, cause),
			      .remedy = xstrdup(RELEASE_MODESET_REMEDY));
}

/* The group may be older than the snapshot. The snapshot counts. */
static int look_up(Check *c)
{
	for (size_t i = 0; i < c->n_functions; i++) {
		const PciFunction *now = pci_snapshot_find(c->snapshot, &c->functions[i]->bdf);

		if (!now)
			return check_alive(c, c->functions[i], NULL);
		c->functions[i] = now;
	}
	return 0;
}

static int run_checks(Check *c)
{
	int r;

	r = look_up(c);
	if (r == 0 && !gives_back(c))
		r = check_iommu(c);
	if (r == 0 && !gives_back(c))
		r = check_vfio(c);
	if (r == 0 && !gives_back(c))
		r = check_viable(c);
	if (r == 0)
		r = check_each(c);
	if (r == 0)
		r = check_guests(c);
	if (r == 0 && !gives_back(c))
		r = check_holders(c);
	if (r == 0 && !gives_back(c))
		r = check_probe_worker(c);
	if (r == 0 && !gives_back(c))
		r = check_modeset(c);
	return r;
}

int plan_check_functions(const Group *group, const PciSnapshot *snapshot,
			 const Inspection *inspection, const Assignments *assignments,
			 const HostFacts *host, const PlanRequest *request, Problem **ret_problem)
{
	Check c = {
		.group = group,
		.snapshot = snapshot,
		.inspection = inspection,
		.assignments = assignments,
		.host = host,
		.request = request,
		.ret_problem = ret_problem,
	};
	_cleanup_free_ const PciFunction **functions = group_functions(group, &c.n_functions);

	c.functions = functions;
	return run_checks(&c);
}
