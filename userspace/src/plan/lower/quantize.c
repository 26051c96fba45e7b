// SPDX-License-Identifier: MIT
/*
 * Lowers quantisation and dequantisation as vector programs. A scale and zero point may be for a
 * block of elements: each dim with blocks becomes two dims, the block and the position in it. 4-bit
 * operands are unpacked to 8-bit elements in scratch memory first, and a 4-bit result is packed
 * last.
 */
#include "plan/kernel/nibbles.h"
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"

#include <string.h>

bool supports_quantize(const struct ir_node *node, struct npu_reason *reason)
{
	const struct ir_value *real = node->op == IR_OP_QUANTIZE ? node->operands[0] :
								   node->results[0];

	if (!supports_is_float(real) || !supports_is_float(node->operands[1]))
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU quantises from float32 or float16 to integers, and dequantises "
			"back, but between no other types");
	return true;
}

enum { DATA, SCALE, ZERO, RESULT, OPERANDS };

struct space {
	uint32_t rank;
	int64_t dim[2 * IR_MAX_RANK], stride[OPERANDS][2 * IR_MAX_RANK];
};

/*
 * ---- the iteration space: its dims, and the strides of all operands, 0 where they are broadcast
 */

/* Appends a dim, or merges it into the last one when all operands allow it. */
static void append_dim(struct space *space, int64_t dim, const int64_t stride[OPERANDS])
{
	uint32_t at = space->rank - 1;
	bool merge = space->rank > 0;

	if (dim == 1)
		return;
	for (int i = 0; i < OPERANDS && merge; i++)
		merge = space->stride[i][at] == stride[i] * dim;
	if (merge)
		space->dim[at] *= dim;
	else
		space->dim[at = space->rank++] = dim;
	for (int i = 0; i < OPERANDS; i++)
		space->stride[i][at] = stride[i];
}

/*
 * Returns the extent of a dim, counted from the right, and sets its stride; extent 1 and stride 0
 * when the view has no such dim.
 */
static int64_t dim_of(const struct npu_view *view, uint32_t from_right, int64_t *stride)
{
	bool has = from_right < view->rank;

	*stride = has ? view->stride[view->rank - 1 - from_right] : 0;
	return has ? view->dim[view->rank - 1 - from_right] : 1;
}

/*
 * Fills in the space from the views. Each dim of the result becomes two: as many blocks as the
 * scale has elements along the dim, and the positions in a block, whose stride in the scale is 0.
 */
static void make_space(struct space *space, const struct npu_view view[OPERANDS])
{
	space->rank = 0;
	for (uint32_t i = view[RESULT].rank; i-- > 0;) {
		int64_t outer[OPERANDS], inner[OPERANDS], stride, scale;
		int64_t dim = dim_of(&view[RESULT], i, &stride);

		scale = dim_of(&view[SCALE], i, &stride);
		for (int k = 0; k < OPERANDS; k++) {
			int64_t own = dim_of(&view[k], i, &stride);

			outer[k] = own == 1 ? 0 : own == dim ? stride * (dim / scale) : stride;
			inner[k] = own == dim ? stride : 0;
		}
		append_dim(space, scale, outer);
		append_dim(space, dim / scale, inner);
	}
}

/*
 * Moves the `loops` dims of least extent to the front: a program is emitted for each position along
 * them, as a program has at most IR_MAX_RANK dims.
 */
static void shortest_first(struct space *space, uint32_t loops)
{
	for (uint32_t i = 0; i < loops; i++) {
		uint32_t least = i;
		struct space from = *space;

		for (uint32_t d = i + 1; d < space->rank; d++)
			if (space->dim[d] < space->dim[least])
				least = d;
		/* The other dims keep their order. */
		for (uint32_t d = i; d <= least; d++) {
			uint32_t other = d == i ? least : d - 1;

			space->dim[d] = from.dim[other];
			for (int k = 0; k < OPERANDS; k++)
				space->stride[k][d] = from.stride[k][other];
		}
	}
}

/* ---- programs */

