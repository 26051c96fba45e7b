// SPDX-License-Identifier: MIT
/* Reads types of MLIR text. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

static const struct shlo_type *alias(struct shlo_reader *r, const char *text)
{
	for (struct shlo_alias *a = r->aliases; a; a = a->next)
		if (a->type && !strcmp(a->text, text))
			return a->type;
	return NULL;
}

static enum shlo_element read_element(struct shlo_reader *r)
{
	const char *word;
	int element;

	if (shlo_take_word(r, "complex")) {
		shlo_expect(r, "<");
		word = shlo_read_word(r);
		shlo_expect(r, ">");
		if (word && !strcmp(word, "f32"))
			return SHLO_C64;
		if (word && !strcmp(word, "f64"))
			return SHLO_C128;
		shlo_read_error(r, "complex numbers have parts of f32 or f64");
	}
	word = shlo_read_word(r);
	if (word && !strcmp(word, "index"))
		return SHLO_I64;
	/* MLIR writes i for integers without signedness, and si for signed ones. */
	if (word && !strncmp(word, "si", 2))
		word++;
	if (!word)
		shlo_read_error(r, "expected a type here");
	element = shlo_element_find(word, strlen(word));
	if (element < 0)
		shlo_read_error(r, "there is no element type '%s'", word);
	return (enum shlo_element)element;
}

static double read_real(struct shlo_reader *r)
{
	char *end;
	double value;

	/* strtod() stops at the NUL after the file's text, which may be behind r->end. */
	shlo_skip(r);
	value = strtod(r->at, &end);
	if (end == r->at || end > r->end)
		shlo_read_error(r, "expected a number here");
	r->at = end;
	return value;
}

static enum shlo_element read_storage(struct shlo_reader *r)
{
	const char *word = shlo_read_word(r);
	int element = -1;

	if (word && *word == 'u' && word[1] != 'i')
		word = shlo_arena_printf(r->arena, "ui%s", word + 1);
	if (word)
		element = shlo_element_find(word, strlen(word));
	if (element < 0 || !shlo_is_integer((enum shlo_element)element))
		shlo_read_error(r, "quantised values are stored as integers such as i8 or u8");
	return (enum shlo_element)element;
}

static void read_scale(struct shlo_reader *r, double **scales, int64_t **zeros, size_t *count)
{
	*scales = shlo_arena_grow(r->arena, *scales, *count, sizeof(**scales));
	*zeros = shlo_arena_grow(r->arena, *zeros, *count, sizeof(**zeros));
	(*scales)[*count] = read_real(r);
	(*zeros)[*count] = shlo_take(r, ":") ? shlo_read_integer(r) : 0;
	++*count;
}

/* Reads a quantised type such as !quant.uniform<i8<-127:127>:f32:1, {0.1:3, 0.2}>. */
static const struct shlo_quant *read_quant(struct shlo_reader *r)
{
	struct shlo_quant *quant = shlo_arena_alloc(r->arena, 1, sizeof(*quant));
	unsigned int bits;
	double *scales = NULL;
	int64_t *zeros = NULL;

	shlo_expect(r, "<");
	quant->storage = read_storage(r);
	bits = shlo_elements[quant->storage].bits;
	quant->least = shlo_class(quant->storage) == SHLO_UNSIGNED ? 0 : INT64_MIN >> (64 - bits);
	quant->most = shlo_class(quant->storage) == SHLO_UNSIGNED ?
			      (int64_t)(UINT64_MAX >> (64 - bits)) :
			      INT64_MAX >> (64 - bits);
	if (shlo_take(r, "<")) {
		quant->least = shlo_read_integer(r);
		shlo_expect(r, ":");
		quant->most = shlo_read_integer(r);
		shlo_expect(r, ">");
	}
	shlo_expect(r, ":");
	quant->expressed = read_element(r);
	if (!shlo_is_float(quant->expressed))
		shlo_read_error(r, "quantised values express floats");
	quant->axis = -1;
	if (shlo_take(r, ":"))
		quant->axis = shlo_read_axis(r);
	shlo_expect(r, ",");
	if (quant->axis >= 0) {
		shlo_expect(r, "{");
		do
			read_scale(r, &scales, &zeros, &quant->count);
		while (shlo_take(r, ","));
		shlo_expect(r, "}");
	} else {
		read_scale(r, &scales, &zeros, &quant->count);
	}
	shlo_expect(r, ">");
	quant->scales = scales;
	quant->zeros = zeros;
	return quant;
}

