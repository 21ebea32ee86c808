/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/domain/machine-use.h"
#include "host/launch/part.h"
#include "host/launch/ready.h"
#include "host/launch/worker-examine.h"
#include "host/launch/worker-find.h"
#include "host/launch/worker-machines.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * A scan for holders takes seconds on a host with very many processes, and for ever on a wedged
 * GPU.
 */
#define INSPECT_TIMEOUT_USEC (20 * USEC_PER_SEC)
/*
 * A few attributes and config space of one board: milliseconds, unless the board does not answer.
 */
#define EXAMINE_TIMEOUT_USEC (10 * USEC_PER_SEC)
/* The question initialises a GPU that nobody has open: a second or two each, one after another. */
#define PERSISTENCE_TIMEOUT_USEC (20 * USEC_PER_SEC)
/* Files of some KiB each; pmxcfs answers in milliseconds, or when its cluster does. */
#define MACHINES_TIMEOUT_USEC (10 * USEC_PER_SEC)
/* NVIDIA's driver lets go of a GPU in one or two seconds. */
#define MOVE_PATIENCE_USEC (5 * USEC_PER_SEC)

/* Every Host with these operations is the first member of a RealHost. */
static RealHost *real(Host *host)
{
	return (RealHost *)host;
}

static int real_scan(Host *host, PciSnapshot **ret)
{
	return scan_pci(real(host)->sysfs_fd, ret);
}

static int real_scan_changed(Host *host, const PciSnapshot *before, const Bdf *changed, size_t n,
			     PciSnapshot **ret)
{
	return scan_pci_changed(real(host)->sysfs_fd, before, changed, n, ret);
}

static int real_facts(Host *host, HostFacts **ret)
{
	*ret = fit_facts_read(real(host)->sysfs_fd, real(host)->proc_fd);
	if (real(host)->virt)
		virt_versions(real(host)->virt, &(*ret)->libvirt_version,
			      &(*ret)->hypervisor_version);
	return 0;
}

static int real_inspect(Host *host, const Bdf *functions, size_t n, InspectConfig config,
			Inspection **ret)
{
	int r = worker_inspect(&real(host)->worker, functions, n, config, INSPECT_TIMEOUT_USEC,
			       ret);

	if (r >= 0)
		(*ret)->probe_worker = worker_find_probe(&real(host)->worker);
	return r;
}

static int real_glance(Host *host, const Bdf *functions, size_t n, InspectConfig config,
		       Inspection **ret)
{
	return worker_glance(&real(host)->worker, functions, n, config, INSPECT_TIMEOUT_USEC, ret);
}

static int real_move(Host *host, const DriverTarget *targets, size_t n, uint64_t timeout_usec,
		     MoveOutcome *ret_outcomes)
{
	NvmlMove move;
	int r;

	if (n == 0)
		return 0;
	nvml_gate_begin_move(&real(host)->nvml_gate, &move, &targets[0].bdf);
	r = worker_move(&real(host)->worker, targets, n, timeout_usec, ret_outcomes);
	nvml_gate_end_move(&real(host)->nvml_gate, &move);
	return r;
}

/* 0: NVML may be asked. 1: it may not, and *ret_why says why. */
static int wait_for_moves(Host *host, char **ret_why)
{
	Bdf stuck;
	int r = nvml_gate_begin_question(&real(host)->nvml_gate,
					 now_monotonic() + PERSISTENCE_TIMEOUT_USEC, &stuck);

	if (r == 0)
		return 0;
	*ret_why = r == -EBUSY ? strf("NVML was not asked, since it may open %s, which has been "
				      "moving for too long",
				      BDF_TEXT(&stuck))
			       : xstrdup("other GPUs were moving all the time");
	return 1;
}

