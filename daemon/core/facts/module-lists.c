/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/module-lists.h"

#include <ctype.h>

#include "core/facts/initramfs.h"
#include "core/setup/kernel-words.h"
#include "core/setup/setup-files.h"
#include "util/text.h"
#include "util/xalloc.h"

#include "module-lists.inc"

/* ---- one module a line ---- */

/* A module whose ids= option takes boards: both names are of eight letters. */
static bool is_stub(const char *line, size_t size)
{
	return size == strlen("vfio_pci") &&
	       (kernel_word_begins(line, "vfio_pci") || kernel_word_begins(line, "pci_stub"));
}

static void read_module(const char *name, unsigned number, const char *line, bool drivers,
			ModuleLists *into)
{
	size_t size = strcspn(line, " \t");
	_cleanup_free_ char *module = xstrndup(line, size);

	if (is_stub(line, size) && line[size])
		setup_keep_line(&into->options, strf("%s:%u: %s", name, number, line));
	else if (drivers && initramfs_loads_taker(module, 0))
		setup_keep_line(&into->drivers, strf("%s:%u: %s", name, number, module));
}

/*
 * initramfs-tools and kmod's init script give the first word and its options to modprobe
 * (add_modules_from_file() and load_modules(); load_module() of /etc/init.d/kmod). For systemd the
 * whole line is the module's name, and ';' begins a comment, too (apply_file(), modules-load.c).
 */
void module_lists_read_lines(const char *name, const char *text, bool drivers, ModuleLists *into)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *next = copy, *line;

	for (unsigned number = 1; (line = strsep(&next, "\n")); number++) {
		line = str_strip(line);
		if (*line && *line != '#' && *line != ';')
			read_module(name, number, line, drivers, into);
	}
}

/* ---- what bash reads ---- */

typedef enum Word {
	WORD_NONE, /* there is none here */
	WORD_PLAIN,
	WORD_EXPANDS, /* bash makes something else of it */
	WORD_STRANGE, /* its end is not known */
} Word;

typedef struct Shell {
	const char *name, *at;
	unsigned line;
	char *word; /* as long as the text */
	size_t size;
} Shell;

static void shell_add(Shell *s, char c)
{
	s->word[s->size++] = c;
	s->line += *s->at == '\n';
	s->at++;
}

/* Behind a backslash, which at a line's end joins it with the next. */
static void shell_escape(Shell *s)
{
	s->at++;
	if (*s->at == '\n') {
		s->line++;
		s->at++;
	} else if (*s->at) {
		shell_add(s, *s->at);
	}
}

/* A command may have quotes and line ends of its own. */
static bool begins_command(const char *at)
{
	return *at == '`' || (*at == '$' && at[1] == '(');
}

static Word shell_quoted(Shell *s, char quote)
{
	bool doubled = quote == '"';
	Word word = WORD_PLAIN;

	for (s->at++; *s->at != quote;) {
		if (!*s->at || (doubled && begins_command(s->at)))
			return WORD_STRANGE;
		if (doubled && *s->at == '$')
			word = WORD_EXPANDS;
		if (doubled && *s->at == '\\' && s->at[1] && strchr("$`\"\\\n", s->at[1]))
			shell_escape(s);
		else
			shell_add(s, *s->at);
	}
	s->at++;
	return word;
}

static Word shell_word(Shell *s)
{
	const char *begin = s->at;
	Word word = WORD_PLAIN, part;

	s->size = 0;
	while (*s->at && !strchr(" \t\n;()&|<>", *s->at)) {
		part = WORD_PLAIN;
		if (begins_command(s->at)) {
			return WORD_STRANGE;
		} else if (*s->at == '"' || *s->at == '\'') {
			part = shell_quoted(s, *s->at);
		} else if (*s->at == '\\') {
			shell_escape(s);
		} else {
			/* A '?' without a match stays: mkinitcpio's optional module. */
			if (strchr("$*[{", *s->at))
				part = WORD_EXPANDS;
			shell_add(s, *s->at);
		}
		if (part == WORD_STRANGE)
			return part;
		if (part == WORD_EXPANDS)
			word = part;
	}
	s->word[s->size] = '\0';
	return s->at == begin ? WORD_NONE : word;
}

/* Skips blanks, comments, and the ends of lines that continue, or of all. */
static void shell_blanks(Shell *s, bool lines)
{
	for (;; s->at++) {
		if (*s->at == '#')
			s->at += strcspn(s->at, "\n");
		if (s->at[0] == '\\' && s->at[1] == '\n')
			s->at++;
		else if (*s->at == '\n' ? !lines : *s->at != ' ' && *s->at != '\t')
			return;
		s->line += *s->at == '\n';
	}
}

