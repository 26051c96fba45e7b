/* SPDX-License-Identifier: MIT */
/* A group of nodes that the provider has taken: its graphs, one for each shape of its inputs. */
#ifndef ONPU_GROUP_H
#define ONPU_GROUP_H

#include "read.h"

#define ONPU_MAX_RANK	  8
#define ONPU_MAX_PROGRAMS 16 /* graphs that a group keeps */

struct onpu_shape {
	size_t rank;
	int64_t dims[ONPU_MAX_RANK];
};

/* An input or output, by its place in the fused node. */
struct onpu_port {
	WNNStringView name;
	size_t index;
	bool dynamic; /* its shape is not known before a run */
	bool fixed;   /* the group is compiled for this shape alone */
	struct onpu_shape shape;
};

/* What an input or output of a run lies in: ONNX Runtime's memory, or a tensor of our own that is copied. */
struct onpu_bound {
	WNNTensor lent, own; /* NULL until they are needed */
	void *data;	     /* ONNX Runtime's memory that the first of them lies in */
	void *target;	     /* where the run wants what the other one gets */
};

/* The tensors of one run; of the named ones the library only knows what the run uses. */
struct onpu_binding {
	struct onpu_binding *next;
	WNNNamedTensor *inputs, *outputs;
	struct onpu_bound *bound; /* of the inputs, then of the outputs */
};

/* A graph for one shape of each input. */
struct onpu_program {
	struct onpu_program *next;
	struct onpu_shape *shapes; /* of the inputs of the group */
	unsigned int users;
	WNNGraph graph;
	struct onpu_slot {
		size_t port;	      /* of the group */
		size_t size, element; /* bytes of all, and of what an address is a multiple of */
		WNNTensorDescriptor descriptor;
		struct onpu_shape shape;
	} *inputs, *outputs;
	size_t input_count, output_count;
	struct onpu_binding *free; /* bindings that no run uses */
};

struct onpu_group {
	struct ort_compute_info base;
	struct onpu_ep *ep;
	struct import_chunk *chunks; /* of what follows */
	char *name;
	size_t input_count, output_count;
	struct onpu_port *inputs, *outputs;
	bool dynamic; /* an input is */
	/* To build for another shape; the data of tensors with an index is that of a run. */
	struct onpu_read read;
	size_t *weights; /* of each tensor: its place in the fused node, or SIZE_MAX */
	pthread_mutex_t lock;
	struct onpu_program *programs; /* the one used last is the first */
};

/* group.c */
struct ort_status *onpu_group_create(struct onpu_ep *ep, const struct ort_graph *graph,
				     const struct ort_node *fused, struct onpu_group **group);
/* Where a value stands among the inputs or outputs of a fused node; SIZE_MAX: nowhere. */
struct ort_status *onpu_find_place(const struct onpu_reading *reading,
				   const struct ort_value_info *const *values, size_t count,
				   WNNStringView name, size_t *place);
void onpu_group_release(struct onpu_group *group);
/* A graph for shapes of the inputs, in the order of the group's. */
struct ort_status *onpu_group_build(struct onpu_group *group, const struct onpu_shape *shapes,
				    struct onpu_program **program);
/* Makes a program of a graph, which it takes. */
struct ort_status *onpu_program_create(struct onpu_group *group, WNNGraph graph,
				       const struct onpu_shape *shapes,
				       struct onpu_program **program);
void onpu_program_release(struct onpu_program *program);

/* compute.c */
struct ort_status *onpu_group_compute(struct ort_compute_info *info, void *state,
				      struct ort_kernel_context *context);

#endif
