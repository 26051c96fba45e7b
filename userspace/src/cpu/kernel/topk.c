// SPDX-License-Identifier: MIT
/*
 * Fast topk: finds the first elements of rows in order. Elements become keys: integers of which the
 * largest comes first. Keys that are larger than the k-th largest so far are collected; whenever
 * the buffer is full, the k largest stay. So a row is read once, mostly with one comparison per
 * element, and only the results are sorted.
 */
#include <string.h>

#include "cpu/element.h"
#include "cpu/fast.h"
#include "util/number.h"
#include "cpu/kernel/kernels.h"

/* The least elements that are worth a thread. */
#define GRAIN 8192
#define BLOCK 256
/* Entries of the buffer beyond twice the number of results. */
#define SPARE 32
/* Runs of this many entries are sorted by insertion, and longer ones merged of these. */
#define FEW 12

struct entry {
	uint64_t key;
	int64_t at;
};

struct selection {
	enum ir_dtype dtype, result;
	bool max;
	int64_t n, k, inner, room; /* room: entries of the buffer */
	const void *x;
	void *y;
	struct entry *entries; /* two buffers of `room` entries for each thread */
};

/*
 * Whether a comes before b. Two entries are never equal: of equal keys the lower index comes first.
 */
static bool comes_before(struct entry a, struct entry b)
{
	return (a.key > b.key) | ((a.key == b.key) & (a.at < b.at));
}

/* --- Keys --- */

/* Returns the key of a float: -0 is equal to 0, and NaN is larger than all numbers. */
static uint64_t float_key(float x)
{
	uint32_t bits;

	x += 0.0f;
	memcpy(&bits, &x, sizeof(bits));
	bits = bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
	return x != x ? UINT32_MAX : bits;
}

static uint64_t half_key(uint16_t x)
{
	return float_key(wnn_half_to_float(x));
}

#define SIGNED_KEY(x)	((uint64_t)(int64_t)(x) ^ UINT64_C(1) << 63)
#define UNSIGNED_KEY(x) ((uint64_t)(x))

#define READ(name, type, key)                                                                      \
	static void read_##name(const void *x, int64_t at, int64_t step, int64_t n, uint64_t flip, \
				uint64_t *keys)                                                    \
	{                                                                                          \
		const type *from = (const type *)x + at;                                           \
                                                                                                   \
		for (int64_t i = 0; i < n; i++)                                                    \
			keys[i] = key(from[i * step]) ^ flip;                                      \
	}

READ(f32, float, float_key)
READ(f16, uint16_t, half_key)
READ(i8, int8_t, SIGNED_KEY)
READ(u8, uint8_t, UNSIGNED_KEY)
READ(i32, int32_t, SIGNED_KEY)
READ(u32, uint32_t, UNSIGNED_KEY)
READ(i64, int64_t, SIGNED_KEY)
READ(u64, uint64_t, UNSIGNED_KEY)

static void (*const readers[])(const void *x, int64_t at, int64_t step, int64_t n, uint64_t flip,
			       uint64_t *keys) = {
	[IR_F32] = read_f32, [IR_F16] = read_f16, [IR_I8] = read_i8,   [IR_U8] = read_u8,
	[IR_I32] = read_i32, [IR_U32] = read_u32, [IR_I64] = read_i64, [IR_U64] = read_u64,
};

/* --- Order --- */

static void sort_few(struct entry *e, int64_t n)
{
	for (int64_t i = 1; i < n; i++) {
		struct entry moving = e[i];
		int64_t at = i;

		for (; at && comes_before(moving, e[at - 1]); at--)
			e[at] = e[at - 1];
		e[at] = moving;
	}
}

static void merge(const struct entry *a, int64_t na, const struct entry *b, int64_t nb,
		  struct entry *to)
{
	int64_t i = 0, j = 0;

	while (i < na && j < nb) {
		bool second = comes_before(b[j], a[i]);

		to[i + j] = second ? b[j] : a[i];
		i += !second;
		j += second;
	}
	memcpy(to + i + j, a + i, (size_t)(na - i) * sizeof(*a));
	memcpy(to + na + j, b + j, (size_t)(nb - j) * sizeof(*b));
}

static void sort(struct entry *e, int64_t n, struct entry *beside)
{
	struct entry *from = e, *to = beside;

	for (int64_t i = 0; i < n; i += FEW)
		sort_few(e + i, n - i < FEW ? n - i : FEW);
	for (int64_t run = FEW; run < n; run *= 2) {
		struct entry *swap = from;

		for (int64_t i = 0; i < n; i += 2 * run) {
			int64_t na = n - i < run ? n - i : run;
			int64_t nb = n - i - na < run ? n - i - na : run;

			merge(from + i, na, from + i + na, nb, to + i);
		}
		from = to;
		to = swap;
	}
	if (from != e)
		memcpy(e, from, (size_t)n * sizeof(*e));
}

