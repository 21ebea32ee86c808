/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/device/holders.h"
#include "host/device/inspect.h"
#include "host/scan/process.h"
#include "rig/look-rows.h"
#include "util/text.h"

#define DISPLAY "0000:41:00.0"
#define AUDIO "0000:41:00.1"
#define OF_DISPLAY "sys/bus/pci/devices/" DISPLAY "/"
#define OF_AUDIO "sys/bus/pci/devices/" AUDIO "/"
#define UUID "GPU-1b5c4e0a-6b2f-4c5e-9d7a-0123456789ab"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* What stands for a GPU's device file here: on every host, and open in hardly any process. */
#define STAND_IN "/dev/full"
#define NUMBER NUMBER_OF_FULL

/* One board: nvidia minor 7, card1 and renderD129, sound card 2, IOMMU group 33. */
static SysfsTree *one_gpu(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	tree_add_nvidia_information(tree, DISPLAY, UUID, 7);
	tree_write_attribute(tree, DISPLAY, "drm/card1/dev", "226:1\n");
	tree_write_attribute(tree, DISPLAY, "drm/renderD129/dev", "226:129\n");
	tree_write_attribute(tree, DISPLAY, "graphics/fb0/dev", "29:0\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/controlC2/dev", "116:9\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/pcmC2D3p/dev", "116:8\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/hwC2D0/dev", "116:7\n");
	tree_write_attribute(tree, AUDIO, "sound/card2/id", "NVidia\n");
	return tree;
}

/* The same beside a process that has STAND_IN open. */
static SysfsTree *one_gpu_and_a_process(void)
{
	SysfsTree *tree = one_gpu();

	tree_add_process(tree, 4242, "python3", "0::/user.slice\n");
	tree_process_opens(tree, 4242, 9, STAND_IN);
	return tree;
}

/* The same, with STAND_IN for /dev/nvidia7. */
static SysfsTree *one_gpu_on_nvidia(void)
{
	SysfsTree *tree = one_gpu();

	tree_write(tree, "proc/devices", DEVICES_WITH_NVIDIA_AS_MEM);
	return tree;
}

/* With STAND_IN for /dev/vfio/33, seen through the real /proc. */
static SysfsTree *one_gpu_among_real_processes(void)
{
	SysfsTree *tree = one_gpu();

	tree_write(tree, "sys/class/vfio/33/dev", NUMBER);
	close(tree->roots.proc_fd);
	tree->roots.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->roots.proc_fd >= 0);
	return tree;
}

static Inspection *scan(const SysfsTree *tree)
{
	Bdf functions[] = { tree_bdf(DISPLAY), tree_bdf(AUDIO) };
	Inspection *into = calloc(1, sizeof(*into));

	assert_non_null(into);
	assert_int_equal(holders_scan(&tree->roots, functions, ELEMENTS(functions), into), 0);
	return into;
}

static json_t *look(SysfsTree *tree)
{
	_cleanup_(inspection_freep) Inspection *in = scan(tree);

	return json_struct_write(inspection_members, in);
}

static bool holds(const Inspection *in, const char *bdf, pid_t pid, const char *path)
{
	Bdf address = tree_bdf(bdf);

	for (size_t i = 0; i < in->n_holders; i++)
		if (bdf_equal(&in->holders[i].bdf, &address) && in->holders[i].pid == pid &&
		    strcmp(in->holders[i].path, path) == 0)
			return true;
	return false;
}

#define HOLDER(bdf, path, more)                                                                    \
	"{'bdf': '" bdf "', 'path': '" path "', 'pid': 4242, 'command': 'python3', "               \
	"'unit': null, 'container': null, 'vfio': " more "}"
#define HELD(bdf, path) "{'all_unseen': 0, 'holders': [" HOLDER(bdf, path, "null") "]}"
/* An IOMMU group has one owner. */
#define GUEST(path)                                                                                \
	"{'all_unseen': 0, 'holders': [" HOLDER(DISPLAY, path, "true") ", " HOLDER(AUDIO, path,    \
										   "true") "]}"

