// SPDX-License-Identifier: MIT
/* Reads blocked layouts from oneDNN's descriptors, and packs operands in these layouts. */
#include "cpu/onednn/form.h"

#include <string.h>

#include "cpu/onednn/onednn.h"
#include "util/number.h"

/* The properties of a descriptor. The pointers point into it. */
struct blocks {
	const dnnl_dims_t *dims, *padded, *offsets, *strides, *sizes, *dim_of;
	int rank, count;
	int64_t begin;
};

static bool query(const struct onednn *dnn, const_dnnl_memory_desc_t desc, struct blocks *b,
		  dnnl_data_type_t *type)
{
	dnnl_format_kind_t kind = dnnl_format_kind_undef;

	return !dnn->memory_desc_query(desc, dnnl_query_format_kind, &kind) &&
	       kind == dnnl_blocked && !dnn->memory_desc_query(desc, dnnl_query_data_type, type) &&
	       !dnn->memory_desc_query(desc, dnnl_query_ndims_s32, &b->rank) &&
	       !dnn->memory_desc_query(desc, dnnl_query_dims, &b->dims) &&
	       !dnn->memory_desc_query(desc, dnnl_query_padded_dims, &b->padded) &&
	       !dnn->memory_desc_query(desc, dnnl_query_padded_offsets, &b->offsets) &&
	       !dnn->memory_desc_query(desc, dnnl_query_submemory_offset_s64, &b->begin) &&
	       !dnn->memory_desc_query(desc, dnnl_query_strides, &b->strides) &&
	       !dnn->memory_desc_query(desc, dnnl_query_inner_nblks_s32, &b->count) &&
	       !dnn->memory_desc_query(desc, dnnl_query_inner_blks, &b->sizes) &&
	       !dnn->memory_desc_query(desc, dnnl_query_inner_idxs, &b->dim_of);
}

static void add_axis(struct onednn_form *form, struct onednn_axis axis)
{
	if (axis.count > 1)
		form->axes[form->num_axes++] = axis;
}

/*
 * Adds the loops within a block, from the innermost out, and sets how many elements of each index a
 * block has.
 */
static void add_inner(struct onednn_form *form, const struct blocks *b, int64_t *block)
{
	int64_t place = 1;

	for (int i = 0; i < form->rank; i++)
		block[i] = 1;
	for (int i = b->count - 1; i >= 0; i--) {
		int dim = (int)(*b->dim_of)[i];
		int64_t count = (*b->sizes)[i];

		add_axis(form, (struct onednn_axis){ count, place, block[dim], dim });
		place *= count;
		block[dim] *= count;
	}
}

/* Adds the loops over blocks, sorted by stride, smallest first. */
static void add_outer(struct onednn_form *form, const struct blocks *b, const int64_t *block)
{
	int first = form->num_axes;

	for (int i = 0; i < form->rank; i++)
		add_axis(form, (struct onednn_axis){ (*b->padded)[i] / block[i], (*b->strides)[i],
						     block[i], i });
	for (int i = first; i < form->num_axes; i++)
		for (int k = i; k > first && form->axes[k].place < form->axes[k - 1].place; k--) {
			struct onednn_axis axis = form->axes[k];

			form->axes[k] = form->axes[k - 1];
			form->axes[k - 1] = axis;
		}
}

/*
 * Whether the loops reach each position exactly once: each loop's stride is the size of what the
 * loops within it cover.
 */
static bool is_dense(const struct onednn_form *form)
{
	int64_t place = 1;

	for (int i = 0; i < form->num_axes; i++) {
		if (form->axes[i].place != place)
			return false;
		place *= form->axes[i].count;
	}
	return true;
}

static void reverse_axes(struct onednn_form *form)
{
	for (int i = 0, k = form->num_axes - 1; i < k; i++, k--) {
		struct onednn_axis axis = form->axes[i];

		form->axes[i] = form->axes[k];
		form->axes[k] = axis;
	}
}

/*
 * Finds the sums after the elements; false when their size is not as expected: the descriptor
 * tells nothing else about them. oneDNN has sums of -128 times the weights for signed inputs where
 * its instructions are unsigned, and always sums of -1 times the weights for inputs with a zero
 * point; both in this order, for padded channels.
 */
static bool find_sums(struct onednn_form *form, const struct blocks *b, struct onednn_input input)
{
	size_t end = wnn_align_up(form->data_bytes, sizeof(int32_t)), each;
	bool grouped = form->rank == 5;

	if (!input.is_signed && !input.has_zero_point)
		return form->bytes == form->data_bytes;
	form->group = (*b->padded)[grouped];
	each = (size_t)(form->group * (grouped ? (*b->padded)[0] : 1)) * sizeof(int32_t);
	if (input.has_zero_point && form->bytes == end + 2 * each) {
		if (!input.is_signed)
			return false;
		form->sums_128 = end;
		form->sums = end + each;
	} else if (form->bytes == end + each) {
		*(input.has_zero_point ? &form->sums : &form->sums_128) = end;
	} else if (input.has_zero_point || form->bytes != form->data_bytes) {
		return false;
	}
	return true;
}

bool onednn_form_read(const struct onednn *dnn, const_dnnl_memory_desc_t desc,
		      struct onednn_input input, struct onednn_form *form)
{
	struct blocks b = { 0 };
	dnnl_data_type_t type;
	int64_t block[ONEDNN_MAX_RANK], count = 1;

