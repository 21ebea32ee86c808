/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What labpci.ko knows of one PCI function, shared with the stand-in drivers. */
#ifndef LABPCI_H
#define LABPCI_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/types.h>

struct lab_function {
	struct kobject kobj; /* /sys/kernel/gpupass-lab/<bdf> */
	struct list_head list;
	char bdf[16];
	u8 bus, devfn;

	/* from the host file */
	char id[12], subsystem[12], class[8], revision[4];
	char dsn[24], link[8], vf[8];
	char model[64], uuid[48], vbios[24];
	bool acs, flr, late;

	/*
	 * config space: shown instead of the device's where mask is set; writes land where writable
	 * is
	 */
	u8 value[PCI_CFG_SPACE_EXP_SIZE];
	u8 mask[PCI_CFG_SPACE_EXP_SIZE];
	u8 writable[PCI_CFG_SPACE_EXP_SIZE];
	u16 express; /* where our own PCI Express capability is, or 0 */

	/* knobs */
	char fail_bind[32];
	int fail_times, bind_delay_ms, unbind_delay_ms, hold, gone, reset_ms, lost_closes,
		persistence;
	int opens;
	unsigned long gone_until;
	u8 hdr_type; /* the true one while a failing bind hides it */
	bool hdr_hidden;
};

struct lab_function *lab_function_of(struct pci_dev *pdev);
bool lab_bind_fails(struct pci_dev *pdev, const char *driver);
void lab_nap(unsigned int ms);
/* nvidia.ko's, for nvidia_drm.ko */
void lab_modeset_take(void);
void lab_modeset_release(void);

#endif
