// SPDX-License-Identifier: MIT
/*
 * Lowers gru and lstm, and their cells, which are sequences of one step. One contraction multiplies
 * the inputs of all steps by the weights. Then each step has a contraction, which multiplies the
 * state by the recurrent weights and adds the step's slice of the first product, and a vector
 * program for the gates. A gru that applies the reset gate before the product has two of each, and
 * one that applies it after the product adds the slice in the vector program. Both directions do a
 * step at the same time: they are the groups of the contractions and the first dim of the vector
 * programs. A single row with weights in SRAM is shared between matrix unit and vector unit. Steps
 * differ only in addresses, so that tiles are chosen, and weights are packed, only once.
 * recurrent_memory.c says what stays in SRAM.
 */
#include "plan/kernel/contract.h"
#include "plan/kernel/vprog.h"
#include "plan/list/cost.h"
#include "plan/lower/lower.h"
#include "plan/lower/recurrent.h"
#include "util/malloc.h"

#include <string.h>

/* ---- views */

static struct npu_view operand(const struct rnn *r, const struct ir_value *value, uint32_t rank)
{
	return view_widen(recurrent_operand(r, value), rank);
}

/* Returns `count` columns from `first` on of a view. */
static struct npu_view columns(struct npu_view view, int64_t first, int64_t count)
{
	view.offset += first * view.stride[view.rank - 1];
	view.dim[view.rank - 1] = count;
	return view;
}

/* Returns the columns of a gate, of a view with all gates as last dim. */
static struct npu_view columns_of(const struct rnn *r, struct npu_view view, int gate)
{
	return columns(view, gate * r->hidden, r->hidden);
}

/* Returns the number, in time order, of the s-th step that a direction computes. */
static int64_t step_of(const struct rnn *r, int64_t direction, int64_t s)
{
	bool backward = r->node->attrs.rnn.direction == IR_BACKWARD || direction == 1;

	return backward ? r->steps - 1 - s : s;
}

/*
 * Returns the elements that all directions use in their s-th step, from a view whose first two dims
 * are steps and directions. One dim replaces both, because each direction is at another step.
 */
static struct npu_view step_view(const struct rnn *r, const struct npu_view *all, uint32_t step_dim,
				 int64_t s)
{
	uint32_t dir_dim = 1 - step_dim;
	struct npu_view view = *all;

	view.rank = 3;
	view.offset += step_of(r, 0, s) * all->stride[step_dim];
	view.dim[0] = r->dirs;
	view.stride[0] = all->stride[dir_dim];
	if (r->dirs > 1)
		view.stride[0] += (step_of(r, 1, s) - step_of(r, 0, s)) * all->stride[step_dim];
	for (int i = 1; i < 3; i++) {
		view.dim[i] = all->dim[i + 1];
		view.stride[i] = all->stride[i + 1];
	}
	return view;
}

/* Returns a view [dirs, batch, n] with the five dims of a contraction's result or operand. */
static struct npu_view as_positions(const struct npu_view *view)
{
	struct npu_view positions = *view;

	positions.rank = 5;
	memcpy(positions.dim, (int64_t[]){ view->dim[0], 1, 1, view->dim[1], view->dim[2] },
	       5 * sizeof(*positions.dim));
	memcpy(positions.stride,
	       (int64_t[]){ view->stride[0], 0, 0, view->stride[1], view->stride[2] },
	       5 * sizeof(*positions.stride));
	return positions;
}

/* ---- products */

/*
 * Describes the rows of a weight from row `first` on as the second operand. A constant without a
 * copy in SRAM gets no address, but c->b_constant and c->b_offset: the contraction packs it.
 */
static void set_weight(const struct rnn *r, struct contract *c, const struct ir_value *value,
		       int64_t first)
{
	struct npu_view view = { .dtype = r->dtype, .rank = value->type.rank };
	int64_t bytes = plan_dtype_bytes(r->dtype);
	bool packed = value->kind == IR_VALUE_CONSTANT && !recurrent_has_copy(r, value);

	if (!packed)
		view = recurrent_operand(r, value);
	for (uint32_t i = view.rank; packed && i-- > 0;) {
		view.dim[i] = ir_type_dim(&value->type, i);
		view.stride[i] = bytes;
		bytes *= view.dim[i];
	}
	view = view_widen(view, 3);
	view.offset += first * view.stride[1];
	c->b = view;
	c->b.rank = 5;
	memcpy(c->b.dim, (int64_t[]){ r->dirs, 1, 1, c->k, c->dim[CD_N] }, 5 * sizeof(*c->b.dim));
	memcpy(c->b.stride, (int64_t[]){ view.stride[0], 0, 0, view.stride[2], view.stride[1] },
	       5 * sizeof(*c->b.stride));
	if (packed)
		c->b_constant = value->constant;
	c->b_offset = view.offset;
}

