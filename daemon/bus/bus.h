/* SPDX-License-Identifier: GPL-2.0-or-later */
/* org.gpupass1 on a bus: reads a call, validates it, hands it to the manager, and replies. */
#pragma once

#include <systemd/sd-bus.h>

#include "manager/manager.h"

typedef struct Face Face;

/*
 * Registers all objects. face_publish() requests the name. All are borrowed. pci_ids: the list of
 * names of PCI devices, which is read now. What is registered stays until the process ends, which
 * it does when this fails.
 */
int face_new(sd_bus *bus, Manager *manager, CallerResolver *resolver, const char *pci_ids,
	     Face **ret);
/* 0: we own the well-known name, and callers may come. -EEXIST: another instance owns it. */
typedef void (*FacePublished)(int result, void *userdata);
/* Requests the name, and calls `published` once when the bus daemon has answered. */
int face_publish(Face *face, FacePublished published, void *userdata);
