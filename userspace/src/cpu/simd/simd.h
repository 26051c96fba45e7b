/* SPDX-License-Identifier: MIT */
/*
 * Inner loops that are compiled once for each level of vector instructions. A level is a table of
 * functions; cpu_simd_best() chooses one at run time, tests use all that the host has. Code whose
 * results depend on the level uses that of its context (cpu_set_level()), never cpu_simd_best().
 */
#ifndef WNN_CPU_SIMD_H
#define WNN_CPU_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Floats past the end of a buffer that vectors may read or write. */
#define CPU_SLACK 64

#define CPU_MAX_ROWS  14 /* the most rows of a tile */
#define CPU_MAX_LANES 16
/*
 * With vectors of CPU_MAX_LANES, a tile prefetches something every CPU_TILE_STEPS steps, among it
 * at most CPU_TILE_AHEAD floats of the member next.
 */
#define CPU_TILE_STEPS 4
#define CPU_TILE_AHEAD 32

/*
 * One tile of a matrix product: C[rows][columns] = A * B * factor + addends, clamped to lo and hi.
 * A tile has one or two vectors of columns. Element B[k][n] is b[at[k] + n]; when `at` is NULL, the
 * rows of B are contiguous, each as long as the tile is wide. A is packed by columns; when `at` is
 * NULL and lda is not 0, it is row-major.
 */
struct cpu_tile {
	int64_t depth;
	const float *a; /* [depth][rows]; with lda, row i begins at a[i * lda] */
	int64_t lda;	/* stride of the rows of a, or 0 */
	const float *b;
	const int64_t *at; /* [depth]: offset of each row of B, or NULL */
	float *c;
	int64_t ldc;
	/* With `scaled`, the sums are multiplied by the factor. */
	bool scaled;
	float factor;
	/*
	 * Addends: C itself (with `add`), and one number per row or, if row_bias is NULL, per
	 * column; both may be NULL. They are added last, so that a large addend is rounded once.
	 */
	bool add;
	const float *row_bias, *column_bias;
	/* Rows with the stride of C, which are added to the sums after the biases; NULL: none. */
	const float *addend;
	float lo, hi; /* with -INFINITY and INFINITY no value changes, not even NaN */
	/*
	 * Every CPU_TILE_STEPS steps, the tile prefetches the next `ahead` floats from here on into
	 * the second-level cache; NULL and 0: none. It prefetches none of them when `at` is set.
	 */
	const float *next;
	int64_t ahead;
};

/*
 * The arguments of packing the B of a tile: `depth` rows of n floats. Row k is copied in runs: run
 * i begins at from[at[k] + place[i]] and goes to begin[i] of the packed row. A packed row is one or
 * two vectors, as n floats need. With `loose`, a whole packed row may be read from the begin of
 * each run. The function may write after the last row; floats after the n-th of a row are
 * undefined.
 */
struct cpu_pack {
	float *to;
	const float *from;
	const int64_t *at;
	int64_t depth, n;
	bool loose;
	int runs;
	int64_t place[2 * CPU_MAX_LANES], begin[2 * CPU_MAX_LANES];
};

/* The source and destination of functions that compute rows of n floats from other rows. */
struct cpu_window_rows {
	float *to;
	const float *from;
	int64_t to_step, from_step, n, lines;
	/*
	 * For copies only: they read each `every`-th float, and none at or after from[from_size].
	 */
	int64_t from_size, every;
	/*
	 * For windows only: results are clamped to lo and hi; with -INFINITY and INFINITY no value
	 * changes, not even NaN.
	 */
	float lo, hi;
};

enum cpu_fold { CPU_FOLD_SUM, CPU_FOLD_ABS, CPU_FOLD_SQUARES, CPU_FOLD_MAX, CPU_FOLD_MIN };

/* y = (x - mean) * factor * scale + bias; scale and bias are 1 and 0 when NULL. */
struct cpu_normal {
	double mean, factor;
	const float *scale, *bias;
	/* whether scale and bias have one number for each element of a row; else one for all */
	bool each;
};

