/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <sys/stat.h>
#include <syslog.h>

#include "manager/config.h"
#include "rig/temp-dir.h"

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define PAIR0 "[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"
#define PAIR1 "[Group]\nName=pair1\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n"

static Config *load(const TempDir *dir)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Config *config = NULL;

	if (config_load(dir->path, &config, &problem) != 0)
		fail_msg("refused: %s", problem ? problem->reason : "errno");
	return config;
}

/* ---- settings ---- */

WITH_DIR(without_files_the_defaults_hold)
{
	const TempDir *dir = *state;
	_cleanup_(config_freep) Config *config = load(dir), *absent = NULL;
	_cleanup_free_ char *nowhere = strf("%s/nowhere", dir->path);
	Problem *problem = NULL;

	assert_string_equal(config->libvirt_uri, "qemu:///system");
	assert_int_equal(config->log_level, LOG_INFO);
	assert_false(config->policy.accept_inferred);
	assert_int_equal(config->policy.device_timeout_usec, 30000000);
	assert_int_equal(config->policy.detach_timeout_usec, 20000000);
	assert_int_equal(config->look_interval_usec, 300000000);
	assert_int_equal(config->policy.probe_timeout_usec, 180000000);
	assert_false(config->policy.allow_mmio);
	assert_false(config->policy.poll_memory_clear);
	assert_int_equal(config_load(nowhere, &absent, &problem), 0);
	assert_string_equal(absent->libvirt_uri, "qemu:///system");
	assert_null(config_free(NULL));
}

WITH_DIR(the_file_that_is_installed_says_what_the_defaults_are)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *text = NULL, *active = NULL;
	_cleanup_(config_freep) Config *config = NULL;
	const Policy defaults = POLICY_DEFAULT;

	assert_int_equal(
		file_read_at(AT_FDCWD, FIXTURES "/../../conf/gpupassd.conf", 65536, &text, NULL),
		0);
	/* "#Key=value" becomes a setting. */
	active = strdup(text);
	for (char *at = active; (at = strchr(at, '#')); at++)
		if (at[1] != ' ' && strchr(at, '=') && (at == active || at[-1] == '\n'))
			*at = ' ';
	temp_dir_write(dir, "gpupassd.conf", active);
	assert_non_null(strstr(active, " DeviceTimeoutSec="));
	config = load(dir);
	assert_string_equal(config->libvirt_uri, "qemu:///system");
	assert_int_equal(config->log_level, LOG_INFO);
	assert_int_equal(config->policy.accept_inferred, defaults.accept_inferred);
	assert_int_equal(config->policy.device_timeout_usec, defaults.device_timeout_usec);
	assert_int_equal(config->policy.detach_timeout_usec, defaults.detach_timeout_usec);
	assert_int_equal(config->policy.probe_timeout_usec, defaults.probe_timeout_usec);
	assert_int_equal(config->policy.allow_mmio, defaults.allow_mmio);
	assert_int_equal(config->audit.file_bytes, TRAIL_LIMITS_DEFAULT.file_bytes);
	assert_int_equal(config->audit.files, TRAIL_LIMITS_DEFAULT.files);
}

WITH_DIR(a_host_may_have_no_libvirt)
{
	const TempDir *dir = *state;
	_cleanup_(config_freep) Config *config = NULL;

	temp_dir_write(dir, "gpupassd.conf", "[Libvirt]\nUri=none\n");
	config = load(dir);
	assert_string_equal("none", config->libvirt_uri);
}

WITH_DIR(every_key_is_read)
{
	const TempDir *dir = *state;
	_cleanup_(config_freep) Config *config = NULL;

	temp_dir_write(dir, "gpupassd.conf",
		       "[Groups]\nAcceptInferred=yes\nKeepBound=pair0, RTX A*\n"
		       "[Devices]\nDeviceTimeoutSec=1\n"
		       "ProbeTimeoutSec=600\nAllowMmio=yes\nPollMemoryClear=yes\n"
		       "[Libvirt]\nUri=qemu+ssh://host/system\nDetachTimeoutSec=3600\n"
		       "LookIntervalSec=7\n"
		       "[Log]\nLevel=debug\n"
		       "[Audit]\nFileMegabytes=2\nFiles=3\n");
	config = load(dir);
	assert_true(config->policy.accept_inferred);
	assert_string_equal(config->policy.keep_bound[0], "pair0");
	assert_string_equal(config->policy.keep_bound[1], "RTX A*");
	assert_null(config->policy.keep_bound[2]);
	assert_int_equal(config->policy.device_timeout_usec, 1000000);
	assert_int_equal(config->policy.detach_timeout_usec, 3600000000);
	assert_int_equal(config->look_interval_usec, 7000000);
	assert_int_equal(config->policy.probe_timeout_usec, 600000000);
	assert_true(config->policy.allow_mmio);
	assert_true(config->policy.poll_memory_clear);
	assert_string_equal(config->libvirt_uri, "qemu+ssh://host/system");
	assert_int_equal(config->log_level, LOG_DEBUG);
	assert_int_equal(config->audit.file_bytes, 2 << 20);
	assert_int_equal(config->audit.files, 3);
}

