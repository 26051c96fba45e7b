# SPDX-License-Identifier: MIT
"""Writes isa.h and isa.c from isa.xml: enums, instruction structure, tables, pack and unpack."""

from .common import banner, c_string, comment, define
from .isa_model import COSTS, OPERANDS, TYPE_CLASSES

# Members of struct onpu_insn: name, type, meaning.
MEMBERS = (
    ('op', 'enum onpu_op', ''),
    ('ts', 'uint8_t', 'append a profile record'),
    ('sv', 'uint8_t', 'signal ssem at the end'),
    ('ssem', 'uint8_t', ''),
    ('wv', 'uint8_t', 'wait for wsem before the start'),
    ('wsem', 'uint8_t', ''),
    ('dst', 'uint16_t', 'slot indices'),
    ('s0', 'uint16_t', ''),
    ('s1', 'uint16_t', ''),
    ('s2', 'uint16_t', ''),
    ('param', 'uint16_t', ''),
    ('sem', 'uint8_t', 'sem.wait, sem.signal'),
    ('eng', 'uint8_t', ''),
    ('count', 'uint16_t', ''),
    ('mask', 'uint8_t', 'barrier: bit per engine'),
    ('live', 'uint32_t', 'preempt: SRAM bytes to keep'),
    ('code', 'uint16_t', 'end, trap'),
    ('axes', 'uint8_t', 'reductions: bit per dimension'),
    ('axis', 'uint8_t', ''),
    ('acc', 'uint8_t', 'flags'),
    ('part', 'uint8_t', ''),
    ('lanes', 'uint8_t', ''),
    ('last', 'uint8_t', ''),
    ('ch', 'uint8_t', ''),
    ('neg', 'uint8_t', ''),
    ('clamp', 'uint8_t', ''),
    ('excl', 'uint8_t', ''),
    ('rev', 'uint8_t', ''),
    ('piece', 'uint8_t', 'mma.f32: length of its partial sums'),
)

HEADER = '''
#ifndef ONPU_ISA_H
#define ONPU_ISA_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#include "onpu/registers.h"
#include "onpu/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

'''

DECLARATIONS = '''
/* How a field is written in assembler text, and which values it may have. */
enum onpu_field_type {
	ONPU_FIELD_UINT,
	ONPU_FIELD_HEX,
	ONPU_FIELD_BOOL,
	ONPU_FIELD_ENUM,
};

struct onpu_enum_value {
	uint32_t value;
	const char *display;
};

struct onpu_enum_info {
	const char *name;
	uint32_t num_values;
	const struct onpu_enum_value *values;
};

struct onpu_field_info {
	const char *name;
	uint8_t id; /* enum onpu_field */
	uint8_t low, high; /* bits of the instruction word */
	uint8_t type; /* enum onpu_field_type */
	const char *display; /* bool: its text when set */
	const struct onpu_enum_info *values; /* enum: what is legal */
};

/* A part of an instruction's text: a field, the name (field < 0), or fixed text. */
struct onpu_text_token {
	const char *text; /* NULL for a field or the name */
	int8_t field; /* index in fields, or -1 */
};

struct onpu_operand_info {
	uint8_t present;
	uint8_t optional; /* index 0 means absent */
	uint32_t dtypes; /* bit per enum onpu_dtype, tensors only */
};

struct onpu_op_info {
	const char *name;
	const char *doc;
	const char *display;
	uint8_t engine; /* enum onpu_engine, with DMA and ANY */
	uint8_t cost; /* enum onpu_cost */
	uint8_t factor;
	uint8_t schema; /* of PARAM; ONPU_SCHEMA_NONE: it takes none */
	uint8_t same; /* bit per operand: these must have one type */
	uint8_t same_ints; /* bit per operand: all floating-point, or all of one integer type */
	uint8_t inplace; /* bit per operand that may be the destination itself */
	uint8_t num_fields;
	uint8_t num_tokens;
	uint32_t feature; /* the bit of CAP_FEATURES that a machine with it has; 0: all have it */
	uint32_t match[ONPU_INSN_WORDS]; /* fixed bits */
	uint32_t fixed[ONPU_INSN_WORDS]; /* which bits are fixed */
	struct onpu_operand_info operands[ONPU_OPERAND_COUNT];
	const struct onpu_field_info *fields;
	const struct onpu_text_token *tokens;
};

extern const struct onpu_op_info onpu_op_info[ONPU_OP_COUNT];

/*
 * Encodes an instruction. Returns 0, or -1 if op is unknown, a value is out of range, or a member
 * is set that the instruction has no field for.
 */
int onpu_insn_pack(const struct onpu_insn *insn, uint32_t w[ONPU_INSN_WORDS]);

/*
 * Decodes an instruction. Returns ONPU_FAULT_NONE, ONPU_FAULT_ILLEGAL_OPCODE or
 * ONPU_FAULT_RESERVED_BITS. After a fault *insn has only op, which is ONPU_OP_COUNT when the opcode
 * is illegal, and zeros.
 */
enum onpu_fault onpu_insn_unpack(const uint32_t w[ONPU_INSN_WORDS], struct onpu_insn *insn);

/* Read and write one field. */
uint32_t onpu_insn_get(const struct onpu_insn *insn, enum onpu_field field);
void onpu_insn_set(struct onpu_insn *insn, enum onpu_field field, uint32_t value);

/* Returns whether the field may hold the value. */
int onpu_field_legal(const struct onpu_field_info *field, uint32_t value);

/* Returns the engine that executes the instruction; for DMA and ANY the fields CH and ENG tell. */
enum onpu_engine onpu_insn_engine(const struct onpu_insn *insn);

#ifdef __cplusplus
}
#endif

#endif /* ONPU_ISA_H */
'''

