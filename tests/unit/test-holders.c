/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "host/inspect.h"
#include "sysfs-tree.h"
#include "util/text.h"

#define DISPLAY "0000:41:00.0"
#define AUDIO "0000:41:00.1"
#define UUID "GPU-1b5c4e0a-6b2f-4c5e-9d7a-0123456789ab"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* One board: nvidia minor 3, card1 and renderD129, sound card 2, IOMMU group 33. */
static SysfsTree *one_gpu(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	tree_add_nvidia_information(tree, DISPLAY, UUID, 3);
	tree_write_attribute(tree, DISPLAY, "drm/card1/dev", "226:1\n");
	tree_write_attribute(tree, DISPLAY, "drm/renderD129/dev", "226:129\n");
	tree_write_attribute(tree, DISPLAY, "graphics/fb0/dev", "29:0\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/controlC2/dev", "116:9\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/pcmC2D3p/dev", "116:8\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/hwC2D0/dev", "116:7\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/id", "NVidia\n");
	return tree;
}

static Inspection *scan(const SysfsTree *tree, int unreadable)
{
	Bdf functions[] = { tree_bdf(DISPLAY), tree_bdf(AUDIO) };
	Inspection *into = calloc(1, sizeof(*into));

	assert_non_null(into);
	assert_int_equal(holders_scan(&tree->roots, functions, ELEMENTS(functions), into),
			 unreadable);
	return into;
}

static const Holder *find(const Inspection *in, const char *bdf, pid_t pid, const char *path)
{
	Bdf address = tree_bdf(bdf);

	for (size_t i = 0; i < in->n_holders; i++)
		if (bdf_equal(&in->holders[i].bdf, &address) && in->holders[i].pid == pid &&
		    strcmp(in->holders[i].path, path) == 0)
			return &in->holders[i];
	return NULL;
}

