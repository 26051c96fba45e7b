/* SPDX-License-Identifier: MIT */
/* Reads graphs of ONNX Runtime into descriptions for libwebnn-onnx. */
#ifndef ONPU_READ_H
#define ONPU_READ_H

#include "provider.h"

#define ORT_TRY(call)                                  \
	do {                                           \
		struct ort_status *ort_tried = (call); \
                                                       \
		if (ort_tried)                         \
			return ort_tried;              \
	} while (0)

/*
 * A table that gives names numbers. onpu_names_begin() makes it, before any other use.
 * onpu_names_begin() and onpu_names_set() return 0, or -1 when memory is exhausted.
 */
struct onpu_names {
	size_t room;
	struct onpu_name {
		WNNStringView name;
		size_t number;
		struct onpu_name *next;
	} **buckets;
};

int onpu_names_begin(struct onpu_names *names, struct import_chunk **chunks, size_t count);
/* onpu_names_get() returns the number of a name; SIZE_MAX: there is none. */
size_t onpu_names_get(const struct onpu_names *names, WNNStringView name);
int onpu_names_set(struct onpu_names *names, struct import_chunk **chunks, WNNStringView name,
		   size_t number);

struct onpu_reading {
	const struct ort_api *ort;
	struct import_chunk **chunks; /* memory of all that is read; strings are copied */
	const struct onpu_options *options;
	struct onpu_names *dynamic; /* gets the names of values with unknown sizes; may be NULL */
	int64_t trial;		    /* size for unknown dimensions; -1: they stay unknown */
	/*
	 * copy the weights of graphs within nodes, because the description outlives ONNX Runtime's
	 * graph, and find the files of the others
	 */
	bool keep;
};

struct onpu_read {
	WNNOnnxGraph graph; /* its contents were made by this module, which may change them */
	size_t set_count;
	WNNOnnxOperatorSet *sets;
	const struct ort_node **nodes; /* nodes of ONNX Runtime, in the order of graph.nodes */
	WNNOnnxNode *described;	       /* graph.nodes, writable */
	WNNOnnxTensor *tensors;	       /* graph.tensors, writable */
	/* where the tensors are in files below the model's folder; only with reading->keep */
	WNNOnnxTensorFile *files;
	/* whether the graph uses values of a graph that contains it */
	bool uses_outer;
};

/*
 * Reads a graph. Its inputs are all values that are neither constant nor computed by a node of it,
 * in the order of their use. Weights stay in ONNX Runtime's memory; with reading->keep, those of
 * graphs within nodes are copied. Returns NULL, or an error.
 */
struct ort_status *onpu_read_graph(const struct onpu_reading *reading,
				   const struct ort_graph *graph, struct onpu_read *out);
struct ort_status *onpu_read_value(const struct onpu_reading *reading,
				   const struct ort_value_info *info, WNNOnnxValue *value);
/*
 * Set *values to the *count inputs or outputs of a node; absent ones are NULL. They return NULL, or
 * an error.
 */
struct ort_status *onpu_node_inputs(const struct onpu_reading *reading, const struct ort_node *node,
				    size_t *count, const struct ort_value_info ***values);
struct ort_status *onpu_node_outputs(const struct onpu_reading *reading,
				     const struct ort_node *node, size_t *count,
				     const struct ort_value_info ***values);
WNNStringView onpu_view(const struct onpu_reading *reading, const char *text);
void *onpu_take(const struct onpu_reading *reading, size_t size);
/* Returns the bytes of @elements of an ONNX type; SIZE_MAX: its elements have no fixed size. */
size_t onpu_type_bytes(int type, size_t elements);
/* Returns whether the library has a type of elements with the same bytes as this ONNX type. */
bool onpu_is_webnn_type(int type);
/* Returns whether that type of the library is @webnn. */
bool onpu_is_type(int type, WNNOperandDataType webnn);

#endif
