// SPDX-License-Identifier: MIT
/*
 * Reads operations as MLIR prints them. Nearly all are a list of operands, words and NAME = VALUE
 * before the types, so that one function reads them; a table has the meaning of the names.
 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* Names in the text whose attribute has another name. */
static const struct {
	const char *op, *text, *attr;
} renamed[] = {
	{ "stablehlo.iota", "dim", "iota_dimension" },
	{ "stablehlo.dynamic_iota", "dim", "iota_dimension" },
	{ "stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions" },
	{ "stablehlo.dynamic_broadcast_in_dim", "dims", "broadcast_dimensions" },
	{ "stablehlo.broadcast", "sizes", "broadcast_sizes" },
	{ "stablehlo.transpose", "dims", "permutation" },
	{ "stablehlo.reverse", "dims", "dimensions" },
	{ "stablehlo.concatenate", "dim", "dimension" },
	{ "stablehlo.get_dimension_size", "dim", "dimension" },
	{ "stablehlo.set_dimension_size", "dim", "dimension" },
	{ "stablehlo.dynamic_slice", "sizes", "slice_sizes" },
	{ "stablehlo.pad", "low", "edge_padding_low" },
	{ "stablehlo.pad", "high", "edge_padding_high" },
	{ "stablehlo.pad", "interior", "interior_padding" },
	{ "stablehlo.fft", "type", "fft_type" },
	{ "stablehlo.fft", "length", "fft_length" },
	{ "stablehlo.rng", "distribution", "rng_distribution" },
	{ "stablehlo.rng_bit_generator", "algorithm", "rng_algorithm" },
	{ "stablehlo.einsum", "config", "einsum_config" },
	{ "stablehlo.unary_einsum", "config", "einsum_config" },
	{ "stablehlo.dot_general", "precision", "precision_config" },
	{ "stablehlo.dot", "precision", "precision_config" },
};

static const char *attr_name(const struct shlo_op *op, const char *text)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (!strcmp(renamed[i].op, op->name) && !strcmp(renamed[i].text, text))
			return renamed[i].attr;
	return text;
}

/* Reads the ranges of a slice, such as [0:4:2, 1:3]. */
static void read_slices(struct shlo_reader *r, struct shlo_op *op)
{
	int64_t starts[SHLO_MAX_RANK], limits[SHLO_MAX_RANK], strides[SHLO_MAX_RANK];
	size_t count = 0;

	shlo_expect(r, "[");
	while (!shlo_take(r, "]")) {
		if (count)
			shlo_expect(r, ",");
		if (count == SHLO_MAX_RANK)
			shlo_read_error(r, "a tensor has at most %d dimensions", SHLO_MAX_RANK);
		starts[count] = shlo_read_integer(r);
		shlo_expect(r, ":");
		limits[count] = shlo_read_integer(r);
		strides[count] = shlo_take(r, ":") ? shlo_read_integer(r) : 1;
		count++;
	}
	shlo_dict_add(r, &op->attrs, "start_indices", shlo_attr_ints(r, starts, count));
	shlo_dict_add(r, &op->attrs, "limit_indices", shlo_attr_ints(r, limits, count));
	shlo_dict_add(r, &op->attrs, "strides", shlo_attr_ints(r, strides, count));
}

/* Reads dimension numbers such as batching_dims = [0] x [0], contracting_dims = [2] x [1]. */
static void read_dot_dims(struct shlo_reader *r, struct shlo_op *op, bool batching)
{
	const struct shlo_attr *known = shlo_attr_find(&op->attrs, "dot_dimension_numbers");
	/* An earlier call made this dictionary for the operation: it may be changed. */
	struct shlo_attr *dims = (struct shlo_attr *)known;

	if (!dims) {
		dims = shlo_attr_new(r, SHLO_ATTR_DICT);
		shlo_dict_add(r, &op->attrs, "dot_dimension_numbers", dims);
	}
	shlo_dict_add(r, dims, batching ? "lhs_batching_dimensions" : "lhs_contracting_dimensions",
		      shlo_read_attr(r));
	shlo_expect(r, "x");
	shlo_dict_add(r, dims, batching ? "rhs_batching_dimensions" : "rhs_contracting_dimensions",
		      shlo_read_attr(r));
}

/*
 * Reads a window such as window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate =
 * [1], reverse = [false]}.
 */