/* fault 1 */
static const LookRow files[] = {
	ROW("nvidia", { "proc/devices", DEVICES_WITH_NVIDIA_AS_MEM },
	    HELD(DISPLAY, "/dev/nvidia7")),
	ROW("card", { OF_DISPLAY "drm/card1/dev", NUMBER }, HELD(DISPLAY, "/dev/dri/card1")),
	ROW("render", { OF_DISPLAY "drm/renderD129/dev", NUMBER },
	    HELD(DISPLAY, "/dev/dri/renderD129")),
	ROW("framebuffer", { OF_DISPLAY "graphics/fb0/dev", NUMBER }, HELD(DISPLAY, "/dev/fb0")),
	/* Of a NIC. */
	ROW("verbs", { OF_AUDIO "infiniband_verbs/uverbs0/dev", NUMBER },
	    HELD(AUDIO, "/dev/infiniband/uverbs0")),
	ROW("management datagrams", { OF_AUDIO "infiniband_mad/umad0/dev", NUMBER },
	    HELD(AUDIO, "/dev/infiniband/umad0")),
	ROW("a subnet manager", { OF_AUDIO "infiniband_mad/issm0/dev", NUMBER },
	    HELD(AUDIO, "/dev/infiniband/issm0")),
	ROW("a clock", { OF_AUDIO "ptp/ptp3/dev", NUMBER }, HELD(AUDIO, "/dev/ptp3")),
	ROW("a driver of a program's own", { OF_AUDIO "uio/uio2/dev", NUMBER },
	    HELD(AUDIO, "/dev/uio2")),
	ROW("its firmware's calls", { OF_AUDIO "mlx5_core.fwctl.0/fwctl/fwctl1/dev", NUMBER },
	    HELD(AUDIO, "/dev/fwctl/fwctl1")),
	ROW("its queues", { OF_AUDIO "vdpa0/vhost-vdpa-3/dev", NUMBER },
	    HELD(AUDIO, "/dev/vhost-vdpa-3")),
	ROW("mixer", { OF_AUDIO "sound/card2/controlC2/dev", NUMBER },
	    HELD(AUDIO, "/dev/snd/controlC2")),
	ROW("sound", { OF_AUDIO "sound/card2/pcmC2D3p/dev", NUMBER },
	    HELD(AUDIO, "/dev/snd/pcmC2D3p")),
	ROW("codec", { OF_AUDIO "sound/card2/hwC2D0/dev", NUMBER }, HELD(AUDIO, "/dev/snd/hwC2D0")),
	ROW("group", { "sys/class/vfio/33/dev", NUMBER }, GUEST("/dev/vfio/33")),
	ROW("group without IOMMU", { "sys/class/vfio/noiommu-33/dev", NUMBER },
	    GUEST("/dev/vfio/noiommu-33")),
	ROW("iommufd", { OF_DISPLAY "vfio-dev/vfio7/dev", NUMBER },
	    GUEST("/dev/vfio/devices/vfio7")),
	ROW("iommufd without IOMMU", { OF_DISPLAY "vfio-dev/noiommu-vfio7/dev", NUMBER },
	    GUEST("/dev/vfio/devices/noiommu-vfio7")),
	ROW("an NVMe controller", { OF_DISPLAY "nvme/nvme3/dev", NUMBER },
	    HELD(DISPLAY, "/dev/nvme3")),
	ROW("an NVMe namespace past its block device",
	    { OF_DISPLAY "nvme/nvme3/ng3n1/dev", NUMBER }, HELD(DISPLAY, "/dev/ng3n1")),
	ROW("a block device of the same number",
	    { OF_DISPLAY "nvme/nvme3/nvme3n1/uevent", "", "sys/block/nvme3n1/dev", NUMBER },
	    "{'all_unseen': 0, 'holders': []}"),
	ROW("iommufd of another function of the group", { OF_AUDIO "vfio-dev/vfio8/dev", NUMBER },
	    GUEST("/dev/vfio/devices/vfio8")),
};

