// SPDX-License-Identifier: MIT
/*
 * The checks of an instruction at its issue (isa.xml: #checks and the blocks that it names).
 * reference_shape.c has the "require" lines.
 */
#include "reference.h"

#include <string.h>

#define NONE ((struct ref_fault){ .operand = ONPU_OPERAND_NONE })

static struct ref_fault fault_at(enum onpu_fault code, unsigned int operand, uint64_t address)
{
	return (struct ref_fault){ .code = code, .operand = operand, .address = address };
}

static bool all_zero(const union onpu_slot *slot, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		if (slot->bytes[i])
			return false;
	return true;
}

static bool tensor_ok(const struct ref_machine *m, const struct onpu_slot_tensor *t)
{
	unsigned int e;

	if (t->kind != ONPU_SLOT_TENSOR || t->dtype > (m->weights ? 16 : 12) || t->rank > 8 ||
	    t->space > 1 || t->mbz_04)
		return false;
	e = ref_size(t->dtype);
	for (unsigned int d = 0; d < ONPU_MAX_RANK; d++) {
		if (d < t->rank ? t->dim[d] == 0 : t->dim[d] || t->stride[d])
			return false;
		if (!ref_is_nibble(t->dtype) && t->stride[d] % (int64_t)e)
			return false;
	}
	return ref_is_nibble(t->dtype) || (t->base + t->offset) % e == 0;
}

static struct ref_tensor decode_tensor(const struct onpu_slot_tensor *t)
{
	struct ref_tensor x = {
		.dtype = t->dtype,
		.rank = t->rank,
		.space = t->space,
		.base = t->base,
		.size = t->size,
		.offset = t->offset,
	};

	memcpy(x.dim, t->dim, sizeof(x.dim));
	memcpy(x.stride, t->stride, sizeof(x.stride));
	return x;
}

/* Returns whether the value has bits above those of an element of DST. */
static bool above_element(const struct ref_op *op, uint64_t value)
{
	unsigned int bits = ref_bits(op->x[0].dtype);

	return bits < 64 && value >> bits;
}

static bool scalar_ok(const struct ref_op *op, const struct onpu_slot_param_scalar *p)
{
	if (!op->has[ONPU_OPERAND_S0] || !ref_is_float(op->x[1].dtype))
		return true;
	return !(p->alpha >> 32 || p->beta >> 32 || p->gamma >> 32);
}

static bool pad_ok(const struct ref_op *op, const struct onpu_slot_param_pad *p)
{
	if (p->mode > ONPU_PAD_SYMMETRIC || above_element(op, p->value) ||
	    (p->value && p->mode != ONPU_PAD_CONSTANT))
		return false;
	for (unsigned int d = op->x[0].rank; d < ONPU_MAX_RANK; d++)
		if (p->lo[d])
			return false;
	return true;
}

static bool step_ok(const struct ref_op *op, unsigned int x, int64_t step)
{
	if (!op->has[x])
		return step == 0;
	return step % (int64_t)ref_size(op->x[x].dtype) == 0;
}

static bool taps_ok(const struct ref_op *op, const struct onpu_slot_param_taps *p)
{
	for (unsigned int l = 0; l < ONPU_TAPS_LOOPS; l++) {
		const struct onpu_slot_param_taps_loop *loop = &p->loop[l];

		if (!loop->count || loop->mbz_04 || !step_ok(op, 1, loop->s0_step) ||
		    !step_ok(op, 2, loop->s1_step) || !step_ok(op, 0, loop->dst_step))
			return false;
		if (loop->dst_step && op->info->cost == ONPU_COST_WINDOW)
			return false;
	}
	return op->insn.op == ONPU_OP_MMA_I8 || (!p->zero_a && !p->zero_b);
}

static bool resample_ok(const struct onpu_slot_param_resample *p)
{
	for (unsigned int e = 0; e < 2; e++)
		if (!p->in_size[e] || p->in_size[e] > 1u << 30 || !p->out_size[e] ||
		    p->out_size[e] > 1u << 30)
			return false;
	return true;
}

