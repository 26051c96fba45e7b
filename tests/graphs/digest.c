// SPDX-License-Identifier: MIT
/*
 * Computes a number (digest) from the results of many graphs for each layer and level of the CPU,
 * so that two builds of the library can be compared: equal numbers mean equal bits, and equal
 * kernels.
 */
#include <inttypes.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/element.h"
#include "cpu/fast.h"
#include "graph.h"

/* FNV-1a with 64 bits. */
#define PRIME UINT64_C(0x100000001b3)

uint64_t digest_bytes(uint64_t sum, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * PRIME;
	return sum;
}

/*
 * Returns the digest `sum` extended by the elements of a result. All NaN count as equal: sign and
 * payload of a NaN depend on the order in which the compiler gives operands to an addition.
 */
static uint64_t add_result(uint64_t sum, const struct graph_value *value, const void *data)
{
	static const uint8_t nan[] = { 0x7f, 0xc0 };
	enum ir_dtype dtype = wnn_dtype_to_ir(value->type);
	size_t size = ir_dtype_bits(dtype) / 8;

	if (!ir_dtype_is_float(dtype))
		return digest_bytes(sum, data, graph_bytes(value));
	for (uint64_t i = 0; i < graph_elements(value); i++) {
		double x = cpu_load(dtype, data, (int64_t)i);

		sum = x == x ? digest_bytes(sum, (const char *)data + i * size, size) :
			       digest_bytes(sum, nan, sizeof(nan));
	}
	return sum;
}

void digest_add(struct digest *digest, const struct graph *graph, const struct run *run)
{
	for (uint32_t v = 0; v < graph->num_values; v++)
		if (run->outputs[v])
			digest->bits = add_result(digest->bits, &graph->values[v], run->outputs[v]);
	digest->kernels = digest_bytes(digest->kernels, &run->kernels, sizeof(run->kernels));
}

uint32_t digest_targets(struct target *targets, uint32_t most)
{
	static const char *const layers[] = { "openblas", "onednn" };
	uint32_t count = 0;

	for (size_t l = 0; l < ARRAY_SIZE(layers); l++) {
		if (l && !cpu_onednn_form())
			continue;
		for (int level = 0; level < CPU_LEVEL_COUNT && count < most; level++) {
			const struct cpu_simd *simd = cpu_simd_level((enum cpu_level)level);

			if (simd)
				targets[count++] =
					(struct target){ .layer = layers[l], .level = simd->name };
		}
	}
	return count;
}

void digest_print(const struct target *target, const struct digest *digest)
{
	printf("digest %-10s %-8s bits %016" PRIx64 " kernels %016" PRIx64 "\n", target->layer,
	       target->level, digest->bits, digest->kernels);
}
