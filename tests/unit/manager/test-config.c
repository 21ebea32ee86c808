/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <sys/stat.h>
#include <syslog.h>

#include "manager/config.h"
#include "rig/temp-dir.h"
#include "util/clock.h"

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

#define DEFAULTS                                                                                   \
	"qemu:///system no-proxmox level 6 infer 0 single 0 keep  mmio 0 poll 0 seconds 30 180 "   \
	"20 300 audit 4 x 16"

/* All settings. */
static void expect_settings(const TempDir *dir, const char *expected)
{
	_cleanup_(config_freep) Config *c = load(dir);
	_cleanup_free_ char *keep = strv_join(c->policy.keep_bound, "|"), *text = NULL;

	text = strf(
		"%s %sproxmox level %d infer %d single %d keep %s mmio %d poll %d seconds %u %u "
		"%u %u audit %u x %u",
		c->libvirt_uri, c->proxmox_guests ? "" : "no-", c->log_level,
		c->policy.accept_inferred, c->policy.single_gpus, keep, c->policy.allow_mmio,
		c->policy.poll_memory_clear,
		(unsigned)(c->policy.device_timeout_usec / USEC_PER_SEC),
		(unsigned)(c->policy.probe_timeout_usec / USEC_PER_SEC),
		(unsigned)(c->policy.detach_timeout_usec / USEC_PER_SEC),
		(unsigned)(c->look_interval_usec / USEC_PER_SEC),
		(unsigned)(c->audit.file_bytes >> 20), (unsigned)c->audit.files);
	assert_string_equal(text, expected);
}

WITH_DIR(without_files_the_defaults_hold)
{
	const TempDir nowhere = { .path = "/nonexistent/gpupass" };

	expect_settings(dir, DEFAULTS);
	expect_settings(&nowhere, DEFAULTS);
	assert_null(config_free(NULL));
}

WITH_DIR(the_file_that_is_installed_says_what_the_defaults_are)
{
	_cleanup_free_ char *text = NULL;

	assert_int_equal(
		file_read_at(AT_FDCWD, FIXTURES "/../../conf/gpupassd.conf", 65536, &text, NULL),
		0);
	/* "#Key=value" becomes a setting. */
	for (char *at = text; (at = strchr(at, '#')); at++)
		if (at[1] != ' ' && strchr(at, '=') && (at == text || at[-1] == '\n'))
			*at = ' ';
	temp_dir_write(dir, "gpupassd.conf", text);
	assert_non_null(strstr(text, " DeviceTimeoutSec="));
	expect_settings(dir, DEFAULTS);
}

