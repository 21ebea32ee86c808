/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/textfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "util/file.h"

/* No sync: after a crash of the host, the next minute's text is the better one. */
static int fill(int fd, const char *text)
{
	int r = file_write_fd(fd, text, strlen(text));

	/* mkostemp() makes it for its owner only, and node_exporter is another user. */
	return r >= 0 && fchmod(fd, 0644) < 0 ? -errno : r;
}

int textfile_write(const char *path, const char *text)
{
	_cleanup_free_ char *temporary = strf("%s.XXXXXX", path);
	struct stat there;
	int fd, r;

	/* The rename would replace /dev/null, or a link to what was meant. */
	if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
		return -EEXIST;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fill(fd, text);
	if (close(fd) < 0 && r >= 0)
		r = -errno;
	if (r >= 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(temporary);
	return r;
}
