// SPDX-License-Identifier: MIT
/*
 * Translates Loop, Scan and SequenceMap by unrolling them: the number of iterations must be known
 * at import.
 */
#include <string.h>

#include "move.h"
#include "ops.h"

/* Returns the body; NULL: there is none, and the node is refused. */
static const Onnx__GraphProto *body_of(struct onnx_node *node)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, "body");

	if (attr && attr->g)
		return attr->g;
	onnx_refuse(node, "body", "the body is missing");
	return NULL;
}

static struct onnx_value *number(struct onnx_node *node, int type, int64_t value)
{
	struct onnx_value *made = onnx_new_value(node);
	int64_t *data = onnx_node_alloc(node, sizeof(*data));

	if (!made || !data)
		return NULL;
	onnx_put_int(type, data, 0, value);
	made->type = type;
	made->data = data;
	return made;
}

/* Returns a value with one more dimension of size 1; NULL: refused. */
static struct onnx_value *widened(struct onnx_node *node, struct onnx_value *value, uint32_t axis)
{
	struct onnx_shape shape = { .rank = value->shape.rank + 1 };

	if (value->sequence || shape.rank > ONNX_MAX_RANK || axis >= shape.rank) {
		onnx_refuse(node, "body",
			    "an output of the body cannot be stacked: it is a "
			    "sequence, or would have more than 8 dimensions");
		return NULL;
	}
	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = i == axis ? 1 : value->shape.dim[i - (i > axis)];
	return onnx_move_reshape(node, value, &shape);
}

/*
 * Returns the scan output of a loop without iterations: empty, with the shape and type that the
 * body declares. NULL: refused, as for a body that declares none.
 */
static struct onnx_value *nothing_stacked(struct onnx_node *node,
					  const Onnx__ValueInfoProto *declared, int64_t axis)
{
	const Onnx__TypeProto__Tensor *type = declared ? onnx_tensor_type(declared->type) : NULL;
	struct onnx_shape shape = { 0 };
	uint32_t at;

	if (!type || !type->shape || type->shape->n_dim >= ONNX_MAX_RANK ||
	    !onnx_type_bits(type->elem_type)) {
		onnx_refuse(node, "body",
			    "it never runs, and the type or rank of its output is not known");
		return NULL;
	}
	if (onnx_axis(node, "scan_output_axes", axis, (uint32_t)type->shape->n_dim + 1, &at))
		return NULL;
	shape.rank = (uint32_t)type->shape->n_dim + 1;
	for (uint32_t i = 0; i < shape.rank; i++) {
		int64_t size = i == at ? 0 :
					 onnx_model_dimension(node->import->model,
							      type->shape->dim[i - (i > at)]);

		shape.dim[i] = size < 0 ? 0 : size;
	}
	return onnx_empty_value(node, type->elem_type, &shape);
}

/* Returns one output of the body from all iterations, concatenated along a new axis. */
static struct onnx_value *stack(struct onnx_node *node, size_t count, struct onnx_value **values,
				int64_t axis)
{
	struct onnx_value **wide = onnx_node_alloc(node, (count + 1) * sizeof(*wide));
	uint32_t at;

	if (!wide)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (values[i]->refused)
			return values[i];
		if (onnx_axis(node, "scan_output_axes", axis, values[i]->shape.rank + 1, &at))
			return NULL;
		wide[i] = widened(node, values[i], at);
		if (!wide[i])
			return NULL;
	}
	return onnx_move_concat(node, count, wide, at);
}

/*
 * Returns 1 or 0 for a constant condition and 1 for an absent one; refuses the node and returns -1
 * when the condition is not known.
 */
static int holds(struct onnx_node *node, const struct onnx_value *condition)
{
	if (!condition || condition->refused)
		return condition ? -1 : 1;
	if (condition == node->inputs[1] && !condition->data)
		return onnx_refuse_variable(node, 1, "cond");
	if (condition->data && onnx_shape_elements(&condition->shape) != 1)
		return onnx_refuse(node, "cond", "cond must have one element");
	if (condition->sequence || !condition->data)
		return onnx_refuse(
			node, "cond",
			"its condition is computed in the loop and is not known at import");
	return onnx_value_int(condition, 0) != 0;
}

struct loop {
	const Onnx__GraphProto *body;
	/*
	 * first: index of the first carried output of the body; carried: number of values that one
	 * iteration hands to the next; scanned: number of outputs that are stacked
	 */
	size_t first, carried, scanned;
	int64_t most, done;
	struct onnx_value **in, **results, **made; /* made: [iteration][scanned] */
};

