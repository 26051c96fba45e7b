#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes patches of the driver for a kernel's tree: make-series.py KERNEL FOLDER

Writes patches for `git am` into FOLDER, which is made: a correction of DRM's core, unless KERNEL
has it or does not need it; the uapi header; the driver; the entry of MAINTAINERS. 0000 is the letter
that they are sent with. KERNEL is only read. driver/Kbuild looks in a kernel's headers to see what they have. Here this is done once, so
that the patched code has no conditions for different kernels. Registers and messages are the
generated files.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[1]
HERE = pathlib.Path("drivers/accel/onpu")
ABI = pathlib.Path("Documentation/ABI/testing")
LICENCE = "# SPDX-License-Identifier: GPL-2.0-only OR MIT\n"
COVER = """\
The Open NPU is a PCI Express device that runs neural networks. Its
firmware schedules, so there is no drm_sched in this driver: contexts take
turns on hardware queues, jobs wait for syncobjs. Device model, firmware,
library and tests are in the project's repository; the tests run with
unpatched QEMU.
"""
# The letter before the patches; its first line is the subject.
LETTER = f"""\
accel/onpu: A driver for the Open NPU

{COVER}
The user space, which DRM asks for, is there as well: libwebnn-npu has the
whole WebNN API and compiles its graphs to the device's instructions. The
interface is the patch before the driver's.

drm_dev_wedged_event() sends its event for the primary node, which devices
with an accel node lack. The first patch corrects that, and the driver
relies on it: it tells of each reset, and of a device that it gives up.

Why no drm_sched? The firmware decides which context runs, so a scheduler
in the kernel would only wait for fences and push jobs in order. An earlier
version of the driver used drm_sched for that. Its use was easy, but its
end was hard: an entity that was killed could come back to its run queue,
which a patch of its own mends, and contexts that end while the device is
reset needed its locks. The driver now needs one callback for the oldest
job that waits, and a list: see onpu_job.c. A layer for firmware schedulers
is under discussion as drm_dep. When that is merged, it can replace
onpu_job.c and the wait side of onpu_submit.c; the interface to programs
does not depend on it.

The vendor ID is that of Red Hat, Inc., and the device ID is of the range
that QEMU leaves to experiments, as there is no chip yet. The driver binds
only to functions whose subsystem IDs are these two as well. Both are one
line each in onpu/registers.h.

The tests are more than 250 kselftests, KUnit cases, a fuzzer of calls,
errors at every allocation, and faults of the device that its emulator
makes. They run on kernels with KASAN, lockdep, KCSAN and the like, too.
"""
# DRM's core, what it lacks when it sends wedged events for the node of a display alone, and the patch.
CORE = pathlib.Path("drivers/gpu/drm/drm_drv.c")
DISPLAY_ALONE = "kobject_uevent_env(&dev->primary->kdev->kobj, KOBJ_CHANGE, envp)"
CORE_PATCH = next((TOP / "Documentation/upstream/series").glob("*.patch"))
# Macros that generated headers ask for: those that the kernel defines, and those that it does not.
IN_KERNEL = {"__KERNEL__": True, "__cplusplus": False, "ONPU_STATIC_ASSERT": False}
WIDTH = 100


def probes(kernel):
    """Returns the macros that driver/Kbuild would define for this kernel."""
    text = (TOP / "driver/Kbuild").read_text(encoding="utf-8")
    found = set()
    for header, pattern, macro in re.findall(r"\$\(call onpu-has,([^,]+),([^,]+),(\w+)\)", text):
        path = kernel / "include" / header
        if path.exists() and subprocess.run(["grep", "-qs", pattern, path], check=False).returncode == 0:
            found.add(macro)
    # The series corrects the core where it has this function, so that the driver can call it.
    if "struct drm_wedge_task_info" in (kernel / "include/drm/drm_device.h").read_text(encoding="utf-8"):
        found.add("ONPU_HAVE_ACCEL_WEDGED_EVENT")
    return found


def settle(text, have, known=()):
    """Returns the text without the conditions about ONPU_HAVE_* and others whose result is known.
    """
    lines, stack = [], []
    for line in text.splitlines(keepends=True):
        begin = re.match(r"#if(n?)def (\w+)", line)
        ours = bool(begin) and (begin[2].startswith("ONPU_HAVE_") or begin[2] in known)
        if re.match(r"#if", line):
            stack.append(((begin[2] in have) != bool(begin[1])) if ours else None)
        elif line.startswith("#else") and stack[-1] is not None:
            stack[-1] = not stack[-1]
            ours = True
        elif line.startswith("#endif"):
            ours = stack.pop() is not None
        if not ours and False not in stack:
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "".join(lines))


