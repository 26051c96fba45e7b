// SPDX-License-Identifier: MIT
/*
 * Compares every function of the tables of vector instructions with plain C, at every level that
 * the host has, on memory that ends or begins at an inaccessible page. A function without a check
 * fails the test.
 */
#include <math.h>
#include <string.h>

#include "cpu/ref/reference.h"
#include "simd_check.h"

const struct cpu_simd *simd;
bool low;

struct guard floats(int64_t n)
{
	return guard_make((size_t)n, low);
}

void put_odd_values(struct guard *g, int64_t n)
{
	static const float odd[] = {
		NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-40f, -3e38f, 3e38f, 100
	};

	for (int64_t i = 0; i < n; i++)
		if (random_below(4) == 0)
			g->data[i] = odd[random_below(sizeof(odd) / sizeof(odd[0]))];
}

void expect(const char *what, int64_t i, double actual, double expected, double bound)
{
	bool same = isnan(expected) ? isnan(actual) :
		    isinf(expected) ? actual == expected :
		    expected == 0 && bound == 0 ?
				      actual == 0 && signbit(actual) == signbit(expected) :
				      fabs(actual - expected) <= bound;

	if (!same)
		fail_msg("%s of level %s: element %d is %.9g, expected %.9g", what, simd->name,
			 (int)i, actual, expected);
}

/* Returns the error that a sum of n products of numbers up to 1 may have. */
static double loss(int64_t n)
{
	return 1e-7 * (double)(n + 2);
}

static double limited(double v, bool limit)
{
	if (!limit)
		return v;
	return v < -0.5 ? -0.5 : v > 0.75 ? 0.75 : v;
}

/* --- Matrix products -------------------------------------------------------------------------- */

enum { MAX_DEPTH = 200 };

static double tile_start(const struct cpu_tile *t, double before, int64_t row, int64_t column)
{
	return (t->add ? before : 0) + (double)(t->row_bias    ? t->row_bias[row] :
						t->column_bias ? t->column_bias[column] :
								 0);
}

static void check_one_tile(int64_t rows, int64_t vecs)
{
	int64_t columns = vecs * simd->lanes, at[MAX_DEPTH], b_size = 0;
	int64_t depth = between(1, random_below(3) ? 24 : MAX_DEPTH);
	int64_t ldc = columns + random_below(9), c_size = (rows - 1) * ldc + columns;
	uint32_t bias = random_below(3);
	bool limit = random_below(2), packed = random_below(2);
	struct guard a = floats(depth * rows), c = floats(c_size), first = floats(rows + columns),
		     b;
	struct cpu_tile t = { .depth = depth,
			      .a = a.data,
			      .at = packed ? NULL : at,
			      .c = c.data,
			      .ldc = ldc,
			      .scaled = random_below(2),
			      .factor = 0.75f,
			      .add = random_below(2),
			      .row_bias = bias == 1 ? first.data : NULL,
			      .column_bias = bias == 2 ? first.data + rows : NULL,
			      .lo = limit ? -0.5f : -INFINITY,
			      .hi = limit ? 0.75f : INFINITY };
	float before[CPU_MAX_ROWS * (2 * CPU_MAX_LANES + 8)];

	for (int64_t k = 0; k < depth; k++) {
		at[k] = packed ? k * columns : random_below(100);
		b_size = at[k] + columns > b_size ? at[k] + columns : b_size;
	}
	b = floats(b_size);
	t.b = b.data;
	memcpy(before, c.data, (size_t)c_size * sizeof(float));
	assert_non_null(simd->tile[rows][vecs]);
	simd->tile[rows][vecs](&t);
	for (int64_t i = 0; i < c_size; i++) {
		int64_t row = i / ldc, column = i % ldc;
		double sum = (double)before[i];

		if (column < columns) {
			double products = 0;

			for (int64_t k = 0; k < depth; k++)
				products += (double)a.data[k * rows + row] *
					    (double)b.data[at[k] + column];
			sum = tile_start(&t, sum, row, column) + products * (t.scaled ? 0.75 : 1);
			sum = limited(sum, limit);
		}
		expect("tile", i, (double)c.data[i], sum, column < columns ? loss(depth) : 0);
	}
	guard_free(&a);
	guard_free(&b);
	guard_free(&c);
	guard_free(&first);
}

