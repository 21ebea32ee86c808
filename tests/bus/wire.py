# SPDX-License-Identifier: GPL-2.0-or-later
"""D-Bus as bytes on a socket: connections that stay, as many as one likes and by any user, without a process each."""
import contextlib
import functools
import os
import select
import socket
import struct

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE = range(1, 9)
FIELD_TYPES = "?osssussg"
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
HEADER = 16
NUMBERS = {"y": "<B", "q": "<H", "b": "<I", "u": "<I", "i": "<i", "t": "<Q"}
ALIGNED = {"y": 1, "g": 1, "v": 1, "q": 2, "t": 8, "(": 8, "{": 8}  # others: 4


def align(n, to):
    return (n + to - 1) // to * to


def types(signature):
    """Its complete types, one after another."""
    while signature:
        n, depth = len(signature) - len(signature.lstrip("a")), 0
        while depth or not n or signature[n - 1] == "a":
            depth += (signature[n] in "({") - (signature[n] in ")}")
            n += 1
        yield signature[:n]
        signature = signature[n:]


def put(out, kind, value):
    """Appends it to the bytearray. A variant is (signature, value)."""
    out += bytes(-len(out) % ALIGNED.get(kind[0], 4))
    if kind in NUMBERS:
        out += struct.pack(NUMBERS[kind], value)
    elif kind in "sog":
        text = value.encode()
        put(out, "y" if kind == "g" else "u", len(text))
        out += text + b"\0"
    elif kind == "v":
        put(out, "g", value[0])
        put(out, *value)
    elif kind[0] == "a":
        out += bytes(4)
        at = len(out)
        out += bytes(-at % ALIGNED.get(kind[1], 4))
        begin = len(out)
        for item in value.items() if kind[1] == "{" else value:
            put(out, kind[1:], item)
        struct.pack_into("<I", out, at - 4, len(out) - begin)
    else:
        for inner, item in zip(types(kind[1:-1]), value):
            put(out, inner, item)


def take(data, at, kind, told=None):
    """(value, where it ends). Of a variant only the value. told: gets (type, value) of each basic one in it."""
    at = align(at, ALIGNED.get(kind[0], 4))
    if kind in "ybquitsog":
        if kind in NUMBERS:
            value, at = struct.unpack_from(NUMBERS[kind], data, at)[0], at + struct.calcsize(NUMBERS[kind])
        else:
            n, at = take(data, at, "y" if kind == "g" else "u")
            value, at = data[at:at + n].decode(), at + n + 1
        if told is not None:
            told.append((kind, value))
        return value, at
    if kind == "v":
        inner, at = take(data, at, "g")
        return take(data, at, inner, told)
    found, end, inner = [], None, types(kind[1:-1])
    if kind[0] == "a":
        n, at = take(data, at, "u")
        at = align(at, ALIGNED.get(kind[1], 4))
        end, inner = at + n, iter(lambda: kind[1:] if at < end else None, None)
    for one in inner:
        value, at = take(data, at, one, told)
        found.append(value)
    return (dict(found) if kind[:2] == "a{" else found), at


def size_of(data):
    """Of the message that begins there; None: it is not all there."""
    if len(data) < HEADER:
        return None
    body, _, header = struct.unpack_from("<III", data, 4)
    size = align(HEADER + header, 8) + body
    return size if len(data) >= size else None


def fields(message):
    """{code: value} of its header."""
    return dict(take(message, HEADER - 4, "a(yv)")[0])


class Message:
    def __init__(self, data):
        _, self.kind, self.flags, _, _, self.serial, header = struct.unpack_from("<BBBBIII", data)
        self.fields, self.data, self.body = fields(data), data, align(HEADER + header, 8)
        self.member, self.error = self.fields.get(MEMBER), self.fields.get(ERROR_NAME)
        self.types = list(types(self.fields.get(SIGNATURE, "")))

    @functools.cached_property
    def told(self):
        """(type, value) of each basic one in it."""
        found, at = [], self.body
        for kind in self.types:
            _, at = take(self.data, at, kind, found)
        return found

    @functools.cached_property
    def values(self):
        return take(self.data, self.body, f"({''.join(self.types)})")[0]


@contextlib.contextmanager
def as_user(uid):
    """What is done in it this user does; None: who runs this."""
    if uid is None:
        yield
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(os.getuid())
        os.setegid(os.getgid())
        os.setgroups(groups)


class Connection:
    def __init__(self, address, uid=None):
        self.address, self.uid = address, uid
        self.join()

    def join(self):
        self.serial, self.buffer, self.others = 0, bytearray(), []
        self.socket = socket.socket(socket.AF_UNIX)
        with as_user(self.uid):
            self.socket.connect(self.address.split("=", 1)[1])
            self.socket.sendall(b"\0AUTH EXTERNAL %s\r\nBEGIN\r\n" % str(os.geteuid()).encode().hex().encode())
            while b"\r\n" not in self.buffer:
                self.read()
        del self.buffer[:self.buffer.index(b"\r\n") + 2]
        self.call(*BUS, "Hello")

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        """Who waits for a message in another thread sees that it is over."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def read(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError("the bus has gone")
        self.buffer += data

    def receive(self, seconds=None):
        """The next message; None: none came in this time."""
        while (size := size_of(self.buffer)) is None:
            if not select.select([self.socket], [], [], seconds)[0]:
                return None
            self.read()
        message = Message(bytes(self.buffer[:size]))
        del self.buffer[:size]
        return message

    def send(self, kind, head, signature="", values=(), flags=0):
        """Its serial."""
        self.serial += 1
        body = bytearray()
        for one, value in zip(types(signature), values):
            put(body, one, value)
        out = bytearray(struct.pack("<BBBBII", ord("l"), kind, flags, 1, len(body), self.serial))
        head = {**head, **({SIGNATURE: signature} if signature else {})}
        put(out, "a(yv)", [(code, (FIELD_TYPES[code], value)) for code, value in head.items()])
        self.socket.sendall(out + bytes(-len(out) % 8) + body)
        return self.serial

    def begin(self, destination, path, interface, member, signature="", *values):
        """A call, which reply_to() its serial ends."""
        return self.send(CALL, {DESTINATION: destination, PATH: path, INTERFACE: interface, MEMBER: member},
                         signature, values)

    def reply_to(self, serial):
        while True:
            message = self.receive()
            if message.fields.get(REPLY_SERIAL) == serial:
                return message
            self.others.append(message)

    def call(self, *what):
        return self.reply_to(self.begin(*what))

    def reply(self, call, signature="", *values, error=None):
        head = {REPLY_SERIAL: call.serial, DESTINATION: call.fields[SENDER]}
        if error:
            head[ERROR_NAME] = error
        self.send(ERROR if error else RETURN, head, signature, values)