WITH_DIR(every_key_is_read_and_a_drop_in_wins_over_the_file_and_over_drop_ins_before_it)
{
	temp_dir_write(dir, "gpupassd.conf",
		       "[Groups]\nAcceptInferred=yes\nSingleGpus=yes\nKeepBound=pair0, RTX A*\n"
		       "[Devices]\nDeviceTimeoutSec=1\n"
		       "ProbeTimeoutSec=600\nAllowMmio=yes\nPollMemoryClear=yes\n"
		       "[Libvirt]\nUri=none\nDetachTimeoutSec=3600\nLookIntervalSec=7\n"
		       "[Proxmox]\nGuests=yes\n"
		       "[Log]\nLevel=debug\n"
		       "[Audit]\nFileMegabytes=2\nFiles=3\n");
	expect_settings(dir,
			"none proxmox level 7 infer 1 single 1 keep pair0|RTX A* mmio 1 poll 1 "
			"seconds 1 600 3600 7 audit 2 x 3");
	temp_dir_write(dir, "gpupassd.conf.d/90-last.conf", "[Devices]\nDeviceTimeoutSec=90\n");
	temp_dir_write(dir, "gpupassd.conf.d/10-first.conf",
		       "[Devices]\nDeviceTimeoutSec=10\n[Log]\nLevel=error\n");
	temp_dir_write(dir, "gpupassd.conf.d/99-not.conf~", "nonsense\n");
	temp_dir_write(dir, "gpupassd.conf.d/.hidden.conf", "nonsense\n");
	expect_settings(dir,
			"none proxmox level 3 infer 1 single 1 keep pair0|RTX A* mmio 1 poll 1 "
			"seconds 90 600 3600 7 audit 2 x 3");
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
		{ "[Libvirt]\nUri=qemu+ssh://host/system\n[Log]\nLevel=error\n", false, LOG_ERR },
		{ "[Log]\nLevel=warning\n", false, LOG_WARNING },
		{ "[Log]\nLevel = info ; as ever\n", false, LOG_INFO },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(config_freep) Config *config = NULL;

		temp_dir_write(dir, "gpupassd.conf", rows[i].text);
		config = load(dir);
		if (config->policy.accept_inferred != rows[i].accept_inferred ||
		    config->log_level != rows[i].level)
			fail_msg("row %zu", i);
	}
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
#define NO_SECONDS "this is no number of seconds"
#define NO_SECTION "there is no such section"
#define NO_KEY "there is no such key in this section"
#define NO_LINE "this line is neither a section nor KEY=VALUE"
	static const struct {
		const char *text;
		int line;
		const char *what, *remedy;
	} rows[] = {
		{ "[Groups]\nAcceptInferred=maybe\n", 2, "this is neither yes nor no",
		  "write yes or no" },
		{ "[Groups]\nAcceptInferred=\n", 2, "this is neither yes nor no", "yes" },
		{ "[Devices]\nDeviceTimeoutSec=0\n", 2, NO_SECONDS, "from 1 to 3600" },
		{ "[Devices]\nDeviceTimeoutSec=30s\n", 2, NO_SECONDS, "3600" },
		{ "[Libvirt]\n\nDetachTimeoutSec=3601\n", 3, NO_SECONDS, "3600" },
		{ "[Libvirt]\nLookIntervalSec=0\n", 2, NO_SECONDS,
		  "write a whole number from 1 to 3600" },
		{ "[Libvirt]\nUri=system\n", 2, "this is no libvirt URI", "qemu:///system" },
		{ "[Libvirt]\nUri=None\n", 2, "this is no libvirt URI",
		  "or none, on a host without libvirt" },
		{ "[Libvirt]\nUri=\n", 2, "this is no libvirt URI", "qemu:///system" },
		{ "[Log]\nLevel=verbose\n", 2, "this is no log level",
		  "error, warning, info or debug" },
		{ "[Audit]\nFiles=1\n", 2, "this is not such a number", "from 2 to 10000" },
		{ "[Audit]\nFileMegabytes=1025\n", 2, "this is not such a number",
		  "from 1 to 1024" },
		{ "[Group]\n", 1, NO_SECTION,
		  "[Groups], [Devices], [Libvirt], [Proxmox], [Log] and [Audit]" },
		{ "[groups]\n", 1, NO_SECTION, "[Groups]" },
		{ "[Log]\nUri=qemu:///system\n", 2, NO_KEY, "gpupassd.conf(5)" },
		{ "Level=info\n", 1, NO_KEY, "gpupassd.conf(5)" },
		{ "[Log\n", 1, NO_LINE, "[Section]" },
		/* of two mistakes the first */
		{ "[Log]\nnonsense\nLevel=verbose\n", 2, NO_LINE, "KEY=VALUE" },
		{ "[Log]\nLevel=verbose\nnonsense\n", 2, "this is no log level", "debug" },
		{ "[Libvirt]\nUri=qemu:///" HUNDRED HUNDRED "\n", 2,
		  "the line is longer than 198 characters", "shorten" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *reason =
			strf("gpupassd.conf:%d: %s", rows[i].line, rows[i].what);

		temp_dir_write(dir, "gpupassd.conf", rows[i].text);
		expect_refusal(dir, i, reason, rows[i].remedy);
	}
	/* What stands behind a NUL would be left out without a word. */
	temp_dir_write_bytes(dir, "gpupassd.conf", "[Log]\nLevel=info\n\0\nno", 21);
	expect_refusal(dir, ELEMENTS(rows), "gpupassd.conf:3: there is a NUL byte in this line",
		       "write it anew as plain text");
	temp_dir_write(dir, "gpupassd.conf", "[Log]\n");
	temp_dir_write(dir, "gpupassd.conf.d/50-x.conf", "[Log]\n\nLevel=x\n");
	expect_refusal(dir, ELEMENTS(rows), "gpupassd.conf.d/50-x.conf:3: this is no log level",
		       "debug");
}

WITH_DIR(what_cannot_be_read_is_named)
{
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

/* Of pair1 alone, in b.conf, and a note that begins so: a.conf's GPUs may be the very ones that an
 * inference would pair otherwise. */
static void expect_left_out(const TempDir *dir, size_t n, const char *note)
{
	_cleanup_(rules_unrefp) Rules *rules = NULL;
	_cleanup_strv_ char **notes = NULL;

	rules = load_rules(dir, &notes);
	if (strv_length(notes) != 1 || !str_starts_with(notes[0], note) ||
	    !strstr(notes[0], "nothing is inferred") || !strstr(notes[0], "remedy: "))
		fail_msg("%s: %s", note, notes ? notes[0] : "no note");
	assert_int_equal(rules->declarations->n_items, n);
	assert_true(n == 0 || str_equal(rules->declarations->items[0].name, "pair1"));
	assert_false(rules->policy.accept_inferred);
}

WITH_DIR(a_file_with_a_mistake_is_left_out_whole_and_nothing_is_inferred)
{
	static const struct {
		const char *text;
		size_t size;
		const char *note;
	} rows[] = {
#define TEXT(text) text, sizeof(text) - 1
		{ TEXT(PAIR0 "[Group]\nName=pair9\n"),
		  "groups.d/a.conf:5: group pair9 has 0 members" },
		{ TEXT(PAIR0 "nonsense\n"), "groups.d/a.conf:5: this line is neither" },
		{ TEXT(PAIR0 "\0" PAIR0), "groups.d/a.conf:5: there is a NUL byte" },
#undef TEXT
	};

	temp_dir_write(dir, "groups.d", "a file");
	expect_left_out(dir, 0, "groups.d cannot be read: Not a directory");
	unlinkat(dir->fd, "groups.d", 0);
	temp_dir_write(dir, "groups.d/b.conf", PAIR1);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		temp_dir_write_bytes(dir, "groups.d/a.conf", rows[i].text, rows[i].size);
		expect_left_out(dir, 1, rows[i].note);
	}
	unlinkat(dir->fd, "groups.d/a.conf", 0);
	temp_dir_write(dir, "groups.d/a.conf/x", "");
	expect_left_out(dir, 1, "groups.d/a.conf cannot be read: Is a directory");
}

WITH_DIR(a_stored_group_is_read_and_a_removed_one_is_not)
{
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
