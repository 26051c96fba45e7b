# SPDX-License-Identifier: MIT
"""Writes the reference pages: instructions, slots, registers, machines."""

import re

from .isa_model import OPERANDS, TYPE_CLASSES
from .regs_model import Array, Register

HEAD = '.. SPDX-License-Identifier: MIT\n.. Generated from uapi/onpu/{source}; do not edit.\n\n'

ENGINES = {
    'cp': 'command processor', 'mxu': 'matrix unit', 'vpu': 'vector unit',
    'dma': 'LD (CH = 0) or ST (CH = 1)', 'any': 'the one that ENG names',
}
ACCESS = {'rw': 'read and write', 'ro': 'read only', 'wo': 'write only, reads 0',
          'w1c': 'write 1 to clear'}

INSTRUCTIONS_INTRO = '''\
An instruction is one word of 128 bits: four little-endian 32-bit words in memory, bits 31..0 first.
Bits 127..120 (OPC) and 119..112 (SUB) choose the instruction. Every instruction has these fields:

* WAIT, bits 111..105: bit 111 (WV) set: wait for a token of semaphore WSEM (bits 110..105). Text:
  ``?s5`` before the name.
* SIGNAL, bits 104..98: bit 104 (SV) set: give a token to semaphore SSEM (bits 103..98) at the end.
  Text: ``!s5`` at the end of the line.
* TS, bit 97: append a profile record. Text: ``.ts`` behind the name.

All other bits are zero where an instruction has no field. The pseudo-code is normative. Names that
begin with ``#`` refer to the definitions that come first.
'''

TYPES_INTRO = 'Classes of element types, as the tables of operands name them:\n\n'


def title(text, mark):
    return f'{text}\n{mark * len(text)}\n\n'


def escape(text):
    return re.sub(r'([*`|\\])', r'\\\1', text).replace('_ ', '\\_ ')


def literal(text):
    return '::\n\n' + ''.join(f'    {line}'.rstrip() + '\n' for line in text.split('\n')) + '\n'


def table(header, rows, widths=None):
    text = '.. list-table::\n   :header-rows: 1\n'
    if widths:
        text += f'   :widths: {" ".join(map(str, widths))}\n'
    text += '\n'
    for row in [header] + rows:
        for index, cell in enumerate(row):
            text += ('   * - ' if index == 0 else '     - ') + cell + '\n'
    return text + '\n'


def bits(low, high):
    return str(low) if low == high else f'{high}..{low}'


def field_meaning(isa, field):
    if field.type == 'bool':
        return f'flag, text ``{field.display.strip()}``'
    if field.type in isa.enums:
        shown = [f'{value} ``{text.strip()}``' if text else f'{value} (no text)'
                 for value, text in isa.enums[field.type].values.items()]
        return 'one of ' + ', '.join(shown)
    if field.name in ('DST', 'S0', 'S1', 'S2', 'PARAM'):
        return 'slot index'
    return {'uint': 'number', 'hex': 'number, text hexadecimal'}[field.type]


def encoding(isa, leaf):
    rows = [['127..120', 'OPC', f'``0x{leaf.opcode >> 8:02x}``'],
            ['119..112', 'SUB', f'``0x{leaf.opcode & 0xff:02x}``']]
    for field in sorted(leaf.own_fields, key=lambda f: -f.low):
        rows.append([bits(field.low, field.high), field.name, field_meaning(isa, field)])
    return table(['Bits', 'Field', 'Meaning'], rows, (15, 15, 70))


def operands(leaf):
    rows = []
    for role in OPERANDS:
        operand = leaf.operands.get(role)
        if not operand:
            continue
        need = 'optional' if operand.optional else 'required'
        what = f'PARAM, schema {operand.kind.upper()}' if role == 'param' else operand.kind
        notes = []
        if role in leaf.same:
            notes.append('one type with ' + ', '.join(r.upper() for r in leaf.same if r != role))
        if 'ints' in leaf.same and operand.kind in ('num', 'resample') and role != 'param':
            notes.append('see ``same="ints"`` in #types')
        if role in leaf.inplace:
            notes.append('may be the destination itself')
        rows.append([role.upper(), need, what, '; '.join(notes) or '–'])
    return table(['Operand', 'Need', 'Type', 'Notes'], rows) if rows else ''