/* NVML is not asked where no GPU is on NVIDIA's driver. */
static void real_expect_work(Host *host, bool persistence)
{
	const RealHost *h = real(host);

	if (!h->worker.ready)
		return;
	if (persistence && faccessat(h->sysfs_fd, "bus/pci/drivers/" NVIDIA_DRIVER, F_OK, 0) == 0)
		ready_parts_expect(h->worker.ready, PART_PROBER);
	ready_parts_expect(h->worker.ready, PART_INSPECTOR);
	ready_parts_expect(h->worker.ready, PART_CONFIG);
	ready_parts_expect(h->worker.ready, PART_MOVER);
}

static int real_persistence(Host *host, const Bdf *gpus, size_t n, GpuPersistence *ret)
{
	_cleanup_free_ char *why = NULL;

	if (wait_for_moves(host, &why) > 0) {
		persistence_unasked(gpus, n, why, ret);
		return 0;
	}
	worker_persistence(&real(host)->worker, gpus, n, PERSISTENCE_TIMEOUT_USEC, ret);
	nvml_gate_end_question(&real(host)->nvml_gate);
	return 0;
}

static int real_set_persistence(Host *host, const Bdf *gpus, size_t n, bool on,
				uint64_t timeout_usec, PersistenceOutcome *ret_outcomes)
{
	_cleanup_free_ char *why = NULL;

	if (wait_for_moves(host, &why) > 0) {
		persistence_unset(gpus, n, why, ret_outcomes);
		return 0;
	}
	worker_set_persistence(&real(host)->worker, gpus, n, on, timeout_usec, ret_outcomes);
	nvml_gate_end_question(&real(host)->nvml_gate);
	return 0;
}

static int real_reset(Host *host, const ResetTarget *targets, size_t n, ResetOutcome *ret_outcomes)
{
	return worker_reset(&real(host)->worker, targets, n, RESET_TIMEOUT_USEC, ret_outcomes);
}

static int real_memory(Host *host, const Bdf *boards, size_t n, MemoryReport *ret)
{
	worker_memory(&real(host)->worker, boards, n, ret);
	return 0;
}

/* Unpacking an initramfs takes up to seconds, so an unchanged one is not read again. */
static Initramfs *copy_known_image(RealHost *host)
{
	Initramfs *copy = NULL;

	pthread_mutex_lock(&host->image_lock);
	if (host->image)
		copy = initramfs_copy(host->image);
	pthread_mutex_unlock(&host->image_lock);
	return copy;
}

static void know_image(RealHost *host, const Initramfs *image)
{
	Initramfs *copy = NULL;

	copy = initramfs_copy(image);
	pthread_mutex_lock(&host->image_lock);
	initramfs_free(host->image);
	host->image = copy;
	pthread_mutex_unlock(&host->image_lock);
}

static int real_examine_host(Host *host, Examination **ret)
{
	_cleanup_(initramfs_freep) Initramfs *known = copy_known_image(real(host));
	_cleanup_(examination_freep) Examination *e = NULL;
	int r;

	r = worker_examine_host(&real(host)->worker, known ? known->key : NULL,
				INSPECT_TIMEOUT_USEC, &e);
	if (r < 0)
		return r;
	if (e->image && e->image->unchanged && !known)
		return -EBADMSG; /* "unchanged", but we named no known image */
	if (e->image && e->image->unchanged) {
		initramfs_free(e->image);
		e->image = TAKE_PTR(known);
	} else if (e->image && !e->image->trouble) {
		know_image(real(host), e->image);
	}
	*ret = TAKE_PTR(e);
	return 0;
}

static int real_examine_gpus(Host *host, const PciFunction *const *leads, size_t n, GpuHealth *ret)
{
	worker_examine_gpus(&real(host)->worker, leads, n, EXAMINE_TIMEOUT_USEC, ret);
	return 0;
}

static pid_t real_worker_on(Host *host, const Bdf *function)
{
	return worker_find(&real(host)->worker, function);
}

static int real_probe(Host *host, const Bdf *functions, size_t n, bool mmio, uint64_t timeout_usec,
		      ProbeAnswer *ret, pid_t *ret_pid)
{
	return worker_probe(&real(host)->worker, functions, n, mmio, timeout_usec, ret, ret_pid);
}

