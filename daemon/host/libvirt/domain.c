/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains: find, read, define. */
#include <strings.h>
#include <time.h>

#include "core/domain/xml.h"
#include "host/libvirt/call.h"
#include "host/libvirt/libvirt.h"
#include "util/text.h"
#include "util/xalloc.h"

/* An RPC string of libvirt ends at 4 MiB; a name is a file name (NAME_MAX) on every driver. */
#define DOMAIN_TEXT_MAX 255

/*
 * libxml2's time to validate grows with the square of the number of siblings: metadata of 200,000
 * elements, which a tenant may write, takes 80 s. Definitions without such metadata have some ten
 * KiB.
 */
#define VALIDATED_MAX (128U * 1024)

/* --- find --- */

static int check_word(const char *text, Problem **ret_problem)
{
	if (str_is_empty(text))
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				   "a domain's name or UUID is needed");
	if (strlen(text) > DOMAIN_TEXT_MAX)
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				   "a domain's name has at most %d bytes", DOMAIN_TEXT_MAX);
	return 0;
}

void domain_id_clear(DomainId *id)
{
	free(id->name);
	*id = (DomainId){ 0 };
}

int virt_domain_find(Virt *virt, const char *name_or_uuid, DomainId *ret, Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	_cleanup_domain_ virDomainPtr domain = NULL;
	_cleanup_(domain_id_clear) DomainId id = { 0 };
	bool failed;
	int r = check_word(name_or_uuid, ret_problem);

	if (r == 0)
		r = virt_call_begin(virt, &call, ret_problem);
	if (r != 0)
		return r;
	domain = virt_lookup_word(call.conn, name_or_uuid, &failed);
	if (failed)
		return virt_problem(&call, ret_problem, GPUPASS_ERROR_LIBVIRT_FAILED,
				    "libvirt could not look up domain '%s'", name_or_uuid);
	*ret = (DomainId){ 0 };
	if (!domain)
		return 0;
	id.name = xstrdup(virt_domain_name(domain));
	if (virDomainGetUUIDString(domain, id.uuid) < 0)
		return virt_read_problem(&call, id.name, ret_problem);
	*ret = id;
	id.name = NULL;
	return 0;
}

/* --- read --- */

/* Only a running domain may have no definition. < 0: libvirt does not say. */
static int is_defined(virDomainPtr domain)
{
	return virt_was_active(domain) ? virDomainIsPersistent(domain) : 1;
}

/*
 * The definition and the live XML, with passwords, which are needed to define it again; NULL if
 * there is none. `domain` was just looked up.
 */
static int read_xml(virDomainPtr domain, char **ret_live, char **ret_config)
{
	_cleanup_free_ char *live = NULL, *config = NULL;
	int defined = is_defined(domain);

	if (defined < 0)
		return -EIO;
	if (virt_was_active(domain)) {
		live = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_SECURE);
		if (!live)
			return -EIO;
	}
	if (defined) {
		config = virDomainGetXMLDesc(domain,
					     VIR_DOMAIN_XML_SECURE | VIR_DOMAIN_XML_INACTIVE);
		if (!config)
			return -EIO;
	}
	*ret_live = TAKE_PTR(live);
	*ret_config = TAKE_PTR(config);
	return 0;
}

int virt_domain_get(Virt *virt, const char *uuid, VirtDomain **ret, Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_domain_ virDomainPtr found = NULL;
	int r = virt_call_begin_on(virt, uuid, &call, &found, ret_problem);

	if (r != 0)
		return r;
	domain = xcalloc(1, sizeof(*domain));
	domain->name = xstrdup(virt_domain_name(found));
	if (read_xml(found, &domain->live_xml, &domain->config_xml) < 0)
		return virt_read_problem(&call, domain->name, ret_problem);
	domain->uuid = xstrdup(uuid);
	domain->active = domain->live_xml != NULL;
	domain->persistent = domain->config_xml != NULL;
	*ret = TAKE_PTR(domain);
	return 0;
}

/* --- define --- */

/* A definition with another UUID would create another domain. */
static int check_definition(const char *uuid, const char *xml, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *why = NULL;
	_cleanup_(domain_xml_freep) DomainXml *parsed = NULL;
	int r = domain_xml_parse(xml, &parsed, &why);

	if (r < 0)
		return r;
	if (r == PROBLEM)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_DEFINE_FAILED,
			.reason = strf("the new definition of domain %s is not a domain XML", uuid),
			.cause = xstrdup(why->cause ? why->cause : why->reason));
	if (strcasecmp(str_or_empty(domain_xml_uuid(parsed)), uuid) == 0)
		return 0;
	return problem_set(ret_problem, GPUPASS_ERROR_DEFINE_FAILED,
			   "the new definition of domain %s is that of another domain", uuid);
}

