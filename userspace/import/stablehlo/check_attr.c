// SPDX-License-Identifier: MIT
/* Checks attributes that set the precision of an operation. */
#include <string.h>

#include "check.h"

/* Returns the name of a type in an attribute, also of a type that values cannot have. */
static const char *type_name(const struct shlo_attr *attr)
{
	if (!attr)
		return "no type";
	if (attr->kind != SHLO_ATTR_TYPE)
		return attr->text ? attr->text : "";
	if (attr->type->kind == SHLO_OPAQUE)
		return attr->type->text;
	return attr->type->kind == SHLO_TENSOR ? shlo_elements[attr->type->element].text : "";
}

struct algorithm {
	const char *lhs, *rhs, *sum;
	int64_t lhs_parts, rhs_parts, products;
	bool imprecise;
};

/*
 * Whether an algorithm is among those that some hardware has, by the list of StableHLO's verifier.
 */
static bool is_known(const struct algorithm *a)
{
	static const struct {
		const char *type, *sum;
		/* the most products; above 1, operands may be split into components */
		int64_t products;
	} known[] = {
		{ "f16", "f16", 1 },  { "f16", "f32", 1 },  { "bf16", "bf16", 1 },
		{ "bf16", "f32", 9 }, { "tf32", "f32", 3 }, { "f32", "f32", 1 },
		{ "f64", "f64", 1 },
	};
	bool whole = a->lhs_parts == 1 && a->rhs_parts == 1 && a->products == 1;

	if (!strncmp(a->lhs, "f8", 2) && !strncmp(a->rhs, "f8", 2))
		return whole && !strcmp(a->sum, "f32");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].type, a->lhs) || strcmp(known[i].type, a->rhs) ||
		    strcmp(known[i].sum, a->sum) || a->imprecise)
			continue;
		if (whole || (known[i].products > 1 && a->lhs_parts <= 3 && a->rhs_parts <= 3 &&
			      a->products <= known[i].products && a->products % 3 == 0))
			return true;
	}
	return false;
}

static int64_t need_count(struct shlo_check *check, const struct shlo_attr *dict, const char *name)
{
	const struct shlo_attr *attr = shlo_attr_find(dict, name);

	if (!attr || attr->kind != SHLO_ATTR_INT)
		shlo_wrong(check, "%s of the algorithm, an integer, is missing", name);
	if (attr->number < 1)
		shlo_wrong(check, "%s of the algorithm is %lld, expected one from 1 on", name,
			   (long long)attr->number);
	return attr->number;
}

static void need_algorithm(struct shlo_check *check, const struct shlo_attr *dict)
{
	const struct shlo_attr *imprecise = shlo_attr_find(dict, "allow_imprecise_accumulation");
	struct algorithm a = {
		.lhs = type_name(shlo_attr_find(dict, "lhs_precision_type")),
		.rhs = type_name(shlo_attr_find(dict, "rhs_precision_type")),
		.sum = type_name(shlo_attr_find(dict, "accumulation_type")),
		.lhs_parts = need_count(check, dict, "lhs_component_count"),
		.rhs_parts = need_count(check, dict, "rhs_component_count"),
		.products = need_count(check, dict, "num_primitive_operations"),
		.imprecise = imprecise && imprecise->number,
	};

	if (!is_known(&a))
		shlo_wrong(check,
			   "no hardware is known for this algorithm: %s x %s, summed in %s, with "
			   "%lld and %lld components and %lld products%s",
			   a.lhs, a.rhs, a.sum, (long long)a.lhs_parts, (long long)a.rhs_parts,
			   (long long)a.products, a.imprecise ? ", imprecise" : "");
}

void shlo_need_precision(struct shlo_check *check)
{
	const struct shlo_attr *config = shlo_attr_find(&check->op->attrs, "precision_config");
	const struct shlo_attr *algorithm = shlo_attr_find(&check->op->attrs, "algorithm");
	bool other = false;

	if (config && (config->kind != SHLO_ATTR_ARRAY || config->count > 2))
		shlo_wrong(check, "precision_config must be a list of at most 2 words, which are "
				  "DEFAULT, HIGH or HIGHEST");
	for (size_t i = 0; config && i < config->count; i++) {
		const char *word = config->items[i]->text ? config->items[i]->text : "";

		if (strcmp(word, "DEFAULT") && strcmp(word, "HIGH") && strcmp(word, "HIGHEST"))
			shlo_wrong(check,
				   "precision_config has '%s', expected DEFAULT, HIGH or HIGHEST",
				   word);
		other |= strcmp(word, "DEFAULT") != 0;
	}
	if (!algorithm || algorithm->kind != SHLO_ATTR_DICT || !algorithm->count)
		return;
	if (other)
		shlo_wrong(check, "precision_config must be DEFAULT when an algorithm is given");
	need_algorithm(check, algorithm);
}

void shlo_need_accuracy(struct shlo_check *check)
{
	static const char *const names[] = { "atol", "rtol", "ulps" };
	const struct shlo_attr *dict = shlo_attr_find(&check->op->attrs, "result_accuracy");
	const struct shlo_attr *mode = shlo_attr_find(dict, "mode");
	const char *word = mode && mode->text ? mode->text : "DEFAULT";

	if (!dict || !strcmp(word, "TOLERANCE"))
		return;
	if (strcmp(word, "DEFAULT") && strcmp(word, "HIGHEST"))
		shlo_wrong(check,
			   "the mode of result_accuracy is '%s', expected DEFAULT, HIGHEST or "
			   "TOLERANCE",
			   word);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct shlo_attr *attr = shlo_attr_find(dict, names[i]);

		if (attr && (attr->kind == SHLO_ATTR_FLOAT ? attr->real != 0 : attr->number != 0))
			shlo_wrong(check, "result_accuracy has %s, which mode %s does not take",
				   names[i], word);
	}
}
