# SPDX-License-Identifier: MIT
"""Unpacks the kernel and its modules once for each release: the guest's emulated processor would
need seconds for it at each start. QEMU enters the ELF file within a bzImage as a PVH guest.
"""

import lzma
import os
import struct
import subprocess

# Offsets in the bzImage: Documentation/arch/x86/boot.rst of the kernel.
SETUP_SECTS = 0x1f1
MAGIC = 0x202
PAYLOAD = 0x248
ZSTD = b"\x28\xb5\x2f\xfd"


def payload(image):
    """Returns the compressed bytes in a bzImage, without the size that follows them."""
    if image[MAGIC:MAGIC + 4] != b"HdrS":
        return b""
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    start = ((image[SETUP_SECTS] or 4) + 1) * 512 + offset
    return image[start:start + length - 4]


def kernel_of(image):
    """Returns the ELF file in a bzImage that is packed like Debian's; None for another bzImage."""
    data = payload(image)
    if not data.startswith(ZSTD):
        return None
    return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout


def once(packed, target, unpack):
    """Returns the file to use: the target, which is made again unless it has the time of the packed
    file; or the packed file itself when unpack() returns None for its content.
    """
    time = os.stat(packed).st_mtime_ns
    try:
        if os.stat(target).st_mtime_ns == time:
            return target
    except FileNotFoundError:
        pass
    with open(packed, "rb") as file:
        data = unpack(file.read())
    if data is None:
        return packed
    os.makedirs(os.path.dirname(target), exist_ok=True)
    mine = f"{target}.{os.getpid()}"
    try:
        with open(mine, "wb") as file:
            file.write(data)
        os.utime(mine, ns=(time, time))
        os.rename(mine, target)
    finally:
        if os.path.exists(mine):
            os.unlink(mine)
    return target


def kernel(release, folder, system):
    """Returns the file that QEMU starts, of the kernel in the folder system."""
    return once(os.path.join(system, f"boot/vmlinuz-{release}"), os.path.join(folder, release, "vmlinux"), kernel_of)


def module(path, folder):
    if not path.endswith(".xz"):
        return path
    name = os.path.basename(path)[:-len(".xz")]
    return once(path, os.path.join(folder, name), lzma.decompress)


def modules(release, names, folder, root):
    """Returns [file, option…] for each module to load: the named ones of a kernel in a root, and
    those that they need, in the order in which they must be loaded.
    """
    if not names:
        return []
    answer = subprocess.run(["modprobe", "-d", root, "-S", release, "-a", "-D", *names], text=True, check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    lines = [line.split() for line in dict.fromkeys(answer.splitlines())]
    return [[module(words[1], os.path.join(folder, release)), *words[2:]]
            for words in lines if words[0] == "insmod"]
