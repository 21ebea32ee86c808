/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/links/declaration.h"

#include <ctype.h>
#include <stdarg.h>
#include <strings.h>

#include "util/grow.h"
#include "util/ini.h"
#include "util/text.h"
#include "util/xalloc.h"

LOCAL_EQUAL(Declaration, declaration_equal)
#include "declaration.inc"

#define SERIAL_PREFIX "serial:"
#define SLOT_PREFIX "slot:"
#define UUID_PREFIX "GPU-"
/* Names under /sys/bus/pci/slots are short. An INI line limits the other texts. */
#define SLOT_NAME_MAX 63

static bool slot_name_valid(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		if (!isascii((unsigned char)s[n]) || !isgraph((unsigned char)s[n]) || s[n] == '/' ||
		    s[n] == ';')
			return false;
	return n > 0 && n <= SLOT_NAME_MAX;
}

int selector_parse(const char *text, Selector *ret)
{
	Selector selector = { .kind = SELECTOR_ADDRESS };

	if (str_starts_with(text, SERIAL_PREFIX)) {
		selector.kind = SELECTOR_SERIAL;
		text += strlen(SERIAL_PREFIX);
		if (!str_has_form(text, "xx-xx-xx-xx-xx-xx-xx-xx"))
			return -EINVAL;
	} else if (str_starts_with(text, SLOT_PREFIX)) {
		selector.kind = SELECTOR_SLOT;
		text += strlen(SLOT_PREFIX);
		if (!slot_name_valid(text))
			return -EINVAL;
	} else if (str_starts_with(text, UUID_PREFIX)) {
		selector.kind = SELECTOR_UUID;
		if (!str_has_form(text, UUID_PREFIX "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"))
			return -EINVAL;
	} else if (bdf_parse(text, &selector.address) < 0) {
		return -EINVAL;
	}
	selector.text = xstrdup(text);
	*ret = selector;
	return 0;
}

char *declaration_to_text(const DeclareWish *wish)
{
	_cleanup_strv_ char **lines = NULL;

	if (!group_name_valid(wish->name))
		return NULL;
	strv_appendf(&lines, "[Group]\nName=%s\n", wish->name);
	for (char **text = wish->members; text && *text; text++) {
		Selector selector;

		if (selector_parse(*text, &selector) < 0)
			return NULL;
		selector_clear(&selector);
		strv_appendf(&lines, "Gpu=%s\n", *text);
	}
	for (char **text = wish->companions; text && *text; text++) {
		Member member;

		if (member_parse(*text, &member) < 0)
			return NULL;
		strv_appendf(&lines, "With=%s\n", MEMBER_TEXT(&member));
	}
	if (wish->whole_nic)
		strv_append(&lines, "WholeNic=yes\n");
	if (wish->erase)
		strv_append(&lines, "Erase=yes\n");
	if (wish->vlan > 0)
		strv_appendf(&lines, "Vlan=%u\n", wish->vlan);
	return strv_join(lines, "");
}

void declarations_find_edits(Declarations *declarations, const Declarations *before,
			     const char *name)
{
	EACH (Declaration, one, declarations->items, declarations->n_items) {
		const Declaration *was =
			FIND(before->items, before->n_items, str_equal(it->name, one->name));

		one->edited = !was || was->edited;
		one->edited |= was && !declaration_equal(one, was);
		one->edited &= !str_equal(one->name, name);
	}
}

void declarations_remove(Declarations *declarations, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < declarations->n_items; i++) {
		if (str_equal(declarations->items[i].name, name))
			declaration_clear(&declarations->items[i]);
		else
			declarations->items[kept++] = declarations->items[i];
	}
	declarations->n_items = kept;
}

/* ---- the INI text of groups.d/NAME.conf ---- */

#define SECTION "Group"
#define DECLARATIONS_MAX 256
#define REMEDY_MEMBERS                                                                             \
	"write one Gpu= line for each of the GPUs that the bridge ties together, or one for a "    \
	"GPU without a bridge"

