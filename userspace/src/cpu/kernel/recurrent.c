// SPDX-License-Identifier: MIT
/*
 * Fast gru and lstm. A matrix product over many steps computes what the input adds to all gates;
 * then each step has a product with the state. float16 is computed as float32.
 */
#include "cpu/fast.h"

#include <string.h>

#include "cpu/ref/recurrent.h"
#include "cpu/kernel/kernels.h"

/* The most floats of gates that are computed for several steps at once. */
#define GATES_AT_ONCE ((int64_t)1 << 20)

struct network {
	struct cpu_recurrent r;
	struct cpu_context *cpu;
	int64_t width;	 /* floats of the gates of one item of the batch: r.gates * r.hidden */
	int64_t at_once; /* steps whose input products are computed together */
	const float *x, *weight, *recurrent, *bias, *recurrent_bias, *peephole;
	const float *hidden_state, *cell_state;
	float *gates;	      /* [at_once, batch, width] */
	float *state_gates;   /* [batch, width] */
	float *h, *c, *reset; /* [batch, hidden] */
};

struct pass {
	const struct network *n;
	int64_t direction;
	const float *weight, *recurrent, *bias, *recurrent_bias, *peephole;
};

/*
 * Applies activation number `which` in place. Activations 0 and 1, those of gates, have their
 * argument clipped first; activation 2, that of the cell state, has not.
 */
static void activate(const struct network *n, int which, float *x, int64_t count)
{
	const struct ir_unary_attrs act = ir_rnn_activation(n->r.node, which);
	float clip = n->r.node->attrs.rnn.clip;

	for (int64_t i = 0; clip > 0 && which < 2 && i < count; i++)
		x[i] = x[i] < -clip ? -clip : x[i] > clip ? clip : x[i];
	n->cpu->simd->unary(act.kind, act.alpha, act.beta, x, x, count);
}

static void add_vectors(float *x, const float *y, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		x[i] += y[i];
}

static void set_bias(float *x, const float *bias, int64_t lines, int64_t width)
{
	for (int64_t i = 0; i < lines; i++) {
		if (bias)
			memcpy(x + i * width, bias, (size_t)width * sizeof(*x));
		else
			memset(x + i * width, 0, (size_t)width * sizeof(*x));
	}
}

/* y[lines, rows] += x[lines, depth] * weight[rows, depth]', y with rows of n->width. */
static void multiply(const struct network *n, const float *x, const float *weight, float *y,
		     int64_t lines, int64_t rows, int64_t depth)
{
	cpu_sgemm(n->cpu, &(struct cpu_product){ .tb = true,
						 .m = lines,
						 .n = rows,
						 .k = depth,
						 .lda = depth,
						 .ldb = depth,
						 .ldc = n->width,
						 .alpha = 1,
						 .beta = 1,
						 .a = x,
						 .b = weight,
						 .c = y });
}

/* h' = z * h + (1 - z) * n, in place */
static void mix(float *h, const float *z, const float *n, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		h[i] = z[i] * h[i] + (1 - z[i]) * n[i];
}

static void multiply_vectors(float *to, const float *x, const float *y, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = x[i] * y[i];
}

/* Computes step t of a network without gates. */
static void step_plain(const struct pass *p, float *gates, int64_t t)
{
	const struct network *n = p->n;
	int64_t size = n->r.hidden;

	set_bias(n->state_gates, p->recurrent_bias, n->r.batch, size);
	multiply(n, n->h, p->recurrent, n->state_gates, n->r.batch, size, size);
	for (int64_t b = 0; b < n->r.batch; b++) {
		if (!cpu_recurrent_inside(&n->r, b, t))
			continue;
		add_vectors(gates + b * size, n->state_gates + b * size, size);
		activate(n, 0, gates + b * size, size);
		memcpy(n->h + b * size, gates + b * size, (size_t)size * sizeof(*n->h));
	}
}

/* Computes step t of a gru that applies the reset gate to the product with the state. */
static void step_gru_after(const struct pass *p, float *gates, int64_t t)
{
	const struct network *n = p->n;
	int64_t size = n->r.hidden;

	set_bias(n->state_gates, p->recurrent_bias, n->r.batch, n->width);
	multiply(n, n->h, p->recurrent, n->state_gates, n->r.batch, n->width, size);
	for (int64_t b = 0; b < n->r.batch; b++) {
		float *g = gates + b * n->width, *s = n->state_gates + b * n->width;
		float *r = g + n->r.gate[1] * size, *new = g + n->r.gate[2] * size;

		if (!cpu_recurrent_inside(&n->r, b, t))
			continue;
		add_vectors(g, s, 2 * size);
		activate(n, 0, g, 2 * size);
		multiply_vectors(r, r, s + n->r.gate[2] * size, size);
		add_vectors(new, r, size);
		activate(n, 1, new, size);
		mix(n->h + b * size, g + n->r.gate[0] * size, new, size);
	}
}

