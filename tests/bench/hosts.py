# SPDX-License-Identifier: GPL-2.0-or-later
"""
Hosts of plain files for tests/bench, with the daemon on a private bus: one with two GPUs, as tests/bus
has it, and the largest: 64 GPUs of four functions in 32 declared pairs, with as many domains, of which
some have their pair already.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "bus")]
import rig  # noqa: E402

PAIRS = 32
A_SEGMENT = 32  # GPUs
SUBSYSTEM = ("10de", "129e")
BARS = [16 << 20, 256 << 20, 0, 32 << 20, 0, 128, 512 << 10]
# class, device, the host's driver: a board of Turing.
FUNCTIONS = [("030000", "1e30", "nvidia"), ("040300", "10f7", "snd_hda_intel"),
             ("0c0330", "1ad6", "xhci_hcd"), ("0c8000", "1ad7", None)]


def addresses(gpu):
    """(its port, [its functions])"""
    segment, bus = gpu // A_SEGMENT, 0x10 + 2 * (gpu % A_SEGMENT)
    return (f"{segment:04x}:{bus:02x}:01.0",
            [f"{segment:04x}:{bus + 1:02x}:00.{n}" for n in range(len(FUNCTIONS))])


def group_functions(pair):
    return [f for gpu in (2 * pair, 2 * pair + 1) for f in addresses(gpu)[1]]


def function(bdf, code, ids, driver, group, **more):
    """One of a snapshot. ids: of the vendor and the device, and of their subsystem."""
    names = ("vendor", "device", "subsystem_vendor", "subsystem_device")
    return {"bdf": bdf, "class": code, **dict(zip(names, ids)), **({"driver": driver} if driver else {}),
            "iommu_group": group, **more}


def port(bdf, group, numa=0):
    return function(bdf, "060400", ("1022", "1483", "1022", "1453"), "pcieport", group, numa_node=numa, bridge=True)


def snapshot_of(functions):
    return {"schema": rig.MAKE_HOST.SCHEMA, "taken_usec": 0, "iommu": True, "functions": functions}


def snapshot(pairs, on_vfio=0, driverless=False):
    """The first `on_vfio` pairs are on vfio-pci; without a driver all are as a boot finds them."""
    functions = []
    for gpu in range(2 * pairs):
        above, mine = addresses(gpu)
        numa = gpu // (pairs or 1) % 2
        functions.append(port(above, 10 + 2 * gpu, numa))
        for n, (bdf, (code, device, driver)) in enumerate(zip(mine, FUNCTIONS)):
            functions.append(function(
                bdf, code, ("10de", device, *SUBSYSTEM),
                None if driverless else "vfio-pci" if gpu < 2 * on_vfio else driver, 11 + 2 * gpu,
                reset_methods="flr bus", numa_node=numa, power_state="D0", upstream=[above],
                **({"bar_size": BARS} if n == 0 else {})))
    return snapshot_of(functions)


CARD = [("020000", ("15b3", "101d", "15b3", "0001"), "mlx5_core")] * 2
GPU = [("030000", ("10de", "2230", "10de", "1459"), "nvidia"),
       ("040300", ("10de", "1aef", "10de", "1459"), "snd_hda_intel")]
ONE_IN = 21  # boards is a GPU: 64 of 4,096 functions


def bus(size):
    """Boards of two functions, each behind a port, 64 in a segment."""
    functions = []
    for i in range(size // 3):
        above, board = f"{i // 64:04x}:{i % 64:02x}:01.0", f"{i // 64:04x}:{64 + i % 64:02x}:00"
        functions.append(port(above, 2 * i))
        functions += [function(f"{board}.{n}", *of, 2 * i + 1, upstream=[above])
                      for n, of in enumerate(CARD if i % ONE_IN else GPU)]
    return snapshot_of(functions)


def uuid(pair):
    return f"64646464-6464-4464-8464-{pair:012d}"


def domain_xml(pair, assigned):
    group = f"pair{pair}"
    return rig.domain_xml(f"vm{pair}", uuid(pair), rig.mark_xml(group) if assigned else "", rig.hostdevs_xml(
        group_functions(pair), f"ua-gpupass-{group}-") if assigned else "", acpi=True)


def assignment(pair):
    drivers = [driver for _ in range(2) for _, _, driver in FUNCTIONS]
    functions = []
    for bdf, driver in zip(group_functions(pair), drivers):
        f = {"bdf": bdf, "vendor": "10de", "device": FUNCTIONS[int(bdf[-1])][1],
             "subsystem_vendor": SUBSYSTEM[0], "subsystem_device": SUBSYSTEM[1]}
        if driver:
            f["original_driver"] = driver
        functions.append(f)
    return {"schema": "org.gpupass1.assignment/1", "domain_uuid": uuid(pair), "domain_name": f"vm{pair}",
            "group": f"pair{pair}", "created_usec": 1700000000000000, "created_by": 0,
            "functions": functions}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def write_assignments(config, pairs):
    for pair in range(pairs):
        write(os.path.join(config, "assignments.d", uuid(pair) + ".json"), json.dumps(assignment(pair)))


def declarations(pairs):
    return "".join(f"[Group]\nName=pair{pair}\n" + "".join(
        f"Gpu={addresses(gpu)[1][0]}\n" for gpu in (2 * pair, 2 * pair + 1)) + "\n" for pair in range(pairs))


class LargeHost(rig.Host):
    """64 GPUs, of which the first `assigned` pairs are assigned to their domains."""

    def __init__(self, programs, pairs=PAIRS, assigned=0, domains=0):
        self.pairs, self.assigned, self.domains = pairs, assigned, domains or pairs
        with tempfile.TemporaryDirectory() as directory:
            name = os.path.join(directory, "large")
            write(name + ".json", json.dumps(snapshot(pairs, assigned)))
            super().__init__(*programs, snapshot=name)

    def declare(self):
        write(os.path.join(self.config, "groups.d", "large.conf"), declarations(self.pairs))

    def start(self, log=None):
        self.declare()
        for pair in range(self.assigned):
            for f in group_functions(pair):
                write(self.device(f, "driver_override"), "vfio-pci\n")
        write_assignments(self.config, self.assigned)
        self.write("node.xml", "<node>" + "".join(
            domain_xml(pair, pair < self.assigned) for pair in range(self.domains)) + "</node>\n")
        super().start(log)
        groups = json.loads(self.gpupass("list", "--json=short").stdout)["groups"]
        assigned = sum(g["state"] == "assigned" for g in groups)
        rig.expect(len(groups) == self.pairs and assigned == self.assigned,
                   f"{len(groups)} groups, {assigned} assigned")

    def again(self):
        """Kills the daemon, and starts it as before. The clock when the new process was there to run; what
        answers is for the caller to see."""
        argv = [self.daemon, *self.process.args[1:]]
        environment = dict(self.daemon_environment())
        self.process.kill()
        self.process.wait()
        begin = rig.time.monotonic_ns()
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(argv, env=environment, stdout=self.log, stderr=self.log)
        return begin