TEST(every_device_file_of_a_function_counts)
{
	look_rows(files, ELEMENTS(files), one_gpu_and_a_process, look);
}

#define PROCESS(pid, comm)                                                                         \
	"proc/" pid "/comm", comm "\n", "proc/" pid "/cgroup", "0::/\n", "proc/" pid "/maps", "",  \
		"proc/" pid "/task/" pid "/comm", comm "\n"
#define OPENS(pid, fd, target) "proc/" pid "/task/" pid "/fd/" fd " -> " target, ""
#define MAPS(pid, text) "proc/" pid "/maps", text
#define MAPS_FILE(pid, range, target) "proc/" pid "/map_files/" range " -> " target, ""
#define BY_NAME(fd, name) "dev/" name, "", OPENS("77", fd, "../../../../../dev/" name)
#define CARD_IS_ZERO OF_DISPLAY "drm/card1/dev", NUMBER_OF_ZERO
#define A_RANGE "7f1200000000-7f1200010000"
#define NOBODY "{'holders': [], 'all_unseen': 0}"
#define STAT(text)                                                                                 \
	{                                                                                          \
		PROCESS("42", "a"), OPENS("42", "3", STAND_IN), "proc/42/stat", text               \
	}

static const LookRow processes[] = {
	ROW("files of no GPU or of another do not count",
	    { "sys/class/vfio/3/dev", NUMBER_OF_NULL, "sys/class/vfio/333/dev", NUMBER_OF_ZERO,
	      PROCESS("77", "sh"), OPENS("77", "3", "/dev/null"), OPENS("77", "4", "/dev/zero"),
	      OPENS("77", "5", "/dev/tty"), OPENS("77", "6", "/dev/dri/by-path"),
	      OPENS("77", "7", "socket:[12345]"), OPENS("77", "8", "anon_inode:[eventfd]"),
	      OPENS("77", "9", "/home/a/nvidia7"), OPENS("77", "10", "pipe:[1]"),
	      OPENS("77", "11", "/"), OPENS("77", "12", "/dev/random") },
	    NOBODY),
	/* Anybody can make such a file, and open it. */
	/* promise U7 */
	ROW("a file of a device's name does not count",
	    { "sys/class/vfio/33/dev", NUMBER_OF_ZERO, PROCESS("77", "sh"), BY_NAME("3", "nvidia7"),
	      BY_NAME("4", "vfio/33"), BY_NAME("5", "dri/card1"), BY_NAME("6", "snd/controlC2"),
	      BY_NAME("7", "vfio/noiommu-33"), BY_NAME("8", "fb0"),
	      MAPS("77",
		   A_RANGE " rw-s 00000000 00:05 512 /dev/nvidia7\n"
			   "7f1200010000-7f1200020000 rw-s 00000000 00:05 513 /dev/vfio/33\n"),
	      MAPS_FILE("77", A_RANGE, "../comm"),
	      MAPS_FILE("77", "7f1200010000-7f1200020000", "../comm") },
	    NOBODY),
	/* Ranges are without leading zeros, as the kernel has them; of one file once. */
	ROW("a mapping without a descriptor holds",
	    { PROCESS("500", "cuda-app"),
	      MAPS("500", "00400000-0040b000 r--p 00000000 fd:00 77  /usr/lib/libc.so.6\n"
			  "0040b000-0040c000 rw-p 00000000 fd:00 77  /usr/lib/libc.so.6\n"
			  "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n" A_RANGE
			  " rw-s 00000000 00:05 512 /called/anything\n"
			  "7ffd1c000000-7ffd1c021000 rw-p 00000000 00:00 0   [stack]\n"),
	      MAPS_FILE("500", "400000-40b000", "../comm"), MAPS_FILE("500", A_RANGE, STAND_IN) },
	    "{'holders': [{'bdf': '" DISPLAY "', 'pid': 500, 'path': '/dev/nvidia7'}], "
	    "'all_unseen': 0}"),
	/* Whoever moves his mappings about while they are looked at is told of. */
	ROW("a mapping that cannot be caught is told",
	    { PROCESS("500", "eel"), MAPS("500", A_RANGE " rw-s 00000000 00:05 512 /a\n") },
	    "{'holders': [], 'all_unseen': 1, "
	    "'unseen': [{'pid': 500, 'command': 'eel', 'reason': 'moving'}]}"),
	ROW("a holder is reported once a file",
	    { CARD_IS_ZERO, PROCESS("500", "cuda-app"), OPENS("500", "3", STAND_IN),
	      OPENS("500", "4", STAND_IN), OPENS("500", "5", "/dev/zero"),
	      MAPS("500", A_RANGE " rw-s 0 00:05 512 /dev/nvidia7\n"),
	      MAPS_FILE("500", A_RANGE, STAND_IN) },
	    "{'holders': [{'path': '/dev/dri/card1'}, {'path': '/dev/nvidia7'}]}"),
	ROW("the persistence daemon is named with its unit",
	    { PROCESS("912", "nvidia-persistenced"), "proc/912/cgroup",
	      "0::/system.slice/nvidia-persistenced.service\n", OPENS("912", "4", "/dev/nvidiactl"),
	      OPENS("912", "5", STAND_IN) },
	    "{'holders': [{'pid': 912, 'path': '/dev/nvidia7', 'command': 'nvidia-persistenced', "
	    "'unit': 'nvidia-persistenced.service', 'container': null}]}"),
	ROW("a process whose first thread has ended still holds",
	    { CARD_IS_ZERO, PROCESS("600", "worker"), "proc/600/task/600/maps", "",
	      "proc/600/task/601/maps", "7f12000-7f13000 rw-s 0 00:05 5 /dev/dri/x\n",
	      "proc/600/task/601/map_files/7f12000-7f13000 -> /dev/zero", "",
	      "proc/600/task/601/fd/7 -> " STAND_IN, "" },
	    "{'holders': [{'path': '/dev/dri/card1'}, {'path': '/dev/nvidia7'}]}"),
	/* No fd, no maps; nothing at all; and gone between its files and its name. */
	ROW("processes that vanish are no holders",
	    { "proc/700/comm", "gone\n", "proc/701 -> nowhere", "",
	      "proc/702/task/702/fd/3 -> " STAND_IN, "", "proc/self/comm", "not a pid\n" },
	    NOBODY),
	ROW("without device files no process is looked at",
	    { "proc/driver", NULL, OF_DISPLAY "drm", NULL, OF_DISPLAY "graphics", NULL,
	      OF_AUDIO "sound", NULL, PROCESS("500", "eel"),
	      MAPS("500", A_RANGE " rw-s 00000000 00:05 512 /a\n") },
	    NOBODY),
	/* Only the kernel says who is its thread. */
	ROW("a kernel thread",
	    STAT("42 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0\n"), NOBODY),
	ROW("the name is the process's own",
	    STAT("42 (a) I 2 0 0 0 -1 69238880) S 1 42 42 0 -1 4194304 0 0 0 0 0\n"),
	    "{'holders': [{}]}"),
	ROW("one that ends", STAT("42 (ended) Z 1 42 42 0 -1 4194316 0 0 0 0 0 0 0 0 20 0 2 0\n"),
	    "{'holders': [{}]}"),
	ROW("one with a program",
	    { PROCESS("42", "a"), OPENS("42", "3", STAND_IN), "proc/42/exe -> /usr/bin/a", "",
	      "proc/42/stat", "42 (a) S 1 42 42 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0\n" },
	    "{'holders': [{}]}"),
	ROW("no end of its name", STAT("42 (a\n"), "{'holders': [{}]}"),
	ROW("no word of the kernel", { PROCESS("42", "a"), OPENS("42", "3", STAND_IN) },
	    "{'holders': [{}]}"),
};

