/* SPDX-License-Identifier: MIT */
/* Looks up the expressions of numbers that are known only at dispatch. */
#ifndef WNN_IR_SYMBOLS_H
#define WNN_IR_SYMBOLS_H

#include "ir/ir.h"

/* Returns the expression of a dimension or attribute; NULL: the graph has no such symbol. */
static inline const struct ir_symbol *ir_symbol_of(const struct ir_graph *graph, uint32_t symbol)
{
	return symbol && symbol <= graph->num_symbols ? &graph->symbols[symbol - 1] : NULL;
}

#endif
