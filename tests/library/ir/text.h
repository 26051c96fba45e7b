/* SPDX-License-Identifier: MIT */
/* Text of graphs in tests. */
#ifndef TEST_IR_TEXT_H
#define TEST_IR_TEXT_H

#include "ir/ir.h"

/*
 * Whether a graph comes out the same when its text is read and printed again. The numbers of values
 * may differ: ir_parse counts from 0 in the order of the text. Says on stderr where they part.
 */
bool text_round_trip(const struct ir_graph *graph);

#endif