static void read_window(struct shlo_reader *r, struct shlo_op *op)
{
	static const char *const names[][2] = {
		{ "stride", "window_strides" },	  { "pad", "padding" },
		{ "lhs_dilate", "lhs_dilation" }, { "rhs_dilate", "rhs_dilation" },
		{ "reverse", "window_reversal" },
	};
	struct shlo_attr window = { .kind = SHLO_ATTR_DICT };

	shlo_expect(r, "{");
	shlo_read_dict(r, &window, '}');
	for (size_t i = 0; i < window.count; i++) {
		size_t k = 0;

		while (k < 5 && strcmp(names[k][0], window.names[i]))
			k++;
		if (k == 5)
			shlo_read_error(r,
					"a window has no '%s'; it has stride, pad, lhs_dilate, "
					"rhs_dilate and reverse",
					window.names[i]);
		shlo_dict_add(r, &op->attrs, names[k][1], window.items[i]);
	}
}

/* Reads a format such as e5m10. */
static void read_format(struct shlo_reader *r, struct shlo_op *op)
{
	const char *word = shlo_read_word(r);
	char *end;
	long exponent, mantissa;

	if (!word || *word != 'e')
		shlo_read_error(r, "a format is written as e5m10");
	exponent = strtol(word + 1, &end, 10);
	if (*end != 'm')
		shlo_read_error(r, "a format is written as e5m10");
	mantissa = strtol(end + 1, NULL, 10);
	if (exponent > INT32_MAX || mantissa > INT32_MAX)
		shlo_read_error(r, "a format has less than 2^31 bits");
	shlo_dict_add(r, &op->attrs, "exponent_bits", shlo_attr_number(r, exponent));
	shlo_dict_add(r, &op->attrs, "mantissa_bits", shlo_attr_number(r, mantissa));
}

static void read_named(struct shlo_reader *r, struct shlo_op *op, const char *name)
{
	if (!strcmp(name, "batching_dims") || !strcmp(name, "contracting_dims"))
		read_dot_dims(r, op, *name == 'b');
	else if (!strcmp(name, "dim_numbers"))
		shlo_dict_add(r, &op->attrs, "dimension_numbers", shlo_read_conv_dims(r));
	else if (!strcmp(name, "window"))
		read_window(r, op);
	else if (!strcmp(name, "format") && !strcmp(op->name, "stablehlo.reduce_precision"))
		read_format(r, op);
	else if (!strcmp(name, "algorithm") && shlo_take(r, "<")) {
		struct shlo_attr *dict = shlo_attr_new(r, SHLO_ATTR_DICT);

		shlo_read_dict(r, dict, '>');
		shlo_dict_add(r, &op->attrs, "algorithm", dict);
	} else {
		r->bare = true;
		shlo_dict_add(r, &op->attrs, attr_name(op, name), shlo_read_attr(r));
		r->bare = false;
	}
}

/*
 * Adds a word of a comparison, which is read already, to the attributes: the first, such as GT, as
 * comparison_direction, and the second, such as SIGNED, as compare_type.
 */
static void read_enum(struct shlo_reader *r, struct shlo_op *op, const char *word)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_ENUM);
	bool second = shlo_attr_find(&op->attrs, "comparison_direction") != NULL;

	attr->text = word;
	shlo_dict_add(r, &op->attrs, second ? "compare_type" : "comparison_direction", attr);
}

static void read_quoted(struct shlo_reader *r, struct shlo_op *op)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_STRING);

	attr->text = shlo_read_string(r, &attr->count);
	shlo_dict_add(r, &op->attrs, "name", attr);
}

static void read_word_item(struct shlo_reader *r, struct shlo_op *op)
{
	const char *word;

	if (shlo_peek_word(r, "dense") || shlo_peek_word(r, "dense_resource")) {
		shlo_dict_add(r, &op->attrs, "value", shlo_read_dense(r));
		return;
	}
	word = shlo_read_word(r);
	if (!word)
		shlo_read_error(r, "expected an attribute of %s here", op->name);
	if (shlo_take(r, "="))
		read_named(r, op, word);
	else if (!strcmp(word, "attributes")) {
		shlo_expect(r, "{");
		shlo_read_dict(r, &op->attrs, '}');
	} else {
		read_enum(r, op, word);
	}
}

