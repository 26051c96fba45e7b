// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the text of graphs: a text that can be read is printed and read again, and must
 * give the same graph.
 */
#include <stdlib.h>
#include <string.h>

#include "../library/ir/text.h"
#include "ir/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct ir_graph *graph;

	memcpy(text, data, size);
	text[size] = 0;
	graph = ir_parse(text, NULL);
	if (graph && !text_round_trip(graph))
		abort();
	ir_graph_destroy(graph);
	free(text);
	return 0;
}
