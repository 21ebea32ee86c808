/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/config.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/ini.h"
#include "util/text.h"
#include "util/xalloc.h"

#define CONFIG_FILE_MAX (256 * 1024)
#define TIMEOUT_SEC_MAX 3600
#define LOOK_INTERVAL_USEC (300 * USEC_PER_SEC)

/* ---- settings ---- */

typedef struct Parse {
	const char *file;
	Config *config;
	Problem **ret_problem;
	const struct Setting *row; /* of the line */
} Parse;

struct Setting {
	const char *section, *key;
	int (*set)(const Parse *parse, const char *value, int line, void *to);
	size_t offset; /* of what it sets */
	unsigned least, most;
	uint64_t unit; /* of a number */
};

static int bad(const Parse *parse, int line, const char *what, const char *remedy)
{
	/* A malformed line hides a mistake further down. */
	*parse->ret_problem = problem_free(*parse->ret_problem);
	return problem_refuse(parse->ret_problem, GPUPASS_ERROR_INVALID_CONFIG,
			      .reason = strf("%s:%d: %s", parse->file, line, what),
			      .remedy = xstrdup(remedy));
}

/* ---- each sets the member of Config that `to` points at ---- */

static int set_bool(const Parse *parse, const char *value, int line, void *to)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	for (size_t i = 0; i < ELEMENTS(yes); i++) {
		if (strcasecmp(value, yes[i]) == 0 || strcasecmp(value, no[i]) == 0) {
			*(bool *)to = strcasecmp(value, yes[i]) == 0;
			return 0;
		}
	}
	return bad(parse, line, "this is neither yes nor no", "write yes or no");
}

#define KEEP_BOUND_MAX 32
#define KEEP_BOUND_LENGTH 64

/*
 * A comma separates patterns, since names of boards have spaces. Like every other setting, a later
 * line replaces an earlier one. An empty one keeps nothing.
 */
static int set_keep_bound(const Parse *parse, const char *value, int line, void *to)
{
	_cleanup_strv_ char **patterns = NULL, **kept = NULL;

	strv_split(value, ",", &patterns);
	for (char **pattern = patterns; pattern && *pattern; pattern++) {
		const char *word = str_strip(*pattern);

		if (!*word || strlen(word) > KEEP_BOUND_LENGTH ||
		    strv_length(kept) == KEEP_BOUND_MAX)
			return bad(parse, line,
				   "this is no list of at most 32 patterns of 64 characters",
				   "write names of groups or boards, as gpupass list prints them, "
				   "with commas between them: pair0, RTX A6000, A40");
		strv_append(&kept, word);
	}
	strv_free(*(char ***)to);
	*(char ***)to = TAKE_PTR(kept);
	return 0;
}

static int set_libvirt_uri(const Parse *parse, const char *value, int line, void *to)
{
	if (!strstr(value, ":/") && !domain_source_is_none(value))
		return bad(parse, line, "this is no libvirt URI",
			   "write qemu:///system; or none, on a host without libvirt");
	free(*(char **)to);
	*(char **)to = xstrdup(value);
	return 0;
}

static int set_log_level(const Parse *parse, const char *value, int line, void *to)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {
		{ "error", LOG_ERR },
		{ "warning", LOG_WARNING },
		{ "info", LOG_INFO },
		{ "debug", LOG_DEBUG },
	};

	for (size_t i = 0; i < ELEMENTS(levels); i++)
		if (strcmp(value, levels[i].name) == 0) {
			*(int *)to = levels[i].level;
			return 0;
		}
	return bad(parse, line, "this is no log level", "write error, warning, info or debug");
}

/* In the row's unit. */
static int set_number(const Parse *parse, const char *value, int line, void *to)
{
	const struct Setting *row = parse->row;
	unsigned long long count = 0;
	_cleanup_free_ char *remedy = NULL;

	if (str_to_unsigned(value, 10, row->most, &count) >= 0 && count >= row->least) {
		*(uint64_t *)to = count * row->unit;
		return 0;
	}
	remedy = strf("write a whole number from %u to %u", row->least, row->most);
	return bad(parse, line,
		   row->unit == USEC_PER_SEC ? "this is no number of seconds"
					     : "this is not such a number",
		   remedy);
}

#define SETS(member, by) .offset = offsetof(Config, member), .set = (by)
#define WITHIN(from, to, in) .least = (from), .most = (to), .unit = (in)
#define SECONDS WITHIN(1, TIMEOUT_SEC_MAX, USEC_PER_SEC)

