/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libvirt says about domains and about the connection, and the threads that wait for it. */
#pragma once

#include "host/libvirt/virt.h"

/* Registers for events of this connection. On failure some may be registered. */
int virt_events_register(Virt *virt, virConnectPtr conn);
void virt_events_deregister(Virt *virt, virConnectPtr conn);

/* On the event thread: tells the listener that the connection is there, or is lost. */
void virt_announce(Virt *virt);

void virt_wait_enlist(Virt *virt, DeviceWait *wait);
void virt_wait_dismiss(Virt *virt, DeviceWait *wait);
