// SPDX-License-Identifier: MIT
/*
 * Decodes slot indices into checked operands.
 *
 * The checks come in the architecture's order: slot index, slot format, space, type, shape, bounds,
 * cost; within one check the fault names the lowest operand. After sim_decode() every element that
 * an instruction touches is inside its window and no computation of addresses overflows.
 */
#include <string.h>

#include "machine/cost.h"
#include "machine/sim.h"

/* Bits of a PARAM slot that a schema defines; all others must be zero. */
static const uint32_t param_defined[ONPU_SCHEMA_COUNT][ONPU_SLOT_SIZE / 4] = {
	[ONPU_SCHEMA_SCALAR] = ONPU_SLOT_PARAM_SCALAR__DEFINED,
	[ONPU_SCHEMA_FILL] = ONPU_SLOT_PARAM_FILL__DEFINED,
	[ONPU_SCHEMA_PAD] = ONPU_SLOT_PARAM_PAD__DEFINED,
	[ONPU_SCHEMA_INDEX] = ONPU_SLOT_PARAM_INDEX__DEFINED,
	[ONPU_SCHEMA_TAPS] = ONPU_SLOT_PARAM_TAPS__DEFINED,
	[ONPU_SCHEMA_RESAMPLE] = ONPU_SLOT_PARAM_RESAMPLE__DEFINED,
	[ONPU_SCHEMA_TRI] = ONPU_SLOT_PARAM_TRI__DEFINED,
};

static uint16_t slot_index(const struct onpu_insn *insn, unsigned int operand)
{
	const uint16_t index[ONPU_OPERAND_COUNT] = { insn->dst, insn->s0, insn->s1, insn->s2,
						     insn->param };

	return index[operand];
}

static bool used(const struct sim_work *w, unsigned int operand)
{
	const struct onpu_operand_info *info = &w->info->operands[operand];

	return info->present && !(info->optional && !slot_index(&w->insn, operand));
}

static bool check_index(struct sim_context *c, const struct sim_work *w, uint32_t count)
{
	for (unsigned int i = 0; i < ONPU_OPERAND_COUNT; i++) {
		uint16_t index = slot_index(&w->insn, i);

		if (used(w, i) && (!index || index >= count))
			return sim_fail(c, ONPU_FAULT_SLOT_INDEX, i, index);
	}
	return true;
}

/* ---- Format ---- */

static bool tensor_format(const struct sim_context *c, const struct onpu_slot_tensor *s)
{
	bool weights = c->config->features & ONPU_CAP_FEATURES_WEIGHTS__MASK;
	uint64_t bits;

	if (s->kind != ONPU_SLOT_TENSOR || s->dtype >= ONPU_DT_COUNT ||
	    (s->dtype >= ONPU_DT_F8E4M3 && !weights) || s->rank > ONPU_MAX_RANK ||
	    s->space > ONPU_SPACE_VA || s->mbz_04)
		return false;
	bits = s->base + s->offset;
	for (unsigned int i = 0; i < ONPU_MAX_RANK; i++) {
		if (i < s->rank ? !s->dim[i] : s->dim[i] || s->stride[i])
			return false;
		bits |= (uint64_t)s->stride[i];
	}
	/* Sizes are powers of two; offsets and strides of 4-bit types are in nibbles. */
	return !(bits & (sim_esize(s->dtype) - 1));
}

static void load_tensor(struct sim_tensor *t, const struct onpu_slot_tensor *s, uint16_t slot)
{
	t->present = true;
	t->dtype = s->dtype;
	t->esize = sim_esize(s->dtype);
	t->rank = s->rank;
	t->space = s->space;
	t->slot = slot;
	memcpy(t->dim, s->dim, sizeof(t->dim));
	for (unsigned int i = 0; i < ONPU_MAX_RANK; i++)
		t->stride[i] = s->dim[i] > 1 ? s->stride[i] : 0;
	t->base = s->base;
	t->size = s->size;
	t->offset = s->offset;
	t->start = (sim_is_nibble(s->dtype) ? s->base * 2 : s->base) + s->offset;
}