/*
 * The arguments of converting sums of integer products to 8-bit results, by the formula of QCONV in
 * ir/ops.def.
 */
struct cpu_finish {
	const float *scale; /* scale and bias: one number per channel */
	const int32_t *bias;
	float zero, lo, hi; /* lo, hi: limits of the result, within its type */
};

#define CPU_DOT_ROWS 12 /* the most rows of a tile of an integer product */

/*
 * Up to 64 channels of `count` pixels of a depthwise convolution of bytes in channels-last layout.
 * Bytes and weights are multiplied as in cpu_dots; x and step have a multiple of 4 entries.
 * Weights, scale and bias are in the order of cpu_dot_channel() for four vectors.
 */
struct cpu_channel_dots {
	const uint8_t *const *x; /* for each tap, the channels that the first pixel reads */
	const int64_t *step;	 /* for each tap, bytes from there to those of the next pixel */
	int64_t taps;
	/*
	 * The number of groups of 4 taps whose inputs the next pixel reads again: its first
	 * `shared` groups read what the last `shared` groups of this pixel read. If it is 1 or 2,
	 * there are three groups, and the last tap of each is not read.
	 */
	int shared;
	/* [taps / 4, rounded up][64][4]; at a level with pairs, [taps / 2, rounded up][64][2] */
	const int8_t *weights;
	struct cpu_finish finish;
	uint8_t flip;
	bool is_signed; /* whether results are signed */
	int64_t channels, count;
	uint8_t *out;
	int64_t out_step;
};

/* The arguments of an 8-bit integer operation a op b, by the formula of QBINARY in ir/ops.def. */
struct cpu_integers {
	int kind; /* IR_ADD, IR_SUB or IR_MUL */
	bool a_signed, b_signed;
	int32_t a_zero, b_zero;
	float a_scale, b_scale, scale, zero;
	float lo, hi;	   /* limits of the real result */
	float least, most; /* limits of the integer result */
	/* Set by cpu_integers_are_tame(): 1 / scale is their sum. */
	float inverse, inverse_rest;
};

/*
 * One tile of a product of bytes: `count` rows, and columns of up to four vectors of 16. Row r of
 * the first operand is, for each tap t, `depth` bytes at rows[t * CPU_DOT_ROWS + r]; depth is a
 * multiple of 4. All pointers of the tile's rows are valid, also after the count-th. An element of
 * the result is the sum of (byte ^ flip) * weight, where the first factor is unsigned, plus the
 * column's bias. Columns are in the order of cpu_dot_channel(): those of weights, scale, bias and
 * raw results.
 */
struct cpu_dots {
	const uint8_t *const *rows;
	/*
	 * At a level with pairs, what is read in place of `rows`: for each row, the elements of all
	 * taps, after widen_row(). Only `count` rows are read.
	 */
	const int16_t *wide;
	int64_t taps, depth;
	/*
	 * [taps * depth / 4][vectors][16][4]; at a level with pairs,
	 * [vectors][taps * depth / 2][16][2]
	 */
	const int8_t *weights;
	/*
	 * Weights to prefetch into the second-level cache: the next cache line whenever `spread`
	 * bytes of a tap are computed. `spread` is a power of two from 4 on. A level with pairs
	 * does not prefetch.
	 */
	const int8_t *next;
	int64_t spread;
	struct cpu_finish finish; /* whole vectors of scale and bias are readable */
	uint8_t flip;
	bool raw; /* results are the sums, as int32, whole vectors; else bytes by cpu_finish */
	bool is_signed; /* whether the bytes by cpu_finish are signed */
	/*
	 * Whether cpu_finish has the zero point 0, the limits of its type, and scales between -0.5
	 * and 0.5, so that no rounded number exceeds an int32.
	 */
	bool plain;
	int count, columns;
	void *out;
	int64_t out_step; /* bytes */
	/*
	 * NULL, or the operation that makes results of the bytes by cpu_finish: the sum with the
	 * bytes of the addend or, when that is NULL, a conversion to another scale and zero point.
	 * Its limits lo and hi are not read, and cpu_integers_are_tame() has accepted it.
	 */
	const struct cpu_integers *after;
	const uint8_t *addend;
	int64_t addend_step; /* bytes from one row to the next */
};

