// SPDX-License-Identifier: MIT
/* Makes the tensors of a graph's inputs and outputs, in memory of the run's values. */
#include "port.h"

#include <stdio.h>

#include <webnn/webnn_npu.h>

#include "lower.h"

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
