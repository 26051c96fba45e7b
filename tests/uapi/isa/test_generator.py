#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the generator refuses specifications that contradict themselves, and says where they
do.
"""

import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
UAPI = os.path.join(TOP, 'uapi', 'onpu')
sys.path.insert(0, UAPI)

from generator.common import SpecError  # noqa: E402
from generator.isa_model import Isa  # noqa: E402
from generator import machines_c  # noqa: E402
from generator.machines_model import Machines  # noqa: E402
from generator.regs_model import Registers  # noqa: E402
from generator.silicon import Silicon  # noqa: E402


def read(name):
    with open(os.path.join(UAPI, name), encoding='utf-8') as file:
        return file.read()


class SpecCase(unittest.TestCase):
    """Has load(), which reads a specification in which one text was replaced."""

    def load(self, reader, name, old, new):
        text = read(name)
        self.assertIn(old, text, 'the text to replace is not there any more')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text.replace(old, new, 1))
            return reader(path)

    def refused(self, reader, name, old, new, *words):
        with self.assertRaises(SpecError) as caught:
            self.load(reader, name, old, new)
        for word in words:
            self.assertIn(word, str(caught.exception))


class IsaTest(SpecCase):
    def refuse(self, old, new, *words):
        self.refused(Isa, 'isa.xml', old, new, *words)

    def test_accepts_the_real_one(self):
        isa = Isa(os.path.join(UAPI, 'isa.xml'))
        self.assertEqual(len(isa.leaves), 91)
        for leaf in isa.leaves:
            self.assertTrue(leaf.doc, leaf.name)
            self.assertTrue(leaf.pseudo, leaf.name)

    def test_every_block_is_used(self):
        text = read('isa.xml')
        for name, _ in Isa(os.path.join(UAPI, 'isa.xml')).blocks:
            if name not in ('#notation', '#program'):
                self.assertGreater(text.count(name), 1, name)

    def test_not_xml(self):
        self.refuse('</isa>', '', 'isa.xml')

    def test_overlapping_leaves(self):
        leaf = '<bitset name="vsub" extends="#instruction">'
        text = read('isa.xml')
        sub = text.index('00000001</pattern>', text.index(leaf))
        block = text[text.index(leaf):sub]
        self.refuse(block + '00000001', block + '00000000', 'vadd', 'vsub', 'overlap')

    def test_undefined_bits(self):
        self.refuse('\t<pattern low="5" high="95">', '\t<pattern low="6" high="95">',
                    'barrier', '90')
        text = read('isa.xml')
        line = next(s for s in text.split('\n') if '<pattern low="5" high="95">' in s)
        self.refuse(line + '\n', '', 'barrier', 'undefined', '5, 6')

    def test_bit_used_twice(self):
        self.refuse('<field name="COUNT" low="16"', '<field name="COUNT" low="10"', 'sem.wait',
                    'bit 10', 'ENG')

    def test_field_not_shown(self):
        self.refuse('{ENG}, s{SEM}, {COUNT}', '{ENG}, s{SEM}', 'sem.wait', 'COUNT')

    def test_field_without_map(self):
        self.refuse('<map name="AXES">', '<map name="AXLES">', 'AXES', '<map>')

    def test_map_syntax(self):
        self.refuse('src-&gt;axes<', 'src-&gt;axes + 1<', 'AXES', 'src->axes + 1')

    def test_unknown_enum(self):
        self.refuse('type="#eng"', 'type="#engine"', 'ENG', '#engine')

    def test_enum_value_twice(self):
        self.refuse('<value val="4" display="vpu"/>', '<value val="3" display="vpu"/>', '#eng',
                    '3 is defined twice')

    def test_enum_value_too_large(self):
        self.refuse('<value val="4" display="vpu"/>', '<value val="8" display="vpu"/>', 'ENG', '8')

    def test_meta(self):
        self.refuse('engine="mxu"', 'engine="gpu"', 'mma.i8', 'gpu')
        self.refuse('cost="mma"', 'cost="free"', 'mma.i8', 'free')
        self.refuse('s0="q8"', 's0="q9"', 'mma.i8', 'q9')
        self.refuse('param="taps?"', 'param="tap"', 'mma.i8', 'tap')
        self.refuse('factor="1"', 'factor="x"', 'nop', "'x'")
        self.refuse('engine="mxu"', 'engine="mxu" speed="9"', 'mma.i8', 'speed')
        self.refuse(' s2="i32?"', '', 'mma.i8', 's2')

    def test_constants(self):
        self.refuse('name="ONPU_MAX_COST" value="0x100000"', 'name="ONPU_MAX_COST" value="2^20"',
                    'constant ONPU_MAX_COST', '2^20')
        self.refuse('<constant name="ONPU_MAX_COST"', '<constant name="ONPU_CYCLES_MMA"',
                    'constant ONPU_CYCLES_MMA', 'twice')
        self.refuse('<constant name="ONPU_MAX_COST"', '<constant name="MAX_COST"',
                    'constant MAX_COST', 'ONPU_')
        self.refuse('<doc>the most cycles that one instruction may cost</doc>', '', 'ONPU_MAX_COST',
                    '<doc>')

    def test_factor_of_dma(self):
        self.refuse('cost="gather" factor="64"', 'cost="gather" factor="32"', 'dma.gather',
                    'factor 32', 'ONPU_CYCLES_DMA')
        self.refuse('<constant name="ONPU_CYCLES_DMA"', '<constant name="ONPU_CYCLES_DAM"',
                    'dma.copy', 'ONPU_CYCLES_DMA')

    def test_reference_without_block(self):
        self.refuse('#elementwise with', '#pointwise with', 'vmov', '#pointwise')

    def test_bool_width(self):
        self.refuse('<field name="CH" pos="15" type="bool"', '<field name="CH" low="14" high="15" '
                    'type="bool"', 'dma.copy', 'CH')

    def test_leaf_of_another_root(self):
        self.refuse('<bitset name="nop" extends="#instruction">',
                    '<bitset name="nop" extends="#x">', 'nop', '#instruction')


class RegistersTest(SpecCase):
    def refuse(self, old, new, *words):
        self.refused(Registers, 'registers.xml', old, new, *words)

    def test_accepts_the_real_one(self):
        registers = Registers(os.path.join(UAPI, 'registers.xml'))
        sizes = {d.struct: d.size for d in registers.domains if d.struct}
        for name, size in sizes.items():
            if name.startswith('onpu_slot'):
                self.assertEqual(size, 128, name)
        for name in ('onpu_fault_record', 'onpu_ring_job', 'onpu_fw_header'):
            self.assertEqual(sizes[name], 64)

    def test_constants_agree(self):
        """Tests that a constant has the value of the register or structure that contains the same
        number.
        """
        registers = Registers(os.path.join(UAPI, 'registers.xml'))
        value = {v.name: v.value for enum in registers.enums for v in enum.values}
        domains = {d.name: d for d in registers.domains}
        address = next(i for i in domains['ONPU'].items if i.name == 'CAP_ADDRESS')
        self.assertEqual(address.reset, value['ONPU_BUS_BITS'] << 8 | value['ONPU_VA_BITS'])
        self.assertEqual(value['ONPU_PAGE_SIZE'], 1 << value['ONPU_PAGE_SHIFT'])
        self.assertEqual(value['ONPU_LARGE_PAGE_SIZE'], 1 << value['ONPU_LARGE_PAGE_SHIFT'])
        self.assertEqual(value['ONPU_PTE_SIZE'] << value['ONPU_PTE_INDEX_BITS'],
                         value['ONPU_PAGE_SIZE'])
        self.assertEqual(value['ONPU_PTE_PPN_BITS'] + value['ONPU_PAGE_SHIFT'],
                         value['ONPU_BUS_BITS'])
        core = {i.name: i for i in domains['ONPU_CORE'].items}
        self.assertEqual(core['RUN_QUEUE'].reset, value['ONPU_NO_QUEUE'])
        isa = Isa(os.path.join(UAPI, 'isa.xml'))
        self.assertEqual(core['SWITCH_LIMIT'].reset,
                         2 * isa.constants['ONPU_PREEMPT_CYCLES'].value)

    def test_same_offset(self):
        self.refuse('offset="0x0044" name="CAP_ISA"', 'offset="0x0040" name="CAP_ISA"',
                    'CAP_MACHINE', 'CAP_ISA', '0x40')

    def test_array_over_register(self):
        self.refuse('<array offset="0x1000" name="QUEUE"', '<array offset="0x2000" name="QUEUE"',
                    'QUEUE[0].RETIRED_LO', 'REQUEST_BASE_LO')

    def test_same_name(self):
        self.refuse('name="CAP_ISA"', 'name="CAP_MACHINE"', 'CAP_MACHINE', 'twice')

    def test_overlapping_fields(self):
        self.refuse('<bitfield name="ERROR" low="8"', '<bitfield name="ERROR" low="3"', 'STATUS',
                    'ERROR', 'bit 3', 'STATE')

    def test_field_outside_word(self):
        self.refuse('<bitfield name="ALL" pos="31"', '<bitfield name="ALL" pos="32"', 'ALL', '32')

    def test_unaligned(self):
        self.refuse('offset="0x0044" name="CAP_ISA"', 'offset="0x0046" name="CAP_ISA"', 'CAP_ISA',
                    '0x46')

    def test_beyond_size(self):
        self.refuse('size="0x80000"', 'size="0x40000"', 'DOORBELL[48]')

    def test_beyond_stride(self):
        self.refuse('name="QUEUE" stride="0x20"', 'name="QUEUE" stride="0x10"', 'HEAD', 'stride')

    def test_access(self):
        self.refuse('access="w1c"', 'access="rc"', "'rc'", 'w1c')

    def test_enum(self):
        self.refuse('"ONPU_ENG_ST" value="2"', '"ONPU_ENG_ST" value="1"', 'onpu_engine',
                    'ONPU_ENG_LD')
        self.refuse('"ONPU_DT_I8"', '"ONPU_ENG_CP"', 'onpu_dtype', 'onpu_engine')
        self.refuse('"ONPU_DT_I8" value="0"', '"ONPU_DT_I8" value="zero"', 'ONPU_DT_I8', 'zero')

    def test_unknown_element(self):
        self.refuse('<reg32 offset="0x0000" name="ID"', '<reg64 offset="0x0000" name="ID"/><reg32 '
                    'offset="0x0008" name="ID2"', 'reg64')


class MachinesTest(SpecCase):
    @staticmethod
    def reader(path):
        return Machines(path, Registers(os.path.join(UAPI, 'registers.xml')),
                        Isa(os.path.join(UAPI, 'isa.xml')))

    def refuse(self, old, new, *words):
        self.refused(self.reader, 'machines.xml', old, new, *words)

    def test_the_default_gives_the_reset_values(self):
        registers = Registers(os.path.join(UAPI, 'registers.xml'))
        machines = Machines(os.path.join(UAPI, 'machines.xml'), registers,
                            Isa(os.path.join(UAPI, 'isa.xml')))
        caps = {i.name: i.reset for d in registers.domains if d.name == 'ONPU' for i in d.items
                if i.name.startswith('CAP_')}
        self.assertEqual(machines.default.name, 'onpu-ref2')
        self.assertEqual((caps['CAP_MACHINE'], caps['CAP_LANES'], caps['CAP_SRAM_BYTES']),
                         (2, 256, 4 << 20))
        self.assertEqual(caps['CAP_SAVE_BYTES'], (4 << 20) + 8192)

    def test_names(self):
        self.refuse('name="onpu-ref1"', 'name="Onpu ref1"', 'Onpu ref1', 'a-z')
        self.refuse('id="ONPU_MACHINE_REF1"', 'id="ONPU_MACHINE_REF0"', 'REF0', 'REF1')
        self.refuse(' default="yes"', '', '0 machines have default')

    def test_values(self):
        lanes = '<cap name="LANES" value="128"/>'
        self.refuse(lanes, lanes + lanes, 'onpu-ref1', 'LANES twice')
        self.refuse('name="FEATURES" MXU_FORMS="0" PACKING="0" WEIGHTS="0" FACTORS="0"', 'name="FEATURES" value="0"', 'FEATURES',
                    'takes MXU_FORMS, PACKING, WEIGHTS, FACTORS')
        self.refuse('MXU_FORMS="2"', 'MXU_FORMS="16"', 'onpu-ref2', '16 does not fit in MXU_FORMS')
        self.refuse('name="onpu-ref2"', 'name="onpu-ref1"', 'same name')
        self.refuse(lanes, '<cap name="LANES" value="many"/>', 'LANES', "'many'")
        self.refuse(lanes, '<cap name="LANES" value="0x100000000"/>', 'LANES', '32 bits')
        self.refuse(lanes, '<cap name="LANES"/>', 'LANES', 'no value', 'takes value')
        self.refuse(lanes, lanes.replace('LANES', 'LINES'), 'CAP_LINES')
        text = read('machines.xml')
        for new, words in (('<cap name="LINES" value="128"/>', ('CAP_LINES',)),
                           ('<cap name="NUM_VMS" value="64"/>', ('CAP_NUM_VMS', 'no reset'))):
            with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
                file.write(text.replace(lanes, new))
                file.flush()
                with self.assertRaises(SpecError) as caught:
                    self.reader(file.name)
            for word in words:
                self.assertIn(word, str(caught.exception))

    def test_features(self):
        with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
            file.write(read('isa.xml').replace('feature="WEIGHTS"', 'feature="WEIGHT"'))
            file.flush()
            with self.assertRaises(SpecError) as caught:
                Machines(os.path.join(UAPI, 'machines.xml'), Registers(os.path.join(UAPI, 'registers.xml')),
                         Isa(file.name))
        self.assertIn('mma.w: feature WEIGHT is none of CAP_FEATURES: FACTORS', str(caught.exception))

    def test_factors(self):
        with_factors = 'FACTORS="2"/>\n<factor name="vexp" value="1"/><factor name="mma.f16" value="3"/>'
        self.refuse('FACTORS="2"', 'FACTORS="7"', 'onpu-ref2', 'FACTORS 7 names no machine; allowed are 0, 1, 2, 3')
        self.refuse('FACTORS="2"/>', with_factors.replace('"2"', '"0"', 1),
                    'FACTORS must be its own number, 2, and not 0')
        self.refuse('FACTORS="2"/>', with_factors.replace('mma.f16', 'vexp'), 'factor of vexp twice')
        for name in 'vexpo', 'dma.copy', 'nop':
            self.refuse('FACTORS="2"/>', with_factors.replace('vexp', name), f'{name} is no instruction of a class')
        self.refuse('FACTORS="2"/>', with_factors.replace('"3"', '"256"'), 'mma.f16: 256 is not in 1..255')
        isa, registers = Isa(os.path.join(UAPI, 'isa.xml')), Registers(os.path.join(UAPI, 'registers.xml'))
        with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
            file.write(read('machines.xml').replace('FACTORS="2"/>', with_factors))
            file.flush()
            machines = Machines(file.name, registers, isa)
        own, first, second, _ = machines_c.factors_table(machines, isa).split('\t{\n')[1:]
        for name, factor, changed in (('VEXP', 4, 1), ('MMA_F16', 2, 3), ('VLOG', 4, 4)):
            for row, value in ((own, factor), (first, factor), (second, changed)):
                self.assertIn(f'[ONPU_OP_{name}] = {value},', row)


class SiliconTest(SpecCase):
    """Tests silicon.xml, which has the units of the engines."""

    @staticmethod
    def reader(path):
        isa, registers = Isa(os.path.join(UAPI, 'isa.xml')), Registers(os.path.join(UAPI, 'registers.xml'))
        return Silicon(path, Machines(os.path.join(UAPI, 'machines.xml'), registers, isa), isa)

    def refuse(self, old, new, *words):
        self.refused(self.reader, 'silicon.xml', old, new, *words)

    def test_refusals(self):
        self.refuse('banks="128"', 'banks="80"', 'onpu-ref2 needs 81 lines', '80 banks')
        self.refuse('<work instruction="mma.i8" multiply="1" add="1"/>', '', 'no work for mma.i8')
        self.refuse('instruction="vexp"', 'instruction="vlog"', 'vlog', 'twice')
        self.refuse('instruction="vexp"', 'instruction="vexpo"', 'vexpo', 'no instruction')
        self.refuse('energy="200" area="282" source="horowitz"', 'energy="200" area="282" source="guess"', 'mul8',
                    'no source guess')

    def test_forms_and_lines(self):
        silicon = self.reader(os.path.join(UAPI, 'silicon.xml'))
        first, second, _ = silicon.machines
        self.assertEqual(silicon.forms(first), [(64, 64)])
        self.assertEqual([silicon.read_lines(form) for form in silicon.forms(second)], [5, 3, 2, 3, 5])
        self.assertEqual((silicon.lines(first), silicon.lines(second)), (46, 81))


class ProgramTest(unittest.TestCase):
    """Tests the command line of generate.py."""

    @staticmethod
    def run_generator(*arguments):
        command = [sys.executable, '-B', os.path.join(UAPI, 'generate.py'), *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)

    def test_check(self):
        self.assertEqual(self.run_generator('--check').returncode, 0)

    def test_error(self):
        with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
            file.write('<isa/>')
            file.flush()
            result = self.run_generator('--check', '--isa', file.name)
        self.assertEqual(result.returncode, 1)
        self.assertIn('there must be one root', result.stderr)

    def test_nothing_to_do(self):
        self.assertEqual(self.run_generator().returncode, 2)

    def test_same_twice_and_untouched(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_generator('--out', folder, '--rst', folder).returncode, 0)
            before = self.snapshot(folder)
            self.assertEqual(self.run_generator('--out', folder, '--rst', folder).returncode, 0)
            self.assertEqual(before, self.snapshot(folder))
            self.assertEqual({os.path.relpath(path, folder) for path in before},
                             {'onpu/isa.h', 'onpu/isa.c', 'onpu/slots.h', 'onpu/registers.h',
                              'onpu/machines.h', 'onpu/machines.c', 'onpu/silicon.h',
                              'instructions.rst', 'slots.rst', 'registers.rst', 'machines.rst',
                              'silicon.rst'})

    @staticmethod
    def snapshot(folder):
        files = {}
        for path, _, names in os.walk(folder):
            for name in names:
                full = os.path.join(path, name)
                with open(full, encoding='utf-8') as file:
                    files[full] = (os.stat(full).st_mtime_ns, file.read())
        return files


if __name__ == '__main__':
    unittest.main()
