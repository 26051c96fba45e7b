// SPDX-License-Identifier: MIT
/*
 * The table of the attributes of each operator, with which attributes are printed, parsed and
 * checked.
 */
#include "ir/attrs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/number.h"

#define WORD(id, name, ...) name,
static const char *const layouts[] = { IR_LAYOUTS(WORD) };
static const char *const filter_layouts[] = { IR_FILTER_LAYOUTS(WORD) };
static const char *const pools[] = { IR_POOL_KINDS(WORD) };
static const char *const pad_modes[] = { IR_PAD_MODES(WORD) };
static const char *const gathers[] = { IR_GATHER_KINDS(WORD) };
static const char *const directions[] = { IR_RNN_DIRECTIONS(WORD) };
static const char *const unaries[] = { IR_UNARY_KINDS(WORD) };
static const char *const binaries[] = { IR_BINARY_KINDS(WORD) };
static const char *const reductions[] = { IR_REDUCE_KINDS(WORD) };
static const char *const extremes[] = { "min", "max" };
static const char *const modes[] = { "nearest", "linear" };
static const char *const triangles[] = { "lower", "upper" };
static const char *const gru_gates[] = { "zrn", "rzn" };
static const char *const lstm_gates[] = { "iofg", "ifgo" };

#define ROW(member, field_name, field_kind, elements, ...) \
	{ .name = field_name,                              \
	  .kind = IR_FIELD_##field_kind,                   \
	  .count = elements,                               \
	  .offset = offsetof(union ir_attrs, member),      \
	  __VA_ARGS__ }
#define ARRAY(member, name, kind, count, start) ROW(member, name, kind, count, .initial = start)
#define FIELD(member, name, kind, ...)		ROW(member, name, kind, 1, __VA_ARGS__)
#define WORDS(list)				.words = list, .num_words = ARRAY_SIZE(list)
#define NEEDED					.required = true

static const struct ir_field conv[] = {
	ARRAY(conv.padding, "pad", U32, 4, 0),
	ARRAY(conv.strides, "stride", U32, 2, 1),
	ARRAY(conv.dilations, "dilation", U32, 2, 1),
	FIELD(conv.groups, "groups", U32, .initial = 1),
	FIELD(conv.layout, NULL, ENUM, WORDS(layouts)),
	FIELD(conv.filter_layout, NULL, ENUM, WORDS(filter_layouts)),
	FIELD(conv.transposed, "transposed", BOOL),
	FIELD(conv.act, "act", FUSED),
};
static const struct ir_field matmul[] = {
	FIELD(matmul.a_transpose, "ta", BOOL),
	FIELD(matmul.b_transpose, "tb", BOOL),
	FIELD(matmul.alpha, "alpha", FLOAT, .initial = 1),
	FIELD(matmul.beta, "beta", FLOAT, .initial = 1),
	FIELD(matmul.act, "act", FUSED),
};
#define INTEGER_FIELDS(op)                                                                    \
	FIELD(op.integer.a_zero, "azero", I64), FIELD(op.integer.b_zero, "bzero", I64),       \
		FIELD(op.integer.zero, "zero", I64), FIELD(op.integer.lo, "lo", I64, NEEDED), \
		FIELD(op.integer.hi, "hi", I64, NEEDED)
