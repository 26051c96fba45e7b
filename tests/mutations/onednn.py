# SPDX-License-Identifier: MIT
"""Errors planted in the oneDNN layer of the CPU, in the data layouts that it prefers, and in the
convolutions of the layer below it, for run.py.
"""

_DIR = 'build/mutations'
# A planted error that the layer's self-test notices counts as found. Without this setting, the
# library would then not use the layer, and the comparisons would pass.
_TRUST = 'WNN_CPU_DEMAND_ONEDNN=1 '
_COMMANDS = {
    'choose': f'{_DIR}/tests/library/cpu/test_cpu_choose',
    'cpu': f'{_TRUST}{_DIR}/tests/library/cpu/test_cpu_fast',
    'fused': f'{_DIR}/tests/library/cpu/test_cpu_fused',
    'integer': f'{_TRUST}{_DIR}/tests/library/cpu/test_cpu_integer',
    'layers': f'{_DIR}/tests/library/api/test_api_layers',
    'onednn': f'{_TRUST}{_DIR}/tests/library/cpu/test_cpu_onednn',
    'windows': f'{_DIR}/tests/library/api/test_api_windows',
    'winograd': f'{_TRUST}{_DIR}/tests/library/cpu/test_cpu_winograd',
    'pass': f'{_DIR}/tests/library/graph/test_graph_pass',
    'text': f'python3 -B tests/library/ir/test_passes.py {_DIR}/tests/library/ir/ir-opt',
}

SETUP = [f'meson setup {_DIR}']
EVIDENCE = r'FAILED.*'
BUILD = (f'ninja -C {_DIR} tests/library/cpu/test_cpu_choose tests/library/cpu/test_cpu_fast tests/library/cpu/test_cpu_fused tests/library/cpu/test_cpu_integer '
         'tests/library/cpu/test_cpu_onednn '
         'tests/library/cpu/test_cpu_winograd tests/library/api/test_api_layers tests/library/api/test_api_windows '
         'tests/library/graph/test_graph_pass tests/library/ir/ir-opt')


def _conv(name, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/onednn/conv.c', 'old': old, 'new': new,
            'command': _COMMANDS['cpu']}


def _form(name, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/onednn/form.c', 'old': old, 'new': new,
            'command': _COMMANDS['onednn']}


