// SPDX-License-Identifier: MIT
/*
 * Lowers gru and lstm, and their cells, which are sequences of one step. One contraction multiplies
 * the inputs of all steps by the weights. Then each step has a contraction, which multiplies the
 * state by the recurrent weights and adds the step's slice of the first product, and a vector
 * program for the gates. Both directions do a step at the same time: they are the groups of the
 * contractions and the first dim of the vector programs. Steps differ only in addresses, so that
 * tiles are chosen, and weights are packed, only once.
 */
#include "plan/kernel/contract.h"
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"
#include "util/malloc.h"

#include <string.h>

static uint32_t lengths_operand(const struct ir_node *node)
{
	return node->op == IR_OP_LSTM ? 8 : 6;
}

bool supports_recurrent(const struct ir_node *node, struct npu_reason *reason)
{
	uint32_t count = node->op == IR_OP_LSTM ? 3 : 2;

	for (uint32_t i = 0; i < count; i++) {
		const struct ir_unary_attrs act = { .kind = node->attrs.rnn.activations[i] };

		if (!supports_function(&act, IR_F32, reason))
			return false;
	}
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (i != lengths_operand(node) && node->operands[i] &&
		    node->operands[i]->type.dtype != node->operands[0]->type.dtype)
			return supports_not(reason, NPU_REASON_DATA_TYPE,
					    "the operator is on float32 and float16 only");
	return supports_is_float(node->operands[0]) ||
	       supports_not(reason, NPU_REASON_DATA_TYPE,
			    "the operator is on float32 and float16 only");
}

/* The regions of the node's scratch memory in the arena. */
enum region {
	REGION_INPUT,  /* [dirs, steps, batch, gates]: input times weight, plus biases */
	REGION_GATES,  /* [dirs, batch, gates]: sums of the current step, before activations */
	REGION_HIDDEN, /* [dirs, batch, hidden]: hidden state, in the type of the operands */
	REGION_STATE,  /* [dirs, batch, hidden], float32: cell state of lstm, hidden state of gru */
	REGION_RESET,  /* [dirs, batch, hidden]: hidden state times reset gate */
	REGION_INSIDE, /* [steps, batch]: 1 when an item of the batch has the step, in time order */
	REGION_COUNT
};

struct rnn {
	struct plan *plan;
	const struct ir_node *node;
	bool lstm, after; /* after: gru multiplies by the reset gate behind the product */
	uint8_t dtype;
	int64_t dirs, steps, batch, input, hidden, gates;
	int gate[4]; /* by gate (z, r, n or i, o, f, g): its position in the operands */
	struct npu_view region[REGION_COUNT];
	const struct ir_value *bias[2], *peephole, *first_hidden, *first_cell, *lengths;
	const struct ir_value *sequence; /* the result with the states of all steps, or NULL */
};

enum { GRU_Z, GRU_R, GRU_N };
enum { LSTM_I, LSTM_O, LSTM_F, LSTM_G };

static const struct ir_value *optional(const struct ir_node *node, uint32_t i)
{
	return i < node->num_operands ? node->operands[i] : NULL;
}

static void analyse(const struct ir_node *node, struct rnn *r)
{
	static const int orders[2][2][4] = {
		{ { 0, 1, 2 }, { 1, 0, 2 } },	    /* zrn, rzn */
		{ { 0, 1, 2, 3 }, { 0, 3, 1, 2 } }, /* iofg, ifgo */
	};
	const struct ir_type *x = &node->operands[0]->type;

	memset(r, 0, sizeof(*r));
	r->node = node;
	r->lstm = node->op == IR_OP_LSTM;
	r->after = !r->lstm && node->attrs.rnn.reset_after;
	r->dtype = plan_dtype(x->dtype);
	r->dirs = node->attrs.rnn.direction == IR_BOTH ? 2 : 1;
	r->steps = node->attrs.rnn.steps;
	r->batch = ir_type_dim(x, x->rank - 2);
	r->input = ir_type_dim(x, x->rank - 1);
	r->hidden = node->attrs.rnn.hidden_size;
	r->gates = r->lstm ? 4 : 3;
	memcpy(r->gate, orders[r->lstm][node->attrs.rnn.gate_order != 0], sizeof(r->gate));
	r->bias[0] = optional(node, 3);
	r->bias[1] = optional(node, 4);
	r->peephole = r->lstm ? optional(node, 5) : NULL;
	r->first_hidden = optional(node, r->lstm ? 6 : 5);
	r->first_cell = r->lstm ? optional(node, 7) : NULL;
	r->lengths = optional(node, lengths_operand(node));
	r->sequence = node->attrs.rnn.return_sequence ? node->results[r->lstm ? 2 : 1] : NULL;
}

