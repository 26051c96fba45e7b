/* SPDX-License-Identifier: MIT */
/* Views: strided windows into memory, the operands of instructions. */
#ifndef WNN_PLAN_VIEW_H
#define WNN_PLAN_VIEW_H

#include "plan/report.h"

/*
 * A strided window into memory. SRAM has base NPU_BASE_NONE; other bases are resolved before the
 * program runs. Strides are bytes; 0 repeats, negative ones run backwards. Strides and offset of
 * 4-bit types, which only SRAM holds, count nibbles.
 */
struct npu_view {
	enum npu_base base;
	uint32_t binding; /* with NPU_BASE_VALUE: index of the binding */
	uint8_t dtype;	  /* enum onpu_dtype */
	uint8_t rank;
	uint64_t window, window_bytes; /* the bytes that may be touched, relative to the base */
	int64_t offset;		       /* offset of element 0 in the window */
	int64_t dim[IR_MAX_RANK];
	int64_t stride[IR_MAX_RANK];
};

uint8_t plan_dtype(enum ir_dtype dtype);

/* Returns the bytes of an element; not for 4-bit types. */
static inline uint32_t plan_dtype_bytes(uint8_t dtype)
{
	switch (dtype) {
	case ONPU_DT_I8:
	case ONPU_DT_U8:
	case ONPU_DT_F8E4M3:
	case ONPU_DT_F8E5M2:
	case ONPU_DT_F8E8M0:
		return 1;
	case ONPU_DT_I16:
	case ONPU_DT_U16:
	case ONPU_DT_F16:
	case ONPU_DT_BF16:
		return 2;
	case ONPU_DT_I64:
	case ONPU_DT_U64:
		return 8;
	default:
		return 4;
	}
}

static inline bool plan_dtype_is_nibble(uint8_t dtype)
{
	return dtype == ONPU_DT_I4 || dtype == ONPU_DT_U4 || dtype == ONPU_DT_F4E2M1;
}

bool plan_dtype_is_float(uint8_t dtype);
/*
 * Returns a dense tile in SRAM at `address`, with its dims in memory in the order and direction of
 * the strides `like`; not for 4-bit types.
 */
struct npu_view view_sram(uint32_t address, uint8_t dtype, uint32_t rank, const int64_t *dim,
			  const int64_t *like);
/* Adds a dim after the last one. */
void view_append(struct npu_view *view, int64_t dim, int64_t stride);
/* Returns the view with `rank` dims; added dims come first, and each dim of 1 has stride 0. */
struct npu_view view_widen(struct npu_view view, uint32_t rank);
/* Exchanges two dims, with their strides. */
void view_swap_dims(struct npu_view *view, uint32_t a, uint32_t b);
/* Returns a slice of a view: elements begin[i] to begin[i] + dim[i] - 1 along dim i. */
struct npu_view view_slice(const struct npu_view *view, const int64_t *begin, const int64_t *dim);
int64_t view_elements(const struct npu_view *view);
/* Returns the bytes of all elements; not for 4-bit types. */
uint64_t view_bytes(const struct npu_view *view);
/*
 * Sets *lo to the offset of a view's lowest byte and *hi to 1 + that of its highest, from the base.
 */
void view_range(const struct npu_view *view, int64_t *lo, int64_t *hi);
bool view_is_dense(const struct npu_view *view);
/*
 * Simplifies the views of an instruction whose result does not depend on the order of elements:
 * reverses dims that run backwards in every view, drops dims of size 1, sorts the others so that
 * the first view runs through memory in order, and merges dims that are contiguous in every view.
 * All views have the same dims.
 */
void views_simplify(struct npu_view *const *views, uint32_t count);
/* Sorts the dims only; `order`, NULL or an array by dim, is permuted like the dims. */
void views_sort(struct npu_view *const *views, uint32_t count, uint32_t *order);
/*
 * Drops and merges dims like views_simplify(), but neither reverses nor sorts them; the DMA engines
 * do the same.
 */
void views_merge(struct npu_view *const *views, uint32_t count);
/*
 * Returns true if the ranges from the first to the last byte of the views overlap; the views may
 * still have no byte in common, when their strides leave gaps.
 */
bool views_overlap(const struct npu_view *a, const struct npu_view *b);
/* Returns true if the windows of the views have bytes in common. */
bool views_share_window(const struct npu_view *a, const struct npu_view *b);

#endif