FUNCTIONS = '''
int onpu_field_legal(const struct onpu_field_info *field, uint32_t value)
{
	uint32_t i;

	if (field->type != ONPU_FIELD_ENUM)
		return !(value & ~field_mask(field));
	for (i = 0; i < field->values->num_values; i++)
		if (field->values->values[i].value == value)
			return 1;
	return 0;
}

/* Whether a member is set that the instruction does not encode. */
static int has_foreign_members(const struct onpu_insn *insn, const struct onpu_op_info *info)
{
	struct onpu_insn encoded = { 0 };
	uint32_t id, i;

	for (i = 0; i < info->num_fields; i++) {
		id = info->fields[i].id;
		onpu_insn_set(&encoded, (enum onpu_field)id,
			      onpu_insn_get(insn, (enum onpu_field)id));
	}
	for (id = 0; id < ONPU_FIELD_COUNT; id++)
		if (onpu_insn_get(&encoded, (enum onpu_field)id) !=
		    onpu_insn_get(insn, (enum onpu_field)id))
			return 1;
	return 0;
}

int onpu_insn_pack(const struct onpu_insn *insn, uint32_t w[ONPU_INSN_WORDS])
{
	const struct onpu_op_info *info;
	uint32_t i;

	if ((uint32_t)insn->op >= ONPU_OP_COUNT || !members_in_range(insn))
		return -1;
	info = &onpu_op_info[insn->op];
	if (has_foreign_members(insn, info))
		return -1;
	for (i = 0; i < ONPU_INSN_WORDS; i++)
		w[i] = info->match[i];
	for (i = 0; i < info->num_fields; i++) {
		const struct onpu_field_info *field = &info->fields[i];
		uint32_t value = onpu_insn_get(insn, (enum onpu_field)field->id);

		if (!onpu_field_legal(field, value))
			return -1;
		w[field->low / 32] |= value << field->low % 32;
	}
	return 0;
}

enum onpu_fault onpu_insn_unpack(const uint32_t w[ONPU_INSN_WORDS], struct onpu_insn *insn)
{
	const struct onpu_op_info *info;
	struct onpu_insn result = { 0 };
	uint32_t i;

	result.op = find_op(w[3] >> 16);
	*insn = result;
	if (result.op == ONPU_OP_COUNT)
		return ONPU_FAULT_ILLEGAL_OPCODE;
	info = &onpu_op_info[result.op];
	for (i = 0; i < ONPU_INSN_WORDS; i++)
		if ((w[i] & info->fixed[i]) != info->match[i])
			return ONPU_FAULT_RESERVED_BITS;
	for (i = 0; i < info->num_fields; i++) {
		const struct onpu_field_info *field = &info->fields[i];
		uint32_t value = w[field->low / 32] >> field->low % 32 & field_mask(field);

		if (!onpu_field_legal(field, value))
			return ONPU_FAULT_RESERVED_BITS;
		onpu_insn_set(&result, (enum onpu_field)field->id, value);
	}
	*insn = result;
	return ONPU_FAULT_NONE;
}

enum onpu_engine onpu_insn_engine(const struct onpu_insn *insn)
{
	unsigned int engine = onpu_op_info[insn->op].engine;

	if (engine == ONPU_ENG_DMA)
		return insn->ch ? ONPU_ENG_ST : ONPU_ENG_LD;
	if (engine == ONPU_ENG_ANY)
		return (enum onpu_engine)insn->eng;
	return (enum onpu_engine)engine;
}
'''


