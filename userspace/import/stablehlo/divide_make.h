/* SPDX-License-Identifier: MIT */
/*
 * Makes the operations of the program that each device runs, among them those that join, cut and
 * add up the parts of tensors.
 */
#ifndef SHLO_DIVIDE_MAKE_H
#define SHLO_DIVIDE_MAKE_H

#include "divide.h"

struct shlo_made {
	struct shlo_op *op;
	/*
	 * twice the largest number of collectives on a path to the operation, plus 1 if it is one
	 * itself
	 */
	int level;
	size_t order;
};

/* The number of a device's part along axes, times the size of a part. */
struct shlo_start {
	uint32_t axes;
	int64_t size;
	struct shlo_value *value;
};

struct shlo_emitter {
	struct shlo_divider *d;
	struct shlo_made *ops;
	size_t op_count;
	size_t first;	 /* slot of the first new value */
	int *levels;	 /* by slot from @first on */
	int64_t channel; /* number of collectives so far */
	struct shlo_start *starts;
	size_t start_count;
	struct shlo_value *device; /* number of this device */
	/* by slot of a value in a region that is copied: the copy */
	struct shlo_value **copies;
	struct shlo_location location; /* of the step whose operations are made */
	bool has_callbacks;	       /* whether the module calls functions of the application */
	int callback_level;	       /* of the last step that may call such a function */
};

/* Return new objects; a value has the level of the operation that gives it. */
struct shlo_value *shlo_make_value(struct shlo_emitter *e, const struct shlo_type *type,
				   struct shlo_op *op, int level);
struct shlo_op *shlo_make_op(struct shlo_emitter *e, const char *name, size_t operands,
			     size_t results);
struct shlo_attr *shlo_make_attr(struct shlo_emitter *e, enum shlo_attr_kind kind, int64_t number);
const struct shlo_attr *shlo_make_ints(struct shlo_emitter *e, const int64_t *numbers, int count);
/* Sets an attribute of a dictionary that no other operation shares. */
void shlo_make_set(struct shlo_emitter *e, struct shlo_attr *dict, const char *name,
		   const struct shlo_attr *attr);

/* Returns the level of an operation on these values. */
int shlo_make_level(const struct shlo_emitter *e, struct shlo_value *const *values, size_t count,
		    bool is_collective);
void shlo_make_append(struct shlo_emitter *e, struct shlo_op *op, int level);
/* Appends an operation with one result of this type, and returns the result. */
struct shlo_value *shlo_make_result(struct shlo_emitter *e, struct shlo_op *op,
				    const struct shlo_type *type, bool is_collective);

/* Returns the type of a part. */
const struct shlo_type *shlo_make_type(const struct shlo_divider *d, const struct shlo_type *type,
				       const struct shlo_spec *spec);
/* Returns a collective operation between the devices that differ along these axes. */
struct shlo_op *shlo_make_collective(struct shlo_emitter *e, const char *name, struct shlo_value *x,
				     uint32_t axes);
/* Returns a region that adds its two arguments. */
struct shlo_region *shlo_make_adding(struct shlo_emitter *e, enum shlo_element element);

/* Returns all parts along axes of a dimension, joined. */
struct shlo_value *shlo_make_gathered(struct shlo_emitter *e, struct shlo_value *x, int dim,
				      uint32_t axes);
/* Returns the part of this device; each dimension of @axes says along which axes it is cut. */
struct shlo_value *shlo_make_part(struct shlo_emitter *e, struct shlo_value *x,
				  const struct shlo_spec *axes);
/* Returns the sum of what the devices have along axes. */
struct shlo_value *shlo_make_sum(struct shlo_emitter *e, struct shlo_value *x, uint32_t sums);
/* Returns an addend: the value on the first device along axes, zeros on the others. */
struct shlo_value *shlo_make_addend(struct shlo_emitter *e, struct shlo_value *x, uint32_t sums);
/* Returns this device's part @x among zeros for the other parts along axes of dimension @dim. */
struct shlo_value *shlo_make_placed(struct shlo_emitter *e, struct shlo_value *x, int dim,
				    uint32_t axes);

/*
 * shlo_axes_list() returns the list of the axes that have a bit in @sums; shlo_axes_bits() returns
 * the bits of the axes of a list.
 */
uint32_t shlo_axes_list(uint32_t sums);
uint32_t shlo_axes_bits(uint32_t axes);

#endif
