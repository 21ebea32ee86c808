/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document that `list` prints. `rescan`, `forget` and `clear` print it, too, as the new state.
 */
#pragma once

#include "model/model.h"

int list_print_json(Client *c, const World *w);