static void check_tile(void)
{
	assert_in_range(simd->rows, 1, CPU_MAX_ROWS);
	assert_in_range(simd->lanes, 1, CPU_MAX_LANES);
	for (int64_t rows = 1; rows <= simd->rows; rows++)
		for (int64_t vecs = 1; vecs <= 2; vecs++)
			check_one_tile(rows, vecs);
}

/* Checks pack() with rows in up to four runs, which may end where the memory ends. */
static void check_pack(void)
{
	int64_t n = between(1, 2 * simd->lanes), depth = between(1, 20), at[20];
	int64_t width = n > simd->lanes ? 2 * simd->lanes : simd->lanes, size = 0, runs;
	struct guard to = floats((depth + 1) * width), from;
	struct cpu_pack p = {
		.to = to.data, .at = at, .depth = depth, .n = n, .loose = random_below(2)
	};
	int64_t needed;

	runs = between(1, n < 4 ? n : 4);
	for (int64_t i = 0; i < runs; i++) {
		p.begin[i] = i * n / runs;
		p.place[i] = random_below(50);
		needed = p.loose ? width : (i + 1) * n / runs - p.begin[i];
		size = p.place[i] + needed > size ? p.place[i] + needed : size;
	}
	p.runs = (int)runs;
	for (int64_t k = 0; k < depth; k++)
		at[k] = random_below(100);
	at[random_below((uint32_t)depth)] = 100;
	size += 100;
	from = floats(size);
	p.from = from.data;
	simd->pack(&p);
	for (int64_t k = 0; k < depth; k++)
		for (int64_t i = 0, run = 0; i < n; i++) {
			while (run + 1 < runs && p.begin[run + 1] <= i)
				run++;
			expect("pack", k * width + i, (double)to.data[k * width + i],
			       (double)from.data[at[k] + p.place[run] + i - p.begin[run]], 0);
		}
	guard_free(&to);
	guard_free(&from);
}

static void check_transpose(void)
{
	int64_t rows = between(1, 19), columns = between(1, 19);
	int64_t ldx = columns + random_below(3),
		ldy = rows + (random_below(2) ? random_below(3) : 0);
	struct guard x = floats((rows - 1) * ldx + columns), y = floats((columns - 1) * ldy + rows);

	simd->transpose(y.data, ldy, x.data, ldx, rows, columns);
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < columns; j++)
			expect("transpose", j * ldy + i, (double)y.data[j * ldy + i],
			       (double)x.data[i * ldx + j], 0);
	guard_free(&x);
	guard_free(&y);
}

/* Checks that long sums have hardly more error than short ones, also with a large bias. */
static void check_long_sums(void)
{
	enum { DEPTH = 4096 };
	int64_t rows = between(1, simd->rows), columns = 2 * simd->lanes, at[DEPTH];
	struct guard a = floats(DEPTH * rows), b = floats(DEPTH + columns),
		     c = floats(rows * columns);
	struct guard bias = floats(rows);
	struct cpu_tile t = { .depth = DEPTH,
			      .a = a.data,
			      .b = b.data,
			      .at = at,
			      .c = c.data,
			      .ldc = columns,
			      .row_bias = bias.data,
			      .lo = -INFINITY,
			      .hi = INFINITY };

	for (int64_t k = 0; k < DEPTH; k++)
		at[k] = k;
	for (int64_t i = 0; i < DEPTH * rows; i++)
		a.data[i] = fabsf(a.data[i]);
	for (int64_t i = 0; i < DEPTH + columns; i++)
		b.data[i] = fabsf(b.data[i]);
	for (int64_t r = 0; r < rows; r++)
		bias.data[r] *= 0x1p16f;
	simd->tile[rows][2](&t);
	for (int64_t i = 0; i < rows * columns; i++) {
		double sum = 0, most;

		for (int64_t k = 0; k < DEPTH; k++)
			sum += (double)a.data[k * rows + i / columns] *
			       (double)b.data[k + i % columns];
		most = 12 * 0x1p-24 * sum;
		sum += (double)bias.data[i / columns];
		expect("a long sum", i, (double)c.data[i], sum, most + 0x1p-24 * fabs(sum));
	}
	guard_free(&a);
	guard_free(&b);
	guard_free(&c);
	guard_free(&bias);
}

