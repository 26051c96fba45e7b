// SPDX-License-Identifier: MIT
/*
 * Constants; branches, which are selected at import or both computed; and sequences, whose items
 * are values of the graph.
 */
#include <string.h>

#include "move.h"
#include "ops.h"

/*
 * Ends the import because the value of the node cannot be read, and puts the node's name before the
 * error: the value itself mostly has none. Always returns -1.
 */
static int end_import(struct onnx_node *node, WNNStatus status)
{
	node->import->status = status;
	if (status == WNNStatus_OperationError)
		onnx_error_in(onnx_arena_printf(node->import->arena, "node \"%s\"", node->name));
	return -1;
}

static int sparse_constant(struct onnx_node *node, const Onnx__SparseTensorProto *tensor)
{
	struct onnx_value *value = onnx_new_value(node);
	WNNStatus status;

	if (!value)
		return -1;
	status = onnx_value_of_sparse(node->import->model, node->import->arena, tensor, value);
	if (status != WNNStatus_Success)
		return end_import(node, status);
	if (onnx_work(node, (uint64_t)onnx_shape_elements(&value->shape)))
		return -1;
	return onnx_out_value(node, 0, value);
}

int onnx_op_constant(struct onnx_node *node)
{
	const Onnx__AttributeProto *attr;
	struct onnx_value *value;
	struct onnx_shape shape = { 0 };
	WNNStatus status;
	void *data;

	attr = onnx_attr(node, "value");
	if (attr && attr->t) {
		value = onnx_new_value(node);
		if (!value)
			return -1;
		status = onnx_value_of_tensor(node->import->model, node->import->arena, attr->t,
					      value);
		if (status == WNNStatus_Success)
			return onnx_out_value(node, 0, value);
		if (attr->t->data_type == ONNX_STRING || !onnx_type_bits(attr->t->data_type))
			return onnx_refuse(node, "value", "constants of type %s cannot be imported",
					   onnx_type_text(node->import->arena, attr->t->data_type));
		return end_import(node, status);
	}
	if ((attr = onnx_attr(node, "sparse_value")) && attr->sparse_tensor)
		return sparse_constant(node, attr->sparse_tensor);
	if ((attr = onnx_attr(node, "value_float")) && attr->has_f) {
		data = onnx_out_constant(node, 0, ONNX_FLOAT, &shape);
		if (data)
			memcpy(data, &attr->f, sizeof(attr->f));
	} else if ((attr = onnx_attr(node, "value_int")) && attr->has_i) {
		data = onnx_out_constant(node, 0, ONNX_INT64, &shape);
		if (data)
			memcpy(data, &attr->i, sizeof(attr->i));
	} else if ((attr = onnx_attr(node, "value_floats"))) {
		shape = (struct onnx_shape){ 1, { (int64_t)attr->n_floats } };
		data = onnx_out_constant(node, 0, ONNX_FLOAT, &shape);
		if (data && attr->n_floats)
			memcpy(data, attr->floats, attr->n_floats * sizeof(*attr->floats));
	} else if ((attr = onnx_attr(node, "value_ints"))) {
		shape = (struct onnx_shape){ 1, { (int64_t)attr->n_ints } };
		data = onnx_out_constant(node, 0, ONNX_INT64, &shape);
		if (data && attr->n_ints)
			memcpy(data, attr->ints, attr->n_ints * sizeof(*attr->ints));
	} else {
		return onnx_refuse(node, "value", "it has no value that WebNN can hold");
	}
	return data ? 0 : -1;
}

int onnx_op_constant_of_shape(struct onnx_node *node)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, "value");
	struct onnx_value one = { .type = ONNX_FLOAT, .shape = { 1, { 1 } } }, *value;
	static const float zero;
	struct onnx_shape shape = { 0 };
	const int64_t *given;
	size_t count;

	one.data = &zero;
	if (attr && attr->t) {
		WNNStatus status = onnx_value_of_tensor(node->import->model, node->import->arena,
							attr->t, &one);

		if (status == WNNStatus_UnknownError)
			return end_import(node, status);
		if (status != WNNStatus_Success)
			return onnx_refuse(
				node, "value",
				"its value is damaged, or has a type that constants cannot have");
		if (onnx_shape_elements(&one.shape) != 1)
			return onnx_refuse(node, "value",
					   "its value has %lld elements instead of 1",
					   (long long)onnx_shape_elements(&one.shape));
	}
	if (onnx_in_ints(node, 0, "input", &given, &count))
		return -1;
	if (count > ONNX_MAX_RANK)
		return onnx_refuse(node, "input", "the result would have %zu dimensions", count);
	shape.rank = (uint32_t)count;
	memcpy(shape.dim, given ? given : shape.dim, count * sizeof(*given));
	if (onnx_shape_is_too_big(&shape))
		return onnx_too_big(node, "input", &shape);
	if (onnx_shape_elements(&shape) < 0)
		return onnx_refuse(node, "input", "the shape %s has a negative size",
				   onnx_shape_text(node->import->arena, &shape));
	one.shape.rank = 0;
	value = onnx_new_value(node);
	if (!value)
		return -1;
	*value = one;
	value = onnx_move_expand(node, value, &shape);
	return value ? onnx_out_value(node, 0, value) : -1;
}

