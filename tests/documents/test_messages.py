#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that Documentation/messages.txt has every message of the sources, and no others."""
import pathlib
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "Documentation"))
import messages_rst  # noqa: E402


class Messages(unittest.TestCase):
    def test_all_have_a_cause(self):
        wrong = messages_rst.check(messages_rst.read_causes())
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_there_are_messages(self):
        """Tests that each section has messages, among them those that the test names."""
        sections = messages_rst.read_causes()
        met = {id(s): 0 for s in sections}
        everything = set()
        for section, _, found in messages_rst.collect(sections):
            met[id(section)] += len(found)
            everything |= set(found)
        for section in sections:
            self.assertGreater(met[id(section)], 0, section.title)
        self.assertLessEqual({
            "no node of the driver onpu is in /dev/accel, so there is no NPU to use; onpu-smi check tells why",
            "filter has … input channels per group, expected … (input has … channels, groups …)",
            "the device is wedged: it runs no jobs until onpu-smi reset, or binding the driver anew, revives it",
            "there is no device \"…\", which is asked for by …; allowed are npu, npu:NUMBER, sim and cpu, "
            "with a NUMBER from 0 to 9999 and no zeros in front",
            # Those of a plugin with a macro in front, of Python with an expression in between, and of JavaScript.
            "OnpuExecutionProvider: memory is exhausted",
            "…: weight … has several matches in …",
            "The input '…' has the shape […]: setDimension() or setShape() says how large it is."}, everything)

    def test_what_is_missing_is_noticed(self):
        sections = messages_rst.read_causes()
        listed = next(s for s in sections if s.title == "Choosing a device")
        del listed.causes["too little memory is free for the list of the devices: end other programs"]
        listed.causes["a message that is not there"] = "cause"
        wrong = messages_rst.check(sections)
        self.assertEqual(len(wrong), 2)
        self.assertIn("too little memory is free for the list of the devices: end other programs", wrong[0])
        self.assertIn("a message that is not there", wrong[1])
        sections[:] = [s for s in sections if "driver" not in s.sources[0]]
        self.assertTrue(any("belongs to no section" in w for w in messages_rst.check(sections)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
