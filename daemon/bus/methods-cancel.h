/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "bus/request.h"

int method_cancel(sd_bus_message *m, void *userdata, sd_bus_error *error);
