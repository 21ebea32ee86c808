/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading domains: tests/fixtures/domains/, and texts. */
#pragma once

#include <fcntl.h>

#include "core/domain/xml.h"
#include "util/file.h"
#include "util/text.h"

/* The fixture's text; ends the test when there is none. */
static inline _unused_ char *domain_fixture(const char *name)
{
	_cleanup_free_ char *path = strf("%s/domains/%s.xml", FIXTURES, name);
	char *text = NULL;

	if (file_read_at(AT_FDCWD, path, DOMAIN_XML_MAX, &text, NULL) < 0)
		fail_msg("no fixture domains/%s.xml", name);
	return text;
}

/* Ends the test when it cannot be read. */
static inline _unused_ DomainXml *domain_parsed(const char *text)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainXml *xml = NULL;

	if (domain_xml_parse(text, &xml, &problem) != 0)
		fail_msg("not parsed: %s: %s", problem ? problem->cause : "errno", text);
	return xml;
}
