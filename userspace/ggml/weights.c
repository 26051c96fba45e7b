// SPDX-License-Identifier: MIT
/*
 * Repacks weights of ggml, [N, K], whose rows are blocks, as import/common/matrix does, and
 * multiplies with them. Types that import/common cannot unpack, and matrices with a scale that is
 * infinite or no number, become floats. All graphs that use a matrix share its repacked form.
 */
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "import/common/matrix.h"
#include "import/common/memory.h"

struct pack {
	struct pack *next;
	const void *data; /* data of the tensor; a view of its first rows has the same address */
	size_t bytes;
	uint32_t number; /* ggml's number of the type */
	int64_t size[2];
	struct import_matrix matrix;
};

static struct pack *packs[1024];

static struct pack **slot_of(const void *data)
{
	return &packs[(uintptr_t)data / 64 % (sizeof(packs) / sizeof(packs[0]))];
}

static void free_pack(struct pack *pack)
{
	import_matrix_exit(&pack->matrix);
	free(pack);
}

void onpu_weights_forget(const void *data, size_t size)
{
	uintptr_t begin = (uintptr_t)data, end = begin + size;

	for (size_t i = 0; i < sizeof(packs) / sizeof(packs[0]); i++) {
		struct pack **at = &packs[i];

		while (*at) {
			struct pack *pack = *at;
			uintptr_t own = (uintptr_t)pack->data;

			if (own >= end || begin >= own + pack->bytes) {
				at = &pack->next;
				continue;
			}
			*at = pack->next;
			free_pack(pack);
		}
	}
}

static int read_floats(struct import_matrix *matrix, const struct gg_tensor *tensor)
{
	size_t k_count = (size_t)tensor->ne[0], n_count = (size_t)tensor->ne[1];
	const struct gg_type_traits *traits = base.get_type_traits(tensor->type);
	float *row = malloc(k_count * sizeof(*row));

	*matrix =
		(struct import_matrix){ .depth = (uint32_t)k_count, .columns = (uint32_t)n_count };
	matrix->values = import_alloc(k_count * n_count * sizeof(*matrix->values));
	if (!row || !matrix->values) {
		free(row);
		return -1;
	}
	for (size_t n = 0; n < n_count; n++) {
		traits->to_float((const char *)tensor->data + n * tensor->nb[1], row,
				 tensor->ne[0]);
		for (size_t k = 0; k < k_count; k++)
			matrix->values[k * n_count + n] = row[k];
	}
	free(row);
	return 0;
}

static int read_tensor(struct import_matrix *matrix, const struct gg_tensor *tensor)
{
	struct import_rows rows = {
		.type = import_block_named(base.type_name(tensor->type)),
		.data = tensor->data,
		.stride = tensor->nb[1],
		.depth = (uint32_t)tensor->ne[0],
		.columns = (uint32_t)tensor->ne[1],
	};

	if (!rows.type || !import_block_is_read(rows.type))
		return read_floats(matrix, tensor);
	switch (import_matrix_init(matrix, &rows)) {
	case IMPORT_PACKED:
		return 0;
	case IMPORT_NO_MEMORY:
		return -1;
	default:
		import_matrix_exit(matrix);
		return read_floats(matrix, tensor);
	}
}

/* Returns the repacked form of a tensor; NULL: memory is exhausted. */
static struct pack *find_pack(const struct gg_tensor *tensor)
{
	struct pack **slot = slot_of(tensor->data), *pack;

	for (pack = *slot; pack; pack = pack->next)
		if (pack->data == tensor->data && pack->number == tensor->type &&
		    !memcmp(pack->size, tensor->ne, sizeof(pack->size)))
			return pack;
	pack = calloc(1, sizeof(*pack));
	if (pack) {
		pack->data = tensor->data;
		pack->bytes = base.nbytes(tensor);
		pack->number = tensor->type;
		memcpy(pack->size, tensor->ne, sizeof(pack->size));
		if (!read_tensor(&pack->matrix, tensor)) {
			pack->next = *slot;
			*slot = pack;
			onpu_counts.weights++;
			return pack;
		}
		free_pack(pack);
	}
	return NULL;
}

bool onpu_weights_take(const struct gg_tensor *tensor)
{
	return onpu_data_type(tensor) == WNNOperandDataType_Undefined && onpu_is_weight(tensor) &&
	       tensor->ne[2] * tensor->ne[3] == 1 && onpu_is_contiguous(tensor) &&
	       base.get_type_traits(tensor->type)->to_float;
}

void onpu_weights_repack(const struct gg_tensor *tensor)
{
	const struct import_block_type *type = import_block_named(base.type_name(tensor->type));

	/*
	 * Types that become floats wait for a graph that multiplies with them. Without memory, that
	 * graph says so.
	 */
	if (type && type->unpack && onpu_weights_take(tensor))
		find_pack(tensor);
}

WNNOperand onpu_emit_weights(struct onpu_emit *e, const struct gg_tensor *tensor, WNNOperand x)
{
	const struct pack *pack = find_pack(tensor);

	if (!pack)
		return onpu_refuse(e, "memory is exhausted");
	return import_matrix_multiply(&pack->matrix, e->builder, x);
}
