/* SPDX-License-Identifier: MIT */
/* Helpers for graphs as text. */
#ifndef TEST_IR_TEXT_H
#define TEST_IR_TEXT_H

#include "ir/ir.h"

/*
 * Returns whether a graph is the same when its text is read and printed again. The numbers of
 * values may differ, as ir_parse() counts from 0 in the order of the text. Prints the first
 * difference to stderr.
 */
bool text_round_trip(const struct ir_graph *graph);

#endif