/* Sets up a contraction over k elements with n results for each row. */
static void begin_product(const struct rnn *r, struct contract *c, int64_t images, int64_t rows,
			  int64_t k, int64_t n)
{
	*c = (struct contract){
		.kernel = r->lstm ? "lstm" : "gru",
		.op = r->dtype == ONPU_DT_F16 ? ONPU_OP_MMA_F16 : ONPU_OP_MMA_F32,
		.acc_dtype = ONPU_DT_F32,
		.dim = { r->dirs, images, 1, rows, n },
		.k = k,
		.taps = { 1, 1 },
		.in = { 1, rows },
		.step = { 1, 1 },
		.dilation = { 1, 1 },
		.up = { 1, 1 },
	};
	c->piece = contract_piece(c->op, k, 1);
}

static void add_sum(struct contract *c, const struct npu_view *mem)
{
	c->extra[c->num_extras] = (struct contract_extra){ .mem = *mem, .scale = 1 };
	c->post[c->num_posts++] =
		(struct contract_post){ .op = ONPU_OP_VADD, .extra = (int)c->num_extras++ };
}

static void add_bias(const struct rnn *r, struct contract *c, const struct ir_value *value)
{
	struct npu_view view;

	if (!value)
		return;
	view = operand(r, value, 2);
	view = as_positions(&(struct npu_view){
		.base = view.base,
		.binding = view.binding,
		.dtype = view.dtype,
		.rank = 3,
		.window = view.window,
		.window_bytes = view.window_bytes,
		.offset = view.offset,
		.dim = { view.dim[0], 1, view.dim[1] },
		.stride = { view.stride[0], 0, view.stride[1] },
	});
	add_sum(c, &view);
}

/*
 * Emits the product of the inputs of all steps and the weights, plus biases. When gru applies the
 * reset gate after the product, the gate multiplies the recurrent bias, too, so that this bias is
 * not added here.
 */
static void multiply_input(const struct rnn *r)
{
	struct npu_view x = operand(r, r->node->operands[0], 3);
	const struct npu_view *to = &r->region[REGION_INPUT];
	int64_t images = r->steps, rows = r->batch;
	struct contract c;

	if (r->steps == 1 || r->batch == 1 || x.stride[0] == r->batch * x.stride[1]) {
		/* One long image makes better tiles than many short ones. */
		if (r->batch == 1)
			x.stride[1] = x.stride[0];
		rows *= images;
		images = 1;
	}
	begin_product(r, &c, images, rows, r->input, r->gates * r->hidden);
	c.a = x;
	c.a.rank = 5;
	memcpy(c.a.dim, (int64_t[]){ r->dirs, images, 1, rows, r->input }, 5 * sizeof(*c.a.dim));
	memcpy(c.a.stride, (int64_t[]){ 0, x.stride[0], 0, x.stride[1], x.stride[2] },
	       5 * sizeof(*c.a.stride));
	c.out = *to;
	c.out.rank = 5;
	memcpy(c.out.dim, c.dim, sizeof(c.dim));
	memcpy(c.out.stride,
	       (int64_t[]){ to->stride[0], to->stride[1], 0, to->stride[2], to->stride[3] },
	       5 * sizeof(*c.out.stride));
	set_weight(r, &c, r->node->operands[1], 0);
	add_bias(r, &c, r->bias[0]);
	if (!r->after)
		add_bias(r, &c, r->bias[1]);
	contract_emit(r->plan, &c);
}

/* A contraction that every step has; it is prepared once. */
struct step_product {
	struct contract c;
	struct contract_prepared prepared;
	enum region from;     /* its first operand */
	int64_t first, count; /* the columns that it computes */
	int64_t direction;    /* the direction that it computes; -1: all */
	bool window;	      /* the vector unit computes it */
	bool adds_input;      /* it adds the step's slice of multiply_input()'s result */
};