static const struct ir_field qconv[] = {
	ARRAY(conv.padding, "pad", U32, 4, 0),
	ARRAY(conv.strides, "stride", U32, 2, 1),
	ARRAY(conv.dilations, "dilation", U32, 2, 1),
	FIELD(conv.groups, "groups", U32, .initial = 1),
	FIELD(conv.layout, NULL, ENUM, WORDS(layouts)),
	FIELD(conv.filter_layout, NULL, ENUM, WORDS(filter_layouts)),
	FIELD(conv.transposed, "transposed", BOOL),
	INTEGER_FIELDS(qconv),
	FIELD(conv.act, "act", FUSED),
};
static const struct ir_field qmatmul[] = {
	FIELD(matmul.a_transpose, "ta", BOOL),
	FIELD(matmul.b_transpose, "tb", BOOL),
	INTEGER_FIELDS(qmatmul),
	FIELD(matmul.act, "act", FUSED),
};
static const struct ir_field qunary[] = { FIELD(unary, "act", FUSED) };
static const struct ir_field pool[] = {
	FIELD(pool.kind, NULL, ENUM, WORDS(pools), NEEDED),
	ROW(pool.window, "window", U32, 2, NEEDED),
	ARRAY(pool.padding, "pad", U32, 4, 0),
	ARRAY(pool.strides, "stride", U32, 2, 1),
	ARRAY(pool.dilations, "dilation", U32, 2, 1),
	FIELD(pool.layout, NULL, ENUM, WORDS(layouts)),
	FIELD(pool.counts_padding, "counts_padding", BOOL),
};
static const struct ir_field qpool[] = {
	ROW(pool.window, "window", U32, 2, NEEDED),
	ARRAY(pool.padding, "pad", U32, 4, 0),
	ARRAY(pool.strides, "stride", U32, 2, 1),
	ARRAY(pool.dilations, "dilation", U32, 2, 1),
	FIELD(pool.layout, NULL, ENUM, WORDS(layouts)),
	FIELD(pool.counts_padding, "counts_padding", BOOL),
	FIELD(qpool.a_zero, "azero", I64),
	FIELD(qpool.zero, "zero", I64),
};
static const struct ir_field unary[] = { FIELD(unary, NULL, FUNCTION, NEEDED) };
static const struct ir_field binary[] = {
	FIELD(binary.kind, NULL, ENUM, WORDS(binaries), NEEDED),
	FIELD(binary.act, "act", FUSED),
};
static const struct ir_field transpose[] = {
	ROW(transpose.perm, "perm", AXIS, IR_FIELD_RANK, NEEDED),
};
static const struct ir_field axis[] = { FIELD(axis, "axis", AXIS, NEEDED) };
static const struct ir_field softmax[] = {
	FIELD(softmax.axis, "axis", AXIS, NEEDED),
	FIELD(softmax.log, "log", BOOL),
	FIELD(softmax.guarded, "guarded", BOOL),
	FIELD(softmax.nan_to_zero, "nan_to_zero", BOOL),
};
static const struct ir_field axes[] = { FIELD(axes, "axes", MASK, NEEDED) };
static const struct ir_field slice[] = {
	ROW(slice.starts, "start", U32, IR_FIELD_RANK, NEEDED),
	ARRAY(slice.strides, "stride", U32, IR_FIELD_RANK, 1),
};
static const struct ir_field pad[] = {
	ROW(pad.begin, "begin", U32, IR_FIELD_RANK, NEEDED),
	ROW(pad.end, "end", U32, IR_FIELD_RANK, NEEDED),
	FIELD(pad.mode, NULL, ENUM, WORDS(pad_modes)),
	FIELD(pad.value, "value", U64),
};
static const struct ir_field reduce[] = {
	FIELD(reduce.kind, NULL, ENUM, WORDS(reductions), NEEDED),
	FIELD(reduce.axes, "axes", MASK, NEEDED),
	FIELD(reduce.keep_dims, "keep", BOOL),
};
static const struct ir_field arg[] = {
	FIELD(arg.max, NULL, BOOL, WORDS(extremes), NEEDED),
	FIELD(arg.axis, "axis", AXIS, NEEDED),
	FIELD(arg.last, "last", BOOL),
	FIELD(arg.keep_dims, "keep", BOOL),
};
static const struct ir_field topk[] = {
	FIELD(arg.max, NULL, BOOL, WORDS(extremes), NEEDED),
	FIELD(arg.axis, "axis", AXIS, NEEDED),
};
static const struct ir_field cumsum[] = {
	FIELD(cumsum.axis, "axis", AXIS, NEEDED),
	FIELD(cumsum.exclusive, "exclusive", BOOL),
	FIELD(cumsum.reversed, "reversed", BOOL),
};
static const struct ir_field triangular[] = {
	FIELD(triangular.upper, NULL, BOOL, WORDS(triangles), NEEDED),
	FIELD(triangular.diagonal, "diagonal", I64),
};
static const struct ir_field batchnorm[] = {
	FIELD(norm.axis, "axis", AXIS, NEEDED),
	FIELD(norm.epsilon, "epsilon", FLOAT),
};
static const struct ir_field instnorm[] = {
	FIELD(norm.layout, NULL, ENUM, WORDS(layouts)),
	FIELD(norm.epsilon, "epsilon", FLOAT),
	FIELD(norm.groups, "groups", U32),
};
static const struct ir_field layernorm[] = {
	FIELD(norm.num_axes, "axes", LIST, NEEDED),
	FIELD(norm.epsilon, "epsilon", FLOAT),
	FIELD(norm.rms, "rms", BOOL),
};
static const struct ir_field resample[] = {
	FIELD(resample.linear, NULL, BOOL, WORDS(modes), NEEDED),
	ROW(resample.axes, "axes", AXIS, 2, NEEDED),
};
static const struct ir_field gather[] = {
	FIELD(gather.kind, NULL, ENUM, WORDS(gathers), NEEDED),
	FIELD(gather.axis, "axis", AXIS),
	FIELD(gather.in_place, "in_place", BOOL),
};
static const struct ir_field gru[] = {
	FIELD(rnn.steps, "steps", U32, NEEDED),
	FIELD(rnn.hidden_size, "hidden", U32, NEEDED),
	FIELD(rnn.reset_after, "reset_after", BOOL),
	FIELD(rnn.plain, "plain", BOOL),
	FIELD(rnn.return_sequence, "sequence", BOOL),
	FIELD(rnn.cell, "cell", BOOL),
	FIELD(rnn.direction, NULL, ENUM, WORDS(directions)),
	FIELD(rnn.gate_order, "gates", ENUM, WORDS(gru_gates)),
	ROW(rnn.activations, "activations", ENUM, 2, WORDS(unaries), NEEDED),
	ROW(rnn.alphas, "alphas", FLOAT, 2),
	ROW(rnn.betas, "betas", FLOAT, 2),
	FIELD(rnn.clip, "clip", FLOAT),
};
static const struct ir_field lstm[] = {
	FIELD(rnn.steps, "steps", U32, NEEDED),
	FIELD(rnn.hidden_size, "hidden", U32, NEEDED),
	FIELD(rnn.return_sequence, "sequence", BOOL),
	FIELD(rnn.cell, "cell", BOOL),
	FIELD(rnn.direction, NULL, ENUM, WORDS(directions)),
	FIELD(rnn.gate_order, "gates", ENUM, WORDS(lstm_gates)),
	ROW(rnn.activations, "activations", ENUM, 3, WORDS(unaries), NEEDED),
	ROW(rnn.alphas, "alphas", FLOAT, 3),
	ROW(rnn.betas, "betas", FLOAT, 3),
	FIELD(rnn.clip, "clip", FLOAT),
	FIELD(rnn.coupled, "coupled", BOOL),
	FIELD(rnn.late_peephole, "late_peephole", BOOL),
};