static const Onnx__GraphProto *branch_of(struct onnx_node *node, bool taken)
{
	const char *name = taken ? "then_branch" : "else_branch";
	const Onnx__AttributeProto *branch = onnx_attr(node, name);

	if (branch && branch->g)
		return branch->g;
	onnx_refuse(node, name, "the branch is missing");
	return NULL;
}

/*
 * Returns an output of a node whose branches are both computed: the condition selects between the
 * values of both. NULL: refused.
 */
static struct onnx_value *select_value(struct onnx_node *node, WNNOperand condition,
				       struct onnx_value *taken, struct onnx_value *other)
{
	WNNOperand a, b;

	if (taken == other || (taken->refused && other->refused))
		return taken;
	/* Where the condition is known when the model is imported, the other branch may suffice. */
	if (taken->refused || other->refused) {
		onnx_refuse_choice(node, 0, "its %s is refused, and which branch runs",
				   taken->refused ? "then_branch" : "else_branch");
		return NULL;
	}
	if (taken->sequence || other->sequence || taken->type != other->type ||
	    !onnx_shape_same(&taken->shape, &other->shape)) {
		onnx_refuse_choice(node, 0, "its branches make %s and %s, and which branch runs",
				   onnx_value_text(node->import->arena, taken),
				   onnx_value_text(node->import->arena, other));
		return NULL;
	}
	if (!onnx_shape_elements(&taken->shape))
		return taken;
	a = onnx_operand(node, taken);
	b = a ? onnx_operand(node, other) : NULL;
	return b ? onnx_value_of(node, x_where(node, condition, a, b), taken->type) : NULL;
}

/*
 * Translates If with a condition that is not constant: computes both branches and selects each
 * output. Returns 0; -1: refused.
 */
static int both_branches(struct onnx_node *node)
{
	const Onnx__GraphProto *graph[2] = { branch_of(node, true), branch_of(node, false) };
	WNNOperand condition = onnx_in(node, 0);
	static const struct onnx_shape scalar;
	struct onnx_value **results[2];
	struct onnx_shape shape;

	if (!graph[0] || !graph[1] || !condition)
		return -1;
	shape = x_shape(condition);
	if (onnx_shape_elements(&shape) != 1)
		return onnx_refuse(node, "cond", "cond must have one element");
	if (graph[0]->n_output != graph[1]->n_output)
		return onnx_refuse(node, "else_branch", "its branches have %zu and %zu outputs",
				   graph[0]->n_output, graph[1]->n_output);
	condition = x_reshape(node, condition, &scalar);
	if (onnx_unroll(node, graph[0]->n_node + graph[1]->n_node + graph[0]->n_output))
		return -1;
	for (int i = 0; i < 2; i++) {
		results[i] = onnx_node_alloc(node, (graph[i]->n_output + 1) * sizeof(*results[i]));
		if (!results[i] || onnx_run_subgraph(node, graph[i], 0, NULL, results[i]))
			return -1;
	}
	for (size_t i = 0; i < graph[0]->n_output; i++) {
		struct onnx_value *value;

		if (!onnx_wants(node, i))
			continue;
		value = select_value(node, condition, results[0][i], results[1][i]);
		if (!value)
			return -1;
		onnx_out_value(node, i, value);
	}
	return 0;
}