/* Returns a view with the dims and type of a region; rank 0: the node does not need it. */
static struct npu_view region_shape(const struct rnn *r, enum region region)
{
	struct npu_view view = { .base = NPU_BASE_ARENA,
				 .dtype = ONPU_DT_F32,
				 .rank = 3,
				 .dim = { r->dirs, r->batch, r->hidden } };
	int64_t bytes;

	switch (region) {
	case REGION_INPUT:
		view.rank = 4;
		memcpy(view.dim, (int64_t[]){ r->dirs, r->steps, r->batch, r->gates * r->hidden },
		       4 * sizeof(*view.dim));
		break;
	case REGION_GATES:
		view.dim[2] *= r->gates;
		break;
	case REGION_STATE:
		/* The hidden state of a float32 gru is in float32 already. */
		if (!r->lstm && r->dtype == ONPU_DT_F32)
			view.rank = 0;
		break;
	case REGION_INSIDE:
		view.dtype = ONPU_DT_U8;
		view.rank = r->lengths ? 2 : 0;
		memcpy(view.dim, (int64_t[]){ r->steps, r->batch }, 2 * sizeof(*view.dim));
		break;
	case REGION_RESET:
		if (r->lstm || r->after)
			view.rank = 0;
		/* fallthrough */
	default:
		view.dtype = r->dtype;
	}
	bytes = plan_dtype_bytes(view.dtype);
	for (uint32_t i = view.rank; i-- > 0;) {
		view.stride[i] = bytes;
		bytes *= view.dim[i];
	}
	view.window_bytes = view.rank ? (uint64_t)bytes : 0;
	return view;
}

/* Assigns offsets from `at` on to all regions; returns their end. */
static uint64_t lay_out(struct rnn *r, uint64_t at)
{
	for (int i = 0; i < REGION_COUNT; i++) {
		r->region[i] = region_shape(r, i);
		r->region[i].window = at;
		at += plan_align(r->region[i].window_bytes);
	}
	if (!r->region[REGION_STATE].rank)
		r->region[REGION_STATE] = r->region[REGION_HIDDEN];
	return at;
}

uint64_t recurrent_scratch(const struct ir_node *node)
{
	struct rnn r;

	analyse(node, &r);
	return lay_out(&r, 0);
}

/* ---- views */

/* Returns the view with leading dims of 1 up to `rank` dims. */
static struct npu_view widen(struct npu_view view, uint32_t rank)
{
	uint32_t lead = rank - view.rank;

	for (uint32_t i = rank; i-- > 0;) {
		view.dim[i] = i >= lead ? view.dim[i - lead] : 1;
		view.stride[i] = i >= lead && view.dim[i] > 1 ? view.stride[i - lead] : 0;
	}
	view.rank = rank;
	return view;
}

static struct npu_view operand(const struct rnn *r, const struct ir_value *value, uint32_t rank)
{
	return widen(values_view(r->plan, value), rank);
}

/* Returns the columns of `count` gates from `first` on, of a view with all gates as last dim. */
static struct npu_view columns(const struct rnn *r, struct npu_view view, int first, int count)
{
	view.offset += first * r->hidden * view.stride[view.rank - 1];
	view.dim[view.rank - 1] = count * r->hidden;
	return view;
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
static struct npu_view as_places(const struct npu_view *view)
{
	struct npu_view places = *view;