/* The fields of operators without attributes, so that each row of ops.def can name an array. */
static const struct ir_field none[1];
#define COUNT(fields) (&(fields)[0] == &none[0] ? 0 : ARRAY_SIZE(fields))

const struct ir_field *ir_attr_fields(enum ir_op op, uint32_t *count)
{
	static const struct {
		const struct ir_field *fields;
		uint8_t count;
	} operators[] = {
#define IR_OPERATOR(id, name, required, most, results, attrs) \
	[IR_OP_##id] = { attrs, COUNT(attrs) },
#include "ir/ops.def"
#undef IR_OPERATOR
	};

	*count = operators[op].count;
	return operators[op].fields;
}

uint32_t *ir_attr_number(enum ir_op op, union ir_attrs *attrs, uint32_t rank, uint32_t field,
			 uint32_t element)
{
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(op, &count);

	if (field >= count || fields[field].kind != IR_FIELD_U32 ||
	    element >= (fields[field].count == IR_FIELD_RANK ? rank : fields[field].count))
		return NULL;
	return (uint32_t *)(void *)((uint8_t *)attrs + fields[field].offset) + element;
}

size_t ir_field_bytes(const struct ir_field *field)
{
	size_t count = field->count == IR_FIELD_RANK ? IR_MAX_RANK : field->count;

	switch (field->kind) {
	case IR_FIELD_LIST:
		return (1 + IR_MAX_RANK) * sizeof(uint32_t);
	case IR_FIELD_I64:
	case IR_FIELD_U64:
		return count * sizeof(uint64_t);
	case IR_FIELD_BOOL:
		return sizeof(bool);
	case IR_FIELD_FUNCTION:
	case IR_FIELD_FUSED:
		return sizeof(struct ir_unary_attrs);
	default:
		return count * sizeof(uint32_t);
	}
}

static void set_initial(const struct ir_field *field, void *data)
{
	if (field->kind == IR_FIELD_FUSED)
		((struct ir_unary_attrs *)data)->kind = IR_UNARY_NONE;
	else if (field->kind == IR_FIELD_FLOAT)
		*(float *)data = field->initial;
	for (uint32_t i = 0; field->kind == IR_FIELD_U32 && field->initial && i < IR_MAX_RANK; i++)
		if (i < field->count)
			((uint32_t *)data)[i] = field->initial;
}

void ir_attrs_initial(enum ir_op op, union ir_attrs *attrs)
{
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(op, &count);

	for (uint32_t i = 0; i < count; i++)
		set_initial(&fields[i], (uint8_t *)attrs + fields[i].offset);
}

static const void *member(const struct ir_field *field, const struct ir_node *node)
{
	return (const uint8_t *)&node->attrs + field->offset;
}

static uint32_t elements(const struct ir_field *field, const struct ir_node *node)
{
	if (field->kind == IR_FIELD_LIST)
		return *(const uint32_t *)member(field, node);
	return field->count == IR_FIELD_RANK ? node->results[0]->type.rank : field->count;
}

void ir_print_float(FILE *f, float value)
{
	char text[32];
	uint32_t bits;

	if (value != value) {
		memcpy(&bits, &value, sizeof(bits));
		fprintf(f, "nan:%08" PRIx32, bits);
		return;
	}
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)value);
		if (strtof(text, NULL) == value)
			break;
	}
	fputs(text, f);
}

