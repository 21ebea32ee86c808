/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NVLinks as NVIDIA's management library reports them, and persistence mode. Loaded with dlopen(),
 * so a host without it loses nothing. Any call may wait for ever in the driver, and an open library
 * holds the GPUs' device files: worker processes only.
 */
#pragma once

#include "core/facts/persistence.h"
#include "core/links/evidence.h"

typedef struct Nvml Nvml;

/*
 * Loads and initialises NVML. `library`: a path; NULL: libnvidia-ml.so.1 wherever the loader finds
 * it. -ENOENT: there is none; -ENOSYS: it lacks a function; -EIO: it refuses. *ret_why: a sentence
 * (caller frees).
 */
int nvml_open(const char *library, Nvml **ret, char **ret_why);
Nvml *nvml_close(Nvml *nvml);
DEFINE_CLEANUP(Nvml, nvml_close)

/* "NVML 550.54.15", with the driver's version. */
const char *nvml_source(const Nvml *nvml);

/*
 * Fills identity, peers and counts of the GPU at this address; the subsystem ids are those that
 * NVML gives for the GPU itself. The caller sets way, source and time. -ENODATA with *ret_why when
 * a link could not be read, because half an observation would look like a broken bridge.
 */
int nvml_look(const Nvml *nvml, const Bdf *bdf, Sighting *ret, char **ret_why);

/*
 * Reads the mode of the GPU at this address; if NVML does not give it, it is unknown, with the
 * reason. The caller clears *ret.
 */
void nvml_persistence(const Nvml *nvml, const Bdf *bdf, GpuPersistence *ret);
/* Sets the mode unless it is already set, and reads it again: *ret is the mode now. Needs root. */
void nvml_set_persistence(const Nvml *nvml, const Bdf *bdf, bool on, GpuPersistence *ret);
