/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* userdata is the Face. */
int method_get_metrics(sd_bus_message *m, void *userdata, sd_bus_error *error);
