/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/question.h"

#include "gpupass/dbus.h"
#include "host/wire/request.h"
#include "util/grow.h"
#include "util/json.h"

#define REASON_MAX 512
#define PERSISTENCE_GPUS_MAX 64
#define MACHINES_MAX 10000
#define NVME_STATE_SEC 60
#define NVME_ERASE_SEC (86400 + NVME_STATE_SEC)
#define KIB 1024U

/* ---- members that are documents of core/facts ---- */

/* Absent where the part met an error, and nowhere else. */
static const json_t *get_body(JsonReader *reader, const char *key, const AnswerHead *head)
{
	const json_t *body = json_object_get(reader->object, key);

	if ((body != NULL) == (head->error != 0) && reader->error >= 0)
		reader->error = -EBADMSG;
	return head->error == 0 ? body : NULL;
}

static void note_error(JsonReader *reader, int r)
{
	if (r < 0)
		reader->error = -EBADMSG;
}

static void inspection_write(json_t *o, const char *key, const void *of)
{
	const InspectAnswer *answer = of;

	if (answer->inspection)
		json_set(o, key, json_struct_write(inspection_members, answer->inspection));
}

static void inspection_read(JsonReader *reader, const char *key, void *of)
{
	InspectAnswer *answer = of;
	const json_t *body = get_body(reader, key, &answer->head);

	if (body)
		note_error(reader, inspection_from_json(body, &answer->inspection, NULL));
}

static void host_write(json_t *o, const char *key, const void *of)
{
	const HostAnswer *answer = of;

	if (answer->host)
		json_set(o, key, json_struct_write(examination_members, answer->host));
}

static void host_read(JsonReader *reader, const char *key, void *of)
{
	HostAnswer *answer = of;
	const json_t *body = get_body(reader, key, &answer->head);

	if (body)
		note_error(reader, examination_from_json(body, &answer->host, NULL));
}

static void gpu_write(json_t *o, const char *key, const void *of)
{
	const HealthAnswer *answer = of;

	if (answer->head.error == 0)
		json_set(o, key, json_struct_write(gpu_health_members, &answer->gpu));
}

static void gpu_read(JsonReader *reader, const char *key, void *of)
{
	HealthAnswer *answer = of;
	const json_t *body = get_body(reader, key, &answer->head);

	if (body)
		note_error(reader, gpu_health_from_json(body, &answer->gpu, NULL));
}

static void boards_write(json_t *o, const char *key, const void *of)
{
	const ProbeAnswer *answer = of;

	json_set(o, key, sightings_to_json(answer->boards));
}

static void boards_read(JsonReader *reader, const char *key, void *of)
{
	const json_t *boards = json_read_array(reader, key, SIGHTINGS_MAX);
	ProbeAnswer *answer = of;

	note_error(reader, sightings_from_json(boards, &answer->boards, NULL));
}

/* ---- answers ---- */

/* Of these two answer.c writes the document, by itself. A move's error is part of its result. */
LOCAL_JSON_OF(MoveAnswer, move_members, schema GPUPASS_SCHEMA_WORKER, head(flat verb), bdf,
	      result(flat))
LOCAL_JSON_OF(ResetAnswer, reset_members, schema GPUPASS_SCHEMA_WORKER, head(flat), report)

LOCAL_JSON_OF(VfsAnswer, vfs_members, schema GPUPASS_SCHEMA_WORKER, head(flat), bdf, number)
LOCAL_JSON_OF(InspectAnswer, inspect_members, schema GPUPASS_SCHEMA_WORKER, head(flat), inspection)
LOCAL_JSON_OF(HostAnswer, host_members, schema GPUPASS_SCHEMA_WORKER, head(flat), host)
LOCAL_JSON_OF(NicsAnswer, nics_members, schema GPUPASS_SCHEMA_WORKER, head(flat), nics)
LOCAL_JSON_OF(HealthAnswer, health_members, schema GPUPASS_SCHEMA_WORKER, head(flat), gpu)
LOCAL_JSON_OF(MachinesAnswer, machines_members, schema GPUPASS_SCHEMA_MACHINES, head(flat error),
	      machines)