static bool param_ok(const struct ref_op *op, const union onpu_slot *slot)
{
	bool nd = op->insn.op == ONPU_OP_DMA_GATHER_ND || op->insn.op == ONPU_OP_DMA_SCATTER_ND;

	if (slot->param.kind != ONPU_SLOT_PARAM || slot->param.schema != op->info->schema ||
	    slot->words[1])
		return op->info->schema == ONPU_SCHEMA_NONE;
	switch (slot->param.schema) {
	case ONPU_SCHEMA_SCALAR:
		return all_zero(slot, 2, 4) && all_zero(slot, 0x20, 128) &&
		       scalar_ok(op, &slot->scalar);
	case ONPU_SCHEMA_FILL:
		return all_zero(slot, 2, 4) && all_zero(slot, 0x10, 128) &&
		       !above_element(op, slot->fill.value);
	case ONPU_SCHEMA_PAD:
		return all_zero(slot, 3, 4) && all_zero(slot, 0x30, 128) && pad_ok(op, &slot->pad);
	case ONPU_SCHEMA_INDEX:
		return all_zero(slot, 4, 128) &&
		       (nd ? slot->index.axis == 0 : slot->index.batch_dims == 0);
	case ONPU_SCHEMA_TAPS:
		return all_zero(slot, 2, 4) && all_zero(slot, 0x70, 128) &&
		       taps_ok(op, &slot->taps);
	case ONPU_SCHEMA_RESAMPLE:
		return all_zero(slot, 0x28, 128) && resample_ok(&slot->resample);
	default:
		return all_zero(slot, 3, 4) && all_zero(slot, 0x10, 128) &&
		       slot->tri.flags <= ONPU_TRI_UPPER;
	}
}

/*
 * Does steps 1 and 2 of #checks: copies the operands' slots to @op and checks that they are well
 * formed. Returns the fault of the first check that fails.
 */
struct ref_fault ref_decode_slots(const struct ref_machine *m, struct ref_op *op,
				  uint32_t num_slots, const union onpu_slot *slots)
{
	const struct onpu_insn *insn = &op->insn;
	const unsigned int index[ONPU_OPERAND_COUNT] = {
		insn->dst, insn->s0, insn->s1, insn->s2, insn->param,
	};

	op->info = &onpu_op_info[insn->op];
	memcpy(op->index, index, sizeof(index));
	for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++) {
		const struct onpu_operand_info *info = &op->info->operands[x];

		op->has[x] = info->present && !(info->optional && !index[x]);
		if (op->has[x] && (!index[x] || index[x] >= num_slots))
			return fault_at(ONPU_FAULT_SLOT_INDEX, x, index[x]);
	}
	for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++) {
		if (!op->has[x])
			continue;
		op->slot[x] = slots[index[x]];
		if (x != ONPU_OPERAND_PARAM ? !tensor_ok(m, &op->slot[x].tensor) :
					      !param_ok(op, &op->slot[x]))
			return fault_at(ONPU_FAULT_SLOT_FORMAT, x, index[x]);
		if (x != ONPU_OPERAND_PARAM)
			op->x[x] = decode_tensor(&op->slot[x].tensor);
	}
	return NONE;
}

static struct ref_fault check_space(const struct ref_op *op)
{
	if (op->info->engine == ONPU_ENG_MXU || op->info->engine == ONPU_ENG_VPU)
		for (unsigned int x = 0; x < 4; x++)
			if (op->has[x] && op->x[x].space != ONPU_SPACE_SRAM)
				return fault_at(ONPU_FAULT_SPACE, x, 0);
	return NONE;
}

/*
 * Returns whether operand @x has the type that the rules of #reduce and scan.sum demand of lanes
 * and carries; true for all other operands.
 */
static bool lanes_type_ok(const struct ref_op *op, unsigned int x)
{
	unsigned int dst = op->x[0].dtype, s0 = op->x[1].dtype;

	if (op->info->cost == ONPU_COST_SCAN && x == ONPU_OPERAND_S1)
		return op->x[2].dtype == (ref_is_float(s0) ? ONPU_DT_F32 : s0);
	if (op->insn.part && x == ONPU_OPERAND_DST)
		return dst == (ref_is_float(s0) ? ONPU_DT_F32 : s0);
	if (op->insn.lanes && x == ONPU_OPERAND_S0)
		return s0 == (ref_is_float(dst) ? ONPU_DT_F32 : dst);
	return true;
}

static struct ref_fault check_dtype(const struct ref_op *op)
{
	int same = -1, ints = -1;