static bool param_format(const struct sim_work *w)
{
	const union onpu_slot *p = &w->param;
	unsigned int schema = w->info->schema;

	if (p->param.kind != ONPU_SLOT_PARAM || p->param.schema != schema)
		return false;
	for (unsigned int i = 0; i < ONPU_SLOT_SIZE / 4; i++) {
		if (p->words[i] & ~param_defined[schema][i])
			return false;
	}
	return true;
}

/* Returns whether @value has no bit above those of an element of DST. */
static bool fits_element(const struct sim_work *w, uint64_t value)
{
	unsigned int bits = onpu_dtype_bits(w->t[ONPU_OPERAND_DST].dtype);

	return bits == 64 || !(value >> bits);
}

static bool pad_format(const struct sim_work *w)
{
	const struct onpu_slot_param_pad *p = &w->param.pad;

	for (unsigned int i = w->t[ONPU_OPERAND_DST].rank; i < ONPU_MAX_RANK; i++) {
		if (p->lo[i])
			return false;
	}
	return p->mode <= ONPU_PAD_SYMMETRIC && fits_element(w, p->value) &&
	       (p->mode == ONPU_PAD_CONSTANT || !p->value);
}

static bool index_format(const struct sim_work *w)
{
	bool nd = w->insn.op == ONPU_OP_DMA_GATHER_ND || w->insn.op == ONPU_OP_DMA_SCATTER_ND;

	return nd ? !w->param.index.axis : !w->param.index.batch_dims;
}

static bool resample_format(const struct onpu_slot_param_resample *p)
{
	const uint32_t limit = ONPU_MAX_RESAMPLE_SIZE;

	for (unsigned int i = 0; i < 2; i++) {
		if (!p->in_size[i] || p->in_size[i] > limit || !p->out_size[i] ||
		    p->out_size[i] > limit)
			return false;
	}
	return true;
}

/* Returns whether a step is a multiple of the element size, or 0 for an operand that is absent. */
static bool step_format(const struct sim_tensor *t, int64_t step)
{
	return t->present ? !((uint64_t)step & (t->esize - 1)) : !step;
}

static bool taps_format(const struct sim_work *w)
{
	const struct onpu_slot_param_taps *p = &w->param.taps;
	bool mma = w->info->cost == ONPU_COST_MMA;

	for (unsigned int i = 0; i < ONPU_TAPS_LOOPS; i++) {
		if (!p->loop[i].count || !step_format(&w->t[ONPU_OPERAND_S0], p->loop[i].s0_step) ||
		    !step_format(&w->t[ONPU_OPERAND_S1], p->loop[i].s1_step) ||
		    !step_format(&w->t[ONPU_OPERAND_DST], p->loop[i].dst_step) ||
		    (!mma && p->loop[i].dst_step))
			return false;
	}
	return w->insn.op == ONPU_OP_MMA_I8 || (!p->zero_a && !p->zero_b);
}

/* Returns whether the members of a PARAM slot have values that its schema allows. */
static bool param_values(const struct sim_work *w)
{
	const struct onpu_slot_param_scalar *s = &w->param.scalar;

	switch (w->info->schema) {
	case ONPU_SCHEMA_SCALAR:
		return !sim_is_float(w->t[ONPU_OPERAND_S0].dtype) ||
		       !((s->alpha | s->beta | s->gamma) >> 32);
	case ONPU_SCHEMA_FILL:
		return fits_element(w, w->param.fill.value);
	case ONPU_SCHEMA_INDEX:
		return index_format(w);
	case ONPU_SCHEMA_RESAMPLE:
		return resample_format(&w->param.resample);
	case ONPU_SCHEMA_PAD:
		return pad_format(w);
	case ONPU_SCHEMA_TAPS:
		return taps_format(w);
	case ONPU_SCHEMA_TRI:
		return !(w->param.tri.flags & ~ONPU_TRI_UPPER);
	default:
		return true;
	}
}

