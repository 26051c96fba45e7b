# SPDX-License-Identifier: MIT
"""Makes a system for onpu-smi --root: the files of /sys, /proc, /dev and others that onpu-smi
reads.
"""
import pathlib
import struct
import zlib

RELEASE = "6.12.0-test"
ADDRESS = "0000:01:00.0"
SIGNED = b"~Module signature appended~\n"
# ONPU_FW_MAGIC and ONPU_FW_HEADER_SIZE of uapi/onpu/registers.xml.
MAGIC, HEADER_SIZE = b"ONFW", 64


class System:
    """Makes a system without a fault; tests then change it."""

    def __init__(self, folder):
        self.top = pathlib.Path(folder)
        self.write("proc/sys/kernel/osrelease", RELEASE + "\n")
        self.write("proc/cmdline", "root=/dev/sda1 quiet\n")
        self.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse avx2\n")
        self.write("etc/group", "root:x:0:\nrender:x:104:\n")
        self.write("dev/kmsg", "6,1,1000,-;Linux version\n")
        self.write(f"lib/modules/{RELEASE}/modules.dep", "updates/dkms/onpu.ko: kernel/gpu-sched.ko\n")
        self.write(f"lib/modules/{RELEASE}/updates/dkms/onpu.ko", b"\x7fELF" + SIGNED)
        self.write("sys/kernel/security/lockdown", "[none] integrity confidentiality\n")
        self.write("lib/firmware/onpu/onpu_v1.bin", image())
        self.write("sys/module/onpu/parameters/fw_log_level", "2\n")
        self.write("sys/module/drm/parameters/debug", "0\n")
        self.device(ADDRESS, "accel0")

    def path(self, name):
        return self.top / name

    def write(self, name, data):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())

    def remove(self, name):
        self.path(name).unlink()

    def link(self, name, target):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    def device(self, address, node, driver="onpu"):
        folder = f"sys/bus/pci/devices/{address}/"
        files = {"vendor": "0x1af4", "device": "0x10f0", "revision": "0x01", "numa_node": "-1",
                 "power_state": "D0", "current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8",
                 "npu_busy_time_us": "2500000", "npu_memory_utilization": "6291456",
                 "npu_current_frequency_mhz": "1000", "npu_max_frequency_mhz": "1000",
                 "fw_version": "1.2.3 abi 1.1 crc 01234567", "reset_count": "0"}
        for name, text in files.items():
            self.write(folder + name, text + "\n")
        self.write(folder + "config", bytes.fromhex("f41af010") + bytes(60))
        self.write(folder + "reset", "")
        self.write(folder + "msi_irqs/30", "msix\n")
        self.write(folder + "msi_irqs/31", "msix\n")
        if driver:
            self.link(folder + "driver", f"../../../../bus/pci/drivers/{driver}")
            self.write(f"sys/bus/pci/drivers/{driver}/unbind", "")
            self.write(f"sys/bus/pci/drivers/{driver}/bind", "")
        if node:
            self.write(folder + f"accel/{node}/dev", "261:0\n")
            self.write(f"dev/accel/{node}", "")

    def unbind(self, address=ADDRESS):
        self.remove(f"sys/bus/pci/devices/{address}/driver")

    def process(self, pid, command, files):
        """Adds a process; `files` maps the number of a descriptor to (target of the link, text of
        fdinfo)."""
        self.write(f"proc/{pid}/comm", command + "\n")
        for number, (target, text) in files.items():
            self.link(f"proc/{pid}/fd/{number}", target)
            self.write(f"proc/{pid}/fdinfo/{number}", text)

    def client(self, number, busy_ns, kib, address=ADDRESS):
        return ("/dev/accel/accel0",
                f"pos:\t0\ndrm-driver:\tonpu\ndrm-client-id:\t{number}\ndrm-pdev:\t{address}\n"
                f"drm-engine-npu:\t{busy_ns} ns\ndrm-engine-capacity-npu:\t1\ndrm-cycles-npu:\t{busy_ns}\n"
                f"drm-total-memory:\t{kib} KiB\ndrm-resident-memory:\t{kib} KiB\n")


def image(abi_minor=255, abi_major=1):
    """Returns a firmware image; the default minor version is enough for every driver."""
    code = bytes(range(256)) * 4
    header = struct.pack("<4sI2H7I", MAGIC, HEADER_SIZE, abi_minor, abi_major, 1, len(code), 0, len(code), 0,
                         zlib.crc32(code), 1)
    return header.ljust(HEADER_SIZE, b"\0") + code
