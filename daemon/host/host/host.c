/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host/host.h"

#include <fcntl.h>

#include "core/domain/machine-use.h"
#include "host/launch/part.h"
#include "host/launch/ready.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"
#include "util/mutex.h"
#include "util/xalloc.h"

/* How long a question to NVML waits for moves to end. */
#define GATE_TIMEOUT_USEC (20 * USEC_PER_SEC)
/* NVIDIA's driver lets go of a GPU in one or two seconds. */
#define MOVE_PATIENCE_USEC (5 * USEC_PER_SEC)

static RealHost *real(const Host *host)
{
	return host->machine;
}

/* Lets go of the lock meanwhile. */
static void take_turn(RealHost *host)
{
	ScanTurns *scans = &host->scans;
	PciSnapshot *snapshot = NULL;
	int r;

	scans->begun++;
	pthread_mutex_unlock(&scans->lock);
	r = scan_pci(host->sysfs_fd, &snapshot);
	pthread_mutex_lock(&scans->lock);
	scans->ended = scans->begun;
	scans->result = r;
	pci_snapshot_free(scans->last);
	scans->last = snapshot;
	pthread_cond_broadcast(&scans->turn);
}

static int real_scan(Host *host, PciSnapshot **ret)
{
	ScanTurns *scans = &real(host)->scans;
	MUTEX_HOLD(&scans->lock);
	const uint64_t wanted = scans->begun + 1;
	int r;

	scans->n_waiting++;
	while (scans->ended < wanted)
		if (scans->ended == scans->begun)
			take_turn(real(host));
		else
			pthread_cond_wait(&scans->turn, &scans->lock);
	r = scans->result;
	if (r >= 0)
		*ret = pci_snapshot_ref(scans->last);
	if (--scans->n_waiting == 0)
		scans->last = pci_snapshot_free(scans->last);
	return r;
}

static int real_scan_changed(Host *host, const PciSnapshot *before, const Bdf *changed, size_t n,
			     PciSnapshot **ret)
{
	return scan_pci_changed(real(host)->sysfs_fd, before, changed, n, ret);
}

static HostFacts *real_facts(Host *host)
{
	HostFacts *facts = fit_facts_read(real(host)->sysfs_fd, real(host)->proc_fd);

	if (real(host)->virt)
		virt_versions(real(host)->virt, &facts->libvirt_version,
			      &facts->hypervisor_version);
	return facts;
}