/* One assignment, before it counts. */
typedef struct Assigned {
	ShellVariable *variable; /* NULL: nobody asks for it */
	bool appends, is_array, expands;
	bool is_empty, begins_open, ends_open; /* the text: as is_open of a variable */
	char **words;
} Assigned;

/* A value that has blanks, unless it is an element of an array, is several words. */
static void assigned_words(const ShellSettings *settings, const Shell *s, unsigned line,
			   Assigned *a)
{
	_cleanup_strv_ char **words = NULL;

	if (!a->variable)
		return;
	if (a->is_array)
		strv_append(&words, s->word);
	else
		strv_split(s->word, " \t\n", &words);
	for (char **word = words; word && *word; word++)
		if (settings->matters(a->variable->name, *word))
			setup_keep_line(&a->words, strf("%s:%u: %s: %s", s->name, line,
							a->variable->name, *word));
}

/* false: not understood. */
static bool shell_value(const ShellSettings *settings, Shell *s, Assigned *a)
{
	unsigned line = s->line;
	Word word;

	a->is_array = *s->at == '(';
	if (!a->is_array) {
		word = shell_word(s);
		if (word == WORD_STRANGE)
			return false;
		if (word == WORD_NONE)
			s->word[s->size = 0] = '\0';
		a->expands = word == WORD_EXPANDS;
		a->is_empty = s->size == 0;
		a->begins_open = s->size > 0 && !isspace((unsigned char)s->word[0]);
		a->ends_open = s->size > 0 && !isspace((unsigned char)s->word[s->size - 1]);
		if (!a->expands)
			assigned_words(settings, s, line, a);
		return true;
	}
	for (s->at++;;) {
		shell_blanks(s, true);
		line = s->line;
		word = shell_word(s);
		if (word == WORD_NONE || word == WORD_STRANGE)
			break;
		if (word == WORD_EXPANDS)
			a->expands = true;
		else
			assigned_words(settings, s, line, a);
	}
	if (*s->at != ')')
		return false;
	s->at++;
	return true;
}

/* false: the value cannot be told from this assignment and the one before. */
static bool assign(Assigned *a)
{
	ShellVariable *v = a->variable;

	if (!v)
		return true;
	if (!a->appends) {
		v->words = strv_free(v->words);
		v->is_array = a->is_array;
	} else if (v->is_array && !a->is_array) {
		return false; /* bash appends to the first element */
	} else if (!v->is_array && !a->is_array && v->is_open && a->begins_open) {
		return false; /* two words become one */
	}
	v->is_array |= a->is_array;
	if (!a->appends || !a->is_empty)
		v->is_open = a->ends_open;
	for (char **word = a->words; word && *word; word++)
		strv_append(&v->words, *word);
	return !a->expands;
}

static ShellVariable *find_variable(const ShellSettings *settings, const char *name, size_t size)
{
	return FIND(settings->variables, settings->n_variables,
		    strlen(it->name) == size && strncmp(it->name, name, size) == 0);
}

/* The size of the name that an assignment begins with; 0: this is none. */
static size_t assigned_name(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return !isdigit((unsigned char)*at) && at[n + (at[n] == '+')] == '=' ? n : 0;
}

/* One assignment. false: not understood, as one before a command, which it is for alone. */
static bool shell_statement(ShellSettings *settings, Shell *s)
{
	const char *name = s->at;
	size_t n = assigned_name(name);
	Assigned a = { .appends = name[n] == '+' };
	bool understood;

	if (n == 0)
		return false;
	a.variable = find_variable(settings, name, n);
	s->at += n + a.appends + 1;
	understood = shell_value(settings, s, &a) && (!*s->at || strchr(" \t\n;", *s->at));
	shell_blanks(s, false);
	understood = understood && (!*s->at || strchr("\n;", *s->at) || assigned_name(s->at) > 0) &&
		     assign(&a);
	strv_free(a.words);
	return understood;
}

void shell_settings_read(const char *name, const char *text, ShellSettings *settings)
{
	_cleanup_free_ char *word = xmalloc(strlen(text) + 1);
	Shell s = { .name = name, .at = text, .line = 1, .word = word };

	while (*s.at) {
		const Shell before = s;

		shell_blanks(&s, false);
		if (*s.at == '\n' || *s.at == ';') {
			s.line += *s.at == '\n';
			s.at++;
			continue;
		}
		if (!*s.at)
			break;
		if (shell_statement(settings, &s))
			continue;
		s = before;
		s.at += strspn(s.at, " \t");
		setup_keep_line(&settings->unknown,
				strf("%s:%u: %.*s", name, s.line, (int)strcspn(s.at, "\n"), s.at));
		s.at += strcspn(s.at, "\n");
	}
}

void shell_settings_clear(ShellSettings *settings)
{
	for (size_t i = 0; i < settings->n_variables; i++)
		settings->variables[i].words = strv_free(settings->variables[i].words);
	settings->unknown = strv_free(settings->unknown);
}