/*
 * Scales and zero points of integers of at most 8 bits, one for each element or one for all, and
 * the limits of the integers.
 */
struct cpu_quanta {
	const float *scale;
	const int32_t *zero;
	bool each, is_signed;
	float least, most;
};

/*
 * The arguments of one row of a depthwise 3x3 convolution in channels-last layout. No window reads
 * beyond the left or right edge of the input.
 */
struct cpu_pixels {
	float *y;
	const float *x[3]; /* for each row of taps: the first pixel that is read */
	/* floats from one pixel to the next; 0: one pixel is read for all */
	int64_t step[3];
	const float *filter, *bias; /* filter: [tap][n]; bias: [n] or NULL */
	/* n: channels, at least a vector; count: results; stride: pixels between windows, 1 or 2 */
	int64_t n, count, stride;
	float lo, hi; /* limits of results, see struct cpu_tile */
};

#define CPU_WEIGHED_ROWS 4

/*
 * Packed weights of 4 or 8 bits, one or two vectors of columns wide. A weight is (q - zero) *
 * scale. Integers are signed, and scales may be negative. Weights of 4 bits always have two vectors
 * of columns; eight integers of a column are in 32 bits, the first in the low ones. Bits after the
 * last integer of a block are ignored.
 */
struct cpu_weights {
	/*
	 * [depth][columns]; with nibbles [depth / block][block / 8, rounded up][columns][4], in
	 * bytes
	 */
	const int8_t *q;
	bool nibbles; /* whether weights have 4 bits */
	/* depth: steps; block: steps that have the same scales, a divisor of depth */
	int64_t depth, block;
	const float *scale; /* [depth / block][columns] */
	/*
	 * zero points, [depth / block][columns], with same_zero 0; NULL: all zero points are
	 * same_zero
	 */
	const int8_t *zero;
	int8_t same_zero;
};

/*
 * Rows, at most CPU_WEIGHED_ROWS, that are multiplied with weights of struct cpu_weights. The
 * bias, which may be NULL, has a number for each column.
 */
struct cpu_weighted {
	int64_t lines, lda, ldy;
	const float *a, *bias;
	float *y;
	float lo, hi; /* limits of results, see struct cpu_tile */
};

typedef void (*cpu_dots_fn)(const struct cpu_dots *dots);

enum cpu_window { CPU_WINDOW_DOT, CPU_WINDOW_MAX, CPU_WINDOW_SUM, CPU_WINDOW_SQUARES };

