/* SPDX-License-Identifier: MIT */
/*
 * Contractions: convolutions, matrix products, depthwise convolutions and pools are one loop nest,
 *
 *	out[g,b,h,w,n] = sum over kh, kw, k of
 *		a[g,b, h*step+kh*dilation-pad, ..., k] * b[g,kh,kw,k,n]
 *
 * with different strides. contract.c chooses tiles, contract_emit.c emits the instructions.
 */
#ifndef WNN_PLAN_CONTRACT_H
#define WNN_PLAN_CONTRACT_H

#include "plan/list/plan.h"

/* Dims of the result and its tiles. */
enum { CD_G, CD_B, CD_H, CD_W, CD_N, CD_RANK };
/* Dims of the data operand and of the filter. */
enum { CA_G, CA_B, CA_H, CA_W, CA_K };
enum { CB_G, CB_KH, CB_KW, CB_K, CB_N };

#define CONTRACT_MAX_PHASES 4096 /* the most phases of a transposed convolution */
#define CONTRACT_SHORT_RUN  32	 /* bytes: shorter runs take a DMA engine a whole cycle, too */
#define CONTRACT_MAX_EXTRAS 12
#define CONTRACT_MAX_POSTS  16
#define CONTRACT_MAX_SLICES 4

/* A further operand, which the prologue or epilogue reads: bias, divisors of an average, scale. */
struct contract_extra {
	struct npu_view mem; /* has the result's dims, with extent 1 where the operand repeats */
	/* a factor that the operand is multiplied by, in float32, before it is used */
	float scale;
	/*
	 * 1 + the indices, in contract.extra, of the scale and zero point with which an integer
	 * operand is dequantised before it is used; 0: it is used as it is.
	 */
	int real_scale, real_zero;
	bool here; /* the operand is in SRAM and needs no tile; contract_emit() sets this */
};

/*
 * An instruction of the epilogue; its first source is the sums, or the result of the instruction
 * before it, or the spare tile.
 */
struct contract_post {
	enum onpu_op op;
	bool has_param;
	struct plan_param param;
	int extra; /* second source: its index in contract.extra; -1: none */
	int third; /* third source: 1 + its index in contract.extra; 0: none */
	/*
	 * The instruction writes, or reads as its first source, the spare float32 tile: a gate
	 * computes the factor of the sums there, and the sums stay where they are.
	 */
	bool to_spare, from_spare;
	bool by_sums; /* the second source is the sums */
};

/*
 * A constant filter of one group and one tap as integers, which are dequantised in SRAM one tile at
 * a time, or as short floats. Strides are in elements; contract.b describes the filter as floats.
 */
struct contract_weights {
	uint8_t dtype; /* of the constant: int8, uint8, int4, uint4, or float16 without scales */
	/* type in packed tiles: `dtype`, or a short float that can represent all its values */
	uint8_t packed;
	bool direct; /* the matrix unit reads packed tiles (mma.w), and no pass dequantises them */
	struct ir_constant *data, *scale, *zero; /* zero NULL: all zero points are 0 */
	int64_t k_stride, n_stride;
	int64_t block, n_block; /* elements along k and n that share a scale; block 0: all k do */
	/* strides of scales and zero points from block to block */
	int64_t k_scale_stride, n_scale_stride;
};

/*
 * A filter whose slices along one dim are at several addresses; each view is like contract.b, with
 * the extent of the slice.
 */
struct contract_slices {
	uint32_t count;
	int axis; /* CB_K or CB_N */
	struct npu_view view[CONTRACT_MAX_SLICES];
};

