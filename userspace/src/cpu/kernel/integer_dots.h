/* SPDX-License-Identifier: MIT */
/* Structures that the files of the kernel integer-dots share; integer_dots.c makes its plans. */
#ifndef WNN_CPU_INTEGER_DOTS_H
#define WNN_CPU_INTEGER_DOTS_H

#include "cpu/kernel/conv.h"

#define BLOCK 64 /* columns of a block */

/* The plan of a product or convolution. */
struct dots {
	struct cpu_plan base;
	const struct ir_node *node;
	const struct cpu_simd *simd;
	const struct ir_integer_attrs *attrs;
	const struct ir_unary_attrs *act;
	struct cpu_conv conv; /* of a matrix product: 1x1, with its rows as pixels of one row */
	struct ir_conv_attrs plain; /* of a matrix product: the attributes of `conv` */
	bool depthwise;
	/* factors that are multiplied and added at once: 2 at a level with pairs, else 4 */
	int unit;
	/*
	 * Whether a row of a window is one tap, because pixels are no whole multiples of four
	 * bytes.
	 */
	bool by_rows;
	/*
	 * Whether the taps of a depthwise 3x3 window are ordered by columns: a group of four taps
	 * is a column, and the fourth tap is unused.
	 */
	bool by_columns;
	/* Whether output pixel i reads input pixel i and no other one. */
	bool flat;
	int64_t pixels, columns, blocks;
	int64_t taps, depth; /* taps that the kernel reads, and bytes of a tap */
	int64_t stride[4];   /* of the filter: output channel, input channel, row, column */
	/*
	 * Output pixels of a depthwise convolution that share a block: several when BLOCK is a
	 * multiple of the channels and the stride along rows is 1, else 1.
	 */
	int64_t fold;
	int64_t tap_step[2]; /* bytes from one row, and from one column, of taps to the next */
	/* NULL, or the node that is fused: an addition, or a conversion to another scale. */
	const struct ir_node *next;
	uint32_t next_operand; /* the operand of `next` that is this node's result */
	/*
	 * 0x80 or 0: the exclusive or with it makes bytes of the input unsigned and those of the
	 * filter signed
	 */
	uint8_t flip, filter_flip;
	/*
	 * zero points that taps outside of the image read, enough for a vector of pixels
	 */
	uint8_t *padding;
};

/* One run of a plan. */
struct run {
	const struct dots *d;
	const uint8_t *x, *end; /* the first operand and its end */
	const void *packed;
	char *y;
	const int32_t *bias;
	const float *scale;
	bool plain;	    /* see struct cpu_dots */
	const void *addend; /* of a float result, or NULL */
	uint32_t addend_step;
	/*
	 * With a fused node: the operation that it computes; `other` has the bytes that it adds, or
	 * is NULL.
	 */
	struct cpu_integers after;
	bool tame; /* whether tiles can compute the fused node: see cpu_integers_are_tame() */
	const uint8_t *other;
	int64_t shares, per_share; /* number of shares of the pixels; pixels of a share */
	int64_t group;		   /* blocks of columns of an item */
	/* see struct cpu_dots, for prefetching the next group; 0: nothing is prefetched */
	int64_t spread;
	char *scratch;
	size_t worker_bytes;
};

/* Bytes of the weights of a whole block. */
static inline int64_t block_bytes(const struct dots *d)
{
	return (d->depthwise ? (d->taps + d->unit - 1) / d->unit * d->unit : d->taps * d->depth) *
	       BLOCK;
}

/*
 * Returns the tap of the window that the kernel reads as tap t of a depthwise convolution; kh * kw:
 * tap t is unused.
 */
static inline int64_t channel_tap(const struct dots *d, int64_t t)
{
	const struct cpu_conv *g = &d->conv;
	int64_t row = t % 4, column = t / 4;

	if (!d->by_columns)
		return t < d->taps ? t : g->kh * g->kw;
	return row < g->kh ? row * g->kw + column : g->kh * g->kw;
}

/* The position of an output pixel. */
struct pixel {
	int64_t image, row, column;
};

/* Returns what a tap reads for an output pixel: a pixel of the input, or of the padding. */
static inline const uint8_t *tap_at(const struct run *run, const struct pixel *p, int64_t kh,
				    int64_t kw)
{
	const struct cpu_conv *g = &run->d->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t h = p->row * a->strides[0] + kh * a->dilations[0] - a->padding[0];
	int64_t w = p->column * a->strides[1] + kw * a->dilations[1] - a->padding[2];

	if (h < 0 || w < 0 || h >= g->in_h || w >= g->in_w)
		return run->d->padding;
	return run->x + ((p->image * g->in_h + h) * g->in_w + w) * g->in_c;
}

/* Computes row @item of the result of a depthwise convolution; @argument is a struct run. */
void cpu_integer_channel_row(void *argument, int64_t item, unsigned int worker);

#endif
