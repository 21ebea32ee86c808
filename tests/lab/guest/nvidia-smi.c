// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for nvidia-smi in a guest, and under its other name for nvbandwidth: prints what the
 * guest of tests/fixtures/guests prints that lab-mode has chosen, with the UUIDs of this host's
 * GPUs. One small program: in an emulator in an emulator each process of a script takes a second.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UUID_SIZE 40 /* GPU-, 36 characters */

static char mode[64], uuids[16][64];

static int has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* lab-mode has left its name, and one UUID a line. */
static void read_mode(void)
{
	FILE *f = fopen("/lab/mode", "r");

	if (!f || fscanf(f, "%63s", mode) != 1)
		exit(3);
	fclose(f);
	f = fopen("/lab/uuids", "r");
	for (int i = 0; f && i < 16 && fscanf(f, "%63s", uuids[i]) == 1; i++)
		;
}

static void misbehave(void)
{
	static char bytes[20000];

	if (strcmp(mode, "hang") == 0)
		for (;;)
			pause();
	if (has_prefix(mode, "flood"))
		for (int i = atoi(mode + strlen("flood")); i > 0; i--)
			fwrite(bytes, 1, 1024, stdout);
	if (strcmp(mode, "garbage") == 0) {
		int fd = open("/dev/urandom", O_RDONLY);

		if (fd < 0 || read(fd, bytes, sizeof(bytes)) != sizeof(bytes))
			exit(3);
		fwrite(bytes, 1, sizeof(bytes), stdout);
	}
	if (has_prefix(mode, "flood") || strcmp(mode, "garbage") == 0)
		exit(0);
}

/* GPU-0000000N-… is the fixtures' Nth. */
static void print_line(char *line)
{
	char *at = strstr(line, "GPU-0000000");
	int n = at ? at[strlen("GPU-0000000")] - '1' : -1;

	if (n < 0 || n >= 9 || !*uuids[n] || strlen(at) < UUID_SIZE)
		fputs(line, stdout);
	else
		printf("%.*s%s%s", (int)(at - line), line, uuids[n], at + UUID_SIZE);
}

/* Its exit status is in a file of its own. */
static int print_file(const char *name, const char *instead)
{
	char path[160], line[1024];
	int status = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/lab/guests/%s/%s", mode, name);
	f = fopen(path, "r");
	if (!f)
		return 2;
	while (fgets(line, sizeof(line), f))
		if (instead)
			puts(instead);
		else
			print_line(line);
	fclose(f);
	strcat(path, ".status");
	f = instead ? NULL : fopen(path, "r");
	if (f && fscanf(f, "%d", &status) != 1)
		return 3;
	return status;
}

int main(int argc, char **argv)
{
	char words[1024] = "";

	for (int i = 1; i < argc && strlen(words) + strlen(argv[i]) + 2 < sizeof(words); i++) {
		strcat(words, i > 1 ? " " : "");
		strcat(words, argv[i]);
	}
	read_mode();
	if (strstr(argv[0], "nvbandwidth"))
		return strcmp(words, "-j -t device_to_device_memcpy_read_ce") == 0
			       ? print_file("nvbandwidth", NULL)
			       : 2;
	misbehave();
	if (strstr(words, "driver_version"))
		return print_file("gpus", "535.183.06");
	if (strstr(words, "uuid"))
		return print_file("gpus", NULL);
	if (strstr(words, "mig"))
		return print_file("mig", NULL);
	if (strcmp(words, "topo -m") == 0)
		return print_file("topo", NULL);
	if (strcmp(words, "topo -p2p n") == 0)
		return print_file("p2p", NULL);
	if (strcmp(words, "nvlink --status") == 0)
		return print_file("nvlink", NULL);
	if (has_prefix(words, "conf-compute"))
		return print_file("cc", NULL);
	return 2;
}
