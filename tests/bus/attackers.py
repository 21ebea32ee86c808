#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Local users without privilege who are in the way, for test-holders. Each prints "ready" once it is, or
"skip WHY", and stays until it is ended.

    attackers.py open FILE...            has the files open
    attackers.py look-up FILE...         the same by O_PATH, for which nobody needs a right
    attackers.py elsewhere FILE DIR      has FILE open, mounted on a file in DIR, in its own name spaces
    attackers.py call-itself ARGUMENT... has this command line
    attackers.py map-often N             has N mappings of a file
    attackers.py stuck DIR               has a child ("ready PID"), the lock of whose memory nobody gets

The last serves a file system by FUSE (include/uapi/linux/fuse.h), mounted on DIR in its name spaces, and
its child has a file of that mapped. It reads the child's memory there, waits for a page that never comes,
and holds the lock of that memory meanwhile (mm/memory.c, access_remote_vm()). The child wants to change
its memory and waits for that lock, and whoever comes after it waits as well.
"""
import ctypes
import mmap
import os
import signal
import struct
import subprocess
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MAP_FIXED, PR_SET_PDEATHSIG = 4096, 0x10, 1
PAGE = mmap.PAGESIZE
FILE_PAGES = 64
PATIENCE = 60
ASKED = threading.Event()  # for the page that never comes
FUSE_FORGET, FUSE_READ, FUSE_INIT, FUSE_INTERRUPT, FUSE_BATCH_FORGET = 2, 15, 26, 36, 42


def say(text):
    print(text, flush=True)


def stay():
    say("ready")
    while True:
        signal.pause()


def skip(why):
    say("skip " + why)
    sys.exit(0)


def enter_name_spaces():
    uid, gid = os.getuid(), os.getgid()
    if LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
        skip("no name spaces for users here: " + os.strerror(ctypes.get_errno()))
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open("/proc/self/" + name, "w", encoding="ascii") as f:
            f.write(text)


def open_files(flags, paths):
    for path in paths:
        os.open(path, flags)
    stay()


def elsewhere(path, directory):
    enter_name_spaces()
    name = os.path.join(directory, "harmless")
    open(name, "wb").close()
    if LIBC.mount(path.encode(), name.encode(), None, MS_BIND, None) != 0:
        skip("nothing can be mounted here")
    os.open(name, os.O_RDONLY)
    stay()


def call_itself(*arguments):
    """Arguments that a worker's command line does not have are passed over by who reads it."""
    os.execv("/bin/sh", [arguments[0], "-c", "echo ready; read -r line", *arguments[1:]])


def map_often(n):
    fd = os.open(sys.executable, os.O_RDONLY)
    done = 0
    while done < n and LIBC.mmap(None, PAGE, done % 2, mmap.MAP_PRIVATE, fd, 0) not in (
            None, ctypes.c_void_p(-1).value):
        done += 1
    stay()


# ---- stuck ----

def attributes(node):
    mode = 0o40755 if node == 1 else 0o100644
    return struct.pack("<QQQQQQIIIIIIIIII", node, FILE_PAGES * PAGE, FILE_PAGES * 8, 0, 0, 0,
                       0, 0, 0, mode, 1, 0, 0, 0, PAGE, 0)


def answer(opcode, node):
    """The body; an errno; None: never."""
    if opcode == FUSE_INIT:
        return struct.pack("<IIIIHHIIHHIIHH", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0, 0, 0, 0) \
            + b"\0" * 16
    if opcode == 1:  # LOOKUP
        return struct.pack("<QQQQII", 2, 0, 3600, 3600, 0, 0) + attributes(2)
    if opcode == 3:  # GETATTR
        return struct.pack("<QII", 3600, 0, 0) + attributes(node)
    if opcode in (14, 27):  # OPEN, OPENDIR
        return struct.pack("<QII", 1, 0, 0)
    return None if opcode == FUSE_READ else 38  # ENOSYS


def serve(fd):
    while True:
        try:
            request = os.read(fd, 1 << 20)
        except OSError:
            return
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if opcode in (FUSE_FORGET, FUSE_INTERRUPT, FUSE_BATCH_FORGET):
            continue
        body = answer(opcode, node)
        if body is None:
            ASKED.set()
            continue
        error, data = (-body, b"") if isinstance(body, int) else (0, body)
        os.write(fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


def victim(path):
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    fd = os.open(path, os.O_RDONLY)
    say(f"mapped {LIBC.mmap(None, PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE, fd, 0)}")
    sys.stdin.read(1)
    LIBC.mmap(None, PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE, fd, 0)  # waits for who reads its memory
    say("not stuck")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def read_memory(pid, address):
    """By itself: who serves the file must be able to end, which is what sets the reader free."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
        os.pread(f.fileno(), 1, address)


def stuck(directory):
    enter_name_spaces()
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        skip(f"/dev/fuse: {error}")
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0"
    if LIBC.mount(b"fuse", directory.encode(), b"fuse", 0, options.encode()) != 0:
        skip("FUSE cannot be mounted here")
    threading.Thread(target=serve, args=(fd,), daemon=True).start()
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "victim",
                                os.path.join(directory, "file")],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    address = process.stdout.readline().split()[1]
    subprocess.Popen([sys.executable, os.path.abspath(__file__), "read", str(process.pid), address])
    ASKED.wait(PATIENCE)
    process.stdin.write(b"x")
    process.stdin.flush()
    until = time.monotonic() + PATIENCE
    while state_of(process.pid) != "D":
        if process.poll() is not None or time.monotonic() > until:
            os.kill(process.pid, signal.SIGKILL)
            skip("this kernel does not let it be stuck")
        time.sleep(0.01)
    say(f"ready {process.pid}")
    while True:
        signal.pause()


COMMANDS = {
    "open": lambda *paths: open_files(os.O_RDONLY, paths),
    "look-up": lambda *paths: open_files(os.O_PATH, paths),
    "elsewhere": elsewhere,
    "call-itself": call_itself,
    "map-often": lambda n: map_often(int(n)),
    "stuck": stuck,
    "victim": victim,
    "read": lambda pid, address: read_memory(int(pid), int(address)),
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
