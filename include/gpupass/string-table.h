/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enums with names, both ways, from one X-macro list: X(enumerator, "name").
 *
 * DECLARE_ENUM(group_state, GroupState, GPUPASS_GROUP_STATES, GROUP_STATE_MAX_) in a header,
 * DEFINE_STRING_TABLE(group_state, GroupState, GPUPASS_GROUP_STATES) in one source file give
 *   const char *group_state_to_string(GroupState);     NULL when out of range
 *   int group_state_from_string(const char *, GroupState *ret);   -EINVAL when no such name
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define STRING_TABLE_ENUMERATOR_(enumerator, ...) enumerator,
/* The enum alone; what follows the list comes behind its values. */
#define NAMED_ENUM(Type, LIST, ...)                                                                \
	typedef enum Type { LIST(STRING_TABLE_ENUMERATOR_) __VA_ARGS__ } Type
#define DECLARE_ENUM(prefix, Type, ...)                                                            \
	NAMED_ENUM(Type, __VA_ARGS__);                                                             \
	DECLARE_STRING_TABLE(prefix, Type)
#define DECLARE_STRING_TABLE(prefix, Type)                                                         \
	const char *prefix##_to_string(Type value);                                                \
	int prefix##_from_string(const char *s, Type *ret)

#define STRING_TABLE_ENTRY_(enumerator, name, ...) [enumerator] = (name),
/* Of a list that has words for people behind the names: by its values. */
#define STRING_TABLE_WORDS_(enumerator, name, words) [enumerator] = (words),

#define DEFINE_STRING_TABLE(prefix, Type, LIST)                                                    \
	static const char *const prefix##_names_[] = { LIST(STRING_TABLE_ENTRY_) };                \
	const char *prefix##_to_string(Type value)                                                 \
	{                                                                                          \
		size_t i = (size_t)value;                                                          \
                                                                                                   \
		if (i >= sizeof(prefix##_names_) / sizeof(prefix##_names_[0]))                     \
			return NULL;                                                               \
		return prefix##_names_[i];                                                         \
	}                                                                                          \
	int prefix##_from_string(const char *s, Type *ret)                                         \
	{                                                                                          \
		for (size_t i = 0; s && i < sizeof(prefix##_names_) / sizeof(prefix##_names_[0]);  \
		     i++)                                                                          \
			if (prefix##_names_[i] && strcmp(prefix##_names_[i], s) == 0) {            \
				*ret = (Type)i;                                                    \
				return 0;                                                          \
			}                                                                          \
		return -EINVAL;                                                                    \
	}
