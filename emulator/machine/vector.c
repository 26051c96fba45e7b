// SPDX-License-Identifier: MIT
/* Elementwise instructions of the vector unit: one, two and three operands. */
#include <string.h>

#include "machine/sim.h"
#include "math/types.h"
#include "machine/walk.h"

#define DST ONPU_OPERAND_DST
#define S0  ONPU_OPERAND_S0
#define S1  ONPU_OPERAND_S1
#define S2  ONPU_OPERAND_S2

const struct kernel_int *sim_int_type(unsigned int dtype)
{
	static const struct kernel_int types[ONPU_DT_COUNT] = {
		[ONPU_DT_I8] = { 8, 0, INT8_MIN, INT8_MAX },
		[ONPU_DT_U8] = { 8, 1, 0, UINT8_MAX },
		[ONPU_DT_I16] = { 16, 0, INT16_MIN, INT16_MAX },
		[ONPU_DT_U16] = { 16, 1, 0, UINT16_MAX },
		[ONPU_DT_I32] = { 32, 0, INT32_MIN, INT32_MAX },
		[ONPU_DT_U32] = { 32, 1, 0, UINT32_MAX },
		[ONPU_DT_I64] = { 64, 0, INT64_MIN, INT64_MAX },
		[ONPU_DT_U64] = { 64, 1, 0, (int64_t)UINT64_MAX },
		[ONPU_DT_I4] = { 4, 0, -8, 7 },
		[ONPU_DT_U4] = { 4, 1, 0, 15 },
	};

	return &types[dtype];
}

/* Data of a vector instruction that all blocks of its walk share. */
struct vector {
	const struct sim_context *c;
	const struct sim_work *w;
	int op; /* enum kernel_unary, kernel_binary or kernel_compare */
	onpu_fn_array fn;
	float alpha, beta;
	int64_t int_alpha, int_beta;
	const struct kernel_int *type;
};

static void vector_init(struct vector *v, const struct sim_context *c, const struct sim_work *w,
			int op)
{
	memset(v, 0, sizeof(*v));
	v->c = c;
	v->w = w;
	v->op = op;
	v->type = sim_int_type(w->t[S0].dtype);
	if (!w->has_param)
		return;
	v->alpha = onpu_bits_f32((uint32_t)w->param.scalar.alpha);
	v->beta = onpu_bits_f32((uint32_t)w->param.scalar.beta);
	v->int_alpha = (int64_t)w->param.scalar.alpha;
	v->int_beta = (int64_t)w->param.scalar.beta;
}

static void unary_f32(void *arg, const struct walk_block *p);
static void binary_f32(void *arg, const struct walk_block *p);
static void fma_f32(void *arg, const struct walk_block *p);

/*
 * Executes fn for all blocks of a walk. Blocks of 4-bit types stay on one thread, as neighbouring
 * elements share bytes.
 */
static void vector_run(struct vector *v, walk_fn fn)
{
	const struct sim_work *w = v->w;
	bool rows = fn == unary_f32 || fn == binary_f32 || fn == fma_f32;
	struct walk walk;

	walk_init(&walk, w->t[DST].rank, w->t[DST].dim);
	for (unsigned int i = 0; i < WALK_MAX; i++) {
		const struct sim_tensor *t = &w->t[w->t[i].present ? i : DST];

		walk_tensor(&walk, t);
		rows &= t->dtype == ONPU_DT_F32;
	}
	walk.takes_rows = rows;
	walk_run(&walk, v->c, !sim_is_nibble(w->t[DST].dtype), fn, v);
}

/*
 * Returns whether kernels can process a block row by row. The destination replaces a missing
 * operand.
 */
static bool has_rows(const struct vector *v, const struct walk_block *p)
{
	for (unsigned int i = 0; i < WALK_MAX; i++)
		if (!walk_has_rows(&v->w->t[v->w->t[i].present ? i : DST], p, i))
			return false;
	return true;
}

/* ---- One operand ---- */