TEST(processes_hold_what_they_have_open_or_mapped)
{
	look_rows(processes, ELEMENTS(processes), one_gpu_on_nvidia, look);
}

/* Root reads everything, so this looks as somebody else, in a child. */
TEST(processes_that_may_not_be_looked_into_are_told)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu_on_nvidia();
	_cleanup_free_ char *path = strf("%s/800/task/800/fd", tree->proc);
	int status;
	pid_t pid;

	tree_add_process(tree, 800, "secret", "0::/\n");
	tree_add_process(tree, 801, "open", "0::/\n");
	tree_process_opens(tree, 801, 3, STAND_IN);
	assert_int_equal(chmod(path, 0), 0);
	pid = fork();
	if (pid == 0) {
		if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(3);
		expect_json("as somebody else", look(tree),
			    "{'holders': [{}], 'all_unseen': 1, 'unseen': [{'pid': 800, "
			    "'reason': 'refused', 'command': 'secret'}]}");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(path, 0700), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* And a guest is seen behind any number of them. */
TEST(very_many_holders_are_bounded)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu_on_nvidia();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_write(tree, "sys/class/vfio/33/dev", NUMBER_OF_ZERO);
	tree_add_process(tree, 1000, "x", "0::/\n");
	tree_process_opens(tree, 1000, 3, STAND_IN);
	for (int pid = 1001; pid < 2100; pid++) {
		_cleanup_free_ char *path = strf("proc/%d", pid);

		tree_link(tree, path, "1000");
	}
	tree_add_process(tree, 9999, "qemu", "0::/\n");
	tree_process_opens(tree, 9999, 3, "/dev/zero");
	in = scan(tree);
	assert_int_equal(in->n_holders, 1024 + 2);
	assert_true(holds(in, AUDIO, 9999, "/dev/vfio/33"));
}

