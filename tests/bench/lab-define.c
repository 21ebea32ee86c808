/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab-define FILE: connects to libvirt and defines the domain in this file, and prints the
 * microseconds of either: "CONNECT DEFINE".
 */
#include <libvirt/libvirt.h>
#include <stdio.h>
#include <time.h>

static long long now_us(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	static char xml[1 << 20];
	virDomainPtr domain = NULL;
	virConnectPtr c;
	long long begin, connected, defined;
	FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;

	if (!f || fread(xml, 1, sizeof(xml) - 1, f) == 0) {
		fputs("Usage: lab-define FILE\n", stderr);
		return 2;
	}
	fclose(f);
	begin = now_us();
	c = virConnectOpen("qemu:///system");
	connected = now_us();
	if (c)
		domain = virDomainDefineXML(c, xml);
	defined = now_us();
	if (!domain)
		return 1;
	printf("%lld %lld\n", connected - begin, defined - connected);
	virDomainFree(domain);
	virConnectClose(c);
	return 0;
}
