/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of the journal: version, checksum, JSON. */
#pragma once

#include <jansson.h>

/* Room for two definitions (DOMAIN_XML_MAX) and a running domain's XML (DOMAIN_SKIM_MAX), escaped,
 * and the rest. */
#define JOURNAL_FILE_MAX (128U * 1024 * 1024)

/* With its newline. */
char *journal_line(const json_t *record);
/* `line` has no newline. -EBADMSG: it cannot be understood; -EPROTO: it is of another version. */
int journal_line_parse(const char *line, json_t **ret, char **ret_message);
