/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/client.h"

/*
 * The groups of the domain that the word means, if it has several; otherwise only the word, and the
 * daemon says what it means. A name is believed only of groups that are assigned, to one domain:
 * what a domain left that is gone has its name, too.
 */
int meant_groups(Client *c, const char *word, char ***ret);
