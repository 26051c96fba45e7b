/* SPDX-License-Identifier: MIT */
/* Helpers that the operators of attention share. */
#ifndef ONNX_ATTENTION_H
#define ONNX_ATTENTION_H

#include "node.h"

/*
 * Turns the first @size numbers of the last dimension, pair by pair; cosine and sine have half as many,
 * and dimensions that are broadcast.
 */
WNNOperand onnx_rotate(struct onnx_node *node, WNNOperand x, WNNOperand cosine, WNNOperand sine,
		       int64_t size, bool interleaved);

struct onnx_attention {
	double scale;	    /* 0: one by the root of the size of a head */
	double softcap;	    /* 0: none */
	bool smooth;	    /* one more number of value 0 takes part in softmax */
	WNNOperand bias;    /* is added; may be NULL */
	WNNOperand allowed; /* what is not gets no weight; may be NULL */
};

/*
 * softmax(query * key^T * scale + bias) * value, for query [batch, heads, length, size], key and value
 * [batch, key heads, total, size], with as many heads of queries for each of the keys. Bias and allowed
 * are broadcast to [batch, heads, length, total]. Gives [batch, length, heads * size].
 */
WNNOperand onnx_attend(struct onnx_node *node, WNNOperand query, WNNOperand key, WNNOperand value,
		       const struct onnx_attention *a);
/* [batch, length, heads * size] as [batch, heads, length, size]. */
WNNOperand onnx_split_heads(struct onnx_node *node, WNNOperand x, int64_t heads);
/* Refuses inputs from @known on, which newer versions of an operator have; 0: there are none. */
int onnx_attention_inputs(struct onnx_node *node, size_t known);

#endif
