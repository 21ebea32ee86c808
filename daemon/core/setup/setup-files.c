/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/setup/setup-files.h"

#include <ctype.h>

#include "core/setup/kernel-words.h"
#include "util/bdf.h"
#include "util/text.h"
#include "util/xalloc.h"

/* No word of the command line is cut: an x86 kernel takes 2,048 bytes of it. */
#define LINE_KEPT_MAX 2048
#define CAP_SYS_RESOURCE_BIT 24

void setup_keep_line(char ***into, char *line)
{
	if (strv_length(*into) >= SETUP_LINES_MAX) {
		free(line);
		return;
	}
	if (strlen(line) > LINE_KEPT_MAX)
		line[LINE_KEPT_MAX] = '\0';
	strv_append_take(into, line);
}

char **setup_read_cmdline(const char *text)
{
	static const char *const about[] = {
		"intel_iommu",
		"amd_iommu",
		"iommu",
		"intremap",
		"pcie_acs_override",
		"vfio",
		"pci-stub",
		"nvidia",
		"nouveau",
		"pci=",
		"hugepages",
		"video=",
		"rd.driver",
		"modprobe.blacklist",
		"module_blacklist",
		"initcall_blacklist",
		"nomodeset",
		"modules-load",
		"rd.modules-load",
	};
	_cleanup_strv_ char **words = kernel_words_split(text);
	char **kept = NULL;

	for (char **word = words; word && *word; word++)
		for (size_t i = 0; i < ELEMENTS(about); i++)
			if (kernel_word_begins(*word, about[i])) {
				setup_keep_line(&kept, xstrdup(*word));
				break;
			}
	return kept;
}

void setup_read_driverctl(const char *name, const char *text, char ***into)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *driver = str_strip(copy);
	Bdf bdf;

	if (!str_starts_with(name, "pci-") || bdf_parse(name + strlen("pci-"), &bdf) < 0)
		return;
	driver[strcspn(driver, " \t\n")] = '\0';
	if (*driver)
		setup_keep_line(into, strf("%s %s", BDF_TEXT(&bdf), driver));
}

/*
 * "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 …": the first word of the
 * first line that consists of digits and dots.
 */
char *setup_read_nvidia_version(const char *text)
{
	_cleanup_free_ char *line = xstrndup(text, strcspn(text, "\n"));
	_cleanup_strv_ char **words = NULL;

	strv_split(line, " \t", &words);
	for (char **word = words; word && *word; word++)
		if (isdigit((unsigned char)**word) && strchr(*word, '.') &&
		    (*word)[strspn(*word, "0123456789.")] == '\0' && strlen(*word) <= 32)
			return xstrdup(*word);
	return NULL;
}

bool setup_interrupt_is_remapped(const char *line)
{
	for (const char *at = strstr(line, "IR-"); at; at = strstr(at + 1, "IR-"))
		if (at != line && isspace((unsigned char)at[-1]) &&
		    (str_starts_with(at, "IR-IO-APIC") || str_starts_with(at, "IR-PCI-MSI")))
			return true;
	return false;
}

/* What is behind the name that a line begins with; NULL: no line does. */
static const char *behind(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line && (line == text || line[-1] == '\n') ? line + strlen(name) : NULL;
}

/* A number and one of these n bytes behind it. */
static bool read_number(const char *at, const char *ends, size_t n, uint64_t *ret)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*at))
		return false;
	errno = 0;
	value = strtoull(at, &end, 10);
	if (errno != 0 || !memchr(ends, *end, n))
		return false;
	*ret = value;
	return true;
}

bool setup_read_aer(const char *text, uint64_t *ret)
{
	const char *at = behind(text, "TOTAL_ERR_");

	if (!at)
		return false;
	at += strcspn(at, " \n");
	return *at == ' ' && read_number(at + 1, "\n", sizeof("\n"), ret);
}

/* proc(5): the 22nd field. The second one, a name in parentheses, may hold anything. */
bool setup_read_start(const char *text, uint64_t *ret)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && read_number(at + 1, " ", 1, ret);
}

/* "Max locked memory         8388608              8388608              bytes": soft, then hard. */
bool setup_read_memlock(const char *text, uint64_t *ret)
{
	const char *at = behind(text, "Max locked memory");

	if (!at)
		return false;
	at += strspn(at, " ");
	at += strcspn(at, " \n");
	at += strspn(at, " ");
	if (!str_starts_with(at, "unlimited"))
		return read_number(at, " ", 1, ret);
	*ret = UINT64_MAX;
	return true;
}

bool setup_may_raise_limits(const char *text)
{
	const char *at = behind(text, "CapEff:");
	unsigned long long set;
	char *end;

	if (!at)
		return false;
	errno = 0;
	set = strtoull(at, &end, 16);
	return errno == 0 && end != at && (set >> CAP_SYS_RESOURCE_BIT & 1);
}

int setup_compare_versions(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long long x = strtoull(a, (char **)&a, 10);
		unsigned long long y = strtoull(b, (char **)&b, 10);

		if (x != y)
			return x < y ? -1 : 1;
		/* Neither pointer moves at something that is not a number. */
		if ((*a && *a != '.') || (*b && *b != '.'))
			return strcmp(a, b);
		a += *a == '.';
		b += *b == '.';
	}
	return 0;
}