struct contract {
	const char *kernel;
	enum onpu_op op;   /* mma.*, or a window instruction (k is 1 then) */
	uint8_t acc_dtype; /* type of the accumulators in SRAM */
	int64_t dim[CD_RANK];
	int64_t k, taps[2];
	int64_t in[2]; /* height and width of the data */
	int64_t pad[2], step[2], dilation[2];
	/* transposed convolution: distance of data rows, columns, with zeros between; else 1 */
	int64_t up[2];
	uint64_t pad_value;	/* bits of a padding element */
	int32_t zero_a, zero_b; /* zero points of integer operands of mma */
	bool exact;		/* the sums are of integers, whose bits are equal in every order */
	uint8_t piece;		/* length of partial sums of mma.f32: see contract_piece() */
	/*
	 * For windows over integers: 1 + the indices, in `extra`, of the scale and zero point with
	 * which the data is dequantised to float32 first; 0: the data is used as it is.
	 */
	int real_scale, real_zero;
	/*
	 * For windows whose sums begin with a bias: 1 + the indices, in `extra`, of a single 1 and
	 * of the bias; 0: sums begin with 0. The matrix unit, which is idle otherwise, writes the
	 * product of both to the accumulators, so that the vector unit need not add the bias.
	 */
	int begin_one, begin;
	/* results are rounded to integers, and these are dequantised again */
	bool again;
	uint8_t rounded_dtype; /* with `again`: the type that results are rounded to */
	struct npu_view a;     /* [g,b,h,w,k] */
	struct npu_view b;     /* [g,kh,kw,k,n]; rank 0: none */
	int64_t halo[2][2];    /* padding rows and columns around data that is in SRAM */
	uint64_t halo_value;   /* the bits of an element of that padding */
	/* a constant filter; b has its dims and strides, no address */
	struct ir_constant *b_constant;
	int64_t b_offset;			/* offset of element 0 in the bytes of b_constant */
	const struct contract_weights *weights; /* the filter as integers, in place of b; or NULL */
	/* The slices that the filter consists of; b describes the largest. NULL: b is all of it. */
	const struct contract_slices *slices;
	struct npu_view out; /* [g,b,h,w,n] */
	uint32_t num_extras, num_posts;
	struct contract_extra extra[CONTRACT_MAX_EXTRAS];
	struct contract_post post[CONTRACT_MAX_POSTS];
	/*
	 * Whether the data, the filter and the result are in SRAM and need no tile; contract_emit()
	 * sets these.
	 */
	bool a_here, b_here, out_here;
};

/*
 * How a sum is divided into steps, one instruction each: not at all, by rows of taps, by taps, by
 * channels of a tap. The terms keep their order in every case.
 */
enum contract_cut { CUT_NONE, CUT_ROWS, CUT_TAPS, CUT_K };

/* The sizes of tiles, and how many of each operand SRAM holds. */
struct contract_tile {
	int64_t tile[CD_RANK], grid[CD_RANK];
	enum contract_cut cut;
	int64_t k, kw; /* channels, and taps of a row, that a step adds up */
	uint64_t steps, tiles;
	bool n_inner; /* the loop over n is inside the loop over positions */
	bool direct;  /* sums use the bytes of the result instead of a tile of their own */
	uint32_t a_slots, b_slots, acc_slots;		 /* number of tiles in SRAM */
	uint64_t a_bytes, b_bytes, acc_bytes, out_bytes; /* bytes of a tile; 0: there is none */
	uint64_t real_bytes;  /* bytes of a data tile that was dequantised to float32 */
	uint64_t spare_bytes; /* bytes of the spare tile of gates */
	uint64_t wide_bytes;  /* bytes of a dequantised filter tile; SRAM holds WEIGHTS_SLOTS */
	uint64_t extra_bytes[CONTRACT_MAX_EXTRAS];
	/* by further operand: bytes of its scaled or dequantised copy */
	uint64_t scaled_bytes[CONTRACT_MAX_EXTRAS];
	uint32_t extra_slots[CONTRACT_MAX_EXTRAS];
	uint64_t bytes, cycles;
};

/*
 * The slice of the sum that one instruction adds: the first row of taps (kh) and the number of rows
 * (khs), and likewise for the taps of a row (kw) and the channels (k).
 */
struct contract_step {
	int64_t kh, khs, kw, kws, k, ks;
};

/* Returns the slice of the sum that step number `step` of a tile computes. */
struct contract_step contract_step_at(const struct contract *c, const struct contract_tile *t,
				      uint64_t step);
/*
 * Returns the number of rows (axis 0) or columns (1) of data that are loaded for `out` results in a
 * step, and sets *distance to the distance from one such row to the next in the data. With one tap,
 * rows that a stride leaves out are not loaded, unless loading them takes less time.
 */
int64_t contract_rows(const struct contract *c, int axis, int64_t out, int64_t taps,
		      int64_t *distance);
/*
 * Returns the capacity of a data tile in rows (axis 0) or columns (1): `rows`, rounded up to a
 * multiple of `up`, as strided destinations of an instruction must not overlap (#destination in the
 * reference of the instruction set).
 */
int64_t contract_pitch(const struct contract *c, int axis, int64_t rows);
/* Returns true if the matrix unit computes the contraction; false: the vector unit does. */
bool contract_is_mma(const struct contract *c);
/*
 * Returns true if results overwrite their sums in SRAM: elements of both have one size, and the
 * last instruction writes the result's type.
 */
bool contract_in_place(const struct contract *c);
/*
 * Returns the length of the partial sums in which mma.f32 adds over `k` channels and some taps, as
 * the field `piece` of the instruction has it: long chains of additions round badly.
 */
uint8_t contract_piece(enum onpu_op op, int64_t k, int64_t taps);
/*
 * Chooses tiles; false when none can be used: then best->bytes is what the smallest takes. Looks
 * into the cache of choices.h first, and adds what contract_search() finds.
 */
