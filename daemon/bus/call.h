/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call of a method: what was read of it, whether the caller may, an answer that comes later. */
#pragma once

#include "bus/face.h"
#include "bus/options.h"

/* A method, as its row in gpupass/interfaces.h has it. */
typedef struct Method {
	const char *name;
	const char *in, *names; /* of the arguments before the options */
	const char *action;	/* GPUPASS_ACTION_…; NULL: none, see its handler */
	uint32_t takes;		/* options */
	bool must;		/* the first is a name, and not empty */
} Method;

typedef struct Call Call;
typedef enum MethodKind {
	KIND_LATE, /* answers later, a caller whom its action allows it */
	KIND_JOB,  /* starts one, likewise */
	KIND_OPEN, /* answers whoever the bus lets in */
	KIND_OWN,  /* Cancel: asks polkit by itself */
} MethodKind;

typedef struct Handler {
	int (*check)(Call *call); /* what its row does not say; NULL: nothing */
	int (*act)(Call *call);	  /* NULL: a job does */
	MethodKind kind;
	Operation operation; /* of a job */
} Handler;
/* NULL: there is none of this name. */
typedef const Method *MethodFind(const char *name, const Handler **ret);

/* A call that we answer later. Each is a thread, and most start a worker. */
typedef struct Pending {
	struct Pending *next;
	Face *face;
	sd_bus_message *call;
	char *path; /* the object that the answer names; NULL: none */
	Caller caller;
} Pending;

/* What is read lives as long as the message, and is borrowed. */
struct Call {
	Face *face;
	sd_bus_message *message;
	sd_bus_error *error;
	MethodFind *find;
	const Method *method;
	char *names[2]; /* the arguments that are texts; NULL: there is none */
	char **list;	/* that which is a list; owned */
	uint32_t id;
	CallOptions options;
	JobRequest request;    /* of what makes a plan */
	DoctorSymptom symptom; /* of Doctor */
	Pending *pending;      /* of what answers later; the answer takes it */
};
void call_clear(Call *call);

/*
 * Reads arguments and options, and checks what is the same for all calls: names, the timeout. Every
 * check sets InvalidArgument in *error and returns < 0 when it fails, and looks at the call alone,
 * never at the machine, so that its errors do not reveal whether a domain exists. Checks bound the
 * size of the call, because we keep the message while polkit decides.
 */
int call_read(Call *call);
int call_invalid(Call *call, const char *what, const char *remedy);
int call_check_name(Call *call, const char *name, const char *what, bool may_be_empty);
/* Makes call->request of names and options. */
int call_make_request(Call *call, Operation operation);
/* NULL for "". */
const char *named(const char *text);
/* Sets *error to the problem; returns < 0. */
int call_set_problem(Call *call, const Problem *problem, const char *prefix);
/* Unless the error is set: what a negative errno says, in the words of a problem. Returns < 0. */
int call_failed(Call *call, int error);

/*
 * Makes call->pending for a caller who may. 1: go on. 0: polkit decides first, and then the call
 * comes again. LimitsExceeded: too many answers are owed to this user.
 */
int call_begin(Call *call);
/* What polkit is asked before. */
Decision call_question(const Call *call);
/* inspect.c: of Gpu.Inspect, for a caller who may. */
int call_inspect(Call *call);
/* subject.c: starts the job of call->request for a caller who may, and answers; 0 as above. */
int call_start_job(Call *call);
/* rights.c: 0: a job may have this number. */
int call_check_job(Call *call, uint64_t id);
/* rights.c: 1: the caller may cancel the job of call->id. 0: polkit is asked, as above. */
int call_may_cancel(Call *call);
/* rights.c: of Allowed. */
int call_check_allowed(Call *call);
int call_allowed(Call *call);

/* methods.c: methods and signals; userdata is the Face. Properties are in views.h. */
extern const sd_bus_vtable manager_methods[], gpu_methods[];

void pending_reply_error(Pending *pending, const char *name, const char *message);
/* A ManagerAnswered, for a Pending, of what answers with a text. */
void pending_answer(const char *text, const char *error_name, const char *message, void *userdata);
DECLARE_FREE(Pending, pending_free)
