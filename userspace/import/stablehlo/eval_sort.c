// SPDX-License-Identifier: MIT
/*
 * Kernels of sort and top_k. The region of a sort compares two elements. Mostly it compares keys,
 * each of which depends on one element alone: the keys are computed once for each element then, and
 * sorted as integers. Another region is called for each comparison.
 */
#include <math.h>
#include <string.h>

#include "program.h"
#include "run.h"

#define MAX_KEYS      8
#define MAX_REGISTERS 512

/* Fewer entries are sorted by insertion. */
#define LEAST_OF_RADIX 64

/* An element of a vector: its key, and its position in the vector. */
struct entry {
	uint64_t key;
	int64_t position;
};

static struct entry *sort_by_insertion(struct entry *entries, int64_t count)
{
	for (int64_t i = 1; i < count; i++) {
		struct entry entry = entries[i];
		int64_t at = i;

		for (; at && entries[at - 1].key > entry.key; at--)
			entries[at] = entries[at - 1];
		entries[at] = entry;
	}
	return entries;
}

/*
 * Sorts by rising keys; entries with equal keys keep their order. @room has as many entries, and
 * is overwritten. Returns where the sorted entries are: @entries or @room.
 */
static struct entry *sort_entries(struct entry *entries, struct entry *room, int64_t count)
{
	int64_t starts[sizeof(uint64_t)][256] = { 0 };

	if (count < LEAST_OF_RADIX)
		return sort_by_insertion(entries, count);
	for (int64_t i = 0; i < count; i++)
		for (size_t byte = 0; byte < sizeof(uint64_t); byte++)
			starts[byte][entries[i].key >> 8 * byte & 0xff]++;
	for (size_t byte = 0; byte < sizeof(uint64_t); byte++) {
		int64_t *start = starts[byte], sum = 0;
		struct entry *sorted = room;

		/* All keys have the same byte here. */
		if (start[entries[0].key >> 8 * byte & 0xff] == count)
			continue;
		for (size_t value = 0; value < 256; value++) {
			int64_t of_value = start[value];

			start[value] = sum;
			sum += of_value;
		}
		for (int64_t i = 0; i < count; i++)
			room[start[entries[i].key >> 8 * byte & 0xff]++] = entries[i];
		room = entries;
		entries = sorted;
	}
	return entries;
}

/* Returns an integer that rises with the numbers in total order, or, with @falling, falls. */
static uint64_t key_of(enum shlo_element element, struct shlo_num number, bool falling)
{
	enum shlo_class class = shlo_class(element);
	uint64_t key = class == SHLO_FLOAT ? (uint64_t)shlo_total_order(element, number.re) :
					     number.u;

	if (class == SHLO_FLOAT || class == SHLO_SIGNED)
		key ^= UINT64_C(1) << 63;
	return falling ? ~key : key;
}

/* The least entries of those that were added, in rising order; of equal ones, the first. */
struct best {
	struct entry *entries, *room; /* for 2 * @most entries each */
	int64_t most, count;
	bool is_limited;
	uint64_t limit; /* if @is_limited: this key and larger ones are too many */
};

/* Adds an entry. Once there are twice as many as wanted, the better half of them stays. */
static void best_add(struct best *best, uint64_t key, int64_t position)
{
	struct entry *sorted;

	if (best->is_limited && key >= best->limit)
		return;
	best->entries[best->count++] = (struct entry){ key, position };
	if (best->count < 2 * best->most)
		return;
	sorted = sort_entries(best->entries, best->room, best->count);
	best->room = sorted == best->entries ? best->room : best->entries;
	best->entries = sorted;
	best->count = best->most;
	best->is_limited = true;
	best->limit = sorted[best->most - 1].key;
}

/* Returns the entries, sorted. */
static struct entry *best_end(const struct best *best)
{
	return sort_entries(best->entries, best->room, best->count);
}

/* ---- the keys of a region */

/* Registers of one key, for the first and the second element that the region compares. */
struct sort_key {
	size_t first, second;
	enum shlo_element element;
	bool is_total, is_falling;
};

struct sort_keys {
	const struct shlo_program *program;
	size_t argument_count, count, visits;
	struct sort_key keys[MAX_KEYS]; /* the first one decides, the next ones where it is equal */
	bool is_needed[MAX_REGISTERS];	/* registers on which the keys of a first element depend */
};