int onnx_op_if(struct onnx_node *node)
{
	const Onnx__GraphProto *branch;
	struct onnx_value **results;
	const int64_t *condition;
	size_t count;

	if (onnx_has(node, 0) && !node->inputs[0]->sequence && !node->inputs[0]->data)
		return both_branches(node);
	if (onnx_in_ints(node, 0, "cond", &condition, &count))
		return -1;
	if (count != 1)
		return onnx_refuse(node, "cond", "cond must have one element");
	branch = branch_of(node, condition[0] != 0);
	if (!branch)
		return -1;
	results = onnx_node_alloc(node, (branch->n_output + 1) * sizeof(*results));
	if (!results || onnx_run_subgraph(node, branch, 0, NULL, results))
		return -1;
	for (size_t i = 0; i < branch->n_output; i++)
		onnx_out_value(node, i, results[i]);
	return 0;
}

static struct onnx_value *new_sequence(struct onnx_node *node, size_t count)
{
	struct onnx_value *value = onnx_new_value(node);
	struct onnx_value **items = onnx_node_alloc(node, (count + 1) * sizeof(*items));

	if (!value || !items)
		return NULL;
	value->sequence = true;
	value->count = count;
	value->items = items;
	return value;
}

static struct onnx_value *sequence_at(struct onnx_node *node, size_t input)
{
	if (onnx_has(node, input) && node->inputs[input]->sequence)
		return node->inputs[input];
	onnx_refuse(node, "", "input %zu must be a sequence", input);
	return NULL;
}

int onnx_op_sequence_construct(struct onnx_node *node)
{
	struct onnx_value *sequence = new_sequence(node, node->input_count);

	if (!sequence)
		return -1;
	for (size_t i = 0; i < node->input_count; i++) {
		if (!onnx_has(node, i))
			return onnx_refuse(node, "", "input %zu is missing", i);
		sequence->items[i] = node->inputs[i];
	}
	return onnx_out_value(node, 0, sequence);
}

/*
 * Reads a position in a sequence, which may count from the end. With @end, the position after the
 * last item is allowed, too. Returns 0 or -1.
 */
static int position(struct onnx_node *node, size_t input, size_t count, bool end, size_t *at)
{
	const int64_t *given;
	int64_t index = end ? (int64_t)count : (int64_t)count - 1;
	size_t number;

	if (onnx_in_ints(node, input, "position", &given, &number))
		return -1;
	if (number)
		index = given[0] < 0 ? given[0] + (int64_t)count : given[0];
	if (index < 0 || index >= (int64_t)count + end)
		return onnx_refuse(node, "position", "position is beyond a sequence of %zu", count);
	*at = (size_t)index;
	return 0;
}

int onnx_op_sequence_at(struct onnx_node *node)
{
	struct onnx_value *sequence = sequence_at(node, 0);
	size_t at;

	if (!sequence || position(node, 1, sequence->count, false, &at))
		return -1;
	return onnx_out_value(node, 0, sequence->items[at]);
}

int onnx_op_sequence_length(struct onnx_node *node)
{
	struct onnx_value *sequence = sequence_at(node, 0);
	struct onnx_shape scalar = { 0 };
	int64_t *data = sequence ? onnx_out_constant(node, 0, ONNX_INT64, &scalar) : NULL;

	if (data)
		*data = (int64_t)sequence->count;
	return data ? 0 : -1;
}

int onnx_op_sequence_edit(struct onnx_node *node)
{
	bool insert = node->op->variant;
	struct onnx_value *sequence = sequence_at(node, 0), *result;
	size_t at, used = 0;

	if (!sequence || position(node, insert ? 2 : 1, sequence->count, insert, &at))
		return -1;
	if (insert && !onnx_has(node, 1))
		return onnx_refuse(node, "", "input 1 is missing");
	result = new_sequence(node, sequence->count + insert);
	if (!result)
		return -1;
	for (size_t i = 0; i <= sequence->count; i++) {
		if (i == at && insert)
			result->items[used++] = node->inputs[1];
		if (i < sequence->count && (insert || i != at))
			result->items[used++] = sequence->items[i];
	}
	result->count = used;
	return onnx_out_value(node, 0, result);
}

static struct onnx_value *without_axis(struct onnx_node *node, struct onnx_value *value,
				       uint32_t axis, bool add)
{
	struct onnx_shape shape = { 0 };

	for (uint32_t i = 0; i < value->shape.rank + add; i++)
		if (add && i == axis)
			shape.dim[shape.rank++] = 1;
		else if (add || i != axis)
			shape.dim[shape.rank++] = value->shape.dim[i - (add && i > axis)];
	return onnx_move_reshape(node, value, &shape);
}

