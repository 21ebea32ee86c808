# SPDX-License-Identifier: GPL-2.0-or-later
"""
A host of Proxmox VE, as far as gpupass sees one: the files in /etc/pve and /run/qemu-server, and the command
lines of kvm. Written by the grammar of Proxmox VE's own sources; no such host was at hand.
"""
import os

import rig

# "web-01" with both GPUs, as Proxmox VE writes the file; {} are its hostpci lines.
CONF = """#Two RTX 3090%0Ahostpci9: 0000:05:00
bios: ovmf
cores: 16
{}machine: q35
memory: 65536
meta: creation-qemu=8.1.5,ctime={}
name: {}
scsi0: local-zfs:vm-101-disk-1,iothread=1,size=64G
smbios1: uuid=0e4d3a3b-5f6c-4f0e-9d5e-000000000101
{}
[before]
hostpci0: 0000:61:00,pcie=1
snaptime: 1718000001
"""
BOTH = ["0000:41:00,pcie=1", "0000:61:00,pcie=1"]
CREATED = 1718000000


class Host(rig.Host):
    """Without libvirt; its virtual machines are Proxmox VE's."""

    def start(self, log=None):
        if not os.path.exists(os.path.join(self.config, "gpupassd.conf")):
            self.domains_by = []
            self.pve = os.path.join(self.root, "etc/pve")
            os.makedirs(os.path.join(self.pve, "nodes/pve1/qemu-server"))
            os.symlink("nodes/pve1", os.path.join(self.pve, "local"))
            os.symlink("nodes/pve1/qemu-server", os.path.join(self.pve, "qemu-server"))
            os.makedirs(os.path.join(self.pve, "mapping"))
            os.makedirs(os.path.join(self.root, "run/qemu-server"))
            rig.put(os.path.join(self.config, "gpupassd.conf"), "[Libvirt]\nUri=none\n[Proxmox]\nGuests=yes\n")
        super().start(log)

    def machine(self, vmid, hostpcis, name="web-01", created=CREATED, more=""):
        lines = "".join(f"hostpci{i}: {value}\n" for i, value in enumerate(hostpcis))
        self.write_machine(vmid, CONF.format(lines, created, name, more))

    def write_machine(self, vmid, text):
        rig.put(os.path.join(self.pve, "nodes/pve1/qemu-server", f"{vmid}.conf"), text)

    def mappings(self, text):
        rig.put(os.path.join(self.pve, "mapping/pci.cfg"), text)

    def runs(self, vmid, pid=4101):
        """A kvm that runs, and has no file of a GPU open as far as anybody sees."""
        rig.put(os.path.join(self.root, f"run/qemu-server/{vmid}.pid"), f"{pid}\n")
        directory = os.path.join(self.tree, "proc", str(pid))
        os.makedirs(directory, exist_ok=True)
        rig.put(os.path.join(directory, "cmdline"), f"/usr/bin/kvm\0-id\0{vmid}\0-name\0web-01\0")

    def ends(self, vmid):
        os.unlink(os.path.join(self.root, f"run/qemu-server/{vmid}.pid"))

    def uuid(self, vmid, created=CREATED):
        return f"{created:08x}-7076-8000-8000-{vmid:012}"

    # ---- qm, as a hookscript sees it: vm_start_nolock() and vm_stop_cleanup() ----

    def hookscript(self):
        """What is installed, with a link to it as in a storage for snippets."""
        snippets = os.path.join(self.directory, "snippets")
        if not os.path.isdir(snippets):
            os.mkdir(snippets)
            text = rig.text_of(os.path.join(rig.HERE, "../../conf/proxmox-hookscript.in"))
            installed = self.write("proxmox-hookscript", text.replace("@bindir@", os.path.dirname(self.client)))
            os.chmod(installed, 0o755)
            os.symlink(installed, os.path.join(snippets, "gpupass"))
        return os.path.join(snippets, "gpupass")

    def qm_start(self, vmid):
        """The run of pre-start; the machine runs if that did not fail."""
        r = self.run(self.hookscript(), str(vmid), "pre-start")
        if r.returncode == 0:
            self.runs(vmid)
            rig.equal(0, self.run(self.hookscript(), str(vmid), "post-start").returncode)
        return r

    def qm_stop(self, vmid):
        rig.equal(0, self.run(self.hookscript(), str(vmid), "pre-stop").returncode)
        self.ends(vmid)
        return self.run(self.hookscript(), str(vmid), "post-stop")