static void unary_copied(const struct vector *v, const struct walk_block *p)
{
	float in[KERNEL_CHUNK], out[KERNEL_CHUNK];
	const float *src = walk_load_f32(v->c, &v->w->t[S0], p, S0, in);
	float *dst = walk_target_f32(v->c, &v->w->t[DST], p, DST, out);

	v->fn(dst, src, walk_block_size(p), v->alpha, v->beta);
	walk_store_f32(v->c, &v->w->t[DST], p, DST, dst);
}

static void unary_f32(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;

	if (!has_rows(v, p)) {
		unary_copied(v, p);
		return;
	}
	for (uint32_t r = 0; r < p->rows; r++)
		v->fn(walk_row(v->c, p, DST, r), walk_row(v->c, p, S0, r), p->columns, v->alpha,
		      v->beta);
}

static void unary_s64(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	int64_t in[KERNEL_CHUNK], out[KERNEL_CHUNK];
	const int64_t *src = walk_load_s64(v->c, &v->w->t[S0], p, S0, in);

	v->c->kernels->s64_unary[v->op](out, src, walk_block_size(p), v->type, v->int_alpha,
					v->int_beta);
	walk_store_s64(v->c, &v->w->t[DST], p, DST, out);
}

static void test_f32(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	const struct onpu_kernels *k = v->c->kernels;
	float in[KERNEL_CHUNK];
	uint8_t out[KERNEL_CHUNK];
	const float *src = walk_load_f32(v->c, &v->w->t[S0], p, S0, in);

	(v->w->insn.op == ONPU_OP_VISNAN ? k->isnan : k->isinf)(out, src, walk_block_size(p));
	walk_store_raw(v->c, &v->w->t[DST], p, DST, out);
}

static void copy_raw(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	kernel_copy copy = v->c->kernels->copy[sim_size(v->w->t[DST].esize)];

	for (uint32_t r = 0; r < p->rows; r++)
		copy(sim_at(v->c, p->at[DST] + r * p->row_step[DST]), p->step[DST],
		     sim_at(v->c, p->at[S0] + r * p->row_step[S0]), p->step[S0], p->columns);
}

static void convert_float(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	float in[KERNEL_CHUNK];
	const float *src = walk_load_f32(v->c, &v->w->t[S0], p, S0, in);

	/* In place, only NaNs change: they become canonical. */
	if ((const char *)src == sim_at(v->c, p->at[DST]))
		v->c->kernels->canonical((float *)sim_at(v->c, p->at[DST]), walk_block_size(p));
	else
		walk_store_f32(v->c, &v->w->t[DST], p, DST, src);
}

static void logical_not(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	uint8_t in[KERNEL_CHUNK], out[KERNEL_CHUNK];
	const uint8_t *src = walk_load_raw(v->c, &v->w->t[S0], p, S0, in);
	size_t n = walk_block_size(p);

	for (size_t i = 0; i < n; i++)
		out[i] = !src[i];
	walk_store_raw(v->c, &v->w->t[DST], p, DST, out);
}

/* Returns the ONPU_FN_ (functions.h) of an instruction, or -1 if it has none. */
static int function_of(enum onpu_op op)
{
	switch (op) {
	case ONPU_OP_VRECIP:
		return ONPU_FN_RECIP;
	case ONPU_OP_VSQRT:
		return ONPU_FN_SQRT;
	case ONPU_OP_VRSQRT:
		return ONPU_FN_RSQRT;
	case ONPU_OP_VEXP:
		return ONPU_FN_EXP;
	case ONPU_OP_VLOG:
		return ONPU_FN_LOG;
	case ONPU_OP_VSIN:
		return ONPU_FN_SIN;
	case ONPU_OP_VCOS:
		return ONPU_FN_COS;
	case ONPU_OP_VTAN:
		return ONPU_FN_TAN;
	case ONPU_OP_VTANH:
		return ONPU_FN_TANH;
	case ONPU_OP_VERF:
		return ONPU_FN_ERF;
	case ONPU_OP_VSIGMOID:
		return ONPU_FN_SIGMOID;
	case ONPU_OP_VGELU:
		return ONPU_FN_GELU;
	case ONPU_OP_VSOFTPLUS:
		return ONPU_FN_SOFTPLUS;
	case ONPU_OP_VSOFTSIGN:
		return ONPU_FN_SOFTSIGN;
	case ONPU_OP_VELU:
		return ONPU_FN_ELU;
	default:
		return -1;
	}
}

