/* SPDX-License-Identifier: MIT */
/* Running a module: values, frames, and what evaluations of operations share. */
#ifndef SHLO_RUN_H
#define SHLO_RUN_H

#include "kinds.h"
#include "module.h"

struct shlo_world;
struct shlo_device;

/* A value: an array, a token without elements, or a tuple of others. Counted. */
struct shlo_tensor {
	unsigned int refs;
	struct shlo_run *run;
	struct shlo_tensor *next, **link; /* in the list of the run */
	struct shlo_type type;		  /* all dimensions known */
	int64_t dims[SHLO_MAX_RANK];
	int64_t count;
	void *data;
	struct shlo_tensor **items; /* of a tuple, type.item_count of them */
};

struct shlo_probe {
	struct shlo_probe *next;
	const char *id;
	struct shlo_tensor *value;
};

struct shlo_scratch {
	struct shlo_scratch *before;
	struct shlo_arena arena;
};

/* The values of a function that runs, by their slots. */
struct shlo_frame {
	struct shlo_frame *before;
	struct shlo_tensor **slots;
	size_t count;
};

/* Memory of a large value that is gone, for the next: new pages cost more than all else done to them. */
#define SHLO_SPARES	 4
#define SHLO_SPARE_BYTES ((size_t)64 << 10)
#define SHLO_KEPT_BYTES	 ((size_t)64 << 20) /* of spares, from one run to the next */

struct shlo_spare {
	void *data;
	size_t size;
};

/* One process: it runs in one thread, and all that it takes is in its lists. */
struct shlo_run {
	struct shlo_guard guard;
	const struct shlo_module *module;
	struct shlo_tensor *live;
	struct shlo_spare spares[SHLO_SPARES]; /* the last are the oldest */
	struct shlo_frame *frames;
	struct shlo_scratch *scratches;
	struct shlo_probe *probes;
	int depth;
	const struct shlo_op *at;	    /* for messages */
	struct shlo_world *world;	    /* NULL: alone */
	size_t process;			    /* its number in the world */
	struct shlo_device *device;	    /* NULL: reference kernels only */
	uint64_t random;		    /* numbers drawn so far */
	uint64_t loop_limit;		    /* how often a loop may turn */
	uint64_t reference_ops, device_ops; /* run so far, but for constants and checks */
};

/* Ends the run with a message, in front of which the operation and its place are put. */
_Noreturn void shlo_run_error(struct shlo_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Frees all that the run holds. */
void shlo_run_exit(struct shlo_run *run);
/* Frees it but for some memory, which stays for the next run with the struct's spares. */
void shlo_run_reset(struct shlo_run *run);

/* A new value of this type, elements zero; its owner has the only reference. */
struct shlo_tensor *shlo_tensor_new(struct shlo_run *run, const struct shlo_type *type);
/* A new value for a caller that sets all elements: they are undefined until then. */
struct shlo_tensor *shlo_tensor_unset(struct shlo_run *run, const struct shlo_type *type);
struct shlo_tensor *shlo_tensor_like(struct shlo_run *run, const struct shlo_type *element_of,
				     int rank, const int64_t *dims);
struct shlo_tensor *shlo_tensor_get(struct shlo_tensor *tensor);
void shlo_tensor_put(struct shlo_tensor *tensor);
/* A copy of the elements with other dimensions. */
struct shlo_tensor *shlo_tensor_reshaped(struct shlo_run *run, const struct shlo_tensor *tensor,
					 const struct shlo_type *like, int rank,
					 const int64_t *dims);
/* A copy that belongs to another run. */
struct shlo_tensor *shlo_tensor_copy(struct shlo_run *run, const struct shlo_tensor *tensor);

static inline struct shlo_num shlo_get(const struct shlo_tensor *tensor, int64_t index)
{
	return shlo_load(tensor->type.element, tensor->data, (size_t)index);
}

static inline void shlo_set(struct shlo_tensor *tensor, int64_t index, struct shlo_num number)
{
	shlo_store(tensor->type.element, tensor->data, (size_t)index, number);
}

/* Copies an element as it is, bits of NaN included; both have the same type. */
void shlo_move(struct shlo_tensor *to, int64_t to_index, const struct shlo_tensor *from,
	       int64_t from_index);

/* The next index in row-major order; false behind the last. */
bool shlo_next(int rank, const int64_t *dims, int64_t *index);
int64_t shlo_offset(const struct shlo_tensor *tensor, const int64_t *index);

/* Elements of a small tensor of integers; their count. */
int shlo_ints(struct shlo_run *run, const struct shlo_tensor *tensor, int64_t *numbers);

/* An operation with values of its own, for compositions: results are new references. */
void shlo_eval_op(struct shlo_run *run, struct shlo_frame *frame, const struct shlo_op *op);

/* Calls with arguments, which are borrowed; results are new references. */
void shlo_call_function(struct shlo_run *run, const struct shlo_function *function,
			struct shlo_tensor *const *arguments, struct shlo_tensor **results);
void shlo_call_region(struct shlo_run *run, struct shlo_frame *frame,
		      const struct shlo_region *region, struct shlo_tensor *const *arguments,
		      struct shlo_tensor **results);

/* A region of scalars that is applied to many elements. */
struct shlo_applier {
	struct shlo_run *run;
	struct shlo_frame *frame;
	const struct shlo_region *region;
	struct shlo_num *registers; /* in a value of the run */
	struct shlo_tensor *room;
	size_t argument_count, result_count;
};

void shlo_applier_init(struct shlo_applier *applier, struct shlo_run *run, struct shlo_frame *frame,
		       const struct shlo_region *region);
/* Arguments are numbers of the types that the region takes, results of those that it returns. */
void shlo_apply(struct shlo_applier *applier, const struct shlo_num *arguments,
		struct shlo_num *results);
void shlo_applier_exit(struct shlo_applier *applier);
/* The element type of an argument. */
enum shlo_element shlo_argument_element(const struct shlo_region *region, size_t argument);

/* Makes programs of all regions of scalars that have none yet. */
void shlo_compile_regions(struct shlo_arena *arena, const struct shlo_module *module);

/* A result of the call with the type that is known for it. */
struct shlo_tensor *shlo_result(struct shlo_call *call, size_t result);
/* Checks with types of values, as those of the file are checked. */
void shlo_check_init(struct shlo_check *check, struct shlo_call *call, struct shlo_arena *arena,
		     const struct shlo_type **types);

/* Reads an element of a quantised tensor as its real value. */
double shlo_dequantised(const struct shlo_tensor *tensor, int64_t index);
void shlo_set_quantised(struct shlo_tensor *tensor, int64_t index, double value);
bool shlo_any_quantised(const struct shlo_call *call);
/* Evaluates with all quantised operands dequantised, and quantises the results. */
void shlo_eval_dequantised(struct shlo_call *call);

/* The custom call @shape_assertion. */
void shlo_eval_assertion(struct shlo_call *call);

#endif
