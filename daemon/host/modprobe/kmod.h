/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libkmod, which is what modprobe and udev are made of. It is loaded when it is needed: OpenSSL and
 * two compressors come along, and take as long to load as the rest of gpupass-worker.
 */
#pragma once

/*
 * What the files at these paths, folders of such files or single ones, set for modules that matter
 * here (core/setup/modprobe.h). modules_dir: where the kernel's own soft dependencies are. Words of
 * the kernel's command line, which libkmod adds, are left out.
 *
 * -ELIBACC: libkmod cannot be loaded. -E2BIG: there are more settings than anybody needs. -EIO
 */
int kmod_read_settings(const char *modules_dir, const char *const *paths, char ***ret);
/* What this text of modprobe.d sets. */
int kmod_read_text(const char *text, char ***ret);
