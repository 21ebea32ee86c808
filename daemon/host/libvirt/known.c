/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of all domains. To read a thousand takes 50 ms here, and as much in libvirtd, so
 * that only those are read again of which libvirt has told something. An event can be lost, and
 * some changes have none (virsh attach-device --config): who is about to write asks for a fresh
 * reading.
 *
 * What domains use. Each round trip to libvirt costs as much as skimming its answer, so what
 * libvirt tells of all domains at once is not asked of each: a shut off domain costs one call, a
 * running one two.
 */
#include "host/libvirt/virt.h"

#include "core/domain/xml.h"
#include "host/libvirt/call.h"
#include "host/libvirt/libvirt.h"
#include "util/mutex.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- reading ---- */

typedef struct Listed {
	const VirtCall *call;
	virDomainPtr *domains;
	virDomainPtr *transient; /* those that have no definition; NULL with !transient_known */
	bool transient_known;	 /* a driver without this filter is asked of each domain */
} Listed;

static void list_free(virDomainPtr *list)
{
	for (virDomainPtr *d = list; d && *d; d++)
		virDomainFree(*d);
	free(list);
}

static void listed_clear(Listed *listed)
{
	list_free(listed->domains);
	list_free(listed->transient);
}

/* Only a running domain may have no definition. */
static void list_transient(Listed *listed)
{
	bool active = false;

	for (virDomainPtr *d = listed->domains; d && *d; d++)
		active |= virt_was_active(*d);
	listed->transient_known =
		!active || virConnectListAllDomains(listed->call->conn, &listed->transient,
						    VIR_CONNECT_LIST_DOMAINS_TRANSIENT) >= 0;
}

static bool same_domain(virDomainPtr a, virDomainPtr b)
{
	unsigned char x[VIR_UUID_BUFLEN], y[VIR_UUID_BUFLEN];

	return virDomainGetUUID(a, x) == 0 && virDomainGetUUID(b, y) == 0 &&
	       memcmp(x, y, sizeof(x)) == 0;
}

/* < 0: libvirt does not say. */
static int is_defined(const Listed *listed, virDomainPtr domain)
{
	if (!virt_was_active(domain))
		return 1;
	if (!listed->transient_known)
		return virDomainIsPersistent(domain);
	for (virDomainPtr *d = listed->transient; d && *d; d++)
		if (same_domain(*d, domain))
			return 0;
	return 1;
}

/*
 * "<domain type='kvm' id='3'>": of a domain that runs. Nothing in this tag is for a user to choose.
 */
static bool is_live(const char *xml)
{
	const char *tag = strstr(xml, "<domain"), *id = tag ? strstr(tag, " id='") : NULL;

	return id && id < tag + strcspn(tag, ">");
}

/*
 * The XML of a domain that was shut off when it was listed says whether it has been started since.
 * Then it has a live XML, too.
 */
static int read_xml(const Listed *listed, virDomainPtr domain, char **ret_live, char **ret_config)
{
	_cleanup_free_ char *live = NULL, *config = NULL;
	int defined = is_defined(listed, domain);

	if (defined < 0)
		return -EIO;
	live = virDomainGetXMLDesc(domain, 0);
	if (!live)
		return -EIO;
	if (!virt_was_active(domain) && !is_live(live)) {
		*ret_config = TAKE_PTR(live);
		return 0;
	}
	if (defined) {
		config = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE);
		if (!config)
			return -EIO;
	}
	*ret_live = TAKE_PTR(live);
	*ret_config = TAKE_PTR(config);
	return 0;
}

/* What core/domain/xml.h found wrong with an XML; the cause is the specific part. */
static const char *xml_fault(const Problem *problem)
{
	return problem->cause ? problem->cause : problem->reason;
}

/*
 * A domain whose XML libvirt cannot send, or we do not understand, may hold any function. List it
 * as unread, so that it does not count as gone or as a domain without devices, and the other
 * domains stay known.
 */
static int add_unread(virDomainPtr domain, DomainUses *uses, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *why = TAKE_PTR(*ret_problem);
	DomainUse *use = &uses->items[uses->n_items];
	char uuid[VIR_UUID_STRING_BUFLEN];

	if (virDomainGetUUIDString(domain, uuid) < 0)
		return -EIO;
	uses->n_items++;
	*use = (DomainUse){
		/* If it is unknown whether it runs, assume that it does. */
		.active = virDomainIsActive(domain) != 0,
		.persistent = virDomainIsPersistent(domain) == 1,
		.uuid = xstrdup(uuid),
		.name = xstrdup(virt_domain_name(domain)),
		.unread = xstrdup(xml_fault(why)),
	};
	return 0;
}