/* The contractions that together compute some columns of a step, for all directions. */
struct step_products {
	struct step_product part[4];
	uint32_t count;
};

/*
 * Returns the part of a view, whose first dim is directions, for the direction that `p` computes;
 * the whole view when `p` computes all directions, or the view has a single one.
 */
static struct npu_view slice_of(const struct step_product *p, struct npu_view view)
{
	if (p->direction < 0 || view.dim[0] == 1)
		return view;
	view.offset += p->direction * view.stride[0];
	view.dim[0] = 1;
	return view;
}

static struct npu_view row_of(const struct rnn *r, const struct step_product *p)
{
	return slice_of(p, as_positions(&r->region[p->from]));
}

static struct npu_view input_of(const struct rnn *r, const struct step_product *p, int64_t s)
{
	struct npu_view view = step_view(r, &r->region[REGION_INPUT], 1, s);

	view = columns(view, p->first, p->count);
	return slice_of(p, as_positions(&view));
}

static void set_address(struct npu_view *to, const struct npu_view *from)
{
	to->base = from->base;
	to->binding = from->binding;
	to->window = from->window;
	to->window_bytes = from->window_bytes;
	to->offset = from->offset;
}

static void set_up_product(const struct rnn *r, struct step_product *p)
{
	struct npu_view out = columns(r->region[REGION_GATES], p->first, p->count);
	struct contract *c = &p->c;

	begin_product(r, c, 1, r->batch, r->hidden, p->count);
	/* A single row is one sum, so that both units give equal bits: see lower_matmul(). */
	if (r->batch == 1)
		c->piece = 0;
	c->a = row_of(r, p);
	c->out = slice_of(p, as_positions(&out));
	set_weight(r, c, r->node->operands[2], p->first);
	if (p->adds_input) {
		struct npu_view input = input_of(r, p, 0);

		add_sum(c, &input);
	} else {
		add_bias(r, c, r->bias[1]);
		if (c->num_extras)
			c->extra[0].mem = slice_of(p, columns(c->extra[0].mem, p->first, p->count));
	}
	if (p->direction >= 0) {
		c->dim[CD_G] = 1;
		c->b = slice_of(p, c->b);
		c->b_offset = c->b.offset;
	}
	if (p->window)
		contract_make_window(c);
	contract_find_resident(c);
}

static void run_product(const struct rnn *r, struct step_product *p, int64_t s)
{
	struct npu_view row = row_of(r, p), input = input_of(r, p, s);

	set_address(p->window ? &p->c.b : &p->c.a, &row);
	if (p->adds_input && p->window)
		set_address(&p->c.extra[0].mem, &input);
	else if (p->adds_input)
		p->c.extra[0].mem = input;
	contract_run(r->plan, &p->c, &p->prepared);
}

static bool add_product(const struct rnn *r, struct step_products *all, struct step_product part)
{
	struct step_product *p = &all->part[all->count];

	*p = part;
	set_up_product(r, p);
	if (!contract_prepare(r->plan, &p->c, &p->prepared)) {
		contract_done(&p->prepared);
		return false;
	}
	all->count++;
	return true;
}

/* Prepares the products of `count` gates from `first` on. Returns false on failure. */
static bool prepare_products(const struct rnn *r, struct step_products *all, enum region from,
			     int first, int count, bool adds_input)
{
	int64_t n = count * r->hidden, matrix = recurrent_matrix_share(r, from, n);
	struct step_product part = {
		.from = from,
		.first = first * r->hidden,
		.count = matrix,
		.direction = -1,
		.adds_input = adds_input,
	};

	if (matrix == n)
		return add_product(r, all, part);
	for (int64_t i = 0; i < 2 * r->dirs; i++) {
		part.direction = i % r->dirs;
		/*
		 * The vector unit computes its own columns first, then the epilogue of the others.
		 */
		part.window = i < r->dirs;
		part.first = first * r->hidden + (part.window ? matrix : 0);
		part.count = part.window ? n - matrix : matrix;
		if (part.count && !add_product(r, all, part))
			return false;
	}
	return true;
}

