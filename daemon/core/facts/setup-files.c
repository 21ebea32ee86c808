/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/setup-files.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bdf.h"
#include "core/facts/kernel-words.h"
#include "util/text.h"
#include "util/xalloc.h"

/* No word of the command line is cut: an x86 kernel takes 2,048 bytes of it. */
#define LINE_KEPT_MAX 2048
#define CAP_SYS_RESOURCE_BIT 24

void setup_keep_line(char ***into, char *line)
{
	_cleanup_free_ char *owned = line;

	if (strv_length(*into) >= SETUP_LINES_MAX)
		return;
	if (strlen(owned) > LINE_KEPT_MAX)
		owned[LINE_KEPT_MAX] = '\0';
	strv_append(into, owned);
}

void setup_read_cmdline(const char *text, char ***ret)
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
	_cleanup_strv_ char **words = NULL, **kept = NULL;

	kernel_words_split(text, &words);

	for (char **word = words; word && *word; word++)
		for (size_t i = 0; i < ELEMENTS(about); i++)
			if (kernel_word_begins(*word, about[i])) {
				setup_keep_line(&kept, xstrdup(*word));
				break;
			}
	*ret = TAKE_PTR(kept);
}

int setup_read_driverctl(const char *name, const char *text, char ***into)
{
	_cleanup_free_ char *copy = NULL;
	char *driver;
	Bdf bdf;

	if (!str_starts_with(name, "pci-") || bdf_parse(name + strlen("pci-"), &bdf) < 0)
		return 0;
	copy = xstrdup(text);
	driver = str_strip(copy);
	driver[strcspn(driver, " \t\n")] = '\0';
	if (*driver) {
		setup_keep_line(into, strf("%s %s", BDF_TEXT(&bdf), driver));
		return 0;
	}
	return 0;
}

/*
 * "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 …": the first word of the
 * first line that consists of digits and dots.
 */
void setup_read_nvidia_version(const char *text, char **ret)
{
	_cleanup_free_ char *line = xstrndup(text, strcspn(text, "\n"));
	_cleanup_strv_ char **words = NULL;

	strv_split(line, " \t", &words);
	*ret = NULL;
	for (char **word = words; word && *word; word++) {
		if (!isdigit((unsigned char)**word) || !strchr(*word, '.') ||
		    (*word)[strspn(*word, "0123456789.")] != '\0' || strlen(*word) > 32)
			continue;
		*ret = xstrdup(*word);
		return;
	}
}

bool setup_interrupt_is_remapped(const char *line)
{
	for (const char *at = strstr(line, "IR-"); at; at = strstr(at + 1, "IR-"))
		if (at != line && isspace((unsigned char)at[-1]) &&
		    (str_starts_with(at, "IR-IO-APIC") || str_starts_with(at, "IR-PCI-MSI")))
			return true;
	return false;
}

bool setup_read_aer(const char *text, uint64_t *ret)
{
	const char *line = strstr(text, "TOTAL_ERR_");
	unsigned long long n;
	char *end;

	if (!line || (line != text && line[-1] != '\n'))
		return false;
	line += strcspn(line, " \n");
	if (*line != ' ' || !isdigit((unsigned char)line[1]))
		return false;
	errno = 0;
	n = strtoull(line + 1, &end, 10);
	if (errno != 0 || (*end != '\n' && *end != '\0'))
		return false;
	*ret = n;
	return true;
}

/* proc(5): the 22nd field. The second one, a name in parentheses, may hold anything. */
bool setup_read_start(const char *text, uint64_t *ret)
{
	const char *at = strrchr(text, ')');
	unsigned long long n;
	char *end;

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || !isdigit((unsigned char)at[1]))
		return false;
	errno = 0;
	n = strtoull(at + 1, &end, 10);
	if (errno != 0 || *end != ' ')
		return false;
	*ret = n;
	return true;
}

/* "Max locked memory         8388608              8388608              bytes": soft, then hard. */
bool setup_read_memlock(const char *text, uint64_t *ret)
{
	static const char name[] = "Max locked memory";
	const char *line = strstr(text, name);
	unsigned long long n;
	char *end;

	if (!line || (line != text && line[-1] != '\n'))
		return false;
	line += sizeof(name) - 1;
	line += strspn(line, " ");
	line += strcspn(line, " \n");
	line += strspn(line, " ");
	if (str_starts_with(line, "unlimited")) {
		*ret = UINT64_MAX;
		return true;
	}
	if (!isdigit((unsigned char)*line))
		return false;
	errno = 0;
	n = strtoull(line, &end, 10);
	if (errno != 0 || *end != ' ')
		return false;
	*ret = n;
	return true;
}

bool setup_may_raise_limits(const char *text)
{
	static const char name[] = "CapEff:";
	const char *line = strstr(text, name);
	unsigned long long set;
	char *end;

	if (!line || (line != text && line[-1] != '\n'))
		return false;
	line += sizeof(name) - 1;
	line += strspn(line, " \t");
	errno = 0;
	set = strtoull(line, &end, 16);
	return errno == 0 && end != line && (set >> CAP_SYS_RESOURCE_BIT & 1);
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