/* Appends the domain's use; nothing for a domain that has vanished meanwhile. */
static int add_use(const Listed *listed, virDomainPtr domain, DomainUses *uses,
		   Problem **ret_problem)
{
	const char *name = virt_domain_name(domain);
	_cleanup_free_ char *live = NULL, *config = NULL;
	int r;

	if (read_xml(listed, domain, &live, &config) < 0) {
		if (virt_error_is_no_domain())
			return 0;
		r = virt_read_problem(listed->call, name, ret_problem);
		/* Any other problem is about libvirt, not about this domain. */
		return r == PROBLEM && (*ret_problem)->error == GPUPASS_ERROR_LIBVIRT_FAILED
			       ? add_unread(domain, uses, ret_problem)
			       : r;
	}
	r = domain_use_from_xml(live, config, &uses->items[uses->n_items], ret_problem);
	if (r == PROBLEM)
		return add_unread(domain, uses, ret_problem);
	if (r < 0)
		return r;
	uses->n_items++;
	return 0;
}

/* ---- migrated away ---- */

/*
 * libvirt remembers this until its next restart. A driver that does not report it has no migration.
 */
static bool says_migrated(int state, int reason)
{
	return state == VIR_DOMAIN_SHUTOFF && reason == VIR_DOMAIN_SHUTOFF_MIGRATED;
}

static bool was_migrated(const Listed *listed, const char *uuid)
{
	int state = VIR_DOMAIN_NOSTATE, reason = 0;
	virDomainPtr domain = NULL;
	bool migrated;

	for (virDomainPtr *d = listed->domains; !domain && d && *d; d++) {
		char text[VIR_UUID_STRING_BUFLEN];

		if (virDomainGetUUIDString(*d, text) == 0 && strcmp(text, uuid) == 0)
			domain = *d;
	}
	migrated = domain && virDomainGetState(domain, &state, &reason, 0) == 0 &&
		   says_migrated(state, reason);
	return migrated;
}

static void note_migrated(const virDomainStatsRecord *record, DomainUses *uses)
{
	int state = VIR_DOMAIN_NOSTATE, reason = 0;
	char uuid[VIR_UUID_STRING_BUFLEN];

	(void)virTypedParamsGetInt(record->params, record->nparams, "state.state", &state);
	(void)virTypedParamsGetInt(record->params, record->nparams, "state.reason", &reason);
	if (!says_migrated(state, reason) || virDomainGetUUIDString(record->dom, uuid) < 0)
		return;
	for (size_t i = 0; i < uses->n_items; i++)
		if (!uses->items[i].active && !uses->items[i].unread &&
		    str_equal(uses->items[i].uuid, uuid))
			uses->items[i].migrated = true;
}

/* Comes after their XML, as what is asked of each did. The state waits for no guest's monitor. */
static void find_migrated(const Listed *listed, DomainUses *uses)
{
	virDomainStatsRecordPtr *records = NULL;
	int n;
	bool shut_off = SOME(uses->items, uses->n_items, !it->active && !it->unread);

	if (!shut_off)
		return;
	n = virConnectGetAllDomainStats(listed->call->conn, VIR_DOMAIN_STATS_STATE, &records,
					VIR_CONNECT_GET_ALL_DOMAINS_STATS_INACTIVE);
	for (int i = 0; i < n; i++)
		note_migrated(records[i], uses);
	if (n >= 0)
		virDomainStatsRecordListFree(records);
	/* A driver without this call is asked of each. */
	for (size_t i = 0; n < 0 && i < uses->n_items; i++)
		if (!uses->items[i].active && !uses->items[i].unread)
			uses->items[i].migrated = was_migrated(listed, uses->items[i].uuid);
}

static int read_all(const VirtCall *call, DomainUses **ret, Problem **ret_problem)
{
	_cleanup_(listed_clear) Listed listed = { .call = call };
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	int n, r;

	n = virConnectListAllDomains(call->conn, &listed.domains, 0);
	if (n < 0)
		return virt_problem(call, ret_problem, GPUPASS_ERROR_LIBVIRT_FAILED,
				    "libvirt could not list its domains");
	list_transient(&listed);
	uses = xcalloc(1, sizeof(*uses));
	uses->items = xcalloc((size_t)n + 1, sizeof(*uses->items));
	for (int i = 0; i < n; i++) {
		r = add_use(&listed, listed.domains[i], uses, ret_problem);
		if (r != 0)
			return r;
	}
	find_migrated(&listed, uses);
	*ret = TAKE_PTR(uses);
	return 0;
}

