// SPDX-License-Identifier: MIT
/*
 * Fast movement of elements of 8 bits and more: runs that are contiguous on both sides are copied
 * with memcpy().
 */
#include "cpu/element.h"

#include <string.h>

#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

/* The least elements that are worth a thread. */
#define GRAIN 16384

struct concat {
	const struct ir_node *node;
	const void *const *in;
	char *y;
	/* row: bytes of a row of the result; unit: bytes of one index of the axis */
	size_t row, unit;
};

/* Copies rows begin to end - 1 of the result from all operands. */
static void concat_rows(void *argument, int64_t begin, int64_t end)
{
	const struct concat *c = argument;
	uint32_t axis = c->node->attrs.axis;
	size_t at = 0;

	for (uint32_t k = 0; k < c->node->num_operands; k++) {
		size_t run = (size_t)ir_type_dim(&c->node->operands[k]->type, axis) * c->unit;
		const char *from = c->in[k];

		/* An operand that its producer wrote directly into the result is not copied. */
		for (int64_t i = begin; i < end && from != c->y + at; i++)
			memcpy(c->y + (size_t)i * c->row + at, from + (size_t)i * run, run);
		at += run;
	}
}

int cpu_concat(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	       void *const *out, struct wnn_error *err)
{
	const struct ir_type *type = &node->results[0]->type;
	struct cpu_shape y = cpu_shape_of(type);
	uint32_t axis = node->attrs.axis;
	int64_t line = y.dim[axis] * y.stride[axis];
	size_t element = ir_dtype_bits(type->dtype) / 8;
	struct concat c = { node, in, out[0], (size_t)line * element,
			    (size_t)y.stride[axis] * element };

	(void)err;
	cpu_parallel_ranges(cpu, y.count / line, (GRAIN + line - 1) / line, concat_rows, &c);
	return 0;
}

/*
 * A copy of equidistant runs of the source; a row of the result has one run for each index of an
 * axis.
 */
struct strided {
	struct cpu_shape y;
	int64_t stride[IR_MAX_RANK]; /* strides of the source in elements; may be 0 or negative */
	uint32_t outer;		     /* number of axes in front of the axis of a row */
	/* run: elements of a run; line: runs of a row; step: elements between runs in the source */
	int64_t run, line, step;
	int64_t parts; /* number of parts of a run, of GRAIN elements each but the last */
	size_t element;
	const char *from;
	char *to;
};

#define COPY_RUNS(bytes)                \
	for (int64_t k = 0; k < n; k++) \
	memcpy(to + k * (int64_t)(bytes), from + k * step, bytes)

/* Copies n runs; step: bytes between runs in the source. */
static void copy_row(char *to, const char *from, int64_t step, size_t run, int64_t n)
{
	size_t done = run, all = run * (size_t)n;

	if (!step) {
		/* Each copy doubles the bytes that the run has been repeated to so far. */
		memcpy(to, from, run);
		for (size_t more; done < all; done += more) {
			more = done < all - done ? done : all - done;
			memcpy(to + done, to, more);
		}
		return;
	}
	/* Copies of a constant size are single instructions. */
	switch (run) {
	case 1:
		COPY_RUNS(1);
		break;
	case 2:
		COPY_RUNS(2);
		break;
	case 4:
		COPY_RUNS(4);
		break;
	case 8:
		COPY_RUNS(8);
		break;
	default:
		COPY_RUNS(run);
	}
}

/*
 * Copies the runs begin to end - 1, row by row. digit[] is the index of the current row; like
 * digits of a number, a digit that reaches its dimension becomes 0 and carries.
 */
static void copy_runs(void *argument, int64_t begin, int64_t end)
{
	const struct strided *s = argument;
	int64_t element = (int64_t)s->element, k = begin % s->line, n;
	int64_t digit[IR_MAX_RANK], row = begin / s->line, offset = 0;

	for (uint32_t d = s->outer; d-- > 0; row /= s->y.dim[d]) {
		digit[d] = row % s->y.dim[d];
		offset += digit[d] * s->stride[d];
	}
	for (int64_t i = begin; i < end; i += n, k = 0) {
		n = s->line - k < end - i ? s->line - k : end - i;
		copy_row(s->to + i * s->run * element, s->from + (offset + k * s->step) * element,
			 s->step * element, (size_t)(s->run * element), n);
		for (uint32_t d = s->outer; d-- > 0;) {
			offset += s->stride[d];
			if (++digit[d] < s->y.dim[d])
				break;
			offset -= s->stride[d] * s->y.dim[d];
			digit[d] = 0;
		}
	}
}

