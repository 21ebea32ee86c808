/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/told.h"

#include <ctype.h>

#include "util/text.h"
#include "util/xalloc.h"

/* The end of "ESC [ … m", which underlines headers, or "ESC [ K"; NULL: something else is here. */
static const char *skip_colour(const char *at, const char *end)
{
	if (end - at < 3 || at[0] != '\033' || at[1] != '[')
		return NULL;
	for (at += 2; at < end && (isdigit((unsigned char)*at) || *at == ';'); at++)
		;
	return at < end && (*at == 'm' || *at == 'K') ? at + 1 : NULL;
}

int smi_clean(const char *text, size_t size, char **ret)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, by a shell of Windows */
	_cleanup_free_ char *copy = NULL;
	const char *at = text, *end = text + size;
	size_t n = 0;

	if (size > SMI_TEXT_MAX)
		return -EFBIG;
	if (size >= strlen(mark) && memcmp(at, mark, strlen(mark)) == 0)
		at += strlen(mark);
	copy = xmalloc(size + 1);
	while (at < end) {
		unsigned char c = (unsigned char)*at;

		if (c == '\033') {
			at = skip_colour(at, end);
			if (!at)
				return -EBADMSG;
			continue;
		}
		if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
			return -EBADMSG;
		if (c != '\r')
			copy[n++] = *at;
		at++;
	}
	copy[n] = '\0';
	*ret = TAKE_PTR(copy);
	return 0;
}

char *smi_cut(char *text, char at)
{
	char *end = strchr(text, at);

	if (end)
		*end++ = '\0';
	return end;
}

char *smi_next_line(char **rest)
{
	char *line = *rest;

	if (line)
		*rest = smi_cut(line, '\n');
	return line;
}

int smi_number(const char *text, unsigned max, unsigned *ret)
{
	size_t n = strspn(text, "0123456789");
	unsigned long long value;

	if (n == 0 || n > 4 || text[n] || (text[0] == '0' && n > 1) ||
	    str_to_unsigned(text, 10, max, &value) < 0)
		return -EBADMSG;
	*ret = (unsigned)value;
	return 0;
}

int smi_rate(const char *text, size_t max_whole, size_t max_part, uint32_t *ret)
{
	size_t whole = strspn(text, "0123456789");
	size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
	uint32_t mbps = 0;

	if (whole == 0 || whole > max_whole || part > max_part)
		return -EBADMSG;
	if (text[whole] && (text[whole] != '.' || part == 0 || text[whole + 1 + part]))
		return -EBADMSG;
	for (size_t i = 0; i < whole; i++)
		mbps = mbps * 10 + (uint32_t)(text[i] - '0');
	for (size_t i = 0; i < 3; i++)
		mbps = mbps * 10 + (i < part ? (uint32_t)(text[whole + 1 + i] - '0') : 0);
	*ret = mbps;
	return 0;
}

/* ---- what lines tell ---- */

/*
 * In any case. Where NVML's own texts (nvmlErrorString) are meant, they are printed by all versions
 * that know the error.
 */
static const struct {
	const char *words;
	SmiTold told;
	const char *where; /* who prints it */
} words[] = {
	{ "infoROM is corrupted", TOLD_WARNING, "nvidia-smi, exit status 14" },
	{ "No devices were found", TOLD_NO_DEVICES, "nvidia-smi, exit status 6" },
	{ "couldn't communicate with the NVIDIA driver", TOLD_NO_DRIVER, "nvidia-smi, status 9" },
	{ "Driver Not Loaded", TOLD_NO_DRIVER, "NVML" },
	{ "couldn't find libnvidia-ml", TOLD_NO_DRIVER, "nvidia-smi, status 12" },
	{ "couldn't find nvml.dll", TOLD_NO_DRIVER, "nvidia-smi of Windows" },
	{ "NVML shared library", TOLD_NO_DRIVER, "NVML" },
	{ "Driver/library version mismatch", TOLD_MISMATCH, "NVML, status 18" },
	{ "RM has detected an NVML/RM version mismatch", TOLD_MISMATCH, "NVML" },
	{ "Insufficient Permissions", TOLD_NOT_PERMITTED, "NVML, status 4" },
	{ "blocked by the operating system", TOLD_NOT_PERMITTED, "NVML" },
	{ "Permission denied", TOLD_NOT_PERMITTED, "the agent, of a program that it cannot run" },
	{ "is not recognized", TOLD_NO_COMMAND, "nvidia-smi of Windows, status 2" },
	{ "Invalid combination of input arguments", TOLD_NO_COMMAND, "nvidia-smi to 390" },
	{ "does not have or support Nvlink", TOLD_NOT_OFFERED, "nvidia-smi 595; before: nothing" },
	{ "all links are inactive", TOLD_ALL_INACTIVE, "nvidia-smi 450 to 595" },
	{ "Unable to determine the device handle", TOLD_GPU_LOST, "nvidia-smi, status 15" },
	{ "GPU is lost", TOLD_GPU_LOST, "NVML, status 15" },
	{ "fallen off the bus", TOLD_GPU_LOST, "NVML, nvidia-smi" },
	{ "[Unknown Error]", TOLD_GPU_LOST, "nvidia-smi, a field of a row" },
	{ "ERR!", TOLD_GPU_LOST, "nvidia-smi, a field" },
	{ "requires reset", TOLD_RESET_NEEDED, "NVML since 530" },
	{ "uncorrectable", TOLD_GPU_FAULT, "CUDA: ECC and NVLink errors" },
	{ "Invalid value when checking the pattern", TOLD_WRONG_DATA, "nvbandwidth 0.4 to 0.8" },
	{ "h_errorFlag == 0", TOLD_WRONG_DATA, "nvbandwidth 0.7, 0.8" },
	{ "ERROR: Data corruption", TOLD_WRONG_DATA, "nccl-tests to 2.12" },
};

