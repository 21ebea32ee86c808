/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine itself: making it, changing it from outside, and seeing all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>

#include "domains.h"
#include "fake-host-private.h"
#include "snapshot-read.h"
#include "util/xalloc.h"

Bdf fake_parse_bdf(const char *text)
{
	Bdf bdf = { 0 };

	if (bdf_parse(text, &bdf) < 0)
		fail_msg("%s is no address", text);
	return bdf;
}

size_t fake_find_function(const FakeHost *fake, const Bdf *bdf)
{
	for (size_t i = 0; i < fake->snapshot->n_functions; i++)
		if (bdf_equal(&fake->snapshot->functions[i]->bdf, bdf))
			return i;
	return SIZE_MAX;
}

void fake_set_text(char **to, const char *from)
{
	char *copy = xstrdup(from);

	free(*to);
	*to = copy;
}

void fake_take_text(char **to, char *text)
{
	assert_non_null(text);
	free(*to);
	*to = text;
}

#define MORE(list, from, n)                                                                        \
	do {                                                                                       \
		list = reallocarray(list, n, sizeof(*list));                                       \
		assert_non_null(list);                                                             \
		memset(&list[from], 0, ((n) - (from)) * sizeof(*list));                            \
	} while (false)

/* For the functions behind the first ones. */
static void make_room(FakeHost *fake, size_t from)
{
	size_t n = fake->snapshot->n_functions;

	MORE(fake->overrides, from, n);
	MORE(fake->boot_drivers, from, n);
	MORE(fake->stuck, from, n);
	MORE(fake->gone, from, n);
	MORE(fake->wake, from, n);
	MORE(fake->persistence, from, n);
	MORE(fake->kept, from, n);
	MORE(fake->used, from, n);
}

void fake_init(FakeHost *fake, const char *fixture)
{
	fake_init_with(fake, fixture, NULL);
}

void fake_init_with(FakeHost *fake, const char *fixture, const char *function)
{
	_cleanup_free_ char *path = strf("%s/hosts/%s.json", FIXTURES, fixture);
	_cleanup_free_ char *text = NULL, *message = NULL;
	size_t size = 0;

	*fake = (FakeHost){ .host = { .ops = &fake_ops, .machine = fake } };
	pthread_mutex_init(&fake->lock, NULL);
	if (file_read_at(AT_FDCWD, path, 1024 * 1024, &text, &size) < 0)
		fail_msg("no fixture %s", path);
	if (function) {
		*strrchr(text, ']') = '\0';
		fake_take_text(&text, strf("%s, %s ]}", text, function));
		size = strlen(text);
	}
	if (pci_snapshot_from_json(text, size, &fake->snapshot, &message) < 0)
		fail_msg("no fixture %s: %s", path, str_or_empty(message));
	make_room(fake, 0);
	for (size_t i = 0; i < fake->snapshot->n_functions; i++)
		fake_set_text(&fake->boot_drivers[i], fake->snapshot->functions[i]->driver);
}

static void add_nic(FakeHost *fake, const char *address, int iommu_group)
{
	const Bdf bdf = fake_parse_bdf(address);
	PciFunction *nic = xcalloc(1, sizeof(*nic));
	PciSnapshot *before = fake->snapshot;
	size_t n = before->n_functions;

	*nic = (PciFunction){
		.bdf = bdf,
		.class_code = 0x020000,
		.vendor = 0x8086,
		.device = 0x1563,
		.driver = xstrdup("ixgbe"),
		.reset_methods = xstrdup("flr bus"),
		.iommu_group = iommu_group,
		.numa_node = 1,
	};
	fake->snapshot = pci_snapshot_replace(before, &bdf, 1, nic, 1);
	pci_snapshot_free(before);
	assert_true(bdf_equal(&fake->snapshot->functions[n]->bdf, &bdf));
	make_room(fake, n);
	fake_set_text(&fake->boot_drivers[n], "ixgbe");
}

void fake_add_nics(FakeHost *fake)
{
	static const char *const nics[] = { FAKE_NICS };

	for (size_t i = 0; i < ELEMENTS(nics); i++)
		add_nic(fake, nics[i], 225 + (int)i);
}

static void domain_clear(FakeDomain *domain)
{
	free(domain->uuid);
	free(domain->name);
	free(domain->config_xml);
	free(domain->live_xml);
}

