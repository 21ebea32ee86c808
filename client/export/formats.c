/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/formats.h"

#include <string.h>

#include "base/text.h"
#include "export/engines.h"

static const ExportFormat formats[] = {
	{ "cloud-init", SUBJECT_DOMAIN, 0, 0, export_cloud_init },
	/* PCI buses behind bus 0 */
	{ "libvirt", SUBJECT_GROUPS, 1, 255, export_libvirt },
	/* the chassis of a port: a byte, and 0 is none */
	{ "qemu", SUBJECT_GROUPS, 1, 255, export_qemu },
	{ "cloud-hypervisor", SUBJECT_GROUPS, 0, 0, export_cloud_hypervisor },
	/* vSphere 8 gives a machine 32 PCI devices */
	{ "esxi", SUBJECT_GROUPS, 0, 31, export_esxi },
	{ "kubevirt", SUBJECT_GROUPS, 0, 0, export_kubevirt },
	{ "nova", SUBJECT_HOST, 0, 0, export_nova },
	/* MAX_HOSTPCI_DEVICES of qemu-server */
	{ "proxmox", SUBJECT_MACHINE_GROUP, 0, 15, export_proxmox },
};

const ExportFormat *export_format_find(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

char *export_format_names(void)
{
	_cleanup_strv_ char **names = NULL;

	for (size_t i = 0; i < ELEMENTS(formats); i++)
		strv_append(&names, formats[i].name);
	return strv_join(names, ", ");
}