static const struct shlo_step *step_to(const struct shlo_program *p, size_t reg)
{
	for (size_t i = 0; i < p->step_count; i++)
		if (p->steps[i].out == reg)
			return &p->steps[i];
	return NULL;
}

static const struct shlo_constant *constant_in(const struct shlo_program *p, size_t reg)
{
	for (size_t i = 0; i < p->constant_count; i++)
		if (p->constants[i].out == reg)
			return &p->constants[i];
	return NULL;
}

static size_t operand_count(const struct shlo_step *step)
{
	switch (step->family) {
	case SHLO_BINARY:
	case SHLO_COMPARE:
		return 2;
	case SHLO_SELECT:
	case SHLO_CLAMP:
		return 3;
	default:
		return 1;
	}
}

/*
 * Whether register @second has of the second element what @first has of the first one, and neither
 * depends on the other element. The number of visits is limited: values may be used many times.
 */
static bool are_alike(struct sort_keys *s, size_t first, size_t second)
{
	const struct shlo_step *a, *b;

	if (s->visits++ > 1000)
		return false;
	if (first < s->argument_count || second < s->argument_count)
		return first % 2 == 0 && second == first + 1;
	a = step_to(s->program, first);
	b = step_to(s->program, second);
	if (!a || !b) {
		const struct shlo_constant *x = constant_in(s->program, first);
		const struct shlo_constant *y = constant_in(s->program, second);

		/* What is neither of them comes from outside of the region. */
		return !a && !b &&
		       (first == second ||
			(x && y && !memcmp(&x->number, &y->number, sizeof(x->number))));
	}
	if (a->family != b->family || a->code != b->code || a->element != b->element ||
	    a->to != b->to || a->total != b->total)
		return false;
	for (size_t i = 0; i < operand_count(a); i++)
		if (!are_alike(s, a->in[i], b->in[i]))
			return false;
	return true;
}

/* Adds the key of a comparison with < or >. */
static bool add_key(struct sort_keys *s, const struct shlo_step *step)
{
	if (!step || step->family != SHLO_COMPARE || shlo_is_complex(step->element) ||
	    (step->code != SHLO_LT && step->code != SHLO_GT) || s->count == MAX_KEYS ||
	    !are_alike(s, step->in[0], step->in[1]))
		return false;
	s->keys[s->count++] = (struct sort_key){
		.first = step->in[0],
		.second = step->in[1],
		.element = step->element,
		.is_total = step->total,
		.is_falling = step->code == SHLO_GT,
	};
	return true;
}

static bool is_logical(const struct shlo_step *step, enum shlo_binary code)
{
	return step && step->family == SHLO_BINARY && step->code == (int)code &&
	       step->element == SHLO_I1;
}

/* Whether the step tells that the newest key is equal for both elements. */
static bool says_equal(const struct sort_keys *s, const struct shlo_step *step)
{
	const struct sort_key *key = &s->keys[s->count - 1];

	return step && step->family == SHLO_COMPARE && step->code == SHLO_EQ &&
	       step->in[0] == key->first && step->in[1] == key->second &&
	       step->element == key->element && step->total == key->is_total;
}

/*
 * Adds the keys that decide register @reg: a < b, or several keys as in
 * a0 < b0 or (a0 == b0 and (a1 < b1 or …)). Returns false when it is something else.
 */
static bool add_keys(struct sort_keys *s, size_t reg)
{
	const struct shlo_step *step = step_to(s->program, reg);

	for (size_t i = 0; is_logical(step, SHLO_B_OR) && i < 2; i++) {
		const struct shlo_step *rest = step_to(s->program, step->in[1 - i]);
		size_t before = s->count;

		if (!is_logical(rest, SHLO_B_AND) || !add_key(s, step_to(s->program, step->in[i])))
			continue;
		for (size_t k = 0; k < 2; k++)
			if (says_equal(s, step_to(s->program, rest->in[k])))
				return add_keys(s, rest->in[1 - k]);
		s->count = before;
	}
	return add_key(s, step);
}

