# SPDX-License-Identifier: MIT
"""Errors planted in lowering, planner, passes, device model and CPU kernels, for run.py.

Random graphs find each within 2,000. Failures are not made smaller, as that takes longer than to
find them. What is not here: errors that cannot change a result, such as a slot of a double buffer
that is used twice, which the order of the engines keeps right.
"""

_DIR = 'build/mutations'
_PROGRAM = f'{_DIR}/tests/graphs/graph-fuzz'
_COMMANDS = {
    'sim': f'{_PROGRAM} --device sim --count 2000 --seed 1 --as-is',
    'cpu': f'{_PROGRAM} --device cpu --count 2000 --seed 1 --as-is',
}

SETUP = [f'meson setup {_DIR}']
EVIDENCE = r'FAILED graph \d+.*'
BUILD = f'ninja -C {_DIR} tests/graphs/graph-fuzz'


def _mutation(name, file, old, new, device='sim'):
    return {'name': name, 'file': file, 'old': old, 'new': new, 'command': _COMMANDS[device]}


def _plan(name, file, old, new):
    return _mutation(name, 'userspace/src/plan/' + file, old, new)


def _pass(name, file, old, new):
    return _mutation(name, 'userspace/src/pass/' + file, old, new)


def _model(name, file, old, new):
    return _mutation(name, 'emulator/' + file, old, new)


def _cpu(name, file, old, new):
    return _mutation(name, 'userspace/src/cpu/' + file, old, new, 'cpu')