/* Checks that a tile of two vectors has the bits of tiles of one row and one vector. */
static void check_same_bits(void)
{
	enum { DEPTH = 150 };
	int64_t rows = between(1, simd->rows), columns = 2 * simd->lanes, at[DEPTH];
	struct guard a = floats(DEPTH * rows), b = floats(DEPTH + columns),
		     c = floats(rows * columns);
	struct guard one = floats(DEPTH), part = floats(simd->lanes);
	struct cpu_tile t = { .depth = DEPTH,
			      .a = a.data,
			      .b = b.data,
			      .at = at,
			      .c = c.data,
			      .ldc = columns,
			      .lo = -INFINITY,
			      .hi = INFINITY };

	for (int64_t k = 0; k < DEPTH; k++)
		at[k] = k;
	simd->tile[rows][2](&t);
	t.c = part.data;
	t.a = one.data;
	for (int64_t r = 0; r < rows; r++) {
		for (int64_t k = 0; k < DEPTH; k++)
			one.data[k] = a.data[k * rows + r];
		for (int64_t half = 0; half < 2; half++) {
			t.b = b.data + half * simd->lanes;
			simd->tile[1][1](&t);
			assert_memory_equal(c.data + r * columns + half * simd->lanes, part.data,
					    (size_t)simd->lanes * sizeof(float));
		}
	}
	guard_free(&a);
	guard_free(&b);
	guard_free(&c);
	guard_free(&one);
	guard_free(&part);
}

static void check_dot(void)
{
	int64_t rows = between(1, 5), n = between(1, 200), lda = n + random_below(5);
	struct guard y = floats(rows), x = floats(n), a = floats((rows - 1) * lda + n);

	simd->dot(y.data, x.data, a.data, lda, rows, n);
	for (int64_t r = 0; r < rows; r++) {
		double sum = 0;

		for (int64_t i = 0; i < n; i++)
			sum += (double)x.data[i] * (double)a.data[r * lda + i];
		expect("dot", r, (double)y.data[r], sum, loss(n));
	}
	guard_free(&y);
	guard_free(&x);
	guard_free(&a);
}

static void check_combine(void)
{
	int64_t depth = between(1, 20), n = between(1, 200), lda = n + random_below(5);
	struct guard y = floats(n), x = floats(depth), a = floats((depth - 1) * lda + n);

	simd->combine(y.data, x.data, a.data, lda, depth, n);
	for (int64_t j = 0; j < n; j++) {
		double sum = 0;

		for (int64_t k = 0; k < depth; k++)
			sum += (double)x.data[k] * (double)a.data[k * lda + j];
		expect("combine", j, (double)y.data[j], sum, loss(depth));
	}
	guard_free(&y);
	guard_free(&x);
	guard_free(&a);
}

static void check_sum(void)
{
	int64_t n = between(1, 300);
	struct guard x = floats(n);
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)x.data[i];
	expect("sum", 0, (double)simd->sum(x.data, n), sum, loss(n));
	guard_free(&x);
}

/* --- Windows ---------------------------------------------------------------------------------- */

enum { MAX_TAPS = 12 };

static double combined(enum cpu_window kind, double y, double x, double w)
{
	switch (kind) {
	case CPU_WINDOW_DOT:
		return y + x * w;
	case CPU_WINDOW_MAX:
		return isnan(y) || y > x ? y : x;
	case CPU_WINDOW_SUM:
		return y + x;
	default:
		return y + x * x;
	}
}

