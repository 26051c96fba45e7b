#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows that the tests notice planted errors: run.py LIST.py [NAME…]

LIST.py defines
  SETUP      shell commands that prepare the copy of the tree, once
  BUILD      shell command that builds what the tests need
  MUTATIONS  a list of {name, file, old, new, command}, optionally with a build of its own: the text
             old, which is in the file exactly once when white space is ignored, becomes new; then
             command must fail
  EVIDENCE   a regular expression for what the command says when it fails; optional. Without a
             match, such as after a timeout, the mutation counts as not caught

The sources are copied to a scratch directory, in which all commands run. First all commands must
pass on the unchanged copy. A mutation that does not build proves nothing and is an error of the
list. The output is TAP; the exit status is 0 when every mutation was caught.
"""

import argparse
import filecmp
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))


class Failure(Exception):
    """An error of the list or of the tree."""


def copy_tree(target):
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=TOP,
                           check=True, stdout=subprocess.PIPE).stdout.decode().split('\0')
    for name in filter(None, names):
        source = os.path.join(TOP, name)
        if os.path.lexists(source):
            copy = os.path.join(target, name)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            # An unchanged file keeps its time, a changed one gets a new time: builds in a kept copy
            # depend on that.
            if not os.path.lexists(copy) or \
               not os.path.islink(source) and not filecmp.cmp(source, copy, shallow=False):
                shutil.copy(source, copy, follow_symlinks=False)


def shell(command, tree, timeout=None):
    """Returns the exit status, None when it took too long, and the output."""
    try:
        done = subprocess.run(['bash', '-c', command], cwd=tree, timeout=timeout, text=True,
                              errors='replace', stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return None, 'it took too long\n'
    return done.returncode, done.stdout


def must_pass(command, tree):
    status, output = shell(command, tree)
    if status != 0:
        raise Failure(f'fails on the unchanged sources: {command}\n{output[-3000:]}')


def find(path, old):
    """Returns the text of a file that has the old text exactly once, and where that begins and
    ends.

    White space is ignored, as clang-format may change it.
    """
    with open(path, encoding='utf-8') as file:
        text = file.read()
    found = list(re.finditer(r'\s*'.join(map(re.escape, re.sub(r'\s', '', old))), text))
    if len(found) != 1:
        raise Failure(f'the old text is there {len(found)} times and not once')
    return text, *found[0].span()


def replace(path, old, new):
    """Replaces the old text by the new one; returns the file's previous content."""
    text, begin, end = find(path, old)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text[:begin] + new + text[end:])
    return text


def caught(mutation, definition, tree, timeout):
    """Returns the lines that show that the mutation's command fails; None when it passes."""
    path = os.path.join(tree, mutation['file'])
    text = replace(path, mutation['old'], mutation['new'])
    try:
        status, output = shell(mutation.get('build', definition['BUILD']), tree)
        if status != 0:
            raise Failure(f'it does not build:\n{output[-3000:]}')
        status, output = shell(mutation['command'], tree, timeout)
        if status == 0:
            return None
        found = re.search(definition.get('EVIDENCE', ''), output)
        if not found:
            raise Failure(f'it fails for another reason:\n{output[-3000:]}')
        return found.group()
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def run(definition, mutations, tree, timeout):
    missed = 0
    for command in definition['SETUP']:
        must_pass(command, tree)
    built = None
    for build, command in dict.fromkeys((m.get('build', definition['BUILD']), m['command'])
                                        for m in mutations):
        if build != built:
            must_pass(build, tree)
            built = build
        must_pass(command, tree)
    print(f'1..{len(mutations)}', flush=True)
    for number, mutation in enumerate(mutations, 1):
        try:
            why = caught(mutation, definition, tree, timeout)
            ok = why is not None
        except Failure as failure:
            ok, why = False, str(failure)
        missed += not ok
        print(f"{'ok' if ok else 'not ok'} {number} - {mutation['file']}: {mutation['name']}")
        print(''.join(f'# {line}\n' for line in (why or '').splitlines()), end='')
        sys.stdout.flush()
    return missed


def stale(mutations):
    """Prints the mutations that do not fit the sources any more; returns how many."""
    missed = 0
    for mutation in mutations:
        try:
            find(os.path.join(TOP, mutation['file']), mutation['old'])
        except (Failure, OSError) as failure:
            missed += 1
            print(f"{mutation['file']}: {mutation['name']}: {failure}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('list')
    parser.add_argument('name', nargs='*', help='only these mutations')
    parser.add_argument('--tree', metavar='FOLDER',
                        help='the copy of the sources; it is kept, and built faster the next time')
    parser.add_argument('--stale', action='store_true',
                        help='only see whether the mutations still fit the sources')
    parser.add_argument('--timeout', type=float, default=120, metavar='SECONDS',
                        help='a test that takes longer has failed')
    options = parser.parse_args()
    definition = runpy.run_path(options.list)
    known = {m['name'] for m in definition['MUTATIONS']}
    unknown = set(options.name) - known
    if unknown:
        sys.exit(f'run.py: no mutation named {", ".join(sorted(unknown))}')
    wanted = options.name or known
    chosen = [m for m in definition['MUTATIONS'] if m['name'] in wanted]
    if options.stale:
        sys.exit(1 if stale(chosen) else 0)
    # The copy is below the sources and not in /tmp, as guests see only the checkout.
    build = os.path.join(TOP, 'build')
    os.makedirs(build, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='mutations-', dir=build) as scratch:
        tree = options.tree or scratch
        copy_tree(tree)
        try:
            sys.exit(1 if run(definition, chosen, tree, options.timeout) else 0)
        except Failure as failure:
            sys.exit(f'run.py: {failure}')


if __name__ == '__main__':
    main()
