/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/domain/xml.h"
#include "core/pci/driver-name.h"
#include "fake-host-private.h"
#include "guests.h"
#include "snapshot-read.h"
#include "util/grow.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(fake_op, FakeOp, FAKE_OPS)

#define WORKER_PID 4711

static FakeHost *fake_of(Host *host)
{
	return host->machine;
}

static const FakeDomain *domain_running_with(const FakeHost *fake, const Bdf *bdf)
{
	for (size_t i = 0; i < fake->n_domains; i++)
		if (fake_xml_has(fake->domains[i].live_xml, bdf))
			return &fake->domains[i];
	return NULL;
}

/* ---- faults ---- */

static const FakeFault broken_driver = { .error = -EIO };
static const FakeFault broken_libvirt = { .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };

static bool is_write(FakeOp op)
{
	return op == FAKE_MOVE || op == FAKE_RESET || op == FAKE_VFS || op == FAKE_DEFINE ||
	       op == FAKE_ATTACH || op == FAKE_DETACH || op == FAKE_SET_PERSISTENCE;
}

void fake_pass_point(FakeHost *fake)
{
	if (fake->point)
		fake->point(fake);
}

const FakeFault *fake_enter(FakeHost *fake, FakeOp op)
{
	unsigned nth;

	fake_pass_point(fake);
	pthread_mutex_lock(&fake->lock);
	nth = ++fake->calls[op];
	if (fake->hook)
		fake->hook(fake, op, nth);
	if (fake->broken_from > 0 && is_write(op) && fake_write_calls(fake) >= fake->broken_from)
		return op == FAKE_MOVE || op == FAKE_RESET || op == FAKE_VFS ||
				       op == FAKE_SET_PERSISTENCE
			       ? &broken_driver
			       : &broken_libvirt;
	for (size_t i = 0; i < fake->n_faults; i++) {
		const FakeFault *fault = &fake->faults[i];

		if (fault->op == op &&
		    (fault->nth == nth || (fault->from_then_on && nth > fault->nth)))
			return fault;
	}
	return NULL;
}

int fake_leave(FakeHost *fake, int r)
{
	pthread_mutex_unlock(&fake->lock);
	fake_pass_point(fake);
	return r;
}

static int fault_result(const FakeFault *fault, Problem **ret_problem)
{
	if (fault->error < 0)
		return fault->error;
	return problem_set(ret_problem, fault->problem, "it fails as it was told to");
}

/* ---- operations ---- */

/* Nothing is known of it but what it has in PCI functions, unless a test wants more. */
static HostFacts *fake_facts(Host *host)
{
	HostFacts *facts = xcalloc(1, sizeof(HostFacts));

	facts->libvirt_version = LIBVIRT_VERSION(9, 0);
	if (fake_of(host)->two_nodes) {
		facts->physical_bits = 46;
		facts->memory_bytes = 512ULL << 30;
		facts->nodes = calloc(2, sizeof(HostNode));
		facts->n_nodes = 2;
		for (unsigned i = 0; i < 2; i++)
			facts->nodes[i] = (HostNode){
				.node = i,
				.cpus = strdup(i == 0 ? "0-31" : "32-63"),
				.memory_bytes = 256ULL << 30,
			};
	}
	if (fake_of(host)->new_libvirt) {
		facts->libvirt_version = LIBVIRT_VERSION(8, 2);
		facts->hypervisor_version = LIBVIRT_VERSION(8, 1);
	}
	return facts;
}

static void hide_vfs(PciSnapshot **snapshot)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *all = *snapshot;
	_cleanup_free_ Bdf *vfs = xcalloc(all->n_virtuals + 1, sizeof(Bdf));

	for (size_t i = 0; i < all->n_virtuals; i++)
		vfs[i] = all->virtuals[i]->bdf;
	*snapshot = pci_snapshot_replace(all, vfs, all->n_virtuals, NULL, 0);
}

static int fake_scan(Host *host, PciSnapshot **ret)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_SCAN);
	_cleanup_free_ char *json = NULL, *message = NULL;

	if (fault)
		return fake_leave(fake, fault->error);
	json = pci_snapshot_to_json(fake->snapshot);
	assert_int_equal(pci_snapshot_from_json(json, strlen(json), ret, &message), 0);
	if (fake->hides_vfs)
		hide_vfs(ret);
	return fake_leave(fake, 0);
}

