/* SPDX-License-Identifier: MIT */
/*
 * Packs operands in the layouts that oneDNN asks for, without its reorder: that of version 3.7
 * overwrites numbers with the zeros of the padding where it does not know the sizes of the caches,
 * as in many virtual machines.
 */
#ifndef WNN_CPU_ONEDNN_FORM_H
#define WNN_CPU_ONEDNN_FORM_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEDNN_MAX_RANK 5
#define ONEDNN_MAX_AXES (ONEDNN_MAX_RANK + DNNL_MAX_NDIMS)

struct onednn;

/*
 * A loop over a packed operand: its number of steps, and by how much each advances the position in
 * the operand and an index.
 */
struct onednn_axis {
	int64_t count, place, step;
	int dim; /* the index that it advances */
};

/*
 * A packed operand of elements of one or four bytes: nested loops, the outermost first, which reach
 * each position once. Indices at or behind `size` are padding, which is zero.
 */
struct onednn_form {
	int rank, num_axes;
	int64_t size[ONEDNN_MAX_RANK];
	struct onednn_axis axes[ONEDNN_MAX_AXES];
	size_t element, data_bytes; /* data_bytes: of the elements, with padding */
	size_t bytes;		    /* of everything, at least data_bytes */
	/*
	 * Offsets of what convolutions of integers need beside their filter, an int32 for each
	 * channel: the sum of its weights times -128, for signed inputs, and times -1, for inputs
	 * with a zero point. 0: absent.
	 */
	size_t sums_128, sums;
	int64_t group; /* channels of a group there */
};

/* Properties of the input of a convolution of integers; all other operands have none of them. */
struct onednn_input {
	bool is_signed, has_zero_point;
};

/* Reads the layout; false when it is unknown, or would need more than this file writes. */
bool onednn_form_read(const struct onednn *dnn, const_dnnl_memory_desc_t desc,
		      struct onednn_input input, struct onednn_form *form);

/* @plain: the operand, whose index i is @strides[i] elements apart; @packed: form->bytes. */
void onednn_form_pack(const struct onednn_form *form, const void *plain, const int64_t *strides,
		      void *packed);

/* The way back. */
void onednn_form_unpack(const struct onednn_form *form, const void *packed, const int64_t *strides,
			void *plain);

#endif
