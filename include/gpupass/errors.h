/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The named errors of gpupass and the exit codes they lead to.
 *
 * One table serves the daemon (code to D-Bus name), the client (D-Bus name to exit code) and the
 * manual. Adding an error means adding a line here, and nothing else.
 */
#pragma once

#include "gpupass/string-table.h"

#define GPUPASS_ERROR_PREFIX "org.gpupass1.Error."

/* Exit codes of gpupass(1), gpupass-bind(8) and, for refusals at start-up, gpupassd(8). */
typedef enum GpupassExit {
	GPUPASS_EXIT_DONE = 0,
	GPUPASS_EXIT_FAILED = 1, /* failed, and everything was put back */
	GPUPASS_EXIT_USAGE = 2,
	GPUPASS_EXIT_UNSUPPORTED = 3, /* this board or host cannot do it */
	GPUPASS_EXIT_NOT_PERMITTED = 4,
	GPUPASS_EXIT_DEPENDENCY = 5,   /* a dependency is missing or does not answer */
	GPUPASS_EXIT_UNCONFIGURED = 6, /* the host is not configured for it */
	GPUPASS_EXIT_NO_DAEMON = 7,
	GPUPASS_EXIT_NOT_FOUND = 8,
	GPUPASS_EXIT_BUSY = 9,	   /* busy, or in conflict with somebody else's */
	GPUPASS_EXIT_PENDING = 10, /* --detailed-exitcode: changes are pending */
	GPUPASS_EXIT_ROLLBACK_INCOMPLETE = 11,
} GpupassExit;

/* X(enumerator, D-Bus name without the prefix, exit code) */
#define GPUPASS_ERRORS(X)                                                                          \
	X(GPUPASS_ERROR_NO_SUCH_GROUP, "NoSuchGroup", GPUPASS_EXIT_NOT_FOUND)                      \
	X(GPUPASS_ERROR_NO_SUCH_DOMAIN, "NoSuchDomain", GPUPASS_EXIT_NOT_FOUND)                    \
	X(GPUPASS_ERROR_NO_SUCH_GPU, "NoSuchGpu", GPUPASS_EXIT_NOT_FOUND)                          \
	X(GPUPASS_ERROR_NO_SUCH_JOB, "NoSuchJob", GPUPASS_EXIT_NOT_FOUND)                          \
	X(GPUPASS_ERROR_NOT_ASSIGNED, "NotAssigned", GPUPASS_EXIT_NOT_FOUND)                       \
	X(GPUPASS_ERROR_NOT_BRIDGED, "NotBridged", GPUPASS_EXIT_UNSUPPORTED)                       \
	X(GPUPASS_ERROR_LINKS_UNKNOWN, "LinksUnknown", GPUPASS_EXIT_UNCONFIGURED)                  \
	X(GPUPASS_ERROR_PROBE_FAILED, "ProbeFailed", GPUPASS_EXIT_DEPENDENCY)                      \
	X(GPUPASS_ERROR_PART_FAILED, "PartFailed", GPUPASS_EXIT_DEPENDENCY)                        \
	X(GPUPASS_ERROR_GROUP_BUSY, "GroupBusy", GPUPASS_EXIT_BUSY)                                \
	X(GPUPASS_ERROR_SPLIT_GROUP, "SplitGroup", GPUPASS_EXIT_BUSY)                              \
	X(GPUPASS_ERROR_IOMMU_DISABLED, "IommuDisabled", GPUPASS_EXIT_UNCONFIGURED)                \
	X(GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, "IommuGroupNotViable", GPUPASS_EXIT_UNCONFIGURED)  \
	X(GPUPASS_ERROR_VFIO_MISSING, "VfioMissing", GPUPASS_EXIT_DEPENDENCY)                      \
	X(GPUPASS_ERROR_HOST_IN_USE, "HostInUse", GPUPASS_EXIT_BUSY)                               \
	X(GPUPASS_ERROR_DRIVER_CONFLICT, "DriverConflict", GPUPASS_EXIT_BUSY)                      \
	X(GPUPASS_ERROR_FOREIGN_OWNER, "ForeignOwner", GPUPASS_EXIT_BUSY)                          \
	X(GPUPASS_ERROR_BIND_FAILED, "BindFailed", GPUPASS_EXIT_FAILED)                            \
	X(GPUPASS_ERROR_UNBIND_TIMEOUT, "UnbindTimeout", GPUPASS_EXIT_ROLLBACK_INCOMPLETE)         \
	X(GPUPASS_ERROR_DEFINE_FAILED, "DefineFailed", GPUPASS_EXIT_FAILED)                        \
	X(GPUPASS_ERROR_ATTACH_FAILED, "AttachFailed", GPUPASS_EXIT_FAILED)                        \
	X(GPUPASS_ERROR_DETACH_TIMEOUT, "DetachTimeout", GPUPASS_EXIT_FAILED)                      \
	X(GPUPASS_ERROR_RESET_FAILED, "ResetFailed", GPUPASS_EXIT_FAILED)                          \
	X(GPUPASS_ERROR_ROLLBACK_FAILED, "RollbackFailed", GPUPASS_EXIT_ROLLBACK_INCOMPLETE)       \
	X(GPUPASS_ERROR_QUARANTINED, "Quarantined", GPUPASS_EXIT_BUSY)                             \
	X(GPUPASS_ERROR_STALE_PLAN, "StalePlan", GPUPASS_EXIT_BUSY)                                \
	X(GPUPASS_ERROR_LIBVIRT_UNAVAILABLE, "LibvirtUnavailable", GPUPASS_EXIT_DEPENDENCY)        \
	X(GPUPASS_ERROR_LIBVIRT_FAILED, "LibvirtFailed", GPUPASS_EXIT_DEPENDENCY)                  \
	X(GPUPASS_ERROR_UNSUPPORTED_BOARD, "UnsupportedBoard", GPUPASS_EXIT_UNSUPPORTED)           \
	X(GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "UnsupportedDomain", GPUPASS_EXIT_UNSUPPORTED)         \
	X(GPUPASS_ERROR_DOES_NOT_FIT, "DoesNotFit", GPUPASS_EXIT_UNSUPPORTED)                      \
	X(GPUPASS_ERROR_INVALID_ARGUMENT, "InvalidArgument", GPUPASS_EXIT_USAGE)                   \
	X(GPUPASS_ERROR_INVALID_CONFIG, "InvalidConfig", GPUPASS_EXIT_UNCONFIGURED)                \
	X(GPUPASS_ERROR_LIMITS_EXCEEDED, "LimitsExceeded", GPUPASS_EXIT_BUSY)                      \
	X(GPUPASS_ERROR_CANCELLED, "Cancelled", GPUPASS_EXIT_FAILED)                               \
	X(GPUPASS_ERROR_TOO_LATE, "TooLate", GPUPASS_EXIT_BUSY)                                    \
	X(GPUPASS_ERROR_STATE_READ_ONLY, "StateReadOnly", GPUPASS_EXIT_DEPENDENCY)                 \
	X(GPUPASS_ERROR_FILE_FAILED, "FileFailed", GPUPASS_EXIT_FAILED)                            \
	X(GPUPASS_ERROR_INTERNAL, "Internal", GPUPASS_EXIT_FAILED)

NAMED_ENUM(GpupassError, GPUPASS_ERRORS, GPUPASS_ERROR_MAX_);
