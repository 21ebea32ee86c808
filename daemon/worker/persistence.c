/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "host/device/nvml.h"
#include "host/launch/child.h"
#include "util/bdf.h"
#include "util/text.h"
#include "util/xalloc.h"
#include "worker/command.h"

/*
 * ---- nvidia-smi ----
 * NVIDIA's own tool. Where nvidia-persistenced runs, it asks that to let go of a GPU, and elsewhere
 * NVML; NVML's own call does not make nvidia-persistenced let go (kubernetes-sigs/
 * dra-driver-nvidia-gpu, issue 1037 and pull request 1038).
 */

/* nvidia-installer and the distributions have it there, or a link to it. */
#define PROGRAM "/usr/bin/nvidia-smi"
/*
 * It initialises GPUs that nobody has open, which takes a second or two each. Less than a worker
 * has (core/group/policy.h), so that what NVML says afterwards is still told.
 */
#define DEADLINE_SEC 20U
#define OUTPUT_MAX 4096U
#define TOLD_MAX 200U

static int find_program(const char *root, char **ret, char **ret_why)
{
	_cleanup_free_ char *path = strf("%s" PROGRAM, str_or_empty(root));
	struct stat st;

	if (!root || stat(path, &st) < 0)
		*ret_why = strf("%s is not there; it comes with NVIDIA's driver, in a package of "
				"its own or in nvidia-utils",
				path);
	else if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) ||
		 (st.st_mode & (S_IWGRP | S_IWOTH)))
		*ret_why = strf("%s is not run: others than root may write to it", path);
	else
		*ret = TAKE_PTR(path);
	return *ret ? 0 : -ENOENT;
}

/* The alarm goes on past execve(), and takes no right to send signals, which the part lacks. */
static int execute(const void *data)
{
	char *const *argv = data;
	char *const environment[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
				      (char *)"LC_ALL=C", NULL };

	signal(SIGPIPE, SIG_DFL);
	alarm(DEADLINE_SEC);
	if (dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)
		execve(argv[0], argv, environment);
	return 127;
}

/* How it failed, with the first line that it printed. */
static char *failure_text(const Child *child)
{
	_cleanup_free_ char *how = NULL, *line = NULL;
	const char *said = str_or_empty(child->output);
	size_t n = strcspn(said, "\n");
	_cleanup_free_ char *first = xstrndup(said, n < TOLD_MAX ? n : TOLD_MAX);

	if (child->signal == SIGALRM)
		how = strf("did not end within %u s", DEADLINE_SEC);
	else if (child->error < 0)
		how = strf("printed more than %u bytes", OUTPUT_MAX);
	else if (child->signal != 0)
		how = strf("was ended by signal %d", child->signal);
	else
		how = strf("failed with exit status %d", child->status);
	line = str_printable(first);
	return strf("nvidia-smi %s%s%s", how, *line ? ": " : "", line);
}

/*
 * Runs ROOT/usr/bin/nvidia-smi -i GPU -pm 0. 0: it ran, and has ended; with *ret_why, a sentence,
 * where it failed or was ended at its deadline. What it did is to be read. -ENOENT: it cannot be
 * run, *ret_why says why, and nothing was changed. `root` is "" for this host; NULL: there is none.
 */
static int run_nvidia_smi(const char *root, const Bdf *gpu, char **ret_why)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_free_ char *path = NULL, *address = xstrdup(BDF_TEXT(gpu));
	int r = find_program(root, &path, ret_why);
	char *argv[] = { path, (char *)"-i", address, (char *)"-pm", (char *)"0", NULL };
	const Child *child;

	if (r < 0)
		return r;
	children = children_new(1, OUTPUT_MAX);
	r = children_fork(children, 0, execute, argv);
	if (r < 0)
		return r;
	/*
	 * One that its alarm does not end waits in the kernel, and may do it later. So nothing is
	 * answered before its end, as with a call of NVML's that does not return.
	 */
	children_wait(children, UINT64_MAX);
	child = &children->items[0];
	if (child->status == 0 && child->error == 0)
		return 0;
	*ret_why = failure_text(child);
	return 0;
}

