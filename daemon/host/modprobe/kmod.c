/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/modprobe/kmod.h"

#include <ctype.h>
#include <dlfcn.h>
#include <libkmod.h>
#include <sys/mman.h>

#include "core/setup/modprobe.h"
#include "util/text.h"
#include "util/xalloc.h"

#define LIBRARY "libkmod.so.2"
#define SETTINGS_MAX 256
#define SETTING_BYTES_MAX 4000

#define FUNCTIONS(X)                                                                               \
	X(kmod_new)                                                                                \
	X(kmod_unref)                                                                              \
	X(kmod_config_get_options)                                                                 \
	X(kmod_config_get_blacklists)                                                              \
	X(kmod_config_get_softdeps)                                                                \
	X(kmod_config_get_install_commands)                                                        \
	X(kmod_config_iter_next)                                                                   \
	X(kmod_config_iter_get_key)                                                                \
	X(kmod_config_iter_get_value)                                                              \
	X(kmod_config_iter_free_iter)

typedef struct Kmod {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
} Kmod;

/* It stays loaded: this process is about to end. */
static int load(Kmod *ret)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -ELIBACC;
#define X(name)                                                                                    \
	*(void **)&ret->name = dlsym(library, #name);                                              \
	if (!ret->name)                                                                            \
		return -ELIBACC;
	FUNCTIONS(X)
#undef X
	return 0;
}

typedef struct kmod_config_iter *Lister(const struct kmod_ctx *ctx);

static size_t count(const Kmod *kmod, Lister *list, const struct kmod_ctx *ctx)
{
	struct kmod_config_iter *i = list(ctx);
	size_t n = 0;

	while (kmod->kmod_config_iter_next(i))
		n++;
	kmod->kmod_config_iter_free_iter(i);
	return n;
}

static int keep(char ***into, const char *command, const char *module, const char *value)
{
	_cleanup_free_ char *line =
		strf("%s %s%s%s", command, module, value ? " " : "", str_or_empty(value));

	/* Any blank is as good, and in documents there is no other. */
	for (char *c = line; *c; c++)
		if (isspace((unsigned char)*c))
			*c = ' ';
	if (!modprobe_matters(line))
		return 0;
	if (strlen(line) > SETTING_BYTES_MAX || strv_length(*into) >= SETTINGS_MAX)
		return -E2BIG;
	strv_append(into, line);
	return 0;
}

/*
 * libkmod opens /proc/cmdline whatever paths it gets, and puts what is there behind what the files
 * have (kmod_config_new()). Without any path it has only that: so many are cut off. Those words are
 * read by the kernel's own rule, which also holds for modules that are built in.
 */
static int add(const Kmod *kmod, const char *command, Lister *list, const struct kmod_ctx *ctx,
	       const struct kmod_ctx *bare, char ***into)
{
	size_t all = count(kmod, list, ctx), of_kernel = count(kmod, list, bare);
	struct kmod_config_iter *i = list(ctx);
	int r = 0;

	if (!i && all > 0)
		no_memory();
	for (size_t n = 0; r >= 0 && n + of_kernel < all && kmod->kmod_config_iter_next(i); n++)
		r = keep(into, command, kmod->kmod_config_iter_get_key(i),
			 kmod->kmod_config_iter_get_value(i));
	kmod->kmod_config_iter_free_iter(i);
	return r;
}

int kmod_read_settings(const char *modules_dir, const char *const *paths, char ***ret)
{
	static const char *const nowhere[] = { NULL };
	_cleanup_strv_ char **settings = NULL;
	struct kmod_ctx *ctx = NULL, *bare = NULL;
	Kmod kmod;
	int r = load(&kmod);

	if (r < 0)
		return r;
	ctx = kmod.kmod_new(modules_dir, paths);
	bare = kmod.kmod_new(modules_dir, nowhere);
	const struct {
		const char *command;
		Lister *list;
	} kinds[] = {
		{ "options", kmod.kmod_config_get_options },
		{ "blacklist", kmod.kmod_config_get_blacklists },
		{ "softdep", kmod.kmod_config_get_softdeps },
		{ "install", kmod.kmod_config_get_install_commands },
	};

	r = ctx && bare ? 0 : -EIO;
	for (size_t i = 0; r >= 0 && i < ELEMENTS(kinds); i++)
		r = add(&kmod, kinds[i].command, kinds[i].list, ctx, bare, &settings);
	kmod.kmod_unref(ctx);
	kmod.kmod_unref(bare);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(settings);
	return 0;
}

int kmod_read_text(const char *text, char ***ret)
{
	_cleanup_close_ int fd = memfd_create("modprobe", MFD_CLOEXEC);
	_cleanup_free_ char *path = strf("/proc/self/fd/%d", fd);
	const char *const paths[] = { path, NULL };
	size_t size = strlen(text);

	for (size_t done = 0; fd >= 0 && done < size;) {
		ssize_t n = write(fd, text + done, size - done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return fd < 0 ? -errno : kmod_read_settings("/nowhere", paths, ret);
}
