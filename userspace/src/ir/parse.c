// SPDX-License-Identifier: MIT
/* Parses the text form of a graph that ir_print() writes; tests get their graphs by it. */
#include "ir/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/attrs.h"
#include "util/float16.h"
#include "util/malloc.h"
#include "util/number.h"

#define MAX_OPERANDS 256
#define MAX_STRING   256
#define MAX_LATE     (3 * IR_MAX_RANK)
#define MAX_ELEMENTS ((int64_t)1 << 40) /* the most elements of a value */

struct reader {
	const char *text, *at;
	struct ir_graph *graph;
	struct ir_value **values; /* by number in the text; NULL: there is no such value yet */
	struct wnn_error *err;
	uint16_t field; /* the field that is being parsed: index in ir_attr_fields() */
	/* of the node that is being parsed: its numbers that are known only at dispatch */
	uint32_t num_late;
	struct ir_late late[MAX_LATE];
};

/* A result of a statement: "%4 float32[1,3]" on the left of "=". */
struct result {
	uint32_t number;
	struct ir_type type;
};

struct statement {
	struct result results[MAX_OPERANDS];
	uint32_t num_results;
	struct ir_value *operands[MAX_OPERANDS];
	uint32_t num_operands;
	enum ir_op op;
	union ir_attrs attrs;
};