typedef struct Parser {
	const char *file;
	int line;		    /* that is parsed now */
	const Declarations *before; /* from other files */
	Declarations fresh;	    /* from this file; the parser fills the last */
	int section_line;	    /* 0: before the first section */
	int problem_line;
	Problem *problem;
} Parser;

static Declaration *current(Parser *p)
{
	return p->fresh.n_items > 0 ? &p->fresh.items[p->fresh.n_items - 1] : NULL;
}

static int declaration_fail(Parser *p, int line, const char *remedy, const char *format, ...)
	_printf_(4, 5);

static int declaration_fail(Parser *p, int line, const char *remedy, const char *format, ...)
{
	_cleanup_free_ char *what = NULL;
	va_list ap;

	va_start(ap, format);
	what = vstrf(format, ap);
	va_end(ap);
	/* The text may quote the file. It goes to a terminal, and over D-Bus as UTF-8. */
	for (char *c = what; *c; c++)
		if (!isascii((unsigned char)*c) || iscntrl((unsigned char)*c))
			*c = '?';
	p->problem = problem_free(p->problem);
	p->problem_line = line;
	return problem_refuse(&p->problem, GPUPASS_ERROR_INVALID_CONFIG,
			      .reason = strf("%s:%d: %s", p->file, line, what),
			      .remedy = xstrdup(remedy));
}

/* A section ends here: it must be complete. */
static int end_section(Parser *p)
{
	const Declaration *d = current(p);

	if (!d)
		return 0;
	if (!d->name)
		return declaration_fail(p, p->section_line, "add a line Name=pair0 to the section",
					"this [" SECTION "] has no Name=");
	if (d->n_members < GROUP_MEMBERS_MIN)
		return declaration_fail(p, p->section_line, REMEDY_MEMBERS,
					"group %s has %zu member%s; a group has %d to %d", d->name,
					d->n_members, d->n_members == 1 ? "" : "s",
					GROUP_MEMBERS_MIN, GROUP_GPUS_MAX);
	if (d->vlan > 0 && !SOME(d->companions, d->n_companions, it->kind == MEMBER_VF))
		return declaration_fail(p, p->section_line,
					"give a VF (With=vf:0000:42:00.0), or remove Vlan=",
					"Vlan= is for VFs, and group %s has none", d->name);
	return 0;
}

static int begin_section(Parser *p)
{
	if (p->before->n_items + p->fresh.n_items >= DECLARATIONS_MAX)
		return declaration_fail(p, p->line, "remove declarations that are not needed",
					"more than %d groups are declared", DECLARATIONS_MAX);
	*GROW(p->fresh.items, p->fresh.n_items) =
		(Declaration){ .source = strf("%s:%d", p->file, p->line) };
	p->section_line = p->line;
	return 0;
}

static int on_section(const char *name, int line, void *userdata)
{
	Parser *p = userdata;
	int r = end_section(p);

	if (r != 0)
		return r;
	p->line = line;
	if (strcmp(name, SECTION) != 0)
		return declaration_fail(p, line, "the only section here is [" SECTION "]",
					"unknown section [%s]", name);
	return begin_section(p);
}

static const Declaration *find_name(const Declarations *all, const char *name)
{
	return FIND(all->items, all->n_items, str_equal(it->name, name));
}

static int take_name(Parser *p, const char *value)
{
	const Declaration *other;

	if (current(p)->name)
		return declaration_fail(p, p->line,
					"a group has one name: start a new [" SECTION "]",
					"Name= is here for the second time in this section");
	if (!group_name_valid(value))
		return declaration_fail(
			p, p->line, "use a name like pair0",
			"\"%s\" is no group name: letters, digits, '-', '_' and '.', starting "
			"with a letter, at most %d characters",
			value, GROUP_NAME_MAX);
	other = find_name(p->before, value);
	if (!other)
		other = find_name(&p->fresh, value);
	if (other)
		return declaration_fail(
			p, p->line, "give one of the two another name, or remove it",
			"group %s is declared already, in %s", value, other->source);
	current(p)->name = xstrdup(value);
	return 0;
}

