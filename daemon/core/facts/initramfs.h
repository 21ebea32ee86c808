/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an initramfs has that decides who gets a GPU at boot: drivers, gpupass-bind, its copy of the
 * assignments. Collected from names and a few small files while a worker reads the image.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpupass/cleanup.h"

/* X(member): strings; NULL: not known */
#define INITRAMFS_TEXTS(X)                                                                         \
	X(path)	   /* "/boot/initrd.img-6.1.0-18-amd64" */                                         \
	X(release) /* of the kernel that it is for */                                              \
	X(key)	   /* path, size and times: another key is another image */                        \
	X(trouble) /* why it could not be read to its end; NULL: it was */                         \
	X(maker)   /* "initramfs-tools" or "dracut" */

/* X(member): lists; NULL: empty */
#define INITRAMFS_LISTS(X)                                                                         \
	X(modules)  /* "nvidia-current": drivers of functions that GPUs have, as they are named */ \
	X(blocked)  /* "nouveau": modules that its modprobe.d keeps from loading */                \
	X(assigned) /* "0000:41:00.0": functions in its copy of the assignments */

/* X(member) */
#define INITRAMFS_FLAGS(X)                                                                         \
	X(unchanged) /* it is the one that is known already: no more than the key is here */       \
	X(bind)	     /* gpupass-bind */                                                            \
	X(trigger)   /* and what runs it */                                                        \
	X(vfio_pci)  /* the module, or the kernel has it built in */

typedef struct Initramfs {
#define X(member) char *member;
	INITRAMFS_TEXTS(X)
#undef X
#define X(member) char **member;
	INITRAMFS_LISTS(X)
#undef X
#define X(member) bool member;
	INITRAMFS_FLAGS(X)
#undef X
} Initramfs;

/* Collects: a name, > 0 when the content is wanted; a content, NUL-terminated. -ENOMEM only. */
int initramfs_note_name(Initramfs *image, const char *name);
int initramfs_note_content(Initramfs *image, const char *name, const char *text);

/*
 * The module of the image that takes a function of this class (24 bits) when it boots; NULL: none.
 * What its modprobe.d or a word of the kernel command line keeps from loading does not count.
 */
const char *initramfs_taker(const Initramfs *image, uint32_t class_code, char *const *cmdline);

/* As of an Examination. */
json_t *initramfs_to_json(const Initramfs *image);
int initramfs_from_json(const json_t *json, Initramfs **ret, char **ret_message);
int initramfs_copy(const Initramfs *from, Initramfs **ret);
Initramfs *initramfs_free(Initramfs *image);
DEFINE_CLEANUP(Initramfs, initramfs_free)