/*
 * Computes step t of a gru that applies the reset gate to the state before its product: z and r,
 * rows 0 and 1 of the gates, come first.
 */
static void step_gru_before(const struct pass *p, float *gates, int64_t t)
{
	const struct network *n = p->n;
	int64_t size = n->r.hidden, batch = n->r.batch, last = 2 * size;

	set_bias(n->state_gates, p->recurrent_bias, batch, n->width);
	multiply(n, n->h, p->recurrent, n->state_gates, batch, 2 * size, size);
	for (int64_t b = 0; b < batch; b++) {
		float *g = gates + b * n->width;

		add_vectors(g, n->state_gates + b * n->width, 2 * size);
		activate(n, 0, g, 2 * size);
		multiply_vectors(n->reset + b * size, g + n->r.gate[1] * size, n->h + b * size,
				 size);
	}
	multiply(n, n->reset, p->recurrent + last * size, n->state_gates + last, batch, size, size);
	for (int64_t b = 0; b < batch; b++) {
		float *g = gates + b * n->width;

		if (!cpu_recurrent_inside(&n->r, b, t))
			continue;
		add_vectors(g + last, n->state_gates + b * n->width + last, size);
		activate(n, 1, g + last, size);
		mix(n->h + b * size, g + n->r.gate[0] * size, g + last, size);
	}
}

/* Adds the cell state times the peephole weights, which have the order i, o, f, to a gate. */
static void add_peephole(const struct pass *p, int gate, float *to, const float *c)
{
	int64_t size = p->n->r.hidden;

	for (int64_t i = 0; p->peephole && i < size; i++)
		to[i] += p->peephole[gate * size + i] * c[i];
}

static void step_lstm(const struct pass *p, float *gates, int64_t t)
{
	enum { I, O, F, G };
	const struct network *n = p->n;
	const struct ir_rnn_attrs *attrs = &n->r.node->attrs.rnn;
	int64_t size = n->r.hidden;

	set_bias(n->state_gates, p->recurrent_bias, n->r.batch, n->width);
	multiply(n, n->h, p->recurrent, n->state_gates, n->r.batch, n->width, size);
	for (int64_t b = 0; b < n->r.batch; b++) {
		float *line = gates + b * n->width, *gate[4];
		float *h = n->h + b * size, *c = n->c + b * size;

		if (!cpu_recurrent_inside(&n->r, b, t))
			continue;
		add_vectors(line, n->state_gates + b * n->width, n->width);
		for (int k = I; k <= G; k++) {
			gate[k] = line + n->r.gate[k] * size;
			if (k != G && !(k == O && attrs->late_peephole))
				add_peephole(p, k, gate[k], c);
			if (k != O)
				activate(n, k == G ? 1 : 0, gate[k], size);
		}
		for (int64_t i = 0; i < size; i++) {
			float forget = attrs->coupled ? 1 - gate[I][i] : gate[F][i];

			c[i] = forget * c[i] + gate[I][i] * gate[G][i];
			h[i] = c[i];
		}
		if (attrs->late_peephole)
			add_peephole(p, O, gate[O], c);
		activate(n, 0, gate[O], size);
		activate(n, 2, h, size);
		multiply_vectors(h, h, gate[O], size);
	}
}

static void store(const struct network *n, const float *from, void *to, int64_t at, int64_t count)
{
	if (n->r.dtype == IR_F32) {
		memcpy((float *)to + at, from, (size_t)count * sizeof(*from));
		return;
	}
	for (int64_t i = 0; i < count; i++)
		((uint16_t *)to)[at + i] = wnn_float_to_half(from[i]);
}

/* Stores the states after step t; 0 for items of the batch whose sequences have no step t. */
static void store_sequence(const struct network *n, int64_t t, int64_t at)
{
	size_t bytes = ir_dtype_bits(n->r.dtype) / 8, line = (size_t)n->r.hidden;

	store(n, n->h, n->r.sequence, at, n->r.batch * n->r.hidden);
	for (int64_t b = 0; b < n->r.batch; b++)
		if (!cpu_recurrent_inside(&n->r, b, t))
			memset((char *)n->r.sequence + ((size_t)at + (size_t)b * line) * bytes, 0,
			       line * bytes);
}

static void step(const struct pass *p, float *gates, int64_t t)
{
	const struct network *n = p->n;
	int64_t states = n->r.batch * n->r.hidden;

	if (n->r.lstm)
		step_lstm(p, gates, t);
	else if (n->r.gates == 1)
		step_plain(p, gates, t);
	else if (n->r.node->attrs.rnn.reset_after)
		step_gru_after(p, gates, t);
	else
		step_gru_before(p, gates, t);
	if (n->r.sequence)
		store_sequence(n, t, (t * n->r.directions + p->direction) * states);
}

