/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/ref.h"

#include <strings.h>

#include "util/text.h"
#include "util/xalloc.h"

char *domain_ref_edit_command(const DomainUse *use)
{
	return use->vmid > 0 ? strf("qm set %u --delete hostpciN", use->vmid)
			     : strf("virsh edit %s", domain_ref_word(use->name, use->uuid));
}

char *domain_ref_text(const char *name, const char *uuid)
{
	return uuid ? strf("%s (%s)", name, uuid) : xstrdup(name);
}

const char *domain_ref_word(const char *name, const char *uuid)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	char parsed[DOMAIN_UUID_SIZE];

	/* virsh takes a name of digits for an id. */
	if (!uuid || (*name != '-' && *name != '\0' && name[strspn(name, plain)] == '\0' &&
		      name[strspn(name, "0123456789")] != '\0' && !domain_uuid_parse(name, parsed)))
		return name;
	return uuid;
}

static const DomainUse *find_named(const DomainUses *uses, const char *name,
				   int (*compare)(const char *, const char *))
{
	return uses ? FIND(uses->items, uses->n_items, it->name && compare(it->name, name) == 0)
		    : NULL;
}

/* A letter more, less or another one; or the beginning of a name. */
static int differs_much(const char *name, const char *text)
{
	size_t n = strlen(name), m = strlen(text), longer = n > m ? n : m, shorter = n > m ? m : n,
	       begin = 0, end = 0;

	while (begin < shorter && name[begin] == text[begin])
		begin++;
	while (end < shorter - begin && name[n - 1 - end] == text[m - 1 - end])
		end++;
	return m < 2 || (begin < m && (longer - shorter > 1 || begin + end + 1 < longer));
}

/* NULL: there is nothing to say. */
static char *missing_cause(const char *text, const DomainUse *namesake, const DomainUse *similar,
			   const DomainUse *near)
{
	if (namesake)
		return xstrdup(
			"a domain has this name, but a word in the form of a UUID is only ever "
			"taken for a UUID");
	if (similar)
		return strf("names are case-sensitive; there is '%s'", similar->name);
	if (near)
		return strf("there is '%s'", near->name);
	if (text[strspn(text, "0123456789")] == '\0')
		return xstrdup(
			"a number is taken for a name, because libvirt's ids change with every "
			"start of a domain");
	return NULL;
}

int domain_ref_missing(const char *text, const DomainUses *uses, Problem **ret_problem)
{
	char uuid[DOMAIN_UUID_SIZE];
	bool is_uuid = domain_uuid_parse(text, uuid);
	const DomainUse *namesake = is_uuid ? find_named(uses, text, strcmp) : NULL;
	const DomainUse *similar = is_uuid ? NULL : find_named(uses, text, strcasecmp);
	const DomainUse *near = is_uuid ? NULL : find_named(uses, text, differs_much);

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_NO_SUCH_DOMAIN,
		.reason = strf("there is no domain '%s'", text),
		.cause = missing_cause(text, namesake, similar, near),
		.remedy = namesake
				  ? strf("if that domain is meant, give its own UUID: %s",
					 namesake->uuid)
				  : xstrdup("see `virsh list --all` for the domains of this host"));
}
