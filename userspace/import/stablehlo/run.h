/* SPDX-License-Identifier: MIT */
/* Running a module: values, frames, and helpers that kernels share. */
#ifndef SHLO_RUN_H
#define SHLO_RUN_H

#include "kinds.h"
#include "module.h"

struct shlo_world;
struct shlo_device;

/* bytes of elements that need no memory of their own, such as those of a loop's counter */
#define SHLO_SMALL_BYTES 64

/* A value with a reference count: an array, a token without elements, or a tuple of values. */
struct shlo_tensor {
	unsigned int refs;
	struct shlo_run *run;
	struct shlo_tensor *next, **link; /* links in the run's list of values */
	struct shlo_type type;		  /* with all dimensions known */
	int64_t dims[SHLO_MAX_RANK];
	int64_t count;
	void *data;		    /* the elements, in @small if they fit */
	bool is_lent;		    /* the elements are the caller's: nothing writes to them */
	struct shlo_tensor **items; /* type.item_count items of a tuple */
	_Alignas(16) unsigned char small[SHLO_SMALL_BYTES];
};

/* A value that interpreter.probe has kept for the checks that follow. */
struct shlo_probe {
	struct shlo_probe *next;
	const char *id;
	struct shlo_tensor *value;
};

/* Memory of an evaluation that is under way; @before is that of the one around it. */
struct shlo_scratch {
	struct shlo_scratch *before;
	struct shlo_arena arena;
};

/* The values of one call of a function, by slot. */
struct shlo_frame {
	struct shlo_frame *before;
	struct shlo_tensor **slots;
	size_t count;
};

/*
 * Memory of a large freed value, kept for the next large value: fresh pages cost more than the
 * work on the elements.
 */
#define SHLO_SPARES	  16		      /* most spares */
#define SHLO_SPARE_BYTES  ((size_t)64 << 10)  /* least bytes of a spare */
#define SHLO_SPARES_BYTES ((size_t)256 << 20) /* most bytes of all spares */
#define SHLO_KEPT_BYTES	  ((size_t)64 << 20)  /* bytes of spares that are kept between runs */
#define SHLO_IDLE	  64 /* most freed values that are kept, without their elements */

struct shlo_spare {
	void *data;
	size_t size;
};

/*
 * The state of one process. It runs in one thread, and all its memory is in lists of this struct.
 */
struct shlo_run {
	struct shlo_guard guard;
	const struct shlo_module *module;
	struct shlo_tensor *live;
	struct shlo_tensor *idle; /* freed values for the next ones, linked by next */
	size_t idle_count;
	struct shlo_spare spares[SHLO_SPARES]; /* the newest first */
	struct shlo_frame *frames;
	struct shlo_scratch *scratches;
	struct shlo_probe *probes;
	int depth;
	const struct shlo_op *at;   /* the current operation, for messages */
	struct shlo_world *world;   /* NULL: there is only this process */
	size_t process;		    /* number of this process in the world */
	struct shlo_device *device; /* NULL: all operations use reference kernels */
	/*
	 * regions that this run came to, and that have no graphs; the index depends on the region's
	 * address
	 */
	const struct shlo_region *bare[8];
	uint64_t random; /* numbers drawn so far */
	uint64_t loop_limit;
	/* operations run so far, without constants, checks, assertions and calls */
	uint64_t reference_ops, device_ops;
	/* bytes that went into and out of graphs, and of operands that a kernel copied whole */
	uint64_t copied_bytes;
	/* bytes of the elements of all values now, and at most so far */
	size_t bytes, most_bytes;
};

