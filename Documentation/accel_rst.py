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
    """Kernel-doc's marks as literals; its directives stay."""
    text = re.sub(r'&(?:struct |enum )?([\w.]+\w)', r'``\1``', text)
    return re.sub(r'[%@](\w+)', r'``\1``', text)


def heading(text, line):
    return f'{text}\n{line * len(text)}\n\n'


def item_text(item):
    title, _, rest = item.doc.partition('\n')
    text = heading(f'{item.kind} {item.name}', '~')
    text += marked(title.split(' - ', 1)[1]) + '\n\n' + marked(rest).strip() + '\n\n'
    for entry in item.entries:
        kind = f' ({entry.ctype})' if entry.ctype else ''
        text += f'``{entry.name}``{kind}\n   {marked(entry.doc)}\n\n'
    return text


def page(header):
    text = TITLE
    for doc, code in BLOCK.findall(header.text):
        doc = re.sub(r'^ \* ?', '', doc, flags=re.M)
        declared = re.match(r'(?:struct|enum) (\w+) \{', code)
        if declared:
            text += item_text(header.items[declared[1]])
        elif doc.startswith('DOC: '):
            title, _, rest = doc[len('DOC: '):].partition('\n')
            text += heading(title, '-') + marked(rest).strip() + '\n\n'
        else:
            name, _, rest = doc.partition('\n')
            macro, _, what = name.partition(' - ')
            text += heading(macro, '~') + what + '\n\n'
            text += re.sub(r'^@(\w+): ', r'\n``\1``: ', marked_lines(rest), flags=re.M) + '\n\n'
    return text


def marked_lines(text):
    return re.sub(r'[%&](\w+)', r'``\1``', text)


def main():
    source, target = sys.argv[1:]
    header = accel_header.Header(pathlib.Path(source).read_text(encoding='utf-8'))
    pathlib.Path(target).write_text(page(header), encoding='utf-8')


if __name__ == '__main__':
    main()