LOCAL_JSON_OF(MemoryAnswer, memory_members, schema GPUPASS_SCHEMA_MEMORY, boards)
LOCAL_JSON_OF(PersistenceAnswer, persistence_members, schema GPUPASS_SCHEMA_WORKER, head(flat verb),
	      gpus)
LOCAL_JSON_OF(NvmeAnswer, nvme_use_answer_members, schema GPUPASS_SCHEMA_WORKER, head(flat), uses)
LOCAL_JSON_OF(NvmeAnswer, nvme_state_answer_members, schema GPUPASS_SCHEMA_WORKER, head(flat),
	      states)
LOCAL_JSON_OF(NvmeAnswer, erase_answer_members, schema GPUPASS_SCHEMA_WORKER, head(flat), erases)
LOCAL_JSON(UnseenBoard, unseen_members)
LOCAL_JSON_OF(ProbeAnswer, probe_members, schema GPUPASS_SCHEMA_PROBE, error, boards, unseen)
#include "question.inc"

void probe_answer_unseen(ProbeAnswer *answer, const Bdf *bdf, char *reason)
{
	*GROW(answer->unseen, answer->n_unseen) = (UnseenBoard){ .bdf = *bdf, .reason = reason };
}

void probe_answer_clear(ProbeAnswer *answer)
{
	answer_clear(question(ASK_LINKS), answer);
}

/* ---- whether an answer is about what was asked ---- */

/* An answer that leaves a function out must not read as "no process holds it". */
static bool is_about_functions(const void *of, const Bdf *functions, size_t n)
{
	const InspectAnswer *answer = of;

	return EVERY(functions, n, inspection_find(answer->inspection, it));
}

/* So many items, of which each begins with its address: one for each function, in that order. */
static bool are_of(const void *items, size_t n_items, size_t size, const Bdf *functions, size_t n)
{
	bool are = n_items == n;

	for (size_t i = 0; are && i < n; i++)
		are = bdf_equal((const void *)((const char *)items + i * size), &functions[i]);
	return are;
}
#define ARE_OF(items, n_items, functions, n) are_of(items, n_items, sizeof(*(items)), functions, n)

static bool is_short(const char *reason)
{
	return !reason || strlen(reason) <= REASON_MAX;
}

static bool is_about_boards(const void *of, const Bdf *functions, size_t n)
{
	const MemoryAnswer *answer = of;

	return ARE_OF(answer->boards, answer->n_boards, functions, n) &&
	       EVERY(answer->boards, n,
		     is_short(it->why) && (it->state == MEMORY_NOT_KNOWN) == (it->why != NULL));
}

static bool is_about_nics(const void *of, const Bdf *functions, size_t n)
{
	const NicsAnswer *answer = of;

	return ARE_OF(answer->nics, answer->n_nics, functions, n) &&
	       EVERY(answer->nics, n, is_short(it->why));
}

static bool is_about_modes(const void *of, const Bdf *functions, size_t n)
{
	const PersistenceAnswer *answer = of;

	return ARE_OF(answer->gpus, answer->n_gpus, functions, n) &&
	       EVERY(answer->gpus, n,
		     is_short(it->why) &&
			     (it->mode != PERSISTENCE_UNKNOWN || (it->why && it->kept_by == 0)));
}

static size_t times_told(const ProbeAnswer *answer, const Bdf *bdf)
{
	size_t n = COUNT(answer->boards->items, answer->boards->n_items, bdf_equal(&it->bdf, bdf));

	for (size_t i = 0; i < answer->n_unseen; i++)
		n += bdf_equal(&answer->unseen[i].bdf, bdf);
	return n;
}

static bool is_about_links(const ProbeAnswer *answer, const Bdf *functions, size_t n,
			   SightingWay way)
{
	size_t told = answer->boards->n_items + answer->n_unseen;

	if (answer->error)
		return is_short(answer->error) && told == 0;
	if (SOME(functions, n, times_told(answer, it) != 1))
		return false;
	if (SOME(answer->boards->items, answer->boards->n_items, it->way != way))
		return false;
	return !SOME(answer->unseen, answer->n_unseen, !is_short(it->reason)) && told == n;
}