MUTATIONS = [
    # Lowering.
    _plan('only one axis of a transposed filter is flipped', 'lower/conv.c',
          'for (int i = CB_KH; flip && i <= CB_KW; i++)', 'for (int i = CB_KH; flip && i < CB_KW; i++)'),
    _plan('all phases of a transposed convolution begin at the first tap', 'kernel/phases.c',
          'c->b.offset += first *', 'c->b.offset += 0 * first *'),
    _plan('blocks of a transposed convolution have the padding of the top ones', 'kernel/phases.c',
          'part.pad[i] -= begin[CD_H + i];', 'part.pad[i] -= i * begin[CD_H + i];'),
    _plan('rows of a filter are as far apart as its columns', 'lower/conv.c',
          'stride[CB_KH] = v.stride[axis[2]];', 'stride[CB_KH] = v.stride[axis[3]];'),
    _plan('epsilon is left out', 'lower/norm.c', 'vp_f32(1), vp_f32(epsilon)', 'vp_f32(1), vp_f32(0 * epsilon)'),
    _plan('instance normalisation has the axes of nchw', 'lower/norm.c', 'nhwc ? 0x6 : 0xc', 'nhwc ? 0xc : 0xc'),
    _plan('reduceL1 adds without the absolute value', 'lower/reduce.c',
          '[IR_REDUCE_L1] = { ONPU_OP_RSUMABS', '[IR_REDUCE_L1] = { ONPU_OP_RSUM'),
    _plan('the mean divides by the last dimension', 'lower/reduce.c',
          'count *= (float)prog->dim[i];', 'count = (float)prog->dim[i];'),
    _plan('exclusive sums are inclusive', 'lower/reduce.c',
          'op->excl = node->attrs.cumsum.exclusive;', 'op->excl = false;'),
    _plan('argMin is argMax', 'lower/reduce.c',
          'node->attrs.arg.max ? ONPU_OP_RARGMAX : ONPU_OP_RARGMIN', 'ONPU_OP_RARGMAX'),
    _plan('greaterOrEqual is greater', 'lower/elementwise.c', '[IR_GE] = ONPU_OP_VGE', '[IR_GE] = ONPU_OP_VGT'),
    _plan('clamp of uint64 has the limits of int64', 'lower/elementwise.c',
          'dtype == ONPU_DT_U32 ||\n\t       dtype == ONPU_DT_U64;', 'dtype == ONPU_DT_U32;'),
    _plan('the diagonal counts the other way', 'lower/elementwise.c',
          'op->param.tri.diagonal = node->attrs.triangular.diagonal;',
          'op->param.tri.diagonal = -node->attrs.triangular.diagonal;'),
    _plan('slices have no strides', 'lower/move.c', 'src.stride[i] *= node->attrs.slice.strides[i];\n', ''),
    _plan('the fourth dimension is never reversed', 'lower/move.c',
          'if (!(node->attrs.axes >> i & 1))\n\t\t\tcontinue;\n\t\tsrc.offset += (src.dim[i] - 1) * src.stride[i];',
          'if (!(node->attrs.axes >> i & 1) || i == 3)\n\t\t\tcontinue;\n'
          '\t\tsrc.offset += (src.dim[i] - 1) * src.stride[i];'),
    _plan('indices are not clamped', 'lower/gather.c', '.neg = true, .clamp = true,', '.neg = true, .clamp = false,'),
    _plan('the input of a tile of resampling begins one later', 'lower/resample.c',
          'return at < 0 ? 0 : at > in - 1 ? in - 1 : at;', 'at++;\n\treturn at < 0 ? 0 : at > in - 1 ? in - 1 : at;'),
    _plan('groups of a transposed filter lie as far apart as they are wide', 'lower/conv.c',
          'attrs->transposed ? dim[CB_K] * v.stride[axis[1]]', 'attrs->transposed ? dim[CB_N] * v.stride[axis[1]]'),
    _plan('the maximum of float16 is at least 0 where a window leaves the image', 'lower/conv.c',
          'return 0xfc00;', 'return 0;'),
    _plan('averages have the divisors of the first row', 'lower/conv.c',
          'same &= table[i] == table[0];', 'same &= table[i] == table[0] || i >= w;'),
    _plan('gemm leaves alpha out', 'lower/matmul.c', 'alpha = vp_f32(attrs->alpha);', 'alpha = vp_f32(1);'),
    _plan('every outer batch of a product has the first second operand', 'lower/matmul.c',
          'offset[2] += at * mm.b.stride[i];', 'offset[2] += 0 * at;'),
    _plan('softmax does not take the maximum off', 'lower/reduce.c',
          'vp_add(&prog, ONPU_OP_VSUB, diff, in, max, -1);\n\tvp_add(&prog, ONPU_OP_VEXP, power, diff, -1, -1);',
          'vp_add(&prog, ONPU_OP_VMOV, diff, in, -1, -1);\n\tvp_add(&prog, ONPU_OP_VEXP, power, diff, -1, -1);'),
    _plan('argMax and argMin of chunks count from the begin of the chunk', 'kernel/rows.c',
          'base.scalar.alpha = t->from;', 'base.scalar.alpha = 0;'),
    _plan('the best of a chunk replaces an equal one before it', 'kernel/rows.c',
          'max ? (last ? ONPU_OP_VGE : ONPU_OP_VGT)', 'max ? (last ? ONPU_OP_VGE : ONPU_OP_VGE)'),
    _plan('blocks of a scale are as long as there are many', 'lower/quantize.c',
          'stride * (dim / scale)', 'stride * scale'),
    _plan('of dims beyond the eighth only the first place is quantised', 'lower/quantize.c',
          'out.offset += place % space->dim[i] * space->stride[k][i];', 'out.offset += 0 * place;'),
    _plan('int4 saturates at 15', 'kernel/nibbles.c', 'is_signed ? 7 : 15', 'is_signed ? 15 : 15'),
    _plan('later chunks of 4-bit elements lie half as far', 'kernel/nibbles.c',
          'flat(bytes, bytes->dtype, 2 * at, 2 * count)', 'flat(bytes, bytes->dtype, at, 2 * count)'),
    _plan('peepholes are in the order of the gates', 'lower/recurrent.c',
          'view = columns(r, view, gate, 1);', 'view = columns(r, view, r->gate[gate] % 3, 1);'),
    _plan('a backward network runs forwards', 'lower/recurrent.c',
          'direction == IR_BACKWARD || direction == 1', 'direction == IR_BOTH && direction == 1'),
    _plan('the cell state begins with 0', 'lower/recurrent.c',
          'begin_state(r, REGION_STATE, r->first_cell);', 'begin_state(r, REGION_STATE, NULL);'),
    _plan('the second half of the updates is put first', 'lower/gather.c',
          'struct pieces half = { half_of(&p->part, (int)d, i),\n\t\t\t\t       half_of(&p->full, x->full_dim[d], i),\n'
          '\t\t\t\t       half_of(&p->index, x->index_dim[d], i) };',
          'struct pieces half = { half_of(&p->part, (int)d, !i),\n\t\t\t\t       half_of(&p->full, x->full_dim[d], !i),\n'
          '\t\t\t\t       half_of(&p->index, x->index_dim[d], !i) };'),
    _plan('every tile of resampling is the first', 'lower/resample.c',
          'out_base[e] = (uint32_t)begin[a];', 'out_base[e] = 0;'),
    _plan('what a tile repeats beyond the eighth dim is written once', 'lower/move.c',
          'd.offset += rest % dim[i] * ds[i];', 'd.offset += 0 * rest;'),
    _plan('borders before the fifth dimension are behind it', 'lower/move.c',
          'lo[i] = node->attrs.pad.begin[i];', 'lo[i] = i == 4 ? 0 : node->attrs.pad.begin[i];'),
    # Planner.
    _plan('reductions are not cut at multiples of the lanes', 'kernel/rowspace.c',
          'next.chunk = rs->chunk * 2 < whole ? rs->chunk * 2 : whole;',
          'next.chunk = rs->chunk * 2 < whole ? rs->chunk * 2 - 1 : whole;'),
    _plan('what follows a whole row of a chunk goes to its begin', 'kernel/rowspace.c',
          'tile.offset += (end - lo) * tr->chunk_stride;\n', ''),
    _plan('dimensions are merged over gaps', 'list/view.c',
          'if (views[v]->stride[dim] != views[v]->stride[dim + 1] * views[v]->dim[dim + 1])',
          'if (views[v]->stride[dim] < views[v]->stride[dim + 1] * views[v]->dim[dim + 1])'),
    _mutation('memory is free again one step too early', 'userspace/src/util/intervals.c',
          'i < next && placed[i]->begin <= interval->end; i++)', 'i < next && placed[i]->begin < interval->end; i++)'),
    _plan('writes do not wait for readers', 'list/hazards.c',
          'for (uint8_t e = 0; write && e < ONPU_ENG_COUNT; e++)\n\t\t\tneed_op(need, e, interval->reader[e]);',
          'for (uint8_t e = 0; write && e < 1; e++)\n\t\t\tneed_op(need, e, interval->reader[e]);'),
    _plan('filters of all groups are those of the first', 'kernel/contract_emit.c',
          '(e->index[CD_G] * t->grid[CD_N] + e->index[CD_N]) * t->steps + e->step',
          'e->index[CD_N] * t->steps + e->step'),
    _plan('the second part of a cut sum begins again', 'kernel/contract_emit.c', '.acc = e->step > 0,\n\t\t.param = has_param',
          '.acc = e->step > 1,\n\t\t.param = has_param'),
    _plan('all tiles of a result have the first further operand', 'kernel/contract_emit.c',
          'key = key * extra->mem.dim[i] + e->begin[i];', 'key = 0;'),
    _plan('the zeros beside the last row of an image in SRAM are not made', 'place/resident.c',
          'place->origin + inner, rows, row, row - inner);',
          'place->origin + inner, rows - 1, row, row - inner);'),
    _plan('two tiles share one slot', 'kernel/vtile.c', 'vt->slots[r] = distinct > 1 ? 2 : 1;',
          'vt->slots[r] = distinct > 2 ? 2 : 1;'),
    _plan('an image of integers in SRAM has zeros around it', 'place/resident.c',
          'zero = (uint8_t)node->attrs.qconv.integer.a_zero;', 'zero = 0;'),
    _plan('padding of integers that are loaded is zero', 'lower/conv.c',
          'c->pad_value = (uint8_t)attrs->a_zero;', 'c->pad_value = 0;'),
    _plan('the zero point of integer data is left out where there is one tap', 'kernel/contract_emit.c',
          'e->s.khs * e->s.kws > 1 || param.zero_a || param.zero_b', 'e->s.khs * e->s.kws > 1'),
    _plan('the zero point of an integer result is left out', 'lower/integer.c',
          'if (attrs->zero) {', 'if (attrs->zero > 127) {'),
    _plan('integer results have no limits', 'lower/integer.c',
          'if (attrs->lo <= (is_signed ? INT8_MIN : 0) &&', 'if (attrs->lo <= 127 &&'),
    _plan('windows over integers keep the zero point of the filter', 'lower/conv.c',
          '(int8_t)bytes[i] : bytes[i]) -', '(int8_t)bytes[i] : bytes[i]) - 0 *'),
    _plan('the data of windows become float32 without their zero point', 'lower/integer.c',
          'zero = scalar_view(plan, c->a.dtype, (uint8_t)attrs->a_zero);', 'zero = scalar_view(plan, c->a.dtype, 0);'),
    _plan('the second of two quantised operands has the scale of the first', 'lower/integer.c',
          'int b = real_operand(&prog, plan, node, 3);', 'int b = real_operand(&prog, plan, node, 0);'),
    _plan('chunks of a reduction do not add up', 'kernel/vsplit.c', '.acc = t->from > 0 });', '.acc = t->from < 0 });'),
    _plan('a value in SRAM makes place while its last user works', 'place/resident.c',
          'for (uint32_t n = place->begin; n <= place->end; n++) {\n\t\tfor (uint32_t i = 0; i < ch->num_alive[n]; i++) {',
          'for (uint32_t n = place->begin; n < place->end; n++) {\n\t\tfor (uint32_t i = 0; i < ch->num_alive[n]; i++) {'),
    _plan('tiles begin in the middle of what stays in SRAM', 'place/resident.c',
          'values->node_base[n] = address + plan_align(place->bytes);',
          'values->node_base[n] = address + plan_align(place->bytes / 2);'),
    _plan('a view does not keep its memory', 'place/values.c',
          'if (place->end > root->end)\n\t\t\troot->end = place->end;', ''),
    _plan('a slice that is a view has no strides', 'place/values.c',
          'stride[i] = f->stride[i] * slice->strides[i];', 'stride[i] = f->stride[i];'),
    _plan('what a concat has twice is written once', 'place/values.c',
          'once &= j == i || node->operands[j] != value;', 'once &= j <= i || node->operands[j] != value;'),
    _plan('a reshape of a slice is a view', 'place/values.c',
          'if (f->strided || t->strided)\n\t\treturn;\n\tif (in_arena(plan, to))', 'if (in_arena(plan, to))'),
    _plan('who waits for an engine believes all that it knows by now', 'list/hazards.c',
          'learn(known, &hazards->clocks[need[best] - 1]);', 'learn(known, &hazards->known[best]);'),
    # Passes.
    _pass('scales of a filter count for any axis', 'fuse_integers.c',
          'return scale->rank == type->rank &&', 'return scale->rank != type->rank ||'),
    _pass('the bias of an integer product is cut to an integer', 'fuse_integers.c',
          'whole = nearbyint(b);', 'whole = floor(b);'),
    _pass('an integer product forgets the factor of gemm', 'fuse_integers.c',
          'double of_sum = p->alpha * (double)', 'double of_sum = (double)'),
    _pass('every scale of a filter is that of the first channel', 'fuse_integers.c',
          'quantized_scale(&p->b, channel % p->filters);', 'quantized_scale(&p->b, 0);'),
    _pass('relu of integers is left out', 'fuse_integers.c', 'least = 0;\n\t} else', 'least = -1;\n\t} else'),
    _pass('concatenated integers keep their scales', 'fuse_integers.c',
          'operands[i] = requantize(rw, &from, &to, quantize);', 'operands[i] = rw->value[from.integers->id];'),
    _pass('other zero points cancel out', 'quantized.c',
          'quantized_zero(a, 0) == quantized_zero(b, 0)', 'true'),
    _pass('integers are padded with the bits of a float', 'sink_dequantize.c',
          'quantize_padding(&node->attrs.pad, q, &attrs.pad.value);', 'attrs.pad.value &= 0xff;'),
    _pass('equal operators with other attributes are merged', 'merge.c',
          ' || memcmp(&a->attrs, &b->attrs, sizeof(a->attrs)) ||\n', ' ||\n'),
    _pass('every transpose of two dimensions is a reshape', 'simplify.c',
          'if (axis < last)\n\t\t\treturn false;', 'if (axis + 1 < last)\n\t\t\treturn false;'),
    _pass('a fused bias loses its factor', 'fuse_bias.c', 'attrs.matmul.beta = 1;', 'attrs.matmul.beta = 0;'),
    _pass('casts to different types are merged', 'merge.c', '!same_types(a, b))', 'false)'),
    _pass('the bias of nchw lies along the width', 'fuse_bias.c',
          'node->attrs.conv.layout == IR_NCHW ? 1 : rank - 1', 'node->attrs.conv.layout == IR_NCHW ? rank - 1 : rank - 1'),
    _mutation('a function of two constants of one shape is folded with the first twice',
              'userspace/src/pass/fold.c', 'in[i] = rw->value[node->operands[i]->id]->constant->data;',
              'in[i] = rw->value[node->operands[i && node->op == IR_OP_BINARY && '
              'ir_type_same_shape(&node->operands[0]->type, &node->operands[1]->type) ? 0 : i]->id]->constant->data;', 'cpu'),
    _pass('dimensions of two are not reversed', 'simplify.c', 'ir_type_dim(type, i) != 1)', 'ir_type_dim(type, i) > 2)'),
    _pass('clamp of uint8 from 0 is nothing', 'simplify.c', 'a->ulo == 0 && a->uhi == UINT8_MAX', 'a->ulo == 0'),
    # Model.
    _model('the last round of the tree of lanes is missing', 'machine/vector_reduce.c',
           'for (int w = ONPU_REDUCE_LANES / 2; w; w /= 2) {', 'for (int w = ONPU_REDUCE_LANES / 2; w > 1; w /= 2) {'),
    _model('int64 indices are 32 bits', 'machine/dma_index.c',
           'v = x->dtype == ONPU_DT_I32 ?', 'v = x->dtype != ONPU_DT_U32 ?'),
    _model('windows begin with 0 for the maximum', 'machine/vector_window.c',
           'else if (first && r->op == RED_MAX)', 'else if (first && r->op == RED_PROD)'),
    _model('the odd columns of a panel are not stored', 'machine/matrix.c',
           't->width = left < m->panel ? (uint32_t)left : m->panel;',
           't->width = left < m->panel ? ((uint32_t)left + 1) / 2 : m->panel;'),
    _model('uint64 compares like int64', 'math/kernels_integer.c',
           'uint64_t flip = (uint64_t)is_unsigned << 63;\n\n\treturn (int64_t)((uint64_t)a',
           'uint64_t flip = (uint64_t)is_unsigned << 31;\n\n\treturn (int64_t)((uint64_t)a'),
    _model('quantising rounds halves up', 'math/kernels_integer.c',
           '__builtin_nearbyintf(x);\n\n\tr = r >', '__builtin_floorf(x + 0.5f);\n\n\tr = r >'),
    _model('small float16 numbers are cut', 'math/types.h',
           'onpu_f32_bits(onpu_bits_f32(magnitude) + 0.5f)', 'onpu_f32_bits(onpu_bits_f32(magnitude & ~0xffffu) + 0.5f)'),
    _model('a long product loses its last term', 'math/kernels_matrix.c',
           'for (uint32_t k = 0; k < t->depth; k++) {', 'for (uint32_t k = 0; k < t->depth - (t->depth > 64); k++) {'),
    _model('indices below the least are the last', 'machine/dma_index.c',
           'v = v < -limit ? -limit :', 'v = v < -limit ? -1 :'),
    # Kernels of the CPU.
    _cpu('a chunk of gathered elements starts at the first', 'fast_index.c',
         'load_indices(x->index_type, x->index, r * inner + j, 1, n, dim, offset);',
         'load_indices(x->index_type, x->index, r * inner, 1, n, dim, offset);'),
    _cpu('padding counts for the average', 'fast_pool.c',
         'count += at >= 0 && at < in;', 'count += at >= 0;'),
    _cpu('the second half of a byte is sign-extended at 7', 'fast_quantize.c',
         'to[i] = (to[i] ^ 8) - 8;', 'to[i] = to[i] > 6 ? to[i] - 16 : to[i];'),
    _cpu('one line times a matrix leaves alpha out', 'fast_matmul.c',
         'for (int64_t j = 0; j < n && attrs->alpha != 1; j++)', 'for (int64_t j = 1; j < n && attrs->alpha != 1; j++)'),
    _cpu('peepholes of the fast lstm are in the order of the gates', 'fast_recurrent.c',
         'const float *w = p->peephole + k * size;', 'const float *w = p->peephole + p->n->r.gate[k] % 3 * size;'),
    _cpu('dimensions merge though the second operand repeats', 'fast_elementwise.c',
         'if (r && sa[r - 1] == sa[i] * s->dim[i] && sb[r - 1] == sb[i] * s->dim[i]) {',
         'if (r && sa[r - 1] == sa[i] * s->dim[i]) {'),
    _cpu('nearest neighbours of halves are above', 'fast_resample.c',
         'at = (doubled + 2 * out - 1) / (2 * out) - 1;', 'at = doubled / (2 * out);'),
    _cpu('columns of packed filters are counted by their height', 'conv_columns.c',
         't % g->kw * s[3]];', 't % g->kh * s[3]];'),
]
