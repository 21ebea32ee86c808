/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/nvme/use.h"

#include <ctype.h>

#include "host/nvme/holds.h"
#include "host/nvme/labels.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/xalloc.h"

#define BY_LINKS "dev/disk"

/* ---- what is on it ---- */

static void find_aliases(NvmeLook *look)
{
	_cleanup_strv_ char **folders = NULL;

	(void)dir_list_at(look->roots->root_fd, BY_LINKS, "", &folders);
	for (char **folder = folders; folder && *folder; folder++) {
		_cleanup_free_ char *path = strf(BY_LINKS "/%s", *folder);
		_cleanup_strv_ char **links = NULL;

		(void)dir_list_at(look->roots->root_fd, path, "", &links);
		for (char **link = links; link && *link; link++) {
			_cleanup_free_ char *below = strf("%s/%s", path, *link), *name = NULL;
			_cleanup_free_ char *node = NULL;

			if (file_link_name_at(look->roots->root_fd, below, &name) < 0)
				continue;
			node = strf("/dev/%s", name);
			if (strv_contains(look->use->nodes, node))
				strv_appendf(&look->use->aliases, "/%s", below);
		}
	}
}

/* Of an attribute, what may be in the name of a link: udev writes another letter for what may not. */
static char *pattern_of(const NvmeLook *look, const char *path)
{
	_cleanup_free_ char *text = NULL;
	char *word;

	if (sysfs_line_if_any(look->roots->sysfs_fd, path, &text) < 0 || !text)
		return NULL;
	word = xstrdup(str_strip(text));
	for (char *at = word; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			*at = '?';
	return word;
}

/*
 * What is hidden from udev has no links (59-gpupass-nvme.rules), and what has just got its driver
 * none yet; a domain, or fstab, names it by them all the same.
 */
static void add_patterns(NvmeLook *look)
{
	NvmeUse *use = look->use;
	_cleanup_free_ char *folder = sysfs_function_path(&use->bdf, "nvme"), *serial = NULL;
	_cleanup_free_ char *path = strf("%s/%s/serial", folder, str_or_empty(use->controller));

	strv_appendf(&use->aliases, "/" BY_LINKS "/by-path/pci-%s-nvme-*", BDF_TEXT(&use->bdf));
	serial = pattern_of(look, path);
	if (!str_is_empty(serial))
		strv_appendf(&use->aliases, "/" BY_LINKS "/by-id/nvme-*_%s*", serial);
	for (size_t i = 0; i < look->n_nodes; i++) {
		_cleanup_free_ char *below = strf("%s/wwid", look->nodes[i].directory);
		_cleanup_free_ char *wwid = pattern_of(look, below);

		if (!str_is_empty(wwid))
			strv_appendf(&use->aliases, "/" BY_LINKS "/by-id/nvme-%s*", wwid);
	}
}

/*
 * Claims the disk for a moment, which no mounted, swapped on, mapped or assembled one allows, in
 * whatever name space; nor one of ZFS, of which sysfs shows no holder.
 */
static void try_claim(NvmeLook *look, NvmeOpen open_node, const NvmeNode *node, const char *path)
{
	_cleanup_close_ int fd = -1;
	int r = open_node(look->roots->root_fd, path, node->number, true, &fd);

	if (r == -EBUSY)
		nvme_look_add(look, NVME_HOLD_CLAIM, path, NULL);
	else if (r < 0)
		strv_appendf(&look->use->unread, "whether %s can be claimed: %s", path,
			     strerror(-r));
}

static void look_at_node(NvmeLook *look, NvmeOpen open_node, const NvmeNode *node, const char *path)
{
	_cleanup_close_ int fd = -1;
	int r = open_node(look->roots->root_fd, path, node->number, false, &fd);

	if (r < 0) {
		strv_appendf(&look->use->unread, "what is on %s: %s", path, strerror(-r));
		return;
	}
	nvme_labels_read(fd, path, look->use);
	if (node->whole)
		nvme_labels_read_table(fd, path, look->use);
}

int nvme_use_read(const Roots *roots, NvmeOpen open_node, const Bdf *bdf, bool labels, NvmeUse *ret)
{
	_cleanup_(nvme_use_clear) NvmeUse use = { .bdf = *bdf };
	_cleanup_(nvme_look_clear) NvmeLook look = {
		.roots = roots,
		.use = &use,
	};
	int r = nvme_look_begin(&look);

	if (r < 0)
		return r;
	find_aliases(&look);
	if (use.controller)
		add_patterns(&look);
	for (size_t i = 0; labels && i < look.n_nodes; i++)
		look_at_node(&look, open_node, &look.nodes[i], use.nodes[i]);
	if (look.n_nodes > 0)
		nvme_holds_find(&look);
	for (size_t i = 0; i < look.n_nodes; i++)
		if (look.nodes[i].whole)
			try_claim(&look, open_node, &look.nodes[i], use.nodes[i]);
	*ret = use;
	use = (NvmeUse){ 0 };
	return 0;
}