/*
 * Two addresses of one slot are one board. Selectors of different kinds are compared when they are
 * resolved.
 */
static bool same_member(const Selector *a, const Selector *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == SELECTOR_ADDRESS)
		return bdf_same_slot(&a->address, &b->address);
	if (a->kind == SELECTOR_SLOT)
		return strcmp(a->text, b->text) == 0;
	return strcasecmp(a->text, b->text) == 0;
}

static const Declaration *find_member(const Declarations *all, const Selector *member)
{
	for (size_t i = 0; i < all->n_items; i++)
		if (SOME(all->items[i].members, all->items[i].n_members, same_member(it, member)))
			return &all->items[i];
	return NULL;
}

static int check_member(Parser *p, const Selector *member, const char *value)
{
	const Declaration *other = find_member(p->before, member);

	if (!other)
		other = find_member(&p->fresh, member);
	if (other == current(p))
		return declaration_fail(p, p->line, REMEDY_MEMBERS,
					"%s is a member of this group already", value);
	if (other)
		return declaration_fail(p, p->line,
					"a GPU belongs to one group only: remove it from the other",
					"%s is a member of another group already, declared in %s",
					value, other->source);
	if (current(p)->n_members >= GROUP_GPUS_MAX)
		return declaration_fail(p, p->line, REMEDY_MEMBERS,
					"the group has more than %d members", GROUP_GPUS_MAX);
	return 0;
}

static int take_member(Parser *p, const char *value)
{
	Declaration *d = current(p);
	Selector member;
	int r;

	if (selector_parse(value, &member) < 0)
		return declaration_fail(
			p, p->line,
			"write Gpu=0000:41:00.0, or a UUID (GPU-…), serial:…, or slot:…",
			"Gpu=%s is no PCI address, GPU UUID, serial number or slot", value);
	r = check_member(p, &member, value);
	if (r != 0) {
		selector_clear(&member);
		return r;
	}
	*GROW(d->members, d->n_members) = member;
	return 0;
}

static const Declaration *find_companion(const Declarations *all, const Bdf *bdf)
{
	for (size_t i = 0; i < all->n_items; i++)
		if (SOME(all->items[i].companions, all->items[i].n_companions,
			 bdf_equal(&it->bdf, bdf)))
			return &all->items[i];
	return NULL;
}

static int take_companion(Parser *p, const char *value)
{
	Declaration *d = current(p);
	const Declaration *other;
	Member member;

	if (member_parse(value, &member) < 0)
		return declaration_fail(
			p, p->line, "write With=nic:0000:42:00.0; the kinds are nic, vf and nvme",
			"With=%s is no kind with a PCI address", value);
	other = find_companion(p->before, &member.bdf);
	if (!other)
		other = find_companion(&p->fresh, &member.bdf);
	if (other == d)
		return declaration_fail(p, p->line, "remove one of the lines",
					"%s is a member of this group already", value);
	if (other)
		return declaration_fail(p, p->line,
					"it belongs to one group only: remove it from the other",
					"%s is a member of another group already, declared in %s",
					value, other->source);
	if (d->n_companions >= GROUP_COMPANIONS_MAX)
		return declaration_fail(p, p->line, "remove some of the lines With=",
					"the group has more than %d members that are no GPUs",
					GROUP_COMPANIONS_MAX);
	*GROW(d->companions, d->n_companions) = member;
	return 0;
}

static int take_yes_no(Parser *p, const char *key, const char *value, bool *ret, bool *ret_set)
{
	_cleanup_free_ char *remedy = strf("write %s=yes or %s=no", key, key);
	bool yes = strcmp(value, "yes") == 0;

	if (*ret_set)
		return declaration_fail(p, p->line, "remove one of the lines",
					"%s= is here for the second time in this section", key);
	if (!yes && strcmp(value, "no") != 0)
		return declaration_fail(p, p->line, remedy, "%s=%s is neither yes nor no", key,
					value);
	*ret = yes;
	*ret_set = true;
	return 0;
}

