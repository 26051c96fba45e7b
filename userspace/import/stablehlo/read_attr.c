// SPDX-License-Identifier: MIT
/* Reads attributes of MLIR text. */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct shlo_attr *shlo_attr_new(struct shlo_reader *r, enum shlo_attr_kind kind)
{
	struct shlo_attr *attr = shlo_arena_alloc(r->arena, 1, sizeof(*attr));

	attr->kind = kind;
	return attr;
}

const struct shlo_attr *shlo_attr_number(struct shlo_reader *r, int64_t number)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_INT);

	attr->number = number;
	return attr;
}

const struct shlo_attr *shlo_attr_ints(struct shlo_reader *r, const int64_t *numbers, size_t count)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_ARRAY);
	const struct shlo_attr **items = shlo_arena_alloc(r->arena, count, sizeof(*items));

	for (size_t i = 0; i < count; i++)
		items[i] = shlo_attr_number(r, numbers[i]);
	attr->items = items;
	attr->count = count;
	return attr;
}

void shlo_attr_weigh(struct shlo_reader *r, struct shlo_attr *attr)
{
	attr->weight = 1;
	for (size_t i = 0; i < attr->count; i++) {
		const struct shlo_attr *item = attr->items[i];

		attr->weight += item->weight ? item->weight : 1;
		if (attr->weight > SHLO_MAX_WEIGHT && item->weight > 1)
			shlo_read_error(r, "an attribute has more than %zu parts", SHLO_MAX_WEIGHT);
	}
}

void shlo_dict_add(struct shlo_reader *r, struct shlo_attr *dict, const char *name,
		   const struct shlo_attr *attr)
{
	dict->items =
		shlo_arena_grow(r->arena, (void *)dict->items, dict->count, sizeof(*dict->items));
	dict->names =
		shlo_arena_grow(r->arena, (void *)dict->names, dict->count, sizeof(*dict->names));
	((const struct shlo_attr **)dict->items)[dict->count] = attr;
	((const char **)dict->names)[dict->count] = name;
	dict->count++;
}

/* Reads a dictionary after its opening bracket: "name = value, unit, …" up to @close. */
void shlo_read_dict(struct shlo_reader *r, struct shlo_attr *dict, char close)
{
	char end[2] = { close, 0 };
	bool first = true;

	shlo_enter(r);
	dict->kind = SHLO_ATTR_DICT;
	while (!shlo_take(r, end)) {
		const char *name;

		if (!first)
			shlo_expect(r, ",");
		first = false;
		/* Lists of dimension numbers may end with a comma. */
		if (close == '>' && shlo_take(r, end))
			break;
		name = shlo_peek(r) == '"' ? shlo_read_string(r, NULL) : shlo_read_word(r);
		if (!name)
			shlo_read_error(r, "expected the name of an attribute here");
		/* Attributes in <> have few members, so a search for duplicates costs little. */
		if (close == '>' && dict->count < SHLO_MAX_RANK && shlo_attr_find(dict, name))
			shlo_read_error(r, "attribute %s occurs twice", name);
		shlo_dict_add(r, dict, name,
			      shlo_take(r, "=") ? shlo_read_attr(r) :
						  shlo_attr_new(r, SHLO_ATTR_UNIT));
	}
	shlo_attr_weigh(r, dict);
	shlo_leave(r);
}

static const struct shlo_attr *read_array(struct shlo_reader *r)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_ARRAY);
	const struct shlo_attr **items = NULL;

	while (!shlo_take(r, "]")) {
		if (attr->count)
			shlo_expect(r, ",");
		items = shlo_arena_grow(r->arena, items, attr->count, sizeof(*items));
		items[attr->count++] = shlo_read_attr(r);
	}
	attr->items = items;
	shlo_attr_weigh(r, attr);
	return attr;
}

/* Reads what follows the word array in array<i64: 1, 2>, and returns the array of numbers. */
static const struct shlo_attr *read_typed_array(struct shlo_reader *r)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_ARRAY);
	const struct shlo_attr **items = NULL;

	shlo_expect(r, "<");
	shlo_read_word(r);
	if (shlo_take(r, ":"))
		do {
			items = shlo_arena_grow(r->arena, items, attr->count, sizeof(*items));
			items[attr->count++] = shlo_read_attr(r);
		} while (shlo_take(r, ","));
	shlo_expect(r, ">");
	attr->items = items;
	return attr;
}

static bool has_point(const char *text, const char *end)
{
	for (; text < end; text++)
		if (*text == '.' || *text == 'e' || *text == 'E')
			return true;
	return false;
}

