/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/links/declaration.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/text.h"
#include "util/xalloc.h"

#include "declaration.inc"

#define SERIAL_PREFIX "serial:"
#define SLOT_PREFIX "slot:"
#define UUID_PREFIX "GPU-"
/* Names under /sys/bus/pci/slots are short. An INI line limits the other texts. */
#define SLOT_NAME_MAX 63

/* `pattern`: 'x' stands for a hex digit, anything else for itself. */
static bool matches(const char *s, const char *pattern)
{
	for (; *pattern; s++, pattern++)
		if (*pattern == 'x' ? !isxdigit((unsigned char)*s) : *s != *pattern)
			return false;
	return *s == '\0';
}

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
		if (!matches(text, "xx-xx-xx-xx-xx-xx-xx-xx"))
			return -EINVAL;
	} else if (str_starts_with(text, SLOT_PREFIX)) {
		selector.kind = SELECTOR_SLOT;
		text += strlen(SLOT_PREFIX);
		if (!slot_name_valid(text))
			return -EINVAL;
	} else if (str_starts_with(text, UUID_PREFIX)) {
		selector.kind = SELECTOR_UUID;
		if (!matches(text, UUID_PREFIX "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"))
			return -EINVAL;
	} else if (bdf_parse(text, &selector.address) < 0) {
		return -EINVAL;
	}
	selector.text = xstrdup(text);
	*ret = selector;
	return 0;
}

char *declaration_to_text(const char *name, char *const *members)
{
	_cleanup_free_ char *lines = NULL;

	if (!group_name_valid(name))
		return NULL;
	lines = strf("[Group]\nName=%s\n", name);
	for (; members && *members; members++) {
		Selector selector;
		char *longer;

		if (selector_parse(*members, &selector) < 0)
			return NULL;
		selector_clear(&selector);
		longer = strf("%sGpu=%s\n", lines, *members);
		free(lines);
		lines = longer;
	}
	return TAKE_PTR(lines);
}

static bool gpu_in_slot(const Gpu *gpu, const char *slot)
{
	for (size_t i = 0; i < gpu->n_functions; i++)
		if (str_equal(gpu->functions[i]->physical_slot, slot))
			return true;
	return false;
}

static bool selector_matches(const Selector *selector, const Gpu *gpu)
{
	switch (selector->kind) {
	case SELECTOR_UUID:
		return gpu->uuid && strcasecmp(gpu->uuid, selector->text) == 0;
	case SELECTOR_SERIAL:
		return gpu->serial_number && strcasecmp(gpu->serial_number, selector->text) == 0;
	case SELECTOR_SLOT:
		return gpu_in_slot(gpu, selector->text);
	case SELECTOR_ADDRESS:
		break;
	}
	return false;
}

/* Why no GPU matches, and what would help. */
static char *why_none(const Selector *selector)
{
	switch (selector->kind) {
	case SELECTOR_UUID:
		return strf("no GPU is known as %s (a UUID can be read only while the nvidia "
			    "driver has the GPU; an address always can)",
			    selector->text);
	case SELECTOR_SERIAL:
		return strf("no GPU is known with serial number %s (boards before Hopper have "
			    "none)",
			    selector->text);
	case SELECTOR_SLOT:
		return strf("no GPU is in physical slot %s", selector->text);
	case SELECTOR_ADDRESS:
		break;
	}
	return strf("there is no NVIDIA GPU at %s", BDF_TEXT(&selector->address));
}

Gpu *selector_resolve(const Selector *selector, const GpuSet *set, char **ret_why)
{
	Gpu *found = NULL;

	if (selector->kind == SELECTOR_ADDRESS)
		found = gpu_set_find(set, &selector->address);
	else
		for (size_t i = 0; i < set->n_gpus; i++) {
			Gpu *gpu = &set->gpus[i];

			if (!selector_matches(selector, gpu))
				continue;
			if (found) {
				*ret_why = strf("both %s and %s answer to %s",
						BDF_TEXT(&found->lead->bdf),
						BDF_TEXT(&gpu->lead->bdf), selector->text);
				return NULL;
			}
			found = gpu;
		}
	if (!found)
		*ret_why = why_none(selector);
	return found;
}

static void add_missing(ResolvedMembers *resolved, const char *why)
{
	_cleanup_free_ char *before = resolved->missing;

	resolved->missing = before ? strf("%s; %s", before, why) : xstrdup(why);
}

static void add_member(ResolvedMembers *resolved, Gpu *gpu)
{
	size_t at = resolved->n_gpus;

	for (size_t i = 0; i < resolved->n_gpus; i++)
		if (resolved->gpus[i] == gpu) {
			_cleanup_free_ char *why =
				strf("two members are the same GPU, %s", BDF_TEXT(&gpu->lead->bdf));

			add_missing(resolved, why);
			return;
		}
	for (; at > 0 && bdf_compare(&resolved->gpus[at - 1]->lead->bdf, &gpu->lead->bdf) > 0; at--)
		resolved->gpus[at] = resolved->gpus[at - 1];
	resolved->gpus[at] = gpu;
	resolved->n_gpus++;
}

ResolvedMembers declaration_resolve(const Declaration *declaration, const GpuSet *set)
{
	ResolvedMembers resolved = { 0 };

	for (size_t i = 0; i < declaration->n_members && i < GROUP_GPUS_MAX; i++) {
		_cleanup_free_ char *why = NULL;
		Gpu *gpu = selector_resolve(&declaration->members[i], set, &why);

		if (gpu)
			add_member(&resolved, gpu);
		else
			add_missing(&resolved, why);
	}
	return resolved;
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