def syntax(leaf):
    text = leaf.display.replace('{WAIT}', '').replace('{SIGNAL}', '').replace('{TS}', '')
    text = text.replace('{NAME}', leaf.name)
    for field in leaf.fields:
        shown = f'[{field.display}]' if field.type == 'bool' else field.name
        if field.name == 'FORM':
            shown = '[FORM]'
        text = text.replace('{' + field.name + '}', shown)
    return text


def cost(leaf):
    return f'class {leaf.cost}, F = {leaf.factor} (#cost)'


def faults(leaf):
    """Returns the faults that this instruction can have beyond those of #issue."""
    names = []
    if leaf.operands:
        names += ['SLOT_INDEX', 'SLOT_FORMAT']
    if leaf.engine in ('mxu', 'vpu'):
        names.append('SPACE')
    if leaf.operands:
        names += ['DTYPE', 'SHAPE', 'BOUNDS']
    if leaf.cost == 'gather':
        names.append('INDEX_RANGE')
    if leaf.engine == 'dma' or leaf.name == 'timestamp':
        names += ['MMU_NOT_PRESENT', 'MMU_PERM']
    if leaf.name == 'preempt':
        names.append('BOUNDS')
    if leaf.name == 'trap':
        names.append('TRAP')
    return names


def instruction(isa, leaf):
    text = f'.. _onpu-{leaf.name.replace(".", "-")}:\n\n' + title(leaf.name, '-')
    text += f'{escape(leaf.doc)}\n\n'
    text += f'| Text: ``{syntax(leaf)}``\n| Engine: {ENGINES[leaf.engine]}\n| Cost: {cost(leaf)}\n'
    names = faults(leaf)
    text += f'| Faults: {", ".join(names) if names else "none of its own"}\n\n'
    text += encoding(isa, leaf) + operands(leaf)
    return text + literal(leaf.pseudo)


def instructions_page(isa):
    text = HEAD.format(source='isa.xml') + title('Instructions', '=') + INSTRUCTIONS_INTRO + '\n'
    text += title('Definitions', '=')
    for name, block in isa.blocks:
        text += title(name, '-') + literal(block)
    text += title('Constants', '=')
    text += table(['Name', 'Value', 'Meaning'],
                  [['``ONPU_INSN_BYTES``', f'``{isa.root.size // 8}``', 'bytes of an instruction']] +
                  [[f'``{c.name}``', f'``{c.text}``', escape(c.doc)]
                   for c in isa.constants.values()], (30, 15, 55))
    text += title('Element types', '=') + TYPES_INTRO
    text += table(['Class', 'Types'], [[name, ' '.join(types)]
                                       for name, types in TYPE_CLASSES.items()], (20, 80))
    text += title('Overview', '=')
    text += table(['Instruction', 'OPC SUB', 'Engine', 'Cost', 'What'],
                  [[f':ref:`{leaf.name} <onpu-{leaf.name.replace(".", "-")}>`',
                    f'``{leaf.opcode >> 8:02x} {leaf.opcode & 0xff:02x}``', leaf.engine,
                    f'{leaf.cost} {leaf.factor}', escape(leaf.doc)] for leaf in isa.leaves])
    text += title('Reference', '=')
    return text + ''.join(instruction(isa, leaf) for leaf in isa.leaves)


def enum_section(enum):
    text = title(enum.name, '-')
    if enum.doc:
        text += escape(enum.doc) + '\n\n'
    rows = [[f'``{v.name}``', f'``{v.text}``', escape(v.doc) or '–'] for v in enum.values]
    return text + table(['Name', 'Value', 'Meaning'], rows, (40, 15, 45))


def field_rows(reg):
    return [['', bits(f.low, f.high), f'{f.name}: {escape(f.doc)}' if f.doc else f.name]
            for f in sorted(reg.fields, key=lambda f: f.low)]


def register_rows(reg, where):
    doc = escape(reg.doc)
    if reg.fields:
        return [[where, '31..0', f'**{reg.name}** {doc}'.strip()]] + field_rows(reg)
    return [[where, '31..0', f'**{reg.name}** {doc}'.strip()]]


