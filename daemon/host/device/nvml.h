/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NVLinks as NVIDIA's management library tells them, and persistence mode. Loaded with dlopen(): a host without it
 * has lost nothing. Any call may wait for ever in the driver, and an open library holds the GPUs'
 * device files: worker processes only.
 */
#pragma once

#include "core/facts/persistence.h"
#include "core/links/evidence.h"

typedef struct Nvml Nvml;

/*
 * Loads and initialises. `library`: a path; NULL: libnvidia-ml.so.1 wherever the loader finds it.
 * -ENOENT: there is none; -ENOSYS: it lacks a function; -EIO: it refuses. *ret_why: a sentence
 * (caller frees), also NULL when memory was out.
 */
int nvml_open(const char *library, Nvml **ret, char **ret_why);
Nvml *nvml_close(Nvml *nvml);
DEFINE_CLEANUP(Nvml, nvml_close)

/* "NVML 550.54.15", with the driver's version. */
const char *nvml_source(const Nvml *nvml);

/*
 * Fills identity, peers and counts of the GPU at this address; the subsystem ids as NVML tells of the
 * GPU itself. Way, source and time are the caller's. -ENODATA with *ret_why when a link could
 * not be read: half a picture would look like a broken bridge.
 */
int nvml_look(const Nvml *nvml, const Bdf *bdf, Sighting *ret, char **ret_why);

/*
 * The mode of the GPU at this address; unknown where NVML does not say, with why. The caller clears
 * *ret. -ENOMEM only.
 */
int nvml_persistence(const Nvml *nvml, const Bdf *bdf, GpuPersistence *ret);
/* Sets it, unless it is so already, and reads it again: *ret is what is so now. Needs to be root. */
int nvml_set_persistence(const Nvml *nvml, const Bdf *bdf, bool on, GpuPersistence *ret);
