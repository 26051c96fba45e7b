/* SPDX-License-Identifier: MIT */
/* The construction of a network, shared by the files that build single models. */
#ifndef ONPU_TOOLS_MODELS_INTERNAL_H
#define ONPU_TOOLS_MODELS_INTERNAL_H

#include "models.h"

/*
 * A network under construction. The first failure sets @failed; after it, the functions below
 * return NULL and print nothing.
 */
struct net {
	WNNGraphBuilder builder;
	char folder[4096];
	bool failed;
};

/*
 * Return the input that @model describes; a constant from a file in net->folder, whose name the
 * format gives; a constant with a copy of @data. All are float32.
 */
WNNOperand net_input(struct net *net, struct model *model);
WNNOperand net_file(struct net *net, const char *format, ...) __attribute__((format(printf, 2, 3)));
WNNOperand net_data(struct net *net, const float *data, uint32_t rank, const uint32_t *dims);
/* Returns @operand. If it is NULL, prints the builder's error and marks the network as failed. */
WNNOperand net_check(struct net *net, WNNOperand operand);

/*
 * Each function builds the network, fills in the description @model, and sets @outputs in the order
 * of that description. Returns 0, or -1 after a message.
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
