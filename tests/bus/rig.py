# SPDX-License-Identifier: GPL-2.0-or-later
"""
What tests on a private bus stand on: the real gpupassd and the real gpupass, on a host of plain files
(make-host), with fake-worker for the kernel and libvirt's test driver for libvirt. One host a test.

Limits of time: what must come at all is waited for with `until()`, for TIMEOUT, which is far more than
it takes anywhere, and longer on a machine that is slow when the program begins. What must come soon is a
promise: `within()` allows it as much longer as this machine is slower at that moment than an idle one.
"""
import contextlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import schemas  # noqa: E402
from memory_directory import memory_directory  # noqa: E402
from private_bus import PrivateBus  # noqa: E402
ROOT = "/org/gpupass1"
NOBODY = 65534
SKIPPED = 77  # to meson
LEAKED = 78  # the daemon, by tests/lib/leak-exit.c
# A hang that only the test ends: longer than any test.
FOR_EVER = 3600
# What slowness() times: programs that are begun and ended one after another, and how many seconds
# that takes on an idle machine.
PROGRAMS, PROGRAMS_SECONDS = 20, 0.04


def slowness():
    """How many times longer programs take on this machine now than on an idle one; at least 1."""
    begin = time.monotonic()
    for _ in range(PROGRAMS):
        subprocess.run(["true"], check=True)
    return max(1.0, (time.monotonic() - begin) / PROGRAMS_SECONDS)


# For what must come at all: only a hang takes as long.
TIMEOUT = round(120 * slowness())
PAIR0 = ROOT + "/groups/pair0"
FUNCTIONS = ["0000:41:00.0", "0000:41:00.1", "0000:61:00.0", "0000:61:00.1"]
VFIO, ON_HOST = ["vfio-pci"] * 4, ["nvidia", "snd_hda_intel"] * 2  # their drivers
VM42 = "22222222-2222-4222-8222-222222222222"
VM43 = "33333333-3333-4333-8333-333333333333"


class Skip(Exception):
    """What the test needs is not there, which is no failure."""


