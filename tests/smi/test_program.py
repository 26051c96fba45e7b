#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests onpu-smi on made-up systems, its man page and its completion: test_program.py ONPU_SMI
ONPU_ISA FOLDER
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import system

PROGRAM, ISA, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), pathlib.Path(sys.argv[3]).resolve()
DONE, WRONG, FAILED, USAGE = 0, 1, 2, 64
NOBODY = 65534


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.system = system.System(folder.name)

    def run_it(self, *words, status=DONE, **more):
        # The program runs by its descriptor: another user may not be able to enter the program's
        # folder.
        with open(PROGRAM, "rb") as program:
            done = subprocess.run([f"/proc/self/fd/{program.fileno()}", *words, "--root", self.system.top],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                                  pass_fds=[program.fileno()], **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == DONE or done.stdout else done.stderr

    def json(self, *words, status=DONE, **more):
        return json.loads(self.run_it(*words, "--json", status=status, **more))


class Info(Case):
    def test_device(self):
        device, = self.json("info")["devices"]
        for name, value in {"address": system.ADDRESS, "driver": "onpu", "node": "accel0", "power": "D0",
                            "firmware": "1.2.3 abi 1.1 crc 01234567", "link_speed": "16.0 GT/s PCIe",
                            "link_width": 8, "revision": 1, "interrupts": 2, "numa_node": -1,
                            "busy_us": 2500000, "memory": 6291456, "clock_mhz": 1000, "resets": 0,
                            "state": "unknown"}.items():
            self.assertEqual(device[name], value, name)
        text = self.run_it("info")
        for part in (system.ADDRESS, "/dev/accel/accel0", "1.2.3 abi 1.1", "6 MiB in use", "2.500 s",
                     "16.0 GT/s PCIe x8", system.RELEASE):
            self.assertIn(part, text)
        self.assertEqual(text, subprocess.run([PROGRAM, "--root", self.system.top], check=True, text=True,
                                              stdout=subprocess.PIPE).stdout)

    def test_several(self):
        self.system.device("0000:0a:00.0", "accel1", driver="vfio-pci")
        self.system.device("0000:02:00.0", None, driver=None)
        self.system.write("sys/bus/pci/devices/0000:03:00.0/vendor", "0x8086\n")
        self.system.write("sys/bus/pci/devices/0000:03:00.0/device", "0x10f0\n")
        self.assertEqual([(d["address"], d["state"]) for d in self.json("info")["devices"]],
                         [(system.ADDRESS, "unknown"), ("0000:02:00.0", "no-driver"),
                          ("0000:0a:00.0", "other-driver")])
        for name in ("0000:0a:00.0", "0a:00.0", "accel1", "/dev/accel/accel1", "npu:1"):
            device, = self.json("info", "-d", name)["devices"]
            self.assertEqual(device["address"], "0000:0a:00.0")
        for name in ("accel7", "npu:7", "npu:", "npu:01"):
            self.assertIn(f"--device {name} is not an Open NPU", self.run_it("info", "-d", name, status=WRONG))

    def test_none(self):
        shutil.rmtree(self.system.path("sys/bus"))
        for command in ("info", "top", "reset", "fwlog"):
            self.assertIn("there is no Open NPU", self.run_it(command, status=WRONG))
        self.assertEqual(self.json("info", status=WRONG), {"kernel": system.RELEASE, "devices": []})
        self.assertEqual(self.json("info", "--query=node", status=WRONG)["devices"], [])
        self.assertEqual(self.json("info", "--loop=60", status=WRONG)["devices"], [])
        result = self.json("top", status=WRONG)
        self.assertEqual((result["devices"], result["processes"]), ([], []))
        self.assertEqual(self.run_it("info", "--query=node,memory", status=WRONG), "node,memory\n")

    def test_query(self):
        self.system.device("0000:0a:00.0", None, driver=None)
        fields = "memory,address,node,jobs,link_speed"
        self.assertEqual(self.run_it("info", "--query", fields).splitlines(),
                         [fields, f"6291456,{system.ADDRESS},accel0,,16.0 GT/s PCIe", ",0000:0a:00.0,,,16.0 GT/s PCIe"])
        self.assertEqual(self.run_it("--query=address", "--format=csv,noheader"), f"{system.ADDRESS}\n0000:0a:00.0\n")
        self.assertEqual(self.json("info", "--query", "memory,jobs,node")["devices"],
                         [{"memory": 6291456, "jobs": None, "node": "accel0"},
                          {"memory": None, "jobs": None, "node": None}])
        self.assertEqual(json.loads(self.run_it("info", "--query=node", "--format=json"))["devices"],
                         [{"node": "accel0"}, {"node": None}])
        self.system.write(f"sys/bus/pci/devices/{system.ADDRESS}/fw_version", 'one, "two"\n')
        self.assertEqual(self.run_it("info", "-d", "accel0", "--query=firmware,power").splitlines()[1],
                         '"one, ""two""",D0')

    def test_all_fields(self):
        """Tests that --format=csv has the fields of JSON, and a heading for each."""
        names, row = (line.split(",") for line in self.run_it("info", "--format=csv").splitlines())
        device, = self.json("info")["devices"]
        self.assertLessEqual(set(device), set(names))
        for name, cell in zip(names, row):
            value = device.get(name)
            self.assertEqual(cell, "" if value is None else str(value), name)
        source = (FOLDER / "command_info.c").read_text()
        made = set(re.findall(r'set(?:_text)?\(object, "(\w+)"', source)) | \
            set(re.findall(r'{ "(\w+)", ONPU_REG_CAP', source)) | {"numa_node"}
        self.assertEqual(set(names), made)

    def test_loop(self):
        lines = self.run_it("info", "--query=node", "--loop", "0.01", "--count", "3").splitlines()
        self.assertEqual(lines, ["node", *["accel0"] * 3])
        lines = self.run_it("info", "-l", "0.01", "-n", "2", "--json").splitlines()
        self.assertEqual([json.loads(line)["devices"][0]["node"] for line in lines], ["accel0"] * 2)
        self.assertEqual(self.run_it("info", "-l", "0.01", "-n", "2").count(f"{system.ADDRESS}  Open NPU"), 2)

    def test_wrong_options(self):
        for words, text in ((["--query=node,speed"], "there is no field 'speed'; there are: address, state"),
                            (["--query="], "there is no field ''"), (["--format=xml"], "not 'xml'"),
                            (["--query=node,", "--json"], "there is no field ''"),
                            (["--query=node", "--format=text"], "--query takes"),
                            (["--json", "--format=csv"], "do not go together"),
                            (["--query=" + ",".join(["node"] * 41)], "at most 40 fields are allowed"),
                            (["--count=2"], "--count needs --loop"), (["--loop=0"], "seconds from"),
                            (["node"], "'node' is too much: this command takes options alone")):
            self.assertIn(text, self.run_it("info", *words, status=USAGE))

    def test_no_node(self):
        shutil.rmtree(self.system.path(f"sys/bus/pci/devices/{system.ADDRESS}/accel"))
        self.assertEqual(self.json("info")["devices"][0]["state"], "no-node")


class Top(Case):
    def test_processes(self):
        client = self.system.client
        # A client is there twice, as after dup() and fork(); another file is no client.
        self.system.process(100, "first", {3: client(1, 2000000000, 2048), 4: client(1, 2000000000, 2048)})
        self.system.process(101, "child", {3: client(1, 2000000000, 2048)})
        self.system.process(200, "second", {0: ("/dev/null", "pos:\t0\n"), 5: client(2, 3000000000, 1024),
                                            6: client(3, 1000000000, 512)})
        self.system.process(300, "other", {3: ("/dev/dri/renderD128", client(9, 5, 5)[1])})
        result = self.json("top", "--once", "-i", "0.01")
        self.assertEqual([(p["pid"], p["command"], p["busy_ns"], p["resident"], p["files"], p["load"])
                          for p in result["processes"]],
                         [(100, "first", 2000000000, 2048 << 10, 1, 0),
                          (200, "second", 4000000000, 1536 << 10, 2, 0)])
        # JSON has UTF-8 alone, but names of processes may have any bytes.
        self.system.write("proc/100/comm", b"n\x1b\xc3\xff\n")
        self.assertEqual(self.json("top", "--once", "-i", "0.01")["processes"][0]["command"], "n???")
        self.system.write("proc/100/comm", "first\n")
        device, = result["devices"]
        self.assertEqual((device["address"], device["memory"], device["load"]), (system.ADDRESS, 6291456, 0))
        text = self.run_it("top", "--once", "-i", "0.01")
        self.assertRegex(text, r"(?m)^ +200 .* 1\.5 MiB +4\.000  second$")
        self.assertIn("6 MiB in use", text)

    def test_again(self):
        lines = self.run_it("top", "-n", "3", "-i", "0.01", "--json").splitlines()
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertEqual(json.loads(line)["processes"], [])
        self.assertEqual(self.run_it("top", "-n", "2", "-i", "0.01").count("No process has a device open"), 2)

    def test_usage(self):
        for words in (["-i", "0"], ["-i", "x"], ["-n", "0"], ["-n", "-1"], ["more"]):
            self.run_it("top", *words, status=USAGE)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_hidden(self):
        self.system.process(100, "first", {3: self.system.client(1, 5, 5)})
        os.chmod(self.system.path("proc/100/fd"), 0o700)
        result = self.json("top", "--once", "-i", "0.01", user=NOBODY, extra_groups=[])
        self.assertEqual((result["processes"], result["hidden"]), ([], 1))


class Check(Case):
    def findings(self, status=WRONG, **more):
        """Runs onpu-smi check and returns {check: (verdict, text, fix)} of the findings that are
        not ok."""
        result = self.json("check", status=status, **more)
        self.assertEqual(result["works"], status == DONE)
        for finding in result["findings"]:
            self.assertEqual(finding["fix"] is None, finding["verdict"] == "ok", finding)
        return {f["check"]: (f["verdict"], f["what"], f["fix"]) for f in result["findings"]
                if f["verdict"] != "ok"}

    def expect(self, name, verdict, what, fix, others=(), **more):
        found = self.findings(DONE if verdict == "hint" else WRONG, **more)
        self.assertEqual(set(found), {name, *others}, found)
        self.assertEqual(found[name][0], verdict, found[name])
        self.assertIn(what, found[name][1])
        self.assertIn(fix, found[name][2])

    def test_all_is_well(self):
        self.assertEqual(self.findings(DONE), {})
        self.assertTrue(self.run_it("check").endswith("\nAll is well.\n"))

    def test_no_device(self):
        shutil.rmtree(self.system.path("sys/bus"))
        self.expect("device", "wrong", "1af4:10f0", "rescan")

    def test_device_that_is_gone(self):
        self.system.write(f"sys/bus/pci/devices/{system.ADDRESS}/config", b"\xff" * 64)
        self.expect("link", "wrong", "all ones", "rescan")
        self.assertEqual(self.json("info")["devices"][0]["state"], "gone")
        self.assertIn("does not answer", self.run_it("reset", status=FAILED))

    def test_old_kernel(self):
        self.system.write("proc/sys/kernel/osrelease", "6.11.9\n")
        self.expect("kernel", "wrong", "6.11.9", "6.12")

    def test_kernel_without_accelerators(self):
        self.system.write(f"boot/config-{system.RELEASE}", "CONFIG_PCI=y\nCONFIG_DRM_ACCEL=y\n")
        self.assertEqual(self.findings(DONE), {})
        self.system.write(f"boot/config-{system.RELEASE}", "CONFIG_PCI=y\n# CONFIG_DRM_ACCEL is not set\n")
        self.expect("kernel", "wrong", "CONFIG_DRM_ACCEL", "linux-image")

    def unload(self):
        shutil.rmtree(self.system.path("sys/module/onpu"))
        self.system.unbind()

    def test_module_not_loaded(self):
        self.unload()
        self.expect("driver", "wrong", "not loaded", "modprobe onpu", ["binding"])

    def test_module_forbidden(self):
        self.unload()
        self.system.write("etc/modprobe.d/local.conf", "# blacklist onpu\nblacklist onpu2\n")
        self.expect("driver", "wrong", "not loaded", "dmesg", ["binding"])
        self.system.write("etc/modprobe.d/local.conf", "# blacklist onpu\nblacklist onpu\n")
        self.expect("driver", "wrong", "/etc/modprobe.d/local.conf forbids", "Take it out", ["binding"])
        self.system.remove("etc/modprobe.d/local.conf")
        self.system.write("proc/cmdline", "modprobe.blacklist=onpu2,xonpu quiet\n")
        self.expect("driver", "wrong", "not loaded", "dmesg", ["binding"])
        for line in ("quiet modprobe.blacklist=onpu", "modprobe.blacklist=a modprobe.blacklist=b,onpu quiet"):
            self.system.write("proc/cmdline", line + "\n")
            self.expect("driver", "wrong", "command line forbids", "or as root: modprobe onpu", ["binding"])
        self.system.write("proc/cmdline", "module_blacklist=a,onpu\n")
        self.expect("driver", "wrong", "command line forbids", "Take it out there and start the machine again", ["binding"])
        self.assertNotIn("modprobe onpu", self.run_it("check", status=WRONG))

    def test_module_not_built(self):
        self.unload()
        self.system.write(f"lib/modules/{system.RELEASE}/modules.dep", "kernel/xonpu.ko:\nkernel/a.ko: b/onpu.ko\n")
        self.expect("driver", "wrong", system.RELEASE, "onpu-dkms", ["binding"])
        self.system.write("usr/src/onpu-1.0/dkms.conf", "")
        self.expect("driver", "wrong", system.RELEASE, f"linux-headers-{system.RELEASE}", ["binding"])
        self.system.write(f"lib/modules/{system.RELEASE}/build/Makefile", "")
        self.expect("driver", "wrong", system.RELEASE, "dkms autoinstall", ["binding"])

    def test_signature(self):
        variable = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
        self.system.write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
        self.system.write(variable, bytes([6, 0, 0, 0, 1]))
        self.assertEqual(self.findings(DONE), {})
        self.unload()
        # The module has a signature, whose key may not be known.
        found = self.findings()
        self.assertEqual(found["signature"][0], "hint")
        self.system.write(f"lib/modules/{system.RELEASE}/updates/dkms/onpu.ko", b"\x7fELF")
        self.expect("signature", "wrong", "Secure Boot is on and locks the kernel down; the module onpu has none",
                    "mokutil", ["driver", "binding"])
        self.system.write(variable, bytes([6, 0, 0, 0, 0]))
        self.expect("signature", "wrong", "as the kernel is locked down", "mokutil", ["driver", "binding"])
        self.system.write("sys/kernel/security/lockdown", "[none] integrity confidentiality\n")
        self.assertEqual(set(self.findings()), {"driver", "binding"})
        self.system.write("sys/module/module/parameters/sig_enforce", "Y\n")
        self.expect("signature", "wrong", "sig_enforce", "mokutil", ["driver", "binding"])

    def test_firmware(self):
        name = "lib/firmware/onpu/onpu_v1.bin"
        right = self.system.path(name).read_bytes()
        wrong = {b"": "too short", b"x" * 2000: "no firmware", right[:-4]: "cut off",
                 right[:-1] + b"x": "checksum", system.image(0, 9): "version 9.0"}
        for data, what in wrong.items():
            self.system.write(name, data)
            self.expect("firmware", "hint", what, "onpu-firmware")
        self.system.remove(name)
        self.expect("firmware", "hint", "missing", "onpu-firmware")
        self.system.unbind()
        self.expect("firmware", "wrong", "missing", "onpu-firmware", ["binding"])
        self.system.write("sys/module/firmware_class/parameters/path", "/opt/firmware\n")
        self.system.write("opt/firmware/onpu/onpu_v1.bin", right)
        self.assertEqual(set(self.findings()), {"binding"})
        self.system.remove("opt/firmware/onpu/onpu_v1.bin")
        self.system.write("lib/firmware/updates/onpu/onpu_v1.bin.zst", b"packed")
        self.assertEqual(set(self.findings()), {"binding"})

    def test_not_bound(self):
        self.system.unbind()
        self.expect("binding", "wrong", "not bound", "--rebind")
        log = (f"3,7,5000,-;onpu {system.ADDRESS}: [drm] *ERROR* an error before\n SUBSYSTEM=pci\n"
               f"3,8,6000,-;onpu {system.ADDRESS}: [drm] *ERROR* CAP_NUM_ASIDS is 1, and so on\n"
               "3,9,7000,-;onpu 0000:09:00.0: [drm] *ERROR* of another one\n"
               f"3,9,7000,-;other {system.ADDRESS}: [drm] *ERROR* of another driver\n")
        self.system.write("dev/kmsg", log)
        self.expect("binding", "wrong", "refused it: CAP_NUM_ASIDS is 1, and so on", "--rebind")
        self.system.remove("dev/kmsg")
        self.expect("binding", "wrong", "may not read", "sudo onpu-smi check")

    def test_other_driver(self):
        self.system.device(system.ADDRESS, None, driver="vfio-pci")
        self.expect("binding", "wrong", "vfio-pci", f"echo {system.ADDRESS} > /sys/bus/pci/drivers/vfio-pci/unbind")
        self.system.unbind()
        self.system.write(f"sys/bus/pci/devices/{system.ADDRESS}/driver_override", "vfio-pci\n")
        self.expect("binding", "wrong", "kept for the driver vfio-pci", "driver_override")

    def test_memory_out_of_reach(self):
        self.system.unbind()
        self.assertEqual(set(self.findings()), {"binding"})
        self.system.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tdx_guest sse\n")
        self.expect("memory", "wrong", "encrypted guest (TDX)", "cannot use")
        self.system.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu\n")
        self.system.write("dev/kmsg", f"3,8,6000,-;onpu {system.ADDRESS}: [drm] *ERROR* the device cannot reach "
                          "memory of its driver: and so on\n")
        self.expect("memory", "wrong", "restricted to a pool", "restricted-dma-pool")

    def test_node(self):
        self.system.remove("dev/accel/accel0")
        self.expect("node", "wrong", "missing", "container")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_permission(self):
        node = self.system.path("dev/accel/accel0")
        user = {"user": NOBODY, "extra_groups": []}
        os.chown(node, 0, 104)
        os.chmod(node, 0o660)
        self.expect("permission", "wrong", "the group render, which this user is not in", "adduser USER render", **user)
        self.assertEqual(self.findings(DONE, user=NOBODY, extra_groups=[104]), {})
        os.chown(node, 0, 0)
        os.chmod(node, 0o600)
        self.expect("permission", "wrong", "group root with mode 600", "onpu-dkms", **user)

    def test_resets(self):
        self.system.write(f"sys/bus/pci/devices/{system.ADDRESS}/reset_count", "3\n")
        self.expect("resets", "hint", "reset 3 times", "dmesg")
        self.assertIn("hints above: 1.", self.run_it("check"))

    def test_text(self):
        self.unload()
        text = self.run_it("check", status=WRONG)
        self.assertRegex(text, r"(?m)^wrong  driver +the module onpu is not loaded\n +> As root: modprobe onpu")
        self.assertIn("2 things are wrong", text)

    def test_device_asked_for(self):
        self.system.device("0000:02:00.0", None, driver=None)
        self.assertIn("binding", self.findings())
        self.json("check", "-d", system.ADDRESS)
        self.run_it("check", "-d", "accel9", status=WRONG)


class Reset(Case):
    def file(self, name):
        return self.system.path(name).read_text("utf-8")

    def test_function(self):
        result = self.json("reset")
        self.assertEqual((result["address"], result["method"]), (system.ADDRESS, "function"))
        self.assertEqual(self.file(f"sys/bus/pci/devices/{system.ADDRESS}/reset"), "1")
        self.assertEqual(self.file("sys/bus/pci/drivers/onpu/unbind"), "")

    def test_rebind(self):
        self.system.process(100, "first", {3: self.system.client(1, 5, 5)})
        self.assertIn("was bound anew and is unknown now. 1 open file has it", self.run_it("reset", "--rebind"))
        self.assertEqual(self.file("sys/bus/pci/drivers/onpu/unbind"), system.ADDRESS)
        self.assertEqual(self.file("sys/bus/pci/drivers/onpu/bind"), system.ADDRESS)
        self.assertEqual(self.file(f"sys/bus/pci/devices/{system.ADDRESS}/reset"), "")

    def test_which(self):
        self.system.device("0000:02:00.0", "accel1")
        self.assertIn("there are 2 devices", self.run_it("reset", status=FAILED))
        self.run_it("reset", "-d", "accel1")
        self.assertEqual(self.file("sys/bus/pci/devices/0000:02:00.0/reset"), "1")
        self.assertEqual(self.file(f"sys/bus/pci/devices/{system.ADDRESS}/reset"), "")

    def test_refused(self):
        self.system.remove(f"sys/bus/pci/devices/{system.ADDRESS}/reset")
        self.assertIn("no function reset is possible: the driver is not loaded", self.run_it("reset", status=FAILED))
        self.system.unbind()
        self.assertIn("--rebind", self.run_it("reset", status=FAILED))
        # No driver binds the device here, which is a failure.
        self.assertIn("no-driver after the reset", self.run_it("reset", "--rebind", status=FAILED))
        self.system.device(system.ADDRESS, None, driver="vfio-pci")
        self.assertIn("belongs to the driver vfio-pci", self.run_it("reset", status=FAILED))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_only_root(self):
        self.assertIn("only root may", self.run_it("reset", status=FAILED, user=NOBODY, extra_groups=[]))


class Fwlog(Case):
    LOG = (f"7,1,1500000,-;onpu {system.ADDRESS}: [drm:put_log_byte [onpu]] firmware: hello\n SUBSYSTEM=pci\n"
           f"7,2,2000001,-;onpu {system.ADDRESS}: [drm:other [onpu]] no firmware at all\n"
           f"3,3,2000002,-;onpu {system.ADDRESS}: [drm] *ERROR* firmware failed: it has trapped\n"
           f"7,4,3000000,c,caller=T1;onpu {system.ADDRESS}: [drm:put_log_byte [onpu]] firmware: again\n")

    def test_lines(self):
        self.system.write("dev/kmsg", self.LOG)
        self.system.write("sys/module/drm/parameters/debug", "18\n")
        self.assertEqual(self.run_it("fwlog"), "[    1.500000] hello\n[    3.000000] again\n")
        result = self.json("fwlog")
        self.assertTrue(result["on"])
        self.assertEqual([(line["us"], line["text"]) for line in result["lines"]],
                         [(1500000, "hello"), (3000000, "again")])

    def test_off(self):
        text = self.run_it("fwlog")
        self.assertIn("nothing of the firmware", text)
        self.assertIn("sudo onpu-smi fwlog --on", text)
        self.assertEqual(self.json("fwlog"), {"on": False, "lines": []})

    def test_settings(self):
        debug = self.system.path("sys/module/drm/parameters/debug")
        self.system.write("sys/module/drm/parameters/debug", "16\n")
        self.assertEqual(self.run_it("fwlog", "--on", "-l", "3"), "")
        self.assertEqual(debug.read_text("utf-8"), "0x12")
        self.assertEqual(self.system.path("sys/module/onpu/parameters/fw_log_level").read_text("utf-8"), "3")
        self.run_it("fwlog", "--off")
        self.assertEqual(debug.read_text("utf-8"), "0x10")
        for words in (["-l", "4"], ["-l", "33"], ["--on", "--off"]):
            self.run_it("fwlog", *words, status=USAGE)
        shutil.rmtree(self.system.path("sys/module/onpu"))
        self.assertIn("not loaded", self.run_it("fwlog", "-l", "1", status=FAILED))


class Dump(Case):
    # The dump is as Documentation/coredump.rst describes it. Its instructions are "end 0", and a
    # word that is none.
    TEXT = """\
onpu core dump, format 1
[failure]
kind: fault
reason: a job has faulted
time: 1795500000.123456789
kernel: 6.12.0-test
device: 0000:01:00.0
firmware: 1.2.3 abi 1.1 crc 01234567
client: 7
context: 2
error: 14
later: key
[fault]
code: 11
queue: 3
seqno: 5
pc: 0x11
insn: 0x0 0x0 0x0 0x0
engine: 1
operand: 1
address: 0x7000
cycle: 1234
[job]
program_va: 0x1000
[registers]
0x0000: 0x4e50554f
[contexts]
client=7 context=2 queue=-1 state=2 priority=1 submitted=9 fed=8 completed=5 tail=9 page_seqno=5 page_error=11 dead=1
[clients]
client=3 pid=10 uid=0 asid=1 slot=0 memory=0 name=somebody else
client=7 pid=4711 uid=1000 asid=2 slot=1 memory=4096 name=webnn run=1
[future]
something=1
[log]
| [end] of nothing
| bell\aring
[program]
16: END_0
17: 0xffffffff 0xffffffff 0xffffffff 0xffffffff
nonsense
[end]
"""

    def setUp(self):
        super().setUp()
        self.text = self.TEXT.replace("END_0", " ".join(f"{w:#010x}" for w in self.assemble("end 0")))

    @staticmethod
    def assemble(line):
        """Returns the four words of the instruction in a line, as the assembler makes them."""
        done = subprocess.run([ISA, "asm", "-", "-o", "-"], input=line.encode(), stdout=subprocess.PIPE, check=True)
        return struct.unpack("<4I", done.stdout)

    def dump(self, text, *words, status=DONE):
        path = self.system.path("failure.txt")
        path.write_text(text, encoding="ascii")
        return self.run_it("dump", path, *words, status=status)

    def test_text(self):
        text = self.dump(self.text)
        for part in ("fault: a job has faulted", "2026-11-24 06:00:00 UTC", "webnn run=1, process 4711, client 7, context 2",
                     "Bad address", "Fault MMU_PERM: the access is not permitted", "DMA engine LD", "operand    s0",
                     "0x7000", "1234 of the job", "| bell?ring", "program_va: 0x1000"):
            self.assertIn(part, text)
        self.assertRegex(text, r"(?m)^ +16  end 0$")
        self.assertRegex(text, r"(?m)^> +17  \.word 0xffffffff")
        self.assertRegex(text, r"(?m)^  7 +2 +-1 +fault +9 +8 +5$")
        self.assertNotIn("cut off", text)

    def test_json(self):
        result = json.loads(self.dump(self.text, "--json"))
        self.assertEqual((result["kind"], result["whole"]), ("fault", True))
        self.assertEqual(result["fault"], {"name": "MMU_PERM", "text": "the access is not permitted", "pc": 17, "queue": 3,
                                           "seqno": 5, "address": 0x7000, "cycle": 1234, "engine": "DMA engine LD",
                                           "operand": "s0"})
        self.assertEqual([p["index"] for p in result["program"]], [16, 17])
        self.assertEqual(result["sections"]["future"], ["something=1"])

    def test_lists_too_long(self):
        text = self.dump(self.text.replace("[clients]\n", "left_out=123\n[clients]\n"))
        self.assertIn("  and 123 more\n", text)
        self.assertEqual(text.count("\n  7  "), self.dump(self.text).count("\n  7  "))
        self.assertNotIn("\n  0       0  ", text)

    def test_damaged(self):
        """Tests that a dump can be read however much of it is missing."""
        for size in range(len("onpu core dump, format 1\n"), len(self.text) - len("[end]\n"), 7):
            result = json.loads(self.dump(self.text[:size], "--json"))
            self.assertFalse(result["whole"])
        self.assertIn("cut off", self.dump(self.text[:300]))
        self.assertIn("did not answer", self.dump(self.text.replace("0x4e50554f", "0xffffffff")))
        self.assertIn("bus was cut off", self.dump(self.text.replace("0x0000: 0x4e50554f\n", "")))
        self.assertIn("unknown", self.dump(self.text.replace("code: 11", "code: 99")))

    def test_refused(self):
        self.assertIn("no core dump of an Open NPU", self.dump("i915 dump\n", status=FAILED))
        self.assertIn("take a newer one", self.dump(self.text.replace("format 1", "format 2"), status=FAILED))
        self.assertIn("it is empty", self.dump("", status=FAILED))
        self.assertIn("No such file", self.run_it("dump", "nothing.txt", status=FAILED))
        self.run_it("dump", "a", "b", status=USAGE)
        self.run_it("dump", "a", "--drop", status=USAGE)

    def test_kernel(self):
        self.assertIn("the kernel has no core dump", self.run_it("dump", status=WRONG))
        self.system.write("sys/class/devcoredump/devcd1/data", "of a GPU")
        self.system.link("sys/class/devcoredump/devcd1/failing_device", "../../../0000:09:00.0")
        self.assertIn("the kernel has no core dump", self.run_it("dump", status=WRONG))
        self.system.write("sys/class/devcoredump/devcd2/data", self.text)
        self.system.link("sys/class/devcoredump/devcd2/failing_device", f"../../../{system.ADDRESS}")
        self.assertIn("Fault MMU_PERM", self.run_it("dump"))
        self.assertEqual(self.system.path("sys/class/devcoredump/devcd2/data").read_text("ascii"), self.text)
        self.run_it("dump", "--drop")
        self.assertEqual(self.system.path("sys/class/devcoredump/devcd2/data").read_text("ascii"), "1")


class Trace(Case):
    DEVICE = f"dev={system.ADDRESS}"
    HEAD = "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
    LINES = [
        f"       webnn-run-4713    ( 4711) [001] d..1.    10.000100: onpu_submit: {DEVICE} client=3 ctx=1 queue=-1 seqno=4 count=4 error=0",
        f"     kworker/0:1-9       (-------) [000] ...2.    10.000200: onpu_feed: {DEVICE} client=3 ctx=1 queue=2 seqno=4 count=4 error=0",
        f"  a [x] 1.5: on\a-77      [000] d.h1.    11.000000: onpu_submit: {DEVICE} client=5 ctx=2 queue=7 seqno=9 count=1 error=0",
        f"          <idle>-0       (-------) [000] d.h2.    11.500100: onpu_complete: {DEVICE} client=3 ctx=1 queue=2 seqno=4 count=4 error=0",
        "CPU:1 [LOST 12 EVENTS]",
        f"          <idle>-0       [000]    11.600000: onpu_fault: {DEVICE} client=5 ctx=2 queue=7 seqno=9 code=11 pc=17 address=0x7000",
        f"          <idle>-0       [000] d.h2.    11.600001: onpu_complete: {DEVICE} client=5 ctx=2 queue=7 seqno=9 count=1 error=-14",
        f"          <idle>-0       [000] d.h2.    11.700000: onpu_complete: {DEVICE} client=8 ctx=1 queue=0 seqno=3 count=1 error=-125",
        f'            bash-99      [000] .....    12.000000: onpu_reset: {DEVICE} what="the firmware does not answer" error=0',
        f'            bash-99      [000] .....    12.100000: onpu_reset: {DEVICE} what="end" error=-5',
        f'            bash-99      [000] .....    12.200000: onpu_reset: {DEVICE} what="end" error=0',
        f'            bash-99      [000] .....    13.000000: onpu_power: {DEVICE} what="suspend" error=0',
        f'            bash-99      [000] .....    13.100000: onpu_power: {DEVICE} what="resume" error=0',
        f'            bash-99      [000] .....    13.200000: onpu_power: {DEVICE} what="resume" error=-5',
    ]
    WORDS = [
        "[   10.000100] webnn-run 4711, client 3: jobs 1 to 4 submitted to context 1",
        "[   10.000200] webnn-run 4711, client 3: jobs 1 to 4 of context 1 go to queue 2",
        "[   11.000000] a [x] 1.5: on? 77, client 5: job 9 submitted to context 2",
        "[   11.500100] webnn-run 4711, client 3: jobs 1 to 4 of context 1 end after 1500000 us",
        "               12 events were lost: there were more than could be read",
        "[   11.600000] a [x] 1.5: on? 77, client 5: job 9 of context 2 faults at instruction 17: "
        "MMU_PERM, the access is not permitted: 0x7000",
        "[   11.600001] a [x] 1.5: on? 77, client 5: job 9 of context 2 ends after 600001 us with an error: Bad address",
        "[   11.700000] client 8: job 3 of context 1 ends with an error: Operation canceled",
        "[   12.000000] the device is reset: the firmware does not answer",
        "[   12.100000] the device does not start: Input/output error",
        "[   12.200000] the device works",
        "[   13.000000] the device goes to sleep",
        "[   13.100000] the device wakes up",
        "[   13.200000] the device does not wake up: Input/output error",
    ]

    def trace(self, lines, *words, status=DONE):
        path = self.system.path("trace.txt")
        path.write_text(self.HEAD + "\n".join(lines) + "\n", encoding="latin-1")
        return self.run_it("trace", path, *words, status=status)

    def test_text(self):
        self.system.write("sys/kernel/tracing/trace", self.HEAD + "\n".join(self.LINES) + "\n")
        self.assertEqual(self.run_it("trace").splitlines(), self.WORDS)
        # The trace in a file may name any device.
        words = [line[:15] + f"{system.ADDRESS}: " + line[15:] if line[0] == "[" else line for line in self.WORDS]
        self.assertEqual(self.trace(self.LINES).splitlines(), words)
        self.assertEqual(self.trace(self.LINES, "-n", "2").splitlines(), words[:2])

    def test_json(self):
        result = json.loads(self.trace(self.LINES, "--json"))
        self.assertEqual(result["lost"], 12)
        events = result["events"]
        self.assertEqual(events[0], {"event": "submit", "us": 10000100, "address": system.ADDRESS, "error": 0, "client": 3,
                                     "context": 1, "seqno": 4, "count": 4, "queue": -1, "pid": 4711, "command": "webnn-run"})
        self.assertEqual((events[3]["after_us"], events[4]), (1500000, {"event": "lost", "count": 12}))
        self.assertEqual([events[5][name] for name in ("fault", "pc", "fault_address")], ["MMU_PERM", 17, 0x7000])
        self.assertEqual((events[6]["error"], "after_us" in events[7], "pid" in events[7]), (14, False, False))
        self.assertEqual((events[9]["what"], events[9]["error"]), ("end", 5))

    # The events of one job. onpu-smi converts a cycle of the device to a time between those of the
    # two readings of its clock around it.
    ON_DEVICE = [
        LINES[0],
        LINES[1],
        f"          <idle>-0       [000] d.h2.    10.000200: onpu_clock: {DEVICE} cycle=5000",
        f"          <idle>-0       [000] d.h2.    10.002100: onpu_firmware: {DEVICE} what=\"[0x1964] says \"x\", 0x2  \" error=0",
        f"          <idle>-0       [000] d.h2.    10.002150: onpu_ran: {DEVICE} client=3 ctx=1 queue=2 seqno=4 cycles=2000 end=8000 busy={{0x64,0x3e8,0x0,0x7d0,0x0}}",
        f"          <idle>-0       [000] d.h2.    10.002200: onpu_clock: {DEVICE} cycle=9000",
        f"          <idle>-0       (-------) [000] d.h2.    10.002300: onpu_complete: {DEVICE} client=3 ctx=1 queue=2 seqno=4 count=4 error=0",
        f"          <idle>-0       [000] d.h2.    10.002400: onpu_firmware: {DEVICE} what=\"no time\" error=0",
        f"          <idle>-0       [000] d.h2.    10.002500: onpu_clock: {DEVICE} cycle=18446744073709551615",
    ]

    def test_on_device(self):
        text = self.trace(self.ON_DEVICE)
        self.assertIn(': the firmware says: says "x", 0x2\n', text)
        self.assertIn(": webnn-run 4711, client 3: job 4 of context 1 took 2000 cycles: control 5 %, load 50 %, store 0 %, "
                      "matrix 100 %, vector 0 %\n", text)
        self.assertEqual(len(text.splitlines()), 6)
        events = json.loads(self.trace(self.ON_DEVICE, "--json"))["events"]
        self.assertEqual([e.get("cycle") for e in events if e["event"] in ("clock", "firmware")], [5000, 0x1964, 9000, None, None])
        ran = next(e for e in events if e["event"] == "ran")
        self.assertEqual((ran["cycles"], ran["end_cycle"], ran["busy"]),
                         (2000, 8000, {"control": 100, "load": 1000, "store": 0, "matrix": 2000, "vector": 0}))

    def chrome(self, lines):
        self.trace(lines, "--chrome", self.system.path("t.json"))
        events = json.loads(self.system.path("t.json").read_text())["traceEvents"]
        threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        for e in events:
            if e["ph"] != "M":
                self.assertIn((e["pid"], e["tid"]), threads)
        return [(threads[e["pid"], e["tid"]], e) for e in events if e["ph"] != "M"]

    def test_chrome(self):
        events = self.chrome(self.ON_DEVICE)
        lanes = {lane: e for lane, e in events if e["ph"] == "X"}
        self.assertEqual({lane: (e["name"], e["ts"], e["dur"]) for lane, e in lanes.items()}, {
            "jobs": ("job 4", 10000700, 1000), "control": ("job 4: 5 %", 10000700, 1000),
            "load": ("job 4: 50 %", 10000700, 1000), "matrix": ("job 4: 100 %", 10000700, 1000)})
        self.assertEqual((lanes["jobs"]["args"]["end_cycle"], lanes["matrix"]["args"]["busy_cycles"]), (8000, 2000))
        self.assertEqual([(e["name"], e["ts"]) for lane, e in events if lane == "log"],
                         [('says "x", 0x2', 10000950), ("no time", 10002400)])
        context = "webnn-run 4711, client 3, context 1"
        self.assertEqual([(e["ph"], e["name"], e["ts"]) for lane, e in events if lane == context], [
            ("i", "submit", 10000100), ("i", "feed", 10000200), ("i", "complete", 10002300),
            ("b", "jobs 1 to 4", 10000100), ("e", "jobs 1 to 4", 10002300)])

    def test_chrome_of_others(self):
        """Tests that each line of the trace with known words becomes an event. Without a reading of
        the clock, a device's event is at the time when the driver knew of it.
        """
        events = self.chrome(self.LINES)
        self.assertEqual([e["ts"] for _, e in events if e["ph"] == "i"],
                         [10000100, 10000200, 11000000, 11500100, 11500100, 11600000, 11600001, 11700000, 12000000,
                          12100000, 12200000, 13000000, 13100000, 13200000])
        self.assertEqual([e["name"] for lane, e in events if lane == "device"][:3],
                         ["12 events were lost", "reset: the firmware does not answer", "reset: end"])
        ran = [e for _, e in self.chrome([self.ON_DEVICE[0], self.ON_DEVICE[4]]) if e["ph"] == "X"]
        self.assertEqual([(e["ts"], e["dur"]) for e in ran[:1]], [(10000100, 2050)])
        # The device lost its power: its clock begins anew, and earlier readings tell nothing.
        lines = [self.ON_DEVICE[i] for i in (0, 2, 5, 1)]
        lines += [line.replace("10.00", "10.10") for line in self.ON_DEVICE[2:6]]
        lines = [line.replace("10.102", "10.104").replace("cycle=9000", "cycle=8000") for line in lines]
        ran = [e for lane, e in self.chrome(lines) if lane == "jobs"]
        self.assertEqual([(round(e["ts"]), round(e["ts"] + e["dur"])) for e in ran], [(10101533, 10104150)])

    def test_interrupted(self):
        """Tests that an interrupted job begins on its lane only when the job that interrupted it
        has ended.
        """
        other = [line.replace("seqno=4", "seqno=5").replace("end=8000", "end=8500").replace("cycles=2000", "cycles=3000")
                 for line in self.ON_DEVICE]
        lanes = [e for lane, e in self.chrome(self.ON_DEVICE[:5] + [other[4]] + self.ON_DEVICE[5:]) if lane == "jobs"]
        self.assertEqual([(e["name"], e["ts"], e["ts"] + e["dur"]) for e in lanes],
                         [("job 4", 10000700, 10001700), ("job 5", 10001700, 10001950)])

    def test_device(self):
        self.system.device("0000:02:00.0", "accel1")
        lines = [self.LINES[0], self.LINES[0].replace(system.ADDRESS, "0000:02:00.0")]
        self.assertEqual([e["address"] for e in json.loads(self.trace(lines, "--json", "-d", "02:00.0"))["events"]],
                         ["0000:02:00.0"])
        # Both devices have a client 3, and the other device's client does not count.
        lines[1] = lines[1].replace("onpu_submit", "onpu_complete")
        self.assertIn("0000:02:00.0: client 3: jobs 1 to 4 of context 1 end\n", self.trace(lines))

    def test_other_lines(self):
        """Tests that a damaged line, or one that is no event of the driver, does no harm."""
        line = self.LINES[5]
        self.assertEqual(self.trace([line.replace("onpu_fault", "sched_switch"), line.replace("onpu_fault", "onpu_faults"),
                                     line.replace("dev=", "device="), "", "CPU:0 buffer started"]), "")
        for size in range(len(line)):
            self.trace([line[:size]])
        for size in range(len(self.ON_DEVICE[4])):
            self.trace([self.ON_DEVICE[4][:size], self.ON_DEVICE[3][:size]])
        for old in ("seqno=9", "code=11", "pc=17", "ctx=2", "queue=7"):
            for value in ("99999999999999999999999", "-1", "18446744073709551615", ""):
                self.trace([line.replace(old, old.split("=")[0] + "=" + value)])
        self.trace([self.LINES[0].replace("count=4", "count=0"), self.LINES[6].replace("-14", "-2147483648")])

    def test_many(self):
        """Tests that jobs whose end was lost are forgotten after many others, and that recent jobs
        are not.
        """
        lines = [self.LINES[0].replace("seqno=4", f"seqno={i}").replace("ctx=1", f"ctx={i}") for i in range(1, 6001)]
        end = self.LINES[3].replace("seqno=4", "seqno=%d").replace("ctx=1", "ctx=%d")
        events = json.loads(self.trace([*lines, end % (1, 1), end % (6000, 6000)], "--json"))["events"]
        self.assertEqual(["after_us" in event for event in events[-2:]], [False, True])

    def test_refused(self):
        self.assertIn("sudo mount -t tracefs", self.run_it("trace", status=FAILED))
        self.assertIn("No such file", self.run_it("trace", "nothing.txt", status=FAILED))
        self.run_it("trace", "a", "b", status=USAGE)
        self.run_it("trace", "-n", "0", status=USAGE)
        self.trace(self.LINES, "--chrome", self.system.path("none/t.json"), status=FAILED)


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def options_of(command):
    found = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", help_of(command), re.MULTILINE))
    return found - {"--help", "--usage"}


class Documents(unittest.TestCase):
    commands = re.findall(r"^  ([a-z]+) +\S", help_of(), re.MULTILINE)

    def complete(self, *words):
        script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _onpu_smi;'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", FOLDER / "onpu-smi.bash", PROGRAM, *words],
                              stdout=subprocess.PIPE, text=True, check=True)
        return set(done.stdout.split())

    def test_commands(self):
        self.assertLessEqual({"info", "top", "check", "reset", "fwlog", "dump", "trace"}, set(self.commands))
        for command in self.commands:
            self.assertLessEqual({"--device", "--json", "--root"}, options_of(command))
        wrong = subprocess.run([PROGRAM, "informations"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(wrong.returncode, USAGE)
        self.assertIn("there is no command 'informations'", wrong.stderr)

    def test_man_page(self):
        page = re.sub(r"\\f.", "", (FOLDER / "onpu-smi.1").read_text("utf-8").replace("\\-", "-"))
        for command in self.commands:
            self.assertIn(f".TP\n.B {command}\n", page)
        told = set(re.findall(r"^\.BR? (?:-\w \", \" )?(--[a-z-]+)", page, re.MULTILINE))
        self.assertEqual(told, set().union(*map(options_of, self.commands)))

    def test_completion(self):
        self.assertEqual(self.complete(""), {*self.commands, "--help", "--version"})
        for command in self.commands:
            self.assertEqual(self.complete(command, "--"), options_of(command) | {"--help", "--usage"})
        self.assertEqual(self.complete("fwlog", "--level", ""), set("0123"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
