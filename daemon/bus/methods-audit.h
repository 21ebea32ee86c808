/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

int method_get_audit(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_holders(sd_bus_message *m, void *userdata, sd_bus_error *error);
