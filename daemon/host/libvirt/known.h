/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of all domains between two readings of all of them. */
#pragma once

#include "host/libvirt/virt.h"

/*
 * What is known of this domain is no longer so: libvirt has said it, or we have changed it. NULL:
 * that of any domain. From any thread; does not wait.
 */
void virt_known_changed(Virt *virt, const char *uuid);
void virt_known_init(VirtKnown *known);
void virt_known_done(VirtKnown *known);