/*
 * Sets how many outputs of the body are scanned, and allocates the body's inputs and outputs.
 * Returns 0; -1: the body has too few outputs, or no memory.
 */
static int loop_begin(struct onnx_node *node, struct loop *l, size_t inputs, size_t first)
{
	size_t outputs = l->body->n_output;

	if (outputs < first + l->carried)
		return onnx_refuse(node, "body",
				   "the body has %zu outputs: at least %zu are needed", outputs,
				   first + l->carried);
	l->first = first;
	l->scanned = outputs - first - l->carried;
	l->in = onnx_node_alloc(node, (inputs + 1) * sizeof(*l->in));
	l->results = onnx_node_alloc(node, (outputs + 1) * sizeof(*l->results));
	return l->in && l->results ? 0 : -1;
}

/* Keeps the scan outputs of one more iteration; the list grows on demand. Returns 0 or -1. */
static int keep_outputs(struct onnx_node *node, struct loop *l, struct onnx_value **outputs)
{
	size_t room = 16;

	while (room < (size_t)l->done)
		room *= 2;
	if (!l->done || (room == (size_t)l->done && l->done >= 16)) {
		struct onnx_value **more =
			onnx_node_alloc(node, (2 * room * l->scanned + 1) * sizeof(*more));

		if (!more)
			return -1;
		if (l->done)
			memcpy(more, l->made, (size_t)l->done * l->scanned * sizeof(*more));
		l->made = more;
	}
	for (size_t i = 0; i < l->scanned; i++)
		l->made[(size_t)l->done * l->scanned + i] = outputs[i];
	l->done++;
	return onnx_unroll(node, l->body->n_node + 1);
}

static int loop_end(struct onnx_node *node, struct loop *l, struct onnx_value **carried,
		    const int64_t *axes, const int64_t *backwards)
{
	struct onnx_value **column;

	for (size_t i = 0; i < l->carried; i++)
		onnx_out_value(node, i, carried[i]);
	column = onnx_node_alloc(node, ((size_t)l->done + 1) * sizeof(*column));
	for (size_t i = 0; column && i < l->scanned; i++) {
		struct onnx_value *value;

		if (!onnx_wants(node, l->carried + i))
			continue;
		for (int64_t k = 0; k < l->done; k++)
			column[backwards && backwards[i] ? l->done - 1 - k : k] =
				l->made[(size_t)k * l->scanned + i];
		value = l->done ? stack(node, (size_t)l->done, column, axes ? axes[i] : 0) :
				  nothing_stacked(node, l->body->output[l->first + l->carried + i],
						  axes ? axes[i] : 0);
		if (!value)
			return -1;
		onnx_out_value(node, l->carried + i, value);
	}
	return column ? 0 : -1;
}

int onnx_op_loop(struct onnx_node *node)
{
	struct onnx_value *condition = onnx_has(node, 1) ? node->inputs[1] : NULL;
	struct loop l = { .body = body_of(node), .most = INT64_MAX };
	const int64_t *most;
	size_t count;
	int goes_on;

	if (!l.body || onnx_in_ints(node, 0, "M", &most, &count))
		return -1;
	l.carried = node->input_count > 2 ? node->input_count - 2 : 0;
	l.most = count ? most[0] : INT64_MAX;
	if (loop_begin(node, &l, l.carried + 2, 1))
		return -1;
	for (size_t i = 0; i < l.carried; i++)
		if (!(l.in[2 + i] = node->inputs[2 + i]))
			return onnx_refuse(node, "", "input %zu is missing", 2 + i);
	while ((goes_on = holds(node, condition)) > 0 && l.done < l.most) {
		l.in[0] = number(node, ONNX_INT64, l.done);
		l.in[1] = number(node, ONNX_BOOL, 1);
		if (!l.in[0] || !l.in[1] ||
		    onnx_run_subgraph(node, l.body, l.carried + 2, l.in, l.results) ||
		    keep_outputs(node, &l, l.results + 1 + l.carried))
			return -1;
		/*
		 * A body may always give a true condition: then the loop ends after M iterations,
		 * or is refused when it has too many operators.
		 */
		condition = l.results[0];
		memcpy(l.in + 2, l.results + 1, l.carried * sizeof(*l.in));
	}
	return goes_on < 0 ? -1 : loop_end(node, &l, l.in + 2, NULL, NULL);
}

struct scan {
	struct loop loop;
	size_t inputs;
	int64_t length;
	const int64_t *in_axes, *in_back, *out_axes, *out_back;
};