static bool is_about_nvlinks(const void *of, const Bdf *functions, size_t n)
{
	return is_about_links(of, functions, n, WAY_NVML);
}

static bool is_about_registers(const void *of, const Bdf *functions, size_t n)
{
	return is_about_links(of, functions, n, WAY_MMIO);
}

static bool is_about_uses(const void *of, const Bdf *functions, size_t n)
{
	const NvmeAnswer *answer = of;

	return ARE_OF(answer->uses, answer->n_uses, functions, n);
}

static bool is_about_state(const void *of, const Bdf *functions, size_t n)
{
	const NvmeAnswer *answer = of;

	return ARE_OF(answer->states, answer->n_states, functions, n);
}

static bool is_about_erase(const void *of, const Bdf *functions, size_t n)
{
	const NvmeAnswer *answer = of;

	return ARE_OF(answer->erases, answer->n_erases, functions, n) &&
	       (answer->erases->end == NVME_ERASE_FAILED) == (answer->erases->why != NULL) &&
	       is_short(answer->erases->why);
}

/* ---- the table ---- */

#define ANSWER(Type, table) .members = (table), .size = sizeof(Type)
#define ANY QUESTION_FUNCTIONS_MAX
#define LOOKED .failed = "could not be looked at"

static const Question questions[] = {
	/* How long a move may take is the operator's to say: DeviceTimeoutSec=. */
	[ASK_MOVE] = { "move", NULL, PART_MOVER, 1, 1, 30, 64 * KIB, LOCK_FUNCTION,
		       .error = GPUPASS_ERROR_BIND_FAILED, .failed = "could not be moved",
		       ANSWER(MoveAnswer, move_members), .about = offsetof(MoveAnswer, bdf) },
	/*
	 * More than the kernel's own wait for a silent device (PCIE_RESET_READY_POLL_MS is 60 s,
	 * and its pauses double up to 65.5 s): a part that takes longer hangs.
	 */
	[ASK_RESET] = { "reset", NULL, PART_MOVER, 1, 1, 75, 64 * KIB, LOCK_FUNCTION,
			.error = GPUPASS_ERROR_RESET_FAILED, .failed = "could not be reset",
			ANSWER(ResetAnswer, reset_members),
			.about = offsetof(ResetAnswer, report.bdf) },
	/* The driver sets each one up; mlx5's firmware takes about a second for four. */
	[ASK_VFS] = { "vfs", NULL, PART_MOVER, 1, 1, 60, 64 * KIB, LOCK_FUNCTION,
		      .error = GPUPASS_ERROR_BIND_FAILED, .failed = "could not be given its VFs",
		      ANSWER(VfsAnswer, vfs_members), .about = offsetof(VfsAnswer, bdf) },
	/*
	 * A scan for holders takes seconds on a host with very many processes, and for ever on a
	 * wedged GPU. There are as many holders as host/device/holders.c lists, with names as long
	 * as others like.
	 */
	[ASK_INSPECT] = { "inspect", NULL, PART_INSPECTOR, 0, ANY, 20, 4096 * KIB, LOOKED,
			  ANSWER(InspectAnswer, inspect_members), .is_about = is_about_functions },
	[ASK_GLANCE] = { "inspect", "--glance", PART_INSPECTOR, 0, ANY, 20, 4096 * KIB, LOOKED,
			 ANSWER(InspectAnswer, inspect_members), .is_about = is_about_functions },
	[ASK_CONFIG] = { "config", NULL, PART_CONFIG, 0, ANY, 20, 4096 * KIB, LOOKED,
			 .answers = "inspect", ANSWER(InspectAnswer, inspect_members),
			 .is_about = is_about_functions },
	/* Milliseconds, but for a host with a million routes. */
	[ASK_NICS] = { "nic", NULL, PART_NETWORK, 1, ANY, 20, 4096 * KIB, LOOKED,
		       ANSWER(NicsAnswer, nics_members), .is_about = is_about_nics },
	[ASK_RULES] = { "rules", NULL, PART_RULES, 1, ANY, 20, 4096 * KIB,
			.failed = "could not be given the rules of a VF",
			ANSWER(NicsAnswer, nics_members), .is_about = is_about_nics },
	[ASK_SETUP] = { "examine", "--without-image", PART_EXAMINER, 0, 0, 20, 1024 * KIB,
			.subject = "the host's setup", .failed = "could not be read",
			ANSWER(HostAnswer, host_members) },
	/* gpupass-initramfs, also where it is a child. */
	[ASK_IMAGE] = { "image", NULL, PART_INITRAMFS, 0, 0, 20, 1024 * KIB,
			.subject = "the boot image", .failed = "could not be read",
			.answers = "examine", ANSWER(HostAnswer, host_members) },
	/* A few attributes and config space: milliseconds, unless the board does not answer. */
	[ASK_HEALTH] = { "examine", NULL, PART_CONFIG, 1, ANY, 10, 1024 * KIB, LOOKED,
			 ANSWER(HealthAnswer, health_members),
			 .about = offsetof(HealthAnswer, gpu.bdf) },
	/* Files of some KiB each; pmxcfs answers in milliseconds, or when its cluster does. */
	[ASK_MACHINES] = { "machines", NULL, PART_EXAMINER, 0, 0, 10, 16384 * KIB,
			   .error = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
			   .subject = "the virtual machines in /etc/pve/qemu-server",
			   .failed = "cannot be read",
			   .slow = "see systemctl status pve-cluster; ls /etc/pve/qemu-server",
			   ANSWER(MachinesAnswer, machines_members) },
	/* It polls for 5 s, and all that it does besides is quick. */
	[ASK_MEMORY] = { "memory", NULL, PART_CONFIG, 1, ANY, 20, 64 * KIB,
			 .failed = "could not be asked", ANSWER(MemoryAnswer, memory_members),
			 .is_about = is_about_boards },
	[ASK_LINKS] = { "probe", NULL, PART_PROBER, 1, ANY, 180, 1024 * KIB, LOCK_PROBE,
			.error = GPUPASS_ERROR_PROBE_FAILED,
			.failed = "could not be asked about their links",
			.slow = "a badly seated bridge can make the driver slow: look at it, or "
				"give it more time: gpupass probe --timeout=10min",
			ANSWER(ProbeAnswer, probe_members), .is_about = is_about_nvlinks },
	[ASK_REGISTERS] = { "probe", "--mmio", PART_CONFIG, 1, ANY, 180, 1024 * KIB,
			    .error = GPUPASS_ERROR_PROBE_FAILED,
			    .failed = "could not be asked about their links",
			    ANSWER(ProbeAnswer, probe_members), .is_about = is_about_registers },
	/* NVML initialises a GPU that nobody has open: a second or two each, one after another. */
	[ASK_PERSISTENCE] = { "persistence", NULL, PART_PROBER, 1, ANY, 20, 64 * KIB,
			      LOCK_PERSISTENCE, .alone = true,
			      .failed = "could not be asked about persistence mode",
			      .slow = "see whether nvidia-smi works",
			      ANSWER(PersistenceAnswer, persistence_members),
			      .is_about = is_about_modes },
	[ASK_SET_PERSISTENCE] = { "persistence", "--set", PART_PERSISTENCE, 1, 1, 30, 64 * KIB,
				  LOCK_FUNCTION, .alone = true,
				  .failed = "could not be set to a persistence mode",
				  .slow = "see whether nvidia-smi works",
				  ANSWER(PersistenceAnswer, persistence_members),
				  .is_about = is_about_modes },
	/* Every process's mount name space, and the first sectors of each disk and partition. */
	[ASK_NVME] = { "nvme", NULL, PART_INSPECTOR, 1, ANY, 20, 4096 * KIB, LOOKED,
		       ANSWER(NvmeAnswer, nvme_use_answer_members), .is_about = is_about_uses },
	/* The kernel waits 60 s for an admin command, and resets a controller that is silent. */
	[ASK_NVME_STATE] = { "nvme-state", NULL, PART_ERASER, 1, 1, NVME_STATE_SEC, 1024 * KIB,
			     .failed = "could not be asked about itself",
			     ANSWER(NvmeAnswer, nvme_state_answer_members),
			     .is_about = is_about_state },
	/* A sanitize only begins; of a format the answer is its end: nvme_erase_limit_sec(). */
	[ASK_ERASE] = { "erase", NULL, PART_ERASER, 1, 1, NVME_ERASE_SEC, 64 * KIB, LOCK_FUNCTION,
			.error = GPUPASS_ERROR_RESET_FAILED, .alone = true,
			.failed = "could not be erased", ANSWER(NvmeAnswer, erase_answer_members),
			.is_about = is_about_erase },
	[ASK_UEVENTS] = { .verb = "uevents", .part = PART_UEVENTS },
};