/* Returns the UN_ (kernels.h) of an instruction, or UN_LINEAR if it has none of its own. */
static int unary_of(enum onpu_op op)
{
	switch (op) {
	case ONPU_OP_VABS:
		return UN_ABS;
	case ONPU_OP_VNEG:
		return UN_NEG;
	case ONPU_OP_VSIGN:
		return UN_SIGN;
	case ONPU_OP_VCEIL:
		return UN_CEIL;
	case ONPU_OP_VFLOOR:
		return UN_FLOOR;
	case ONPU_OP_VROUNDEVEN:
		return UN_ROUNDEVEN;
	case ONPU_OP_VLEAKYRELU:
		return UN_LEAKYRELU;
	case ONPU_OP_VHARDSIGMOID:
		return UN_HARDSIGMOID;
	case ONPU_OP_VHARDSWISH:
		return UN_HARDSWISH;
	case ONPU_OP_VRELU:
		return UN_RELU;
	case ONPU_OP_VCLAMP:
		return UN_CLAMP;
	default:
		return UN_LINEAR;
	}
}

void sim_unary(struct sim_context *c, const struct sim_work *w)
{
	int function = function_of(w->insn.op);
	struct vector v;

	vector_init(&v, c, w, unary_of(w->insn.op));
	if (w->insn.op == ONPU_OP_VMOV) {
		vector_run(&v, w->t[DST].dtype == w->t[S0].dtype ? copy_raw : convert_float);
	} else if (w->insn.op == ONPU_OP_VNOT) {
		vector_run(&v, logical_not);
	} else if (w->insn.op == ONPU_OP_VISNAN || w->insn.op == ONPU_OP_VISINF) {
		vector_run(&v, test_f32);
	} else if (!sim_is_float(w->t[S0].dtype)) {
		vector_run(&v, unary_s64);
	} else {
		v.fn = function >= 0 ? c->functions[function] : c->kernels->unary[v.op];
		vector_run(&v, unary_f32);
	}
}

/* ---- Two operands ---- */

static void binary_copied(const struct vector *v, const struct walk_block *p)
{
	float in[2][KERNEL_CHUNK], out[KERNEL_CHUNK];
	const float *a = walk_load_f32(v->c, &v->w->t[S0], p, S0, in[0]);
	const float *b = walk_load_f32(v->c, &v->w->t[S1], p, S1, in[1]);
	float *dst = walk_target_f32(v->c, &v->w->t[DST], p, DST, out);

	v->c->kernels->binary[v->op](dst, a, b, walk_block_size(p));
	walk_store_f32(v->c, &v->w->t[DST], p, DST, dst);
}

static void binary_f32(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;

	if (!has_rows(v, p)) {
		binary_copied(v, p);
		return;
	}
	for (uint32_t r = 0; r < p->rows; r++)
		v->c->kernels->binary[v->op](walk_row(v->c, p, DST, r), walk_row(v->c, p, S0, r),
					     walk_row(v->c, p, S1, r), p->columns);
}

static void binary_s64(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	int64_t in[2][KERNEL_CHUNK], out[KERNEL_CHUNK];
	const int64_t *a = walk_load_s64(v->c, &v->w->t[S0], p, S0, in[0]);
	const int64_t *b = walk_load_s64(v->c, &v->w->t[S1], p, S1, in[1]);

	v->c->kernels->s64_binary[v->op](out, a, b, walk_block_size(p), v->type);
	walk_store_s64(v->c, &v->w->t[DST], p, DST, out);
}