def load_make_host():
    """make-host as a module: to run it would cost more than what it does."""
    loader = importlib.machinery.SourceFileLoader("make_host", os.path.join(HERE, "make-host"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_host", loader))
    loader.exec_module(module)
    return module


MAKE_HOST = load_make_host()


class Host:
    """One mock host with its bus and daemon."""

    def __init__(self, daemon, client, worker, nvml, snapshot="workstation-3090"):
        self.daemon, self.client, self.worker = daemon, client, worker
        self.directory = tempfile.mkdtemp(prefix="gpupass-test-", dir=memory_directory())
        os.chmod(self.directory, 0o755)  # other users reach its bus
        self.tree = os.path.join(self.directory, "host")
        self.config = os.path.join(self.directory, "etc")
        self.state = os.path.join(self.directory, "state")
        os.makedirs(os.path.join(self.config, "groups.d"))
        self.root = os.path.join(self.directory, "root")
        os.makedirs(os.path.join(self.root, "etc"))
        MAKE_HOST.make_host(
            MAKE_HOST.read_snapshot(os.path.join(HERE, "..", "fixtures", "hosts", snapshot + ".json")),
            self.tree, MAKE_HOST.USUAL_DRIVERS.split(","), nvidia_proc=True)
        self.node = self.write("node.xml", NODE)
        self.domains_by = ["--libvirt-uri=test://" + self.node]
        # A worker has no environment: the library finds its scenario beside itself.
        self.nvml = os.path.join(self.directory, "libnvidia-ml.so.1")
        os.symlink(os.path.abspath(nvml), self.nvml)
        self.bus = self.new_bus()
        self.environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address,
                                LC_ALL="C.UTF-8")
        self.process = None
        try:
            self.start()
        except AssertionError:
            self.close()
            raise

    def new_bus(self):
        return PrivateBus(self.directory)

    def modes(self, **modes):
        """What NVML reads and sets, and nvidia-smi turns off: b41="1". Returns how to read one."""
        directory = os.path.join(self.directory, "modes")
        for bus, mode in modes.items():
            os.makedirs(os.path.join(directory, f"0000:{bus[1:]}:00.0"))
            self.write(f"modes/0000:{bus[1:]}:00.0/persistence", mode)
        self.play("persistence " + directory)
        os.makedirs(os.path.join(self.root, "usr/bin"))
        self.smi = shutil.copy(os.path.join(HERE, "../nvml/nvidia-smi"), os.path.join(self.root, "usr/bin"))
        os.chmod(self.smi, 0o755)  # what git archives, groups may write: that would not be run
        self.write("root/usr/bin/nvidia-smi.modes", directory)

        def mode(bus):
            with open(os.path.join(directory, f"0000:{bus}:00.0", "persistence"), encoding="ascii") as f:
                return f.read().strip()
        return mode

    def command(self):
        return [self.daemon]

    def daemon_environment(self):
        return self.environment

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def start(self, log=None):
        """Until it says that it is ready, as to systemd: it has the name on the bus then."""
        begin = time.monotonic()
        self.log = log or open(os.path.join(self.directory, "log"), "ab")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            notified.bind(os.path.join(self.directory, "notify"))
            self.process = subprocess.Popen(
                self.command() +
                ["--config-dir=" + self.config, "--state-dir=" + self.state,
                 "--runtime-dir=" + os.path.join(self.directory, "run"),
                 "--worker=" + self.worker, "--nvml=" + self.nvml,
                 "--initramfs=" + os.path.join(os.path.dirname(self.daemon), "..", "initramfs",
                                               "gpupass-initramfs"),
                 "--sysfs=" + os.path.join(self.tree, "sys"),
                 "--proc=" + os.path.join(self.tree, "proc"), "--root=" + self.root] + self.domains_by,
                env=dict(self.daemon_environment(), NOTIFY_SOCKET=notified.getsockname()),
                # Who reads the test's output waits for all that have it open.
                stdout=self.log, stderr=self.log)
            try:
                self.wait_until_ready(notified)
            finally:
                os.unlink(notified.getsockname())
        # After three seconds it is ready without libvirt: a busy machine may be as slow.
        if self.domains_by and time.monotonic() - begin > 2.5:
            until(lambda: self.process.poll() is not None or self.get(ROOT, "Manager", "LibvirtConnected") != "b false",
                  "gpupassd has no libvirt:", self.notes, self.logged)

    def wait_until_ready(self, notified):
        deadline = time.monotonic() + TIMEOUT
        while True:
            if select.select([notified], [], [], 0.2)[0]:
                if b"READY=1" in notified.recv(4096).split(b"\n"):
                    return
            elif self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("gpupassd did not come up: " + self.logged())

    def logged(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as f:
            return f.read()

    def stop(self):
        self.process.terminate()
        code = self.process.wait(TIMEOUT)
        self.log.close()
        expect(code != LEAKED, "the daemon leaked:", self.logged())
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT)
        self.log.close()

    def stop_and_be_gone(self):
        """The bus may see the end of the process later, and until then delivers to it what is called."""
        self.stop()
        until(lambda: self.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus",
                                  "NameHasOwner", "s", "org.gpupass1").stdout.strip() != "b true")

    def close(self):
        try:
            if self.process.poll() is None:
                self.stop()
            self.expect_known_files()
        finally:
            for pid in self.running_workers():
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)
            until(lambda: not self.running_workers(), "its workers do not end")
            self.bus.close(TIMEOUT)
            shutil.rmtree(self.directory)

    def running_workers(self):
        """Of this host, at work now: {pid: command line}."""
        found, mark = {}, "--sysfs=" + os.path.join(self.tree, "sys")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().decode(errors="replace").split("\0")
                if mark in words and int(pid) != self.process.pid:
                    found[int(pid)] = words
        return found

    def expect_known_files(self):
        """What the daemon leaves is as docs/schema says."""
        for directory in (self.config, self.state, os.path.join(self.directory, "run")):
            for at, _, names in os.walk(directory):
                for name in names:
                    found = schemas.shared().file_findings(os.path.join(at, name))
                    expect(not found, *found)

    def run(self, *command, **more):
        return known(subprocess.run(command, env=dict(self.environment, **more),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, timeout=TIMEOUT))

    def nobody(self, *command):
        """The same by a user without privilege."""
        return known(subprocess.run(command, env=self.environment, user=NOBODY, group=NOBODY,
                                    extra_groups=[], cwd="/", stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    timeout=TIMEOUT, check=False))

    def gpupass(self, *arguments):
        """A sanitizer looks for the client's leaks where the client is what is tested: client_rig.py."""
        return self.run(self.client, *arguments, ASAN_OPTIONS=":".join(filter(None, (
            self.environment.get("ASAN_OPTIONS"), "detect_leaks=0"))))

    def must(self, *arguments):
        """It succeeds; what it prints."""
        return succeeds(self.gpupass(*arguments)).stdout

    def said(self, *arguments):
        """It succeeds; what it prints, and what it says besides."""
        r = succeeds(self.gpupass(*arguments))
        return r.stdout + r.stderr

    def busctl(self, *arguments):
        return self.run("busctl", "--system", *arguments)

    def call(self, path, interface, member, *arguments):
        return self.busctl("call", "org.gpupass1", path, "org.gpupass1." + interface, member,
                           *arguments)

    def get(self, path, interface, name):
        r = self.busctl("get-property", "org.gpupass1", path, "org.gpupass1." + interface, name)
        return r.stdout.strip()

    def value(self, path, interface, name):
        """The same, as Python has it; None: there is no such object."""
        r = self.busctl("--json=short", "get-property", "org.gpupass1", path, "org.gpupass1." + interface, name)
        return json.loads(r.stdout)["data"] if r.returncode == 0 else None

    def group(self, name="State"):
        """A property of pair0."""
        return self.value(PAIR0, "Group", name)

    def notes(self):
        return "\n".join(self.value(ROOT, "Manager", "Notes") or [])

    def jobs(self):
        """How many the daemon shows."""
        return self.busctl("tree", "--list", "org.gpupass1").stdout.count(ROOT + "/jobs/")

    def checks(self, *arguments):
        """What doctor finds: {check: (status, lines, remedy)}."""
        report = json.loads(self.gpupass("doctor", "--json=short", *arguments).stdout)
        return {c["id"]: (c["status"], c["what"], c["remedy"]) for c in report["checks"]}

    def device(self, bdf, *names):
        return os.path.join(self.tree, "sys/bus/pci/devices", bdf, *names)

    def driver(self, bdf):
        # A worker may take it away at any time.
        with contextlib.suppress(FileNotFoundError):
            return os.path.basename(os.readlink(self.device(bdf, "driver")))
        return None

    def drivers(self):
        return [self.driver(f) for f in FUNCTIONS]

    def override(self, bdf):
        with open(self.device(bdf, "driver_override"), encoding="ascii") as f:
            return f.read().strip()

    def fault(self, bdf, text):
        path = os.path.join(self.tree, "faults", bdf)
        if text is None:
            os.unlink(path)
        else:
            with open(path, "w", encoding="ascii") as f:
                f.write(text)

    def hang(self, bdf, driver=""):
        """Whatever takes this function off a driver (to DRIVER) hangs, until let_go()."""
        self.fault(bdf, f"hang {FOR_EVER} {driver}".strip())

    def let_go(self, bdf):
        self.fault(bdf, None)

    def is_hanging(self, bdf):
        """A worker is in the middle of it: the function has no driver. One that moves it to another driver
        than the fault is for is not meant: it goes on."""
        meant = []
        with contextlib.suppress(FileNotFoundError), \
                open(os.path.join(self.tree, "faults", bdf), encoding="ascii") as f:
            meant = f.read().split()[2:]
        return self.driver(bdf) is None and any(
            bdf in words and set(meant) <= set(words) for words in self.running_workers().values())

    def begin_to_assign(self):
        """A job is under way, and its worker hangs at the second GPU."""
        self.hang(FUNCTIONS[2])
        job = self.gpupass("assign", "vm42", "--no-block", "--timeout=60")
        expect(job.returncode == 0, job.stderr)
        until(lambda: self.driver(FUNCTIONS[0]) == "vfio-pci" and self.is_hanging(FUNCTIONS[2]),
              "the job did not begin")

    def open_jobs(self):
        """Numbers of the jobs that the journal has begun and not ended."""
        found = []
        for name, text in texts_in(os.path.join(self.state, "journal")).items():
            if not name.endswith(".log"):
                continue
            job = None
            for line in text.splitlines():
                record = json.loads(line[65:])
                if record["record"] in ("begin", "end"):
                    job = record["job"] if record["record"] == "begin" else None
            found += [job] if job else []
        return found

    def recovers(self, before):
        """What was under way is undone."""
        until(lambda: not self.open_jobs(), "it was not recovered")
        equal(before, self.world())
        # The journal goes before the picture shows it.
        until(lambda: self.group() == "free", "the group is not free again:", self.logged)

    def let_go_soon(self, bdf):
        """While the next daemon starts, which waits for it."""
        threading.Timer(0.5, self.let_go, [bdf]).start()

    def world(self):
        records = [text for name in ("assignments.d", "kept.d")
                   for text in texts_in(os.path.join(self.config, name)).values()]
        return [(f, self.driver(f), self.override(f)) for f in FUNCTIONS] + records

    def receipts(self):
        """What the receipts say, oldest first."""
        return [json.loads(text)
                for text in texts_in(os.path.join(self.state, "receipts")).values()]

    def define(self, name="vm42", hostdevs=FUNCTIONS, mark="pair0", mark_names=()):
        """What libvirt has at the daemon's next start: its test driver forgets what was defined."""
        devices = hostdevs_xml(hostdevs, "ua-gpupass-pair0-")
        metadata = mark_xml(mark, *mark_names) if mark else ""
        self.write("node.xml", "<node>" + domain_xml(name, VM42, metadata, devices) +
                   domain_xml("vm43", VM43) + "</node>")

    def domains(self, *texts):
        """The daemon anew, where libvirt has these."""
        self.stop()
        self.write("node.xml", "<node>" + "".join(texts) + "</node>")
        self.start()

    def processor_seconds(self):
        """Of the daemon and its workers until now."""
        fields = text_of(f"/proc/{self.process.pid}/stat").rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def record(self):
        with contextlib.suppress(FileNotFoundError), \
                open(os.path.join(self.config, "assignments.d", VM42 + ".json"), encoding="utf-8") as f:
            return json.load(f)
        return None

    def drift(self, *arguments):
        """[(kind, repair)] of what drifted, and the exit code."""
        r = self.gpupass("reconcile", "--dry-run", "--detailed-exitcode", "-j", *arguments)
        return ([(f["kind"], f["repair"]) for f in json.loads(r.stdout)["findings"]], r.returncode)

    def play(self, *lines):
        """What NVML tells from now on: both GPUs, and these lines."""
        gpus = ["gpu %s 220410de 145910de - - -" % bdf for bdf in ("0000:41:00.0", "0000:61:00.0")]
        self.write("libnvidia-ml.so.1.scenario", "\n".join(gpus + list(lines)) + "\n")

    def play_bridged(self, links=4):
        self.play(*["link %s %d up 0000%s" % (a, n, b) for n in range(links)
                    for a, b in (("0000:41:00.0", "0000:61:00.0"),
                                 ("0000:61:00.0", "0000:41:00.0"))])

    def declare(self):
        succeeds(self.gpupass("declare", "pair0", "41:00.0", "61:00.0"))