/* Ends the run with a message, which begins with the position and name of the current operation. */
_Noreturn void shlo_run_error(struct shlo_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
_Noreturn void shlo_run_verror(struct shlo_run *run, const char *format, va_list args);
/* Ends the run for lack of memory: for a value of @bytes, or 0 for something small. */
_Noreturn void shlo_run_lack(struct shlo_run *run, size_t bytes);
/* For tests: the file that tells this thread how much memory the system has available. */
extern _Thread_local const char *shlo_meminfo;
/*
 * Ends the run, because a value of the current operation has another shape or type on some
 * processes.
 */
_Noreturn void shlo_run_differ(struct shlo_run *run);

/* Frees all that the run holds. */
void shlo_run_exit(struct shlo_run *run);
/* Frees all but idle values, and SHLO_KEPT_BYTES of spares, which stay for the next run. */
void shlo_run_reset(struct shlo_run *run);

/* Returns a new value of this type with zeroed elements; the caller has the only reference. */
struct shlo_tensor *shlo_tensor_new(struct shlo_run *run, const struct shlo_type *type);
/* Returns a new value for a caller that sets all elements; they are undefined until then. */
struct shlo_tensor *shlo_tensor_unset(struct shlo_run *run, const struct shlo_type *type);
/* Returns a new value of these dimensions with zeroed elements, of @element_of's element type. */
struct shlo_tensor *shlo_tensor_like(struct shlo_run *run, const struct shlo_type *element_of,
				     int rank, const int64_t *dims);
/* Returns a value whose elements are memory of the caller, which outlives the run. */
struct shlo_tensor *shlo_tensor_lent(struct shlo_run *run, const struct shlo_type *type,
				     const void *data);
/* shlo_tensor_get() takes a reference and returns @tensor; shlo_tensor_put() also takes NULL. */
struct shlo_tensor *shlo_tensor_get(struct shlo_tensor *tensor);
void shlo_tensor_put(struct shlo_tensor *tensor);
/*
 * Returns a copy with other dimensions and the type of elements of @like; ends the run unless it
 * has as many elements.
 */
struct shlo_tensor *shlo_tensor_reshaped(struct shlo_run *run, const struct shlo_tensor *tensor,
					 const struct shlo_type *like, int rank,
					 const int64_t *dims);
/* Whether a value has the type; an open dimension fits any size. */
bool shlo_value_fits(const struct shlo_tensor *value, const struct shlo_type *type);
/* Ends the run unless a value has the type. @what and @i: its name in the message. */
void shlo_need_value(struct shlo_run *run, const struct shlo_tensor *value,
		     const struct shlo_type *type, const char *what, size_t i);
/* Returns the number of bytes of the elements. */
size_t shlo_bytes_of(const struct shlo_tensor *tensor);
/* Returns a copy that belongs to another run. */
struct shlo_tensor *shlo_tensor_copy(struct shlo_run *run, const struct shlo_tensor *tensor);

static inline struct shlo_num shlo_get(const struct shlo_tensor *tensor, int64_t index)
{
	return shlo_load(tensor->type.element, tensor->data, (size_t)index);
}

static inline void shlo_set(struct shlo_tensor *tensor, int64_t index, struct shlo_num number)
{
	shlo_store(tensor->type.element, tensor->data, (size_t)index, number);
}

/* Copies an element with all its bits, those of NaN included; both tensors have one type. */
void shlo_move(struct shlo_tensor *to, int64_t to_index, const struct shlo_tensor *from,
	       int64_t from_index);

/* Advances @index in row-major order; false: it was the last one, and is now the first, all 0. */
bool shlo_next(int rank, const int64_t *dims, int64_t *index);
int64_t shlo_offset(const struct shlo_tensor *tensor, const int64_t *index);

/*
 * Copies a box of @dims elements, which are at least 1, from index @from of @x to index @to of
 * @out; both have the same rank and type of elements.
 */
void shlo_copy_box(struct shlo_tensor *out, const int64_t *to, const struct shlo_tensor *x,
		   const int64_t *from, const int64_t *dims);

/*
 * Copies the elements of a tensor of integers, and returns their count; ends the run if there are
 * more than SHLO_MAX_RANK.
 */
int shlo_ints(struct shlo_run *run, const struct shlo_tensor *tensor, int64_t *numbers);

/* Evaluates an operation with operands of the frame, and puts its results into the frame. */
void shlo_eval_op(struct shlo_run *run, struct shlo_frame *frame, const struct shlo_op *op);

/* Call a function or a region with borrowed arguments; results are new references. */
void shlo_call_function(struct shlo_run *run, const struct shlo_function *function,
			struct shlo_tensor *const *arguments, struct shlo_tensor **results);
void shlo_call_region(struct shlo_run *run, struct shlo_frame *frame,
		      const struct shlo_region *region, struct shlo_tensor *const *arguments,
		      struct shlo_tensor **results);
/*
 * Calls a region like shlo_call_region(), and takes over the references of the arguments, which
 * become NULL.
 */
void shlo_give_region(struct shlo_run *run, struct shlo_frame *frame,
		      const struct shlo_region *region, struct shlo_tensor **arguments,
		      struct shlo_tensor **results);
/* Calls a function like shlo_call_function(), and takes over references as shlo_give_region(). */
void shlo_give_function(struct shlo_run *run, const struct shlo_function *function,
			struct shlo_tensor **arguments, struct shlo_tensor **results);

/* The state for applying a region of scalars to many elements. */
struct shlo_applier {
	struct shlo_run *run;
	struct shlo_frame *frame;
	const struct shlo_region *region;
	struct shlo_num *registers; /* memory of a tensor of the run */
	struct shlo_tensor *room;
	size_t argument_count, result_count;
};

void shlo_applier_init(struct shlo_applier *applier, struct shlo_run *run, struct shlo_frame *frame,
		       const struct shlo_region *region);
/* Applies the region: arguments have the types that it takes, results those that it returns. */
void shlo_apply(struct shlo_applier *applier, const struct shlo_num *arguments,
		struct shlo_num *results);
void shlo_applier_exit(struct shlo_applier *applier);
/* Returns the element type of an argument. */
enum shlo_element shlo_argument_element(const struct shlo_region *region, size_t argument);

/* Compiles all regions of scalars that are not compiled yet. */
void shlo_compile_regions(struct shlo_arena *arena, const struct shlo_module *module);

/* Makes and returns a result of the call; ends the run when its dimensions are not known. */
struct shlo_tensor *shlo_result(struct shlo_call *call, size_t result);
/*
 * Returns a result of the call that begins with the elements of an operand. It is the operand
 * itself when nothing else reads that, and otherwise a copy.
 */
struct shlo_tensor *shlo_result_from(struct shlo_call *call, size_t result, size_t operand);
/* Prepares a check of the call with the types of its values, like the check of the file. */
void shlo_check_init(struct shlo_check *check, struct shlo_call *call, struct shlo_arena *arena,
		     const struct shlo_type **types);

/* Returns the real value of an element of a quantised tensor. */
double shlo_dequantised(const struct shlo_tensor *tensor, int64_t index);
void shlo_set_quantised(struct shlo_tensor *tensor, int64_t index, double value);
/*
 * Whether the operation computes with numbers, and has a quantised operand. Operations that only
 * move elements move the stored values.
 */
bool shlo_any_quantised(const struct shlo_call *call);
/* Evaluates with dequantised operands, and quantises the results. */
void shlo_eval_dequantised(struct shlo_call *call);

/* Evaluates the custom call @shape_assertion. */
void shlo_eval_assertion(struct shlo_call *call);
/* Ends the run with the reason when functions of LAPACK cannot be called. */
void shlo_need_lapack(struct shlo_run *run);
/* Evaluates a custom call of a function of the application. */
void shlo_eval_callback(struct shlo_call *call);
/* Evaluates a custom call that factors matrices. */
void shlo_eval_factor(struct shlo_call *call);

#endif