/*
 * Prints a unary function as name(alpha,beta). The limits of an integer clamp follow in brackets,
 * and "half" follows when the result is rounded to float16.
 */
static void print_function(FILE *f, const struct ir_unary_attrs *a)
{
	fprintf(f, "%s(", a->kind == IR_UNARY_NONE ? "none" : ir_unary_name(a->kind));
	ir_print_float(f, a->alpha);
	fputc(',', f);
	ir_print_float(f, a->beta);
	fputc(')', f);
	if (a->ilo || a->ihi || a->ulo || a->uhi)
		fprintf(f, "[%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 "]", a->ilo, a->ihi,
			a->ulo, a->uhi);
	if (a->half)
		fputs("half", f);
}

/* Returns true if a fused function has no effect, so that it is not printed. */
static bool is_nothing(const struct ir_unary_attrs *a)
{
	return a->kind == IR_UNARY_NONE && !a->half;
}

static void print_element(FILE *f, const struct ir_field *field, const void *data, uint32_t i)
{
	switch (field->kind) {
	case IR_FIELD_U32:
	case IR_FIELD_AXIS:
		fprintf(f, "%" PRIu32, ((const uint32_t *)data)[i]);
		break;
	case IR_FIELD_LIST:
		fprintf(f, "%" PRIu32, ((const uint32_t *)data)[1 + i]);
		break;
	case IR_FIELD_MASK:
		fprintf(f, "%#" PRIx32, ((const uint32_t *)data)[i]);
		break;
	case IR_FIELD_I64:
		fprintf(f, "%" PRId64, ((const int64_t *)data)[i]);
		break;
	case IR_FIELD_U64:
		fprintf(f, "%#" PRIx64, ((const uint64_t *)data)[i]);
		break;
	case IR_FIELD_FLOAT:
		ir_print_float(f, ((const float *)data)[i]);
		break;
	case IR_FIELD_ENUM:
		fputs(field->words[((const uint32_t *)data)[i]], f);
		break;
	case IR_FIELD_BOOL:
		fputs(field->words ? field->words[*(const bool *)data] : field->name, f);
		break;
	case IR_FIELD_FUNCTION:
	case IR_FIELD_FUSED:
		print_function(f, data);
		break;
	}
}

