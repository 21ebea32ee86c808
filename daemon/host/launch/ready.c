/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/ready.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>

#include "host/launch/part.h"
#include "host/wire/question.h"
#include "util/file.h"
#include "util/mutex.h"
#include "util/xalloc.h"

/* Of each part: more than these are not kept, and closed instead. */
#define KEPT_MAX 4U
typedef struct Kept {
	ReadyPart items[KEPT_MAX];
	size_t n;
} Kept;

struct ReadyParts {
	const char *directory;
	const char *root, *proc;
	pthread_mutex_t lock; /* for what follows; nobody waits while having it */
	Kept kept[PARTS_MAX]; /* by part_at() */
};

/* ---- what a part sees ---- */

/*
 * What systemd mounts and allows for a part one by one is as it was when the part started. Of most
 * parts that never changes. The prober (units/gpupass-prober@.service.in) is shown the loader's
 * cache, which ldconfig replaces, and nvidia-persistenced's directory, which that makes when it
 * starts; and it may open what NVIDIA's names in /proc/devices stood for.
 */

#define DEVICES_MAX 65536U

/* FNV-1a, 64 bits: these are no secrets, and nobody gains by two that are alike. */
#define FNV_BASIS 0xcbf29ce484222325U
#define FNV_PRIME 0x100000001b3U

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ byte[i]) * FNV_PRIME;
	return hash;
}

/* A bind mount stays with the inode that it was made of. A number of an inode may be used again. */
static uint64_t mix_mounted(uint64_t hash, const char *root, const char *path)
{
	char whole[PATH_MAX];
	struct stat st;
	int n = snprintf(whole, sizeof(whole), "%s/%s", root, path);
	uint64_t seen[4] = { 0 };

	if (n > 0 && (size_t)n < sizeof(whole) && stat(whole, &st) == 0) {
		seen[0] = (uint64_t)st.st_dev;
		seen[1] = (uint64_t)st.st_ino;
		seen[2] = (uint64_t)st.st_ctim.tv_sec;
		seen[3] = (uint64_t)st.st_ctim.tv_nsec;
	}
	return mix(hash, seen, sizeof(seen));
}

/* DeviceAllow=char-nvidia* is made into numbers when the unit starts. */
static uint64_t mix_majors(uint64_t hash, const char *proc)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	size_t size = 0;
	int n = snprintf(path, sizeof(path), "%s/devices", proc);

	if (n < 0 || (size_t)n >= sizeof(path) ||
	    file_read_at(AT_FDCWD, path, DEVICES_MAX, &text, &size) < 0)
		return hash;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (strstr(line, "nvidia"))
			hash = mix(hash, line, strlen(line) + 1);
	return hash;
}

/*
 * A number that is another one when a prober that starts now would see something else. `root` and
 * `proc`: "/" and "/proc". What is not there, or cannot be read, counts as such.
 */
static uint64_t view_of_prober(const char *root, const char *proc)
{
	uint64_t hash = FNV_BASIS;

	hash = mix_mounted(hash, root, "etc/ld.so.cache");
	hash = mix_mounted(hash, root, "etc/alternatives");
	hash = mix_mounted(hash, root, "run/nvidia-persistenced");
	return mix_majors(hash, proc);
}

/* ---- the parts ---- */

