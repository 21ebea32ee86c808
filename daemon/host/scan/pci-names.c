/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/pci-names.h"

#include <pci/pci.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "util/text.h"

#define NAME_MAX_BYTES 512

struct PciNames {
	struct pci_access *access;
	char *path; /* libpci keeps the pointer */
	bool usable;
};

/*
 * libpci ends the process when it cannot parse the list; its error callback gets no argument of
 * ours and must not return. So the way out is the one variable here that outlives a call; it is set
 * only while the list is read.
 */
static _Thread_local jmp_buf *way_out;

__attribute__((noreturn)) static _printf_(1, 2) void leave(char *format _unused_, ...)
{
	if (way_out)
		longjmp(*way_out, 1);
	abort(); /* after a list was read, lookups report no errors */
}

static _printf_(1, 2) void ignore(char *format _unused_, ...)
{
}

/* libpci closes the list before it complains about its contents. */
static bool load_list(struct pci_access *access)
{
	jmp_buf here;
	bool loaded = false;

	way_out = &here;
	if (setjmp(here) == 0)
		loaded = pci_load_name_list(access) != 0;
	way_out = NULL;
	return loaded;
}

int pci_names_new_from(const char *path, PciNames **ret)
{
	_cleanup_(pci_names_freep) PciNames *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	if (path) {
		names->path = strdup(path);
		if (!names->path)
			return -ENOMEM;
	}
	names->access = pci_alloc();
	names->access->error = leave;
	names->access->warning = ignore;
	names->access->debug = ignore;
	/*
	 * Only the list, without the answers of the network that lspci may have cached in a home
	 * directory.
	 */
	names->access->id_lookup_mode = 0;
	/*
	 * No pci_init(): it would choose a way to access devices, and end the process if there is
	 * none.
	 */
	if (path)
		pci_set_name_list_path(names->access, names->path, 0);
	names->usable = load_list(names->access);
	*ret = TAKE_PTR(names);
	return 0;
}

int pci_names_new(PciNames **ret)
{
	return pci_names_new_from(NULL, ret);
}

/* NULL when the list has no such entry. */
static const char *look_up(PciNames *names, int what, char *buffer, uint16_t vendor,
			   uint16_t device)
{
	if (!names->usable)
		return NULL;
	return pci_lookup_name(names->access, buffer, NAME_MAX_BYTES, what | PCI_LOOKUP_NO_NUMBERS,
			       vendor, device);
}

char *pci_names_device(PciNames *names, uint16_t vendor, uint16_t device)
{
	char vendor_buffer[NAME_MAX_BYTES], device_buffer[NAME_MAX_BYTES];
	const char *vendor_name, *device_name;

	vendor_name = look_up(names, PCI_LOOKUP_VENDOR, vendor_buffer, vendor, 0);
	device_name = look_up(names, PCI_LOOKUP_DEVICE, device_buffer, vendor, device);
	if (vendor_name && device_name)
		return strf("%s %s", vendor_name, device_name);
	if (vendor_name)
		return strf("%s %04x", vendor_name, device);
	return strf("%04x:%04x", vendor, device);
}

PciNames *pci_names_free(PciNames *names)
{
	if (!names)
		return NULL;
	if (names->access)
		pci_cleanup(names->access);
	free(names->path);
	free(names);
	return NULL;
}
