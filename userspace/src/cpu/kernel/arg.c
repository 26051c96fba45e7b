// SPDX-License-Identifier: MIT
/*
 * Fast argMin and argMax for elements of 8, 32 and 64 bits: contiguous rows, or as many interleaved
 * rows as there are elements after the axis. A NaN counts as the extreme. The result is the first
 * of equal elements or NaNs, or with attrs->last the last one.
 */
#include "cpu/element.h"
#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

#define GRAIN 16384
/* The most columns that are searched together, one result for each. */
#define COLUMNS 1024
/*
 * Elements that are compared together without a branch; one test then tells whether the wanted
 * element is among them.
 */
#define BLOCK 64

struct search {
	const struct cpu_simd *simd;
	const struct ir_arg_attrs *attrs;
	enum ir_dtype dtype, result;
	int64_t n, inner, blocks; /* blocks: blocks of columns in `inner` */
	const void *x;
	void *y;
};

/* --- Rows of float32: find the extreme, then its position --- */

static bool is_among(const float *x, int64_t n, float value)
{
	int found = 0;

	if (value == value)
		for (int64_t i = 0; i < n; i++)
			found |= x[i] == value;
	else
		for (int64_t i = 0; i < n; i++)
			found |= x[i] != x[i];
	return found;
}

static int64_t index_of(const float *x, int64_t n, float value, bool last)
{
	int64_t blocks = (n + BLOCK - 1) / BLOCK;

	for (int64_t b = 0; b < blocks; b++) {
		int64_t first = (last ? blocks - 1 - b : b) * BLOCK;
		int64_t size = n - first < BLOCK ? n - first : BLOCK;

		if (!is_among(x + first, size, value))
			continue;
		for (int64_t i = 0; i < size; i++) {
			int64_t at = first + (last ? size - 1 - i : i);

			if (is_among(x + at, 1, value))
				return at;
		}
	}
	return 0;
}

static void float_vectors(void *argument, int64_t begin, int64_t end)
{
	const struct search *s = argument;
	enum cpu_fold fold = s->attrs->max ? CPU_FOLD_MAX : CPU_FOLD_MIN;

	for (int64_t r = begin; r < end; r++) {
		const float *x = (const float *)s->x + r * s->n;

		cpu_store_int(s->result, s->y, r,
			      index_of(x, s->n, (float)s->simd->fold(fold, x, s->n, 0),
				       s->attrs->last));
	}
}

/* --- Columns --- */

/*
 * Whether element x replaces y, the best element before it. FIRST keeps the first of equal
 * elements, LAST the last. Neither has a branch.
 */
#define FIRST(order) ((x order y) | ((x != x) & (y == y)))
#define LAST(order)  ((x order y) | (x != x))

#define SEARCH_WITH(beats)                                 \
	for (int64_t i = 0; i < n; i++) {                  \
		type_of_elements x = from[i], y = best[i]; \
		int32_t before = at[i];                    \
                                                           \
		best[i] = beats ? x : y;                   \
		at[i] = beats ? (int32_t)k : before;       \
	}

#define SEARCH(type)                                                                             \
	static void search_##type(const struct search *s, const void *x, int64_t n, int32_t *at) \
	{                                                                                        \
		typedef type type_of_elements;                                                   \
		const type *from = x;                                                            \
		type best[COLUMNS];                                                              \
                                                                                                 \
		for (int64_t i = 0; i < n; i++) {                                                \
			best[i] = from[i];                                                       \
			at[i] = 0;                                                               \
		}                                                                                \
		for (int64_t k = 1; k < s->n; k++) {                                             \
			from += s->inner;                                                        \
			if (s->attrs->max && s->attrs->last)                                     \
				SEARCH_WITH(LAST(>=))                                            \
			else if (s->attrs->max)                                                  \
				SEARCH_WITH(FIRST(>))                                            \
			else if (s->attrs->last)                                                 \
				SEARCH_WITH(LAST(<=))                                            \
			else                                                                     \
				SEARCH_WITH(FIRST(<))                                            \
		}                                                                                \
	}

SEARCH(float)
SEARCH(int8_t)
SEARCH(uint8_t)
SEARCH(int32_t)
SEARCH(uint32_t)
SEARCH(int64_t)
SEARCH(uint64_t)

static void (*const searches[])(const struct search *s, const void *x, int64_t n, int32_t *at) = {
	[IR_F32] = search_float,    [IR_I8] = search_int8_t,	[IR_U8] = search_uint8_t,
	[IR_I32] = search_int32_t,  [IR_U32] = search_uint32_t, [IR_I64] = search_int64_t,
	[IR_U64] = search_uint64_t,
};

static void columns(void *argument, int64_t begin, int64_t end)
{
	const struct search *s = argument;
	size_t size = ir_dtype_bits(s->dtype) / 8;
	int32_t at[COLUMNS];

	for (int64_t item = begin; item < end; item++) {
		int64_t outer = item / s->blocks, first = item % s->blocks * COLUMNS;
		int64_t n = s->inner - first < COLUMNS ? s->inner - first : COLUMNS;
		int64_t from = outer * s->n * s->inner + first;

		searches[s->dtype](s, (const char *)s->x + (size_t)from * size, n, at);
		for (int64_t i = 0; i < n; i++)
			cpu_store_int(s->result, s->y, outer * s->inner + first + i, at[i]);
	}
}

int cpu_arg(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	    void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	uint32_t axis = node->attrs.arg.axis;
	struct search s = { .simd = cpu->simd,
			    .attrs = &node->attrs.arg,
			    .dtype = node->operands[0]->type.dtype,
			    .result = node->results[0]->type.dtype,
			    .n = x.dim[axis],
			    .inner = x.stride[axis],
			    .x = in[0],
			    .y = out[0] };
	int64_t outer = x.count / (s.n * s.inner);

	(void)err;
	s.blocks = (s.inner + COLUMNS - 1) / COLUMNS;
	if (s.inner == 1 && s.dtype == IR_F32)
		cpu_parallel_ranges(cpu, outer, GRAIN / s.n + 1, float_vectors, &s);
	else
		cpu_parallel_ranges(cpu, outer * s.blocks, GRAIN / (s.n * COLUMNS) + 1, columns,
				    &s);
	return 0;
}

const char *cpu_arg_refuses(const struct cpu_ask *ask)
{
	const struct ir_type *type = &ask->node->operands[0]->type;

	if (ir_dtype_bits(type->dtype) < 8 || type->dtype == IR_F16 || type->dtype == IR_F64)
		return "its type is float16, float64, or has fewer than 8 bits";
	if (ir_type_dim(type, ask->node->attrs.arg.axis) > INT32_MAX)
		return "its axis has more than 2147483647 elements";
	return NULL;
}
