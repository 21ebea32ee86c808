/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake-systemd.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "util/text.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define PIDS_MAX 64
#define POLL_USEC 20000

struct FakeSystemd {
	FakeAnswer answer;
	char directory[32];
	char *path;
	int listen_fd;
	pthread_t thread;
	bool broken_off;
	sd_bus_message *kept; /* a call that is never answered keeps its files open, too */
	/* What follows: under the lock. */
	pthread_mutex_t lock;
	bool ending;
	char **told;
	unsigned calls, connections;
	pid_t pids[PIDS_MAX];
	size_t n_pids;
};

typedef struct Command {
	char **argv; /* the first: the program */
	int output_fd;
} Command;

/* ---- reading the call ---- */

static int read_command(sd_bus_message *m, FakeSystemd *fake, Command *command)
{
	_cleanup_strv_ char **argv = NULL, **flags = NULL;
	const char *program;
	int r;

	r = sd_bus_message_enter_container(m, 'v', "a(sasas)");
	if (r >= 0)
		r = sd_bus_message_enter_container(m, 'a', "(sasas)");
	if (r >= 0)
		r = sd_bus_message_enter_container(m, 'r', "sasas");
	if (r >= 0)
		r = sd_bus_message_read(m, "s", &program);
	if (r >= 0)
		r = sd_bus_message_read_strv(m, &argv);
	if (r >= 0)
		r = sd_bus_message_read_strv(m, &flags);
	if (r < 0)
		return r;
	strv_append(&command->argv, program);
	for (char **arg = argv; arg && *arg; arg++)
		strv_append(&command->argv, *arg);
	strv_appendf(&fake->told, "argv[0]=%s", argv ? argv[0] : "");
	for (char **flag = flags; flag && *flag; flag++)
		strv_appendf(&fake->told, "flag=%s", *flag);
	for (int depth = 0; r >= 0 && depth < 3; depth++)
		r = sd_bus_message_exit_container(m);
	return r;
}

static int read_property(sd_bus_message *m, FakeSystemd *fake, Command *command)
{
	const char *name, *contents, *text;
	uint64_t number;
	int r, flag, fd;

	r = sd_bus_message_read(m, "s", &name);
	if (r < 0)
		return r;
	if (strcmp(name, "ExecStartEx") == 0)
		return read_command(m, fake, command);
	r = sd_bus_message_peek_type(m, NULL, &contents);
	if (r < 0)
		return r;
	switch (contents[0]) {
	case 's':
		r = sd_bus_message_read(m, "v", "s", &text);
		return r < 0 ? r : strv_appendf(&fake->told, "%s=%s", name, text);
	case 'b':
		r = sd_bus_message_read(m, "v", "b", &flag);
		return r < 0 ? r : strv_appendf(&fake->told, "%s=%s", name, flag ? "yes" : "no");
	case 'i':
		r = sd_bus_message_read(m, "v", "i", &flag);
		return r < 0 ? r : strv_appendf(&fake->told, "%s=%d", name, flag);
	case 't':
		r = sd_bus_message_read(m, "v", "t", &number);
		return r < 0 ? r
			     : strv_appendf(&fake->told, "%s=%llu", name,
					    (unsigned long long)number);
	case 'h':
		r = sd_bus_message_read(m, "v", "h", &fd);
		command->output_fd = fd;
		return r;
	default:
		return -EINVAL;
	}
}

static int read_call(sd_bus_message *m, FakeSystemd *fake, Command *command)
{
	const char *name, *mode;
	int r = sd_bus_message_read(m, "ss", &name, &mode);

	fake->told = strv_free(fake->told);
	if (r >= 0)
		r = strv_appendf(&fake->told, "name=%s", name);
	if (r >= 0)
		r = strv_appendf(&fake->told, "mode=%s", mode);
	if (r >= 0)
		r = sd_bus_message_enter_container(m, 'a', "(sv)");
	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'r', "sv")) > 0) {
		r = read_property(m, fake, command);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r;
}

/* ---- acting on it ---- */