static int fake_scan_changed(Host *host, const PciSnapshot *before, const Bdf *changed, size_t n,
			     PciSnapshot **ret)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *now = NULL;
	PciFunction *functions = xcalloc(n + 1, sizeof(PciFunction));
	size_t found = 0;

	assert_int_equal(fake_scan(host, &now), 0);
	for (size_t i = 0; i < n; i++) {
		const PciFunction *f = pci_snapshot_find(now, &changed[i]);

		if (!f)
			continue;
		functions[found++] = *f; /* what it owns is the new one's */
		*(PciFunction *)f = (PciFunction){ .bdf = f->bdf };
	}
	fake_of(host)->changed_scans++;
	*ret = pci_snapshot_replace(before, changed, n, functions, found);
	if (found == 0)
		free(functions);
	return 0;
}

#define HOLDER_PID 4242

static void add_holder(Inspection *into, const Bdf *bdf, const char *command, pid_t pid, bool vfio)
{
	Holder *holders = reallocarray(into->holders, into->n_holders + 1, sizeof(Holder));

	assert_non_null(holders);
	into->holders = holders;
	holders[into->n_holders++] = (Holder){
		.bdf = *bdf,
		.pid = pid,
		.command = strdup(command),
		.path = strdup(vfio ? "/dev/vfio/65" : "/dev/nvidia0"),
		.vfio = vfio,
	};
}

static FunctionFacts *inspect_one(const FakeHost *fake, size_t i, bool config, Inspection *into)
{
	const PciFunction *function = fake->snapshot->functions[i];
	FunctionFacts *facts = &into->functions[into->n_functions++];

	*facts = (FunctionFacts){ .bdf = function->bdf,
				  .network = function->class_code >> 16 == 0x02,
				  .vf = function->virtual_function,
				  .nvme = function->class_code == 0x010802,
				  .device_minor = -1 };
	facts->serial_number = xstrdup(config && facts->nvme ? fake->nvme.number : NULL);
	fake_set_text(&facts->driver, function->driver);
	fake_set_text(&facts->driver_override, fake->overrides[i]);
	return facts;
}

static void add_holders(const FakeHost *fake, const Bdf *bdf, Inspection *into)
{
	if (domain_running_with(fake, bdf))
		add_holder(into, bdf, "qemu-system-x86", HOLDER_PID, true);
	if (fake->kept[fake_find_function(fake, bdf)])
		add_holder(into, bdf, "nvidia-persiste", FAKE_KEEPER_PID, false);
	for (size_t k = 0; k < fake->n_holders; k++)
		if (bdf_equal(&fake->holders[k].bdf, bdf))
			add_holder(into, bdf, fake->holders[k].command, HOLDER_PID,
				   fake->holders[k].vfio);
}

static void no_answer(Ask *ask, int error)
{
	ask_refuse(ask, error, xstrdup("it fails as it was told to"), xstrdup("none"));
}

/* It hangs in the kernel. */
static void never_answers(Ask *ask)
{
	no_answer(ask, -ETIMEDOUT);
	ask->still_running = true;
	ask->pid = WORKER_PID;
}

static bool is_hidden(const FakeHost *fake, size_t index)
{
	return fake->hides_vfs && fake->snapshot->functions[index]->virtual_function;
}

/* Who holds the functions is what ASK_INSPECT asks, and config space what ASK_CONFIG does. */
static void look(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	InspectAnswer *answer = ask->answer;
	Inspection *in = answer->inspection = xcalloc(1, sizeof(Inspection));
	bool wakes = ask->id == ASK_CONFIG && !ask->before;

	in->functions = xcalloc(ask->n + 1, sizeof(FunctionFacts));
	in->vfio_pci = true;
	fake->searches += ask->id == ASK_INSPECT && !fault;
	if (fake->nvidia_version)
		fake_set_text(&in->nvidia_version, fake->nvidia_version);
	if (fault)
		no_answer(ask, fault->error);
	for (size_t i = 0; ask->error == 0 && i < ask->n; i++) {
		size_t index = fake_find_function(fake, &ask->functions[i]);
		FunctionFacts *facts;

		if (index == SIZE_MAX || fake->gone[index] || is_hidden(fake, index)) {
			no_answer(ask, -ENOENT);
			break;
		}
		/* driver_override cannot be read while the device's lock is held. */
		if (fake->stuck[index] || (wakes && fake->wake[index] == FAKE_WAKE_HANGS)) {
			no_answer(ask, -ETIMEDOUT);
			break;
		}
		facts = inspect_one(fake, index, ask->id == ASK_CONFIG, in);
		facts->left_asleep = ask->before && fake->wake[index] != FAKE_WAKES;
		facts->config_all_ones = wakes && fake->wake[index] == FAKE_WAKE_FAILS;
		if (ask->id == ASK_INSPECT)
			add_holders(fake, &ask->functions[i], in);
	}
	if (ask->error != 0)
		answer_clear(question(ask->id), answer);
}

