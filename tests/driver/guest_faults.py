#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# guest: --root --emu-arg=--inject=- --append=iomem=relaxed
# guest: --allow-log='onpu .*(request [0-9]+ in time|the firmware sent an invalid message: |device inaccessible)'
"""Injects hardware faults, one after the other, as TAP: guest_faults.py [FAULT]...

The emulator makes each fault of Documentation/faults.csv, a table of emulator.rst, while a program
works. The row says how the program's jobs end, how often the device is reset, what the kernel's log
says, and which command makes the next program work. The test compares these, the core dump and the
events for udev. Three more tests follow: "room", a second failure while nobody has taken the first
core dump; "sleep", a device that falls asleep without a link; "ban", a user who is banned. FAULT
selects rows and tests by name.
"""
import csv
import errno
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = pathlib.Path(os.environ.get("ONPU_DRIVER_TESTS") or HERE.parents[1] / "build/gcc/tests/driver")
DRIVER = pathlib.Path("/sys/bus/pci/drivers/onpu")
NODE = "/dev/accel/accel0"
# Jobs without progress end after this time, which is shorter than the default, so that the test is
# short.
TIMEOUT_MS = 4000
# Type of the request that the file fail_request of debugfs makes fail.
CTX_KILL = 5
# Contents and size of memory that this test allocates before and after the driver frees memory; the
# device must not write to it.
PATTERN, OTHERS_BYTES = bytes(range(256)) * 16, 64 << 20
# Seconds that an expected event may take: the machine may be slow and busy.
PATIENCE = 60 * float(os.environ.get("ONPU_PATIENCE", "1"))


class Emulator:
    """The device's emulator, which injects faults when it is asked through ./npu guest."""

    def __init__(self):
        self.control = open(os.environ["ONPU_GUEST_CONTROL"], "r+b", buffering=0)

    def ask(self, line):
        self.control.write(f"inject {line}\n".encode())
        answer = b""
        while not answer.endswith(b"\n"):
            answer += self.control.read(1)
        if not answer.startswith(b"ok"):
            raise RuntimeError(f"{line}: {answer.decode()}")
        return answer.decode()[2:].strip()

    def inject(self, fault):
        self.ask("none")
        self.ask(fault)

    def hits(self, fault):
        return int(self.ask("hits " + fault.split(",")[0]))


