/* SPDX-License-Identifier: MIT */
/*
 * A graph under construction by the rules of WebNN. api/ wraps it: a WNNGraphBuilder holds one
 * wnn_builder, and hands the operands of wnn_builder (graph/operand.h) out as they are. Every
 * function that makes something checks first that the builder can build (InvalidStateError), then
 * its arguments (TypeError), and records nothing when it fails.
 *
 * Used by one thread at a time. References are counted by whoever owns the builder: operands live
 * exactly as long as it.
 */
#ifndef WNN_GRAPH_BUILDER_H
#define WNN_GRAPH_BUILDER_H

#include <webnn/webnn.h>

#include "graph/limits.h"
#include "graph/op_call.h"
#include "graph/operand.h"
#include "ir/ir.h"
#include "util/error.h"

struct wnn_builder_config {
	struct wnn_limits limits;
	/* Whether the context is lost; NULL: never. */
	bool (*lost)(void *userdata);
	/*
	 * Whether a device may run a node, or -1 with a TypeError; NULL: always. It is not asked
	 * about nodes that are computed when the graph is built, as these need no device.
	 */
	int (*place)(const struct ir_node *node, void *userdata, struct wnn_error *err);
	bool folds; /* nodes with constant operands only are computed when the graph is built */
	void *userdata;
	void *owner; /* wnn_builder_owner gives it back: the API's object */
};

struct wnn_builder *wnn_builder_create(const struct wnn_builder_config *config,
				       struct wnn_error *err);
void wnn_builder_destroy(struct wnn_builder *builder); /* NULL is fine */
void *wnn_builder_owner(const struct wnn_builder *builder);

/* 0, or -1 with InvalidStateError: it has built, or its context is lost. */
int wnn_builder_can_build(const struct wnn_builder *builder, struct wnn_error *err);

/* All of these set *out to NULL on error. */
int wnn_builder_input(struct wnn_builder *builder, WNNStringView name,
		      const WNNOperandDescriptor *descriptor, WNNOperand *out,
		      struct wnn_error *err);

/*
 * wnn_builder_constant - a constant with bytes of its own
 * @data, @size: copied, unless @release is given
 * @release: the data is borrowed; runs exactly once, when it is no longer read or when the call
 *	fails
 */
int wnn_builder_constant(struct wnn_builder *builder, const WNNOperandDescriptor *descriptor,
			 const void *data, size_t size,
			 void (*release)(void *userdata, const void *data), void *userdata,
			 WNNOperand *out, struct wnn_error *err);

/* The checks of wnn_builder_constant, for a caller that would copy the data in vain. */
int wnn_builder_check_constant(const struct wnn_builder *builder,
			       const WNNOperandDescriptor *descriptor, const void *data,
			       size_t size, struct wnn_error *err);

/* The tensor of a constant, as far as the builder has to know it. */
struct wnn_constant_tensor {
	void *tensor;
	bool (*is_destroyed)(void *tensor); /* asked by wnn_builder_build */
	void (*release)(void *tensor);	    /* when the builder is destroyed or has built */
};

/*
 * wnn_builder_constant_tensor - a constant of a tensor
 * @constant: its bytes; one reference is taken over in any case
 * @tensor: what belongs to it is taken over in any case
 *
 * The caller has checked that the tensor is a constant of the same context and not destroyed.
 */
int wnn_builder_constant_tensor(struct wnn_builder *builder, const struct ir_type *type,
				struct ir_constant *constant,
				const struct wnn_constant_tensor *tensor, WNNOperand *out,
				struct wnn_error *err);

int wnn_builder_constant_number(struct wnn_builder *builder, WNNOperandDataType data_type,
				const WNNNumber *value, WNNOperand *out, struct wnn_error *err);

/*
 * wnn_builder_record_op - check a call of an operator and record it
 * @call: its options may be changed (defaults of enumerations)
 * @output_count: items of @outputs; must be what the operator makes
 * @outputs: all NULL on error
 *
 * A valid call of an operator that the back ends cannot execute is NotSupportedError.
 */
int wnn_builder_record_op(struct wnn_builder *builder, struct wnn_op_call *call,
			  size_t output_count, WNNOperand *outputs, struct wnn_error *err);

/* One call of an operator method, in the order of the calls. */
struct wnn_operator {
	enum wnn_op op;
	const char *label; /* UTF-8 made valid; may be "" */
	bool used;	   /* an output depends on it */
};

/*
 * The result of building: the nodes that the outputs depend on, and the operators that they come
 * from.
 */
struct wnn_recording {
	struct ir_graph *graph;
	uint32_t num_operators;
	struct wnn_operator *operators;
	uint32_t *node_operator; /* for each node of graph: index of its operator */
	void *memory;		 /* of labels */
};

/*
 * wnn_builder_build - check the outputs and end the use of the builder
 *
 * The graph of the recording has only inputs, constants and nodes that outputs depend on, in the
 * order in which they were made. A call that fails with TypeError leaves the builder usable;
 * after every other one it is spent.
 */
int wnn_builder_build(struct wnn_builder *builder, size_t output_count,
		      const WNNNamedOperand *outputs, struct wnn_recording **out,
		      struct wnn_error *err);
void wnn_recording_destroy(struct wnn_recording *recording); /* NULL is fine */

#endif
