/* SPDX-License-Identifier: MIT */
/* Groups the nodes that go together into one graph of the library. */
#ifndef ONPU_PARTITION_H
#define ONPU_PARTITION_H

#include "read.h"

#define ONPU_NO_GROUP SIZE_MAX

struct onpu_partition {
	const struct onpu_reading *reading;
	const struct onpu_read *read;
	WNNBool *supported; /* of each node */
	size_t *group;	    /* of each node, ONPU_NO_GROUP for those that stay with ONNX Runtime */
	size_t group_count; /* groups may be empty */
	struct onpu_names producer; /* by the name of a value: the node that makes it */
	struct onpu_names output;   /* names of outputs of the graph */
	struct onpu_names type;	    /* by the name of a value: its place in inputs, then values */
	struct {
		size_t count;
		size_t *nodes;
	} *before; /* the nodes that each depends on */
	size_t *stage;
};

/* Prepares what does not depend on which nodes are supported. */
struct ort_status *onpu_partition_begin(struct onpu_partition *partition,
					const struct onpu_reading *reading,
					const struct onpu_read *read, WNNBool *supported);
/* Makes connected groups such that no path from a group leads out of it and back. */
struct ort_status *onpu_partition_group(struct onpu_partition *partition);
/*
 * The graph of a group. An input whose type is not known makes its nodes unsupported: *changed.
 */
struct ort_status *onpu_partition_describe(struct onpu_partition *partition, size_t group,
					   WNNOnnxGraph *out, size_t **indices, bool *changed);

#endif
