/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/launch/worker-examine.h"
#include "host/launch/worker-find.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"

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

/* Every Host with these operations is the first member of a RealHost. */
static RealHost *real(Host *host)
{
	return (RealHost *)host;
}

static int real_scan(Host *host, PciSnapshot **ret)
{
	return scan_pci(real(host)->sysfs_fd, ret);
}

static int real_facts(Host *host, HostFacts **ret)
{
	int r = fit_facts_read(real(host)->sysfs_fd, real(host)->proc_fd, ret);

	if (r >= 0 && real(host)->virt)
		virt_versions(real(host)->virt, &(*ret)->libvirt_version,
			      &(*ret)->hypervisor_version);
	return r;
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

static int real_move(Host *host, const DriverTarget *targets, size_t n, uint64_t timeout_usec,
		     MoveOutcome *ret_outcomes)
{
	int r;

	pthread_rwlock_rdlock(&real(host)->nvml_lock);
	r = worker_move(&real(host)->worker, targets, n, timeout_usec, ret_outcomes);
	pthread_rwlock_unlock(&real(host)->nvml_lock);
	return r;
}

/*
 * To find one GPU, NVML may open others (host/device/nvml.h, nvmlDeviceGetHandleByPciBusId_v2). If
 * another job unbinds a GPU that is open, its remove() never returns. So the lock keeps NVML's
 * question and a move apart.
 */
static bool lock_nvml(Host *host)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PERSISTENCE_TIMEOUT_USEC / USEC_PER_SEC;
	return pthread_rwlock_clockwrlock(&real(host)->nvml_lock, CLOCK_MONOTONIC, &until) == 0;
}

static int real_persistence(Host *host, const Bdf *gpus, size_t n, GpuPersistence *ret)
{
	int r;

	if (!lock_nvml(host))
		return persistence_unasked(gpus, n, ret);
	r = worker_persistence(&real(host)->worker, gpus, n, PERSISTENCE_TIMEOUT_USEC, ret);
	pthread_rwlock_unlock(&real(host)->nvml_lock);
	return r;
}

static int real_set_persistence(Host *host, const Bdf *gpus, size_t n, bool on,
				uint64_t timeout_usec, PersistenceOutcome *ret_outcomes)
{
	int r;

	if (!lock_nvml(host))
		return persistence_unset(gpus, n, ret_outcomes);
	r = worker_set_persistence(&real(host)->worker, gpus, n, on, timeout_usec, ret_outcomes);
	pthread_rwlock_unlock(&real(host)->nvml_lock);
	return r;
}

static int real_reset(Host *host, const ResetTarget *targets, size_t n, ResetOutcome *ret_outcomes)
{
	return worker_reset(&real(host)->worker, targets, n, RESET_TIMEOUT_USEC, ret_outcomes);
}

static int real_memory(Host *host, const Bdf *boards, size_t n, MemoryReport *ret)
{
	return worker_memory(&real(host)->worker, boards, n, ret);
}

/* Unpacking an initramfs takes up to seconds, so an unchanged one is not read again. */
static Initramfs *copy_known_image(RealHost *host)
{
	Initramfs *copy = NULL;

	pthread_mutex_lock(&host->image_lock);
	if (host->image && initramfs_copy(host->image, &copy) < 0)
		copy = NULL; /* it is read again */
	pthread_mutex_unlock(&host->image_lock);
	return copy;
}

static void know_image(RealHost *host, const Initramfs *image)
{
	Initramfs *copy = NULL;

	if (initramfs_copy(image, &copy) < 0)
		return;
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
	return worker_examine_gpus(&real(host)->worker, leads, n, EXAMINE_TIMEOUT_USEC, ret);
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

static int no_libvirt(Problem **ret_problem)
{
	return problem_set(ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
			   "gpupassd has not begun to connect to libvirt");
}

static int real_domain_find(Host *host, const char *name_or_uuid, DomainId *ret,
			    Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(ret_problem);
	return virt_domain_find(real(host)->virt, name_or_uuid, ret, ret_problem);
}

static int real_domain_get(Host *host, const char *uuid, VirtDomain **ret, Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(ret_problem);
	return virt_domain_get(real(host)->virt, uuid, ret, ret_problem);
}

static int real_domain_uses(Host *host, DomainUses **ret, Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(ret_problem);
	return virt_domain_uses(real(host)->virt, ret, ret_problem);
}

static int real_domain_define(Host *host, const char *uuid, const char *expected, const char *xml,
			      Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(ret_problem);
	return virt_domain_define(real(host)->virt, uuid, expected, xml, ret_problem);
}

static int real_domain_attach(Host *host, const char *uuid, const char *hostdev_xml,
			      Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(ret_problem);
	return virt_domain_attach(real(host)->virt, uuid, hostdev_xml, ret_problem);
}

static int real_domain_detach(Host *host, const char *uuid, const Bdf *function,
			      uint64_t timeout_usec, Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(ret_problem);
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
		return no_libvirt(ret_problem);
	return virt_guest_run(real(host)->virt, uuid, commands, n, deadline_usec, runs,
			      ret_problem);
}

static const HostOps real_ops = {
	.scan = real_scan,
	.facts = real_facts,
	.inspect = real_inspect,
	.move = real_move,
	.reset = real_reset,
	.memory = real_memory,
	.worker_on = real_worker_on,
	.probe = real_probe,
	.probe_worker = real_probe_worker,
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
		.nvml_lock = PTHREAD_RWLOCK_INITIALIZER,
	};
	return 0;
}

/* access(2) checks the mode and the mount, and never touches the device. */
static int check_writable(int sysfs_fd, const char *path, char **ret_path)
{
	int error;

	if (faccessat(sysfs_fd, path, W_OK, AT_EACCESS) == 0 || errno == ENOENT)
		return 0;
	error = -errno;
	*ret_path = strdup(path);
	return *ret_path ? error : -ENOMEM;
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
	host->image = initramfs_free(host->image);
}
