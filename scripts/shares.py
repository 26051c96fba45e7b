# SPDX-License-Identifier: MIT
"""Finds the host's folders that the guest shares, and folders on the way to them that the guest's
user cannot enter.
"""

import os
import stat

GUEST_USER = 1000
# The folder that takes the place of closed folder number N has this path with N added to it.
STAGE = "/run/onpu/open"


def same_owner(path):
    """Returns options of virtiofsd for a shared folder: its owner is the guest's user there, and
    the guest's root writes as the owner. Files of the host's root belong to the guest's user, too:
    ./npu makes such files in the checkout of another user.
    """
    owner = os.stat(path)
    options = []
    for what, host in (("uid", owner.st_uid), ("gid", owner.st_gid)):
        options += [f"--translate-{what}=map:{GUEST_USER}:{host}:1",
                    f"--translate-{what}=squash-guest:0:{host}:1"]
        if host:
            options.append(f"--translate-{what}=squash-host:0:{GUEST_USER}:1")
    return options


def parents(path):
    """Returns the folders in which an absolute path lies, the outermost first, without the root."""
    names = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(names[:count]) for count in range(1, len(names) + 1)]


def is_within(path, folder):
    return os.path.join(path, "").startswith(os.path.join(folder, ""))


def is_closed(folder):
    """Returns whether only owner and group can enter a folder. A missing folder counts as open,
    since it will be made.
    """
    try:
        return not stat.S_IMODE(os.stat(folder).st_mode) & stat.S_IXOTH
    except FileNotFoundError:
        return False


def closed(shares, system):
    """Returns the outermost folders of the system that lead to a share and that the guest's user
    cannot enter, such as root's home. Folders within another share are left out: there the user is
    the owner.
    """
    found = []
    for share in sorted(shares):
        outer = [other for other in shares if other != share and is_within(share, other)]
        for folder in parents(share):
            if any(is_within(folder, other) for other in (*outer, *found)):
                break
            if is_closed(os.path.join(system, folder.lstrip("/"))):
                found.append(folder)
    return found


def closed_ways(*paths):
    """Returns the folders on the way to the paths, and the paths, that the user cannot enter."""
    folders = {folder for path in paths for folder in (*parents(path), path)}
    return sorted(filter(is_closed, folders))


def place(share, folders):
    """Returns where a share is mounted: in the stand-in for the closed folder around it, or at its
    path."""
    for number, folder in enumerate(folders):
        if is_within(share, folder):
            return f"{STAGE}{number}/{os.path.relpath(share, folder)}"
    return share
