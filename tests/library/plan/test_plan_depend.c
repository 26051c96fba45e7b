// SPDX-License-Identifier: MIT
/*
 * Tests which instructions must follow which: random accesses to all bytes of a range, or to
 * columns of it, against a table of the bytes. Every instruction follows, over some chain of edges,
 * the writers of the bytes that it reads, and the writers and readers of those that it writes; and
 * instructions that touch different columns of an image do not follow each other.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "plan/list/depend.h"
#include "../../random.h"

#define BYTES  512
#define OPS    200
#define GRAPHS 100
#define IMAGES 20

/*
 * For each instruction: the instructions that it follows over any number of edges, and those that
 * it follows over edges with data alone, which lead from a writer to a reader.
 */
struct followed {
	bool by[OPS][OPS], data[OPS][OPS];
};

/* The pitch (bytes from one row to the next) of the images that the accesses are parts of. */
enum images {
	SINGLE,	 /* all accesses have one pitch */
	IN_TURN, /* after 60 instructions each, an image with another pitch follows */
	MIXED,	 /* each instruction has a pitch of its own */
};

static bool touches(const struct hazard_access *access, int64_t at)
{
	if (at < access->lo || at >= access->hi)
		return false;
	return !access->pitch || (at - access->lo) % access->pitch < access->run;
}

/*
 * Returns a random access of some rows of `pitch` bytes from byte `begin` on: with probability 1/4
 * of whole rows, else of the same run of bytes in each row.
 */
static struct hazard_access draw(struct rng *rng, int64_t begin, int64_t pitch, bool write)
{
	struct hazard_access access = { .base = NPU_BASE_NONE, .write = write };
	int64_t rows = (BYTES - begin) / pitch, first = (int64_t)rng_below(rng, (uint64_t)rows);
	int64_t count = 1 + (int64_t)rng_below(rng, (uint64_t)(rows - first));

	access.lo = begin + first * pitch;
	access.hi = access.lo + count * pitch;
	if (rng_below(rng, 4)) {
		int64_t at = (int64_t)rng_below(rng, (uint64_t)pitch);

		access.pitch = pitch;
		access.run = 1 + (int64_t)rng_below(rng, (uint64_t)(pitch - at));
		access.hi += at + access.run - pitch;
		access.lo += at;
	}
	return access;
}

/* Marks the instructions that `op` follows by the edges, and those that these follow. */
static void follow(struct followed *followed, const struct plan_depend *depend, uint32_t op)
{
	size_t count;
	const struct depend_edge *edges = depend_edges(depend, op, &count);

	for (size_t e = 0; e < count; e++) {
		uint32_t from = edges[e].from;

		assert_true(from < op);
		followed->by[op][from] = true;
		followed->data[op][from] |= edges[e].data;
		for (uint32_t i = 0; i < from; i++) {
			followed->by[op][i] |= followed->by[from][i];
			followed->data[op][i] |= edges[e].data && followed->data[from][i];
		}
	}
}

/* Returns true if two accesses have a byte in common, and one of them writes. */
static bool are_ordered(const struct hazard_access *a, const struct hazard_access *b)
{
	if (!a->write && !b->write)
		return false;
	for (int64_t at = 0; at < BYTES; at++)
		if (touches(a, at) && touches(b, at))
			return true;
	return false;
}

/* Checks that all instructions for which `op` waits by an edge have bytes in common with it. */
static void check_edges(const struct plan_depend *depend, struct hazard_access list[OPS][2],
			uint32_t op)
{
	size_t count;
	const struct depend_edge *edges = depend_edges(depend, op, &count);

	for (size_t e = 0; e < count; e++) {
		bool ordered = false;

		for (int i = 0; i < 4; i++)
			ordered |= are_ordered(&list[op][i / 2], &list[edges[e].from][i % 2]);
		assert_true(ordered);
	}
}

/*
 * Checks that `op`, which writes list[0] and reads list[1], or reads both, follows the last writer
 * of each byte that it reads over edges with data, and notes the bytes that it writes. A write of
 * columns may leave out bytes, so that it counts as a read, too.
 */
static void check_data(const struct followed *followed, const struct hazard_access list[2],
		       uint32_t op, int64_t writers[BYTES])
{
	for (int64_t at = 0; at < BYTES; at++) {
		bool writes = list[0].write && touches(&list[0], at);
		bool reads = touches(&list[1], at) ||
			     (touches(&list[0], at) && (!writes || list[0].pitch));

		if (reads && writers[at] >= 0)
			assert_true(followed->data[op][writers[at]]);
		if (writes)
			writers[at] = op;
	}
}

/*
 * Checks a graph of random accesses. With a single image, whose rows have one pitch, edges between
 * instructions that touch different bytes are errors, too.
 */
static void check_accesses(struct rng *rng, struct followed *followed, enum images images)
{
	static const int64_t pitches[] = { 8, 16, 24, 64 };
	static struct hazard_access list[OPS][2];
	struct plan_depend *depend = depend_create();
	int64_t pitch = 0, begin = 0, writers[BYTES];

	assert_non_null(depend);
	memset(followed, 0, sizeof(*followed));
	memset(writers, -1, sizeof(writers));
	for (uint32_t op = 0; op < OPS; op++) {
		if (op == 0 || images == MIXED || (images == IN_TURN && op % 60 == 0)) {
			pitch = pitches[rng_below(rng, ARRAY_SIZE(pitches))];
			begin = (int64_t)rng_below(rng, (uint64_t)pitch);
		}
		list[op][0] = draw(rng, begin, pitch, rng_below(rng, 2));
		list[op][1] = draw(rng, begin, pitch, false);
		assert_int_equal(depend_add(depend, list[op], 2, op), 0);
		follow(followed, depend, op);
		if (images == SINGLE)
			check_edges(depend, list, op);
		check_data(followed, list[op], op, writers);
		for (int64_t at = 0; at < BYTES; at++)
			for (int a = 0; a < 2; a++) {
				if (!touches(&list[op][a], at))
					continue;
				for (uint32_t i = 0; i < op; i++)
					for (int b = 0; b < 2; b++)
						if ((list[op][a].write || list[i][b].write) &&
						    touches(&list[i][b], at))
							assert_true(followed->by[op][i]);
			}
	}
	depend_destroy(depend);
}