/*
 * Reads the slots of all operands, before any of them is checked; leaves out an index beyond the
 * table, which check_index() reports. Returns false if a read has faulted.
 */
static bool read_slots(struct sim_context *c, struct sim_work *w,
		       const struct sim_slot_source *slots, union onpu_slot *slot)
{
	for (unsigned int i = 0; i < ONPU_OPERAND_COUNT; i++) {
		uint16_t index = slot_index(&w->insn, i);

		if (!w->info->operands[i].present || !index || index >= slots->count)
			continue;
		if (!slots->read(slots->ctx, index, &slot[i]))
			return sim_fail(c, c->fault.code, i, c->fault.address);
	}
	return true;
}

static bool check_format(struct sim_context *c, struct sim_work *w, const union onpu_slot *slot)
{
	for (unsigned int i = 0; i < ONPU_OPERAND_PARAM; i++) {
		if (!used(w, i))
			continue;
		if (!tensor_format(c, &slot[i].tensor))
			return sim_fail(c, ONPU_FAULT_SLOT_FORMAT, i, slot_index(&w->insn, i));
		load_tensor(&w->t[i], &slot[i].tensor, slot_index(&w->insn, i));
	}
	if (!used(w, ONPU_OPERAND_PARAM))
		return true;
	w->has_param = true;
	w->param = slot[ONPU_OPERAND_PARAM];
	if (!param_format(w) || !param_values(w))
		return sim_fail(c, ONPU_FAULT_SLOT_FORMAT, ONPU_OPERAND_PARAM, w->insn.param);
	return true;
}

/* ---- Space and type ---- */

static bool check_space(struct sim_context *c, const struct sim_work *w)
{
	if (w->engine != ONPU_ENG_MXU && w->engine != ONPU_ENG_VPU)
		return true;
	for (unsigned int i = 0; i < ONPU_OPERAND_PARAM; i++) {
		if (w->t[i].present && w->t[i].space != ONPU_SPACE_SRAM)
			return sim_fail(c, ONPU_FAULT_SPACE, i, 0);
	}
	return true;
}

/* Returns whether both types are floating-point, or both are the same. */
static bool same_kind(const struct sim_tensor *a, const struct sim_tensor *b)
{
	return a->dtype == b->dtype || (sim_is_float(a->dtype) && sim_is_float(b->dtype));
}

/*
 * Returns whether an operand is of a class "num" or "resample", which has floating-point and
 * integer types.
 */
static bool is_num(const struct onpu_operand_info *info)
{
	const uint32_t both = 1u << ONPU_DT_F32 | 1u << ONPU_DT_I8;

	return (info->dtypes & both) == both;
}

/*
 * Returns whether the type of partial lanes fits: float32 for every float type, else the operand's
 * own.
 */
static bool is_partial(const struct sim_tensor *lanes, const struct sim_tensor *t)
{
	return lanes->dtype == (sim_is_float(t->dtype) ? ONPU_DT_F32 : t->dtype);
}

/*
 * Returns false if the operand holds partial lanes or a carry and has another type than the one
 * that follows from the result or from S0.
 */
static bool check_partial(const struct sim_work *w, unsigned int operand)
{
	const struct sim_tensor *d = &w->t[ONPU_OPERAND_DST], *s0 = &w->t[ONPU_OPERAND_S0];

	if (w->insn.part && operand == ONPU_OPERAND_DST)
		return is_partial(d, s0);
	if (w->insn.lanes && operand == ONPU_OPERAND_S0)
		return is_partial(s0, d);
	if (w->insn.op == ONPU_OP_SCAN_SUM && operand == ONPU_OPERAND_S1)
		return is_partial(&w->t[ONPU_OPERAND_S1], s0);
	return true;
}