WITH_DIR(values_are_taken_in_every_form_they_have)
{
	static const struct {
		const char *text;
		bool accept_inferred;
		int level;
	} rows[] = {
		{ "[Groups]\nAcceptInferred=YES\n", true, LOG_INFO },
		{ "[Groups]\nAcceptInferred=true\n", true, LOG_INFO },
		{ "[Groups]\nAcceptInferred=on\n", true, LOG_INFO },
		{ "[Groups]\nAcceptInferred=1\n", true, LOG_INFO },
		{ "[Groups]\nAcceptInferred=yes\nAcceptInferred=No\n", false, LOG_INFO },
		{ "[Groups]\nAcceptInferred=1\nAcceptInferred=false\n", false, LOG_INFO },
		{ "[Groups]\nAcceptInferred=1\nAcceptInferred=off\n", false, LOG_INFO },
		{ "[Groups]\nAcceptInferred=1\nAcceptInferred=0\n", false, LOG_INFO },
		{ "[Log]\nLevel=error\n", false, LOG_ERR },
		{ "[Log]\nLevel=warning\n", false, LOG_WARNING },
		{ "[Log]\nLevel = info ; as ever\n", false, LOG_INFO },
	};
	const TempDir *dir = *state;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(config_freep) Config *config = NULL;

		temp_dir_write(dir, "gpupassd.conf", rows[i].text);
		config = load(dir);
		if (config->policy.accept_inferred != rows[i].accept_inferred ||
		    config->log_level != rows[i].level)
			fail_msg("row %zu", i);
	}
}

WITH_DIR(a_drop_in_wins_over_the_file_and_over_drop_ins_before_it)
{
	const TempDir *dir = *state;
	_cleanup_(config_freep) Config *config = NULL;

	temp_dir_write(dir, "gpupassd.conf.d/90-last.conf", "[Devices]\nDeviceTimeoutSec=90\n");
	temp_dir_write(dir, "gpupassd.conf.d/10-first.conf",
		       "[Devices]\nDeviceTimeoutSec=10\n[Log]\nLevel=error\n");
	temp_dir_write(dir, "gpupassd.conf.d/99-not.conf~", "nonsense\n");
	temp_dir_write(dir, "gpupassd.conf.d/.hidden.conf", "nonsense\n");
	temp_dir_write(dir, "gpupassd.conf",
		       "[Devices]\nDeviceTimeoutSec=1\n[Libvirt]\nDetachTimeoutSec=2\n");
	config = load(dir);
	assert_int_equal(config->policy.device_timeout_usec, 90000000);
	assert_int_equal(config->policy.detach_timeout_usec, 2000000);
	assert_int_equal(config->log_level, LOG_ERR);
}

static void expect_refusal(const TempDir *dir, size_t row, const char *reason, const char *remedy)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Config *config = NULL;
	int r = config_load(dir->path, &config, &problem);

	if (r != PROBLEM || config || problem->error != GPUPASS_ERROR_INVALID_CONFIG ||
	    !str_equal(problem->reason, reason) || str_is_empty(problem->remedy) ||
	    !strstr(problem->remedy, remedy))
		fail_msg("row %zu: %d, %s, %s", row, r, problem ? problem->reason : "no problem",
			 problem ? str_or_empty(problem->remedy) : "");
}

