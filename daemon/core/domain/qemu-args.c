/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions of the host QEMU gets by arguments in a domain's XML. An argument is read as QEMU
 * reads it: options by get_opt_name_value() of util/qemu-option.c, JSON by qobject/json-lexer.c (a
 * string may be in single quotes, and there are no comments), an address by set_pci_host_devaddr()
 * of hw/core/qdev-properties-system.c. What QEMU would refuse may be counted all the same: that
 * domain does not start in either case.
 *
 * An argument may have passwords in it, so no text of it is kept.
 */

#include "core/domain/xml-tree.h"
#include "gpupass/domain-ref.h"
#include "util/text.h"
#include "util/xalloc.h"

/* One argument, or the properties of one overridden device. */
typedef struct Argument {
	DomainUse *use;
	bool vfio;   /* its driver is vfio-pci */
	bool placed; /* it names a device that can be read */
	unsigned depth;
	bool murky;  /* it names a folder that cannot be read, or not for sure */
	bool handed; /* it names an open file: that comes before any address */
} Argument;

static void add_function(Argument *a, const Bdf *bdf)
{
	const DomainHostdev hostdev = { .bdf = *bdf, .argument = true };

	a->placed = true;
	domain_use_add(a->use, &hostdev, NULL);
}

/* ---- values ---- */

/* "[segment:]bus:device.function" as strtoul() reads it: "0x1:0.0" and "+1: 0.0", too. */
static bool read_address(const char *text, Bdf *ret)
{
	static const unsigned long max[] = { UINT32_MAX, UINT8_MAX, 31, 7 };
	unsigned long parts[4] = { 0 };
	const char *colon = strchr(text, ':');
	char *end;

	for (size_t i = colon && strchr(colon + 1, ':') ? 0 : 1; i < ELEMENTS(parts); i++) {
		parts[i] = strtoul(text, &end, i < 3 ? 16 : 10);
		if (i > 1)
			parts[i] = (uint32_t)parts[i]; /* QEMU's slot and function are unsigned */
		if (end == text || parts[i] > max[i] || *end != (i < 2 ? ':' : i < 3 ? '.' : '\0'))
			return false;
		text = end + 1;
	}
	*ret = (Bdf){ (uint32_t)parts[0], (uint8_t)parts[1], (uint8_t)parts[2], (uint8_t)parts[3] };
	return true;
}

/*
 * A folder of sysfs, by its last name, which is an address or the UUID of an mdev. ".." leads out
 * of where a link has led to, which text does not tell.
 */
static void read_folder(Argument *a, const char *path)
{
	size_t size = strlen(path);
	char name[DOMAIN_UUID_SIZE], uuid[DOMAIN_UUID_SIZE];
	const char *from;
	Bdf bdf;

	/* Outside sysfs a user may have made a link with any name. */
	a->murky |= !str_starts_with(path, "/sys/") || strstr(path, "/..");
	if (strstr(path, "/.."))
		return;
	while (size > 0 && (path[size - 1] == '/' ||
			    (size > 1 && path[size - 1] == '.' && path[size - 2] == '/')))
		size--;
	for (from = path + size; from > path && from[-1] != '/';)
		from--;
	size -= (size_t)(from - path);
	if (size == 0 || size >= sizeof(name)) {
		a->murky = true;
		return;
	}
	memcpy(name, from, size);
	name[size] = '\0';
	if (bdf_parse(name, &bdf) == 0) {
		add_function(a, &bdf);
	} else if (domain_uuid_parse(name, uuid)) {
		a->placed = true;
		domain_use_add_mdev(a->use, uuid, false, false);
	} else {
		a->murky = true;
	}
}

/* A disk by QEMU's own driver for NVMe: nvme://0000:01:00.0/1. */
static void read_nvme(Argument *a, const char *url)
{
	_cleanup_free_ char *address = xstrndup(url, strcspn(url, "/"));
	Bdf bdf;

	if (read_address(address, &bdf))
		add_function(a, &bdf);
}

