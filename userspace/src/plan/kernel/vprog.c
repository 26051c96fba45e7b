// SPDX-License-Identifier: MIT
/* Builds, simplifies and emits vector programs; lowering calls it. */
#include "plan/kernel/vprog.h"

#include "plan/kernel/rows.h"
#include "plan/place/place.h"

#include <string.h>

void vp_begin(struct vprog *prog, const char *kernel, uint32_t rank, const int64_t *dim)
{
	memset(prog, 0, sizeof(*prog));
	prog->kernel = kernel;
	prog->rank = rank;
	memcpy(prog->dim, dim, rank * sizeof(*dim));
}

/* Returns the new register; in a full program the first one, which is a valid index, too. */
static int add_reg(struct vprog *prog, const struct vp_reg *reg)
{
	if (prog->num_regs == VP_MAX_REGS) {
		prog->overflow = true;
		return 0;
	}
	prog->reg[prog->num_regs] = *reg;
	return prog->num_regs++;
}

/* Returns the register of an operand in memory, whose dims of extent 1 are broadcast. */
static struct vp_reg memory_reg(const struct vprog *prog, enum vp_kind kind,
				const struct npu_view *mem)
{
	struct vp_reg reg = { .kind = kind, .dtype = mem->dtype, .mem = *mem };

	for (uint32_t i = 0; i < prog->rank; i++) {
		if (mem->dim[i] > 1)
			reg.mask |= 1u << i;
		else
			reg.mem.stride[i] = 0;
		reg.mem.dim[i] = mem->dim[i];
	}
	return reg;
}

int vp_input(struct vprog *prog, const struct npu_view *mem)
{
	struct npu_view once = *mem;
	struct vp_reg reg;

	/* A dim with stride 0 in memory is loaded once. */
	for (uint32_t i = 0; i < prog->rank; i++)
		if (!mem->stride[i])
			once.dim[i] = 1;
	reg = memory_reg(prog, VP_INPUT, &once);
	return add_reg(prog, &reg);
}

int vp_begin_input(struct vprog *prog, struct plan *plan, const char *kernel,
		   const struct ir_value *value)
{
	struct npu_view view = values_view(plan, value);
	struct vp_reg reg;

	if (!view.rank) {
		view.rank = 1;
		view.dim[0] = 1;
		view.stride[0] = plan_dtype_bytes(view.dtype);
	}
	vp_begin(prog, kernel, view.rank, view.dim);
	/* A reduction needs each element, also along dims with stride 0 in memory. */
	reg = memory_reg(prog, VP_INPUT, &view);
	return add_reg(prog, &reg);
}

int vp_output(struct vprog *prog, const struct npu_view *mem)
{
	struct vp_reg reg = memory_reg(prog, VP_OUTPUT, mem);

	return add_reg(prog, &reg);
}

int vp_temp(struct vprog *prog, uint8_t dtype, uint8_t mask)
{
	struct vp_reg reg = { .kind = VP_TEMP, .dtype = dtype, .mask = mask };

	return add_reg(prog, &reg);
}

int vp_slice(struct vprog *prog, int reg, uint32_t axis, uint32_t index)
{
	struct vp_reg part = prog->reg[reg];

	if (!(part.mask >> axis & 1))
		return reg;
	prog->fixed |= 1u << axis;
	prog->whole |= 1u << axis;
	part.kind = VP_SLICE;
	part.mask &= ~(1u << axis);
	part.of = (uint8_t)reg;
	part.axis = (uint8_t)axis;
	part.index = (uint8_t)index;
	return add_reg(prog, &part);
}

int vp_operand(struct vprog *prog, struct plan *plan, const struct ir_value *value)
{
	struct npu_view view = view_widen(values_view(plan, value), prog->rank);

	return vp_input(prog, &view);
}

int vp_result(struct vprog *prog, struct plan *plan, const struct ir_value *value)
{
	struct npu_view view = view_widen(values_view(plan, value), prog->rank);

	return vp_output(prog, &view);
}

struct vp_op *vp_add(struct vprog *prog, enum onpu_op op, int dst, int a, int b, int c)
{
	struct vp_op *vop;

	/* The last operation of a full program is lost; the caller still may set more of it. */
	if (prog->num_ops == VP_MAX_OPS) {
		prog->overflow = true;
		prog->num_ops--;
	}
	vop = &prog->op[prog->num_ops++];
	*vop = (struct vp_op){ .op = op, .dst = dst, .src = { a, b, c } };
	return vop;
}

struct vp_op *vp_scalar(struct vprog *prog, enum onpu_op op, int dst, int a, uint64_t alpha,
			uint64_t beta)
{
	struct vp_op *vop = vp_add(prog, op, dst, a, -1, -1);

	vop->has_param = true;
	vop->param.schema = PLAN_SCALAR;
	vop->param.scalar.alpha = alpha;
	vop->param.scalar.beta = beta;
	return vop;
}

