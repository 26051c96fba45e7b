// SPDX-License-Identifier: MIT
/* Converts operations of VHLO, in all their versions, to those of StableHLO. */
#include "vhlo.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int version;
	const char *properties;
} ops[] = {
#define VHLO(name, version, properties) { name, version, properties },
#include "vhlo.def"
#undef VHLO
};

/* Attributes of StableHLO that VHLO splits into several. */
static const struct {
	const char *op, *attr, *members;
} groups[] = {
#define CONV_MEMBERS                                                                 \
	"input_batch_dimension input_feature_dimension input_spatial_dimensions "    \
	"kernel_input_feature_dimension kernel_output_feature_dimension "            \
	"kernel_spatial_dimensions output_batch_dimension output_feature_dimension " \
	"output_spatial_dimensions"
#define GATHER_MEMBERS                                                                        \
	"offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims " \
	"start_index_map index_vector_dim"
	{ "convolution", "dimension_numbers", CONV_MEMBERS },
	{ "dynamic_conv", "dimension_numbers", CONV_MEMBERS },
	{ "gather", "dimension_numbers", GATHER_MEMBERS },
	{ "dynamic_gather", "dimension_numbers", GATHER_MEMBERS },
	{ "scatter", "scatter_dimension_numbers",
	  "update_window_dims inserted_window_dims input_batching_dims "
	  "scatter_indices_batching_dims scatter_dims_to_operand_dims index_vector_dim" },
	{ "dot_general", "dot_dimension_numbers",
	  "lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions "
	  "rhs_contracting_dimensions" },
	{ "dot_general", "algorithm",
	  "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count "
	  "rhs_component_count num_primitive_operations allow_imprecise_accumulation" },
};

#define GROUP_COUNT (sizeof(groups) / sizeof(groups[0]))

enum value { IS_FALSE, IS_0, IS_1, IS_MINUS_1, ALL_0, ALL_1, EMPTY, ALL_DEFAULT, NOTYPE, EXACT };

/* Defaults of attributes in StableHLO; a row without an operation holds for all operations. */
static const struct {
	const char *op, *attr;
	enum value value;
} defaults[] = {
	{ NULL, "use_global_device_ids", IS_FALSE },
	{ NULL, "has_dynamic_root", IS_FALSE },
	{ NULL, "indices_are_sorted", IS_FALSE },
	{ NULL, "unique_indices", IS_FALSE },
	{ NULL, "is_host_transfer", IS_FALSE },
	{ NULL, "window_strides", ALL_1 },
	{ NULL, "lhs_dilation", ALL_1 },
	{ NULL, "rhs_dilation", ALL_1 },
	{ NULL, "base_dilations", ALL_1 },
	{ NULL, "window_dilations", ALL_1 },
	{ NULL, "padding", ALL_0 },
	{ NULL, "window_reversal", ALL_0 },
	{ NULL, "precision_config", ALL_DEFAULT },
	{ NULL, "result_accuracy", EXACT },
	{ "cholesky", "lower", IS_FALSE },
	{ "compare", "compare_type", NOTYPE },
	{ "composite", "version", IS_0 },
	{ "composite", "composite_attributes", EMPTY },
	{ "custom_call", "has_side_effect", IS_FALSE },
	{ "custom_call", "backend_config", EMPTY },
	{ "custom_call", "api_version", IS_1 },
	{ "custom_call", "called_computations", EMPTY },
	{ "custom_call", "operand_layouts", EMPTY },
	{ "custom_call", "result_layouts", EMPTY },
	{ "custom_call", "output_operand_aliases", EMPTY },
	{ "custom_call", "result_tilings", EMPTY },
	{ "dynamic_broadcast_in_dim", "known_expanding_dimensions", EMPTY },
	{ "dynamic_broadcast_in_dim", "known_nonexpanding_dimensions", EMPTY },
	{ "infeed", "infeed_config", EMPTY },
	{ "infeed", "layout", EMPTY },
	{ "outfeed", "outfeed_config", EMPTY },
	{ "send", "source_target_pairs", EMPTY },
	{ "recv", "source_target_pairs", EMPTY },
	{ "sort", "dimension", IS_MINUS_1 },
	{ "sort", "is_stable", IS_FALSE },
};

static const char *without_dialect(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot + 1 : name;
}

bool shlo_is_vhlo(const char *name)
{
	return !strncmp(name, "vhlo.", 5);
}