WITH_DIR(mistakes_are_named_by_file_line_and_remedy)
{
	static const struct {
		const char *text, *reason, *remedy;
	} rows[] = {
		{ "[Groups]\nAcceptInferred=maybe\n", "gpupassd.conf:2: this is neither yes nor no",
		  "write yes or no" },
		{ "[Groups]\nAcceptInferred=\n", "gpupassd.conf:2: this is neither yes nor no",
		  "yes" },
		{ "[Devices]\nDeviceTimeoutSec=0\n",
		  "gpupassd.conf:2: this is no number of seconds", "from 1 to 3600" },
		{ "[Devices]\nDeviceTimeoutSec=3601\n",
		  "gpupassd.conf:2: this is no number of seconds", "3600" },
		{ "[Devices]\nDeviceTimeoutSec=-1\n",
		  "gpupassd.conf:2: this is no number of seconds", "3600" },
		{ "[Devices]\nDeviceTimeoutSec=30s\n",
		  "gpupassd.conf:2: this is no number of seconds", "3600" },
		{ "[Libvirt]\nLookIntervalSec=0\n", "gpupassd.conf:2: this is no number of seconds",
		  "write a whole number from 1 to 3600" },
		{ "[Libvirt]\n\nDetachTimeoutSec=99999999999999999999\n",
		  "gpupassd.conf:3: this is no number of seconds", "3600" },
		{ "[Libvirt]\nUri=system\n", "gpupassd.conf:2: this is no libvirt URI",
		  "qemu:///system" },
		{ "[Libvirt]\nUri=None\n", "gpupassd.conf:2: this is no libvirt URI",
		  "or none, on a host without libvirt" },
		{ "[Libvirt]\nUri=\n", "gpupassd.conf:2: this is no libvirt URI",
		  "qemu:///system" },
		{ "[Log]\nLevel=verbose\n", "gpupassd.conf:2: this is no log level",
		  "error, warning, info or debug" },
		{ "[Audit]\nFiles=1\n", "gpupassd.conf:2: this is not such a number",
		  "from 2 to 10000" },
		{ "[Audit]\nFileMegabytes=1025\n", "gpupassd.conf:2: this is not such a number",
		  "from 1 to 1024" },
		{ "[Group]\n", "gpupassd.conf:1: there is no such section",
		  "[Groups], [Devices], [Libvirt], [Proxmox], [Log] and [Audit]" },
		{ "[groups]\n", "gpupassd.conf:1: there is no such section", "[Groups]" },
		{ "[Log]\nUri=qemu:///system\n",
		  "gpupassd.conf:2: there is no such key in this section", "gpupassd.conf(5)" },
		{ "Level=info\n", "gpupassd.conf:1: there is no such key in this section",
		  "gpupassd.conf(5)" },
		{ "[Log]\nnonsense\n",
		  "gpupassd.conf:2: this line is neither a section nor KEY=VALUE", "KEY=VALUE" },
		{ "[Log\n", "gpupassd.conf:1: this line is neither a section nor KEY=VALUE",
		  "[Section]" },
		/* of two mistakes the first */
		{ "[Log]\nnonsense\nLevel=verbose\n",
		  "gpupassd.conf:2: this line is neither a section nor KEY=VALUE", "KEY=VALUE" },
		{ "[Log]\nLevel=verbose\nnonsense\n", "gpupassd.conf:2: this is no log level",
		  "debug" },
		{ "[Libvirt]\nUri=qemu:///" HUNDRED HUNDRED "\n",
		  "gpupassd.conf:2: the line is longer than 198 characters", "shorten" },
	};
	const TempDir *dir = *state;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		temp_dir_write(dir, "gpupassd.conf", rows[i].text);
		expect_refusal(dir, i, rows[i].reason, rows[i].remedy);
	}
	temp_dir_write(dir, "gpupassd.conf", "[Log]\n");
	temp_dir_write(dir, "gpupassd.conf.d/50-x.conf", "[Log]\n\nLevel=x\n");
	expect_refusal(dir, ELEMENTS(rows), "gpupassd.conf.d/50-x.conf:3: this is no log level",
		       "debug");
}

/* What stands behind a NUL would be left out without a word. */
WITH_DIR(a_file_with_a_nul_is_refused)
{
	static const char text[] = "[Log]\nLevel=info\n\0\n[Groups]\nAcceptInferred=no\n";
	const TempDir *dir = *state;

	temp_dir_write_bytes(dir, "gpupassd.conf", text, sizeof(text) - 1);
	expect_refusal(dir, 0, "gpupassd.conf:3: there is a NUL byte in this line",
		       "write it anew as plain text");
}

WITH_DIR(what_cannot_be_read_is_named)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *big = malloc(300 * 1024);

	memset(big, '\n', 300 * 1024);
	temp_dir_write_bytes(dir, "gpupassd.conf", big, 300 * 1024);
	expect_refusal(dir, 0, "gpupassd.conf cannot be read: File too large", "remove it");
	unlinkat(dir->fd, "gpupassd.conf", 0);
	mkdirat(dir->fd, "gpupassd.conf", 0755);
	expect_refusal(dir, 1, "gpupassd.conf cannot be read: Is a directory", "remove it");
	unlinkat(dir->fd, "gpupassd.conf", AT_REMOVEDIR);
	temp_dir_write(dir, "gpupassd.conf.d", "a file");
	expect_refusal(dir, 2, "gpupassd.conf.d cannot be read: Not a directory", "remove it");
	unlinkat(dir->fd, "gpupassd.conf.d", 0);
	/* A link that leads nowhere is no absent file: somebody means something by it. */
	assert_int_equal(symlinkat("nowhere", dir->fd, "gpupassd.conf"), 0);
	expect_refusal(dir, 3, "gpupassd.conf cannot be read: No such file or directory",
		       "remove it");
}