static bool check_dtype(struct sim_context *c, const struct sim_work *w)
{
	const struct sim_tensor *same = NULL, *num = NULL;

	for (unsigned int i = 0; i < ONPU_OPERAND_PARAM; i++) {
		const struct onpu_operand_info *info = &w->info->operands[i];
		const struct sim_tensor *t = &w->t[i];

		if (!t->present)
			continue;
		if (!(info->dtypes >> t->dtype & 1) || !check_partial(w, i))
			return sim_fail(c, ONPU_FAULT_DTYPE, i, 0);
		if (w->info->same_ints && is_num(info)) {
			if (num && !same_kind(num, t))
				return sim_fail(c, ONPU_FAULT_DTYPE, i, 0);
			num = t;
		}
		if (w->info->same >> i & 1) {
			if (same && same->dtype != t->dtype)
				return sim_fail(c, ONPU_FAULT_DTYPE, i, 0);
			same = t;
		}
	}
	return true;
}

/* ---- Extents, overlap and bounds ---- */

void sim_extent(const struct sim_work *w, unsigned int operand, sim_s128 *low, sim_s128 *high)
{
	const struct sim_tensor *t = &w->t[operand];
	sim_s128 first = t->offset, last = t->offset;

	for (unsigned int i = 0; i < t->rank; i++) {
		sim_s128 span = (sim_s128)t->stride[i] * (t->dim[i] - 1);

		*(span < 0 ? &first : &last) += span;
	}
	for (unsigned int i = 0;
	     w->info->schema == ONPU_SCHEMA_TAPS && w->has_param && i < ONPU_TAPS_LOOPS; i++) {
		const struct onpu_slot_param_taps_loop *loop = &w->param.taps.loop[i];
		int64_t step = operand == ONPU_OPERAND_DST ? loop->dst_step :
			       operand == ONPU_OPERAND_S0  ? loop->s0_step :
			       operand == ONPU_OPERAND_S1  ? loop->s1_step :
							     0;
		sim_s128 span = (sim_s128)step * (loop->count - 1);

		*(span < 0 ? &first : &last) += span;
	}
	*low = first;
	*high = last + t->esize;
}

/* Sets *@low to the first byte that an operand touches in its space, *@high to the end. */
static void byte_range(const struct sim_work *w, unsigned int operand, sim_s128 *low,
		       sim_s128 *high)
{
	const struct sim_tensor *t = &w->t[operand];

	sim_extent(w, operand, low, high);
	if (sim_is_nibble(t->dtype)) {
		*low >>= 1;
		*high = (*high + 1) >> 1;
	}
	*low += t->base;
	*high += t->base;
}

static sim_s128 magnitude(int64_t x)
{
	return x < 0 ? -(sim_s128)x : x;
}

/*
 * Returns whether two elements of a tensor may share bytes, by the architecture's rule of sorted
 * strides.
 */
static bool overlaps_itself(const struct sim_tensor *t)
{
	unsigned int order[ONPU_MAX_RANK], n = 0;
	sim_s128 need = t->esize;

	for (unsigned int i = 0; i < t->rank; i++) {
		unsigned int at = n;

		if (t->dim[i] == 1)
			continue;
		for (; at && magnitude(t->stride[order[at - 1]]) > magnitude(t->stride[i]); at--)
			order[at] = order[at - 1];
		order[at] = i;
		n++;
	}
	for (unsigned int i = 0; i < n; i++) {
		sim_s128 stride = magnitude(t->stride[order[i]]);

		if (stride < need)
			return true;
		need = stride * t->dim[order[i]];
	}
	return false;
}

static bool same_place(const struct sim_tensor *a, const struct sim_tensor *b)
{
	if (a->start != b->start || a->esize != b->esize || a->rank != b->rank ||
	    sim_is_nibble(a->dtype) != sim_is_nibble(b->dtype))
		return false;
	/* Dimensions are equal; strides of dimensions of size 1 are zero. */
	return !memcmp(a->stride, b->stride, sizeof(a->stride));
}

