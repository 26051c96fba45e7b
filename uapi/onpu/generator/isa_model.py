# SPDX-License-Identifier: MIT
"""Reads isa.xml into plain objects and checks that it is consistent."""

import re
import xml.etree.ElementTree as ElementTree

from .common import SpecError, bit_range, c_name, dedent_block, doc_of, number

OPERANDS = ('dst', 's0', 's1', 's2', 'param')
ENGINES = ('cp', 'ld', 'st', 'mxu', 'vpu', 'dma', 'any')
COSTS = ('const', 'drain', 'dma', 'gather', 'mma', 'vector', 'reduce', 'scan', 'window')
SCHEMAS = ('scalar', 'fill', 'pad', 'index', 'taps', 'resample', 'tri')
META = {'engine', 'cost', 'factor', 'feature', 'same', 'inplace', *OPERANDS}

INTEGERS = ('I8', 'U8', 'I16', 'U16', 'I32', 'U32', 'I64', 'U64')
FLOATS = ('F16', 'BF16', 'F32')
TYPE_CLASSES = {
    'any': INTEGERS + FLOATS + ('I4', 'U4'),
    'dma': INTEGERS + FLOATS,
    'num': INTEGERS + FLOATS,
    'int': INTEGERS,
    'float': FLOATS,
    'quantized': ('I8', 'U8', 'I16', 'U16', 'I32', 'U32', 'I4', 'U4'),
    'q8': ('I8', 'U8'),
    'index': ('I32', 'U32', 'I64'),
    'index_out': ('I32', 'I64'),
    'resample': FLOATS + ('I8', 'U8'),
    'u8': ('U8',),
    'i32': ('I32',),
    'u64': ('U64',),
    'f16': ('F16',),
    'bf16': ('BF16',),
    'f32': ('F32',),
    'half': ('F16', 'BF16'),
    'weight': ('I8', 'U8', 'I4', 'U4', 'F8E4M3', 'F8E5M2', 'F4E2M1'),
    'scale': FLOATS + ('F8E8M0',),
}


class Field:
    def __init__(self, element, where):
        self.name = element.get('name')
        self.where = f'{where} field {self.name}'
        self.low, self.high = bit_range(element, self.where)
        self.type = element.get('type')
        self.display = element.get('display', '')
        if self.type == 'bool' and self.low != self.high:
            raise SpecError(f'{self.where}: a bool is one bit wide')
        if self.high - self.low > 31 or self.low // 32 != self.high // 32:
            raise SpecError(f'{self.where}: it must lie within one 32-bit word')

    @property
    def width(self):
        return self.high - self.low + 1


class Pattern:
    def __init__(self, element, where):
        self.low, self.high = bit_range(element, f'{where} pattern')
        bits = (element.text or '').strip()
        if not re.fullmatch('[01]+', bits) or len(bits) != self.high - self.low + 1:
            raise SpecError(f'{where} pattern {self.low}..{self.high}: {bits!r} is not '
                            f'{self.high - self.low + 1} bits of 0 and 1')
        self.match = int(bits, 2) << self.low
        self.mask = ((1 << len(bits)) - 1) << self.low


class Constant:
    """A named number of the specification, which becomes a #define of C."""

    def __init__(self, element):
        self.name = element.get('name', '')
        where = f'constant {self.name}'
        if not re.fullmatch('ONPU_[A-Z0-9_]+', self.name):
            raise SpecError(f'{where}: its name is not ONPU_ and capitals')
        self.text = element.get('value')
        self.value = number(self.text, where)
        self.doc = doc_of(element)
        if not self.doc:
            raise SpecError(f'{where}: no <doc>')


class Enum:
    def __init__(self, element):
        self.name = element.get('name')
        self.values = {}
        for child in element.findall('value'):
            value = number(child.get('val'), f'enum {self.name}')
            if value in self.values:
                raise SpecError(f'enum {self.name}: value {value} is defined twice')
            text = child.get('display', '')
            if text in self.values.values():
                raise SpecError(f'enum {self.name}: display {text!r} is used twice')
            self.values[value] = text