/*
 * Reads an attribute with one number for each of @wanted inputs or outputs; *list is NULL when
 * absent. Returns 0 or -1.
 */
static int read_list(struct onnx_node *node, const char *name, size_t wanted, const int64_t **list)
{
	size_t count;

	*list = onnx_attr_ints(node, name, &count);
	if (*list && count != wanted)
		return onnx_refuse(node, name, "%s has %zu items instead of %zu", name, count,
				   wanted);
	return 0;
}

static int read_scan(struct onnx_node *node, struct scan *s)
{
	int64_t count = onnx_attr_int(node, "num_scan_inputs", 0);

	s->loop.body = body_of(node);
	if (!s->loop.body)
		return -1;
	if (count < 1 || (size_t)count > node->input_count)
		return onnx_refuse(
			node, "num_scan_inputs",
			"num_scan_inputs is %lld: 1 to %zu, the number of inputs, are allowed",
			(long long)count, node->input_count);
	s->inputs = (size_t)count;
	s->loop.carried = node->input_count - s->inputs;
	if (loop_begin(node, &s->loop, node->input_count, 0) ||
	    read_list(node, "scan_input_axes", s->inputs, &s->in_axes) ||
	    read_list(node, node->version < 9 ? "directions" : "scan_input_directions", s->inputs,
		      &s->in_back) ||
	    read_list(node, "scan_output_axes", s->loop.scanned, &s->out_axes) ||
	    read_list(node, "scan_output_directions", s->loop.scanned, &s->out_back))
		return -1;
	for (size_t i = 0; i < node->input_count; i++)
		if (!node->inputs[i] || node->inputs[i]->sequence)
			return onnx_refuse(node, "", "input %zu is missing, or is no tensor", i);
	return 0;
}

/* Returns element @at of a scanned input, without the scanned dimension. */
static struct onnx_value *slice_at(struct onnx_node *node, struct scan *s, size_t input, int64_t at)
{
	struct onnx_value *value = node->inputs[s->loop.carried + input];
	int64_t starts[ONNX_MAX_RANK] = { 0 }, strides[ONNX_MAX_RANK];
	struct onnx_shape shape = value->shape, less = { 0 };
	uint32_t axis;

	if (onnx_axis(node, "scan_input_axes", s->in_axes ? s->in_axes[input] : 0, shape.rank,
		      &axis))
		return NULL;
	for (uint32_t i = 0; i < shape.rank; i++) {
		strides[i] = 1;
		if (i != axis)
			less.dim[less.rank++] = shape.dim[i];
	}
	starts[axis] = s->in_back && s->in_back[input] ? s->length - 1 - at : at;
	shape.dim[axis] = 1;
	value = onnx_move_slice(node, value, starts, shape.dim, strides);
	return value ? onnx_move_reshape(node, value, &less) : NULL;
}

/*
 * Sets s->length, the number of iterations, to the length of the scanned inputs along their axes.
 * Returns 0; -1: refused, as for different lengths.
 */
static int read_length(struct onnx_node *node, struct scan *s)
{
	for (size_t i = 0; i < s->inputs; i++) {
		const struct onnx_shape *shape = onnx_in_shape(node, s->loop.carried + i);
		uint32_t axis;

		if (onnx_axis(node, "scan_input_axes", s->in_axes ? s->in_axes[i] : 0, shape->rank,
			      &axis))
			return -1;
		if (i && shape->dim[axis] != s->length)
			return onnx_refuse(node, "scan_input_axes",
					   "its inputs must be equally long along their axes of "
					   "scan_input_axes");
		s->length = shape->dim[axis];
	}
	return 0;
}

int onnx_op_scan(struct onnx_node *node)
{
	struct scan s = { .length = 0 };
	struct loop *l = &s.loop;

	if (read_scan(node, &s) || read_length(node, &s))
		return -1;
	memcpy(l->in, node->inputs, l->carried * sizeof(*l->in));
	while (l->done < s.length) {
		for (size_t i = 0; i < s.inputs; i++)
			if (!(l->in[l->carried + i] = slice_at(node, &s, i, l->done)))
				return -1;
		if (onnx_run_subgraph(node, l->body, node->input_count, l->in, l->results) ||
		    keep_outputs(node, l, l->results + l->carried))
			return -1;
		memcpy(l->in, l->results, l->carried * sizeof(*l->in));
	}
	return loop_end(node, l, l->in, s.out_axes, s.out_back);
}

