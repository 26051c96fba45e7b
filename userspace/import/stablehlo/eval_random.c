// SPDX-License-Identifier: MIT
/*
 * Random numbers: ThreeFry and Philox, with the counters that XLA uses, and distributions made of
 * them. "Parallel random numbers: as easy as 1, 2, 3", Salmon et al., 2011.
 */
#include <math.h>
#include <string.h>

#include "run.h"

static uint32_t rotated(uint32_t x, unsigned int by)
{
	return x << by | x >> (32 - by);
}

static void threefry(uint64_t key, uint64_t counter, uint32_t out[2])
{
	static const unsigned int rotations[2][4] = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } };
	uint32_t keys[3] = { (uint32_t)key, (uint32_t)(key >> 32) };
	uint32_t x = (uint32_t)counter, y = (uint32_t)(counter >> 32);

	keys[2] = keys[0] ^ keys[1] ^ 0x1BD11BDA;
	x += keys[0];
	y += keys[1];
	for (unsigned int group = 0; group < 5; group++) {
		for (int i = 0; i < 4; i++) {
			x += y;
			y = rotated(y, rotations[group % 2][i]) ^ x;
		}
		x += keys[(group + 1) % 3];
		y += keys[(group + 2) % 3] + group + 1;
	}
	out[0] = x;
	out[1] = y;
}

static void philox(uint64_t key, const uint64_t counter[2], uint32_t out[4])
{
	uint32_t keys[2] = { (uint32_t)key, (uint32_t)(key >> 32) };

	for (int i = 0; i < 2; i++) {
		out[2 * i] = (uint32_t)counter[i];
		out[2 * i + 1] = (uint32_t)(counter[i] >> 32);
	}
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)out[0] * 0xD2511F53, b = (uint64_t)out[2] * 0xCD9E8D57;

		out[0] = (uint32_t)(b >> 32) ^ out[1] ^ keys[0];
		out[1] = (uint32_t)b;
		out[2] = (uint32_t)(a >> 32) ^ out[3] ^ keys[1];
		out[3] = (uint32_t)a;
		keys[0] += 0x9E3779B9;
		keys[1] += 0xBB67AE85;
	}
}

static void set_bits(struct shlo_tensor *out, int64_t at, uint64_t bits)
{
	unsigned int bytes = shlo_elements[out->type.element].bytes;

	memcpy((uint8_t *)out->data + (size_t)at * bytes, &bits, bytes);
}

/*
 * Returns the dimension along which XLA halves an array of 32-bit numbers: the first even one, or
 * else the largest.
 */
static int halved_dim(const struct shlo_tensor *out)
{
	int largest = 0;

	for (int i = 0; i < out->type.rank; i++)
		if (out->dims[i] % 2 == 0)
			return i;
	for (int i = 1; i < out->type.rank; i++)
		if (out->dims[i] > out->dims[largest])
			largest = i;
	return largest;
}

/*
 * Fills the array; each counter gives two elements that are neighbours in the halved dimension.
 * Returns the number of counters used.
 */
static uint64_t threefry_pairs(struct shlo_tensor *out, uint64_t key, uint64_t counter)
{
	int64_t dims[SHLO_MAX_RANK] = { 1 }, index[SHLO_MAX_RANK] = { 0 }, place[SHLO_MAX_RANK];
	int rank = out->type.rank, dim = halved_dim(out);
	uint64_t used = 0;
	uint32_t words[2];

	for (int i = 0; i < rank; i++)
		dims[i] = i == dim ? out->dims[i] / 2 + out->dims[i] % 2 : out->dims[i];
	if (!out->count)
		return 0;
	do {
		threefry(key, counter + used++, words);
		memcpy(place, index, sizeof(place));
		for (int k = 0; k < (rank ? 2 : 1); k++) {
			if (rank)
				place[dim] = 2 * index[dim] + k;
			if (!rank || place[dim] < out->dims[dim])
				set_bits(out, shlo_offset(out, place), words[k]);
		}
	} while (shlo_next(rank, dims, index));
	return used;
}

