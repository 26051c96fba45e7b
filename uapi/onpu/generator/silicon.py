# SPDX-License-Identifier: MIT
"""Reads silicon.xml; writes silicon.h, for device model and test, and the page silicon.rst."""

import xml.etree.ElementTree as ElementTree

from .common import SpecError, banner, comment, define, number
from .rst import HEAD, escape, table, title

KINDS = ('multiply', 'float', 'add', 'table')
CLASSES = ('mma', 'vector', 'reduce', 'scan', 'window')


class Counts:
    """Operations of each kind: those a unit does in a cycle, or an instruction needs in a step."""

    def __init__(self, element, where):
        for kind in KINDS:
            setattr(self, kind, number(element.get(kind, '0'), where))


class Operation:
    def __init__(self, element, sources):
        self.what = element.get('what')
        self.source = element.get('source')
        where = f'silicon.xml: operation {element.get("name")}'
        if self.source not in sources:
            raise SpecError(f'{where}: no source {self.source}; there are {", ".join(sources)}')
        try:
            self.energy, self.area = float(element.get('energy')), float(element.get('area'))
        except (TypeError, ValueError):
            raise SpecError(f'{where}: energy and area are numbers') from None


class Silicon:
    def __init__(self, path, machines, isa):
        try:
            root = ElementTree.parse(path).getroot()
        except ElementTree.ParseError as error:
            raise SpecError(f'{path}: {error}') from None
        self.machines = machines.all
        self.feature = machines.feature
        self.sources = {e.get('name'): e.get('text') for e in root.findall('source')}
        self.operations = {e.get('name'): Operation(e, self.sources) for e in root.findall('operation')}
        sram = root.find('sram')
        self.banks = number(sram.get('banks'), 'silicon.xml: sram banks')
        self.line = number(sram.get('line'), 'silicon.xml: sram line')
        self.units = {e.get('engine'): Counts(e, f'silicon.xml: unit {e.get("engine")}') for e in root.findall('unit')}
        self.per = {e.get('engine'): e.get('per') for e in root.findall('unit')}
        self.width = {e.get('engine'): number(e.get('width'), 'silicon.xml: width') for e in root.findall('unit')}
        self.classes, self.work = {}, {}
        for element in root.findall('work'):
            name = element.get('instruction') or element.get('class')
            table_of = self.work if element.get('instruction') else self.classes
            if name in table_of:
                raise SpecError(f'silicon.xml: the work of {name} is there twice')
            table_of[name] = Counts(element, f'silicon.xml: work of {name}')
        self.leaves = [leaf for leaf in isa.leaves if leaf.cost in CLASSES]
        unknown = sorted(set(self.work) - {leaf.name for leaf in self.leaves})
        if unknown:
            raise SpecError(f'silicon.xml: {", ".join(unknown)}: no instruction of the classes {", ".join(CLASSES)}')
        for leaf in self.leaves:
            if leaf.name not in self.work and leaf.cost not in self.classes:
                raise SpecError(f'silicon.xml: there is no work for {leaf.name}')
        for machine in self.machines:
            if self.lines(machine) > self.banks:
                raise SpecError(f'silicon.xml: {machine.name} needs {self.lines(machine)} lines in a cycle, '
                                f'but there are {self.banks} banks')

    def work_of(self, leaf):
        return self.work.get(leaf.name) or self.classes[leaf.cost]

    def forms(self, machine):
        """Returns rows and columns of each form of the array, see #forms."""
        rows, cols = machine.caps['MXU_ROWS'], machine.caps['MXU_COLS']
        forms = [(rows, cols)]
        for i in range(1, self.feature(machine, 'MXU_FORMS') + 1):
            if not cols % 2 ** i:
                forms.append((rows << i, cols >> i))
            if not rows % 2 ** i:
                forms.append((rows >> i, cols << i))
        return sorted(forms)

    def up(self, size):
        return -(-size // self.line)

    def read_lines(self, form):
        """Returns how many lines of SRAM a form reads for its rows and its columns in a cycle."""
        return self.up(form[0]) + self.up(form[1])

    def result_lines(self, machine):
        """Returns how many lines of SRAM the accumulators move in a cycle: a row of them."""
        cells = machine.caps['MXU_ROWS'] * machine.caps['MXU_COLS']
        return self.up(4 * cells // machine.caps['MXU_ROWS'])

    def mxu_lines(self, machine):
        return max(map(self.read_lines, self.forms(machine))) + 2 * self.result_lines(machine)

    def vpu_lines(self, machine):
        return 4 * self.up(4 * machine.caps['LANES'])

    def dma_lines(self, machine):
        return 2 * self.up(machine.caps['DMA_BYTES'])

    def lines(self, machine):
        return self.mxu_lines(machine) + self.vpu_lines(machine) + 2 * self.dma_lines(machine)

    # ---- Area and energy ----

    def area(self, name):
        return self.operations[name].area

    def energy(self, name):
        return self.operations[name].energy

    def cell_area(self):
        """Returns the area of a cell of the matrix array.

        It has a multiplier, an integer adder, a share of a float adder, and registers for two
        operands of 16 bits and two accumulators.
        """
        multiplier = self.area('mul8') * (self.width['mxu'] / 8) ** 2
        unit = self.units['mxu']
        return (multiplier + self.area('add32') + self.area('add32f') * unit.float / unit.multiply +
                (2 * 16 + 2 * 32) * self.area('flop'))

    def lane_area(self):
        """Returns the area of a lane of the vector unit: its multipliers and float adders.

        A multiplier of binary32 grows with the square of the width, an adder with the width.
        """
        wide = self.width['vpu'] / 24
        unit = self.units['vpu']
        return unit.multiply * self.area('mul32f') * wide ** 2 + unit.float * self.area('add32f') * wide

    def edge_area(self, machine):
        """Returns the area of the buffers in which values wait for their cycle at the array's edge.

        There are two lines for each row and column of the longest sides of all forms.
        """
        sides = sum(max(form[side] for form in self.forms(machine)) for side in (0, 1))
        return sides * 2 * 8 * self.line * self.area('flop')

    def link_area(self, machine):
        """Returns the area of the links between tiles of cells; 0 for an array of one form.

        Each byte that enters a tile comes from the neighbour that the form gives it, or from the
        edge: a multiplexer chooses.
        """
        forms = self.forms(machine)
        if len(forms) == 1:
            return 0
        side = min(min(form) for form in forms)
        cells = machine.caps['MXU_ROWS'] * machine.caps['MXU_COLS']
        choices = 1 + (len(forms) - 1)  # a row has one neighbour; a column's depends on the form
        return cells // side ** 2 * side * 8 * choices * self.area('mux')

    def byte_energy(self, memory):
        return self.energy(memory) / 8

    def size_of(self, name):
        return {'int8': 1, 'binary16': 2, 'binary32': 4}[name]

    def arithmetic_energy(self, name):
        """Returns the energy of one product and its addition, with the registers that its operands pass."""
        product = {'int8': self.energy('mul8') + self.energy('add32'),
                   'binary16': self.energy('mul16f') + self.energy('add32f'),
                   'binary32': self.energy('mul32f') + self.energy('add32f')}[name]
        return product + 2 * 8 * self.size_of(name) * self.energy('flop')

    def product_energy(self, form, name):
        """Returns the energy of one product in a block that fills the form, with its reads of SRAM."""
        read = (form[0] + form[1]) / (form[0] * form[1]) * self.size_of(name) * self.byte_energy('sram8')
        return self.arithmetic_energy(name) + read

    def step_energy(self, leaf):
        """Returns the energy of one step of an instruction's work, without SRAM but for tables.

        A lane's multiplier takes energy with the square of its width, an adder with its width.
        """
        if leaf.cost == 'mma':
            return self.arithmetic_energy({'mma.i8': 'int8', 'mma.f32': 'binary32'}.get(leaf.name, 'binary16'))
        work, wide = self.work_of(leaf), self.width['vpu'] / 24
        return (work.multiply * self.energy('mul32f') * wide ** 2 + work.float * self.energy('add32f') * wide +
                work.add * self.energy('add32') + work.table * self.byte_energy('sram8'))


def silicon_header(silicon):
    text = banner('silicon.xml', 'Units of the engines, and work and energy of the instructions.')
    text += '\n#ifndef ONPU_SILICON_H\n#define ONPU_SILICON_H\n\n#include "onpu/isa.h"\n\n'
    text += comment('Operations of each kind.')
    text += 'struct onpu_silicon_counts {\n\tunsigned int multiply, floats, adds, tables;\n};\n\n'
    text += define('ONPU_SILICON_LINE', silicon.line) + define('ONPU_SILICON_BANKS', silicon.banks)
    text += comment('Cells of the matrix array that have the units of onpu_silicon_mxu together.')
    text += define('ONPU_SILICON_CELLS', silicon.per['mxu'].split()[0])

    def counts(what):
        return '{ ' + ', '.join(str(getattr(what, kind)) for kind in KINDS) + ' }'

    for engine in ('mxu', 'vpu'):
        text += f'\nstatic const struct onpu_silicon_counts onpu_silicon_{engine} = {counts(silicon.units[engine])};\n'
    text += '\nstatic const struct onpu_silicon_counts onpu_silicon_work[ONPU_OP_COUNT] = {\n'
    for leaf in silicon.leaves:
        text += f'\t[{leaf.enumerator}] = {counts(silicon.work_of(leaf))},\n'
    text += '};\n\n' + comment('Energy of a byte that is moved from or to SRAM, or from or to memory, in femtojoules.')
    text += define('ONPU_SILICON_SRAM_BYTE', round(silicon.byte_energy('sram8')))
    text += define('ONPU_SILICON_MEMORY_BYTE', round(silicon.byte_energy('dram8')))
    text += comment("Energy of a step of an instruction's work, in femtojoules.")
    text += 'static const unsigned int onpu_silicon_energy[ONPU_OP_COUNT] = {\n'
    for leaf in silicon.leaves:
        text += f'\t[{leaf.enumerator}] = {round(silicon.step_energy(leaf))},\n'
    return text + '};\n\n#endif /* ONPU_SILICON_H */\n'


def millimetres(area):
    return f'{area / 1e6:.2f}'


def units_table(silicon):
    rows = []
    for machine in silicon.machines:
        counts = {'mxu': machine.caps['MXU_ROWS'] * machine.caps['MXU_COLS'] / int(silicon.per['mxu'].split()[0]),
                  'vpu': machine.caps['LANES']}
        lines = {'mxu': silicon.mxu_lines(machine), 'vpu': silicon.vpu_lines(machine)}
        for engine, many in counts.items():
            unit = silicon.units[engine]
            rows.append([f'``{machine.name}``', engine.upper(),
                         f'{many * unit.multiply:.0f} of {silicon.width[engine]} bits', f'{many * unit.float:.0f}',
                         f'{many * unit.add:.0f}', f'{many * unit.table:.0f}', str(lines[engine])])
        for engine in ('LD', 'ST'):
            rows.append([f'``{machine.name}``', engine, '0', '0', '0', '0', str(silicon.dma_lines(machine))])
        rows.append([f'``{machine.name}``', 'all', '', '', '', '', f'{silicon.lines(machine)} of {silicon.banks}'])
    return table(['Machine', 'Engine', 'Multipliers', 'Float adders', 'Integer adders', 'Table reads', 'SRAM lines'], rows)


def forms_table(silicon):
    rows = []
    for machine in silicon.machines:
        cells = machine.caps['MXU_ROWS'] * machine.caps['MXU_COLS']
        for form in silicon.forms(machine):
            rows.append([f'``{machine.name}``', f'{form[0]} × {form[1]}',
                         f'{silicon.read_lines(form)} + {2 * silicon.result_lines(machine)}',
                         millimetres(cells * silicon.cell_area()), millimetres(silicon.edge_area(machine)),
                         millimetres(silicon.link_area(machine))] +
                        [f'{silicon.product_energy(form, name) / 1000:.2f}' for name in ('int8', 'binary16', 'binary32')])
    return table(['Machine', 'Form', 'Lines: sides + results', 'Cells, mm²', 'Edge buffers, mm²', 'Links, mm²',
                  'int8, pJ', 'binary16, pJ', 'binary32, pJ'], rows)


def silicon_page(silicon):
    text = HEAD.format(source='silicon.xml') + title('Silicon', '=')
    text += '*What do the machines cost to build?*\n\n'
    text += (f'The SRAM has {silicon.banks} banks with one port; each gives or takes a line of {silicon.line} bytes in a '
             'cycle. These are the units of the engines, and the lines that each moves in a cycle at most:\n\n')
    text += units_table(silicon)
    text += ('Area of the matrix array, and energy of one product in a block that fills the form, with the reads of SRAM '
             'and the registers that its operands pass:\n\n')
    text += forms_table(silicon)
    rows = [[f'``{m.name}``', millimetres(m.caps['LANES'] * silicon.lane_area()),
             millimetres(8 * m.caps['SRAM_BYTES'] * silicon.area('bit'))] for m in silicon.machines]
    text += 'The other large parts:\n\n' + table(['Machine', 'Vector unit, mm²', 'SRAM, mm²'], rows)
    text += ('These are estimates for comparisons, from figures of single operations in one old process; wires, control '
             'and clock are not in them:\n\n')
    text += table(['Operation', 'fJ', 'µm²', 'Source'],
                  [[escape(o.what), f'{o.energy:g}', f'{o.area:g}', escape(o.source)]
                   for o in silicon.operations.values()])
    text += ''.join(f'* {name}: {escape(what)}\n' for name, what in silicon.sources.items()) + '\n'
    text += ('The device adds up the energy of the instructions that it executes, in the counter ``ONPU_COUNTER_ENERGY``: the '
             'energy of a step in this table for each product (matrix instructions), element of the destination, step of a '
             f'window or element of the source (reductions); {silicon.byte_energy("sram8") / 1000:g} pJ for each byte of an '
             'operand in SRAM, where the operands of a product are read once for each block of the array in its own form; and '
             f'{silicon.byte_energy("dram8") / 1000:g} pJ for each byte that a DMA instruction moves from or to memory:\n\n')
    text += table(['Instruction', 'Energy of a step, pJ'],
                  [[f'``{leaf.name}``', f'{silicon.step_energy(leaf) / 1000:.2f}'] for leaf in silicon.leaves])
    text += 'An instruction asks for this work, for each product, element or step of a window:\n\n'
    rows = [[f'``{leaf.name}``'] + [str(getattr(silicon.work_of(leaf), kind)) for kind in KINDS] +
            [str(leaf.factor)] for leaf in silicon.leaves]
    return text + table(['Instruction', 'Products', 'Float sums', 'Integer sums', 'Table reads', 'Factor'], rows)
