/* SPDX-License-Identifier: MIT */
/*
 * Inner loops that are compiled once for each level of vector instructions. A level is a table of
 * functions; cpu_simd_best() picks one at run time, tests use all that the host has. Code that
 * depends on the level takes that of its context (cpu_set_level()), never cpu_simd_best().
 */
#ifndef WNN_CPU_SIMD_H
#define WNN_CPU_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Floats behind the end of a buffer that whole vectors may read or write. */
#define CPU_SLACK 64

#define CPU_MAX_ROWS  14 /* of a tile */
#define CPU_MAX_LANES 16

/*
 * One tile of a matrix product: C[rows][columns] = A * B * factor + addends, clamped to lo and hi.
 * Columns are one or two vectors. Rows of B need not be equidistant: B[k][n] is b[at[k] + n]; with
 * at NULL they are contiguous, each as long as the tile is wide. A is packed; with at NULL and lda,
 * it is read row-major.
 */
struct cpu_tile {
	int64_t depth;
	const float *a; /* [depth][rows], or row i from a[i * lda] on */
	int64_t lda;	/* or 0 */
	const float *b;
	const int64_t *at; /* [depth] */
	float *c;
	int64_t ldc;
	/* The factor of the sums, where it is not 1. */
	bool scaled;
	float factor;
	/*
	 * Addends, which come last, so that a large one is rounded once: C itself, and one per row
	 * or one per column, or NULL.
	 */
	bool add;
	const float *row_bias, *column_bias;
	float lo, hi; /* -INFINITY and INFINITY: all values stay, NaN too */
};

/*
 * Packs the B of a tile: `depth` rows of n floats. Row k is copied in runs: run i begins at
 * from[at[k] + place[i]] and goes to begin[i] of the packed row. Packed rows are one or two vectors
 * apart, as n floats need. With `loose`, as many floats as a packed row has may be read from the
 * begin of any run. The function may write behind the last row; floats behind the n-th of a row are
 * undefined.
 */
struct cpu_pack {
	float *to;
	const float *from;
	const int64_t *at;
	int64_t depth, n;
	bool loose;
	int pieces;
	int64_t place[2 * CPU_MAX_LANES], begin[2 * CPU_MAX_LANES];
};

/*
 * Rows of n floats each that are computed from other rows, each `every`-th float of which is read.
 */
struct cpu_lines {
	float *to;
	const float *from;
	int64_t to_step, from_step, n, lines;
	/* For copies, which read no float at or behind from[from_size]. */
	int64_t from_size, every;
	float lo,
		/*
		 * For windows: results are clamped to them; -INFINITY and INFINITY: none is
		 * changed, NaN included.
		 */
		hi;
};

enum cpu_fold { CPU_FOLD_SUM, CPU_FOLD_ABS, CPU_FOLD_SQUARES, CPU_FOLD_MAX, CPU_FOLD_MIN };

/* y = (x - mean) * factor * scale + bias; NULL: 1, 0. */
struct cpu_normal {
	double mean, factor;
	const float *scale, *bias;
	bool each; /* one for each element of a row; else one for all */
};

/* Converts sums of integer products to results of 8 bits: the formula of QCONV in ir/ops.def. */
struct cpu_finish {
	const float *scale; /* one a channel, like the bias */
	const int32_t *bias;
	float zero, lo, hi; /* the limits are within the type, too */
};

/* a op b between integers of 8 bits, as QBINARY in ir/ops.def. */
struct cpu_integers {
	int kind; /* IR_ADD, IR_SUB or IR_MUL */
	bool a_signed, b_signed;
	int32_t a_zero, b_zero;
	float a_scale, b_scale, scale, zero;
	float lo, hi;	   /* of the real result */
	float least, most; /* of the integer */
};

/*
 * A row of results of a depthwise 3x3 in channels-last layout, all windows of which lie within the
 * input from left to right.
 */
struct cpu_pixels {
	float *y;
	const float *x[3];	    /* of each tap's line, the first pixel that is read */
	int64_t step[3];	    /* floats from there to the next pixel; 0: all are this one */
	const float *filter, *bias; /* [tap][n], and [n] or NULL */
	int64_t n, count,
		stride; /* channels, at least as many as a vector has; results; pixels, 1 or 2 */
	float lo, hi;	/* as in struct cpu_tile */
};

#define CPU_WEIGHED_LINES 4

/*
 * Weights of 4 or 8 bits, one or two vectors of columns wide. A weight is (q - zero) * scale. 8-bit
 * integers are signed, 4-bit ones are unsigned: each byte has two, for the first vector (low half)
 * and for the second.
 */
struct cpu_weights {
	const int8_t *q; /* [depth][columns] */
	bool nibbles;
	int64_t depth, block; /* steps, and how many have the same scales, which divides them */
	const float *scale;   /* [depth / block][columns] */
	const int8_t *zero;   /* the same; NULL: they are 0, which is not for 4 bits */
};

/*
 * Rows, at most CPU_WEIGHED_LINES, to multiply with such weights; then the bias of each column is
 * added, or NULL.
 */
struct cpu_weighted {
	int64_t lines, lda, ldy;
	const float *a, *bias;
	float *y;
	float lo, hi; /* as in struct cpu_tile */
};

enum cpu_window { CPU_WINDOW_DOT, CPU_WINDOW_MAX, CPU_WINDOW_SUM, CPU_WINDOW_SQUARES };