static void run_products(const struct rnn *r, struct step_products *all, int64_t s)
{
	for (uint32_t i = 0; i < all->count; i++)
		run_product(r, &all->part[i], s);
}

static void products_done(struct step_products *all)
{
	for (uint32_t i = 0; i < all->count; i++)
		contract_done(&all->part[i].prepared);
}

/* ---- gates */

static void begin_gates(const struct rnn *r, struct vprog *prog)
{
	vp_begin(prog, r->lstm ? "lstm" : "gru", 3, r->region[REGION_HIDDEN].dim);
}

static int gate_input(const struct rnn *r, struct vprog *prog, const struct npu_view *gates,
		      int gate)
{
	struct npu_view view = columns_of(r, *gates, r->gate[gate]);

	return vp_input(prog, &view);
}

static int apply(struct vprog *prog, const struct ir_unary_attrs *function, int reg)
{
	int out = vp_temp(prog, ONPU_DT_F32, prog->reg[reg].mask);

	vp_unary(prog, function, out, reg);
	return out;
}

/*
 * Adds activation number `which` of a register; returns the register of the result. The first two
 * activations, those of gates, clamp their operand to the clip of the node; the third does not.
 */
static int activate(const struct rnn *r, struct vprog *prog, int which, int reg)
{
	const struct ir_rnn_attrs *attrs = &r->node->attrs.rnn;
	const struct ir_unary_attrs act = ir_rnn_activation(r->node, which);
	const struct ir_unary_attrs limits = { .kind = IR_CLAMP,
					       .alpha = -attrs->clip,
					       .beta = attrs->clip };

	return apply(prog, &act, attrs->clip > 0 && which < 2 ? apply(prog, &limits, reg) : reg);
}

static int temp(struct vprog *prog, enum onpu_op op, int a, int b, int c)
{
	int out = vp_temp(prog, ONPU_DT_F32, prog->reg[a].mask);

	vp_add(prog, op, out, a, b, c);
	return out;
}

/* ---- sequences that are shorter than others of the batch */

/*
 * Adds an input that says which items of the batch have the s-th step of each direction; returns
 * its register.
 */
static int inside(const struct rnn *r, struct vprog *prog, int64_t s)
{
	struct npu_view view = r->region[REGION_INSIDE];
	int64_t step = view.stride[0], batch = view.stride[1];

	view.offset += step_of(r, 0, s) * step;
	view.rank = 3;
	memcpy(view.dim, (int64_t[]){ r->dirs, r->batch, 1 }, 3 * sizeof(*view.dim));
	memcpy(view.stride, (int64_t[]){ 0, batch, 0 }, 3 * sizeof(*view.stride));
	if (r->dirs > 1)
		view.stride[0] = (step_of(r, 1, s) - step_of(r, 0, s)) * step;
	return vp_input(prog, &view);
}

static int zero_input(const struct rnn *r, struct vprog *prog, uint8_t dtype)
{
	struct npu_view zero = { .base = NPU_BASE_CONST,
				 .dtype = dtype,
				 .rank = 3,
				 .window_bytes = (uint64_t)plan_dtype_bytes(dtype),
				 .dim = { 1, 1, 1 } };

	zero.window = plan_constant(r->plan, &(float){ 0 }, zero.window_bytes);
	return vp_input(prog, &zero);
}

/*
 * Returns the register for a new state: an output, or, with lengths, a temporary, from which
 * end_new() selects.
 */
static int begin_new(const struct rnn *r, struct vprog *prog, const struct npu_view *state, int old)
{
	return r->lengths ? vp_temp(prog, state->dtype, prog->reg[old].mask) :
			    vp_output(prog, state);
}

/*
 * With lengths, stores a new state for the items that have the step, and the old state for others.
 */
static void end_new(const struct rnn *r, struct vprog *prog, const struct npu_view *state,
		    int fresh, int old, int has_step)
{
	if (r->lengths)
		vp_add(prog, ONPU_OP_VWHERE, vp_output(prog, state), has_step, fresh, old);
}

