# SPDX-License-Identifier: GPL-2.0-or-later
"""
What tests of gpupass stand on: a private bus, on it a fake daemon that says what a scenario tells it to,
and texts in tests/fixtures/client. --update rewrites those instead of comparing with them.
"""
import contextlib
import difflib
import errno
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import scenario as S  # noqa: E402
from private_bus import PrivateBus  # noqa: E402
from rig import SKIPPED, TIMEOUT, Skip, chosen, known, memory_directory, put, tests_here, text_of  # noqa: E402
FIXTURES = os.path.join(HERE, "..", "fixtures", "client")
UPDATE = "--update" in sys.argv


class Bus:
    """A private dbus-daemon, with a fake gpupassd where a test wants one."""

    def __init__(self, client, fake):
        self.client, self.fake = client, fake
        self.directory = tempfile.mkdtemp(prefix="gpupass-test-", dir=memory_directory())
        self.daemon, self.strange = None, False
        self.bus = PrivateBus(self.directory)
        self.address = self.bus.address

    def close(self):
        self.stop()
        self.bus.close(TIMEOUT)
        shutil.rmtree(self.directory)

    def environment(self, **more):
        base = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC",
                "DBUS_SYSTEM_BUS_ADDRESS": self.address}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                base[name] = os.environ[name]
        base.update(more)
        return base

    def start(self, objects, methods=None, strange=False):
        """strange: it says what no gpupassd does, so that no schema need know what the client prints."""
        self.stop()
        self.strange = strange
        path = os.path.join(self.directory, "scenario.json")
        put(path, json.dumps({"objects": objects, "methods": methods or {}}))
        self.daemon = subprocess.Popen([self.fake, path, self.log_path()],
                                       stdout=subprocess.PIPE, env=self.environment())
        line = self.daemon.stdout.readline()
        assert line == b"ready\n", "fake-daemon did not start: %r" % line

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(TIMEOUT)
            self.daemon.stdout.close()
            self.daemon = None

    def log_path(self):
        return os.path.join(self.directory, "calls.log")

    def calls(self):
        return text_of(self.log_path()) if self.daemon else ""

    def run(self, *arguments, **environment):
        done = subprocess.run([self.client, *arguments], env=self.environment(**environment),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
                              text=True, errors="surrogateescape", check=False)
        return done if self.strange else known(done)

    def terminal(self, *arguments, columns=80, **environment):
        return Terminal([self.client, *arguments], self.environment(**environment), columns)

    def run_on_terminal(self, *arguments, **how):
        """Runs it with stdout and stderr on a terminal; (exit code, what was written)."""
        return self.terminal(*arguments, **how).end()[:2]


class Terminal:
    """A program in the foreground of a terminal of its own, as in a shell: what is typed there becomes echo and
    signals."""

    def __init__(self, command, environment, columns=80, directory=None):
        self.leader, self.follower = pty.openpty()
        fcntl.ioctl(self.follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.modes = termios.tcgetattr(self.follower)
        # The shell's child takes the terminal before it becomes the program.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command], env=environment, cwd=directory,
            stdin=self.follower, stdout=self.follower, stderr=self.follower)
        self.read = b""

    def written(self, errors="strict"):
        return self.read.decode(errors=errors).replace("\r\n", "\n")

    def wait(self, condition):
        """Reads what is written until the condition holds."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            check(time.monotonic() < deadline, "nothing more comes after:", repr(self.read))
            if select.select([self.leader], [], [], 0.01)[0]:
                self.read += os.read(self.leader, 65536)

    def read_until(self, condition):
        # What one read returns may end within a character, or within the end of a line.
        self.wait(lambda: condition(self.written("ignore")))

    def type(self, text):
        os.write(self.leader, text.encode())

    def end(self):
        """(exit code, all that was written, whether the terminal's modes are as they were)."""
        self.wait(lambda: self.process.poll() is not None)
        same = termios.tcgetattr(self.follower) == self.modes
        os.close(self.follower)
        # With nobody at its other side, the kernel hands out what is left, and then fails with EIO.
        try:
            while True:
                self.read += os.read(self.leader, 65536)
        except OSError as error:
            check(error.errno == errno.EIO, error)
        os.close(self.leader)
        return self.process.returncode, self.written(), same


def check(condition, *what):
    if not condition:
        raise AssertionError("\n".join(str(w) for w in what))


def golden(name, text):
    """The text must be the one in the fixtures."""
    path = os.path.join(FIXTURES, name + ".txt")
    if UPDATE:
        put(path, text)
    wanted = text_of(path)
    check(text == wanted, *difflib.unified_diff(wanted.splitlines(), text.splitlines(), path, "now", lineterm=""))


# ---- transcripts ----

CASE = re.compile(r"(?:\[(\d+)(!?)\])?\$ (.*)")
INVISIBLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0301\u202e\u2060\u3000]")
# Words of a library, or of the bus.
FOREIGN = re.compile(r"(?<=Cause:  )(The name org.gpupass1|Name \"org|Unknown |No such file).*|(?<=is not JSON: ).*")


def selected(value, path):
    """What "groups.*.name" is of a document."""
    name, _, rest = path.partition(".")
    if not name:
        return value
    if name == "*":
        return [selected(item, rest) for item in value]
    return selected(value[int(name) if isinstance(value, list) else name], rest)


