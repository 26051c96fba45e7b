// SPDX-License-Identifier: MIT
/*
 * Creates and destroys builders, and makes inputs and constants. record.c records operators,
 * build.c builds graphs.
 */
#include "graph/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/builder_private.h"
#include "graph/label.h"
#include "graph/number.h"
#include "util/arena.h"
#include "util/malloc.h"
#include "util/printable.h"

struct wnn_builder *wnn_builder_create(const struct wnn_builder_config *config,
				       struct wnn_error *err)
{
	struct wnn_builder *builder = wnn_calloc(1, sizeof(*builder));

	if (builder) {
		builder->config = *config;
		builder->arena = wnn_arena_create();
		builder->graph = ir_graph_create();
	}
	if (!builder || !builder->arena || !builder->graph) {
		wnn_builder_destroy(builder);
		wnn_error_nomem(err, "a graph builder");
		return NULL;
	}
	return builder;
}

void wnn_builder_destroy(struct wnn_builder *builder)
{
	struct WNNOperandImpl *next;

	if (!builder)
		return;
	for (struct wnn_tensor_use *use = builder->tensors; use; use = use->next)
		use->tensor.release(use->tensor.tensor);
	for (struct WNNOperandImpl *operand = builder->operands; operand; operand = next) {
		next = operand->next;
		wnn_free(operand);
	}
	ir_graph_destroy(builder->graph);
	wnn_free(builder->operators);
	wnn_free(builder->node_operator);
	wnn_free(builder->computed);
	wnn_arena_destroy(builder->arena);
	wnn_free(builder);
}

void *wnn_builder_owner(const struct wnn_builder *builder)
{
	return builder->config.owner;
}

int wnn_builder_can_build(const struct wnn_builder *builder, struct wnn_error *err)
{
	if (builder->has_built)
		return wnn_error_set(err, WNN_INVALID_STATE,
				     "the graph builder has built its graph; it builds only once");
	if (builder->config.lost && builder->config.lost(builder->config.userdata))
		return wnn_error_set(err, WNN_INVALID_STATE,
				     "the context of the graph builder is lost");
	return 0;
}

struct WNNOperandImpl *wnn_operand_create(struct wnn_builder *builder)
{
	struct WNNOperandImpl *operand = wnn_calloc(1, sizeof(*operand));

	if (operand)
		operand->builder = builder;
	return operand;
}

void wnn_operand_publish(struct WNNOperandImpl *operand, struct ir_value *value)
{
	struct wnn_builder *builder = operand->builder;

	operand->value = value;
	operand->data_type = wnn_dtype_from_ir(value->type.dtype);
	operand->rank = value->type.rank;
	for (uint32_t i = 0; i < operand->rank; i++)
		operand->shape[i] = (uint32_t)ir_type_dim(&value->type, i);
	operand->next = builder->operands;
	builder->operands = operand;
}

static int check_name(struct wnn_builder *builder, const WNNStringView *name, const char *printable,
		      struct wnn_error *err)
{
	size_t length = wnn_view_length(name);
	WNNStringView other;

	if (!length)
		return wnn_error_set(err, WNN_TYPE_ERROR, "the name of an input is empty");
	if (memchr(name->data, '\0', length))
		return wnn_error_set(err, WNN_TYPE_ERROR, "the name of input \"%s\" contains a NUL",
				     printable);
	for (uint32_t i = 0; i < builder->graph->num_inputs; i++) {
		other = (WNNStringView){ builder->graph->inputs[i]->name, WNN_STRLEN };
		if (!wnn_view_compare(&other, name))
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "an input with the name \"%s\" exists already",
					     printable);
	}
	return 0;
}

int wnn_builder_input(struct wnn_builder *builder, WNNStringView name,
		      const WNNOperandDescriptor *descriptor, const WNNDimensionRanges *ranges,
		      WNNOperand *out, struct wnn_error *err)
{
	struct WNNOperandImpl *operand;
	struct ir_value *value = NULL;
	struct ir_type type;
	char printable[96], what[128];
	const char *copy;

	*out = NULL;
	if (wnn_builder_can_build(builder, err))
		return -1;
	wnn_text_printable(printable, sizeof(printable), name.data, wnn_view_length(&name));
	if (check_name(builder, &name, printable, err))
		return -1;
	snprintf(what, sizeof(what), "input \"%s\"", printable);
	if (!descriptor)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s has no descriptor: it is NULL", what);
	if (wnn_builder_late_type(builder, descriptor, ranges, what, &type, err))
		return -1;
	operand = wnn_operand_create(builder);
	copy = wnn_label_copy(builder->arena, &name);
	if (operand && copy)
		value = ir_add_input(builder->graph, copy, &type);
	if (!value) {
		wnn_free(operand);
		return wnn_error_nomem(err, what);
	}
	wnn_operand_publish(operand, value);
	*out = operand;
	return 0;
}