struct cpu_simd {
	const char *name;
	int lanes; /* floats of a vector */
	int rows;  /* the most rows of a tile */
	/* the most rows of a tile of dots[], by its vectors of columns; they divide CPU_DOT_ROWS */
	int dot_rows[5];
	/* whether dots[] and channel_dots() multiply pairs of 16-bit integers, and not four bytes */
	bool pairs;
	/*
	 * Functions that compute a tile, by the number of its rows and of its vectors of columns.
	 */
	void (*tile[CPU_MAX_ROWS + 1][3])(const struct cpu_tile *tile);
	void (*pack)(const struct cpu_pack *pack);
	/* y[j * ldy + i] = x[i * ldx + j], for i < rows and j < columns. */
	void (*transpose)(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
			  int64_t columns);
	/*
	 * Element i of a row combines from[at[t] + i] over all taps t. CPU_WINDOW_DOT multiplies
	 * them by w[t] and adds start last; the other kinds begin with start. Reads up to CPU_SLACK
	 * floats beyond a row.
	 */
	void (*window)(enum cpu_window kind, const struct cpu_window_rows *lines, const int64_t *at,
		       const float *w, int64_t taps, float start);
	/*
	 * Depthwise 3x3 windows with stride 1. Reads two rows after the last one, and up to
	 * CPU_SLACK floats beyond a row.
	 */
	void (*window_3x3)(const struct cpu_window_rows *lines, const float *w, float bias);
	/*
	 * Element i of y combines x[t][i] over all taps t. CPU_WINDOW_DOT multiplies them by
	 * w[t][i] and adds bias[i] last; bias may be NULL. Reads and writes exactly n floats of
	 * each row.
	 */
	void (*lines)(enum cpu_window kind, float *y, int64_t n, const float *const *x,
		      const float *w, int64_t taps, const float *bias);
	void (*pixels_3x3)(const struct cpu_pixels *pixels);
	void (*copy_rows)(const struct cpu_window_rows *lines);
	float (*sum)(const float *x, int64_t n);
	/* y[r] = dot product of x and a[r * lda ...], for each row of a. */
	void (*dot)(float *y, const float *x, const float *a, int64_t lda, int64_t rows, int64_t n);
	/* y[j] = sum over k of x[k] * a[k * lda + j], for each column of a. */
	void (*combine)(float *y, const float *x, const float *a, int64_t lda, int64_t depth,
			int64_t n);
	/*
	 * y = function of x; kind: enum ir_unary. Returns false when there is no loop for the
	 * function. x may be y.
	 */
	bool (*unary)(int kind, float alpha, float beta, float *y, const float *x, int64_t n);
	/*
	 * y = a op b; kind: enum ir_binary up to IR_PRELU. A step is 1, or 0 to read one element
	 * for all.
	 */
	void (*binary)(int kind, float *y, const float *a, int64_t sa, const float *b, int64_t sb,
		       int64_t n);
	/*
	 * whole_unary() and whole_binary() do for integers what unary() and binary() do for floats.
	 * dtype: enum ir_dtype, an integer type of 8 bits or more; lo, hi: limits of IR_CLAMP,
	 * which the type must hold.
	 */
	bool (*whole_unary)(int dtype, int kind, int64_t lo, int64_t hi, void *y, const void *x,
			    int64_t n);
	void (*whole_binary)(int dtype, int kind, void *y, const void *a, int64_t sa, const void *b,
			     int64_t sb, int64_t n);
	/*
	 * y = 1 where x is NaN (kind IR_IS_NAN) or infinite (other kinds), else 0; dtype: IR_F32 or
	 * IR_F16.
	 */
	void (*says)(int dtype, int kind, uint8_t *y, const void *x, int64_t n);
	/*
	 * Convert to float16 and back; round_halves() rounds float32 numbers to numbers that
	 * float16 has.
	 */
	void (*to_halves)(uint16_t *y, const float *x, int64_t n);
	void (*from_halves)(float *y, const uint16_t *x, int64_t n);
	void (*round_halves)(float *y, int64_t n);
	/* Returns the sum of e^(x - max). */
	double (*exp_sum)(const float *x, int64_t n, float max);
	/* Softmax of `lines` contiguous rows of n floats each; x may be y. */
	void (*softmax)(float *y, const float *x, int64_t lines, int64_t n);
	/*
	 * Softmax of `columns` adjacent columns; the n elements of a column are `step` floats
	 * apart.
	 */
	void (*softmax_columns)(float *y, const float *x, int64_t n, int64_t step, int64_t columns);
	/*
	 * Returns the sum of a row, of its magnitudes (CPU_FOLD_ABS) or of its squared distances
	 * from the centre (CPU_FOLD_SQUARES), or an extreme. A NaN is both the largest and the
	 * smallest element.
	 */
	double (*fold)(enum cpu_fold kind, const float *x, int64_t n, double centre);
	/* Folds element x[i] into the accumulator y[i]; the centre is 0. */
	void (*fold_row)(enum cpu_fold kind, double *y, const float *x, int64_t n);
	void (*normalize)(const struct cpu_normal *normal, float *y, const float *x, int64_t n);
	/*
	 * Winograd's transforms for n channels, at least CPU_MAX_LANES. winograd_in() transforms
	 * 4x4 pixels x to 16 results, `step` floats apart. winograd_out() transforms 16 products
	 * back to 2x2 pixels y, adds the bias and clamps to lo and hi; it returns false when some
	 * pixel was not finite before it was clamped.
	 */
	void (*winograd_in)(float *v, int64_t step, const float *const *x, int64_t n);
	bool (*winograd_out)(float *const *y, const float *m, int64_t step, const float *bias,
			     float lo, float hi, int64_t n);
	/* Converts the sums of pixels with n channels to 8-bit results. */
	void (*finish)(const struct cpu_finish *finish, uint8_t *y, const int32_t *sums,
		       int64_t pixels, int64_t n);
	/*
	 * Functions that compute a tile of integer products, by its vectors of columns (1 to 4) and
	 * the number of its rows (1 to dot_rows[]). All others are NULL, and all of them at a level
	 * without such functions, such as base.
	 */
	cpu_dots_fn dots[5][CPU_DOT_ROWS + 1];
	void (*channel_dots)(const struct cpu_channel_dots *dots);
	/* Sets to[i] = from[i] ^ flip for n bytes; NULL at a level without pairs. */
	void (*widen_row)(int16_t *to, const uint8_t *from, uint8_t flip, int64_t n);
	/*
	 * Converts n sums to 8-bit results; a sum is a float32 plus an integer of `before`, which
	 * may be NULL. With each_scale and each_bias there is one number per sum, else one for all.
	 * Bias may be NULL.
	 */
	void (*finish_floats)(const struct cpu_finish *finish, uint8_t *y, const float *sums,
			      const int32_t *before, bool each_scale, bool each_bias, int64_t n);
	/* widen(): y = x - zero for bytes x. add_floats(): y += x for integral x. */
	void (*widen)(float *y, const uint8_t *x, bool is_signed, int32_t zero, int64_t n);
	void (*add_floats)(int32_t *y, const float *x, int64_t n);
	/*
	 * quantize(): y = x / scale + zero as integers, halves rounded to even and saturated; NaN
	 * becomes the zero point. dequantize(): y = (x - zero) * scale.
	 */
	void (*quantize)(const struct cpu_quanta *quanta, uint8_t *y, const float *x, int64_t n);
	void (*dequantize)(const struct cpu_quanta *quanta, float *y, const uint8_t *x, int64_t n);
	void (*integers)(const struct cpu_integers *op, uint8_t *y, const uint8_t *a,
			 const uint8_t *b, int64_t n);
	/* y[i * rows + r] = x[r * step + i], for 2 to 4 rows of n bytes. */
	void (*interleave)(uint8_t *y, const uint8_t *x, int64_t step, int rows, int64_t n);
	/*
	 * widen_weights() converts weights to floats, [depth][columns]; weigh() multiplies rows
	 * with weights. @vecs: vectors of columns. weigh() multiplies sums over a block with its
	 * scale, so that elements of a row from 2^112 on may overflow.
	 */
	void (*widen_weights)(const struct cpu_weights *weights, int vecs, float *to);
	void (*weigh)(const struct cpu_weights *weights, const struct cpu_weighted *lines,
		      int vecs);
};

/*
 * Returns the column of element i of @vecs vectors of 16, in the order in which a level's dot
 * products read weights, scales and biases.
 */
static inline int cpu_dot_channel(const struct cpu_simd *simd, int i, int vecs)
{
	if (simd->pairs)
		return i / 16 * 16 + i % 8 / 4 * 8 + i % 16 / 8 * 4 + i % 4;
	return i % 16 / 4 * 4 * vecs + i / 16 * 4 + i % 4;
}

enum cpu_level { CPU_LEVEL_BASE, CPU_LEVEL_AVX2, CPU_LEVEL_AVX512, CPU_LEVEL_COUNT };

/* Returns the functions of a level; NULL when this processor or build lacks the level. */
const struct cpu_simd *cpu_simd_level(enum cpu_level level);
/* Returns the highest level of this processor and build; the lowest where QEMU emulates it. */
const struct cpu_simd *cpu_simd_best(void);
/* Returns the level of this name, such as "avx2"; NULL when this processor or build lacks it. */
const struct cpu_simd *cpu_simd_named(const char *name);
/*
 * Writes the names of the levels that this processor and build have, lowest first: "base, avx2 and
 * avx512".
 */
void cpu_simd_list(char *text, size_t size);

#endif
