/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/nvme/use.h"

#include <fnmatch.h>

#include "util/xalloc.h"

#define VMD_SEGMENTS 0x10000U

#include "use.inc"

bool nvme_is_behind_vmd(const Bdf *bdf)
{
	return bdf->segment >= VMD_SEGMENTS;
}

char *nvme_hold_text(const NvmeHold *hold)
{
	static const char *const verbs[] = { NVME_HOLD_KINDS(STRING_TABLE_WORDS_) };

	return strf("%s %s%s%s", hold->node, verbs[hold->kind], hold->who ? " " : "",
		    str_or_empty(hold->who));
}

char *nvme_label_text(const NvmeLabel *label)
{
	const char *name = label->name ? label->name : label->uuid;

	return name ? strf("%s: %s \"%s\"", label->node, str_or_empty(label->type), name)
		    : strf("%s: %s", label->node, str_or_empty(label->type));
}

bool nvme_use_has_path(const NvmeUse *use, const char *path)
{
	if (strv_contains(use->nodes, path) || strv_contains(use->aliases, path))
		return true;
	for (char **alias = use->aliases; alias && *alias; alias++)
		if (fnmatch(*alias, path, 0) == 0)
			return true;
	return false;
}

/* ---- names of disks ---- */

/* "UUID=": what of a label it names, also as a link that udev may not have made. */
typedef struct Tag {
	const char *prefix, *folder;
	size_t offset;
	bool any_case; /* a UUID may be written either way */
} Tag;

static const Tag tags[] = {
	{ "UUID=", "/dev/disk/by-uuid/", offsetof(NvmeLabel, uuid), true },
	{ "LABEL=", "/dev/disk/by-label/", offsetof(NvmeLabel, name), false },
	{ "PARTUUID=", "/dev/disk/by-partuuid/", offsetof(NvmeLabel, part_uuid), true },
	{ "PARTLABEL=", "/dev/disk/by-partlabel/", offsetof(NvmeLabel, part_name), false },
};

static const char *find_label(const NvmeUse *use, const Tag *tag, const char *value)
{
	for (size_t i = 0; i < use->n_labels; i++) {
		const char *text = *(char *const *)((const char *)&use->labels[i] + tag->offset);

		if (text && (tag->any_case ? strcasecmp(text, value) : strcmp(text, value)) == 0)
			return use->labels[i].node;
	}
	return NULL;
}

const char *nvme_use_resolve(const NvmeUse *use, const char *spec)
{
	_cleanup_free_ char *value = NULL;
	size_t length;

	/* A link by its own name, which says as much. */
	if (nvme_use_has_path(use, spec))
		return spec;
	for (size_t i = 0; i < ELEMENTS(tags); i++) {
		if (str_starts_with(spec, tags[i].folder))
			return find_label(use, &tags[i], spec + strlen(tags[i].folder));
		if (!str_starts_with(spec, tags[i].prefix))
			continue;
		spec += strlen(tags[i].prefix);
		length = strlen(spec);
		if (length > 1 && spec[0] == '"' && spec[length - 1] == '"')
			value = xstrndup(spec + 1, length - 2);
		return find_label(use, &tags[i], value ? value : spec);
	}
	return NULL;
}

/* ---- names and texts of the kernel's ---- */

bool nvme_is_controller(const char *name)
{
	return str_starts_with(name, "nvme") && name[4] != '\0' &&
	       name[4 + strspn(name + 4, "0123456789")] == '\0';
}

char *nvme_disk_name(const char *entry)
{
	unsigned subsystem, controller, id;
	_cleanup_free_ char *name = NULL, *path = NULL;

	if (sscanf(entry, "nvme%un%u", &subsystem, &id) == 2)
		path = strf("nvme%un%u", subsystem, id);
	else if (sscanf(entry, "nvme%uc%un%u", &subsystem, &controller, &id) == 3)
		path = strf("nvme%uc%un%u", subsystem, controller, id);
	else
		return NULL;
	name = strf("nvme%un%u", subsystem, id);
	return strcmp(path, entry) == 0 ? TAKE_PTR(name) : NULL;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void nvme_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
		    is_octal(from[3])) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* The fields of a line that count: 36 35 98:0 /root /mount/point … */
enum { FIELD_NUMBER = 2, FIELD_POINT = 4 };

static void read_mount(char *line, char *const *numbers,
		       void (*each)(size_t node, const char *point, void *userdata), void *userdata)
{
	char *fields[FIELD_POINT + 1] = { NULL }, *save = NULL;

	for (size_t i = 0; i <= FIELD_POINT; i++) {
		fields[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
		if (!fields[i])
			return;
	}
	nvme_unescape(fields[FIELD_POINT]);
	for (size_t i = 0; numbers && numbers[i]; i++)
		if (strcmp(numbers[i], fields[FIELD_NUMBER]) == 0)
			each(i, fields[FIELD_POINT], userdata);
}

void nvme_mounts_find(const char *mountinfo, char *const *numbers,
		      void (*each)(size_t node, const char *point, void *userdata), void *userdata)
{
	_cleanup_free_ char *text = xstrdup(mountinfo);
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		read_mount(line, numbers, each, userdata);
}