static bool intersect(const struct sim_work *w, unsigned int a, unsigned int b)
{
	sim_s128 low_a, high_a, low_b, high_b;

	if (w->t[a].space != w->t[b].space)
		return false;
	byte_range(w, a, &low_a, &high_a);
	byte_range(w, b, &low_b, &high_b);
	return low_a < high_b && low_b < high_a;
}

/*
 * Returns an operand that overlaps itself or a destination although it may not, or -1. A source of
 * an instruction that works in place may be the destination itself.
 */
static int check_overlap(const struct sim_work *w)
{
	const struct sim_tensor *dst = &w->t[ONPU_OPERAND_DST];
	/* The carry of a scan is written too. */
	bool carry = w->insn.op == ONPU_OP_SCAN_SUM && w->t[ONPU_OPERAND_S1].present;

	if (dst->present && overlaps_itself(dst))
		return ONPU_OPERAND_DST;
	if (carry && overlaps_itself(&w->t[ONPU_OPERAND_S1]))
		return ONPU_OPERAND_S1;
	for (unsigned int i = ONPU_OPERAND_S0; i < ONPU_OPERAND_PARAM; i++) {
		if (!w->t[i].present || !intersect(w, ONPU_OPERAND_DST, i))
			continue;
		if (!(w->info->inplace >> i & 1) || !same_place(dst, &w->t[i]))
			return i;
	}
	if (carry && intersect(w, ONPU_OPERAND_S0, ONPU_OPERAND_S1))
		return ONPU_OPERAND_S1;
	return -1;
}

static bool check_window(struct sim_context *c, const struct sim_work *w, unsigned int operand)
{
	const struct sim_tensor *t = &w->t[operand];
	unsigned int shift = sim_is_nibble(t->dtype);
	sim_u128 limit = t->space == ONPU_SPACE_SRAM ? c->sram_bytes : (sim_u128)1 << 64;
	sim_s128 low, high;

	if ((sim_u128)t->base + t->size > limit)
		return sim_fail(c, ONPU_FAULT_BOUNDS, operand, t->base);
	sim_extent(w, operand, &low, &high);
	if (low < 0)
		return sim_fail(c, ONPU_FAULT_BOUNDS, operand, t->base + (uint64_t)(low >> shift));
	if (high > (sim_s128)t->size << shift)
		return sim_fail(c, ONPU_FAULT_BOUNDS, operand,
				t->base + (uint64_t)((high - 1) >> shift));
	return true;
}

static bool check_bounds(struct sim_context *c, const struct sim_work *w)
{
	for (unsigned int i = 0; i < ONPU_OPERAND_PARAM; i++) {
		if (w->t[i].present && !check_window(c, w, i))
			return false;
	}
	if (w->info->schema == ONPU_SCHEMA_RESAMPLE && !sim_resample_inside(w))
		return sim_fail(c, ONPU_FAULT_BOUNDS, ONPU_OPERAND_S0, 0);
	return true;
}

bool sim_decode(struct sim_context *c, struct sim_work *w, const struct sim_slot_source *slots)
{
	union onpu_slot slot[ONPU_OPERAND_COUNT];
	int operand;

	if (!read_slots(c, w, slots, slot) || !check_index(c, w, slots->count) ||
	    !check_format(c, w, slot) || !check_space(c, w) || !check_dtype(c, w))
		return false;
	operand = sim_check_shape(w);
	if (operand < 0)
		operand = check_overlap(w);
	if (operand >= 0)
		return sim_fail(c, ONPU_FAULT_SHAPE, operand, 0);
	if (!check_bounds(c, w))
		return false;
	w->cost = sim_cost(w, c->config);
	return w->cost <= ONPU_MAX_COST || sim_fail(c, ONPU_FAULT_SHAPE, ONPU_OPERAND_NONE, 0);
}