	for (unsigned int x = 0; x < 4; x++) {
		unsigned int dtype = op->x[x].dtype;

		if (!op->has[x])
			continue;
		if (!(op->info->operands[x].dtypes >> dtype & 1) || !lanes_type_ok(op, x))
			return fault_at(ONPU_FAULT_DTYPE, x, 0);
		if (op->info->same >> x & 1) {
			if (same >= 0 && dtype != op->x[same].dtype)
				return fault_at(ONPU_FAULT_DTYPE, x, 0);
			same = (int)x;
		}
		if (op->info->same_ints >> x & 1) {
			bool both_float = ints >= 0 && ref_is_float(dtype) &&
					  ref_is_float(op->x[ints].dtype);

			if (ints >= 0 && !both_float && dtype != op->x[ints].dtype)
				return fault_at(ONPU_FAULT_DTYPE, x, 0);
			ints = (int)x;
		}
	}
	return NONE;
}

static ref_int magnitude(int64_t v)
{
	return v < 0 ? -(ref_int)v : v;
}

/*
 * Returns whether an element of memory belongs to two elements of the destination (#destination).
 */
static bool writes_twice(const struct ref_tensor *x)
{
	ref_int size[ONPU_MAX_RANK], dim[ONPU_MAX_RANK], least = ref_size(x->dtype);
	unsigned int n = 0;

	for (unsigned int d = 0; d < x->rank; d++) {
		unsigned int at = n;

		if (x->dim[d] == 1)
			continue;
		for (; at && size[at - 1] > magnitude(x->stride[d]); at--) {
			size[at] = size[at - 1];
			dim[at] = dim[at - 1];
		}
		size[at] = magnitude(x->stride[d]);
		dim[at] = x->dim[d];
		n++;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (size[i] < least)
			return true;
		least = size[i] * dim[i];
	}
	return false;
}

/* Computes the range of an operand relative to base, in bytes or nibbles. */
static void extent(const struct ref_op *op, unsigned int x, ref_int *low, ref_int *high)
{
	const struct ref_tensor *t = &op->x[x];

	*low = t->offset;
	*high = (ref_int)t->offset + ref_size(t->dtype);
	for (unsigned int d = 0; d < t->rank; d++) {
		ref_int by = ((ref_int)t->dim[d] - 1) * t->stride[d];

		*(by < 0 ? low : high) += by;
	}
	if (op->info->schema != ONPU_SCHEMA_TAPS || !op->has[ONPU_OPERAND_PARAM] || x == 3)
		return;
	for (unsigned int l = 0; l < ONPU_TAPS_LOOPS; l++) {
		const struct onpu_slot_param_taps_loop *loop =
			&op->slot[ONPU_OPERAND_PARAM].taps.loop[l];
		int64_t step = x == 0 ? loop->dst_step : x == 1 ? loop->s0_step : loop->s1_step;
		ref_int by = ((ref_int)loop->count - 1) * step;

		*(by < 0 ? low : high) += by;
	}
}

static ref_int floor_half(ref_int v)
{
	return v >> 1;
}

/* Computes the byte range of an operand, as exact numbers. */
void ref_range(const struct ref_op *op, unsigned int x, ref_int *low, ref_int *high)
{
	ref_int base = op->x[x].base;

	extent(op, x, low, high);
	if (ref_is_nibble(op->x[x].dtype)) {
		*low = floor_half(*low);
		*high = floor_half(*high + 1);
	}
	*low += base;
	*high += base;
}

static bool same_place(const struct ref_op *op, unsigned int x)
{
	const struct ref_tensor *a = &op->x[x], *b = &op->x[0];
	bool nibble = ref_is_nibble(a->dtype);

	if (ref_bits(a->dtype) != ref_bits(b->dtype) ||
	    (ref_int)a->base * (nibble ? 2 : 1) + a->offset !=
		    (ref_int)b->base * (nibble ? 2 : 1) + b->offset ||
	    a->rank != b->rank)
		return false;
	for (unsigned int d = 0; d < a->rank; d++)
		if (a->dim[d] > 1 && a->stride[d] != b->stride[d])
			return false;
	return true;
}