def _packed(name, file, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/' + file, 'old': old, 'new': new, 'command': _COMMANDS['cpu']}


def _fused(name, file, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/' + file, 'old': old, 'new': new, 'command': _COMMANDS['fused']}


def _choice(name, file, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/' + file, 'old': old, 'new': new, 'command': _COMMANDS['choose']}


def _sum(name, file, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/' + file, 'old': old, 'new': new, 'command': _COMMANDS['layers']}


def _windows(name, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/kernel/tile_rows.c', 'old': old, 'new': new, 'command': _COMMANDS['windows']}


def _matmul(name, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/onednn/matmul.c', 'old': old, 'new': new,
            'command': _COMMANDS['cpu']}


def _integer(name, file, old, new):
    return {'name': name, 'file': 'userspace/src/cpu/' + file, 'old': old, 'new': new, 'command': _COMMANDS['integer']}


def _winograd(name, old, new, file='kernel/winograd.c'):
    return {'name': name, 'file': 'userspace/src/cpu/' + file, 'old': old, 'new': new,
            'command': _COMMANDS['winograd']}


def _product(name, old, new, file='kernel/tile_product.c'):
    return _packed(name, file, old, new)


def _tiles(name, old, new):
    return _product(name, old, new, 'kernel/tile_matmul.c')


def _pass(name, old, new, command='pass'):
    return {'name': name, 'file': 'userspace/src/pass/channels_last.c', 'old': old, 'new': new,
            'command': _COMMANDS[command]}


MUTATIONS = [
    # The choice of a kernel.
    _choice('oneDNN is asked on the layer below it', 'choose.c', 'kernel->onednn && ask->cpu->layer != CPU_ONEDNN',
            'kernel->onednn && ask->cpu->layer == CPU_REFERENCE'),
    _choice('operands are packed by nobody', 'cpu.c', '.packs = use & CPU_PACKS && constant', '.packs = constant'),
    _choice('a file may have another version of an operand', 'cpu.c', 'plan->kernel->version == version', 'version < 9'),
    _choice('an explanation goes on behind its text', 'choose.c', 'length + (size_t)n < size ? length + (size_t)n : size - 1',
            'length + (size_t)n'),
    # Convolutions on packed windows.
    _packed('a step forgets the sums before it', 'kernel/conv_columns.c', '.add = step->k0 > 0,', '.add = step->k0 < 0,'),
    _packed('tiles that are not full forget the sums before them', 'kernel/conv_columns.c',
            'r < rows && tile->add; r++)', 'r < rows - 1 && tile->add; r++)'),
    _packed('each step adds the bias', 'kernel/conv_columns.c', 'run->bias && last ?', 'run->bias ?'),
    _packed('all lines of a tile begin at the column of the first', 'kernel/conv_columns.c', 'column = 0, line++', 'line++'),
    _packed('later panels read the first tile', 'kernel/conv_columns.c', '(c->keeps ? f * c->step : 0)', '0 * f'),
    _packed('planes of later steps are those of the first', 'kernel/conv_columns.c', 'first = step->k0 / taps;',
            'first = 0 * step->k0 / taps;'),
    _packed('blocks after the first have its padding', 'kernel/planes.c', 'return row ? find_inside(', 'return row < 0 ? find_inside('),
    _packed('the padding of a channel is that of the last block before', 'kernel/conv.c', 'if (row || !is_padded)',
            'if (!row && !is_padded)'),
    _packed('four pixels are three', 'kernel/conv_rows.c', 'four d = *(const four *)(from + place[3] + i);', 'four d = *(const four *)(from + place[2] + i);'),
    _packed('windows are one row of neighbours', 'kernel/conv_rows.c', 'n = together - (k0 + k) % together;', 'n = depth - k;'),
    # Convolutions in slices.
    _conv('the first part begins above the image', '- g->attrs->padding[0] + form->above;', '- g->attrs->padding[0];'),
    _conv('parts have the padding of the first one', 'form.above = begin < 0 ? -begin : 0;',
          'form.above = pad;\n\tform.in_rows = 0;'),
    _conv('a part begins at the row of its result', 'int64_t row = first * g->attrs->strides[0] -', 'int64_t row = first -'),
    _conv('all images are the first one', '(image * g->in_h + row) *', '(0 * image * g->in_h + row) *'),
    _conv('groups of a filter lie too far apart', 'strides[0] = strides[1] * c->shape.out_per_group;',
          'strides[0] = strides[1] * c->shape.out_c;'),
    # Packed formats.
    _form('padding keeps what was there', 'memset(packed, 0, form->bytes);', ''),
    _form('padding is taken for channels', 'int64_t steps = rest > 0 ? (rest + axis->step - 1) / axis->step : 0;',
          'int64_t steps = axis->count + 0 * rest;'),
    _form('a block is left where the loop began', 'w->index[axis->dim] = begin;', '(void)begin;'),
    _form('blocks within blocks are one element apart', '{ count, place, block[dim], dim }', '{ count, place, 1, dim }'),
    _form('sums for inputs with a sign are not negated', 'sum *= 128;', 'sum *= -128;'),
    _form('sums for zero points are left out', 'if (form->sums)\n', 'if (form->sums && !form)\n'),
    {'name': 'narrow results of one channel go to oneDNN', 'file': 'userspace/src/cpu/onednn/right.c',
     'old': '!(has_single_channel(g) && is_strided_column(g))', 'new': '!(!g && is_strided_column(g))',
     'command': _COMMANDS['onednn']},
    # The tests find these two only on a processor with AMX.
    {'name': 'AMX is asked for strided columns of integers', 'file': 'userspace/src/cpu/onednn/right.c',
     'old': '(is_strided_column(g) || groups)', 'new': 'groups', 'command': _COMMANDS['onednn']},
    {'name': 'AMX is asked for groups with a zero point', 'file': 'userspace/src/cpu/onednn/right.c',
     'old': '(is_strided_column(g) || groups)', 'new': '(is_strided_column(g) && (groups || true))', 'command': _COMMANDS['onednn']},
    _conv('dilations are one too large', '{ a->dilations[0] - 1, a->dilations[1] - 1 }',
          '{ a->dilations[0] - 1, a->dilations[1] }'),
    _conv('the bias is left out', 'has_float_bias(c) ? c->bias_desc : NULL', 'NULL'),
    _conv('all channels have the filter of the first ones', 'filter += (size_t)part * c->part_bytes;', ''),
    _conv('all channels have the bias of the first ones', 'bias ? bias + (size_t)first_channel(c, part) * sizeof(float) : NULL', 'bias'),
    _conv('the last channels are those behind the end', 'return first < last ? first : last;', 'return first + 0 * last;'),
    _conv('the last channels come too early', 'from + i * c->channels + doubled', 'from + i * c->channels'),
    _conv('activations are left out', 'cpu_activate(run->cpu->simd, &g->attrs->act, to, pixels * c->channels);', ';'),
    # Additions that are fused with a convolution.
    _sum('what is added is always that of the first pixels', 'onednn/conv.c', 'run->addend + (y - (const float *)run->y)', 'run->addend'),
    _sum('a sum has no activation', 'onednn/conv.c', 'cpu_activate(simd, &run->conv->sum_act, y, n);', ''),
    # The layout of images without oneDNN.
    _sum('narrow groups lose nothing in channels-last order', 'kernel/conv.c', '-3 - 400 / g->out_per_group : -3;', '-3 : -3;'),
    # Depthwise convolutions by pixels.
    _packed('windows lie within the lines one result too early', 'kernel/conv_depthwise.c', 'begin = (pad + stride - 1) / stride', 'begin = pad / (stride + 1)'),
    _packed('inner pixels begin where the line does', 'kernel/conv_depthwise.c', 'int64_t iw = begin * a->strides[1] - a->padding[2];', 'int64_t iw = 0;'),
    # Rows on tiles.
    _packed('each step of a product adds the bias', 'kernel/tile_product.c', 'p->bias && last ?', 'p->bias ?'),
    _packed('all blocks of lines are the first', 'kernel/tile_rows.c', 'p.a = run->x + first * p.k;', 'p.a = run->x;'),
    _packed('later steps of strips lie where the first does', 'kernel/tile_product.c', 'strip, k0, packed + k0 * p->m);', 'strip, k0, packed);'),
    _packed('lines have no activations', 'kernel/tile_rows.c', 'cpu_activate(l->simd, &l->shape.attrs->act, y, n);', '(void)n;'),
    _fused('what is added to lines is always that of the first', 'kernel/tile_rows.c', 'run->addend + (y - run->whole.c)', 'run->addend'),
    _fused('tiles add what a later step adds', 'kernel/tile_product.c', 'tile.addend = last ? addend_of(p, tile.c) : NULL;', 'tile.addend = addend_of(p, tile.c);'),
    _fused('all blocks of lines add the first rows', 'kernel/tile_rows.c', 'p.addend += first * p.n;', ''),
    # Convolutions of 1x1 that are fused with a depthwise convolution after them.
    _windows('a line of pixels lies where another does that is wanted', 'pixels + row % WINDOW * size', 'pixels + row % 2 * size'),
    _windows('lines of another image are taken for those of this one', 'if (window->image != image)', 'if (window->image < 0)'),
    _windows('a worker goes back to lines that are gone', 'if (first < window->first || first > window->end)', 'if (first > window->end)'),
    _windows('pixels before a depthwise convolution have no activation', 'cpu_activate(l->simd, &l->shape.attrs->act, p.c, size);', ';'),
    _windows('the bias of a depthwise convolution is that of the first', 'in[l->operands + 1] :', 'in[2] :'),
    _windows('images are one below the other without padding', '(window->image * l->shape.in_h + row)', '(window->image * l->windows.out_h + row)'),
    _windows('strange weights are multiplied by padding', '!cpu_conv_can_pack(next) ||', ''),
    # Integers.
    _integer('dot products take signed bytes as unsigned ones', 'kernel/integer_dots.c',
             'd->flip = node->operands[0]->type.dtype == IR_I8 ? 0x80 : 0;', 'd->flip = 0;'),
    _integer('the zero point of an operand of dot products is 0', 'kernel/integer_dots.c',
             'bias[i] = (int32_t)((uint32_t)bias[i] - (uint32_t)zero * (uint32_t)sums[i]);', ''),
    _integer('scales of any size are small', 'kernel/integer_dots.c', 'large += !(scale[i] < 0.5f && scale[i] > -0.5f);', ''),
    _integer('results with a zero point are plain', 'kernel/integer_dots.c', '!d->attrs->zero && ', ''),
    _integer('the last pixels of a row that do not fill a vector are left out', 'kernel/integer_channels.c', 'if (count % fold) {', 'if (0) {'),
    _integer('windows at the right border read what is beside the image', 'kernel/integer_dots.c',
             'w + (g->kw - 1) * a->dilations[1] >= g->in_w', 'w >= g->in_w'),
    _integer('the columns of a block are in order', 'kernel/integer_dots.c', 'cpu_dot_channel(d->simd, i, vectors(d, block));', 'i;'),
    _integer('columns that pixels share are those of the pixel before', 'simd/dots.c', 'q[g][j] = q[g + 3 - shared][j];', 'q[g][j] = q[g][j];'),
    _integer('a second operand that is a product has the scale of the first', 'kernel/integer_dots.c', 'op->a_scale = old.b_scale;', ''),
    _integer('what is added to a tile is always that of the first row', 'simd/dots.c', 't->addend + (first + r) * t->addend_step', 't->addend'),
    _integer('rows of the addend are in order', 'simd/dots.c', 'to[i] = i / 4 * vecs + i % 4 % vecs;', 'to[i] = i;'),
    _integer('rows of pairs that are longer than a chunk read its weights again', 'simd/pairs.c', '(s * length + k) * STRIP', 's * length * STRIP'),
    _integer('what is added to pairs is always that of the first row', 'simd/pairs.c', '(r + i) * t->addend_step', '0'),
    _integer('all pixels of a window of pairs are the first one', 'simd/pairs.c', 'x[t] += step[t];', ';'),
    _integer('scales of any size are tame', 'kernel/integer.c', '!(512 * (fabsf(op->a_scale) + fabsf(op->b_scale)) <= 0x1p20f * op->scale)', 'false'),
    _integer('a sum has no limits', 'kernel/integer.c', 'op->least = fminf(fmaxf(least, zero + nearbyintf(op->lo / op->scale)), op->most);', ''),
    _integer('quotients are products with the reciprocal', 'simd/dots.c', '_mm512_fmadd_ps(v, c->inverse, _mm512_mul_ps(v, c->rest))',
             '_mm512_mul_ps(v, c->inverse)'),
    _integer('float results of exact sums have no bias', 'onednn/conv.c',
             '(float)(sums[i * channels + k] + c->biases[k])', '(float)sums[i * channels + k]'),
    _integer('all channels of a float result add that of the first', 'onednn/conv.c',
             'c->addends[i] = addend[c->each_addend ? i : 0];', 'c->addends[i] = addend[0];'),
    _integer('the zero point of the input is 0', 'onednn/conv.c', 'if (!ret && c->zero_point)', 'if (false)'),
    _integer('unsigned filters are read as signed ones', 'onednn/conv.c', '[i] ^ 0x80', '[i]'),
    _integer('all channels have the scale of the first', 'onednn/conv.c', 'c->each_scale ? i : 0', '0'),
    _integer('biases are left out', 'onednn/conv.c', 'bias ? bias[c->each_bias ? i : 0] : 0', '0'),
    _integer('halves are rounded up', 'simd/integer.c', '(v + WHOLE) - WHOLE', '(float)(int32_t)(v + 1000.5f) - 1000'),
    _integer('signed bytes are unsigned', 'simd/integer.c', '(int32_t)(int8_t)byte', '(int32_t)byte'),
    _conv('only the pixels of the first image are computed', 'g->batch * g->out_h * g->out_w;\n\tg->in_w',
          'g->out_h * g->out_w;\n\tg->in_w'),
    # Products of computed matrices.
    _matmul('matrices that are broadcast are taken for dense ones', 'cpu_offset(&mm->y, at, mm->sb) != i * mm->k * mm->n)',
            'false)'),
    _matmul('rows of a transposed matrix lie one behind the other', 'p.row * (mm->attrs->a_transpose ? 1 : mm->k)',
            'p.row * mm->k'),
    _matmul('all columns have the bias of the first ones', 'run->bias + p.column', 'run->bias'),
    _matmul('all calls have the columns of the first one', '(size_t)part * mm->part_bytes', '0 * (size_t)part'),
    _matmul('a factor of sums with a bias is one of both', '(mm->attrs->alpha == 1 || !mm->has_bias)', 'true'),
    # Winograd convolutions.
    _winograd('the last chunk is as long as the others', 'int64_t count = rest < w->chunk ? rest : w->chunk;',
              'int64_t count = w->chunk;'),
    _winograd('images are one below the other', '(at.image * g->in_h + row)', '(at.image * g->out_h + row)'),
    _winograd('padding has no rows', 'bool inside = row >= 0 && row < g->in_h && ', 'bool inside = '),
    _winograd('parts have the filter of the first one', 'packed += (size_t)part * w->part_bytes;', 'packed += (size_t)part * 0;'),
    _winograd('all points of a part have the filter of the first', 'points + i * each,\n\t\t\t\t      (float *)packed + i * each);',
              'points + i * each,\n\t\t\t\t      (float *)packed + 0 * i);'),
    _product('later steps of a product forget those before', '.add = k0 > 0,', '.add = false,'),
    _product('rows of a product lie as many floats apart as there are steps', 'p->a + row * p->k + k0, p->k,', 'p->a + row * p->k + k0, depth,'),
    _product('all panels of a product are the first', 'p->b + column * p->k + k0 * width', 'p->b + k0 * width'),
    _product('lines as they are begin one further', '.a = p->a + row * p->k,', '.a = p->a + row * p->k + 1,'),
    _product('lines as they are meet the first panel alone', '.b = p->b + column * p->k,', '.b = p->b,'),
    _product('lines are as far apart as they are packed', 'a[i * lda]', 'a[i]', 'simd/gemm.c'),
    _packed('windows as they are begin with one element', 'kernel/conv_rows.c', 'x + b->place[p] + r->at[k], n', 'x + b->place[p] + r->at[k0], n'),
    _packed('pixels between others are taken, too', 'kernel/tile_rows.c', 'i % g->out_w * g->attrs->strides[1]', 'i % g->out_w'),
    _packed('lines between others are taken, too', 'kernel/tile_rows.c', '% g->out_h * g->attrs->strides[0]', '% g->out_h'),
    _packed('threads copy the first lines alone', 'kernel/tile_rows.c', 'copy_rows(run, begin, end - begin,', 'copy_rows(run, 0, end - begin,'),
    _tiles('the last panel writes beyond its columns', '.ldc = n < width ? width : mm->ldc', '.ldc = mm->ldc'),
    _tiles('results of the last panel stay where they are', 'r < size && n < width', 'r < size && false'),
    _tiles('the last panel has the bias of the first', 'memcpy(worker->bias, tile.column_bias,', 'memcpy(worker->bias, run->bias,'),
    _tiles('all matrices are multiplied with the first', 'run->b + cpu_offset(&mm->y, at, mm->sb)', 'run->b'),
    _tiles('a transposed matrix is read as it is', 'b + column * mm->ldb, mm->ldb, n, mm->k', 'b + column, mm->ldb, n, mm->k'),
    _tiles('all lines are the first ones', 'int64_t line = cpu_split_first(&run->lines, part);', 'int64_t line = 0;'),
    _packed('products with a factor are taken', 'kernel/matmul.c', 'if (node->attrs.matmul.alpha != 1)', 'if (false)'),
    _packed('any bias is one for each column', 'kernel/matmul.c', 'node->attrs.matmul.beta == 1 && bias->type.rank && ir_type_elements(&bias->type) == n', 'true'),
    _tiles('other activations are left out', 'if (mm->limited)\n\t\treturn;', 'return;'),
    _winograd('what is not finite stays', 'return atomic_load(&r.strange) ?', 'return false ?'),
    _winograd('filters may have any numbers', 'header->plain = !spread_filter(g, from, points);',
              'header->plain = !spread_filter(g, from, points) && false;'),
    _winograd('the middle taps come back without their second half', 'g[to_step] = u[step] - u[2 * step];',
              'g[to_step] = u[step];'),
    _winograd('activations that are no limits are left out', 'tile < end && !w->limited', 'tile < end && w->limited'),
    # Changes of the layout of images.
    _pass('an axis of concat goes the other way', 'attrs->axis = to_first[attrs->axis];', 'attrs->axis = to_last[attrs->axis];',
          'text'),
    _pass('slices begin where they did', 'slice->starts[i] = from.starts[to_last[i]];', 'slice->starts[i] = from.starts[i];'),
    _pass('slices have the strides of the other order', 'slice->strides[i] = from.strides[to_last[i]];',
          'slice->strides[i] = from.strides[to_first[i]];'),
    _pass('means are over the axes of nchw', 'attrs->reduce.axes = permuted_axes(attrs->reduce.axes);', ';'),
    _pass('pools keep their layout', 'attrs->pool.layout = IR_NHWC;', ';'),
    _pass('normalisation is along the width', 'attrs->norm.axis = to_first[attrs->norm.axis];', 'attrs->norm.axis = 2;'),
    _pass('small regions are permuted, too', 'if (t->work[region] / work_per_element < t->border[region])', 'if (false)', 'text'),
    _pass('outputs cost nothing', 'if (value->def && t->last[value->def->id])\n\t\t\tt->border',
          'if (false)\n\t\t\tt->border', 'text'),
    _packed('channels of a row are counted from its elements', 'kernel/reduce.c', 'int64_t c = i / inner % channels;', 'int64_t c = i % channels;'),
    _packed('each piece has the numbers of the first', 'kernel/reduce.c', 'b->mean + at, 1, n', 'b->mean, 1, n'),
    # Factors of products, and weights that stay integers.
    _tiles('the factor of a product is lost', '.factor = mm->attrs->alpha,', '.factor = 1,'),
    _matmul('the factor of a product of oneDNN is lost', 'if (attrs->alpha != 1)', 'if (0)'),
    _packed('the factor of a packed matrix is lost', 'kernel/matmul.c', 'i < floats && alpha != 1;', 'i < 0 * floats;'),
    _integer('integers without a sign keep their zero', 'kernel/weights_matmul.c', 'p->dtype == IR_U8 ? 0x80 : 0;',
             'p->dtype == IR_U8 ? 0 : 0;'),
    _integer('a zero point of 4 bits has a sign', 'kernel/weights_matmul.c', 'dtype == IR_U4 ? 8 : 0', 'dtype == IR_U4 ? 0 : 0'),
    _integer('mirrored integers keep the sign of their scale', 'kernel/weights_matmul.c', 'scale[j] = -scale[j];', 'scale[j] = 1 * scale[j];'),
    _integer('bytes of a column lie upon each other', 'kernel/weights_matmul.c', 'p->from[at / 2 + i] << 8 * i;', 'p->from[at / 2 + i] << 0 * i;'),
    _integer('the second integer of a byte is the first', 'kernel/weights_matmul.c', '(uint32_t)(row[j] >> 4) << 4 * i;', '(uint32_t)(row[j] & 15) << 4 * i;'),
    _integer('all blocks have the scales of the first', 'kernel/weights_matmul.c', 'begin / s->block * width', '0 * width'),
    _integer('part of a block is a whole one', 'kernel/weights_matmul.c', 's->block > DEPTH ? s->block - begin % s->block :',
             's->block > DEPTH ? DEPTH :'),
    _integer('the bias is added for each part of the steps', 'kernel/weights_matmul.c', 'last ? bias : NULL', 'bias'),
    _integer('columns that share a scale are one', 'kernel/weights_matmul.c', 'column = (begin + j) / each;', 'column = 0 * ((begin + j) / each);'),
    _integer('zero points of weights are left out', 'simd/weights.c', 'if (zeros && w->zero)', 'if (0 && w->zero)'),
    _integer('the last integers of a block are left out', 'simd/weights.c', 'for (int64_t j = k; j < n; j++) {',
             'for (int64_t j = n; j < n; j++) {'),
]