static bool find_keys(struct sort_keys *s, const struct shlo_region *region)
{
	const struct shlo_program *p = region->program;

	*s = (struct sort_keys){ .program = p, .argument_count = region->block.argument_count };
	if (!p || p->register_count > MAX_REGISTERS || p->result_count != 1 ||
	    !add_keys(s, p->results[0]))
		return false;
	for (size_t i = 0; i < s->count; i++)
		s->is_needed[s->keys[i].first] = true;
	for (size_t i = p->step_count; i-- > 0;)
		for (size_t k = 0; s->is_needed[p->steps[i].out] && k < operand_count(&p->steps[i]);
		     k++)
			s->is_needed[p->steps[i].in[k]] = true;
	return true;
}

/* ---- sort */

struct vector {
	struct shlo_call *call;
	struct shlo_applier *applier;
	const struct sort_keys *keys; /* NULL: the region is called for each comparison */
	int64_t length, first, step;  /* index of the first element, and the stride */
	int64_t wanted;		      /* only the first ones of the result are read, at least 1 */
	int64_t *order, *room;	      /* @length numbers each */
	struct entry *entries;	      /* 2 * @length entries */
	uint64_t *numbers;	      /* @length keys for each of sort_keys.keys */
};

static bool comes_before(const struct vector *vector, int64_t a, int64_t b)
{
	struct shlo_num arguments[128], result;

	for (size_t k = 0; k < vector->call->op->operand_count; k++) {
		arguments[2 * k] = shlo_get(vector->call->in[k], vector->first + a * vector->step);
		arguments[2 * k + 1] =
			shlo_get(vector->call->in[k], vector->first + b * vector->step);
	}
	shlo_apply(vector->applier, arguments, &result);
	return result.i;
}

/* Sorts by merging: equal elements keep their order, and a wrong comparator does no harm. */
static void merge_sort(const struct vector *vector, int64_t from, int64_t to)
{
	int64_t middle = (from + to) / 2, a = from, b = middle;

	if (to - from < 2)
		return;
	merge_sort(vector, from, middle);
	merge_sort(vector, middle, to);
	for (int64_t i = from; i < to; i++) {
		bool right = a == middle ||
			     (b < to && comes_before(vector, vector->order[b], vector->order[a]));

		vector->room[i] = vector->order[right ? b++ : a++];
	}
	memcpy(vector->order + from, vector->room + from,
	       (size_t)(to - from) * sizeof(*vector->room));
}

/* Computes the keys of one element; false: one is a NaN that is neither less nor greater. */
static bool set_keys(const struct vector *vector, int64_t position)
{
	const struct sort_keys *s = vector->keys;
	const struct shlo_program *p = s->program;
	struct shlo_num *r = vector->applier->registers;

	for (size_t k = 0; k < vector->call->op->operand_count; k++)
		if (s->is_needed[2 * k])
			r[2 * k] = shlo_get(vector->call->in[k],
					    vector->first + position * vector->step);
	for (size_t i = 0; i < p->step_count; i++)
		if (s->is_needed[p->steps[i].out])
			r[p->steps[i].out] = shlo_run_step(&p->steps[i], r);
	for (size_t i = 0; i < s->count; i++) {
		const struct sort_key *key = &s->keys[i];
		struct shlo_num number = r[key->first];

		if (shlo_is_float(key->element) && !key->is_total) {
			if (isnan(number.re))
				return false;
			/* -0 and +0 are equal. */
			number.re += 0.0;
		}
		vector->numbers[(int64_t)i * vector->length + position] =
			key_of(key->element, number, key->is_falling);
	}
	return true;
}

/* Puts the wanted elements in the order of the only key. */
static void select_by_key(const struct vector *vector)
{
	struct best best = { .entries = vector->entries,
			     .room = vector->entries + 2 * vector->wanted,
			     .most = vector->wanted };
	const struct entry *entries;

	for (int64_t i = 0; i < vector->length; i++)
		best_add(&best, vector->numbers[i], i);
	entries = best_end(&best);
	for (int64_t i = 0; i < vector->wanted; i++)
		vector->order[i] = entries[i].position;
}

