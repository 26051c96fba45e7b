/* SPDX-License-Identifier: MIT */
/*
 * A builder without a context: the operator functions of webnn.h, generated from webnn.json, call
 * graph/ directly. A WNNGraphBuilder is a struct wnn_builder here.
 */
#ifndef TEST_GRAPH_FIXTURE_H
#define TEST_GRAPH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <webnn/webnn.h>

#include "graph/builder.h"

/* The error of the last failed call. */
extern struct wnn_error test_error;

struct fixture {
	struct wnn_builder *builder;
	WNNGraphBuilder b;
	bool lost;
};

/* Opens a builder for which everything in the IR can be executed. */
void fixture_open(struct fixture *f);
void fixture_open_with(struct fixture *f, const struct wnn_limits *limits);
void fixture_close(struct fixture *f);

/* Open a fixture as the state of a cmocka test, and close it; both return 0. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
#define GRAPH_TEST(function) \
	cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

/*
 * fixture_input() and fixture_constant() return a new input, with a generated name, or constant;
 * fixture_build() returns the recording of a graph with one output. An error fails the test.
 */
WNNOperand fixture_input(struct fixture *f, WNNOperandDataType type, size_t rank,
			 const uint32_t *shape);
WNNOperand fixture_constant(struct fixture *f, WNNOperandDataType type, size_t rank,
			    const uint32_t *shape, const void *data);
struct wnn_recording *fixture_build(struct fixture *f, const char *name, WNNOperand operand);

#define DIMS(...)                                                            \
	sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), (uint32_t[]) \
	{                                                                    \
		__VA_ARGS__                                                  \
	}
#define INPUT(f, type, ...) fixture_input(f, WNNOperandDataType_##type, DIMS(__VA_ARGS__))
#define SCALAR(f, type)	    fixture_input(f, WNNOperandDataType_##type, 0, NULL)

/* Checks that a call succeeded, and that its result has this type and shape. */
void assert_operand(WNNOperand operand, WNNOperandDataType type, size_t rank,
		    const uint32_t *shape);
#define assert_shape(operand, type, ...) \
	assert_operand(operand, WNNOperandDataType_##type, DIMS(__VA_ARGS__))

/* Checks that a call failed with this status, and that its message contains the text. */
void assert_refused(WNNOperand operand, enum wnn_status status, const char *text);
#define assert_type_error(call, text) assert_refused(call, WNN_TYPE_ERROR, text)

/* Checks that the texts are equal; prints both otherwise. Frees `actual`. */
void assert_text(char *actual, const char *expected);

#endif