static pid_t real_probe_worker(Host *host)
{
	return worker_find_probe(&real(host)->worker);
}

/* With Uri=none no domain is libvirt's, which is known. */
static int no_libvirt(Host *host, Problem **ret_problem)
{
	if (real(host)->domains != DOMAINS_LIBVIRT)
		return problem_set(ret_problem, GPUPASS_ERROR_NO_SUCH_DOMAIN,
				   "gpupassd runs without libvirt (Uri=none)");
	return problem_set(ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
			   "gpupassd has not begun to connect to libvirt");
}

/* None where nobody tells of any. */
static int machine_uses(Host *host, DomainUses **ret, Problem **ret_problem)
{
	_cleanup_(machines_freep) Machines *machines = NULL;
	int r;

	if (real(host)->domains == DOMAINS_NONE) {
		*ret = xcalloc(1, sizeof(DomainUses));
		return 0;
	}
	r = worker_machines(&real(host)->worker, MACHINES_TIMEOUT_USEC, &machines);
	if (r >= 0) {
		*ret = machines_as_uses(machines);
		return 0;
	}
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
		.reason = xstrdup("the virtual machines of Proxmox VE cannot be read"),
		.cause = strf("/etc/pve/qemu-server: %s",
			      r == -ETIMEDOUT ? "it did not answer in time" : strerror(-r)),
		.remedy = xstrdup("see: systemctl status pve-cluster; ls /etc/pve/qemu-server"));
}

static int find_machine(Host *host, const char *word, DomainId *ret, Problem **ret_problem)
{
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	const DomainUse *use;
	int r = machine_uses(host, &uses, ret_problem);

	if (r != 0)
		return r;
	*ret = (DomainId){ 0 };
	use = machine_use_find(uses, word);
	if (!use)
		return 0;
	ret->name = xstrdup(use->name);
	strncpy(ret->uuid, use->uuid, sizeof(ret->uuid) - 1);
	return 0;
}

static int real_domain_find(Host *host, const char *name_or_uuid, DomainId *ret,
			    Problem **ret_problem)
{
	if (real(host)->domains != DOMAINS_LIBVIRT)
		return find_machine(host, name_or_uuid, ret, ret_problem);
	if (!real(host)->virt)
		return no_libvirt(host, ret_problem);
	return virt_domain_find(real(host)->virt, name_or_uuid, ret, ret_problem);
}

static int real_domain_get(Host *host, const char *uuid, VirtDomain **ret, Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(host, ret_problem);
	return virt_domain_get(real(host)->virt, uuid, ret, ret_problem);
}

/* Of machines of Proxmox VE no event tells: they are read each time. */
static int real_domain_uses(Host *host, bool fresh, DomainUses **ret, Problem **ret_problem)
{
	if (real(host)->domains != DOMAINS_LIBVIRT)
		return machine_uses(host, ret, ret_problem);
	if (!real(host)->virt)
		return no_libvirt(host, ret_problem);
	return virt_domain_uses(real(host)->virt, fresh, ret, ret_problem);
}

static int real_domain_define(Host *host, const char *uuid, const char *expected, const char *xml,
			      Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(host, ret_problem);
	return virt_domain_define(real(host)->virt, uuid, expected, xml, ret_problem);
}

static int real_domain_attach(Host *host, const char *uuid, const char *hostdev_xml,
			      Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(host, ret_problem);
	return virt_domain_attach(real(host)->virt, uuid, hostdev_xml, ret_problem);
}

static int real_domain_detach(Host *host, const char *uuid, const Bdf *function,
			      uint64_t timeout_usec, Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(host, ret_problem);
	return virt_domain_detach(real(host)->virt, uuid, function, timeout_usec, ret_problem);
}

static int real_libvirt_wait(Host *host, uint64_t timeout_usec)
{
	return real(host)->virt ? virt_wait_connected(real(host)->virt, timeout_usec) : -ETIMEDOUT;
}