# Our metadata's name, and the one that it had before 0.9.
MARK_NAME = "urn:gpupass:domain:1"
FORMER_MARK_NAME = "https://gpupass.org/domain/1"


def mark_xml(group, *names):
    marks = (f"<gpupass:assignment xmlns:gpupass='{name}' group='{group}'/>" for name in names or [MARK_NAME])
    return f"<metadata>{''.join(marks)}</metadata>"


def hostdevs_xml(functions, alias="", managed="no"):
    return "".join(
        f"<hostdev mode='subsystem' type='pci' managed='{managed}'><source><address domain='0x{f[:4]}' "
        f"bus='0x{f[5:7]}' slot='0x{f[8:10]}' function='0x{f[11]}'/></source>" +
        (f"<alias name='{alias}{i}'/>" if alias else "") + "</hostdev>" for i, f in enumerate(functions))


def domain_xml(name, uuid, before="", devices="", after="", vcpu="", runs=False, acpi=False):
    """A domain of libvirt's test driver."""
    return ("<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0' "
            "xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
            f"<name>{name}</name><uuid>{uuid}</uuid>{before}<memory>65536</memory>{vcpu}"
            "<os><type arch='x86_64' machine='q35'>hvm</type></os>" + "<features><acpi/></features>" * acpi +
            f"<devices>{devices}</devices>{after}<test:runstate>{1 if runs else 5}</test:runstate></domain>\n")


