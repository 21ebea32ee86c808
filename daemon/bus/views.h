/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The properties of each kind of object, and how they are filled from the picture. */
#pragma once

#include "bus/field.h"
#include "host/scan/pci-names.h"
#include "manager/manager.h"

typedef struct ManagerView {
	GPUPASS_MANAGER_PROPERTIES(VIEW_MEMBER, )
} ManagerView;
typedef struct GroupView {
	GPUPASS_GROUP_PROPERTIES(VIEW_MEMBER, )
} GroupView;
typedef struct GpuView {
	GPUPASS_GPU_PROPERTIES(VIEW_MEMBER, )
} GpuView;
typedef struct AssignmentView {
	GPUPASS_ASSIGNMENT_PROPERTIES(VIEW_MEMBER, )
} AssignmentView;
typedef struct JobView {
	GPUPASS_JOB_PROPERTIES(VIEW_MEMBER, )
} JobView;

/* Field tables and vtables of the properties; methods are in methods.c. */
extern const Field manager_fields[], group_fields[], gpu_fields[], assignment_fields[],
	job_fields[];
extern const size_t n_manager_fields, n_group_fields, n_gpu_fields, n_assignment_fields,
	n_job_fields;
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
