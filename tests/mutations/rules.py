# SPDX-License-Identifier: MIT
"""Errors planted in the passes' local rules, for run.py."""

_DIR = 'build/mutations'
_TEXT = f'python3 -B tests/library/ir/test_passes.py {_DIR}/tests/library/ir/ir-opt'
_FUZZ = f'{_DIR}/tests/graphs/graph-fuzz -d cpu -n 1500 -l 80 -s 31'

SETUP = [f'meson setup {_DIR}']
EVIDENCE = r'FAIL.*'
BUILD = f'ninja -C {_DIR} tests/library/ir/ir-opt tests/graphs/graph-fuzz tests/library/api/test_api_graph '\
        'tests/library/api/test_api_branches tests/library/ir/test_floats tests/library/ir/test_rules'


def _rule(file, name, old, new, command=_TEXT):
    return {'name': name, 'file': f'userspace/src/pass/{file}.c', 'old': old, 'new': new, 'command': command}


def _view(name, old, new, file='views.c'):
    return {'name': name, 'file': 'userspace/src/run/' + file, 'old': old, 'new': new, 'command': _TEXT}


def _branch(name, old, new):
    return {'name': name, 'file': 'userspace/src/run/branches.c', 'old': old, 'new': new,
            'command': f'{_DIR}/tests/library/api/test_api_branches'}


def _floats(name, old, new):
    return {'name': name, 'file': 'userspace/src/util/floats.c', 'old': old, 'new': new,
            'command': f'{_DIR}/tests/library/ir/test_floats'}


