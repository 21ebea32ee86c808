/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/unit.h"

#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "util/clock.h"
#include "util/text.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"

#define PROPERTY_TIMEOUT_USEC (2 * USEC_PER_SEC)
#define STOP_TIMEOUT_USEC (1 * USEC_PER_SEC)

struct UnitManager {
	sd_bus *bus;
};

/* ---- the connection ---- */

/* sd_bus_call() would do this wait itself, without a limit. */
static int wait_until_ready(sd_bus *bus, uint64_t timeout_usec)
{
	uint64_t deadline = now_monotonic() + timeout_usec;

	for (;;) {
		uint64_t now;
		int r = sd_bus_is_ready(bus);

		if (r != 0)
			return r < 0 ? r : 0;
		r = sd_bus_process(bus, NULL);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		now = now_monotonic();
		if (now >= deadline)
			return -ETIMEDOUT;
		r = sd_bus_wait(bus, deadline - now);
		if (r < 0 && r != -EINTR)
			return r;
	}
}

static UnitManager *manager_close(UnitManager *manager)
{
	if (!manager)
		return NULL;
	/* Closes without a flush, which would wait: nothing here needs to be sent. */
	sd_bus_close(manager->bus);
	sd_bus_unref(manager->bus);
	free(manager);
	return NULL;
}
DEFINE_CLEANUP(UnitManager, manager_close)

static int manager_open(uint64_t timeout_usec, UnitManager **ret, char **ret_why)
{
	_cleanup_(manager_closep) UnitManager *manager = calloc(1, sizeof(*manager));
	int r = -ENOMEM;

	if (manager)
		r = sd_bus_open_system_with_description(&manager->bus, "gpupass-units");
	if (r >= 0)
		r = wait_until_ready(manager->bus, timeout_usec);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(manager->bus, PROPERTY_TIMEOUT_USEC);
	if (r < 0) {
		*ret_why = strf("the system bus cannot be reached: %s", strerror(-r));
		return r;
	}
	*ret = TAKE_PTR(manager);
	return 0;
}

/* ---- starting ---- */

/*
 * systemd must expand no string of it: an argument may be what another tool wrote to
 * driver_override.
 */
static int append_command(sd_bus_message *m, const UnitSpec *spec)
{
	int r = sd_bus_message_open_container(m, 'r', "sv");

	if (r >= 0)
		r = sd_bus_message_append(m, "s", "ExecStartEx");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "a(sasas)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sasas)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'r', "sasas");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", spec->program);
	if (r >= 0)
		r = sd_bus_message_append_strv(m, (char **)spec->argv);
	if (r >= 0)
		r = sd_bus_message_append(m, "as", 1, "no-env-expand");
	for (int depth = 0; r >= 0 && depth < 4; depth++)
		r = sd_bus_message_close_container(m);
	return r;
}

/*
 * Its stdout is our pipe. By default systemd would connect stderr, being of the same kind, to the
 * same pipe, so stderr has to be another one.
 */
static int append_files(sd_bus_message *m, const UnitSpec *spec)
{
	return sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)", "StandardInput", "s", "null",
				     "StandardOutput", "s", "null", "StandardOutputFileDescriptor",
				     "h", spec->output_fd, "StandardError", "s", "journal",
				     "SyslogIdentifier", "s", "gpupass-worker");
}

/*
 * Nothing stops it. It has no default dependencies, so a shutdown does not stop it. It is not in
 * the slice of its template, because a shutdown stops that slice with everything in it. If a person
 * stops it, it gets a signal that does nothing, and systemd does not wait for it.
 */
static int append_life(sd_bus_message *m, const UnitSpec *spec)
{
	int r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
				      spec->description, "Type", "s", "simple", "CollectMode", "s",
				      "inactive-or-failed", "DefaultDependencies", "b", 0,
				      "IgnoreOnIsolate", "b", 1, "Slice", "s", "system.slice");

	if (r < 0)
		return r;
	return sd_bus_message_append(m, "(sv)(sv)(sv)(sv)", "KillMode", "s", "process",
				     "KillSignal", "i", (int32_t)SIGCONT, "SendSIGKILL", "b", 0,
				     "TimeoutStopUSec", "t", (uint64_t)STOP_TIMEOUT_USEC);
}

/*
 * Confinement that costs nothing. SYS_ADMIN: to read config space beyond 64 bytes. DAC_OVERRIDE: a
 * udev rule may have given /dev/vfio/N to another user.
 */
