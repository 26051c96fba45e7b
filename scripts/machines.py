# SPDX-License-Identifier: MIT
"""Describes the machines that QEMU makes for the guest: a PC, or the board virt of arm64."""

import os
import subprocess

import tsc

PROGRAMS = {"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}


def options(arch, size, cpus):
    """Returns QEMU's options for processors and memory, which the device's process shares."""
    # This processor has pages of 4 and 16 KiB, and nothing that takes long to emulate.
    machine = ["-M", "virt,gic-version=3,memory-backend=mem", "-cpu", "neoverse-n1"] if arch == "arm64" else \
        ["-M", "q35,memory-backend=mem", "-cpu", "max"]
    return [*machine, "-accel", "tcg,thread=multi", "-smp", str(cpus), "-m", size,
            "-object", f"memory-backend-memfd,id=mem,size={size},share=on",
            "-nodefaults", "-no-user-config", "-display", "none"]


def kernel_options(arch):
    """Returns words for the kernel's command line."""
    if arch == "arm64":
        return ["console=ttyAMA0"]
    return ["console=ttyS0", "no_timer_check", "tsc=reliable", *tsc.option()]


def not_coherent_tree(program, machine, folder):
    """Returns a device tree of the machine in which devices on PCI Express do not see the
    processors' caches. QEMU has no caches: the tree only changes what the kernel does.
    """
    tree = os.path.join(folder, "machine.dtb")
    for command in ([program, *machine, "-machine", f"dumpdtb={tree}"],
                    ["fdtput", "-d", tree, "/pcie@10000000", "dma-coherent"]):
        subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL, text=True)
    return tree