static const FakeMoveFault *find_move_fault(const FakeHost *fake, const DriverTarget *target)
{
	for (size_t i = 0; i < fake->n_move_faults; i++) {
		const FakeMoveFault *fault = &fake->move_faults[i];
		Bdf bdf = fake_parse_bdf(fault->bdf);

		if (bdf_equal(&bdf, &target->bdf) &&
		    (!fault->driver || str_equal(fault->driver, target->driver)))
			return fault;
	}
	return NULL;
}

void fake_note_violation(FakeHost *fake, const Bdf *bdf, const char *what, const char *who)
{
	strv_appendf(&fake->violations, "%s %s%s", BDF_TEXT(bdf), what, who);
}

/* Writes as driver_move_with() does, up to the phase that fails. */
static void write_drivers(FakeHost *fake, size_t i, const DriverTarget *target,
			  const FakeMoveFault *fault, DriverResult *result)
{
	PciFunction *function = fake->snapshot->functions[i];
	const FakeDomain *guest = domain_running_with(fake, &function->bdf);

	if (guest && !str_equal(function->driver, target->driver))
		fake_note_violation(fake, &function->bdf, "was moved under running ", guest->name);
	if (fake->used[i] && function->reset_methods && target->driver &&
	    !driver_is_vfio(target->driver))
		fake_note_violation(fake, &function->bdf, "came from a guest without a reset to ",
				    target->driver);
	result->changed = true;
	if ((!fault || fault->phase > DRIVER_PHASE_UNBIND || fault->never_returns) &&
	    !str_equal(function->driver, target->driver))
		fake_leave_driver(fake, i);
	if (!fault || fault->phase > DRIVER_PHASE_OVERRIDE)
		fake_set_text(&fake->overrides[i], target->driver_override);
	if (!fault || fault->phase > DRIVER_PHASE_UNBIND || fault->never_returns)
		fake_set_text(&function->driver, NULL);
	if (!fault || fault->binds)
		fake_set_text(&function->driver, target->driver);
}

static const char *none_if_dash(const char *word)
{
	return str_equal(word, "-") ? NULL : word;
}

static void move_one(FakeHost *fake, Ask *ask)
{
	const DriverTarget to = { .bdf = *ask->functions,
				  .driver = none_if_dash(ask->after[0]),
				  .driver_override = none_if_dash(ask->after[1]) };
	DriverResult *result = &((MoveAnswer *)ask->answer)->result;
	const FakeMoveFault *fault = find_move_fault(fake, &to);
	size_t i = fake_find_function(fake, &to.bdf);
	PciFunction *function;

	assert_true(i != SIZE_MAX);
	function = fake->snapshot->functions[i];
	if (fake->stuck[i])
		fake_note_violation(fake, &to.bdf, "was touched again", "");
	if (fake->gone[i]) {
		*result = (DriverResult){ .error = -ENOENT, .phase = DRIVER_PHASE_READ };
		return;
	}
	if (str_equal(function->driver, to.driver) &&
	    str_equal(fake->overrides[i], to.driver_override))
		return;
	if (!fault)
		fault = fake_wake_fault(fake->wake[i], &to);
	strv_appendf(&fake->log, "move %s to %s, override %s", BDF_TEXT(&to.bdf),
		     to.driver ? to.driver : "none",
		     to.driver_override ? to.driver_override : "none");
	if (!fault || fault->phase > DRIVER_PHASE_READ)
		write_drivers(fake, i, &to, fault, result);
	if (!fault)
		return;
	result->phase = fault->phase;
	result->error = fault->error;
	fake->stuck[i] = fault->never_returns;
	if (fault->never_returns)
		never_answers(ask);
}

