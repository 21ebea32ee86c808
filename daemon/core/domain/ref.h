/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains by the words that people use for them: gpupass/domain-ref.h says what such a word is. */
#pragma once

#include "core/base/problem.h"
#include "core/domain/use.h"
#include "gpupass/domain-ref.h"

/*
 * Sets NoSuchDomain, and guesses what was meant: a name that differs only in case, a domain whose
 * name has the form of a UUID, or an id of libvirt. `uses` are all domains; NULL: not known.
 */
int domain_ref_missing(const char *text, const DomainUses *uses, Problem **ret_problem);

/*
 * The domain's name or UUID, borrowed, for a command that a person types or pastes. It is the name
 * if shells, virsh and gpupass all take it as one word and as a name; otherwise the UUID.
 */
const char *domain_ref_word(const char *name, const char *uuid);

/* With which a person takes functions out of its definition. */
char *domain_ref_edit_command(const DomainUse *use);

/* "vm42 (3f0c9a52-…)"; without a UUID the name alone. */
char *domain_ref_text(const char *name, const char *uuid);
