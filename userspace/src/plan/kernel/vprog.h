/* SPDX-License-Identifier: MIT */
/*
 * A vector program: a list of vector instructions without branches. Its registers are tensors over
 * all or some dims of one iteration space. Lowering expresses element-wise operators, reductions,
 * softmax and normalisations in this form, and the kernels vtile.c, vsplit.c and rows.c tile it.
 *
 * The functions that add registers and operations never fail: they drop those for which a program
 * has no room, and vp_emit() then fails the plan.
 */
#ifndef WNN_PLAN_VPROG_H
#define WNN_PLAN_VPROG_H

#include "plan/list/plan.h"

/*
 * A step of an lstm is the largest program: with peepholes, limits, lengths of sequences and
 * activations of several instructions, it has 34 registers and 38 instructions.
 */
#define VP_MAX_REGS 40
#define VP_MAX_OPS  40

/* VP_SLICE: the elements of another register at one index of a dim. */
enum vp_kind { VP_INPUT, VP_TEMP, VP_OUTPUT, VP_SLICE };

struct vp_reg {
	enum vp_kind kind;
	uint8_t dtype;
	uint8_t mask;		 /* mask of the space's dims that the register varies over */
	struct npu_view mem;	 /* inputs, outputs: their memory; has stride 0 outside of mask */
	uint8_t of, axis, index; /* VP_SLICE: the other register, the dim, the index */
};

struct vp_op {
	enum onpu_op op;
	int8_t dst, src[3]; /* indices of registers; -1: there is none */
	bool has_param;
	struct plan_param param;
	uint8_t axes;	/* mask of the reduced dims, which dst does not have; scan: of its dim */
	bool last;	/* argmin, argmax: take the last of equal elements */
	bool excl, rev; /* a scan along the only dim of axes is exclusive, runs backwards */
};

struct vprog {
	const char *kernel;
	uint32_t rank;
	int64_t dim[IR_MAX_RANK];
	uint8_t whole; /* mask of the dims that tiles must not divide */
	uint8_t fixed; /* mask of the dims that must not merge with their neighbours */
	uint32_t num_regs, num_ops;
	bool overflow; /* it needs more registers or operations, and cannot be emitted */
	struct vp_reg reg[VP_MAX_REGS];
	struct vp_op op[VP_MAX_OPS];
};

/* Begins a program over an iteration space; @kernel: its name in reports, static. */
void vp_begin(struct vprog *prog, const char *kernel, uint32_t rank, const int64_t *dim);
/* Begins a program over the shape of a value. */
void vp_begin_like(struct vprog *prog, const char *kernel, const struct ir_value *result);
/*
 * Each function adds a register (an input, an output or a temporary) and returns its index. `mem`
 * has the rank of the space; an input is broadcast along dims of extent 1 or stride 0.
 */
int vp_input(struct vprog *prog, const struct npu_view *mem);
int vp_output(struct vprog *prog, const struct npu_view *mem);
int vp_temp(struct vprog *prog, uint8_t dtype, uint8_t mask);
/*
 * vp_slice - add a register for the elements of another one at one index of a dim
 *
 * These elements are loaded or stored together with the whole register, and tiles do not divide the
 * dim. Only for programs without reductions. Returns the register, or @reg itself when it does not
 * vary over the dim.
 */
int vp_slice(struct vprog *prog, int reg, uint32_t axis, uint32_t index);
/*
 * Begins a program over the shape of an operand; the space of a scalar is one dim of 1. Returns the
 * operand's register.
 */
int vp_begin_input(struct vprog *prog, struct plan *plan, const char *kernel,
		   const struct ir_value *value);
/*
 * Adds an operand, or a result, of the node and returns its register. The value's last dim is that
 * of the space, as in numpy's broadcasting.
 */
int vp_operand(struct vprog *prog, struct plan *plan, const struct ir_value *value);
int vp_result(struct vprog *prog, struct plan *plan, const struct ir_value *value);
/*
 * Adds dst = op(a, b, c) over registers; -1: no such source. vp_scalar() adds an instruction with
 * parameters. Both return the operation, so that the caller can set more of it.
 */