void fake_done(FakeHost *fake)
{
	for (size_t i = 0; i < fake->snapshot->n_functions; i++) {
		free(fake->overrides[i]);
		free(fake->boot_drivers[i]);
	}
	free(fake->overrides);
	free(fake->boot_drivers);
	free(fake->stuck);
	free(fake->gone);
	free(fake->wake);
	free(fake->persistence);
	free(fake->kept);
	free(fake->used);
	pci_snapshot_free(fake->snapshot);
	for (size_t i = 0; i < fake->n_domains; i++)
		domain_clear(&fake->domains[i]);
	free(fake->domains);
	domain_uses_free(fake->known);
	for (size_t i = 0; i < fake->n_holders; i++)
		free(fake->holders[i].command);
	free(fake->holders);
	strv_free(fake->log);
	strv_free(fake->violations);
	pthread_mutex_destroy(&fake->lock);
}

/* The fixture with the name and the end of the UUID replaced. */
static char *domain_text(const char *fixture, const char *name)
{
	_cleanup_free_ char *text = domain_fixture(fixture);

	for (char *at = text; (at = strstr(at, "vm42")); at += strlen(name))
		memcpy(at, name, strlen(name));
	for (char *at = text; (at = strstr(at, "4242")); at += 4) {
		memcpy(at, name + 2, 2);
		memcpy(at + 2, name + 2, 2);
	}
	return fake_xml_canonical(text);
}

FakeDomain *fake_add_domain(FakeHost *fake, const char *name, const char *config, const char *live)
{
	FakeDomain *domain, *bigger;

	assert_int_equal(strlen(name), strlen("vm42"));
	bigger = reallocarray(fake->domains, fake->n_domains + 1, sizeof(FakeDomain));
	assert_non_null(bigger);
	fake->domains = bigger;
	domain = &bigger[fake->n_domains++];
	*domain = (FakeDomain){
		.name = strdup(name),
		.uuid = strf("3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f%s%s", name + 2, name + 2),
		.config_xml = domain_text(config, name),
		.live_xml = live ? domain_text(live, name) : NULL,
	};
	return domain;
}

FakeDomain *fake_domain(FakeHost *fake, const char *name)
{
	for (size_t i = 0; i < fake->n_domains; i++)
		if (str_equal(fake->domains[i].name, name))
			return &fake->domains[i];
	return NULL;
}

FakeDomain *fake_domain_of(FakeHost *fake, const char *uuid)
{
	for (size_t i = 0; i < fake->n_domains; i++)
		if (str_equal(fake->domains[i].uuid, uuid))
			return &fake->domains[i];
	return NULL;
}

void fake_watch(FakeHost *fake)
{
	pthread_mutex_lock(&fake->lock);
	memset(fake->calls, 0, sizeof(fake->calls));
	fake->searches = fake->fresh_uses = 0;
	fake->log = strv_free(fake->log);
	fake->n_faults = fake->n_move_faults = 0;
	fake->reset_fault = (FakeResetFault){ 0 };
	fake->nvml_fault = (FakeNvmlFault){ 0 };
	fake->broken_from = 0;
	fake->hook = NULL;
	pthread_mutex_unlock(&fake->lock);
}

void fake_all_gone(FakeHost *fake, bool gone)
{
	pthread_mutex_lock(&fake->lock);
	for (size_t i = 0; i < fake->snapshot->n_functions; i++)
		fake->gone[i] = gone;
	pthread_mutex_unlock(&fake->lock);
}

void fake_fail(FakeHost *fake, const FakeFault *fault)
{
	assert_true(fake->n_faults < ELEMENTS(fake->faults));
	fake->faults[fake->n_faults++] = *fault;
}

void fake_fail_move(FakeHost *fake, const FakeMoveFault *fault)
{
	assert_true(fake->n_move_faults < ELEMENTS(fake->move_faults));
	fake->move_faults[fake->n_move_faults++] = *fault;
}

unsigned fake_write_calls(const FakeHost *fake)
{
	return fake->calls[FAKE_MOVE] + fake->calls[FAKE_RESET] + fake->calls[FAKE_ERASE] +
	       fake->calls[FAKE_VFS] + fake->calls[FAKE_DEFINE] + fake->calls[FAKE_ATTACH] +
	       fake->calls[FAKE_DETACH] + fake->calls[FAKE_SET_PERSISTENCE];
}

void fake_hold(FakeHost *fake, const char *bdf, const char *command)
{
	Holder *bigger = reallocarray(fake->holders, fake->n_holders + 1, sizeof(Holder));

	assert_non_null(bigger);
	fake->holders = bigger;
	bigger[fake->n_holders++] =
		(Holder){ .bdf = fake_parse_bdf(bdf), .command = strdup(command) };
}

