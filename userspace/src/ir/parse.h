/* SPDX-License-Identifier: MIT */
/*
 * Parses graphs from text, in the form that ir_print() writes, so that tests of passes and plans
 * can have their graphs as text. A line is a statement:
 *
 *	; a comment
 *	%0 float32[1,3,8,8] = input "x"
 *	%1 float32[3] = constant 1,2.5,nan:7fc00000
 *	%2 float32[4,3,3,3] = constant fill 0.5
 *	%3 float32[4,3,1,1] = constant
 *	%4 float32[1,4,6,6] = conv(%0, %2, -) stride=1,1 act=relu(0,0) ; conv2d+relu "stem"
 *	output "y" = %4
 *	output "z" = %5 updates %0
 *
 *	name n0 "rows" 1 to 8
 *	symbol s1 (2 * n0 + 1) / 3
 *	%6 float32[s1:5,3] = input "z"
 *
 * A symbol before a number, of a dimension or of a list of attributes, says that the number is
 * known only at dispatch; the number that follows is that for the maximum of the name.
 *
 * A value has a number below IR_PARSE_VALUES, which need not be its id in the graph. "-" is an
 * optional operand that is absent. Attributes come in any order; ir/attrs.c has the defaults of
 * those that may be left out. After a semicolon come the WebNN operators that the node stands for
 * (by default the name of the IR operator), and the label. In strings \xNN is a byte. A constant
 * without elements gets small numbers that are not all equal, the same numbers in each parse.
 */
#ifndef WNN_IR_PARSE_H
#define WNN_IR_PARSE_H

#include "ir/ir.h"

#define IR_PARSE_VALUES		65536
#define IR_PARSE_CONSTANT_BYTES (1 << 26)

/*
 * Returns the graph of a text, checked by ir_verify(); NULL with an error that names line and
 * column and says what would be right there.
 */
struct ir_graph *ir_parse(const char *text, struct wnn_error *err);

#endif
