/* SPDX-License-Identifier: MIT */
/* A module as readers make it and all else takes it: functions, regions, operations, types. */
#ifndef SHLO_MODULE_H
#define SHLO_MODULE_H

#include <stdbool.h>

#include "element.h"
#include "memory.h"

/* Limits of what is read, so that a small file cannot take the machine. */
#define SHLO_MAX_RANK	  64
#define SHLO_MAX_DEPTH	  64		     /* of regions, types and attributes in each other */
#define SHLO_MAX_ELEMENTS ((int64_t)1 << 31) /* of a tensor */
#define SHLO_MAX_VALUES	  ((size_t)1 << 22)  /* of a module */
#define SHLO_MAX_BYTES	  ((size_t)1 << 32)  /* of a file */

#define SHLO_DYNAMIC INT64_MIN /* a dimension that is written as ? */

#define SHLO_MAX_WEIGHT ((size_t)1 << 16) /* parts of a type or attribute, names followed */

enum shlo_type_kind {
	SHLO_TENSOR,
	SHLO_TOKEN,
	SHLO_TUPLE,
	SHLO_FUNCTION,
	SHLO_FUTURE,
	SHLO_OPAQUE, /* known by its text only, such as none: no value has it */
};

/*
 * A quantised element type: real = (stored - zero) * scale, with one scale and zero for all
 * elements or one for each index along @axis.
 */
struct shlo_quant {
	enum shlo_element storage, expressed;
	int64_t least, most; /* of stored values */
	int axis;	     /* -1: one scale for all */
	size_t count;
	const double *scales;
	const int64_t *zeros;
};

struct shlo_type {
	enum shlo_type_kind kind;
	enum shlo_element element; /* of a tensor: what is stored */
	const struct shlo_quant *quant;
	int rank; /* -1: not ranked */
	const int64_t *dims;
	const int64_t
		*bounds;   /* NULL, or for each dimension the most it may be, SHLO_DYNAMIC: none */
	size_t item_count; /* of a tuple; of a function the operands */
	const struct shlo_type *const *items;
	size_t result_count; /* of a function */
	const struct shlo_type *const *results;
	const char *text; /* of an opaque one */
	size_t weight;	  /* of what holds others: how many there are in all */
};

enum shlo_attr_kind {
	SHLO_ATTR_INT,
	SHLO_ATTR_FLOAT,
	SHLO_ATTR_BOOL,
	SHLO_ATTR_STRING,
	SHLO_ATTR_SYMBOL,
	SHLO_ATTR_ENUM, /* a word of a dialect, such as GT */
	SHLO_ATTR_ARRAY,
	SHLO_ATTR_DICT,
	SHLO_ATTR_DENSE,
	SHLO_ATTR_TYPE,
	SHLO_ATTR_UNIT,
};

struct shlo_attr {
	enum shlo_attr_kind kind;
	int64_t number;	  /* INT, BOOL */
	double real;	  /* FLOAT */
	const char *text; /* STRING, SYMBOL, ENUM */
	size_t count;	  /* ARRAY, DICT; of a STRING the bytes */
	const struct shlo_attr *const *items;
	const char *const *names;     /* of DICT */
	const struct shlo_type *type; /* DENSE, TYPE; of INT and FLOAT or NULL */
	const void *data;	      /* DENSE: the elements */
	bool splat;		      /* DENSE: one for all */
	size_t weight;		      /* ARRAY, DICT: how many there are in all */
};

/* In bytecode that does not say it, line is 0 and column the byte of the file. */
struct shlo_place {
	unsigned int line, column;
};

/* "line 1, column 2", or "byte 2". */
struct shlo_place_text {
	char text[48];
};

struct shlo_place_text shlo_place_text(struct shlo_place place);

struct shlo_op;

struct shlo_value {
	const char *name;
	const struct shlo_type *type;
	struct shlo_op *op; /* NULL: an argument */
	size_t slot;	    /* its number within the function */
};

struct shlo_block {
	size_t argument_count;
	struct shlo_value **arguments;
	size_t op_count;
	struct shlo_op **ops; /* the last returns */
};