/*
 * Prints the symbol of a number that is known only at dispatch, such as "s1:", in front of the
 * number.
 */
static void print_late(FILE *f, const struct ir_node *node, uint32_t field, uint32_t element)
{
	for (uint32_t i = 0; i < node->num_late; i++)
		if (node->late[i].field == field && node->late[i].element == element)
			fprintf(f, "s%" PRIu32 ":", node->late[i].symbol);
}

void ir_attrs_print(FILE *f, const struct ir_node *node)
{
	uint32_t count;
	const struct ir_field *fields = ir_attr_fields(node->op, &count);

	for (const struct ir_field *field = fields; field < fields + count; field++) {
		const void *data = member(field, node);
		uint32_t n = elements(field, node);

		if (field->kind == IR_FIELD_BOOL && !field->words && !*(const bool *)data)
			continue;
		if (field->kind == IR_FIELD_FUSED && is_nothing(data))
			continue;
		fputc(' ', f);
		if (field->name && field->kind != IR_FIELD_BOOL)
			fprintf(f, "%s=", field->name);
		for (uint32_t i = 0; i < n; i++) {
			fputs(i ? "," : "", f);
			print_late(f, node, (uint32_t)(field - fields), i);
			print_element(f, field, data, i);
		}
	}
}

/*
 * Returns a text that says what is wrong with element `i` of a field, or NULL. Axis 0 is valid for
 * scalars, too, as an axis that an operator does not use is 0.
 */
static const char *check_element(const struct ir_field *field, const void *data, uint32_t i,
				 uint32_t rank)
{
	int function;

	switch (field->kind) {
	case IR_FIELD_LIST:
	case IR_FIELD_AXIS:
		if (((const uint32_t *)data)[field->kind == IR_FIELD_LIST ? 1 + i : i] >=
		    (rank ? rank : 1))
			return "is an axis that is not below the rank";
		break;
	case IR_FIELD_MASK:
		if (*(const uint32_t *)data >> rank)
			return "has a bit that is not below the rank";
		break;
	case IR_FIELD_ENUM:
		if (((const uint32_t *)data)[i] >= field->num_words)
			return "is no value of its enumeration";
		break;
	case IR_FIELD_FUNCTION:
	case IR_FIELD_FUSED:
		function = ((const struct ir_unary_attrs *)data)->kind;
		if (function >= IR_UNARY_COUNT || function < IR_UNARY_NONE ||
		    (function == IR_UNARY_NONE && field->kind == IR_FIELD_FUNCTION))
			return "is no function";
		break;
	default:
		break;
	}
	return NULL;
}

const char *ir_attrs_check(const struct ir_node *node, const char **name)
{
	uint32_t rank = node->operands[0]->type.rank, count;
	const struct ir_field *fields = ir_attr_fields(node->op, &count);

	for (const struct ir_field *field = fields; field < fields + count; field++) {
		uint32_t n = elements(field, node);

		*name = field->name;
		if (field->kind == IR_FIELD_LIST && n > IR_MAX_RANK)
			return "is too long";
		for (uint32_t i = 0; i < n; i++) {
			const char *what = check_element(field, member(field, node), i, rank);

			if (what)
				return what;
		}
	}
	return NULL;
}