def struct_section(domain):
    text = title(f'struct {domain.struct}', '-')
    text += f'{escape(domain.doc)} {domain.size} bytes.\n\n'
    rows = []
    for item in sorted(domain.items, key=lambda i: i.offset):
        if isinstance(item, Register):
            rows += register_rows(item, f'``{item.offset:02x}``')
            continue
        rows.append([f'``{item.offset:02x}``', f'{item.length} × {item.stride} bytes',
                     f'**{item.name}** {escape(item.doc)}'.strip()])
        for reg in item.registers:
            rows += register_rows(reg, f'+ ``{reg.offset:02x}``')
    return text + table(['Offset', 'Bits', 'Member'], rows, (12, 18, 70))


def register_section(reg, place):
    reset = f', reset ``{reg.reset:#x}``' if reg.reset else ''
    text = f'``{place}`` **{reg.name}** ({ACCESS[reg.access]}{reset})\n'
    body = escape(reg.doc)
    if body:
        text += f'    {body}\n'
    if reg.fields:
        text += '\n' if body else ''
        for field in sorted(reg.fields, key=lambda f: f.low):
            tail = f': {escape(field.doc)}' if field.doc else ''
            text += f'    * {bits(field.low, field.high)} {field.name}{tail}\n'
    if not body and not reg.fields:
        text += '    –\n'
    return text + '\n'


def domain_section(domain):
    text = title(domain.name, '-') + f'{escape(domain.doc)}\n\n'
    for item in sorted(domain.items, key=lambda i: i.offset):
        if isinstance(item, Array):
            text += (f'**{item.name}** [{item.length}], every ``{item.stride:#x}`` bytes from '
                     f'``{item.offset:#06x}``: {escape(item.doc)}\n\n')
            for reg in item.registers:
                text += register_section(reg, f'{item.offset + reg.offset:#06x} + i')
        else:
            text += register_section(item, f'{item.offset:#06x}')
    return text


def registers_page(registers, which, heading):
    text = HEAD.format(source='registers.xml') + title(heading, '=')
    text += 'All values are little endian; what no row or field names must be zero.\n\n'
    for domain in registers.domains:
        if domain.header == which and not domain.struct:
            text += domain_section(domain)
    for domain in registers.domains:
        if domain.header == which and domain.struct:
            text += struct_section(domain)
    for enum in registers.enums:
        if enum.header == which:
            text += enum_section(enum)
    return text


def machines_page(machines, registers):
    caps = {item.name: item for domain in registers.domains if domain.name == 'ONPU'
            for item in domain.items}
    text = HEAD.format(source='machines.xml') + title('Machines', '=')
    text += '*In what do the named machines differ?*\n\n'
    text += ('A named machine is its values of these registers. What an instruction costs on it follows '
             'from them, see #cost in :doc:`instructions`.\n\n')
    rows = []
    for name in machines.caps:
        register = caps[f'CAP_{name}']
        parts = register.fields or [register]
        for part in parts:
            shown = f'CAP_{name}' + (f'.{part.name}' if register.fields else '')
            values = [(m.caps[name] & part.mask) >> part.low if register.fields else m.caps[name]
                      for m in machines.all]
            rows.append([f'``{shown}``', escape(part.doc)] + [str(value) for value in values])
    text += table(['Register', 'Meaning'] + [f'``{m.name}``' for m in machines.all], rows)
    for machine in machines.all:
        default = ', the default' if machine is machines.default else ''
        text += f'* ``{machine.name}``{default}: {escape(machine.doc)}\n'
        if machine.factors:
            changed = ', '.join(f'``{name}`` {value}' for name, value in machine.factors.items())
            text += f'\n  Its factors that differ from those of the instructions: {changed}.\n\n'
    return text


def write_pages(isa, registers, machines, out):
    out.write('instructions.rst', instructions_page(isa))
    out.write('slots.rst', registers_page(registers, 'slots', 'Slots'))
    out.write('machines.rst', machines_page(machines, registers))
    out.write('registers.rst', registers_page(registers, 'registers', 'Registers and layouts'))