static bool intersect(const struct ref_op *op, unsigned int a, unsigned int b)
{
	ref_int low_a, high_a, low_b, high_b;

	ref_range(op, a, &low_a, &high_a);
	ref_range(op, b, &low_b, &high_b);
	return op->x[a].space == op->x[b].space && low_a < high_b && low_b < high_a;
}

static struct ref_fault check_shape(const struct ref_op *op)
{
	struct ref_fault fault = ref_check_shape(op);
	bool carry = op->info->cost == ONPU_COST_SCAN && op->has[ONPU_OPERAND_S1];

	if (fault.code)
		return fault;
	if (op->has[0] && writes_twice(&op->x[0]))
		return fault_at(ONPU_FAULT_SHAPE, 0, 0);
	if (carry && writes_twice(&op->x[2]))
		return fault_at(ONPU_FAULT_SHAPE, 2, 0);
	for (unsigned int x = 1; x < 4; x++) {
		if (!op->has[x])
			continue;
		if (intersect(op, x, 0) && !(op->info->inplace >> x & 1 && same_place(op, x)))
			return fault_at(ONPU_FAULT_SHAPE, x, 0);
		if (carry && x == 2 && intersect(op, 2, 1))
			return fault_at(ONPU_FAULT_SHAPE, 2, 0);
	}
	return NONE;
}

static struct ref_fault check_bounds(const struct ref_machine *m, const struct ref_op *op)
{
	for (unsigned int x = 0; x < 4; x++) {
		const struct ref_tensor *t = &op->x[x];
		bool nibble = ref_is_nibble(t->dtype);
		ref_int low, high, at, end = (ref_int)t->base + t->size;

		if (!op->has[x])
			continue;
		if (end > (ref_int)1 << 64 ||
		    (t->space == ONPU_SPACE_SRAM && end > (ref_int)m->program_sram))
			return fault_at(ONPU_FAULT_BOUNDS, x, t->base);
		extent(op, x, &low, &high);
		if (low < 0 || high > (ref_int)t->size * (nibble ? 2 : 1)) {
			at = low < 0 ? low : high - 1;
			at = t->base + (nibble ? floor_half(at) : at);
			return fault_at(ONPU_FAULT_BOUNDS, x, (uint64_t)at);
		}
		if (x == 1 && op->info->schema == ONPU_SCHEMA_RESAMPLE) {
			struct ref_fault fault = ref_check_resample(op);

			if (fault.code)
				return fault;
		}
	}
	return NONE;
}

/*
 * Does steps 3 to 7 of #checks, after ref_decode_slots(); returns the fault of the first check that
 * fails.
 */
struct ref_fault ref_check(const struct ref_machine *m, const struct ref_op *op)
{
	struct ref_fault fault = check_space(op);

	if (!fault.code)
		fault = check_dtype(op);
	if (!fault.code)
		fault = check_shape(op);
	if (!fault.code)
		fault = check_bounds(m, op);
	if (!fault.code && ref_cost(m, op) > 1 << 20)
		fault = fault_at(ONPU_FAULT_SHAPE, ONPU_OPERAND_NONE, 0);
	return fault;
}

struct ref_fault ref_execute(struct ref_machine *m, const struct ref_op *op)
{
	switch (op->info->cost) {
	case ONPU_COST_DMA:
	case ONPU_COST_GATHER:
		return ref_dma(m, op);
	case ONPU_COST_MMA:
		ref_mma(m, op);
		break;
	case ONPU_COST_SCAN:
		ref_scan(m, op);
		break;
	case ONPU_COST_WINDOW:
		ref_window(m, op);
		break;
	case ONPU_COST_REDUCE:
		if (op->insn.op == ONPU_OP_RARGMAX || op->insn.op == ONPU_OP_RARGMIN)
			ref_argreduce(m, op);
		else
			ref_reduce(m, op);
		break;
	default:
		if (op->insn.op == ONPU_OP_TRI)
			ref_tri(m, op);
		else if (op->insn.op == ONPU_OP_RESAMPLE_NEAREST)
			ref_resample_nearest(m, op);
		else if (op->insn.op == ONPU_OP_RESAMPLE_LINEAR)
			ref_resample_linear(m, op);
		else if (op->insn.op >= ONPU_OP_CVT && op->insn.op <= ONPU_OP_REQUANT)
			ref_convert(m, op);
		else
			ref_elementwise(m, op);
	}
	return NONE;
}
