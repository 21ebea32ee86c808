/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* Of the manager; userdata is the Face. */
extern const sd_bus_vtable manager_methods[];