/* ---- declared groups ---- */

static Rules *load_rules(const TempDir *dir, char ***ret_notes)
{
	Policy policy = POLICY_DEFAULT;
	Rules *rules = NULL;

	policy.accept_inferred = true;
	assert_int_equal(config_load_rules(dir->path, &policy, &rules, ret_notes), 0);
	return rules;
}

WITH_DIR(groups_are_read_from_every_file)
{
	const TempDir *dir = *state;
	_cleanup_(rules_unrefp) Rules *rules = NULL, *none = NULL;
	_cleanup_strv_ char **notes = NULL;

	none = load_rules(dir, &notes);
	assert_int_equal(none->declarations->n_items, 0);
	temp_dir_write(dir, "groups.d/b.conf", PAIR1);
	temp_dir_write(dir, "groups.d/a.conf", PAIR0);
	temp_dir_write(dir, "groups.d/a.conf.bak", PAIR0);
	rules = load_rules(dir, &notes);
	assert_null(notes);
	assert_int_equal(rules->declarations->n_items, 2);
	assert_string_equal(rules->declarations->items[0].name, "pair0");
	assert_string_equal(rules->declarations->items[0].source, "groups.d/a.conf:1");
	assert_true(rules->policy.accept_inferred);
}

/* Its GPUs may be the very ones that an inference would pair otherwise. */
WITH_DIR(a_file_with_a_mistake_is_left_out_whole_and_nothing_is_inferred)
{
	static const struct {
		const char *text;
		size_t size; /* 0: all of it */
		const char *note;
	} rows[] = {
		{ PAIR0 "[Group]\nName=pair9\n", 0,
		  "groups.d/a.conf:5: group pair9 has 0 members" },
		{ PAIR0 "nonsense\n", 0, "groups.d/a.conf:5: this line is neither" },
		{ PAIR0 "\0" PAIR0, sizeof(PAIR0) + 1, "groups.d/a.conf:5: there is a NUL byte" },
	};
	const TempDir *dir = *state;

	temp_dir_write(dir, "groups.d/b.conf", PAIR1);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rules_unrefp) Rules *rules = NULL;
		_cleanup_strv_ char **notes = NULL;
		size_t size = rows[i].size ? rows[i].size : strlen(rows[i].text);

		temp_dir_write_bytes(dir, "groups.d/a.conf", rows[i].text, size);
		rules = load_rules(dir, &notes);
		if (strv_length(notes) != 1 || !str_starts_with(notes[0], rows[i].note) ||
		    !strstr(notes[0], "nothing is inferred") || !strstr(notes[0], "remedy: "))
			fail_msg("row %zu: %s", i, notes ? notes[0] : "no note");
		assert_int_equal(rules->declarations->n_items, 1);
		assert_string_equal(rules->declarations->items[0].name, "pair1");
		assert_false(rules->policy.accept_inferred);
	}
}

WITH_DIR(groups_that_cannot_be_read_are_noted_and_nothing_is_inferred)
{
	const TempDir *dir = *state;

	for (int file = 0; file <= 1; file++) {
		_cleanup_(rules_unrefp) Rules *rules = NULL;
		_cleanup_strv_ char **notes = NULL;
		const char *note = file ? "groups.d/a.conf cannot be read: Is a directory"
					: "groups.d cannot be read: Not a directory";

		if (file) {
			unlinkat(dir->fd, "groups.d", 0);
			temp_dir_write(dir, "groups.d/a.conf/x", "");
		} else {
			temp_dir_write(dir, "groups.d", "a file");
		}
		rules = load_rules(dir, &notes);
		if (strv_length(notes) != 1 || !str_starts_with(notes[0], note))
			fail_msg("%s: %s", note, notes ? notes[0] : "no note");
		assert_false(rules->policy.accept_inferred);
	}
}

WITH_DIR(a_stored_group_is_read_and_a_removed_one_is_not)
{
	const TempDir *dir = *state;
	_cleanup_strv_ char **notes = NULL;
	Rules *rules;

	assert_int_equal(config_remove_group(dir->path, "pair0"), -ENOENT);
	/* groups.d is made */
	assert_int_equal(config_store_group(dir->path, "pair0", PAIR0), 0);
	rules = load_rules(dir, &notes);
	assert_int_equal(rules->declarations->n_items, 1);
	assert_string_equal(rules->declarations->items[0].source, "groups.d/pair0.conf:1");
	rules_unref(rules);
	assert_int_equal(config_remove_group(dir->path, "pair0"), 0);
	assert_int_equal(config_remove_group(dir->path, "pair0"), -ENOENT);
	rules = load_rules(dir, &notes);
	assert_int_equal(rules->declarations->n_items, 0);
	rules_unref(rules);
}