const Question *question(QuestionId id)
{
	return &questions[id];
}

QuestionId question_id(const Question *question)
{
	return (QuestionId)(question - questions);
}

const Question *question_find(const char *verb, const char *option)
{
	return FIND(questions, ELEMENTS(questions),
		    strcmp(it->verb, verb) == 0 && str_equal(it->option, option));
}

const char *question_lock_name(QuestionLock lock, const Bdf *functions, char text[BDF_TEXT_MAX])
{
	static const char *const names[LOCK_MAX_] = {
		[LOCK_PROBE] = LOCK_NAME_PROBE, [LOCK_PERSISTENCE] = LOCK_NAME_PERSISTENCE
	};

	return lock == LOCK_FUNCTION ? bdf_format(functions, text) : names[lock];
}

/* ---- documents ---- */

static const char *verb_of_answer(const Question *question)
{
	return question->answers ? question->answers : question->verb;
}

char *answer_text(const Question *question, const void *answer)
{
	_cleanup_free_ void *copy = xmalloc(question->size);
	AnswerHead *head = copy;

	memcpy(copy, answer, question->size);
	head->verb = (char *)verb_of_answer(question);
	return json_struct_text(question->members, copy);
}

void answer_clear(const Question *question, void *answer)
{
	if (question->members == inspect_members)
		inspection_free(((InspectAnswer *)answer)->inspection);
	else if (question->members == host_members)
		examination_free(((HostAnswer *)answer)->host);
	else if (question->members == health_members)
		gpu_health_clear(&((HealthAnswer *)answer)->gpu);
	else if (question->members == probe_members)
		evidence_unref(((ProbeAnswer *)answer)->boards);
	json_struct_clear(question->members, answer);
	memset(answer, 0, question->size);
}

