# SPDX-License-Identifier: MIT
"""Makes a root in memory: an archive of some files and what they need, which the kernel unpacks."""

import os
import subprocess

# The first process, the programs that run the command, and mount points.
BASE = ("/usr/bin/busybox", "/usr/bin/bash", "/usr/bin/env", "/usr/bin/sh", "/usr/bin/setpriv", "/usr/sbin/killall5", "/bin", "/sbin",
        "/dev", "/proc", "/run", "/sys", "/tmp", "/var/tmp", "/etc/passwd", "/etc/group")


def libraries(path):
    """Returns the libraries of a program with its interpreter; nothing for a file that is no
    program."""
    answer = subprocess.run(["ldd", path], text=True, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    return [word for word in answer.stdout.split() if word.startswith("/")] if not answer.returncode else []


def add(path, found):
    """Adds a path; the folders and links on the way to it come before it."""
    at = "/"
    for name in os.path.abspath(path).strip("/").split("/"):
        at = os.path.join(at, name)
        found[at] = None
        # Links into /proc, which init copies to /dev, lead to files of each process: they are not
        # followed.
        if os.path.islink(at) and not os.readlink(at).startswith(("/proc/", "fd/")):
            add(os.path.join(os.path.dirname(at), os.readlink(at)), found)
            at = os.path.realpath(at)
    if not os.path.lexists(at):
        raise FileNotFoundError(f"there is no {path}")


def everything(folder):
    """Yields a folder and all that is in it, or a single file."""
    yield folder
    for path, names, others in os.walk(folder):
        for name in (*names, *others):
            yield os.path.join(path, name)


def write(target, files, folders):
    """Writes files with the folders that they are in, and folders with their contents. All paths
    are absolute."""
    found = {}
    for path in (*BASE, *files, *(path for folder in folders for path in everything(folder))):
        add(path, found)
        for library in libraries(path) if os.access(path, os.X_OK) and os.path.isfile(path) else ():
            add(library, found)
    with open(target, "wb") as archive:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], input="".join(f"{path[1:]}\n" for path in found).encode(),
                       cwd="/", stdout=archive, stderr=subprocess.PIPE, check=True)