static int run(FakeSystemd *fake, const Command *command)
{
	char *environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int e;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, command->output_fd, STDOUT_FILENO);
	e = posix_spawn(&pid, command->argv[0], &actions, NULL, command->argv + 1, environment);
	posix_spawn_file_actions_destroy(&actions);
	if (e == 0 && fake->n_pids < PIDS_MAX)
		fake->pids[fake->n_pids++] = pid;
	return -e;
}

static int answer(FakeSystemd *fake, sd_bus_message *m, const Command *command)
{
	switch (fake->answer) {
	case FAKE_DENIES:
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_ACCESS_DENIED, "not you");
	case FAKE_KNOWS_NO_PROPERTY:
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_PROPERTY_READ_ONLY,
						  "Cannot set property ExecStartEx");
	case FAKE_HAD_THE_UNIT:
		if (fake->calls > 3)
			break;
		/* fall through */
	case FAKE_HAS_THE_UNIT:
		return sd_bus_reply_method_errorf(m, SYSTEMD ".UnitExists", "it is there");
	case FAKE_STARTS_SILENTLY:
		return run(fake, command);
	case FAKE_SAYS_NOTHING:
		fake->kept = sd_bus_message_ref(m);
		return 1;
	case FAKE_BREAKS_OFF:
		fake->broken_off = true;
		return 1;
	case FAKE_KEEPS_THE_PIPE:
		fake->kept = sd_bus_message_ref(m);
		break;
	case FAKE_HAS_NOT_ENOUGH:
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_NO_MEMORY, "not enough");
	case FAKE_ACCEPTS:
	case FAKE_FORGETS:
		break;
	}
	if (fake->answer != FAKE_FORGETS && run(fake, command) < 0)
		return -EIO;
	return sd_bus_reply_method_return(m, "o", SYSTEMD_PATH "/job/1");
}

static int start_transient_unit(sd_bus_message *m, void *userdata, sd_bus_error *error _unused_)
{
	FakeSystemd *fake = userdata;
	Command command = { .output_fd = -1 };
	int r;

	pthread_mutex_lock(&fake->lock);
	fake->calls++;
	r = read_call(m, fake, &command);
	if (r >= 0)
		r = answer(fake, m, &command);
	pthread_mutex_unlock(&fake->lock);
	strv_free(command.argv);
	return r < 0 ? r : 1;
}

static int get_main_pid(sd_bus *bus _unused_, const char *path _unused_,
			const char *interface _unused_, const char *property _unused_,
			sd_bus_message *reply, void *userdata, sd_bus_error *error _unused_)
{
	return sd_bus_message_append(reply, "u", (uint32_t)fake_systemd_main_pid(userdata));
}

static const sd_bus_vtable manager_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("StartTransientUnit", "ssa(sv)a(sa(sv))", "o", start_transient_unit,
		      SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable service_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("MainPID", "u", get_main_pid, 0, 0),
	SD_BUS_VTABLE_END,
};

static int find_unit(sd_bus *bus _unused_, const char *path _unused_,
		     const char *interface _unused_, void *userdata, void **ret,
		     sd_bus_error *error _unused_)
{
	*ret = userdata;
	return 1;
}

/* ---- the bus ---- */

static int hello(sd_bus_message *m, void *userdata _unused_, sd_bus_error *error _unused_)
{
	if (!sd_bus_message_is_method_call(m, "org.freedesktop.DBus", "Hello"))
		return 0;
	return sd_bus_reply_method_return(m, "s", ":1.7");
}

static int greet(FakeSystemd *fake, int fd, sd_bus **ret)
{
	sd_id128_t id = { .bytes = { 1 } };
	sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);

	if (r >= 0)
		r = sd_bus_set_fd(bus, fd, fd);
	if (r >= 0)
		r = sd_bus_set_server(bus, true, id);
	if (r >= 0)
		r = sd_bus_negotiate_fds(bus, true);
	if (r >= 0)
		r = sd_bus_add_filter(bus, NULL, hello, NULL);
	if (r >= 0)
		r = sd_bus_add_object_vtable(bus, NULL, SYSTEMD_PATH, SYSTEMD ".Manager",
					     manager_vtable, fake);
	if (r >= 0)
		r = sd_bus_add_fallback_vtable(bus, NULL, SYSTEMD_PATH "/unit", SYSTEMD ".Service",
					       service_vtable, find_unit, fake);
	if (r >= 0)
		r = sd_bus_start(bus);
	*ret = bus;
	return r;
}