	*form = (struct onednn_form){ 0 };
	if (!desc || !query(dnn, desc, &b, &type) || b.rank > ONEDNN_MAX_RANK || b.begin ||
	    (type != dnnl_f32 && type != dnnl_s8))
		return false;
	form->rank = b.rank;
	form->element = type == dnnl_f32 ? sizeof(float) : 1;
	add_inner(form, &b, block);
	for (int i = 0; i < b.rank; i++) {
		form->size[i] = (*b.dims)[i];
		count *= (*b.padded)[i];
		if ((*b.offsets)[i] || (*b.padded)[i] % block[i] || (*b.padded)[i] < (*b.dims)[i])
			return false;
	}
	add_outer(form, &b, block);
	if (!is_dense(form))
		return false;
	reverse_axes(form);
	form->data_bytes = (size_t)count * form->element;
	form->bytes = dnn->memory_desc_get_size(desc);
	return find_sums(form, &b, input);
}

struct walk {
	const struct onednn_form *form;
	const int64_t *strides;
	char *plain, *packed;
	bool back;
	int64_t index[ONEDNN_MAX_RANK]; /* the current index of each dimension in the outer loops */
};

/*
 * Returns the number of steps of a loop before the padding of its dimension begins. w->index tells
 * where the loops around it are.
 */
static int64_t steps_inside(const struct walk *w, const struct onednn_axis *axis)
{
	int64_t rest = w->form->size[axis->dim] - w->index[axis->dim];
	int64_t steps = rest > 0 ? (rest + axis->step - 1) / axis->step : 0;

	return steps < axis->count ? steps : axis->count;
}

/*
 * Copies the innermost loop, whose elements are contiguous in the packed operand, in either
 * direction.
 */
static void copy_floats(const struct walk *w, float *plain, float *packed, int64_t stride,
			int64_t n)
{
	if (w->back)
		for (int64_t i = 0; i < n; i++)
			plain[i * stride] = packed[i];
	else if (stride == 1)
		memcpy(packed, plain, (size_t)n * sizeof(*packed));
	else
		for (int64_t i = 0; i < n; i++)
			packed[i] = plain[i * stride];
}

static void copy_bytes(const struct walk *w, char *plain, char *packed, int64_t stride, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (w->back)
			plain[i * stride] = packed[i];
		else
			packed[i] = plain[i * stride];
}

static void walk(struct walk *w, int loop, int64_t from, int64_t to)
{
	const struct onednn_axis *axis = &w->form->axes[loop];
	int64_t n = steps_inside(w, axis), stride = axis->step * w->strides[axis->dim];
	int64_t begin = w->index[axis->dim];

	if (loop < w->form->num_axes - 1) {
		for (int64_t i = 0; i < n; i++, w->index[axis->dim] += axis->step)
			walk(w, loop + 1, from + i * stride, to + i * axis->place);
		w->index[axis->dim] = begin;
	} else if (w->form->element == sizeof(float)) {
		copy_floats(w, (float *)w->plain + from, (float *)w->packed + to, stride, n);
	} else {
		copy_bytes(w, w->plain + from, w->packed + to, stride, n);
	}
}

static void walk_all(struct walk *w)
{
	if (w->form->num_axes)
		walk(w, 0, 0, 0);
	else
		memcpy(w->back ? w->plain : w->packed, w->back ? w->packed : w->plain,
		       w->form->element);
}

/*
 * Returns minus the sum of the weights of a channel; strides are those of input channels, rows and
 * columns.
 */
static int32_t sum_of(const int8_t *weights, const int64_t *size, const int64_t *strides)
{
	int32_t sum = 0;

	for (int64_t i = 0; i < size[0]; i++)
		for (int64_t y = 0; y < size[1]; y++)
			for (int64_t x = 0; x < size[2]; x++)
				sum -= weights[i * strides[0] + y * strides[1] + x * strides[2]];
	return sum;
}

/*
 * Writes the sums after the filter. Its dimensions are group (if there are groups), channel, input
 * channel, row and column.
 */
static void write_sums(const struct onednn_form *form, const int8_t *plain, const int64_t *strides,
		       char *packed)
{
	int channel = form->rank - 4;
	int64_t groups = channel ? form->size[0] : 1;

	for (int64_t g = 0; g < groups; g++)
		for (int64_t o = 0; o < form->size[channel]; o++) {
			int64_t at = o * strides[channel] + (channel ? g * strides[0] : 0);
			int32_t sum =
				sum_of(plain + at, form->size + channel + 1, strides + channel + 1);
			size_t place = (size_t)(g * form->group + o) * sizeof(sum);

			if (form->sums)
				memcpy(packed + form->sums + place, &sum, sizeof(sum));
			sum *= 128;
			if (form->sums_128)
				memcpy(packed + form->sums_128 + place, &sum, sizeof(sum));
		}
}

void onednn_form_pack(const struct onednn_form *form, const void *plain, const int64_t *strides,
		      void *packed)
{
	struct walk w = {
		.form = form, .strides = strides, .plain = (char *)plain, .packed = packed
	};

	memset(packed, 0, form->bytes);
	walk_all(&w);
	if (form->sums || form->sums_128)
		write_sums(form, plain, strides, packed);
}

void onednn_form_unpack(const struct onednn_form *form, const void *packed, const int64_t *strides,
			void *plain)
{
	struct walk w = { .form = form,
			  .strides = strides,
			  .plain = plain,
			  .packed = (char *)packed,
			  .back = true };

	walk_all(&w);
}