void fake_set_driver(FakeHost *fake, const char *bdf, const char *driver, const char *override)
{
	Bdf parsed = fake_parse_bdf(bdf);
	size_t i = fake_find_function(fake, &parsed);

	assert_true(i != SIZE_MAX);
	if (!str_equal(fake->snapshot->functions[i]->driver, driver))
		fake->persistence[i] = fake->kept[i] = false;
	fake_set_text(&fake->snapshot->functions[i]->driver, driver);
	fake_set_text(&fake->overrides[i], override);
}

void fake_sleep(FakeHost *fake, const char *bdf, FakeWake wake)
{
	Bdf function = fake_parse_bdf(bdf);
	size_t i = fake_find_function(fake, &function);

	assert_true(i != SIZE_MAX);
	fake->wake[i] = wake;
}

/*
 * The driver core wakes a device before it unbinds and before it probes; whether that failed it
 * does not ask (drivers/base/dd.c, drivers/pci/pci-driver.c).
 */
const FakeMoveFault *fake_wake_fault(FakeWake wake, const DriverTarget *target)
{
	static const FakeMoveFault taken = { .phase = DRIVER_PHASE_VERIFY,
					     .error = -ENODEV,
					     .binds = true };
	static const FakeMoveFault refused = { .phase = DRIVER_PHASE_PROBE, .error = -EIO };
	static const FakeMoveFault hangs = { .phase = DRIVER_PHASE_UNBIND, .never_returns = true };

	if (wake == FAKE_WAKE_HANGS)
		return &hangs;
	if (wake == FAKE_WAKES || !target->driver)
		return NULL;
	return str_equal(target->driver, "vfio-pci") ? &taken : &refused;
}

void fake_set_persistence_mode(FakeHost *fake, const char *bdf, bool on)
{
	Bdf parsed = fake_parse_bdf(bdf);
	size_t i = fake_find_function(fake, &parsed);

	assert_true(i != SIZE_MAX);
	assert_string_equal(fake->snapshot->functions[i]->driver, "nvidia");
	fake->persistence[i] = on;
}

void fake_keep(FakeHost *fake, const char *bdf)
{
	Bdf parsed = fake_parse_bdf(bdf);

	fake_set_persistence_mode(fake, bdf, true);
	fake->kept[fake_find_function(fake, &parsed)] = true;
}

void fake_vanish(FakeHost *fake, const char *bdf)
{
	Bdf parsed = fake_parse_bdf(bdf);

	fake->gone[fake_find_function(fake, &parsed)] = true;
}

void fake_start(FakeHost *fake, const char *name)
{
	FakeDomain *domain = fake_domain(fake, name);

	fake_set_text(&domain->live_xml, domain->config_xml);
}

void fake_shut_off(FakeHost *fake, const char *name)
{
	fake_set_text(&fake_domain(fake, name)->live_xml, NULL);
}

void fake_reboot(FakeHost *fake)
{
	for (size_t i = 0; i < fake->n_domains; i++)
		fake_set_text(&fake->domains[i].live_xml, NULL);
	for (size_t i = 0; i < fake->snapshot->n_functions; i++) {
		fake_set_text(&fake->snapshot->functions[i]->driver, fake->boot_drivers[i]);
		fake_set_text(&fake->overrides[i], NULL);
		fake->stuck[i] = fake->used[i] = false;
		fake->persistence[i] = fake->kept[i] = false;
	}
	fake->hides_vfs |= fake->made_vfs;
	fake->spoof_check &= !fake->made_vfs;
	fake->autoprobe_off = fake->made_vfs = false;
}

void fake_undefine(FakeHost *fake, const char *name)
{
	FakeDomain *domain = fake_domain(fake, name);

	domain_clear(domain);
	*domain = fake->domains[--fake->n_domains];
}

void fake_set_config(FakeHost *fake, const char *name, const char *xml)
{
	FakeDomain *domain = fake_domain(fake, name);

	if (domain)
		fake_set_text(&domain->config_xml, xml);
}

void fake_redefine(FakeHost *fake, const char *name, const char *config)
{
	fake_take_text(&fake_domain(fake, name)->config_xml, domain_text(config, name));
}

