/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The properties of each kind of object, and how they are filled from the picture. */
#pragma once

#include "bus/collection.h"
#include "host/scan/pci-names.h"
#include "manager/manager.h"

typedef struct ManagerView {
#define MANAGER_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} ManagerView;
typedef struct GroupView {
#define GROUP_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} GroupView;
typedef struct GpuView {
#define GPU_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} GpuView;
typedef struct AssignmentView {
#define ASSIGNMENT_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} AssignmentView;
typedef struct JobView {
#define JOB_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} JobView;

/* Of the properties; methods are in methods.c. */
extern const sd_bus_vtable manager_properties[], group_properties[], gpu_properties[],
	assignment_properties[], job_properties[];

/* Object paths. */
char *group_path(const char *name);
char *gpu_path(const Bdf *bdf);
char *assignment_path(const Assignment *assignment);
char *job_path(uint32_t id);

/* Each fills a zeroed view. */
void manager_view_fill(const Manager *m, ManagerView *view);
void group_view_fill(const Manager *m, const Group *group, GroupView *view);
void gpu_view_fill(const Manager *m, PciNames *names, const Gpu *gpu, GpuView *view);
void assignment_view_fill(const Manager *m, const Assignment *assignment, AssignmentView *view);
void job_view_fill(const JobRecord *job, JobView *view);
