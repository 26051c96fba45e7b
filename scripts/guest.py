#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command in a virtual machine with an NPU; ./npu guest prepares everything and starts this.

QEMU runs the stock kernel of the build environment under TCG, without an initramfs: the root is the
environment's own, read-only over virtiofs, the checkout and the folders of --share are writable; or
with --in-memory it is in memory, with the files that are named, and no folder is shared.
scripts/guest-init.sh is the first process there. Streams, the kernel's log and the few words between
init and this program go over virtio ports. The exit status is the command's; 124 when the time was
up; 125 when the guest failed or, after a command that succeeded, its kernel warned.
"""

import argparse
import collections
import ctypes
import json
import lzma
import os
import re
import selectors
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

import initramfs
import kernel_log
import machines
import shares
import unpacked

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(SCRIPTS)
BUILD = os.path.join(TOP, "build")
DATA = os.path.join(os.path.dirname(TOP), "shared")

TIMED_OUT = 124
WAKES_EVERY = 5
BOOT_SECONDS = 900  # a busy machine takes a minute or two
BROKEN = 125
SYSTEM_MOUNTS = """\
sys /sys sysfs defaults
debug /sys/kernel/debug debugfs defaults
tracing /sys/kernel/tracing tracefs defaults
pts /dev/pts devpts mode=620,ptmxmode=666
shm /dev/shm tmpfs mode=1777
tmp /var/tmp tmpfs mode=1777
"""
# The ports of the guest: "control" is what guest-init.sh tells this program, "log" its kernel's log,
# "request" what the command asks of the host; "out", "err" and "in" are the command's streams.
PORTS = ("control", "log", "request", "out", "err", "in")


class GuestError(Exception):
    """The guest cannot be started, or it failed; the message says why."""


class Ended(Exception):
    """Raised by a signal that is to end this program."""


def say(text):
    print(f"npu guest: {text}", file=sys.stderr, flush=True)


def die_with_parent():
    """Makes the kernel kill this new process when the program that started it ends, in whatever
    way.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def sockets_of(pid):
    """Returns sockets of this process that are duplicates of the sockets of a child."""
    libc = ctypes.CDLL(None, use_errno=True)
    sockets = []
    process = os.pidfd_open(pid)
    for name in os.listdir(f"/proc/{pid}/fd"):
        if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
            number = libc.syscall(438, process, int(name), 0)  # pidfd_getfd
            if number < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            sockets.append(socket.socket(fileno=number))
    os.close(process)
    return sockets


class Monitor:
    """Sends commands to QEMU's monitor, and receives its events, by the protocol QMP."""

    def __init__(self, end, timeout):
        end.settimeout(timeout)
        self.stream = end.makefile("rw", encoding="utf-8")
        self.events = []
        self.greeted = False

    def execute(self, command, **arguments):
        if not self.greeted:
            self.greeted = True
            self.execute("qmp_capabilities")
        try:
            self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
            self.stream.flush()
            while "return" not in (answer := self.hear(command)):
                if "error" in answer:
                    raise GuestError(f"QEMU refuses '{command}': {answer['error']['desc']}")
                self.events.append(answer)
            return answer["return"]
        except ConnectionError as error:
            raise GuestError(f"QEMU ended before '{command}'") from error

    def wait_deleted(self, device):
        """Waits until the guest has given up a device whose removal was requested."""
        while not any(event.get("event") == "DEVICE_DELETED" and event["data"].get("device") == device
                      for event in self.events):
            self.events.append(self.hear(f"the removal of {device}"))
        self.events.clear()

    def hear(self, what):
        """Returns the next message of QEMU: an answer, an event or the greeting; `what` names it in
        the error."""
        try:
            line = self.stream.readline()
        except TimeoutError as error:
            raise GuestError(f"QEMU does not answer: {what}") from error
        if not line:
            raise GuestError(f"QEMU ended: {what}")
        return json.loads(line)


def escape(text):
    """Returns the text as value of an option of QEMU, in which commas are doubled."""
    return text.replace(",", ",,")


class Npu:
    """Keeps the names of one NPU of the guest, and the process of its emulator."""

    def __init__(self, number):
        self.number = number
        self.name = f"npu{number}"
        self.program = "onpu-emu" if not number else f"onpu-emu-{number}"
        self.process = self.answers = None
        self.killed = False

    def ended(self):
        """Returns whether the emulator ended without being killed."""
        return self.process and not self.killed and self.process.poll() is not None


