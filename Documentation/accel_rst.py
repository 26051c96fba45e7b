# SPDX-License-Identifier: MIT
"""Makes a page of the kernel-doc in uapi/drm/onpu_accel.h: accel_rst.py HEADER PAGE

The header is read by what also checks it, tests/uapi/accel_header.py.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests' / 'uapi'))
import accel_header  # noqa: E402

BLOCK = re.compile(r'^/\*\*\n((?: \*.*\n)*?) \*/\n([^\n]*)', re.M)
TITLE = '''.. SPDX-License-Identifier: MIT

Interface of the driver
=======================

What ``uapi/drm/onpu_accel.h`` says.

'''


def marked(text):
    """Returns the text with the marks of kernel-doc as literals; its directives stay."""
    text = re.sub(r'&(?:struct |enum )?([\w.]+\w)', r'``\1``', text)
    return re.sub(r'[%@](\w+)', r'``\1``', text)


def heading(text, line):
    return f'{text}\n{line * len(text)}\n\n'


def declared(kind, declaration, text):
    """Returns a description that the index lists, by Sphinx's domain c."""
    lines = ''.join(f'   {line}\n' if line.strip() else '\n' for line in text.strip().split('\n'))
    return f'.. c:{kind}:: {declaration}\n\n{lines}\n'


def item_text(item):
    title, _, rest = item.doc.partition('\n')
    text = marked(title.split(' - ', 1)[1]) + '\n\n' + marked(rest).strip() + '\n\n'
    for entry in item.entries:
        kind, before = ('member', f'{entry.ctype} ') if entry.ctype else ('enumerator', '')
        text += declared(kind, before + entry.name, marked(entry.doc))
    return declared(item.kind, item.name, text)


def page(header):
    text = TITLE
    for doc, code in BLOCK.findall(header.text):
        doc = re.sub(r'^ \* ?', '', doc, flags=re.M)
        item = re.match(r'(?:struct|enum) (\w+) \{', code)
        if item:
            text += item_text(header.items[item[1]])
        elif doc.startswith('DOC: '):
            title, _, rest = doc[len('DOC: '):].partition('\n')
            text += heading(title, '-') + marked(rest).strip() + '\n\n'
        else:
            name, _, rest = doc.partition('\n')
            macro, _, what = name.partition(' - ')
            text += declared('macro', macro, what + '\n\n' + re.sub(
                r'^@(\w+): ', r'\n``\1``: ', marked_lines(rest), flags=re.M))
    return text


def marked_lines(text):
    return re.sub(r'[%&](\w+)', r'``\1``', text)


def main():
    source, target = sys.argv[1:]
    header = accel_header.Header(pathlib.Path(source).read_text(encoding='utf-8'))
    pathlib.Path(target).write_text(page(header), encoding='utf-8')


if __name__ == '__main__':
    main()
