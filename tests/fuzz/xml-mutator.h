/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LLVMFuzzerCustomMutator() for domains' XML: changes the tree, so that most inputs get past the
 * parser; one in four is changed byte by byte as ever.
 */
#pragma once

/* Stands only where nobody may read it: in texts, and in attributes that hold passwords. */
#define XML_SECRET "hunter2"
