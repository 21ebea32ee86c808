/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document that `list` prints. `rescan`, `forget` and `clear` print it, too, as the new state.
 */
#pragma once

#include <jansson.h>

#include "model/model.h"

json_t *list_json(const World *w);
int list_print_json(Client *c, const World *w);
