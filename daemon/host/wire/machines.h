/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answer about Proxmox VE's virtual machines, schema org.gpupass1.machines/1: all of
 * them, or why they could not be read.
 */
#pragma once

#include "core/facts/machine.h"

/* One line without a newline. error: an errno below 0. */
char *machines_document(const Machines *machines, int error);

/* -EBADMSG when it is no such answer; the worker's own error. */
int machines_document_parse(const char *text, size_t size, Machines **ret);
