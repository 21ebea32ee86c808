/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/value.h"

#include <string.h>

#include "base/text.h"
#include "util/xalloc.h"

char *model_text(Client *c, const char *s, bool lines)
{
	if (c->options->json != JSON_OFF) /* which escapes text itself */
		return xstrdup(s);
	return lines ? text_printable_lines(s) : text_printable(s);
}

/* ---- texts ---- */

static void clear_text(void *at)
{
	char **text = at;

	free(*text);
	*text = NULL;
}

static int take_text(Client *c, sd_bus_message *m, char type, bool lines, void *to)
{
	const char *s;
	char *copy;
	int r;

	r = sd_bus_message_read_basic(m, type, &s);
	if (r < 0)
		return r;
	copy = model_text(c, s, lines);
	clear_text(to);
	*(char **)to = copy;
	return 0;
}

static int read_text(Client *c, sd_bus_message *m, const char *signature, void *to)
{
	return take_text(c, m, *signature, false, to);
}

static int read_lines(Client *c, sd_bus_message *m, const char *signature, void *to)
{
	return take_text(c, m, *signature, true, to);
}

static void clear_texts(void *at)
{
	char ***texts = at;

	*texts = strv_free(*texts);
}

static int read_texts(Client *c, sd_bus_message *m, const char *signature, void *to)
{
	const char *type = signature + 1; /* after the "a" */
	_cleanup_strv_ char **list = NULL;
	const char *s;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, type);
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read_basic(m, *type, &s)) > 0)
		strv_append_take(&list, model_text(c, s, false));
	if (r < 0)
		return r;
	clear_texts(to);
	*(char ***)to = TAKE_PTR(list);
	return sd_bus_message_exit_container(m);
}

/* ---- numbers ---- */

static int read_bool(_unused_ Client *c, sd_bus_message *m, const char *signature, void *to)
{
	int value, r;

	r = sd_bus_message_read_basic(m, *signature, &value);
	if (r >= 0)
		*(bool *)to = value;
	return r;
}

static int read_number(_unused_ Client *c, sd_bus_message *m, const char *signature, void *to)
{
	return sd_bus_message_read_basic(m, *signature, to);
}

/* ---- lists ---- */

/*
 * Reads and clears a List of Items, which has items and n_items. NAME_read() reads one, and returns
 * what sd_bus_message_read() returns; NAME_clear() frees one.
 */
#define DEFINE_LIST(List, Item, name)                                                              \
	static void clear_##name##_list(void *at)                                                  \
	{                                                                                          \
		List *list = at;                                                                   \
                                                                                                   \
		for (size_t i = 0; i < list->n_items; i++)                                         \
			name##_clear(&list->items[i]);                                             \
		free(list->items);                                                                 \
		*list = (List){ 0 };                                                               \
	}                                                                                          \
                                                                                                   \
	static int read_##name##_list(Client *c, sd_bus_message *m, const char *signature,         \
				      void *to)                                                    \
	{                                                                                          \
		_cleanup_(clear_##name##_list) List list = { 0 };                                  \
		int r;                                                                             \
                                                                                                   \
		r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, signature + 1);           \
		while (r > 0) {                                                                    \
			list.items = xreallocarray(list.items, list.n_items + 1, sizeof(Item));    \
			list.items[list.n_items] = (Item){ 0 };                                    \
			r = name##_read(c, m, &list.items[list.n_items]);                          \
			if (r != 0)                                                                \
				list.n_items++;                                                    \
		}                                                                                  \
		if (r < 0)                                                                         \
			return r;                                                                  \
		clear_##name##_list(to);                                                           \
		*(List *)to = list;                                                                \
		list = (List){ 0 };                                                                \
		return sd_bus_message_exit_container(m);                                           \
	}