struct vp_op *vp_add(struct vprog *prog, enum onpu_op op, int dst, int a, int b, int c);
struct vp_op *vp_scalar(struct vprog *prog, enum onpu_op op, int dst, int a, uint64_t alpha,
			uint64_t beta);
/* Adds dst = reduction of a over a mask of axes; returns the operation. */
struct vp_op *vp_reduce(struct vprog *prog, enum onpu_op op, int dst, int a, uint8_t axes);
/*
 * Adds dst = a / b for the elements a of a row and a divisor b of the row; `result` is the register
 * that the program makes of dst in the end. When that is float16, the elements are multiplied with
 * the reciprocal, which takes half as many cycles: its error of some units in the last place of
 * float32 is small beside the rounding to float16.
 */
void vp_divide(struct vprog *prog, int dst, int a, int b, int result);
/* Returns the bits of a float32, as parameters hold them. */
uint64_t vp_f32(float value);

/* Adds the instructions of a unary function; dst and src are registers. */
void vp_unary(struct vprog *prog, const struct ir_unary_attrs *unary, int dst, int src);

/*
 * Simplifies, tiles and emits the program: by vtile.c, or, when rows do not fit into SRAM, in
 * chunks of the reduced dims.
 */
void vp_emit(struct plan *plan, struct vprog *prog);

/* ---- shared by vprog.c, vtile.c, vsplit.c */
/* Drops dims of 1 and merges dims where all registers and operations allow it. */
void vp_simplify(struct vprog *prog);
/*
 * Returns the view of a register's tile in SRAM: its extents are `dim`, or 1 outside of the
 * register's mask, and its dims have the order of the register's memory.
 */
struct npu_view vp_tile_view(const struct vp_reg *reg, uint32_t address, uint32_t rank,
			     const int64_t *dim);
/* Returns the view of a VP_SLICE register, from the tiles of all registers. */
struct npu_view vp_slice_view(const struct vp_reg *part, const struct npu_view *tiles);
/* Returns the bytes of SRAM of a register's tile. */
uint64_t vp_tile_bytes(const struct vp_reg *reg, uint32_t rank, const int64_t *dim);
/* Returns the view broadcast to `dim`: dims of extent 1 get stride 0. */
struct npu_view vp_stretch(const struct npu_view *view, uint32_t rank, const int64_t *dim);
/* Emits an operation on a tile at `begin` with extents `dim`. */
void vp_emit_op(struct plan *plan, const struct vprog *prog, const struct vp_op *op,
		const struct npu_view *tiles, const int64_t *begin, const int64_t *dim);
/* Returns true for reductions, argmin and argmax included; false for scans. */
bool vp_is_reduction(enum onpu_op op);
/* Returns the index of the last operation that reads a register; -1: none does. */
int vp_last_use(const struct vprog *prog, int reg);
/* Emits a program in tiles of whole rows; false, with nothing emitted: rows do not fit. */
bool vtile_emit(struct plan *plan, const struct vprog *prog);
/* Emits a program in chunks of rows, with several passes over each row. */
void vsplit_emit(struct plan *plan, const struct vprog *prog);

/* Returns the instruction of a function of two operands; ONPU_OP_NOP: the NPU has none. */
enum onpu_op vp_binary_insn(enum ir_binary kind);

/* One of the instructions of an element-wise function of one operand. */
struct unary_step {
	enum onpu_op op;
	bool has_param;
	struct plan_param param;
	bool by_operand; /* its second source is the operand of the function */
};

#define UNARY_MAX_STEPS 5

/*
 * Lists the instructions of a function for operands of a type; returns their number. The first
 * instruction reads the operand, and each other one reads the result of the one before; results are
 * float32, except that of the last instruction.
 */
uint32_t unary_steps(const struct ir_unary_attrs *unary, uint8_t dtype,
		     struct unary_step steps[UNARY_MAX_STEPS]);

#endif