static void output_sequence(const struct rnn *r, struct vprog *prog, int hidden, int64_t s,
			    int has_step)
{
	struct npu_view view;
	int out;

	if (!r->sequence)
		return;
	view = operand(r, r->sequence, 4);
	view = step_view(r, &view, 0, s);
	out = vp_output(prog, &view);
	if (r->lengths)
		vp_add(prog, ONPU_OP_VWHERE, out, has_step, hidden,
		       zero_input(r, prog, view.dtype));
	else
		vp_add(prog, ONPU_OP_VMOV, out, hidden, -1, -1);
}

/* Fills REGION_INSIDE: compares the number of each step with the lengths. */
static void find_inside(const struct rnn *r)
{
	struct npu_view lengths,
		steps = { .base = NPU_BASE_CONST, .dtype = ONPU_DT_I32, .rank = 2 };
	const struct npu_view *to = &r->region[REGION_INSIDE];
	int32_t *numbers;
	struct vprog prog;
	int a, b;

	if (!r->lengths)
		return;
	numbers = wnn_malloc((size_t)r->steps * sizeof(*numbers));
	if (!numbers) {
		plan_nomem(r->plan);
		return;
	}
	for (int64_t i = 0; i < r->steps; i++)
		numbers[i] = (int32_t)i;
	steps.window_bytes = (uint64_t)r->steps * sizeof(*numbers);
	steps.window = plan_constant(r->plan, numbers, steps.window_bytes);
	steps.dim[0] = r->steps;
	steps.dim[1] = 1;
	steps.stride[0] = sizeof(*numbers);
	wnn_free(numbers);
	lengths = operand(r, r->lengths, 2);
	vp_begin(&prog, "lengths", 2, to->dim);
	a = vp_input(&prog, &lengths);
	b = vp_input(&prog, &steps);
	vp_add(&prog, ONPU_OP_VGT, vp_output(&prog, to), a, b, -1);
	vp_emit(r->plan, &prog);
}

/* ---- steps */

/*
 * Adds a gate with its peephole; returns its register. Peephole weights have the order i, o, f for
 * every order of the gates.
 */
static int lstm_gate(const struct rnn *r, struct vprog *prog, int gate, int cell)
{
	int sum = gate_input(r, prog, &r->region[REGION_GATES], gate);
	struct npu_view view;

	if (!r->peephole)
		return activate(r, prog, 0, sum);
	view = operand(r, r->peephole, 3);
	/* The operand is [dirs, 3 * hidden]. */
	view.dim[0] = view.dim[1];
	view.stride[0] = view.stride[1];
	view.dim[1] = 1;
	view.stride[1] = 0;
	view = columns_of(r, view, gate);
	return activate(r, prog, 0, temp(prog, ONPU_OP_VFMA, cell, vp_input(prog, &view), sum));
}

/* Adds 1 - x; returns its register. */
static int rest_of(struct vprog *prog, int x)
{
	int rest = vp_temp(prog, ONPU_DT_F32, prog->reg[x].mask);

	vp_scalar(prog, ONPU_OP_VLINEAR, rest, x, vp_f32(-1), vp_f32(1));
	return rest;
}

static void lstm_step(const struct rnn *r, int64_t s)
{
	const struct ir_rnn_attrs *attrs = &r->node->attrs.rnn;
	const struct npu_view *new_hidden = &r->region[REGION_NEW_HIDDEN];
	const struct npu_view *new_state = &r->region[REGION_NEW_STATE];
	int cell, in, out = -1, forget, fresh, next, hidden, old = -1, has_step = -1;
	struct vprog prog;

	begin_gates(r, &prog);
	cell = vp_input(&prog, &r->region[REGION_STATE]);
	if (r->lengths) {
		has_step = inside(r, &prog, s);
		old = vp_input(&prog, &r->region[REGION_HIDDEN]);
	}
	in = lstm_gate(r, &prog, LSTM_I, cell);
	forget = attrs->coupled ? rest_of(&prog, in) : -1;
	fresh = activate(r, &prog, 1, gate_input(r, &prog, &r->region[REGION_GATES], LSTM_G));
	in = temp(&prog, ONPU_OP_VMUL, in, fresh, -1);
	if (!attrs->coupled)
		forget = lstm_gate(r, &prog, LSTM_F, cell);
	if (!attrs->late_peephole)
		out = lstm_gate(r, &prog, LSTM_O, cell);
	next = begin_new(r, &prog, new_state, cell);
	vp_add(&prog, ONPU_OP_VFMA, next, forget, cell, in);
	if (attrs->late_peephole)
		out = lstm_gate(r, &prog, LSTM_O, next);
	hidden = begin_new(r, &prog, new_hidden, old < 0 ? cell : old);
	vp_add(&prog, ONPU_OP_VMUL, hidden, out, activate(r, &prog, 2, next), -1);
	end_new(r, &prog, new_state, next, cell, has_step);
	end_new(r, &prog, new_hidden, hidden, old, has_step);
	output_sequence(r, &prog, hidden, s, has_step);
	vp_emit(r->plan, &prog);
}