static int real_guest_run(Host *host, const char *uuid, const char *const *const *commands,
			  size_t n, uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(host, ret_problem);
	return virt_guest_run(real(host)->virt, uuid, commands, n, deadline_usec, runs,
			      ret_problem);
}

static const HostOps real_ops = {
	.scan = real_scan,
	.scan_changed = real_scan_changed,
	.facts = real_facts,
	.inspect = real_inspect,
	.glance = real_glance,
	.move = real_move,
	.reset = real_reset,
	.memory = real_memory,
	.worker_on = real_worker_on,
	.probe = real_probe,
	.probe_worker = real_probe_worker,
	.expect_work = real_expect_work,
	.persistence = real_persistence,
	.set_persistence = real_set_persistence,
	.domain_find = real_domain_find,
	.domain_get = real_domain_get,
	.domain_uses = real_domain_uses,
	.domain_define = real_domain_define,
	.domain_attach = real_domain_attach,
	.domain_detach = real_domain_detach,
	.libvirt_wait = real_libvirt_wait,
	.examine_host = real_examine_host,
	.examine_gpus = real_examine_gpus,
	.guest_run = real_guest_run,
};

static const char *const ready_parts[] = { PART_MOVER, PART_INSPECTOR, PART_CONFIG, PART_PROBER,
					   NULL };

int real_host_init(RealHost *host, const WorkerConfig *worker)
{
	_cleanup_close_ int sysfs_fd = -1;
	int proc_fd;

	sysfs_fd = open(worker->sysfs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sysfs_fd < 0)
		return -errno;
	proc_fd = open(worker->proc_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return -errno;
	*host = (RealHost){
		.host = { .ops = &real_ops },
		.sysfs_fd = TAKE_FD(sysfs_fd),
		.proc_fd = proc_fd,
		.worker = *worker,
		.image_lock = PTHREAD_MUTEX_INITIALIZER,
	};
	host->worker.children = &host->children;
	nvml_gate_init(&host->nvml_gate, MOVE_PATIENCE_USEC);
	if (worker->parts_dir)
		host->worker.ready = ready_parts_new(worker->parts_dir, ready_parts,
						     worker->root_dir ? worker->root_dir : "/",
						     worker->proc_dir);
	return 0;
}

void real_host_rest(RealHost *host)
{
	if (host->worker.ready)
		ready_parts_rest(host->worker.ready);
}

void real_host_make_ready(RealHost *host)
{
	if (host->worker.ready)
		ready_parts_fill(host->worker.ready);
}

/* access(2) checks the mode and the mount, and never touches the device. */
static int check_writable(int sysfs_fd, const char *path, char **ret_path)
{
	int error;

	if (faccessat(sysfs_fd, path, W_OK, AT_EACCESS) == 0 || errno == ENOENT)
		return 0;
	error = -errno;
	*ret_path = xstrdup(path);
	return error;
}

/* Of one function only: all are on the same mount. */
static char *any_override(int sysfs_fd)
{
	_cleanup_close_ int fd =
		openat(sysfs_fd, SYSFS_PCI_DEVICES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!dir)
		return NULL;
	(void)TAKE_FD(fd);
	while ((entry = readdir(dir))) {
		Bdf bdf;

		if (sysfs_parse_bdf(entry->d_name, &bdf) >= 0)
			return sysfs_function_path(&bdf, "driver_override");
	}
	return NULL;
}

int real_host_check_writable(const RealHost *host, char **ret_path)
{
	_cleanup_free_ char *override = any_override(host->sysfs_fd);
	int r = check_writable(host->sysfs_fd, "bus/pci/drivers_probe", ret_path);

	return r == 0 && override ? check_writable(host->sysfs_fd, override, ret_path) : r;
}

void real_host_done(RealHost *host)
{
	host->sysfs_fd = close_fd(host->sysfs_fd);
	host->proc_fd = close_fd(host->proc_fd);
	host->virt = NULL;
	host->worker.ready = ready_parts_free(host->worker.ready);
	host->image = initramfs_free(host->image);
}