static void read_encoding(struct shlo_reader *r, struct shlo_type *type)
{
	int64_t *bounds = shlo_arena_alloc(r->arena, (size_t)type->rank + 1, sizeof(*bounds));
	int i = 0;

	shlo_skip(r);
	if (!shlo_take(r, "#stablehlo.bounds<")) {
		if (!shlo_take(r, "#stablehlo.type_extensions<") &&
		    !shlo_take(r, "#vhlo.type_extensions_v1<")) {
			/* Layouts and shardings do not affect values. */
			shlo_read_attr(r);
			return;
		}
		shlo_take(r, "bounds");
		shlo_expect(r, "=");
		shlo_expect(r, "[");
	}
	while (!strchr(">]", shlo_peek(r))) {
		int64_t bound = shlo_take(r, "?") ? SHLO_DYNAMIC : shlo_read_integer(r);

		if (i >= type->rank)
			shlo_read_error(r, "there are more bounds than dimensions");
		bounds[i++] = bound;
		if (!shlo_take(r, ","))
			break;
	}
	if (i != type->rank)
		shlo_read_error(r, "there are fewer bounds than dimensions");
	shlo_take(r, "]");
	shlo_expect(r, ">");
	type->bounds = bounds;
}

void shlo_type_weigh(struct shlo_reader *r, struct shlo_type *type)
{
	type->weight = 1;
	for (size_t i = 0; i < type->item_count + type->result_count; i++) {
		const struct shlo_type *item =
			i < type->item_count ? type->items[i] : type->results[i - type->item_count];

		type->weight += item->weight ? item->weight : 1;
		if (type->weight > SHLO_MAX_WEIGHT)
			shlo_read_error(r, "a type has more than %zu parts", SHLO_MAX_WEIGHT);
	}
}

static const struct shlo_type *read_dialect_type(struct shlo_reader *r);

const struct shlo_type *shlo_read_tensor(struct shlo_reader *r)
{
	struct shlo_type *type = shlo_arena_alloc(r->arena, 1, sizeof(*type));
	int64_t dims[SHLO_MAX_RANK];
	int64_t *copy;

	type->kind = SHLO_TENSOR;
	shlo_expect(r, "<");
	if (shlo_take(r, "*")) {
		shlo_expect(r, "x");
		type->rank = -1;
	}
	while (type->rank >= 0 &&
	       (shlo_peek(r) == '?' || (shlo_peek(r) >= '0' && shlo_peek(r) <= '9'))) {
		if (type->rank == SHLO_MAX_RANK)
			shlo_read_error(r, "a tensor has at most %d dimensions", SHLO_MAX_RANK);
		dims[type->rank] = shlo_take(r, "?") ? SHLO_DYNAMIC : shlo_read_integer(r);
		if (dims[type->rank] != SHLO_DYNAMIC && dims[type->rank] < 0)
			shlo_read_error(r, "this dimension is too large");
		type->rank++;
		shlo_expect(r, "x");
	}
	copy = shlo_arena_alloc(r->arena, type->rank > 0 ? (size_t)type->rank : 0, sizeof(*copy));
	if (type->rank > 0)
		memcpy(copy, dims, (size_t)type->rank * sizeof(*copy));
	type->dims = copy;
	if (shlo_take(r, "!quant.uniform")) {
		type->quant = read_quant(r);
		type->element = type->quant->storage;
	} else if (shlo_peek(r) == '!') {
		const struct shlo_type *element = read_dialect_type(r);

		if (element->kind != SHLO_TENSOR || element->rank)
			shlo_read_error(r, "the elements of a tensor cannot have type %s",
					shlo_type_text(r->arena, element));
		type->quant = element->quant;
		type->element = element->element;
	} else {
		type->element = read_element(r);
	}
	if (shlo_take(r, ","))
		read_encoding(r, type);
	shlo_expect(r, ">");
	if (shlo_type_is_static(type) && shlo_type_count(type) < 0)
		shlo_read_error(r, "this tensor has more than 2^31 elements");
	return type;
}

const struct shlo_type *shlo_read_list(struct shlo_reader *r, enum shlo_type_kind kind)
{
	struct shlo_type *type = shlo_arena_alloc(r->arena, 1, sizeof(*type));
	const struct shlo_type **items = NULL;

	type->kind = kind;
	shlo_expect(r, "<");
	while (!shlo_take(r, ">")) {
		if (type->item_count)
			shlo_expect(r, ",");
		items = shlo_arena_grow(r->arena, items, type->item_count, sizeof(*items));
		items[type->item_count++] = shlo_read_type(r);
	}
	type->items = items;
	shlo_type_weigh(r, type);
	return type;
}

