/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupassd: reads settings, starts the daemon, runs its loop to the end. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "core/domain/xml.h"
#include "gpupassd/daemon.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/json.h"
#include "util/log.h"
#include "util/text.h"

/* The time for the last lines of the log, and all other messages at the end. */
#define LAST_LINES_USEC (200 * USEC_PER_MSEC)
#define END_USEC (700 * USEC_PER_MSEC)

/* ---- settings ---- */

static int load_config(const Options *options, Config **ret)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *message = NULL;
	int r = config_load(options->config_directory, ret, &problem);

	if (r == 0)
		return 0;
	message = problem ? problem_message(problem, NULL) : NULL;
	log_line(LOG_ERR, &(LogFields){ .message_id = LOG_ID_CONFIG_ERROR }, "%s",
		 message ? message : strerror(-r));
	return -EINVAL;
}

/* --check: reads both kinds of files, and reports every error it can find. */
static int check_config(const Options *options)
{
	_cleanup_(config_freep) Config *config = NULL;
	_cleanup_(rules_unrefp) Rules *rules = NULL;
	_cleanup_strv_ char **notes = NULL;
	int r = load_config(options, &config);

	if (r < 0)
		return GPUPASS_EXIT_UNCONFIGURED;
	r = config_load_rules(options->config_directory, &config->policy, &rules, &notes);
	if (r < 0) {
		log_error("cannot read groups.d: %s", strerror(-r));
		return GPUPASS_EXIT_FAILED;
	}
	for (char **note = notes; note && *note; note++)
		log_error("%s", *note);
	return notes ? GPUPASS_EXIT_UNCONFIGURED : GPUPASS_EXIT_DONE;
}

/* ---- life ---- */

static int start_log(void)
{
	int r = log_start();

	if (r < 0)
		log_error("cannot start the thread of the log: %s", strerror(-r));
	return r;
}

static void *wait_and_end(void *userdata)
{
	const Daemon *d = userdata;

	usleep(END_USEC);
	_exit(d->exit_code);
}

/* A bus or a journal that hangs must not keep us: the rest takes END_USEC at most. */
static void end_anyway(Daemon *d, int exit_code)
{
	pthread_t thread;

	d->exit_code = exit_code;
	if (pthread_create(&thread, NULL, wait_and_end, d) == 0)
		pthread_detach(thread);
}

static int run(const Options *options, Config *config)
{
	static Daemon daemon_state;
	Daemon *d = &daemon_state;
	int r;

	heap_keep_little();
	d->config = config;
	r = daemon_set_up_loop(d);
	if (r >= 0)
		r = start_log();
	if (r >= 0)
		r = daemon_open_bus(d, options->session);
	if (r >= 0)
		r = daemon_open_state(d, options);
	if (r >= 0)
		r = daemon_open_host(d, options);
	if (r >= 0)
		r = daemon_set_up_manager(d, options);
	/* Events first: what changes during the first scan asks for another one. */
	if (r >= 0)
		r = daemon_start_looking(d, str_equal(options->worker.sysfs_dir, "/sys"));
	if (r >= 0)
		r = daemon_start(d);
	if (r >= 0)
		r = sd_event_loop(d->event);
	end_anyway(d, r < 0 ? GPUPASS_EXIT_FAILED : r);
	daemon_audit_life(d, AUDIT_STOP);
	if (d->bus && sd_bus_is_open(d->bus) <= 0)
		log_error("the bus has gone: ending; the next start takes up what is open");
	sd_notify(0, "STOPPING=1");
	if (d->bus)
		sd_bus_flush(d->bus);
	(void)trail_flush(d->trail, LAST_LINES_USEC);
	if (d->manager)
		manager_give_numbers_back(d->manager);
	return r < 0 ? GPUPASS_EXIT_FAILED : r;
}

/* JOURNAL_STREAM, set by systemd, says that stderr is the journal. Its device and inode must match,
 * because a child may have another stderr: systemd.exec(5). */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

int main(int argc, char *argv[])
{
	Options options;
	Config *config = NULL;
	int exit_code;

	json_use_xalloc();
	xml_use_xalloc();
	if (!options_parse(argc, argv, &options, &exit_code))
		return exit_code;
	log_open(stderr_is_journal(), LOG_INFO);
	if (options.check)
		return check_config(&options);
	if (load_config(&options, &config) < 0)
		return GPUPASS_EXIT_UNCONFIGURED;
	log_open(stderr_is_journal(), config->log_level);
	/*
	 * It has no capability, so that without this every part of its user could look into it, and
	 * write there. A developer may.
	 */
	if (!options.session)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	exit_code = run(&options, config);
	log_flush(LAST_LINES_USEC);
	/*
	 * Not exit(): threads may still wait for libvirt or a device, and must not delay the end.
	 */
	fflush(NULL);
	_exit(exit_code);
}