static int take_vlan(Parser *p, const char *value)
{
	unsigned long long vlan;

	if (current(p)->vlan > 0)
		return declaration_fail(p, p->line, "remove one of the lines",
					"Vlan= is here for the second time in this section");
	if (str_to_unsigned(value, 10, VLAN_MAX, &vlan) < 0 || vlan == 0)
		return declaration_fail(p, p->line, "write a number from 1 to 4094",
					"Vlan=%s is no VLAN", value);
	current(p)->vlan = (unsigned)vlan;
	return 0;
}

static int on_entry(const char *section, const char *key, const char *value, int line,
		    void *userdata)
{
	Parser *p = userdata;
	Declaration *d = current(p);

	(void)section; /* on_section() handled it */
	p->line = line;
	if (!d)
		return declaration_fail(p, line, "begin the file with a line [" SECTION "]",
					"%s= stands before the first section", key);
	if (strcmp(key, "Name") == 0)
		return take_name(p, value);
	if (strcmp(key, "Gpu") == 0)
		return take_member(p, value);
	if (strcmp(key, "With") == 0)
		return take_companion(p, value);
	if (strcmp(key, "ForeignUse") == 0)
		return take_yes_no(p, key, value, &d->foreign_use, &d->foreign_use_set);
	if (strcmp(key, "WholeNic") == 0)
		return take_yes_no(p, key, value, &d->whole_nic, &d->whole_nic_set);
	if (strcmp(key, "Erase") == 0)
		return take_yes_no(p, key, value, &d->erase, &d->erase_set);
	if (strcmp(key, "Vlan") == 0)
		return take_vlan(p, value);
	return declaration_fail(p, line,
				"the keys here are Name=, Gpu=, With=, ForeignUse=, WholeNic=, "
				"Erase= and Vlan=",
				"unknown key %s=", key);
}

static int on_malformed(int line, void *userdata)
{
	Parser *p = userdata;

	/*
	 * The end of a section shows that it is incomplete, but the message names its first line.
	 */
	if (p->problem && p->problem_line < line)
		return PROBLEM;
	return declaration_fail(p, line,
				"write KEY=VALUE, [" SECTION "], or start a comment with #",
				"this line is neither a section nor KEY=VALUE");
}

static int on_too_long(int line, int max, void *userdata)
{
	return declaration_fail(userdata, line, "shorten the line",
				"the line is longer than %d characters", max);
}

static int declaration_run(Parser *p, const char *text)
{
	static const IniHandler handler = {
		.section = on_section,
		.entry = on_entry,
		.malformed = on_malformed,
		.too_long = on_too_long,
	};
	int r = ini_text_parse(text, &handler, p);

	return r == 0 ? end_section(p) : r;
}

static void append_all(Declarations *into, Declarations *fresh)
{
	if (fresh->n_items == 0)
		return;
	into->items =
		xreallocarray(into->items, into->n_items + fresh->n_items, sizeof(Declaration));
	memcpy(into->items + into->n_items, fresh->items, fresh->n_items * sizeof(Declaration));
	into->n_items += fresh->n_items;
	fresh->n_items = 0;
}

int declarations_parse(Declarations *into, const char *file_name, const char *text,
		       Problem **ret_problem)
{
	_cleanup_(declarations_freep) Declarations *fresh = xcalloc(1, sizeof(*fresh));
	Parser p = { .file = file_name, .before = into };
	int r = declaration_run(&p, text);

	*fresh = p.fresh;
	if (r == 0)
		append_all(into, fresh);
	if (r == PROBLEM)
		*ret_problem = TAKE_PTR(p.problem);
	problem_free(p.problem);
	return r;
}
