// SPDX-License-Identifier: MIT
/* Products of matrices. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* the most elements of the intermediate result of an integer product */
#define MAX_PRODUCTS ((int64_t)1 << 22)

/*
 * Multiplies as numpy.matmul does: takes a vector on the left as a row, a vector on the right as a
 * column, and drops that dimension from the result. Returns NULL when refused, or when an operand
 * is NULL.
 */
WNNOperand onnx_matmul(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	struct onnx_shape left, right, shape;
	WNNOperand y;

	if (!a || !b)
		return NULL;
	left = x_shape(a);
	right = x_shape(b);
	if (left.rank == 1)
		a = x_unsqueeze(node, a, 0);
	if (right.rank == 1)
		b = x_unsqueeze(node, b, 1);
	y = x_matmul(node, a, b);
	if (!y || (left.rank > 1 && right.rank > 1))
		return y;
	shape = x_shape(y);
	if (right.rank == 1)
		shape.rank--;
	if (left.rank == 1) {
		if (right.rank > 1)
			shape.dim[shape.rank - 2] = shape.dim[shape.rank - 1];
		shape.rank--;
	}
	return x_reshape(node, y, &shape);
}

/*
 * Returns a product of integers. WebNN multiplies matrices of floats only, so this multiplies
 * element by element and adds up, in slices of the common dimension, which bound the memory of the
 * products (MAX_PRODUCTS).
 */
static WNNOperand integer_matmul(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	struct onnx_shape left = x_shape(a), right = x_shape(b), all;
	bool row = left.rank == 1, column = right.rank == 1;
	WNNOperand sum = NULL;
	int64_t depth, part, elements;
	uint32_t rank;

	if (!left.rank || !right.rank) {
		onnx_refuse(node, "",
			    "input %d is a single number: it must be a vector or a matrix",
			    left.rank ? 1 : 0);
		return NULL;
	}
	a = row ? x_unsqueeze(node, a, 0) : a;
	b = column ? x_unsqueeze(node, b, 1) : b;
	left = x_shape(a);
	right = x_shape(b);
	depth = left.dim[left.rank - 1];
	a = x_unsqueeze(node, a, left.rank);
	b = x_unsqueeze(node, b, right.rank - 2);
	if (!a || !b)
		return NULL;
	left = x_shape(a);
	right = x_shape(b);
	if (!onnx_shape_broadcast(&left, &right, &all) ||
	    left.dim[left.rank - 2] != right.dim[right.rank - 2]) {
		onnx_refuse(node, "", "the matrices do not fit together: the inputs are %s",
			    onnx_inputs_text(node));
		return NULL;
	}
	rank = all.rank;
	elements = onnx_shape_elements(&all);
	part = elements > MAX_PRODUCTS ? MAX_PRODUCTS / (elements / depth) : depth;
	part = part < 1 ? 1 : part;
	if (onnx_unroll(node, 3 * (uint64_t)((depth + part - 1) / part)))
		return NULL;
	for (int64_t at = 0; at < depth; at += part) {
		int64_t size = at + part < depth ? part : depth - at;
		WNNOperand y = x_mul(node, x_slice_axis(node, a, left.rank - 2, at, size, 1),
				     x_slice_axis(node, b, right.rank - 2, at, size, 1));

		y = x_reduce1(node, X_SUM, y, rank - 2, false);
		sum = sum ? x_add(node, sum, y) : y;
	}
	if (column)
		sum = sum ? x_at(node, sum, rank - 2, 0) : NULL;
	return sum && row ? x_at(node, sum, rank - 3, 0) : sum;
}

int onnx_op_matmul(struct onnx_node *node)
{
	WNNOperand a = onnx_in(node, 0);
	WNNOperand b = a ? onnx_in(node, 1) : NULL;
	int type = onnx_in_type(node, 0);

	if (!b)
		return -1;
	return onnx_out(node, 0,
			onnx_type_is_float(type) ? onnx_matmul(node, a, b) :
						   integer_matmul(node, a, b));
}