static int wrong_at(struct reader *r, const char *at, const char *what)
{
	int line = 1, column = 1;

	for (const char *c = r->text; c < at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	return wnn_error_set(r->err, WNN_TYPE_ERROR, "line %d, column %d: %s", line, column, what);
}

static int nomem(struct reader *r)
{
	return wnn_error_nomem(r->err, "a graph from text");
}

static int wrong(struct reader *r, const char *what)
{
	return wrong_at(r, r->at, what);
}

static void skip_blanks(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\t')
		r->at++;
}

static bool accept(struct reader *r, const char *token)
{
	size_t length = strlen(token);

	skip_blanks(r);
	if (strncmp(r->at, token, length))
		return false;
	r->at += length;
	return true;
}

static int expect(struct reader *r, const char *token)
{
	char what[48];

	if (accept(r, token))
		return 0;
	snprintf(what, sizeof(what), "\"%s\" is expected", token);
	return wrong(r, what);
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '+';
}

/* Skips blanks; returns the length of the word after them, to which r->at then points. */
static size_t word(struct reader *r)
{
	size_t length = 0;

	skip_blanks(r);
	while (is_word(r->at[length]))
		length++;
	return length;
}

static bool is(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(word, name, length);
}

static int read_u64(struct reader *r, uint64_t most, uint64_t *value)
{
	char *end;

	skip_blanks(r);
	if (*r->at < '0' || *r->at > '9')
		return wrong(r, "a number is expected");
	errno = 0;
	*value = strtoull(r->at, &end, 0);
	if (errno || *value > most)
		return wrong(r, "the number is too large");
	r->at = end;
	return 0;
}

static int read_u32(struct reader *r, uint32_t *value)
{
	uint64_t wide = 0;
	int ret = read_u64(r, UINT32_MAX, &wide);

	*value = (uint32_t)wide;
	return ret;
}

static int read_i64(struct reader *r, int64_t *value)
{
	char *end;

	skip_blanks(r);
	errno = 0;
	*value = strtoll(r->at, &end, 0);
	if (end == r->at || errno)
		return wrong(r, "an integer of up to 64 bits is expected");
	r->at = end;
	return 0;
}

/* Reads a number into *value, or a NaN's bits into *nan, 0 for a number. Returns 0 or -1. */
static int read_float(struct reader *r, float *value, uint32_t *nan)
{
	char *end;

	skip_blanks(r);
	*nan = 0;
	if (!strncmp(r->at, "nan:", 4)) {
		*nan = (uint32_t)strtoul(r->at + 4, &end, 16);
		if (end == r->at + 4 || !*nan)
			return wrong(r, "the bits of a NaN are expected");
	} else {
		*value = strtof(r->at, &end);
		if (end == r->at || *value != *value)
			return wrong(r, "a number is expected");
	}
	r->at = end;
	return 0;
}

static int read_float32(struct reader *r, float *value)
{
	uint32_t nan;

	if (read_float(r, value, &nan))
		return -1;
	if (nan)
		memcpy(value, &nan, sizeof(nan));
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_string(struct reader *r, char *string)
{
	size_t length = 0;

	if (expect(r, "\""))
		return -1;
	for (; *r->at != '"'; r->at++) {
		int high, low;

		if ((uint8_t)*r->at < ' ')
			return wrong(r, "the string does not end");
		if (length + 1 == MAX_STRING)
			return wrong(r, "the string is too long");
		string[length++] = *r->at;
		if (*r->at != '\\')
			continue;
		high = r->at[1] == 'x' ? hex_digit(r->at[2]) : -1;
		low = high < 0 ? -1 : hex_digit(r->at[3]);
		if (low < 0 || high * 16 + low == 0)
			return wrong(r, "\\xNN is expected, a byte that is not 0");
		string[length - 1] = (char)(high * 16 + low);
		r->at += 3;
	}
	string[length] = 0;
	r->at++;
	return 0;
}

static int read_number(struct reader *r, uint32_t *number)
{
	uint64_t wide;

	if (expect(r, "%") || read_u64(r, IR_PARSE_VALUES - 1, &wide))
		return -1;
	*number = (uint32_t)wide;
	return 0;
}

/*
 * Reads the symbol in front of a number that is known only at dispatch, if there is one. Returns 0,
 * also without a symbol, or -1.
 */
static int read_symbol(struct reader *r, uint32_t *symbol)
{
	*symbol = 0;
	return accept(r, "s") && (read_u32(r, symbol) || expect(r, ":")) ? -1 : 0;
}

/* Reads element `element` of a field of numbers, which can have a symbol. Returns 0 or -1. */
static int read_late(struct reader *r, uint32_t element, uint32_t *number)
{
	struct ir_late late = { r->field, (uint16_t)element, 0 };

	if (read_symbol(r, &late.symbol) || read_u32(r, number))
		return -1;
	if (late.symbol && r->num_late == MAX_LATE)
		return wrong(r, "there are too many symbols among the attributes");
	if (late.symbol)
		r->late[r->num_late++] = late;
	return 0;
}

static int read_dim(struct reader *r, struct ir_dim *dim)
{
	uint64_t size;

	if (read_symbol(r, &dim->symbol))
		return -1;
	if (read_u64(r, UINT32_MAX, &size))
		return -1;
	if (!size)
		return wrong(r, "a dimension is at least 1");
	dim->value = (int64_t)size;
	return 0;
}

static int read_type(struct reader *r, struct ir_type *type)
{
	size_t length = word(r);
	int64_t elements = 1;
	int dtype = 0;

	while (dtype < IR_DTYPE_COUNT && !is(r->at, length, ir_dtype_name(dtype)))
		dtype++;
	if (dtype == IR_DTYPE_COUNT)
		return wrong(r, "a data type is expected, such as float32");
	*type = (struct ir_type){ .dtype = (enum ir_dtype)dtype };
	r->at += length;
	if (expect(r, "["))
		return -1;
	while (!accept(r, "]")) {
		if (type->rank == IR_MAX_RANK)
			return wrong(r, "there are too many dimensions");
		if ((type->rank && expect(r, ",")) || read_dim(r, &type->dim[type->rank]))
			return -1;
		if (type->dim[type->rank].value > MAX_ELEMENTS / elements)
			return wrong(r, "the value is too large");
		elements *= type->dim[type->rank++].value;
	}
	return 0;
}

/* ---- attributes */

static int read_word(struct reader *r, const struct ir_field *field, uint32_t *value)
{
	size_t length = word(r);
	char what[96];

	for (uint32_t i = 0; i < field->num_words; i++)
		if (is(r->at, length, field->words[i])) {
			r->at += length;
			*value = i;
			return 0;
		}
	snprintf(what, sizeof(what), "no value of %s is called that, but for example %s",
		 field->name ? field->name : "the attribute", field->words[0]);
	return wrong(r, what);
}

static int read_function_name(struct reader *r, struct ir_unary_attrs *f)
{
	size_t length = word(r);

	f->kind = is(r->at, length, "none") ? IR_UNARY_NONE : 0;
	while (f->kind >= 0 && f->kind < IR_UNARY_COUNT &&
	       !is(r->at, length, ir_unary_name(f->kind)))
		f->kind++;
	if (f->kind == IR_UNARY_COUNT)
		return wrong(r, "there is no such function");
	r->at += length;
	return 0;
}

static int read_function(struct reader *r, struct ir_unary_attrs *f)
{
	if (read_function_name(r, f) || expect(r, "(") || read_float32(r, &f->alpha) ||
	    expect(r, ",") || read_float32(r, &f->beta) || expect(r, ")"))
		return -1;
	if (accept(r, "[") &&
	    (read_i64(r, &f->ilo) || expect(r, ",") || read_i64(r, &f->ihi) || expect(r, ",") ||
	     read_u64(r, UINT64_MAX, &f->ulo) || expect(r, ",") ||
	     read_u64(r, UINT64_MAX, &f->uhi) || expect(r, "]")))
		return -1;
	f->half = accept(r, "half");
	return 0;
}

static int read_element(struct reader *r, const struct ir_field *field, void *data, uint32_t i)
{
	switch (field->kind) {
	case IR_FIELD_U32:
	case IR_FIELD_AXIS:
	case IR_FIELD_MASK:
		return read_late(r, i, &((uint32_t *)data)[i]);
	case IR_FIELD_LIST:
		return read_u32(r, &((uint32_t *)data)[1 + i]);
	case IR_FIELD_I64:
		return read_i64(r, data);
	case IR_FIELD_U64:
		return read_u64(r, UINT64_MAX, data);
	case IR_FIELD_FLOAT:
		return read_float32(r, (float *)data + i);
	case IR_FIELD_ENUM:
		return read_word(r, field, &((uint32_t *)data)[i]);
	case IR_FIELD_FUNCTION:
	case IR_FIELD_FUSED:
		return read_function(r, data);
	case IR_FIELD_BOOL:
		break;
	}
	return wrong(r, "the attribute has no value");
}

static int read_list(struct reader *r, const struct ir_field *field, uint32_t *data)
{
	skip_blanks(r);
	for (*data = 0; *r->at >= '0' && *r->at <= '9'; skip_blanks(r)) {
		if (*data == IR_MAX_RANK)
			return wrong(r, "there are too many elements");
		if (read_element(r, field, data, (*data)++))
			return -1;
		accept(r, ",");
	}
	return 0;
}

static int read_elements(struct reader *r, const struct ir_field *field, uint32_t rank, void *data)
{
	uint32_t count = field->count == IR_FIELD_RANK ? rank : field->count;

	if (field->kind == IR_FIELD_LIST)
		return read_list(r, field, data);
	for (uint32_t i = 0; i < count; i++)
		if ((i && expect(r, ",")) || read_element(r, field, data, i))
			return -1;
	return 0;
}

/* Returns true if the word may begin the field's text: any word may begin that of a function. */
static bool begins_with(const struct ir_field *field, const char *word, size_t length)
{
	bool assigned = word[length] == '=';

	if (field->name)
		return assigned == (field->kind != IR_FIELD_BOOL) && is(word, length, field->name);
	for (uint32_t i = 0; !assigned && i < field->num_words; i++)
		if (is(word, length, field->words[i]))
			return true;
	return !assigned && field->kind == IR_FIELD_FUNCTION;
}

static int read_field(struct reader *r, const struct ir_field *field, uint32_t rank, void *data)
{
	uint32_t which;

	if (field->kind == IR_FIELD_BOOL) {
		if (field->words && read_word(r, field, &which))
			return -1;
		if (!field->words)
			r->at += strlen(field->name);
		*(bool *)data = !field->words || which;
		return 0;
	}
	if (field->name)
		r->at += strlen(field->name) + 1; /* and "=" */
	return read_elements(r, field, rank, data);
}

/* Reports "conv has no attribute of that name; it has pad, stride, ...". Returns -1. */
static int unknown_attribute(struct reader *r, const struct statement *s)
{
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(s->op, &count);
	char what[384];
	int length = snprintf(what, sizeof(what), "%s has no attribute of that name%s",
			      ir_op_name(s->op), count ? "; it has" : " and no other");

	for (uint32_t i = 0; i < count && length < (int)sizeof(what); i++)
		length += snprintf(what + length, sizeof(what) - (size_t)length, "%s %s",
				   i ? "," : "",
				   fields[i].name      ? fields[i].name :
				   fields[i].num_words ? fields[i].words[0] :
							 "a function");
	return wrong(r, what);
}

static int missing_attribute(struct reader *r, const struct statement *s,
			     const struct ir_field *field)
{
	char what[128];

	if (field->name)
		snprintf(what, sizeof(what), "%s needs %s=", ir_op_name(s->op), field->name);
	else
		snprintf(what, sizeof(what), "%s needs a word such as %s", ir_op_name(s->op),
			 field->num_words ? field->words[0] : "relu(0,0)");
	return wrong(r, what);
}

static int read_attrs(struct reader *r, struct statement *s)
{
	uint32_t count, seen = 0, rank = s->results[0].type.rank;
	const struct ir_field *fields = ir_attr_fields(s->op, &count), *field;
	size_t length;

	ir_attrs_initial(s->op, &s->attrs);
	r->num_late = 0;
	while ((length = word(r))) {
		for (field = fields; field < fields + count; field++)
			if (begins_with(field, r->at, length))
				break;
		if (field == fields + count)
			return unknown_attribute(r, s);
		if (seen & 1u << (field - fields))
			return wrong(r, "the attribute is there twice");
		seen |= 1u << (field - fields);
		r->field = (uint16_t)(field - fields);
		if (read_field(r, field, rank, (uint8_t *)&s->attrs + field->offset))
			return -1;
	}
	for (field = fields; field < fields + count; field++)
		if (field->required && !(seen & 1u << (field - fields)))
			return missing_attribute(r, s, field);
	return 0;
}

/* ---- constants */

static int read_bits(struct reader *r, enum ir_dtype dtype, uint64_t *bits)
{
	size_t width = ir_dtype_bits(dtype);
	uint64_t most = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
	uint32_t nan;
	int64_t number;
	float value;

	switch (dtype) {
	case IR_F32:
	case IR_F16:
		if (read_float(r, &value, &nan))
			return -1;
		if (!nan && dtype == IR_F16)
			nan = wnn_float_to_half(value);
		else if (!nan)
			memcpy(&nan, &value, sizeof(nan));
		*bits = nan & most;
		return 0;
	case IR_I4:
	case IR_I8:
	case IR_I16:
	case IR_I32:
	case IR_I64:
		if (read_i64(r, &number))
			return -1;
		if (width < 64 &&
		    (number < -(INT64_C(1) << (width - 1)) || number >= INT64_C(1) << (width - 1)))
			return wrong(r, "the number does not fit the data type");
		*bits = (uint64_t)number & most;
		return 0;
	default:
		return read_u64(r, most, bits);
	}
}

static void set_element(uint8_t *data, size_t width, int64_t i, uint64_t bits)
{
	if (width == 4)
		data[i / 2] |= (uint8_t)(bits << (i % 2 * 4));
	else
		memcpy(data + (size_t)i * (width / 8), &bits, width / 8);
}

/*
 * Returns the bits of element `i` of a constant for which the text has no elements: a small number,
 * for floats a multiple of 1/4.
 */
static uint64_t made_up(enum ir_dtype dtype, int64_t i)
{
	uint32_t number = (uint32_t)(i * 7 + 3) % 13, bits;
	float value = ((float)number - 6) / 4;

	if (dtype == IR_F16)
		return wnn_float_to_half(value);
	if (dtype != IR_F32)
		return number % 5;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int read_data(struct reader *r, const struct ir_type *type, uint8_t *data)
{
	int64_t count = ir_type_elements(type);
	size_t width = ir_dtype_bits(type->dtype);
	bool fill = accept(r, "fill");
	uint64_t bits = 0;

	skip_blanks(r);
	if (!fill && (*r->at == '\n' || !*r->at)) {
		for (int64_t i = 0; i < count; i++)
			set_element(data, width, i, made_up(type->dtype, i));
		return 0;
	}
	for (int64_t i = 0; i < count; i++) {
		if ((!fill && i && expect(r, ",")) ||
		    ((!fill || !i) && read_bits(r, type->dtype, &bits)))
			return -1;
		set_element(data, width, i, bits);
	}
	return 0;
}

static int read_constant(struct reader *r, const struct result *result)
{
	struct ir_constant *constant;
	int64_t bytes = ir_type_bytes(&result->type);
	uint8_t *data;
	int ret;

	if (bytes > IR_PARSE_CONSTANT_BYTES)
		return wrong(r, "the constant is too large");
	data = wnn_calloc((size_t)bytes, 1);
	if (!data)
		return nomem(r);
	ret = read_data(r, &result->type, data);
	constant = ret ? NULL : ir_constant_copy(data, (size_t)bytes);
	wnn_free(data);
	if (ret)
		return ret;
	if (!constant)
		return nomem(r);
	r->values[result->number] = ir_add_constant(r->graph, &result->type, constant);
	return r->values[result->number] ? 0 : nomem(r);
}

/* ---- statements */

static int read_result(struct reader *r, struct statement *s)
{
	struct result *result = &s->results[s->num_results];
	const char *at;

	skip_blanks(r);
	at = r->at;
	if (s->num_results == MAX_OPERANDS)
		return wrong(r, "there are too many results");
	if (read_number(r, &result->number))
		return -1;
	for (uint32_t i = 0; i < s->num_results; i++)
		if (s->results[i].number == result->number)
			return wrong_at(r, at, "there is a value of that number already");
	if (r->values[result->number])
		return wrong_at(r, at, "there is a value of that number already");
	s->num_results++;
	return read_type(r, &result->type);
}

static int read_operand(struct reader *r, struct ir_value **operand)
{
	const char *at;
	uint32_t number;

	*operand = NULL;
	if (accept(r, "-"))
		return 0;
	at = r->at;
	if (read_number(r, &number))
		return -1;
	*operand = r->values[number];
	return *operand ? 0 : wrong_at(r, at, "there is no value of that number before");
}

static int read_op(struct reader *r, struct statement *s)
{
	size_t length = word(r);
	int op = 0;

	while (op < IR_OP_COUNT && !is(r->at, length, ir_op_name(op)))
		op++;
	if (op == IR_OP_COUNT)
		return wrong(r, "input, constant or the name of an operator is expected");
	s->op = (enum ir_op)op;
	r->at += length;
	if (expect(r, "("))
		return -1;
	while (!accept(r, ")")) {
		if (s->num_operands == MAX_OPERANDS)
			return wrong(r, "there are too many operands");
		if ((s->num_operands && expect(r, ",")) ||
		    read_operand(r, &s->operands[s->num_operands]))
			return -1;
		s->num_operands++;
	}
	return read_attrs(r, s);
}

static int read_source(struct reader *r, const struct statement *s, char *source, char *label)
{
	size_t length;

	label[0] = 0;
	snprintf(source, MAX_STRING, "%s", ir_op_name(s->op));
	if (!accept(r, ";"))
		return 0;
	length = word(r);
	if (!length || length >= MAX_STRING)
		return wrong(r, "the name of an operator of WebNN is expected");
	memcpy(source, r->at, length);
	source[length] = 0;
	r->at += length;
	skip_blanks(r);
	return *r->at == '"' ? read_string(r, label) : 0;
}

static int read_node(struct reader *r, struct statement *s)
{
	struct ir_type types[MAX_OPERANDS];
	char source[MAX_STRING], label[MAX_STRING];
	struct ir_node *node;

	if (read_op(r, s) || read_source(r, s, source, label))
		return -1;
	for (uint32_t i = 0; i < s->num_results; i++)
		types[i] = s->results[i].type;
	node = ir_add_node(r->graph, s->op, s->operands, s->num_operands, types, s->num_results,
			   &s->attrs, label, source);
	if (!node || ir_copy_late(r->graph, node, r->num_late, r->late))
		return nomem(r);
	for (uint32_t i = 0; i < s->num_results; i++)
		r->values[s->results[i].number] = node->results[i];
	return 0;
}

static int read_value(struct reader *r)
{
	struct statement *s = wnn_calloc(1, sizeof(*s));
	char name[MAX_STRING];
	struct ir_value **value;
	int ret = s ? 0 : nomem(r);

	do {
		ret = ret ? ret : read_result(r, s);
	} while (!ret && accept(r, ","));
	ret = ret ? ret : expect(r, "=");
	if (!ret && s->num_results == 1 && accept(r, "input")) {
		value = &r->values[s->results[0].number];
		ret = read_string(r, name);
		if (!ret)
			*value = ir_add_input(r->graph, name, &s->results[0].type);
		if (!ret && !*value)
			ret = nomem(r);
	} else if (!ret && s->num_results == 1 && accept(r, "constant")) {
		ret = read_constant(r, &s->results[0]);
	} else if (!ret) {
		ret = read_node(r, s);
	}
	wnn_free(s);
	return ret;
}

static int read_output(struct reader *r)
{
	char name[MAX_STRING];
	struct ir_value *value, *updates = NULL;

	if (read_string(r, name) || expect(r, "=") || read_operand(r, &value))
		return -1;
	if (!value)
		return wrong(r, "an output is a value");
	if (accept(r, "updates")) {
		if (read_operand(r, &updates))
			return -1;
		if (!updates)
			return wrong(r, "an updated input is a value");
	}
	return ir_add_output(r->graph, name, value, updates) ? nomem(r) : 0;
}

static int read_name(struct reader *r)
{
	char name[MAX_STRING];
	uint32_t number, min, max;

	if (expect(r, "n") || read_u32(r, &number) || read_string(r, name) || read_u32(r, &min) ||
	    expect(r, "to") || read_u32(r, &max))
		return -1;
	if (number != r->graph->num_names)
		return wrong(r, "names are numbered from n0 on");
	return ir_add_name(r->graph, name, min, max) ? nomem(r) : 0;
}

static int read_expression(struct reader *r)
{
	struct ir_symbol s = { 0 };
	uint32_t number, added;

	if (expect(r, "s") || read_u32(r, &number) || expect(r, "(") || read_i64(r, &s.multiply) ||
	    expect(r, "*") || expect(r, "n") || read_u32(r, &s.name) || expect(r, "+") ||
	    read_i64(r, &s.add) || expect(r, ")") || expect(r, "/") || read_i64(r, &s.divide))
		return -1;
	if (!ir_symbol_is_valid(r->graph, &s))
		return wrong(r, "the expression has no name, or no number from 0 to 2147483647");
	added = ir_add_symbol(r->graph, s);
	if (added && added != number)
		return wrong(r, "symbols are different and are numbered from s1 on");
	return added ? 0 : nomem(r);
}

static int read_graph(struct reader *r)
{
	for (;; r->at++) {
		skip_blanks(r);
		if (*r->at == ';')
			r->at += strcspn(r->at, "\n");
		else if (*r->at == '%' && read_value(r))
			return -1;
		else if ((accept(r, "output") && read_output(r)) ||
			 (accept(r, "name") && read_name(r)) ||
			 (accept(r, "symbol") && read_expression(r)))
			return -1;
		skip_blanks(r);
		if (!*r->at)
			return ir_verify(r->graph, r->err);
		if (*r->at != '\n')
			return wrong(r, "the end of the line is expected");
	}
}

struct ir_graph *ir_parse(const char *text, struct wnn_error *err)
{
	struct reader r = { .text = text, .at = text, .graph = ir_graph_create(), .err = err };
	locale_t plain = newlocale(LC_ALL_MASK, "C", NULL), before;
	int ret = -1;

	r.values = wnn_calloc(IR_PARSE_VALUES, sizeof(struct ir_value *));
	if (!r.graph || !r.values || !plain) {
		nomem(&r);
	} else {
		before = uselocale(plain);
		ret = read_graph(&r);
		uselocale(before);
	}
	if (plain)
		freelocale(plain);
	wnn_free(r.values);
	if (!ret)
		return r.graph;
	ir_graph_destroy(r.graph);
	return NULL;
}