static void check_window(void)
{
	enum cpu_window kind = (enum cpu_window)random_below(4);
	int64_t n = between(1, 150), taps = random_below(3) ? between(1, MAX_TAPS) : 9;
	int64_t count = between(1, 4), from_step = n + random_below(9), at[MAX_TAPS], size = 0;
	int64_t to_step = n + random_below(3), place;
	float start = kind == CPU_WINDOW_DOT ? 0.5f : kind == CPU_WINDOW_MAX ? -INFINITY : 0;
	bool limit = random_below(2);
	struct guard y = floats((count - 1) * to_step + n), w = floats(taps), x;
	struct cpu_window_rows l = { .to = y.data,
				     .to_step = to_step,
				     .from_step = from_step,
				     .n = n,
				     .lines = count,
				     .lo = limit ? -0.5f : -INFINITY,
				     .hi = limit ? 0.75f : INFINITY };

	for (int64_t t = 0; t < taps; t++) {
		at[t] = random_below(200);
		size = at[t] + n > size ? at[t] + n : size;
	}
	size += (count - 1) * from_step + CPU_SLACK;
	x = floats(size);
	if (kind == CPU_WINDOW_MAX)
		put_odd_values(&x, size);
	l.from = x.data;
	simd->window(kind, &l, at, kind == CPU_WINDOW_DOT ? w.data : NULL, taps, start);
	for (int64_t i = 0; i < count * n; i++) {
		double v = (double)start;

		place = i / n * from_step + i % n;
		for (int64_t t = 0; t < taps; t++)
			v = combined(kind, v, (double)x.data[at[t] + place], (double)w.data[t]);
		expect("window", i, (double)y.data[i / n * to_step + i % n], limited(v, limit),
		       loss(taps));
	}
	guard_free(&y);
	guard_free(&w);
	guard_free(&x);
}

static void check_window_3x3(void)
{
	int64_t n = between(1, 60), count = between(1, 9);
	int64_t from_step = n + 2 + random_below(4), to_step = n + random_below(3);
	bool limit = random_below(2);
	struct guard x = floats((count + 1) * from_step + n + CPU_SLACK), w = floats(9);
	struct guard y = floats((count - 1) * to_step + n);
	struct cpu_window_rows l = { .to = y.data,
				     .from = x.data,
				     .to_step = to_step,
				     .from_step = from_step,
				     .n = n,
				     .lines = count,
				     .lo = limit ? -0.5f : -INFINITY,
				     .hi = limit ? 0.75f : INFINITY };

	simd->window_3x3(&l, w.data, 0.25f);
	for (int64_t i = 0; i < count * n; i++) {
		const float *from = x.data + i / n * from_step + i % n;
		double v = 0.25;

		for (int t = 0; t < 9; t++)
			v += (double)from[t / 3 * from_step + t % 3] * (double)w.data[t];
		expect("window_3x3", i, (double)y.data[i / n * to_step + i % n], limited(v, limit),
		       loss(9));
	}
	guard_free(&x);
	guard_free(&w);
	guard_free(&y);
}

static void check_lines(void)
{
	enum cpu_window kind = (enum cpu_window)random_below(4);
	int64_t n = between(1, 70), taps = between(1, MAX_TAPS);
	bool has_bias = kind == CPU_WINDOW_DOT && random_below(2);
	struct guard y = floats(n), w = floats(taps * n), bias = floats(n), x[MAX_TAPS];
	const float *from[MAX_TAPS];

	for (int64_t t = 0; t < taps; t++) {
		x[t] = floats(n);
		if (kind == CPU_WINDOW_MAX)
			put_odd_values(&x[t], n);
		from[t] = x[t].data;
	}
	simd->lines(kind, y.data, n, from, kind == CPU_WINDOW_DOT ? w.data : NULL, taps,
		    has_bias ? bias.data : NULL);
	for (int64_t i = 0; i < n; i++) {
		double v = has_bias ? (double)bias.data[i] : kind == CPU_WINDOW_MAX ? -INFINITY : 0;

		for (int64_t t = 0; t < taps; t++)
			v = combined(kind, v, (double)from[t][i], (double)w.data[t * n + i]);
		expect("lines", i, (double)y.data[i], v, loss(taps));
	}
	for (int64_t t = 0; t < taps; t++)
		guard_free(&x[t]);
	guard_free(&y);
	guard_free(&w);
	guard_free(&bias);
}

