// SPDX-License-Identifier: GPL-2.0-or-later
/* A driver for a GPU's audio function that does nothing, under the name of the real one. */
#include <linux/module.h>

#include "labpci.h"

static int audio_probe(struct pci_dev *p, const struct pci_device_id *id)
{
	return lab_bind_fails(p, "snd_hda_intel") ? -EIO : pcim_enable_device(p);
}

static void audio_remove(struct pci_dev *p)
{
}

static const struct pci_device_id audio_ids[] = {
	{
		PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID),
		.class = PCI_CLASS_MULTIMEDIA_HD_AUDIO << 8, .class_mask = 0xffff00,
	},
	{ }
};
MODULE_DEVICE_TABLE(pci, audio_ids);

static struct pci_driver audio_driver = {
	.name = "snd_hda_intel",
	.id_table = audio_ids,
	.probe = audio_probe,
	.remove = audio_remove,
};
module_pci_driver(audio_driver);

MODULE_DESCRIPTION("gpupass lab: a stand-in for the HD audio driver");
MODULE_LICENSE("GPL");
