/* SPDX-License-Identifier: MIT */
/*
 * Graphs from text, in the form that ir_print writes, so that passes and plans are tested from
 * text. One statement a line:
 *
 *	; a comment
 *	%0 float32[1,3,8,8] = input "x"
 *	%1 float32[3] = constant 1,2.5,nan:7fc00000
 *	%2 float32[4,3,3,3] = constant fill 0.5
 *	%3 float32[4,3,1,1] = constant
 *	%4 float32[1,4,6,6] = conv(%0, %2, -) stride=1,1 act=relu(0,0) ; conv2d+relu "stem"
 *	output "y" = %4
 *
 * A value has a number below IR_PARSE_VALUES, which needs not be the one that it gets in the graph.
 * "-" stands for an optional operand that is not there. Attributes come in any order; those that
 * have a default may be left out (ir/attrs.c). Behind a semicolon stand the WebNN operators that
 * the node stands for, where that is not said its own name, and the label. In strings \xNN is a
 * byte. A constant without elements gets some that are small numbers, the same each time and not
 * all equal.
 */
#ifndef WNN_IR_PARSE_H
#define WNN_IR_PARSE_H

#include "ir/ir.h"

#define IR_PARSE_VALUES		65536
#define IR_PARSE_CONSTANT_BYTES (1 << 26)

/*
 * The graph of a text, which ir_verify has accepted; NULL with an error that says line, column and
 * what would be right there.
 */
struct ir_graph *ir_parse(const char *text, struct wnn_error *err);

#endif
