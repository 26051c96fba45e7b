/* SPDX-License-Identifier: MIT */
/*
 * The forms of packed operands that oneDNN asks for, written by ourselves. Its own reorder of 3.7 writes zeros of the padding over
 * numbers where it does not know the sizes of the caches, as in many virtual machines.
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

/* A loop over a packed operand: so many steps, each of which advances the place in it and an index of the operand. */
struct onednn_axis {
	int64_t count, place, step;
	int dim; /* which index */
};

/*
 * A packed operand of elements of one or four bytes: nested loops, the outermost first, which reach each place once.
 * Indices at or behind `size` are padding, which is zero.
 */
struct onednn_form {
	int rank, num_axes;
	int64_t size[ONEDNN_MAX_RANK];
	struct onednn_axis axes[ONEDNN_MAX_AXES];
	size_t element, data_bytes; /* data_bytes: of the elements, with padding */
	size_t bytes;		    /* of all, at least data_bytes */
	/*
	 * Where there is what convolutions of integers need beside their filter, an int32 for each channel: the sum of its weights
	 * times -128, for inputs with a sign, and times -1, for inputs with a zero point. 0: it is not there.
	 */
	size_t sums_128, sums;
	int64_t group; /* channels of a group there */
};

/* What the input of a convolution of integers has; of all other operands nothing. */
struct onednn_input {
	bool is_signed, has_zero_point;
};

/* False for a form that is not known, or that would need more than what is written here. */
bool onednn_form_read(const struct onednn *dnn, const_dnnl_memory_desc_t desc,
		      struct onednn_input input, struct onednn_form *form);

/* @plain: the operand, whose index i is @strides[i] elements apart; @packed: form->bytes. */
void onednn_form_pack(const struct onednn_form *form, const void *plain, const int64_t *strides,
		      void *packed);

/* The way back. */
void onednn_form_unpack(const struct onednn_form *form, const void *packed, const int64_t *strides,
			void *plain);

#endif