static void answer_move(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	DriverResult *result = &((MoveAnswer *)ask->answer)->result;

	if (!fault || fault->late)
		move_one(fake, ask);
	if (fault) {
		result->error = fault->error;
		result->phase = DRIVER_PHASE_UNBIND;
	}
}

/* A method of a GPU's leading function may be that of its bus. */
static void reset_slot(FakeHost *fake, const Bdf *bdf)
{
	for (size_t i = 0; i < fake->snapshot->n_functions; i++) {
		const PciFunction *f = fake->snapshot->functions[i];

		if (f->class_code >> 16 == 0x02 ? bdf_equal(&f->bdf, bdf)
						: bdf_same_slot(&f->bdf, bdf))
			fake->used[i] = false;
	}
}

static void reset_one(FakeHost *fake, Ask *ask)
{
	static const FakeResetFault hangs = { .never_returns = true };
	const Bdf *bdf = ask->functions;
	ResetReport *report = &((ResetAnswer *)ask->answer)->report;
	const FakeResetFault *fault = &fake->reset_fault;
	size_t i = fake_find_function(fake, bdf);
	const FakeDomain *guest = domain_running_with(fake, bdf);

	assert_true(i != SIZE_MAX);
	if (guest)
		fake_note_violation(fake, bdf, "was reset under running ", guest->name);
	if (!str_equal(fake->snapshot->functions[i]->driver, "vfio-pci"))
		fake_note_violation(fake, bdf, "was reset under a host driver", "");
	if (fake->stuck[i])
		fake_note_violation(fake, bdf, "was touched again", "");
	strv_appendf(&fake->log, "reset %s%s", ask->before ? "slot of " : "", BDF_TEXT(bdf));
	fake_set_text(&report->method, ask->before ? "slot" : "flr");
	report->result =
		fake->gone[i] || fake->wake[i] == FAKE_WAKE_FAILS ? RESET_SILENT : RESET_DONE;
	if (fake->wake[i] == FAKE_WAKE_HANGS)
		fault = &hangs;
	else if (!fault->bdf || !str_equal(fault->bdf, BDF_TEXT(bdf))) {
		reset_slot(fake, bdf);
		return;
	}
	report->result = fault->result;
	report->error = fault->error;
	fake->stuck[i] = fault->never_returns;
	if (fault->never_returns) {
		reset_report_clear(report);
		never_answers(ask);
	}
}

static void answer_reset(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	ResetReport *report = &((ResetAnswer *)ask->answer)->report;

	report->bdf = *ask->functions;
	if (!fault || fault->late)
		reset_one(fake, ask);
	if (fault) {
		report->result = RESET_FAILED;
		report->error = fault->error;
	}
}

/* The first board says that it is cleared, the second that it is not, others cannot tell. */
static void answer_memory(FakeHost *fake, _unused_ const FakeFault *fault, Ask *ask)
{
	static const MemoryClear states[] = { MEMORY_CLEARED, MEMORY_NOT_CLEARED };
	MemoryAnswer *answer = ask->answer;

	answer->boards = xcalloc(ask->n, sizeof(MemoryReport));
	answer->n_boards = ask->n;
	for (size_t i = 0; i < ask->n; i++) {
		answer->boards[i] = (MemoryReport){ .bdf = ask->functions[i] };
		if (i < ELEMENTS(states))
			answer->boards[i].state = states[i];
		else
			answer->boards[i].why = strdup("it is asleep");
	}
	fake->memory_asked += (unsigned)ask->n;
}

/* All are well, as far as is known. */
static void answer_health(_unused_ FakeHost *fake, _unused_ const FakeFault *fault, Ask *ask)
{
	((HealthAnswer *)ask->answer)->gpu.bdf = *ask->functions;
}

static void answer_nics(FakeHost *fake, const FakeFault *fault, Ask *ask);

static void answer_rules(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	fake->spoof_check |= !fault;
	answer_nics(fake, fault, ask);
}

static void answer_nics(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	NicsAnswer *answer = ask->answer;

	if (fault || is_hidden(fake, fake_find_function(fake, &ask->functions[0]))) {
		no_answer(ask, fault ? fault->error : -ENOENT);
		return;
	}
	answer->nics = xcalloc(ask->n, sizeof(NicUse));
	answer->n_nics = ask->n;
	for (size_t i = 0; i < ask->n; i++)
		answer->nics[i] = (NicUse){ .bdf = ask->functions[i],
					    .vf_read = true,
					    .spoof_check = fake->spoof_check };
	if (fake->nic_address)
		nic_use_add(&answer->nics[0], (NicUser){ .kind = NIC_ADDRESS,
							 .device = xstrdup("eth5"),
							 .peer = xstrdup(fake->nic_address) });
}