/* Appends it to `into`, which has room for one more; nothing if there is no such domain. */
static int read_one(const VirtCall *call, const char *uuid, DomainUses *into, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *missing = NULL;
	_cleanup_domain_ virDomainPtr domain = NULL;
	virDomainPtr list[] = { NULL, NULL };
	const Listed listed = { .call = call, .domains = list };
	size_t before = into->n_items;
	DomainUse *use;
	int r = virt_lookup_uuid(call, uuid, &domain, &missing);

	if (r == PROBLEM && missing->error == GPUPASS_ERROR_NO_SUCH_DOMAIN)
		return 0;
	if (r != 0) {
		*ret_problem = TAKE_PTR(missing);
		return r;
	}
	list[0] = domain;
	r = add_use(&listed, domain, into, ret_problem);
	if (r != 0 || into->n_items == before)
		return r;
	use = &into->items[before];
	use->migrated = !use->active && !use->unread && was_migrated(&listed, uuid);
	return 0;
}

/* ---- what is known ---- */

void virt_known_init(VirtKnown *known)
{
	pthread_mutex_init(&known->reading, NULL);
	pthread_mutex_init(&known->lock, NULL);
}

void virt_known_done(VirtKnown *known)
{
	domain_uses_free(known->uses);
	pthread_mutex_destroy(&known->reading);
	pthread_mutex_destroy(&known->lock);
}

static bool is_listed(const VirtChanges *changes, const char *uuid)
{
	return SOME(changes->uuids, changes->n, strcmp(*it, uuid) == 0);
}

void virt_known_changed(Virt *virt, const char *uuid)
{
	VirtChanges *changes = &virt->known.changes;
	MUTEX_HOLD(&virt->known.lock);

	if (!uuid || (!is_listed(changes, uuid) && changes->n == ELEMENTS(changes->uuids)))
		changes->all = true;
	else if (!is_listed(changes, uuid))
		snprintf(changes->uuids[changes->n++], VIR_UUID_STRING_BUFLEN, "%s", uuid);
}

/* What changes from here on is in the next ones, though this reading may see it. */
static VirtChanges take_changes(VirtKnown *known)
{
	MUTEX_HOLD(&known->lock);
	const VirtChanges changes = known->changes;

	known->changes = (VirtChanges){ .asked = changes.asked };
	return changes;
}

/* Whoever waits for a reading that began before it asked has the next one made, once for all. */
static uint64_t ask(VirtKnown *known)
{
	MUTEX_HOLD(&known->lock);

	return ++known->changes.asked;
}

/* One whose XML could not be read may be read now. */
static bool stays(const VirtChanges *changes, const DomainUse *use)
{
	return !use->unread && !is_listed(changes, use->uuid);
}

static int read_changed(const VirtCall *call, const VirtChanges *changes, DomainUses **uses,
			Problem **ret_problem)
{
	_cleanup_(domain_uses_freep) DomainUses *now = NULL;
	const DomainUses *then = *uses;
	size_t unread = 0;
	int r = 0;

	for (size_t i = 0; i < then->n_items; i++)
		unread += then->items[i].unread != NULL;
	if (changes->n == 0 && unread == 0)
		return 0;
	now = xcalloc(1, sizeof(DomainUses));
	now->items = xcalloc(then->n_items + changes->n + 1, sizeof(DomainUse));
	for (size_t i = 0; i < then->n_items; i++)
		if (stays(changes, &then->items[i]))
			domain_use_copy(&then->items[i], &now->items[now->n_items++]);
	for (size_t i = 0; r == 0 && i < changes->n; i++)
		r = read_one(call, changes->uuids[i], now, ret_problem);
	for (size_t i = 0; r == 0 && i < then->n_items; i++)
		if (then->items[i].unread && !is_listed(changes, then->items[i].uuid))
			r = read_one(call, then->items[i].uuid, now, ret_problem);
	if (r != 0)
		return r;
	domain_uses_free(*uses);
	*uses = TAKE_PTR(now);
	return 0;
}

/* Holds `reading`. */
static int renew(const VirtCall *call, uint64_t asked, Problem **ret_problem)
{
	VirtKnown *known = &call->virt->known;
	const VirtChanges changes = take_changes(known);
	int r;

	if (known->uses && known->connection == call->connection && !changes.all &&
	    known->answers >= asked) {
		r = read_changed(call, &changes, &known->uses, ret_problem);
	} else {
		known->uses = domain_uses_free(known->uses);
		r = read_all(call, &known->uses, ret_problem);
		known->answers = changes.asked;
		known->connection = call->connection;
	}
	if (r != 0) /* the changes are no longer listed */
		known->uses = domain_uses_free(known->uses);
	return r;
}

int virt_domain_uses(Virt *virt, bool fresh, DomainUses **ret, Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	uint64_t asked = fresh ? ask(&virt->known) : 0;
	int r = virt_call_begin(virt, &call, ret_problem);

	if (r != 0)
		return r;
	MUTEX_HOLD(&virt->known.reading);
	r = renew(&call, asked, ret_problem);
	if (r == 0)
		*ret = domain_uses_ref(virt->known.uses);
	return r;
}
