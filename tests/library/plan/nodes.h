/* SPDX-License-Identifier: MIT */
/*
 * Functions for graphs of several nodes: each but node_fire() adds one node and returns its result.
 */
#ifndef TEST_PLAN_NODES_H
#define TEST_PLAN_NODES_H

#include "fixture.h"

struct ir_value *node_unary(struct test_graph *t, int kind, struct ir_value *in);
struct ir_value *node_binary(struct test_graph *t, int kind, struct ir_value *a,
			     struct ir_value *b);
struct ir_value *node_reshape(struct test_graph *t, struct ir_value *in, uint32_t rank,
			      const int64_t *dims);
struct ir_value *node_transpose(struct test_graph *t, struct ir_value *in, const uint32_t *perm);
struct ir_value *node_expand(struct test_graph *t, struct ir_value *in, uint32_t rank,
			     const int64_t *dims);
struct ir_value *node_concat(struct test_graph *t, struct ir_value *a, struct ir_value *b,
			     uint32_t axis);
struct ir_value *node_slice(struct test_graph *t, struct ir_value *in, uint32_t axis, int64_t begin,
			    int64_t size);
struct ir_value *node_softmax(struct test_graph *t, struct ir_value *in, uint32_t axis);
struct ir_value *node_matmul(struct test_graph *t, struct ir_value *a, struct ir_value *b);
/*
 * Adds a convolution with an odd @kernel, padding that keeps the size, a constant filter and bias,
 * and relu; returns the result.
 */
struct ir_value *node_conv(struct test_graph *t, struct ir_value *in, enum ir_layout layout,
			   int64_t channels, int64_t kernel);
/*
 * Adds the fire module of SqueezeNet, whose last two convolutions write directly into the result of
 * a concat; returns this result.
 */
struct ir_value *node_fire(struct test_graph *t, enum ir_layout layout, int64_t size);

#endif