static bool ends(FakeSystemd *fake)
{
	bool ending;

	pthread_mutex_lock(&fake->lock);
	ending = fake->ending;
	pthread_mutex_unlock(&fake->lock);
	return ending;
}

static void serve(FakeSystemd *fake, int fd)
{
	sd_bus *bus = NULL;
	int r = greet(fake, fd, &bus);

	while (r >= 0 && !ends(fake) && !fake->broken_off) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, POLL_USEC);
	}
	fake->broken_off = false;
	fake->kept = sd_bus_message_unref(fake->kept);
	sd_bus_close(bus);
	sd_bus_unref(bus);
}

/* One after another: what is tested makes one connection at a time. */
static void *accept_all(void *userdata)
{
	FakeSystemd *fake = userdata;

	while (!ends(fake)) {
		int fd = accept4(fake->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			usleep(1000);
			continue;
		}
		pthread_mutex_lock(&fake->lock);
		fake->connections++;
		pthread_mutex_unlock(&fake->lock);
		serve(fake, fd);
	}
	return NULL;
}

FakeSystemd *fake_systemd_new(FakeAnswer how)
{
	FakeSystemd *fake = calloc(1, sizeof(*fake));
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	_cleanup_free_ char *address = NULL;

	assert(fake);
	fake->answer = how;
	pthread_mutex_init(&fake->lock, NULL);
	strcpy(fake->directory, "/tmp/gpupass-test-XXXXXX");
	if (!mkdtemp(fake->directory))
		abort();
	fake->path = strf("%s/bus", fake->directory);
	address = strf("unix:path=%s", fake->path);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", fake->path);
	fake->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(fake->listen_fd, (struct sockaddr *)&name, sizeof(name)) < 0 ||
	    listen(fake->listen_fd, 16) < 0 || setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1) < 0 ||
	    pthread_create(&fake->thread, NULL, accept_all, fake) != 0)
		abort();
	return fake;
}

FakeSystemd *fake_systemd_free(FakeSystemd *fake)
{
	if (!fake)
		return NULL;
	pthread_mutex_lock(&fake->lock);
	fake->ending = true;
	pthread_mutex_unlock(&fake->lock);
	pthread_join(fake->thread, NULL);
	for (size_t i = 0; i < fake->n_pids; i++) {
		kill(fake->pids[i], SIGKILL);
		waitpid(fake->pids[i], NULL, 0);
	}
	close_fd(fake->listen_fd);
	unlink(fake->path);
	rmdir(fake->directory);
	free(fake->path);
	strv_free(fake->told);
	pthread_mutex_destroy(&fake->lock);
	free(fake);
	return NULL;
}

bool fake_systemd_was_told(FakeSystemd *fake, const char *line)
{
	bool told;

	pthread_mutex_lock(&fake->lock);
	told = strv_contains(fake->told, line);
	pthread_mutex_unlock(&fake->lock);
	return told;
}

unsigned fake_systemd_calls(FakeSystemd *fake)
{
	unsigned calls;

	pthread_mutex_lock(&fake->lock);
	calls = fake->calls;
	pthread_mutex_unlock(&fake->lock);
	return calls;
}

unsigned fake_systemd_connections(FakeSystemd *fake)
{
	unsigned connections;

	pthread_mutex_lock(&fake->lock);
	connections = fake->connections;
	pthread_mutex_unlock(&fake->lock);
	return connections;
}

pid_t fake_systemd_main_pid(FakeSystemd *fake)
{
	pid_t pid;

	pthread_mutex_lock(&fake->lock);
	pid = fake->n_pids > 0 ? fake->pids[fake->n_pids - 1] : 0;
	pthread_mutex_unlock(&fake->lock);
	return pid;
}
