# SPDX-License-Identifier: GPL-2.0-or-later
"""
A guest of nothing but busybox and stand-ins, in which the script of `gpupass export` runs: a folder that
is its root. What the stand-ins were called with is in its file `calls`.
"""
import os
import shutil
import stat
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
GUESTS = os.path.join(HERE, "..", "fixtures", "guests")
SYSTEMS = {
    "debian": 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
    "ubuntu": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n',
    "rhel": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n',
    "alpine": 'ID=alpine\nVERSION_ID=3.20.1\n',
    "opensuse": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.6"\n',
}
# What installs packages there, beside which no other does.
INSTALLERS = {
    "debian": ["apt-get", "dpkg-query"], "ubuntu": ["apt-get", "dpkg-query", "ubuntu-drivers"], "rhel": ["dnf"],
    "opensuse": ["zypper"], "alpine": [],
}
SMI = """#!/bin/sh
echo "nvidia-smi $*" >>/calls
case "$*" in
*driver_version*) cat /fixture/driver ;;
"nvlink --status") cat /fixture/nvlink ;;
"topo -m") cat /fixture/topo ;;
esac
[ -s /fixture/driver ]
"""
# Installs what is asked for, and nvidia-smi with a package that has it.
INSTALL = """#!/bin/sh
echo "${0##*/} $*" >>/calls
case "${0##*/} $*" in
apt-get*indextargets*) cat /targets 2>/dev/null; exit 0 ;;
dpkg-query*linux-image*) cat /kernels 2>/dev/null; exit 0 ;;
dpkg-query*) echo "ii nvidia-headless-no-dkms-570-server"; exit 0 ;;
getsebool*) cat "/booleans/$1" 2>/dev/null || echo "$1 --> off"; exit 0 ;;
dnf*info*) grep -qsxF "${*##* }" /repositories; exit ;;
esac
for word; do
	if grep -qsxF -e "$word" /absent; then
		cat /says 2>/dev/null || printf "%s\\n" "Reading lists" "E: no $word" "that is all"
		exit 100
	fi
done
case "$*" in *-s*install*) exit ;; *nvidia-smi*|*nvidia-utils-*|*nvidia-open*) cp /new-smi /usr/bin/nvidia-smi ;; esac
exit 0
"""


def can_run():
    """Why not; None: a root of its own can be had."""
    if not shutil.which("busybox"):
        return "busybox is not there"
    r = subprocess.run(into("/") + ["true"], capture_output=True, check=False)
    return None if r.returncode == 0 else "a root of one's own cannot be had: " + r.stderr.decode()


def into(root):
    how = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    return how + ["chroot", root]


class Guest:
    def __init__(self, directory, system, files, domain, kernel="6.1.0-18-amd64"):
        self.root = directory
        for folder in ("bin", "usr/bin", "usr/sbin", "usr/local/bin", "etc/apt/sources.list.d", "tmp", "fixture",
                       "var/lib", "proc/sys/kernel/random", "sys/class/dmi/id", "sys/fs/selinux", "sys/module", "dev"):
            os.makedirs(os.path.join(directory, folder), exist_ok=True)
        shutil.copy(shutil.which("busybox"), self.path("bin/busybox"))
        subprocess.run(into(directory) + ["/bin/busybox", "--install", "-s", "/bin"], check=True)
        self.write("etc/os-release", SYSTEMS[system])
        self.boot(1)
        self.write("sys/class/dmi/id/product_uuid", domain + "\n")
        self.write("dev/null", "")
        for name in ("dpkg", "chcon", "setsebool", "getsebool", "systemctl"):
            if os.path.lexists(self.path("bin/" + name)):
                os.unlink(self.path("bin/" + name))
        for name in INSTALLERS[system] + ["chcon", "setsebool", "getsebool", "systemctl"]:
            self.write("usr/bin/" + name, INSTALL, 0o755)
        self.write("proc/sys/kernel/osrelease", kernel + "\n")
        self.write("new-smi", SMI, 0o755)
        self.write("calls", "")
        for path, (mode, content) in files.items():
            self.write(path.lstrip("/"), content, mode)

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), stat.S_IMODE(mode))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def boot(self, n):
        self.write("proc/sys/kernel/random/boot_id", f"aaaaaaaa-0000-4000-8000-{n:012d}\n")

    def gpus(self, fixture, driver="535.183.06"):
        """The guest's GPUs print what those of this guest in tests/fixtures/guests print."""
        for name in ("nvlink", "topo"):
            shutil.copy(os.path.join(GUESTS, fixture, name), self.path("fixture/" + name))
        with open(os.path.join(GUESTS, fixture, "gpus"), encoding="utf-8") as f:
            self.write("fixture/driver", f"{driver}\n" * len(f.readlines()))

    def run(self, *arguments):
        return subprocess.run(into(self.root) + list(arguments), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, timeout=120, check=False)
