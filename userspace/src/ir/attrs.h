/* SPDX-License-Identifier: MIT */
/* The fields of the attributes of each operator, for printing, reading and checking them. */
#ifndef WNN_IR_ATTRS_H
#define WNN_IR_ATTRS_H

#include <stdio.h>

#include "ir/ir.h"

/* How a field is written. A field without a name consists of a word only. */
enum ir_field_kind {
	IR_FIELD_U32,	   /* name=3, or name=1,2 for an array */
	IR_FIELD_LIST,	   /* name=1,2: a number of elements, up to IR_MAX_RANK, then they */
	IR_FIELD_AXIS,	   /* name=3, below the rank of the first operand */
	IR_FIELD_MASK,	   /* name=0x6, a bit for each axis of the first operand */
	IR_FIELD_I64,	   /* name=-3 */
	IR_FIELD_U64,	   /* name=0xff: the bits of an element */
	IR_FIELD_FLOAT,	   /* name=0.5: the same bits when read back */
	IR_FIELD_BOOL,	   /* name, or nothing when false; or one of two words */
	IR_FIELD_ENUM,	   /* name=word */
	IR_FIELD_FUNCTION, /* word(alpha,beta), of struct ir_unary_attrs */
	IR_FIELD_FUSED,	   /* name=word(alpha,beta), or nothing for IR_UNARY_NONE */
};

#define IR_FIELD_RANK UINT8_MAX /* as many elements as the result has axes */

/* One member of an attribute struct. */
struct ir_field {
	const char *name; /* NULL: written without */
	enum ir_field_kind kind;
	uint8_t count;	   /* elements of an array, 1 for a single value, or IR_FIELD_RANK */
	uint16_t offset;   /* in union ir_attrs */
	uint8_t num_words; /* of IR_FIELD_ENUM, and of IR_FIELD_BOOL with two names */
	bool required;	   /* in text; else each element is initial where nothing is written */
	uint8_t initial;
	const char *const *words;
};

/* The fields of an operator in the order of printing; sets *count. */
const struct ir_field *ir_attr_fields(enum ir_op op, uint32_t *count);

/* Writes the attributes of a node, each with a space before it; the locale has to be "C". */
void ir_attrs_print(FILE *f, const struct ir_node *node);

/* Few digits that read back to the same bits; a NaN as "nan:" and its bits. */
void ir_print_float(FILE *f, float value);

/*
 * NULL, or what is wrong with the attributes of a node whose operands and results are checked:
 * the field's name in *field, which is NULL where it has none.
 */
const char *ir_attrs_check(const struct ir_node *node, const char **field);

#endif