NODE = "<node>" + domain_xml("vm42", VM42) + domain_xml("vm43", VM43) + "</node>"


def put(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def texts_in(directory):
    """{file: text}, in order; without files that the daemon has not finished, or that go meanwhile."""
    texts = {}
    for name in sorted(os.listdir(directory)):
        if not name.startswith("."):
            with contextlib.suppress(FileNotFoundError), \
                    open(os.path.join(directory, name), encoding="utf-8") as f:
                texts[name] = f.read()
    return texts


def known(done):
    """Of a run of gpupass: the documents that it printed are as docs/schema says."""
    if os.path.basename(done.args[0]).startswith("gpupass"):
        for text in (done.stdout, done.stderr):
            known_text(text)
    return done


def known_text(text):
    if "{" in text:
        found = schemas.shared().text_findings(text)
        expect(not found, *found)
    return text


@contextlib.contextmanager
def within(seconds, *what):
    """A promise: what is done in it takes no longer than this on an idle machine, and on a slower one
    as much longer as that is slower, before or after."""
    slow = slowness()
    begin = time.monotonic()
    yield
    took = time.monotonic() - begin
    if took > seconds * slow:
        slow = max(slow, slowness())
    expect(took <= seconds * slow, *what,
           f"(it took {took:.2f} s, not {seconds:g} s on a machine {slow:.1f} times slower than an idle one)")


def until(condition, *what, seconds=TIMEOUT):
    """Waits for it. What the daemon logs comes by a thread of its own, and so after what it does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            expect(False, *(w() if callable(w) else w for w in what or ("it did not come",)))
        time.sleep(0.02)


def unseal(document):
    """As a version before the checksums wrote it, so that a test may change it."""
    del document["crc32"]
    kind, _, version = document["schema"].rpartition("/")
    document["schema"] = f"{kind}/{int(version) - 1}"


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def equal(a, b):
    expect(a == b, f"expected {a!r}\n   found {b!r}")


def succeeds(r):
    expect(r.returncode == 0, f"exit {r.returncode}:", r.args, r.stdout[-2000:], r.stderr[-2000:])
    return r


def refused(r, code, error, *texts):
    """By this error, in words that have these."""
    expect(r.returncode == code, f"exit {r.returncode}, not {code}:", r.args, r.stdout, r.stderr)
    for text in ("org.gpupass1.Error." + error, *texts):
        expect(text in r.stderr, text, "is not in:", r.stderr)
    return r


def become_root(why):
    """Goes on as root, by sudo where it can; otherwise the program is skipped."""
    if os.geteuid() == 0:
        return
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], check=False,
                                               stderr=subprocess.DEVNULL).returncode == 0:
        os.execvp("sudo", ["sudo", "-n", sys.executable] + [os.path.abspath(sys.argv[0])] +
                  sys.argv[1:])
    print("this test needs root:", why)
    sys.exit(SKIPPED)


def named_in(code):
    """What a function names, with the functions in it."""
    inner = [c for c in code.co_consts if hasattr(c, "co_names")]
    return set(code.co_names).union(*map(named_in, inner))


def tests_here(argument="h"):
    """Of the program: its functions with this one argument that no other one calls, in the order of the file."""
    functions = [f for f in vars(sys.modules["__main__"]).values()
                 if inspect.isfunction(f) and f.__module__ == "__main__"]
    called = set().union(*(named_in(f.__code__) - {f.__name__} for f in functions))
    found = [f for f in functions if list(inspect.signature(f).parameters) == [argument] and f.__name__ not in called]
    expect(found, "there is no test")
    return found


def chosen(tests, names):
    """Those of these names; without names all."""
    unknown = set(names) - {test.__name__ for test in tests}
    expect(not unknown, "no such tests:", unknown)
    return [test for test in tests if not names or test.__name__ in names]


def on(snapshot):
    """Of a test: its host is that of this file in tests/fixtures/hosts."""
    def mark(test):
        test.snapshot = snapshot
        return test
    return mark


def run_tests(tests, new_host):
    """Each on a host of its own, which is made for it; the exit status of the program."""
    failed, took = 0, []
    for test in tests:
        log, begin = "", time.monotonic()
        try:
            host = new_host(test)
            try:
                test(host)
            except Exception:
                log = host.logged()
                raise
            finally:
                host.close()
            print("ok  ", test.__name__, flush=True)
        except Skip as why:
            print("skip", test.__name__ + ":", why, flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("FAIL", test.__name__, flush=True)
            traceback.print_exc(file=sys.stdout)
            print(log, flush=True)
        took.append((time.monotonic() - begin, test.__name__))
    longest = sorted(took, reverse=True)[:5]
    print("longest:", ", ".join(f"{name} {seconds:.1f} s" for seconds, name in longest), flush=True)
    return 1 if failed else 0


def main(tests=None, new_host=Host, **options):
    """Of a program: GPUPASSD GPUPASS FAKE-WORKER FAKE-NVML [--OPTION=N]… [TEST…]; the options are its host's."""
    programs, names = [os.path.abspath(p) for p in sys.argv[1:5]], []
    for word in sys.argv[5:]:
        name, _, number = word.removeprefix("--").partition("=")
        if word.startswith("--"):
            options[name] = int(number)
        else:
            names.append(word)

    def made_for(test):
        return new_host(*programs, **options, **({"snapshot": test.snapshot} if hasattr(test, "snapshot") else {}))
    return run_tests(chosen(tests or tests_here(), names), made_for)
