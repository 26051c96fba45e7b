// SPDX-License-Identifier: MIT
/*
 * Views: strided windows into SRAM, constants, the arena and bindings. Makes views, and merges and
 * sorts their dims for kernels and the cost model.
 */
#include "plan/list/plan.h"

#include <stdlib.h>
#include <string.h>

uint8_t plan_dtype(enum ir_dtype dtype)
{
	static const uint8_t map[IR_DTYPE_COUNT] = {
		[IR_F32] = ONPU_DT_F32, [IR_F16] = ONPU_DT_F16,	  [IR_I32] = ONPU_DT_I32,
		[IR_U32] = ONPU_DT_U32, [IR_I64] = ONPU_DT_I64,	  [IR_U64] = ONPU_DT_U64,
		[IR_I8] = ONPU_DT_I8,	[IR_U8] = ONPU_DT_U8,	  [IR_I4] = ONPU_DT_I4,
		[IR_U4] = ONPU_DT_U4,	[IR_PRED] = ONPU_DT_U8,	  [IR_I16] = ONPU_DT_I16,
		[IR_U16] = ONPU_DT_U16, [IR_BF16] = ONPU_DT_BF16,
	};

	return map[dtype];
}

bool plan_dtype_is_float(uint8_t dtype)
{
	return dtype == ONPU_DT_F32 || dtype == ONPU_DT_F16 || dtype == ONPU_DT_BF16;
}

/*
 * Returns the key by which a dim is sorted: the distance of its elements in memory. Dims with a
 * stride of 0 become the outermost: between other dims they would cut contiguous runs short.
 */
static int64_t distance(int64_t stride)
{
	return stride ? llabs(stride) : INT64_MAX;
}

/*
 * Sets order[] to the dims from innermost to outermost, by the size of the strides `like`; of dims
 * with equal strides, the later one is inner.
 */
static void layout_order(uint32_t rank, const int64_t *like, uint32_t *order)
{
	int64_t far[IR_MAX_RANK];

	for (uint32_t i = 0; i < rank; i++) {
		uint32_t dim = rank - 1 - i, at = i;
		int64_t here = distance(like[dim]);

		for (; at > 0 && far[at - 1] > here; at--) {
			order[at] = order[at - 1];
			far[at] = far[at - 1];
		}
		order[at] = dim;
		far[at] = here;
	}
}

struct npu_view view_sram(uint32_t address, uint8_t dtype, uint32_t rank, const int64_t *dim,
			  const int64_t *like)
{
	struct npu_view view = { .base = NPU_BASE_NONE, .dtype = dtype, .rank = rank };
	int64_t stride = plan_dtype_bytes(dtype);
	uint32_t order[IR_MAX_RANK];

	layout_order(rank, like, order);
	for (uint32_t i = 0; i < rank; i++) {
		uint32_t d = order[i];

		view.dim[d] = dim[d];
		view.stride[d] = like[d] < 0 ? -stride : stride;
		if (like[d] < 0)
			view.offset += (dim[d] - 1) * stride;
		stride *= dim[d];
	}
	view.window = address;
	view.window_bytes = stride;
	return view;
}

void view_append(struct npu_view *view, int64_t dim, int64_t stride)
{
	view->dim[view->rank] = dim;
	view->stride[view->rank++] = stride;
}

struct npu_view view_widen(struct npu_view view, uint32_t rank)
{
	uint32_t lead = rank - view.rank;

	for (uint32_t i = rank; i-- > 0;) {
		view.dim[i] = i >= lead ? view.dim[i - lead] : 1;
		view.stride[i] = view.dim[i] > 1 ? view.stride[i - lead] : 0;
	}
	view.rank = rank;
	return view;
}

struct npu_view view_slice(const struct npu_view *view, const int64_t *begin, const int64_t *dim)
{
	struct npu_view part = *view;

	for (uint32_t i = 0; i < view->rank; i++) {
		part.offset += begin[i] * view->stride[i];
		part.dim[i] = dim[i];
	}
	return part;
}

int64_t view_elements(const struct npu_view *view)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < view->rank; i++)
		n *= view->dim[i];
	return n;
}

uint64_t view_bytes(const struct npu_view *view)
{
	return (uint64_t)view_elements(view) * plan_dtype_bytes(view->dtype);
}

void view_range(const struct npu_view *view, int64_t *lo, int64_t *hi)
{
	bool nibbles = plan_dtype_is_nibble(view->dtype);

	*lo = (int64_t)view->window * (nibbles ? 2 : 1) + view->offset;
	*hi = *lo + (nibbles ? 1 : plan_dtype_bytes(view->dtype));
	for (uint32_t i = 0; i < view->rank; i++) {
		int64_t span = (view->dim[i] - 1) * view->stride[i];

		if (span < 0)
			*lo += span;
		else
			*hi += span;
	}
	if (nibbles) {
		*lo /= 2;
		*hi = (*hi + 1) / 2;
	}
}

