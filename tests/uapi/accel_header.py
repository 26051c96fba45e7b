# SPDX-License-Identifier: MIT
"""Reads uapi/drm/onpu_accel.h: its structures, enums and macros, and their kernel-doc.

The header keeps to a narrow style (in-line kernel-doc, one declaration per line), and a line in
another style is an error: so nothing can hide from the checks.
"""

import re

_BLOCK = re.compile(r'/\*\*\n(?P<doc>(?: \*.*\n)*?) \*/\n(?P<code>[^\n]*)')
_ITEM = re.compile(r'^(?P<kind>struct|enum) (?P<name>\w+) \{\n(?P<body>.*?)^\};$', re.M | re.S)
_FIELD = re.compile(r'^\t(?P<type>struct \w+|\w+) (?P<name>\w+)(?:\[\w+\])?;$')
_VALUE = re.compile(r'^\t(?P<name>\w+) = (?P<value>\d+(?: << \d+)?),$')
_DEFINE = re.compile(r'^#define (?P<name>\w+)', re.M)


class Entry:
    """Has a member of a structure or a value of an enum, with its comment."""

    def __init__(self, name, ctype, documented, doc):
        self.name = name
        self.ctype = ctype
        self.documented = documented
        self.doc = doc


class Item:
    """Has a structure or an enum, with its comment and entries."""

    def __init__(self, kind, name, doc, entries):
        self.kind = kind
        self.name = name
        self.doc = doc
        self.entries = entries


class Header:
    """Has the declarations of the header, their comments, and the problems that reading found."""

    def __init__(self, text):
        self.text = text
        self.problems = []
        self.code = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
        self.comments = re.findall(r'/\*\*.*?\*/', text, flags=re.S)
        self.sections = re.findall(r'^ \* DOC: (.+)$', text, flags=re.M)
        self.defines = _DEFINE.findall(self.code)
        self.items = {}
        titles = self._titles()
        for match in _ITEM.finditer(text):
            self._add_item(match, titles)
        declared = re.findall(r'^(?:struct|enum|union)\b.*\{', self.code, flags=re.M)
        if len(declared) != len(self.items):
            self.problems.append('a structure or enum is not in the style that is read')

    def _titles(self):
        """Returns {line of code: text of the kernel-doc comment before it}."""
        return {m['code']: re.sub(r'^ \* ?', '', m['doc'], flags=re.M)
                for m in _BLOCK.finditer(self.text)}

    def _add_item(self, match, titles):
        kind, name = match['kind'], match['name']
        doc = titles.get(f'{kind} {name} {{')
        if doc is None:
            self.problems.append(f'{name}: no kernel-doc')
        entries = list(self._entries(name, kind, match['body']))
        self.items[name] = Item(kind, name, doc or '', entries)

    def _entries(self, owner, kind, body):
        pattern = _FIELD if kind == 'struct' else _VALUE
        documented, doc = None, ''
        for token in re.findall(r'\t/\*\*.*?\*/|[^\n]+', body, flags=re.S):
            if token.startswith('\t/**'):
                if documented:
                    self.problems.append(f'{owner}: @{documented} is followed by no member')
                documented, doc = self._inline_doc(owner, token)
                continue
            match = pattern.match(token)
            if not match:
                self.problems.append(f'{owner}: not understood: {token.strip()}')
                continue
            yield Entry(match['name'], match.groupdict().get('type'), documented, doc)
            documented, doc = None, ''
        if documented:
            self.problems.append(f'{owner}: @{documented} is followed by no member')

    def _inline_doc(self, owner, comment):
        text = re.sub(r'^\s*/?\*+/?|\*/$', '', comment, flags=re.M)
        text = ' '.join(text.split())
        match = re.match(r'@(\w+): (.+)$', text)
        if not match:
            self.problems.append(f'{owner}: not kernel-doc: {text}')
            return None, ''
        return match[1], match[2]


def _check_item(item):
    """Yields the problems of one structure or enum: a bad title, no entries, an entry without text
    or name."""
    if not re.match(rf'{item.kind} {item.name} - \S.*\.\n', item.doc):
        yield f'{item.name}: the title must be "{item.kind} {item.name} - Sentence."'
    if not item.entries:
        yield f'{item.name}: is empty'
    names = [entry.name for entry in item.entries]
    for entry in item.entries:
        if entry.documented is None:
            yield f'{item.name}.{entry.name}: no kernel-doc'
        elif entry.documented != entry.name:
            yield f'{item.name}.{entry.name}: kernel-doc is for @{entry.documented}'
        elif not re.search(r'\w.*\.$', entry.doc):
            yield f'{item.name}.{entry.name}: no sentence'
    for text in [item.doc] + [entry.doc for entry in item.entries]:
        for name in re.findall(r'@(\w+)', text):
            if name not in names:
                yield f'{item.name}: @{name} is no member'


def _check_references(header):
    """Yields a problem for each name in comments that should be declared here and is not."""
    values = {e.name for i in header.items.values() if i.kind == 'enum' for e in i.entries}
    known = values | set(header.defines)
    comments = '\n'.join(header.comments)
    for name in sorted(set(re.findall(r'\b(?:DRM_IOCTL_ONPU|DRM_ONPU|ONPU)_\w+', comments))):
        if name not in known:
            yield f'comment names {name}, which is not declared'
    for kind, name, member in re.findall(r'&(struct |enum |)(\w+)(?:\.(\w+))?', comments):
        item = header.items.get(name)
        if item is None or (kind and kind.strip() != item.kind):
            yield f'comment refers to {kind}{name}, which is not declared'
        elif member and member not in {entry.name for entry in item.entries}:
            yield f'comment refers to {name}.{member}, which is not declared'
        elif not kind and not member:
            yield f'comment refers to {name} without struct, enum or member'
    for name in sorted(set(re.findall(r'\b(?:drm_)?onpu_\w+', comments))):
        if name not in header.items and name != 'onpu_accel':
            yield f'comment names {name}, which is not declared'


def _check_macros(header):
    """Yields a problem for each macro with neither kernel-doc nor an entry in a DOC section."""
    comments = '\n'.join(header.comments)
    directive = r'^ \* \.\. c:macro:: ((?:\w+\n \* {14})*\w+)\n \*\n \*    \S'
    described = {name for names in re.findall(directive, comments, flags=re.M)
                 for name in re.findall(r'\w+', names)}
    described |= set(re.findall(r'^ \* (\w+)\(\) - \S', comments, flags=re.M))
    for name in header.defines:
        if name not in described and name != '_ONPU_ACCEL_H_':
            yield f'{name}: no kernel-doc'
    for name in sorted(described - set(header.defines)):
        yield f'{name}: kernel-doc without macro'


def _check_types(header):
    """Yields a problem for each member whose type has no fixed layout."""
    for item in header.items.values():
        for entry in item.entries:
            plain = entry.ctype in (None, '__u8', '__u16', '__u32', '__u64')
            if not plain and entry.ctype.removeprefix('struct ') not in header.items:
                yield f'{item.name}.{entry.name}: type {entry.ctype} is not allowed'


def problems(text):
    """Returns all problems of the header's style and documentation, as a list of sentences."""
    header = Header(text)
    found = list(header.problems)
    for item in header.items.values():
        found += _check_item(item)
    found += _check_references(header)
    found += _check_macros(header)
    found += _check_types(header)
    return found