/* Emits step s of a network without gates. */
static void plain_step(const struct rnn *r, int64_t s)
{
	const struct npu_view *new_hidden = &r->region[REGION_NEW_HIDDEN];
	int hidden, sum, old = -1, has_step = -1;
	struct vprog prog;

	begin_gates(r, &prog);
	if (r->lengths) {
		has_step = inside(r, &prog, s);
		old = vp_input(&prog, &r->region[REGION_HIDDEN]);
	}
	sum = activate(r, &prog, 0, gate_input(r, &prog, &r->region[REGION_GATES], 0));
	hidden = begin_new(r, &prog, new_hidden, old < 0 ? sum : old);
	vp_add(&prog, ONPU_OP_VMOV, hidden, sum, -1, -1);
	end_new(r, &prog, new_hidden, hidden, old, has_step);
	output_sequence(r, &prog, hidden, s, has_step);
	vp_emit(r->plan, &prog);
}

/* Emits reset gate times hidden state, the operand of the next contraction. */
static void gru_reset(const struct rnn *r)
{
	struct vprog prog;
	int reset, state;

	begin_gates(r, &prog);
	state = vp_input(&prog, &r->region[REGION_STATE]);
	reset = activate(r, &prog, 0, gate_input(r, &prog, &r->region[REGION_GATES], GRU_R));
	vp_add(&prog, ONPU_OP_VMUL, vp_output(&prog, &r->region[REGION_RESET]), reset, state, -1);
	vp_emit(r->plan, &prog);
}

/* Adds the activation of a gate's sum of products; returns its register. */
static int gru_gate(const struct rnn *r, struct vprog *prog, const struct npu_view *input, int gate)
{
	int sum = gate_input(r, prog, &r->region[REGION_GATES], gate);

	if (r->after)
		sum = temp(prog, ONPU_OP_VADD, gate_input(r, prog, input, gate), sum, -1);
	return activate(r, prog, 0, sum);
}

/*
 * Stores the hidden state of a step, and its float32 copy `exact`; in a float32 network both are
 * one register.
 */
static void end_gru_step(const struct rnn *r, struct vprog *prog, int hidden, int exact, int state,
			 int has_step)
{
	if (exact != hidden) {
		vp_add(prog, ONPU_OP_VMOV, hidden, exact, -1, -1);
		end_new(r, prog, &r->region[REGION_NEW_STATE], exact, state, has_step);
	}
	if (r->lengths)
		end_new(r, prog, &r->region[REGION_NEW_HIDDEN], hidden,
			exact == hidden ? state : vp_input(prog, &r->region[REGION_HIDDEN]),
			has_step);
}

static void gru_step(const struct rnn *r, int64_t s)
{
	struct npu_view input = step_view(r, &r->region[REGION_INPUT], 1, s);
	int state, update, fresh, hidden, exact, has_step = -1;
	struct vprog prog;

	begin_gates(r, &prog);
	state = vp_input(&prog, &r->region[REGION_STATE]);
	if (r->lengths)
		has_step = inside(r, &prog, s);
	update = gru_gate(r, &prog, &input, GRU_Z);
	fresh = gate_input(r, &prog, &r->region[REGION_GATES], GRU_N);
	if (r->after) {
		int reset = gru_gate(r, &prog, &input, GRU_R);

		fresh = temp(&prog, ONPU_OP_VFMA, reset, fresh,
			     gate_input(r, &prog, &input, GRU_N));
	}
	fresh = activate(r, &prog, 1, fresh);
	fresh = temp(&prog, ONPU_OP_VMUL, rest_of(&prog, update), fresh, -1);
	hidden = begin_new(r, &prog, &r->region[REGION_NEW_HIDDEN], state);
	exact = hidden;
	if (r->dtype != ONPU_DT_F32)
		exact = begin_new(r, &prog, &r->region[REGION_NEW_STATE], state);
	vp_add(&prog, ONPU_OP_VFMA, exact, update, state, fresh);
	end_gru_step(r, &prog, hidden, exact, state, has_step);
	output_sequence(r, &prog, hidden, s, has_step);
	vp_emit(r->plan, &prog);
}