/* Multiplies integers with a factor, which must be a whole number; NULL: refused. */
static WNNOperand times(struct onnx_node *node, WNNOperand x, const char *name)
{
	double factor = onnx_attr_float(node, name, 1);

	if (factor == 1)
		return x;
	if (factor != trunc(factor) || fabs(factor) > INT32_MAX) {
		onnx_refuse(node, name, "%s is %g, and integers take whole factors", name, factor);
		return NULL;
	}
	return x ? x_mul(node, x, x_integer(node, wnnOperandGetDataType(x), (int64_t)factor)) :
		   NULL;
}

static int integer_gemm(struct onnx_node *node, WNNOperand a, WNNOperand b)
{
	WNNOperand y, c;

	if (x_shape(a).rank != 2 || x_shape(b).rank != 2)
		return onnx_refuse(node, "", "its inputs have %u and %u dimensions instead of 2",
				   x_shape(a).rank, x_shape(b).rank);
	if (onnx_attr_int(node, "transA", 0))
		a = x_move_axis(node, a, 1, 0);
	if (onnx_attr_int(node, "transB", 0))
		b = x_move_axis(node, b, 1, 0);
	y = times(node, integer_matmul(node, a, b), "alpha");
	if (!y || !onnx_has(node, 2) || onnx_attr_float(node, "beta", 1) == 0)
		return onnx_out(node, 0, y);
	c = times(node, onnx_in(node, 2), "beta");
	return onnx_out(node, 0, x_add(node, y, c));
}

int onnx_op_gemm(struct onnx_node *node)
{
	WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
	WNNOperand a = onnx_in(node, 0);
	WNNOperand b = a ? onnx_in(node, 1) : NULL;

	if (!b)
		return -1;
	if (!onnx_type_is_float(onnx_in_type(node, 0)))
		return integer_gemm(node, a, b);
	options.label = node->options.label;
	options.alpha = onnx_attr_float(node, "alpha", 1);
	options.beta = onnx_attr_float(node, "beta", 1);
	options.aTranspose = onnx_attr_int(node, "transA", 0) != 0;
	options.bTranspose = onnx_attr_int(node, "transB", 0) != 0;
	/* When beta is 0, C is ignored, even if it holds NaN. */
	if (onnx_has(node, 2) && options.beta != 0) {
		options.c = onnx_in(node, 2);
		if (!options.c)
			return -1;
	}
	a = wnnGraphBuilderGemm(node->b, a, b, &options);
	return onnx_out(node, 0, a && node->op->variant ? onnx_activate(node, a) : a);
}

/* Translates FusedMatMul of com.microsoft: a product with transposed operands and a factor. */
int onnx_op_fused_matmul(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 1);
	WNNOperand operand[2];

	for (int i = 0; i < 2; i++) {
		uint32_t rank = onnx_in_shape(node, (size_t)i)->rank;

		operand[i] = onnx_in(node, (size_t)i);
		if (!operand[i])
			return -1;
		/* With transBatch the rows are the first dimension, before the batches. */
		if (onnx_attr_int(node, i ? "transBatchB" : "transBatchA", 0) && rank > 2)
			operand[i] = x_move_axis(node, operand[i], 0, rank - 2);
		if (onnx_attr_int(node, i ? "transB" : "transA", 0) && rank >= 2)
			operand[i] = x_move_axis(node, operand[i], rank - 1, rank - 2);
	}
	operand[0] = onnx_matmul(node, operand[0], operand[1]);
	if (alpha != 1)
		operand[0] = x_linear(node, operand[0], alpha, 0);
	return onnx_out(node, 0, operand[0]);
}

