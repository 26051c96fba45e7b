/* SPDX-License-Identifier: MIT */
/*
 * A vector program: a straight list of vector instructions over registers that range over (some of)
 * the dims of one iteration space. Element-wise operators, reductions, softmax and normalisations
 * are all of this form; the kernels that tile them (vtile.c, vsplit.c) know only this.
 */
#ifndef WNN_PLAN_VPROG_H
#define WNN_PLAN_VPROG_H

#include "plan/list/plan.h"

#define VP_MAX_REGS 32
#define VP_MAX_OPS  24

enum vp_kind { VP_INPUT, VP_TEMP, VP_OUTPUT, VP_PART };

struct vp_reg {
	enum vp_kind kind;
	uint8_t dtype;
	uint8_t mask;	     /* dims of the space that it varies over */
	struct npu_view mem; /* inputs and outputs: over the whole space, stride 0 outside mask */
	uint8_t of, axis, index; /* parts: one index of a dim of another register */
};

struct vp_op {
	enum onpu_op op;
	int8_t dst, src[3]; /* registers, -1 absent */
	bool has_param;
	struct plan_param param;
	uint8_t axes;	/* reductions: dims that dst lacks and src[0] has */
	bool last;	/* argmin, argmax */
	bool excl, rev; /* scan, over the only dim of axes */
};

struct vprog {
	const char *kernel;
	uint32_t rank;
	int64_t dim[IR_MAX_RANK];
	uint8_t whole; /* dims that a tile may not cut */
	uint8_t fixed; /* dims that may not merge with their neighbours */
	uint32_t num_regs, num_ops;
	struct vp_reg reg[VP_MAX_REGS];
	struct vp_op op[VP_MAX_OPS];
};

void vp_begin(struct vprog *prog, const char *kernel, uint32_t rank, const int64_t *dim);
/* The space is the shape of a value. */
void vp_begin_like(struct vprog *prog, const char *kernel, const struct ir_value *result);
/* `mem` has the rank of the space; dims of extent 1 or stride 0 in it are broadcast. */
int vp_input(struct vprog *prog, const struct npu_view *mem);
int vp_output(struct vprog *prog, const struct npu_view *mem);
int vp_temp(struct vprog *prog, uint8_t dtype, uint8_t mask);
/*
 * vp_part - the elements of a register at one index of a dim, which tiles do not cut
 *
 * They are loaded or stored together with the whole register. Only for programs without reductions.
 * Returns @reg itself when it does not vary over the dim.
 */
int vp_part(struct vprog *prog, int reg, uint32_t axis, uint32_t index);
/*
 * Begins a program over the shape of an operand, one dim of 1 for a scalar; returns the operand's
 * register.
 */
int vp_begin_input(struct vprog *prog, struct plan *plan, const char *kernel,
		   const struct ir_value *value);
/* Returns the view with leading dims of 1 up to the rank of the space. */
struct npu_view vp_widen(const struct vprog *prog, struct npu_view view);
/* Returns the register of an operand, broadcast to the space from the right as numpy does. */
int vp_operand(struct vprog *prog, struct plan *plan, const struct ir_value *value);
int vp_result(struct vprog *prog, struct plan *plan, const struct ir_value *value);
/* dst = op(a, b, c); absent sources are -1. Returns the operation for further settings. */
struct vp_op *vp_add(struct vprog *prog, enum onpu_op op, int dst, int a, int b, int c);
struct vp_op *vp_scalar(struct vprog *prog, enum onpu_op op, int dst, int a, uint64_t alpha,
			uint64_t beta);
/* dst = reduction of a over axes */
struct vp_op *vp_reduce(struct vprog *prog, enum onpu_op op, int dst, int a, uint8_t axes);
uint64_t vp_f32(float value);

/* A unary function and its parameters; dst and src are registers. */
void vp_unary(struct vprog *prog, const struct ir_unary_attrs *unary, int dst, int src);

/* Tiles and emits the program; chooses between whole tiles and splitting along the reduced dims. */
void vp_emit(struct plan *plan, struct vprog *prog);

/* ---- between vprog.c, vtile.c, vsplit.c */
void vp_simplify(struct vprog *prog);
/*
 * Returns the view of a register's tile in SRAM over `dim` (1 outside its mask), laid out like its
 * memory.
 */
struct npu_view vp_tile_view(const struct vp_reg *reg, uint32_t address, uint32_t rank,
			     const int64_t *dim);
struct npu_view vp_part_view(const struct vp_reg *part, const struct npu_view *tiles);
uint64_t vp_tile_bytes(const struct vp_reg *reg, uint32_t rank, const int64_t *dim);
/* Returns the view with dims stretched to `dim`, stride 0 where the register does not vary. */
struct npu_view vp_stretch(const struct npu_view *view, uint32_t rank, const int64_t *dim);
void vp_emit_op(struct plan *plan, const struct vprog *prog, const struct vp_op *op,
		const struct npu_view *tiles, const int64_t *begin, const int64_t *dim);
bool vp_is_reduction(enum onpu_op op);
/* Returns the last operation that reads a register, -1 when none does. */
int vp_last_use(const struct vprog *prog, int reg);
bool vtile_emit(struct plan *plan, const struct vprog *prog); /* false: does not fit */
void vsplit_emit(struct plan *plan, const struct vprog *prog);

/* The instruction of a function of two operands. */
enum onpu_op vp_binary_insn(enum ir_binary kind);

/* An instruction of a function of one element. */
struct unary_step {
	enum onpu_op op;
	bool has_param;
	struct plan_param param;
	bool by_operand; /* the second source is the function's operand */
};

#define UNARY_MAX_STEPS 5

/*
 * Lists the instructions of a function for operands of a type; returns their number. The first
 * reads the operand, each other one the result of the one before it, which is float32 until the
 * last.
 */
uint32_t unary_steps(const struct ir_unary_attrs *unary, uint8_t dtype,
		     struct unary_step steps[UNARY_MAX_STEPS]);

#endif
