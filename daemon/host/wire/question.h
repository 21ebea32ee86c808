/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The questions that the daemon asks its parts: one row each. Daemon and parts go by the same
 * table: who answers, with which words it is asked, and what an answer is.
 *
 * A question is a verb, its option, and PCI addresses. To a part they are the words of a request
 * (request.h); a child has them on its command line, behind the roots. The answer is one line, a
 * JSON object with a schema; with the members "verb" and "error" where the schema is
 * org.gpupass1.worker/1. An "error" other than 0 is an errno, and nothing follows it.
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/facts/inspection.h"
#include "core/facts/machine.h"
#include "core/facts/memory-clear.h"
#include "core/facts/persistence.h"
#include "core/facts/reset-report.h"
#include "core/links/evidence.h"
#include "core/nvme/erase.h"
#include "core/nvme/use.h"
#include "gpupass/errors.h"
#include "host/wire/move.h"

/* More than any group has; see core/base/limits.h. */
#define QUESTION_FUNCTIONS_MAX 512

typedef enum QuestionId {
	ASK_MOVE,
	ASK_RESET,
	ASK_VFS,       /* makes so many VFs of a NIC */
	ASK_INSPECT,   /* who holds the functions, and what the host offers */
	ASK_GLANCE,    /* the functions only, and not who holds them */
	ASK_CONFIG,    /* their config space */
	ASK_NICS,      /* who uses these NICs */
	ASK_RULES,     /* these VFs have their spoof check on, and are not trusted */
	ASK_SETUP,     /* the host's setup, without its initramfs */
	ASK_IMAGE,     /* the initramfs of the running kernel */
	ASK_HEALTH,    /* of one GPU; the ports above it follow its address */
	ASK_MACHINES,  /* of Proxmox VE */
	ASK_MEMORY,    /* whether boards have cleared theirs */
	ASK_LINKS,     /* of NVML */
	ASK_REGISTERS, /* the same, by link registers */
	ASK_PERSISTENCE,
	ASK_SET_PERSISTENCE,
	ASK_NVME,	/* what on this host uses NVMes */
	ASK_NVME_STATE, /* what one says of itself */
	ASK_ERASE,	/* begins to erase one */
	ASK_UEVENTS,	/* has no answer that ends */
	QUESTION_MAX_
} QuestionId;

/* The parts that are gpupass-worker, and those that are ready before they are asked. */
typedef struct Part {
	const char *name;
	/*
	 * How many wait where nothing runs: for the job beside one that hangs, and for the job that
	 * begins while the first one is being replaced. 0: it is started when it is asked.
	 */
	unsigned ready;
	/*
	 * How many requests one answers in its life: where jobs overlap all the time there is no
	 * moment at which nothing runs. What loads NVIDIA's library answers one: nobody knows what
	 * that leaves open, and who has a GPU open is a holder of it.
	 */
	unsigned serves;
	/*
	 * What waits may be idle for days. So not its unit's RuntimeMaxSec= ends one that hangs,
	 * but an alarm, which counts from the request. 0: the unit's.
	 */
	unsigned limit_sec;
	bool writes;   /* NVIDIA's library opens its devices for writing; others open nothing so */
	bool has_view; /* it sees some things as they were at its start: host/launch/ready.c */
} Part;

#define PARTS_MAX 16
/* NULL: there is none of this name, or it answers no questions. */
const Part *part_find(const char *name);
/* By number, from 0; NULL behind the last. */
const Part *part_at(size_t i);

typedef enum QuestionLock {
	LOCK_NONE,
	LOCK_FUNCTION,	  /* of the first function's address */
	LOCK_PROBE,	  /* there is one on the host */
	LOCK_PERSISTENCE, /* likewise */
	LOCK_MAX_
} QuestionLock;

#define LOCK_NAME_PROBE "probe"
#define LOCK_NAME_PERSISTENCE "persistence"

typedef struct Question {
	const char *verb;
	const char *option; /* what tells it from others of this verb; NULL: it has no option */
	const char *part;
	size_t least, most;  /* functions */
	unsigned limit_sec;  /* for the answer, where the asker sets none */
	unsigned answer_max; /* bytes */
	QuestionLock lock;   /* by which a part at work is found */
	GpupassError error;  /* where there is no answer; 0, which it never is: PartFailed */
	bool alone;	     /* it is not asked while an earlier part is at work on the same */
	const char *subject; /* of a sentence, where it names no functions */
	const char *failed;  /* what follows the subject: "could not be looked at" */
	const char *slow;    /* what to do if it is too slow or met an error; NULL: see its log */
	const char *answers; /* the verb in the answer; NULL: that of the question */
	/* The answer, whose first member is an AnswerHead. NULL: it is no document. */
	const JsonMember *members;
	size_t size;
	size_t about; /* where it has the address of the first function; 0: not by itself */
	bool (*is_about)(const void *answer, const Bdf *functions, size_t n);
} Question;

