/* SPDX-License-Identifier: MIT */
/*
 * Contractions: convolutions, matrix products, depthwise convolutions and pools are one loop nest,
 *
 *	out[g,b,h,w,n] = sum over kh, kw, k of a[g,b, h*step+kh*dilation-pad, ..., k] *
 *b[g,kh,kw,k,n]
 *
 * with different strides. contract.c chooses tiles, contract_emit.c emits them.
 */
#ifndef WNN_PLAN_CONTRACT_H
#define WNN_PLAN_CONTRACT_H

#include "plan/list/plan.h"

/* Dims of the result and its tiles. */
enum { CD_G, CD_B, CD_H, CD_W, CD_N, CD_RANK };
/* Dims of the data operand and of the filter. */
enum { CA_G, CA_B, CA_H, CA_W, CA_K };
enum { CB_G, CB_KH, CB_KW, CB_K, CB_N };

#define CONTRACT_MAX_PHASES 4096 /* of a transposed convolution */
#define CONTRACT_SHORT_RUN  32 /* bytes: a DMA engine takes a cycle for each run of them, or less */
#define CONTRACT_MAX_EXTRAS 12
#define CONTRACT_MAX_POSTS  16
#define CONTRACT_MAX_PIECES 4

/*
 * A further operand of the instructions behind the contraction: bias, divisors of an average,
 * scale.
 */
struct contract_extra {
	struct npu_view mem; /* over the result's dims, extent 1 where it repeats */
	/* the operand is multiplied by this first (in float32) unless it is 1 */
	float scale;
	/*
	 * Indices + 1 of the scale and zero point with which integers are dequantised first; 0:
	 * they are not.
	 */
	int real_scale, real_zero;
	bool here; /* it is in SRAM and read there; contract_emit() finds out */
};

struct contract_post {
	enum onpu_op op;
	bool has_param;
	struct plan_param param;
	int extra; /* second source, -1 none */
	int third; /* third source: 1 + its index among the extras, 0 none */
	/* For gates: the sums stay while their factor is computed in a spare tile of float32. */
	bool to_spare, from_spare;
	bool by_sums; /* the second source is the sums */
};

/*
 * A constant filter of one group and one tap as integers, which are dequantised tile by tile in
 * SRAM. Strides are in elements; b of the contraction describes the dequantised filter.
 */
struct contract_weights {
	uint8_t dtype;				 /* int8, uint8, int4 or uint4 */
	struct ir_constant *data, *scale, *zero; /* zero NULL: all are 0 */
	int64_t k_stride, n_stride;
	int64_t block, n_block; /* elements along k and n with one scale; block 0: all of them */
	int64_t k_scale_stride, n_scale_stride; /* from block to block; of scales and zero points */
};

/*
 * A filter in several slices of memory along one dim; each view is like b, with the extent of the
 * slice.
 */
struct contract_pieces {
	uint32_t count;
	int axis; /* CB_K or CB_N */
	struct npu_view view[CONTRACT_MAX_PIECES];
};

struct contract {
	const char *kernel;
	enum onpu_op op;   /* mma.*, or a window instruction (k is 1 then) */
	uint8_t acc_dtype; /* of the accumulators in SRAM */
	int64_t dim[CD_RANK];
	int64_t k, taps[2];
	int64_t in[2]; /* extents of the data's h and w */
	int64_t pad[2], step[2], dilation[2];
	int64_t up[2];		/* data rows lie this far apart, zeros between (transposed) */
	uint64_t pad_value;	/* bits of an element */
	int32_t zero_a, zero_b; /* zero points of integer operands of mma */
	bool exact;		/* sums of integers: the same bits in every order */
	uint8_t piece;		/* of the sum in mma.f32, as contract_piece() says */
	/*
	 * For windows over integers: the indices + 1 of the further operands with which the data
	 * are dequantised to float32 first; 0: they are not.
	 */
	int real_scale, real_zero;
	/*
	 * For windows whose sums begin with a bias: the indices + 1 of two further operands, a
	 * single 1 and the bias; 0: sums begin with 0. The matrix unit, which is idle otherwise,
	 * writes their product to the accumulators, so that the vector unit need not add the bias.
	 */
	int begin_one, begin;
	/* Whether results are rounded to a type and dequantised again, and that type. */
	bool again;
	uint8_t rounded_dtype;
	struct npu_view a;		/* [g,b,h,w,k] */
	struct npu_view b;		/* [g,kh,kw,k,n]; rank 0: none */
	int64_t halo[2][2];		/* padding around the data, which lies in SRAM then */
	uint64_t halo_value;		/* the bits of a padding element */
	struct ir_constant *b_constant; /* constant filter, b has only strides; or NULL */
	int64_t b_offset;		/* of its element 0 among the bytes */
	const struct contract_weights *weights; /* in place of b_constant, or NULL */
	/* The slices that b consists of; b describes the largest of them. NULL: b is one view. */
	const struct contract_pieces *pieces;
	struct npu_view out; /* [g,b,h,w,n] */
	uint32_t num_extras, num_posts;
	struct contract_extra extra[CONTRACT_MAX_EXTRAS];
	struct contract_post post[CONTRACT_MAX_POSTS];
	/* Operands that are in SRAM and need no tile of their own; contract_emit() finds out. */
	bool a_here, b_here, out_here;
};