/*
 * Checks 3x3 convolutions of pixels. A step of 0 reads the same pixel along a whole row, as the
 * kernel does for padding.
 */
static void check_pixels_3x3(void)
{
	int64_t n = between(simd->lanes, 3 * simd->lanes), count = between(1, 9);
	int64_t stride = between(1, 2), width = (count - 1) * stride + 3;
	bool has_bias = random_below(2), limit = random_below(2);
	struct guard y = floats(count * n), w = floats(9 * n), bias = floats(n), x[3];
	struct cpu_pixels p = { .y = y.data,
				.filter = w.data,
				.bias = has_bias ? bias.data : NULL,
				.n = n,
				.count = count,
				.stride = stride,
				.lo = limit ? -0.5f : -INFINITY,
				.hi = limit ? 0.75f : INFINITY };

	for (int r = 0; r < 3; r++) {
		p.step[r] = random_below(4) ? n : 0;
		x[r] = floats(p.step[r] ? width * n : n);
		p.x[r] = x[r].data;
	}
	simd->pixels_3x3(&p);
	for (int64_t i = 0; i < count * n; i++) {
		double sum = has_bias ? (double)bias.data[i % n] : 0;

		for (int64_t t = 0; t < 9; t++)
			sum += (double)p.x[t / 3][(i / n * stride + t % 3) * p.step[t / 3] + i % n] *
			       (double)w.data[t * n + i % n];
		expect("pixels_3x3", i, (double)y.data[i], limited(sum, limit), loss(9));
	}
	for (int r = 0; r < 3; r++)
		guard_free(&x[r]);
	guard_free(&y);
	guard_free(&w);
	guard_free(&bias);
}

static void check_copy_rows(void)
{
	int64_t n = between(1, 70), count = between(1, 6), every = between(1, 4);
	int64_t width = (n - 1) * every + 1, from_step = width + random_below(40);
	int64_t to_step = n + random_below(40);
	int64_t size = (count - 1) * from_step + width + (random_below(2) ? random_below(100) : 0);
	struct guard x = floats(size), y = floats((count - 1) * to_step + n);
	struct cpu_window_rows l = { .to = y.data,
				     .from = x.data,
				     .to_step = to_step,
				     .from_step = from_step,
				     .from_size = size,
				     .n = n,
				     .lines = count,
				     .every = every };

	put_odd_values(&x, size);
	for (int64_t i = 0; i < (count - 1) * to_step + n; i++)
		y.data[i] = 7;
	simd->copy_rows(&l);
	for (int64_t i = 0; i < (count - 1) * to_step + n; i++) {
		int64_t line = i / to_step, at = i % to_step;

		expect("copy_rows", i, (double)y.data[i],
		       at < n ? (double)x.data[line * from_step + at * every] : 7, 0);
	}
	guard_free(&x);
	guard_free(&y);
}

/* --- Functions of elements -------------------------------------------------------------------- */

/*
 * Returns whether the vector function of this kind has a small relative error for small results,
 * too.
 */
static bool keeps_digits(int kind)
{
	return kind == IR_ERF || kind == IR_EXP || kind == IR_SIGMOID || kind == IR_TANH ||
	       kind == IR_GELU || kind == IR_SWISH || kind == IR_MISH || kind == IR_LOG ||
	       kind == IR_SIN || kind == IR_SOFTPLUS;
}

static void check_unary_kind(int kind)
{
	struct ir_unary_attrs attrs = { .kind = kind, .alpha = -0.5f, .beta = 0.75f };
	int64_t n = between(1, 100);
	struct guard x = floats(n), y = floats(n), copy = floats(n);
	bool in_place = random_below(2);

	for (int64_t i = 0; i < n; i++)
		x.data[i] *= 20;
	put_odd_values(&x, n);
	memcpy(copy.data, x.data, (size_t)n * sizeof(float));
	assert_true(simd->unary(kind, -0.5f, 0.75f, in_place ? x.data : y.data, x.data, n));
	for (int64_t i = 0; i < n; i++) {
		double e = (double)(float)cpu_apply_unary(&attrs, (double)copy.data[i]);

		expect("unary", kind, (double)(in_place ? x : y).data[i], e,
		       1e-6 * (fabs(e) + (keeps_digits(kind) ? 1e-37 : 1)));
	}
	guard_free(&x);
	guard_free(&y);
	guard_free(&copy);
}

