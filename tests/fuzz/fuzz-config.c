/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the operator and other packages write: INI, groups, files of the host's setup. A declaration
 * that is taken is written as a file that declares the same; one that is refused adds nothing.
 */
#include <unistd.h>

#include "core/facts/module-lists.h"
#include "core/links/declaration.h"
#include "core/setup/driver-ids.h"
#include "core/setup/hook-script.h"
#include "core/setup/kernel-words.h"
#include "core/setup/modprobe.h"
#include "core/setup/setup-files.h"
#include "fuzz.h"
#include "host/scan/function.h"
#include "manager/config.h"
#include "util/ini.h"
#include "util/text.h"

/* ---- INI ---- */

typedef struct Lines {
	int last, n;
} Lines;

static void note_line(int line, void *userdata)
{
	Lines *lines = userdata;

	EXPECT(line >= 1 && line >= lines->last);
	lines->last = line;
	lines->n++;
}

static int note_section(const char *name, int line, void *userdata)
{
	EXPECT(name && !strchr(name, '\n'));
	note_line(line, userdata);
	return 0;
}

static int note_entry(const char *section, const char *key, const char *value, int line,
		      void *userdata)
{
	EXPECT(section && key && value && !strchr(key, '\n') && !strchr(value, '\n'));
	note_line(line, userdata);
	return 0;
}

/* libinih has it called late: only its bounds are known. */
static int note_malformed(int line, _unused_ void *userdata)
{
	EXPECT(line >= 1);
	return 0;
}

static int note_long(int line, int max, _unused_ void *userdata)
{
	EXPECT(line >= 1 && max > 0);
	return 0;
}

static void lines_are_counted(const char *text)
{
	static const IniHandler handler = { note_section, note_entry, note_malformed, note_long };
	Lines lines = { 0 };
	int n = 1;

	EXPECT(ini_text_parse(text, &handler, &lines) == 0);
	for (const char *c = text; (c = strchr(c, '\n')); c++)
		n++;
	EXPECT(lines.last <= n && lines.n <= n);
}

/* ---- groups ---- */

static char **members_of(const Declaration *d)
{
	static const char *const prefixes[] = {
		[SELECTOR_ADDRESS] = "",
		[SELECTOR_UUID] = "",
		[SELECTOR_SERIAL] = "serial:",
		[SELECTOR_SLOT] = "slot:",
	};
	char **list = NULL;

	for (size_t i = 0; i < d->n_members; i++)
		strv_appendf(&list, "%s%s", prefixes[d->members[i].kind], d->members[i].text);
	return list;
}

static bool same_members(const Declaration *a, const Declaration *b)
{
	bool same = a->n_members == b->n_members;

	for (size_t i = 0; same && i < a->n_members; i++)
		same = a->members[i].kind == b->members[i].kind &&
		       str_equal(a->members[i].text, b->members[i].text) &&
		       bdf_equal(&a->members[i].address, &b->members[i].address);
	return same;
}

static char **companions_of(const Declaration *d)
{
	char **texts = NULL;

	for (size_t i = 0; i < d->n_companions; i++)
		strv_append(&texts, MEMBER_TEXT(&d->companions[i]));
	return texts;
}

static bool same_companions(const Declaration *a, const Declaration *b)
{
	bool same = a->n_companions == b->n_companions && a->whole_nic == b->whole_nic &&
		    a->vlan == b->vlan && a->erase == b->erase;

	for (size_t i = 0; same && i < a->n_companions; i++)
		same = a->companions[i].kind == b->companions[i].kind &&
		       bdf_equal(&a->companions[i].bdf, &b->companions[i].bdf);
	return same;
}

static void it_declares_the_same(const Declaration *d)
{
	_cleanup_(declarations_freep) Declarations *again = calloc(1, sizeof(*again));
	_cleanup_strv_ char **members = members_of(d);
	_cleanup_strv_ char **companions = companions_of(d);
	_cleanup_free_ char *text = declaration_to_text(&(DeclareWish){ .name = d->name,
									.members = members,
									.companions = companions,
									.whole_nic = d->whole_nic,
									.vlan = d->vlan,
									.erase = d->erase });
	_cleanup_(problem_freep) Problem *problem = NULL;

	EXPECT(again && text);
	EXPECT(declarations_parse(again, "again.conf", text, &problem) == 0);
	EXPECT(again->n_items == 1 && str_equal(again->items[0].name, d->name));
	EXPECT(same_members(&again->items[0], d) && same_companions(&again->items[0], d));
}

