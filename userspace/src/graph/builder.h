/* SPDX-License-Identifier: MIT */
/*
 * A graph under construction by the rules of WebNN. api/ wraps it: a WNNGraphBuilder has one
 * wnn_builder, and the operands of the API are those of wnn_builder (graph/operand.h). Every
 * function that makes something first checks that the builder can build (InvalidStateError), then
 * its arguments (TypeError); when it fails, it records nothing.
 *
 * One thread at a time may use a builder. Its owner counts references to it; operands live exactly
 * as long as their builder.
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
	/* Whether the context is lost; NULL: it never is. */
	bool (*lost)(void *userdata);
	/*
	 * Checks that a device may run a node. Returns 0, or -1 with a TypeError. NULL: all nodes
	 * are allowed. It is not called for nodes that are computed when the graph is built, as
	 * these need no device.
	 */
	int (*place)(const struct ir_node *node, void *userdata, struct wnn_error *err);
	/* whether nodes with only constant operands are computed when the graph is built */
	bool folds;
	void *userdata;
	void *owner; /* the object of the API, which wnn_builder_owner() returns */
};

struct wnn_builder *wnn_builder_create(const struct wnn_builder_config *config,
				       struct wnn_error *err);
void wnn_builder_destroy(struct wnn_builder *builder); /* NULL is fine */
void *wnn_builder_owner(const struct wnn_builder *builder);

/*
 * Returns 0; -1 with InvalidStateError when the builder has built a graph, or its context is lost.
 */
int wnn_builder_can_build(const struct wnn_builder *builder, struct wnn_error *err);

/*
 * Adds an input. @ranges: dimensions that are known only at dispatch; NULL: there are none. Returns
 * 0, or -1 with *err; *out is NULL then. The functions below that have @out do the same.
 */
int wnn_builder_input(struct wnn_builder *builder, WNNStringView name,
		      const WNNOperandDescriptor *descriptor, const WNNDimensionRanges *ranges,
		      WNNOperand *out, struct wnn_error *err);

/*
 * Returns the number that stands for floor((multiply * n + add) / divide), where n is the size of
 * the dimensions of this name; 0 with *err.
 */
uint32_t wnn_builder_dimension(struct wnn_builder *builder, WNNStringView name, int32_t multiply,
			       int32_t add, uint32_t divide, struct wnn_error *err);

/*
 * wnn_builder_constant - add a constant
 * @data, @size: copied, unless @release is given
 * @release: not NULL: the data is borrowed, and this runs exactly once, when the data is no longer
 *	read or the call fails
 */
int wnn_builder_constant(struct wnn_builder *builder, const WNNOperandDescriptor *descriptor,
			 const void *data, size_t size,
			 void (*release)(void *userdata, const void *data), void *userdata,
			 WNNOperand *out, struct wnn_error *err);

/*
 * Does the checks of wnn_builder_constant() alone, for a caller that would otherwise copy the data
 * before an error is found. Returns 0, or -1 with *err.
 */
int wnn_builder_check_constant(const struct wnn_builder *builder,
			       const WNNOperandDescriptor *descriptor, const void *data,
			       size_t size, struct wnn_error *err);

/* A tensor whose bytes are a constant, with the functions that the builder needs. */
struct wnn_constant_tensor {
	void *tensor;
	bool (*is_destroyed)(void *tensor); /* called by wnn_builder_build() */
	void (*release)(void *tensor);	    /* called when the builder has built or is destroyed */
};

/*
 * wnn_builder_constant_tensor - add a constant whose bytes are those of a tensor
 * @constant: the bytes; one reference is taken over in any case
 * @tensor: taken over in any case
 *
 * The caller has checked that the tensor is a constant of the same context and is not destroyed.
 */
int wnn_builder_constant_tensor(struct wnn_builder *builder, const struct ir_type *type,
				struct ir_constant *constant,
				const struct wnn_constant_tensor *tensor, WNNOperand *out,
				struct wnn_error *err);

/*
 * Adds a constant of rank 0 with a number that is cast to the data type. Returns 0, or -1 with
 * *err.
 */
int wnn_builder_constant_number(struct wnn_builder *builder, WNNOperandDataType data_type,
				const WNNNumber *value, WNNOperand *out, struct wnn_error *err);

/*
 * wnn_builder_record_op - check a call of an operator and record it
 * @call: its options may be changed (defaults of enumerations)
 * @output_count: items of @outputs; must be what the operator makes
 * @outputs: all NULL on error
 *
 * Returns 0 or -1: with TypeError for a call that is not valid, with NotSupportedError for a valid
 * call of an operator that the back ends cannot execute.
 */
int wnn_builder_record_op(struct wnn_builder *builder, struct wnn_op_call *call,
			  size_t output_count, WNNOperand *outputs, struct wnn_error *err);

/*
 * wnn_builder_update - declare that an operand updates an input in place
 *
 * Checks types, and that the operand is made of the input by operators that can write in place.
 * wnn_builder_build() checks that nothing else reads what they overwrite, and that the operand is
 * an output. Returns 0, or -1 with *err.
 */
int wnn_builder_update(struct wnn_builder *builder, WNNOperand input, WNNOperand output,
		       struct wnn_error *err);

/*
 * wnn_builder_set_sizes - replace sizes in a builder's graph by names with ranges
 * @ranges: @count ranges; the builder's graph was recorded with the maximum of each
 * @builders: builders that have recorded the same graph for other sizes
 * @sizes: for each of these builders the size for each range
 *
 * Returns 0; -1 with a TypeError when the graphs differ in more than sizes that are expressions,
 * and then the builder's graph is as before.
 */
int wnn_builder_set_sizes(struct wnn_builder *builder, size_t count,
			  const WNNDimensionRange *ranges, size_t builder_count,
			  struct wnn_builder *const *builders, const uint32_t *sizes,
			  struct wnn_error *err);

/* One call of an operator method, in the order of the calls. */
struct wnn_operator {
	enum wnn_op op;
	const char *label; /* valid UTF-8; may be "" */
	bool used;	   /* whether an output depends on it */
};

/*
 * The result of building: the nodes that the outputs depend on, and the operators that these nodes
 * were made for.
 */
struct wnn_recording {
	struct ir_graph *graph;
	uint32_t num_operators;
	struct wnn_operator *operators;
	uint32_t *node_operator; /* for each node of graph: index of its operator */
	void *memory;		 /* arena of the labels */
};

/*
 * wnn_builder_build - check the outputs and end the use of the builder
 *
 * The graph of the recording has only inputs, constants and nodes that outputs depend on, in the
 * order in which they were made. A call that fails with TypeError leaves the builder usable; after
 * every other call, also a successful one, the builder cannot be used any more. Returns 0, or -1
 * with *err.
 */
int wnn_builder_build(struct wnn_builder *builder, size_t output_count,
		      const WNNNamedOperand *outputs, struct wnn_recording **out,
		      struct wnn_error *err);
/*
 * Returns a copy of a recording in which each name has its size in @numbers; both share the
 * constants. NULL with *err.
 */
struct wnn_recording *wnn_recording_specialise(const struct wnn_recording *recording,
					       const uint32_t *numbers, struct wnn_error *err);
void wnn_recording_destroy(struct wnn_recording *recording); /* NULL is fine */

#endif
