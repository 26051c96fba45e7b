/* SPDX-License-Identifier: MIT */
/* Groups nodes that become one graph of the library. */
#ifndef ONPU_PARTITION_H
#define ONPU_PARTITION_H

#include "read.h"

#define ONPU_NO_GROUP SIZE_MAX

struct onpu_partition {
	const struct onpu_reading *reading;
	const struct onpu_read *read;
	WNNBool *supported; /* by node: whether the importer supports it */
	/* by node: why the node became unsupported; NULL: it did not, or the reason was reported */
	const char **reason;
	size_t *group;	    /* by node: its group; ONPU_NO_GROUP: it stays with ONNX Runtime */
	size_t group_count; /* groups may be empty */
	struct onpu_names producer; /* by name of a value: the node that computes it */
	struct onpu_names output;   /* names of outputs of the graph */
	struct onpu_names type;	    /* by name of a value: its index in inputs, then values */
	struct {
		size_t count;
		size_t *nodes;
	} *before; /* by node: the nodes that it depends on */
	size_t *stage;
};

/*
 * Prepares all of a partition that does not depend on which nodes are supported. Returns NULL, or
 * an error.
 */
struct ort_status *onpu_partition_begin(struct onpu_partition *partition,
					const struct onpu_reading *reading,
					const struct onpu_read *read, WNNBool *supported);
/*
 * Forms connected groups such that no path leads out of a group and back into it. Returns NULL, or
 * an error.
 */
struct ort_status *onpu_partition_group(struct onpu_partition *partition);
/*
 * Makes nodes unsupported that read or compute numbers of double precision: the library would
 * compute them in single precision. Adds their number to *count. Returns NULL, or an error.
 */
struct ort_status *onpu_partition_refuse_doubles(struct onpu_partition *partition, size_t *count);
/*
 * Sets *out to the graph of a group and *indices to the numbers of its nodes. Nodes become
 * unsupported, and *changed is set, when they read an input of unknown type, or when the group's
 * graph would hold an input or output of theirs in another type than ONNX Runtime. Returns NULL, or
 * an error.
 */
struct ort_status *onpu_partition_describe(struct onpu_partition *partition, size_t group,
					   WNNOnnxGraph *out, size_t **indices, bool *changed);

#endif