class Guest:
    def __init__(self, args):
        self.args = args
        self.processes = {}
        self.select = selectors.DefaultSelector()
        self.ports = {}
        self.tails = collections.defaultdict(bytes)
        self.status = None
        self.fault = None
        self.ended = False
        self.taint = 0
        self.requests = b""
        self.words = b""
        self.npus = [Npu(number) for number in range(args.devices if args.emulator else 0)]
        self.wakes_at = None
        self.deadline, self.begun = None, False
        # Inside the environment /run is a file system of this run only.
        self.folder = tempfile.mkdtemp(prefix="onpu-guest-",
                                       dir="/run" if os.access("/run", os.W_OK) else None)
        # The folder that the guest's init reads, by its path here and by that in the guest.
        self.files = self.folder if args.system == "/" else \
            tempfile.mkdtemp(prefix="onpu-guest-", dir=os.path.join(args.system, "run"))
        self.seen = os.path.join("/", os.path.relpath(self.files, args.system))
        self.qemu = args.qemu or machines.PROGRAMS[args.arch]
        self.log = kernel_log.KernelLog(args.log, args.allow_log, args.allow_warnings)

    # What the guest sees

    def folders(self):
        """Returns the checkout and the folders that the command is about, which it may write to.
        The data of tests that lie beside the checkout are in the root, except where the way to them
        is closed."""
        if self.args.in_memory:
            return []
        found = {TOP, *self.args.share}
        return sorted({*found, DATA} if os.path.isdir(DATA) and self.closed(sorted(found)) else found)

    def closed(self, folders):
        """Returns the folders that the user cannot enter on the way to these, or in memory to the
        checkout."""
        if self.args.root:
            return []
        return shares.closed(folders, self.args.system) if folders else shares.closed_ways(os.getcwd(), TOP)

    def environment(self):
        env = {name: value for name, value in os.environ.items() if name != "OLDPWD"}
        env.update(HOME="/tmp", ONPU_GUEST_CONTROL="/run/onpu/host", ONPU_INSIDE=TOP)
        if self.args.arch != "amd64":
            env["PATH"] = os.path.join(BUILD, "cross", self.args.arch, "bin") + ":/usr/sbin:/usr/bin:/sbin:/bin"
        if self.args.driver:
            env.update(ONPU_GUEST_DRIVER=self.args.driver)
        if not self.args.root:
            env.update(USER="onpu", LOGNAME="onpu")
        return [f"{name}={value}" for name, value in env.items()]

    def driver_depends(self):
        """Returns the names of the modules that the driver needs."""
        if not self.args.driver:
            return []
        answer = subprocess.run(["modinfo", "-F", "depends", self.args.driver], text=True,
                                stdout=subprocess.PIPE, check=False)
        if answer.returncode:
            raise GuestError(f"{self.args.driver} is no module of a kernel; "
                             "./npu guest builds one without --no-build")
        return [name for name in answer.stdout.strip().split(",") if name]

    def modules(self):
        """Returns the arguments of insmod for each module to load before the driver. No share is
        mounted by then, so the modules are in the root.
        """
        system = self.args.system
        folder = os.path.join(BUILD, "guest") if system == "/" else os.path.join(system, "var/lib/onpu")
        try:
            return [[line[0].removeprefix(system.rstrip("/")), *line[1:]]
                    for line in unpacked.modules(self.args.kernel, [*self.driver_depends(), *self.args.modprobe],
                                                 folder, self.args.kernel_root or "/")]
        except subprocess.CalledProcessError as error:
            raise GuestError(f"cannot load a module: {error.stderr.strip()}") from error
        except (OSError, lzma.LZMAError) as error:
            raise GuestError(f"cannot unpack a module of {self.args.kernel}: {error}") from error

    def write_files(self, user):
        """Writes the files that guest-init.sh finds in its folder."""
        for name, line in (("passwd", f"onpu:x:{user}:{user}::/tmp:/bin/bash"),
                           ("group", f"onpu:x:{user}:")):
            shutil.copy(os.path.join(self.args.system, "etc", name), self.files)
            with open(os.path.join(self.files, name), "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        links = os.path.join(self.files, "links")
        os.mkdir(links)
        os.symlink("/proc/self/fd", os.path.join(links, "fd"))
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"fd/{number}", os.path.join(links, name))
        with open(os.path.join(self.files, "mounts"), "w", encoding="utf-8") as file:
            for name in ("passwd", "group"):
                file.write(f"{self.seen}/{name} /etc/{name} none bind\n")
            file.write(SYSTEM_MOUNTS)
        shutil.copy(os.path.join(SCRIPTS, "guest-init.sh"), os.path.join(self.files, "init"))
        os.chmod(os.path.join(self.files, "init"), 0o755)

    def write_job(self, folders):
        """Writes the job of guest-init.sh as a script of the shell."""
        args = self.args
        with open(os.path.join(args.system, "etc/group"), encoding="utf-8") as file:
            group = next((line.split(":")[2] for line in file if line.startswith("render:")), "0")
        user = 0 if args.root else shares.GUEST_USER
        run = ["/usr/bin/env", "--default-signal", "-i", *self.environment(), "sh", "-c",
               'cd -- "$0" || exit; exec "$@"', os.getcwd(), *args.command]
        if not args.root:
            run = ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={group}",
                   "--inh-caps=-all", *run]
        closed = self.closed(folders)
        values = {
            "user": user, "group": user, "node_group": group if args.system == "/" or args.arch != "amd64" else "",
            "shares": shlex.join(shares.place(path, closed) for path in folders),
            "closed": shlex.join(closed),
            "driver": args.driver or "", "firmware": args.firmware or "", "devices": len(self.npus),
            "streams": " ".join(name for name in ("out", "err", "in") if name in self.ports),
        }
        self.write_files(user)
        with open(os.path.join(self.files, "job"), "w", encoding="utf-8",
                  errors="surrogateescape") as file:
            for name, value in values.items():
                file.write(f"{name}={shlex.quote(str(value))}\n")
            file.write("load_modules()\n{\n")
            for line in self.modules():
                file.write(f"\t/usr/bin/busybox insmod {shlex.join(line)} || return\n")
            file.write(f":\n}}\nrun_command()\n{{\n\texec setsid {shlex.join(run)}\n}}\n")

    def write_root(self):
        """Makes the file of a root in memory, with the command and the files that it needs. Returns
        the file's path.
        """
        args = self.args
        command = shutil.which(args.command[0]) or args.command[0]
        files = [args.driver, args.firmware, command, os.getcwd(), *(line[0] for line in self.modules())]
        root = os.path.join(self.folder, "initramfs")
        try:
            initramfs.write(root, [path for path in files if path],
                            [self.files, *(os.path.join(TOP, path) for path in args.in_memory)])
        except subprocess.CalledProcessError as error:
            raise GuestError(f"--in-memory: {error.stderr.decode(errors='replace').strip()}") from error
        except OSError as error:
            raise GuestError(f"--in-memory: {error}") from error
        return root

    # Processes

    def spawn(self, name, command, fds=(), stdout=None, stdin=subprocess.DEVNULL):
        """Starts a process and returns it. Its messages are kept, and the last ones are shown when
        the process fails.
        """
        reader, writer = os.pipe()
        try:
            process = subprocess.Popen(
                command, stdin=stdin, stdout=stdout or writer, stderr=writer,
                pass_fds=fds, start_new_session=True, preexec_fn=die_with_parent)
        except OSError as error:
            raise GuestError(f"cannot start {name}: {error}") from error
        os.close(writer)
        self.processes[name] = process
        self.select.register(reader, selectors.EVENT_READ, lambda: self.keep(name, reader))
        return process

    def keep(self, name, reader):
        data = os.read(reader, 65536)
        if not data:
            self.select.unregister(reader)
            os.close(reader)
        self.tails[name] = (self.tails[name] + data)[-65536:]

    def start_share(self, name, path, options):
        """Starts virtiofsd for one folder; returns the path of the socket by which QEMU finds
        it."""
        address = os.path.join(self.folder, name)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen(1)
        self.spawn(name, [self.args.virtiofsd, f"--fd={listener.fileno()}", "--shared-dir", path,
                          "--sandbox=none", "--log-level=error", *options], fds=[listener.fileno()])
        listener.close()
        return address

    def record_of(self, npu):
        return os.path.join(self.folder, f"record{npu.number}")

    def start_emulator(self, npu):
        """Starts the emulator of an NPU, and returns when it listens on its socket."""
        args = self.args
        reader, writer = os.pipe()
        asks = "--inject=-" in args.emu_arg
        record = ["--record", self.record_of(npu)] if args.replay else []
        npu.process = self.spawn(npu.program, [args.emulator, "--socket", self.socket_of(npu), "--once",
                                               *record, *args.emu_arg], stdout=writer,
                                 stdin=subprocess.PIPE if asks else subprocess.DEVNULL)
        npu.killed = False
        os.close(writer)
        npu.answers = open(reader, encoding="utf-8", errors="replace")
        line = npu.answers.readline()
        if not line.startswith("listening on "):
            npu.process.wait()
            self.rest()
            raise GuestError(f"{npu.program} does not start (status {npu.process.returncode})")

    def socket_of(self, npu):
        return os.path.join(self.folder, npu.name)

    def open_ports(self):
        """Opens a socket pair for each port and for the monitor; returns the other ends."""
        names = list(PORTS)
        try:
            null = os.stat(os.devnull)
            mine = os.fstat(0)
            if stat.S_ISCHR(mine.st_mode) and mine.st_rdev == null.st_rdev:
                names.remove("in")
        except OSError:  # standard input is closed
            names.remove("in")
        theirs = {}
        for name in names:
            self.ports[name], theirs[name] = socket.socketpair()
        end, theirs["monitor"] = socket.socketpair()
        self.monitor = Monitor(end, self.args.timeout)
        return theirs

    def kernel(self):
        # A packed kernel, where an unpacked one does not work: KASAN's code cannot run where QEMU
        # enters an unpacked kernel, and when the machine wakes up, QEMU puts such a kernel into
        # memory once more.
        if self.args.kernel_root or self.args.in_memory:
            return os.path.join(self.args.kernel_root or "/", f"boot/vmlinuz-{self.args.kernel}")
        try:
            return unpacked.kernel(self.args.kernel, os.path.join(BUILD, "guest"), self.args.system)
        except (OSError, subprocess.CalledProcessError) as error:
            raise GuestError(f"cannot unpack the kernel {self.args.kernel}: {error}") from error

    def device_tree(self, machine):
        try:
            return machines.not_coherent_tree(self.qemu, machine, self.folder)
        except (OSError, subprocess.CalledProcessError) as error:
            raise GuestError(f"cannot make a device tree: {getattr(error, 'output', None) or error}") from error

    def npu_device(self, npu):
        bus = {"bus": f"port{npu.number}"} if self.args.root_port or self.args.hotplug else {}
        return {"driver": "vfio-user-pci", "id": npu.name, **bus, "x-msg-timeout": 60000,
                "socket": {"type": "unix", "path": self.socket_of(npu)}}

    def npu_options(self, npu):
        """Yields the options of QEMU for an NPU, and for the port in front of it."""
        port = f"pcie-root-port,id=port{npu.number},chassis={npu.number + 1}"
        if self.args.root_port:
            yield from ("-device", f"{port},hotplug=off,x-speed=2_5,x-pcie-lnksta-dllla=off")
        elif self.args.hotplug:
            yield from ("-device", port)
        yield from ("-device", json.dumps(self.npu_device(npu)))

    def root_options(self):
        if self.args.in_memory:
            return [f"rdinit={self.seen}/init"]
        return ["rootfstype=virtiofs", "root=share-root", "ro", f"init={self.seen}/init"]

    def qemu_command(self, roots, theirs):
        args = self.args
        machine = machines.options(args.arch, f"{args.memory}M", args.cpus)
        console = os.path.join(self.folder, "console")
        append = [*self.root_options(), f"onpu_guest={self.seen}", *machines.kernel_options(args.arch), "loglevel=4",
                  "panic=-1", "log_buf_len=4M", "printk.devkmsg=on", "mitigations=off",
                  "random.trust_cpu=on", "devtmpfs.mount=1", "cryptomgr.notests",
                  # By default these time limits are shorter than the host may be busy.
                  "watchdog_thresh=60", "rcupdate.rcu_cpu_stall_timeout=120"]
        if args.gdb:
            append.append("nokaslr")
        if args.iommu:
            append += ["intel_iommu=on", "iommu.passthrough=0"]
        command = [
            self.qemu, *machine, "-no-reboot", "-chardev", f"file,id=console,path={escape(console)}", "-serial", "chardev:console",
            "-kernel", self.kernel(), "-append", " ".join(append + args.append),
            "-mon", "chardev=monitor,mode=control",
        ]
        if args.not_coherent:
            command += ["-dtb", self.device_tree(machine)]
        if args.in_memory:
            command += ["-initrd", self.write_root()]
        # The IOMMU has to come before the devices whose accesses it translates.
        if args.iommu:
            command += ["-device", "intel-iommu,caching-mode=on"]
        command += ["-device", "virtio-serial-pci"]
        for name, end in theirs.items():
            command += ["-chardev", f"socket,id={name},fd={end.fileno()}"]
        for name in self.ports:
            command += ["-device", f"virtserialport,chardev={name},name=onpu.{name}"]
        for tag, address in roots.items():
            command += ["-chardev", f"socket,id={tag},path={escape(address)}",
                        "-device", f"vhost-user-fs-pci,chardev={tag},tag={tag}"]
        for npu in self.npus:
            command += self.npu_options(npu)
        for plugin in args.plugin:
            command += ["-plugin", plugin]
        if args.gdb:
            command += ["-S", "-chardev", f"socket,id=gdb,path={escape(args.gdb)},server=on,wait=off",
                        "-gdb", "chardev:gdb"]
        return command

    def start(self):
        folders = self.folders()
        theirs = self.open_ports()
        self.write_job(folders)
        # The root of another processor belongs to this checkout, so folders may be made in it.
        for path in folders if self.args.arch != "amd64" else ():
            os.makedirs(os.path.join(self.args.system, path.lstrip("/")), exist_ok=True)
        roots = {}
        if not self.args.in_memory:
            roots["share-root"] = self.start_share("share-root", self.args.system, ["--readonly", "--cache=always"])
        for number, path in enumerate(folders):
            name = f"share{number}"
            roots[name] = self.start_share(name, path, ["--cache=auto", *shares.same_owner(path),
                                                        *(["--readonly"] if path == DATA else [])])
        for npu in self.npus:
            self.start_emulator(npu)
        if self.args.gdb:
            if os.path.exists(self.args.gdb):
                os.unlink(self.args.gdb)
            say(f"the guest waits; gdb: target remote {self.args.gdb}")
        self.spawn("qemu", self.qemu_command(roots, theirs),
                   fds=[end.fileno() for end in theirs.values()])
        for end in theirs.values():
            end.close()

    # The conversation

    def receive(self, name, handle):
        try:
            data = self.ports[name].recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            self.select.unregister(self.ports[name])
        handle(data)

    @staticmethod
    def write_to(number, data):
        while data:
            data = data[os.write(number, data):]

    def hear_control(self, data):
        *lines, self.words = (self.words + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "begun":
                self.deadline, self.begun = time.monotonic() + self.args.timeout, True
            elif word == "exit":
                self.status = int(rest)
            elif word == "taint":
                self.taint = int(rest)
            elif word == "fail":
                self.fault = rest
            elif word == "end":
                self.ended = True

    def kill_emulator(self, npu):
        """Kills the emulator of an NPU. QEMU 11.1 has two faults that this avoids. A register
        access waits for the dead server until x-msg-timeout, with all of the guest: so the
        processors are paused first, and none is in an access. And QEMU aborts (it sets an error
        twice) when the connection ends with bytes that nobody has read: so another descriptor keeps
        the connection open after the process, to read them.
        """
        connections = [end for end in sockets_of(npu.process.pid)
                       if not end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)]
        npu.killed = True
        self.monitor.execute("stop")
        npu.process.kill()
        npu.process.wait()
        for end in connections:
            with end:
                end.shutdown(socket.SHUT_RD)
                while end.recv(65536):
                    pass
        self.monitor.execute("cont")

    def plug_emulator(self, npu):
        """Plugs a new NPU into the slot of an NPU whose emulator was killed."""
        self.monitor.execute("device_del", id=npu.name)
        self.monitor.wait_deleted(npu.name)
        self.start_emulator(npu)
        self.monitor.execute("device_add", **self.npu_device(npu))

    def inject(self, fault):
        """Tells the first NPU's emulator, which was started with --inject=-, to inject a fault;
        returns its answer.
        """
        npu = self.npus[0] if self.npus else None
        if not npu or not npu.process.stdin or npu.killed:
            return "error: faults need an NPU, and the option --emu-arg=--inject=-"
        npu.process.stdin.write(fault.encode() + b"\n")
        npu.process.stdin.flush()
        return npu.answers.readline().strip()

    def replace_emulator(self, word, number):
        """Kills an NPU's emulator, or plugs a new NPU into its slot; returns the answer to the
        command.
        """
        if number >= len(self.npus):
            return "error: the guest has no NPU" + (f" {number}" if number else "")
        npu = self.npus[number]
        if word == "kill-emulator":
            if npu.killed:
                return "error: the emulator was killed before"
            self.kill_emulator(npu)
            return "ok"
        # QEMU 11.1 aborts when a device with MSI-X leaves.
        if not self.args.hotplug or "--no-msix" not in self.args.emu_arg or not npu.killed:
            return "error: plug-emulator needs --hotplug, --emu-arg=--no-msix, and kill-emulator before it"
        self.plug_emulator(npu)
        return "ok"

    def wake(self):
        """Wakes the guest: from suspend to memory at once, otherwise by the power button. The guest
        notices the button only when its processors are idle or its power is off, so this is
        repeated until the guest says that it is awake.
        """
        self.wakes_at = time.monotonic() + WAKES_EVERY
        asleep = self.monitor.execute("query-status")["status"] == "suspended"
        self.monitor.execute("system_wakeup" if asleep else "system_powerdown")

    def hear_request(self, data):
        """Handles lines that the command writes to $ONPU_GUEST_CONTROL; answers each by one line.
        """
        *lines, self.requests = (self.requests + data).split(b"\n")
        for line in lines:
            request = line.decode(errors="replace")
            if found := re.fullmatch(r"(kill-emulator|plug-emulator)( [0-9]+)?", request):
                answer = self.replace_emulator(found[1], int(found[2] or 0))
            elif request.startswith("inject "):
                answer = self.inject(request[7:])
            elif re.fullmatch(r"wake [0-9]+", request):
                seconds = int(request[5:])
                self.wakes_at = time.monotonic() + seconds if seconds else None
                answer = "ok"
            else:
                answer = f"error: no request '{request}'"
            self.ports["request"].sendall(answer.encode() + b"\n")

    def connect(self):
        """Handles data of the ports from now on."""
        handlers = {
            "control": self.hear_control, "log": self.log.feed, "request": self.hear_request,
            "out": lambda data: self.write_to(1, data), "err": lambda data: self.write_to(2, data),
        }
        for name, handle in handlers.items():
            self.select.register(self.ports[name], selectors.EVENT_READ,
                                 lambda name=name, handle=handle: self.receive(name, handle))
        if "in" in self.ports:
            self.processes["input"] = subprocess.Popen(
                ["cat"], stdout=self.ports["in"], stderr=subprocess.DEVNULL,
                preexec_fn=die_with_parent)

    def end_input(self):
        """Ends the guest's standard input when all of ours was sent."""
        feeder = self.processes.get("input")
        if feeder and feeder.poll() is not None:
            self.ports["in"].shutdown(socket.SHUT_WR)
            del self.processes["input"]

    def done(self):
        return self.ended and self.log.ended

    def converse(self):
        """Waits for the last words of init and of the log; ends a guest that is silent for too
        long."""
        self.deadline = time.monotonic() + BOOT_SECONDS
        while not self.done():
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in self.select.select(min(left, 0.5)):
                key.data()
            self.end_input()
            if self.wakes_at and time.monotonic() >= self.wakes_at:
                self.wake()
            if self.processes["qemu"].poll() is not None and not self.select.select(0):
                break
            for npu in self.npus:
                if npu.ended():
                    self.emulator_ended(npu)
        self.rest()

    def replay(self):
        """Replays the recordings of the NPUs twice, without a guest: the NPUs must do the same."""
        # QEMU, the client of the emulators, ends; so they end, too, and the recordings are whole.
        self.processes["qemu"].kill()
        for npu in self.npus:
            try:
                npu.process.wait(60)
            except subprocess.TimeoutExpired as error:
                raise GuestError(f"{npu.program} does not end, so there is no whole recording") from error
        for npu in self.npus * 2:
            done = subprocess.run([self.args.emulator, "--replay", self.record_of(npu)],
                                  capture_output=True, text=True, check=False)
            self.log.append("replay", (done.stdout + done.stderr).rstrip())
            if done.returncode:
                raise GuestError(f"a replay is not the same: {(done.stdout + done.stderr).rstrip()}")

    def rest(self):
        """Reads what the guest sent before it ended and this program has not read yet."""
        while ready := self.select.select(0):
            for key, _ in ready:
                key.data()

    def emulator_ended(self, npu):
        if self.processes["qemu"].poll() is None:
            raise GuestError(f"{npu.program} ended by itself (status {npu.process.returncode})")

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
        for process in self.processes.values():
            process.wait()
        self.rest()
        for name, tail in self.tails.items():
            self.log.append(f"messages of {name}", tail.decode(errors="replace").rstrip())
        self.log.append("serial console", self.console())
        for folder in {self.folder, self.files}:
            shutil.rmtree(folder, ignore_errors=True)
        if self.args.gdb and os.path.exists(self.args.gdb):
            os.unlink(self.args.gdb)

    def console(self):
        try:
            with open(os.path.join(self.folder, "console"), errors="replace",
                      encoding="utf-8") as file:
                return file.read().replace("\r", "").strip()
        except FileNotFoundError:
            return ""

    # The verdict

    def judge(self):
        """Prints what is wrong with the run, and returns the exit status."""
        if self.fault:
            say(self.fault)
        elif self.status is None:
            say("the guest ended before the command did")
        bad = list(self.log.bad)
        if self.taint & kernel_log.TAINT_BAD:
            bad.append(f"the kernel is tainted: {self.taint}")
        if bad:
            say("the kernel's log has warnings:")
            for line in bad[:60]:
                print(f"    {line}", file=sys.stderr)
        if bad or self.fault or self.status is None:
            say(f"log: {self.log.path}")
        if self.status is None or self.fault or (bad and self.status == 0):
            return BROKEN
        return self.status

    def show_tails(self):
        """Prints the last lines of each process, and the lines of the console around its first
        trouble.
        """
        lines = self.console().splitlines()
        start = next((number for number, line in enumerate(lines) if kernel_log.SPLAT.search(line)), len(lines))
        for line in lines[max(0, start - 15):start + 25]:
            print(f"    console: {line}", file=sys.stderr)
        for name, tail in self.tails.items():
            for line in tail.decode(errors="replace").rstrip().splitlines()[-15:]:
                print(f"    {name}: {line}", file=sys.stderr)

    def run(self):
        try:
            self.start()
            self.connect()
            self.converse()
            if self.status is None:
                self.show_tails()
            elif self.args.replay:
                self.replay()
            status = self.judge()
        except TimeoutError:
            late = f"finish within {self.args.timeout:g}" if self.begun else f"boot within {BOOT_SECONDS}"
            say(f"the guest did not {late} s; log: {self.log.path}")
            status = TIMED_OUT
        except GuestError as error:
            say(f"{error}; log: {self.log.path}")
            self.show_tails()
            status = BROKEN
        except BrokenPipeError:
            status = 128 + signal.SIGPIPE
        finally:
            self.stop()
        return status


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--kernel-root")
    parser.add_argument("--root", action="store_true")
    parser.add_argument("--driver")
    parser.add_argument("--firmware")
    parser.add_argument("--emulator")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--emu-arg", action="append", default=[])
    parser.add_argument("--modprobe", action="append", default=[])
    parser.add_argument("--append", action="append", default=[])
    parser.add_argument("--plugin", action="append", default=[])
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--memory", type=int, default=1024)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--allow-warnings", action="store_true")
    parser.add_argument("--iommu", action="store_true")
    parser.add_argument("--replay", action="store_true")
    slot = parser.add_mutually_exclusive_group()
    slot.add_argument("--root-port", action="store_true")
    slot.add_argument("--hotplug", action="store_true")
    parser.add_argument("--allow-log", action="append", default=[])
    parser.add_argument("--in-memory", action="append", default=[])
    parser.add_argument("--share", action="append", default=[])
    parser.add_argument("--system", default="/")
    parser.add_argument("--log", default=os.path.join(BUILD, "log", "guest.log"))
    parser.add_argument("--gdb")
    parser.add_argument("--arch", choices=machines.PROGRAMS, default="amd64")
    parser.add_argument("--not-coherent", action="store_true")
    parser.add_argument("--qemu")
    parser.add_argument("--virtiofsd", default="/usr/libexec/virtiofsd")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def end_by_signal(number, _):
    raise Ended(number)


def main():
    args = arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_by_signal)
    try:
        return Guest(args).run()
    except Ended as ended:
        return 128 + ended.args[0]


if __name__ == "__main__":
    sys.exit(main())