MUTATIONS = [
    # Factors and summands that are folded into weights.
    _rule('rule_scale', 'a batch normalisation forgets its mean',
          'element_or(node->operands[1], i, 0) * affine->scale[i]', '0 * affine->scale[i]'),
    _rule('scaling', 'weights may become infinite', '(number <= (half ? MAX_HALF : (double)FLT_MAX) &&', '(true &&'),
    _rule('rule_scale', 'a summand in front of padding is taken', '!sees_all(product) ||', '(0 && !sees_all(product)) ||'),
    _rule('rule_scale', 'a sum in front of a product is taken', ' && !changes(affine->shift, affine->count, 0);', ';'),
    _rule('rule_scale', 'float16 is shifted in front of a product', 'product->results[0]->type.dtype == IR_F16 || !sees', '!sees'),
    _rule('rule_scale', 'what is in front comes in the wrong order', 's->in_shift[i] += s->in_scale[i] * affine->shift[i];',
          's->in_shift[i] += affine->shift[i];'),
    _rule('scaling', 'groups of a transposed convolution are the first',
          '? at / w->ins_per_group * w->outs_per_group :', '? 0 :'),
    _rule('scaling', 'groups of a convolution have the first inputs',
          '? 0 : i / w->outs_per_group * w->ins_per_group;', '? 0 : 0;'),
    _rule('scaling', 'a channel without a number is not looked at', 'if (!isfinite(s->out_scale[i]))', 'if (0)'),
    _rule('rule_scale', 'a difference is not turned', 'affine->scale[i] = side ? 1 : -1;', 'affine->scale[i] = 1;'),
    _rule('rule_scale', 'the divided constant is taken for a divisor', 'node->attrs.binary.kind == IR_DIV && i == 0 ? -1 : i', 'i'),
    _rule('scaling', 'the old bias is lost', 'double own = own_bias(product, i);', 'double own = 0 * own_bias(product, i);'),
    # Loops over all weights.
    _floats('the last numbers are not looked at', 'for (; i < count; i++) {', 'for (; i < count - 1; i++) {'),
    _floats('signs count', 'own &= INT32_MAX;\n\t\t\tlarger', 'larger'),
    _floats('products are of single precision', '__builtin_convertvector(__builtin_convertvector(own, doubles) * factor,\n\t\t\t\t\t      floats);', 'own * (float)factor;'),
    # Factors of products.
    _rule('rule_factor', 'a divisor is a factor', '*factor = 1 / *factor;', '*factor = *factor;'),
    _rule('rule_factor', 'the bias has no factor', 'factor, has_bias ? factor : 1, node', 'factor, 1, node'),
    _rule('rule_factor', 'any number may be a factor', 'return fabs(factor) >= LEAST_FACTOR && ', 'return '),
    _rule('rule_factor', 'a linear function has no summand', 'node->attrs.unary.beta == 0', 'true'),
    _rule('rule_factor', 'an activation sees the factor', 'product->attrs.matmul.act.kind != IR_UNARY_NONE ||\n', ''),
    _rule('rule_factor', 'products of integers have factors', '!(is_dequantized(product->operands[0]) &&', '!(0 &&'),
    # Windows.
    _rule('rule_window', 'any padding is taken for zeros', '|| number != 0 ||', '||'),
    _rule('rule_window', 'averages count what they have not padded', 'if (pool->padding[2 * i] || pool->padding[2 * i + 1] ||\n\t\t    last', 'if (last'),
    _rule('rule_window', 'windows of averages go beyond the padding', 'pool->padding[2 * i + 1] ||\n\t\t    last >= ir_type_dim(&node->operands[0]->type, rows + i))', 'pool->padding[2 * i + 1])'),
    _rule('rule_window', 'averages do not count padding', 'attrs.pool.counts_padding = attrs.pool.kind == IR_POOL_AVERAGE;', ';'),
    _rule('rule_window', 'rows are padded as columns', 'padding[2 * i] += p->begin[rows + i];', 'padding[2 * i] += p->begin[rows + 1 - i];'),
    # Products of integers.
    _rule('fuse_sums', 'a computed zero point leaves the sums of a transposed convolution',
          'return !conv->transposed && (conv', 'return (conv'),
    _rule('fuse_sums', 'a computed zero point is put around columns as around rows',
          'zero, rows + 1, conv->padding + 2);', 'zero, rows + 1, conv->padding);'),
    # Chains of operators.
    _rule('rule_chain', '0 is added to -0 without a change', '(bits == 0 && has_no_negative_zero(x, MAX_HEIGHT))', 'bits == 0'),
    _rule('rule_chain', 'the logarithm of softmax has no sign', 'return !def->attrs.softmax.log;', 'return true;'),
    _rule('rule_chain', 'tanh ignores the sign of zero', 'kind == IR_SIGMOID || kind == IR_SOFTPLUS || kind == IR_IS_NAN', 'kind == IR_TANH || kind == IR_IS_NAN'),
    _rule('rule_chain', 'every byte is a truth', 'if (is_truth(x) && rules_may_pass(rules, node, x))', 'if (rules_may_pass(rules, node, x))'),
    _rule('rule_chain', '-infinity limits nothing from above', 'rules_infinity(dtype, false);\n\tdefault', 'rules_infinity(dtype, true);\n\tdefault'),
    _rule('rule_chain', 'a constant divided by 1 is neutral', 'case IR_DIV:\n\t\treturn side == 1 && bits', 'case IR_DIV:\n\t\treturn bits'),
    _rule('rule_chain', 'a sum may have another shape', 'ir_type_same_shape(&x->type, &node->results[0]->type) &&\n', '\n'),
    _rule('rule_chain', 'limits of the inner clamp are lost', 'inner->alpha = limit(inner_lo, lo, hi);', 'inner->alpha = lo;'),
    _rule('rule_chain', 'float16 holds float32', 'return from == IR_F16 && to == IR_F32;', 'return true;'),
    _rule('rule_chain', 'where keeps the order of its operands', 'operands[1] = node->operands[2];', 'operands[1] = node->operands[1];'),
    # Views.
    _rule('rule_view', 'transposes follow each other in the wrong order',
          'inner->attrs.transpose.perm[outer->attrs.transpose.perm[i]]', 'outer->attrs.transpose.perm[inner->attrs.transpose.perm[i]]'),
    _rule('rule_view', 'a transposed product keeps the order of its operands', 'operands[0] = product->operands[1];',
          'operands[0] = product->operands[0];'),
    _rule('rule_view', 'a transposed product loses its bias', '(product->num_operands > 2 && product->operands[2]) ||\n', ''),
    _rule('rule_view', 'a reshape in front of a transpose has the axes behind it',
          'transpose->attrs.transpose.perm[i] == axis && k <', 'i == axis && k <'),
    # Work behind reshapes.
    _rule('channels', 'an axis of as many elements elsewhere has the channels', 'elements == before && ir_type_dim(to, k)',
          'ir_type_dim(to, k)'),
    _rule('rule_reshape', 'channels behind a transpose are where they were', 'if (view->attrs.transpose.perm[k] == axis)', 'if (k == axis)'),
    _rule('rule_reshape', 'what is added along a row is taken for a bias',
          'return view->op == IR_OP_RESHAPE && axis + 1 == from->rank;', 'return view->op == IR_OP_RESHAPE;'),
    _rule('rule_chain', 'a limit of either zero is taken', '(number == 0 && max == (bool)signbit(number)) ||', ''),
    _rule('rule_groups', 'a scale is lost in front of another', '(mul && !is_number(operand_of(norm, 1), 1)) ||', ''),
    _rule('rule_reshape', 'a pad is along the axes of before', 'attrs.pad.begin[axis] = pad->attrs.pad.begin[i];',
          'attrs.pad.begin[i] = pad->attrs.pad.begin[i];'),
    _rule('rule_reshape', 'a padded axis may be joined', 'if (axis < 0 || type.dim', 'if (axis < 0)\n\t\t\tcontinue;\n\t\tif (type.dim'),
    _rule('rule_scale', 'a negation does not negate', 'negates ? -1 : ', 'negates ? 1 : '),
    _rule('rule_parts', 'a reciprocal that is an output is part of softmax',
          'rules_uses(rules, factor) == 1 &&\n\t\t    !rules_is_output(rules, factor))', 'rules_uses(rules, factor) >= 1)'),
    _rule('fuse_activation', 'functions behind views see integers', '!(views && has_integers(producer))', '!(0 && has_integers(producer))'),
    _rule('fuse_activation', 'a view takes the place of the product', 'rw->value[producer->results[0]->id] = node->results[0];',
          'rw->value[unary->operands[0]->id] = node->results[0];'),
    _rule('rule_view', 'any reshape drops an axis of images', 'ir_type_same_shape(&less, to))', 'less.rank == to->rank)'),
    _rule('rule_view', 'any operator makes images', '!makes_image(rules, reshape->operands[0]))', '!(makes_image(rules, reshape->operands[0]) || 1))'),
    _rule('rule_scale', 'channels in front of a transpose are where they are behind it',
          'f.axis = (int)f.node->attrs.transpose.perm[f.axis];', 'f.axis = f.axis;'),
    _rule('rule_scale', 'views come back in the wrong order', 'for (int i = f->count; i-- > 0 && value;)',
          'for (int i = 0; i < f->count && value; i++)'),
    _rule('rule_chain', 'the negated summand stays in front', 'operands[0] = is_negated[0] ? operands[1] : swapped;',
          'operands[0] = swapped;'),
    _rule('rule_chain', 'one negation of a product goes', 'if (!is_negated[0] || !is_negated[1])', 'if (!is_negated[0] && !is_negated[1])'),
    _rule('rule_chain', 'a negated minuend does not matter', 'if (!is_negated[1] || is_negated[0])', 'if (!is_negated[0])'),
    _rule('rule_reshape', 'a pad keeps its axes behind a transpose', 'attrs.pad.begin[i] = pad->attrs.pad.begin[perm[i]];',
          'attrs.pad.begin[i] = pad->attrs.pad.begin[i];'),
    _rule('rule_gate', 'a divisor of hardSigmoid is a factor', '*alpha = 1 / *alpha;', '*alpha = *alpha;'),
    _rule('recognise', 'any divisor makes gelu', 'bool divided = recognise_is_binary(root, IR_DIV) &&\n\t\t       recognise_is_about(root->operands[1], 2);', 'bool divided = recognise_is_binary(root, IR_DIV);'),
    # float16 on the CPU.
    _rule('widen', 'a value is converted whole for a part', 'sliced[from->id] >= ir_type_elements(&from->type)', 'sliced[from->id] >= 0 * ir_type_elements(&from->type)'),
    _rule('widen', 'what is used as float16 is moved as float32', '!kept[result->id] &&', 'result &&'),
    _rule('widen', 'a result is not rounded for its users', 'rounded(t, old->def, raw)', '(rounded(t, old->def, raw) ? raw : NULL)'),
    # Heads that are repeated.
    _rule('rule_heads', 'rows may be repeated, too', 'i != r->axis &&\n\t\t    i != r->axis + 1)', 'i + 2 < r->axis)'),
    _rule('rule_heads', 'what is repeated is not looked for behind a transpose',
          'while (transpose && transpose->attrs.transpose.perm[i] != axis)', 'while (0)'),
    _rule('rule_heads', 'a batch that the other operand lacks is not repeated', 'ir_type_dim(other, k) == ir_type_dim(result, k);', '1;'),
    _rule('rule_heads', 'softmax keeps the number of its axis', '\t\tattrs.axis++;', '\t\tattrs.axis += 0;'),
    _rule('rule_heads', 'a mask for all heads has them', 'one = ir_type_dim(&value->type, axis) == 1;', 'one = false;'),
    _rule('rule_gate', 'any summand is that of hardSwish', 'x && number == 3 ? x : NULL', 'x'),
    _rule('rule_gate', 'any divisor is that of hardSwish', 'number != 6)', 'number == 0)'),
    _rule('rule_gate', 'any limit is that of hardSwish', 'node->attrs.unary.alpha == 0 &&\n\t\t\t\t\t\t    node->attrs.unary.beta == 6 ?',
          'node->attrs.unary.alpha == 0 ?'),
    # Normalisations that are computed in float32 between casts, or have scales of another shape.
    _rule('recognise_norm', 'squares of rounded values count as those of the values', 'value = is_cast(cast, IR_F16, IR_F32) ?', 'value = cast && cast->op == IR_OP_CAST ?'),
    _rule('recognise_norm', 'a result of float32 is one of float16', '!is_cast(next, IR_F32, IR_F16) ||', ''),
    _rule('recognise_norm', 'a scale may have any axes', '(mask >> i & 1 ? ir_type_dim(type, i) : 1))', '(ir_type_dim(&value->type, i - missing)))'),
    _rule('recognise_norm', 'the CPU normalises along any axes', '(s->cpu && !are_last(axes, value->type.rank))', '(!s->cpu && !are_last(axes, value->type.rank))'),
    _rule('recognise_norm', 'a mean has any shape', '!keeps_axes(&value->type, &mean->operands[0]->type, mean->attrs.reduce.axes)', 'keeps_axes(&value->type, &mean->operands[0]->type, 0)'),
    _rule('recognise_norm', 'a pattern without room for its first mean takes it', 'if (s->found->num_inner == MAX_INNER) {', 'if (false) {'),
    # Several products of one value.
    _rule('join_products', 'rows of a second matrix come in the place of the first', 'at += bytes;\n', 'at += 0;\n'),
    _rule('join_products', 'rows lie as far apart as those of one matrix', 'pitch += r->from[i]->bytes', 'pitch = r->from[i]->bytes'),
    _rule('join_products', 'a transposed matrix is joined by columns', 'transposed ? 1 : (size_t)', '0 ? 1 : (size_t)'),
    _rule('join_products', 'products with factors are as those without',
          'return !memcmp(&a->attrs.matmul, &b->attrs.matmul, sizeof(a->attrs.matmul)) &&\n', 'return\n'),
    _rule('join_products', 'one has the bias of another', '!bias_of(a) == !bias_of(b)', 'true'),
    _rule('join_products', 'all parts are the first', 'attrs.slice.starts[rank - 1] += ', 'attrs.slice.starts[rank - 1] += 0 * '),
    _rule('join_products', 'parts of several rows are copied on the CPU', 'return !j->cpu || ', 'return j || '),
    _rule('join_products', 'an output is part of another value', 'node->operands[0]->kind == IR_VALUE_CONSTANT || rw->is_output[node->results[0]->id]',
          'node->operands[0]->kind == IR_VALUE_CONSTANT'),
    _rule('join_products', 'a matrix with another use is there twice', ' || rw->uses[b->id] != 1', ''),
    _rule('join_products', 'rows follow each other in the joined product', 'concat->attrs.axis + 1 == concat->results[0]->type.rank', 'true'),
    _rule('join_products', 'few rows are joined on the NPU whatever the weights take', 'return bytes <= MOST_KEPT || rows >= SOME_ROWS;', 'return true;'),
    _rule('join_products', 'outputs of the NPU are joined as other values', 'if (output)', 'if (output && !rows)'),
    _rule('join_products', 'outputs of the NPU with many weights are not joined', '(rows >= SOME_ROWS && bytes > MOST_KEPT)', 'false'),
    _rule('join_products', 'a single row has one product on the CPU whatever it takes', 'return rows > 1 || bytes <= MOST_OF_LINE;', 'return true;'),
    _rule('join_products', 'large matrices are joined for any number of rows', 'if (rows > FEW_ROWS)', 'if (false)'),
    _rule('join_products', 'rows that are as large as matrices do not count', '(count - 1) * ir_type_bytes', '0 * ir_type_bytes'),
    _rule('join_products', 'what a concat reads alone is joined with others', 'j->nodes[concat->operands[k]->def->id].alone = !gains;', ';'),
    # Transposes that are moved after other operators.
    _rule('permute', 'axes of a mask are those behind the transpose', '(axes >> i & 1) << perm[i];', '(axes >> perm[i] & 1) << i;'),
    _rule('permute', 'starts of a slice are those behind the transpose', 'list[perm[i]] = from[i];', 'list[i] = from[perm[i]];'),
    _rule('permute', 'slices of a concat follow each other behind the transpose', 'attrs->axis = perm[attrs->axis];', ';'),
    _rule('permute', 'rows that are normalised lie apart', 'if (perm[norm->axes[i]] != rank - norm->num_axes + i)', 'if (perm[norm->axes[i]] > rank)'),
    _rule('sink_transposes', 'any two transposes are of one kind', 'return !memcmp(a, b, rank * sizeof(*a));', 'return a && b && rank;'),
    _rule('sink_transposes', 'any transpose undoes another', 'if (perm[transpose->attrs.transpose.perm[i]] != i)', 'if (perm[i] > IR_MAX_RANK)'),
    _rule('sink_transposes', 'a product transposes whatever axes', 'if (perm[i] != i)', 'if (perm[i] > rank)'),
    _rule('sink_transposes', 'regions are permuted at any price', 'region->permuted = region->gain > 0 ||', 'region->permuted = true ||'),
    _rule('sink_transposes', 'what is left of a reduction stays in its order', 'moves |= left[count] != count;', ';'),
    _rule('sink_transposes', 'floats of integers leave them', 'return !source || source->op != IR_OP_DEQUANTIZE;', 'return !source || source->op != IR_OP_COPY;'),
    _rule('channels_last', 'any reduction reads pictures in either order', '((axes & 2) || (axes & 12) == 12);', 'axes;'),
    _rule('channels_last', 'any transpose leads to channels-last order',
          '!memcmp(node->attrs.transpose.perm, perm, sizeof(to_last));', 'perm;'),
    # Values in the memory of other values.
    _view('parts between others are contiguous', 'if (size != 1 && (cut || slice->strides[i] != 1))', 'if (size != 1 && slice->strides[i] != 1)'),
    _view('a part begins where the whole does', '*offset += slice->starts[i] * stride;', ';'),
    _view('an operand of a concat that is an output is made in it', 'f->is_output[views_home_of(f->c->homes, graph->outputs[i].value->id).value] = true;', ';'),
    _view('steps of merged axes are not looked at', 'if (rest > 1 && old[at] != step * rest)', 'if (rest > 1 && old[at] < 0)', 'strides.c'),
    _view('a part in steps begins where the whole does', 's->offset += node->attrs.slice.starts[i] * old.stride[i];', ';', 'strides.c'),
    _view('what has another reader is read in steps by one', 'value->def && f->uses[value->id] == 1 &&', 'value->def &&', 'strides.c'),
    _view('results go the way that operands came', 's->stride[node->attrs.transpose.perm[i]] = old.stride[i];',
          's->stride[i] = old.stride[node->attrs.transpose.perm[i]];', 'strides.c'),
    _view('parts of a row all begin where it does', 'at += stride * (uint64_t)', 'at += 0 * stride * (uint64_t)', 'strides.c'),
    _view('what is read twice is written between others', 'may_write_part(node) && f->uses[operand->id] == 1 &&', 'may_write_part(node) &&', 'strides.c'),
    _view('operands are made in a concat that then lives too long', 'if (!f->bold && !views_stay_below(f, first, n)) {', 'if (false) {', 'strides.c'),
    _view('a sum that a convolution takes in is arranged', 'node->operands[i]->def->id + 1 == node->id', 'false', 'strides.c'),
    _view('memory is never short', 'if (f->live[n] > f->peak)', 'if (f->live[n] < 0)'),
    _view('parts of a concat are all at its begin', 'at += (uint64_t)ir_type_bytes(&node->operands[i]->type);', ';'),
    # Group normalisation.
    _rule('rule_groups', 'groups of other images are normalised', '!ir_type_same_shape(&before->operands[0]->type, image)', '0'),
    _rule('rule_groups', 'scales of groups are those of the first channels', '(size_t)(i / times) * bytes', '(size_t)(i % count) * bytes'),
    _rule('rule_groups', 'the scale of groups is forgotten', "is_all(value, neutral))", '1)'),
    _rule('rule_groups', 'a scale comes behind the bias', '!is_number(operand_of(norm, 2), 0) ||', ''),
    _rule('rule_groups', 'a row of numbers belongs to channels', 'ir_type_dim(type, 1 - missing) == channels &&', ''),
    # Composed operators, and constant integers.
    _rule('rule_parts', 'the sum may be that of another axis', '|| vectors.axes != sum->attrs.reduce.axes ||', '||'),
    _rule('rule_parts', 'a logarithm may be that of another axis', '&& sum->attrs.reduce.axes == vectors->axes &&', '&&'),
    _rule('rule_parts', 'guards are not compared', 'a->axes == b->axes && a->guarded == b->guarded', 'a->axes == b->axes'),
    _rule('rule_parts', 'logarithms are broadcast', 'if (ir_type_elements(&node->operands[i]->type) != count)', 'if (0)'),
    _rule('rule_parts', 'a reduction meets other lines', 'if (dim != wanted)', 'if (0)'),
    _rule('rule_parts', 'NaN becomes any number', '|| bits ||\n\t    !ir_type', '||\n\t    !ir_type'),
    _rule('rule_parts', 'NaN that something else reads becomes 0', '|| rules_is_output(rules, y) ||', '||'),
    _rule('rule_integers', 'every row has the scale of the first', 'if (!each)\n\t\treturn', 'if (1)\n\t\treturn'),
    _rule('rule_integers', 'transposed integers that others use stay as floats as well', 'if (!from || !from_integers', 'if (!from) from = node->operands[0]->def;\n\tif (!from_integers'),
    _rule('rules', 'nodes stay in the order in which they were made', 'put_in_order(graph, node->operands[i]->def, order, done);', ';'),
    # Gates.
    _rule('rule_gate', 'a gate may be of another value', 'find_gate(rules, node->operands[!i], node->operands[i], &gate)',
          'find_gate(rules, node->operands[!i], node->operands[!i]->def ? node->operands[!i]->def->operands[0] : NULL, &gate)'),
    _rule('rule_gate', 'only the first operand is a gate', 'for (uint32_t i = 0; i < 2 && is_binary(node, IR_MUL); i++)',
          'for (uint32_t i = 0; i < 1 && is_binary(node, IR_MUL); i++)'),
    _rule('rule_gate', 'a summand in a sigmoid is lost', '&& node->attrs.unary.beta == 0 && isfinite(*times);', '&& isfinite(*times);'),
    _rule('rule_gate', 'a quotient by 3 is a product', 'fabs(frexp(number, &exponent)) == 0.5 &&', 'frexp(number, &exponent) != 0 &&'),
    _rule('rule_gate', 'a power may be added to any number', 'power && one == 1 ?', 'power ?'),
    _rule('rule_gate', 'a factor that others read is a gate', 'node = rules_sole(rules, value);\n\n\treturn node &&',
          'node = value->def;\n\n\treturn node &&'),
    _rule('rule_gate', 'a quotient has the sign of the power', 'gate.alpha = (float)-times;', 'gate.alpha = (float)times;'),
    _rule('rule_gate', 'a gate may have another shape', 'node && ir_type_same_shape(&value->type, &x->type) &&', 'node &&'),
    _rule('rule_gate', 'any clamp is a hardSigmoid', '\t\t   node->attrs.unary.beta != 1 ||', '\t\t   0 ||'),
    _rule('rewrite', 'any constant is a number', 'return data && !memcmp(data, data + one, bytes - one);', 'return data != NULL || one == bytes;'),
    _rule('rules', 'a rule is not named', 'rules->rw->rule[old] = rules->current->name;\n\t}\n\tif (to->first', ';\n\t}\n\tif (to->first',
          f'{_DIR}/tests/library/api/test_api_graph'),
    # Functions in parts, ranges and repeated values.
    _rule('rule_gate', 'any factor makes hardSigmoid', 'fabs(6 * number - 1) <= near', 'fabs(6 * number - 1) <= 1'),
    _rule('rule_gate', 'a number that is divided makes hardSigmoid', ' && !(i && is_binary(node, IR_DIV))', ''),
    _rule('rule_gate', 'limits of 0 and any number make hardSigmoid', 'node->attrs.unary.beta != 1 || !is_real', '!is_real'),
    _rule('rule_gate', 'a factor above 1 makes leakyRelu', ' && *alpha <= 1 &&', ' &&'),
    _rule('rule_gate', 'a factor below 0 makes leakyRelu', '*alpha > 0 && ', ''),
    _rule('rule_gate', 'the smaller of two is leakyRelu', 'i < 2 && is_binary(node, IR_MAX) && !value',
          'i < 2 && (is_binary(node, IR_MAX) || is_binary(node, IR_MIN)) && !value'),
    _rule('rule_gate', 'leakyRelu is chosen by any number', '&& number == 0 &&\n\t\t    (i ? more', '&&\n\t\t    (i ? more'),
    _rule('rule_gate', 'leakyRelu is chosen by the wrong sign', 'i == 2) == x', 'i == 1) == x'),
    _rule('rule_parts', 'softmax of any number in float32 is that of float16', ' || cast->operands[0]->type.dtype != IR_F16)', ')'),
    _rule('rule_window', 'zeros are less than any number', '(number == 0 && rules_is_positive(input))', 'number == 0'),
    _rule('rule_chain', 'pools of any numbers have no sign', 'def->attrs.pool.kind == IR_POOL_L2 || are_positive(def, height - 1)', 'true'),
    _rule('rule_range', 'a range may end outside', '*first + count <= size', 'count <= size'),
    _rule('rule_range', 'indices below 0 count from the begin', 'index += index < 0 ? size : 0;', ';'),
    _rule('rule_range', 'any indices follow each other', 'if (index != *first + i)', 'if (index < 0)'),
    _rule('rule_range', 'an expand goes whose size nothing else has', 'if (!found)', 'if (0)'),
    _rule('rule_range', 'short rows have one element each', 'row >= LONG_ROW', 'row > 1'),
    _rule('rule_range', 'axes in the middle are repeated', 'if (ir_type_dim(type, i) != ir_type_dim(result, missing + i))', 'if (0)'),
    _rule('rules', 'rows of one name have bits of their own', 'bit += strcmp(name_of(i), name_of(i - 1)) != 0;', 'bit++;',
          f'{_DIR}/tests/library/ir/test_rules'),
    # Sides of selections that are left out.
    _branch('a condition may be computed after the nodes of its sides', 'branches[up].condition->def->id >= node->id', 'false'),
    _branch('a value is needed by its last reader alone', 'branch : common(s->c->branches, *of, branch);', 'branch : *of;'),
    _branch('sides of a condition are one branch wherever they are', 'c->branches[found].parent == *branch && ', ''),
    _branch('outputs are left out', 's->of_value[graph->outputs[i].value->id] = RUN_ALWAYS;', ';'),
    _branch('a condition of several elements selects a side', ' &&\n\t       ir_type_elements(&node->operands[0]->type) == 1;', ';'),
]