static void answer_vfs(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	VfsAnswer *answer = ask->answer;

	answer->bdf = *ask->functions;
	answer->number = (unsigned)atoi(ask->after[0]);
	fake->autoprobe_off = *ask->after[1] == '0';
	if (!fault || fault->late) {
		fake->hides_vfs = answer->number == 0;
		fake->made_vfs = answer->number > 0;
	}
	/* They go with the VFs. */
	fake->spoof_check &= !fake->hides_vfs;
	if (fault)
		no_answer(ask, fault->error);
}

/* Nobody uses it but whom the test says. */
static void answer_nvme_use(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	NvmeAnswer *answer = ask->answer;

	if (fault) {
		no_answer(ask, fault->error);
		return;
	}
	answer->uses = xcalloc(answer->n_uses = ask->n, sizeof(NvmeUse));
	for (size_t i = 0; i < ask->n; i++) {
		NvmeUse *use = &answer->uses[i];

		*use = (NvmeUse){ .bdf = ask->functions[i], .controller = xstrdup("nvme0") };
		use->state = xstrdup(fake->nvme.comes_up > 1 ? "connecting" : "live");
		/* When it is live, its namespaces are yet to be found. */
		if (fake->nvme.comes_up > 0) {
			fake->nvme.comes_up--;
			continue;
		}
		strv_append(&use->nodes, "/dev/nvme0n1");
		if (fake->nvme.mount)
			*GROW(use->holds, use->n_holds) =
				(NvmeHold){ NVME_HOLD_MOUNT, xstrdup("/dev/nvme0n1"),
					    xstrdup(fake->nvme.mount) };
		if (fake->nvme.labelled && !ask->before)
			*GROW(use->holds, use->n_holds) =
				(NvmeHold){ NVME_HOLD_FSTAB, xstrdup("/dev/nvme0n1"),
					    xstrdup("/data") };
	}
}

static const char *nvme_serial(const FakeNvme *nvme)
{
	return nvme->serial ? nvme->serial : "S1";
}

/* It can do all, and has no fault. */
static void answer_nvme_state(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	NvmeAnswer *answer = ask->answer;
	FakeNvme *nvme = &fake->nvme;
	NvmeState *state;

	if (fault) {
		no_answer(ask, fault->error);
		return;
	}
	state = answer->states = xcalloc(answer->n_states = 1, sizeof(NvmeState));
	*state = (NvmeState){
		.bdf = *ask->functions,
		.model = xstrdup("Model X"),
		.serial = xstrdup(nvme_serial(nvme)),
		.firmware = xstrdup(nvme->firmware ? nvme->firmware : "1.0"),
		.sanitizes_block = nvme->sanitizes,
		.formats = true,
		.formats_crypto = true,
		.lock = NVME_LOCK_OFF,
		.sanitize = nvme->left > 0 ? NVME_SANITIZE_RUNS
			    : nvme->erased ? NVME_SANITIZE_DONE
					   : NVME_SANITIZE_NONE,
		.sanitize_progress = nvme->left > 0 ? 32768 : 0,
		.erased = nvme->erased,
	};
	/* Of few log pages it may tell anything then. */
	if (nvme->left > 0)
		strv_append(&state->unread, "its firmware slots: a sanitize is in progress");
	else
		strv_appendf(&state->firmware_slots, "1: %s", state->firmware);
	if (nvme->left > 0)
		nvme->erased = --nvme->left == 0;
	*GROW(state->namespaces, state->n_namespaces) =
		(NvmeNamespace){ .id = 1, .attached = true, .blocks = 2048 };
}

