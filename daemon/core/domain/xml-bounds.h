/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds on what a domain's XML may cost to parse, checked in one pass before libxml2 sees it. Most
 * of this text may come from somebody who is allowed to write only a domain's description or
 * metadata.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * NULL: the text may be parsed. Otherwise the reason why not: elements are nested too deep, or have
 * so many attributes that libxml2 would take minutes. To append an attribute it walks over all
 * earlier ones (xmlSAX2AttributeNs()), and before 2.12 it compares each with all others of its
 * element (xmlParseStartTag2()).
 */
const char *xml_bounds_check(const char *text, size_t size);

/*
 * The same for a text of which only libvirt's own elements are wanted. In the domain's metadata it
 * overwrites with spaces the attributes of elements that are deeper, or have more attributes, than
 * any of ours. Everywhere else it leaves all as it is.
 */
const char *xml_bounds_thin(char *text, size_t size);

/*
 * It has an <address> deeper than a device's own, which is that in the guest: so it may name a
 * function of the host. Also true where the text is out of bounds. Needs no libxml2.
 */
bool xml_bounds_deep_address(const char *text, size_t size);
