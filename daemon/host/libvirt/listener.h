/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the owner of a connection to libvirt hears of it. */
#pragma once

typedef struct Virt Virt;

typedef enum VirtEventKind {
	VIRT_EVENT_CONNECTED,
	VIRT_EVENT_DISCONNECTED,
	VIRT_EVENT_DOMAIN, /* it was defined, undefined, started, stopped, or its devices changed */
} VirtEventKind;

/*
 * Called on the event thread: must only hand the event on, and must not call back into Virt. `uuid`
 * is NULL except for VIRT_EVENT_DOMAIN.
 */
typedef void (*VirtListener)(VirtEventKind kind, const char *uuid, void *userdata);