struct shlo_program;

struct shlo_region {
	struct shlo_block block;	    /* StableHLO has regions of one block */
	const struct shlo_program *program; /* of a region of scalars: see program.h */
};

struct shlo_kind;

struct shlo_op {
	const struct shlo_kind *kind;
	const char *name; /* with its dialect */
	struct shlo_place place;
	size_t operand_count, result_count, region_count;
	struct shlo_value **operands;
	struct shlo_value **results;
	struct shlo_region **regions;
	struct shlo_attr attrs;		/* DICT */
	const struct shlo_attr *groups; /* DENSE: replica_groups that are axes of a mesh, or NULL */
};

struct shlo_function {
	const char *name;
	struct shlo_place place;
	struct shlo_region *region; /* NULL: declared only */
	const struct shlo_type *type;
	size_t slot_count;
	bool in_parts; /* arguments or results are marked as parts of values: see sharding.h */
};

struct shlo_refusal {
	struct shlo_place place;
	const char *op; /* its name, "" for the module */
	const char *reason;
};

struct shlo_module {
	const char *name;
	struct shlo_place place;
	struct shlo_attr attrs;
	struct shlo_attr meshes; /* DICT of what sdy.mesh says: axes, and device_ids or not */
	size_t function_count;
	struct shlo_function **functions;
};

/* All that a file holds. */
struct shlo_file {
	struct shlo_arena arena;
	struct shlo_guard guard;
	size_t module_count;
	struct shlo_module **modules;
	size_t refusal_count;
	struct shlo_refusal *refusals;
	size_t value_count; /* so far, for the limit */
};

/* Adds to the list of refusals. */
void shlo_refuse(struct shlo_file *file, struct shlo_place place, const char *op,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

struct shlo_function *shlo_function_find(const struct shlo_module *module, const char *name);
/* Returns the function that runs: main, or the only public one; NULL if there is none. */
struct shlo_function *shlo_module_entry(const struct shlo_module *module);

/* An attribute of an operation or a dictionary; NULL if it is not there. */
const struct shlo_attr *shlo_attr_find(const struct shlo_attr *dict, const char *name);
int64_t shlo_attr_int(const struct shlo_op *op, const char *name, int64_t otherwise);
double shlo_attr_real(const struct shlo_op *op, const char *name, double otherwise);
const char *shlo_attr_text(const struct shlo_op *op, const char *name, const char *otherwise);
/* The numbers of an array or of dense integers: their count, or -1 if the attribute is not there. */
int64_t shlo_ints_of(const struct shlo_attr *attr, int64_t *numbers, size_t room);

/* Types. */
const struct shlo_type *shlo_tensor_type(struct shlo_arena *arena, enum shlo_element element,
					 int rank, const int64_t *dims);
bool shlo_type_is_static(const struct shlo_type *type);
/* The number of elements, -1 when not known, or more than the limit. */
int64_t shlo_type_count(const struct shlo_type *type);
bool shlo_type_same(const struct shlo_type *a, const struct shlo_type *b);
/* Whether a value of the one may be where the other is written: unknown dimensions fit any. */
bool shlo_type_fits(const struct shlo_type *a, const struct shlo_type *b);
bool shlo_dims_fit(const struct shlo_type *a, const struct shlo_type *b);
/* Returns the type as MLIR writes it. */
const char *shlo_type_text(struct shlo_arena *arena, const struct shlo_type *type);

/* Reads text; leaves by the file's guard when it is no MLIR. */
void shlo_read_text(struct shlo_file *file, const char *text, size_t size);
/* Reads bytecode, which begins with four bytes of its own; leaves by the file's guard. */
bool shlo_is_bytecode(const void *data, size_t size);
void shlo_read_bytecode(struct shlo_file *file, const void *data, size_t size);
/* All modules as MLIR's text in its generic form, without what is the default; NULL: too long. */
const char *shlo_print(struct shlo_arena *arena, const struct shlo_file *file);
/* Checks every operation, and adds what is wrong or not known to the refusals. */
void shlo_verify(struct shlo_file *file);

#endif