/* fault 1 */
TEST(unit_and_container_are_read_from_the_cgroup)
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

		cgroup_identify(rows[i].text, &unit, &container);
		if (!str_equal(unit, rows[i].unit) || !str_equal(container, rows[i].container))
			fail_msg("row %zu: unit %s, container %s", i, str_or_empty(unit),
				 str_or_empty(container));
	}
}

/* ---- real processes, through the real /proc ---- */

TEST(a_real_process_is_found_by_number_alone)
{
	_cleanup_close_ int fd = open(STAND_IN, O_RDONLY | O_CLOEXEC);
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu_among_real_processes();
	_cleanup_(inspection_freep) Inspection *in = scan(tree);

	assert_true(fd >= 0);
	assert_true(holds(in, DISPLAY, getpid(), "/dev/vfio/33"));
	assert_true(holds(in, AUDIO, getpid(), "/dev/vfio/33"));
}

/* Opened for ioctl(2) only it is held; by O_PATH, for which nobody needs a right, it is not. */
TEST(a_file_that_was_only_looked_up_is_not_held)
{
	static const struct {
		int flags;
		bool held;
	} rows[] = { { O_PATH, false }, { O_ACCMODE, true }, { O_WRONLY, true } };

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_close_ int fd = open(STAND_IN, rows[i].flags | O_CLOEXEC);
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu_among_real_processes();
		_cleanup_(inspection_freep) Inspection *in = scan(tree);

		assert_true(fd >= 0);
		if (rows[i].held != holds(in, DISPLAY, getpid(), "/dev/vfio/33"))
			fail_msg("row %zu", i);
	}
}

typedef struct Thread {
	pthread_barrier_t open, done;
	int fd;
} Thread;

static void *hold_by_itself(void *data)
{
	Thread *thread = data;

	thread->fd = unshare(CLONE_FILES) < 0 ? -1 : open(STAND_IN, O_RDONLY | O_CLOEXEC);
	pthread_barrier_wait(&thread->open);
	pthread_barrier_wait(&thread->done);
	close_fd(thread->fd);
	return NULL;
}