def in_kernel_style(text):
    """Returns a generated header as the kernel would write it: with the kernel's types and
    assertions, without conditions for other users, and with the comment at the end of a line that
    is too long on a line of its own before it.
    """
    text = settle(text, {name for name, value in IN_KERNEL.items() if value}, IN_KERNEL)
    text = text.replace("#include <linux/types.h>\n", "#include <linux/build_bug.h>\n#include <linux/types.h>\n")
    text = re.sub(r"#define ONPU_STATIC_ASSERT.*\n\n", "", text)
    text = re.sub(r"\bONPU_STATIC_ASSERT\((.*), \"[^\"]*\"\);", r"static_assert(\1);", text)
    text = re.sub(r"^\};\n(?=static_assert)", "};\n\n", text, flags=re.M)
    text = re.sub(r"\bu?int(\d+)_t\b", lambda match: ("u" if match[0][0] == "u" else "s") + match[1], text)
    lines = []
    for line in text.splitlines():
        comment = re.match(r"(\s*)(\S.*\S)\s+(/\* .* \*/)$", line)
        if comment and len(line.expandtabs(8)) > WIDTH:
            lines += [comment[1] + comment[3], comment[1] + comment[2]]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def insert_sorted(path, line, pattern):
    """Inserts a line among the lines that the pattern matches, which are in alphabetical order."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [number for number, old in enumerate(lines) if re.match(pattern, old)]
    if not places:
        sys.exit(f"make-series: {path} has no line like '{line.strip()}'")
    at = next((number for number in places if lines[number] > line), places[-1] + 1)
    lines.insert(at, line)
    path.write_text("".join(lines), encoding="utf-8")


def insert_maintainer(path, entry):
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    titles = [number for number, block in enumerate(blocks) if re.match(r"[^\n]+\n[A-Z]:\t", block)]
    at = next((number for number in titles if blocks[number].upper() > entry.upper()), titles[-1] + 1)
    blocks.insert(at, entry.rstrip("\n"))
    path.write_text("\n\n".join(blocks), encoding="utf-8")


class Series:
    """A repository with the files that the patches touch."""

    def __init__(self, folder):
        self.folder = folder
        self.git("init", "-q", "-b", "series")
        self.name, self.address = self.identity()
        self.git("config", "user.name", self.name)
        self.git("config", "user.email", self.address)

    @staticmethod
    def identity():
        """Returns name and address of the sender, as git knows them in this checkout."""
        done = subprocess.run(["git", "var", "GIT_COMMITTER_IDENT"], cwd=TOP, check=False, text=True,
                              stdout=subprocess.PIPE)
        match = re.match(r"(.+) <(.+)>", done.stdout)
        if not match:
            sys.exit("make-series: git does not know who sends the patches: set user.name and user.email")
        return match.groups()

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.folder, *arguments], check=True, stdout=subprocess.DEVNULL)

    def commit(self, text, sign=True):
        self.git("add", "-A")
        self.git("commit", "-q", *(["-s"] if sign else []), "-m", text)

    def copy(self, source, target):
        path = self.folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)
        return path


def makefile():
    """Returns the Makefile: driver/Kbuild without its probes of the kernel."""
    objects = re.search(r"onpu-y := \\\n(?:\t.*\n)+(?:onpu-\$.*\n)*", (TOP / "driver/Kbuild").read_text(encoding="utf-8"))
    return f"{LICENCE}\nccflags-y += -I$(src)\n\nobj-$(CONFIG_DRM_ACCEL_ONPU) += onpu.o\n\n{objects[0]}"


def add_driver(series, kernel):
    have = probes(kernel)
    for path in sorted((TOP / "driver").glob("onpu_*.[ch]")):
        copy = series.copy(path, HERE / path.name)
        copy.write_text(settle(copy.read_text(encoding="utf-8"), have), encoding="utf-8")
    series.copy(TOP / "driver/Kconfig", HERE / "Kconfig")
    for path in (TOP / ABI).glob("sysfs-*"):
        series.copy(path, ABI / path.name)
    (series.folder / HERE / "Makefile").write_text(makefile(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([sys.executable, TOP / "uapi/onpu/generate.py", "--out", out], check=True)
        for name in ("registers.h", "slots.h"):
            copy = series.copy(pathlib.Path(out) / "onpu" / name, HERE / "onpu" / name)
            copy.write_text(in_kernel_style(copy.read_text(encoding="utf-8")), encoding="utf-8")
    insert_sorted(series.folder / "drivers/accel/Kconfig", f'source "{HERE}/Kconfig"\n', 'source "drivers/accel/')
    insert_sorted(series.folder / "drivers/accel/Makefile", "obj-$(CONFIG_DRM_ACCEL_ONPU)\t\t+= onpu/\n", "obj-")


def make(kernel, out):
    with tempfile.TemporaryDirectory() as folder:
        series = Series(pathlib.Path(folder))
        for name in ("MAINTAINERS", "drivers/accel/Kconfig", "drivers/accel/Makefile", CORE):
            series.copy(kernel / name, name)
        series.commit("base", sign=False)
        count = 3
        if DISPLAY_ALONE in (kernel / CORE).read_text(encoding="utf-8"):
            series.git("am", "-q", CORE_PATCH)
            count = 4
        series.copy(TOP / "uapi/drm/onpu_accel.h", "include/uapi/drm/onpu_accel.h")
        series.commit("accel/onpu: Add the uapi header\n\nWhat programs and the driver of the Open NPU agree on.")
        add_driver(series, kernel)
        series.commit("accel/onpu: Add a driver for the Open NPU\n\n" + COVER)
        _, title, rest = (TOP / "driver/MAINTAINERS").read_text(encoding="utf-8").split("\n", 2)
        person = f"M:\t{series.name} <{series.address}>"
        insert_maintainer(series.folder / "MAINTAINERS", f"{title}\n{person}\n{rest}")
        series.commit("MAINTAINERS: Add the Open NPU driver\n\nWho looks after the driver and its interface.")
        out.mkdir(parents=True)
        series.git("config", "branch.series.description", LETTER)
        series.git("format-patch", "-q", "--cover-letter", "--cover-from-description=subject",
                   "--subject-prefix=PATCH drm-misc-next", "-o", out.resolve(), f"HEAD~{count}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    for name in ("MAINTAINERS", "drivers/accel/Kconfig", "include/drm/drm_drv.h", CORE):
        if not (args.kernel / name).exists():
            parser.error(f"{args.kernel} is no tree of a kernel: there is no {name}")
    if args.folder.exists():
        parser.error(f"{args.folder} exists")
    make(args.kernel.resolve(), args.folder)


if __name__ == "__main__":
    main()