/* NULL: NVML may be asked; otherwise why not. */
static char *wait_for_moves(const Host *host)
{
	uint64_t until = now_monotonic() + GATE_TIMEOUT_USEC;
	Bdf stuck;
	int r;

	if (host->deadline_usec != 0 && host->deadline_usec < until)
		until = host->deadline_usec;
	r = nvml_gate_begin_question(&real(host)->nvml_gate, until, &stuck);
	if (r == 0)
		return NULL;
	return r == -EBUSY ? strf("NVML was not asked, since it may open %s, which has been "
				  "moving for too long",
				  BDF_TEXT(&stuck))
			   : xstrdup("other GPUs were moving all the time");
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

/* Unpacking an initramfs takes up to seconds, so an unchanged one is not read again. */
static Initramfs *copy_known_image(RealHost *host)
{
	MUTEX_HOLD(&host->image_lock);

	return host->image ? initramfs_copy(host->image) : NULL;
}

static void know_image(RealHost *host, const Initramfs *image)
{
	MUTEX_HOLD(&host->image_lock);

	initramfs_free(host->image);
	host->image = initramfs_copy(image);
}

/* The answer "unchanged" stands for the image that we know. */
static void take_image(RealHost *host, Ask *ask, Initramfs **known)
{
	Examination *e = ask->error == 0 ? ((HostAnswer *)ask->answer)->host : NULL;

	if (e && e->image && e->image->unchanged && *known) {
		initramfs_free(e->image);
		e->image = TAKE_PTR(*known);
	} else if (e && e->image && e->image->unchanged) {
		answer_clear(question(ask->id), ask->answer);
		ask_refuse(ask, -EBADMSG,
			   xstrdup("it says that the image is as it was, but nobody knows it"),
			   NULL);
	} else if (e && e->image && !e->image->trouble) {
		know_image(host, e->image);
	}
}

/* With the image that is known, if there is one. */
static void ask_about_image(Host *host, Ask *asks, size_t n, uint64_t timeout_usec)
{
	_cleanup_(initramfs_freep) Initramfs *known = copy_known_image(real(host));
	_cleanup_free_ char *option = known ? strf("--known-image=%s", known->key) : NULL;
	Ask *image = &asks[n - 1];

	image->before = option;
	ask_parts(&real(host)->worker, asks, n, timeout_usec, host->deadline_usec);
	image->before = NULL;
	take_image(real(host), image, &known);
}

static void ask_beside_no_move(Host *host, Ask *asks, size_t n, uint64_t timeout_usec)
{
	_cleanup_free_ char *why = wait_for_moves(host);

	for (size_t i = 0; why && i < n; i++)
		ask_refuse(&asks[i], -EBUSY, xstrdup(why), NULL);
	if (why)
		return;
	ask_parts(&real(host)->worker, asks, n, timeout_usec, host->deadline_usec);
	nvml_gate_end_question(&real(host)->nvml_gate);
}

static void real_ask(Host *host, Ask *asks, size_t n, uint64_t timeout_usec)
{
	NvmlMove move;

	switch (asks[n - 1].id) {
	case ASK_MOVE:
		nvml_gate_begin_move(&real(host)->nvml_gate, &move, asks[0].functions);
		ask_parts(&real(host)->worker, asks, n, timeout_usec, host->deadline_usec);
		nvml_gate_end_move(&real(host)->nvml_gate, &move);
		break;
	case ASK_PERSISTENCE:
	case ASK_SET_PERSISTENCE:
		ask_beside_no_move(host, asks, n, timeout_usec);
		break;
	case ASK_IMAGE:
		ask_about_image(host, asks, n, timeout_usec);
		break;
	default:
		ask_parts(&real(host)->worker, asks, n, timeout_usec, host->deadline_usec);
	}
}

static pid_t real_worker_on(Host *host, const Bdf *function)
{
	return worker_find(&real(host)->worker, function ? LOCK_FUNCTION : LOCK_PROBE, function);
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
	MachinesAnswer answer = { 0 };
	Ask one = { .id = ASK_MACHINES, .answer = &answer };

	if (real(host)->domains == DOMAINS_NONE) {
		*ret = xcalloc(1, sizeof(DomainUses));
		return 0;
	}
	host->ops->ask(host, &one, 1, ASK_USUAL_TIMEOUT);
	if (one.error == 0)
		*ret = machines_as_uses(
			&(Machines){ .items = answer.machines, .n_items = answer.n_machines });
	else
		*ret_problem = TAKE_PTR(one.problem);
	answer_clear(question(one.id), &answer);
	return one.error == 0 ? 0 : PROBLEM;
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
	.ask = real_ask,
	.worker_on = real_worker_on,
	.expect_work = real_expect_work,
	.domain_find = real_domain_find,
	.domain_get = real_domain_get,
	.domain_uses = real_domain_uses,
	.domain_define = real_domain_define,
	.domain_attach = real_domain_attach,
	.domain_detach = real_domain_detach,
	.libvirt_wait = real_libvirt_wait,
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
		.host = { .ops = &real_ops, .machine = host },
		.sysfs_fd = TAKE_FD(sysfs_fd),
		.proc_fd = proc_fd,
		.scans = { .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER },
		.worker = *worker,
		.image_lock = PTHREAD_MUTEX_INITIALIZER,
	};
	host->worker.children = &host->children;
	nvml_gate_init(&host->nvml_gate, MOVE_PATIENCE_USEC);
	if (worker->parts_dir)
		host->worker.ready = ready_parts_new(worker->parts_dir,
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
