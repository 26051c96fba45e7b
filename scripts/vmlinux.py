# SPDX-License-Identifier: MIT
"""The kernel as QEMU starts it fastest: the ELF file that a bzImage holds compressed.

QEMU enters such a file as a PVH guest. The bzImage would be unpacked by the emulated processor on
each start, which takes two of ten seconds.
"""

import os
import struct
import subprocess

# Offsets in the bzImage: Documentation/arch/x86/boot.rst of the kernel.
SETUP_SECTS = 0x1f1
MAGIC = 0x202
PAYLOAD = 0x248
ZSTD = b"\x28\xb5\x2f\xfd"


def payload(image):
    """What is compressed in a bzImage; without the size that follows it."""
    if image[MAGIC:MAGIC + 4] != b"HdrS":
        return b""
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    start = ((image[SETUP_SECTS] or 4) + 1) * 512 + offset
    return image[start:start + length - 4]


def startable(release, folder):
    """The file to start for a release: unpacked in the folder, if it is packed as Debian's are."""
    packed = f"/boot/vmlinuz-{release}"
    unpacked = os.path.join(folder, f"vmlinux-{release}")
    time = os.stat(packed).st_mtime_ns
    try:
        if os.stat(unpacked).st_mtime_ns == time:
            return unpacked
    except FileNotFoundError:
        pass
    with open(packed, "rb") as file:
        data = payload(file.read())
    if not data.startswith(ZSTD):
        return packed
    os.makedirs(folder, exist_ok=True)
    mine = f"{unpacked}.{os.getpid()}"
    try:
        with open(mine, "wb") as file:
            subprocess.run(["zstd", "-dcq"], input=data, stdout=file, check=True)
        os.utime(mine, ns=(time, time))
        os.rename(mine, unpacked)
    finally:
        if os.path.exists(mine):
            os.unlink(mine)
    return unpacked