/* Returns the view of operand k for position number `position` along the first `loops` dims. */
static struct npu_view operand_at(const struct space *space, const struct npu_view *view, int k,
				  uint32_t loops, int64_t position)
{
	struct npu_view out = *view;

	for (uint32_t i = loops; i-- > 0; position /= space->dim[i])
		out.offset += position % space->dim[i] * space->stride[k][i];
	out.rank = space->rank - loops;
	for (uint32_t i = 0; i < out.rank; i++) {
		out.stride[i] = space->stride[k][loops + i];
		out.dim[i] = out.stride[i] ? space->dim[loops + i] : 1;
	}
	if (!out.rank) {
		out.rank = 1;
		out.dim[0] = 1;
		out.stride[0] = 0;
	}
	return out;
}

static void emit_programs(struct plan *plan, bool quantize, const struct npu_view view[OPERANDS])
{
	const char *name = quantize ? "vector quantize" : "vector dequantize";
	int64_t positions = 1;
	struct space space;
	uint32_t loops;

	make_space(&space, view);
	loops = space.rank > IR_MAX_RANK ? space.rank - IR_MAX_RANK : 0;
	shortest_first(&space, loops);
	for (uint32_t i = 0; i < loops; i++)
		positions *= space.dim[i];
	for (int64_t position = 0; position < positions && !plan->report.failed; position++) {
		struct npu_view at[OPERANDS];
		struct vprog prog;
		int reg[OPERANDS];

		for (int k = 0; k < OPERANDS; k++)
			at[k] = operand_at(&space, &view[k], k, loops, position);
		vp_begin(&prog, name, at[RESULT].rank, at[RESULT].dim);
		for (int k = 0; k < RESULT; k++)
			reg[k] = vp_input(&prog, &at[k]);
		reg[RESULT] = vp_output(&prog, &at[RESULT]);
		vp_add(&prog, quantize ? ONPU_OP_QUANT : ONPU_OP_DEQUANT, reg[RESULT], reg[DATA],
		       reg[SCALE], reg[ZERO]);
		vp_emit(plan, &prog);
	}
}

/* ---- 4-bit operands */

static const struct ir_value *value_of(const struct ir_node *node, int k)
{
	return k == RESULT ? node->results[0] : node->operands[k];
}

static uint64_t unpacked_bytes(const struct ir_value *value)
{
	if (value->type.dtype != IR_I4 && value->type.dtype != IR_U4)
		return 0;
	return nibbles_unpacked_bytes(ir_type_elements(&value->type));
}

uint64_t quantize_scratch(const struct ir_node *node)
{
	uint64_t bytes = 0;

	for (int k = 0; k < OPERANDS; k++)
		bytes += unpacked_bytes(value_of(node, k));
	return bytes;
}

/* Returns a dense view of a value with a byte for each element, at offset `at` of the arena. */
static struct npu_view bytes_view(const struct npu_view *packed, uint64_t at, uint64_t bytes)
{
	struct npu_view view = {
		.base = NPU_BASE_ARENA,
		.window = at,
		.window_bytes = bytes,
		.rank = packed->rank,
		.dtype = packed->dtype == ONPU_DT_I4 ? ONPU_DT_I8 : ONPU_DT_U8,
	};
	int64_t stride = 1;

	for (uint32_t i = packed->rank; i-- > 0; stride *= packed->dim[i]) {
		view.dim[i] = packed->dim[i];
		view.stride[i] = stride;
	}
	return view;
}

void lower_quantize(struct plan *plan, const struct ir_node *node)
{
	struct npu_view view[OPERANDS], packed[OPERANDS];
	uint64_t at = values_scratch(plan);

	for (int k = 0; k < OPERANDS; k++) {
		const struct ir_value *value = value_of(node, k);
		uint64_t bytes = unpacked_bytes(value);

		view[k] = packed[k] = values_view(plan, value);
		if (!bytes)
			continue;
		view[k] = bytes_view(&packed[k], at, bytes);
		at += bytes;
		if (k != RESULT)
			nibbles_unpack(plan, &view[k], &packed[k]);
	}
	emit_programs(plan, node->op == IR_OP_QUANTIZE, view);
	if (unpacked_bytes(node->results[0]))
		nibbles_pack(plan, &packed[RESULT], &view[RESULT]);
}
