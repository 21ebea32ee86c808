/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* userdata is the Face. */
int method_plan(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_drift(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_rescan(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_topology(sd_bus_message *m, void *userdata, sd_bus_error *error);

/* Of a GPU; likewise. */
extern const sd_bus_vtable gpu_methods[];
