# SPDX-License-Identifier: GPL-2.0-or-later
"""Where tests make their files: in memory, where that can be, since they wait for a disk otherwise."""
import os
import tempfile

SHARED_MEMORY = "/dev/shm"
FREE_BYTES = 512 * 1024 * 1024


def memory_directory():
    """$TMPDIR is obeyed. Containers often have only a little shared memory, and let nothing run there."""
    if "TMPDIR" in os.environ or not os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        return tempfile.gettempdir()
    there = os.statvfs(SHARED_MEMORY)
    if there.f_flag & os.ST_NOEXEC or there.f_bavail * there.f_frsize < FREE_BYTES:
        return tempfile.gettempdir()
    return SHARED_MEMORY
