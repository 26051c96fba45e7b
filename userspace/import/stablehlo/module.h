/* SPDX-License-Identifier: MIT */
/* A module, as readers create it for all other files: functions, regions, operations, types. */
#ifndef SHLO_MODULE_H
#define SHLO_MODULE_H

#include <stdbool.h>

#include "element.h"
#include "memory.h"

/* Limits of what is read, so that a small file cannot exhaust the machine. */
#define SHLO_MAX_RANK	  64
#define SHLO_MAX_DEPTH	  64		     /* nesting of regions, types and attributes */
#define SHLO_MAX_ELEMENTS ((int64_t)1 << 31) /* elements of a tensor */
#define SHLO_MAX_VALUES	  ((size_t)1 << 22)  /* values of a module */
#define SHLO_MAX_BYTES	  ((size_t)1 << 32)  /* bytes of a file */

#define SHLO_DYNAMIC INT64_MIN /* size of a dimension that is written as ? */

/*
 * the most parts of a type or attribute, counted at all depths; a list of numbers that is not
 * nested may have more
 */
#define SHLO_MAX_WEIGHT ((size_t)1 << 16)

enum shlo_type_kind {
	SHLO_TENSOR,
	SHLO_TOKEN,
	SHLO_TUPLE,
	SHLO_FUNCTION,
	SHLO_FUTURE, /* the results of async_start, which async_done returns */
	SHLO_OPAQUE, /* a type of which only the text is known, such as "none"; no value has it */
};

/*
 * A quantised element type: real = (stored - zero) * scale, with one scale and zero for all
 * elements or one for each index along @axis.
 */
struct shlo_quant {
	enum shlo_element storage, expressed;
	int64_t least, most; /* range of stored values */
	int axis;	     /* dimension of the scales; -1: one scale for all */
	size_t count;
	const double *scales;
	const int64_t *zeros;
};

struct shlo_type {
	enum shlo_type_kind kind;
	enum shlo_element element; /* element type of a tensor; the storage type if quantised */
	const struct shlo_quant *quant;
	int rank; /* -1: unranked */
	const int64_t *dims;
	const int64_t *bounds; /* NULL, or the bound of each dimension, SHLO_DYNAMIC: no bound */
	size_t item_count;     /* items of a tuple or future, or operands of a function */
	const struct shlo_type *const *items;
	size_t result_count; /* results of a function */
	const struct shlo_type *const *results;
	const char *text; /* text of an opaque type */
	size_t weight;	  /* number of all types in it, and itself; 0: it holds no others */
};

enum shlo_attr_kind {
	SHLO_ATTR_INT,
	SHLO_ATTR_FLOAT,
	SHLO_ATTR_BOOL,
	SHLO_ATTR_STRING,
	SHLO_ATTR_SYMBOL,
	SHLO_ATTR_ENUM, /* a word of an enumeration, such as GT, or a type */
	SHLO_ATTR_ARRAY,
	SHLO_ATTR_DICT,
	SHLO_ATTR_DENSE,
	SHLO_ATTR_TYPE,
	SHLO_ATTR_UNIT,
};

struct shlo_attr {
	enum shlo_attr_kind kind;
	int64_t number; /* value of INT, BOOL */
	double real;	/* value of FLOAT */
	/* value of STRING, SYMBOL, ENUM; UNIT: text of an attribute that is kept as text, or NULL */
	const char *text;
	size_t count; /* items of ARRAY, DICT; bytes of a STRING */
	const struct shlo_attr *const *items;
	const char *const *names;     /* names of the items of DICT */
	const struct shlo_type *type; /* type of DENSE, TYPE; of INT and FLOAT, or NULL */
	const void *data;	      /* DENSE: the elements */
	bool splat;		      /* DENSE: data is one element, for all */
	size_t weight;		      /* ARRAY, DICT: number of all attributes in it, and itself */
};

/* A position in the file. For bytecode without locations, line is 0 and column the byte. */
struct shlo_location {
	unsigned int line, column;
};

/* A text such as "line 1, column 2", or "byte 2". */
struct shlo_location_text {
	char text[48];
};

struct shlo_location_text shlo_location_text(struct shlo_location location);

struct shlo_op;

struct shlo_value {
	const char *name;
	const struct shlo_type *type;
	struct shlo_op *op; /* operation that defines the value; NULL: the value is an argument */
	size_t slot;	    /* its index among the values of the function */
	/* DICT of the attributes of a function's argument, or NULL */
	const struct shlo_attr *marks;
};

struct shlo_block {
	size_t argument_count;
	struct shlo_value **arguments;
	size_t op_count;
	struct shlo_op **ops; /* the last one returns */
};

struct shlo_chain;
struct shlo_cut;
struct shlo_program;

struct shlo_region {
	struct shlo_block block;	    /* the only block: StableHLO has no others */
	const struct shlo_program *program; /* compiled region of scalars (program.h), or NULL */
};

struct shlo_kind;

struct shlo_op {
	const struct shlo_kind *kind;
	const char *name; /* with its dialect */
	struct shlo_location location;
	size_t operand_count, result_count, region_count;
	struct shlo_value **operands;
	struct shlo_value **results;
	struct shlo_region **regions;
	struct shlo_attr attrs; /* a DICT */
	/* DENSE: the replica_groups that name axes of a mesh, as ids; or NULL */
	const struct shlo_attr *groups;
	const struct shlo_cut *cut; /* how sdy.manual_computation slices its values, or NULL */
	/* bit k: the block defines the value of operand k < 64, and no later operation reads it */
	uint64_t last;
	/* values of the block that nothing reads after this operation, some of its results included */
	struct shlo_value **dead;
	size_t dead_count;
	/* of a sort: its readers only read so many elements of each vector, the first; 0: not known */
	int64_t wanted;
	const struct shlo_chain *chain; /* the chain that runs the operation (chain.h), or NULL */
};

