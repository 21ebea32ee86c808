/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/machines.h"

#include <errno.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/xalloc.h"

#define MACHINES_MAX 10000

typedef struct Answer {
	int error;
	Machine *machines;
	size_t n_machines;
} Answer;

static const JsonMember device_members[] = {
	JSON_BDF(MachineDevice, bdf),
	JSON_BOOL_IF_ANY(MachineDevice, now),
	JSON_BOOL_IF_ANY(MachineDevice, next),
	JSON_BOOL_IF_ANY(MachineDevice, maybe),
	JSON_END,
};

static const JsonMember machine_members[] = {
	JSON_NUMBER(Machine, vmid, MACHINE_VMID_MAX),
	JSON_NUMBER_IF_ANY(Machine, created, UINT32_MAX),
	JSON_BOOL_IF_ANY(Machine, running),
	JSON_TEXT_IF_ANY(Machine, name),
	JSON_TEXT_IF_ANY(Machine, unread),
	JSON_ARRAY(Machine, devices, MachineDevice, device_members, MACHINE_DEVICES_MAX),
	JSON_LIST(Machine, mdevs),
	JSON_END,
};

static const JsonMember answer_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_MACHINES),
	JSON_ERRNO(Answer, error),
	JSON_ARRAY(Answer, machines, Machine, machine_members, MACHINES_MAX),
	JSON_END,
};

char *machines_document(const Machines *machines, int error)
{
	const Answer answer = {
		.error = error,
		.machines = machines ? machines->items : NULL,
		.n_machines = machines ? machines->n_items : 0,
	};

	return json_struct_text(answer_members, &answer);
}

int machines_document_parse(const char *text, size_t size, Machines **ret)
{
	_cleanup_(machines_freep) Machines *machines = xcalloc(1, sizeof(Machines));
	Answer answer = { 0 };
	int r = json_struct_parse(answer_members, text, size, &answer);

	if (r < 0)
		return r;
	machines->items = answer.machines;
	machines->n_items = answer.n_machines;
	if (answer.error < 0)
		return answer.error;
	*ret = TAKE_PTR(machines);
	return 0;
}
