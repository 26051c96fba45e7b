/* SPDX-License-Identifier: MIT */
/* The construction of a network, shared by the files that build single models. */
#ifndef ONPU_TOOLS_MODELS_INTERNAL_H
#define ONPU_TOOLS_MODELS_INTERNAL_H

#include "models.h"

/* A network under construction. The first failure is kept, and later calls do nothing. */
struct net {
	WNNGraphBuilder builder;
	char folder[4096];
	bool failed;
};

WNNOperand net_input(struct net *net, struct model *model);
WNNOperand net_file(struct net *net, const char *format, ...) __attribute__((format(printf, 2, 3)));
WNNOperand net_data(struct net *net, const float *data, uint32_t rank, const uint32_t *dims);
/* Returns the operand; when it is NULL, records the builder's error. */
WNNOperand net_check(struct net *net, WNNOperand operand);

/*
 * Each function fills in the model's description and sets the outputs in its order. Returns 0 or
 * -1.
 */
typedef int (*model_fn)(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs);
int model_digits(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs);
int model_squeezenet(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs);
int model_lenet(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs);
int model_mobilenetv2(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs);

/* The operators that the models use; each call takes a label. */
WNNOperand net_relu(struct net *net, WNNOperand x, const char *label);
WNNOperand net_pool(struct net *net, bool max, WNNOperand x, uint32_t window, uint32_t stride,
		    WNNInputOperandLayout layout, const char *label);
WNNOperand net_reshape(struct net *net, WNNOperand x, uint32_t rows, uint32_t cols,
		       const char *label);

#endif
