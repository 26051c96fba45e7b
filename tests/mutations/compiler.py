#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Errors planted in optimisations of the compiler, for run.py: operators on integers, packed
weights, streamed groups, attention, values and weights that stay in SRAM, files of graphs.

At most 2,000 random graphs find each error; for errors in files, each graph is saved and loaded
before it runs. graphs.py has more such errors, and those in all other parts of the compiler.
"""

_DIR = 'build/mutations'
_PROGRAM = f'{_DIR}/tests/graphs/graph-fuzz'
_SIM = f'{_PROGRAM} --device sim --count 2000 --seed 1 --as-is'
# Graphs in which products of single rows are cut out of larger ones, which is rare.
_COMPOSED = f'{_PROGRAM} --device sim --count 2000 --seed 3 --layers 67 --as-is'
_SAVED = {device: f'{_PROGRAM} --device {device} --saved --count 2000 --seed 1 --as-is'
          for device in ('sim', 'cpu')}

SETUP = [f'meson setup {_DIR}']
EVIDENCE = r'FAILED graph \d+.*'
BUILD = f'ninja -C {_DIR} tests/graphs/graph-fuzz'


def _error(name, file, old, new, command=_SIM):
    return {'name': name, 'file': 'userspace/src/' + file, 'old': old, 'new': new, 'command': command}


def _file(name, file, old, new, device='sim'):
    return _error(name, file, old, new, _SAVED[device])


MUTATIONS = [
    # Operators on integers.
    _error('limits of integers lie on the other side of the zero point', 'pass/fuse_integers.c',
           'nearbyint(value / quantized_scale(y, 0)) + (double)quantized_zero(y, 0);',
           'nearbyint(value / quantized_scale(y, 0)) - (double)quantized_zero(y, 0);'),
    _error('a function is left out when the type implies its lower limit', 'pass/fuse_integers.c',
           'lo == least && hi == least + UINT8_MAX;', 'lo == least;'),
    _error('averages of integers have the zero point of the data', 'pass/fuse_integers.c',
           'attrs.qpool.zero = quantized_zero(&y, 0);', 'attrs.qpool.zero = quantized_zero(&x, 0);'),
    _error('integers are moved together whatever their scales', 'pass/sink_dequantize.c',
           '(i ? !quantized_alike(q, &other) : !quantized_whole(q))', '(i ? false : !quantized_whole(q))'),
    _error('the function behind a sum of integers is lost', 'pass/fuse_sums.c',
           'attrs.qmatmul.matmul.act = s->act;', 'attrs.qmatmul.matmul.act.kind = IR_UNARY_NONE;'),
    _error('a computed factor takes the place of the constant ones', 'pass/fuse_sums.c',
           'scale = first && ir_type_elements', 'scale = ir_type_elements'),
    _error('sums of columns keep the zero point of the filter', 'pass/fuse_sums.c',
           'inner = 1, zero = quantized_zero(&s->b, 0);', 'inner = 1, zero = 0;'),
    _error('a sum is multiplied before its bias is added', 'pass/fuse_sums.c',
           'node->attrs.binary.kind == IR_MUL && is_plain(s) &&', 'node->attrs.binary.kind == IR_MUL &&'),
    _error('what is added to a sum of integers has no factor', 'pass/fuse_sums.c',
           'float product = s->beta * quantized_float', 'float product = quantized_float'),
    _error('integers have the upper limit of int8', 'plan/lower/integer.c',
           'post->param.scalar.beta = (uint64_t)attrs->hi;', 'post->param.scalar.beta = INT8_MAX;'),
    _error('windows over integers are padded with zeros', 'plan/lower/integer.c',
           'c->pad_value = (uint8_t)zero_point;', 'c->pad_value = 0;'),
    _error('the function between integers is lost', 'plan/lower/integer.c',
           'vp_unary(&prog, act, done, real);', 'vp_add(&prog, ONPU_OP_VMOV, done, real, -1, -1);'),
    # Packed weights.
    _error('scales of packed columns begin anew in each tile', 'plan/kernel/weights.c',
           '(r->n + column) / w->n_block * w->n_scale_stride;', 'column / w->n_block * w->n_scale_stride;'),
    _error('a tile of packed weights has one row of scales', 'plan/kernel/weights.c',
           'w->block ? wnn_gcd(w->block, t->k) : ks', 'w->block ? t->k : ks'),
    _error('packed weights are read with their halves exchanged', 'plan/kernel/weights.c',
           'data[i / 2] >> (i % 2 * 4) & 15', 'data[i / 2] >> (4 - i % 2 * 4) & 15'),
    _error('transposed packed weights have the blocks of others', 'plan/lower/matmul.c',
           'if (node->attrs.matmul.b_transpose) {\n\t\tswap(blocks);', 'if (false) {\n\t\tswap(blocks);'),
    # Streamed groups and attention.
    _error('blocks of rows are padded above as below', 'plan/stream/box.c',
           'attrs.conv.padding[i] = (uint32_t)padding[i];', 'attrs.conv.padding[i] = (uint32_t)padding[1];'),
    _error('pools of a block are padded as the whole', 'plan/stream/box.c',
           'attrs.pool.padding[i] = (uint32_t)padding[i];', 'attrs.pool.padding[i] += 0 * (uint32_t)padding[i];'),
    _error('blocks are counted along the outermost axis first', 'plan/stream/slices.c',
           'for (uint32_t i = type->rank; i-- > 0;) {\n\t\tint64_t whole = ir_type_dim(type, i), at;',
           'for (uint32_t i = 0; i < type->rank; i++) {\n\t\tint64_t whole = ir_type_dim(type, i), at;'),
    _error('each block of keys meets the values of the first', 'plan/stream/attend.c',
           'values->begin[axis] = weights->begin[keys];', 'values->begin[axis] = 0;'),
    _error('what is known of the keys before is not changed by larger scores', 'plan/stream/stream.c',
           'a->rows = add_binary(m, product, IR_MUL, a->rows, next->change, IR_UNARY_NONE, IR_F32);', ''),
    _error('weights of the last keys alone are summed', 'plan/stream/stream.c',
           'sum = add_binary(m, product, IR_ADD, sum, next->sum, IR_UNARY_NONE, IR_F32);', 'sum = next->sum;'),
    _error('all blocks of keys have the scores of the first', 'plan/stream/box.c',
           'slice->begin[axis] = result->begin[of];', 'slice->begin[axis] = of + 1 == to->rank ? 0 : result->begin[of];'),
    _error('blocks begin with the first rows of the block before', 'plan/stream/stream.c',
           'of[-(ptrdiff_t)num].need.begin);', 'kept.begin);'),
    _error('the rows behind those of the block before begin one too early', 'plan/stream/slices.c',
           'fresh.begin[axis] = end;', 'fresh.begin[axis] = end - 1;'),
    _error('all blocks of rows of a product multiply the first rows', 'plan/stream/box.c',
           'slice->begin[axis] = result->begin[of];', 'slice->begin[axis] = of + 2 == to->rank ? 0 : result->begin[of];'),
    _error('all blocks have the images of the first', 'plan/stream/box.c',
           'slice->begin[0] = result->begin[0];', 'slice->begin[0] = 0 * result->begin[0];'),
    _error('a row of a larger product is added up as a row by itself', 'plan/stream/box.c',
           '|| is_other_order(node, result) ||', '||', _COMPOSED),
    # Concats whose operands are read directly.
    _error('all slices lie at the begin of the tile', 'plan/kernel/contract_emit.c',
           'to[axis] = lo - begin[axis];', 'to[axis] = 0 * begin[axis];'),
    _error('slices may be overwritten before they are read', 'plan/place/slices.c',
           'if (location->end < last)\n\t\t\tlocation->end = last;', '(void)location;'),
    _error('slices of a batch are as far apart as the largest of them', 'plan/lower/matmul.c',
           'mm->out.rank ? view->stride[last] : 0, 0, 0,', 'mm->out.rank ? mm->b.stride[last] : 0, 0, 0,'),
    # Rotary embedding.
    _error('any row with two swapped halves is rotated', 'pass/rotary.c',
           'begin = i < last || !second ? 0 : pairs ? 1 : dim;',
           'begin = i < last || !second ? 0 : node->attrs.slice.starts[i];'),
    _error('a part of a register begins at its first index', 'plan/kernel/vprog.c',
           'begin[part->axis] = part->index;', 'begin[part->axis] = 0;'),
    _error('second halves are rotated the other way', 'plan/lower/elementwise.c',
           'half ? ONPU_OP_VADD : ONPU_OP_VSUB', 'ONPU_OP_VSUB'),
    # Gelu by tanh.
    _error('a sigmoid has half of its argument', 'pass/recognise.c',
           'once = 2 * inner->factor[1]', 'once = inner->factor[1]'),
    _error('the cube under a tanh is a square', 'plan/lower/elementwise.c',
           'steps[count++] = (struct unary_step){ .op = ONPU_OP_VMUL, .by_operand = true };\n\t\tsteps[count++].op',
           'steps[count++] = (struct unary_step){ .op = ONPU_OP_VABS };\n\t\tsteps[count++].op'),
    _error('the first factor of a polynomial is lost', 'pass/recognise.c',
           'product->factor[i + k] += a->factor[i] * b->factor[k];', 'product->factor[i + k] += b->factor[k];'),
    # Values and weights that stay in SRAM.
    _error('values in SRAM overlap by half', 'plan/place/resident.c',
           'if (from + plan_align(list[i]->bytes) > *address)\n\t\t\t*address = from + plan_align(list[i]->bytes);',
           'if (from + plan_align(list[i]->bytes / 2) > *address)\n'
           '\t\t\t*address = from + plan_align(list[i]->bytes / 2);'),
    _error('the zeros below an image in SRAM are not made', 'plan/place/resident.c',
           'row * location->halo[0][1]);', '0 * row * location->halo[0][1]);'),
    _error('what a convolution adds may be overwritten before', 'plan/place/values.c',
           'if (location && location->end < when)\n\t\t\tlocation->end = when;', '(void)location;\n\t\t(void)when;'),
    _error('a convolution adds what has another shape', 'plan/place/values.c',
           '!ir_type_same_shape(&other->type, &sum->type) ||', ''),
    _error('packed weights that stay in SRAM are not shifted by their zero point', 'plan/place/pinned.c',
           'integer_at(b, i) - integer_at(node->operands[3], at)', 'integer_at(b, i) - 0 * integer_at(node->operands[3], at)'),
    _error('packed weights that stay in SRAM have the scales of the first rows', 'plan/place/pinned.c',
           'i / columns / (rows / row_blocks) * column_blocks +', '0 * (rows / row_blocks) * column_blocks +'),
    _error('int4 that stays in SRAM has no sign', 'plan/place/pinned.c', '(nibble ^ 8) - 8', 'nibble'),
    # Files of graphs.
    _file('functions in files have no second number', 'ir/attrs.c',
          'return sizeof(struct ir_unary_attrs);', 'return offsetof(struct ir_unary_attrs, beta);', 'cpu'),
    _file('all packed operands of a file lie where the first does', 'run/store.c',
          '(void *)(stored->data + offset);', '(void *)(stored->data + 0 * offset);', 'cpu'),
    _file('all values of a program in a file are the first', 'codegen/store.c',
          'wnn_put_u32(w, program->patches[i].value);', 'wnn_put_u32(w, 0 * program->patches[i].value);'),
    _file('programs in files write nothing', 'codegen/store.c',
          'wnn_put_u32(w, program->bindings[i].written);', 'wnn_put_u32(w, 0 * program->bindings[i].written);'),
    _file('constants of a file begin anywhere', 'ir/binary.c',
          'wnn_put_zeros(data, IR_DATA_ALIGNMENT);', '', 'cpu'),
]
