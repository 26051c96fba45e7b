/* SPDX-License-Identifier: MIT */
/*
 * Local rules: they replace a node and the nodes that make its operands by fewer or cheaper nodes
 * with an equal result. rules.def lists them. rules.c applies them to each node as soon as it is in
 * the new graph, and then to the nodes that replaced it: a rule sees operands that no rule can
 * improve any more, and the work is linear in the graph.
 *
 * A rule is a function. It looks at a node of the new graph, and returns the value that replaces
 * the node's only result, or NULL where it does not apply. It makes nodes with rules_emit().
 * pass_drop_dead() removes nodes that nothing uses any more; their operators are part of the new
 * node in the report.
 */
#ifndef WNN_PASS_RULES_H
#define WNN_PASS_RULES_H

#include "pass/rewrite.h"

/* Rules that are applied together. */
enum rules_group {
	RULES_TIDY,   /* remove what does nothing; before all other passes */
	RULES_ABSORB, /* move work into constants, products and windows */
};

struct rules;

typedef struct ir_value *(*rule_fn)(struct rules *rules, struct ir_node *node);

struct rule {
	const char *name;
	enum rules_group group;
	enum ir_op op; /* of the nodes that it looks at */
	rule_fn apply;
};

extern const struct rule rules_table[];
extern const uint32_t rules_count;

/* Passes that can be disabled like rules, by a name with hyphens. */
enum rules_pass { RULES_SINK_TRANSPOSES, RULES_JOIN_PRODUCTS };

bool rules_pass_is_on(const struct wnn_pass_options *options, enum rules_pass pass);

/* ---- for rules */

/* The node that makes a value, when nothing else uses its only result; else NULL. */
struct ir_node *rules_sole(const struct rules *rules, const struct ir_value *value);
/* The node of that operator that makes a value, whoever else uses it; else NULL. */
const struct ir_node *rules_maker(const struct ir_value *value, enum ir_op op);
/*
 * Sets the bits that all elements of a constant have, which may be expanded; false where they
 * differ, or it is no constant.
 */
bool rules_bits(const struct ir_value *value, uint64_t *bits);
/* Returns the bits of an infinite number of the type, or 0 for integers. */
uint64_t rules_infinity(enum ir_dtype dtype, bool negative);
/* Returns how often a value is an operand or an output. */
uint32_t rules_uses(const struct rules *rules, const struct ir_value *value);
bool rules_is_output(const struct rules *rules, const struct ir_value *value);

/**
 * rules_emit - make a node of the new graph; rules are applied to it afterwards
 * @type: of its only result
 * @main, @other: nodes of the new graph whose work it does; they give label and source; @other may
 * be NULL
 *
 * Returns the node's result; NULL when out of memory.
 */
struct ir_value *rules_emit(struct rules *rules, enum ir_op op, struct ir_value *const *operands,
			    uint32_t num_operands, const struct ir_type *type,
			    const union ir_attrs *attrs, const struct ir_node *main,
			    const struct ir_node *other);
/* Adds a constant to the new graph; takes over the data, which wnn_malloc() gave. */
struct ir_value *rules_constant(struct rules *rules, const struct ir_type *type, void *data);
/*
 * Adds a constant of finite floats that is computed when it is first read; see ir_constant_later().
 */
struct ir_value *rules_later(struct rules *rules, const struct ir_type *type,
			     const struct ir_recipe *recipe, void *userdata);
/* Returns a copy of a constant with another shape of as many elements; it shares the data. */
struct ir_value *rules_reshaped(struct rules *rules, const struct ir_value *constant,
				const struct ir_type *type);

/* Whether a value that exists already may replace a node's result: an output needs a node. */
bool rules_may_pass(const struct rules *rules, const struct ir_node *node,
		    const struct ir_value *value);

int rules_nomem(struct rules *rules);
bool rules_failed(const struct rules *rules);

/* ---- products whose constants will be written when no more rules apply; rule_scale.c */

struct rules_scaling;

/* Returns the scaling that a product has so far, or NULL. */
struct rules_scaling *rules_scaling_of(const struct rules *rules, const struct ir_node *product);
/**
 * rules_emit_product - copy a convolution or matrix product with other operands or attributes
 * @operands: three; the last may be NULL
 * @scaling: the scaling of the new node; taken over. NULL: it keeps that of the old one
 * @other: another node whose work the new one does
 */
struct ir_value *rules_emit_product(struct rules *rules, const struct ir_node *product,
				    struct ir_value *const *operands, const union ir_attrs *attrs,
				    struct rules_scaling *scaling, const struct ir_node *other);
/* Writes the constants with their scaling, and frees it. */
int rules_scale_weights(struct rules *rules, struct ir_node *product,
			struct rules_scaling *scaling);
void rules_scaling_destroy(struct rules_scaling *scaling);

/* ---- the rules: one line each in rules.def, where their comments are */
#define PASS_RULE(name, group, op, function) \
	struct ir_value *rule_##function(struct rules *rules, struct ir_node *node);
#include "pass/rules.def"
#undef PASS_RULE

#endif
