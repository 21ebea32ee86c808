/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of the host in a form that means nothing to any target's grammar. New. */
#pragma once

#include <stdio.h>

#include "export/export.h"

/* As a name of a group may be; any other character becomes '_'. */
char *export_plain_name(const char *text);
/* Letters, digits and what names of boards have: harmless in YAML, and in a shell's quotes. */
char *export_plain_text(const char *text);
/* "GA102GL_RTX_A6000" of "GA102GL [RTX A6000]": letters and digits, and single '_' between them. */
char *export_word(const char *text);
/* The same in capitals. */
char *export_capitals(const char *text);

/*
 * Which groups follow, and which were left out: a line for each group, behind `sign`. In a comment
 * of XML, which cannot have "--", names with two of them have "-?".
 */
void export_print_groups(FILE *to, const Export *e, const char *sign);
