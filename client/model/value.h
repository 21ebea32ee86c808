/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of properties, by their type, between the bus and the structs of model.h. */
#pragma once

#include "model/model.h"

/* What is at `to` is replaced. `lines`: a text of several lines. */
int value_read(Client *c, sd_bus_message *m, const char *signature, bool lines, void *to);
/* Frees what a value of this type owns; numbers stay as they are. */
void value_clear(const char *signature, void *at);
