/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bind/boot.h"

#include <fcntl.h>
#include <time.h>

#include "core/facts/kept.h"
#include "gpupass/dbus.h"
#include "host/scan/function.h"
#include "host/scan/record-files.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/text.h"

#define PEERS_PAUSE_NSEC (20 * 1000 * 1000)

/* Takes over `detail`. */
static void settle(BootFunction *f, BootOutcome outcome, char *detail)
{
	free(f->detail);
	f->outcome = outcome;
	f->detail = detail;
}

static void settle_error(BootFunction *f, const char *what, int error)
{
	if (error == -ENOENT || error == -ENODEV)
		settle(f, BOOT_MISSING, xstrdup("there is no device at this address"));
	else
		settle(f, BOOT_FAILED, strf("%s: %s", what, strerror(-error)));
}

static void settle_taken(BootFunction *f, const char *driver)
{
	settle(f, BOOT_TAKEN,
	       strf("%s had it first, and gpupass-bind unbinds no driver; 'gpupass bind %s' "
		    "takes it once nothing uses it (gpupass-bind(8), WHEN ANOTHER DRIVER IS "
		    "FIRST)",
		    driver, f->assignment ? f->assignment->group_name : "GROUP"));
}

/*
 * 1: another board. A missing board is not another one. Boards of one model have the same ids; only
 * the serial number shows that they changed places. *ret_same: it was compared.
 */
