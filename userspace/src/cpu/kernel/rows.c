// SPDX-License-Identifier: MIT
/*
 * Fast pad, tile, triangular and cumulativeSum for elements of 8 bits and more (cumulativeSum not
 * for float16 and float64): whole rows are copied, filled and added.
 */
#include <string.h>

#include "cpu/element.h"
#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

/* The least elements that are worth a thread. */
#define GRAIN 16384

struct rows {
	const struct ir_node *node;
	struct cpu_shape x, y;
	const char *from;
	char *to;
	size_t element;
	uint32_t last;	/* the axis from which on elements form a row, to the end of the shape */
	int64_t nx, ny; /* elements of a row of the operand and of the result */
	int64_t unit;	/* elements of one index of axis `last` */
};

static struct rows rows_of(const struct ir_node *node, const void *const *in, void *const *out)
{
	return (struct rows){
		.node = node,
		.x = cpu_shape_of(&node->operands[0]->type),
		.y = cpu_shape_of(&node->results[0]->type),
		.from = in[0],
		.to = out[0],
		.element = ir_dtype_bits(node->results[0]->type.dtype) / 8,
	};
}

static void run_rows(struct cpu_context *cpu, struct rows *r, cpu_range_fn work)
{
	cpu_parallel_ranges(cpu, r->y.count / r->ny, GRAIN / r->ny + 1, work, r);
}

/*
 * Sets r->last to the last axis that pad or tile makes longer, 0 when there is none, and the sizes
 * of rows: a row is all elements from this axis on.
 */
static void measure_rows(struct rows *r)
{
	r->last = r->y.rank;
	while (r->last > 0 && r->x.dim[r->last - 1] == r->y.dim[r->last - 1])
		r->last--;
	r->last -= r->last > 0;
	r->unit = r->y.rank ? r->y.stride[r->last] : 1;
	r->nx = r->y.rank ? r->x.dim[r->last] * r->unit : 1;
	r->ny = r->y.rank ? r->y.dim[r->last] * r->unit : 1;
}

/* --- tile --- */

/* Fills `size` bytes by repeating the first `known` bytes. */
static void repeat(char *to, size_t known, size_t size)
{
	while (known < size) {
		size_t more = known < size - known ? known : size - known;

		memcpy(to + known, to, more);
		known += more;
	}
}

static void tile_rows(void *argument, int64_t begin, int64_t end)
{
	const struct rows *r = argument;

	for (int64_t i = begin; i < end; i++) {
		char *to = r->to + (size_t)(i * r->ny) * r->element;
		int64_t rest = i, offset = 0;

		for (uint32_t d = r->last; d-- > 0; rest /= r->y.dim[d])
			offset += rest % r->y.dim[d] % r->x.dim[d] * r->x.stride[d];
		memcpy(to, r->from + (size_t)offset * r->element, (size_t)r->nx * r->element);
		repeat(to, (size_t)r->nx * r->element, (size_t)r->ny * r->element);
	}
}

int cpu_tile_copies(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		    void *const *out, struct wnn_error *err)
{
	struct rows r = rows_of(node, in, out);

	(void)err;
	measure_rows(&r);
	run_rows(cpu, &r, tile_rows);
	return 0;
}

/* --- pad --- */

static void fill(const struct rows *r, char *to, int64_t n)
{
	if (!n)
		return;
	memcpy(to, &r->node->attrs.pad.value, r->element);
	repeat(to, r->element, (size_t)n * r->element);
}

/* Fills the padding in front of a row or after it. */
static void fill_margin(const struct rows *r, char *to, const char *row, int64_t begin, int64_t end)
{
	const struct ir_pad_attrs *attrs = &r->node->attrs.pad;
	size_t unit = (size_t)r->unit * r->element;

	if (attrs->mode == IR_PAD_CONSTANT) {
		fill(r, to + (size_t)begin * unit, (end - begin) * r->unit);
		return;
	}
	for (int64_t i = begin; i < end; i++) {
		int64_t at =
			cpu_pad_index(attrs->mode, i - attrs->begin[r->last], r->x.dim[r->last]);

		memcpy(to + (size_t)i * unit, row + (size_t)at * unit, unit);
	}
}

