# SPDX-License-Identifier: MIT
"""A root in memory: an archive which the kernel unpacks there, of some files and what they need."""

import os
import subprocess

# The first process, what runs the command, and the places of other file systems.
BASE = ("/usr/bin/busybox", "/usr/bin/bash", "/usr/bin/env", "/usr/bin/sh", "/usr/bin/setpriv", "/usr/sbin/killall5", "/bin", "/sbin",
        "/dev", "/proc", "/run", "/sys", "/tmp", "/var/tmp", "/etc/passwd", "/etc/group")


def libraries(path):
    """With the program interpreter; nothing for a file that is no program."""
    answer = subprocess.run(["ldd", path], text=True, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    return [word for word in answer.stdout.split() if word.startswith("/")] if not answer.returncode else []


def add(path, found):
    """The folders and links on the way to a file come before it."""
    at = "/"
    for name in os.path.abspath(path).strip("/").split("/"):
        at = os.path.join(at, name)
        found[at] = None
        # Those that init takes to /dev lead to what each process has there.
        if os.path.islink(at) and not os.readlink(at).startswith(("/proc/", "fd/")):
            add(os.path.join(os.path.dirname(at), os.readlink(at)), found)
            at = os.path.realpath(at)
    if not os.path.lexists(at):
        raise FileNotFoundError(f"there is no {path}")


def everything(folder):
    """All that is in a folder; a file is that itself."""
    yield folder
    for path, names, others in os.walk(folder):
        for name in (*names, *others):
            yield os.path.join(path, name)


def write(target, files, folders):
    """Files and the folders that they are in; folders with all that is in them. All are absolute."""
    found = {}
    for path in (*BASE, *files, *(path for folder in folders for path in everything(folder))):
        add(path, found)
        for library in libraries(path) if os.access(path, os.X_OK) and os.path.isfile(path) else ():
            add(library, found)
    with open(target, "wb") as archive:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], input="".join(f"{path[1:]}\n" for path in found).encode(),
                       cwd="/", stdout=archive, stderr=subprocess.PIPE, check=True)