static void answer_erase(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	size_t i = fake_find_function(fake, ask->functions);
	NvmeAnswer *answer = ask->answer;
	FakeNvme *nvme = &fake->nvme;
	bool runs = nvme->left > 0;

	if (!str_equal(fake->snapshot->functions[i]->driver, "nvme") || nvme->mount)
		fake_note_violation(fake, ask->functions, "was erased under somebody", "");
	if (fault && !fault->late) {
		no_answer(ask, fault->error);
		return;
	}
	if (!str_equal(ask->after[0] + strlen("--serial="), nvme_serial(nvme)))
		fake_note_violation(fake, ask->functions, "was erased in place of another", "");
	if (!runs)
		strv_appendf(&fake->log, "erase %s %s", BDF_TEXT(ask->functions), ask->before);
	if (!runs && !nvme->fails && nvme->sanitizes)
		nvme->left = nvme->looks;
	nvme->erased = !nvme->fails && nvme->left == 0;
	if (fault) {
		no_answer(ask, fault->error);
		return;
	}
	answer->erases = xcalloc(answer->n_erases = 1, sizeof(NvmeErase));
	answer->erases[0] = (NvmeErase){
		.bdf = *ask->functions,
		.way = NVME_WAY_FORMAT_CRYPTO,
		.end = nvme->fails	? NVME_ERASE_FAILED
		       : nvme->left > 0 ? NVME_ERASE_RUNS
					: NVME_ERASE_DONE,
		.why = xstrdup(nvme->fails),
	};
}

/* What each question counts as; FAKE_OP_MAX_: it cannot fail. */
static const struct {
	FakeOp op;
	void (*answer)(FakeHost *fake, const FakeFault *fault, Ask *ask);
	bool ends_between; /* the process could end after each function */
} questions[QUESTION_MAX_] = {
	[ASK_MOVE] = { FAKE_MOVE, answer_move, true },
	[ASK_RESET] = { FAKE_RESET, answer_reset, false },
	[ASK_NICS] = { FAKE_INSPECT, answer_nics, false },
	[ASK_VFS] = { FAKE_VFS, answer_vfs, true },
	[ASK_RULES] = { FAKE_VFS, answer_rules, true },
	[ASK_NVME] = { FAKE_INSPECT, answer_nvme_use, false },
	[ASK_NVME_STATE] = { FAKE_INSPECT, answer_nvme_state, false },
	[ASK_ERASE] = { FAKE_ERASE, answer_erase, true },
	[ASK_INSPECT] = { FAKE_INSPECT, look, false },
	[ASK_GLANCE] = { FAKE_INSPECT, look, false },
	[ASK_CONFIG] = { FAKE_INSPECT, look, false },
	[ASK_HEALTH] = { FAKE_OP_MAX_, answer_health, false },
	[ASK_MEMORY] = { FAKE_OP_MAX_, answer_memory, false },
	[ASK_PERSISTENCE] = { FAKE_PERSISTENCE, fake_persistence, false },
	[ASK_SET_PERSISTENCE] = { FAKE_SET_PERSISTENCE, fake_set_persistence, true },
};

static void fake_ask(Host *host, Ask *asks, size_t n, _unused_ uint64_t timeout_usec)
{
	FakeHost *fake = fake_of(host);
	FakeOp op = questions[asks[0].id].op;
	const FakeFault *fault = op == FAKE_OP_MAX_ ? NULL : fake_enter(fake, op);

	for (size_t i = 0; i < n; i++) {
		assert_non_null(questions[asks[i].id].answer);
		questions[asks[i].id].answer(fake, fault, &asks[i]);
		if (!questions[asks[i].id].ends_between)
			continue;
		pthread_mutex_unlock(&fake->lock);
		fake_pass_point(fake);
		pthread_mutex_lock(&fake->lock);
	}
	if (op != FAKE_OP_MAX_)
		fake_leave(fake, 0);
}

static pid_t fake_worker_on(Host *host, const Bdf *function)
{
	FakeHost *fake = fake_of(host);
	size_t i = function ? fake_find_function(fake, function) : SIZE_MAX;

	return i != SIZE_MAX && fake->stuck[i] ? WORKER_PID : 0;
}

static int no_such_domain(const char *name, Problem **ret_problem)
{
	return problem_set(ret_problem, GPUPASS_ERROR_NO_SUCH_DOMAIN, "there is no domain '%s'",
			   name);
}

static int fake_find(Host *host, const char *name_or_uuid, DomainId *ret, Problem **ret_problem)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_FIND);
	char uuid[DOMAIN_UUID_SIZE];
	const FakeDomain *found = domain_uuid_parse(name_or_uuid, uuid)
					  ? fake_domain_of(fake, uuid)
					  : fake_domain(fake, name_or_uuid);

	if (fault)
		return fake_leave(fake, fault_result(fault, ret_problem));
	*ret = (DomainId){ 0 };
	if (found) {
		memcpy(ret->uuid, found->uuid, sizeof(ret->uuid));
		fake_set_text(&ret->name, found->name);
	}
	return fake_leave(fake, 0);
}

