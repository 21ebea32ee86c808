/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the panels, rows and cards of a layout go. */
#pragma once

#include "topology/layout-parts.h"

/* Panels, rows and columns; x of panels and cards. -ENOMEM */
int layout_place(Layout *layout);
/* y of panels, rows and cards. Needs the rows' lanes. */
void layout_heights(Layout *layout);