int onnx_op_concat_from_sequence(struct onnx_node *node)
{
	struct onnx_value *sequence = sequence_at(node, 0), **items, *result;
	bool new_axis = onnx_attr_int(node, "new_axis", 0);
	uint32_t axis;

	if (!sequence)
		return -1;
	if (!sequence->count)
		return onnx_refuse(node, "", "the sequence is empty");
	items = onnx_node_alloc(node, sequence->count * sizeof(*items));
	if (!items || onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0),
				sequence->items[0]->shape.rank + new_axis, &axis))
		return -1;
	if (new_axis && sequence->items[0]->shape.rank == ONNX_MAX_RANK)
		return onnx_refuse(node, "axis", "the result would have more than 8 dimensions");
	for (size_t i = 0; i < sequence->count; i++) {
		if (sequence->items[i]->shape.rank != sequence->items[0]->shape.rank)
			return onnx_refuse(node, "",
					   "item %zu has %u dimensions, but item 0 has %u", i,
					   sequence->items[i]->shape.rank,
					   sequence->items[0]->shape.rank);
		items[i] = new_axis ? without_axis(node, sequence->items[i], axis, true) :
				      sequence->items[i];
		if (!items[i])
			return -1;
	}
	result = onnx_move_concat(node, sequence->count, items, axis);
	return result ? onnx_out_value(node, 0, result) : -1;
}

int onnx_op_split_to_sequence(struct onnx_node *node)
{
	int64_t starts[ONNX_MAX_RANK] = { 0 }, strides[ONNX_MAX_RANK], chunk = 1, size;
	struct onnx_value *x = onnx_has(node, 0) ? node->inputs[0] : NULL, *result;
	bool listed, keep = onnx_attr_int(node, "keepdims", 1);
	struct onnx_shape shape;
	const int64_t *split;
	uint32_t axis;
	size_t count;

	if (!x || onnx_in_ints(node, 1, "split", &split, &count) ||
	    onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), x->shape.rank, &axis))
		return x ? -1 : onnx_refuse(node, "", "input 0 is missing");
	shape = x->shape;
	size = shape.dim[axis];
	listed = split && node->inputs[1]->shape.rank == 1;
	if (split && count && !listed)
		chunk = split[0];
	if (chunk < 1)
		return onnx_refuse(node, "split", "split is %lld: it must be at least 1",
				   (long long)chunk);
	count = listed ? count : (size_t)((size + chunk - 1) / chunk);
	result = new_sequence(node, count);
	if (!result || onnx_unroll(node, count))
		return -1;
	for (uint32_t i = 0; i < shape.rank; i++)
		strides[i] = 1;
	for (size_t i = 0; i < count; i++) {
		int64_t left = size - starts[axis];

		shape.dim[axis] = listed ? split[i] : left < chunk ? left : chunk;
		if (shape.dim[axis] < 0 || shape.dim[axis] > left)
			return onnx_refuse(node, "split",
					   "item %zu of split is %lld, and the input has %lld "
					   "elements left",
					   i, (long long)shape.dim[axis], (long long)left);
		result->items[i] = onnx_move_slice(node, x, starts, shape.dim, strides);
		if (result->items[i] && !split && !keep)
			result->items[i] = without_axis(node, result->items[i], axis, false);
		if (!result->items[i])
			return -1;
		starts[axis] += shape.dim[axis];
	}
	if (starts[axis] < size)
		return onnx_refuse(node, "split",
				   "the items of split leave %lld elements of the dimension",
				   (long long)(size - starts[axis]));
	return onnx_out_value(node, 0, result);
}

/*
 * Translates Optional and OptionalGetElement (variant 1): passes on a value that is present. For an
 * absent value, Optional gives an absent value, and OptionalGetElement is refused.
 */
int onnx_op_optional(struct onnx_node *node)
{
	struct onnx_value *value;

	if (onnx_has(node, 0) && !(node->inputs[0]->absent && node->op->variant))
		return onnx_out_value(node, 0, node->inputs[0]);
	if (node->op->variant)
		return onnx_refuse(node, "", "the optional value is not there");
	value = onnx_new_value(node);
	if (!value)
		return -1;
	value->absent = true;
	return onnx_out_value(node, 0, value);
}

int onnx_op_optional_has(struct onnx_node *node)
{
	struct onnx_shape scalar = { 0 };
	uint8_t *data = onnx_out_constant(node, 0, ONNX_BOOL, &scalar);

	if (data)
		*data = onnx_has(node, 0) && !node->inputs[0]->absent;
	return data ? 0 : -1;
}