static int fake_get(Host *host, const char *uuid, VirtDomain **ret, Problem **ret_problem)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_GET);
	const FakeDomain *found = fake_domain_of(fake, uuid);
	VirtDomain *domain;

	if (fault)
		return fake_leave(fake, fault_result(fault, ret_problem));
	if (!found)
		return fake_leave(fake, no_such_domain(uuid, ret_problem));
	domain = xcalloc(1, sizeof(*domain));
	fake_set_text(&domain->uuid, found->uuid);
	fake_set_text(&domain->name, found->name);
	fake_set_text(&domain->config_xml, found->config_xml);
	fake_set_text(&domain->live_xml, found->live_xml);
	domain->active = found->live_xml;
	domain->persistent = found->config_xml;
	*ret = domain;
	return fake_leave(fake, 0);
}

static int fake_uses(Host *host, bool fresh, DomainUses **ret, Problem **ret_problem)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_USES);
	_cleanup_(domain_uses_freep) DomainUses *uses = xcalloc(1, sizeof(DomainUses));

	if (fault)
		return fake_leave(fake, fault_result(fault, ret_problem));
	fake->fresh_uses += fresh;
	if (!fresh && fake->silent && fake->known) {
		*ret = domain_uses_ref(fake->known);
		return fake_leave(fake, 0);
	}
	uses->items = xcalloc(fake->n_domains + 1, sizeof(DomainUse));
	for (size_t i = 0; i < fake->n_domains; i++) {
		const FakeDomain *domain = &fake->domains[i];

		assert_int_equal(domain_use_from_xml(domain->live_xml, domain->config_xml,
						     &uses->items[i], ret_problem),
				 0);
		uses->n_items = i + 1;
	}
	domain_uses_free(fake->known);
	fake->known = domain_uses_ref(uses);
	*ret = TAKE_PTR(uses);
	return fake_leave(fake, 0);
}

static int fake_define(Host *host, const char *uuid, const char *expected, const char *xml,
		       Problem **ret_problem)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_DEFINE);
	FakeDomain *domain = fake_domain_of(fake, uuid);

	if (fault && !fault->late)
		return fake_leave(fake, fault_result(fault, ret_problem));
	if (!domain)
		return fake_leave(fake, no_such_domain(uuid, ret_problem));
	if (!domain->config_xml || !domain_xml_equivalent(domain->config_xml, expected))
		return fake_leave(fake, problem_set(ret_problem, GPUPASS_ERROR_STALE_PLAN,
						    "the definition has changed"));
	fake_take_text(&domain->config_xml,
		       fake_xml_define(xml, fake->adds_ports && fake->calls[FAKE_DEFINE] == 1));
	strv_appendf(&fake->log, "define %s", domain->name);
	return fake_leave(fake, fault ? fault_result(fault, ret_problem) : 0);
}

static int attach(FakeHost *fake, const char *uuid, const char *hostdev_xml, Problem **ret_problem)
{
	FakeDomain *domain = fake_domain_of(fake, uuid);
	Bdf bdf = fake_xml_function(hostdev_xml);
	size_t i = fake_find_function(fake, &bdf);

	if (!domain)
		return no_such_domain(uuid, ret_problem);
	assert_true(i != SIZE_MAX);
	if (fake->stuck[i])
		fake_note_violation(fake, &bdf, "was touched again", "");
	if (fake_xml_has(domain->live_xml, &bdf))
		return 0;
	if (!domain->live_xml || !str_equal(fake->snapshot->functions[i]->driver, "vfio-pci") ||
	    fake->wake[i] == FAKE_WAKE_FAILS)
		return problem_set(ret_problem, GPUPASS_ERROR_ATTACH_FAILED, "libvirt refuses %s",
				   BDF_TEXT(&bdf));
	fake_take_text(&domain->live_xml, fake_xml_attach(domain->live_xml, hostdev_xml));
	fake->used[i] = true;
	strv_appendf(&fake->log, "attach %s", BDF_TEXT(&bdf));
	return 0;
}

