// SPDX-License-Identifier: MIT
/* Makes the elements of inputs and constants from their random seeds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/element.h"
#include "graph.h"

uint64_t graph_elements(const struct graph_value *value)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < value->rank; i++)
		count *= value->dims[i];
	return count;
}

static struct ir_type type_of(const struct graph_value *value)
{
	struct ir_type type = { .dtype = wnn_dtype_to_ir(value->type), .rank = value->rank };

	for (uint32_t i = 0; i < value->rank; i++)
		type.dim[i].value = value->dims[i];
	return type;
}

size_t graph_bytes(const struct graph_value *value)
{
	struct ir_type type = type_of(value);

	return (size_t)ir_type_bytes(&type);
}

static double special(struct rng *rng, enum ir_dtype dtype, double otherwise)
{
	static const double f32[] = {
		0.0,	   -0.0, INFINITY, -INFINITY, NAN,	  0x1.fffffep127, -1e30, 0x1p-149,
		-0x1p-130, 0.5,	 2.5,	   -3.5,      16777217.0, 88.0,		  -104.0
	};
	static const double f16[] = { 0.0,     -0.0,	 INFINITY, -INFINITY, NAN,
				      65504.0, -30000.0, 0x1p-24,  -0x1p-16,  0.5,
				      2.5,     -3.5,	 2048.0,   11.0,      -17.0 };

	_Static_assert(sizeof(f16) == sizeof(f32), "as many of both");
	if (!rng_chance(rng, 40))
		return otherwise;
	return (dtype == IR_F16 ? f16 : f32)[rng_below(rng, ARRAY_SIZE(f32))];
}

static int64_t integer(struct rng *rng, const struct graph_value *value)
{
	uint64_t bits = rng_bits(rng);

	if (value->fill == GRAPH_BITS)
		/* Half of the integers are near 0, where most special cases are. */
		return bits & 1 ? (int64_t)(bits >> 1 & 15) - 8 : (int64_t)(bits ^ bits << 32);
	return (int64_t)value->lo + (int64_t)((bits >> 11) % (uint64_t)(value->hi - value->lo + 1));
}

void *graph_data(const struct graph_value *value)
{
	struct ir_type type = type_of(value);
	struct rng rng = { value->seed };
	int64_t count = ir_type_elements(&type);
	void *data = calloc(1, (size_t)ir_type_bytes(&type) + 1);

	if (!data)
		return NULL;
	for (int64_t i = 0; i < count; i++) {
		if (ir_dtype_is_float(type.dtype)) {
			double x = rng_real(&rng, value->lo, value->hi);

			if (value->fill == GRAPH_SPECIAL)
				x = special(&rng, type.dtype, x);
			else if (value->fill == GRAPH_STEPS)
				x = nearbyint(4 * x) / 4;
			cpu_store(type.dtype, data, i, x);
		} else {
			cpu_store_int(type.dtype, data, i, integer(&rng, value));
		}
	}
	return data;
}

static void print_bytes(const char *what, uint32_t id, const unsigned char *data, size_t size,
			FILE *to)
{
	fprintf(to, "%s v%u ", what, (unsigned int)id);
	for (size_t i = 0; i < size; i++)
		fprintf(to, "%02x", data[i]);
	fputc('\n', to);
}

/* Prints values for programs that compute the same graph in another way and compare the bits. */
void graph_print_values(const struct graph *graph, const struct run *run, FILE *to)
{
	graph_print(graph, to);
	for (uint32_t v = 0; v < graph->num_values; v++) {
		const struct graph_value *value = &graph->values[v];

		if (value->kind != GRAPH_RESULT) {
			void *data = graph_data(value);

			print_bytes("leaf", v, data, graph_bytes(value), to);
			free(data);
		} else if (run->outputs[v]) {
			print_bytes("result", v, run->outputs[v], graph_bytes(value), to);
		}
	}
	fputs("end\n", to);
}
