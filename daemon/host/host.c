/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host.h"

#include <fcntl.h>

#include "host/reset.h"
#include "host/worker-find.h"
#include "util/clock.h"

/* A holder scan takes seconds on a host with very many processes; a wedged GPU takes for ever. */
#define INSPECT_TIMEOUT_USEC (20 * USEC_PER_SEC)
/* A few attributes and config space of one board: milliseconds, unless it does not answer. */
#define EXAMINE_TIMEOUT_USEC (10 * USEC_PER_SEC)

/* Every Host with these operations is the first member of a RealHost. */
static RealHost *real(Host *host)
{
	return (RealHost *)host;
}

static int real_scan(Host *host, PciSnapshot **ret)
{
	return scan_pci(real(host)->sysfs_fd, ret);
}

static int real_inspect(Host *host, const Bdf *functions, size_t n, bool capabilities,
			Inspection **ret)
{
	return worker_inspect(&real(host)->worker, functions, n, capabilities, INSPECT_TIMEOUT_USEC,
			      ret);
}

static int real_move(Host *host, const DriverTarget *targets, size_t n, uint64_t timeout_usec,
		     MoveOutcome *ret_outcomes)
{
	return worker_move(&real(host)->worker, targets, n, timeout_usec, ret_outcomes);
}

static int real_reset(Host *host, const ResetTarget *targets, size_t n, ResetOutcome *ret_outcomes)
{
	return worker_reset(&real(host)->worker, targets, n, RESET_TIMEOUT_USEC, ret_outcomes);
}

static int real_examine_host(Host *host, Examination **ret)
{
	return worker_examine_host(&real(host)->worker, INSPECT_TIMEOUT_USEC, ret);
}

static int real_examine_gpus(Host *host, const PciFunction *const *leads, size_t n, GpuHealth *ret)
{
	return worker_examine_gpus(&real(host)->worker, leads, n, EXAMINE_TIMEOUT_USEC, ret);
}

static pid_t real_worker_on(Host *host, const Bdf *function)
{
	return worker_find(&real(host)->worker, function);
}

static int no_libvirt(Problem **ret_problem)
{
	return problem_set(ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
			   "gpupassd has not begun to connect to libvirt");
}

static int real_domain_get(Host *host, const char *name_uuid_or_id, VirtDomain **ret,
			   Problem **ret_problem)
{
	if (!real(host)->virt)
		return no_libvirt(ret_problem);
	return virt_domain_get(real(host)->virt, name_uuid_or_id, ret, ret_problem);
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

static const HostOps real_ops = {
	.scan = real_scan,
	.inspect = real_inspect,
	.move = real_move,
	.reset = real_reset,
	.worker_on = real_worker_on,
	.domain_get = real_domain_get,
	.domain_uses = real_domain_uses,
	.domain_define = real_domain_define,
	.domain_attach = real_domain_attach,
	.domain_detach = real_domain_detach,
	.examine_host = real_examine_host,
	.examine_gpus = real_examine_gpus,
	.libvirt_wait = real_libvirt_wait,
};

int real_host_init(RealHost *host, const WorkerConfig *worker)
{
	int fd;

	fd = open(worker->sysfs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*host = (RealHost){
		.host = { .ops = &real_ops },
		.sysfs_fd = fd,
		.worker = *worker,
	};
	return 0;
}

void real_host_done(RealHost *host)
{
	host->sysfs_fd = close_fd(host->sysfs_fd);
	host->virt = NULL;
}