static const struct Setting settings[] = {
	{ "Groups", "AcceptInferred", SETS(policy.accept_inferred, set_bool) },
	{ "Groups", "SingleGpus", SETS(policy.single_gpus, set_bool) },
	{ "Groups", "KeepBound", SETS(keep_bound, set_keep_bound) },
	{ "Devices", "DeviceTimeoutSec", SETS(policy.device_timeout_usec, set_number), SECONDS },
	{ "Devices", "ProbeTimeoutSec", SETS(policy.probe_timeout_usec, set_number), SECONDS },
	{ "Devices", "AllowMmio", SETS(policy.allow_mmio, set_bool) },
	{ "Devices", "PollMemoryClear", SETS(policy.poll_memory_clear, set_bool) },
	{ "Libvirt", "Uri", SETS(libvirt_uri, set_libvirt_uri) },
	{ "Libvirt", "DetachTimeoutSec", SETS(policy.detach_timeout_usec, set_number), SECONDS },
	{ "Libvirt", "LookIntervalSec", SETS(look_interval_usec, set_number), SECONDS },
	{ "Proxmox", "Guests", SETS(proxmox_guests, set_bool) }, /* of Proxmox VE */
	{ "Log", "Level", SETS(log_level, set_log_level) },
	{ "Audit", "FileMegabytes", SETS(audit.file_bytes, set_number), WITHIN(1, 1024, 1 << 20) },
	/* With one file the trail would be empty after each rotation. */
	{ "Audit", "Files", SETS(audit.files, set_number), WITHIN(2, 10000, 1) },
};

static int on_section(const char *name, int line, void *userdata)
{
	if (SOME(settings, ELEMENTS(settings), strcmp(it->section, name) == 0))
		return 0;
	return bad(userdata, line, "there is no such section",
		   "the sections are [Groups], [Devices], [Libvirt], [Proxmox], [Log] and [Audit]; "
		   "see gpupassd.conf(5)");
}

static int on_entry(const char *section, const char *key, const char *value, int line,
		    void *userdata)
{
	Parse *parse = userdata;

	for (size_t i = 0; i < ELEMENTS(settings); i++) {
		parse->row = &settings[i];
		if (strcmp(settings[i].section, section) == 0 && strcmp(settings[i].key, key) == 0)
			return settings[i].set(parse, value, line,
					       (char *)parse->config + settings[i].offset);
	}
	return bad(userdata, line, "there is no such key in this section", "see gpupassd.conf(5)");
}

static int on_malformed(int line, void *userdata)
{
	return bad(userdata, line, "this line is neither a section nor KEY=VALUE",
		   "write KEY=VALUE, [Section], or begin a comment with #");
}

static int on_too_long(int line, int max, void *userdata)
{
	_cleanup_free_ char *what = strf("the line is longer than %d characters", max);

	return bad(userdata, line, what, "shorten the line");
}

static int unreadable(const char *file, int error, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_INVALID_CONFIG,
			      .reason =
				      strf("%s cannot be read: %s", file, file_state_error(error)),
			      .remedy = xstrdup("make it readable to root, or remove it"));
}

static int refuse_nul(const char *file, const char *text, Problem **ret_problem)
{
	int line = 1;

	for (const char *c = text; *c; c++)
		line += *c == '\n';
	return problem_refuse(ret_problem, GPUPASS_ERROR_INVALID_CONFIG,
			      .reason = strf("%s:%d: there is a NUL byte in this line", file, line),
			      .remedy = xstrdup("write it anew as plain text"));
}

/*
 * -ENOENT: there is no such file. A dangling link is an error and not a missing file, because
 * somebody made it on purpose. So is a NUL: the parser would silently ignore what comes after it.
 */
static int read_text(int dir_fd, const char *path, const char *file, char **ret,
		     Problem **ret_problem)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t size = 0;
	int r = file_read_regular_at(dir_fd, path, CONFIG_FILE_MAX, &text, &size);

	if (r == -ENOENT && fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return r;
	if (r < 0)
		return unreadable(file, r, ret_problem);
	if (strlen(text) != size)
		return refuse_nul(file, text, ret_problem);
	*ret = TAKE_PTR(text);
	return 0;
}

static int parse_settings(int dir_fd, const char *path, const char *file, Config *config,
			  Problem **ret_problem)
{
	static const IniHandler handler = {
		.section = on_section,
		.entry = on_entry,
		.malformed = on_malformed,
		.too_long = on_too_long,
	};
	Parse parse = { .file = file, .config = config, .ret_problem = ret_problem };
	_cleanup_free_ char *text = NULL;
	int r;

	r = read_text(dir_fd, path, file, &text, ret_problem);
	if (r == -ENOENT)
		return 0;
	return r == 0 ? ini_text_parse(text, &handler, &parse) : r;
}

