/* SPDX-License-Identifier: GPL-2.0-or-later */
/* org.gpupass1 on a bus: the manager's face. Reads, validates, hands on, replies. */
#pragma once

#include <systemd/sd-bus.h>

#include "manager/manager.h"

typedef struct Face Face;

/* Registers all objects; the name is requested by face_publish(). bus and manager are borrowed. */
int face_new(sd_bus *bus, Manager *manager, Face **ret);
/* 0: the well-known name is ours, callers come. -EEXIST: another instance has it. */
typedef void (*FacePublished)(int result, void *userdata);
/* Asks for the name; published is told later, once. */
int face_publish(Face *face, FacePublished published, void *userdata);
Face *face_free(Face *face);
DEFINE_CLEANUP(Face, face_free)
