/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of properties, by their type, between the bus and the structs of model.h. */
#pragma once

#include "model/model.h"

const char *value_signature(PropertyType type);
/* What is at `to` is replaced. */
int value_read(Client *c, sd_bus_message *m, PropertyType type, void *to);
/* Where the daemon has not sent the property. */
void value_set_unknown(PropertyType type, void *to);
/* Frees what a value of this type owns; numbers stay as they are. */
void value_clear(PropertyType type, void *at);
