# SPDX-License-Identifier: MIT
"""Writes slots.h and registers.h from registers.xml."""

from .common import SpecError, banner, comment, define
from .regs_model import Array, Register

PRELUDE = '''
#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif
'''


class Member:
    """One member of a C structure: its offset, size, declaration and documentation."""

    def __init__(self, offset, size, declaration, doc=''):
        self.offset = offset
        self.size = size
        self.declaration = declaration
        self.doc = doc


def int_type(bits, signed=False):
    return f'{"" if signed else "u"}int{bits}_t'


def is_pair(low, high):
    return (low.name.endswith('_LO') and high is not None and
            high.name == low.name[:-3] + '_HI' and high.offset == low.offset + 4)


def whole_bytes(reg):
    return bool(reg.fields) and all(f.low % 8 == 0 and (f.high + 1) % 8 == 0 for f in reg.fields)


def register_members(registers):
    """Returns the members of C for consecutive registers.

    A pair of registers _LO, _HI becomes one member of 64 bits; a register whose fields are whole
    bytes becomes a member for each field.
    """
    members = []
    skip = False
    for index, reg in enumerate(registers):
        if skip:
            skip = False
            continue
        following = registers[index + 1] if index + 1 < len(registers) else None
        signed = reg.type == 'int'
        if is_pair(reg, following):
            skip = True
            name = reg.member or reg.name[:-3].lower()
            if reg.offset % 8:
                raise SpecError(f'{reg.where}: a 64-bit member must be 8-byte aligned')
            members.append(Member(reg.offset, 8, f'{int_type(64, signed)} {name}', reg.doc))
        elif whole_bytes(reg):
            for field in sorted(reg.fields, key=lambda f: f.low):
                bits = field.high - field.low + 1
                members.append(Member(reg.offset + field.low // 8, bits // 8,
                                      f'{int_type(bits, field.type == "int")} {field.member}',
                                      field.doc))
        else:
            members.append(Member(reg.offset, 4,
                                  f'{int_type(32, signed)} {reg.member or reg.name.lower()}',
                                  reg.doc))
    return members


def array_member(array, owner):
    """Returns (member, text of the structure of its elements, or None for integers)."""
    elements = register_members(array.registers)
    size = array.stride * array.length
    if len(elements) == 1 and elements[0].size == array.stride:
        kind = elements[0].declaration.rsplit(' ', 1)[0]
        return Member(array.offset, size, f'{kind} {array.member}[{array.length}]',
                      array.doc), None
    if len({e.size for e in elements}) == 1 and sum(e.size for e in elements) == array.stride \
            and elements[0].size == 1:
        return Member(array.offset, size, f'uint8_t {array.member}[{size}]', array.doc), None
    name = f'{owner}_{array.member}'
    inner = structure(name, elements, array.stride, array.doc)
    return Member(array.offset, size, f'struct {name} {array.member}[{array.length}]',
                  array.doc), inner