/* Names of NAME.conf in a subdirectory; an absent directory has none. */
static int list_files(int dir_fd, const char *subdirectory, int *ret_fd, char ***ret,
		      Problem **ret_problem)
{
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(dir_fd, subdirectory, false, &fd);

	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = dir_list(fd, ".conf", ret);
	if (r < 0)
		return unreadable(subdirectory, r, ret_problem);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int load_drop_ins(int dir_fd, Config *config, Problem **ret_problem)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = list_files(dir_fd, "gpupassd.conf.d", &fd, &names, ret_problem);

	for (char **name = names; r == 0 && name && *name; name++) {
		_cleanup_free_ char *file = strf("gpupassd.conf.d/%s", *name);

		r = parse_settings(fd, *name, file, config, ret_problem);
	}
	return r;
}

/* Who asks libvirt would take its answer for all of them. */
static int check_guests(const Config *config, Problem **ret_problem)
{
	if (!config->proxmox_guests || domain_source_is_none(config->libvirt_uri))
		return 0;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_INVALID_CONFIG,
		.reason = xstrdup(
			"gpupassd.conf: Guests=yes of [Proxmox] needs Uri=none of [Libvirt]"),
		.remedy = xstrdup("write both, or neither"));
}

int config_load(const char *directory, Config **ret, Problem **ret_problem)
{
	_cleanup_(config_freep) Config *config = xcalloc(1, sizeof(Config));
	_cleanup_close_ int dir_fd = -1;
	int r;

	config->policy = POLICY_DEFAULT;
	config->log_level = LOG_INFO;
	config->look_interval_usec = LOOK_INTERVAL_USEC;
	config->audit = TRAIL_LIMITS_DEFAULT;
	config->libvirt_uri = xstrdup("qemu:///system");
	r = dir_open_at(AT_FDCWD, directory, false, &dir_fd);
	if (r == -ENOENT)
		r = 0; /* no settings: the defaults */
	else if (r < 0)
		return unreadable(directory, r, ret_problem);
	else
		r = parse_settings(dir_fd, "gpupassd.conf", "gpupassd.conf", config, ret_problem);
	if (r == 0 && dir_fd >= 0)
		r = load_drop_ins(dir_fd, config, ret_problem);
	if (r == 0)
		r = check_guests(config, ret_problem);
	config->policy.keep_bound = config->keep_bound;
	if (r == 0)
		*ret = TAKE_PTR(config);
	return r;
}

#include "config.inc"

/* ---- groups.d ---- */

static void note_problem(char ***notes, const Problem *problem)
{
	strv_appendf(notes, "%s; its groups are left out and nothing is inferred (remedy: %s)",
		     problem->reason, str_or_empty(problem->remedy));
}

static void load_groups(int fd, char *const *names, Declarations *into, char ***notes)
{
	for (; names && *names; names++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *file = strf("groups.d/%s", *names), *text = NULL;
		int r;

		r = read_text(fd, *names, file, &text, &problem);
		if (r == -ENOENT)
			continue; /* forgotten meanwhile */
		if (r == 0)
			r = declarations_parse(into, file, text, &problem);
		if (r == PROBLEM)
			note_problem(notes, problem);
	}
}

int config_load_rules(const char *directory, const Policy *policy, Rules **ret, char ***ret_notes)
{
	_cleanup_(declarations_freep) Declarations *declarations = xcalloc(1, sizeof(Declarations));
	_cleanup_strv_ char **names = NULL, **notes = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_close_ int dir_fd = -1, fd = -1;
	Policy effective = *policy;
	int r = dir_open_at(AT_FDCWD, directory, false, &dir_fd);

	if (r >= 0)
		r = list_files(dir_fd, "groups.d", &fd, &names, &problem);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == PROBLEM)
		note_problem(&notes, problem);
	else
		load_groups(fd, names, declarations, &notes);
	if (notes)
		effective.accept_inferred = effective.single_gpus = false;
	*ret = rules_new(&effective, TAKE_PTR(declarations));
	*ret_notes = TAKE_PTR(notes);
	return 0;
}

static int open_groups(const char *directory, bool create, int *ret_fd)
{
	_cleanup_free_ char *path = strf("%s/groups.d", directory);

	return dir_open_at(AT_FDCWD, path, create, ret_fd);
}

int config_store_group(const char *directory, const char *name, const char *text)
{
	_cleanup_free_ char *file = strf("%s.conf", name);
	_cleanup_close_ int fd = -1;
	int r = open_groups(directory, true, &fd);

	return r < 0 ? r : file_replace_at(fd, file, text, strlen(text), 0644);
}

int config_remove_group(const char *directory, const char *name)
{
	_cleanup_free_ char *file = strf("%s.conf", name);
	_cleanup_close_ int fd = -1;
	int r = open_groups(directory, false, &fd);

	return r < 0 ? r : file_remove_at(fd, file);
}
