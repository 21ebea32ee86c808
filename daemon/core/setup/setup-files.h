/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the host's setup, from their text. Other people write them, so unknown text is skipped,
 * and lines and lists are bounded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The most lines that one list keeps. */
#define SETUP_LINES_MAX 256

/* Takes the line, cut to a bounded length, into a list that is not full. */
void setup_keep_line(char ***into, char *line);

/* From the kernel's command line: words about the IOMMU, vfio and drivers (kernel-words.h). */
char **setup_read_cmdline(const char *text);

/* driverctl.d/pci-0000:41:00.0 holds a driver's name: appends "0000:41:00.0 vfio-pci". */
void setup_read_driverctl(const char *name, const char *text, char ***into);

/* /proc/driver/nvidia/version: the version's number; NULL when there is none. */
char *setup_read_nvidia_version(const char *text);

/*
 * The line of /proc/interrupts has a chip behind interrupt remapping: "IR-IO-APIC",
 * "IR-PCI-MSI-0000:00:1f.2". On x86 the kernel gives such chips this prefix (irq_remapping
 * drivers).
 */
bool setup_interrupt_is_remapped(const char *line);

/* The last number of the TOTAL line of aer_dev_fatal and similar files; false: there is none. */
bool setup_read_aer(const char *text, uint64_t *ret);

/* /proc/PID/limits: the hard limit of locked memory in bytes; UINT64_MAX: none. */
bool setup_read_memlock(const char *text, uint64_t *ret);
/* /proc/PID/stat: when it started, in clock ticks since the boot; false: it does not say. */
bool setup_read_start(const char *text, uint64_t *ret);
/* /proc/PID/status: whether the process has CAP_SYS_RESOURCE, and so may raise its limits. */
bool setup_may_raise_limits(const char *text);

/* "Versions" as numbers, part by part: below 0, 0, above 0 as strcmp(). */
int setup_compare_versions(const char *a, const char *b);