/* simd->unary() lacks IR_LOGICAL_NOT and the kinds after it, which compute or return integers. */
static void check_unary(void)
{
	float none = 0;

	for (int kind = IR_UNARY_NONE; kind < IR_LOGICAL_NOT; kind++)
		check_unary_kind(kind);
	assert_false(simd->unary(IR_LOGICAL_NOT, 0, 0, &none, &none, 0));
}

static double binary_of(int kind, double a, double b)
{
	switch (kind) {
	case IR_ADD:
		return a + b;
	case IR_SUB:
		return a - b;
	case IR_MUL:
		return a * b;
	case IR_DIV:
		return a / b;
	case IR_POW:
		return pow(a, b);
	case IR_PRELU:
		return a < 0 ? a * b : a;
	default:
		if (isnan(a) || isnan(b))
			return NAN;
		if (a == b) /* +0 is greater than -0 */
			return signbit(a) == (kind == IR_MAX) ? b : a;
		return (a > b) == (kind == IR_MAX) ? a : b;
	}
}

static void check_binary(void)
{
	for (int kind = IR_ADD; kind <= IR_PRELU; kind++) {
		int64_t n = between(1, 100), sa = random_below(2), sb = random_below(2);
		struct guard y, a, b;

		y = floats(n);
		a = floats(sa ? n : 1);
		b = floats(sb ? n : 1);
		put_odd_values(&a, sa ? n : 1);
		put_odd_values(&b, sb ? n : 1);
		simd->binary(kind, y.data, a.data, sa, b.data, sb, n);
		for (int64_t i = 0; i < n; i++) {
			double e = (double)(float)binary_of(kind, (double)a.data[i * sa],
							    (double)b.data[i * sb]);

			expect("binary", kind, (double)y.data[i], e,
			       kind == IR_POW ? 1e-6 * fabs(e) : 0);
		}
		guard_free(&y);
		guard_free(&a);
		guard_free(&b);
	}
}

/* --- Folds ------------------------------------------------------------------------------------ */

static double folded(enum cpu_fold kind, double y, double x, double centre)
{
	switch (kind) {
	case CPU_FOLD_SUM:
		return y + x;
	case CPU_FOLD_ABS:
		return y + fabs(x);
	case CPU_FOLD_SQUARES:
		return y + (x - centre) * (x - centre);
	case CPU_FOLD_MAX:
		return isnan(y) || y > x ? y : x;
	default:
		return isnan(y) || y < x ? y : x;
	}
}

static double fold_start(enum cpu_fold kind)
{
	return kind == CPU_FOLD_MAX ? -INFINITY : kind == CPU_FOLD_MIN ? INFINITY : 0;
}

static void check_fold(void)
{
	for (int kind = CPU_FOLD_SUM; kind <= CPU_FOLD_MIN; kind++) {
		enum cpu_fold fold = (enum cpu_fold)kind;
		int64_t n = between(1, 200);
		struct guard x = floats(n);
		double centre = random_below(2) ? 0.25 : 0, y = fold_start(fold);

		if (kind >= CPU_FOLD_MAX)
			put_odd_values(&x, n);
		for (int64_t i = 0; i < n; i++)
			y = folded(fold, y, (double)x.data[i], centre);
		expect("fold", kind, simd->fold(fold, x.data, n, centre), y, 1e-12);
		guard_free(&x);
	}
}

static void check_fold_row(void)
{
	for (int kind = CPU_FOLD_SUM; kind <= CPU_FOLD_MIN; kind++) {
		enum cpu_fold fold = (enum cpu_fold)kind;
		int64_t n = between(1, 100);
		struct guard x = floats(n), memory = floats(2 * n);
		double *y = (double *)memory.data, before[100];

		put_odd_values(&x, n);
		for (int64_t i = 0; i < n; i++)
			y[i] = before[i] = random_below(9) ? 0.01 * random_below(100) : NAN;
		simd->fold_row(fold, y, x.data, n);
		for (int64_t i = 0; i < n; i++) {
			double e = folded(fold, before[i], (double)x.data[i], 0);

			expect("fold_line", i, y[i], e, 1e-12 * (1 + fabs(e)));
		}
		guard_free(&x);
		guard_free(&memory);
	}
}