/* ---- the mode ---- */

/* NVPD_SOCKET_PATH of nvpd_defs.h (NVIDIA/nvidia-persistenced), past /var. */
#define PERSISTENCED_SOCKET "/run/nvidia-persistenced/socket"

/* "" for this host. NULL: another tree than /sys is a test's, and has only what it names. */
static const char *root_of(const WorkerCommand *command)
{
	if (strcmp(command->root_dir, "/") != 0)
		return command->root_dir;
	return strcmp(command->sysfs_dir, "/sys") == 0 ? "" : NULL;
}

/*
 * nvidia-persistenced: the process that called listen() there. The kernel says so, and what it says
 * of itself does not count. 0: nobody listens, or it takes no connection, and is a holder like any
 * other then.
 */
static pid_t persistenced_pid(const char *root)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s" PERSISTENCED_SOCKET,
			 str_or_empty(root));

	if (!root || fd < 0 || n < 0 || (size_t)n >= sizeof(address.sun_path) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return 0;
	return peer.pid;
}

/* `set`: unknown, to read it only. */
static void ask(const Nvml *nvml, const WorkerCommand *command, PersistenceMode set,
		GpuPersistence *gpus)
{
	for (size_t i = 0; i < command->n_functions; i++) {
		const Bdf *bdf = &command->functions[i];

		if (set == PERSISTENCE_UNKNOWN)
			nvml_persistence(nvml, bdf, &gpus[i]);
		else
			nvml_set_persistence(nvml, bdf, set == PERSISTENCE_ON, &gpus[i]);
	}
}

/* Without NVML the reason is the same for all. */
static void tell_all(const WorkerCommand *command, const char *why, GpuPersistence *gpus)
{
	for (size_t i = 0; i < command->n_functions; i++)
		gpus[i] = (GpuPersistence){ .bdf = command->functions[i], .why = xstrdup(why) };
}

static void ask_nvml(const WorkerCommand *command, PersistenceMode set, GpuPersistence *gpus)
{
	_cleanup_free_ char *why = NULL;
	Nvml *nvml = NULL;

	if (nvml_open(command->nvml, &nvml, &why) < 0)
		tell_all(command, why, gpus);
	else
		ask(nvml, command, set, gpus);
	/*
	 * Closes NVML before the answer is written, because the reader may unbind the GPUs at once.
	 */
	nvml_close(nvml);
}

/*
 * nvidia-smi, and then NVML if the mode is still on: NVML has set it where a GPU came back beside
 * nvidia-persistenced, or after that was started.
 */
static int turn_off(const WorkerCommand *command, GpuPersistence *gpu)
{
	_cleanup_free_ char *why = NULL;
	int r = run_nvidia_smi(root_of(command), &command->functions[0], &why);

	if (r < 0 && r != -ENOENT)
		return r;
	ask_nvml(command, r < 0 ? PERSISTENCE_UNKNOWN : PERSISTENCE_OFF, gpu);
	if (why) {
		free(gpu->why);
		gpu->why = TAKE_PTR(why);
	}
	return 0;
}

/* On is NVML's: nvidia-persistenced fails from the second GPU on when all have been away. */
static int work(const WorkerCommand *command, GpuPersistence *gpus)
{
	pid_t pid;

	if (command->set == PERSISTENCE_OFF)
		return turn_off(command, gpus);
	ask_nvml(command, command->set, gpus);
	if (command->set == PERSISTENCE_ON)
		return 0;
	/* Without NVML the mode could not be turned on again. */
	pid = persistenced_pid(root_of(command));
	for (size_t i = 0; i < command->n_functions; i++)
		gpus[i].kept_by = gpus[i].mode == PERSISTENCE_UNKNOWN ? 0 : pid;
	return 0;
}

int persistence_modes(const WorkerCommand *command, void *ret_answer)
{
	PersistenceAnswer *answer = ret_answer;

	answer->n_gpus = command->n_functions;
	answer->gpus = xcalloc(answer->n_gpus + 1, sizeof(GpuPersistence));
	return work(command, answer->gpus);
}