static void test_random(void **state)
{
	struct followed *followed = malloc(sizeof(*followed));
	struct rng rng = { 1 };

	(void)state;
	assert_non_null(followed);
	for (int i = 0; i < GRAPHS; i++)
		check_accesses(&rng, followed, (enum images)(i % 3));
	free(followed);
}

/* Returns an access of bytes [at, at + run) of each row of an image: 100 rows of 256 bytes. */
static struct hazard_access tile(int64_t at, int64_t run, bool write)
{
	return (struct hazard_access){ .base = NPU_BASE_NONE,
				       .lo = at,
				       .hi = 99 * 256 + at + run,
				       .pitch = 256,
				       .run = run,
				       .write = write };
}

/* Adds an instruction that touches a tile; checks that it follows none of other columns. */
static void add(struct plan_depend *depend, struct hazard_access *list, uint32_t op,
		struct hazard_access access)
{
	const struct depend_edge *edges;
	size_t count;

	list[op] = access;
	assert_int_equal(depend_add(depend, &access, 1, op), 0);
	edges = depend_edges(depend, op, &count);
	for (size_t e = 0; e < count; e++) {
		const struct hazard_access *from = &list[edges[e].from];

		assert_true(from->lo < access.lo + access.run && access.lo < from->lo + from->run);
	}
}

/*
 * Tests images that are written in 16 tiles of columns and read in 8, one image after the other at
 * the same address.
 */
static void test_apart(void **state)
{
	static struct hazard_access list[IMAGES * 24];
	struct plan_depend *depend = depend_create();
	uint32_t op = 0;

	(void)state;
	assert_non_null(depend);
	for (int image = 0; image < IMAGES; image++) {
		for (int64_t at = 0; at < 256; at += 16)
			add(depend, list, op++, tile(at, 16, true));
		for (int64_t at = 0; at < 256; at += 32)
			add(depend, list, op++, tile(at, 32, false));
	}
	depend_destroy(depend);
}

/*
 * Tests an instruction that reads all bytes. Before it, 16 writes of columns cover the image, and
 * after it 16 writes cover the image again. The last of these must follow the instruction, too.
 */
static void test_late_reader(void **state)
{
	struct hazard_access all = { .base = NPU_BASE_NONE, .hi = 100 * 256 };
	struct followed *followed = calloc(1, sizeof(*followed));
	struct plan_depend *depend = depend_create();

	(void)state;
	assert_non_null(followed);
	assert_non_null(depend);
	for (uint32_t op = 0; op < 33; op++) {
		struct hazard_access access = op == 16 ? all :
							 tile((op - op / 17) % 16 * 16, 16, true);

		assert_int_equal(depend_add(depend, &access, 1, op), 0);
		follow(followed, depend, op);
	}
	assert_true(followed->by[32][16]);
	depend_destroy(depend);
	free(followed);
}

/*
 * Tests images whose rows have different lengths, one after the other at the same address: when all
 * of one is written, nothing follows the images before any more.
 */
static void test_pitches(void **state)
{
	struct plan_depend *depend = depend_create();
	uint32_t op = 0;

	(void)state;
	assert_non_null(depend);
	for (int image = 0; image < IMAGES; image++) {
		int64_t pitch = image % 2 ? 64 : 96;
		uint32_t first = op;

		for (int64_t at = 0; at < 2 * pitch; at += 16) {
			struct hazard_access access = { .base = NPU_BASE_NONE,
							.lo = at % pitch,
							.hi = at % pitch + 96 * 64 - pitch + 16,
							.pitch = pitch,
							.run = 16,
							.write = at < pitch };
			const struct depend_edge *edges;
			size_t count;

			assert_int_equal(depend_add(depend, &access, 1, op), 0);
			edges = depend_edges(depend, op++, &count);
			for (size_t e = 0; e < count && at >= pitch; e++)
				assert_true(edges[e].from >= first);
		}
	}
	depend_destroy(depend);
}

/*
 * Tests so many writes of different columns that a further one counts as a write of all bytes: an
 * instruction that then reads all bytes follows every writer over a chain of edges with data.
 */
static void test_data_of_many(void **state)
{
	/* Leaves out the first and the last row, which have ranges of their own. */
	struct hazard_access all = { .base = NPU_BASE_NONE, .lo = 256, .hi = 99 * 256 };
	struct plan_depend *depend = depend_create();
	bool has[101] = { false };
	const struct depend_edge *edges;
	size_t count;

	(void)state;
	assert_non_null(depend);
	for (uint32_t op = 0; op < 100; op++) {
		struct hazard_access access = tile(2 * op, 2, true);

		assert_int_equal(depend_add(depend, &access, 1, op), 0);
	}
	assert_int_equal(depend_add(depend, &all, 1, 100), 0);
	has[100] = true;
	for (uint32_t op = 101; op-- > 0;) {
		assert_true(has[op]);
		edges = depend_edges(depend, op, &count);
		for (size_t e = 0; e < count; e++)
			has[edges[e].from] |= edges[e].data;
	}
	depend_destroy(depend);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	     cmocka_unit_test(test_apart),
		cmocka_unit_test(test_late_reader),  cmocka_unit_test(test_pitches),
		cmocka_unit_test(test_data_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