struct cpu_simd {
	const char *name;
	int lanes; /* floats of a vector */
	int rows;  /* the most of a tile */
	/* By rows and vectors of columns; not below one. */
	void (*tile[CPU_MAX_ROWS + 1][3])(const struct cpu_tile *tile);
	void (*pack)(const struct cpu_pack *pack);
	/* y[j * ldy + i] = x[i * ldx + j], i below rows, j below columns. */
	void (*transpose)(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
			  int64_t columns);
	/*
	 * Element i of a row combines from[at[t] + i] over all taps t. CPU_WINDOW_DOT multiplies
	 * them by w[t] and adds start last; the other kinds begin with start. Reads up to CPU_SLACK
	 * floats beyond a row.
	 */
	void (*window)(enum cpu_window kind, const struct cpu_lines *lines, const int64_t *at,
		       const float *w, int64_t taps, float start);
	/*
	 * Depthwise 3x3 with stride 1, which reads two more rows, and up to CPU_SLACK floats beyond
	 * a row.
	 */
	void (*window_3x3)(const struct cpu_lines *lines, const float *w, float bias);
	/*
	 * Combines a row x[t] for each tap with, for CPU_WINDOW_DOT, w[t][n] and a bias or NULL.
	 * Reads and writes exactly n floats.
	 */
	void (*lines)(enum cpu_window kind, float *y, int64_t n, const float *const *x,
		      const float *w, int64_t taps, const float *bias);
	void (*pixels_3x3)(const struct cpu_pixels *pixels);
	void (*copy_lines)(const struct cpu_lines *lines);
	float (*sum)(const float *x, int64_t n);
	/* y[r] = x . a[r * lda], rows of a. */
	void (*dot)(float *y, const float *x, const float *a, int64_t lda, int64_t rows, int64_t n);
	/* y[j] = sum over k of x[k] * a[k * lda + j], columns of a. */
	void (*combine)(float *y, const float *x, const float *a, int64_t lda, int64_t depth,
			int64_t n);
	/* enum ir_unary; true when there is a loop for it. x may be y. */
	bool (*unary)(int kind, float alpha, float beta, float *y, const float *x, int64_t n);
	/* enum ir_binary up to IR_PRELU, nothing else; a step of 0 broadcasts, 1 walks. */
	void (*binary)(int kind, float *y, const float *a, int64_t sa, const float *b, int64_t sb,
		       int64_t n);
	/* float16 and float32; the last one makes each number the nearest that float16 has. */
	void (*to_halves)(uint16_t *y, const float *x, int64_t n);
	void (*from_halves)(float *y, const uint16_t *x, int64_t n);
	void (*round_halves)(float *y, int64_t n);
	/* softmax of contiguous rows of n floats each; x may be y */
	void (*softmax)(float *y, const float *x, int64_t lines, int64_t n);
	/* softmax of interleaved columns: `step` floats from one element to the next */
	void (*softmax_columns)(float *y, const float *x, int64_t n, int64_t step, int64_t columns);
	/*
	 * Folds a row; CPU_FOLD_SQUARES: the squared distances from the centre. NaN is the largest
	 * and the smallest element.
	 */
	double (*fold)(enum cpu_fold kind, const float *x, int64_t n, double centre);
	/* Folds x[i] into y[i]. */
	void (*fold_line)(enum cpu_fold kind, double *y, const float *x, int64_t n);
	void (*normalize)(const struct cpu_normal *normal, float *y, const float *x, int64_t n);
	/*
	 * Winograd's transform of n channels, at least CPU_MAX_LANES, of 4x4 pixels x; the 16
	 * results are `step` floats apart. And back to 2x2 pixels y, with the bias and clamped to
	 * lo and hi; false when some are not finite.
	 */
	void (*winograd_in)(float *v, int64_t step, const float *const *x, int64_t n);
	bool (*winograd_out)(float *const *y, const float *m, int64_t step, const float *bias,
			     float lo, float hi, int64_t n);
	/* Finishes pixels of n channels. */
	void (*finish)(const struct cpu_finish *finish, uint8_t *y, const int32_t *sums,
		       int64_t pixels, int64_t n);
	/*
	 * Finishes n sums that are float32, plus integers or NULL. Scale and bias, which may be
	 * NULL, are one for all or one each.
	 */
	void (*finish_floats)(const struct cpu_finish *finish, uint8_t *y, const float *sums,
			      const int32_t *before, bool each_scale, bool each_bias, int64_t n);
	/* widen: y = x - zero of bytes; add_floats: y += x, where x are integral. */
	void (*widen)(float *y, const uint8_t *x, bool is_signed, int32_t zero, int64_t n);
	void (*add_floats)(int32_t *y, const float *x, int64_t n);
	void (*integers)(const struct cpu_integers *op, uint8_t *y, const uint8_t *a,
			 const uint8_t *b, int64_t n);
	/* Weights as floats, [depth][columns]; and products with them. By vectors of columns. */
	void (*widen_weights)(const struct cpu_weights *weights, int vecs, float *to);
	void (*weigh)(const struct cpu_weights *weights, const struct cpu_weighted *lines,
		      int vecs);
};

enum cpu_level { CPU_LEVEL_BASE, CPU_LEVEL_AVX2, CPU_LEVEL_AVX512, CPU_LEVEL_COUNT };

/* NULL when the processor or this build lacks the level. */
const struct cpu_simd *cpu_simd_level(enum cpu_level level);
const struct cpu_simd *cpu_simd_best(void);
/* The level of this name, such as avx2; NULL when there is none here. */
const struct cpu_simd *cpu_simd_named(const char *name);
/* The names of those that there are, in words, lowest first. */
void cpu_simd_list(char *text, size_t size);

#endif