ReadyParts *ready_parts_new(const char *directory, const char *root, const char *proc)
{
	ReadyParts *ready = xcalloc(1, sizeof(*ready));

	*ready = (ReadyParts){
		.directory = directory,
		.root = root,
		.proc = proc,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	return ready;
}

ReadyParts *ready_parts_free(ReadyParts *ready)
{
	if (!ready)
		return NULL;
	for (size_t i = 0; i < PARTS_MAX; i++)
		while (ready->kept[i].n > 0)
			close_fd(ready->kept[i].items[--ready->kept[i].n].fd);
	pthread_mutex_destroy(&ready->lock);
	free(ready);
	return NULL;
}

/* PARTS_MAX: it is started when it is asked, for one request. */
static size_t find_kind(const char *part)
{
	size_t i = 0;

	while (part_at(i) && (strcmp(part_at(i)->name, part) != 0 || part_at(i)->ready == 0))
		i++;
	return part_at(i) ? i : PARTS_MAX;
}

bool ready_parts_stays(const ReadyParts *ready, const char *part)
{
	size_t kind = ready ? find_kind(part) : PARTS_MAX;

	return kind < PARTS_MAX && part_at(kind)->serves > 1;
}

/*
 * What whoever asks now wants to be asked: by the socket that listens, and with what is to be seen
 * now. A socket of 0, which is no file's: nobody listens.
 */
static ReadyPart wanted_now(const ReadyParts *ready, const char *part)
{
	size_t kind = find_kind(part);
	ReadyPart wanted = { .fd = -1 };

	(void)part_socket_id(ready->directory, part, &wanted.socket);
	if (kind < PARTS_MAX && part_at(kind)->has_view)
		wanted.view = view_of_prober(ready->root, ready->proc);
	return wanted;
}

/*
 * One that waits has nothing to say, and nothing to end for: whatever poll() has to tell speaks
 * against it. It may be dead and not look so yet, since systemd has the connection open until it
 * has seen its end; ask.c sees to that. One whose socket was stopped, or is another one by now,
 * is not what whoever stopped it wants to be asked.
 */
static bool is_usable(const ReadyPart *connection, const ReadyPart *wanted)
{
	struct pollfd file = { .fd = connection->fd, .events = POLLIN | POLLRDHUP };

	return wanted->socket != 0 && connection->socket == wanted->socket &&
	       connection->view == wanted->view && poll(&file, 1, 0) == 0;
}

/* The one that was used last, or else the one that has had most time to start. */
static ReadyPart take_best(Kept *kept)
{
	size_t best = kept->items[kept->n - 1].served > 0 ? kept->n - 1 : 0;
	ReadyPart connection = kept->items[best];

	kept->n--;
	for (size_t i = best; i < kept->n; i++)
		kept->items[i] = kept->items[i + 1];
	return connection;
}

bool ready_parts_take(ReadyParts *ready, const char *part, ReadyPart *ret)
{
	ReadyPart wanted = wanted_now(ready, part);
	size_t kind = find_kind(part);
	bool found = false;
	Kept *kept;

	if (kind == PARTS_MAX)
		return false;
	MUTEX_HOLD(&ready->lock);
	kept = &ready->kept[kind];
	while (!found && kept->n > 0) {
		*ret = take_best(kept);
		found = is_usable(ret, &wanted);
		if (!found)
			close_fd(ret->fd);
	}
	return found;
}

/* What is wanted is seen first: what is replaced meanwhile makes the connection count as old. */
int ready_parts_connect(const ReadyParts *ready, const char *part, bool wait, ReadyPart *ret)
{
	ReadyPart connection = wanted_now(ready, part);
	int r = part_connect(ready->directory, part, wait, &connection.fd);

	if (r >= 0)
		*ret = connection;
	return r;
}

void ready_parts_give_back(ReadyParts *ready, const char *part, ReadyPart *connection)
{
	ReadyPart wanted = wanted_now(ready, part);
	size_t kind = find_kind(part);
	bool kept = false;

	connection->served++;
	pthread_mutex_lock(&ready->lock);
	if (kind < PARTS_MAX && ready->kept[kind].n < KEPT_MAX &&
	    connection->served < part_at(kind)->serves && is_usable(connection, &wanted)) {
		ready->kept[kind].items[ready->kept[kind].n++] = *connection;
		kept = true;
	}
	pthread_mutex_unlock(&ready->lock);
	if (!kept)
		close_fd(connection->fd);
	connection->fd = -1;
}

/* Closes those that nobody is to ask; of the others the used ones, too, if `used`. */
static void drop(Kept *kept, const ReadyPart *wanted, bool used)
{
	size_t n = 0;

	EACH (ReadyPart, connection, kept->items, kept->n) {
		if ((!used || connection->served == 0) && is_usable(connection, wanted))
			kept->items[n++] = *connection;
		else
			close_fd(connection->fd);
	}
	kept->n = n;
}

/* Where it fails, whoever asks connects by itself, and tells why it cannot. */
static void fill(ReadyParts *ready, size_t kind, size_t n)
{
	Kept *kept = &ready->kept[kind];
	int r = 0;

	while (r >= 0 && kept->n < n) {
		r = ready_parts_connect(ready, part_at(kind)->name, false, &kept->items[kept->n]);
		kept->n += r >= 0;
	}
}

void ready_parts_expect(ReadyParts *ready, const char *part)
{
	ReadyPart wanted = wanted_now(ready, part);
	size_t kind = find_kind(part);

	if (kind == PARTS_MAX)
		return;
	MUTEX_HOLD(&ready->lock);
	drop(&ready->kept[kind], &wanted, false);
	fill(ready, kind, 1);
}

void ready_parts_rest(ReadyParts *ready)
{
	for (size_t i = 0; part_at(i); i++) {
		ReadyPart wanted = wanted_now(ready, part_at(i)->name);

		MUTEX_HOLD(&ready->lock);

		drop(&ready->kept[i], &wanted, true);
	}
}

void ready_parts_fill(ReadyParts *ready)
{
	for (size_t i = 0; part_at(i); i++) {
		MUTEX_HOLD(&ready->lock);

		fill(ready, i, part_at(i)->ready);
	}
}