class Operand:
    """One of DST, S0, S1, S2, PARAM: its type class or schema, and whether it is optional."""

    def __init__(self, text, role, where):
        self.role = role
        self.optional = text.endswith('?')
        self.kind = text.rstrip('?')
        known = SCHEMAS if role == 'param' else tuple(TYPE_CLASSES)
        if self.kind not in known:
            raise SpecError(f'{where}: {role}="{text}" is none of {", ".join(known)}')


class Leaf:
    def __init__(self, element, root):
        self.name = element.get('name')
        self.where = f'instruction {self.name}'
        self.enumerator = 'ONPU_OP_' + c_name(self.name).upper()
        self.doc = doc_of(element)
        self.display = element.findtext('display', '')
        self.pseudo = dedent_block(element.findtext('pseudo', ''))
        self.own_fields = [Field(e, self.where) for e in element.findall('field')]
        self.fields = self.own_fields + root.fields
        self.patterns = [Pattern(e, self.where) for e in element.findall('pattern')]
        self.patterns += root.patterns
        self.match = sum(p.match for p in self.patterns)
        self.mask = 0
        self.check_bits(root.size)
        self.read_meta(element.find('meta'))
        self.tokens = self.split_display()
        self.check_pseudo()

    def check_bits(self, size):
        owner = {}
        pieces = [(f'field {f.name}', f.low, f.high) for f in self.fields]
        pieces += [('a pattern', p.low, p.high) for p in self.patterns]
        for name, low, high in pieces:
            for bit in range(low, high + 1):
                if bit in owner:
                    raise SpecError(f'{self.where}: bit {bit} is in {name} and in {owner[bit]}')
                owner[bit] = name
        missing = [bit for bit in range(size) if bit not in owner]
        if missing or max(owner) >= size:
            raise SpecError(f'{self.where}: bits {missing} are undefined (or bits beyond {size} '
                            'are defined)')
        self.mask = sum(p.mask for p in self.patterns)

    def read_meta(self, meta):
        if meta is None:
            raise SpecError(f'{self.where}: no <meta>')
        unknown = set(meta.keys()) - META
        if unknown:
            raise SpecError(f'{self.where}: unknown attributes of meta: {sorted(unknown)}')
        self.engine = meta.get('engine')
        self.cost = meta.get('cost')
        self.factor = number(meta.get('factor'), self.where)
        self.feature = meta.get('feature')
        if self.engine not in ENGINES:
            raise SpecError(f'{self.where}: engine {self.engine!r} is none of {ENGINES}')
        if self.cost not in COSTS:
            raise SpecError(f'{self.where}: cost {self.cost!r} is none of {COSTS}')
        self.operands = {role: Operand(meta.get(role), role, self.where)
                         for role in OPERANDS if meta.get(role)}
        self.same = meta.get('same', '').split()
        self.inplace = meta.get('inplace', '').split()
        for role in self.inplace + [s for s in self.same if s != 'ints']:
            if role not in self.operands:
                raise SpecError(f'{self.where}: {role} is no operand of it')
        fields = {f.name for f in self.fields}
        for role in OPERANDS:
            if (role.upper() in fields) != (role in self.operands):
                raise SpecError(f'{self.where}: {role} must be both a field and in <meta>')

    def split_display(self):
        """Returns the display as a list of (is_field, name of the field or fixed text)."""
        tokens = []
        for part in re.split(r'(\{[A-Z0-9]+\})', self.display):
            if part.startswith('{'):
                tokens.append((True, part[1:-1]))
            elif part:
                tokens.append((False, part))
        shown = [text for is_field, text in tokens if is_field]
        wanted = [f.name for f in self.fields] + ['NAME']
        if sorted(shown) != sorted(wanted):
            raise SpecError(f'{self.where}: its display must show each of {wanted} once')
        return tokens

    def check_pseudo(self):
        for name in re.findall(r'\{([A-Z0-9]+)\}', self.pseudo):
            if name not in [f.name for f in self.fields]:
                raise SpecError(f'{self.where}: its pseudo-code names the unknown field {name}')

    def field(self, name):
        for field in self.fields:
            if field.name == name:
                return field
        return None

    @property
    def opcode(self):
        """Returns OPC and SUB as one 16-bit number."""
        return self.match >> 112


