/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/inspect.h"

#include <limits.h>
#include <string.h>

#include "host/device/capabilities.h"
#include "host/device/holders.h"
#include "host/device/nvidia-facts.h"
#include "host/device/obstacle-facts.h"
#include "host/device/vfio-facts.h"
#include "host/scan/nvidia-proc.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define BASE_CLASS_DISPLAY 0x03
/* A bus has no room for more. */
#define VFS_MAX 256

static int read_number(int sysfs_fd, const Bdf *bdf, const char *attribute, int base,
		       unsigned long long max, unsigned *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, attribute), *text = NULL;
	unsigned long long number;
	int r;

	r = sysfs_line_if_any(sysfs_fd, path, &text);
	if (r < 0 || !text)
		return r;
	if (str_to_unsigned(text, base, max, &number) < 0)
		return -EBADMSG;
	*ret = (unsigned)number;
	return 0;
}

/* A device whose power state the kernel does not report may sleep, too. */
static bool is_awake(int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "power_state"), *state = NULL;

	(void)sysfs_line_if_any(sysfs_fd, path, &state);
	return str_equal(state, "D0");
}

static int read_capabilities(int sysfs_fd, InspectConfig config, FunctionFacts *facts)
{
	unsigned class_code = 0;
	int r;

	r = read_number(sysfs_fd, &facts->bdf, "class", 16, 0xffffff, &class_code);
	if (r < 0)
		return r;
	if (class_code >> 16 != BASE_CLASS_DISPLAY)
		return 0;
	facts->left_asleep = config != INSPECT_CONFIG_ALL && !is_awake(sysfs_fd, &facts->bdf);
	return facts->left_asleep ? 0 : capabilities_read(sysfs_fd, facts);
}

/*
 * One VF with a vGPU on a host with vendor-specific VFs (no mdev): the type is set from the moment
 * that somebody made it. NVIDIA's driver serves the file, so that only a worker may read it.
 */
static int read_vgpu(int sysfs_fd, unsigned number, FunctionFacts *facts)
{
	_cleanup_free_ char *attribute = strf("virtfn%u/nvidia/current_vgpu_type", number);
	_cleanup_free_ char *link = strf("virtfn%u", number), *path = NULL, *name = NULL;
	unsigned type = 0;
	int r;

	/* What the driver does not say changes nothing: a board with VFs is refused anyway. */
	r = read_number(sysfs_fd, &facts->bdf, attribute, 10, UINT_MAX, &type);
	if (r < 0 || type == 0 || facts->vgpus++ > 0)
		return 0;
	facts->vgpu_type = type;
	path = sysfs_function_path(&facts->bdf, link);
	r = file_link_name_at(sysfs_fd, path, &name);
	return r < 0 ? r : sysfs_parse_bdf(name, &facts->vgpu_vf);
}

static int read_vgpus(int sysfs_fd, FunctionFacts *facts)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < facts->num_vfs && i < VFS_MAX; i++)
		r = read_vgpu(sysfs_fd, i, facts);
	return r;
}

static int read_facts(const InspectRoots *roots, FunctionFacts *facts)
{
	int r;

	r = sysfs_read_driver(roots->sysfs_fd, &facts->bdf, &facts->driver);
	if (r < 0)
		return r;
	facts->vfio_dev = facts->driver && sysfs_has_vfio_dev(roots->sysfs_fd, &facts->bdf);
	r = sysfs_read_override(roots->sysfs_fd, &facts->bdf, &facts->driver_override);
	if (r < 0)
		return r;
	/* Absent on functions that cannot have any. */
	r = read_number(roots->sysfs_fd, &facts->bdf, "sriov_numvfs", 10, UINT_MAX,
			&facts->num_vfs);
	if (r >= 0)
		r = read_vgpus(roots->sysfs_fd, facts);
	if (r < 0)
		return r;
	nvidia_proc_read(roots->proc_fd, &facts->bdf, &facts->uuid, &facts->device_minor);
	return 0;
}

static Inspection *new_inspection(size_t n)
{
	Inspection *inspection = xcalloc(1, sizeof(*inspection));

	inspection->functions = xcalloc(n + 1, sizeof(FunctionFacts));
	return inspection;
}

static FunctionFacts *next_function(Inspection *inspection, const Bdf *bdf)
{
	FunctionFacts *facts = &inspection->functions[inspection->n_functions++];

	facts->bdf = *bdf;
	facts->device_minor = -1;
	return facts;
}

int inspect_config(const InspectRoots *roots, const Bdf *functions, size_t n, InspectConfig config,
		   Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *inspection = new_inspection(n);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = read_capabilities(roots->sysfs_fd, config,
				      next_function(inspection, &functions[i]));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(inspection);
	return 0;
}

int inspect_glance(const InspectRoots *roots, const Bdf *functions, size_t n, Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *inspection = new_inspection(n);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = read_facts(roots, next_function(inspection, &functions[i]));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(inspection);
	return 0;
}

int inspect_functions(const InspectRoots *roots, const Bdf *functions, size_t n, Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	int r = inspect_glance(roots, functions, n, &inspection);

	if (r >= 0)
		r = vfio_facts_read(roots, inspection);
	if (r >= 0)
		r = nvidia_facts_read(roots, inspection);
	if (r >= 0)
		obstacle_facts_read(roots, inspection);
	if (r >= 0)
		r = holders_scan(roots, functions, n, inspection);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(inspection);
	return 0;
}