bool contract_choose(const struct plan *plan, const struct contract *c, struct contract_tile *best);
/* Chooses tiles like contract_choose(), without the cache. */
bool contract_search(const struct plan *plan, const struct contract *c, struct contract_tile *best);
/*
 * Changes the product of a row and a matrix, both of which are in SRAM, to a window instruction of
 * the vector unit: the matrix unit would use only one of its rows. The columns are channels of a
 * depthwise convolution: the matrix is the image, with k as its rows, and the row is the filter,
 * which all channels share. The terms are added in the order of the matrix unit.
 */
void contract_make_window(struct contract *c);
/* Emits all instructions of a contraction. */
void contract_emit(struct plan *plan, const struct contract *c);
/*
 * Adds the instructions of an element-wise function, which takes the sums as float32, to the
 * epilogue; IR_UNARY_NONE: adds none.
 */
void contract_add_function(struct contract *c, const struct ir_unary_attrs *unary);
/*
 * Returns the view of a filter tile in SRAM. A packed tile has the order in which the instruction
 * reads it, others that of c->b in memory.
 */
struct npu_view contract_filter_view(const struct contract *c, uint64_t address,
				     const int64_t *dim);

/*
 * Packs the bytes of a constant filter from byte `from` on, in the order of `tile`, to offset `at`
 * of the constants.
 */
void contract_pack(struct plan *plan, const struct contract *c, const struct npu_view *tile,
		   int64_t from, uint64_t at);

/*
 * The tiles and the packed filter of a contraction, which contract_run() can emit several times,
 * with operands and results at other addresses.
 */
struct contract_prepared {
	struct contract_tile t;
	uint64_t *packed;		    /* by filter tile: its offset after packed_base */
	uint64_t packed_base, packed_bytes; /* offset of all tiles in the constants, their bytes */
};

/*
 * Finds operands and a result that are in SRAM and need no tile. A result whose window overlaps
 * that of data or filter, such as another slice of one value, gets a tile nevertheless, and so does
 * a further operand whose window overlaps that of the result: the device refuses instructions whose
 * result overlaps an operand.
 */
void contract_find_resident(struct contract *c);
/*
 * Chooses tiles and packs a constant filter; false: the plan has failed. contract_find_resident()
 * may have been called before.
 */
bool contract_prepare(struct plan *plan, const struct contract *c, struct contract_prepared *p);
/*
 * Emits the instructions of a contraction; *p is from contract_prepare() for one of the same shape.
 */
void contract_run(struct plan *plan, const struct contract *c, const struct contract_prepared *p);
/* Frees the memory of *p. */
void contract_done(struct contract_prepared *p);
/*
 * Emits a contraction whose filter is not packed: calls contract_prepare(), unless *p from an
 * earlier call fits, and contract_run(). *p is all 0 before the first call.
 */
void contract_emit_again(struct plan *plan, const struct contract *c, struct contract_prepared *p);

/* ---- weights.c: filters of integers */
#define WEIGHTS_SLOTS 2 /* dequantised tiles in SRAM: one in use, one being computed */
/*
 * Returns the bytes of a tile of integers with its scales and zero points, packed as in the
 * constants and in SRAM.
 */
uint64_t weights_bytes(const struct contract *c, const struct contract_tile *t, int64_t ks,
		       int64_t n);
/* Adds the packed tile to the constants, at offset `at`. */
void weights_pack(struct plan *plan, const struct contract *c, const struct contract_tile *t,
		  const struct contract_step *s, int64_t n, int64_t ns, uint64_t at);
/* Emits the load of a packed tile from the constants to `address` of SRAM. */
void weights_load(struct plan *plan, uint64_t address, uint64_t bytes,
		  const struct contract_prepared *p, uint64_t offset);
/* Returns the views of the packed tile at `address` that mma.w takes: its numbers and scales. */
struct npu_view weights_view(const struct contract *c, const struct contract_tile *t,
			     const int64_t *dim, uint64_t address);
struct npu_view weights_scales(const struct contract *c, const struct contract_tile *t, int64_t ks,
			       int64_t n, uint64_t address);
/* Emits the dequantisation of the packed tile at SRAM address `packed` to the tile `wide`. */
void weights_unpack(struct plan *plan, const struct contract *c, const struct contract_tile *t,
		    const struct npu_view *wide, uint64_t packed);

/* ---- phases.c: transposed convolutions */
/* Returns true if the contraction is to be emitted by phases_emit(). */
bool phases_apply(const struct contract *c);
void phases_emit(struct plan *plan, const struct contract *c);

#endif