static void pad_rows(void *argument, int64_t begin, int64_t end)
{
	const struct rows *r = argument;
	const struct ir_pad_attrs *attrs = &r->node->attrs.pad;
	int64_t first = r->y.rank ? attrs->begin[r->last] : 0;

	for (int64_t i = begin; i < end; i++) {
		char *to = r->to + (size_t)(i * r->ny) * r->element;
		int64_t rest = i, offset = 0;
		bool outside = false;
		const char *row;

		for (uint32_t d = r->last; d-- > 0; rest /= r->y.dim[d]) {
			int64_t at = cpu_pad_index(
				attrs->mode, rest % r->y.dim[d] - attrs->begin[d], r->x.dim[d]);

			outside |= at < 0;
			offset += at * r->x.stride[d];
		}
		if (outside) {
			fill(r, to, r->ny);
			continue;
		}
		row = r->from + (size_t)offset * r->element;
		memcpy(to + (size_t)(first * r->unit) * r->element, row,
		       (size_t)r->nx * r->element);
		fill_margin(r, to, row, 0, first);
		fill_margin(r, to, row, first + r->nx / r->unit, r->ny / r->unit);
	}
}

/* Copies the only element of each row. A compiler knows the size of the copies in each loop. */
static void spread(const struct rows *r, char *to, const char *from, int64_t count)
{
	const size_t step = (size_t)r->ny * r->element;

	for (int64_t i = 0; r->element == 1 && i < count; i++)
		to[(size_t)i * step] = from[i];
	for (int64_t i = 0; r->element == 2 && i < count; i++)
		memcpy(to + (size_t)i * step, from + 2 * i, 2);
	for (int64_t i = 0; r->element == 4 && i < count; i++)
		memcpy(to + (size_t)i * step, from + 4 * i, 4);
	for (int64_t i = 0; r->element == 8 && i < count; i++)
		memcpy(to + (size_t)i * step, from + 8 * i, 8);
}

/* Pads rows of one element, of which neighbours in the operand are neighbours in the result. */
static void spread_rows(void *argument, int64_t begin, int64_t end)
{
	const struct rows *r = argument;
	char *to = r->to + (size_t)(begin * r->ny) * r->element;

	fill(r, to, (end - begin) * r->ny);
	spread(r, to + (size_t)r->node->attrs.pad.begin[r->last] * r->element,
	       r->from + (size_t)begin * r->element, end - begin);
}

/* Whether spread_rows() can pad. Gradients of convolutions pad so, with zeros between elements. */
static bool is_spread(const struct rows *r)
{
	if (r->nx != 1 || !r->y.rank || r->node->attrs.pad.mode != IR_PAD_CONSTANT)
		return false;
	for (uint32_t d = 0; d < r->last; d++)
		if (r->x.dim[d] != r->y.dim[d])
			return false;
	return true;
}

int cpu_pad(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	    void *const *out, struct wnn_error *err)
{
	struct rows r = rows_of(node, in, out);

	(void)err;
	measure_rows(&r);
	run_rows(cpu, &r, is_spread(&r) ? spread_rows : pad_rows);
	return 0;
}

/* --- triangular --- */

static int64_t within(int64_t v, int64_t most)
{
	return v < 0 ? 0 : v > most ? most : v;
}

static void triangular_rows(void *argument, int64_t begin, int64_t end)
{
	const struct rows *r = argument;
	const struct ir_triangular_attrs *attrs = &r->node->attrs.triangular;
	int64_t height = r->y.dim[r->last - 1], columns = r->ny;

	for (int64_t i = begin; i < end; i++) {
		int64_t at = i % height + attrs->diagonal;
		int64_t first = attrs->upper ? within(at, columns) : 0;
		int64_t last = attrs->upper ? columns : within(at + 1, columns);
		char *to = r->to + (size_t)(i * columns) * r->element;
		const char *from = r->from + (size_t)(i * columns) * r->element;

		memset(to, 0, (size_t)first * r->element);
		/* The result may lie in the operand's memory. */
		memmove(to + (size_t)first * r->element, from + (size_t)first * r->element,
			(size_t)(last - first) * r->element);
		memset(to + (size_t)last * r->element, 0, (size_t)(columns - last) * r->element);
	}
}

int cpu_triangular(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		   void *const *out, struct wnn_error *err)
{
	struct rows r = rows_of(node, in, out);

	(void)err;
	r.last = r.y.rank - 1;
	r.ny = r.y.dim[r.last];
	run_rows(cpu, &r, triangular_rows);
	return 0;
}

/* --- cumulativeSum: several sums at once, since each addition waits for the one before --- */