/* A structure of gpupass/properties.h; each of its members is read and cleared as a property is. */
#define READ_MEMBER(to, TYPE, member)                                                              \
	if (r >= 0)                                                                                \
		r = value_read(c, m, PROPERTY_##TYPE, &(to)->member);
#define CLEAR_MEMBER(item, TYPE, member) value_clear(PROPERTY_##TYPE, &(item)->member);

#define DEFINE_STRUCTURE(Item, name, MEMBERS)                                                      \
	static void name##_clear(Item *item)                                                       \
	{                                                                                          \
		MEMBERS(CLEAR_MEMBER, item)                                                        \
	}                                                                                          \
                                                                                                   \
	static int name##_read(Client *c, sd_bus_message *m, Item *ret)                            \
	{                                                                                          \
		int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_STRUCT,                      \
						       MEMBERS(PROPERTY_SIGNATURE_OF, ));          \
                                                                                                   \
		if (r <= 0)                                                                        \
			return r;                                                                  \
		MEMBERS(READ_MEMBER, ret)                                                          \
		if (r >= 0)                                                                        \
			r = sd_bus_message_exit_container(m);                                      \
		return r < 0 ? r : 1;                                                              \
	}

DEFINE_STRUCTURE(Function, function, GPUPASS_FUNCTION_MEMBERS)
DEFINE_STRUCTURE(Step, step, GPUPASS_STEP_MEMBERS)
DEFINE_STRUCTURE(Evidence, evidence, GPUPASS_EVIDENCE_MEMBERS)

static void int_clear(_unused_ const int32_t *number)
{
}

static int int_read(_unused_ Client *c, sd_bus_message *m, int32_t *ret)
{
	return sd_bus_message_read_basic(m, SD_BUS_TYPE_INT32, ret);
}

static void size_clear(_unused_ const uint64_t *size)
{
}

static int size_read(_unused_ Client *c, sd_bus_message *m, uint64_t *ret)
{
	return sd_bus_message_read_basic(m, SD_BUS_TYPE_UINT64, ret);
}

DEFINE_LIST(FunctionList, Function, function)
DEFINE_LIST(StepList, Step, step)
DEFINE_LIST(EvidenceList, Evidence, evidence)
DEFINE_LIST(IntList, int32_t, int)
DEFINE_LIST(SizeList, uint64_t, size)

/* ---- all of them ---- */

static const struct {
	const char *signature;
	int (*read)(Client *c, sd_bus_message *m, const char *signature, void *to);
	void (*clear)(void *at); /* NULL: owns nothing */
} types[] = {
#define ROW(TYPE, read, clear) [PROPERTY_##TYPE] = { PROPERTY_SIGNATURE_##TYPE, read, clear }
	ROW(STRING, read_text, clear_text),
	ROW(LINES, read_lines, clear_text),
	ROW(STRINGS, read_texts, clear_texts),
	ROW(PATH, read_text, clear_text),
	ROW(PATHS, read_texts, clear_texts),
	ROW(BOOL, read_bool, NULL),
	ROW(UINT16, read_number, NULL),
	ROW(UINT32, read_number, NULL),
	ROW(INT32, read_number, NULL),
	ROW(UINT64, read_number, NULL),
	ROW(INT32S, read_int_list, clear_int_list),
	ROW(UINT64S, read_size_list, clear_size_list),
	ROW(FUNCTIONS, read_function_list, clear_function_list),
	ROW(STEPS, read_step_list, clear_step_list),
	ROW(EVIDENCE, read_evidence_list, clear_evidence_list),
#undef ROW
};

const char *value_signature(PropertyType type)
{
	return types[type].signature;
}

int value_read(Client *c, sd_bus_message *m, PropertyType type, void *to)
{
	return types[type].read(c, m, types[type].signature, to);
}

void value_set_unknown(PropertyType type, void *to)
{
	char **text = to;

	if (type == PROPERTY_INT32)
		*(int32_t *)to = -1;
	else if (types[type].clear == clear_text && !*text)
		*text = xstrdup("");
}

void value_clear(PropertyType type, void *at)
{
	if (types[type].clear)
		types[type].clear(at);
}