static void compare_f32(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	float in[2][KERNEL_CHUNK];
	uint8_t out[KERNEL_CHUNK];
	const float *a = walk_load_f32(v->c, &v->w->t[S0], p, S0, in[0]);
	const float *b = walk_load_f32(v->c, &v->w->t[S1], p, S1, in[1]);

	v->c->kernels->compare[v->op](out, a, b, walk_block_size(p));
	walk_store_raw(v->c, &v->w->t[DST], p, DST, out);
}

static void compare_s64(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	int64_t in[2][KERNEL_CHUNK];
	uint8_t out[KERNEL_CHUNK];
	const int64_t *a = walk_load_s64(v->c, &v->w->t[S0], p, S0, in[0]);
	const int64_t *b = walk_load_s64(v->c, &v->w->t[S1], p, S1, in[1]);

	v->c->kernels->s64_compare[v->op](out, a, b, walk_block_size(p), v->type->is_unsigned);
	walk_store_raw(v->c, &v->w->t[DST], p, DST, out);
}

static void logical(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	uint8_t in[2][KERNEL_CHUNK], out[KERNEL_CHUNK];
	const uint8_t *a = walk_load_raw(v->c, &v->w->t[S0], p, S0, in[0]);
	const uint8_t *b = walk_load_raw(v->c, &v->w->t[S1], p, S1, in[1]);
	enum onpu_op op = v->w->insn.op;
	size_t n = walk_block_size(p);

	for (size_t i = 0; i < n; i++)
		out[i] = op == ONPU_OP_VAND ? a[i] && b[i] :
			 op == ONPU_OP_VOR  ? a[i] || b[i] :
					      !a[i] != !b[i];
	walk_store_raw(v->c, &v->w->t[DST], p, DST, out);
}

/* Returns the CMP_ (kernels.h) of an instruction, or -1 if it compares nothing. */
static int compare_of(enum onpu_op op)
{
	switch (op) {
	case ONPU_OP_VEQ:
		return CMP_EQ;
	case ONPU_OP_VNE:
		return CMP_NE;
	case ONPU_OP_VGT:
		return CMP_GT;
	case ONPU_OP_VGE:
		return CMP_GE;
	case ONPU_OP_VLT:
		return CMP_LT;
	case ONPU_OP_VLE:
		return CMP_LE;
	default:
		return -1;
	}
}

/* Returns the BIN_ (kernels.h) of an instruction, or -1 if it has none. */
static int binary_of(enum onpu_op op)
{
	switch (op) {
	case ONPU_OP_VADD:
		return BIN_ADD;
	case ONPU_OP_VSUB:
		return BIN_SUB;
	case ONPU_OP_VMUL:
		return BIN_MUL;
	case ONPU_OP_VDIV:
		return BIN_DIV;
	case ONPU_OP_VMAX:
		return BIN_MAX;
	case ONPU_OP_VMIN:
		return BIN_MIN;
	case ONPU_OP_VPOW:
		return BIN_POW;
	case ONPU_OP_VPRELU:
		return BIN_PRELU;
	default:
		return -1;
	}
}

void sim_binary(struct sim_context *c, const struct sim_work *w)
{
	bool floats = sim_is_float(w->t[S0].dtype);
	int op = binary_of(w->insn.op);
	struct vector v;

	if (op >= 0) {
		vector_init(&v, c, w, op);
		vector_run(&v, floats ? binary_f32 : binary_s64);
		return;
	}
	op = compare_of(w->insn.op);
	vector_init(&v, c, w, op);
	vector_run(&v, op < 0 ? logical : floats ? compare_f32 : compare_s64);
}

/* ---- Three operands ---- */

static void fma_copied(const struct vector *v, const struct walk_block *p)
{
	float in[3][KERNEL_CHUNK], out[KERNEL_CHUNK];
	const float *a = walk_load_f32(v->c, &v->w->t[S0], p, S0, in[0]);
	const float *b = walk_load_f32(v->c, &v->w->t[S1], p, S1, in[1]);
	const float *z = walk_load_f32(v->c, &v->w->t[S2], p, S2, in[2]);
	float *dst = walk_target_f32(v->c, &v->w->t[DST], p, DST, out);

	v->c->kernels->fma(dst, a, b, z, walk_block_size(p));
	walk_store_f32(v->c, &v->w->t[DST], p, DST, dst);
}