static void run_direction(const struct network *n, int64_t d)
{
	int64_t states = n->r.batch * n->r.hidden, item = n->r.batch * n->width;
	const struct pass p = {
		n,
		d,
		n->weight + d * n->width * n->r.input,
		n->recurrent + d * n->width * n->r.hidden,
		n->bias ? n->bias + d * n->width : NULL,
		n->recurrent_bias ? n->recurrent_bias + d * n->width : NULL,
		n->peephole ? n->peephole + d * 3 * n->r.hidden : NULL,
	};

	set_bias(n->h, n->hidden_state ? n->hidden_state + d * states : NULL, 1, states);
	if (n->r.lstm)
		set_bias(n->c, n->cell_state ? n->cell_state + d * states : NULL, 1, states);
	for (int64_t s = 0; s < n->r.steps; s += n->at_once) {
		int64_t count = n->r.steps - s < n->at_once ? n->r.steps - s : n->at_once;
		int64_t a = cpu_recurrent_step(&n->r, d, s);
		int64_t b = cpu_recurrent_step(&n->r, d, s + count - 1), first = a < b ? a : b;

		set_bias(n->gates, p.bias, count * n->r.batch, n->width);
		multiply(n, n->x + first * n->r.batch * n->r.input, p.weight, n->gates,
			 count * n->r.batch, n->width, n->r.input);
		for (int64_t k = s; k < s + count; k++) {
			int64_t t = cpu_recurrent_step(&n->r, d, k);

			step(&p, n->gates + (t - first) * item, t);
		}
	}
	store(n, n->h, n->r.last_hidden, d * states, states);
	if (n->r.lstm)
		store(n, n->c, n->r.last_cell, d * states, states);
}

/* A bump allocator for the scratch memory. While `memory` is NULL, it only counts. */
struct scratch {
	float *memory;
	size_t used;
};

static float *take(struct scratch *scratch, int64_t count)
{
	float *memory = scratch->memory ? scratch->memory + scratch->used : NULL;

	/* Rounds up to whole cache lines. */
	scratch->used += ((size_t)count + 15) & ~(size_t)15;
	return memory;
}

/* Returns an operand as floats: the operand itself, or a copy converted from float16. */
static const float *floats(const struct network *n, struct scratch *scratch, const void *data,
			   int64_t count)
{
	float *to;

	if (!data || n->r.dtype == IR_F32)
		return data;
	to = take(scratch, count);
	for (int64_t i = 0; to && i < count; i++)
		to[i] = wnn_half_to_float(((const uint16_t *)data)[i]);
	return to;
}

static void lay_out(struct network *n, struct scratch *scratch)
{
	const struct cpu_recurrent *r = &n->r;
	int64_t rows = r->directions * n->width, states = r->batch * r->hidden;

	n->x = floats(n, scratch, r->x, r->steps * r->batch * r->input);
	n->weight = floats(n, scratch, r->weight, rows * r->input);
	n->recurrent = floats(n, scratch, r->recurrent, rows * r->hidden);
	n->bias = floats(n, scratch, r->bias, rows);
	n->recurrent_bias = floats(n, scratch, r->recurrent_bias, rows);
	n->peephole = floats(n, scratch, r->peephole, r->directions * 3 * r->hidden);
	n->hidden_state = floats(n, scratch, r->hidden_state, r->directions * states);
	n->cell_state = floats(n, scratch, r->cell_state, r->directions * states);
	n->gates = take(scratch, n->at_once * r->batch * n->width);
	n->state_gates = take(scratch, r->batch * n->width);
	n->h = take(scratch, states);
	n->c = take(scratch, r->lstm ? states : 0);
	n->reset = take(scratch, r->lstm ? 0 : states);
}

int cpu_recurrent_network(struct cpu_context *cpu, const struct ir_node *node,
			  const void *const *in, void *const *out, struct wnn_error *err)
{
	struct network n = { .r = cpu_recurrent_of(node, in, out), .cpu = cpu };
	struct scratch scratch = { NULL, 0 };

	n.width = n.r.gates * n.r.hidden;
	n.at_once = GATES_AT_ONCE / (n.r.batch * n.width);
	n.at_once = n.at_once < 1 ? 1 : n.at_once < n.r.steps ? n.at_once : n.r.steps;
	lay_out(&n, &scratch);
	scratch.memory = cpu_scratch(cpu, scratch.used * sizeof(float));
	if (!scratch.memory)
		return wnn_error_nomem(err, "the gates of a recurrent network");
	scratch.used = 0;
	lay_out(&n, &scratch);
	for (int64_t d = 0; d < n.r.directions; d++)
		run_direction(&n, d);
	return 0;
}
