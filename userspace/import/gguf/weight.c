// SPDX-License-Identifier: MIT
/* Finds matrices and vectors of a model by their names, and packs them. */
#include "weight.h"

#include <stdio.h>

#include "../common/memory.h"

/* Room for the shape of a tensor as a text: four sizes of up to 20 digits. */
#define SHAPE_TEXT 100

/* Writes the shape of a tensor as [outermost, ..., innermost]. */
static const char *shape_text(const struct gguf_tensor *tensor, char text[SHAPE_TEXT])
{
	size_t length = (size_t)snprintf(text, SHAPE_TEXT, "[");

	for (uint32_t i = tensor->rank; i--;)
		length += (size_t)snprintf(text + length, SHAPE_TEXT - length, "%llu%s",
					   (unsigned long long)tensor->size[i], i ? ", " : "");
	snprintf(text + length, SHAPE_TEXT - length, "]");
	return text;
}

static const struct gguf_tensor *find(const struct gguf *gguf, const char *name, uint32_t inner,
				      uint32_t outer, struct gguf_error *error)
{
	const struct gguf_tensor *tensor = gguf_tensor(gguf, name);
	char rows[16] = "", text[SHAPE_TEXT];

	if (!tensor) {
		gguf_fail(error, "tensor \"%s\" is missing", name);
		return NULL;
	}
	if (tensor->size[0] != inner || tensor->size[1] != outer || tensor->size[2] != 1 ||
	    tensor->size[3] != 1) {
		if (outer > 1)
			snprintf(rows, sizeof(rows), "%u, ", outer);
		gguf_fail(error, "tensor \"%s\" has shape %s, but it must have [%s%u]", name,
			  shape_text(tensor, text), rows, inner);
		return NULL;
	}
	if (!import_block_is_read(tensor->type)) {
		gguf_fail(error, "tensor \"%s\" has type %s, which cannot be read", name,
			  tensor->type->name);
		return NULL;
	}
	return tensor;
}

float *gguf_vector(const struct gguf *gguf, const char *name, uint32_t count,
		   struct gguf_error *error)
{
	const struct gguf_tensor *tensor = find(gguf, name, count, 1, error);
	float *values;

	if (!tensor)
		return NULL;
	values = import_alloc(count * sizeof(*values));
	if (!values) {
		gguf_fail_memory(error);
		return NULL;
	}
	import_blocks_read(tensor->type, tensor->data, 0, count, values);
	return values;
}

/* Returns the row of the file that becomes a column. */
static uint32_t source(const void *argument, uint32_t column)
{
	const struct gguf_heads *heads = argument;
	uint32_t half = heads->rotated / 2, at = column % heads->size;

	if (at >= heads->rotated)
		return column;
	return column - at + (at < half ? 2 * at : 2 * (at - half) + 1);
}

int gguf_weight_init(struct import_matrix *matrix, const struct gguf *gguf, const char *name,
		     uint32_t depth, uint32_t columns, struct gguf_heads heads,
		     struct gguf_error *error)
{
	const struct gguf_tensor *tensor = find(gguf, name, depth, columns, error);
	struct import_rows rows = { .depth = depth,
				    .columns = columns,
				    .source = heads.count ? source : NULL,
				    .argument = &heads };

	*matrix = (struct import_matrix){ 0 };
	if (!tensor)
		return -1;
	rows.type = tensor->type;
	rows.data = tensor->data;
	rows.stride = (size_t)depth / rows.type->elements * rows.type->bytes;
	switch (import_matrix_init(matrix, &rows)) {
	case IMPORT_PACKED:
		return 0;
	case IMPORT_NO_MEMORY:
		return gguf_fail_memory(error);
	default:
		return gguf_fail(error, "tensor \"%.*s\" has a scale that is infinite or no number",
				 GGUF_ARGS(tensor->name));
	}
}
