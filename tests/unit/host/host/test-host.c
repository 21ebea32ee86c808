/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <pthread.h>

#include "rig/real-host.h"
#include "rig/sysfs-tree.h"
#include "rig/virt-free.h"
#include "util/text.h"

#define NODE "test://" FIXTURES "/libvirt/node.xml"
#define VM42 "22222222-2222-4222-8222-222222222222"

TEST(a_host_without_sysfs_is_an_error)
{
	const WorkerConfig worker = { .sysfs_dir = "/nonexistent" };
	RealHost host;

	assert_int_equal(real_host_init(&host, &worker), -ENOENT);
}

TEST(a_host_without_libvirt_says_so_for_every_domain_call)
{
	const WorkerConfig worker = { .sysfs_dir = FIXTURES, .proc_dir = "/proc" };
	static const Bdf bdf = { .bus = 0x41 };
	Problem *problems[6] = { NULL };
	DomainId id = { 0 };
	VirtDomain *domain = NULL;
	DomainUses *uses = NULL;
	RealHost real;
	Host *host = &real.host;

	assert_int_equal(real_host_init(&real, &worker), 0);
	host->ops->domain_get(host, VM42, &domain, &problems[0]);
	host->ops->domain_uses(host, true, &uses, &problems[1]);
	host->ops->domain_define(host, VM42, "", "", &problems[2]);
	host->ops->domain_attach(host, VM42, "", &problems[3]);
	host->ops->domain_detach(host, VM42, &bdf, 0, &problems[4]);
	host->ops->domain_find(host, "vm42", &id, &problems[5]);
	for (size_t i = 0; i < ELEMENTS(problems); i++) {
		if (!problems[i] || problems[i]->error != GPUPASS_ERROR_LIBVIRT_UNAVAILABLE)
			fail_msg("operation %zu says %s", i,
				 problems[i] ? problems[i]->reason : "nothing");
		problem_free(problems[i]);
	}
	real_host_done(&real);
}

TEST(a_host_hands_domain_calls_to_libvirt)
{
	const WorkerConfig worker = { .sysfs_dir = FIXTURES, .proc_dir = "/proc" };
	_cleanup_(virt_freep) Virt *virt = NULL;
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_(domain_id_clear) DomainId id = { 0 };
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	RealHost real;
	Host *host = &real.host;

	assert_int_equal(real_host_init(&real, &worker), 0);
	assert_int_equal(virt_new(NODE, NULL, NULL, &virt), 0);
	real.virt = virt;
	assert_int_equal(host->ops->domain_find(host, "vm42", &id, &problem), 0);
	assert_string_equal(id.uuid, VM42);
	assert_int_equal(host->ops->domain_get(host, id.uuid, &domain, &problem), 0);
	assert_string_equal(domain->name, "vm42");
	assert_int_equal(host->ops->domain_uses(host, true, &uses, &problem), 0);
	assert_int_equal(uses->n_items, 4);
	real_host_done(&real);
}

/* ---- scans that threads share ---- */

#define LOOKERS 8
#define LOOKS 50

typedef struct Looker {
	pthread_t thread;
	Host *host;
	SysfsTree *tree;
	char *gpu;
	bool missed;
} Looker;

static void *change_and_look(void *data)
{
	Looker *l = data;
	const Bdf bdf = tree_bdf(l->gpu);

	for (unsigned i = 0; i < LOOKS && !l->missed; i++) {
		_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
		_cleanup_free_ char *state = strf("state %u", i);

		tree_write_attribute(l->tree, l->gpu, "power_state", state);
		l->missed = l->host->ops->scan(l->host, &snapshot) < 0 ||
			    !str_equal(pci_snapshot_find(snapshot, &bdf)->power_state, state);
	}
	return NULL;
}

TEST(each_scan_of_threads_at_once_sees_what_was_so_before_it_was_asked_for)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_free_ char *sysfs = strf("/proc/self/fd/%d", tree->roots.sysfs_fd);
	const WorkerConfig worker = { .sysfs_dir = sysfs, .proc_dir = "/proc" };
	Looker lookers[LOOKERS];
	RealHost real;

	assert_int_equal(real_host_init(&real, &worker), 0);
	for (unsigned i = 0; i < LOOKERS; i++) {
		lookers[i] = (Looker){ .host = &real.host, .tree = tree };
		lookers[i].gpu = strf("0000:%02x:00.0", 0x41 + i);
		tree_add_gpu(tree, lookers[i].gpu, 0x2204, "vfio-pci", (int)i, NULL);
	}
	for (unsigned i = 0; i < LOOKERS; i++)
		assert_int_equal(
			pthread_create(&lookers[i].thread, NULL, change_and_look, &lookers[i]), 0);
	for (unsigned i = 0; i < LOOKERS; i++) {
		pthread_join(lookers[i].thread, NULL);
		assert_false(lookers[i].missed);
		free(lookers[i].gpu);
	}
	assert_null(real.scans.last);
	real_host_done(&real);
}
