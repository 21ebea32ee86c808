# SPDX-License-Identifier: GPL-2.0-or-later
"""
A bus daemon that does not answer: between one client and the real one, on a socket of its own, it
hands everything on but the answers to calls of the members in `silent`.

    silent_bus.py SOCKET ADDRESS-OF-THE-BUS CONTROL

CONTROL is a file with those members, a line each ("*": all of org.freedesktop.DBus); it is read again
for each call.
"""
import select
import socket
import struct
import sys

from wire import DESTINATION, MEMBER, REPLY_SERIAL, fields, size_of


class Direction:
    """What comes from one side: lines at first, about who it is, and then messages ("l…")."""

    def __init__(self, source, target):
        self.source, self.target, self.buffer = source, target, b""

    def read(self):
        data = self.source.recv(65536)
        if not data:
            sys.exit(0)
        self.buffer += data
        while self.buffer and self.buffer[:1] != b"l":
            line = self.buffer.find(b"\r\n")
            if line < 0:
                return
            self.target.sendall(self.buffer[:line + 2])
            self.buffer = self.buffer[line + 2:]
        while size := size_of(self.buffer):
            yield self.buffer[:size]
            self.buffer = self.buffer[size:]


def main():
    path, bus_address, control = sys.argv[1:]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    client, _ = listener.accept()
    bus = socket.socket(socket.AF_UNIX)
    bus.connect(bus_address.split("=", 1)[1])
    to_bus, to_client = Direction(client, bus), Direction(bus, client)
    unanswered = set()
    while True:
        for readable in select.select([client, bus], [], [])[0]:
            if readable is client:
                for message in to_bus.read():
                    serial = struct.unpack_from("<I", message, 8)[0]
                    header = fields(message)
                    with open(control, encoding="ascii") as f:
                        silent = f.read().split()
                    if (header.get(DESTINATION) == "org.freedesktop.DBus" and
                            ("*" in silent or header.get(MEMBER) in silent)):
                        unanswered.add(serial)
                    bus.sendall(message)
            else:
                for message in to_client.read():
                    if fields(message).get(REPLY_SERIAL) not in unanswered:
                        client.sendall(message)


if __name__ == "__main__":
    main()