struct equation {
	char inputs[8][ONNX_MAX_RANK + 1], output[ONNX_MAX_RANK + 1];
	size_t count;
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * Parses one term of an equation into @term: its letters, and for "..." one digit for each
 * dimension that has no letter, numbered from the right. The term of the output has a @rank of
 * UINT32_MAX, and @ellipsis digits. Returns 0 or -1.
 */
static int parse_term(struct onnx_node *node, const char *text, size_t length, uint32_t rank,
		      uint32_t ellipsis, char *term)
{
	size_t letters = 0, used = 0;
	bool dots = false;

	for (size_t i = 0; i < length; i++)
		letters += is_letter(text[i]);
	for (size_t i = 0; i < length; i++) {
		uint32_t missing = rank == UINT32_MAX ? ellipsis : rank - (uint32_t)letters;

		if (text[i] == ' ')
			continue;
		if (text[i] == '.' && i + 2 < length && text[i + 1] == '.' && text[i + 2] == '.' &&
		    !dots && (rank == UINT32_MAX || letters <= rank)) {
			for (uint32_t k = 0; k < missing && used < ONNX_MAX_RANK; k++)
				term[used++] = (char)('0' + (missing - 1 - k));
			dots = true;
			i += 2;
		} else if (is_letter(text[i]) && used < ONNX_MAX_RANK) {
			term[used++] = text[i];
		} else if (is_letter(text[i])) {
			return onnx_refuse(node, "equation",
					   "it would need more than 8 dimensions");
		} else {
			return onnx_refuse(node, "equation", "the equation is not understood");
		}
	}
	term[used] = 0;
	if (rank != UINT32_MAX && used != rank)
		return onnx_refuse(node, "equation",
				   "a term does not have as many letters as its input dimensions");
	return 0;
}

static uint32_t ellipsis_size(struct onnx_node *node, const char *text, size_t length,
			      uint32_t rank)
{
	uint32_t letters = 0;

	(void)node;
	for (size_t i = 0; i < length; i++)
		letters += is_letter(text[i]);
	return memchr(text, '.', length) && rank > letters ? rank - letters : 0;
}

/*
 * Sets the output of an equation without "->": the digits, then the letters that occur once, in
 * alphabetical order.
 */
static void implicit_output(const struct equation *e, uint32_t ellipsis, char *output)
{
	size_t used = 0;

	for (uint32_t k = 0; k < ellipsis && used < ONNX_MAX_RANK; k++)
		output[used++] = (char)('0' + (ellipsis - 1 - k));
	for (char letter = 'A'; letter <= 'z'; letter++) {
		int times = 0;

		if (!is_letter(letter))
			continue;
		for (size_t i = 0; i < e->count; i++)
			for (const char *c = e->inputs[i]; *c; c++)
				times += *c == letter;
		if (times == 1 && used < ONNX_MAX_RANK)
			output[used++] = letter;
	}
	output[used] = 0;
}

static int parse_equation(struct onnx_node *node, struct equation *e)
{
	const char *text = onnx_attr_string(node, "equation", ""), *arrow = strstr(text, "->");
	const char *end = arrow ? arrow : text + strlen(text);
	uint32_t ellipsis = 0;

	for (const char *begin = text; begin <= end;) {
		const char *comma = memchr(begin, ',', (size_t)(end - begin));
		size_t length = (size_t)((comma ? comma : end) - begin);
		uint32_t rank = onnx_in_shape(node, e->count)->rank, dots;

		if (e->count == 8)
			return onnx_refuse(node, "equation",
					   "the equation has more than 8 terms for inputs");
		if (e->count == node->input_count)
			return onnx_refuse(
				node, "equation",
				"the equation must have a term for each of the %zu inputs",
				node->input_count);
		dots = ellipsis_size(node, begin, length, rank);
		ellipsis = dots > ellipsis ? dots : ellipsis;
		if (parse_term(node, begin, length, rank, 0, e->inputs[e->count++]))
			return -1;
		begin += length + 1;
	}
	if (e->count != node->input_count)
		return onnx_refuse(node, "equation",
				   "the equation must have a term for each of the %zu inputs",
				   node->input_count);
	if (!arrow) {
		implicit_output(e, ellipsis, e->output);
		return 0;
	}
	return parse_term(node, arrow + 2, strlen(arrow + 2), UINT32_MAX, ellipsis, e->output);
}

/*
 * Replaces two dimensions with the same letter by their diagonal, and drops the second occurrence
 * of the letter from @term. Returns NULL, and refuses the node, when they differ in length.
 */
static WNNOperand take_diagonals(struct onnx_node *node, size_t input, WNNOperand x, char *term)
{
	for (uint32_t i = 0; x && term[i]; i++)
		for (uint32_t k = i + 1; x && term[k]; k++) {
			struct onnx_shape shape = x_shape(x), flat;
			int64_t size = shape.dim[i];

			if (term[i] != term[k])
				continue;
			if (size != shape.dim[k]) {
				onnx_refuse(node, "equation", "input %zu does not fit its term",
					    input);
				return NULL;
			}
			/*
			 * Moves both dimensions to the end and merges them; the diagonal is every
			 * (size + 1)-th element.
			 */
			x = x_move_axis(node, x, k, shape.rank - 1);
			x = x_move_axis(node, x, i, shape.rank - 2);
			if (!x)
				return NULL;
			flat = x_shape(x);
			flat.rank--;
			flat.dim[flat.rank - 1] = size * size;
			x = x_slice_axis(node, x_reshape(node, x, &flat), flat.rank - 1, 0,
					 size * size, size + 1);
			x = x ? x_move_axis(node, x, flat.rank - 1, i) : NULL;
			memmove(term + k, term + k + 1, strlen(term + k));
			k--;
		}
	return x;
}

/*
 * Returns x with its dimensions in the order of `letters`, and 1 for letters that its term lacks.
 */
static WNNOperand align(struct onnx_node *node, WNNOperand x, const char *term, const char *letters)
{
	struct onnx_shape shape = x_shape(x), wide = { 0 };
	uint32_t permutation[ONNX_MAX_RANK], used = 0;

	for (const char *c = letters; *c; c++) {
		const char *at = strchr(term, *c);

		wide.dim[wide.rank++] = at ? shape.dim[at - term] : 1;
		if (at)
			permutation[used++] = (uint32_t)(at - term);
	}
	return x_reshape(node, x_transpose(node, x, permutation), &wide);
}

/*
 * Returns the product of two terms over all letters, summed over the letters that are not in
 * @needed, those of the output and of later terms. Sets @term to the letters of the result.
 */
static WNNOperand multiply(struct onnx_node *node, WNNOperand a, const char *left, WNNOperand b,
			   const char *right, const char *needed, char *term)
{
	char letters[2 * ONNX_MAX_RANK + 1] = "";
	uint32_t axes[ONNX_MAX_RANK], count = 0, rank = 0;
	WNNOperandDataType type;
	WNNOperand y;

	strcpy(letters, left);
	for (const char *c = right; *c; c++)
		if (!strchr(letters, *c))
			strncat(letters, c, 1);
	if (strlen(letters) > ONNX_MAX_RANK) {
		onnx_refuse(node, "equation", "it would need more than 8 dimensions");
		return NULL;
	}
	type = wnnOperandGetDataType(a);
	if (type == WNNOperandDataType_Float16) {
		a = x_cast(node, a, WNNOperandDataType_Float32);
		b = x_cast(node, b, WNNOperandDataType_Float32);
	}
	y = x_mul(node, align(node, a, left, letters), align(node, b, right, letters));
	for (uint32_t i = 0; letters[i]; i++) {
		if (strchr(needed, letters[i]))
			term[rank++] = letters[i];
		else
			axes[count++] = i;
	}
	term[rank] = 0;
	y = count ? x_reduce(node, X_SUM, y, count, axes, false) : y;
	return y ? x_cast(node, y, type) : NULL;
}

/*
 * Returns the product of two terms as one matrix product, [batch, rows, sum] times [batch, sum,
 * columns], or that of multiply() where one matrix product cannot compute it. Sets @term to the
 * letters of the result.
 */
static WNNOperand contract(struct onnx_node *node, WNNOperand a, const char *left, WNNOperand b,
			   const char *right, const char *needed, char *term)
{
	char batch[ONNX_MAX_RANK + 1] = "", rows[ONNX_MAX_RANK + 1] = "",
				   sum[ONNX_MAX_RANK + 1] = "";
	char columns[ONNX_MAX_RANK + 1] = "", order[3 * ONNX_MAX_RANK + 1];
	struct onnx_shape shape = x_shape(a), x = { 3, { 1, 1, 1 } }, y = x, z = { 0 };
	struct onnx_shape other = x_shape(b);

	for (const char *c = left; *c; c++) {
		const char *at = strchr(right, *c);
		int64_t size = shape.dim[c - left];

		if (at && other.dim[at - right] != size)
			return multiply(node, a, left, b, right, needed, term);
		strncat(!at ? rows : strchr(needed, *c) ? batch : sum, c, 1);
		x.dim[!at ? 1 : strchr(needed, *c) ? 0 : 2] *= size;
		if (!at && !strchr(needed, *c))
			return multiply(node, a, left, b, right, needed, term);
	}
	for (const char *c = right; *c; c++) {
		if (!strchr(left, *c) && !strchr(needed, *c))
			return multiply(node, a, left, b, right, needed, term);
		if (!strchr(left, *c)) {
			strncat(columns, c, 1);
			y.dim[2] *= other.dim[c - right];
		}
	}
	if (!*sum || strlen(batch) + strlen(rows) + strlen(columns) > ONNX_MAX_RANK)
		return multiply(node, a, left, b, right, needed, term);
	y.dim[0] = x.dim[0];
	y.dim[1] = x.dim[2];
	strcat(strcat(strcpy(order, batch), rows), sum);
	a = x_reshape(node, align(node, a, left, order), &x);
	strcat(strcat(strcpy(order, batch), sum), columns);
	b = x_reshape(node, align(node, b, right, order), &y);
	strcat(strcat(strcpy(term, batch), rows), columns);
	for (const char *c = term; *c; c++)
		z.dim[z.rank++] = strchr(left, *c) ? shape.dim[strchr(left, *c) - left] :
						     other.dim[strchr(right, *c) - right];
	return x_reshape(node, x_matmul(node, a, b), &z);
}

int onnx_op_einsum(struct onnx_node *node)
{
	char needed[10 * ONNX_MAX_RANK + 1], term[3 * ONNX_MAX_RANK + 1];
	struct equation e = { .count = 0 };
	uint32_t axes[ONNX_MAX_RANK], permutation[ONNX_MAX_RANK], count = 0, rank = 0;
	WNNOperand x = NULL;

	if (parse_equation(node, &e))
		return -1;
	for (size_t i = 0; i < e.count; i++) {
		WNNOperand next = onnx_in(node, i);

		if (!next)
			return -1;
		next = take_diagonals(node, i, next, e.inputs[i]);
		if (!next)
			return onnx_out(node, 0, NULL);
		strcpy(needed, e.output);
		for (size_t k = i + 1; k < e.count; k++)
			strcat(needed, e.inputs[k]);
		if (!x) {
			x = next;
			strcpy(term, e.inputs[i]);
		} else {
			char both[3 * ONNX_MAX_RANK + 1];

			x = (onnx_type_is_float(onnx_in_type(node, 0)) ? contract : multiply)(
				node, x, term, next, e.inputs[i], needed, both);
			strcpy(term, both);
		}
		if (!x)
			return onnx_out(node, 0, NULL);
	}
	for (uint32_t i = 0; term[i]; i++)
		if (!strchr(e.output, term[i]))
			axes[count++] = i;
		else
			term[rank++] = term[i];
	term[rank] = 0;
	if (count)
		x = x_reduce(node, X_SUM, x, count, axes, false);
	if (strlen(e.output) != rank)
		return onnx_refuse(node, "equation",
				   "the output has a letter twice, or one that no input has");
	for (uint32_t i = 0; i < rank; i++)
		permutation[i] = (uint32_t)(strchr(term, e.output[i]) - term);
	return onnx_out(node, 0, x_transpose(node, x, permutation));
}
