/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-data for cloud-init: a script that installs the driver and checks the links, what the script
 * should find, and a unit that checks at each boot.
 */
#pragma once

#include <stdio.h>

#include "export/export.h"

int export_cloud_init(FILE *to, const Export *e);
