/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the words that a StandIns replaces. */
#pragma once

#include "bundle/stand-in.h"

/*
 * By their form: UUIDs, MAC addresses, serial numbers of PCI Express, and ids of 32 or more hex
 * digits; what follows "Serial Number", as NVIDIA's driver writes it; what follows "/home/".
 */
void secrets_of_text(StandIns *into, const char *text);
/*
 * The same in each string of a document, and the members that have a name or a serial number. It
 * spares the document's own words. -ELOOP.
 */
int secrets_of_json(StandIns *into, const json_t *document);
/*
 * A copy with the stand-ins: of a member that is a name, for the whole of it, whatever it is; in
 * all other strings, but for the schema, for words that are none of the documents' own. Of a
 * document of secrets_of_json(), which refuses what is too deep.
 */
json_t *secrets_replace_json(const StandIns *s, const json_t *document);
/* The host: "node.example.org", "node" and "example.org". */
void secrets_of_host(StandIns *into, const char *node_name);
/* Those users in the text of a passwd(5) that are people. */
void secrets_of_passwd(StandIns *into, const char *passwd);
