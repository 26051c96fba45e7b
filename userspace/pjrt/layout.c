// SPDX-License-Identifier: MIT
/* Copies elements between layouts. */
#include <string.h>

#include "plugin.h"

void onpu_strides_dense(size_t rank, const int64_t *dims, size_t element, int64_t *strides)
{
	int64_t step = (int64_t)element;

	for (size_t i = rank; i-- > 0;) {
		strides[i] = step;
		step *= dims[i] ? dims[i] : 1;
	}
}

static struct pjrt_error *read_tiled(const struct pjrt_layout *layout, size_t rank,
				     const int64_t *dims, size_t element, int64_t *strides)
{
	int64_t step = (int64_t)element;
	bool seen[ONPU_MAX_RANK] = { false };

	if (layout->tiled.tile_count)
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: the layout has tiles, which are not implemented");
	if (layout->tiled.rank != rank)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the layout is for rank %zu, the array has rank %zu",
				  layout->tiled.rank, rank);
	for (size_t i = 0; i < rank; i++) {
		int64_t dim = layout->tiled.minor_to_major[i];

		if (dim < 0 || dim >= (int64_t)rank || seen[dim])
			return onpu_error(PJRT_INVALID_ARGUMENT,
					  "onpu: the layout does not name each dimension once");
		seen[dim] = true;
		strides[dim] = step;
		step *= dims[dim] ? dims[dim] : 1;
	}
	return NULL;
}

struct pjrt_error *onpu_strides_read(const struct pjrt_layout *layout, size_t rank,
				     const int64_t *dims, size_t element, int64_t *strides)
{
	if (!layout) {
		onpu_strides_dense(rank, dims, element, strides);
		return NULL;
	}
	if (layout->kind == PJRT_TILED)
		return read_tiled(layout, rank, dims, element, strides);
	if (layout->kind != PJRT_STRIDES)
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: the layout is of kind %d; allowed are %d (tiled) and %d "
				  "(strides)",
				  layout->kind, PJRT_TILED, PJRT_STRIDES);
	if (layout->strides.rank != rank)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the strides of the layout are for rank %zu, the array has "
				  "rank %zu",
				  layout->strides.rank, rank);
	for (size_t i = 0; i < rank; i++)
		strides[i] = layout->strides.bytes[i];
	return NULL;
}

void onpu_copy(size_t rank, const int64_t *dims, size_t element, void *to,
	       const int64_t *to_strides, const void *from, const int64_t *from_strides)
{
	size_t size = element;
	size_t dense = rank;

	for (size_t i = 0; i < rank; i++)
		if (!dims[i])
			return;
	/* The last dimensions that are dense on both sides are copied at once. */
	while (dense && (dims[dense - 1] == 1 || (to_strides[dense - 1] == (int64_t)size &&
						  from_strides[dense - 1] == (int64_t)size)))
		size *= (size_t)dims[--dense];
	if (!dense) {
		memcpy(to, from, size);
		return;
	}
	for (int64_t i = 0; i < dims[0]; i++)
		onpu_copy(rank - 1, dims + 1, element, (char *)to + i * to_strides[0],
			  to_strides + 1, (const char *)from + i * from_strides[0],
			  from_strides + 1);
}