TEST(a_thread_with_files_of_its_own_is_seen)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu_among_real_processes();
	pthread_t id;
	Thread thread;

	pthread_barrier_init(&thread.open, NULL, 2);
	pthread_barrier_init(&thread.done, NULL, 2);
	assert_int_equal(pthread_create(&id, NULL, hold_by_itself, &thread), 0);
	pthread_barrier_wait(&thread.open);
	in = scan(tree);
	pthread_barrier_wait(&thread.done);
	pthread_join(id, NULL);
	assert_true(thread.fd >= 0);
	assert_true(holds(in, DISPLAY, getpid(), "/dev/vfio/33"));
}

/* Says one byte when it is ready, and stays until it is ended. */
static pid_t start_child(bool (*prepare)(void))
{
	char ready = 0;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready = prepare() ? 'y' : 'n';
		if (write(fds[1], &ready, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(fds[1]);
	assert_true(pid > 0);
	assert_int_equal(read(fds[0], &ready, 1), 1);
	close(fds[0]);
	if (ready == 'y')
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define MAPPINGS 65000

/* As many as the kernel lets it have, of a file, none of which can be joined with the next. */
static bool map_very_often(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && n < MAPPINGS &&
	       mmap(NULL, page, n % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE, fd, 0) != MAP_FAILED)
		n++;
	return n > MAPPINGS / 2;
}

/* /dev/zero, mapped privately, stays the file of its mapping (drivers/char/mem.c). */
static bool map_only(void)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	bool mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) != MAP_FAILED;

	close(fd);
	return mapped;
}

/*
 * Whether the entries of map_files can be followed. That needs CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE, which root in a container may not have.
 */
static bool may_follow_mappings(pid_t pid)
{
	struct stat st;
	char path[64];
	bool may = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/map_files", pid);
	d = opendir(path);
	for (struct dirent *e = d ? readdir(d) : NULL; e && !may; e = readdir(d))
		may = e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, 0) >= 0;
	if (d)
		closedir(d);
	return may;
}

TEST(a_mapping_is_seen_beside_one_with_very_many)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = NULL;
	pid_t many[4], holder;

	/* skip() leaves by a longjmp(), so that nothing may be there yet that is to be freed. */
	if (!may_follow_mappings(getpid())) {
		print_message("what processes map cannot be followed here (CAP_SYS_ADMIN)\n");
		skip();
	}
	tree = one_gpu_among_real_processes();
	tree_write(tree, "sys/class/vfio/33/dev", NUMBER_OF_ZERO);
	for (size_t i = 0; i < ELEMENTS(many); i++)
		many[i] = start_child(map_very_often);
	holder = start_child(map_only);
	in = scan(tree);
	end_child(holder);
	for (size_t i = 0; i < ELEMENTS(many); i++)
		end_child(many[i]);
	assert_true(holds(in, DISPLAY, holder, "/dev/vfio/33"));
	for (size_t i = 0; i < in->n_unseen; i++)
		assert_int_not_equal(in->unseen[i].pid, holder);
}

/* By a user without privilege, in name spaces of his own, under another name. */
static bool hold_under_another_name(void)
{
	char directory[] = "/tmp/gpupass-test-XXXXXX", path[64];
	int fd;

	if (!mkdtemp(directory) || chmod(directory, 0777) < 0)
		return false;
	if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return false;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/harmless", directory);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	if (mount(STAND_IN, path, NULL, MS_BIND, NULL) < 0)
		return false;
	fd = open(path, O_RDONLY);
	umount2(path, MNT_DETACH);
	unlink(path);
	rmdir(directory);
	return fd >= 0;
}

static bool may_look_into(pid_t pid)
{
	char path[64], target[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, target, sizeof(target)) >= 0;
}

/* promise U7 */
TEST(a_device_mounted_elsewhere_by_a_user_is_seen)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = NULL;
	pid_t pid = start_child(hold_under_another_name);

	if (pid == 0 || !may_look_into(pid)) {
		print_message(
			"no user name spaces here, or nobody may look into them (CAP_SYS_PTRACE)\n");
		if (pid > 0)
			end_child(pid);
		skip();
	}
	tree = one_gpu_among_real_processes();
	in = scan(tree);
	end_child(pid);
	assert_true(holds(in, DISPLAY, pid, "/dev/vfio/33"));
}
