/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces words that tell who somebody is: the same word by the same stand-in, in all texts that
 * go through one StandIns. First all words are collected, then they get their numbers, in the order
 * of the alphabet, so that lists that were sorted stay sorted, and the same words always get the
 * same stand-ins.
 */
#pragma once

#include <jansson.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* X(enumerator, name). A name begins a stand-in where its form is free: "domain-0001". */
#define SECRET_KINDS(X)                                                                            \
	X(SECRET_DOMAIN, "domain")                                                                 \
	X(SECRET_HOST, "host")                                                                     \
	X(SECRET_USER, "user")                                                                     \
	X(SECRET_DISK, "disk") /* the name of a disk's file system, partition or pool */           \
	X(SECRET_SERIAL, "serial")                                                                 \
	X(SECRET_UUID, "uuid")                                                                     \
	X(SECRET_PCIE_SERIAL, "pcie-serial")                                                       \
	X(SECRET_MAC, "mac")                                                                       \
	X(SECRET_HEX, "hex") /* 32 or more hex digits: a machine's or a container's id */

DECLARE_ENUM(secret_kind, SecretKind, SECRET_KINDS, SECRET_KIND_MAX_);

typedef struct StandIns StandIns;

StandIns *stand_ins_new(void);
DECLARE_FREE(StandIns, stand_ins_free)

/* A word to replace. Of two kinds, the first one counts. "" and NULL are nothing. */
void stand_ins_add(StandIns *s, SecretKind kind, const char *word);
/* Gives the numbers. Nothing can be added after it. */
void stand_ins_settle(StandIns *s);
size_t stand_ins_count(const StandIns *s, SecretKind kind);

/* A new text. Case does not matter; letters and digits end no word. */
char *stand_ins_replace(const StandIns *s, const char *text);

/* ---- finding the words ---- */

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
/* The host: "node7.dc1.test", "node7" and "dc1.test". */
void secrets_of_host(StandIns *into, const char *node_name);
/*
 * ID of os-release(5). Images for clouds have a user of that name (ubuntu, debian): where it stands
 * in a sentence it stays.
 */
void secrets_of_system(StandIns *into, const char *id);
/* Those users in the text of a passwd(5) that are people. */
void secrets_of_passwd(StandIns *into, const char *passwd);