	places.rank = 5;
	memcpy(places.dim, (int64_t[]){ view->dim[0], 1, 1, view->dim[1], view->dim[2] },
	       5 * sizeof(*places.dim));
	memcpy(places.stride,
	       (int64_t[]){ view->stride[0], 0, 0, view->stride[1], view->stride[2] },
	       5 * sizeof(*places.stride));
	return places;
}

/* ---- products */

/*
 * Describes the rows of a weight from gate `first` on as the second operand. A constant has no
 * address, because the contraction packs it.
 */
static void set_weight(const struct rnn *r, struct contract *c, const struct ir_value *value,
		       int first)
{
	struct npu_view view = { .dtype = r->dtype, .rank = value->type.rank };
	int64_t bytes = plan_dtype_bytes(r->dtype);

	if (value->kind != IR_VALUE_CONSTANT)
		view = values_view(r->plan, value);
	for (uint32_t i = view.rank; value->kind == IR_VALUE_CONSTANT && i-- > 0;) {
		view.dim[i] = ir_type_dim(&value->type, i);
		view.stride[i] = bytes;
		bytes *= view.dim[i];
	}
	view = widen(view, 3);
	view.offset += first * r->hidden * view.stride[1];
	c->b = view;
	c->b.rank = 5;
	memcpy(c->b.dim, (int64_t[]){ r->dirs, 1, 1, c->k, c->dim[CD_N] }, 5 * sizeof(*c->b.dim));
	memcpy(c->b.stride, (int64_t[]){ view.stride[0], 0, 0, view.stride[2], view.stride[1] },
	       5 * sizeof(*c->b.stride));
	if (value->kind == IR_VALUE_CONSTANT)
		c->b_constant = value->constant;
	c->b_offset = view.offset;
}

/* Sets up a contraction over k elements with the columns of some gates as results. */
static void begin_product(const struct rnn *r, struct contract *c, int64_t images, int64_t rows,
			  int64_t k, int gates)
{
	*c = (struct contract){
		.kernel = r->lstm ? "lstm" : "gru",
		.op = r->dtype == ONPU_DT_F16 ? ONPU_OP_MMA_F16 : ONPU_OP_MMA_F32,
		.acc_dtype = ONPU_DT_F32,
		.dim = { r->dirs, images, 1, rows, gates * r->hidden },
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
	view = as_places(&(struct npu_view){
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
 * reset gate behind the product, the gate multiplies the recurrent bias, too, so that this bias is
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
	begin_product(r, &c, images, rows, r->input, (int)r->gates);
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

/* A contraction of each step, which is prepared once. */
struct step_product {
	struct contract c;
	struct contract_prepared prepared;
	int first, count; /* the gates that it computes */
	bool adds_input;  /* it adds the step's slice of the first product */
};

static bool prepare_product(const struct rnn *r, struct step_product *p, enum region from,
			    int first, int count, bool adds_input)
{
	struct npu_view out = columns(r, r->region[REGION_GATES], first, count);
	struct npu_view all = step_view(r, &r->region[REGION_INPUT], 1, 0);

	p->first = first;
	p->count = count;
	p->adds_input = adds_input;
	begin_product(r, &p->c, 1, r->batch, r->hidden, count);
	p->c.a = as_places(&r->region[from]);
	p->c.out = as_places(&out);
	set_weight(r, &p->c, r->node->operands[2], first);
	if (adds_input) {
		all = columns(r, all, first, count);
		all = as_places(&all);
		add_sum(&p->c, &all);
	} else {
		add_bias(r, &p->c, r->bias[1]);
	}
	return contract_prepare(r->plan, &p->c, &p->prepared);
}

static void run_product(const struct rnn *r, struct step_product *p, int64_t s)
{
	struct npu_view part = step_view(r, &r->region[REGION_INPUT], 1, s);

	if (p->adds_input) {
		part = columns(r, part, p->first, p->count);
		p->c.extra[0].mem = as_places(&part);
	}
	contract_run(r->plan, &p->c, &p->prepared);
}

/* ---- gates */

static void begin_gates(const struct rnn *r, struct vprog *prog)
{
	vp_begin(prog, r->lstm ? "lstm" : "gru", 3, r->region[REGION_HIDDEN].dim);
}

static int gate_input(const struct rnn *r, struct vprog *prog, const struct npu_view *gates,
		      int gate)
{
	struct npu_view view = columns(r, *gates, r->gate[gate], 1);

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
	const struct ir_unary_attrs act = { .kind = attrs->activations[which] };
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
	view = columns(r, view, gate, 1);
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
	const struct npu_view *hidden_state = &r->region[REGION_HIDDEN];
	int cell, in, out = -1, forget, fresh, next, hidden, old = -1, has_step = -1;
	struct vprog prog;

	begin_gates(r, &prog);
	cell = vp_input(&prog, &r->region[REGION_STATE]);
	if (r->lengths) {
		has_step = inside(r, &prog, s);
		old = vp_input(&prog, hidden_state);
	}
	in = lstm_gate(r, &prog, LSTM_I, cell);
	forget = attrs->coupled ? rest_of(&prog, in) : -1;
	fresh = activate(r, &prog, 1, gate_input(r, &prog, &r->region[REGION_GATES], LSTM_G));
	in = temp(&prog, ONPU_OP_VMUL, in, fresh, -1);
	if (!attrs->coupled)
		forget = lstm_gate(r, &prog, LSTM_F, cell);
	if (!attrs->late_peephole)
		out = lstm_gate(r, &prog, LSTM_O, cell);
	next = begin_new(r, &prog, &r->region[REGION_STATE], cell);
	vp_add(&prog, ONPU_OP_VFMA, next, forget, cell, in);
	if (attrs->late_peephole)
		out = lstm_gate(r, &prog, LSTM_O, next);
	hidden = begin_new(r, &prog, hidden_state, old < 0 ? cell : old);
	vp_add(&prog, ONPU_OP_VMUL, hidden, out, activate(r, &prog, 2, next), -1);
	end_new(r, &prog, &r->region[REGION_STATE], next, cell, has_step);
	end_new(r, &prog, hidden_state, hidden, old, has_step);
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
		end_new(r, prog, &r->region[REGION_STATE], exact, state, has_step);
	}
	if (r->lengths)
		end_new(r, prog, &r->region[REGION_HIDDEN], hidden,
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
	hidden = begin_new(r, &prog, &r->region[REGION_HIDDEN], state);
	exact = hidden;
	if (r->dtype != ONPU_DT_F32)
		exact = begin_new(r, &prog, &r->region[REGION_STATE], state);
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
	else if (r->dtype != ONPU_DT_F32)
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

/*
 * Emits all steps of a gru that applies the reset gate before the product: a contraction for the
 * first two gates, the reset, a contraction for the third gate.
 */
static void run_reset_steps(const struct rnn *r)
{
	struct step_product gates = { 0 }, fresh = { 0 };

	if (prepare_product(r, &gates, REGION_HIDDEN, 0, 2, true) &&
	    prepare_product(r, &fresh, REGION_RESET, 2, 1, true)) {
		for (int64_t s = 0; s < r->steps && !r->plan->report.failed; s++) {
			run_product(r, &gates, s);
			gru_reset(r);
			run_product(r, &fresh, s);
			gru_step(r, s);
		}
	}
	contract_done(&gates.prepared);
	contract_done(&fresh.prepared);
}

/* Emits all steps of an lstm, or of a gru that applies the reset gate behind the product. */
static void run_steps(const struct rnn *r)
{
	struct step_product gates = { 0 };

	if (prepare_product(r, &gates, REGION_HIDDEN, 0, (int)r->gates, !r->after)) {
		for (int64_t s = 0; s < r->steps && !r->plan->report.failed; s++) {
			run_product(r, &gates, s);
			if (r->lstm)
				lstm_step(r, s);
			else
				gru_step(r, s);
		}
	}
	contract_done(&gates.prepared);
}

void lower_recurrent(struct plan *plan, const struct ir_node *node)
{
	struct rnn r;

	analyse(node, &r);
	r.plan = plan;
	lay_out(&r, values_scratch(plan));
	multiply_input(&r);
	find_inside(&r);
	begin_states(&r);
	if (r.lstm || r.after)
		run_steps(&r);
	else
		run_reset_steps(&r);
	end_states(&r);
	plan_kernel(plan, r.lstm ? "lstm" : "gru");
	plan_macs(plan, (uint64_t)(r.dirs * r.steps * r.batch * r.gates * r.hidden) *
				(uint64_t)(r.input + r.hidden));
}
