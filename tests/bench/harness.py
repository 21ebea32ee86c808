# SPDX-License-Identifier: GPL-2.0-or-later
"""
How tests/bench measures: a process by posix_spawn and wait4 with the monotonic clock around them,
alternatives in turn (A B A B …), so that what else the machine has to do meets all of them. What was
measured is a row: one JSON object on a line of its own, which tests/bench/run gathers.

    {"key": "hook_ms", "ours": {"median_ms": 3.1, "p99_ms": 4.0, "n": 100}, "ratio": 4.2,
     "peer": {"name": "/bin/true", "median_ms": 0.7, …}, "value": 2.4, "to_reach": 5, "note": "…"}

`value` is what `to_reach` bounds; without it that is the ratio of the medians. Of a process there is its
processor time, too, user and system, which a busy machine changes less. A row that could not be
measured has "missing", the reason, in the place of all of it.
"""
import contextlib
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

NULL = "/dev/null"
SHORT, LONG = 100, 10  # repetitions: of what takes milliseconds, and of what takes seconds


class Missing(Exception):
    """What is needed to measure a row is not here."""


def program(name, package=None):
    """The path of a peer."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise Missing(f"{name} is not installed" + (f" (package {package})" if package else ""))
    return found


def spawn(argv, environment=None, stdin=NULL, stdout=NULL, stderr=NULL):
    """Of a path, without a shell. The process id."""
    return os.posix_spawn(argv[0], argv, os.environ if environment is None else environment, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, stderr, os.O_WRONLY, 0)])


def timed(argv, environment=None, stdin=NULL, statuses=(0,)):
    """(wall, processor) in milliseconds of one run."""
    begin = time.monotonic_ns()
    _, status, usage = os.wait4(spawn(argv, environment, stdin), 0)
    wall = time.monotonic_ns() - begin
    code = os.waitstatus_to_exitcode(status)
    if code not in statuses:
        raise RuntimeError(f"{' '.join(argv)} ended with {code}")
    return wall / 1e6, (usage.ru_utime + usage.ru_stime) * 1e3


def timed_together(commands, environment=None):
    """Milliseconds from the start of the first to the end of the last."""
    begin = time.monotonic_ns()
    pids = [spawn(argv, environment) for argv in commands]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    wall = time.monotonic_ns() - begin
    if any(codes):
        raise RuntimeError(f"{' '.join(commands[0])} and its like ended with {codes}")
    return wall / 1e6


def in_turn(rounds, warm_up=True, **measures):
    """{name: [(wall, processor)…]}. A measure is called once before it counts, and returns milliseconds,
    wall time alone or (wall, processor)."""
    found = {name: [] for name in measures}
    if warm_up:
        for measure in measures.values():
            measure()
    for _ in range(rounds):
        for name, measure in measures.items():
            found[name].append(measure())
    return found


def percentile(values, share):
    """The nearest rank: with fewer than 100 values the 99th is the largest."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def summary(values, name=None, unit="ms"):
    """Of numbers, or of (wall, processor)."""
    walls = [v[0] if isinstance(v, tuple) else v for v in values]
    found = {"name": name} if name else {}
    found[f"median_{unit}"] = round(statistics.median(walls), 4)
    found[f"p99_{unit}"] = round(percentile(walls, 0.99), 4)
    processors = [v[1] for v in values if isinstance(v, tuple)]
    if processors:
        found["processor_ms"] = round(statistics.median(processors), 4)
    found["n"] = len(values)
    return found


def median_of(found):
    """Of a summary."""
    return next((v for k, v in found.items() if k.startswith("median_")), None)


def row(key, ours, peer=None, **more):
    """`more`: value, to_reach, note, others, and what else is of interest."""
    found = {"key": key, "ours": ours}
    if peer:
        found["peer"] = peer
        if median_of(peer):
            found["ratio"] = round(median_of(ours) / median_of(peer), 4)
        if peer.get("processor_ms") and "processor_ms" in ours:
            found["processor_ratio"] = round(ours["processor_ms"] / peer["processor_ms"], 4)
    found.update(more)
    return found


def extra(found):
    """What `ours` takes more than the peer."""
    return round(median_of(found["ours"]) - median_of(found["peer"]), 4)


def emit(found):
    print(json.dumps(found), flush=True)


class Talker:
    """A program that answers each line with a line."""

    def __init__(self, argv, environment=None):
        self.process = subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self):
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} ended with {self.process.wait()}")
        return answer.split()

    def ask(self, line):
        self.tell(line)
        return self.hear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def measure_all(measures, wanted, context):
    """measures: [(keys, function)], which returns or yields rows. Each wanted key gets its row, or why not.
    The exit status."""
    failed = 0
    for keys, function in measures:
        open_keys = [key for key in keys if not wanted or key in wanted]
        if not open_keys:
            continue
        why = "it was not measured"
        try:
            for found in function(context):
                if found["key"] in open_keys:
                    open_keys.remove(found["key"])
                    emit(found)
        except Missing as missing:
            why = str(missing)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            why = f"it failed: {error}"
            print(f"{sys.argv[0]}: {', '.join(keys)}: {error!r}", file=sys.stderr)
        for key in open_keys:
            emit({"key": key, "missing": why})
    return 1 if failed else 0


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