/* Copies parts begin to end - 1 of all runs, so that threads can share a long run. */
static void copy_parts(void *argument, int64_t begin, int64_t end)
{
	const struct strided *s = argument;

	for (int64_t i = begin; i < end; i++) {
		int64_t first = i / s->parts * s->run, at = i % s->parts * GRAIN;
		int64_t n = s->run - at < GRAIN ? s->run - at : GRAIN;
		int64_t from = cpu_offset(&s->y, first, s->stride) + at;

		memcpy(s->to + (first + at) * (int64_t)s->element,
		       s->from + from * (int64_t)s->element, (size_t)n * s->element);
	}
}

/* Copies with the strides in s->stride; element 0 is at offset `base` of the source. */
static void move_strided(struct cpu_context *cpu, struct strided *s, const struct ir_node *node,
			 const void *const *in, void *const *out, int64_t base)
{
	uint32_t d;

	s->y = cpu_shape_of(&node->results[0]->type);
	s->element = ir_dtype_bits(node->results[0]->type.dtype) / 8;
	s->from = (const char *)in[0] + base * (int64_t)s->element;
	s->to = out[0];
	s->run = s->line = 1;
	/*
	 * Merges the innermost dims, along which result and source are equally contiguous, into
	 * runs.
	 */
	for (d = s->y.rank; d > 0 && (s->stride[d - 1] == s->run || s->y.dim[d - 1] == 1); d--)
		s->run *= s->y.dim[d - 1];
	if (d) {
		s->outer = d - 1;
		s->line = s->y.dim[d - 1];
		s->step = s->stride[d - 1];
	}
	s->parts = (s->run + GRAIN - 1) / GRAIN;
	if (s->parts > 1)
		cpu_parallel_ranges(cpu, s->y.count / s->run * s->parts, 1, copy_parts, s);
	else
		cpu_parallel_ranges(cpu, s->y.count / s->run, GRAIN / s->run + 1, copy_runs, s);
}

/*
 * A transpose of matrices, such as of channels-first images to channels-last ones. The elements
 * have 32 bits, of any type since they are only moved; or they are bytes, and the matrices have few
 * rows.
 */
struct matrices {
	const struct cpu_simd *simd;
	int64_t rows, columns; /* size of the source matrix */
	const void *from;
	void *to;
};

/*
 * Rows and columns of the squares in which a matrix is transposed: such squares suit the caches and
 * the TLB.
 */
#define SQUARE 16

/*
 * Transposes columns begin to end - 1 of a matrix. The last rows, too few for a square, are
 * transposed together with the square before them. All rows of a matrix with fewer columns than a
 * square are transposed in one call.
 */
static void transpose_columns(const struct matrices *m, const float *from, float *to, int64_t begin,
			      int64_t end)
{
	int64_t rows = m->rows, columns = m->columns, size;

	for (int64_t row = 0; row < rows; row += size) {
		size = rows - row < 2 * SQUARE || columns < SQUARE ? rows - row : SQUARE;
		m->simd->transpose(to + begin * rows + row, rows, from + row * columns + begin,
				   columns, size, end - begin);
	}
}

static void transpose_items(void *argument, int64_t begin, int64_t end)
{
	const struct matrices *m = argument;
	int64_t items = (m->columns + SQUARE - 1) / SQUARE;

	for (int64_t i = begin; i < end; i++) {
		int64_t at = i / items * m->rows * m->columns, first = i % items * SQUARE;
		int64_t last = first + SQUARE;

		transpose_columns(m, (const float *)m->from + at, (float *)m->to + at, first,
				  last < m->columns ? last : m->columns);
	}
}

