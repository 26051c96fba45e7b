/* SPDX-License-Identifier: MIT */
/* The known operations: each has a row with its check and its kernel. */
#ifndef SHLO_KINDS_H
#define SHLO_KINDS_H

#include <webnn/webnn.h>

#include "module.h"
#include "scalar.h"

struct shlo_run;
struct shlo_frame;
struct shlo_tensor;
struct shlo_lower;

/*
 * An operation that is checked: at load with the types of the file, and at run time with the types
 * of the values, where the file leaves dimensions open.
 */
struct shlo_check {
	struct shlo_arena *arena;
	struct shlo_guard *guard;
	const struct shlo_op *op;
	const struct shlo_module *module;
	const struct shlo_type *const *in;
	size_t in_count;
	/* The check fills in the types of the results; NULL: the file's type applies. */
	const struct shlo_type **out;
	/* the run whose values have the types; NULL: they are the types of the file */
	struct shlo_run *run;
};

/* The operands, types and results of an operation that is evaluated. */
struct shlo_call {
	struct shlo_run *run;
	struct shlo_frame *frame;
	const struct shlo_op *op;
	struct shlo_tensor *const *in; /* operands; borrowed */
	/* Types of the results with all dimensions known; NULL: they depend on the values. */
	const struct shlo_type *const *types;
	struct shlo_tensor **out; /* the kernel fills in the results */
};

/* Families of operations that are handled alike. */
enum shlo_family {
	SHLO_OTHER,
	SHLO_UNARY,  /* code: enum shlo_unary */
	SHLO_BINARY, /* code: enum shlo_binary */
	SHLO_COMPARE,
	SHLO_SELECT,
	SHLO_CLAMP,
	SHLO_CONVERT,
	SHLO_CONSTANT,
	SHLO_CHECK,  /* checks results of the program, and has no results itself */
	SHLO_RETURN, /* ends a region */
};

/* Whether operands and results may be quantised. */
enum shlo_quantised {
	SHLO_PLAIN, /* they may not be quantised */
	SHLO_SCALE, /* they may have one scale for all elements */
	SHLO_AXES,  /* they may also have a scale for each index of a dimension */
};

struct shlo_kind {
	const char *name;
	int operands, results, regions; /* -1: any number */
	void (*check)(struct shlo_check *check);
	void (*eval)(struct shlo_call *call);
	enum shlo_family family;
	int code;
	enum shlo_quantised quantised;
	bool async; /* whether async_start may contain the operation */
	/*
	 * When l->b is NULL, returns whether the operation can become operators of a graph.
	 * Otherwise adds the operators and sets the operands of all results, NULL where the builder
	 * has refused one; the return value has no meaning then. See lower.h.
	 */
	bool (*lower)(struct shlo_lower *l, WNNOperand *out);
};

/* Returns the kind of the operation with this name; NULL: there is no such operation. */
const struct shlo_kind *shlo_kind_find(const char *name);

#define KIND(name, operands, results, regions, checker, kernel, family, code, quantised, async, \
	     lowered)                                                                           \
	void shlo_check_##checker(struct shlo_check *check);                                    \
	void shlo_eval_##kernel(struct shlo_call *call);                                        \
	bool shlo_lower_##lowered(struct shlo_lower *l, WNNOperand *out);
#include "kinds.def"
#undef KIND

/* Ends the check with an error, which the caller of the check reports with the operation's name. */
_Noreturn void shlo_wrong(struct shlo_check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets @numbers from a required attribute, and returns their count. */
int shlo_need_ints(struct shlo_check *check, const char *name, int64_t *numbers);
/*
 * Reads @count numbers of an attribute; each is @otherwise when the attribute is absent, empty or
 * no list of numbers.
 */
void shlo_ints_or(struct shlo_check *check, const char *name, int64_t *numbers, int count,
		  int64_t otherwise);
int64_t shlo_need_int(struct shlo_check *check, const char *name);
/* Returns the type of an operand, which must be a tensor of known rank. */
const struct shlo_type *shlo_need_tensor(struct shlo_check *check, size_t operand);
/* Demands that all numbers are dimensions of @rank, and each at most once. */
void shlo_need_dims(struct shlo_check *check, const char *name, const int64_t *dims, int count,
		    int rank);
/* Sets a result with the element type of @like. */
void shlo_out_like(struct shlo_check *check, size_t result, const struct shlo_type *like, int rank,
		   const int64_t *dims);
/* Returns the type of a result in the file. */
const struct shlo_type *shlo_declared(struct shlo_check *check, size_t result);
/* Demands that the region takes @arguments values and returns @results values. */
void shlo_need_region(struct shlo_check *check, size_t region, size_t arguments, size_t results);
/*
 * Returns the number of positions of a window of @size over @dim, with padding and dilation;
 * SHLO_DYNAMIC when it is not known.
 */
int64_t shlo_window_count(int64_t dim, int64_t size, int64_t stride, int64_t low, int64_t high,
			  int64_t base_dilation, int64_t window_dilation);

/*
 * Return the sum and the product of two sizes, at most INT64_MAX: a tensor without elements may have
 * dimensions of any size.
 */
int64_t shlo_size_add(int64_t a, int64_t b);
int64_t shlo_size_mul(int64_t a, int64_t b);

/* Returns the size that @a and @b agree on, where one may be unknown; -1 when they differ. */
int64_t shlo_dim_meet(int64_t a, int64_t b);

#endif