/* "host", "file.device" and, of -set and -global, "device.hostdev0.host" and "vfio-pci.host". */
static bool key_ends(const char *key, const char *name)
{
	const char *dot = strrchr(key, '.');

	return strcmp(dot ? dot + 1 : key, name) == 0;
}

/* A file name in JSON within JSON: quotes have to be escaped, so few are enough. */
#define JSON_DEPTH_MAX 8
static void read_json(Argument *a, const char *text);

static void read_pair(Argument *a, const char *key, const char *value)
{
	const char *inner;
	Bdf bdf;

	if (strcmp(key, "driver") == 0)
		a->vfio |= str_starts_with(value, "vfio-pci");
	if (key_ends(key, "fd")) {
		a->handed = true;
		a->vfio |= str_starts_with(key, "device.") || str_starts_with(key, "vfio-pci");
	}
	if (strcmp(key, "property") == 0)
		a->vfio |= str_equal(value, "sysfsdev");
	if (key_ends(key, "sysfsdev")) {
		a->vfio = true;
		read_folder(a, value);
	} else if (strcmp(key, "value") == 0 && strchr(value, '/')) {
		read_folder(a, value);
	} else if ((inner = strstr(value, "nvme://"))) {
		/* Also behind another protocol: blkdebug::nvme://… */
		read_nvme(a, inner + strlen("nvme://"));
	} else if ((inner = strstr(value, "json:")) && a->depth < JSON_DEPTH_MAX) {
		a->depth++;
		read_json(a, inner + strlen("json:"));
		a->depth--;
	} else if ((key_ends(key, "host") || key_ends(key, "device") ||
		    /* of -global driver=vfio-pci,property=host,value=01:00.0 */
		    strcmp(key, "value") == 0) &&
		   read_address(value, &bdf)) {
		add_function(a, &bdf);
	}
}

static void close_argument(Argument *a)
{
	if (a->vfio && a->handed)
		domain_use_add_unclear(a->use, "a device vfio-pci by an open file (fd=)");
	else if (a->vfio && (a->murky || !a->placed))
		domain_use_add_unclear(a->use, "a device vfio-pci whose address cannot be read");
}

/* ---- options ---- */

/* Copies a value, in which a comma stands twice, and moves past it. */
static void take_value(const char **at, char *to)
{
	for (; **at; (*at)++) {
		if (**at == ',' && *++*at != ',')
			break;
		*to++ = **at;
	}
	*to = '\0';
}

static void read_options(Argument *a, const char *text)
{
	_cleanup_free_ char *key = xstrdup(text), *value = xstrdup(text);
	const char *at = text;

	while (*at) {
		size_t n = strcspn(at, "=,");
		/* The first one may be the driver alone; any other is a flag. */
		const char *name = at == text ? "driver" : "";

		if (at[n] == '=') {
			memcpy(key, at, n);
			key[n] = '\0';
			name = key;
			at += n + 1;
		}
		take_value(&at, value);
		read_pair(a, name, value);
	}
}

/* ---- JSON ---- */

static char unescape(const char **at)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *found = strchr(from, **at);
	char digits[5] = "", *end;
	unsigned long code;

	if (**at != 'u')
		return found ? to[found - from] : **at;
	strncat(digits, *at + 1, 4);
	code = strtoul(digits, &end, 16);
	*at += end - digits;
	return code > 0 && code < 0x80 ? (char)code : '?';
}

