/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/module-lists.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/initramfs.h"
#include "core/facts/setup-files.h"
#include "util/text.h"

void module_lists_clear(ModuleLists *lists)
{
	strv_free(lists->drivers);
	strv_free(lists->options);
	strv_free(lists->unknown);
	*lists = (ModuleLists){ 0 };
}

/* ---- one module a line ---- */

/* A module whose ids= option takes boards. */
static bool is_stub(const char *line, size_t size)
{
	static const char *const names[] = { "vfio-pci", "vfio_pci", "pci-stub", "pci_stub" };

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (strlen(names[i]) == size && strncmp(line, names[i], size) == 0)
			return true;
	return false;
}

static int read_module(const char *name, unsigned number, const char *line, bool drivers,
		       ModuleLists *into)
{
	size_t size = strcspn(line, " \t");
	_cleanup_free_ char *module = strndup(line, size);

	if (!module)
		return -ENOMEM;
	if (is_stub(line, size) && line[size])
		return setup_keep_line(&into->options, strf("%s:%u: %s", name, number, line));
	if (drivers && initramfs_loads_taker(module, 0))
		return setup_keep_line(&into->drivers, strf("%s:%u: %s", name, number, module));
	return 0;
}

/*
 * initramfs-tools and kmod's init script give the first word and its options to modprobe
 * (add_modules_from_file() and load_modules(); load_module() of /etc/init.d/kmod). For systemd the
 * whole line is the module's name, and ';' begins a comment, too (apply_file(), modules-load.c).
 */
int module_lists_read_lines(const char *name, const char *text, bool drivers, ModuleLists *into)
{
	_cleanup_free_ char *copy = strdup(text);
	unsigned number = 0;
	char *next;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	for (char *line = copy; r >= 0 && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		line = str_strip(line);
		if (*line && *line != '#' && *line != ';')
			r = read_module(name, number, line, drivers, into);
	}
	return r;
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
static int assigned_words(const ShellSettings *settings, const Shell *s, unsigned line, Assigned *a)
{
	_cleanup_strv_ char **words = NULL;
	int r = 0;

	if (!a->variable)
		return 0;
	if (a->is_array)
		r = strv_append(&words, s->word);
	else
		r = strv_split(s->word, " \t\n", &words);
	for (char **word = words; r >= 0 && word && *word; word++)
		if (settings->matters(a->variable->name, *word))
			r = setup_keep_line(&a->words, strf("%s:%u: %s: %s", s->name, line,
							    a->variable->name, *word));
	return r;
}

/* false: not understood. */
static int shell_value(const ShellSettings *settings, Shell *s, Assigned *a)
{
	unsigned line = s->line;
	int r = 0;
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
		r = a->expands ? 0 : assigned_words(settings, s, line, a);
		return r < 0 ? r : true;
	}
	for (s->at++; r >= 0;) {
		shell_blanks(s, true);
		line = s->line;
		word = shell_word(s);
		if (word == WORD_NONE || word == WORD_STRANGE)
			break;
		if (word == WORD_EXPANDS)
			a->expands = true;
		else
			r = assigned_words(settings, s, line, a);
	}
	if (r < 0 || *s->at != ')')
		return r < 0 ? r : false;
	s->at++;
	return true;
}

/* false: the value cannot be told from this assignment and the one before. */
static int assign(Assigned *a)
{
	ShellVariable *v = a->variable;
	int r = 0;

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
	for (char **word = a->words; r >= 0 && word && *word; word++)
		r = strv_append(&v->words, *word);
	return r < 0 ? r : !a->expands;
}

static ShellVariable *find_variable(const ShellSettings *settings, const char *name, size_t size)
{
	for (size_t i = 0; i < settings->n_variables; i++)
		if (strlen(settings->variables[i].name) == size &&
		    strncmp(settings->variables[i].name, name, size) == 0)
			return &settings->variables[i];
	return NULL;
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
static int shell_statement(ShellSettings *settings, Shell *s)
{
	const char *name = s->at;
	size_t n = assigned_name(name);
	Assigned a = { .appends = name[n] == '+' };
	int r;

	if (n == 0)
		return false;
	a.variable = find_variable(settings, name, n);
	s->at += n + a.appends + 1;
	r = shell_value(settings, s, &a);
	if (r > 0 && *s->at && !strchr(" \t\n;", *s->at))
		r = false;
	shell_blanks(s, false);
	if (r > 0 && *s->at && !strchr("\n;", *s->at) && assigned_name(s->at) == 0)
		r = false;
	if (r > 0)
		r = assign(&a);
	strv_free(a.words);
	return r;
}

int shell_settings_read(const char *name, const char *text, ShellSettings *settings)
{
	_cleanup_free_ char *word = malloc(strlen(text) + 1);
	Shell s = { .name = name, .at = text, .line = 1, .word = word };
	int r = 1;

	if (!word)
		return -ENOMEM;
	while (r >= 0 && *s.at) {
		const Shell before = s;

		shell_blanks(&s, false);
		if (*s.at == '\n' || *s.at == ';') {
			s.line += *s.at == '\n';
			s.at++;
			continue;
		}
		if (!*s.at)
			break;
		r = shell_statement(settings, &s);
		if (r != 0)
			continue;
		s = before;
		s.at += strspn(s.at, " \t");
		r = setup_keep_line(&settings->unknown, strf("%s:%u: %.*s", name, s.line,
							     (int)strcspn(s.at, "\n"), s.at));
		s.at += strcspn(s.at, "\n");
	}
	return r < 0 ? r : 0;
}

void shell_settings_clear(ShellSettings *settings)
{
	for (size_t i = 0; i < settings->n_variables; i++)
		settings->variables[i].words = strv_free(settings->variables[i].words);
	settings->unknown = strv_free(settings->unknown);
}
