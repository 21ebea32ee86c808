/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What guests and other engines are told about GPUs, each in its own format.
 *
 * It is exported from plain values. Who fills them cleans their texts, so that no format can forget
 * to: a name has letters, digits, '.', '_' and '-', a model also " ,/()+".
 */
#pragma once

#include "gpupass/cleanup.h"
#include "util/bdf.h"
#include "util/pcie-speed.h"

/* A PCI Express switch of the host. */
typedef struct ExportSwitch {
	Bdf host; /* its upstream port */
	PcieLink link;
} ExportSwitch;

/* A GPU or NIC that a guest has. */
typedef struct ExportMember {
	Bdf guest;  /* its address there */
	char *path; /* and its place: "00/02.3/00.0" */
	unsigned long long class_code, vendor_id, device_id;
	int numa_node; /* of the host; -1: not known */
	PcieLink link;
	ExportSwitch *switches; /* above it on the host, the uppermost first */
	size_t n_switches;
} ExportMember;

/* What the host gave one guest. */
typedef struct ExportGuest {
	const char *domain_uuid;
	const char *distribution; /* auto, debian, ubuntu, rhel */
	char **models;		  /* of its GPUs, each once */
	unsigned n_gpus;
	char **links; /* active ones that each GPU should have, least first; as numbers */
	ExportMember *members;
	size_t n_members;
	char *treeless; /* why NCCL cannot be told the tree of its members; NULL: it can */
} ExportGuest;

/* A GPU, or a companion of one function. */
typedef struct ExportGpu {
	char *kind;	/* "nic", "vf", "nvme"; NULL: a GPU */
	Bdf *functions; /* at least one; the GPU itself first, the lowest */
	size_t n_functions;
	char *name; /* as pci.ids has it; or the model */
	unsigned vendor_id, device_id;
	unsigned vlan;		    /* of a VF; 0: none */
	unsigned nvlink_generation; /* 0: none, or not known */
	uint64_t bar_bytes;	    /* of all BARs together; 0: not known */
} ExportGpu;

typedef struct ExportGroup {
	char *name, *model;
	unsigned links;	 /* that each GPU has to each other one */
	bool held;	 /* gpupass has assigned it to a domain */
	ExportGpu *gpus; /* at least one; behind them the companions */
	size_t n_gpus;	 /* with these */
	size_t n_companions;
} ExportGroup;

typedef struct Export {
	ExportGuest guest;   /* SUBJECT_DOMAIN */
	ExportGroup *groups; /* whole ones, with all their GPUs; otherwise */
	size_t n_groups;
	char **left_out;  /* "pair0: left out, since …" */
	unsigned machine; /* SUBJECT_MACHINE_GROUP */
	unsigned first;	  /* of the numbers that the format counts GPUs with */
} Export;

/* What a format speaks of, and so what its arguments are. */
typedef enum ExportSubject {
	SUBJECT_DOMAIN,	       /* DOMAIN: the GPUs that it has */
	SUBJECT_TREE,	       /* the same, whose tree must be known */
	SUBJECT_GROUPS,	       /* [GROUP]: one, or all of the host */
	SUBJECT_HOST,	       /* all of the host */
	SUBJECT_MACHINE_GROUP, /* VMID GROUP: one, for a machine that has a number */
} ExportSubject;

typedef struct ExportFormat {
	const char *name;
	ExportSubject subject;
	/* Of the numbers that it counts GPUs with, the first and the last; 0: it counts none */
	unsigned first, last;
	/*
	 * What stands first: what the engine cannot express, or what must be filled in by hand. The
	 * groups follow, and which were left out, a line for each, behind the sign of a comment.
	 * NULL: no groups are told.
	 */
	const char *head, *sign;
	const char *companions; /* "nic, nvme": the kinds that it can tie to GPUs; NULL: none */
	void (*print)(FILE *to, const Export *e);
} ExportFormat;

/* NULL: there is no such format. */
const ExportFormat *export_format_find(const char *name);
/* "cloud-init, …": all of them. New. */
char *export_format_names(void);
void export_print(FILE *to, const ExportFormat *format, const Export *e);

/* ---- for formats ---- */

/* Of all groups, with companions. */
size_t export_gpus(const Export *e);
/* The i-th, counted through all groups. NULL: there are fewer. */
const ExportGpu *export_gpu(const Export *e, size_t i);
DECLARE_CLEAR(Export, export_clear)

/*
 * Texts of the host in a form that means nothing to any target's grammar. New. As a name of a group
 * may be; any other character becomes '_'.
 */
char *export_plain_name(const char *text);
/* Letters, digits and what names of boards have: harmless in YAML, and in a shell's quotes. */
char *export_plain_text(const char *text);
/* "GA102GL_RTX_A6000" of "GA102GL [RTX A6000]": letters and digits, and single '_' between them. */
char *export_word(const char *text);
/* The same in capitals. */
char *export_capitals(const char *text);

/* Sorts members as the host has them: by node, then by the switches above. */
void export_sort_members(ExportGuest *guest);

/* Formats that take a file of their own. */
void export_cloud_init(FILE *to, const Export *e);
void export_nova(FILE *to, const Export *e);
void export_nccl(FILE *to, const Export *e);