/* Returns the row of an operation such as vhlo.add_v1; -1: there is none. */
static int find(const char *name)
{
	const char *base = without_dialect(name), *version = strrchr(base, '_');
	size_t length;

	if (!shlo_is_vhlo(name) || !version || version[1] != 'v')
		return -1;
	length = (size_t)(version - base);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strlen(ops[i].name) == length && !strncmp(ops[i].name, base, length) &&
		    ops[i].version == atoi(version + 2))
			return (int)i;
	return -1;
}

const char *shlo_vhlo_properties(const char *name)
{
	int at = find(name);

	return at < 0 ? NULL : ops[at].properties;
}

const char *shlo_group_members(const char *op, const char *attr)
{
	for (size_t i = 0; i < GROUP_COUNT; i++)
		if (!strcmp(groups[i].op, without_dialect(op)) && !strcmp(groups[i].attr, attr))
			return groups[i].members;
	return NULL;
}

const struct shlo_attr *shlo_vhlo_symbol(struct shlo_reader *r, const struct shlo_attr *attr)
{
	struct shlo_attr *symbol;

	if (attr->kind != SHLO_ATTR_STRING)
		return attr;
	symbol = shlo_attr_new(r, SHLO_ATTR_SYMBOL);
	symbol->text = attr->text;
	return symbol;
}

/* ---- defaults */

/* Whether all numbers of nested arrays or dense elements equal @number. */
static bool all_are(const struct shlo_attr *attr, int64_t number)
{
	int64_t count;

	switch (attr->kind) {
	case SHLO_ATTR_INT:
	case SHLO_ATTR_BOOL:
		return attr->number == number;
	case SHLO_ATTR_ARRAY:
		for (size_t i = 0; i < attr->count; i++)
			if (!all_are(attr->items[i], number))
				return false;
		return true;
	case SHLO_ATTR_DENSE:
		count = attr->splat ? 1 : shlo_type_count(attr->type);
		if (shlo_class(attr->type->element) > SHLO_UNSIGNED)
			return false;
		for (int64_t i = 0; i < count; i++)
			if (shlo_load(attr->type->element, attr->data, (size_t)i).i != number)
				return false;
		return true;
	default:
		return false;
	}
}

static bool is_empty(const struct shlo_attr *attr)
{
	if (attr->kind == SHLO_ATTR_DENSE)
		return !shlo_type_count(attr->type);
	return (attr->kind == SHLO_ATTR_STRING || attr->kind == SHLO_ATTR_ARRAY ||
		attr->kind == SHLO_ATTR_DICT) &&
	       !attr->count;
}

static bool all_default(const struct shlo_attr *attr)
{
	if (attr->kind != SHLO_ATTR_ARRAY)
		return attr->kind == SHLO_ATTR_ENUM && !strcmp(attr->text, "DEFAULT");
	for (size_t i = 0; i < attr->count; i++)
		if (!all_default(attr->items[i]))
			return false;
	return true;
}

/* Whether an attribute result_accuracy is the default, which sets no limit. */
static bool is_exact(const struct shlo_attr *attr)
{
	for (size_t i = 0; attr->kind == SHLO_ATTR_DICT && i < attr->count; i++) {
		const struct shlo_attr *item = attr->items[i];

		if (item->kind == SHLO_ATTR_FLOAT ? item->real != 0 :
		    item->kind == SHLO_ATTR_INT	  ? item->number != 0 :
						    !all_default(item))
			return false;
	}
	return attr->kind == SHLO_ATTR_DICT;
}

static bool has_value(const struct shlo_attr *attr, enum value value)
{
	switch (value) {
	case IS_FALSE:
		return attr->kind == SHLO_ATTR_BOOL && !attr->number;
	case IS_0:
	case IS_1:
	case IS_MINUS_1:
		return attr->kind == SHLO_ATTR_INT && attr->number == (value == IS_0 ? 0 :
								       value == IS_1 ? 1 :
										       -1);
	case ALL_0:
	case ALL_1:
		return all_are(attr, value == ALL_1);
	case EMPTY:
		return is_empty(attr);
	case ALL_DEFAULT:
		return all_default(attr);
	case NOTYPE:
		return attr->kind == SHLO_ATTR_ENUM && !strcmp(attr->text, "NOTYPE");
	default:
		return is_exact(attr);
	}
}

bool shlo_attr_is_default(const char *op, const char *name, const struct shlo_attr *attr)
{
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (!strcmp(defaults[i].attr, name) &&
		    (!defaults[i].op || !strcmp(defaults[i].op, without_dialect(op))))
			return has_value(attr, defaults[i].value);
	return false;
}

/* ---- upgrading */

static bool is_none(const struct shlo_attr *attr)
{
	return attr->kind == SHLO_ATTR_TYPE && attr->type->kind == SHLO_OPAQUE &&
	       !strcmp(attr->type->text, "none");
}

