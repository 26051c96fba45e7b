# SPDX-License-Identifier: MIT
"""Helpers that the modules of the generator share: errors, C text, element documentation."""

import re
import textwrap


class SpecError(Exception):
    """The specification is malformed or contradicts itself; the message says where."""


LICENCE = '/* SPDX-License-Identifier: MIT */\n'


def banner(source, what):
    return f'{LICENCE}/*\n * {what}\n * Generated from {source}; do not edit.\n */\n'


def c_name(text):
    """Returns a name of the specification as part of a C identifier."""
    return re.sub(r'[^A-Za-z0-9]', '_', text)


def c_string(text):
    escaped = text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')
    return f'"{escaped}"'


def doc_of(element):
    """Returns the text of the element's <doc>, on one line; empty without one."""
    for child in element:
        if local(child.tag) == 'doc':
            return ' '.join((child.text or '').split())
    return ''


def local(tag):
    """Returns a tag without its XML namespace."""
    return tag.rsplit('}', 1)[-1]


def number(text, where):
    try:
        return int(text, 0)
    except (TypeError, ValueError):
        raise SpecError(f'{where}: {text!r} is not a number') from None


def bit_range(element, where):
    """Returns the bits (low, high) of a field or pattern, from its pos or its low and high."""
    if element.get('pos') is not None:
        low = high = number(element.get('pos'), where)
    else:
        low = number(element.get('low'), where)
        high = number(element.get('high'), where)
    if low > high:
        raise SpecError(f'{where}: low bit {low} is above high bit {high}')
    return low, high


def comment(text, indent=''):
    """Returns text as a C comment of one or more lines; no text gives no comment."""
    if not text:
        return ''
    text = text.replace('*/', '* /')
    width = 98 - 8 * indent.count('\t')
    if len(text) + 6 <= width:
        return f'{indent}/* {text} */\n'
    lines = textwrap.wrap(text, width - 3)
    return f'{indent}/*\n' + ''.join(f'{indent} * {line}\n' for line in lines) + f'{indent} */\n'


def define(name, value):
    """Returns the line that defines a number in C."""
    tabs = '\t' * max(1, (56 - len('#define ') - len(name) + 7) // 8)
    return f'#define {name}{tabs}{value}\n'


def dedent_block(text):
    return textwrap.dedent((text or '').strip('\n').expandtabs(8)).rstrip()
