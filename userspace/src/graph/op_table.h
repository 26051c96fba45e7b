/* SPDX-License-Identifier: MIT */
/*
 * The specification of every operator: operands with types and ranks, arguments, options. The
 * tables are generated from webnn.json; nothing of this is repeated in C. The rules of each
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

#define WNN_OPERAND_OPTIONAL (1 << 0) /* a member of the options; may be NULL */
#define WNN_OPERAND_VARIADIC (1 << 1) /* stands for any number of operands: concat, split */
#define WNN_OPERAND_CONDITIONAL \
	(1 << 2) /* an output that exists only with options.returnSequence */

/* An operand or an output of an operator. Sets of types: bit WNN_DATA_TYPE_BIT(type) each. */
struct wnn_op_operand {
	const char *name;	    /* as in the specification, and in the limits */
	size_t limits_offset;	    /* of its WNNTensorLimits in the limits of the operator */
	uint16_t types;		    /* allowed by the specification */
	int8_t type_as;		    /* index of the operand whose type it has, or -1 */
	uint16_t required_types;    /* what every implementation must offer */
	uint8_t rank_min, rank_max; /* allowed by the specification */
	int8_t rank_as;		    /* index of the operand whose rank it has, or -1 */
	uint8_t required_rank_min, required_rank_max;
	uint8_t flags;
	uint16_t extension_types; /* beyond the specification, where the context has them */
	/*
	 * The rank in the calls of probe.c, whose dimensions are 2. 0: that of the first operand;
	 * below 0: less than that by so much.
	 */
	int8_t sample_rank;
};

/* An enumeration of the API; names[v] is NULL for numbers that are no value. */
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

/* A member of an options struct, or an argument that is no operand. */
struct wnn_attribute {
	const char *name;
	enum wnn_attribute_kind kind;
	size_t offset;		       /* in the options struct, or in struct wnn_op_arguments */
	const struct wnn_enum *values; /* of ENUM and ENUM_ARRAY */
	uint32_t undefined;	       /* what Undefined stands for; 0: nothing, it is an error */
};

struct wnn_options_info {
	const char *type;
	size_t size;
	const struct wnn_attribute *members; /* all but nextInChain */
	uint32_t member_count;
	const void *defaults; /* the struct as its INIT macro makes it */
	const char *init;     /* the name of that macro */
};

struct wnn_op_info {
	const char *name;		       /* as in the specification: "conv2d" */
	const char *section;		       /* of the specification */
	size_t limits_offset;		       /* of its limits in WNNOpSupportLimits */
	const struct wnn_op_operand *operands; /* arguments first, then members of the options */
	uint8_t operand_count;
	uint8_t positional_count; /* how many of them are arguments */
	const struct wnn_op_operand *outputs;
	uint8_t output_count; /* conditional ones included; 1 for split */
	bool returns_list;    /* split, gru, lstm, lstmCell */
	const struct wnn_attribute *arguments;
	uint8_t argument_count;
	const struct wnn_options_info *options;
};

extern const struct wnn_op_info wnn_op_info[WNN_OP_COUNT];

/* The operator of that name, or WNN_OP_COUNT. */
enum wnn_op wnn_op_find(const char *name);

/* The name of a value as in the specification; NULL when it is none. */
const char *wnn_enum_name(const struct wnn_enum *values, uint32_t value);

/* The value of a name; 0 when there is none. */
uint32_t wnn_enum_find(const struct wnn_enum *values, const char *name);

/* Bytes of an element, 1 for those of four bits; 0 when the type is none. */
size_t wnn_data_type_size(WNNOperandDataType type);

/*
 * wnn_op_limits - fill in what the specification allows, for an implementation of all of it
 * @limits: the members of all operators are written, nothing else
 * @max_rank: where the specification sets no limit
 */
void wnn_op_limits(WNNOpSupportLimits *limits, uint32_t max_rank);

/* The limits of one operand or output of one operator, in limits that were filled in. */
const WNNTensorLimits *wnn_op_operand_limits(const WNNOpSupportLimits *limits, enum wnn_op op,
					     const struct wnn_op_operand *operand);

#endif