/* Words of a line that tells more than others, though nobody knows it. */
static const char *const failures[] = { "error",     "fail",	 "unable",	    "cannot",
					"could not", "couldn't", "no cuda-capable", "warning",
					"invalid",   "denied",	 "not found" };

SmiTold told_of(const char *line)
{
	SmiTold told = TOLD_NOTHING;

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (words[i].told > told && strcasestr(line, words[i].words))
			told = words[i].told;
	return told;
}

/* The next line with anything in it, made harmless; false: no more. */
static bool next_line(const char **at, const char *end, char line[TOLD_LINE_MAX + 1])
{
	size_t n = 0;

	for (; *at < end && !(**at == '\n' && n > 0); (*at)++) {
		if (n == TOLD_LINE_MAX)
			continue;
		if (**at > ' ' && **at < 0x7f)
			line[n++] = **at;
		else if (n > 0 && line[n - 1] != ' ')
			line[n++] = ' ';
	}
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
	return n > 0;
}

char *smi_excerpt(const char *text, size_t size)
{
	const char *at = str_or_empty(text), *end = at + size;
	char line[TOLD_LINE_MAX + 1] = "", best[TOLD_LINE_MAX + 1] = "";
	int best_weight = 0;

	while (next_line(&at, end, line)) {
		SmiTold told = told_of(line);
		int weight = told > TOLD_NOTHING ? 2 + (int)told
			     : SOME_OF(failures, ELEMENTS(failures), strcasestr(line, it)) ? 2
											   : 1;

		if (weight > best_weight) {
			best_weight = weight;
			memcpy(best, line, sizeof(best));
		}
	}
	return xstrdup(best);
}

char *smi_line(const char *text, size_t size, unsigned number)
{
	const char *end = text + size, *next;

	for (; number > 1 && (next = memchr(text, '\n', (size_t)(end - text))); number--)
		text = next + 1;
	next = memchr(text, '\n', (size_t)(end - text));
	return smi_excerpt(text, (size_t)((next ? next : end) - text));
}

/* --- alarms --- */

/* "… GPU0000:02:00.0: …", "… GPU 00000000:02:00.0: …" */
static bool find_address(const char *line, Bdf *ret)
{
	static const size_t length = sizeof("02:00.0") - 1;

	for (const char *colon = line; (colon = strchr(colon, ':')); colon++) {
		char text[BDF_TEXT_MAX + 1];
		const char *start = colon;

		while (start > line && colon - start < 8 && isxdigit((unsigned char)start[-1]))
			start--;
		if (colon - start < 4 || strlen(colon + 1) < length)
			continue;
		memcpy(text, start, (size_t)(colon + 1 - start));
		memcpy(text + (colon + 1 - start), colon + 1, length);
		text[(size_t)(colon + 1 - start) + length] = '\0';
		if (bdf_parse(text, ret) == 0)
			return true;
	}
	return false;
}

/* "… GPU2: Unknown Error", "… GPU 2: …"; and of a row, "2, [GPU requires reset], …". */
static bool find_index(const char *line, unsigned *ret)
{
	char number[4] = "";
	const char *at = strstr(line, "GPU");
	size_t n;

	at = isdigit((unsigned char)*line) ? line : at ? at + strspn(at, "GPU ") : "";
	n = strspn(at, "0123456789");
	if (n == 0 || n >= sizeof(number) || (at[n] != ':' && at[n] != ','))
		return false;
	memcpy(number, at, n);
	return smi_number(number, 999, ret) == 0;
}

/* "GPU 0: NVIDIA H100 PCIe (UUID: GPU-…)", or a UUID in a row. */
static void find_uuid(const char *line, char ret[SMI_UUID_SIZE])
{
	const char *at = strstr(line, "GPU-");

	*ret = '\0';
	if (!at || strlen(at) < SMI_UUID_SIZE - 1)
		return;
	memcpy(ret, at, SMI_UUID_SIZE - 1);
	ret[SMI_UUID_SIZE - 1] = '\0';
}

void alarms_read(const char *text, size_t size, SmiAlarms *into)
{
	const char *at = text, *end;
	char section[SMI_UUID_SIZE] = ""; /* of nvlink --status: the GPU that lines are about */
	SmiAlarm alarm = { 0 };

	if (!text)
		return;
	end = text + size;
	while (into->n_items < ALARMS_MAX && next_line(&at, end, alarm.line)) {
		alarm.told = told_of(alarm.line);
		if (str_starts_with(alarm.line, "GPU ") && strstr(alarm.line, "(UUID: "))
			find_uuid(alarm.line, section);
		if (!told_is_alarm(alarm.told))
			continue;
		alarm.has_address = find_address(alarm.line, &alarm.address);
		alarm.has_index = find_index(alarm.line, &alarm.index);
		find_uuid(alarm.line, alarm.uuid);
		if (!*alarm.uuid && !alarm.has_address && !alarm.has_index)
			memcpy(alarm.uuid, section, sizeof(section));
		if (!SOME(into->items, into->n_items,
			  strcmp(it->line, alarm.line) == 0 && strcmp(it->uuid, alarm.uuid) == 0))
			into->items[into->n_items++] = alarm;
	}
}