static void fma_f32(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;

	if (!has_rows(v, p)) {
		fma_copied(v, p);
		return;
	}
	for (uint32_t r = 0; r < p->rows; r++)
		v->c->kernels->fma(walk_row(v->c, p, DST, r), walk_row(v->c, p, S0, r),
				   walk_row(v->c, p, S1, r), walk_row(v->c, p, S2, r), p->columns);
}

static void fma_s64(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	int64_t in[3][KERNEL_CHUNK], out[KERNEL_CHUNK];
	const int64_t *a = walk_load_s64(v->c, &v->w->t[S0], p, S0, in[0]);
	const int64_t *b = walk_load_s64(v->c, &v->w->t[S1], p, S1, in[1]);
	const int64_t *z = walk_load_s64(v->c, &v->w->t[S2], p, S2, in[2]);

	v->c->kernels->s64_fma(out, a, b, z, walk_block_size(p));
	walk_store_s64(v->c, &v->w->t[DST], p, DST, out);
}

static void where(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	uint8_t condition[KERNEL_CHUNK];
	uint64_t in[2][KERNEL_CHUNK], out[KERNEL_CHUNK];
	const uint8_t *q = walk_load_raw(v->c, &v->w->t[S0], p, S0, condition);
	const void *a = walk_load_raw(v->c, &v->w->t[S1], p, S1, in[0]);
	const void *b = walk_load_raw(v->c, &v->w->t[S2], p, S2, in[1]);

	v->c->kernels->select[sim_size(v->w->t[DST].esize)](out, q, a, b, walk_block_size(p));
	walk_store_raw(v->c, &v->w->t[DST], p, DST, out);
}

void sim_ternary(struct sim_context *c, const struct sim_work *w)
{
	struct vector v;

	vector_init(&v, c, w, 0);
	if (w->insn.op == ONPU_OP_VWHERE)
		vector_run(&v, where);
	else
		vector_run(&v, sim_is_float(w->t[S0].dtype) ? fma_f32 : fma_s64);
}

/* ---- Conversions ---- */

static void cvt(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	const struct sim_tensor *d = &v->w->t[DST], *s = &v->w->t[S0];
	const struct onpu_kernels *k = v->c->kernels;
	size_t n = walk_block_size(p);
	int64_t ints[KERNEL_CHUNK], converted[KERNEL_CHUNK];
	float floats[KERNEL_CHUNK], rounded[KERNEL_CHUNK];

	if (sim_is_float(s->dtype)) {
		const float *x = walk_load_f32(v->c, s, p, S0, floats);

		k->f32_to_s64(converted, x, n, sim_int_type(d->dtype));
		walk_store_s64(v->c, d, p, DST, converted);
	} else {
		const int64_t *x = walk_load_s64(v->c, s, p, S0, ints);

		if (!sim_is_float(d->dtype)) {
			walk_store_s64(v->c, d, p, DST, x);
			return;
		}
		k->s64_to_f32(rounded, x, n, sim_int_type(s->dtype)->is_unsigned);
		walk_store_f32(v->c, d, p, DST, rounded);
	}
}

static const int64_t *zero_points(const struct vector *v, const struct walk_block *p, int64_t *buf)
{
	if (v->w->t[S2].present)
		return walk_load_s64(v->c, &v->w->t[S2], p, S2, buf);
	memset(buf, 0, walk_block_size(p) * sizeof(*buf));
	return buf;
}

static void quant(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	const struct onpu_kernels *k = v->c->kernels;
	const struct kernel_int *type = sim_int_type(v->w->t[DST].dtype);
	float in[KERNEL_CHUNK], scales[KERNEL_CHUNK];
	int64_t ints[KERNEL_CHUNK], zeros[KERNEL_CHUNK], out[KERNEL_CHUNK];
	const float *s = walk_load_f32(v->c, &v->w->t[S1], p, S1, scales);
	const int64_t *z = zero_points(v, p, zeros);

	if (v->w->insn.op == ONPU_OP_QUANT)
		k->quant(out, walk_load_f32(v->c, &v->w->t[S0], p, S0, in), s, z,
			 walk_block_size(p), type);
	else
		k->requant(out, walk_load_s64(v->c, &v->w->t[S0], p, S0, ints), s, z,
			   walk_block_size(p), type);
	walk_store_s64(v->c, &v->w->t[DST], p, DST, out);
}

