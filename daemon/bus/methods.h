/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* Methods and signals; userdata is the Face. Properties are in views.h. */
extern const sd_bus_vtable manager_methods[], gpu_methods[];
