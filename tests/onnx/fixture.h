/* SPDX-License-Identifier: MIT */
/* Makes a context, and texts and values of graphs in memory, for tests of wnnOnnxLoadGraph(). */
#ifndef TESTS_ONNX_FIXTURE_H
#define TESTS_ONNX_FIXTURE_H

#include <string.h>
#include <webnn/onnx.h>

#define TEXT(literal) { literal, sizeof(literal) - 1 }
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))

enum { FLOAT = 1, INT32 = 6, INT64 = 7 };

static WNNContext context;

/* Returns the description of an input or output; @dimensions is borrowed. */
static inline WNNOnnxValue value(const char *name, int32_t type, size_t rank,
				 const WNNOnnxDimension *dimensions)
{
	return (WNNOnnxValue){ .name = { name, strlen(name) },
			       .kind = WNNOnnxKind_Tensor,
			       .elementType = type,
			       .rank = rank,
			       .dimensions = dimensions };
}

/*
 * Makes the context of a group of tests, on the device that WEBNN_DEVICE names; returns 0, or -1
 * when it fails.
 */
static inline int open_context(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNStatus status;

	(void)state;
	status = wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context);
	wnnInstanceRelease(instance);
	return status == WNNStatus_Success ? 0 : -1;
}

static inline int close_context(void **state)
{
	(void)state;
	wnnContextRelease(context);
	return 0;
}

#endif