static const struct shlo_attr *read_number(struct shlo_reader *r)
{
	const char *start;
	char *end;
	bool hex;
	struct shlo_attr *attr;

	shlo_skip(r);
	start = r->at;
	hex = start + 2 < r->end && start[0] == '0' && start[1] == 'x';
	strtod(start, &end);
	if (end == start || end > r->end)
		shlo_read_error(r, "expected an attribute here");
	if (!hex && has_point(start, end)) {
		attr = shlo_attr_new(r, SHLO_ATTR_FLOAT);
		attr->real = strtod(start, NULL);
		r->at = end;
	} else {
		attr = shlo_attr_new(r, SHLO_ATTR_INT);
		errno = 0;
		attr->number = *start == '-' ? strtoll(start, &end, 0) :
					       (int64_t)strtoull(start, &end, hex ? 16 : 10);
		if (errno)
			shlo_read_error(r, "this number does not fit into 64 bits");
		r->at = end;
	}
	/*
	 * A type may follow the number. Where numbers are bare, a colon begins the types of the
	 * operation instead.
	 */
	if (!r->bare && shlo_take(r, ":")) {
		attr->type = shlo_read_type(r);
		if (attr->kind == SHLO_ATTR_INT && attr->type->kind == SHLO_TENSOR &&
		    shlo_is_float(attr->type->element)) {
			attr->kind = SHLO_ATTR_FLOAT;
			attr->real = hex ? shlo_float_value(attr->type->element,
							    (uint64_t)attr->number) :
					   (double)attr->number;
		}
	}
	return attr;
}

static const char *const conv_names[3][3] = {
	{ "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions" },
	{ "kernel_output_feature_dimension", "kernel_input_feature_dimension",
	  "kernel_spatial_dimensions" },
	{ "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions" },
};

/*
 * Reads one of the three lists of a convolution: letters for two dimensions, numbers for the
 * spatial ones.
 */
static void read_conv_list(struct shlo_reader *r, struct shlo_attr *dict, int which)
{
	static const char letters[3][2] = { "bf", "oi", "bf" };
	int64_t spatial[SHLO_MAX_RANK], special[2] = { -1, -1 }, at = 0, count = 0;

	memset(spatial, -1, sizeof(spatial));
	shlo_expect(r, "[");
	for (; !shlo_take(r, "]"); at++) {
		char c;

		if (at)
			shlo_expect(r, ",");
		c = shlo_peek(r);
		if (c == letters[which][0] || c == letters[which][1]) {
			special[c == letters[which][1]] = at;
			r->at++;
		} else if (c == '?') {
			r->at++;
		} else {
			int64_t index = shlo_read_integer(r);

			if (index < 0 || index >= SHLO_MAX_RANK || spatial[index] >= 0)
				shlo_read_error(
					r,
					"a spatial dimension must be one of 0, 1, 2 …, each once");
			spatial[index] = at;
			count = index + 1 > count ? index + 1 : count;
		}
	}
	for (int64_t i = 0; i < count; i++)
		if (spatial[i] < 0)
			shlo_read_error(r, "spatial dimension %lld is missing", (long long)i);
	if (special[0] < 0 || special[1] < 0)
		shlo_read_error(r, "dimension '%c' is missing",
				letters[which][special[0] < 0 ? 0 : 1]);
	for (int k = 0; k < 2; k++)
		shlo_dict_add(r, dict, conv_names[which][k], shlo_attr_number(r, special[k]));
	shlo_dict_add(r, dict, conv_names[which][2], shlo_attr_ints(r, spatial, (size_t)count));
}

const struct shlo_attr *shlo_read_conv_dims(struct shlo_reader *r)
{
	struct shlo_attr *dict = shlo_attr_new(r, SHLO_ATTR_DICT);

	read_conv_list(r, dict, 0);
	shlo_expect(r, "x");
	read_conv_list(r, dict, 1);
	shlo_expect(r, "->");
	read_conv_list(r, dict, 2);
	return dict;
}

/* Whether "word =" comes next. */
static bool at_assignment(struct shlo_reader *r)
{
	struct shlo_reader copy = *r;

	return shlo_read_word(&copy) && shlo_peek(&copy) == '=';
}

/*
 * Demands that dimension numbers have only known members, because a misspelt one would be ignored.
 */