def fill_gaps(members, size):
    """Returns members by offset, with reserved ones in gaps, where C would have padding."""
    result = []
    at = 0

    def reserve(until):
        nonlocal at
        while at < until:
            if at % 4 == 0 and until - at >= 4:
                count = (until - at) // 4
                kind, width = 'uint32_t', 4 * count
                suffix = f'[{count}]' if count > 1 else ''
            else:
                width = min(until, (at // 4 + 1) * 4) - at
                kind, suffix = 'uint8_t', f'[{width}]' if width > 1 else ''
            result.append(Member(at, width, f'{kind} mbz_{at:02x}{suffix}'))
            at += width

    for member in sorted(members, key=lambda m: m.offset):
        reserve(member.offset)
        result.append(member)
        at += member.size
    reserve(size)
    return result


def structure(name, members, size, doc):
    text = comment(doc) + f'struct {name} {{\n'
    for member in fill_gaps(members, size):
        text += comment(member.doc, '\t') if len(member.doc) > 40 else ''
        tail = f' /* {member.doc} */' if member.doc and len(member.doc) <= 40 else ''
        text += f'\t{member.declaration};{tail}\n'
    text += '};\n'
    text += f'ONPU_STATIC_ASSERT(sizeof(struct {name}) == {size}, "size of {name}");\n'
    for member in members:
        field = member.declaration.rsplit(' ', 1)[1].split('[')[0]
        text += (f'ONPU_STATIC_ASSERT(offsetof(struct {name}, {field}) == {member.offset:#x}, '
                 f'"{field}");\n')
    return text + '\n'


def domain_structure(domain):
    members = []
    before = ''
    run = []
    for item in domain.items:
        if isinstance(item, Register):
            run.append(item)
            continue
        member, inner = array_member(item, domain.struct)
        members.append(member)
        before += inner or ''
    members += register_members(run)
    return before + structure(domain.struct, members, domain.size, domain.doc)


def constants_text(enum):
    text = comment(enum.doc)
    for value in enum.values:
        number = value.text + ('u' if value.value >> 31 else '')
        tail = f' /* {value.doc} */' if value.doc and len(value.doc) < 36 else ''
        text += '' if tail else comment(value.doc)
        text += define(value.name, number + tail)
    return text + '\n'


def enum_text(enum):
    if enum.constants:
        return constants_text(enum)
    text = comment(enum.doc) + f'enum {enum.name} {{\n'
    for value in enum.values:
        tail = f' /* {value.doc} */' if value.doc and len(value.doc) < 50 else ''
        text += '' if tail else comment(value.doc, '\t')
        text += f'\t{value.name} = {value.value},{tail}\n'
    return text + '};\n\n'


def field_defines(prefix, reg):
    text = ''
    for field in reg.fields:
        text += define(f'{prefix}_{field.name}__MASK', f'0x{field.mask:08x}u')
        text += define(f'{prefix}_{field.name}__SHIFT', field.low)
    return text


def defined_bits(domain):
    """Returns a C initialiser with a word for each register: a bit is set if it is defined."""
    words = [0] * (domain.size // 4)
    for item in domain.items:
        registers = [item] if isinstance(item, Register) else item.registers
        for i in range(item.length if isinstance(item, Array) else 1):
            for reg in registers:
                base = item.offset + item.stride * i if isinstance(item, Array) else 0
                mask = 0
                for field in reg.fields:
                    mask |= field.mask
                words[(base + reg.offset) // 4] |= mask if reg.fields else 0xffffffff
    rows = [', '.join(f'0x{w:08x}u' for w in words[i:i + 6]) for i in range(0, len(words), 6)]
    return '{ \\\n\t' + ', \\\n\t'.join(rows) + ' \\\n}'


def register_defines(domain):
    """Returns the #defines of a domain: offsets of registers, masks of fields, reset values."""
    stem = domain.name.removeprefix('ONPU').lstrip('_')
    reg_stem = 'ONPU_REG_' + (stem + '_' if stem else '')
    field_stem = domain.name
    text = comment(domain.doc)
    for item in domain.items:
        registers = [item] if isinstance(item, Register) else item.registers
        if isinstance(item, Array):
            text += comment(item.doc)
            text += define(f'{reg_stem}{item.name}__STRIDE', f'{item.stride:#x}')
            text += define(f'{reg_stem}{item.name}__LENGTH', item.length)
        for reg in registers:
            if not domain.struct:
                text += comment(reg.doc)
            if isinstance(item, Array):
                text += define(f'{reg_stem}{item.name}_{reg.name}(i)',
                               f'({item.offset + reg.offset:#x} + {item.stride:#x} * (i))')
                text += field_defines(f'{field_stem}_{item.name}_{reg.name}', reg)
            else:
                text += define(f'{reg_stem}{reg.name}', f'{reg.offset:#06x}')
                text += field_defines(f'{field_stem}_{reg.name}', reg)
            if reg.reset:
                name = reg.name if isinstance(item, Register) else f'{item.name}_{reg.name}'
                text += define(f'{field_stem}_{name}__RESET', f'0x{reg.reset:08x}u')
    caps = [item for item in domain.items if isinstance(item, Register) and item.name.startswith('CAP_')]
    if caps:
        text += comment('number of registers of the CAP block, gaps included')
        text += define(f'{reg_stem}CAP__LENGTH', (caps[-1].offset - caps[0].offset) // 4 + 1)
    if domain.struct and domain.header == 'slots':
        text += define(f'{field_stem}__DEFINED', defined_bits(domain))
    return text + '\n'


SLOT_UNION = '''/* Any slot. */
union onpu_slot {
	uint8_t bytes[ONPU_SLOT_SIZE];
	uint32_t words[ONPU_SLOT_SIZE / 4];
	struct onpu_slot_tensor tensor;
	struct onpu_slot_program program;
	struct onpu_slot_param param;
%s};
ONPU_STATIC_ASSERT(sizeof(union onpu_slot) == ONPU_SLOT_SIZE, "size of onpu_slot");

/* Returns the number of bits of an element; 0 for a number that is no type. */
static inline unsigned int onpu_dtype_bits(unsigned int dtype)
{
	static const uint8_t bits[ONPU_DT_COUNT] = {
		8, 8, 16, 16, 32, 32, 64, 64, 16, 16, 32, 4, 4,
		8, 8, 4, 8
	};

	return dtype < ONPU_DT_COUNT ? bits[dtype] : 0;
}

'''


def union_text(domains):
    members = ''
    prefix = 'onpu_slot_param_'
    for domain in domains:
        if domain.struct and domain.struct.startswith(prefix):
            members += f'\tstruct {domain.struct} {domain.struct.removeprefix(prefix)};\n'
    return SLOT_UNION % members


def message_union(domains):
    members = ''
    prefix = 'onpu_msg_'
    for domain in domains:
        if domain.struct and domain.struct.startswith(prefix):
            members += f'\tstruct {domain.struct} {domain.struct.removeprefix(prefix)};\n'
    if not members:
        return ''
    return ('/* Any message. */\nunion onpu_msg {\n\tuint32_t words[ONPU_MSG_SIZE / 4];\n' +
            members + '};\n'
            'ONPU_STATIC_ASSERT(sizeof(union onpu_msg) == ONPU_MSG_SIZE, "size of onpu_msg");\n\n')


def header(registers, which, what):
    guard = f'ONPU_{which.upper()}_H'
    text = banner('registers.xml', what)
    text += f'#ifndef {guard}\n#define {guard}\n{PRELUDE}\n'
    text += ('#ifndef ONPU_STATIC_ASSERT\n#ifdef __cplusplus\n'
             '#define ONPU_STATIC_ASSERT(condition, text) static_assert(condition, text)\n'
             '#else\n#define ONPU_STATIC_ASSERT(condition, text) _Static_assert(condition, text)\n'
             '#endif\n#endif\n\n')
    domains = [d for d in registers.domains if d.header == which]
    for enum in registers.enums:
        if enum.header == which:
            text += enum_text(enum)
    for domain in domains:
        text += register_defines(domain)
        if domain.struct:
            text += domain_structure(domain)
    if which == 'slots':
        text += union_text(domains)
    if which == 'registers':
        text += message_union(domains)
    return text + f'#endif /* {guard} */\n'


def write_headers(registers, out):
    out.write('slots.h', header(registers, 'slots', 'Slots: the operands of instructions.'))
    out.write('registers.h', header(registers, 'registers',
                                    'Registers, ring entries, fault records, firmware messages.'))