struct vp_op *vp_reduce(struct vprog *prog, enum onpu_op op, int dst, int a, uint8_t axes)
{
	struct vp_op *vop = vp_add(prog, op, dst, a, -1, -1);

	vop->axes = axes;
	prog->whole |= axes;
	return vop;
}

void vp_divide(struct vprog *prog, int dst, int a, int b, int result)
{
	int reciprocal;

	if (prog->reg[result].dtype != ONPU_DT_F16) {
		vp_add(prog, ONPU_OP_VDIV, dst, a, b, -1);
		return;
	}
	reciprocal = vp_temp(prog, ONPU_DT_F32, prog->reg[b].mask);
	vp_add(prog, ONPU_OP_VRECIP, reciprocal, b, -1, -1);
	vp_add(prog, ONPU_OP_VMUL, dst, a, reciprocal, -1);
}

uint64_t vp_f32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

bool vp_is_reduction(enum onpu_op op)
{
	return onpu_op_info[op].cost == ONPU_COST_REDUCE;
}

int vp_last_use(const struct vprog *prog, int reg)
{
	for (int i = prog->num_ops - 1; i >= 0; i--)
		for (int s = 0; s < 3; s++)
			if (prog->op[i].src[s] == reg)
				return i;
	return -1;
}

/* ---- simplification: fewer dims make longer runs and larger tiles */

static uint8_t mask_without(uint8_t mask, uint32_t dim)
{
	return (mask & ((1u << dim) - 1)) | (mask >> (dim + 1) << dim);
}

/* Removes a dim whose extent is 1, or which was merged into the next dim. */
static void remove_dim(struct vprog *prog, uint32_t dim)
{
	for (uint32_t r = 0; r < prog->num_regs; r++) {
		struct vp_reg *reg = &prog->reg[r];

		for (uint32_t i = dim; i + 1 < prog->rank; i++) {
			reg->mem.dim[i] = reg->mem.dim[i + 1];
			reg->mem.stride[i] = reg->mem.stride[i + 1];
		}
		reg->mem.rank = prog->rank - 1;
		reg->mask = mask_without(reg->mask, dim);
		reg->axis -= reg->kind == VP_SLICE && reg->axis > dim;
	}
	for (uint32_t i = 0; i < prog->num_ops; i++)
		prog->op[i].axes = mask_without(prog->op[i].axes, dim);
	for (uint32_t i = dim; i + 1 < prog->rank; i++)
		prog->dim[i] = prog->dim[i + 1];
	prog->whole = mask_without(prog->whole, dim);
	prog->fixed = mask_without(prog->fixed, dim);
	prog->rank--;
}

/* Returns true if a mask has both dim and dim + 1, or neither. */
static bool bits_agree(uint8_t mask, uint32_t dim)
{
	return (mask >> dim & 1) == (mask >> (dim + 1) & 1);
}

/* Returns true if dim and dim + 1 can become one dim. */
static bool can_merge(const struct vprog *prog, uint32_t dim)
{
	if ((prog->fixed >> dim & 3) || !bits_agree(prog->whole, dim))
		return false;
	for (uint32_t i = 0; i < prog->num_ops; i++)
		if (!bits_agree(prog->op[i].axes, dim))
			return false;
	for (uint32_t r = 0; r < prog->num_regs; r++) {
		const struct vp_reg *reg = &prog->reg[r];

		if (!bits_agree(reg->mask, dim))
			return false;
		if ((reg->kind == VP_INPUT || reg->kind == VP_OUTPUT) && (reg->mask >> dim & 1) &&
		    reg->mem.stride[dim] != reg->mem.stride[dim + 1] * reg->mem.dim[dim + 1])
			return false;
	}
	return true;
}

/* Returns true if a dim of extent 1 can be removed. */
static bool can_drop(const struct vprog *prog, uint32_t dim)
{
	if (prog->dim[dim] != 1 || prog->rank == 1 || (prog->fixed >> dim & 1))
		return false;
	for (uint32_t i = 0; i < prog->num_ops; i++)
		if (prog->op[i].axes == 1u << dim)
			return false;
	return true;
}

void vp_simplify(struct vprog *prog)
{
	for (uint32_t i = 0; i < prog->rank;) {
		if (can_drop(prog, i))
			remove_dim(prog, i);
		else
			i++;
	}
	for (uint32_t i = 0; i + 1 < prog->rank;) {
		if (!can_merge(prog, i)) {
			i++;
			continue;
		}
		prog->dim[i + 1] *= prog->dim[i];
		for (uint32_t r = 0; r < prog->num_regs; r++)
			prog->reg[r].mem.dim[i + 1] *= prog->reg[r].mem.dim[i];
		remove_dim(prog, i);
	}
}

/* ---- tiles */

static void tile_dims(const struct vp_reg *reg, uint32_t rank, const int64_t *dim, int64_t *out)
{
	for (uint32_t i = 0; i < rank; i++)
		out[i] = reg->mask >> i & 1 ? dim[i] : 1;
}

