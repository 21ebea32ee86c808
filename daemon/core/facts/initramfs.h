/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What in an initramfs decides which driver gets a GPU at boot: drivers, gpupass-bind, its copy of
 * the assignments. Collected from names and a few small files while a worker reads the image.
 */
#pragma once

#include <stdint.h>

#include "core/base/json-struct.h"

/* A file of modprobe.d in the image, while that is read. */
typedef struct InitramfsConf {
	char *name;	 /* "vfio.conf" */
	unsigned folder; /* of files with one name only that of the first folder counts */
	char *text;	 /* NULL: it is a link */
} InitramfsConf;

typedef struct Initramfs {
	/* NULL: not known */
	char *path _json_(plain, if_any);    /* "/boot/initrd.img-6.1.0-18-amd64" */
	char *release _json_(plain, if_any); /* release of the kernel that it is for */
	char *key _json_(plain, if_any);     /* it changes with the image */
	char *trouble _json_(plain, if_any); /* why it could not be read to its end; NULL: it was */
	char *maker _json_(plain, if_any);   /* "initramfs-tools" or "dracut" */
	/* NULL: empty */
	char **modules;	 /* drivers for functions of GPUs, by file name */
	char **modprobe; /* "blacklist nouveau": its settings for modprobe (modprobe.h) */
	char **assigned; /* "0000:41:00.0": functions in its copy of the assignments */
	bool unchanged;	 /* the image is known already: only the key is filled */
	bool bind;	 /* gpupass-bind */
	bool trigger;	 /* what runs gpupass-bind */
	bool vfio_pci;	 /* it has the module, or the kernel has it built in */
	InitramfsConf *confs _json_(no);
	size_t n_confs;
} Initramfs;
DECLARE_FREE(Initramfs, initramfs_free)
DECLARE_DUP(Initramfs, initramfs_copy)
DECLARE_JSON(Initramfs, initramfs_members)

/* Collects a name, true if its content is wanted; or a content, NUL-terminated. */
bool initramfs_note_name(Initramfs *image, const char *name);
void initramfs_note_content(Initramfs *image, const char *name, const char *text);

/*
 * All of the image's modprobe.d as one text, in the order in which modprobe reads the files; ""
 * where it has none.
 */
char *initramfs_modprobe_text(Initramfs *image);

/*
 * The module of the image that binds a function of this class (24 bits) at boot; NULL: none. A
 * module does not count if the image's modprobe.d, or a word of the kernel command line, keeps it
 * from loading.
 */
const char *initramfs_taker(const Initramfs *image, uint32_t class_code, char *const *cmdline);

/*
 * Loading the module of this name loads a driver of functions of this class; 0: of some function of
 * a GPU. The name is as in settings: "nvidia_drm", which needs nvidia, "nouveau.ko" or "nouveau?".
 */
bool initramfs_loads_taker(const char *name, uint32_t class_code);

/* As for an Examination. */
DECLARE_READ(Initramfs, initramfs_from_json, "image")
