#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Runs a command line at a terminal as a user, and types a password when it is asked for.

    type_password.py USER PASSWORD COMMAND

Prints what the terminal got, and ends as the command does.
"""
import os
import pty
import pwd
import select
import sys
import termios


def main():
    user, password, command = pwd.getpwnam(sys.argv[1]), sys.argv[2], sys.argv[3]
    pid, terminal = pty.fork()
    if pid == 0:
        os.initgroups(user.pw_name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        os.execv("/bin/sh", ["sh", "-c", command])
    seen, typed = b"", False
    while True:
        # The agent throws away what was typed before it has turned the echo off.
        if not typed and b"Password: " in seen and not termios.tcgetattr(terminal)[3] & termios.ECHO:
            typed = True
            os.write(terminal, password.encode() + b"\n")
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:  # nobody has the terminal any more
            break
        if not data:
            break
        seen += data
    sys.stdout.write(seen.decode(errors="replace"))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


sys.exit(main())
