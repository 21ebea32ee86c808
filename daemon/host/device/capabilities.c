/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/capabilities.h"

#include <pci/pci.h>

#include "core/pci/pcie-config.h"
#include "host/scan/sysfs.h"
#include "util/xalloc.h"

static struct pci_access *access_free(struct pci_access *access)
{
	if (access)
		pci_cleanup(access);
	return NULL;
}
DEFINE_CLEANUP(struct pci_access, access_free)

static struct pci_dev *device_free(struct pci_dev *device)
{
	if (device)
		pci_free_dev(device);
	return NULL;
}
DEFINE_CLEANUP(struct pci_dev, device_free)

/* libpci continues where it should not if this returns. */
__attribute__((noreturn)) static _printf_(1, 2) void end_worker(char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("libpci: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	_exit(EXIT_FAILURE);
}

static _printf_(1, 2) void ignore(char *format _unused_, ...)
{
}

/*
 * Names the method, because AUTO can fall through to raw ports. The path goes through the open
 * root, so that libpci reads the same tree as the rest of the worker.
 */
static int open_access(int sysfs_fd, struct pci_access **ret)
{
	_cleanup_(access_freep) struct pci_access *access = NULL;
	_cleanup_free_ char *path = strf("/proc/self/fd/%d/bus/pci", sysfs_fd);

	access = pci_alloc();
	access->method = PCI_ACCESS_SYS_BUS_PCI;
	access->error = end_worker;
	access->warning = ignore;
	access->debug = ignore;
	if (pci_set_param(access, (char[]){ "sysfs.path" }, path) < 0)
		return -EOPNOTSUPP;
	pci_init(access);
	*ret = TAKE_PTR(access);
	return 0;
}

/* The Device Serial Number as lspci writes it: "00-04-4b-ff-fe-12-34-56". */
static char *read_serial_number(struct pci_dev *device)
{
	struct pci_cap *cap = pci_find_cap(device, PCI_EXT_CAP_ID_DSN, PCI_CAP_EXTENDED);
	uint64_t serial;
	uint8_t b[8];

	if (!cap)
		return NULL;
	serial = (uint64_t)pci_read_long(device, (int)cap->addr + 8) << 32 |
		 pci_read_long(device, (int)cap->addr + 4);
	/* All zeros: the board was never given a number. All ones: the device does not answer. */
	if (serial == 0 || serial == UINT64_MAX)
		return NULL;
	for (size_t i = 0; i < ELEMENTS(b); i++)
		b[i] = (uint8_t)(serial >> (56 - 8 * i));
	return strf("%02x-%02x-%02x-%02x-%02x-%02x-%02x-%02x", b[0], b[1], b[2], b[3], b[4], b[5],
		    b[6], b[7]);
}

static void read_link(struct pci_dev *device, FunctionFacts *into)
{
	struct pci_cap *cap = pci_find_cap(device, PCI_CAP_ID_EXP, PCI_CAP_NORMAL);
	unsigned able, status;

	if (!cap)
		return;
	able = pci_read_long(device, (int)cap->addr + PCI_EXP_LNKCAP);
	status = pci_read_word(device, (int)cap->addr + PCI_EXP_LNKSTA);
	into->link_width = (status & PCI_EXP_LNKSTA_WIDTH) >> 4;
	into->link_width_max = (able & PCI_EXP_LNKCAP_WIDTH) >> 4;
	into->link_speed = xstrdup(pcie_speed_name(status & PCI_EXP_LNKSTA_SPEED));
	into->link_speed_max = xstrdup(pcie_speed_name(able & PCI_EXP_LNKCAP_SPEED));
}

static int read_own(int sysfs_fd, FunctionFacts *into)
{
	_cleanup_free_ char *config = sysfs_function_path(&into->bdf, "config");
	_cleanup_(access_freep) struct pci_access *access = NULL;
	_cleanup_(device_freep) struct pci_dev *device = NULL;
	uint64_t ids = 0; /* of a VF they are all ones, but not command and status behind them */
	int r;

	/* Checked first, because libpci ends the process when it cannot open this file. */
	if (faccessat(sysfs_fd, config, R_OK, 0) < 0)
		return 0;
	r = open_access(sysfs_fd, &access);
	if (r < 0)
		return r;
	device = pci_get_dev(access, (int)into->bdf.segment, into->bdf.bus, into->bdf.device,
			     into->bdf.function);
	if (!pci_read_block(device, PCI_VENDOR_ID, (u8 *)&ids, sizeof(ids)))
		return 0;
	into->config_all_ones = ids == UINT64_MAX;
	if (into->config_all_ones)
		return 0;
	into->serial_number = read_serial_number(device);
	read_link(device, into);
	return 0;
}

/*
 * A VF need not have a serial number. It is told from a VF of an equal NIC by the NIC's.
 */
static int read_of_nic(int sysfs_fd, FunctionFacts *into)
{
	_cleanup_free_ char *path = sysfs_function_path(&into->bdf, "physfn"), *name = NULL;
	FunctionFacts nic = { 0 };
	int r = sysfs_link_name_if_any(sysfs_fd, path, &name);

	if (r < 0 || !name)
		return r;
	r = bdf_parse(name, &nic.bdf);
	if (r >= 0)
		r = read_own(sysfs_fd, &nic);
	into->serial_number = nic.serial_number;
	free(nic.link_speed);
	free(nic.link_speed_max);
	return r;
}

int capabilities_read(int sysfs_fd, FunctionFacts *into)
{
	int r = read_own(sysfs_fd, into);

	return r == 0 && !into->serial_number ? read_of_nic(sysfs_fd, into) : r;
}
