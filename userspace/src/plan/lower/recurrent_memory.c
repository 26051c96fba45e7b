// SPDX-License-Identifier: MIT
/*
 * Says which recurrent networks can be lowered, and where their memory lies: states, sums of the
 * current step, and the operands that every step reads stay in SRAM, as far as there is room, so
 * that no step waits for memory.
 */
#include "plan/list/cost.h"
#include "plan/list/split.h"
#include "plan/lower/lower.h"
#include "plan/lower/recurrent.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"
#include "util/number.h"

#include <string.h>

uint32_t recurrent_lengths(const struct ir_node *node)
{
	return node->op == IR_OP_LSTM ? 8 : 6;
}

bool supports_recurrent(const struct ir_node *node, struct npu_reason *reason)
{
	int count = node->op == IR_OP_LSTM ? 3 : node->attrs.rnn.plain ? 1 : 2;

	for (int i = 0; i < count; i++) {
		const struct ir_unary_attrs act = ir_rnn_activation(node, i);

		if (!supports_function(&act, IR_F32, reason))
			return false;
	}
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		if (i != recurrent_lengths(node) && value &&
		    (value->type.dtype != node->operands[0]->type.dtype ||
		     !supports_is_float(value)))
			return supports_not(
				reason, NPU_REASON_DATA_TYPE,
				"the NPU computes this operator only when its operands are all "
				"float32 or all float16: cast them");
	}
	return true;
}

static const struct ir_value *optional(const struct ir_node *node, uint32_t i)
{
	return i < node->num_operands ? node->operands[i] : NULL;
}

