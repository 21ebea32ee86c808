/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A person's word for a domain that no domain has: gpupass/domain-ref.h says what such a word is. */
#pragma once

#include "core/base/problem.h"
#include "core/domain/use.h"
#include "gpupass/domain-ref.h"

/*
 * NoSuchDomain, and what may have been meant: a name that differs in case only, a domain that has a
 * UUID's form for a name, an id of libvirt. `uses`: every domain; NULL: not known.
 */
int domain_ref_missing(const char *text, const DomainUses *uses, Problem **ret_problem);

/*
 * The domain in a command that a person is to type or to paste: by its name, where that is a word to
 * every shell, to virsh and to gpupass, and otherwise by its UUID. One of the two, borrowed.
 */
const char *domain_ref_word(const char *name, const char *uuid);

/* "vm42 (3f0c9a52-…)", the name alone where there is no UUID. NULL when memory is out. */
char *domain_ref_text(const char *name, const char *uuid);