static void need_members(struct shlo_reader *r, const char *name, const struct shlo_attr *dict)
{
	static const struct {
		const char *attr, *members;
	} known[] = {
		{ "stablehlo.dot",
		  " lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions "
		  "rhs_contracting_dimensions " },
		{ "stablehlo.gather",
		  " offset_dims collapsed_slice_dims operand_batching_dims "
		  "start_indices_batching_dims start_index_map index_vector_dim " },
		{ "stablehlo.scatter",
		  " update_window_dims inserted_window_dims input_batching_dims "
		  "scatter_indices_batching_dims scatter_dims_to_operand_dims "
		  "index_vector_dim " },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		for (size_t k = 0; !strcmp(known[i].attr, name) && k < dict->count; k++)
			if (!strstr(known[i].members,
				    shlo_arena_printf(r->arena, " %s ", dict->names[k])))
				shlo_read_error(r, "#%s has no '%s'", name, dict->names[k]);
}

/* Reads an attribute of a dialect, #dialect<word WORD> or #dialect.name<…>, or an alias, #name. */
static const struct shlo_attr *read_dialect(struct shlo_reader *r)
{
	const char *name, *word = NULL;
	struct shlo_attr *attr;

	r->at++;
	name = shlo_read_word(r);
	if (!name)
		shlo_read_error(r, "expected the name of an attribute here");
	for (struct shlo_alias *a = r->aliases; a; a = a->next)
		if (a->attr && !strcmp(a->text, name))
			return a->attr;
	if (!strcmp(name, "vhlo") || !strncmp(name, "vhlo.", 5))
		return shlo_read_vhlo_attr(r, name);
	if (shlo_peek(r) != '<')
		shlo_read_error(r, "there is no attribute '#%s'", name);
	if (strncmp(name, "stablehlo", 9) && strncmp(name, "chlo", 4)) {
		/*
		 * Attributes of other dialects, such as shardings and layouts, do not affect
		 * values.
		 */
		const char *start = r->at;

		shlo_skip_balanced(r);
		attr = shlo_attr_new(r, SHLO_ATTR_UNIT);
		attr->text =
			shlo_arena_printf(r->arena, "#%s%.*s", name, (int)(r->at - start), start);
		return attr;
	}
	shlo_expect(r, "<");
	if (!strcmp(name, "stablehlo.conv") && shlo_peek(r) == '[') {
		const struct shlo_attr *dims = shlo_read_conv_dims(r);

		shlo_expect(r, ">");
		return dims;
	}
	attr = shlo_attr_new(r, SHLO_ATTR_DICT);
	shlo_take_word(r, "raw");
	if (at_assignment(r) || shlo_peek(r) == '>') {
		shlo_read_dict(r, attr, '>');
		need_members(r, name, attr);
		return attr;
	}
	attr->kind = SHLO_ATTR_ENUM;
	while (shlo_peek(r) != '>') {
		word = shlo_read_word(r);
		if (!word)
			shlo_read_error(r, "expected a word of attribute '#%s' here", name);
	}
	shlo_expect(r, ">");
	attr->text = word;
	return attr;
}

/* Reads a part of a mesh's axis such as "(2)4": its size is 4, after a part of size 2. */
static const struct shlo_attr *read_sub_axis(struct shlo_reader *r)
{
	struct shlo_attr *dict = shlo_attr_new(r, SHLO_ATTR_DICT);

	shlo_expect(r, "(");
	shlo_dict_add(r, dict, "pre_size", shlo_attr_number(r, shlo_read_integer(r)));
	shlo_expect(r, ")");
	shlo_dict_add(r, dict, "size", shlo_attr_number(r, shlo_read_integer(r)));
	return dict;
}

static const struct shlo_attr *read_word_attr(struct shlo_reader *r)
{
	struct shlo_attr *attr;

	if (shlo_take_word(r, "array"))
		return read_typed_array(r);
	if (shlo_peek_word(r, "dense") || shlo_peek_word(r, "dense_resource"))
		return shlo_read_dense(r);
	if (shlo_peek_word(r, "true") || shlo_peek_word(r, "false")) {
		attr = shlo_attr_new(r, SHLO_ATTR_BOOL);
		attr->number = shlo_take_word(r, "true");
		if (!attr->number)
			shlo_take_word(r, "false");
		return attr;
	}
	if (shlo_take_word(r, "unit"))
		return shlo_attr_new(r, SHLO_ATTR_UNIT);
	if (shlo_peek_word(r, "loc")) {
		shlo_skip_location(r);
		return shlo_attr_new(r, SHLO_ATTR_UNIT);
	}
	if (shlo_take_word(r, "affine_map")) {
		shlo_skip_balanced(r);
		return shlo_attr_new(r, SHLO_ATTR_UNIT);
	}
	if (shlo_at_type(r)) {
		attr = shlo_attr_new(r, SHLO_ATTR_TYPE);
		attr->type = shlo_read_type(r);
		return attr;
	}
	/* A word of an enumeration, or the name of a type. */
	attr = shlo_attr_new(r, SHLO_ATTR_ENUM);
	attr->text = shlo_read_word(r);
	return attr;
}

const struct shlo_attr *shlo_read_attr(struct shlo_reader *r)
{
	struct shlo_attr *attr;
	char c = shlo_peek(r);

	if (c == '-' || (c >= '0' && c <= '9'))
		return read_number(r);
	if (c == '#')
		return read_dialect(r);
	if (c == '@') {
		attr = shlo_attr_new(r, SHLO_ATTR_SYMBOL);
		attr->text = shlo_read_symbol(r);
		while (shlo_take(r, "::"))
			attr->text = shlo_read_symbol(r);
		return attr;
	}
	if (c == '"') {
		attr = shlo_attr_new(r, SHLO_ATTR_STRING);
		attr->text = shlo_read_string(r, &attr->count);
		return attr;
	}
	if (c == '{') {
		attr = shlo_attr_new(r, SHLO_ATTR_DICT);
		shlo_expect(r, "{");
		shlo_read_dict(r, attr, '}');
		return attr;
	}
	if (c == '[') {
		const struct shlo_attr *array;

		shlo_enter(r);
		shlo_expect(r, "[");
		array = read_array(r);
		shlo_leave(r);
		return array;
	}
	if (c == '(' && r->at + 1 < r->end && r->at[1] >= '0' && r->at[1] <= '9')
		return read_sub_axis(r);
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '(' || c == '!')
		return read_word_attr(r);
	shlo_read_error(r, "expected an attribute here");
}