/* The most rows of bytes that interleave() takes. */
#define MAX_INTERLEAVED 4
/* Columns that interleave() copies at a time. */
#define STRIP 4096

static void interleave_items(void *argument, int64_t begin, int64_t end)
{
	const struct matrices *m = argument;
	int64_t items = (m->columns + STRIP - 1) / STRIP;

	for (int64_t i = begin; i < end; i++) {
		int64_t at = i / items * m->rows * m->columns, first = i % items * STRIP;
		int64_t n = m->columns - first < STRIP ? m->columns - first : STRIP;

		m->simd->interleave((uint8_t *)m->to + at + first * m->rows,
				    (const uint8_t *)m->from + at + first, m->columns, (int)m->rows,
				    n);
	}
}

/*
 * Returns whether a transpose only swaps two runs of adjacent axes, after axes that stay. Sets
 * *rows and *columns to the number of elements of the first and the second run.
 */
static bool transposes_matrices(const struct ir_node *node, const struct cpu_shape *x,
				int64_t *rows, int64_t *columns)
{
	const uint32_t *perm = node->attrs.transpose.perm;
	uint32_t same = 0, split;

	while (same < x->rank && perm[same] == same)
		same++;
	if (same == x->rank)
		return false;
	split = perm[same];
	for (uint32_t i = same; i < x->rank; i++)
		if (perm[i] != same + (i - same + split - same) % (x->rank - same))
			return false;
	*rows = *columns = 1;
	for (uint32_t i = same; i < x->rank; i++)
		*(i < split ? rows : columns) *= x->dim[i];
	return true;
}

int cpu_transpose(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct matrices m = { .simd = cpu->simd, .from = in[0], .to = out[0] };
	uint32_t bits = ir_dtype_bits(node->results[0]->type.dtype);
	struct strided s = { .run = 1 };

	(void)err;
	if (!transposes_matrices(node, &x, &m.rows, &m.columns))
		bits = 0;
	if (bits == 8 && m.rows > 1 && m.rows <= MAX_INTERLEAVED) {
		int64_t items = (m.columns + STRIP - 1) / STRIP;

		cpu_parallel_ranges(cpu, x.count / (m.rows * m.columns) * items, GRAIN / STRIP,
				    interleave_items, &m);
		return 0;
	}
	if (bits == 32) {
		int64_t items = (m.columns + SQUARE - 1) / SQUARE;

		cpu_parallel_ranges(cpu, x.count / (m.rows * m.columns) * items,
				    GRAIN / (SQUARE * m.rows) + 1, transpose_items, &m);
		return 0;
	}
	for (uint32_t i = 0; i < x.rank; i++)
		s.stride[i] = x.stride[node->attrs.transpose.perm[i]];
	move_strided(cpu, &s, node, in, out, 0);
	return 0;
}

int cpu_slice(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	      void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct strided s = { .run = 1 };
	int64_t base = 0;

	(void)err;
	for (uint32_t i = 0; i < x.rank; i++) {
		base += node->attrs.slice.starts[i] * x.stride[i];
		s.stride[i] = node->attrs.slice.strides[i] * x.stride[i];
	}
	move_strided(cpu, &s, node, in, out, base);
	return 0;
}

int cpu_expand(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	       void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	struct strided s = { .run = 1 };

	(void)err;
	cpu_broadcast_strides(&x, &y, s.stride);
	move_strided(cpu, &s, node, in, out, 0);
	return 0;
}

int cpu_reverse(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct strided s = { .run = 1 };
	int64_t base = 0;

	(void)err;
	for (uint32_t i = 0; i < x.rank; i++) {
		bool reversed = node->attrs.axes >> i & 1;

		base += reversed ? (x.dim[i] - 1) * x.stride[i] : 0;
		s.stride[i] = reversed ? -x.stride[i] : x.stride[i];
	}
	move_strided(cpu, &s, node, in, out, base);
	return 0;
}

const char *cpu_move_refuses(const struct cpu_ask *ask)
{
	return ir_dtype_bits(ask->node->results[0]->type.dtype) < 8 ?
		       "its elements have fewer than 8 bits" :
		       NULL;
}