/* Sorts by the last key first: each sort keeps the order of those before it. */
static bool sort_by_keys(const struct vector *vector)
{
	struct entry *entries = vector->entries;
	int64_t length = vector->length;

	for (int64_t i = 0; i < length; i++) {
		if (!set_keys(vector, i))
			return false;
		entries[i].position = i;
	}
	if (vector->keys->count == 1 && 2 * vector->wanted <= length) {
		select_by_key(vector);
		return true;
	}
	for (size_t key = vector->keys->count; key-- > 0;) {
		struct entry *room = entries == vector->entries ? entries + length :
								  vector->entries;

		for (int64_t i = 0; i < length; i++)
			entries[i].key =
				vector->numbers[(int64_t)key * length + entries[i].position];
		entries = sort_entries(entries, room, length);
	}
	for (int64_t i = 0; i < length; i++)
		vector->order[i] = entries[i].position;
	return true;
}

static void sort_vector(const struct vector *vector)
{
	if (!vector->keys || !sort_by_keys(vector)) {
		for (int64_t i = 0; i < vector->length; i++)
			vector->order[i] = i;
		merge_sort(vector, 0, vector->length);
	}
	for (size_t k = 0; k < vector->call->op->operand_count; k++)
		for (int64_t i = 0; i < vector->wanted; i++)
			shlo_move(vector->call->out[k], vector->first + i * vector->step,
				  vector->call->in[k],
				  vector->first + vector->order[i] * vector->step);
}

/* Returns memory for @count numbers of 64 bits. */
static struct shlo_tensor *memory_for(struct shlo_run *run, int64_t count)
{
	struct shlo_type type = { .element = SHLO_I64, .rank = 1, .dims = &count };

	return shlo_tensor_unset(run, &type);
}

void shlo_eval_sort(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	int64_t dim = shlo_attr_int(call->op, "dimension", -1), inner = 1, length;
	struct vector vector = { .call = call };
	struct shlo_applier applier;
	struct shlo_tensor *memory;
	struct sort_keys keys;

	if (call->op->operand_count > 64)
		shlo_run_error(call->run, "it has more than 64 operands");
	for (size_t k = 0; k < call->op->operand_count; k++)
		shlo_result(call, k);
	if (!x->count)
		return;
	dim += dim < 0 ? x->type.rank : 0;
	for (int i = (int)dim + 1; i < x->type.rank; i++)
		inner *= x->dims[i];
	length = x->dims[dim];
	vector.keys = find_keys(&keys, call->op->regions[0]) ? &keys : NULL;
	memory = memory_for(call->run, length * (2 + (vector.keys ? 4 + (int64_t)keys.count : 0)));
	vector.order = memory->data;
	vector.room = vector.order + length;
	vector.entries = (struct entry *)(vector.room + length);
	vector.numbers = (uint64_t *)(vector.entries + 2 * length);
	vector.length = length;
	vector.wanted = call->op->wanted && call->op->wanted < length ? call->op->wanted : length;
	vector.step = inner;
	shlo_applier_init(&applier, call->run, call->frame, call->op->regions[0]);
	vector.applier = &applier;
	for (int64_t i = 0; i < x->count / length; i++) {
		vector.first = i / inner * inner * length + i % inner;
		sort_vector(&vector);
	}
	shlo_applier_exit(&applier);
	shlo_tensor_put(memory);
}

/* ---- top_k */

void shlo_eval_top_k(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *values = shlo_result(call, 0), *indices = shlo_result(call, 1), *memory;
	int64_t length = x->dims[x->type.rank - 1], k = values->dims[x->type.rank - 1];
	bool falling = shlo_attr_int(call->op, "largest", 1);

	if (!values->count)
		return;
	memory = memory_for(call->run, 4 * k * (int64_t)(sizeof(struct entry) / sizeof(int64_t)));
	for (int64_t vector = 0; vector < x->count / length; vector++) {
		struct entry *entries = memory->data;
		struct best best = { .entries = entries, .room = entries + 2 * k, .most = k };

		for (int64_t i = 0; i < length; i++)
			best_add(&best,
				 key_of(x->type.element, shlo_get(x, vector * length + i), falling),
				 i);
		entries = best_end(&best);
		for (int64_t i = 0; i < k; i++) {
			shlo_move(values, vector * k + i, x, vector * length + entries[i].position);
			shlo_set(indices, vector * k + i, shlo_int(entries[i].position));
		}
	}
	shlo_tensor_put(memory);
}
