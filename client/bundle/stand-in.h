/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces words that tell who somebody is: the same word by the same stand-in, in all texts that
 * go through one StandIns. First all words are collected, then they get their numbers, in the order
 * of the alphabet, so that lists that were sorted stay sorted, and the same words always get the
 * same stand-ins.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* X(enumerator, name). A name begins a stand-in where its form is free: "domain-0001". */
#define SECRET_KINDS(X)                                                                            \
	X(SECRET_DOMAIN, "domain")                                                                 \
	X(SECRET_HOST, "host")                                                                     \
	X(SECRET_USER, "user")                                                                     \
	X(SECRET_SERIAL, "serial")                                                                 \
	X(SECRET_UUID, "uuid")                                                                     \
	X(SECRET_PCIE_SERIAL, "pcie-serial")                                                       \
	X(SECRET_MAC, "mac")                                                                       \
	X(SECRET_HEX, "hex") /* 32 or more hex digits: a machine's or a container's id */

DECLARE_ENUM(secret_kind, SecretKind, SECRET_KINDS, SECRET_KIND_MAX_);

typedef struct StandIns StandIns;

StandIns *stand_ins_new(void);
StandIns *stand_ins_free(StandIns *s);
DEFINE_CLEANUP(StandIns, stand_ins_free)

/* A word to replace. Of two kinds, the first one counts. "" and NULL are nothing. */
void stand_ins_add(StandIns *s, SecretKind kind, const char *word);
/*
 * A word that the texts have in any case. It stays there, as their ordinary words and numbers do,
 * even if somebody has it for a name.
 */
void stand_ins_spare(StandIns *s, const char *word);
/* Gives the numbers. Nothing can be added after it. */
void stand_ins_settle(StandIns *s);
size_t stand_ins_count(const StandIns *s, SecretKind kind);

/* What stands in for this name, borrowed; NULL: it is no word to replace. */
const char *stand_ins_name(const StandIns *s, const char *name);
/* A new text. Case does not matter; letters and digits end no word. */
char *stand_ins_replace(const StandIns *s, const char *text);