/* The string that begins at the quote; *at is moved behind it. False: it does not end. */
static bool take_string(const char **at, char *to)
{
	char quote = *(*at)++;

	for (; **at && **at != quote; (*at)++) {
		char c = **at;

		if (c == '\\') {
			if (*++*at == '\0')
				return false;
			c = unescape(at);
		}
		*to++ = c;
	}
	*to = '\0';
	if (**at == '\0')
		return false;
	(*at)++;
	return true;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Every "key": "value" in it, however deep. Whether the rest of it is right does not matter. */
static void read_json(Argument *a, const char *text)
{
	_cleanup_free_ char *key = xstrdup(text), *value = xstrdup(text);
	const char *at = text;
	bool whole = true;

	while (whole && *(at += strcspn(at, "\"'"))) {
		whole = take_string(&at, key);
		at = skip_blanks(at);
		if (!whole || *at != ':')
			continue;
		at = skip_blanks(at + 1);
		if (*at != '"' && *at != '\'')
			continue;
		whole = take_string(&at, value);
		if (whole)
			read_pair(a, key, value);
	}
	a->vfio |= !whole && strstr(text, "vfio");
}

/* ---- the XML ---- */

static void read_argument(DomainUse *use, const char *text)
{
	Argument a = { .use = use };

	/* A value may begin with a dash: QEMU takes the word behind -device whatever it is. */
	if (*text == '-')
		read_options(&a, text);
	/* An option's name and its value in one: QEMU refuses that, but a person means it. */
	if (*text == '-')
		text += strcspn(text, " \t\n=");
	text += strspn(text, " \t\n=");
	if (*text == '{')
		read_json(&a, text);
	else
		read_options(&a, text);
	close_argument(&a);
}

static void read_commandline(const xmlNode *commandline, DomainUse *use)
{
	for (const xmlNode *i = xml_first(commandline); i; i = xml_next(i)) {
		const char *value =
			xml_is_of(i, QEMU_NAMESPACE, "arg") ? xml_attribute(i, "value") : NULL;
		const char *name;

		if (!value)
			continue;
		name = value + strspn(value, "-");
		if (strcmp(name, "readconfig") == 0)
			domain_use_add_unclear(use, "a file of QEMU's options (-readconfig)");
		else if (name > value && (str_starts_with(name, "qmp") || str_equal(name, "mon") ||
					  str_equal(name, "monitor")))
			domain_use_add_unclear(use, "a monitor, by which devices are added");
		else
			read_argument(use, value);
	}
}

/* As many as are believed: a group has less, and whoever writes the XML chooses how many. */
#define CLIQUES_MAX 256

static void note_clique(DomainUse *use, const char *alias, size_t *n)
{
	DomainHostdev *hostdev =
		alias && (*n)++ < CLIQUES_MAX
			? FIND(use->hostdevs, use->n_hostdevs, str_equal(it->alias, alias))
			: NULL;

	if (hostdev)
		hostdev->clique = true;
}

/* <qemu:device alias='hostdev0'><qemu:frontend><qemu:property name='host' … value='01:00.0'/> */
static void read_override(const xmlNode *device, DomainUse *use, size_t *n_cliques)
{
	Argument a = { .use = use };

	for (const xmlNode *k = xml_first(device); k; k = xml_next(k))
		for (const xmlNode *i = xml_first(k); i; i = xml_next(i)) {
			const char *name = xml_attribute(i, "name");
			const char *value = xml_attribute(i, "value");

			if (!name || !value)
				continue;
			if (xml_is_clique(i))
				note_clique(use, xml_attribute(device, "alias"), n_cliques);
			a.vfio |= str_equal(name, "host") || str_equal(name, "fd");
			read_pair(&a, name, value);
		}
	close_argument(&a);
}

bool xml_some_argument(const DomainXml *xml, bool (*is)(const char *argument))
{
	const xmlNode *line = xml_child_of(xml->root, QEMU_NAMESPACE, "commandline");

	for (const xmlNode *i = xml_first(line); i; i = xml_next(i))
		if (is(str_or_empty(xml_attribute(i, "value"))))
			return true;
	return false;
}

void xml_read_arguments(const DomainXml *xml, DomainUse *use)
{
	size_t n_cliques = 0;

	for (const xmlNode *i = xml_first(xml->root); i; i = xml_next(i)) {
		if (xml_is_of(i, QEMU_NAMESPACE, "commandline"))
			read_commandline(i, use);
		else if (xml_is_of(i, QEMU_NAMESPACE, "override"))
			for (const xmlNode *k = xml_first(i); k; k = xml_next(k))
				read_override(k, use, &n_cliques);
	}
}
