// SPDX-License-Identifier: MIT
/* Makes a public call use the allocator of the instance to which its object belongs. */
#include "api/builder.h"
#include "api/error.h"
#include "api/graph.h"
#include "api/tensor.h"
#include "graph/operand.h"

bool api_use_instance(WNNInstance instance)
{
	wnn_allocator_use(&instance->allocator);
	return true;
}

bool api_use_context(WNNContext context)
{
	return api_use_instance(context->instance);
}

bool api_use_tensor(WNNTensor tensor)
{
	return api_use_context(tensor->context);
}

bool api_use_builder(WNNGraphBuilder builder)
{
	return api_use_context(builder->context);
}

bool api_use_operand(WNNOperand operand)
{
	return api_use_builder(wnn_builder_owner(operand->builder));
}

bool api_use_graph(WNNGraph graph)
{
	return api_use_context(graph->context);
}

bool api_use_any(const void *object)
{
	(void)object;
	return true;
}