const Question *question(QuestionId id);
QuestionId question_id(const Question *question);
/* NULL: none has this verb, with this option (NULL: none). */
const Question *question_find(const char *verb, const char *option);
/* The name of the lock (util/pid-lock.h), which may be in `text`; NULL: none. */
const char *question_lock_name(QuestionLock lock, const Bdf *functions, char text[BDF_TEXT_MAX]);

/* ---- answers ---- */

typedef struct AnswerHead {
	char *verb;		 /* only while it is written or read; NULL otherwise */
	int error _json_(errno); /* what the part met; the rest is empty then */
} AnswerHead;

typedef struct MoveAnswer {
	AnswerHead head;
	Bdf bdf;
	DriverResult result;
} MoveAnswer;

typedef struct ResetAnswer {
	AnswerHead head;
	ResetReport report;
} ResetAnswer;

typedef struct VfsAnswer {
	AnswerHead head;
	Bdf bdf;
	unsigned number; /* that it has by now */
} VfsAnswer;

/* ASK_INSPECT, ASK_GLANCE, ASK_CONFIG */
typedef struct InspectAnswer {
	AnswerHead head;
	Inspection *inspection _json_(by inspection);
} InspectAnswer;

/* ASK_SETUP; ASK_IMAGE: with nothing but the image */
typedef struct HostAnswer {
	AnswerHead head;
	Examination *host _json_(by host);
} HostAnswer;

/* One for each NIC of the question, in that order. */
typedef struct NicsAnswer {
	AnswerHead head;
	NicUse *nics _json_(max QUESTION_FUNCTIONS_MAX);
	size_t n_nics;
} NicsAnswer;

typedef struct HealthAnswer {
	AnswerHead head;
	GpuHealth gpu _json_(by gpu);
} HealthAnswer;

typedef struct MachinesAnswer {
	AnswerHead head;
	Machine *machines _json_(max MACHINES_MAX);
	size_t n_machines;
} MachinesAnswer;

/* One for each board of the question, in that order. */
typedef struct MemoryAnswer {
	AnswerHead head;
	MemoryReport *boards _json_(max QUESTION_FUNCTIONS_MAX);
	size_t n_boards;
} MemoryAnswer;

/*
 * ASK_PERSISTENCE, ASK_SET_PERSISTENCE: one for each GPU, in the question's order. Where the mode
 * is not known, it says why; after a mode was set, why it is another one, or how nvidia-smi failed.
 */
typedef struct PersistenceAnswer {
	AnswerHead head;
	GpuPersistence *gpus _json_(max PERSISTENCE_GPUS_MAX);
	size_t n_gpus;
} PersistenceAnswer;

typedef struct UnseenBoard {
	Bdf bdf _json_(as "address");
	char *reason;
} UnseenBoard;

/* ASK_LINKS, ASK_REGISTERS: each board of the question is among boards or unseen. */
typedef struct ProbeAnswer {
	AnswerHead head;
	char *error _json_(if_any);	    /* why nothing could be observed; NULL: something was */
	Evidence *boards _json_(by boards); /* NULL: none */
	UnseenBoard *unseen _json_(max SIGHTINGS_MAX);
	size_t n_unseen;
} ProbeAnswer;

/* ASK_NVME, ASK_NVME_STATE, ASK_ERASE: each has one of these lists, in the question's order. */
typedef struct NvmeAnswer {
	AnswerHead head;
	NvmeUse *uses _json_(max QUESTION_FUNCTIONS_MAX);
	size_t n_uses;
	NvmeState *states _json_(max 1);
	size_t n_states;
	NvmeErase *erases _json_(max 1);
	size_t n_erases;
} NvmeAnswer;

/* Takes the reason. */
void probe_answer_unseen(ProbeAnswer *answer, const Bdf *bdf, char *reason);
void probe_answer_clear(ProbeAnswer *answer);

/* One line without a newline. `answer` is of question->size; its verb need not be set. */
char *answer_text(const Question *question, const void *answer);

/*
 * 0 with *ret_answer, which was all zeros: its head may have an error. -EPROTO with *ret_why: it is
 * another version's. -EBADMSG: it is no answer about exactly what was asked; *ret_answer is zero.
 */
int answer_parse(const Question *question, const Bdf *functions, size_t n, const char *text,
		 size_t size, void *ret_answer, char **ret_why);
void answer_clear(const Question *question, void *answer);
