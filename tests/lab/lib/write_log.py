# SPDX-License-Identifier: GPL-2.0-or-later
"""
Reads the log of the kernel's dm-log-writes target, and makes of it what a disk would hold.

The target logs a write when it is durable: with the flush that follows it, or at once when it was
made with FUA (Documentation/admin-guide/device-mapper/log-writes.rst). So the log up to a flush is
exactly what a disk with a volatile cache is sure to have after a power cut then: all that was
flushed, and nothing that was not.
"""
import struct

MAGIC = 0x6a736677736872
SUPER = struct.Struct("<QQQI")   # magic, version, number of entries, sector size
ENTRY = struct.Struct("<QQQQ")   # sector, number of sectors, flags, length of a mark
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8


def entries(path):
    """(flags, offset in bytes, data or the mark's text) of each entry, in order."""
    with open(path, "rb") as log:
        magic, version, n, sector_size = SUPER.unpack(log.read(SUPER.size))
        if magic != MAGIC or version != 1:
            raise ValueError("%s is no log of dm-log-writes" % path)
        at = sector_size
        for _ in range(n):
            log.seek(at)
            block = log.read(sector_size)
            sector, n_sectors, flags, length = ENTRY.unpack_from(block)
            at += sector_size
            data = b""
            if flags & MARK:
                data = block[ENTRY.size:ENTRY.size + length].rstrip(b"\0").decode()
            elif not flags & DISCARD:
                data = log.read(n_sectors * sector_size)
                at += n_sectors * sector_size
            else:
                data = bytes(n_sectors * sector_size)
            yield flags, sector * sector_size, data


def replay(log, image):
    """Applies the log to `image`, a bytearray; yields ("mark", text) and ("durable", None)."""
    for flags, offset, data in entries(log):
        if flags & MARK:
            yield "mark", data
            continue
        image[offset:offset + len(data)] = data
        if flags & (FLUSH | FUA):
            yield "durable", None
