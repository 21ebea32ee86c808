/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings: gpupassd.conf, then gpupassd.conf.d/NAME.conf in the order of their names; a later
 * value replaces an earlier one. And the declared groups of groups.d/NAME.conf. main() reads them
 * at start, and the manager's threads read them again when groups change.
 */
#pragma once

#include "core/group/rules.h"
#include "store/trail-files.h"

typedef struct Config {
	char *libvirt_uri;   /* or "none" */
	bool proxmox_guests; /* Guests=: with Uri=none the machines of Proxmox VE are read */
	Policy policy _borrowed_;
	int log_level;		     /* of syslog.h */
	TrailLimits audit;	     /* FileMegabytes=, Files= */
	char **keep_bound;	     /* KeepBound=; policy.keep_bound is this */
	uint64_t look_interval_usec; /* LookIntervalSec=: time between looks without an event */
} Config;

/* PROBLEM (InvalidConfig) with "gpupassd.conf:7: …" when a file has an error. */
int config_load(const char *directory, Config **ret, Problem **ret_problem);
DECLARE_FREE(Config, config_free)

/*
 * Reads groups.d. Leaves out the whole of a file with an error, and adds a line to *ret_notes. Then
 * no group is inferred, because an inference might take the GPUs of that file.
 */
int config_load_rules(const char *directory, const Policy *policy, Rules **ret, char ***ret_notes);

/* groups.d/NAME.conf, durable. */
int config_store_group(const char *directory, const char *name, const char *text);
int config_remove_group(const char *directory, const char *name);