static void groups_are_declared(const char *text)
{
	_cleanup_(declarations_freep) Declarations *all = calloc(1, sizeof(*all));
	_cleanup_(problem_freep) Problem *problem = NULL, *second = NULL;
	size_t n;

	EXPECT(all);
	if (declarations_parse(all, "a.conf", text, &problem) != 0) {
		EXPECT(problem && all->n_items == 0);
		return;
	}
	n = all->n_items;
	for (size_t i = 0; i < n; i++) {
		EXPECT(group_name_valid(all->items[i].name));
		EXPECT(all->items[i].n_members >= GROUP_MEMBERS_MIN &&
		       all->items[i].n_members <= GROUP_GPUS_MAX);
		it_declares_the_same(&all->items[i]);
	}
	/* The same again names each group twice. */
	EXPECT((declarations_parse(all, "b.conf", text, &second) == 0) == (n == 0));
	EXPECT(all->n_items == n);
}

/* No word becomes a second line, whatever it is. */
static void a_value_adds_no_line(const char *text)
{
	char *members[] = { (char *)text, (char *)"0000:61:00.0", NULL };
	_cleanup_free_ char *written =
		declaration_to_text(&(DeclareWish){ .name = (char *)"pair0", .members = members });
	_cleanup_free_ char *named = NULL;
	char *good[] = { (char *)"0000:41:00.0", (char *)"0000:61:00.0", NULL };
	Selector selector = { 0 };

	EXPECT(!written || !strchr(text, '\n'));
	named = declaration_to_text(&(DeclareWish){ .name = (char *)text, .members = good });
	EXPECT(!named == !group_name_valid(text));
	if (selector_parse(text, &selector) == 0)
		selector_clear(&selector);
	else
		EXPECT(!written);
}

/* ---- settings ---- */

static void settings_are_loaded(const char *text)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(config_freep) Config *config = NULL;
	int fd, r;
	const char *directory = fuzz_directory(&fd);

	fuzz_write(fd, "gpupassd.conf", text, strlen(text));
	r = config_load(directory, &config, &problem);
	EXPECT((r == 0) == (config != NULL) && (r == 0) == !problem);
	EXPECT(!config || (config->log_level >= 0 && config->log_level <= 7));
}

/* ---- files of the host's setup ---- */

static void the_setup_is_read(const char *text)
{
	_cleanup_strv_ char **cmdline = NULL, **modprobe = NULL, **driverctl = NULL, **hooks = NULL;
	_cleanup_free_ char *version = NULL, *ids = NULL;
	const char *setting;
	PciFunction function = { 0 };
	uint64_t number = 0;
	size_t size = 0;

	cmdline = setup_read_cmdline(text);
	strv_split(text, "\n", &modprobe);
	ids = modprobe_value(modprobe, cmdline, "vfio_pci", "ids", &setting);
	EXPECT(ids || !setting);
	EXPECT(!modprobe_runs(modprobe, "nouveau") || modprobe_matters(text));
	modprobe_blocks(modprobe, "nouveau");
	kernel_words_block(cmdline, "nouveau");
	setup_read_driverctl("pci-0000:41:00.0", text, &driverctl);
	hook_script_read("/h", text, &hooks, NULL);
	EXPECT(strv_length(hooks) <= SETUP_LINES_MAX);
	version = setup_read_nvidia_version(text);
	EXPECT(!driver_ids_find(str_or_empty(ids), &function, &size) || size > 0);
	EXPECT(strv_length(cmdline) <= SETUP_LINES_MAX);
	EXPECT(strv_length(driverctl) <= 1);
	setup_interrupt_is_remapped(text);
	setup_read_aer(text, &number);
	setup_read_memlock(text, &number);
	setup_read_start(text, &number);
	setup_may_raise_limits(text);
	EXPECT(setup_compare_versions(text, text) == 0);
	EXPECT((setup_compare_versions(text, "1.2") < 0) ==
	       (setup_compare_versions("1.2", text) > 0));
	if (modalias_parse(text, &function) < 0)
		EXPECT(function.vendor == 0 && function.class_code == 0);
}

static bool any_word(_unused_ const char *variable, const char *word)
{
	return *word;
}

static void lists_of_modules_are_read(const char *text)
{
	ShellVariable variables[] = { { .name = "MODULES" }, { .name = "add_drivers" } };
	ShellSettings settings = { any_word, variables, ELEMENTS(variables), NULL };
	ModuleLists lists = { 0 };

	module_lists_read_lines("etc/modules", text, true, &lists);
	EXPECT(strv_length(lists.drivers) <= SETUP_LINES_MAX);
	EXPECT(strv_length(lists.options) <= SETUP_LINES_MAX && !lists.unknown);
	module_lists_clear(&lists);
	shell_settings_read("etc/dracut.conf", text, &settings);
	EXPECT(strv_length(settings.unknown) <= SETUP_LINES_MAX);
	shell_settings_clear(&settings);
}

void fuzz_one(_unused_ const char *bytes, _unused_ size_t size, const char *text)
{
	lines_are_counted(text);
	groups_are_declared(text);
	a_value_adds_no_line(text);
	settings_are_loaded(text);
	the_setup_is_read(text);
	lists_of_modules_are_read(text);
}
