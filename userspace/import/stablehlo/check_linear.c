// SPDX-License-Identifier: MIT
/* Checks of linear algebra, Fourier transforms, batch normalisation and composites. */
#include "check.h"

#include <string.h>

static void need_real_or_complex(struct shlo_check *check, const struct shlo_type *x)
{
	enum shlo_element element = shlo_computed_element(x);

	if (!shlo_is_float(element) && !shlo_is_complex(element))
		shlo_wrong(check, "it does not take elements of type %s",
			   shlo_elements[x->element].text);
}

void shlo_check_fft(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	const char *kind = shlo_attr_text(check->op, "fft_type", "");
	int64_t lengths[SHLO_MAX_RANK], dims[SHLO_MAX_RANK];
	int count = shlo_need_ints(check, "fft_length", lengths), first = x->rank - count;
	bool real = !strcmp(kind, "RFFT"), to_real = !strcmp(kind, "IRFFT");
	enum shlo_element element = x->element;

	if (strcmp(kind, "FFT") && strcmp(kind, "IFFT") && !real && !to_real)
		shlo_wrong(check, "fft_type is '%s', it should be FFT, IFFT, RFFT or IRFFT", kind);
	if (count < 1 || count > 3)
		shlo_wrong(check, "fft_length has %d numbers, expected 1 to 3", count);
	if (first < 0)
		shlo_wrong(check, "fft_length has %d numbers for a rank of %d", count, x->rank);
	if (real ? element != SHLO_F32 && element != SHLO_F64 : !shlo_is_complex(element))
		shlo_wrong(check, "%s does not take elements of type %s", kind,
			   shlo_elements[element].text);
	memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
	for (int i = 0; i < count; i++) {
		int64_t *dim = &dims[first + i], length = lengths[i], half;
		bool last = i == count - 1;

		if (length < 0)
			shlo_wrong(check, "fft_length has %lld, which is less than 0",
				   (long long)length);
		half = length ? length / 2 + 1 : 0;
		if (*dim != SHLO_DYNAMIC && *dim != (last && to_real ? half : length))
			shlo_wrong(check,
				   "dimension %d of the operand is %lld, expected %lld for a "
				   "length of %lld",
				   first + i, (long long)*dim,
				   (long long)(last && to_real ? half : length), (long long)length);
		*dim = last && real ? half : length;
	}
	if (real)
		element = shlo_element_complex(element);
	else if (to_real)
		element = shlo_element_part(element);
	check->out[0] = shlo_tensor_type(check->arena, element, x->rank, dims);
}

static void need_square(struct shlo_check *check, const struct shlo_type *x)
{
	if (x->rank < 2 || shlo_dim_meet(x->dims[x->rank - 1], x->dims[x->rank - 2]) == -1)
		shlo_wrong(check, "%s has no square matrices", shlo_type_brief(check->arena, x));
}

void shlo_check_cholesky(struct shlo_check *check)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);

	need_real_or_complex(check, x);
	need_square(check, x);
	check->out[0] = x;
}

/* Returns a required attribute that is true or false. */
static bool need_bool(struct shlo_check *check, const char *name)
{
	int64_t value = shlo_attr_int(check->op, name, -1);

	if (value != 0 && value != 1)
		shlo_wrong(check, "attribute %s is missing, or neither true nor false", name);
	return value;
}

void shlo_check_triangular_solve(struct shlo_check *check)
{
	const struct shlo_type *a = shlo_need_tensor(check, 0), *b = shlo_need_tensor(check, 1);
	const char *transpose = shlo_attr_text(check->op, "transpose_a", "");
	int at = need_bool(check, "left_side") ? b->rank - 2 : b->rank - 1;

	need_real_or_complex(check, a);
	need_square(check, a);
	if (a->rank != b->rank || a->element != b->element)
		shlo_wrong(check, "the operands must have equal ranks and element types");
	for (int i = 0; i < a->rank - 2; i++)
		if (shlo_dim_meet(a->dims[i], b->dims[i]) == -1)
			shlo_wrong(check,
				   "the operands must have equal batch dimensions, but dimension "
				   "%d is %lld and %lld",
				   i, (long long)a->dims[i], (long long)b->dims[i]);
	need_bool(check, "lower");
	need_bool(check, "unit_diagonal");
	if (shlo_dim_meet(a->dims[a->rank - 1], b->dims[at]) == -1)
		shlo_wrong(check,
			   "the matrices of a have %lld columns, but dimension %d of b, to which "
			   "they are applied, is %lld",
			   (long long)a->dims[a->rank - 1], at, (long long)b->dims[at]);
	if (strcmp(transpose, "NO_TRANSPOSE") && strcmp(transpose, "TRANSPOSE") &&
	    strcmp(transpose, "ADJOINT"))
		shlo_wrong(check,
			   "transpose_a is '%s', expected NO_TRANSPOSE, TRANSPOSE or ADJOINT",
			   transpose);
	check->out[0] = b;
}

