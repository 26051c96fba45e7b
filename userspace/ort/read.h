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

/* A table of names; begins as {0}, with room for @names. */
struct onpu_names {
	size_t room;
	struct onpu_name {
		WNNStringView name;
		size_t number;
		struct onpu_name *next;
	} **buckets;
};

int onpu_names_begin(struct onpu_names *names, struct import_chunk **chunks, size_t count);
/* The number of a name; SIZE_MAX: it is not there. */
size_t onpu_names_get(const struct onpu_names *names, WNNStringView name);
int onpu_names_set(struct onpu_names *names, struct import_chunk **chunks, WNNStringView name,
		   size_t number);

struct onpu_reading {
	const struct ort_api *ort;
	struct import_chunk **chunks; /* of all that is read; strings are copied */
	const struct onpu_options *options;
	struct onpu_names
		*dynamic; /* filled with the names of values of unknown sizes; may be NULL */
	int64_t trial;	  /* the size of dimensions that are not known; -1: they stay so */
	bool keep; /* weights of graphs within nodes are copied: the description outlives ONNX Runtime's graph */
};

struct onpu_read {
	WNNOnnxGraph graph; /* what it has is made by this module, and may be changed */
	size_t set_count;
	WNNOnnxOperatorSet *sets;
	const struct ort_node **nodes; /* those of graph, in the same order */
	WNNOnnxNode *described;	       /* the same as graph.nodes */
	WNNOnnxTensor *tensors;	       /* the same as graph.tensors */
	bool uses_outer;	       /* values of a graph around it */
};

/*
 * Reads a graph. Its inputs are all values that no node of it makes and that are not constant, in the order of
 * their use. Weights stay where ONNX Runtime has them.
 */
struct ort_status *onpu_read_graph(const struct onpu_reading *reading,
				   const struct ort_graph *graph, struct onpu_read *out);
struct ort_status *onpu_read_value(const struct onpu_reading *reading,
				   const struct ort_value_info *info, WNNOnnxValue *value);
/* Inputs or outputs of a node; left-out ones are NULL. */
struct ort_status *onpu_node_inputs(const struct onpu_reading *reading, const struct ort_node *node,
				    size_t *count, const struct ort_value_info ***values);
struct ort_status *onpu_node_outputs(const struct onpu_reading *reading,
				     const struct ort_node *node, size_t *count,
				     const struct ort_value_info ***values);
WNNStringView onpu_view(const struct onpu_reading *reading, const char *text);
void *onpu_take(const struct onpu_reading *reading, size_t size);
/* Bytes of elements of a type of ONNX; SIZE_MAX: it has no numbers of a fixed size. */
size_t onpu_type_bytes(int type, size_t elements);

#endif
