# SPDX-License-Identifier: GPL-2.0-or-later
"""
What tests on a private bus stand on: the real gpupassd and the real gpupass, on a host of plain files
(make-host), with fake-worker for the kernel and libvirt's test driver for libvirt. One host a test.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from private_bus import PrivateBus  # noqa: E402
ROOT = "/org/gpupass1"
NOBODY = 65534
SKIPPED = 77  # to meson
TIMEOUT = 30
FUNCTIONS = ["0000:41:00.0", "0000:41:00.1", "0000:61:00.0", "0000:61:00.1"]
VM42 = "22222222-2222-4222-8222-222222222222"
NODE = """<node>
<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'><name>vm42</name><uuid>22222222-2222-4222-8222-222222222222</uuid>
<memory>65536</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<test:runstate>5</test:runstate></domain>
<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'><name>vm43</name><uuid>33333333-3333-4333-8333-333333333333</uuid>
<memory>65536</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<test:runstate>5</test:runstate></domain>
</node>
"""


class Host:
    """One mock host with its bus and daemon."""

    def __init__(self, daemon, client, worker, nvml, snapshot="workstation-3090"):
        self.daemon, self.client, self.worker = daemon, client, worker
        self.directory = tempfile.mkdtemp(prefix="gpupass-test-")
        os.chmod(self.directory, 0o755)  # other users reach its bus
        self.tree = os.path.join(self.directory, "host")
        self.config = os.path.join(self.directory, "etc")
        self.state = os.path.join(self.directory, "state")
        os.makedirs(os.path.join(self.config, "groups.d"))
        self.root = os.path.join(self.directory, "root")
        os.makedirs(os.path.join(self.root, "etc"))
        subprocess.run([os.path.join(HERE, "make-host"), "--nvidia-proc",
                        os.path.join(HERE, "..", "fixtures", "hosts", snapshot + ".json"),
                        self.tree], check=True)
        self.node = self.write("node.xml", NODE)
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

    def pid_on_bus(self):
        return self.process.pid

    def daemon_environment(self):
        return self.environment

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def start(self, log=None):
        self.log = log or open(os.path.join(self.directory, "log"), "ab")
        self.process = subprocess.Popen(
            [self.daemon, "--config-dir=" + self.config, "--state-dir=" + self.state,
             "--runtime-dir=" + os.path.join(self.directory, "run"),
             "--worker=" + self.worker, "--nvml=" + self.nvml,
             "--sysfs=" + os.path.join(self.tree, "sys"),
             "--proc=" + os.path.join(self.tree, "proc"), "--root=" + self.root,
             "--libvirt-uri=test://" + self.node],
            env=self.daemon_environment(), stderr=self.log)
        deadline = time.monotonic() + TIMEOUT
        # (Not `busctl status`: where no cgroup file system is mounted it fails with systemd 257.)
        # Its name may still be the last one's for a moment, which has ended.
        while self.busctl("call", "org.freedesktop.DBus", "/org/freedesktop/DBus",
                          "org.freedesktop.DBus", "GetConnectionUnixProcessID", "s",
                          "org.gpupass1").stdout.strip() != f"u {self.pid_on_bus()}":
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("gpupassd did not come up: " + self.logged())
            time.sleep(0.05)

    def logged(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as f:
            return f.read()

    def stop(self):
        begin = time.monotonic()
        self.process.terminate()
        code = self.process.wait(TIMEOUT)
        self.log.close()
        return code, time.monotonic() - begin

    def close(self):
        if self.process.poll() is None:
            self.stop()
        self.bus.close(TIMEOUT)
        shutil.rmtree(self.directory)

    def run(self, *command):
        return subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT)

    def nobody(self, *command):
        """The same by a user without privilege."""
        return subprocess.run(command, env=self.environment, user=NOBODY, group=NOBODY,
                              extra_groups=[], cwd="/", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT, check=False)

    def gpupass(self, *arguments):
        return self.run(self.client, *arguments)

    def busctl(self, *arguments):
        return self.run("busctl", "--system", *arguments)

    def call(self, path, interface, member, *arguments):
        return self.busctl("call", "org.gpupass1", path, "org.gpupass1." + interface, member,
                           *arguments)

    def get(self, path, interface, name):
        r = self.busctl("get-property", "org.gpupass1", path, "org.gpupass1." + interface, name)
        return r.stdout.strip()

    def device(self, bdf, *names):
        return os.path.join(self.tree, "sys/bus/pci/devices", bdf, *names)

    def driver(self, bdf):
        link = self.device(bdf, "driver")
        return os.path.basename(os.readlink(link)) if os.path.islink(link) else None

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

    def world(self):
        assignments = os.path.join(self.config, "assignments.d")
        records = [open(os.path.join(assignments, name), encoding="utf-8").read()
                   for name in sorted(os.listdir(assignments))]
        return [(f, self.driver(f), self.override(f)) for f in FUNCTIONS] + records

    def receipts(self):
        """What the receipts say, oldest first."""
        directory = os.path.join(self.state, "receipts")
        texts = [open(os.path.join(directory, name), encoding="utf-8").read()
                 for name in sorted(os.listdir(directory))]
        return [json.loads(text) for text in texts]

    def define(self, name="vm42", hostdevs=FUNCTIONS, mark="pair0"):
        """What libvirt has at the daemon's next start: its test driver forgets what was defined."""
        devices = "".join(
            f"<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x{f[:4]}' "
            f"bus='0x{f[5:7]}' slot='0x{f[8:10]}' function='0x{f[11]}'/></source>"
            f"<alias name='ua-gpupass-pair0-{i}'/></hostdev>" for i, f in enumerate(hostdevs))
        metadata = ("<metadata><gpupass:assignment xmlns:gpupass='https://gpupass.org/domain/1' "
                    f"group='{mark}'/></metadata>" if mark else "")
        text = NODE.replace("<name>vm42</name>", f"<name>{name}</name>" + metadata, 1)
        text = text.replace("</os>", f"</os><devices>{devices}</devices>", 1)
        self.write("node.xml", text)

    def record(self):
        directory = os.path.join(self.config, "assignments.d")
        name = os.path.join(directory, VM42 + ".json")
        return json.load(open(name, encoding="utf-8")) if os.path.exists(name) else None

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
        r = self.gpupass("declare", "pair0", "41:00.0", "61:00.0")
        assert r.returncode == 0, r.stderr


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def equal(a, b):
    expect(a == b, f"expected {a!r}\n   found {b!r}")


def refused(r, code, error):
    expect(r.returncode == code, f"exit {r.returncode}, not {code}:", r.stdout, r.stderr)
    expect("org.gpupass1.Error." + error in r.stderr, "not", error, ":", r.stderr)


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


def run_tests(tests, new_host):
    """Each on a host of its own; the exit status of the program."""
    failed = 0
    for test in tests:
        host = None
        try:
            host = new_host()
            test(host)
            print("ok  ", test.__name__, flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("FAIL", test.__name__, flush=True)
            traceback.print_exc(file=sys.stdout)
            print(host.logged() if host else "", flush=True)
        finally:
            if host:
                host.close()
    return 1 if failed else 0
