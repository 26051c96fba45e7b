#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets: every instruction and every operator at least once in each.

  make_corpus.py DIR [TARGET…] writes into DIR/TARGET, which it empties before; the default is all
  targets

The output depends on isa.xml, registers.xml, webnn.json and tests/library/ir/passes only, so it is
made when a fuzzer runs.
Inputs that once found an error are kept in regressions/TARGET.
"""

import io
import json
import os
import random
import re
import shutil
import struct
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'uapi', 'onpu'))

from generator.isa_model import Isa  # noqa: E402

from make_builder_corpus import builder_seeds  # noqa: E402
from vfio_user_seeds import vfio_user_seeds  # noqa: E402

OPERANDS = ('DST', 'S0', 'S1', 'S2', 'PARAM')
# Layout bytes of template.c that leave every operand in a region of its own.
LAYOUTS = (0x00, 0x10, 0x01, 0x12, 0x04)
# Bytes of dimensions as template.c reads them: numbers below sixteen choose from its table.
DIMENSIONS = (1, 2, 3, 4, 5, 7, 8, 9, 10, 0x83, 0x91)


def enum_text(isa, name, rng):
    return rng.choice([text for text in isa.enums[name].values.values()])


def field_text(isa, field, rng):
    if field.type == 'bool':
        return rng.choice(['', field.display])
    if field.type in ('uint', 'int'):
        value = rng.choice([1, 5, (1 << field.width) - 1])
        return str(value & ((1 << field.width) - 1))
    if field.type == 'hex':
        return f'{rng.getrandbits(field.width):x}'
    return enum_text(isa, field.type, rng)


def instruction_text(isa, leaf, rng):
    """Returns a line of assembler: the display string with values in place of its fields."""
    fields = {field.name: field for field in leaf.fields}
    text = leaf.display
    for name, field in fields.items():
        text = text.replace('{' + name + '}', field_text(isa, field, rng))
    return text.replace('{NAME}', leaf.name)


def word(leaf, rng):
    value = leaf.match | (rng.getrandbits(128) & ~leaf.mask)
    return struct.pack('<4I', *((value >> 32 * i) & 0xffffffff for i in range(4)))


def template(leaf, rng):
    """Returns the bytes that template_make() of template.c reads for one instruction."""
    choice = bytes(rng.getrandbits(8) for _ in range(4))
    choice += bytes(rng.choice(LAYOUTS) for _ in range(4))
    choice += bytes([rng.getrandbits(3), rng.getrandbits(6)])
    choice += bytes(rng.choice(DIMENSIONS) for _ in range(16))
    choice += bytes([rng.getrandbits(5), rng.getrandbits(3), 0, rng.getrandbits(8)])
    choice += bytes(rng.getrandbits(8) & mask for mask in (0x7f, 3, 3, 3, 0, 0, 0, 0) * 3)
    others = sum(field.name not in OPERANDS for field in leaf.fields)
    return choice + bytes([0]) + bytes(rng.getrandbits(8) for _ in range(4 * others))


def asm_seeds(isa, rng):
    leaves = isa.leaves
    for at in range(0, len(leaves), 10):
        lines = [instruction_text(isa, leaf, rng) for leaf in leaves[at:at + 10]]
        yield f'text-{at // 10}', ('; seed\n' + '\n'.join(lines) + '\n').encode()
    yield 'text-word', b'.word 0x0 0x1 0xffffffff 0x00010000 # comment\nvadd d1 , d2,d3\n vad\n'
    for at in range(0, len(leaves), 30):
        yield f'words-{at // 30}', bytes([0, 0]) + b''.join(
            word(leaf, rng) for leaf in leaves[at:at + 30])
    slots = bytes([3, 1]) + bytes(126) + bytes([1, 10, 1, 0]) + bytes(28) + bytes([4]) + bytes(95)
    yield 'program', bytes([2, 2]) + slots + b''.join(word(leaf, rng) for leaf in leaves[:8])


def slots_seeds(isa, rng):
    for number, leaf in enumerate(isa.leaves):
        flags = 0xc4 | rng.getrandbits(2)
        yield leaf.name, bytes([flags, number]) + template(leaf, rng) + bytes(8)


def stream_seeds(isa, rng):
    order = list(enumerate(isa.leaves))
    rng.shuffle(order)
    for at in range(0, len(order), 4):
        out = bytes([rng.choice((0x1c, 0xd4)) | rng.getrandbits(2)]) + bytes([1] * 8) + bytes(16)
        for number, leaf in order[at:at + 4]:
            out += bytes([0x81, number]) + template(leaf, rng)
        number, leaf = rng.choice(order)
        out += bytes([0x40, number]) + word(leaf, rng)
        yield f'mixed-{at // 4}', out


# Moves of fuzz_registers.c, in the order of their numbers there.
MOVES = ('run', 'write', 'read', 'access', 'poke', 'pte', 'invalidate', 'request', 'any_request',
         'submit', 'submit_changed', 'reset', 'parity', 'saved', 'boot', 'preempt')
START, DAMAGED, UNFIXED, OWN_CODE, STICKY, TWICE = 1, 2, 4, 8, 16, 32


def move(name, *operands):
    """Returns the bytes of a move of fuzz_registers.c. Each operand is bytes, or an integer, which
    becomes one byte."""
    return bytes([MOVES.index(name)]) + b''.join(
        bytes([x]) if isinstance(x, int) else x for x in operands)


def job(isa, name, context, opcode, rng):
    leaf = isa.leaves[opcode]
    return move(name, context, opcode) + template(leaf, rng) + bytes(8)


def registers_seeds(isa, rng):
    run = move('run', b'\x00\x80')
    names = [leaf.name for leaf in isa.leaves]
    for at in range(0, len(names), 6):
        out = bytes([START | TWICE, 0])
        for opcode in range(at, min(at + 6, len(names))):
            out += job(isa, rng.choice(('submit', 'preempt')), opcode & 1, opcode, rng)
            out += run if opcode & 1 else move('run', b'\x80\x00')
        yield f'jobs-{at // 6}', out
    add = names.index('vadd')
    pair = job(isa, 'preempt', 0, add, rng) + job(isa, 'preempt', 1, add, rng)
    ready = bytes([START, 0])
    damage = move('saved', 0, b'\x10\x00\x01')
    yield 'switch', ready + move('request', 8, 1) + pair * 2 + run + damage + run
    yield 'requests', ready + b''.join(move('request', i, 3) + run for i in range(10))
    yield 'any-requests', ready + b''.join(
        move('any_request', i, 5, b''.join(bytes([k, 0, 0, 0]) for k in range(5))) + run
        for i in range(13))
    yield 'kill', b''.join([ready, pair, move('run', b'\x10\x00'), move('request', 0, 0), run,
                            move('request', 1, 0), run])
    forget = move('invalidate', bytes([1, 0, 0, 0]), bytes([0, 0, 0, 16]), bytes([1, 0]), 7)
    yield 'unmap', b''.join([bytes([START | STICKY, 0]), pair, move('pte', 0, bytes([1] + [0] * 7)),
                             pair, run, forget, pair, run])
    yield 'parity', ready + pair + move('parity') + run + run
    yield 'reset', ready + pair + move('reset') + run + move('boot') + pair + run
    yield 'changed', ready + b''.join(
        job(isa, 'submit_changed', 0, add, rng)[:-8] + bytes(8) + bytes([4 * i, 0, 1]) + run
        for i in range(16))
    yield 'by-hand', bytes([0, 0]) + b''.join(
        move('write', i, bytes([1, 0, 0, 0])) + move('read', i) for i in range(24))
    yield 'accesses', ready + b''.join(
        move('access', k, bytes([0, 4 * i, 0, 0])) + (bytes(8) if k < 128 else b'')
        for i in range(6) for k in (0x40, 0x42, 0xc2, 0x43))
    yield 'bad-image', bytes([START | DAMAGED | UNFIXED, 0, 8, 0, 1, 16, 0, 1, 32, 0, 1]) + run
    change = bytes([1, 80, 0, 64, 200, 1, 2, 16, 3, 255])
    yield 'changed-image', bytes([START | DAMAGED]) + change + run + pair
    code = struct.pack('<8I', 0x400000b7, 0x0000a103, 0x0100a183, 0x0220a823, 0x30046073,
                       0x10500073, 0xff1ff06f, 0)
    yield 'own-code', bytes([START | OWN_CODE]) + code.ljust(128, b'\0') + bytes([0]) + run * 3


# Moves of fuzz_firmware.c, in the order of their numbers there.
FIRMWARE_MOVES = ('run', 'settle', 'request', 'any_request', 'take', 'doorbell', 'jobs', 'tail',
                  'head', 'fault', 'dma_error', 'kill_delay', 'refuse', 'later', 'memory', 'interrupt')
HOSTILE, READY, DEBUG = 1, 2, 4


def firmware_seeds(_, rng):
    def do(name, *operands):
        return bytes([FIRMWARE_MOVES.index(name)]) + b''.join(
            bytes([x]) if isinstance(x, int) else x for x in operands)

    run, settle, take = do('run', b'\x00\x04'), do('settle'), do('take', 8)
    ring = b''.join(do('doorbell', i, 3) for i in range(6))
    yield 'jobs', bytes([READY]) + ring + run + ring + settle
    yield 'slices', bytes([READY | DEBUG]) + do('request', 8, 10, 0) + ring * 2 + settle
    yield 'faults', bytes([READY]) + b''.join(do('jobs', i, 90, 7, 5 + i) for i in range(6)) + (
        ring + settle + take + settle)
    yield 'requests', bytes([0]) + b''.join(
        do('request', i, i, i) + settle + take for i in (9, 10, 0, 5, 6, 7, 8, 2, 1, 3, 4))
    yield 'any-request', bytes([READY]) + b''.join(
        do('any_request', struct.pack('<16I', i, 7, 0, 0, i % 4, i % 3, *[0] * 10)) + settle + take
        for i in range(14))
    yield 'kill', bytes([READY]) + ring + run + do('kill_delay', 30) + b''.join(
        do('request', 2, i, 0) + do('later', 9 + i) + settle + do('doorbell', i, 1)
        for i in range(6)) + take
    yield 'unbind', bytes([READY]) + b''.join(
        do('later', 4 * i) + do('request', 1, i, i) + settle + do('doorbell', i, 1) + take
        for i in range(6)) + settle
    yield 'full', bytes([READY]) + do('request', 5, 0, 0) * 8 + settle + ring + do('fault', 3) + (
        settle + take + settle)
    yield 'indices', bytes([READY]) + ring + do('tail', b'\xff\xff\xff\x7f') + settle
    yield 'head', bytes([READY]) + do('head', b'\x01\x02\x03\x04') + settle
    yield 'dma', bytes([READY | DEBUG]) + do('dma_error', 9) + ring + (
        do('request', 6, 0, 0) + settle)
    yield 'refused', bytes([READY]) + do('refuse', 1) + do('request', 0, 1, 7) + settle
    for i in range(4):
        yield f'hostile-{i}', bytes([HOSTILE, 7, 5]) + bytes(
            [0, 3 + i, 0, 3, 0, 12 + i]) + rng.randbytes(40)


# A sharding of each kind, for 4 partitions.
PARTITIONED = b'''sdy.mesh @m = <["x"=2, "y"=2], device_ids=[1, 2, 3, 0]>
sdy.mesh @q = <["q"=4]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y", ?}p1]>, tf.aliasing_output = 0 : i32},
    %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@q, [{"q":(2)2}], replicated={"q":(1)2}>})
    -> (tensor<4x4xf32>, tensor<4xf32> {sdy.sharding = #sdy.sharding<@q, [{"q"}]>}) {
  %r = sdy.manual_computation(%a) in_shardings=[<@m, [{"y"}, {"x"}]>] out_shardings=[<@m, [{"x", "y"}, {}]>]
      manual_axes={"x", "y"} (%s: tensor<2x2xf32>) {
    %t = stablehlo.reshape %s : (tensor<2x2xf32>) -> tensor<1x4xf32>
    sdy.return %t : tensor<1x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = func.call @twice(%r) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c, %b : tensor<4x4xf32>, tensor<4xf32>
}
func.func private @twice(%v: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = stablehlo.add %v, %v : tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
'''


def stablehlo_text_seeds(*_):
    """Yields the programs of the StableHLO tests, module by module, and one for 4 partitions."""
    # fuzz_stablehlo() loads it for 4 partitions when the sum of the bytes is 1 modulo 3.
    yield 'partitioned', PARTITIONED + b'\n' * ((1 - sum(PARTITIONED)) % 3)
    folder = os.path.join(HERE, '..', 'stablehlo', 'programs')
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            for number, module in enumerate(file.read().split('// -----\n')):
                yield f'{name}-{number}', module.encode()


def stablehlo_bytecode_seeds(*_):
    """Yields files in every version of the format, without their first four bytes."""
    sys.path.insert(0, os.path.join(HERE, '..', 'stablehlo'))
    import bytecode_writer

    for name, data in bytecode_writer.samples().items():
        yield name, data[4:]


def onnx_seeds(*arguments):
    """Yields models; this needs the packages of ONNX, which the other targets do without."""
    from make_onnx_corpus import onnx_seeds as seeds
    return seeds(*arguments)


def ir_text_seeds(*_):
    """Yields the graphs of the tests of passes, before and after the pass."""
    folder = os.path.join(HERE, '..', 'library', 'ir', 'passes')
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            parts = re.split('^;;.*\n', file.read(), flags=re.MULTILINE)
        for number, part in enumerate(part for part in parts if part.startswith('%')):
            yield f'{name[:-3]}-{number}', part.encode()


def values_seeds(_, rng):
    """Yields arrays, archives of arrays, tensors of ONNX, pictures."""
    sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
    import picture_files

    for kind, size in (('<f4', 4), ('<i8', 8), ('|b1', 1), ('<f2', 2)):
        for shape, count in (('()', 1), ('(6,)', 6), ('(2, 3)', 6)):
            head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
            yield f'npy-{kind[1:]}-{count}-{len(shape)}', (
                b'\0\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head + rng.randbytes(count * size))
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    array = b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head + rng.randbytes(24)
    for name, method in (('stored', zipfile.ZIP_STORED), ('deflated', zipfile.ZIP_DEFLATED)):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, 'w') as file:
            for member in ('w.npy', 'x.npy'):
                # ZipInfo has a fixed date, so that the seeds are the same each time.
                file.writestr(zipfile.ZipInfo(member), array, method)
        yield f'npz-{name}', b'\0' + archive.getvalue()
    # The fields of TensorProto are dims, data_type, and raw_data, float_data or int64_data, packed.
    for name, kind, field, data in (('raw', 1, 9, rng.randbytes(24)), ('float', 1, 4, rng.randbytes(24)),
                                    ('int64', 7, 7, bytes(range(6))), ('bool', 9, 5, bytes(6)),
                                    ('half', 10, 5, bytes(6))):
        yield f'tensor-{name}', (bytes([0, 8, 2, 8, 3, 16, kind, field << 3 | 2, len(data)]) + data)
    yield 'png-colour', b'\1' + picture_files.png([rng.randbytes(21)] * 9, 3)
    yield 'png-grey', b'\1' + picture_files.png([rng.randbytes(5)] * 4, 1)
    yield 'jpeg', b'\1' + picture_files.jpeg([[rng.randrange(256) for _ in range(3)] for _ in range(2)])


def gguf_seeds(_, rng):
    """Yields small files of language models: every kind of key, every type of tensor."""
    sys.path.insert(0, os.path.join(HERE, '..', 'gguf'))
    import gguf_file
    for version in (2, 3):
        file = gguf_file.File(version)
        for kind in gguf_file.KINDS:
            file.add(kind, 1, kind)
            file.add(f'{kind}.list', [1, 0], kind)
        file.add('text', 'some text')
        file.add('texts', ['a', '', 'bc'])
        for name, (_, elements, size) in gguf_file.TYPES.items():
            file.tensor(name, (elements, 2), name, rng.randbytes(size * 2))
        yield f'all-{version}', file.bytes()
    yield 'empty', gguf_file.File().bytes()
    file = gguf_file.File()
    file.add('general.alignment', 64)
    file.tensor('t', (2, 1, 1, 2), 'F32', rng.randbytes(16))
    yield 'aligned', file.bytes()
    yield from language_model_seeds(gguf_file, rng)


def language_model_seeds(gguf_file, rng):
    """Yields models of one layer, with tokenizers of both kinds."""
    kinds = {'Q4_0': 32, 'Q4_1': 32, 'Q8_0': 32, 'Q4_K': 256, 'Q6_K': 256, 'BF16': 2}
    for kind, width in kinds.items():
        file, pairs = gguf_file.File(), kind != 'Q8_0'
        tokens = ['<|im_start|>', 'T', 'h', 'e', 'he', 'a', 'b', '\u0120', '\u2581', '1', '<0x0A>']
        for key, value in (('block_count', 1), ('context_length', 8), ('embedding_length', width),
                           ('feed_forward_length', width), ('attention.head_count', 1)):
            file.add(f'llama.{key}', value)
        file.add('llama.attention.layer_norm_rms_epsilon', 1e-5)
        file.add('general.architecture', 'llama')
        file.add('tokenizer.ggml.model', 'gpt2' if pairs else 'llama')
        file.add('tokenizer.ggml.tokens', tokens)
        file.add('tokenizer.ggml.token_type', [3] + [1] * 9 + [6], 'int32')
        file.add('tokenizer.ggml.scores', [-float(i) for i in range(11)])
        file.add('tokenizer.ggml.merges', ['h e', 'T he'])
        file.add('tokenizer.ggml.unknown_token_id', 1)
        file.add('tokenizer.chat_template', "<|im_start|>system\nx<|im_end|>'")
        for part in ('attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'):
            _, elements, size = gguf_file.TYPES[kind]
            file.tensor(f'blk.0.{part}.weight', (width, width), kind, rng.randbytes(width * width // elements * size))
        for part in ('blk.0.attn_norm', 'blk.0.ffn_norm', 'output_norm', 'token_embd'):
            rows = 11 if part == 'token_embd' else 1
            file.tensor(f'{part}.weight', (width, rows)[:1 + (rows > 1)], 'F32', bytes(4 * width * rows))
        yield f'model-{kind}', file.bytes()


def graph_file_seeds(_, rng):
    """Yields each kind of change in each section of each file, with corrected checksums and with
    the old ones; and no change.
    """
    for file in range(3):
        for signed in (0, 16):
            yield f'file-{file}-{signed}', bytes([file + signed])
            for kind in range(7):
                for part in range(4):
                    change = struct.pack('<BBII', kind, part, rng.getrandbits(32), rng.getrandbits(32))
                    yield f'file-{file}-{signed}-{kind}-{part}', bytes([file + signed]) + change


def request_seeds(*_):
    """Yields requests to the server of webnn-run generate, which have every field."""
    user = {'role': 'user', 'content': 'a'}
    common = {'model': 'm', 'max_tokens': 3, 'temperature': 0.5, 'top_p': 1, 'top_k': 2, 'min_p': 0, 'seed': 1,
              'stop': ['a', 'b'], 'stream': True, 'stream_options': {'include_usage': True}, 'n': 1, 'logit_bias': {},
              'frequency_penalty': 0.0, 'user': None}
    parts = {'role': 'assistant', 'content': [{'type': 'text', 'text': 'x'}, {'type': 'text', 'text': ''}]}
    for name, chat, fields in (('text', 0, {'prompt': '\u00e9', 'echo': False, 'best_of': 1}),
                               ('tokens', 0, {'prompt': [1, 2]}), ('stop', 0, {'prompt': '', 'stop': 'x'}),
                               ('chat', 1, {'messages': [{'role': 'system', 'content': ''}, user, parts, user],
                                            'tools': [], 'response_format': {'type': 'text'}}),
                               ('unknown', 1, {'messages': [user], 'prompt': 1})):
        body = fields if name == 'stop' else {**common, **fields}
        yield name, bytes([chat]) + json.dumps(body).encode()


TARGETS = {'asm': asm_seeds, 'builder': builder_seeds, 'firmware': firmware_seeds, 'gguf': gguf_seeds,
           'graph-file': graph_file_seeds, 'ir-text': ir_text_seeds, 'onnx': onnx_seeds,
           'registers': registers_seeds, 'request': request_seeds, 'slots': slots_seeds,
           'stablehlo-bytecode': stablehlo_bytecode_seeds, 'stablehlo-text': stablehlo_text_seeds, 'stream': stream_seeds,
           'values': values_seeds, 'vfio-user': vfio_user_seeds}


def make(isa, target):
    """Returns the seeds of a target by name; a target without seeds is an error."""
    seeds = dict(TARGETS[target](isa, random.Random(target)))
    if not seeds:
        raise SystemExit(f'make_corpus.py: there are no seeds for {target}')
    return seeds


def write(folder, seeds):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, data in seeds.items():
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(data)


def main(arguments):
    if not arguments:
        raise SystemExit('usage: make_corpus.py DIR [TARGET…]')
    root, *targets = arguments
    unknown = set(targets) - set(TARGETS)
    if unknown:
        raise SystemExit(f'make_corpus.py: no seeds are known for {", ".join(sorted(unknown))}; '
                         f'there are: {", ".join(TARGETS)}')
    isa = Isa(os.path.join(HERE, '..', '..', 'uapi', 'onpu', 'isa.xml'))
    for target in targets or TARGETS:
        write(os.path.join(root, target), make(isa, target))


if __name__ == '__main__':
    main(sys.argv[1:])
