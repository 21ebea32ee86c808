/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon asks of one of its parts, over the part's socket: words, each ended by a NUL.
 * An empty word ends the request, so that one that was cut off is none.
 */
#pragma once

#include <stddef.h>

/* 512 functions with a verb, a driver and an override each would not fill it. */
#define REQUEST_MAX 65536U

/* -E2BIG: too long; -EINVAL: a word is empty. */
int request_write(char *const *words, char **ret, size_t *ret_size);

/*
 * The locks of the parts (util/pid-lock.h): question_lock_name().
 */
#define PARTS_LOCKS_DIR "/run/gpupass/at-work"

#define PART_MOVER "mover"	       /* drivers and resets */
#define PART_INSPECTOR "inspector"     /* who holds a device */
#define PART_CONFIG "config"	       /* config space and registers */
#define PART_PROBER "prober"	       /* questions to NVML */
#define PART_PERSISTENCE "persistence" /* a mode set through NVML */
#define PART_EXAMINER "examiner"       /* the host's setup */
#define PART_NETWORK "network"	       /* who uses a NIC */
#define PART_RULES "rules"	       /* what VFs may do */
#define PART_INITRAMFS "initramfs"     /* what is in the boot image */
#define PART_ERASER "eraser"	       /* what NVMes say of themselves, and their erase */
#define PART_UEVENTS "uevents"	       /* says when PCI devices come and go */

/*
 * Reads one request, which is all that the other side sends. -EBADMSG: it is no request;
 * -ETIMEDOUT: the other side has said nothing for seconds; or what read(2) says.
 */
int request_read(int fd, char ***ret);

/*
 * The next of several requests, each of which is answered before the next is sent. Waits for it
 * without a deadline: a part is started before anybody has something to ask. 1 with the request; 0:
 * whoever would ask has gone, or `stop_fd` (-1: none) is readable. Errors as above.
 */
int request_next(int fd, int stop_fd, char ***ret);

/*
 * Says to whoever asked that the work begins: the time for it counts from here. Who asked takes a
 * connection that ends without this for one whose request was never worked on, and may ask another
 * part. So where this fails no work may follow.
 */
int request_begin(int fd);
