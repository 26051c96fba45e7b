# SPDX-License-Identifier: MIT
"""Makes a page of the documentation in <webnn/onnx.h> or <webnn/stablehlo.h>: onnx_h_rst.py HEADER PAGE

Functions, structures and values go into the index, by Sphinx's domain c.
"""

import pathlib
import re
import sys

COMMENT = r'/\*\*\s*\n?(?P<doc>(?:(?!\*/).)*)\*/\n'
ITEM = re.compile(r'^' + COMMENT + r'(?P<code>WNN_EXPORT [^;]*;|typedef struct \w+Impl \*\w+;|'
                  r'typedef (?:enum|struct) \w+ \{\n.*?^\} \w+;|#define \w+ [^\n]*)', re.M | re.S)
MEMBER = re.compile(r'^\t' + COMMENT + r'\t(?P<code>[^\n]*)[;,]?$', re.M | re.S)
TITLE = '''.. SPDX-License-Identifier: MIT

{title}
{line}

What ``<webnn/{name}.h>`` says. :doc:`/{name}` tells how the functions go together.

'''
TITLES = {'onnx': 'Reference of the import of ONNX', 'stablehlo': 'Reference of StableHLO programs'}


def plain(text):
    """Returns the words of a comment, paragraph by paragraph; lists stay lists."""
    text = re.sub(r'^[ \t]*\* ?', '', text, flags=re.M).strip()
    return re.sub(r'\b(wnn\w+)\(\)', r':c:func:`\1`', text)


def indented(text):
    return ''.join(f'   {line}\n' if line.strip() else '\n' for line in text.split('\n')) + '\n'


def declared(kind, declaration, body):
    return f'.. c:{kind}:: {" ".join(declaration.split())}\n\n' + indented(body)


def function_body(doc):
    """Returns the text of a comment, with its tags as paragraphs."""
    head, *tags = re.split(r'^@(?=param|return)', doc, flags=re.M)
    text, parameters = head.strip() + '\n\n', ''
    for tag in tags:
        tag, _, errors = tag.partition('Errors:')
        words = ' '.join(tag.split())
        if words.startswith('param '):
            _, name, what = words.split(' ', 2)
            parameters += f'``{name}``\n   {what}\n'
            continue
        text += parameters + '\nReturns: ' + words.removeprefix('return ') + '\n\n'
        parameters = ''
        if errors:
            text += 'Errors:\n\n' + re.sub(r'^- ', '* ', errors.strip(), flags=re.M) + '\n\n'
    return text + parameters


def members(code, kind):
    text = ''
    for member in MEMBER.finditer(code):
        declaration = member['code'].rstrip(';,')
        if kind == 'enumerator':
            declaration = declaration.split(' = ')[0]
        text += declared(kind, declaration, plain(member['doc']))
    return text


def item_text(doc, code):
    words = code.split()
    if code.startswith('WNN_EXPORT'):
        return declared('function', code.removeprefix('WNN_EXPORT ').rstrip(';'), function_body(doc))
    if words[0] == '#define':
        return declared('macro', words[1].split('(')[0], doc)
    if words[1] in ('enum', 'struct') and '{' in code:
        kind = 'enumerator' if words[1] == 'enum' else 'member'
        return declared(words[1], words[2], doc + '\n\n' + members(code, kind))
    return declared('type', words[-1].lstrip('*').rstrip(';'), doc)


def main():
    source, target = sys.argv[1:]
    header = pathlib.Path(source).read_text(encoding='utf-8')
    name = pathlib.Path(source).stem
    title = TITLES[name]
    text = TITLE.format(title=title, line='=' * len(title), name=name)
    text += ''.join(item_text(plain(i['doc']), i['code']) for i in ITEM.finditer(header))
    missing = [name for name in re.findall(r'^WNN_EXPORT [^(]*?\*?(wnn\w+)\(', header, re.M)
               if f' {name}(' not in text]
    if missing:
        sys.exit(f'{source}: no documentation was found for {", ".join(missing)}')
    pathlib.Path(target).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
