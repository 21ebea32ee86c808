/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/numbers.h"

#include "gpupass/dbus.h"

#define FILE_NAME "numbers.json"
/* No host comes there; a number beyond it would soon begin anew. */
#define NEXT_MAX (UINT32_MAX / 2)
#define AT_ONCE 1000U
#define FEW (AT_ONCE / 2)

typedef struct Numbers {
	uint32_t next _json_(max NEXT_MAX);
} Numbers;
LOCAL_DOCUMENT(Numbers, members, GPUPASS_SCHEMA_NUMBERS)
#include "numbers.inc"

static int check(const void *numbers, char **ret_why)
{
	return ((const Numbers *)numbers)->next > 0
		       ? 0
		       : json_refuse(ret_why, "it has no next number that can be");
}

#define GO_ON "job numbers go on behind those that the journal and the audit trail have"
#define ANEW "nothing need be done: it is written anew"

const RecordKind number_kind = {
	.schema = GPUPASS_SCHEMA_NUMBERS,
	.most = 4096,
	.members = members,
	.size = sizeof(Numbers),
	.check = check,
	.so = { GO_ON, GO_ON, GO_ON },
	.remedy = {
		[RECORD_NEWER] = RECORD_NEWER_REMEDY "; or remove the file",
		[RECORD_DAMAGED] = ANEW,
		[RECORD_UNREAD] = ANEW,
	},
};

void number_store_open(NumberStore *store, const char *state_directory)
{
	store->reserved = 0;
	records_open(&store->records, &number_kind, state_directory);
}

uint32_t number_store_load(NumberStore *store, RecordFaults *faults)
{
	_cleanup_free_ void *next = NULL;

	if (store->records.dir_fd >= 0)
		(void)record_file_read(store->records.dir_fd, &number_kind, FILE_NAME, &next,
				       faults);
	return next ? ((const Numbers *)next)->next - 1 : 0;
}

static int write_reserved(NumberStore *store, uint32_t upto)
{
	/* Also after a failure: the next write comes with other numbers. */
	store->reserved = upto;
	return records_replace(&store->records, FILE_NAME,
			       json_struct_write(members, &(Numbers){ .next = upto + 1 }));
}

int number_store_reserve(NumberStore *store, uint32_t given)
{
	if (!store)
		return 0;
	MUTEX_HOLD(&store->records.lock);
	return given + FEW >= store->reserved ? write_reserved(store, given + AT_ONCE) : 0;
}

void number_store_give_back(NumberStore *store, uint32_t given)
{
	MUTEX_HOLD(&store->records.lock);
	if (store->reserved > given)
		(void)write_reserved(store, given);
}