void recurrent_analyse(const struct ir_node *node, struct rnn *r)
{
	static const int orders[2][2][4] = {
		{ { 0, 1, 2 }, { 1, 0, 2 } },	    /* zrn, rzn */
		{ { 0, 1, 2, 3 }, { 0, 3, 1, 2 } }, /* iofg, ifgo */
	};
	const struct ir_type *x = &node->operands[0]->type;

	memset(r, 0, sizeof(*r));
	r->node = node;
	r->lstm = node->op == IR_OP_LSTM;
	r->plain = ir_rnn_gates(node) == 1;
	r->after = !r->lstm && !r->plain && node->attrs.rnn.reset_after;
	r->dtype = plan_dtype(x->dtype);
	r->dirs = node->attrs.rnn.direction == IR_BOTH ? 2 : 1;
	r->steps = node->attrs.rnn.steps;
	r->batch = ir_type_dim(x, x->rank - 2);
	r->input = ir_type_dim(x, x->rank - 1);
	r->hidden = node->attrs.rnn.hidden_size;
	r->gates = ir_rnn_gates(node);
	memcpy(r->gate, orders[r->lstm][node->attrs.rnn.gate_order && !r->plain], sizeof(r->gate));
	r->bias[0] = optional(node, 3);
	r->bias[1] = optional(node, 4);
	r->peephole = r->lstm ? optional(node, 5) : NULL;
	r->first_hidden = optional(node, r->lstm ? 6 : 5);
	r->first_cell = r->lstm ? optional(node, 7) : NULL;
	r->lengths = optional(node, recurrent_lengths(node));
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
	case REGION_NEW_STATE:
		/* A float32 gru has the state in float32 already; a plain one has no gates. */
		if (!r->lstm && (r->plain || r->dtype == ONPU_DT_F32))
			view.rank = 0;
		break;
	case REGION_INSIDE:
		view.dtype = ONPU_DT_U8;
		view.rank = r->lengths ? 2 : 0;
		memcpy(view.dim, (int64_t[]){ r->steps, r->batch }, 2 * sizeof(*view.dim));
		break;
	case REGION_RESET:
		if (r->lstm || r->after || r->plain)
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

/* Returns true if a network has a single state: no gate reads a more exact copy of it. */
static bool one_state(const struct rnn *r)
{
	return !r->home[REGION_STATE].rank;
}

/* Assigns offsets in the arena from `at` on to all regions; returns their end. */
static uint64_t lay_out(struct rnn *r, uint64_t at)
{
	for (int i = 0; i < REGION_COUNT; i++) {
		r->home[i] = region_shape(r, i);
		r->home[i].window = at;
		at += plan_align(r->home[i].window_bytes);
	}
	return at;
}

uint64_t recurrent_scratch(const struct ir_node *node)
{
	struct rnn r;

	recurrent_analyse(node, &r);
	return lay_out(&r, 0);
}

/* ---- SRAM */

/* Returns true if kernels keep a quarter of the SRAM when bytes are taken from it. */
static bool has_room(const struct rnn *r, uint64_t bytes)
{
	uint64_t sram = r->plan->caps->sram_bytes;

	return r->plan->sram.base + bytes <= r->base + (sram - r->base) / 4 * 3;
}

/*
 * Takes SRAM for `count` views, all of them or none. Returns false, with nothing taken, when they
 * would leave too little SRAM to kernels.
 */
static bool take(const struct rnn *r, struct npu_view *view, int count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += plan_align(view[i].window_bytes);
	if (!has_room(r, bytes))
		return false;
	for (int i = 0; i < count; i++) {
		view[i].base = NPU_BASE_NONE;
		view[i].window = r->plan->sram.base;
		r->plan->sram.base += plan_align(view[i].window_bytes);
	}
	return true;
}

/*
 * Ends the live ranges of regions and copies: writes with strides, which fill no range, do not end
 * them.
 */
static void forget_sram(const struct rnn *r)
{
	plan_birth(r->plan, (int64_t)r->base, (int64_t)r->plan->sram.base);
}

static void load_constants(const struct rnn *r)
{
	for (uint32_t i = 0; i < r->num_constants; i++)
		plan_transfer(r->plan, r->constant[i].sram, r->constant[i].memory, false);
}

/* Takes SRAM for a copy of an operand that every step reads, when there is room. */
static void take_operand(struct rnn *r, const struct ir_value *value)
{
	struct recurrent_constant *c = &r->constant[r->num_constants];

	/* A single step gains nothing: its kernels load one tile while they compute another. */
	if (!value || r->steps == 1)
		return;
	/*
	 * Checks this before values_view() adds a constant to the program: without a copy in SRAM,
	 * the constant is packed instead.
	 */
	if (!has_room(r, plan_align((uint64_t)ir_type_bytes(&value->type))))
		return;
	c->value = value;
	c->memory = values_view(r->plan, value);
	if (c->memory.base == NPU_BASE_NONE)
		return;
	c->sram = view_sram(0, c->memory.dtype, c->memory.rank, c->memory.dim, c->memory.stride);
	if (take(r, &c->sram, 1))
		r->num_constants++;
}

static void alias_states(struct rnn *r)
{
	if (!one_state(r))
		return;
	r->region[REGION_STATE] = r->region[REGION_HIDDEN];
	r->region[REGION_NEW_STATE] = r->region[REGION_NEW_HIDDEN];
}

void recurrent_begin(struct rnn *r)
{
	static const enum region small[] = { REGION_GATES, REGION_RESET, REGION_INSIDE };
	const struct ir_value *recurrent = r->node->operands[2];

	lay_out(r, values_scratch(r->plan));
	memcpy(r->region, r->home, sizeof(r->region));
	r->base = r->plan->sram.base;
	/* The program can be cut before the node, so that slots of earlier nodes do not count. */
	plan_pause_since(r->plan, &r->paused_at);
	/* Each step exchanges old and new states, so that both are in SRAM or neither is. */
	take(r, &r->region[REGION_HIDDEN], 2);
	if (!one_state(r))
		take(r, &r->region[REGION_STATE], 2);
	for (size_t i = 0; i < ARRAY_SIZE(small); i++)
		if (r->region[small[i]].rank)
			take(r, &r->region[small[i]], 1);
	if (r->after)
		take_operand(r, r->bias[1]);
	take_operand(r, r->peephole);
	take_operand(r, recurrent);
	/* The sums of all steps are the largest region. */
	take(r, &r->region[REGION_INPUT], 1);
	alias_states(r);
	forget_sram(r);
	load_constants(r);
}

void recurrent_end(struct rnn *r)
{
	r->plan->sram.base = r->base;
}

static const struct recurrent_constant *find(const struct rnn *r, const struct ir_value *value)
{
	for (uint32_t i = 0; i < r->num_constants; i++)
		if (r->constant[i].value == value)
			return &r->constant[i];
	return NULL;
}

bool recurrent_has_copy(const struct rnn *r, const struct ir_value *value)
{
	return find(r, value) != NULL;
}

bool recurrent_in_sram(const struct rnn *r, const struct ir_value *value)
{
	return find(r, value) || !values_in_memory(r->plan, value);
}

struct npu_view recurrent_operand(const struct rnn *r, const struct ir_value *value)
{
	const struct recurrent_constant *copy = find(r, value);

	return copy ? copy->sram : values_view(r->plan, value);
}

int64_t recurrent_matrix_share(const struct rnn *r, enum region from, int64_t n)
{
	const struct npu_caps *caps = r->plan->caps;
	int64_t best = n, step = caps->mxu_cols;
	uint64_t least = UINT64_MAX;

	if (r->batch > 1 || !recurrent_in_sram(r, r->node->operands[2]) ||
	    r->region[from].base != NPU_BASE_NONE || r->region[REGION_GATES].base != NPU_BASE_NONE)
		return n;
	for (int64_t x = 0, last = -1; x > last; last = x, x = x + step < n ? x + step : n) {
		uint64_t matrix = 0, vector = 0;

		if (x > 0)
			matrix = plan_cost_mma(caps, 1, 1, (uint64_t)x, (uint64_t)r->hidden,
					       r->dtype);
		if (x < n)
			vector = ONPU_CYCLES_VECTOR +
				 plan_cost_lanes(caps, (uint64_t)(n - x), sizeof(float)) *
					 (uint64_t)r->hidden;
		if (vector > matrix)
			matrix = vector;
		if (matrix < least) {
			least = matrix;
			best = x;
		}
	}
	return best;
}

/* Moves the regions that are live between two steps from SRAM to the arena, or back. */
static void move_regions(const struct rnn *r, bool back)
{
	static const enum region alive[] = { REGION_INPUT, REGION_HIDDEN, REGION_STATE,
					     REGION_INSIDE };

	for (size_t i = 0; i < ARRAY_SIZE(alive); i++) {
		const struct npu_view *sram = &r->region[alive[i]], *home = &r->home[alive[i]];

		if (!home->rank || sram->base != NPU_BASE_NONE)
			continue;
		plan_transfer(r->plan, back ? *sram : *home, back ? *home : *sram, !back);
	}
}

void recurrent_pause(struct rnn *r)
{
	if (!plan_pause_since(r->plan, &r->paused_at))
		return;
	move_regions(r, false);
	forget_sram(r);
	move_regions(r, true);
	load_constants(r);
}

void recurrent_swap(struct rnn *r)
{
	for (int i = REGION_HIDDEN; i <= REGION_STATE; i += REGION_STATE - REGION_HIDDEN) {
		struct npu_view swap = r->region[i];

		r->region[i] = r->region[i + 1];
		r->region[i + 1] = swap;
	}
	alias_states(r);
}