void fake_rename(FakeHost *fake, const char *name, const char *new_name)
{
	FakeDomain *domain = fake_domain(fake, name);

	fake_take_text(&domain->config_xml, fake_xml_rename(domain->config_xml, new_name));
	if (domain->live_xml)
		fake_take_text(&domain->live_xml, fake_xml_rename(domain->live_xml, new_name));
	fake_set_text(&domain->name, new_name);
}

void fake_attach_to_definition(FakeHost *fake, const char *name, const char *bdf)
{
	FakeDomain *domain = fake_domain(fake, name);
	Bdf function = fake_parse_bdf(bdf);
	_cleanup_free_ char *hostdev = domain_xml_hostdev("other", 0, &function);

	fake_take_text(&domain->config_xml, fake_xml_attach(domain->config_xml, hostdev));
}

void fake_unplug(FakeHost *fake, const char *name, const char *bdf)
{
	FakeDomain *domain = fake_domain(fake, name);
	Bdf function = fake_parse_bdf(bdf);

	fake_take_text(&domain->config_xml, fake_xml_detach(domain->config_xml, &function));
}

void fake_unplug_live(FakeHost *fake, const char *name, const char *bdf)
{
	FakeDomain *domain = fake_domain(fake, name);
	Bdf function = fake_parse_bdf(bdf);

	fake_take_text(&domain->live_xml, fake_xml_detach(domain->live_xml, &function));
}

void fake_hold_by_guest(FakeHost *fake, const char *bdf)
{
	fake_hold(fake, bdf, "qemu-system-x86");
	fake->holders[fake->n_holders - 1].vfio = true;
}

void fake_let_go(FakeHost *fake)
{
	while (fake->n_holders > 0)
		free(fake->holders[--fake->n_holders].command);
}

void fake_edit_hostdevs(FakeHost *fake, const char *name)
{
	FakeDomain *domain = fake_domain(fake, name);

	fake_take_text(&domain->config_xml, fake_xml_unmark(domain->config_xml));
}

void fake_retitle(FakeHost *fake, const char *name, const char *title)
{
	FakeDomain *domain = fake_domain(fake, name);

	fake_take_text(&domain->config_xml, fake_xml_retitle(domain->config_xml, title));
}

/* ---- the world as text ---- */

static void write_file(FILE *into, int dir_fd, const char *name)
{
	_cleanup_free_ char *content = NULL;
	int r = file_read_at(dir_fd, name, 1024 * 1024, &content, NULL);

	fprintf(into, "file %s: %s\n", name, r < 0 ? strerror(-r) : content);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Also what begins with a dot: a temporary file left behind is a change, too. */
static void write_files(FILE *into, int dir_fd)
{
	_cleanup_closedir_ DIR *dir = fdopendir(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY));
	_cleanup_strv_ char **names = NULL;
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			strv_append(&names, entry->d_name);
	if (names)
		qsort(names, strv_length(names), sizeof(char *), compare_names);
	for (char **name = names; name && *name; name++)
		write_file(into, dir_fd, *name);
}

static void write_xml(FILE *into, const char *what, const char *xml)
{
	_cleanup_free_ char *canonical = xml ? fake_xml_canonical(xml) : NULL;

	fprintf(into, "%s %s\n", what, xml ? canonical : "none");
}

char *fake_world(const FakeHost *fake, int dir_fd)
{
	char *text = NULL;
	size_t size = 0;
	FILE *into = open_memstream(&text, &size);

	assert_non_null(into);
	for (size_t i = 0; i < fake->snapshot->n_functions; i++)
		fprintf(into, "function %s driver %s override %s%s%s\n",
			BDF_TEXT(&fake->snapshot->functions[i]->bdf),
			str_or_empty(fake->snapshot->functions[i]->driver),
			str_or_empty(fake->overrides[i]), fake->gone[i] ? " gone" : "",
			fake->persistence[i] ? " persistence on" : "");
	if (fake->hides_vfs || fake->spoof_check || fake->autoprobe_off)
		fprintf(into, "VFs%s%s%s\n", fake->hides_vfs ? " hidden" : "",
			fake->spoof_check ? " checked" : "",
			fake->autoprobe_off ? " for no driver" : "");
	for (size_t i = 0; i < fake->n_domains; i++) {
		fprintf(into, "domain %s %s\n", fake->domains[i].name, fake->domains[i].uuid);
		write_xml(into, "config", fake->domains[i].config_xml);
		write_xml(into, "live", fake->domains[i].live_xml);
	}
	write_files(into, dir_fd);
	fclose(into);
	return text;
}