/* ---- states at the beginning and at the end */

static void move_state(const struct rnn *r, const struct npu_view *to, const struct npu_view *from)
{
	struct vprog prog;
	int in;

	vp_begin(&prog, "state", 3, to->dim);
	in = vp_input(&prog, from);
	vp_add(&prog, ONPU_OP_VMOV, vp_output(&prog, to), in, -1, -1);
	vp_emit(r->plan, &prog);
}

static void begin_state(const struct rnn *r, enum region region, const struct ir_value *value)
{
	struct npu_view zero = { .base = NPU_BASE_CONST,
				 .dtype = ONPU_DT_F32,
				 .rank = 3,
				 .window_bytes = sizeof(float),
				 .dim = { 1, 1, 1 } };

	if (value)
		zero = operand(r, value, 3);
	else
		zero.window = plan_constant(r->plan, &(float){ 0 }, sizeof(float));
	move_state(r, &r->region[region], &zero);
}

static void begin_states(const struct rnn *r)
{
	begin_state(r, REGION_HIDDEN, r->first_hidden);
	if (r->lstm)
		begin_state(r, REGION_STATE, r->first_cell);
	else if (r->home[REGION_STATE].rank)
		begin_state(r, REGION_STATE, r->first_hidden);
}

static void end_states(const struct rnn *r)
{
	for (int i = 0; i < 1 + r->lstm; i++) {
		struct npu_view to = operand(r, r->node->results[i], 3);

		move_state(r, &to, &r->region[i ? REGION_STATE : REGION_HIDDEN]);
	}
}

/* ---- all steps */

static void end_step(struct rnn *r)
{
	recurrent_swap(r);
	recurrent_pause(r);
}

/*
 * Emits all steps of a gru that applies the reset gate before the product: a contraction for the
 * first two gates, the reset, a contraction for the third gate.
 */
static void run_reset_steps(struct rnn *r)
{
	struct step_products gates = { .count = 0 }, fresh = { .count = 0 };

	if (prepare_products(r, &gates, REGION_HIDDEN, 0, 2, true) &&
	    prepare_products(r, &fresh, REGION_RESET, 2, 1, true)) {
		for (int64_t s = 0; s < r->steps && !r->plan->report.failed; s++) {
			run_products(r, &gates, s);
			gru_reset(r);
			run_products(r, &fresh, s);
			gru_step(r, s);
			end_step(r);
		}
	}
	products_done(&gates);
	products_done(&fresh);
}

/* Emits all steps of a network with one product for all gates of a step. */
static void run_steps(struct rnn *r)
{
	struct step_products gates = { .count = 0 };

	if (prepare_products(r, &gates, REGION_HIDDEN, 0, (int)r->gates, !r->after)) {
		for (int64_t s = 0; s < r->steps && !r->plan->report.failed; s++) {
			run_products(r, &gates, s);
			if (r->lstm)
				lstm_step(r, s);
			else if (r->plain)
				plain_step(r, s);
			else
				gru_step(r, s);
			end_step(r);
		}
	}
	products_done(&gates);
}

void lower_recurrent(struct plan *plan, const struct ir_node *node)
{
	struct rnn r;

	recurrent_analyse(node, &r);
	r.plan = plan;
	recurrent_begin(&r);
	multiply_input(&r);
	find_inside(&r);
	begin_states(&r);
	if (r.lstm || r.plain || r.after)
		run_steps(&r);
	else
		run_reset_steps(&r);
	end_states(&r);
	recurrent_end(&r);
	plan_kernel(plan, r.lstm ? "lstm" : "gru");
	plan_macs(plan, (uint64_t)(r.dirs * r.steps * r.batch * r.gates * r.hidden) *
				(uint64_t)(r.input + r.hidden));
}