/* "org.gpupass1.worker/" of "org.gpupass1.worker/1": what follows is the version. */
static bool is_another_version(const char *text, size_t size, const char *schema)
{
	_cleanup_json_ json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	const char *found = NULL, *slash = strchr(schema, '/');

	return root && json_get_string(root, "schema", &found) >= 0 &&
	       strncmp(found, schema, (size_t)(slash - schema) + 1) == 0;
}

static bool is_about(const Question *question, const Bdf *functions, size_t n, const void *answer)
{
	const AnswerHead *head = answer;

	if (head->verb && strcmp(head->verb, verb_of_answer(question)) != 0)
		return false;
	/* A reset's error is in its report. */
	if (head->error != 0)
		return question->members != reset_members;
	if (question->about > 0)
		return bdf_equal((const Bdf *)((const char *)answer + question->about), functions);
	return !question->is_about || question->is_about(answer, functions, n);
}

int answer_parse(const Question *question, const Bdf *functions, size_t n, const char *text,
		 size_t size, void *ret_answer, char **ret_why)
{
	const char *schema = question->members->text;
	_cleanup_free_ char *why = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r = json_parse_document(text, size, schema, &root, &why);

	if (r == -EPROTO && is_another_version(text, size, schema)) {
		*ret_why = TAKE_PTR(why);
		return r;
	}
	if (r >= 0)
		r = json_struct_read(question->members, root, NULL, ret_answer, NULL);
	if (r >= 0 && is_about(question, functions, n, ret_answer)) {
		free(((AnswerHead *)ret_answer)->verb);
		((AnswerHead *)ret_answer)->verb = NULL;
		return 0;
	}
	answer_clear(question, ret_answer);
	return -EBADMSG;
}