static int append_confinement(sd_bus_message *m)
{
	const uint64_t kept = (uint64_t)1 << CAP_SYS_ADMIN | (uint64_t)1 << CAP_DAC_OVERRIDE;

	return sd_bus_message_append(m, "(sv)(sv)", "NoNewPrivileges", "b", 1,
				     "CapabilityBoundingSet", "t", kept);
}

static int make_request(UnitManager *manager, const UnitSpec *spec, sd_bus_message **ret)
{
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(manager->bus, &m, SYSTEMD, SYSTEMD_PATH,
					       SYSTEMD ".Manager", "StartTransientUnit");

	/* Without systemd the bus would try to start one. */
	if (r >= 0)
		r = sd_bus_message_set_auto_start(m, false);
	if (r >= 0)
		r = sd_bus_message_append(m, "ss", spec->name, "fail");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r >= 0)
		r = append_command(m, spec);
	if (r >= 0)
		r = append_files(m, spec);
	if (r >= 0)
		r = append_life(m, spec);
	if (r >= 0)
		r = append_confinement(m);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	if (r >= 0)
		r = sd_bus_message_append(m, "a(sa(sv))", 0);
	if (r < 0) {
		sd_bus_message_unref(m);
		return r;
	}
	*ret = m;
	return 0;
}

/*
 * After these answers the unit certainly does not run: the bus has nobody to deliver the call to,
 * or systemd says why not. Any other answer, and above all silence, leaves it open.
 */
static bool refuses(const sd_bus_error *error)
{
	static const char *const names[] = {
		SD_BUS_ERROR_SERVICE_UNKNOWN,	 SD_BUS_ERROR_NAME_HAS_NO_OWNER,
		SD_BUS_ERROR_ACCESS_DENIED,	 SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
		SD_BUS_ERROR_UNKNOWN_METHOD,	 SD_BUS_ERROR_UNKNOWN_INTERFACE,
		SD_BUS_ERROR_UNKNOWN_OBJECT,	 SD_BUS_ERROR_UNKNOWN_PROPERTY,
		SD_BUS_ERROR_PROPERTY_READ_ONLY, SD_BUS_ERROR_INVALID_ARGS,
		SD_BUS_ERROR_INVALID_SIGNATURE,	 SD_BUS_ERROR_NOT_SUPPORTED,
	};

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (sd_bus_error_has_name(error, names[i]))
			return true;
	return str_starts_with(error->name, SYSTEMD ".");
}

static int judge(int error, const sd_bus_error *details, char **ret_why)
{
	if (error == -ENOMEM || !sd_bus_error_is_set(details))
		return -ETIMEDOUT;
	if (sd_bus_error_has_name(details, SYSTEMD ".UnitExists"))
		return -EEXIST;
	if (!refuses(details))
		return -ETIMEDOUT;
	*ret_why = strf("no unit from systemd: %s (%s)", str_or_empty(details->message),
			details->name);
	return -ECONNREFUSED;
}

static int manager_start(UnitManager *manager, const UnitSpec *spec, uint64_t timeout_usec,
			 char **ret_why)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL;
	int r = make_request(manager, spec, &m);

	if (r < 0) {
		*ret_why = strf("the request to systemd cannot be made: %s", strerror(-r));
		return r == -ENOMEM ? r : -ECONNREFUSED;
	}
	r = sd_bus_call(manager->bus, m, timeout_usec, &error, NULL);
	r = r < 0 ? judge(r, &error, ret_why) : 0;
	sd_bus_error_free(&error);
	/* This also closes the message's copy of output_fd. */
	sd_bus_message_unref(m);
	return r;
}

static pid_t manager_main_pid(UnitManager *manager, const char *name)
{
	_cleanup_free_ char *path = NULL;
	uint32_t pid = 0;

	if (sd_bus_path_encode(SYSTEMD_PATH "/unit", name, &path) < 0 ||
	    sd_bus_get_property_trivial(manager->bus, SYSTEMD, path, SYSTEMD ".Service", "MainPID",
					NULL, 'u', &pid) < 0)
		return 0;
	return (pid_t)pid;
}

const UnitOps systemd_units = {
	.open = manager_open,
	.close = manager_close,
	.start = manager_start,
	.main_pid = manager_main_pid,
};
