#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what our generator makes of isa.xml and registers.xml with what Mesa's tools make.

  compare_mesa.py isa|registers --mesa DIR --include DIR --work DIR -- COMPILER...

DIR of --mesa holds Mesa's source files (scripts/fetch-mesa.sh). Exit status 77: they are not there.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
UAPI = os.path.join(TOP, 'uapi', 'onpu')
SKIP = 77

sys.path.insert(0, UAPI)
from generator.regs_model import Array, Registers  # noqa: E402


class Failure(Exception):
    pass


def run(command, **arguments):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False, **arguments)
    if result.returncode:
        raise Failure(f'{" ".join(command)}:\n{result.stdout}')
    return result.stdout


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


OWN_ATTRIBUTES = ('access', 'constants', 'header', 'member', 'reset', 'struct')


def strip_own(tree):
    """Removes elements and attributes that our files have and Mesa's formats do not."""
    for parent in list(tree.iter()):
        if tree.tag != 'isa':
            for name in OWN_ATTRIBUTES:
                parent.attrib.pop(name, None)
        for child in list(parent):
            if child.tag.rsplit('}', 1)[-1] in ('pseudo', 'constant'):
                parent.remove(child)


def stripped_copy(name, work):
    # gen_header.py knows only elements without a prefix.
    ElementTree.register_namespace('', 'http://nouveau.freedesktop.org/')
    ElementTree.register_namespace('xsi', 'http://www.w3.org/2001/XMLSchema-instance')
    tree = ElementTree.parse(os.path.join(UAPI, name))
    strip_own(tree.getroot())
    path = os.path.join(work, name)
    tree.write(path)
    return path


def generate_isaspec(options, xml):
    isaspec = os.path.join(options.mesa, 'src', 'compiler', 'isaspec')
    out = run([sys.executable, '-B', os.path.join(isaspec, 'decode.py'), '--xml', xml,
               '--out-c', os.path.join(options.work, 'onpu-isa.c'),
               '--out-h', os.path.join(options.work, 'onpu-isa.h')])
    out += run([sys.executable, '-B', os.path.join(isaspec, 'encode.py'), '--xml', xml,
                '--out-h', os.path.join(options.work, 'onpu-encode.h')])
    if 'WARNING' in out:
        raise Failure(f'isaspec complains about isa.xml:\n{out}')
    # The decoder includes a header of the instruction set; it needs nothing from it.
    write(os.path.join(options.work, 'isa.h'), '')
    return isaspec


def compare_isa(options):
    isaspec = generate_isaspec(options, stripped_copy('isa.xml', options.work))
    program = os.path.join(options.work, 'mesa-isa')
    sources = [os.path.join(HERE, 'mesa_isa.c'), os.path.join(options.work, 'onpu-isa.c'),
               os.path.join(isaspec, 'isaspec.c'),
               os.path.join(TOP, 'userspace', 'src', 'isa', 'assembler.c'),
               os.path.join(options.include, 'onpu', 'isa.c')]
    folders = [options.work, os.path.join(HERE, 'shim'), isaspec,
               os.path.join(options.mesa, 'src'), options.include, HERE,
               os.path.join(TOP, 'userspace', 'src')]
    run(options.compiler + ['-std=gnu11', '-D_GNU_SOURCE', '-w', '-O1'] +
        [f'-I{folder}' for folder in folders] + sources + ['-o', program])
    print(run([program]).strip())


def mask_of(prefix, field):
    """Returns the name of a field's mask in gen_header.py's header, and the name in ours."""
    stem = f'{prefix}_{field.name}'
    return (stem if field.type == 'boolean' else stem + '__MASK'), stem + '__MASK'


def domain_values(domain):
    """Yields pairs of C expressions that must be equal: gen_header.py's and ours."""
    stem = domain.name.removeprefix('ONPU').lstrip('_')
    ours = 'ONPU_REG_' + (stem + '_' if stem else '')
    theirs = f'REG_{domain.name}_'
    for item in domain.items:
        registers = item.registers if isinstance(item, Array) else [item]
        for reg in registers:
            name = f'{item.name}_{reg.name}' if isinstance(item, Array) else reg.name
            if isinstance(item, Array):
                for index in range(item.length):
                    yield f'{theirs}{name}({index})', f'{ours}{name}({index})'
            else:
                yield theirs + name, ours + name
            for field in reg.fields:
                mask, our_mask = mask_of(f'{domain.name}_{name}', field)
                yield mask, our_mask
                if field.type != 'boolean':
                    shift = f'{domain.name}_{name}_{field.name}__SHIFT'
                    yield shift, shift


def printer(header, names):
    """Returns a program in C that prints the values of these names, one a line."""
    lines = [f'\tprintf("%llu\\n", (unsigned long long)({name}));' for name in names]
    return ('#include <stdio.h>\n#include <stdint.h>\n' + f'#include "{header}"\n' +
            'int main(void)\n{\n' + '\n'.join(lines) + '\n\treturn 0;\n}\n')


def values_of(options, label, headers, names):
    source = os.path.join(options.work, f'values-{label}.c')
    includes = '"\n#include "'.join(headers)
    write(source, printer(includes, names))
    program = source.removesuffix('.c')
    run(options.compiler + ['-std=gnu11', '-w', f'-I{options.include}', f'-I{options.work}', source,
                            '-o', program])
    return run([program]).split()


def compare_registers(options):
    tool = os.path.join(options.mesa, 'src', 'freedreno', 'registers', 'gen_header.py')
    xml = stripped_copy('registers.xml', options.work)
    header = run([sys.executable, '-B', tool, '--rnn', os.path.dirname(tool), '--xml', xml,
                  'c-defines'])
    write(os.path.join(options.work, 'mesa-registers.h'), header[header.index('#ifndef'):])
    registers = Registers(os.path.join(UAPI, 'registers.xml'))
    pairs = [pair for domain in registers.domains for pair in domain_values(domain)]
    pairs += [(value.name, value.name) for enum in registers.enums for value in enum.values]
    theirs = values_of(options, 'mesa', ['mesa-registers.h'], [a for a, _ in pairs])
    ours = values_of(options, 'ours', ['onpu/registers.h', 'onpu/slots.h'], [b for _, b in pairs])
    if len(theirs) != len(pairs) or len(ours) != len(pairs):
        raise Failure('a program printed too few values')
    for (name, _), one, other in zip(pairs, theirs, ours):
        if one != other:
            raise Failure(f'{name}: gen_header.py says {one}, our generator {other}')
    print(f'{len(pairs)} values compared')


def missing(options):
    """Returns a text that tells what is missing for the comparison, or None."""
    if not os.path.exists(os.path.join(options.mesa, 'src', 'compiler', 'isaspec', 'isa.py')):
        return f'no Mesa source in {options.mesa}; scripts/fetch-mesa.sh brings it'
    if options.what == 'isa' and importlib.util.find_spec('mako') is None:
        return 'isaspec needs the package python3-mako'
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('isa', 'registers'))
    parser.add_argument('--mesa', required=True)
    parser.add_argument('--include', required=True)
    parser.add_argument('--work', required=True)
    parser.add_argument('compiler', nargs='+')
    options = parser.parse_args()
    reason = missing(options)
    if reason:
        print(f'SKIP: {reason}')
        return SKIP
    os.makedirs(options.work, exist_ok=True)
    try:
        {'isa': compare_isa, 'registers': compare_registers}[options.what](options)
    except Failure as failure:
        print(failure)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