/* Reads operands, words and NAME = VALUE, up to the types or the next operation. */
static void read_items(struct shlo_reader *r, struct shlo_op *op)
{
	bool open = true; /* an item may follow: at the start, and after a comma */
	int brackets = 0;

	for (;;) {
		char c = shlo_peek(r);

		if (c == '%' && open)
			shlo_op_add_operand(r, op, shlo_read_operand(r));
		else if (c == '(') {
			r->at++;
			brackets++;
			open = true;
			continue;
		} else if (c == ')' && brackets) {
			r->at++;
			brackets--;
		} else if (c == ',') {
			r->at++;
			open = true;
			continue;
		} else if (c == '{') {
			r->at++;
			shlo_read_dict(r, &op->attrs, '}');
			/*
			 * In "constant {attributes} dense<…>", the elements follow the attributes.
			 */
			if (shlo_peek_word(r, "dense"))
				continue;
		} else if (c == '<' && shlo_take(r, "<{")) {
			shlo_read_dict(r, &op->attrs, '}');
			shlo_expect(r, ">");
		} else if (c == '[' && !strcmp(op->name, "stablehlo.get_tuple_element")) {
			r->at++;
			shlo_dict_add(r, &op->attrs, "index",
				      shlo_attr_number(r, shlo_read_integer(r)));
			shlo_expect(r, "]");
		} else if (c == '[') {
			read_slices(r, op);
		} else if (c == '@' && open) {
			shlo_dict_add(r, &op->attrs,
				      strcmp(op->name, "func.call") ? "call_target_name" : "callee",
				      shlo_read_attr(r));
		} else if (c == '"' && open) {
			read_quoted(r, op);
		} else if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
			   (open || shlo_peek_word(r, "sizes") || shlo_peek_word(r, "attributes") ||
			    !strncmp(r->at, "dense<", 6))) {
			read_word_item(r, op);
		} else {
			break;
		}
		/* After a name or a string, the operands follow without a comma. */
		open = c == '"' || (c == '@' && shlo_peek(r) == '%') ||
		       shlo_peek_word(r, "dim_numbers");
	}
	if (brackets)
		shlo_read_error(r, open ? "expected an operand or ')' here" :
					  "expected ',' or ')' here");
}

static bool has_results(const struct shlo_op *op)
{
	return strncmp(op->name, "check.", 6) && strcmp(op->name, "func.return") &&
	       strcmp(op->name, "stablehlo.return") && strcmp(op->name, "interpreter.print");
}

/*
 * Reads the types after the colon: "(a, b) -> c", "a, b -> c", "a, b", or one type for operands
 * and results.
 */
static void read_pretty_types(struct shlo_reader *r, struct shlo_op *op, size_t named)
{
	const struct shlo_type **types = NULL;
	const struct shlo_type *const *results;
	size_t count = 0, wanted = named ? named : 1, result_count;

	if (shlo_peek(r) == '{') {
		r->at++;
		shlo_read_dict(r, &op->attrs, '}');
	}
	if (shlo_peek(r) == '(') {
		shlo_read_signature(r, op);
		return;
	}
	do {
		types = shlo_arena_grow(r->arena, types, count, sizeof(*types));
		types[count++] = shlo_read_type(r);
	} while (shlo_take(r, ","));
	if (shlo_take(r, "->")) {
		results = shlo_read_types(r, &result_count);
		for (size_t i = 0; i < count && i < op->operand_count; i++)
			if (!shlo_type_same(types[i], op->operands[i]->type))
				shlo_read_error(r, "operand %zu of %s is %s, not %s", i, op->name,
						shlo_type_text(r->arena, op->operands[i]->type),
						shlo_type_text(r->arena, types[i]));
		shlo_op_results(r, op, result_count, results);
		return;
	}
	if (!has_results(op)) {
		shlo_op_results(r, op, 0, NULL);
		return;
	}
	if (count == wanted) {
		shlo_op_results(r, op, count, types);
		return;
	}
	results = types + count - 1;
	if (wanted != 1)
		shlo_read_error(r, "%s has %zu types for %zu results", op->name, count, wanted);
	shlo_op_results(r, op, 1, results);
}

void shlo_read_pretty(struct shlo_reader *r, struct shlo_op *op, size_t named)
{
	const struct shlo_attr *value;

	if (!strcmp(op->name, "stablehlo.reduce") && shlo_peek(r) == '(') {
		shlo_read_reduce(r, op);
		return;
	}
	if (!strcmp(op->name, "stablehlo.while")) {
		shlo_read_while(r, op);
		return;
	}
	if (!strcmp(op->name, "chlo.scan")) {
		shlo_read_scan(r, op);
		return;
	}
	if (shlo_read_sharding(r, op))
		return;
	if (!strchr(op->name, '.'))
		shlo_read_error(r,
				"there is no operation '%s': names begin with a dialect, as "
				"stablehlo.add does",
				op->name);
	read_items(r, op);
	if (shlo_take(r, ":")) {
		read_pretty_types(r, op, named);
		return;
	}
	value = shlo_attr_find(&op->attrs, "value");
	if (value && value->kind == SHLO_ATTR_DENSE && has_results(op))
		shlo_op_results(r, op, 1, &value->type);
	else
		shlo_op_results(r, op, 0, NULL);
}