static int differs(const BootMachine *machine, const AssignedFunction *record, bool config_space,
		   bool *ret_same, char **ret_why)
{
	_cleanup_(pci_function_clear) PciFunction now = { .bdf = record->bdf };
	_cleanup_free_ char *serial = NULL, *change = NULL;
	int r = scan_ids(machine->sysfs_fd, &record->bdf, &now);

	if (r >= 0 && record->path)
		r = scan_upstream(machine->sysfs_fd, &now);
	if (r >= 0 && config_space && record->serial_number && assigned_function_is(record, &now))
		r = machine->serial_number(machine, &record->bdf, &serial);
	if (r == -ENOENT || r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	change = assigned_function_change(record, &now, serial);
	if (change)
		*ret_why = strf("%s %s; it is left alone", BDF_TEXT(&record->bdf), change);
	*ret_same = serial && !change;
	return change != NULL;
}

static bool is_companion(const AssignedFunction *record)
{
	return record->vendor != PCI_VENDOR_NVIDIA;
}

#define IS_EARLY 2

/*
 * IS_EARLY: its GPUs may come yet.
 *
 * A companion that no serial number tells from another one of its model is known by its place, as
 * differs() compares it, and by its company: where addresses have moved, the host's own NIC may
 * be there, but hardly in the same slot beside these GPUs.
 */
static int company_differs(const BootMachine *machine, const BootFunction *f, char **ret_why)
{
	for (size_t i = 0; f->assignment && i < f->assignment->n_functions; i++) {
		const AssignedFunction *record = &f->assignment->functions[i];
		_cleanup_free_ char *why = NULL;
		PciFunction now = { 0 };
		bool same = false;
		int r;

		if (is_companion(record))
			continue;
		r = scan_ids(machine->sysfs_fd, &record->bdf, &now);
		if (r == -ENOENT || r == -ENODEV) {
			why = strf("%s is not there; it is left alone", BDF_TEXT(&record->bdf));
			r = IS_EARLY;
		}
		if (r == 0)
			r = differs(machine, record, true, &same, &why);
		if (r > 0)
			*ret_why = strf("no serial number tells %s from others of its model, and "
					"its group is not as it was: %s",
					BDF_TEXT(&f->record->bdf), why);
		if (r != 0)
			return r;
	}
	return 0;
}

/*
 * Compares the whole board: a function whose own ids are unchanged (the audio of two models, say)
 * still belongs to another board if its neighbour's ids have changed.
 */
static int board_differs(const BootMachine *machine, const BootFunction *f, bool config_space,
			 char **ret_why)
{
	bool known = !config_space || !is_companion(f->record);

	for (size_t i = 0; f->assignment && i < f->assignment->n_functions; i++) {
		const AssignedFunction *record = &f->assignment->functions[i];
		bool same = false;
		int r;

		if (!bdf_same_slot(&record->bdf, &f->record->bdf))
			continue;
		r = differs(machine, record, config_space, &same, ret_why);
		if (r != 0)
			return r;
		known |= same && record == f->record;
	}
	return known ? 0 : company_differs(machine, f, ret_why);
}

/* The driver link decides. RESERVED: no driver has it. */
static void observe(const BootMachine *machine, BootFunction *f)
{
	_cleanup_free_ char *driver = NULL;
	int r = sysfs_read_driver(machine->sysfs_fd, &f->record->bdf, &driver);

	if (r < 0)
		settle_error(f, "cannot read its driver", r);
	else if (!driver)
		f->outcome = BOOT_RESERVED;
	else if (sysfs_on_vfio(machine->sysfs_fd, &f->record->bdf, driver))
		f->outcome = BOOT_BOUND;
	else
		settle_taken(f, driver);
}

/*
 * Checks one function, and sets its override if it is free and the recorded one. No driver takes a
 * VF without that (host/device/vfs.c), and with it vfio-pci would, before it has its rules.
 */
static void reserve(const BootMachine *machine, BootFunction *f)
{
	_cleanup_free_ char *why = NULL;
	int r;

	observe(machine, f);
	if (f->outcome == BOOT_MISSING || f->outcome == BOOT_FAILED)
		return;
	/* Reads config space only of a free function, because the read wakes the device up. */
	r = board_differs(machine, f, f->outcome == BOOT_RESERVED, &why);
	if (r < 0)
		settle_error(f, "cannot tell which board it is", r);
	else if (r > 0)
		settle(f, BOOT_CHANGED, TAKE_PTR(why));
	f->early = r == IS_EARLY;
	if (f->outcome != BOOT_RESERVED || sysfs_is_vf(machine->sysfs_fd, &f->record->bdf))
		return;
	r = driver_set_override(&machine->ops, machine->sysfs_fd, &f->record->bdf, BOOT_DRIVER);
	if (r < 0)
		settle_error(f, "cannot set driver_override", r);
	else
		observe(machine, f);
}

static bool driver_loaded(const BootMachine *machine)
{
	return faccessat(machine->sysfs_fd, SYSFS_PCI_DRIVERS "/" BOOT_DRIVER, F_OK, 0) == 0;
}

static void settle_probed(const BootMachine *machine, BootFunction *f, const char *error)
{
	observe(machine, f);
	if (f->outcome == BOOT_RESERVED)
		settle(f, BOOT_FAILED, xstrdup(error ? error : "no driver is bound"));
}

/*
 * Also one that something else has put on vfio-pci, which knows nothing of rules. false: it is not
 * to be bound.
 */
static bool rule(const BootMachine *machine, BootFunction *f)
{
	char *why;

	if (f->ruled || !sysfs_is_vf(machine->sysfs_fd, &f->record->bdf))
		return true;
	why = machine->rule_vf(machine->parts, &f->record->bdf);
	f->ruled = !why;
	if (why)
		settle(f, BOOT_FAILED, why);
	return f->ruled;
}

/* Probes all reserved functions at once. */
static void probe(const BootMachine *machine, BootReport *report)
{
	size_t n = boot_report_count(report, BOOT_RESERVED);
	_cleanup_free_ BootFunction **functions = xcalloc(n + 1, sizeof(BootFunction *));
	_cleanup_free_ Bdf *bdfs = xcalloc(n + 1, sizeof(Bdf));
	_cleanup_free_ char **errors = xcalloc(n + 1, sizeof(char *));

	n = 0;
	EACH (BootFunction, f, report->functions, report->n_functions) {
		if (f->outcome == BOOT_BOUND)
			(void)rule(machine, f);
		if (f->outcome != BOOT_RESERVED || !rule(machine, f))
			continue;
		functions[n] = f;
		bdfs[n++] = f->record->bdf;
	}
	machine->probe(machine, bdfs, n, errors);
	for (size_t i = 0; i < n; i++) {
		settle_probed(machine, functions[i], errors[i]);
		free(errors[i]);
	}
}

/*
 * A record of another version counts, too: its GPUs are a domain's, and not for the host's own
 * driver. It is used if it gives everything that is checked before a function is touched.
 */
static bool adopt(Assignments *all, const RecordFault *fault)
{
	Assignment *said = assignment_read_leniently(fault);

	if (!said)
		return false;
	*GROW(all->items, all->n_items) = said;
	return true;
}

/* The daemon reports files that were set aside. */
static void note_faults(Assignments *all, char ***notes)
{
	EACH (const RecordFault, fault, all->faults.items, all->faults.n_items) {
		_cleanup_free_ char *what = record_fault_what(fault);

		if (str_ends_with(fault->file, FILE_DAMAGED_SUFFIX))
			continue;
		strv_appendf(
			notes, "%s; %s", what,
			adopt(all, fault)
				? "the functions that can be read from it are bound all the same"
				: "the functions that it assigns are not bound");
	}
}

/* An assignment goes before a kept group: the board that it records is a domain's. */
static bool is_concerned(const Assignments *all, const Assignment *assignment, const Bdf *bdf)
{
	return assignment->kept == KEPT_NOT || !assignments_find_function(all, bdf);
}

static void list_functions_of(BootReport *report, const Assignment *assignment, const Bdf *only)
{
	EACH (const AssignedFunction, record, assignment->functions, assignment->n_functions) {
		if ((only && !bdf_equal(only, &record->bdf)) ||
		    !is_concerned(report->assignments, assignment, &record->bdf))
			continue;
		report->functions[report->n_functions++] = (BootFunction){
			.assignment = assignment,
			.record = record,
			.outcome = BOOT_FAILED,
		};
	}
}

/* One entry for each function to bind. */
static void list_functions(BootReport *report, const Bdf *only)
{
	const Assignments *all = report->assignments;
	size_t n = COUNT(all->items, all->n_items, (*it)->n_functions);

	for (size_t i = 0; i < all->n_kept; i++)
		n += all->kept[i]->n_functions;
	report->functions = xcalloc(n + 1, sizeof(BootFunction));
	for (size_t i = 0; i < all->n_items; i++)
		list_functions_of(report, all->items[i], only);
	for (size_t i = 0; i < all->n_kept; i++)
		list_functions_of(report, all->kept[i], only);
}

/*
 * Reserves the other functions of the group that has `only`. When udev has dealt with `only`,
 * it loads the driver that is usual for such a device (80-drivers.rules), and the kernel offers
 * that driver every device without one: also those of this group whose own events are still to
 * come. What goes wrong with them, their own events report. true: some of them are not there.
 */
static bool reserve_peers(const BootMachine *machine, const Assignments *all, const Bdf *only)
{
	const Assignment *assignment = assignments_find_function(all, only);
	bool missing = false;

	if (!assignment)
		assignment = kept_find_function(all, only);
	for (size_t i = 0; assignment && i < assignment->n_functions; i++) {
		BootFunction peer = {
			.assignment = assignment,
			.record = &assignment->functions[i],
			.outcome = BOOT_FAILED,
		};

		if (bdf_equal(&peer.record->bdf, only) ||
		    !is_concerned(all, assignment, &peer.record->bdf))
			continue;
		reserve(machine, &peer);
		missing |= peer.outcome == BOOT_MISSING;
		free(peer.detail);
	}
	return missing;
}

static Assignments *read_wishes(const BootWishes *wishes, char ***ret_notes)
{
	Assignments *all = xcalloc(1, sizeof(Assignments));
	RecordFaults kept = { 0 };

	if (wishes->assigned_fd >= 0)
		assignment_files_read(wishes->assigned_fd, all);
	note_faults(all, ret_notes);
	if (wishes->kept_fd >= 0)
		record_files_read(wishes->kept_fd, &kept_kind, kept_take, all, &kept);
	for (size_t i = 0; i < kept.n_items; i++)
		strv_append_take(ret_notes, record_fault_note(&kept.items[i]));
	record_faults_clear(&kept);
	return all;
}

bool boot_await_peers(const BootMachine *machine, const BootWishes *wishes, const Bdf *bdf,
		      uint64_t timeout_usec)
{
	const struct timespec pause = { .tv_nsec = PEERS_PAUSE_NSEC };
	uint64_t deadline = now_monotonic() + timeout_usec;
	_cleanup_strv_ char **notes = NULL; /* --device has told them */
	_cleanup_(assignments_freep) Assignments *all = read_wishes(wishes, &notes);

	while (reserve_peers(machine, all, bdf)) {
		if (now_monotonic() >= deadline)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

BootReport *boot_bind(const BootMachine *machine, const BootWishes *wishes, const Bdf *only)
{
	BootReport *report = xcalloc(1, sizeof(BootReport));

	report->assignments = read_wishes(wishes, &report->notes);
	list_functions(report, only);
	/* First all overrides, which no driver can delay; then the probes. */
	for (size_t i = 0; i < report->n_functions; i++)
		reserve(machine, &report->functions[i]);
	if (only)
		report->lacks_peers = reserve_peers(machine, report->assignments, only);
	if (driver_loaded(machine))
		probe(machine, report);
	return report;
}

void boot_bind_missing(const BootMachine *machine, BootReport *report)
{
	EACH (BootFunction, f, report->functions, report->n_functions) {
		if (f->outcome != BOOT_MISSING ||
		    !sysfs_has_function(machine->sysfs_fd, &f->record->bdf))
			continue;
		settle(f, BOOT_FAILED, NULL);
		reserve(machine, f);
	}
	if (driver_loaded(machine))
		probe(machine, report);
}

char *boot_probe(int sysfs_fd, const DriverOps *ops, const Bdf *bdf)
{
	const DriverTarget target = {
		.bdf = *bdf,
		.driver = BOOT_DRIVER,
		.driver_override = BOOT_DRIVER,
		.never_unbind = true,
	};
	_cleanup_(driver_result_clear) DriverResult result = { 0 };

	driver_move_with(ops, sysfs_fd, &target, &result);
	return result.error < 0
		       ? strf("%s: %s (dmesg may tell why)", driver_phase_to_string(result.phase),
			      strerror(-result.error))
		       : NULL;
}

size_t boot_report_count(const BootReport *report, BootOutcome outcome)
{
	return COUNT(report->functions, report->n_functions, it->outcome == outcome);
}

char *boot_function_text(const BootFunction *f)
{
	return strf("%s (%s, %s): %s%s%s", BDF_TEXT(&f->record->bdf), f->assignment->group_name,
		    f->assignment->domain_name ? f->assignment->domain_name : "kept",
		    boot_outcome_to_string(f->outcome), f->detail ? ": " : "",
		    str_or_empty(f->detail));
}

static json_t *function_to_json(const BootFunction *f)
{
	json_t *o = json_object();

	json_set_bdf(o, "bdf", &f->record->bdf);
	json_set(o, "group", json_text(f->assignment->group_name));
	json_set_text_if_any(o, "domain_uuid", f->assignment->domain_uuid);
	json_set(o, "outcome", json_text(boot_outcome_to_string(f->outcome)));
	json_set_text_if_any(o, "detail", f->detail);
	return o;
}

char *boot_report_to_json(const BootReport *report)
{
	_cleanup_json_ json_t *root = json_object();
	_cleanup_free_ char *text = NULL;

	json_set(root, "schema", json_text(GPUPASS_SCHEMA_BOOT));
	json_set(root, "functions",
		 JSON_ARRAY(report->functions, report->n_functions, function_to_json(it)));
	json_set(root, "notes", json_strv(report->notes));
	text = json_dumps(root, JSON_INDENT(2));
	return strf("%s\n", text);
}

#include "boot.inc"
