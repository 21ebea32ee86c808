/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/value.h"

#include <string.h>

#include "base/text.h"

char *model_text(Client *c, const char *s, bool lines)
{
	if (c->options->json != JSON_OFF) /* which escapes text itself */
		return strdup(s);
	return lines ? text_printable_lines(s) : text_printable(s);
}

/* ---- texts ---- */

static void clear_text(void *at)
{
	char **text = at;

	free(*text);
	*text = NULL;
}

static int read_text(Client *c, sd_bus_message *m, const char *signature, bool lines, void *to)
{
	const char *s;
	char *copy;
	int r;

	r = sd_bus_message_read_basic(m, *signature, &s);
	if (r < 0)
		return r;
	copy = model_text(c, s, lines);
	if (!copy)
		return -ENOMEM;
	clear_text(to);
	*(char **)to = copy;
	return 0;
}

static void clear_texts(void *at)
{
	char ***texts = at;

	*texts = strv_free(*texts);
}

static int read_texts(Client *c, sd_bus_message *m, const char *signature, bool lines, void *to)
{
	const char *type = signature + 1; /* after the "a" */
	_cleanup_strv_ char **list = NULL;
	const char *s;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, type);
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read_basic(m, *type, &s)) > 0) {
		_cleanup_free_ char *copy = model_text(c, s, lines);

		r = copy ? strv_append(&list, copy) : -ENOMEM;
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	clear_texts(to);
	*(char ***)to = TAKE_PTR(list);
	return sd_bus_message_exit_container(m);
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
				      _unused_ bool lines, void *to)                               \
	{                                                                                          \
		_cleanup_(clear_##name##_list) List list = { 0 };                                  \
		int r;                                                                             \
                                                                                                   \
		r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, signature + 1);           \
		while (r > 0) {                                                                    \
			Item *bigger = reallocarray(list.items, list.n_items + 1, sizeof(Item));   \
                                                                                                   \
			if (!bigger)                                                               \
				return -ENOMEM;                                                    \
			list.items = bigger;                                                       \
			bigger[list.n_items] = (Item){ 0 };                                        \
			r = name##_read(c, m, &bigger[list.n_items]);                              \
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

static void function_clear(Function *f)
{
	free(f->address);
	free(f->driver);
}

static int function_read(Client *c, sd_bus_message *m, Function *ret)
{
	const char *address, *driver;
	int r;

	r = sd_bus_message_read(m, "(ssiu)", &address, &driver, &ret->iommu_group,
				&ret->class_code);
	if (r <= 0)
		return r;
	ret->address = model_text(c, address, false);
	ret->driver = model_text(c, driver, false);
	return ret->address && ret->driver ? r : -ENOMEM;
}

static void step_clear(Step *step)
{
	free(step->name);
	free(step->state);
	free(step->detail);
}

static int step_read(Client *c, sd_bus_message *m, Step *ret)
{
	const char *name, *state, *detail;
	int r;

	r = sd_bus_message_read(m, "(ssst)", &name, &state, &detail, &ret->duration_usec);
	if (r <= 0)
		return r;
	ret->name = model_text(c, name, false);
	ret->state = model_text(c, state, false);
	ret->detail = model_text(c, detail, false);
	return ret->name && ret->state && ret->detail ? r : -ENOMEM;
}

static void evidence_clear(Evidence *e)
{
	free(e->provenance);
	free(e->source);
}

static int evidence_read(Client *c, sd_bus_message *m, Evidence *ret)
{
	const char *provenance, *source;
	int r;

	r = sd_bus_message_read(m, "(suts)", &provenance, &ret->links, &ret->seen_at, &source);
	if (r <= 0)
		return r;
	ret->provenance = model_text(c, provenance, false);
	ret->source = model_text(c, source, false);
	return ret->provenance && ret->source ? r : -ENOMEM;
}

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

static int read_bool(_unused_ Client *c, sd_bus_message *m, const char *signature,
		     _unused_ bool lines, void *to)
{
	int value, r;

	r = sd_bus_message_read_basic(m, *signature, &value);
	if (r >= 0)
		*(bool *)to = value;
	return r;
}

static int read_number(_unused_ Client *c, sd_bus_message *m, const char *signature,
		       _unused_ bool lines, void *to)
{
	return sd_bus_message_read_basic(m, *signature, to);
}

typedef struct ValueType {
	const char *signature;
	int (*read)(Client *c, sd_bus_message *m, const char *signature, bool lines, void *to);
	void (*clear)(void *at); /* NULL: owns nothing */
} ValueType;

static const ValueType types[] = {
	{ "s", read_text, clear_text },
	{ "o", read_text, clear_text },
	{ "b", read_bool, NULL },
	{ "q", read_number, NULL },
	{ "i", read_number, NULL },
	{ "u", read_number, NULL },
	{ "t", read_number, NULL },
	{ "as", read_texts, clear_texts },
	{ "ao", read_texts, clear_texts },
	{ "ai", read_int_list, clear_int_list },
	{ "at", read_size_list, clear_size_list },
	{ "a(ssiu)", read_function_list, clear_function_list },
	{ "a(ssst)", read_step_list, clear_step_list },
	{ "a(suts)", read_evidence_list, clear_evidence_list },
};

static const ValueType *find(const char *signature)
{
	for (size_t i = 0; i < ELEMENTS(types); i++)
		if (strcmp(types[i].signature, signature) == 0)
			return &types[i];
	return NULL;
}

int value_read(Client *c, sd_bus_message *m, const char *signature, bool lines, void *to)
{
	const ValueType *type = find(signature);

	return type ? type->read(c, m, signature, lines, to) : -EBADMSG;
}

void value_clear(const char *signature, void *at)
{
	const ValueType *type = find(signature);

	if (type && type->clear)
		type->clear(at);
}