def case(bus, columns, wide, line):
    """What is told of one command line, a line each: "| " stdout, or the terminal; "! " stderr; "? " the exit
    code; "@ " what gpupassd was asked to do."""
    line, _, paths = line.partition(" => ")
    words = shlex.split(line)
    at = words.index("gpupass")
    environment, n_calls = dict(word.split("=", 1) for word in words[:at]), len(bus.calls())
    if columns:
        code, out = bus.run_on_terminal(*words[at + 1:], columns=int(columns), **environment)
        err, plain = "", re.sub("\033\\[[0-9;]*[mK]", "", out)
        check(wide or max(map(len, plain.splitlines()), default=0) <= int(columns), line, "is wider", out)
    else:
        result = bus.run(*words[at + 1:], **environment)
        code, out, err = result.returncode, result.stdout, result.stderr
    check(all(not text or text.endswith("\n") for text in (out, err)), line, "no end of a line", out, err)
    if paths:
        check(out.isascii(), "not ASCII", out)
        out = "".join(json.dumps(selected(json.loads(out), path), ensure_ascii=False) + "\n"
                      for path in ["schema", *paths.split()])
    told = ["| " + text for text in out.split("\n")[:-1]] + ["! " + text for text in err.split("\n")[:-1]]
    told += ["? %d" % code] if code else []
    told += ["@ " + call for call in bus.calls()[n_calls:].splitlines() if not call.startswith(("GetAll", "GetManaged"))]
    return [INVISIBLE.sub(lambda c: "<%x>" % ord(c[0]), FOREIGN.sub("...", text)).rstrip()
            .replace("/usr/local/share/", "/usr/share/") for text in told]


def transcript(bus, name, daemons):
    """A file in the fixtures: "% " the name of a daemon, of {name: [objects, methods, strange]}, where no
    objects are no daemon; command lines, each of one that has just begun: "$ ", or "[80]$ " on a terminal of
    so many columns, "[80!]$ " if what is told may be wider; and what is told of each: "=" the same again."""
    lines, before, how, unused = [], None, None, set(daemons)
    for line in text_of(os.path.join(FIXTURES, name + ".txt")).splitlines():
        match = CASE.fullmatch(line)
        if line.startswith("% "):
            how, before = daemons[line[2:]], None
            unused.discard(line[2:])
        if match or not line or line[0] in "#%":
            lines.append(line)
        if match:
            bus.start(*how) if how else bus.stop()
            told = case(bus, *match.groups())
            lines += ["="] if told == before else told
            before = told
    check(not unused, "nothing is asked of", unused)
    golden(name, "\n".join(lines) + "\n")


def document(result, schema):
    parsed = json.loads(result.stdout)
    check(parsed["schema"] == schema, result.stdout)
    check(result.stdout.isascii(), "not ASCII", result.stdout)
    return parsed


def succeeded(result):
    check(result.returncode == 0, "exit", result.returncode, result.stdout, result.stderr)
    return result


def failed(result, code, *texts):
    check(result.returncode == code, "exit", result.returncode, result.stdout, result.stderr)
    for text in texts:
        check(text in result.stderr, "stderr lacks: " + text, result.stderr)
    return result


def busy_host():
    """A host with something of everything that needs an operator."""
    objects = S.manager(Notes=["as", ["groups.d/old.conf:1: GPU 0000:99:00.0 is missing"]])
    for i, name in enumerate(("pair0", "pair0", "pair2", "pair2", "pair10", "pair10")):
        objects.update(S.gpu("0000:%02x:00.0" % (0x11 + 16 * i), 10 + i, -1, name,
                             "vfio-pci" if name == "pair10" else "nvidia"))
    objects.update(S.gpu("10000:e1:00.0", -1, 0, Nvlink=["s", "sxm"], Driver=["s", ""]))
    objects.update(S.group("pair10", ["0000:51:00.0", "0000:61:00.0"], [14, 15], [-1, -1],
                           State=["s", "quarantined"], Assignable=["b", False],
                           Driver=["s", "vfio-pci"],
                           Reason=["s", "job 12 could not give 0000:61:00.0 back."]))
    objects.update(S.group("pair0", ["0000:11:00.0", "0000:21:00.0"], [10, 11], [-1, -1],
                           State=["s", "inferred"], Provenance=["s", "inferred"],
                           Source=["s", "sysfs"], Link=["s", "NV4?"], Links=["u", 0],
                           Assignable=["b", False],
                           Reasoning=["s", "the only two RTX A6000 of one subsystem"]))
    objects.update(S.group("pair2", ["0000:31:00.0", "0000:41:00.0"], [12, 13], [-1, -1],
                           State=["s", "binding"], Job=["o", S.job_path(31)]))
    objects.update(S.job(31, GroupName=["s", "pair2"], Steps=S.assign_steps(2, "running")))
    objects.update(S.job(9, State=["s", "failed"], ErrorName=["s", S.ERROR + "HostInUse"],
                         ErrorMessage=["s", "cannot assign pair1 to vm42: in use\n"
                                            "Cause:  0000:a1:00.0 is held by pid 4242 (python)"],
                         Steps=S.assign_steps(2, "failed"), DurationUsec=["t", 131000000]))
    return objects


def fixture_text(name):
    return text_of(os.path.join(HERE, "..", "fixtures", name))


def main():
    """Of a program: GPUPASS FAKE-DAEMON [NAME…]; all of its functions with the one argument `bus`, on one bus."""
    arguments, n_failed = [a for a in sys.argv[1:] if a != "--update"], 0
    if not shutil.which("dbus-daemon"):
        print("skipped: there is no dbus-daemon")
        return SKIPPED
    client, fake, names = os.path.abspath(arguments[0]), os.path.abspath(arguments[1]), arguments[2:]
    with contextlib.closing(Bus(client, fake)) as bus:
        for test in chosen(tests_here("bus"), names):
            try:
                test(bus)
                print("ok  ", test.__name__, flush=True)
            except Skip as why:
                print("skip", test.__name__ + ":", why)
            except Exception:  # pylint: disable=broad-except
                n_failed += 1
                print("FAIL", test.__name__)
                traceback.print_exc(file=sys.stdout)
    return n_failed > 0