static void dequant(void *arg, const struct walk_block *p)
{
	const struct vector *v = arg;
	float scales[KERNEL_CHUNK], out[KERNEL_CHUNK];
	int64_t ints[KERNEL_CHUNK], zeros[KERNEL_CHUNK];
	const int64_t *x = walk_load_s64(v->c, &v->w->t[S0], p, S0, ints);
	const float *s = walk_load_f32(v->c, &v->w->t[S1], p, S1, scales);
	const int64_t *z = zero_points(v, p, zeros);
	float *dst = walk_target_f32(v->c, &v->w->t[DST], p, DST, out);

	v->c->kernels->dequant(dst, x, s, z, walk_block_size(p));
	walk_store_f32(v->c, &v->w->t[DST], p, DST, dst);
}

void sim_convert(struct sim_context *c, const struct sim_work *w)
{
	bool from_float = sim_is_float(w->t[S0].dtype), to_float = sim_is_float(w->t[DST].dtype);
	struct vector v;

	vector_init(&v, c, w, 0);
	if (w->insn.op == ONPU_OP_DEQUANT)
		vector_run(&v, dequant);
	else if (w->insn.op != ONPU_OP_CVT)
		vector_run(&v, quant);
	else
		vector_run(&v, from_float && to_float ? convert_float : cvt);
}

/* ---- Triangles ---- */

/*
 * Returns the number of elements at the start of a row of @columns that the lower triangle keeps,
 * or that the upper one drops.
 */
static uint32_t tri_split(const struct sim_work *w, uint32_t row, uint32_t columns)
{
	const struct onpu_slot_param_tri *p = &w->param.tri;
	bool upper = p->flags & ONPU_TRI_UPPER;
	sim_s128 split = (sim_s128)row + p->diagonal + !upper;

	return split < 0 ? 0 : split > columns ? columns : (uint32_t)split;
}

static void tri_rows(const struct sim_context *c, const struct sim_work *w, int64_t dst,
		     int64_t src)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];
	unsigned int rank = d->rank, size = sim_size(d->esize);
	uint32_t columns = d->dim[rank - 1];
	int64_t step = d->stride[rank - 1], src_step = s->stride[rank - 1];
	bool upper = w->param.tri.flags & ONPU_TRI_UPPER;
	const uint64_t zero = 0;

	for (uint32_t row = 0; row < d->dim[rank - 2] && !sim_stop(c, row); row++) {
		uint32_t split = tri_split(w, row, columns);
		uint32_t first = upper ? split : 0, end = upper ? columns : split;
		uint32_t clear = upper ? 0 : split, clear_end = upper ? split : columns;

		c->kernels->copy[size](sim_at(c, dst + first * step), step,
				       sim_at(c, src + first * src_step), src_step, end - first);
		c->kernels->copy[size](sim_at(c, dst + clear * step), step, (const char *)&zero, 0,
				       clear_end - clear);
		dst += d->stride[rank - 2];
		src += s->stride[rank - 2];
	}
}

void sim_tri(struct sim_context *c, const struct sim_work *w)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];
	uint32_t index[ONPU_MAX_RANK] = { 0 };
	int64_t dst = (int64_t)d->start, src = (int64_t)s->start;

	for (;;) {
		int i = d->rank - 3;

		tri_rows(c, w, dst, src);
		for (; i >= 0; i--) {
			dst += d->stride[i];
			src += s->stride[i];
			if (++index[i] < d->dim[i])
				break;
			dst -= d->stride[i] * d->dim[i];
			src -= s->stride[i] * d->dim[i];
			index[i] = 0;
		}
		if (i < 0 || sim_given_up(c))
			return;
	}
}
