/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Loads libxml2: before the first call of core/domain that reads XML. -ELIBACC: it is not there;
 * -ELIBBAD: it is another one.
 */
int late_xml_load(void);