static uint64_t fill_threefry(struct shlo_tensor *out, uint64_t key, uint64_t counter)
{
	uint32_t words[2];

	if (shlo_elements[out->type.element].bits <= 32)
		return threefry_pairs(out, key, counter);
	for (int64_t i = 0; i < out->count; i++) {
		threefry(key, counter + (uint64_t)i, words);
		set_bits(out, i, (uint64_t)words[1] << 32 | words[0]);
	}
	return (uint64_t)out->count;
}

/* Fills the array, and advances @counter. */
static void fill_philox(struct shlo_tensor *out, uint64_t key, uint64_t counter[2])
{
	bool wide = shlo_elements[out->type.element].bits > 32;
	int64_t each = wide ? 2 : 4;
	uint32_t words[4];

	for (int64_t i = 0; i < out->count; i += each) {
		philox(key, counter, words);
		for (int64_t k = 0; k < each && i + k < out->count; k++)
			set_bits(out, i + k,
				 wide ? (uint64_t)words[2 * k + 1] << 32 | words[2 * k] : words[k]);
		if (!++counter[0])
			counter[1]++;
	}
}

void shlo_eval_rng_bit_generator(struct shlo_call *call)
{
	const struct shlo_tensor *state = call->in[0];
	struct shlo_tensor *next = shlo_result(call, 0), *out = shlo_result(call, 1);
	const char *kind = shlo_attr_text(call->op, "rng_algorithm", "");
	uint64_t key = shlo_get(state, 0).u, counter[2] = { shlo_get(state, 1).u, 0 };

	shlo_set(next, 0, shlo_get(state, 0));
	if (strcmp(kind, "PHILOX")) {
		counter[0] += fill_threefry(out, key, counter[0]);
	} else {
		if (state->count > 2)
			counter[1] = shlo_get(state, 2).u;
		fill_philox(out, key, counter);
	}
	for (int64_t i = 1; i < next->count; i++)
		shlo_set(next, i, (struct shlo_num){ .u = counter[i - 1] });
}

/* ---- distributions: the numbers are not specified; here they are equal in every run */

static double next_uniform(struct shlo_run *run)
{
	uint64_t counter[2] = { run->random++, 0 };
	uint32_t words[4];

	philox(run->process, counter, words);
	return ldexp((double)(((uint64_t)words[1] << 32 | words[0]) >> 11), -53);
}

static struct shlo_num uniform(struct shlo_run *run, enum shlo_element element, struct shlo_num a,
			       struct shlo_num b)
{
	double u = next_uniform(run), x;

	if (shlo_is_float(element)) {
		x = shlo_round(element, shlo_real(a.re + (b.re - a.re) * u)).re;
		/* Rounding must not give the upper end, which is excluded. */
		return x < b.re ? shlo_real(x) : a;
	}
	return shlo_int((int64_t)(a.u + (uint64_t)(u * (double)(b.u - a.u))));
}

static struct shlo_num normal(struct shlo_run *run, struct shlo_num mean, struct shlo_num deviation)
{
	double u = 1 - next_uniform(run), v = next_uniform(run);

	return shlo_real(mean.re +
			 deviation.re * sqrt(-2 * log(u)) * cos(6.283185307179586476925 * v));
}

void shlo_eval_rng(struct shlo_call *call)
{
	bool is_normal = !strcmp(shlo_attr_text(call->op, "rng_distribution", ""), "NORMAL");
	struct shlo_num a = shlo_get(call->in[0], 0), b = shlo_get(call->in[1], 0);
	int64_t dims[SHLO_MAX_RANK];
	int rank = shlo_ints(call->run, call->in[2], dims);
	struct shlo_tensor *out =
		shlo_tensor_like(call->run, call->op->results[0]->type, rank, dims);

	call->out[0] = out;
	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i,
			 is_normal ? normal(call->run, a, b) :
				     uniform(call->run, out->type.element, a, b));
}
