/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a domain's XML may cost to parse, counted in one pass before libxml2 sees it. Somebody who may
 * write no more than a domain's description or metadata writes most of this text.
 */
#pragma once

#include <stddef.h>

/*
 * NULL: it may be parsed. Otherwise why not: elements are nested too deep, or have so many attributes
 * that libxml2 would take minutes: it walks over all before it to append one (xmlSAX2AttributeNs()), and
 * before 2.12 compares each with all others of its element (xmlParseStartTag2()).
 */
const char *xml_bounds_check(const char *text, size_t size);

/*
 * The same where only libvirt's own elements are wanted: attributes where libvirt has none, deep inside
 * or too many, are overwritten with spaces, so that no more than the depth is left to refuse.
 */
const char *xml_bounds_thin(char *text, size_t size);
