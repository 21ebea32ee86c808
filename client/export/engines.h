/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest is told, and groups in the words of other engines. Each is a file of its own, and
 * prints comments that say what the engine cannot express, or what must be filled in by hand.
 */
#pragma once

#include <stdio.h>

#include "export/export.h"

/*
 * User-data for cloud-init: a script that installs the driver and checks the links, what the script
 * should find, and a unit that checks at each boot
 */
void export_cloud_init(FILE *to, const Export *e);
/* <devices> with a root port a GPU and a hostdev a function, as gpupassd itself writes them */
void export_libvirt(FILE *to, const Export *e);
/* A shell script that starts QEMU with them */
void export_qemu(FILE *to, const Export *e);
/* A shell script that starts Cloud Hypervisor with them */
void export_cloud_hypervisor(FILE *to, const Export *e);
/* Lines of a machine's .vmx */
void export_esxi(FILE *to, const Export *e);
/* permittedHostDevices, as a patch of the KubeVirt resource */
void export_kubevirt(FILE *to, const Export *e);
/* A compute node's provider config, and, in comments, the lines of nova.conf */
void export_nova(FILE *to, const Export *e);
/* The qm command that puts a group into a machine */
void export_proxmox(FILE *to, const Export *e);
