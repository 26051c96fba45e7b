// SPDX-License-Identifier: MIT
/*
 * Reference kernels for gru and lstm, and for their cells, which are sequences of one step. States
 * stay in double precision from step to step.
 */
#include "cpu/ref/recurrent.h"

#include <string.h>

#include "cpu/ref/reference.h"

/* One direction of one item of the batch at one step. */
struct cell {
	const struct cpu_recurrent *r;
	int64_t direction, batch, step;
	const double *h, *c; /* states before the step */
	double *scratch; /* r->hidden numbers: gru's reset gate, times the state if !reset_after */
};

static double activate(const struct cpu_recurrent *r, int which, double x)
{
	const struct ir_unary_attrs act = ir_rnn_activation(r->node, which);
	double clip = (double)r->node->attrs.rnn.clip;

	/* Gates are clipped, but not the cell state. */
	if (clip > 0 && which < 2)
		x = x < -clip ? -clip : x > clip ? clip : x;
	return cpu_apply_unary(&act, x);
}

static double optional(const struct cpu_recurrent *r, const void *data, int64_t i)
{
	return data ? cpu_load(r->dtype, data, i) : 0;
}

/* Returns the row of gate `gate` of unit j in the weights and biases. */
static int64_t row_of(const struct cell *cell, int gate, int64_t j)
{
	const struct cpu_recurrent *r = cell->r;

	return (cell->direction * r->gates + r->gate[gate]) * r->hidden + j;
}

static double from_input(const struct cell *cell, int gate, int64_t j)
{
	const struct cpu_recurrent *r = cell->r;
	int64_t row = row_of(cell, gate, j);
	int64_t x = (cell->step * r->batch + cell->batch) * r->input;
	double sum = optional(r, r->bias, row);

	for (int64_t k = 0; k < r->input; k++)
		sum += cpu_load(r->dtype, r->weight, row * r->input + k) *
		       cpu_load(r->dtype, r->x, x + k);
	return sum;
}

static double from_state(const struct cell *cell, int gate, int64_t j, const double *h)
{
	const struct cpu_recurrent *r = cell->r;
	int64_t row = row_of(cell, gate, j);
	double sum = optional(r, r->recurrent_bias, row);

	for (int64_t k = 0; k < r->hidden; k++)
		sum += cpu_load(r->dtype, r->recurrent, row * r->hidden + k) * h[k];
	return sum;
}

static double gate_of(const struct cell *cell, int gate, int64_t j, int activation)
{
	return activate(cell->r, activation,
			from_input(cell, gate, j) + from_state(cell, gate, j, cell->h));
}

static void step_plain(const struct cell *cell, double *h)
{
	for (int64_t j = 0; j < cell->r->hidden; j++)
		h[j] = gate_of(cell, 0, j, 0);
}

static void step_gru(const struct cell *cell, double *h)
{
	enum { Z, R, N };
	const struct cpu_recurrent *r = cell->r;
	bool after = r->node->attrs.rnn.reset_after;

	for (int64_t j = 0; j < r->hidden; j++)
		cell->scratch[j] = gate_of(cell, R, j, 0) * (after ? 1 : cell->h[j]);
	for (int64_t j = 0; j < r->hidden; j++) {
		double z = gate_of(cell, Z, j, 0), n = from_input(cell, N, j);

		if (after)
			n += cell->scratch[j] * from_state(cell, N, j, cell->h);
		else
			n += from_state(cell, N, j, cell->scratch);
		n = activate(r, 1, n);
		h[j] = z * cell->h[j] + (1 - z) * n;
	}
}

/*
 * Returns an lstm gate. The peephole weights have the order i, o, f in any gate order. c is the old
 * cell state; for o it is the new one when the node has late_peephole.
 */
static double lstm_gate(const struct cell *cell, int gate, int64_t j, double c)
{
	const struct cpu_recurrent *r = cell->r;
	int64_t peephole = (cell->direction * 3 + gate) * r->hidden + j;

	return activate(r, 0,
			from_input(cell, gate, j) + from_state(cell, gate, j, cell->h) +
				optional(r, r->peephole, peephole) * c);
}

static void step_lstm(const struct cell *cell, double *h, double *c)
{
	enum { I, O, F, G };
	const struct cpu_recurrent *r = cell->r;
	const struct ir_rnn_attrs *attrs = &r->node->attrs.rnn;

	for (int64_t j = 0; j < r->hidden; j++) {
		double g = gate_of(cell, G, j, 1), in = lstm_gate(cell, I, j, cell->c[j]);
		double forget = attrs->coupled ? 1 - in : lstm_gate(cell, F, j, cell->c[j]);

		c[j] = forget * cell->c[j] + in * g;
		h[j] = lstm_gate(cell, O, j, attrs->late_peephole ? c[j] : cell->c[j]) *
		       activate(r, 2, c[j]);
	}
}

static void run(const struct cpu_recurrent *r, int64_t direction, int64_t batch, double *state)
{
	int64_t n = r->hidden, first = (direction * r->batch + batch) * n;
	double *h = state, *c = h + n, *next_h = c + n, *next_c = next_h + n;
	struct cell cell = { r, direction, batch, 0, h, c, next_c + n };

	for (int64_t j = 0; j < n; j++) {
		h[j] = optional(r, r->hidden_state, first + j);
		c[j] = optional(r, r->cell_state, first + j);
	}
	for (int64_t s = 0; s < r->steps; s++) {
		bool inside;

		cell.step = cpu_recurrent_step(r, direction, s);
		inside = cpu_recurrent_inside(r, batch, cell.step);
		if (r->lstm)
			step_lstm(&cell, next_h, next_c);
		else if (r->gates == 1)
			step_plain(&cell, next_h);
		else
			step_gru(&cell, next_h);
		if (inside)
			memcpy(h, next_h, (size_t)n * sizeof(*h));
		if (r->lstm && inside)
			memcpy(c, next_c, (size_t)n * sizeof(*c));
		for (int64_t j = 0; r->sequence && j < n; j++)
			cpu_store(r->dtype, r->sequence,
				  cell.step * r->directions * r->batch * n + first + j,
				  inside ? h[j] : 0);
	}
	for (int64_t j = 0; j < n; j++) {
		cpu_store(r->dtype, r->last_hidden, first + j, h[j]);
		if (r->last_cell)
			cpu_store(r->dtype, r->last_cell, first + j, c[j]);
	}
}

size_t cpu_ref_recurrent_state(const struct ir_node *node)
{
	return (size_t)node->attrs.rnn.hidden_size * 5;
}

void cpu_ref_recurrent(const struct ir_node *node, const void *const *in, void *const *out,
		       double *state)
{
	struct cpu_recurrent r = cpu_recurrent_of(node, in, out);

	for (int64_t d = 0; d < r.directions; d++)
		for (int64_t b = 0; b < r.batch; b++)
			run(&r, d, b, state);
}
