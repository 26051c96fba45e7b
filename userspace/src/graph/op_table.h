/* SPDX-License-Identifier: MIT */
/*
 * The specification of every operator: operands with types and ranks, arguments, options. The
 * tables are generated from webnn.json, and C code does not repeat what they say. The rules of each
 * operator family decide how the operands of a particular call fit together.
 */
#ifndef WNN_GRAPH_OP_TABLE_H
#define WNN_GRAPH_OP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/webnn_ops.h"

/* The value of rank_max when the specification sets no limit. */
#define WNN_RANK_ANY 255

#define WNN_OPERAND_OPTIONAL (1 << 0) /* the operand is a member of the options and may be NULL */
/* the operand stands for a list: the inputs of concat, the outputs of split */
#define WNN_OPERAND_VARIADIC	(1 << 1)
#define WNN_OPERAND_CONDITIONAL (1 << 2) /* the output exists only with options.returnSequence */

/*
 * An operand or an output of an operator. Sets of types have a bit WNN_DATA_TYPE_BIT(type) for each
 * type.
 */
struct wnn_op_operand {
	const char *name; /* name in the specification and in the limits */
	/* offset of its WNNTensorLimits in the limits of the operator */
	size_t limits_offset;
	uint16_t types;		    /* types that the specification allows */
	int8_t type_as;		    /* index of the operand with the same type, or -1 */
	uint16_t required_types;    /* types that every implementation must offer */
	uint8_t rank_min, rank_max; /* ranks that the specification allows */
	int8_t rank_as;		    /* index of the operand with the same rank, or -1 */
	uint8_t required_rank_min, required_rank_max;
	uint8_t flags;
	uint16_t extension_types; /* types beyond the specification, if the context has them */
	/*
	 * The rank in the calls that probe.c makes, where all dimensions are 2. 0: the rank of the
	 * first operand; -n: that rank minus n.
	 */
	int8_t sample_rank;
};

/* An enumeration of the API; names[v] is NULL when v is not a value of it. */
struct wnn_enum {
	const char *type;
	const char *const *names;
	uint32_t count;
};

enum wnn_attribute_kind {
	WNN_ATTRIBUTE_U32,
	WNN_ATTRIBUTE_I32,
	WNN_ATTRIBUTE_F64,
	WNN_ATTRIBUTE_BOOL,
	WNN_ATTRIBUTE_ENUM,
	WNN_ATTRIBUTE_NUMBER,
	WNN_ATTRIBUTE_STRING,
	WNN_ATTRIBUTE_OPERAND,
	WNN_ATTRIBUTE_U32_ARRAY,
	WNN_ATTRIBUTE_F32_ARRAY,
	WNN_ATTRIBUTE_ENUM_ARRAY,
};

/* A member of an options struct, or an argument that is not an operand. */
struct wnn_attribute {
	const char *name;
	enum wnn_attribute_kind kind;
	/* offset in the options struct, or in struct wnn_op_arguments */
	size_t offset;
	const struct wnn_enum *values; /* the enumeration of an ENUM or ENUM_ARRAY */
	/* the value that replaces Undefined; 0: Undefined is an error */
	uint32_t undefined;
};

struct wnn_options_info {
	const char *type;
	size_t size;
	const struct wnn_attribute *members; /* members of the struct but nextInChain */
	uint32_t member_count;
	const void *defaults; /* the struct with the values of its INIT macro */
	const char *init;     /* name of the INIT macro */
};

struct wnn_op_info {
	const char *name;     /* name in the specification: "conv2d" */
	const char *section;  /* section of the specification */
	size_t limits_offset; /* offset of its limits in WNNOpSupportLimits */
	/* the arguments first, then the members of the options */
	const struct wnn_op_operand *operands;
	uint8_t operand_count;
	uint8_t positional_count; /* number of operands that are arguments */
	const struct wnn_op_operand *outputs;
	uint8_t output_count; /* number of outputs, including conditional ones; 1 for split */
	bool returns_list;
	const struct wnn_attribute *arguments;
	uint8_t argument_count;
	const struct wnn_options_info *options;
	/* the type of the structure that the chain of the options may hold; 0: it must be empty */
	WNNSType details;
	/* types that all operands may have with that structure; 0: each has its own types */
	uint16_t details_types;
};

extern const struct wnn_op_info wnn_op_info[WNN_OP_COUNT];

/* Returns the operator of that name; WNN_OP_COUNT: there is none. */
enum wnn_op wnn_op_find(const char *name);

/*
 * Returns the name of a value in the specification; NULL when it is not a value of the enumeration.
 */
const char *wnn_enum_name(const struct wnn_enum *values, uint32_t value);

/* Returns the value of that name; 0: there is none. */
uint32_t wnn_enum_find(const struct wnn_enum *values, const char *name);

/* Returns the bytes of an element, 1 for types of four bits; 0 when `type` is not a type. */
size_t wnn_data_type_size(WNNOperandDataType type);

/*
 * wnn_op_limits - fill in the limits of an implementation of the whole specification
 * @limits: the members of all operators are written, nothing else
 * @max_rank: the rank for operands without a limit in the specification
 */
void wnn_op_limits(WNNOpSupportLimits *limits, uint32_t max_rank);

/* Returns the limits of one operand or output of an operator, from limits that are filled in. */
const WNNTensorLimits *wnn_op_operand_limits(const WNNOpSupportLimits *limits, enum wnn_op op,
					     const struct wnn_op_operand *operand);

#endif
