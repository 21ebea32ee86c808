/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's reader of the daemon's properties: the input builds a message, with values of the
 * type that a property has, or of another one. What is read is whole; what is not has a failure.
 */
#include "gpupass/properties.h"
#include "message.h"
#include "model/json.h"
#include "model/model.h"

typedef union Object {
	Manager manager;
	Group group;
	Gpu gpu;
	Assignment assignment;
	Job job;
} Object;

typedef struct Row {
	const char *name, *signature;
} Row;

#define ROW(Name, TYPE, ...) { Name, PROPERTY_SIGNATURE_##TYPE },
static const Row manager_rows[] = {
#define MANAGER_PROPERTY ROW
#include "gpupass/interfaces.h"
};
static const Row group_rows[] = {
#define GROUP_PROPERTY ROW
#include "gpupass/interfaces.h"
};
static const Row gpu_rows[] = {
#define GPU_PROPERTY ROW
#include "gpupass/interfaces.h"
};
static const Row assignment_rows[] = {
#define ASSIGNMENT_PROPERTY ROW
#include "gpupass/interfaces.h"
};
static const Row job_rows[] = {
#define JOB_PROPERTY ROW
#include "gpupass/interfaces.h"
};

static const struct {
	const Row *rows;
	size_t n;
} kinds[OBJECT_KIND_MAX_] = {
	[OBJECT_MANAGER] = { manager_rows, ELEMENTS(manager_rows) },
	[OBJECT_GROUP] = { group_rows, ELEMENTS(group_rows) },
	[OBJECT_GPU] = { gpu_rows, ELEMENTS(gpu_rows) },
	[OBJECT_ASSIGNMENT] = { assignment_rows, ELEMENTS(assignment_rows) },
	[OBJECT_JOB] = { job_rows, ELEMENTS(job_rows) },
};

static int append_property(sd_bus_message *m, ObjectKind kind, size_t i, FuzzBytes *from)
{
	uint8_t how = fuzz_byte(from);
	const Row *row = &kinds[kind].rows[(i + how % 8) % kinds[kind].n];
	/* Seldom of another property's type, seldom by another name. */
	const Row *other = how >= 250 ? &job_rows[how % ELEMENTS(job_rows)] : row;
	_cleanup_free_ char *name = how >= 240 && how < 250 ? fuzz_string(from, 20) : NULL;

	return message_append_entry(m, name ? name : row->name, other->signature, from);
}

/* NULL: such a message cannot travel. */
static sd_bus_message *build(ObjectKind kind, FuzzBytes *from)
{
	sd_bus_message *m = message_new();
	size_t n = kinds[kind].n + fuzz_byte(from) % 4;
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = append_property(m, kind, i, from);
	if (r < 0)
		return sd_bus_message_unref(m);
	message_seal(m);
	return m;
}

static void it_is_shown(ObjectKind kind, const Object *object)
{
	json_t *json = json_of_object(kind, object);
	char *text;

	if (kind == OBJECT_JOB)
		job_is_over(&object->job);
	EXPECT(json);
	text = json_dumps(json, 0);
	EXPECT(text);
	free(text);
	json_decref(json);
}

void fuzz_one(const char *bytes, size_t size, _unused_ const char *text)
{
	FuzzBytes from = fuzz_bytes(bytes, size);
	uint8_t first = fuzz_byte(&from);
	ObjectKind kind = first % OBJECT_KIND_MAX_;
	const Options options = { .json = first & 0x80 ? JSON_PRETTY : JSON_OFF };
	Client client = { .options = &options };
	Object object;
	sd_bus_message *m = build(kind, &from);
	int r;

	if (!m)
		return;
	memset(&object, 0, sizeof(object));
	r = object_read(&client, kind, m, true, &object);
	EXPECT(r < 0 || !client.failure);
	EXPECT(r != -ECANCELED || client.failure);
	if (r >= 0) {
		object.manager.path = strdup("/org/gpupass1/job/7");
		it_is_shown(kind, &object);
	}
	object_clear(kind, &object);
	client_forgive(&client);
	sd_bus_message_unref(m);
}
