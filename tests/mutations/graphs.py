# SPDX-License-Identifier: MIT
"""Errors planted in lowering, planner, passes, device model and CPU kernels, for run.py: random graphs find each within 2,000.

Failures are not made smaller, as that takes longer than to find them.
"""

_DIR = 'build/mutations'
_PROGRAM = f'{_DIR}/tests/graphs/graph-fuzz'
_COMMANDS = {
    'sim': f'{_PROGRAM} --device sim --count 2000 --seed 1 --as-is',
    'cpu': f'{_PROGRAM} --device cpu --count 2000 --seed 1 --as-is',
}

SETUP = [f'meson setup {_DIR}']
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
    _plan('only one axis of a transposed filter is flipped', 'conv.c',
          'for (int i = CB_KH; flip && i <= CB_KW; i++)', 'for (int i = CB_KH; flip && i < CB_KW; i++)'),
    _plan('filters of ihwo are read as hwio', 'conv.c', '[IR_IHWO] = "ihwo"', '[IR_IHWO] = "hwio"'),
    _plan('epsilon is left out', 'norm.c', 'vp_f32(1), vp_f32(epsilon)', 'vp_f32(1), vp_f32(0 * epsilon)'),
    _plan('instance normalisation has the axes of nchw', 'norm.c', 'nhwc ? 0x6 : 0xc', 'nhwc ? 0xc : 0xc'),
    _plan('reduceL1 adds without the absolute value', 'reduce.c',
          '[IR_REDUCE_L1] = { ONPU_OP_RSUMABS', '[IR_REDUCE_L1] = { ONPU_OP_RSUM'),
    _plan('the mean divides by the last dimension', 'reduce.c',
          'count *= (float)prog->dim[i];', 'count = (float)prog->dim[i];'),
    _plan('exclusive sums are inclusive', 'reduce.c',
          'op->excl = node->attrs.cumsum.exclusive;', 'op->excl = false;'),
    _plan('argMin is argMax', 'reduce.c',
          'node->attrs.arg.max ? ONPU_OP_RARGMAX : ONPU_OP_RARGMIN', 'ONPU_OP_RARGMAX'),
    _plan('greaterOrEqual is greater', 'elementwise.c', '[IR_GE] = ONPU_OP_VGE', '[IR_GE] = ONPU_OP_VGT'),
    _plan('clamp of uint64 has the limits of int64', 'elementwise.c',
          'dtype == ONPU_DT_U32 ||\n\t       dtype == ONPU_DT_U64;', 'dtype == ONPU_DT_U32;'),
    _plan('the diagonal counts the other way', 'elementwise.c',
          'op->param.tri.diagonal = node->attrs.triangular.diagonal;',
          'op->param.tri.diagonal = -node->attrs.triangular.diagonal;'),
    _plan('slices have no strides', 'move.c', 'src.stride[i] *= node->attrs.slice.strides[i];\n', ''),
    _plan('the fourth dimension is never reversed', 'move.c',
          'if (!(node->attrs.axes >> i & 1))\n\t\t\tcontinue;\n\t\tsrc.offset += (src.dim[i] - 1) * src.stride[i];',
          'if (!(node->attrs.axes >> i & 1) || i == 3)\n\t\t\tcontinue;\n'
          '\t\tsrc.offset += (src.dim[i] - 1) * src.stride[i];'),
    _plan('indices are not clamped', 'gather.c', '.neg = true, .clamp = true,', '.neg = true, .clamp = false,'),
    _plan('the input of a tile of resampling begins one later', 'resample.c',
          'return at < 0 ? 0 : at > in - 1 ? in - 1 : at;', 'at++;\n\treturn at < 0 ? 0 : at > in - 1 ? in - 1 : at;'),
    # Planner.
    _plan('reductions are cut at multiples of 15', 'rowspace.c', '#define LANES ONPU_REDUCE_LANES', '#define LANES 15'),
    _plan('the taps of a sum in pieces are added backwards', 'contract.c',
          's.kw = step % c->taps[1];', 's.kw = c->taps[1] - 1 - step % c->taps[1];'),
    _plan('what follows a whole row of a chunk goes to its begin', 'rowspace.c',
          'tile.offset += (end - lo) * tr->chunk_stride;\n', ''),
    _plan('dimensions are merged over gaps', 'view.c',
          'if (views[v]->stride[dim] != views[v]->stride[dim + 1] * views[v]->dim[dim + 1])',
          'if (views[v]->stride[dim] < views[v]->stride[dim + 1] * views[v]->dim[dim + 1])'),
    _plan('memory is free again one step too early', 'memory.c',
          'if (other->end < interval->begin || interval->end < other->begin)',
          'if (other->end <= interval->begin || interval->end <= other->begin)'),
    _plan('writes do not wait for readers', 'hazards.c',
          'for (uint8_t e = 0; write && e < PLAN_ENGINES; e++)\n\t\t\tneed_op(need, e, interval->reader[e]);',
          'for (uint8_t e = 0; write && e < 1; e++)\n\t\t\tneed_op(need, e, interval->reader[e]);'),
    # Passes.
    _pass('equal operators with other attributes are merged', 'merge.c',
          ' || memcmp(&a->attrs, &b->attrs, sizeof(a->attrs)) ||\n', ' ||\n'),
    _pass('every transpose of two dimensions is a reshape', 'simplify.c',
          'if (axis < last)\n\t\t\treturn false;', 'if (axis + 1 < last)\n\t\t\treturn false;'),
    _pass('a fused bias loses its factor', 'fuse_bias.c', 'attrs.matmul.beta = 1;', 'attrs.matmul.beta = 0;'),
    # Model.
    _model('the last round of the tree of lanes is missing', 'vector_reduce.c',
           'for (int w = REDUCE_LANES / 2; w; w /= 2) {', 'for (int w = REDUCE_LANES / 2; w > 1; w /= 2) {'),
    _model('int64 indices are 32 bits', 'dma_index.c',
           'v = x->dtype == ONPU_DT_I32 ?', 'v = x->dtype != ONPU_DT_U32 ?'),
    _model('windows begin with 0 for the maximum', 'vector_window.c',
           'else if (first && r->op == RED_MAX)', 'else if (first && r->op == RED_PROD)'),
    _model('the odd columns of a panel are not stored', 'matrix.c',
           't->width = left < m->panel ? (uint32_t)left : m->panel;',
           't->width = left < m->panel ? ((uint32_t)left + 1) / 2 : m->panel;'),
    # Kernels of the CPU.
    _cpu('a chunk of gathered elements starts at the first', 'fast_index.c',
         'load_indices(x->index_type, x->index, r * inner + j, 1, n, dim, offset);',
         'load_indices(x->index_type, x->index, r * inner, 1, n, dim, offset);'),
    _cpu('padding counts for the average', 'fast_pool.c',
         'count += at >= 0 && at < in;', 'count += at >= 0;'),
    _cpu('the second half of a byte is sign-extended at 7', 'fast_quantize.c',
         'to[i] = (to[i] ^ 8) - 8;', 'to[i] = to[i] > 6 ? to[i] - 16 : to[i];'),
]
