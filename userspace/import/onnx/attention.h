/* SPDX-License-Identifier: MIT */
/* Helpers that the operators of attention share. */
#ifndef ONNX_ATTENTION_H
#define ONNX_ATTENTION_H

#include "node.h"

/*
 * Rotates the first @size numbers of the last dimension as pairs, and returns the result. Cosine
 * and sine hold one angle for each pair, and their other dimensions are broadcast.
 */
WNNOperand onnx_rotate(struct onnx_node *node, WNNOperand x, WNNOperand cosine, WNNOperand sine,
		       int64_t size, bool interleaved);

struct onnx_attention {
	double scale;	    /* factor of the scores; 0 selects 1 / sqrt(size of a head) */
	double softcap;	    /* bound of the scores, by tanh; 0: no bound */
	bool smooth;	    /* softmax sums over one more score, which is 0 without a sink */
	WNNOperand sink;    /* with smooth: the further score of each head, [heads]; may be NULL */
	WNNOperand bias;    /* added to the scores; may be NULL */
	WNNOperand allowed; /* keys where this is false get no weight; may be NULL */
};

/*
 * Returns softmax(query * key^T * scale + bias) * value as [batch, length, heads * size of a
 * value]. The query is [batch, heads, length, size], key and value are [batch, key heads, total,
 * size]; equally many query heads share each key head. Bias and allowed are broadcast to [batch,
 * heads, length, total].
 */
WNNOperand onnx_attend(struct onnx_node *node, WNNOperand query, WNNOperand key, WNNOperand value,
		       const struct onnx_attention *a);
/* Returns x, [batch, length, heads * size], as [batch, heads, length, size]. */
WNNOperand onnx_split_heads(struct onnx_node *node, WNNOperand x, int64_t heads);
/*
 * Returns the cache with @rows written over its elements at the positions @at of dimension @axis.
 * @rows has the shape of the cache except in that dimension. @at is int32; its shape is broadcast
 * to the dimensions of @rows up to @axis and one more of size 1.
 */
WNNOperand onnx_write_rows(struct onnx_node *node, WNNOperand cache, uint32_t axis, WNNOperand at,
			   WNNOperand rows);
/*
 * Returns 0 if the node has no input from index @known on. Otherwise refuses the node, because only
 * newer versions of the operator have such inputs, and returns -1.
 */
int onnx_attention_inputs(struct onnx_node *node, size_t known);

#endif