static int fake_attach(Host *host, const char *uuid, const char *hostdev_xml, Problem **ret_problem)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_ATTACH);
	int r = fault && !fault->late ? 0 : attach(fake, uuid, hostdev_xml, ret_problem);

	return fake_leave(fake, fault && r == 0 ? fault_result(fault, ret_problem) : r);
}

static int fake_detach(Host *host, const char *uuid, const Bdf *function, uint64_t timeout_usec,
		       Problem **ret_problem)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_DETACH);
	FakeDomain *domain = fake_domain_of(fake, uuid);

	if (fault && !fault->late)
		return fake_leave(fake, fault_result(fault, ret_problem));
	if (!domain)
		return fake_leave(fake, no_such_domain(uuid, ret_problem));
	if (fake_xml_has(domain->live_xml, function)) {
		fake_take_text(&domain->live_xml, fake_xml_detach(domain->live_xml, function));
		strv_appendf(&fake->log, "detach %s", BDF_TEXT(function));
	}
	return fake_leave(fake, fault ? fault_result(fault, ret_problem) : 0);
}

static int fake_libvirt_wait(Host *host, uint64_t timeout_usec)
{
	FakeHost *fake = fake_of(host);
	int r = fake->comes_back > 0 ? 0 : -ETIMEDOUT;

	if (r == 0)
		fake->comes_back--;
	return r;
}

/* What the guest has in a file, or prints of its own bandwidth. */
static GuestRun other_program(const FakeDomain *domain, const char *const *argv)
{
	GuestRun run = { .outcome = GUEST_RAN };

	if (strcmp(argv[0], "cat") == 0)
		return guest_run_of(domain->guest, strrchr(argv[1], '/') + 1);
	if (strcmp(argv[0], "sh") == 0)
		run = guest_run_of(domain->guest, strstr(argv[2], "nccl.conf") ? "nccl" : "sysfs");
	else if (argv[0][0] != '/')
		run = guest_run_of(domain->guest, argv[0]);
	if (!run.out)
		run.outcome = GUEST_NOT_STARTED;
	return run;
}

/* The program's output, by the arguments that tell nvidia-smi's apart. */
static GuestRun guest_program(const FakeDomain *domain, const char *const *argv)
{
	static const struct {
		const char *argument, *file;
	} programs[] = {
		{ "--query-gpu=index,uuid,pci.bus_id", "gpus" },
		{ "-m", "topo" },
		{ "nvlink", "nvlink" },
		{ "-p2p", "p2p" },
		{ "--query-gpu=index,mig.mode.current", "mig" },
		{ "conf-compute", "cc" },
	};

	if (strcmp(argv[0], "nvidia-smi") != 0)
		return other_program(domain, argv);
	for (size_t i = 0; i < ELEMENTS(programs); i++)
		if (strv_contains((char *const *)argv, programs[i].argument))
			return guest_run_of(domain->guest, programs[i].file);
	fail_msg("nobody knows nvidia-smi %s", argv[1]);
	return (GuestRun){ 0 };
}

static int fake_guest_run(Host *host, const char *uuid, const char *const *const *commands,
			  size_t n, uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_GUEST_RUN);
	const FakeDomain *domain = fake_domain_of(fake, uuid);

	if (fault)
		return fake_leave(fake, fault_result(fault, ret_problem));
	if (!domain)
		return fake_leave(fake, no_such_domain(uuid, ret_problem));
	for (size_t i = 0; i < n; i++) {
		if (!domain->live_xml)
			runs[i].outcome = GUEST_NOT_RUNNING;
		else if (!domain->guest)
			runs[i].outcome = GUEST_NO_AGENT;
		else if (domain->guest_fails != GUEST_NOT_ASKED && i >= domain->guest_nth)
			runs[i].outcome = domain->guest_fails;
		else
			runs[i] = guest_program(domain, commands[i]);
		if (runs[i].outcome != GUEST_RAN)
			break;
	}
	return fake_leave(fake, 0);
}

const HostOps fake_ops = {
	.scan = fake_scan,
	.scan_changed = fake_scan_changed,
	.facts = fake_facts,
	.ask = fake_ask,
	.worker_on = fake_worker_on,
	.domain_find = fake_find,
	.domain_get = fake_get,
	.domain_uses = fake_uses,
	.domain_define = fake_define,
	.domain_attach = fake_attach,
	.domain_detach = fake_detach,
	.libvirt_wait = fake_libvirt_wait,
	.guest_run = fake_guest_run,
	.expect_work = fake_expect_work,
};
