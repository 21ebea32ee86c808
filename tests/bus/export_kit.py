# SPDX-License-Identifier: GPL-2.0-or-later
"""
Whether gpupass export --format=libvirt prints what gpupassd itself would write into a definition.
"""
import json
import xml.etree.ElementTree as XML

from rig import equal, expect


def shape(element):
    """Name, attributes and children, without layout."""
    return [element.tag, sorted(element.attrib.items()), [shape(child) for child in element]]


def devices_of_plan(h, *groups):
    """The controllers and hostdevs that gpupassd would add to vm42, which has no devices. An export leaves the
    ports' own addresses to libvirt, for nobody knows which slots the domain has free, and the MAC address of a VF,
    which is made of the domain's UUID; and it does not know whether its libvirt knows the model of a driver."""
    plan = json.loads(h.must("plan", "vm42", *groups, "--config", "-j"))
    added = [line[1:] for line in plan["xml_diff"].splitlines() if line.startswith("+") and line[1:2] == " "]
    root = XML.fromstring("<added xmlns:gpupass='x'>" + "\n".join(added) + "</added>")
    for port in root.iter("controller"):
        port.remove(port.find("address"))
    for interface in root.iter("interface"):
        interface.remove(interface.find("mac"))
    for hostdev in root.iter("hostdev"):
        for driver in hostdev.findall("driver[@model]"):
            hostdev.remove(driver)
    return [shape(e) for e in root.iter() if e.tag in ("controller", "hostdev", "interface")]


def devices_of_export(h, *arguments):
    root = XML.fromstring(h.must("export", "--format=libvirt", *arguments))
    equal("devices", root.tag)
    return [shape(e) for e in root]


def is_what_gpupassd_writes(h, name, n_members):
    wanted = devices_of_plan(h, name)
    expect(len(wanted) > n_members, wanted)
    equal(wanted, devices_of_export(h, name))
