/* SPDX-License-Identifier: MIT */
/*
 * Local rules: they replace a node and the nodes that make its operands by fewer or cheaper nodes
 * with an equal result. rules.def lists them. rules.c applies them to each node as soon as it is in
 * the new graph, and then to the nodes that replace it. So a rule sees only operands to which no
 * rule applies any more, and the work is linear in the size of the graph.
 *
 * A rule is a function. It looks at a node of the new graph, and returns the value that replaces
 * the node's only result, or NULL where it does not apply. It makes nodes with rules_emit().
 * pass_drop_dead() removes nodes that nothing uses any more; their operators are part of the new
 * node in the report.
 */
#ifndef WNN_PASS_RULES_H
#define WNN_PASS_RULES_H

#include "pass/rewrite.h"

/* A group of rules that are applied together. */
enum rules_group {
	RULES_TIDY,   /* remove operators that do nothing, before all other passes */
	RULES_ABSORB, /* move work into constants, products and windows */
};

struct rules;

typedef struct ir_value *(*rule_fn)(struct rules *rules, struct ir_node *node);

struct rule {
	const char *name;
	enum rules_group group;
	enum ir_op op; /* the operator of the nodes that the rule is applied to */
	rule_fn apply;
};

extern const struct rule rules_table[];
extern const uint32_t rules_count;

/* Passes that can be disabled like rules, by a name with hyphens. */
enum rules_pass { RULES_SINK_TRANSPOSES, RULES_JOIN_PRODUCTS };

bool rules_pass_is_on(const struct wnn_pass_options *options, enum rules_pass pass);

/* ---- functions that rules call */

/*
 * Returns the node that makes a value, if the value is its only result, has one use and is not an
 * output; else NULL.
 */
struct ir_node *rules_sole(const struct rules *rules, const struct ir_value *value);
/*
 * Returns the node with operator `op` that makes a value, however many uses the value has; else
 * NULL.
 */
const struct ir_node *rules_maker(const struct ir_value *value, enum ir_op op);
/*
 * Sets *bits to the bits of all elements of a constant, which may be expanded; false when they
 * differ, or the value is not constant.
 */
bool rules_bits(const struct ir_value *value, uint64_t *bits);
/* Returns the bits of infinity or -infinity in the type; 0 for integers. */
uint64_t rules_infinity(enum ir_dtype dtype, bool negative);
/*
 * Whether each element of a value of floats is NaN or has a clear sign bit; false where that is not
 * seen from a few nodes in front (rule_chain.c).
 */
bool rules_is_positive(const struct ir_value *value);
/* Whether each window of a pool contains an element of its input (rule_window.c). */
bool rules_windows_see_input(const struct ir_pool_attrs *pool, const struct ir_type *input,
			     const struct ir_type *result);
/* Returns how often a value is an operand or an output. */
uint32_t rules_uses(const struct rules *rules, const struct ir_value *value);
bool rules_is_output(const struct rules *rules, const struct ir_value *value);

/**
 * rules_emit - make a node of the new graph; rules are applied to it afterwards
 * @type: type of its only result
 * @main, @other: nodes of the new graph whose work it does; they give label and source; @other may
 *	be NULL
 *
 * Returns the node's result; NULL when out of memory.
 */
struct ir_value *rules_emit(struct rules *rules, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *type,
			    const union ir_attrs *attrs, const struct ir_node *main,
			    const struct ir_node *other);
/*
 * Adds a constant to the new graph. It takes over the data, which must come from wnn_malloc(). NULL
 * when out of memory.
 */
struct ir_value *rules_constant(struct rules *rules, const struct ir_type *type, void *data);
/*
 * Adds a constant of finite floats that is computed when it is first read; see ir_constant_later().
 * NULL when out of memory.
 */
struct ir_value *rules_later(struct rules *rules, const struct ir_type *type,
			     const struct ir_recipe *recipe, void *userdata);
/*
 * Returns a constant with another shape of as many elements, which shares the data; NULL when out
 * of memory.
 */
struct ir_value *rules_reshaped(struct rules *rules, const struct ir_value *constant,
				const struct ir_type *type);

/*
 * Whether an existing value may replace a node's result: not when the result is an output and the
 * value is an input or constant.
 */
bool rules_may_pass(const struct rules *rules, const struct ir_node *node,
		    const struct ir_value *value);

/*
 * Sets the error "out of memory", and returns -1: rules_failed() returns true from then on, and no
 * rule is applied any more.
 */
int rules_nomem(struct rules *rules);
bool rules_failed(const struct rules *rules);

/* ---- products with scaled constants, which are written when no more rules apply (rule_scale.c) */

struct rules_scaling;

/* Returns the scaling that rules have collected for a product, or NULL. */
struct rules_scaling *rules_scaling_of(const struct rules *rules, const struct ir_node *product);
/**
 * rules_emit_product - copy a convolution or matrix product with other operands or attributes
 * @operands: three; the last may be NULL
 * @scaling: the scaling of the new node; taken over. NULL: the new node gets that of the old one
 * @other: another node whose work the new node does
 *
 * Returns the new node's result; NULL when out of memory.
 */
struct ir_value *rules_emit_product(struct rules *rules, const struct ir_node *product,
				    struct ir_value *const *operands, const union ir_attrs *attrs,
				    struct rules_scaling *scaling, const struct ir_node *other);
/* Gives a product its scaled constants; takes over the scaling in any case. Returns 0 or -1. */
int rules_scale_weights(struct rules *rules, struct ir_node *product,
			struct rules_scaling *scaling);
void rules_scaling_destroy(struct rules_scaling *scaling);

/* ---- the rules in rules.def; comments in the files rule_... describe them */
#define PASS_RULE(name, group, op, function) \
	struct ir_value *rule_##function(struct rules *rules, struct ir_node *node);
#include "pass/rules.def"
#undef PASS_RULE

#endif
