/* SPDX-License-Identifier: MIT */
/* Inputs and outputs of a graph: tensors that lie in the memory of a run's values. */
#ifndef SHLO_PORT_H
#define SHLO_PORT_H

#include "run.h"

struct shlo_port {
	const struct shlo_value *value;
	char name[16];
	WNNTensor tensor; /* NULL until the first run */
	const void *data; /* where the tensor lies */
};

struct shlo_ports {
	struct shlo_port *items;
	size_t count;
};

/* Identifies a graph of a module: its region, and the range of the region's operations. */
struct shlo_graph_place {
	const struct shlo_module *module;
	const struct shlo_region *region;
	size_t first, end;
};

bool shlo_is_constant(const struct shlo_op *op);
/* Whether operations of the block from @end on read a value. */
bool shlo_used_after(const struct shlo_block *block, size_t end, const struct shlo_value *value);

/*
 * Adds a port for a value, and names it by @letter and its number, from 1. Returns the port, valid
 * until the next one is added; NULL: memory is exhausted.
 */
struct shlo_port *shlo_port_add(struct shlo_ports *ports, char letter,
				const struct shlo_value *value);
bool shlo_ports_have(const struct shlo_ports *ports, const struct shlo_value *value);
/*
 * Adds the ports of the graph that @place identifies. Inputs are the values that the graph reads
 * from outside, without constants if any other is left; outputs are the results that later
 * operations read. @slots: number of values of the function. Returns the number of the graph's
 * operations that are no constants; 0: memory is exhausted.
 */
size_t shlo_ports_find(const struct shlo_graph_place *place, size_t slots,
		       struct shlo_ports *inputs, struct shlo_ports *outputs);
/* Whether the ports are those of a graph, by name, type and shape. */
bool shlo_ports_fit(const struct shlo_ports *ports, WNNNamedOperandDescriptorArray of);
void shlo_ports_clear(struct shlo_ports *ports);
/* Returns the bytes of the values. */
size_t shlo_ports_bytes(const struct shlo_ports *ports);

/*
 * Puts the port's tensor into the memory of @tensor, so that the next dispatch reads it there, or
 * with @output writes it there, without a copy. Each run does this before it dispatches, so the
 * memory need not stay after the run.
 */
WNNStatus shlo_port_bind(struct shlo_port *port, WNNContext context,
			 const struct shlo_tensor *tensor, bool output);

#endif