def enum(name, doc, names):
    return comment(doc) + f'enum {name} {{\n' + ''.join(f'\t{n},\n' for n in names) + '};\n\n'


def struct_text():
    text = '/* An instruction, decoded. What an instruction has no field for is zero. */\n'
    text += 'struct onpu_insn {\n'
    for name, kind, doc in MEMBERS:
        text += f'\t{kind} {name};' + (f' /* {doc} */' if doc else '') + '\n'
    return text + '};\n'


def constants(isa):
    text = define('ONPU_INSN_WORDS', isa.root.size // 32)
    text += define('ONPU_INSN_BYTES', isa.root.size // 8) + '\n'
    for constant in isa.constants.values():
        text += comment(constant.doc) + define(constant.name, constant.text)
    return text + '\n'


def field_ids(isa):
    return list(isa.root.members)


def isa_header(isa):
    text = banner('isa.xml', 'Instructions: numbers, structure, tables, pack and unpack.') + HEADER
    text += constants(isa)
    text += '/* Instructions. */\nenum onpu_op {\n'
    for leaf in isa.leaves:
        text += f'\t{leaf.enumerator},\n'
    text += '\tONPU_OP_COUNT\n};\n\n'
    text += enum('onpu_cost', 'Cost classes, see the block #cost of isa.xml.',
                 [f'ONPU_COST_{c.upper()}' for c in COSTS])
    text += enum('onpu_field', 'Fields.',
                 [f'ONPU_FIELD_ID_{n}' for n in field_ids(isa)] + ['ONPU_FIELD_COUNT'])
    text += '/* Types an operand may have: bit per enum onpu_dtype. */\n'
    for name, types in TYPE_CLASSES.items():
        value = ' | '.join(f'1u << ONPU_DT_{t}' for t in types)
        text += continued(f'#define ONPU_TYPES_{name.upper()}', f'({value})')
    return text + '\n' + struct_text() + DECLARATIONS


def continued(start, value):
    """Returns the #define start, with the value broken into lines of at most 100 columns."""
    lines, line = [], start
    for word in value.split(' | '):
        piece = (' | ' if line is not start and not line.endswith('\t') else ' ') + word
        if len(line.expandtabs(8)) + len(piece) > 94:
            lines.append(line + ' | \\' if line is not start else line + ' \\')
            line = '\t' + word
        else:
            line += piece
    return '\n'.join(lines + [line]) + '\n'


def widths(isa):
    """Returns a dictionary: member of struct onpu_insn to the number of bits that it may use."""
    result = {}
    fields = {f.name: f for leaf in isa.leaves for f in leaf.fields}
    for name, members in isa.root.members.items():
        ends = [low for _, low in members[1:]] + [fields[name].width]
        for (member, low), end in zip(members, ends):
            result[member] = end - low
    return result


def accessors(isa):
    get, put = '', ''
    for name, members in isa.root.members.items():
        parts = [f'(uint32_t)insn->{m} << {low}' if low else f'insn->{m}' for m, low in members]
        get += f'\tcase ONPU_FIELD_ID_{name}:\n\t\treturn {" | ".join(parts)};\n'
        put += f'\tcase ONPU_FIELD_ID_{name}:\n'
        for index, (member, low) in enumerate(members):
            value = f'value >> {low}' if low else 'value'
            if index + 1 < len(members):
                value = f'{value} & {(1 << members[index + 1][1] - low) - 1:#x}'
            kind = next(k for n, k, _ in MEMBERS if n == member)
            put += f'\t\tinsn->{member} = ({kind})({value});\n'
        put += '\t\tbreak;\n'
    text = ('\nuint32_t onpu_insn_get(const struct onpu_insn *insn, enum onpu_field field)\n{\n'
            '\tswitch (field) {\n' + get + '\tdefault:\n\t\treturn 0;\n\t}\n}\n')
    text += ('\nvoid onpu_insn_set(struct onpu_insn *insn, enum onpu_field field, uint32_t value)'
             '\n{\n\tswitch (field) {\n' + put + '\tdefault:\n\t\tbreak;\n\t}\n}\n')
    return text


def range_check(isa):
    """Returns the C function that tests that each member fits into its bits of a shared field."""
    tests = [f'\t    insn->{member} >> {bits}'
             for name, members in isa.root.members.items() if len(members) > 1
             for member, bits in ((m, widths(isa)[m]) for m, _ in members)]
    return ('\n/* Members that share a field must not run into each other. */\n'
            'static int members_in_range(const struct onpu_insn *insn)\n{\n'
            '\treturn !(' + ' ||\n'.join(tests).lstrip() + ');\n}\n')


def find_op(isa):
    text = '\nstatic enum onpu_op find_op(uint32_t opcode)\n{\n\tswitch (opcode) {\n'
    for leaf in isa.leaves:
        text += f'\tcase {leaf.opcode:#06x}:\n\t\treturn {leaf.enumerator};\n'
    return text + '\tdefault:\n\t\treturn ONPU_OP_COUNT;\n\t}\n}\n'


def enum_symbol(name):
    return 'enum_' + name.lstrip('#').replace('-', '_')


def enum_tables(isa):
    text = ''
    for item in isa.enums.values():
        symbol = enum_symbol(item.name)
        text += f'\nstatic const struct onpu_enum_value {symbol}_values[] = {{\n'
        for value, display in item.values.items():
            text += f'\t{{ {value}, {c_string(display)} }},\n'
        text += (f'}};\n\nstatic const struct onpu_enum_info {symbol} = {{\n'
                 f'\t"{item.name.lstrip("#")}", {len(item.values)}, {symbol}_values\n}};\n')
    return text


def field_row(field):
    kind = 'ENUM' if field.type.startswith('#') else field.type.upper()
    display = c_string(field.display) if field.type == 'bool' else '0'
    values = f'&{enum_symbol(field.type)}' if kind == 'ENUM' else '0'
    return (f'\t{{ "{field.name}", ONPU_FIELD_ID_{field.name}, {field.low}, {field.high}, '
            f'ONPU_FIELD_{kind}, {display}, {values} }},\n')


def token_row(leaf, is_field, text):
    if not is_field:
        return f'\t{{ {c_string(text)}, -1 }},\n'
    if text == 'NAME':
        return '\t{ 0, -1 },\n'
    index = [f.name for f in leaf.fields].index(text)
    return f'\t{{ 0, {index} }},\n'


def leaf_tables(isa):
    """Returns (tables of fields and tokens in C, names of these by (instruction, kind)).

    Instructions whose tables are equal share one.
    """
    text, known, names = '', {}, {}
    for leaf in isa.leaves:
        rows = ''.join(field_row(f) for f in leaf.fields)
        tokens = ''.join(token_row(leaf, *t) for t in leaf.tokens)
        for kind, body in (('field', rows), ('token', tokens)):
            if (kind, body) not in known:
                symbol = f'{kind}s_{len(known)}'
                known[kind, body] = symbol
                record = 'onpu_field_info' if kind == 'field' else 'onpu_text_token'
                text += f'\nstatic const struct {record} {symbol}[] = {{\n{body}}};\n'
            names[leaf.name, kind] = known[kind, body]
    return text, names


def words(value):
    return '{ ' + ', '.join(f'0x{value >> 32 * i & 0xffffffff:08x}' for i in range(4)) + ' }'


def bits_of(roles):
    parts = [f'1u << ONPU_OPERAND_{r.upper()}' for r in roles]
    return ' | '.join(parts) or '0'


def info_row(leaf, names):
    text = f'\t[{leaf.enumerator}] = {{\n\t\t.name = {c_string(leaf.name)},\n'
    text += f'\t\t.doc = {c_string(leaf.doc)},\n\t\t.display = {c_string(leaf.display)},\n'
    text += f'\t\t.engine = ONPU_ENG_{leaf.engine.upper()},\n'
    text += f'\t\t.cost = ONPU_COST_{leaf.cost.upper()},\n\t\t.factor = {leaf.factor},\n'
    if leaf.feature:
        text += f'\t\t.feature = ONPU_CAP_FEATURES_{leaf.feature}__MASK,\n'
    if 'param' in leaf.operands:
        text += f'\t\t.schema = ONPU_SCHEMA_{leaf.operands["param"].kind.upper()},\n'
    same = [r for r in leaf.same if r != 'ints']
    if same:
        text += f'\t\t.same = {bits_of(same)},\n'
    if 'ints' in leaf.same:
        roles = [r for r, o in leaf.operands.items() if o.kind in ('num', 'resample')]
        text += f'\t\t.same_ints = {bits_of(roles)},\n'
    if leaf.inplace:
        text += f'\t\t.inplace = {bits_of(leaf.inplace)},\n'
    text += f'\t\t.num_fields = {len(leaf.fields)},\n\t\t.num_tokens = {len(leaf.tokens)},\n'
    text += f'\t\t.match = {words(leaf.match)},\n\t\t.fixed = {words(leaf.mask)},\n'
    if leaf.operands:
        text += '\t\t.operands = {\n'
        for role in OPERANDS:
            operand = leaf.operands.get(role)
            if operand:
                types = f'ONPU_TYPES_{operand.kind.upper()}' if role != 'param' else '0'
                text += (f'\t\t\t[ONPU_OPERAND_{role.upper()}] = '
                         f'{{ 1, {int(operand.optional)}, {types} }},\n')
        text += '\t\t},\n'
    text += f'\t\t.fields = {names[leaf.name, "field"]},\n'
    return text + f'\t\t.tokens = {names[leaf.name, "token"]},\n\t}},\n'


def isa_source(isa):
    tables, names = leaf_tables(isa)
    text = banner('isa.xml', 'Instructions: tables, pack and unpack.')
    text += '\n#include "onpu/isa.h"\n' + enum_tables(isa) + tables
    text += '\nconst struct onpu_op_info onpu_op_info[ONPU_OP_COUNT] = {\n'
    text += ''.join(info_row(leaf, names) for leaf in isa.leaves) + '};\n'
    text += find_op(isa) + accessors(isa) + range_check(isa)
    text += ('\nstatic uint32_t field_mask(const struct onpu_field_info *field)\n{\n'
             '\treturn 0xffffffffu >> (31 - (field->high - field->low));\n}\n')
    return text + FUNCTIONS


def write_sources(isa, out):
    out.write('isa.h', isa_header(isa))
    out.write('isa.c', isa_source(isa))