static void check_normalize(void)
{
	bool each = random_below(2), has_scale = random_below(2), has_bias = random_below(2);
	int64_t n = between(1, 100), params = each ? n : 1;
	struct guard x = floats(n), y = floats(n), scale = floats(params), bias = floats(params);
	struct cpu_normal m = { .mean = 0.25,
				.factor = 3,
				.scale = has_scale ? scale.data : NULL,
				.bias = has_bias ? bias.data : NULL,
				.each = each };

	simd->normalize(&m, y.data, x.data, n);
	for (int64_t i = 0; i < n; i++) {
		double v = ((double)x.data[i] - 0.25) * 3;

		v *= has_scale ? (double)scale.data[each ? i : 0] : 1;
		v += has_bias ? (double)bias.data[each ? i : 0] : 0;
		expect("normalize", i, (double)y.data[i], v, 1e-6);
	}
	guard_free(&x);
	guard_free(&y);
	guard_free(&scale);
	guard_free(&bias);
}

uint8_t *bytes(struct guard *memory, int64_t n)
{
	int64_t words = (n + 3) / 4;
	uint8_t *b;

	*memory = floats(words);
	b = (uint8_t *)memory->data + (low ? 0 : 4 * words - n);
	for (int64_t i = 0; i < n; i++)
		b[i] = (uint8_t)random_below(256);
	return b;
}

/* --- The table -------------------------------------------------------------------------------- */

#define ENTRY(name) { offsetof(struct cpu_simd, name), sizeof(simd->name), check_##name }

static const struct {
	size_t at, size;
	void (*check)(void);
} entries[] = {
	ENTRY(tile),	      ENTRY(pack),
	ENTRY(transpose),     ENTRY(window),
	ENTRY(window_3x3),    ENTRY(lines),
	ENTRY(pixels_3x3),    ENTRY(copy_rows),
	ENTRY(sum),	      ENTRY(dot),
	ENTRY(combine),	      ENTRY(unary),
	ENTRY(binary),	      ENTRY(whole_unary),
	ENTRY(whole_binary),  ENTRY(says),
	ENTRY(to_halves),     ENTRY(from_halves),
	ENTRY(round_halves),  ENTRY(exp_sum),
	ENTRY(softmax),	      ENTRY(softmax_columns),
	ENTRY(fold),	      ENTRY(fold_row),
	ENTRY(normalize),     ENTRY(winograd_in),
	ENTRY(winograd_out),  ENTRY(finish),
	ENTRY(dots),	      ENTRY(channel_dots),
	ENTRY(widen_row),     ENTRY(finish_floats),
	ENTRY(widen),	      ENTRY(add_floats),
	ENTRY(quantize),      ENTRY(dequantize),
	ENTRY(integers),      ENTRY(interleave),
	ENTRY(widen_weights), ENTRY(weigh),
};

/* Tests that entries[] has every function of the table of vector instructions, in its order. */
static void test_all_entries(void **state)
{
	size_t at = offsetof(struct cpu_simd, tile);

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		assert_int_equal(entries[i].at, at);
		at += entries[i].size;
	}
	assert_int_equal(at, sizeof(struct cpu_simd));
}

static void test_levels(void **state)
{
	(void)state;
	assert_non_null(cpu_simd_level(CPU_LEVEL_BASE));
	for (int level = 0; level < CPU_LEVEL_COUNT; level++) {
		simd = cpu_simd_level((enum cpu_level)level);
		if (!simd)
			continue;
		print_message("level %s\n", simd->name);
		for (int i = 0; i < rounds(); i++) {
			low = i & 1;
			for (size_t e = 0; e < sizeof(entries) / sizeof(entries[0]); e++)
				entries[e].check();
		}
		check_functions();
		check_long_sums();
		check_same_bits();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_entries),
		cmocka_unit_test(test_levels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