struct shlo_function {
	const char *name;
	struct shlo_location location;
	struct shlo_region *region; /* NULL: the function is only declared */
	const struct shlo_type *type;
	size_t slot_count;
	/*
	 * Set by check.c: 1 for a function that calls none, otherwise 1 more than the deepest that
	 * it calls; 0: not counted yet; -1: it is being counted, calls itself, or has calls that
	 * are too deep.
	 */
	int call_depth;
	/* marks say that arguments or results are cut over devices, see sharding.h */
	bool is_sharded;
	/* for each result a DICT of its attributes, or NULL; NULL: no result has attributes */
	const struct shlo_attr **result_marks;
	const struct shlo_cut *cut; /* of the function that runs on partitions, or NULL */
};

struct shlo_refusal {
	struct shlo_location location;
	const char *op; /* name of the operation, "" for the module */
	const char *reason;
};

struct shlo_module {
	const char *name;
	struct shlo_location location;
	struct shlo_attr attrs;
	/* DICT of the meshes that sdy.mesh defines: axes, and optionally device_ids */
	struct shlo_attr meshes;
	size_t function_count;
	struct shlo_function **functions;
};

struct shlo_file {
	struct shlo_arena arena;
	struct shlo_guard guard;
	/* devices of a replica, over which marked values are cut; 0 or 1: no value is cut */
	size_t partitions;
	size_t module_count;
	struct shlo_module **modules;
	size_t refusal_count;
	struct shlo_refusal *refusals;
	size_t value_count; /* number of values read so far, for the limit */
};

/* Adds an item to the list of refusals. */
void shlo_refuse(struct shlo_file *file, struct shlo_location location, const char *op,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

struct shlo_function *shlo_function_find(const struct shlo_module *module, const char *name);
/* Returns the function that runs: main, or the only function; NULL: there is neither. */
struct shlo_function *shlo_module_entry(const struct shlo_module *module);
/*
 * Returns the number of devices that the attribute @name of the module demands; 0 when it has none.
 */
size_t shlo_module_said(const struct shlo_module *module, const char *name);

/* Returns an attribute of a dictionary, which may be NULL; NULL: there is none. */
const struct shlo_attr *shlo_attr_find(const struct shlo_attr *dict, const char *name);
/*
 * Return the value of an operation's attribute; @otherwise: it is absent or of another kind. To
 * shlo_attr_int(), an attribute of kind UNIT is 1.
 */
int64_t shlo_attr_int(const struct shlo_op *op, const char *name, int64_t otherwise);
double shlo_attr_real(const struct shlo_op *op, const char *name, double otherwise);
const char *shlo_attr_text(const struct shlo_op *op, const char *name, const char *otherwise);
/*
 * Copies the numbers of an array or of dense elements, at most @room, to @numbers. Returns how many
 * the attribute has; -1: it is absent, of another kind, or has others than integers and booleans.
 */
int64_t shlo_ints_of(const struct shlo_attr *attr, int64_t *numbers, size_t room);

const struct shlo_type *shlo_tensor_type(struct shlo_arena *arena, enum shlo_element element,
					 int rank, const int64_t *dims);
bool shlo_type_is_static(const struct shlo_type *type);
/*
 * Returns the number of elements; -1: the type is no tensor, a dimension is open, or the number is
 * above SHLO_MAX_ELEMENTS.
 */
int64_t shlo_type_count(const struct shlo_type *type);
/* Returns the bytes of the elements, whose number must be known. */
size_t shlo_type_bytes(const struct shlo_type *type);
bool shlo_type_same(const struct shlo_type *a, const struct shlo_type *b);
/* Whether a value of type @a is allowed where @b is written: an open dimension fits any size. */
bool shlo_type_fits(const struct shlo_type *a, const struct shlo_type *b);
bool shlo_dims_fit(const struct shlo_type *a, const struct shlo_type *b);
/* Returns the type as MLIR writes it. */
const char *shlo_type_text(struct shlo_arena *arena, const struct shlo_type *type);

/* Reads MLIR text; an error leaves by the file's guard. */
void shlo_read_text(struct shlo_file *file, const char *text, size_t size);
/* Whether the data begins with the magic number of bytecode, which has four bytes. */
bool shlo_is_bytecode(const void *data, size_t size);
/* Reads bytecode; an error leaves by the file's guard. */
void shlo_read_bytecode(struct shlo_file *file, const void *data, size_t size);
/*
 * Returns all modules as MLIR text in generic form, without attributes that have their default; an
 * error leaves by the arena's guard.
 */
const char *shlo_print(struct shlo_arena *arena, const struct shlo_file *file);
/*
 * Returns the program of a device, without operations of Shardy; NULL: the file has none of these,
 * has several modules or is refused, or devices compute with whole values, too.
 */
const char *shlo_print_device(struct shlo_arena *arena, const struct shlo_file *file);
/* Checks every operation, and adds invalid and unknown ones to the refusals. */
void shlo_verify(struct shlo_file *file);
/* Fills in for all operations of a function which values they are the last to read. */
void shlo_find_last_reads(struct shlo_arena *arena, const struct shlo_function *function);

#endif
