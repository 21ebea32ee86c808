/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings: gpupassd.conf, then gpupassd.conf.d/NAME.conf in the order of their names, a later value
 * replacing an earlier one; and the declared groups of groups.d/NAME.conf. Read by main at start and
 * by the manager's threads when groups change.
 */
#pragma once

#include "core/group/rules.h"

typedef struct Config {
	char *libvirt_uri;
	Policy policy;
	int log_level;		     /* of syslog.h */
	uint64_t look_interval_usec; /* LookIntervalSec=: between looks that no event asked for */
} Config;

/* PROBLEM (InvalidConfig) with "gpupassd.conf:7: …" when a file has an error. */
int config_load(const char *directory, Config **ret, Problem **ret_problem);
Config *config_free(Config *config);
DEFINE_CLEANUP(Config, config_free)

/*
 * Reads groups.d. A file with an error is left out whole and yields a line in *ret_notes; nothing
 * is inferred then (its GPUs may be the ones an inference would take).
 */
int config_load_rules(const char *directory, const Policy *policy, Rules **ret, char ***ret_notes);

/* groups.d/NAME.conf, durable. */
int config_store_group(const char *directory, const char *name, const char *text);
int config_remove_group(const char *directory, const char *name);