/* Returns batch @at of a value, without the batch dimension. */
static struct onnx_value *batch_of(struct onnx_node *node, struct onnx_value *value, int64_t at)
{
	int64_t starts[ONNX_MAX_RANK] = { at }, strides[ONNX_MAX_RANK];
	struct onnx_shape shape = value->shape, less = { .rank = value->shape.rank - 1 };

	for (uint32_t i = 0; i < shape.rank; i++) {
		strides[i] = 1;
		if (i)
			less.dim[i - 1] = shape.dim[i];
	}
	shape.dim[0] = 1;
	value = onnx_move_slice(node, value, starts, shape.dim, strides);
	return value ? onnx_move_reshape(node, value, &less) : NULL;
}

/* Runs a scan on the inputs of one batch and sets its outputs. Returns 0 or -1. */
static int scan_batch(struct onnx_node *node, const struct onnx_node *outer, int64_t at)
{
	for (size_t i = 1; i < outer->input_count; i++) {
		struct onnx_value *value = outer->inputs[i];

		node->inputs[i - 1] = batch_of(node, value, at);
		if (!node->inputs[i - 1])
			return -1;
	}
	return onnx_op_scan(node);
}

/*
 * Translates Scan before operator set 9: each input has a batch dimension, and the body runs once
 * for each batch.
 */
int onnx_op_scan_batches(struct onnx_node *node)
{
	struct onnx_node inner = *node;
	struct onnx_value **made;
	int64_t batches;

	if (onnx_has(node, 0))
		return onnx_refuse(node, "sequence_lens",
				   "sequence_lens must be absent: all sequences are as long as the "
				   "input");
	for (size_t i = 1; i < node->input_count; i++)
		if (!node->inputs[i] || node->inputs[i]->sequence || !node->inputs[i]->shape.rank ||
		    node->inputs[i]->shape.dim[0] != node->inputs[1]->shape.dim[0])
			return onnx_refuse(
				node, "", "its inputs must be tensors with equal first dimensions");
	batches = node->input_count > 1 ? node->inputs[1]->shape.dim[0] : 0;
	made = onnx_node_alloc(node, ((size_t)batches * node->output_count + 1) * sizeof(*made));
	inner.input_count = node->input_count ? node->input_count - 1 : 0;
	inner.inputs = onnx_node_alloc(node, (node->input_count + 1) * sizeof(*inner.inputs));
	if (!made || !inner.inputs)
		return -1;
	for (int64_t b = 0; b < batches; b++) {
		if (scan_batch(&inner, node, b))
			return -1;
		for (size_t i = 0; i < node->output_count; i++)
			made[i * (size_t)batches + (size_t)b] = node->outputs[i];
	}
	for (size_t i = 0; i < node->output_count; i++) {
		node->outputs[i] = onnx_wants(node, i) ? stack(node, (size_t)batches,
							       made + i * (size_t)batches, 0) :
							 NULL;
		if (onnx_wants(node, i) && !node->outputs[i])
			return -1;
	}
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

/*
 * Translates SequenceMap: each iteration gets one item of every input that is a sequence, and every
 * tensor as a whole.
 */
int onnx_op_sequence_map(struct onnx_node *node)
{
	const Onnx__GraphProto *body = body_of(node);
	struct onnx_value **in, **results;
	size_t count, outputs;

	if (!body)
		return -1;
	if (!onnx_has(node, 0) || !node->inputs[0]->sequence)
		return onnx_refuse(node, "", "input 0 must be a sequence");
	count = node->inputs[0]->count;
	outputs = body->n_output < node->output_count ? body->n_output : node->output_count;
	in = onnx_node_alloc(node, (node->input_count + 1) * sizeof(*in));
	results = onnx_node_alloc(node, (body->n_output + 1) * sizeof(*results));
	if (!in || !results)
		return -1;
	for (size_t k = 0; k < outputs; k++) {
		struct onnx_value *sequence = new_sequence(node, count);

		if (!sequence)
			return -1;
		onnx_out_value(node, k, sequence);
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < node->input_count; k++) {
			struct onnx_value *value = node->inputs[k];

			if (!value || (value->sequence && value->count <= i))
				return onnx_refuse(node, "", "input %zu is missing, or too short",
						   k);
			in[k] = value->sequence ? value->items[i] : value;
		}
		if (onnx_run_subgraph(node, body, node->input_count, in, results) ||
		    onnx_unroll(node, body->n_node + 1))
			return -1;
		for (size_t k = 0; k < outputs; k++)
			node->outputs[k]->items[i] = results[k];
	}
	return 0;
}
