// SPDX-License-Identifier: MIT
/* Computes output sizes and padding of windows. */
#include "window.h"

#include <string.h>

#define MOST ((int64_t)1 << 31)

int onnx_window_list(struct onnx_node *node, const char *name, uint32_t rank, int64_t fallback,
		     int64_t *list)
{
	const int64_t *given;
	size_t count;

	given = onnx_attr_ints(node, name, &count);
	if (given && count != rank)
		return onnx_refuse(node, name, "%s has %zu items instead of %u", name, count, rank);
	for (uint32_t i = 0; i < rank; i++) {
		list[i] = given ? given[i] : fallback;
		if (list[i] < 0 || list[i] >= MOST)
			return onnx_refuse(
				node, name,
				"%s has an item %lld: it must be at least 0 and below 2^31", name,
				(long long)list[i]);
	}
	return 0;
}

static int read_pads(struct onnx_node *node, struct onnx_window *w)
{
	const int64_t *pads;
	size_t count;

	pads = onnx_attr_ints(node, "pads", &count);
	if (pads && count != 2 * w->rank)
		return onnx_refuse(node, "pads", "pads has %zu items for %u spatial dimensions",
				   count, w->rank);
	for (uint32_t i = 0; pads && i < w->rank; i++) {
		w->begin[i] = pads[i];
		w->end[i] = pads[w->rank + i];
		if (pads[i] < 0 || w->end[i] < 0 || pads[i] >= MOST || w->end[i] >= MOST)
			return onnx_refuse(
				node, "pads",
				"pads has an item %lld: it must be at least 0 and below 2^31",
				(long long)(pads[i] < 0 || pads[i] >= MOST ? pads[i] : w->end[i]));
	}
	return 0;
}

static void pad_same(struct onnx_window *w, uint32_t i, bool lower)
{
	int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
	int64_t total = ((w->in[i] + w->stride[i] - 1) / w->stride[i] - 1) * w->stride[i] + extent -
			w->in[i];

	total = total < 0 ? 0 : total;
	w->begin[i] = lower ? total - total / 2 : total / 2;
	w->end[i] = total - w->begin[i];
}

int onnx_window(struct onnx_node *node, const struct onnx_shape *input, const int64_t *kernel,
		struct onnx_window *w)
{
	static const char *const names[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };
	enum { NOTSET, VALID, UPPER, LOWER };
	int automatic = onnx_attr_choice(node, "auto_pad", "NOTSET", names, LOWER + 1);

	memset(w, 0, sizeof(*w));
	if (input->rank < 3 || input->rank > 2 + ONNX_SPATIAL)
		return onnx_refuse(node, "", "its input has %u dimensions instead of 3 to 5",
				   input->rank);
	w->rank = input->rank - 2;
	w->ceil = onnx_attr_int(node, "ceil_mode", 0) != 0;
	if (kernel)
		memcpy(w->kernel, kernel, w->rank * sizeof(*kernel));
	else if (onnx_window_list(node, "kernel_shape", w->rank, 0, w->kernel))
		return -1;
	if (onnx_window_list(node, "strides", w->rank, 1, w->stride) ||
	    onnx_window_list(node, "dilations", w->rank, 1, w->dilation))
		return -1;
	if (automatic < 0 || (automatic == NOTSET && read_pads(node, w)))
		return -1;
	for (uint32_t i = 0; i < w->rank; i++) {
		int64_t extent, room;

		w->in[i] = input->dim[2 + i];
		if (!w->kernel[i] || !w->stride[i] || !w->dilation[i]) {
			const char *zero = !w->kernel[i] ? "kernel_shape" :
					   !w->stride[i] ? "strides" :
							   "dilations";

			return onnx_refuse(node, zero, "item %u of %s is 0 instead of at least 1",
					   i, zero);
		}
		if (w->kernel[i] >= MOST || w->kernel[i] * w->dilation[i] >= MOST)
			return onnx_refuse(node, "kernel_shape",
					   "a kernel of %lld with a dilation of %lld is too big: "
					   "their product is below %lld",
					   (long long)w->kernel[i], (long long)w->dilation[i],
					   (long long)MOST);
		if (automatic >= UPPER)
			pad_same(w, i, automatic == LOWER);
		extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
		room = w->in[i] + w->begin[i] + w->end[i] - extent;
		if (room < 0)
			return onnx_refuse(node, "kernel_shape",
					   "the kernel is bigger than the padded input");
		w->out[i] = (room + (w->ceil ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
		/* A window that would begin in the padding after the input does not count. */
		if (w->ceil && (w->out[i] - 1) * w->stride[i] >= w->in[i] + w->begin[i])
			w->out[i]--;
	}
	return 0;
}
