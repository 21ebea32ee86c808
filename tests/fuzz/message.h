/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of D-Bus that the input builds. */
#pragma once

#include <systemd/sd-bus.h>

#include "fuzz.h"

/* A message of a bus that has nobody at its other end. */
sd_bus_message *message_new(void);
/* A value of this type. What is not UTF-8 cannot be built, nor travel. */
int message_append(sd_bus_message *m, const char *type, FuzzBytes *from);
/* An entry of a{sv}: this name, with a value of this type. */
int message_append_entry(sd_bus_message *m, const char *name, const char *type, FuzzBytes *from);
/* Closes its a{sv}, for who reads it. */
void message_seal(sd_bus_message *m);
