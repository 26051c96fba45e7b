/* SPDX-License-Identifier: MIT */
/*
 * Packs operands in the layouts that oneDNN asks for, without its reorder primitive: that of
 * version 3.7 overwrites numbers with the zeros of padding when it does not know the sizes of the
 * caches, as in many virtual machines.
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
 * A loop over a packed operand: count is its number of steps; each step advances the position in
 * the operand by `place`, and an index by `step`.
 */
struct onednn_axis {
	int64_t count, place, step;
	int dim; /* the dimension whose index it advances */
};

/*
 * The layout of a packed operand with elements of one or four bytes: nested loops, the outermost
 * first, which reach each position once. Indices of at least `size` are padding, which is zero.
 */
struct onednn_form {
	int rank, num_axes;
	int64_t size[ONEDNN_MAX_RANK];
	struct onednn_axis axes[ONEDNN_MAX_AXES];
	size_t element, data_bytes; /* data_bytes: bytes of all elements, with padding */
	size_t bytes;		    /* bytes of the packed operand, at least data_bytes */
	/*
	 * Offsets of the sums that integer convolutions need after their filter, an int32 for each
	 * channel: the sum of its weights times -128, for signed inputs, and times -1, for inputs
	 * with a zero point. 0: absent.
	 */
	size_t sums_128, sums;
	int64_t group; /* channels of a group in these sums */
};

/* Properties of the input of an integer convolution; both are false for other operands. */
struct onednn_input {
	bool is_signed, has_zero_point;
};

/*
 * Reads the layout from a descriptor; false when it is unknown, or needs data that this file cannot
 * write.
 */
bool onednn_form_read(const struct onednn *dnn, const_dnnl_memory_desc_t desc,
		      struct onednn_input input, struct onednn_form *form);

/*
 * Packs an operand. @plain: the operand, whose elements are @strides[i] apart along dimension i;
 * @packed: form->bytes bytes.
 */
void onednn_form_pack(const struct onednn_form *form, const void *plain, const int64_t *strides,
		      void *packed);

/* Converts a packed operand back to @plain, the inverse of onednn_form_pack(). */
void onednn_form_unpack(const struct onednn_form *form, const void *packed, const int64_t *strides,
			void *plain);

#endif
