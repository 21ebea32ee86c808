# SPDX-License-Identifier: GPL-2.0-or-later
"""
What nova itself says of its configuration: nova's own validators, out of the package as deps_unpack leaves
it in build/tools, with stand-ins for the libraries that they only log and translate with.

    nova_kit.py TOOLS FILE.yaml     what it says of a provider config, as JSON; exit 1: it refuses it
    nova_kit.py TOOLS --pci         what it says of lines of [pci] of nova.conf on stdin; exit 1: refuses one
"""
import ast
import json
import os
import sys
import types

PACKAGES = ("python3-nova", "python3-os-traits", "python3-os-resource-classes", "python3-microversion-parse")


def is_there(tools):
    return all(os.path.isdir(os.path.join(tools, package)) for package in PACKAGES)


class Anything:
    """Of a library that is not there: every attribute, call, and base class."""

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *_, **__):
        return Anything()

    def __mro_entries__(self, _):
        return (object,)


def stand_in(name):
    module = types.ModuleType(name)
    module.__getattr__ = lambda member: Anything() if not member.startswith("__") else None
    module.__path__ = []
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    return module


def prepare(tools):
    sys.path[:0] = [os.path.join(tools, package, "usr/lib/python3/dist-packages") for package in PACKAGES]
    for name in ("oslo_log", "oslo_log.log", "oslo_utils", "oslo_utils.strutils", "oslo_i18n", "webob", "webob.exc",
                 "webob.util", "pbr", "pbr.version"):
        stand_in(name)
    sys.modules["oslo_utils.strutils"].bool_from_string = lambda text, *_, **__: str(text).lower() == "true"
    import nova  # pylint: disable=import-outside-toplevel,import-error
    translated = types.ModuleType("nova.i18n")
    translated._ = lambda text: text
    sys.modules["nova.i18n"] = nova.i18n = translated


def provider_config(path):
    from nova.compute import provider_config as p  # pylint: disable=import-outside-toplevel,import-error
    # pylint: disable=protected-access
    config = p._parse_provider_yaml(path)
    return p._validate_provider_config(config, path)


def alias_schema(tools):
    """_ALIAS_SCHEMA of nova/pci/request.py, whose module needs all of nova."""
    import nova.pci.utils as utils  # pylint: disable=import-outside-toplevel,import-error
    path = os.path.join(tools, PACKAGES[0], "usr/lib/python3/dist-packages/nova/pci/request.py")
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    value = next(n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "_ALIAS_SCHEMA")
    types_ = types.SimpleNamespace(STANDARD="type-PCI", SRIOV_PF="type-PF", SRIOV_VF="type-VF", VDPA="vdpa")
    fields = types.SimpleNamespace(PciDeviceType=types_, PCINUMAAffinityPolicy=types.SimpleNamespace(
        ALL=("required", "legacy", "preferred", "socket")))
    return eval(compile(ast.Expression(value), path, "eval"),  # pylint: disable=eval-used
                {"utils": utils, "obj_fields": fields, "list": list})


def pci(tools, lines):
    import jsonschema  # pylint: disable=import-outside-toplevel
    import nova.pci  # pylint: disable=import-outside-toplevel,import-error
    stand_in("nova.objects")
    stand_in("nova.pci.request").PCI_REMOTE_MANAGED_TAG = "remote_managed"
    from nova.pci import devspec  # pylint: disable=import-outside-toplevel,import-error
    schema, said = alias_schema(tools), []
    for line in lines:
        name, _, value = line.partition(" = ")
        value = json.loads(value)
        if name == "alias":
            jsonschema.validate(value, schema)
            said.append(["alias", value["name"]])
        elif name == "device_spec":
            spec = devspec.PciDeviceSpec(dict(value))
            said.append(["device_spec", spec.vendor_id, spec.product_id, str(spec.address.pci_address_spec.domain),
                         spec.address.pci_address_spec.bus, spec.address.pci_address_spec.is_single_address()])
        else:
            raise ValueError("no option of [pci]: " + name)
    return said


def main(tools, what):
    prepare(tools)
    try:
        print(json.dumps(pci(tools, sys.stdin.read().splitlines()) if what == "--pci" else provider_config(what)))
    except Exception as e:  # pylint: disable=broad-except
        print(type(e).__name__, e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
