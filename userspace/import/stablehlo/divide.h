/* SPDX-License-Identifier: MIT */
/*
 * Divides the work of a program for several partitions: shardings of arguments, results and
 * constraints spread over the values, and each device computes its part of them, with collective
 * operations where parts meet.
 */
#ifndef SHLO_DIVIDE_H
#define SHLO_DIVIDE_H

#include "kinds.h"

#define SHLO_DIVIDED_RANK 8 /* values with more dimensions stay whole */
#define SHLO_DIVIDED_AXES 8 /* the most axes of a mesh, or parts of axes, that divide a program */

/*
 * How a value is divided: for each dimension a list of numbers of axes from 1 on, of four bits
 * each, the outermost axis in the lowest bits. 0: the dimension is whole.
 */
struct shlo_spec {
	uint32_t dims[SHLO_DIVIDED_RANK];
	/* a bit, 1 << number, for each axis along which the devices have addends (unreduced) */
	uint32_t sums;
};

/*
 * The indices over which an operation loops: dimensions of operands and results that one index
 * walks along are divided alike.
 */
struct shlo_rule {
	int count;     /* number of indices */
	int64_t *size; /* by index: a number that the number of parts must divide */
	bool *is_sum;  /* by index: it is in no result; parts of the result have to be combined */
	/* the index of each dimension of operands and results; -1: the dimension must be whole */
	int (*in)[SHLO_DIVIDED_RANK], (*out)[SHLO_DIVIDED_RANK];
	/* attribute with sizes of the dimensions of operand 0, or NULL */
	const char *sizes;
};

/*
 * An operation of the program, in which the operations of functions stand in place of their calls;
 * in, out: the numbers of its operands and results in shlo_divider.values.
 */
struct shlo_step {
	const struct shlo_op *op;
	size_t *in, *out;
	struct shlo_rule rule;
	/*
	 * of sdy.manual_computation: how its operands and results are divided; NULL for other
	 * operations
	 */
	struct shlo_spec *in_specs, *out_specs;
	/* values from around the operation that its regions read, and their numbers */
	size_t captured_count;
	const struct shlo_value **captured;
	size_t *captured_numbers;
};

/* A value that exists on the devices in one way of being divided. */
struct shlo_version {
	struct shlo_spec spec;
	struct shlo_value *value;
};

struct shlo_divided {
	const struct shlo_type *type; /* of the whole value */
	/*
	 * how it is divided unless a step asks for another way; along spec.sums the devices may
	 * keep addends
	 */
	struct shlo_spec spec;
	bool is_fixed; /* the program says how */
	size_t maker;  /* number of the step that gives it, + 1; 0: an argument */
	size_t version_count;
	struct shlo_version *versions;
};

struct shlo_divider {
	struct shlo_file *file;
	struct shlo_arena *arena;
	struct shlo_module *module;
	struct shlo_function *function;
	const char *mesh;
	const int64_t *positions; /* of devices in the mesh */
	size_t axis_count;
	int64_t axis_size[SHLO_DIVIDED_AXES], axis_stride[SHLO_DIVIDED_AXES];
	const char *axis_name[SHLO_DIVIDED_AXES];
	size_t value_count, step_count;
	struct shlo_divided *values;
	struct shlo_step *steps;
	size_t *arguments, *results; /* numbers of values */
	struct shlo_spec *result_specs;
	/* operations, operands, results and block arguments so far, those in regions too */
	size_t part_count;
	bool is_odd; /* the program has an operation or type that cannot be divided */
};

/* Whether an operation is sdy.manual_computation, whose region computes with parts of values. */
bool shlo_divide_is_manual(const struct shlo_op *op);

/* Returns the number of parts that axes make. */
int64_t shlo_axes_parts(const struct shlo_divider *d, uint32_t axes);

/* Fills in the rule of a step; one without indices is computed whole on each device. */
void shlo_divide_rule(const struct shlo_divider *d, struct shlo_step *step);
/*
 * The operands of a step that may be open sums: each device has an addend of such an operand, and
 * computes an addend of the step's result. ALL: all operands of a range must be open, as both of
 * a + b; ONE: one operand of a range, while each device has the others whole, as in a * b; NOT:
 * no operand may be open.
 */
enum shlo_linear { SHLO_LINEAR_NOT, SHLO_LINEAR_ALL, SHLO_LINEAR_ONE };
/*
 * Returns which operands of a step with one result may be open, and sets their range: from *first
 * to before *end.
 */
enum shlo_linear shlo_divide_linear(const struct shlo_divider *d, const struct shlo_step *step,
				    size_t *first, size_t *end);

/*
 * Returns, by index of a step, the axes that divide it; axes of @sums divide none. The indices get
 * the axes of the largest operand or result first, since moving it costs most; of equals a result
 * comes before an operand.
 */
uint32_t *shlo_divide_choose(const struct shlo_divider *d, const struct shlo_step *step,
			     uint32_t sums);
/*
 * Whether the parts of a result that devices compute for a summed index are added up: false for a
 * reduction with another operation than addition.
 */
bool shlo_divide_is_addition(const struct shlo_op *op);
/*
 * Returns the axes along which a step takes addends of the operands from *first to before *end, and
 * gives an addend of its result, since no one wants that sum yet.
 */
uint32_t shlo_divide_passed(const struct shlo_divider *d, const struct shlo_step *step,
			    size_t *first, size_t *end);
/* Replaces the function's operations by those of one device. */
void shlo_divide_emit(struct shlo_divider *d);

/*
 * Divides the functions that run, of modules that say mhlo.num_replicas = 1, in a file that is
 * checked and for several partitions. Returns whether one was changed: it then has all operations
 * in a sdy.manual_computation, and the caller has to find the slices of its values anew. Regions of
 * such operations that the file has are put in as they are.
 */
bool shlo_divide(struct shlo_file *file);

#endif