static const struct shlo_type *read_function(struct shlo_reader *r)
{
	struct shlo_type *type = shlo_arena_alloc(r->arena, 1, sizeof(*type));

	type->kind = SHLO_FUNCTION;
	type->items = shlo_read_types(r, &type->item_count);
	shlo_expect(r, "->");
	type->results = shlo_read_types(r, &type->result_count);
	shlo_type_weigh(r, type);
	return type;
}

bool shlo_at_type(struct shlo_reader *r)
{
	char c = shlo_peek(r);

	return c == '(' || c == '!' || shlo_peek_word(r, "tensor") || shlo_peek_word(r, "tuple") ||
	       shlo_peek_word(r, "complex") || shlo_peek_word(r, "none") ||
	       shlo_peek_word(r, "tf32") || shlo_peek_word(r, "memref") ||
	       shlo_peek_word(r, "vector");
}

/*
 * Reads a type that no value has here, such as none, tf32 or memref<…>, and returns a type that
 * holds its text.
 */
static const struct shlo_type *read_opaque(struct shlo_reader *r)
{
	struct shlo_type *type = shlo_arena_alloc(r->arena, 1, sizeof(*type));

	type->kind = SHLO_OPAQUE;
	type->text = shlo_read_word(r);
	if (!strcmp(type->text, "memref"))
		type->text = shlo_arena_printf(r->arena, "memref%s",
					       shlo_type_text(r->arena, shlo_read_tensor(r)) +
						       strlen("tensor"));
	return type;
}

static const struct shlo_type *read_dialect_type(struct shlo_reader *r)
{
	struct shlo_type *type = shlo_arena_alloc(r->arena, 1, sizeof(*type));
	const char *word;
	const struct shlo_type *known;

	if (shlo_take(r, "!stablehlo.token") || shlo_take(r, "!mhlo.token")) {
		type->kind = SHLO_TOKEN;
		return type;
	}
	if (shlo_take(r, "!shape.witness")) {
		type->kind = SHLO_OPAQUE;
		type->text = "!shape.witness";
		return type;
	}
	if (shlo_take(r, "!vhlo."))
		return shlo_read_vhlo_type(r);
	if (shlo_take(r, "!stablehlo.future"))
		return shlo_read_list(r, SHLO_FUTURE);
	if (shlo_take(r, "!quant.uniform")) {
		type->quant = read_quant(r);
		type->element = type->quant->storage;
		return type;
	}
	r->at++;
	word = shlo_read_word(r);
	known = word ? alias(r, word) : NULL;
	if (!known)
		shlo_read_error(r, "there is no type '!%s'", word ? word : "");
	return known;
}

const struct shlo_type *shlo_read_type(struct shlo_reader *r)
{
	const struct shlo_type *type;

	shlo_enter(r);
	if (shlo_take_word(r, "tensor"))
		type = shlo_read_tensor(r);
	else if (shlo_take_word(r, "tuple"))
		type = shlo_read_list(r, SHLO_TUPLE);
	else if (shlo_peek(r) == '(')
		type = read_function(r);
	else if (shlo_peek(r) == '!')
		type = read_dialect_type(r);
	else if (shlo_peek_word(r, "none") || shlo_peek_word(r, "tf32") ||
		 shlo_peek_word(r, "memref"))
		type = read_opaque(r);
	else
		type = shlo_tensor_type(r->arena, read_element(r), 0, NULL);
	shlo_leave(r);
	return type;
}

const struct shlo_type *const *shlo_read_types(struct shlo_reader *r, size_t *count)
{
	const struct shlo_type **types = NULL;
	const struct shlo_attr **marks = NULL;
	bool has_marks = false;

	*count = 0;
	r->marks = NULL;
	if (!shlo_take(r, "(")) {
		types = shlo_arena_alloc(r->arena, 1, sizeof(*types));
		types[(*count)++] = shlo_read_type(r);
		return types;
	}
	while (!shlo_take(r, ")")) {
		if (*count)
			shlo_expect(r, ",");
		types = shlo_arena_grow(r->arena, types, *count, sizeof(*types));
		marks = shlo_arena_grow(r->arena, marks, *count, sizeof(*marks));
		types[*count] = shlo_read_type(r);
		/* Results of functions may have attributes. */
		marks[*count] = shlo_peek(r) == '{' ? shlo_read_marks(r) : NULL;
		has_marks = has_marks || marks[*count];
		++*count;
		shlo_skip_location(r);
	}
	r->marks = has_marks ? marks : NULL;
	return types;
}
