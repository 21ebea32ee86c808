/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ownership that can be seen: _cleanup_(), TAKE_PTR() and destructors for them.
 *
 * A destructor takes NULL and returns NULL, so that `p = plan_free(p)` both frees and clears.
 * DEFINE_CLEANUP(Plan, plan_free) gives plan_freep() for _cleanup_(plan_freep).
 *
 * And searches of a list and its count.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)
#define _printf_(fmt, first) __attribute__((format(printf, fmt, first)))
#define _unused_ __attribute__((unused))

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *take_ptr_from_ = &(p);                                              \
		__typeof__(p) take_ptr_value_ = *take_ptr_from_;                                   \
		*take_ptr_from_ = NULL;                                                            \
		take_ptr_value_;                                                                   \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *take_fd_from_ = &(fd);                                                        \
		int take_fd_value_ = *take_fd_from_;                                               \
		*take_fd_from_ = -1;                                                               \
		take_fd_value_;                                                                    \
	})

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

/*
 * The place of the first of `n` items for which the condition holds, in which `it` points at the
 * item; NULL: none. SOME() and EVERY() say whether it holds. Of a list of pointers or numbers,
 * ..._OF, `it` is the item, which FIND_OF() gives. One condition has no other search in it.
 */
#define FIND(list, n, condition) FIND_(list, n, &, condition)
#define SOME(list, n, condition) (FIND(list, n, condition) != NULL)
#define EVERY(list, n, condition) (!SOME(list, n, !(condition)))
#define SOME_OF(list, n, condition) (FIND_(list, n, , condition) != NULL)
#define EVERY_OF(list, n, condition) (!SOME_OF(list, n, !(condition)))
#define FIND_OF(list, n, condition)                                                                \
	({                                                                                         \
		__typeof__((list)[0]) *found_of_ = FIND_(list, n, , condition);                    \
		found_of_ ? *found_of_ : NULL;                                                     \
	})
#define FIND_(list, n, as, condition)                                                              \
	({                                                                                         \
		__typeof__((list)[0]) *found_ = NULL;                                              \
		for (size_t at_ = 0; at_ < (n) && !found_; at_++) {                                \
			__typeof__(as(list)[0]) it = as(list)[at_];                                \
			if (condition)                                                             \
				found_ = &(list)[at_];                                             \
		}                                                                                  \
		found_;                                                                            \
	})

/* The sum over all items: how many, of a condition. */
#define COUNT(list, n, value)                                                                      \
	({                                                                                         \
		size_t count_ = 0;                                                                 \
		for (size_t at_ = 0; at_ < (n); at_++) {                                           \
			__typeof__(&(list)[0]) it = &(list)[at_];                                  \
			count_ += (value);                                                         \
		}                                                                                  \
		count_;                                                                            \
	})

/*
 * Runs through `n` items, of which none comes or goes meanwhile: `item` points at each. Of a list
 * of pointers, EACH_OF(), it is the item. EACH_IN() takes what has a `list` and its n_list, or
 * NULL.
 */
#define EACH(Type, item, list, n)                                                                  \
	for (Type *item = (list), *item##_end_ = item ? item + (n) : NULL; item != item##_end_;    \
	     item++)
#define EACH_OF(Type, item, list, n)                                                               \
	for (Type *const *item##_at_ = (list),                                                     \
			 *const *item##_end_ = item##_at_ ? item##_at_ + (n) : NULL, *item = NULL; \
	     item##_at_ != item##_end_ && (item = *item##_at_, true); item##_at_++)
#define EACH_IN(Type, item, from, list)                                                            \
	for (Type *item = (from) ? (from)->list : NULL,                                            \
		  *item##_end_ = item ? item + (from)->n_##list : NULL;                            \
	     item != item##_end_; item++)

#define DEFINE_CLEANUP(Type, destructor)                                                           \
	static inline _unused_ void destructor##p(Type **p)                                        \
	{                                                                                          \
		*p = destructor(*p);                                                               \
	}

/* The destructor of a type, with its cleanup, and what makes it from what frees the members. */
#define DECLARE_FREE(Type, destructor)                                                             \
	Type *destructor(Type *p);                                                                 \
	DEFINE_CLEANUP(Type, destructor)
/*
 * What follows from a struct is written by include/structs.py; docs/HACKING.md, "Structs". A member
 * that points at something is owned, unless it is const or _borrowed_.
 */
#define _borrowed_
#define _owned_(function)
#define _json_(...)
#define DECLARE_CLEAR(Type, f) void f(Type *p);
#define DECLARE_NEW(Type, f) Type *f(void);
#define DECLARE_REF(Type, f) Type *f(Type *p);
#define DECLARE_FREE_LIST(Type, f) void f(Type *list, size_t n);
#define DECLARE_FIND(Type, f) const Type *f(const Type *list, size_t n, const Bdf *bdf);
#define DECLARE_COPY(Type, f) Type f(const Type *from);
#define DECLARE_DUP(Type, f) Type *f(const Type *from);
#define DECLARE_EQUAL(Type, f) bool f(const Type *a, const Type *b);
#define LOCAL_FREE(Type, destructor)                                                               \
	static Type *destructor(Type *p);                                                          \
	DEFINE_CLEANUP(Type, destructor)
#define LOCAL_REF(Type, f) static Type *f(Type *p);
#define LOCAL_CLEAR(Type, f) static void f(Type *p);
#define LOCAL_COPY(Type, f) static Type f(const Type *from);
#define LOCAL_DUP(Type, f) static Type *f(const Type *from);
#define LOCAL_EQUAL(Type, f) static bool f(const Type *a, const Type *b);
#define DEFINE_FREE(Type, destructor, clear)                                                       \
	Type *destructor(Type *p)                                                                  \
	{                                                                                          \
		if (p)                                                                             \
			clear(p);                                                                  \
		free(p);                                                                           \
		return NULL;                                                                       \
	}
#define DEFINE_LOCAL_FREE(Type, destructor, clear)                                                 \
	static DEFINE_FREE(Type, destructor, clear) DEFINE_CLEANUP(Type, destructor)

static inline _unused_ void freep(void *p)
{
	free(*(void **)p);
}

static inline _unused_ int close_fd(int fd)
{
	if (fd >= 0) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	return -1;
}

static inline _unused_ void closep(int *fd)
{
	*fd = close_fd(*fd);
}

static inline _unused_ void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline _unused_ void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}
