/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays a part that somebody has taken over: stands in the place of its program, in its sandbox,
 * and tries what the part is not there for. Usage: intruder PID-OF-THE-DAEMON [read-only]. Writes
 * one line with the names of all that succeeded. With read-only it first confines itself as the
 * parts do that only look, before they read their request.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/reboot.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/read-only.h"

static char daemon_mem[64];
static pid_t daemon_pid;

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_socket(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool read_shadow(void)
{
	return opens("/etc/shadow", O_RDONLY);
}
static bool read_assignments(void)
{
	return opens("/etc/gpupass/gpupassd.conf", O_RDONLY);
}
static bool write_etc(void)
{
	return opens("/etc/intruder", O_WRONLY | O_CREAT);
}
static bool write_state(void)
{
	return opens("/var/lib/gpupass/intruder", O_WRONLY | O_CREAT);
}
static bool write_sysfs(void)
{
	return opens("/sys/bus/pci/drivers_probe", O_WRONLY);
}
static bool write_kernel(void)
{
	return opens("/proc/sys/kernel/core_pattern", O_WRONLY);
}
static bool write_cgroup(void)
{
	return opens("/sys/fs/cgroup/cgroup.procs", O_WRONLY);
}
static bool write_elsewhere(void)
{
	return opens("/proc/1/root/etc/intruder", O_WRONLY | O_CREAT);
}
static bool remove_elsewhere(void)
{
	return unlink("/proc/1/root/etc/to-remove") == 0;
}
static bool write_daemon(void)
{
	return opens(daemon_mem, O_RDWR);
}
static bool read_daemon(void)
{
	return opens(daemon_mem, O_RDONLY);
}
static bool read_memory(void)
{
	return opens("/dev/mem", O_RDONLY);
}
static bool write_log(void)
{
	return opens("/dev/kmsg", O_WRONLY);
}
static bool socket_unix(void)
{
	return has_socket(AF_UNIX, SOCK_STREAM, 0);
}
/* Who is root there may have systemd do anything. */
static bool reaches_bus(void)
{
	const struct sockaddr_un bus = { AF_UNIX, "/run/dbus/system_bus_socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool reached = fd >= 0 && connect(fd, (const struct sockaddr *)&bus, sizeof(bus)) == 0;

	if (fd >= 0)
		close(fd);
	return reached;
}
static bool socket_inet(void)
{
	return has_socket(AF_INET, SOCK_STREAM, 0);
}
static bool socket_netlink(void)
{
	return has_socket(AF_NETLINK, SOCK_RAW, 0);
}
static bool traces(void)
{
	return ptrace(PTRACE_SEIZE, daemon_pid, NULL, NULL) == 0;
}
static bool signals(void)
{
	return kill(daemon_pid, 0) == 0;
}
static bool mounts(void)
{
	return mount("none", "/mnt", "tmpfs", 0, NULL) == 0;
}
static bool remounts(void)
{
	return mount(NULL, "/sys", NULL, MS_REMOUNT | MS_BIND, NULL) == 0;
}
static bool new_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}
static bool new_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0;
}
static bool changes_user(void)
{
	return setresuid(1, 1, 1) == 0;
}
static bool changes_root(void)
{
	return chroot("/") == 0;
}
static bool loads_module(void)
{
	return syscall(SYS_init_module, "", 0, "") == 0 || errno == ENOEXEC;
}
/* Only forbids the key combination, which the lab has no use for. */
static bool reboots(void)
{
	return syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
		       LINUX_REBOOT_CMD_CAD_OFF, NULL) == 0;
}
static bool uses_bpf(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) >= 0;
}
static bool makes_device(void)
{
	return mknod("/tmp/intruder", S_IFBLK | 0600, makedev(1, 0)) == 0 ||
	       mknod("/dev/intruder", S_IFBLK | 0600, makedev(1, 0)) == 0;
}
static bool runs_program(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static const struct {
	const char *name;
	bool (*succeeds)(void);
} attempts[] = {
	{ "read-shadow", read_shadow },
	{ "read-settings", read_assignments },
	{ "write-etc", write_etc },
	{ "write-state", write_state },
	{ "write-sysfs", write_sysfs },
	{ "write-kernel", write_kernel },
	{ "write-cgroup", write_cgroup },
	{ "write-elsewhere", write_elsewhere },
	{ "remove-elsewhere", remove_elsewhere },
	{ "write-daemon", write_daemon },
	{ "read-daemon", read_daemon },
	{ "read-memory", read_memory },
	{ "write-log", write_log },
	{ "socket-unix", socket_unix },
	{ "reach-bus", reaches_bus },
	{ "socket-inet", socket_inet },
	{ "socket-netlink", socket_netlink },
	{ "trace", traces },
	{ "signal", signals },
	{ "mount", mounts },
	{ "remount", remounts },
	{ "new-namespace", new_namespace },
	{ "new-mounts", new_mounts },
	{ "change-user", changes_user },
	{ "change-root", changes_root },
	{ "load-module", loads_module },
	{ "reboot", reboots },
	{ "bpf", uses_bpf },
	{ "make-device", makes_device },
	{ "run-program", runs_program },
};

int main(int argc, char **argv)
{
	char line[1024] = "";

	daemon_pid = argc > 1 ? atoi(argv[1]) : 0;
	if (daemon_pid <= 1)
		return 2;
	if (argc > 2 && become_read_only() < 0)
		return 3;
	snprintf(daemon_mem, sizeof(daemon_mem), "/proc/%d/mem", (int)daemon_pid);
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		if (!attempts[i].succeeds())
			continue;
		strcat(line, *line ? " " : "");
		strcat(line, attempts[i].name);
	}
	strcat(line, "\n");
	return write(STDOUT_FILENO, line, strlen(line)) < 0;
}
