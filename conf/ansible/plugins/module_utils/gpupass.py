# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs gpupass(1), and makes its JSON documents the results of a module.

Names of domains and groups come from inventories, and names of domains also from users of libvirt.
They go to gpupass as arguments of their own, after "--", without a shell, and without the expansion
that run_command() would else do. What comes back is never parsed as text.
"""
from __future__ import absolute_import, division, print_function
__metaclass__ = type

import json
import re

from ansible.module_utils.common.text.converters import to_bytes

# gpupass takes no longer arguments (client/verbs/verbs.c).
ARGUMENT_MAX = 4096
ERROR_PREFIX = "org.gpupass1.Error."
EXIT_USAGE = 2
EXIT_BUSY = 9

# The characters that gpupass, too, does not send to a terminal (client/base/text.c), and halves of
# surrogate pairs, which cannot be written as UTF-8.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                         "\ud800-\udfff]")
# What libvirt takes for a UUID; see include/gpupass/domain-ref.h.
UUID = re.compile(r"[ \t-\r]*(?:[- ]*[0-9A-Fa-f]{2}){16}[ \t-\r]*")
CONTROL = re.compile("[\x00-\x1f\x7f]")


def _escape(match):
    code = ord(match.group())
    return "\\x%02x" % code if code < 0x100 else "\\u%04x" % code


def printable(value):
    """The same value, whose texts control no terminal."""
    if isinstance(value, str):
        return UNPRINTABLE.sub(_escape, value)
    if isinstance(value, list):
        return [printable(item) for item in value]
    if isinstance(value, dict):
        return dict((printable(key), printable(item)) for key, item in value.items())
    return value


def uuid_of(word):
    """The UUID that the word is, as libvirt writes it; None: the word is a name."""
    if not UUID.fullmatch(word):
        return None
    digits = re.sub("[^0-9a-f]", "", word.lower())
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def is_domain(domain, word):
    """Whether the word means this domain ({name, uuid}) in the way in which gpupass reads words."""
    uuid = uuid_of(word)
    return domain is not None and (domain["name"] == word if uuid is None else domain["uuid"] == uuid)


def mistake(word):
    """What gpupass would refuse of an argument before it sends anything, or None."""
    if not word:
        return "is empty"
    try:
        if len(to_bytes(word, errors="strict")) > ARGUMENT_MAX:
            return "is longer than %d bytes" % ARGUMENT_MAX
    except UnicodeError:
        return "is not UTF-8"
    return "has a control character" if CONTROL.search(word) else None


def natural(name):
    """A key that sorts pair2 before pair10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split("([0-9]+)", name)]


def plan_text(plan):
    """A plan in words, as `gpupass plan` prints it: what, steps, writes, XML."""
    domain = plan.get("domain") or {}
    where = [word for word in ("live", "config") if plan.get(word)]
    lines = ["%s %s%s%s" % (plan["operation"], plan["group"],
                            " - %(name)s, %(uuid)s" % domain if domain else "",
                            " (%s)" % ", ".join(where) if where else "")]
    lines += ["step: " + ": ".join(filter(None, (step["name"], step["detail"])))
              for step in plan["steps"]]
    lines += ["write: %s <- %s" % (write["path"], write["value"].replace("\n", "\\n"))
              for write in plan["writes"]]
    lines += ["live attach: " + part for hostdev in plan.get("hostdevs") or []
              for part in hostdev.splitlines()]
    return "\n".join(lines) + "\n" + (plan.get("xml_diff") or "")


class Gpupass:
    """The gpupass of this host, for one module."""

    def __init__(self, module):
        self.module = module
        self.jobs = []
        self.plans = []
        self.warned = set()
        self.program = module.get_bin_path("gpupass")
        if self.program is None:
            self.refuse("gpupass is not installed on this host",
                        remedy="install the packages gpupass and gpupassd, for example with the role "
                               "gpupass.host.host", name="", code=127)

    # ---- failures ----

    def fail(self, error):
        """Ends the module with a document org.gpupass1.error/1."""
        found = dict((key, error.get(key)) for key in ("message", "reason", "cause", "state", "remedy"))
        found["name"] = error["error"] or None
        self.module.fail_json(**printable(dict(
            msg=error["message"], error=found, rc=error["exit"], job=error.get("job"), jobs=self.jobs)))

    def refuse(self, reason, remedy, cause=None, name="InvalidArgument", code=EXIT_USAGE,
               state="nothing was changed"):
        """Ends the module with an error of its own, in the same form."""
        lines = [reason] + ["%-8s%s" % (label, text) for label, text in (
            ("Cause:", cause), ("State:", state), ("Remedy:", remedy)) if text]
        self.fail(dict(error=name and ERROR_PREFIX + name, message="\n".join(lines), reason=reason,
                       cause=cause, state=state, remedy=remedy, exit=code))

    # ---- calls ----

    def check(self, arguments):
        """Refuses what cannot be right, such as an empty variable, before anything is done."""
        for argument in arguments:
            wrong = mistake(argument)
            if wrong:
                self.refuse("the argument %s %s" % (json.dumps(argument[:80]), wrong),
                            "correct it in the task or in the inventory")

    def call(self, verb, options=(), arguments=(), expected=(), codes=(0,)):
        """The documents that gpupass prints; None when it fails with one of the expected errors."""
        self.check(list(arguments) + list(options))
        command = [self.program, verb, "--json=short", "--quiet", "--no-ask-password"]
        code, out, err = self.module.run_command(
            command + list(options) + ["--"] + list(arguments),
            environ_update=dict(LC_ALL="C.UTF-8"), expand_user_and_vars=False)
        try:
            documents = [json.loads(line) for line in out.splitlines()]
        except ValueError:
            documents = []
        failed = None
        if documents and documents[-1]["schema"] == "org.gpupass1.error/1":
            failed = documents.pop()
        self._note(documents)
        if failed and failed["error"] in [ERROR_PREFIX + name for name in expected]:
            return None
        if failed:
            self.fail(failed)
        if code not in codes or not documents:
            self.refuse("gpupass %s ended with %d" % (verb, code), name="", code=code or 1,
                        cause=err.strip() or "it printed no document", state="not known",
                        remedy="see: gpupass jobs; journalctl -u gpupassd")
        return documents

    def _note(self, documents):
        for document in documents:
            if document["schema"] == "org.gpupass1.job/1":
                self.jobs.append(document)
            if document["schema"] == "org.gpupass1.plan/1":
                self.plans.append(document)
            # The plan and its job warn of the same things.
            for warning in document.get("warnings") or []:
                if warning not in self.warned:
                    self.warned.add(warning)
                    self.module.warn(printable(warning))

    def plan(self, verb, options=(), arguments=()):
        """What the verb would do."""
        return self.call(verb, ["--dry-run"] + list(options), arguments)[-1]

    # ---- results ----

    def done(self, changed, diffs=(), **results):
        """Ends the module. In check mode `changed` says what would be."""
        results.update(changed=changed, jobs=self.jobs, job=self.jobs[-1] if self.jobs else None,
                       plans=self.plans)
        if self.module._diff:
            results["diff"] = [dict(prepared=plan_text(plan)) for plan in self.plans
                               if plan["changed"]] + list(diffs)
        self.module.exit_json(**printable(results))


def job_options(parameters):
    """The options that every job has."""
    options = []
    if parameters["timeout"] is not None:
        options.append("--timeout=" + parameters["timeout"])
    if parameters.get("allow_boot_vga"):
        options.append("--allow-boot-vga")
    return options