/* How finely the sum is cut; sums stay in the order of the architecture in every case. */
enum contract_cut { CUT_NONE, CUT_ROWS, CUT_TAPS, CUT_K };

struct contract_tile {
	int64_t tile[CD_RANK], grid[CD_RANK];
	enum contract_cut cut;
	int64_t k, kw; /* per step: channels of the sum, taps of a row */
	uint64_t steps, tiles;
	bool n_inner; /* the loop over n is inside the loop over positions */
	bool direct;  /* the instruction writes the result's type, no accumulator tile */
	uint32_t a_slots, b_slots, acc_slots;
	uint64_t a_bytes, b_bytes, acc_bytes, out_bytes;
	uint64_t real_bytes;  /* of data that became float32 */
	uint64_t spare_bytes; /* for gates */
	uint64_t wide_bytes;  /* of a filter that was dequantised; two of them */
	uint64_t extra_bytes[CONTRACT_MAX_EXTRAS];
	uint64_t scaled_bytes[CONTRACT_MAX_EXTRAS]; /* of what is scaled or dequantised first */
	uint32_t extra_slots[CONTRACT_MAX_EXTRAS];
	uint64_t bytes, cycles;
};

/* Part of the sum that one instruction computes. */
struct contract_step {
	int64_t kh, khs, kw, kws, k, ks;
};

struct contract_step contract_step_at(const struct contract *c, const struct contract_tile *t,
				      uint64_t step);
/*
 * Returns the rows (axis 0) or columns (1) of data that are loaded for `out` results in a step, and
 * sets the distance between them: with one tap only those that are needed, unless loading more
 * takes less time.
 */
int64_t contract_rows(const struct contract *c, int axis, int64_t out, int64_t taps,
		      int64_t *distance);
/*
 * Returns the rows that the tile has room for: strided destinations must not overlap (#destination
 * of the instruction set).
 */
int64_t contract_pitch(const struct contract *c, int axis, int64_t rows);
bool contract_is_mma(const struct contract *c);
/*
 * Whether results overwrite their sums in SRAM: elements have one size, and the last instruction
 * writes the result's type.
 */
bool contract_in_place(const struct contract *c);
/*
 * Returns the length of the partial sums in which mma.f32 adds over `k` channels and some taps:
 * long chains of additions round badly.
 */
uint8_t contract_piece(enum onpu_op op, int64_t k, int64_t taps);
/* Chooses tiles; false when none can be used: best->bytes says what the smallest takes then. */
bool contract_choose(const struct plan *plan, const struct contract *c, struct contract_tile *best);
/* contract_choose() with the cache of choices.h in front. */
bool contract_search(const struct plan *plan, const struct contract *c, struct contract_tile *best);
void contract_emit(struct plan *plan, const struct contract *c);
/*
 * Adds the instructions of a function of one element, which takes the sums as float32;
 * IR_UNARY_NONE: adds none.
 */
void contract_add_function(struct contract *c, const struct ir_unary_attrs *unary);
/* Returns the view of a filter tile in SRAM, in the order in which the instruction reads it. */
struct npu_view contract_filter_view(const struct contract *c, uint64_t address,
				     const int64_t *dim);

/*
 * Packs the bytes of a constant filter from byte `from` on, in the order of `tile`, to offset `at`
 * of the constants.
 */
void contract_pack(struct plan *plan, const struct contract *c, const struct npu_view *tile,
		   int64_t from, uint64_t at);

/* A contraction that is emitted several times, for operands and results at other addresses. */
struct contract_prepared {
	struct contract_tile t;
	uint64_t *packed; /* offset of each filter tile among the constants */
	uint64_t packed_base, packed_bytes;
};

/* Chooses tiles and packs a constant filter; false with the plan failed. */
bool contract_prepare(struct plan *plan, const struct contract *c, struct contract_prepared *p);
void contract_run(struct plan *plan, const struct contract *c, const struct contract_prepared *p);
void contract_done(struct contract_prepared *p);
/*
 * contract_prepare() and contract_run() in one, for filters that are not packed; `p` is all 0
 * before the first call.
 */
void contract_emit_again(struct plan *plan, const struct contract *c, struct contract_prepared *p);

/* ---- weights.c: filters of integers */
#define WEIGHTS_SLOTS 2 /* dequantised tiles: one in use, one being made */
/*
 * Returns the bytes of a filter tile with its scales and zero points, as it lies in memory and in
 * SRAM.
 */
uint64_t weights_bytes(const struct contract *c, const struct contract_tile *t, int64_t ks,
		       int64_t n);
/* Writes the tile to offset `at` of the constants. */
void weights_pack(struct plan *plan, const struct contract *c, const struct contract_tile *t,
		  const struct contract_step *s, int64_t n, int64_t ns, uint64_t at);
/* Loads a packed tile from the constants. */
void weights_load(struct plan *plan, uint64_t address, uint64_t bytes,
		  const struct contract_prepared *p, uint64_t offset);
/* Dequantises the tile at an address to the view of a filter's tile. */
void weights_unpack(struct plan *plan, const struct contract *c, const struct contract_tile *t,
		    const struct npu_view *wide, uint64_t packed);

/* ---- phases.c: transposed convolutions */
bool phases_apply(const struct contract *c);
void phases_emit(struct plan *plan, const struct contract *c);

#endif