class Root:
    def __init__(self, element):
        self.size = number(element.get('size'), 'root')
        self.fields = [Field(e, 'root') for e in element.findall('field')]
        self.patterns = [Pattern(e, 'root') for e in element.findall('pattern')]
        encode = element.find('encode')
        self.members = {}
        for item in encode.findall('map'):
            self.members[item.get('name')] = self.read_map(item.text, item.get('name'))

    @staticmethod
    def read_map(text, name):
        """Returns [(member, lowest bit)] for a text such as 'src->a | src->b << n'."""
        members = []
        for part in text.split('|'):
            found = re.fullmatch(r'\s*src->(\w+)(?:\s*<<\s*(\d+))?\s*', part)
            if not found:
                raise SpecError(f'map {name}: {text!r} is not of the form src->a | src->b << n')
            members.append((found.group(1), int(found.group(2) or 0)))
        return members


class Isa:
    def __init__(self, path):
        try:
            top = ElementTree.parse(path).getroot()
        except ElementTree.ParseError as error:
            raise SpecError(f'{path}: {error}') from None
        self.enums = {e.get('name'): Enum(e) for e in top.findall('enum')}
        self.constants = {}
        for constant in map(Constant, top.findall('constant')):
            if constant.name in self.constants:
                raise SpecError(f'constant {constant.name} is defined twice')
            self.constants[constant.name] = constant
        bitsets = top.findall('bitset')
        roots = [b for b in bitsets if b.get('extends') is None]
        if len(roots) != 1:
            raise SpecError(f'{path}: there must be one root, not {len(roots)}')
        self.root = Root(roots[0])
        root_name = roots[0].get('name')
        self.leaves = []
        for bitset in bitsets:
            if bitset is roots[0]:
                continue
            if bitset.get('extends') != root_name:
                raise SpecError(f'instruction {bitset.get("name")}: it must extend {root_name}')
            self.leaves.append(Leaf(bitset, self.root))
        self.blocks = [(e.get('name'), dedent_block(e.text)) for e in top.findall('pseudo')]
        self.check()

    def check(self):
        names = {}
        for leaf in self.leaves:
            if leaf.enumerator in names:
                raise SpecError(f'{leaf.where}: its enumerator is that of '
                                f'{names[leaf.enumerator]}')
            names[leaf.enumerator] = leaf.name
            for field in leaf.fields:
                self.check_field(field)
            self.check_cost(leaf)
        for index, one in enumerate(self.leaves):
            for other in self.leaves[index + 1:]:
                common = one.mask & other.mask
                if one.match & common == other.match & common:
                    raise SpecError(f'instructions {one.name} and {other.name} overlap')
        self.check_references()

    def check_cost(self, leaf):
        setup = self.constants.get('ONPU_CYCLES_DMA')
        if leaf.cost in ('dma', 'gather') and (not setup or leaf.factor != setup.value):
            raise SpecError(f'{leaf.where}: its factor {leaf.factor} is not ONPU_CYCLES_DMA')

    def check_field(self, field):
        if field.type.startswith('#'):
            if field.type not in self.enums:
                raise SpecError(f'{field.where}: no enum {field.type}')
            top = max(self.enums[field.type].values)
            if top >> field.width:
                raise SpecError(f'{field.where}: value {top} of {field.type} does not fit')
        elif field.type not in ('uint', 'hex', 'bool'):
            raise SpecError(f'{field.where}: type {field.type!r} is none of uint, hex, bool, enum')
        if field.name not in self.root.members:
            raise SpecError(f'{field.where}: no <map> in <encode>')

    def check_references(self):
        names = {name for name, _ in self.blocks}
        if len(names) != len(self.blocks):
            raise SpecError('two pseudo blocks have the same name')
        texts = [(f'block {n}', t) for n, t in self.blocks]
        texts += [(leaf.where, leaf.pseudo) for leaf in self.leaves]
        for where, text in texts:
            for name in re.findall(r'#[a-z][a-z0-9-]*', text):
                if name not in names:
                    raise SpecError(f'{where}: its pseudo-code refers to {name}, which is not '
                                    'defined')