static const struct shlo_attr *channel(struct shlo_reader *r, const struct shlo_attr *id,
				       const struct shlo_attr *type)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_DICT);

	shlo_dict_add(r, attr, "handle", shlo_attr_number(r, id->number));
	shlo_dict_add(r, attr, "type", shlo_attr_number(r, type ? type->number : 0));
	return attr;
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

/* Puts an attribute into the dictionary that it belongs to; false: it belongs to none. */
static bool put_into_group(struct shlo_reader *r, struct shlo_attr *attrs, const char *op,
			   const char *name, const struct shlo_attr *attr)
{
	for (size_t i = 0; i < GROUP_COUNT; i++) {
		struct shlo_attr *dict;

		if (strcmp(groups[i].op, op) || !*name || !has_word(groups[i].members, name))
			continue;
		/* When no algorithm is given, all its members are none. */
		if (is_none(attr))
			return true;
		dict = (struct shlo_attr *)shlo_attr_find(attrs, groups[i].attr);
		if (!dict) {
			dict = shlo_attr_new(r, SHLO_ATTR_DICT);
			shlo_dict_add(r, attrs, groups[i].attr, dict);
		}
		shlo_dict_add(r, dict, name, attr);
		return true;
	}
	return false;
}

/*
 * Returns StableHLO's form of a VHLO attribute, and sets *name where StableHLO has another name.
 * NULL: StableHLO has no such attribute, or leaves it out for this value.
 */
static const struct shlo_attr *convert(struct shlo_reader *r, const struct shlo_attr *all,
				       const char **name, const struct shlo_attr *attr)
{
	static const char *const symbols[] = { "callee", "decomposition", NULL };
	static const char *const units[] = { "use_global_device_ids", "has_dynamic_root", NULL };
	struct shlo_attr *array;
	const struct shlo_attr **items;
	int64_t version = 0;

	if (is_one_of(*name, symbols))
		return shlo_vhlo_symbol(r, attr);
	if (is_one_of(*name, units))
		return attr->kind == SHLO_ATTR_BOOL && attr->number ?
			       shlo_attr_new(r, SHLO_ATTR_UNIT) :
			       NULL;
	if (!strcmp(*name, "channel_type"))
		return NULL;
	if (!strcmp(*name, "channel_id")) {
		const struct shlo_attr *type = shlo_attr_find(all, "channel_type");

		*name = "channel_handle";
		return type || attr->number ? channel(r, attr, type) : NULL;
	}
	if (!strcmp(*name, "api_version") && attr->kind == SHLO_ATTR_ENUM) {
		enum { API_VERSION = 5 };
		const char *text;

		while ((text = shlo_vhlo_enum_text(API_VERSION, (uint64_t)version)) &&
		       strcmp(text, attr->text))
			version++;
		array = (struct shlo_attr *)shlo_attr_number(r, version);
		array->type = shlo_tensor_type(r->arena, SHLO_I32, 0, NULL);
		return array;
	}
	if (!strcmp(*name, "called_computations") && attr->kind == SHLO_ATTR_ARRAY) {
		array = shlo_attr_new(r, SHLO_ATTR_ARRAY);
		items = shlo_arena_alloc(r->arena, attr->count, sizeof(*items));
		for (size_t i = 0; i < attr->count; i++)
			items[i] = shlo_vhlo_symbol(r, attr->items[i]);
		array->items = items;
		array->count = attr->count;
		return array;
	}
	return attr;
}

void shlo_vhlo_upgrade(struct shlo_reader *r, struct shlo_op *op)
{
	int at = find(op->name);
	const char *base;
	struct shlo_attr attrs = { .kind = SHLO_ATTR_DICT };

	if (at < 0)
		return;
	base = ops[at].name;
	op->name = shlo_arena_printf(
		r->arena, "%s.%s",
		!strcmp(base, "call") || !strcmp(base, "func") ? "func" : "stablehlo", base);
	op->kind = shlo_kind_find(op->name);
	for (size_t i = 0; i < op->attrs.count; i++) {
		const char *name = op->attrs.names[i];
		const struct shlo_attr *attr = op->attrs.items[i];

		if (put_into_group(r, &attrs, base, name, attr))
			continue;
		/* Version 1 had a padding attribute, too; only the padding operand counts. */
		if (!strcmp(base, "dynamic_conv") && !strcmp(name, "padding"))
			continue;
		attr = convert(r, &op->attrs, &name, attr);
		if (attr && !shlo_attr_is_default(base, name, attr))
			shlo_dict_add(r, &attrs, name, attr);
	}
	op->attrs = attrs;
}