/* Returns the feature dimension, and demands that operands 1 to @vectors have its size. */
static int64_t need_features(struct shlo_check *check, size_t vectors)
{
	const struct shlo_type *x = shlo_need_tensor(check, 0);
	int64_t feature = shlo_need_int(check, "feature_index");

	if (!shlo_is_float(shlo_computed_element(x)))
		shlo_wrong(check, "it does not take elements of type %s",
			   shlo_elements[x->element].text);
	shlo_need_dims(check, "feature_index", &feature, 1, x->rank);
	for (size_t i = 1; i <= vectors; i++)
		if (shlo_need_tensor(check, i)->rank != 1 ||
		    shlo_dim_meet(check->in[i]->dims[0], x->dims[feature]) == -1)
			shlo_wrong(check,
				   "operand %zu is %s, but must have rank 1 and the size of "
				   "dimension %lld, the features, of operand 0, %s",
				   i, shlo_type_brief(check->arena, check->in[i]),
				   (long long)feature, shlo_type_brief(check->arena, x));
	return feature;
}

void shlo_check_batch_norm_inference(struct shlo_check *check)
{
	need_features(check, 4);
	check->out[0] = check->in[0];
}

void shlo_check_batch_norm_training(struct shlo_check *check)
{
	int64_t feature = need_features(check, 2);

	check->out[0] = check->in[0];
	shlo_out_like(check, 1, check->in[0], 1, &check->in[0]->dims[feature]);
	shlo_out_like(check, 2, check->in[0], 1, &check->in[0]->dims[feature]);
}

void shlo_check_batch_norm_grad(struct shlo_check *check)
{
	int64_t feature = need_features(check, 3);

	if (!shlo_dims_fit(shlo_need_tensor(check, 4), check->in[0]))
		shlo_wrong(check, "grad_output must have the dimensions of the operand");
	check->out[0] = check->in[0];
	shlo_out_like(check, 1, check->in[0], 1, &check->in[0]->dims[feature]);
	shlo_out_like(check, 2, check->in[0], 1, &check->in[0]->dims[feature]);
}

/* The sizes of the dimensions that each letter of an einsum names, -1: no operand has it. */
struct letters {
	int64_t size[128];
};

/* Notes the letters of an operand, which name its dimensions. */
static void note_letters(struct shlo_check *check, struct letters *letters, const char *term,
			 size_t operand)
{
	const struct shlo_type *x = check->in[operand];

	for (int i = 0; i < x->rank; i++) {
		int64_t *size = &letters->size[(unsigned char)term[i]];
		int64_t meet = *size == -1 ? x->dims[i] : shlo_dim_meet(*size, x->dims[i]);

		if (meet == -1)
			shlo_wrong(check,
				   "einsum_config names dimension %d of operand %zu '%c', but it "
				   "has size %lld and another dimension of this name %lld",
				   i, operand, term[i], (long long)x->dims[i], (long long)*size);
		*size = meet;
	}
}

/* Sets the type of the result, whose dimensions the letters name. */
static void out_letters(struct shlo_check *check, const struct letters *letters, const char *term,
			int rank)
{
	int64_t dims[SHLO_MAX_RANK];

	for (int i = 0; i < rank; i++) {
		dims[i] = letters->size[(unsigned char)term[i]];
		if (dims[i] == -1)
			shlo_wrong(check,
				   "einsum_config names dimension %d of the result '%c', which no "
				   "operand has",
				   i, term[i]);
		if (memchr(term, term[i], (size_t)i))
			shlo_wrong(check, "einsum_config names two dimensions of the result '%c'",
				   term[i]);
	}
	shlo_out_like(check, 0, shlo_declared(check, 0), rank, dims);
}

/* Checks an einsum such as "ab,bc->ac", whose letters name dimensions. */
static void check_einsum(struct shlo_check *check, size_t operands)
{
	const char *at = shlo_attr_text(check->op, "einsum_config", "");
	struct letters letters;

	memset(&letters, -1, sizeof(letters));
	for (size_t i = 0; i <= operands; i++) {
		const struct shlo_type *type = i < operands ? shlo_need_tensor(check, i) :
							      shlo_declared(check, 0);
		const char *term = at;

		while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'))
			at++;
		if (type->kind != SHLO_TENSOR || (type->rank >= 0 && at - term != type->rank))
			shlo_wrong(check,
				   "einsum_config has %d letters for %s, expected one for each "
				   "dimension",
				   (int)(at - term), shlo_type_brief(check->arena, type));
		if (at - term > SHLO_MAX_RANK)
			shlo_wrong(check, "the result has more than %d dimensions", SHLO_MAX_RANK);
		if (i + 1 < operands ? *at != ',' :
		    i < operands     ? at[0] != '-' || at[1] != '>' :
				       *at)
			shlo_wrong(check,
				   "einsum_config must be like ab,bc->ac, with a term for each "
				   "operand");
		if (i < operands)
			note_letters(check, &letters, term, i);
		else
			out_letters(check, &letters, term, (int)(at - term));
		at += i + 1 < operands ? 1 : i < operands ? 2 : 0;
	}
}

void shlo_check_einsum(struct shlo_check *check)
{
	check_einsum(check, 2);
}

void shlo_check_unary_einsum(struct shlo_check *check)
{
	check_einsum(check, 1);
}
