// SPDX-License-Identifier: MIT
/* Makes the tensors of a graph's inputs and outputs, in memory of the run's values. */
#include "port.h"

#include <stdio.h>
#include <string.h>

#include <webnn/webnn_npu.h>

#include "lower.h"

bool shlo_is_constant(const struct shlo_op *op)
{
	return op && op->kind && op->kind->family == SHLO_CONSTANT;
}

static bool uses(const struct shlo_op *op, const struct shlo_value *value)
{
	for (size_t i = 0; i < op->operand_count; i++)
		if (op->operands[i] == value)
			return true;
	for (size_t k = 0; k < op->region_count; k++)
		for (size_t i = 0; i < op->regions[k]->block.op_count; i++)
			if (uses(op->regions[k]->block.ops[i], value))
				return true;
	return false;
}

bool shlo_used_after(const struct shlo_block *block, size_t end, const struct shlo_value *value)
{
	for (size_t i = end; i < block->op_count; i++)
		if (uses(block->ops[i], value))
			return true;
	return false;
}

struct shlo_port *shlo_port_add(struct shlo_ports *ports, char letter,
				const struct shlo_value *value)
{
	struct shlo_port *more =
		import_realloc(ports->items, (ports->count + 1) * sizeof(*ports->items));

	if (!more)
		return NULL;
	ports->items = more;
	more += ports->count++;
	*more = (struct shlo_port){ .value = value };
	snprintf(more->name, sizeof(more->name), "%c%zu", letter, ports->count);
	return more;
}

bool shlo_ports_have(const struct shlo_ports *ports, const struct shlo_value *value)
{
	for (size_t i = 0; i < ports->count; i++)
		if (ports->items[i].value == value)
			return true;
	return false;
}

static bool fits(const struct shlo_port *port, const WNNNamedOperandDescriptor *of)
{
	const struct shlo_type *type = port->value->type;
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, type->dims, type->rank);
	return of->name.length == strlen(port->name) &&
	       !memcmp(of->name.data, port->name, of->name.length) &&
	       of->dataType == shlo_held_type(type->element) &&
	       of->shape.count == sizes.array.count &&
	       (!sizes.array.count || !memcmp(of->shape.data, sizes.array.data,
					      sizes.array.count * sizeof(*sizes.array.data)));
}

bool shlo_ports_fit(const struct shlo_ports *ports, WNNNamedOperandDescriptorArray of)
{
	size_t found = 0;

	for (size_t i = 0; i < ports->count; i++)
		for (size_t k = 0; k < of.count; k++)
			found += fits(&ports->items[i], &of.data[k]);
	return ports->count == of.count && found == of.count;
}

/*
 * Adds the ports of operations; constants are inputs if @with_constants. @inside: by slot, false at
 * first, and true for values that are inputs or that the operations compute. Returns the number of
 * operations; 0: memory is exhausted.
 */
static size_t add_ports(const struct shlo_graph_place *place, bool with_constants, bool *inside,
			struct shlo_ports *inputs, struct shlo_ports *outputs)
{
	const struct shlo_block *block = &place->region->block;
	size_t operations = 0;
	bool done = true;

	for (size_t i = place->first; i < place->end; i++) {
		const struct shlo_op *op = block->ops[i];

		if (shlo_is_constant(op))
			continue;
		operations++;
		for (size_t k = 0; done && k < op->operand_count; k++) {
			const struct shlo_value *value = op->operands[k];

			if (!inside[value->slot])
				done = (shlo_is_constant(value->op) && !with_constants) ||
				       shlo_port_add(inputs, 'i', value);
			inside[value->slot] = true;
		}
		for (size_t k = 0; done && k < op->result_count; k++) {
			inside[op->results[k]->slot] = true;
			if (shlo_used_after(block, place->end, op->results[k]) &&
			    !shlo_ports_have(outputs, op->results[k]))
				done = shlo_port_add(outputs, 'o', op->results[k]);
		}
	}
	return done ? operations : 0;
}

size_t shlo_ports_find(const struct shlo_graph_place *place, size_t slots,
		       struct shlo_ports *inputs, struct shlo_ports *outputs)
{
	bool *inside = import_alloc(slots * sizeof(*inside));
	size_t operations = inside ? add_ports(place, false, inside, inputs, outputs) : 0;

	if (operations && !inputs->count) {
		shlo_ports_clear(outputs);
		memset(inside, 0, slots * sizeof(*inside));
		operations = add_ports(place, true, inside, inputs, outputs);
	}
	import_free(inside);
	return operations;
}

void shlo_ports_clear(struct shlo_ports *ports)
{
	for (size_t i = 0; i < ports->count; i++)
		wnnTensorRelease(ports->items[i].tensor);
	import_free(ports->items);
	*ports = (struct shlo_ports){ 0 };
}

size_t shlo_ports_bytes(const struct shlo_ports *ports)
{
	size_t bytes = 0;

	for (size_t i = 0; i < ports->count; i++)
		bytes += shlo_type_bytes(ports->items[i].value->type);
	return bytes;
}

WNNStatus shlo_port_bind(struct shlo_port *port, WNNContext context,
			 const struct shlo_tensor *tensor, bool output)
{
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	struct shlo_sizes sizes;
	WNNStatus status;

	if (port->tensor && port->data == tensor->data)
		return WNNStatus_Success;
	memory.data = tensor->data;
	memory.size = shlo_bytes_of(tensor);
	if (port->tensor) {
		status = wnnTensorSetHostMemory(port->tensor, &memory);
	} else {
		shlo_sizes_init(&sizes, port->value->type->dims, port->value->type->rank);
		descriptor.nextInChain = &memory.chain;
		descriptor.dataType = shlo_held_type(port->value->type->element);
		descriptor.shape = sizes.array;
		descriptor.writable = !output;
		descriptor.readable = output;
		status = wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER,
						    &port->tensor);
	}
	port->data = status == WNNStatus_Success ? tensor->data : NULL;
	return status;
}