class Events:
    """The events that the kernel sends to udev."""

    NETLINK_KOBJECT_UEVENT, KERNEL = 15, 1

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, self.NETLINK_KOBJECT_UEVENT)
        self.socket.bind((0, self.KERNEL))
        self.socket.setblocking(False)

    def wedged(self):
        return [event["WEDGED"] for event in self.take() if "WEDGED" in event]

    def take(self):
        """Returns the variables of each event since the last call."""
        events = []
        try:
            while True:
                words = self.socket.recv(65536).decode(errors="replace").split("\0")
                events.append(dict(word.split("=", 1) for word in words if "=" in word))
        except BlockingIOError:
            return events


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def comes(condition):
    """Returns whether the condition becomes true within PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def device():
    return next(DRIVER.glob("0000:*"))


def resets():
    return int((device() / "reset_count").read_text())


def work():
    """Runs a program. Returns how its jobs ended, as the column "Jobs" of the table says it, and
    its output."""
    done = run(PROGRAMS / "driver-load", NODE, "once")
    ended = re.search(r"ended by errno (\d+)", done.stdout)
    if ended:
        return errno.errorcode[int(ended[1])], done.stdout
    if done.returncode:
        return f"status {done.returncode}", done.stdout
    return "are cancelled" if "# cancelled" in done.stdout else "end well", done.stdout


def dumped(row, told):
    """Returns the kind and reason in the core dump that the row's failure must cause; None when it
    causes none.
    """
    if int(row["Resets"]):
        return "reset", re.search(r"reset: (.*)", told)[1]
    return {"ETIME": ("timeout", "a job has made no progress"),
            "EREMOTEIO": ("fault", "a job has faulted")}.get(row["Jobs"])


def take_dump():
    """Returns the finished process that reads the core dump and drops it. Waits for the dump, which
    a worker of the driver may make after the program has ended.
    """
    comes(lambda: not run("onpu-smi", "dump").returncode)
    return run("onpu-smi", "dump", "--json", "--drop")


def check_dump(failure, known):
    """Yields each mistake as a text. The first failure of each kind and reason has a core dump,
    later ones have none. known is the set of failures so far, to which this function adds.
    """
    if failure and failure not in known:
        known.add(failure)
        done = take_dump()
        dump = json.loads(done.stdout) if not done.returncode else {}
        if (dump.get("kind"), dump.get("reason"), dump.get("whole")) != (*failure, True):
            yield f"no whole dump of {failure}: {done.stdout}"
        return
    done = run("onpu-smi", "dump", "--json", "--drop")
    if done.returncode != 1:
        yield f"a dump of {failure}: {done.stdout}"


def memory_in_use():
    return int((device() / "npu_memory_utilization").read_text())


def inject(emulator, fault):
    """Injects a fault that the next program meets. Waits until the last program's contexts are
    destroyed: the requests that destroy them could meet the fault instead.
    """
    comes(lambda: not memory_in_use())
    emulator.inject(fault)


def check_quarantine(emulator):
    """Yields each mistake as a text, after the link went down. While the link is down, the driver
    cannot know that the device has left the bus, so it keeps the memory of the program. When the
    link is back, the driver frees the memory without a reset, and the device does not write to
    memory that others get from then on.
    """
    if not memory_in_use():
        yield "memory was freed that the device might still write to"
    other = bytearray(PATTERN * (OTHERS_BYTES // len(PATTERN)))
    emulator.ask("none")
    if not comes(lambda: not memory_in_use()):
        yield f"{memory_in_use()} bytes are not freed when the link is back"
    other += PATTERN * (OTHERS_BYTES // len(PATTERN))
    time.sleep(0.5)
    if other.count(PATTERN) != len(other) // len(PATTERN):
        yield "the device has written to memory of others"


def check(emulator, events, row, known):
    """Yields a text for each difference from the row."""
    fault, log = row["Fault"], row["The kernel's log says"]
    before = resets()
    events.wedged()
    run("dmesg", "-C")
    inject(emulator, fault)
    ended, said = work()
    if ended != row["Jobs"]:
        yield f"jobs: {ended}, not {row['Jobs']}: {said}"
    if not emulator.hits(fault):
        yield "the fault has hit nothing"
    if fault != "link-down":
        emulator.ask("none")
    # udev gets an event for a reset that the driver has made, or for a device that it gives up.
    wanted, wedged = ["rebind,bus-reset"] if row["Afterwards"] else ["none"] * int(row["Resets"]), []

    def is_told():
        wedged.extend(events.wedged())
        # Without a link, jobs end before the reset of the device ends.
        return (not log or log in run("dmesg").stdout) and len(wedged) >= len(wanted) and \
            resets() - before >= int(row["Resets"])

    comes(is_told)
    told = run("dmesg").stdout
    if log and log not in told:
        yield f"the log does not say '{log}': {told}"
    if not log and re.search(r"onpu .*(reset|ERROR)", told):
        yield f"the log says {told}"
    if resets() - before != int(row["Resets"]):
        yield f"{resets() - before} resets, not {row['Resets']}"
    if wedged != wanted:
        yield f"events: WEDGED={wedged}"
    yield from check_dump(dumped(row, told), known)
    if fault == "link-down":
        yield from check_quarantine(emulator)
    if row["Afterwards"]:
        if work()[0] == "end well":
            yield f"the device works without '{row['Afterwards']}'"
        done = run(*row["Afterwards"].split())
        if done.returncode:
            yield f"{row['Afterwards']}: {done.stdout}"
    ended, said = work()
    if ended != "end well":
        yield f"the next program: {ended}: {said}"


def load():
    """Loads the driver again, with the short timeout. Waits for fences of the last program, which
    hold the module for a moment.
    """
    comes(lambda: not run("/usr/sbin/rmmod", "onpu").returncode)
    done = run("/usr/sbin/insmod", os.environ["ONPU_GUEST_DRIVER"], f"timeout_ms={TIMEOUT_MS}")
    if done.returncode:
        sys.exit(f"Bail out! the driver is not loaded again: {done.stderr}")


def check_room(emulator):
    """Yields each mistake as a text. While nobody takes the dump of the first failure, there is no
    room for that of the second; when the second failure comes again later, it has a dump.
    """
    kinds = []
    for faults in (("parity", "all-ones"), ("all-ones",)):
        for fault in faults:
            inject(emulator, fault)
            work()
            emulator.ask("none")
        done = take_dump()
        kinds.append(json.loads(done.stdout)["kind"] if not done.returncode else done.stdout)
    if kinds != ["fault", "reset"]:
        yield f"dumps: {kinds}"


def check_sleep(emulator):
    """Yields each mistake as a text. The link of an idle device is down when the kernel saves the
    device's configuration, and up when the device wakes.
    """
    power = device() / "power"
    emulator.inject("link-down")
    # An access to a register makes the link go down.
    run(PROGRAMS / "driver-poke", device() / "resource0", "reset")
    if not comes(lambda: emulator.hits("link-down")):
        yield "the fault has hit nothing"
    (power / "autosuspend_delay_ms").write_text("100")
    (power / "control").write_text("auto")
    if not comes(lambda: (power / "runtime_status").read_text() == "suspended\n"):
        yield "it does not fall asleep"
    emulator.ask("none")
    ended, said = work()
    if ended != "end well":
        yield f"jobs: {ended}: {said}"
    (power / "control").write_text("on")


def withstand():
    """Kills a program with an endless job whose context the device cannot end, so that a reset
    follows. Returns the program's number as a text, and its exit status.
    """
    before = resets()
    program = subprocess.Popen([PROGRAMS / "driver-load", NODE, "endless"])
    comes(lambda: re.search(r"^drm-engine-npu:.*[1-9]", "".join(
        path.read_text() for path in pathlib.Path(f"/proc/{program.pid}/fdinfo").glob("*")), re.M))
    (pathlib.Path("/sys/kernel/debug/accel") / device().name / "fail_request").write_text(str(CTX_KILL))
    program.terminate()
    comes(lambda: resets() > before)
    return str(program.pid), program.wait()


def check_ban(emulator, events):
    """Yields each mistake as a text: a user whose programs cause three resets must be banned, and
    another user must not. The event about each of these resets names the program; the event about a
    reset in between, which no program has caused, names none.
    """
    other = ["setpriv", "--reuid=nobody", "--clear-groups"]
    told, programs = [], []
    events.take()
    for number in range(3):
        # The counter of resets rises a moment before the end of a reset, which cancels jobs.
        if work()[0] not in ("end well", "are cancelled"):
            yield f"after {number} resets the user is banned"
        program, status = withstand()
        programs.append(program)
        if status:
            yield "the program that was ended had an error"
        if number == 0:
            inject(emulator, "all-ones")
            work()
            emulator.ask("none")
            programs.append(None)

    def values(name):
        return [event[name] for event in told if name in event]

    comes(lambda: told.extend(events.take()) or (values("BANNED") and len(values("WEDGED")) >= len(programs)))
    if values("BANNED") != [str(os.getuid())]:
        yield f"events: BANNED={values('BANNED')}"
    named = [(event["WEDGED"], event.get("TASK"), event.get("PID")) for event in told if "WEDGED" in event]
    if named != [("none", program and "driver-load", program) for program in programs]:
        yield f"events of resets: {named}, not of the programs {programs}"
    if "onpu" not in (line := re.search(r".*user 0 is banned for .*|$", run("dmesg").stdout)[0]):
        yield f"the log says '{line}'"
    if work()[0] == "end well":
        yield "the user is not banned"
    # Lets the other user open the node, which nothing gives to a group any more at this point.
    os.chmod(NODE, 0o666)
    done = run(*other, PROGRAMS / "driver-load", NODE, "once")
    if done.returncode:
        yield f"another user: {done.stdout}"
    load()
    if work()[0] != "end well":
        yield "the user is banned by a driver that was loaded again"


def main():
    rows = list(csv.DictReader((HERE.parents[1] / "Documentation/faults.csv").open(encoding="utf-8")))
    wanted = sys.argv[1:]
    load()
    emulator, events = Emulator(), Events()
    known = set()
    failed = number = 0
    for row in rows:
        if wanted and row["Fault"] not in wanted:
            continue
        number += 1
        wrong = list(check(emulator, events, row, known))
        for line in wrong:
            print(f"{row['Fault']}: {line}", file=sys.stderr)
        failed += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {number} - {row['Fault']}: jobs {row['Jobs']}", flush=True)
    last = {"room": ("a failure that had no room for its dump is kept the next time", lambda: check_room(emulator)),
            "sleep": ("a device that falls asleep without a link works when it wakes up", lambda: check_sleep(emulator)),
            "ban": ("who makes resets necessary again and again is banned", lambda: check_ban(emulator, events))}
    for name, (title, look) in last.items():
        if wanted and name not in wanted:
            continue
        number += 1
        load()
        wrong = list(look())
        for line in wrong:
            print(f"{name}: {line}", file=sys.stderr)
        failed += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {number} - {title}", flush=True)
    print(f"1..{number}")
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