uint64_t vp_tile_bytes(const struct vp_reg *reg, uint32_t rank, const int64_t *dim)
{
	uint64_t bytes = plan_dtype_bytes(reg->dtype);

	for (uint32_t i = 0; i < rank; i++)
		if (reg->mask >> i & 1)
			bytes *= dim[i];
	return plan_align(bytes);
}

struct npu_view vp_tile_view(const struct vp_reg *reg, uint32_t address, uint32_t rank,
			     const int64_t *dim)
{
	int64_t own[IR_MAX_RANK];

	tile_dims(reg, rank, dim, own);
	return view_sram(address, reg->dtype, rank, own, reg->mem.stride);
}

struct npu_view vp_slice_view(const struct vp_reg *part, const struct npu_view *tiles)
{
	const struct npu_view *tile = &tiles[part->of];
	int64_t begin[IR_MAX_RANK] = { 0 }, dim[IR_MAX_RANK];

	memcpy(dim, tile->dim, sizeof(dim));
	begin[part->axis] = part->index;
	dim[part->axis] = 1;
	return view_slice(tile, begin, dim);
}

struct npu_view vp_stretch(const struct npu_view *view, uint32_t rank, const int64_t *dim)
{
	struct npu_view out = *view;

	for (uint32_t i = 0; i < rank; i++) {
		if (view->dim[i] == 1)
			out.stride[i] = 0;
		out.dim[i] = dim[i];
	}
	return out;
}

/* Moves the diagonal to the coordinates of a tile that begins at `begin` of the last two dims. */
static void shift_diagonal(struct plan_param *param, uint32_t rank, const int64_t *begin)
{
	param->tri.diagonal += begin[rank - 2] - begin[rank - 1];
}

static void emit_elementwise(struct plan *plan, const struct vprog *prog, const struct vp_op *op,
			     const struct npu_view *tiles, const int64_t *begin, const int64_t *dim)
{
	struct npu_view view[4], *list[4];
	struct plan_param param = op->param;
	uint32_t count = 1;
	int64_t own[IR_MAX_RANK];

	tile_dims(&prog->reg[op->dst], prog->rank, dim, own);
	view[0] = vp_stretch(&tiles[op->dst], prog->rank, own);
	for (int i = 0; i < 3 && op->src[i] >= 0; i++)
		view[count++] = vp_stretch(&tiles[op->src[i]], prog->rank, own);
	for (uint32_t i = 0; i < count; i++)
		list[i] = &view[i];
	if (op->op == ONPU_OP_TRI)
		shift_diagonal(&param, prog->rank, begin);
	else
		views_simplify(list, count);
	plan_emit(plan, &(struct plan_insn){
				.op = op->op,
				.dst = &view[0],
				.s0 = count > 1 ? &view[1] : NULL,
				.s1 = count > 2 ? &view[2] : NULL,
				.s2 = count > 3 ? &view[3] : NULL,
				.param = op->has_param ? &param : NULL,
			});
}

/* Returns the number of the highest bit of a mask. */
static uint8_t axis_of(uint8_t axes)
{
	uint8_t axis = 0;

	while (axes >> axis > 1)
		axis++;
	return axis;
}

void vp_emit_op(struct plan *plan, const struct vprog *prog, const struct vp_op *op,
		const struct npu_view *tiles, const int64_t *begin, const int64_t *dim)
{
	bool arg = op->op == ONPU_OP_RARGMAX || op->op == ONPU_OP_RARGMIN;

	if (!vp_is_reduction(op->op) && op->op != ONPU_OP_SCAN_SUM) {
		emit_elementwise(plan, prog, op, tiles, begin, dim);
		return;
	}
	plan_emit(plan, &(struct plan_insn){
				.op = op->op,
				.dst = &tiles[op->dst],
				.s0 = &tiles[op->src[0]],
				.param = op->has_param ? &op->param : NULL,
				.axes = arg || op->op == ONPU_OP_SCAN_SUM ? 0 : op->axes,
				.axis = arg || op->op == ONPU_OP_SCAN_SUM ? axis_of(op->axes) : 0,
				.last = op->last,
				.excl = op->excl,
				.rev = op->rev,
			});
}

void vp_emit(struct plan *plan, struct vprog *prog)
{
	enum onpu_op first = prog->op[0].op;

	if (prog->overflow) {
		plan_fail(plan,
			  "internal error, please report it: the vector program of kernel %s has "
			  "no room for more than %d registers and %d operations",
			  prog->kernel, VP_MAX_REGS, VP_MAX_OPS);
		return;
	}
	vp_simplify(prog);
	plan_kernel(plan, prog->kernel);
	if (plan->report.failed || vtile_emit(plan, prog))
		return;
	if (first == ONPU_OP_SCAN_SUM)
		rows_scan(plan, prog);
	else if (first == ONPU_OP_RARGMAX || first == ONPU_OP_RARGMIN)
		rows_arg(plan, prog);
	else
		vsplit_emit(plan, prog);
}