static int stale(const char *name, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_STALE_PLAN,
		.reason = strf("the definition of domain %s has changed since it was read", name),
		.remedy = xstrdup("try again; another program or user edits this domain"));
}

/*
 * Every libvirt since 1.2.12 knows VALIDATE, but not each of its drivers does. A driver that
 * refuses the flag says so (VIR_ERR_INVALID_ARG from virCheckFlags) before it reads the XML.
 */
static bool cannot_validate(const virError *error)
{
	return error &&
	       (error->code == VIR_ERR_INVALID_ARG || error->code == VIR_ERR_ARGUMENT_UNSUPPORTED);
}

/*
 * libvirt could not read its own schema (virXMLValidatorInit), and has defined nothing; an XML that
 * the schema forbids is VIR_ERR_XML_INVALID_SCHEMA. Of the first two validations that a libvirt
 * daemon ever makes, one fails so if they are made at the same time: libxml2 2.9's
 * xmlSchemaInitTypes() says that the types are there before it has made them.
 */
static bool could_not_read_its_schema(const virError *error)
{
	return error && error->domain == VIR_FROM_XML && error->code == VIR_ERR_INTERNAL_ERROR;
}

static virDomainPtr define(virConnectPtr conn, const char *xml)
{
	bool validates = strlen(xml) <= VALIDATED_MAX;
	virDomainPtr domain =
		virDomainDefineXMLFlags(conn, xml, validates ? VIR_DOMAIN_DEFINE_VALIDATE : 0);

	if (validates && !domain && cannot_validate(virGetLastError()))
		domain = virDomainDefineXMLFlags(conn, xml, 0);
	return domain;
}

static int define_problem(const VirtCall *call, const char *name, Problem **ret_problem)
{
	int r = virt_problem(call, ret_problem, GPUPASS_ERROR_DEFINE_FAILED,
			     "libvirt refuses the new definition of domain %s", name);

	if (r == PROBLEM && (*ret_problem)->error == GPUPASS_ERROR_LIBVIRT_UNAVAILABLE)
		problem_state(
			*ret_problem,
			"libvirt went away while it defined %s; the domain's XML shows whether "
			"it did",
			name);
	return r;
}

/* *ret stays NULL where libvirt refuses: virGetLastError() has the reason. */
static int define_over(const VirtCall *call, virDomainPtr domain, const char *expected,
		       const char *xml, virDomainPtr *ret, Problem **ret_problem)
{
	const char *name = virt_domain_name(domain);
	_cleanup_free_ char *config = NULL;
	int defined_before = is_defined(domain);

	if (defined_before > 0)
		config = virDomainGetXMLDesc(domain,
					     VIR_DOMAIN_XML_SECURE | VIR_DOMAIN_XML_INACTIVE);
	if (defined_before < 0 || (defined_before > 0 && !config))
		return virt_read_problem(call, name, ret_problem);
	/*
	 * libvirt cannot compare and define in one call: this check makes the gap small, but does
	 * not close it.
	 */
	if (!config || !expected || !domain_xml_equivalent(config, expected))
		return stale(name, ret_problem);
	*ret = define(call->conn, xml);
	return 0;
}

int virt_domain_define(Virt *virt, const char *uuid, const char *expected, const char *xml,
		       Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	_cleanup_domain_ virDomainPtr domain = NULL, defined = NULL;
	int r = check_definition(uuid, xml, ret_problem);

	if (r != 0)
		return r;
	r = virt_call_begin_on(virt, uuid, &call, &domain, ret_problem);
	if (r != 0)
		return r;
	r = define_over(&call, domain, expected, xml, &defined, ret_problem);
	if (r == 0 && !defined && could_not_read_its_schema(virGetLastError())) {
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
		/* Somebody may have edited the domain meanwhile: look at it again, too. */
		r = define_over(&call, domain, expected, xml, &defined, ret_problem);
	}
	if (r == 0 && !defined)
		r = define_problem(&call, virt_domain_name(domain), ret_problem);
	virt_known_changed(virt, uuid); /* its event may come later than our next look */
	return r;
}
