/* SPDX-License-Identifier: MIT */
/* A group of nodes that the provider has taken: its graphs, one for each shape of its inputs. */
#ifndef ONPU_GROUP_H
#define ONPU_GROUP_H

#include "read.h"

#define ONPU_MAX_RANK	  8
#define ONPU_MAX_PROGRAMS 16 /* graphs that a group keeps, for different shapes */

struct onpu_shape {
	size_t rank;
	int64_t dims[ONPU_MAX_RANK];
};

/* An input or output: its name, and its index in the fused node. */
struct onpu_port {
	WNNStringView name;
	size_t index;
	int type;     /* TensorProto.DataType of the elements */
	bool dynamic; /* the shape is only known in a run */
	bool fixed;   /* the group is compiled for this shape alone */
	struct onpu_shape shape;
};

/*
 * The memory of an input or output in a run: ONNX Runtime's memory itself, or a tensor of the
 * provider that is copied.
 */
struct onpu_bound {
	/* lent: in ONNX Runtime's memory; own: the provider's, to copy; NULL until needed */
	WNNTensor lent, own;
	void *data;   /* ONNX Runtime's memory that lent is in */
	void *target; /* where to copy the contents of own */
};

/* The tensors of one run; its named tensors are those that the library uses. */
struct onpu_binding {
	struct onpu_binding *next;
	WNNNamedTensor *inputs, *outputs;
	struct onpu_bound *bound; /* memory of the inputs, then of the outputs */
};

/* A graph for one shape of each input. */
struct onpu_program {
	struct onpu_program *next;
	struct onpu_shape *shapes; /* shapes of the group's inputs */
	unsigned int users;
	WNNGraph graph; /* NULL: no output has elements */
	struct onpu_slot {
		size_t port;	      /* index among the group's inputs or outputs */
		size_t size, element; /* bytes of the value; alignment of its memory */
		WNNTensorDescriptor descriptor;
		struct onpu_shape shape;
	} *inputs, *outputs;
	size_t input_count, output_count;
	/* outputs without elements, which no graph has; NULL: there are none */
	struct onpu_empty {
		size_t port; /* index among the group's outputs */
		struct onpu_shape shape;
	} *empties;
	size_t empty_count;
	struct onpu_binding *free; /* bindings that no run uses */
};

struct onpu_group {
	struct ort_compute_info base;
	struct onpu_ep *ep;
	struct import_chunk *chunks; /* memory of the members below */
	char *name;
	size_t input_count, output_count;
	struct onpu_port *inputs, *outputs;
	bool dynamic; /* whether an input is dynamic */
	/*
	 * Description for building graphs for other shapes. A tensor that has an index in weights
	 * is an input of the fused node: its data comes from ONNX Runtime when a graph is built.
	 */
	struct onpu_read read;
	const char *folder; /* the folder of read.files; NULL: it is not known */
	size_t *weights;    /* by tensor: its index in the fused node, or SIZE_MAX */
	pthread_mutex_t lock;
	struct onpu_program *programs; /* the most recently used first */
};

/* group.c */
/* Sets *group to a new group, for a fused node and its graph. Returns NULL, or an error. */
struct ort_status *onpu_group_create(struct onpu_ep *ep, const struct ort_graph *graph,
				     const struct ort_node *fused, struct onpu_group **group);
/*
 * Sets *position to the index of a value among the inputs or outputs of a fused node; SIZE_MAX: it
 * is not there. Returns NULL, or an error.
 */
struct ort_status *onpu_find_index(const struct onpu_reading *reading,
				   const struct ort_value_info *const *values, size_t count,
				   WNNStringView name, size_t *position);
void onpu_group_release(struct onpu_group *group);
/*
 * Sets *program to a new program for shapes of the inputs, which are in the order of the group's
 * inputs. Returns NULL, or an error.
 */
struct ort_status *onpu_group_build(struct onpu_group *group, const struct onpu_shape *shapes,
				    struct onpu_program **program);
/*
 * Sets *program to a program of a graph, which is taken over in any case; without a graph, all its
 * outputs are @empty, those without elements. Returns NULL, or an error.
 */
struct ort_status *onpu_program_create(struct onpu_group *group, WNNGraph graph,
				       WNNOnnxValueInfoArray empty, const struct onpu_shape *shapes,
				       struct onpu_program **program);
void onpu_program_release(struct onpu_program *program);

/* compute.c */
struct ort_status *onpu_group_compute(struct ort_compute_info *info, void *state,
				      struct ort_kernel_context *context);

#endif