/* fault 1 */
static void every_device_file_of_a_function_counts(void **state _unused_)
{
	static const struct {
		const char *target, *bdf, *path;
		bool vfio;
	} rows[] = {
		{ "/dev/nvidia3", DISPLAY, "/dev/nvidia3", false },
		{ "/dev/nvidia3 (deleted)", DISPLAY, "/dev/nvidia3", false },
		{ "/srv/chroot/dev/nvidia3", DISPLAY, "/dev/nvidia3", false },
		{ "/dev/dri/card1", DISPLAY, "/dev/dri/card1", false },
		{ "/dev/dri/renderD129", DISPLAY, "/dev/dri/renderD129", false },
		{ "/dev/fb0", DISPLAY, "/dev/fb0", false },
		{ "/dev/snd/controlC2", AUDIO, "/dev/snd/controlC2", false },
		{ "/dev/snd/pcmC2D3p", AUDIO, "/dev/snd/pcmC2D3p", false },
		{ "/dev/snd/hwC2D0", AUDIO, "/dev/snd/hwC2D0", false },
		{ "/dev/vfio/33", DISPLAY, "/dev/vfio/33", true },
		{ "/dev/vfio/33", AUDIO, "/dev/vfio/33", true },
		{ "/dev/vfio/noiommu-33", AUDIO, "/dev/vfio/noiommu-33", true },
		{ "/dev/vfio/devices/vfio7", DISPLAY, "/dev/vfio/devices/vfio7", true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;
		const Holder *holder;

		tree_write_attribute(tree, DISPLAY, "vfio-dev/vfio7/dev", "511:7\n");
		tree_add_process(tree, 4242, "python3", "0::/user.slice\n");
		tree_process_opens(tree, 4242, 9, rows[i].target);
		in = scan(tree, 0);
		holder = find(in, rows[i].bdf, 4242, rows[i].path);
		if (!holder || holder->vfio != rows[i].vfio) {
			fail_msg("row %zu: %s not found among %zu", i, rows[i].path, in->n_holders);
			continue; /* not reached, which analyzers do not know */
		}
		assert_string_equal(holder->command, "python3");
		assert_null(holder->unit);
		assert_null(holder->container);
	}
}

static void files_that_belong_to_no_one_gpu_or_to_another_do_not_count(void **state _unused_)
{
	static const char *const targets[] = {
		"/dev/nvidiactl",     "/dev/nvidia-uvm",  "/dev/nvidia-modeset",
		"/dev/nvidia30",      "/dev/nvidia",	  "/dev/nvidia0",
		"/dev/dri/card10",    "/dev/dri/by-path", "/dev/snd/timer",
		"/dev/snd/controlC1", "/dev/vfio/vfio",	  "/dev/vfio/3",
		"/dev/vfio/333",      "socket:[12345]",	  "anon_inode:[eventfd]",
		"/dev/snd/id",	      "/home/a/nvidia3",  "/devil/dev-x/nvidia3",
		"pipe:[1]",
	};
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_process(tree, 77, "sh", "0::/\n");
	for (size_t i = 0; i < ELEMENTS(targets); i++)
		tree_process_opens(tree, 77, (int)i + 3, targets[i]);
	in = scan(tree, 0);
	if (in->n_holders > 0)
		fail_msg("%s counts", in->holders[0].path);
}

static void a_mapping_without_a_descriptor_holds(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_process(tree, 500, "cuda-app", "0::/\n");
	tree_process_maps(tree, 500,
			  "7f0000000000-7f0000001000 r--p 00000000 fd:00 77  /usr/lib/libc.so.6\n"
			  "7f1200000000-7f1200010000 rw-s 00000000 00:05 512 /dev/nvidia3\n"
			  "7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0   [stack]\n");
	in = scan(tree, 0);
	assert_int_equal(in->n_holders, 1);
	assert_non_null(find(in, DISPLAY, 500, "/dev/nvidia3"));
}

static void a_holder_is_reported_once_a_file(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_process(tree, 500, "cuda-app", "0::/\n");
	for (int fd = 3; fd < 40; fd++)
		tree_process_opens(tree, 500, fd, "/dev/nvidia3");
	tree_process_maps(tree, 500, "7f1200000000-7f1200010000 rw-s 0 00:05 512 /dev/nvidia3\n");
	tree_process_opens(tree, 500, 40, "/dev/dri/card1");
	in = scan(tree, 0);
	assert_int_equal(in->n_holders, 2);
}

static void the_persistence_daemon_is_named_with_its_unit(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;
	const Holder *holder;

	tree_add_process(tree, 912, "nvidia-persistenced",
			 "0::/system.slice/nvidia-persistenced.service\n");
	tree_process_opens(tree, 912, 4, "/dev/nvidiactl");
	tree_process_opens(tree, 912, 5, "/dev/nvidia3");
	in = scan(tree, 0);
	assert_int_equal(in->n_holders, 1);
	holder = find(in, DISPLAY, 912, "/dev/nvidia3");
	assert_non_null(holder);
	assert_string_equal(holder->command, "nvidia-persistenced");
	assert_string_equal(holder->unit, "nvidia-persistenced.service");
	assert_null(holder->container);
}

static void a_process_whose_first_thread_has_ended_still_holds(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_write(tree, "proc/600/comm", "worker\n");
	tree_write(tree, "proc/600/cgroup", "0::/\n");
	tree_write(tree, "proc/600/maps", "");
	tree_write(tree, "proc/600/task/600/maps", "");
	tree_write(tree, "proc/600/task/601/maps", "");
	tree_link(tree, "proc/600/task/601/fd/7", "/dev/nvidia3");
	in = scan(tree, 0);
	assert_int_equal(in->n_holders, 1);
	assert_non_null(find(in, DISPLAY, 600, "/dev/nvidia3"));
}

static void processes_that_vanish_are_no_holders(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	/* no fd, no maps; nothing at all; and gone between its files and its name */
	tree_write(tree, "proc/700/comm", "gone\n");
	tree_link(tree, "proc/701", "nowhere");
	tree_link(tree, "proc/702/fd/3", "/dev/nvidia3");
	tree_write(tree, "proc/self/comm", "not a pid\n");
	in = scan(tree, 0);
	assert_int_equal(in->n_holders, 0);
}

/* Root reads everything, so this looks as somebody else, in a child. */
static void processes_that_may_not_be_looked_into_are_counted(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;
	_cleanup_free_ char *path = strf("%s/800/fd", tree->proc);
	int status;
	pid_t pid;

	tree_add_process(tree, 800, "secret", "0::/\n");
	tree_add_process(tree, 801, "open", "0::/\n");
	tree_process_opens(tree, 801, 3, "/dev/nvidia3");
	assert_int_equal(chmod(path, 0), 0);
	pid = fork();
	if (pid == 0) {
		if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(3);
		in = scan(tree, 1);
		_exit(in->n_holders == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(path, 0700), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void without_device_files_no_process_is_looked_at(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_gpu(tree, DISPLAY, 0x2230, NULL, IOMMU_GROUP_NONE, NULL);
	tree_add_process(tree, 500, "cuda-app", "0::/\n");
	tree_process_opens(tree, 500, 3, "/dev/nvidia3");
	in = scan(tree, 0);
	assert_int_equal(in->n_holders, 0);
}

static void very_many_holders_are_bounded(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	for (int pid = 1000; pid < 2100; pid++) {
		_cleanup_free_ char *comm = strf("proc/%d/comm", pid);

		tree_write(tree, comm, "x\n");
		tree_process_opens(tree, pid, 3, "/dev/nvidia3");
	}
	in = scan(tree, 0);
	assert_int_equal(in->n_holders, 1024);
}

/* fault 1 */
static void unit_and_container_are_read_from_the_cgroup(void **state _unused_)
{
	static const struct {
		const char *text, *unit, *container;
	} rows[] = {
		{ "", NULL, NULL },
		{ "0::/\n", NULL, NULL },
		{ "0::/system.slice/ssh.service\n", "ssh.service", NULL },
		{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope\n",
		  "app-x.scope", NULL },
		{ "0::/system.slice/docker-" ID ".scope\n", "docker-" ID ".scope", ID },
		{ "0::/docker/" ID "\n", NULL, ID },
		{ "0::/machine.slice/libpod-" ID ".scope/container\n", "libpod-" ID ".scope", ID },
		{ "0::/machine.slice/libpod-conmon-" ID ".scope\n", "libpod-conmon-" ID ".scope",
		  NULL },
		{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
		  "cri-containerd-" ID ".scope\n",
		  "cri-containerd-" ID ".scope", ID },
		{ "0::/kubepods/besteffort/podbb1c8f1a-2c2e/" ID "\n", NULL, ID },
		{ "0::/lxc/web1\n", NULL, "web1" },
		{ "0::/lxc.payload.web1/system.slice/nginx.service\n", "nginx.service", "web1" },
		{ "0::/lxc.monitor.web1\n", NULL, NULL },
		{ "0::/docker/" ID "/system.slice/docker-ffffffffffff.scope\n",
		  "docker-ffffffffffff.scope", ID },
		{ "12:devices:/docker/" ID "\n1:name=systemd:/docker/" ID "\n", NULL, ID },
		{ "3:cpu:/a.service\n1:name=systemd:/system.slice/b.service\n0::/\n", "b.service",
		  NULL },
		{ "0::/machine.slice/machine-qemu\\x2d1\\x2dvm42.scope/libvirt/emulator\n",
		  "machine-qemu\\x2d1\\x2dvm42.scope", NULL },
		{ "no colon\n0:\n:::\n0::/.service\n", NULL, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *unit = NULL, *container = NULL;

		assert_int_equal(cgroup_identify(rows[i].text, &unit, &container), 0);
		if (!str_equal(unit, rows[i].unit) || !str_equal(container, rows[i].container))
			fail_msg("row %zu: unit %s, container %s", i, str_or_empty(unit),
				 str_or_empty(container));
	}
}

/* This very process, through the real /proc. */
static void an_open_file_of_a_real_process_is_found(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;
	_cleanup_free_ char *path = strf("%s/dev/nvidia3", tree->path);
	_cleanup_close_ int fd = -1, proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	Bdf function = tree_bdf(AUDIO);
	InspectRoots roots = tree->roots;
	int r;

	/* The audio function's IOMMU group file, in a directory that looks like a chroot. */
	free(path);
	path = strf("%s/dev/vfio/33", tree->path);
	tree_write(tree, "dev/vfio/33", "");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	roots.proc_fd = proc_fd;
	in = calloc(1, sizeof(*in));
	assert_non_null(in);
	r = holders_scan(&roots, &function, 1, in);
	assert_true(r >= 0);
	assert_non_null(find(in, AUDIO, getpid(), "/dev/vfio/33"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_device_file_of_a_function_counts),
		cmocka_unit_test(files_that_belong_to_no_one_gpu_or_to_another_do_not_count),
		cmocka_unit_test(a_mapping_without_a_descriptor_holds),
		cmocka_unit_test(a_holder_is_reported_once_a_file),
		cmocka_unit_test(the_persistence_daemon_is_named_with_its_unit),
		cmocka_unit_test(a_process_whose_first_thread_has_ended_still_holds),
		cmocka_unit_test(processes_that_vanish_are_no_holders),
		cmocka_unit_test(processes_that_may_not_be_looked_into_are_counted),
		cmocka_unit_test(without_device_files_no_process_is_looked_at),
		cmocka_unit_test(very_many_holders_are_bounded),
		cmocka_unit_test(unit_and_container_are_read_from_the_cgroup),
		cmocka_unit_test(an_open_file_of_a_real_process_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
