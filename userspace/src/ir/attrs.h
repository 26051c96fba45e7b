/* SPDX-License-Identifier: MIT */
/* The table of the attributes of each operator, for printing, parsing and checking them. */
#ifndef WNN_IR_ATTRS_H
#define WNN_IR_ATTRS_H

#include <stdio.h>

#include "ir/ir.h"

/* The text form of a field. A field without a name is written as its value alone. */
enum ir_field_kind {
	IR_FIELD_U32,	   /* name=3, or name=1,2 for an array */
	IR_FIELD_LIST,	   /* name=1,2; in memory, the number of elements precedes them */
	IR_FIELD_AXIS,	   /* name=3, below the rank of the first operand */
	IR_FIELD_MASK,	   /* name=0x6, a bit for each axis of the first operand */
	IR_FIELD_I64,	   /* name=-3 */
	IR_FIELD_U64,	   /* name=0xff: the bits of a tensor element */
	IR_FIELD_FLOAT,	   /* name=0.5, with enough digits to give equal bits when parsed */
	IR_FIELD_BOOL,	   /* name when true, nothing when false; or one of two words */
	IR_FIELD_ENUM,	   /* name=word */
	IR_FIELD_FUNCTION, /* word(alpha,beta), for a struct ir_unary_attrs */
	IR_FIELD_FUSED,	   /* name=word(alpha,beta), or nothing for IR_UNARY_NONE */
};

#define IR_FIELD_RANK UINT8_MAX /* ir_field.count: an element for each axis of the result */

/* One member of an attribute struct. */
struct ir_field {
	const char *name; /* NULL: the text form has no name */
	enum ir_field_kind kind;
	uint8_t count;	   /* elements of an array; 1: a single value; or IR_FIELD_RANK */
	uint16_t offset;   /* offset in union ir_attrs */
	uint8_t num_words; /* number of words; 0 for kinds without words */
	/* the text must have the field; if not required, the default is `initial` */
	bool required;
	uint8_t initial;
	const char *const *words; /* IR_FIELD_ENUM: by value; IR_FIELD_BOOL: false and true */
};

/* Returns the fields of an operator in the order in which they are printed; sets *count. */
const struct ir_field *ir_attr_fields(enum ir_op op, uint32_t *count);

/*
 * Returns a pointer to element @element of the field with index @field, where @rank is the rank of
 * the node's first result. NULL: the operator has no such field of kind IR_FIELD_U32, or the field
 * has no such element.
 */
uint32_t *ir_attr_number(enum ir_op op, union ir_attrs *attrs, uint32_t rank, uint32_t field,
			 uint32_t element);
/* Gives attributes that are all zeros the defaults of their fields. */
void ir_attrs_initial(enum ir_op op, union ir_attrs *attrs);
/* Returns the bytes that a field has in union ir_attrs. */
size_t ir_field_bytes(const struct ir_field *field);

/* Writes the attributes of a node, each with a space before it; the locale has to be "C". */
void ir_attrs_print(FILE *f, const struct ir_node *node);

/*
 * Prints a float with as few digits as give equal bits when parsed; a NaN as "nan:" and its bits.
 */
void ir_print_float(FILE *f, float value);

/*
 * Checks the attributes of a node whose operands and results are checked already. Returns NULL, or
 * what is wrong with a field; *field then is the field's name, or NULL when it has none.
 */
const char *ir_attrs_check(const struct ir_node *node, const char **field);

#endif