static struct entry middle_of(struct entry a, struct entry b, struct entry c)
{
	struct entry first = comes_before(a, b) ? a : b, second = comes_before(a, b) ? b : a;

	return comes_before(c, first) ? first : comes_before(c, second) ? c : second;
}

/*
 * Moves the k entries that come first to the front, in any order (quickselect). When unlucky splits
 * have taken more work than a sort, it sorts the rest. @beside: memory for n entries.
 */
static void keep_best(struct entry *e, int64_t n, int64_t k, struct entry *beside)
{
	int64_t lo = 0, hi = n - 1, work = 16 * n;

	while (lo < hi) {
		struct entry pivot = middle_of(e[lo], e[lo + (hi - lo) / 2], e[hi]);
		int64_t i = lo, j = hi;

		work -= hi - lo;
		if (work < 0) {
			sort(e + lo, hi - lo + 1, beside);
			return;
		}
		while (i <= j) {
			struct entry swap;

			while (comes_before(e[i], pivot))
				i++;
			while (comes_before(pivot, e[j]))
				j--;
			if (i > j)
				break;
			swap = e[i];
			e[i++] = e[j];
			e[j--] = swap;
		}
		if (k - 1 <= j)
			hi = j;
		else if (k - 1 >= i)
			lo = i;
		else
			return;
	}
}

static uint64_t last_key(const struct entry *e, int64_t k)
{
	uint64_t key = UINT64_MAX;

	for (int64_t i = 0; i < k; i++)
		key = e[i].key < key ? e[i].key : key;
	return key;
}

/* --- Rows --- */

static void select_vector(const struct selection *s, int64_t from, int64_t to, struct entry *e)
{
	uint64_t keys[BLOCK], flip = s->max ? 0 : UINT64_MAX, least = 0;
	struct entry *beside = e + s->room;
	int64_t count = 0;

	for (int64_t first = 0; first < s->n; first += BLOCK) {
		int64_t size = s->n - first < BLOCK ? s->n - first : BLOCK;

		readers[s->dtype](s->x, from + first * s->inner, s->inner, size, flip, keys);
		for (int64_t i = 0; i < size; i++) {
			/* Among equal keys the entries that are collected already come first. */
			if (count >= s->k && keys[i] <= least)
				continue;
			if (count == s->room) {
				keep_best(e, count, s->k, beside);
				count = s->k;
				least = last_key(e, count);
				if (keys[i] <= least)
					continue;
			}
			e[count++] = (struct entry){ keys[i], first + i };
		}
	}
	if (count > s->k)
		keep_best(e, count, s->k, beside);
	sort(e, s->k, beside);
	for (int64_t i = 0; i < s->k; i++)
		cpu_store_int(s->result, s->y, to + i * s->inner, e[i].at);
}

static void select_vectors(void *argument, int64_t item, unsigned int worker)
{
	const struct selection *s = argument;
	int64_t outer = item / s->inner, inner = item % s->inner;

	select_vector(s, outer * s->n * s->inner + inner, outer * s->k * s->inner + inner,
		      s->entries + (int64_t)worker * 2 * s->room);
}

int cpu_topk(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	     void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	uint32_t axis = node->attrs.arg.axis;
	struct selection s = { .dtype = node->operands[0]->type.dtype,
			       .result = node->results[0]->type.dtype,
			       .max = node->attrs.arg.max,
			       .n = x.dim[axis],
			       .k = ir_type_dim(&node->results[0]->type, axis),
			       .inner = x.stride[axis],
			       .x = in[0],
			       .y = out[0] };
	int64_t lines = x.count / s.n;
	bool parallel = lines > 1 && x.count > GRAIN;

	s.room = s.k > (s.n - SPARE) / 2 ? s.n : 2 * s.k + SPARE;
	s.entries = cpu_scratch(cpu, (parallel ? cpu->threads : 1) * 2 * (size_t)s.room *
					     sizeof(*s.entries));
	if (!s.entries)
		return wnn_error_nomem(err, "the selection of elements");
	if (parallel)
		cpu_threads_run(cpu->workers, lines, select_vectors, &s);
	for (int64_t i = 0; i < lines && !parallel; i++)
		select_vectors(&s, i, 0);
	return 0;
}

const char *cpu_topk_refuses(const struct cpu_ask *ask)
{
	enum ir_dtype dtype = ask->node->operands[0]->type.dtype;

	return (size_t)dtype < ARRAY_SIZE(readers) && readers[dtype] ?
		       NULL :
		       "it has no kernel for elements of this type";
}