/* Sums that are computed together: NEIGHBOURS contiguous ones, or APART that are not contiguous. */
#define NEIGHBOURS 256
#define APART	   8

struct sums {
	const struct ir_cumsum_attrs *attrs;
	const void *x;
	void *y;
	int64_t outer, n, inner;
	int64_t parts; /* blocks of sums in `inner` */
};

/*
 * Computes `count` sums; x and y point to their first elements, and the elements of a sum are
 * `step` apart. x may be y.
 */
#define SUMS(type, total_type)                                                           \
	static inline __attribute__((always_inline)) void some_##type(                   \
		type *y, const type *x, int64_t n, int64_t step, bool exclusive,         \
		const int64_t apart, int64_t count)                                      \
	{                                                                                \
		total_type total[NEIGHBOURS] = { 0 };                                    \
                                                                                         \
		for (int64_t k = 0; k < n; k++, x += step, y += step)                    \
			for (int64_t i = 0; i < count; i++) {                            \
				total_type before = total[i];                            \
                                                                                         \
				total[i] = (total_type)(before + x[i * apart]);          \
				y[i * apart] = (type)(exclusive ? before : total[i]);    \
			}                                                                \
	}                                                                                \
	static void sums_##type(void *argument, int64_t begin, int64_t end)              \
	{                                                                                \
		const struct sums *s = argument;                                         \
		int64_t first = s->attrs->reversed ? (s->n - 1) * s->inner : 0;          \
		int64_t step = s->attrs->reversed ? -s->inner : s->inner;                \
		bool exclusive = s->attrs->exclusive;                                    \
                                                                                         \
		for (int64_t i = begin; i < end; i++) {                                  \
			int64_t lines = s->inner == 1 ? APART : 1;                       \
			int64_t line = i / s->parts * lines;                             \
			int64_t at = line * s->n * s->inner + i % s->parts * NEIGHBOURS; \
			int64_t rest = lines > 1 ? s->outer - line :                     \
						   s->inner - i % s->parts * NEIGHBOURS; \
			type *y = (type *)s->y + at + first;                             \
			const type *x = (const type *)s->x + at + first;                 \
                                                                                         \
			if (lines == 1)                                                  \
				some_##type(y, x, s->n, step, exclusive, 1,              \
					    rest < NEIGHBOURS ? rest : NEIGHBOURS);      \
			else if (rest >= APART)                                          \
				some_##type(y, x, s->n, step, exclusive, s->n, APART);   \
			else                                                             \
				some_##type(y, x, s->n, step, exclusive, s->n, rest);    \
		}                                                                        \
	}

SUMS(float, double)
SUMS(uint8_t, uint8_t)
SUMS(uint32_t, uint32_t)
SUMS(uint64_t, uint64_t)

int cpu_cumsum(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	       void *const *out, struct wnn_error *err)
{
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	enum ir_dtype dtype = node->results[0]->type.dtype;
	uint32_t axis = node->attrs.cumsum.axis, bits = ir_dtype_bits(dtype);
	struct sums s = { .attrs = &node->attrs.cumsum,
			  .x = in[0],
			  .y = out[0],
			  .n = y.dim[axis],
			  .inner = y.stride[axis] };
	int64_t items, size;

	(void)err;
	s.outer = y.count / (s.n * s.inner);
	s.parts = (s.inner + NEIGHBOURS - 1) / NEIGHBOURS;
	items = s.inner == 1 ? (s.outer + APART - 1) / APART : s.outer * s.parts;
	size = y.count / items;
	cpu_parallel_ranges(cpu, items, GRAIN / size + 1,
			    dtype == IR_F32 ? sums_float :
			    bits == 8	    ? sums_uint8_t :
			    bits == 32	    ? sums_uint32_t :
					      sums_uint64_t,
			    &s);
	return 0;
}

const char *cpu_rows_refuses(const struct cpu_ask *ask)
{
	if (ir_dtype_bits(ask->node->results[0]->type.dtype) < 8)
		return "its elements have fewer than 8 bits";
	return ir_type_elements(&ask->node->results[0]->type) ? NULL : "its result is empty";
}

const char *cpu_cumsum_refuses(const struct cpu_ask *ask)
{
	enum ir_dtype dtype = ask->node->results[0]->type.dtype;

	return dtype == IR_F16 || dtype == IR_F64 ? "its type is float16 or float64" :
						    cpu_rows_refuses(ask);
}