/*
 * Adds a constant operand; takes over the reference to `constant`, also on error. Returns 0 or -1.
 */
static int add_constant(struct wnn_builder *builder, const struct ir_type *type,
			struct ir_constant *constant, WNNOperand *out, struct wnn_error *err)
{
	struct WNNOperandImpl *operand = wnn_operand_create(builder);
	struct ir_value *value = NULL;

	if (operand && constant)
		value = ir_add_constant(builder->graph, type, constant);
	if (!value) {
		wnn_free(operand);
		ir_constant_unref(constant);
		return wnn_error_nomem(err, "a constant");
	}
	wnn_operand_publish(operand, value);
	*out = operand;
	return 0;
}

static int check_constant(const struct wnn_builder *builder, const WNNOperandDescriptor *descriptor,
			  const void *data, size_t size, struct ir_type *type,
			  struct wnn_error *err)
{
	char text[WNN_SHAPE_TEXT_SIZE];

	if (wnn_builder_can_build(builder, err))
		return -1;
	if (!descriptor)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "the constant has no descriptor: it is NULL");
	if (wnn_limits_type_of(&builder->config.limits, descriptor->dataType, descriptor->shape,
			       "the constant", type, err))
		return -1;
	if (!data)
		return wnn_error_set(err, WNN_TYPE_ERROR, "the data of the constant is NULL");
	if (size != (uint64_t)ir_type_bytes(type))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "the constant has %zu bytes of data, but %s%s takes %" PRId64,
				     size, ir_dtype_name(type->dtype),
				     wnn_shape_text(type, text, sizeof(text)), ir_type_bytes(type));
	return 0;
}

int wnn_builder_check_constant(const struct wnn_builder *builder,
			       const WNNOperandDescriptor *descriptor, const void *data,
			       size_t size, struct wnn_error *err)
{
	struct ir_type type;

	return check_constant(builder, descriptor, data, size, &type, err);
}

int wnn_builder_constant(struct wnn_builder *builder, const WNNOperandDescriptor *descriptor,
			 const void *data, size_t size,
			 void (*release)(void *userdata, const void *data), void *userdata,
			 WNNOperand *out, struct wnn_error *err)
{
	struct ir_constant *constant;
	struct ir_type type;

	*out = NULL;
	if (check_constant(builder, descriptor, data, size, &type, err)) {
		if (release)
			release(userdata, data);
		return -1;
	}
	if (!release)
		return add_constant(builder, &type, ir_constant_copy(data, size), out, err);
	constant = ir_constant_borrow(data, size, release, userdata);
	if (!constant)
		release(userdata, data);
	return add_constant(builder, &type, constant, out, err);
}

int wnn_builder_constant_tensor(struct wnn_builder *builder, const struct ir_type *type,
				struct ir_constant *constant,
				const struct wnn_constant_tensor *tensor, WNNOperand *out,
				struct wnn_error *err)
{
	struct wnn_tensor_use *use;

	*out = NULL;
	if (wnn_builder_can_build(builder, err)) {
		ir_constant_unref(constant);
		goto fail;
	}
	use = wnn_arena_alloc(builder->arena, sizeof(*use));
	if (!use) {
		ir_constant_unref(constant);
		wnn_error_nomem(err, "a constant");
		goto fail;
	}
	if (add_constant(builder, type, constant, out, err))
		goto fail;
	use->value = (*out)->value->id;
	use->tensor = *tensor;
	use->next = builder->tensors;
	builder->tensors = use;
	return 0;
fail:
	tensor->release(tensor->tensor);
	return -1;
}

int wnn_builder_constant_number(struct wnn_builder *builder, WNNOperandDataType data_type,
				const WNNNumber *value, WNNOperand *out, struct wnn_error *err)
{
	const WNNUint32Array scalar = WNN_UINT32_EMPTY;
	struct ir_type type;
	uint64_t bits;

	*out = NULL;
	if (wnn_builder_can_build(builder, err) ||
	    wnn_limits_type_of(&builder->config.limits, data_type, scalar, "the constant", &type,
			       err))
		return -1;
	if (value->kind == WNNNumberKind_None || !wnn_enum_name(&wnn_enum_number_kind, value->kind))
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "the value of the constant is no number: its kind is %u",
				     (unsigned int)value->kind);
	/* The host is little endian, so that the low bytes of `bits` are the element. */
	bits = wnn_number_bits(type.dtype, value);
	return add_constant(builder, &type, ir_constant_copy(&bits, (size_t)ir_type_bytes(&type)),
			    out, err);
}