bool views_overlap(const struct npu_view *a, const struct npu_view *b)
{
	int64_t a_lo, a_hi, b_lo, b_hi;

	view_range(a, &a_lo, &a_hi);
	view_range(b, &b_lo, &b_hi);
	return a->base == b->base && a->binding == b->binding && a_lo < b_hi && b_lo < a_hi;
}

bool views_share_window(const struct npu_view *a, const struct npu_view *b)
{
	return a->base == b->base && a->binding == b->binding &&
	       a->window < b->window + b->window_bytes && b->window < a->window + a->window_bytes;
}

bool view_is_dense(const struct npu_view *view)
{
	int64_t stride = plan_dtype_bytes(view->dtype);

	for (uint32_t i = view->rank; i-- > 0;) {
		if (view->dim[i] != 1 && view->stride[i] != stride)
			return false;
		stride *= view->dim[i];
	}
	return true;
}

/*
 * Reverses each dim that runs backwards in all views: views_simplify() is for instructions whose
 * result does not depend on the order of the elements.
 */
static void reverse_backward(struct npu_view *const *views, uint32_t count)
{
	for (uint32_t i = 0; i < views[0]->rank; i++) {
		bool all = true;

		for (uint32_t v = 0; all && v < count; v++)
			all = views[v]->stride[i] < 0;
		for (uint32_t v = 0; all && v < count; v++) {
			views[v]->offset += (views[v]->dim[i] - 1) * views[v]->stride[i];
			views[v]->stride[i] = -views[v]->stride[i];
		}
	}
}

/* Returns true if, in all views, a step of dim `outer` is as long as all of dim `inner`. */
static bool mergeable(struct npu_view *const *views, uint32_t count, uint32_t outer, uint32_t inner)
{
	for (uint32_t v = 0; v < count; v++)
		if (views[v]->stride[outer] != views[v]->stride[inner] * views[v]->dim[inner])
			return false;
	return true;
}

/* Lists the dims of a view whose size is not 1; returns how many. */
static uint32_t find_dims(const struct npu_view *view, uint32_t kept[IR_MAX_RANK])
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < view->rank; i++)
		if (view->dim[i] != 1)
			kept[num++] = i;
	return num;
}

/*
 * Reduces all views to the dims `kept`, in that order, and merges neighbours that are contiguous in
 * all views; without any dim, they get one of size 1.
 */
static void keep_dims(struct npu_view *const *views, uint32_t count, const uint32_t *kept,
		      uint32_t num)
{
	uint32_t from[IR_MAX_RANK], rank = views[0]->rank, left = 0, moved = 0;
	int64_t dim[IR_MAX_RANK], stride[IR_MAX_RANK];

	for (uint32_t i = 0; i < num; i++) {
		if (left && mergeable(views, count, from[left - 1], kept[i]))
			dim[left - 1] *= views[0]->dim[kept[i]];
		else
			dim[left++] = views[0]->dim[kept[i]];
		from[left - 1] = kept[i];
		moved |= kept[i] ^ i;
	}
	if (left == rank && !moved)
		return;
	for (uint32_t v = 0; v < count; v++) {
		struct npu_view *view = views[v];

		for (uint32_t i = 0; i < left; i++)
			stride[i] = view->stride[from[i]];
		for (uint32_t i = 0; i < left; i++) {
			view->dim[i] = dim[i];
			view->stride[i] = stride[i];
		}
		for (uint32_t i = left; i < rank; i++)
			view->dim[i] = view->stride[i] = 0;
		view->rank = (uint8_t)left;
		if (!left)
			view_append(view, 1, 0);
	}
}

void views_merge(struct npu_view *const *views, uint32_t count)
{
	uint32_t kept[IR_MAX_RANK];

	keep_dims(views, count, kept, find_dims(views[0], kept));
}

void view_swap_dims(struct npu_view *view, uint32_t a, uint32_t b)
{
	int64_t dim = view->dim[a], stride = view->stride[a];

	view->dim[a] = view->dim[b];
	view->stride[a] = view->stride[b];
	view->dim[b] = dim;
	view->stride[b] = stride;
}

void views_sort(struct npu_view *const *views, uint32_t count, uint32_t *order)
{
	const struct npu_view *first = views[0];

	for (uint32_t i = 1; i < first->rank; i++) {
		for (uint32_t at = i; at > 0; at--) {
			uint32_t swap = order ? order[at] : 0;

			if (distance(first->stride[at - 1]) >= distance(first->stride[at]))
				break;
			for (uint32_t v = 0; v < count; v++)
				view_swap_dims(views[v], at - 1, at);
			if (order) {
				order[at] = order[at - 1];
				order[at - 1] = swap;
			}
		}
	}
}

void views_simplify(struct npu_view *const *views, uint32_t count)
{
	uint32_t kept[IR_MAX_RANK], num = find_dims(views[0], kept);

	reverse_backward(views, count);
	for (uint32_t i = 1; i < num; i++) {
		uint32_t dim = kept[i], at = i;
		int64_t here = distance(views[0]->stride[dim]);

		for (; at > 0 && distance(views[0]->stride[kept[at - 1]]) < here; at--)
			kept[at] = kept[at - 1];
		kept[at] = dim;
	}
	keep_dims(views, count, kept, num);
}
