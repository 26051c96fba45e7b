// SPDX-License-Identifier: MIT
/*
 * Reference kernels of products: dot_general, convolution, einsum, ragged_dot. A sum adds products
 * from the first to the last and rounds each step, as the specification's reduction does; floats of
 * fewer than 32 bits are added in f32.
 */
#include "numbers.h"

#include <string.h>

#include "combine.h"
#include "run.h"

struct sum {
	enum shlo_element element;
	struct shlo_num number;
};

static enum shlo_element sum_element(enum shlo_element from, enum shlo_element to)
{
	if (shlo_is_float(from) || shlo_is_complex(from)) {
		if (shlo_class(to) == shlo_class(from) &&
		    shlo_elements[to].bits > shlo_elements[from].bits)
			from = to;
		return shlo_elements[from].bits < 32 ? SHLO_F32 : from;
	}
	/* Integers are added in 64 bits; the result keeps its low bits. */
	return shlo_class(from) == SHLO_BOOL	 ? SHLO_I1 :
	       shlo_class(from) == SHLO_UNSIGNED ? SHLO_UI64 :
						   SHLO_I64;
}

static struct sum sum_new(const struct shlo_tensor *x, const struct shlo_tensor *out)
{
	struct sum sum = { .element = sum_element(x->type.element, out->type.element) };

	sum.number = shlo_zero(sum.element);
	return sum;
}

static void add_to(struct sum *sum, struct shlo_num number)
{
	bool done;

	sum->number = shlo_binary(SHLO_B_ADD, sum->element, sum->number, number, &done);
}

static void add_product(struct sum *sum, const struct shlo_tensor *x, int64_t a,
			const struct shlo_tensor *y, int64_t b)
{
	bool done;

	add_to(sum,
	       shlo_binary(SHLO_B_MULTIPLY, sum->element, shlo_get(x, a), shlo_get(y, b), &done));
}

static void set_sum(struct shlo_tensor *out, int64_t at, const struct sum *sum)
{
	shlo_set(out, at, shlo_convert(out->type.element, sum->element, sum->number));
}

static void need_same(struct shlo_call *call)
{
	enum shlo_class a = shlo_class(call->in[0]->type.element);
	enum shlo_class b = shlo_class(call->in[1]->type.element);

	if ((a == SHLO_FLOAT) != (b == SHLO_FLOAT) || (a == SHLO_COMPLEX) != (b == SHLO_COMPLEX))
		shlo_run_error(call->run,
			       "its operands have elements of %s and %s: both must be floats, "
			       "complex numbers or integers",
			       shlo_elements[call->in[0]->type.element].text,
			       shlo_elements[call->in[1]->type.element].text);
}

/* The sizes of an operand's batch, of the dimensions that are summed, and of the others. */
struct sizes {
	int64_t batch, inner, free;
};

/* Appends dimensions to an order of them, and returns the product of their sizes. */
static int64_t append(const struct shlo_tensor *x, const struct shlo_list *list, int *order,
		      int *count)
{
	int64_t size = 1;

	for (int i = 0; i < list->count; i++) {
		order[(*count)++] = (int)list->at[i];
		size *= x->dims[list->at[i]];
	}
	return size;
}

/* Converts all elements of an array to those of another type. */
static void convert(enum shlo_element to, void *out, enum shlo_element from, const void *in,
		    int64_t count)
{
	const struct shlo_step step = { .family = SHLO_CONVERT, .element = from, .to = to };

	if (from == to)
		memcpy(out, in, (size_t)count * shlo_elements[to].bytes);
	else if (!shlo_combine_step(&step, out, &in, false, (size_t)count))
		for (int64_t i = 0; i < count; i++)
			shlo_store(to, out, (size_t)i,
				   shlo_convert(to, from, shlo_load(from, in, (size_t)i)));
}

/*
 * Returns a copy of an operand with elements of type @element. The dimensions of the batch come
 * first; the dimensions that are summed come in front of the others if @inner_first, else after
 * them. Sets @sizes to the products of the three kinds of dimensions.
 */
static struct shlo_tensor *packed(struct shlo_run *run, const struct shlo_tensor *x,
				  const struct shlo_list *batch, const struct shlo_list *contract,
				  bool inner_first, enum shlo_element element, struct sizes *sizes)
{
	struct shlo_list free = { 0 };
	int64_t dims[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, place[SHLO_MAX_RANK], at = 0;
	struct shlo_type type = { .element = element, .rank = x->type.rank, .dims = x->dims };
	struct shlo_tensor *same = shlo_tensor_unset(run, &type);
	struct shlo_tensor *out = shlo_tensor_unset(run, &type);
	bool is_in_order = true;
	int order[SHLO_MAX_RANK], count = 0;

	for (int i = 0; i < x->type.rank; i++)
		if (!shlo_list_has(batch, i) && !shlo_list_has(contract, i))
			free.at[free.count++] = i;
	sizes->batch = append(x, batch, order, &count);
	if (inner_first)
		sizes->inner = append(x, contract, order, &count);
	sizes->free = append(x, &free, order, &count);
	if (!inner_first)
		sizes->inner = append(x, contract, order, &count);
	for (int i = 0; i < count; i++) {
		dims[i] = x->dims[order[i]];
		is_in_order = is_in_order && order[i] == i;
	}
	convert(element, same->data, x->type.element, x->data, x->count);
	if (is_in_order) {
		shlo_tensor_put(out);
		return same;
	}
	if (x->count)
		do {
			for (int i = 0; i < count; i++)
				place[order[i]] = index[i];
			shlo_move(out, at++, same, shlo_offset(same, place));
		} while (shlo_next(count, dims, index));
	shlo_tensor_put(same);
	return out;
}

/*
 * Whether the type of the sums is f32 or f64, and can hold the elements of the right operand, which
 * are floats, without loss.
 */
static bool is_plain(const struct shlo_call *call, enum shlo_element sum)
{
	return (sum == SHLO_F32 || sum == SHLO_F64) && shlo_is_float(call->in[1]->type.element) &&
	       shlo_elements[call->in[1]->type.element].bits <= shlo_elements[sum].bits;
}

/* Computes the product, bit for bit as dot() below does, but many sums at once. */
static void dot_plain(struct shlo_call *call, const struct shlo_dot_numbers *n,
		      struct shlo_tensor *out, enum shlo_element element)
{
	struct sizes a, b;
	struct shlo_tensor *x =
		packed(call->run, call->in[0], &n->batch[0], &n->contract[0], false, element, &a);
	struct shlo_tensor *y =
		packed(call->run, call->in[1], &n->batch[1], &n->contract[1], true, element, &b);
	struct shlo_type type = { .element = element, .rank = 1, .dims = &b.free };
	struct shlo_tensor *sums = shlo_tensor_new(call->run, &type);
	size_t each = shlo_elements[element].bytes;

	for (int64_t row = 0; row < a.batch * a.free; row++) {
		const char *matrix =
			(const char *)y->data + (size_t)(row / a.free * b.inner * b.free) * each;

		memset(sums->data, 0, (size_t)b.free * each);
		shlo_add_products(element, sums->data,
				  (const char *)x->data + (size_t)(row * a.inner) * each, matrix,
				  (size_t)a.inner, (size_t)b.free);
		convert(out->type.element,
			(char *)out->data +
				(size_t)(row * b.free) * shlo_elements[out->type.element].bytes,
			element, sums->data, b.free);
	}
	shlo_tensor_put(sums);
	shlo_tensor_put(y);
	shlo_tensor_put(x);
}

static void dot(struct shlo_call *call, const struct shlo_dot_numbers *n)
{
	const struct shlo_tensor *x[2] = { call->in[0], call->in[1] };
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t index[SHLO_MAX_RANK] = { 0 }, place[2][SHLO_MAX_RANK], dims[SHLO_MAX_RANK], at = 0;

	need_same(call);
	for (int i = 0; i < n->contract[0].count; i++) {
		dims[i] = x[0]->dims[n->contract[0].at[i]];
		if (dims[i] != x[1]->dims[n->contract[1].at[i]])
			shlo_run_error(call->run,
				       "contracting dimension %lld of operand 0 has size %lld, "
				       "%lld of operand 1 has %lld: they must be equal",
				       (long long)n->contract[0].at[i], (long long)dims[i],
				       (long long)n->contract[1].at[i],
				       (long long)x[1]->dims[n->contract[1].at[i]]);
	}
	if (!out->count)
		return;
	if (is_plain(call, sum_element(x[0]->type.element, out->type.element))) {
		dot_plain(call, n, out, sum_element(x[0]->type.element, out->type.element));
		return;
	}
	do {
		int64_t inner[SHLO_MAX_RANK] = { 0 };
		int from = n->batch[0].count;
		struct sum sum = sum_new(call->in[0], out);

		for (int k = 0; k < 2; k++) {
			for (int i = 0; i < n->batch[k].count; i++)
				place[k][n->batch[k].at[i]] = index[i];
			for (int i = 0; i < x[k]->type.rank; i++)
				if (!shlo_list_has(&n->batch[k], i) &&
				    !shlo_list_has(&n->contract[k], i))
					place[k][i] = index[from++];
		}
		if (x[0]->count && x[1]->count)
			do {
				for (int k = 0; k < 2; k++)
					for (int i = 0; i < n->contract[k].count; i++)
						place[k][n->contract[k].at[i]] = inner[i];
				add_product(&sum, x[0], shlo_offset(x[0], place[0]), x[1],
					    shlo_offset(x[1], place[1]));
			} while (shlo_next(n->contract[0].count, dims, inner));
		set_sum(out, at++, &sum);
	} while (shlo_next(out->type.rank, out->dims, index));
}

void shlo_eval_dot_general(struct shlo_call *call)
{
	struct shlo_dot_numbers n;

	shlo_dot_numbers(call->op, &n);
	dot(call, &n);
}

void shlo_eval_dot(struct shlo_call *call)
{
	struct shlo_dot_numbers n = { 0 };

	n.contract[0].count = n.contract[1].count = 1;
	n.contract[0].at[0] = call->in[0]->type.rank - 1;
	dot(call, &n);
}

/* ---- convolution */

/*
 * Adds to @sum the products of the window and the kernel for one element of the result, over the
 * input features of a group.
 */
static void convolve_one(const struct shlo_conv_numbers *n, const struct shlo_tensor *x,
			 const struct shlo_tensor *k, const int64_t *index, int64_t batch,
			 int64_t features_from, struct sum *sum)
{
	const struct shlo_window *w = &n->window;
	int64_t cell[SHLO_MAX_RANK] = { 0 }, a[SHLO_MAX_RANK], b[SHLO_MAX_RANK];
	int64_t features = k->dims[n->kernel_input];

	a[n->input_batch] = batch;
	b[n->kernel_output] = index[n->output_feature];
	if (!k->count)
		return;
	do {
		bool within = true;

		for (int i = 0; i < n->spatial && within; i++) {
			int64_t at = index[n->output_spatial.at[i]] * w->stride[i] +
				     cell[i] * w->window_dilation[i] - w->low[i];

			within = at >= 0 && at % w->base_dilation[i] == 0 &&
				 at / w->base_dilation[i] < x->dims[n->input_spatial.at[i]];
			a[n->input_spatial.at[i]] = at / w->base_dilation[i];
			b[n->kernel_spatial.at[i]] = w->reversed[i] ? w->size[i] - 1 - cell[i] :
								      cell[i];
		}
		for (int64_t f = 0; f < features && within; f++) {
			a[n->input_feature] = features_from + f;
			b[n->kernel_input] = f;
			add_product(sum, x, shlo_offset(x, a), k, shlo_offset(k, b));
		}
	} while (shlo_next(n->spatial, w->size, cell));
}

static void convolution(struct shlo_call *call, const int64_t *padding)
{
	const struct shlo_tensor *x = call->in[0], *k = call->in[1];
	const struct shlo_type *types[2] = { &x->type, &k->type };
	struct shlo_check check = {
		.guard = &call->run->guard,
		.run = call->run,
		.op = call->op,
		.in = types,
		.in_count = 2,
	};
	int64_t index[SHLO_MAX_RANK] = { 0 }, dims[SHLO_MAX_RANK], at = 0, outputs;
	struct shlo_tensor *out;
	struct shlo_conv_numbers n;

	need_same(call);
	shlo_conv_numbers(&check, padding, &n);
	for (int i = 0; i < n.spatial; i++)
		dims[n.output_spatial.at[i]] =
			shlo_window_count(x->dims[n.input_spatial.at[i]], n.window.size[i],
					  n.window.stride[i], n.window.low[i], n.window.high[i],
					  n.window.base_dilation[i], n.window.window_dilation[i]);
	outputs = k->dims[n.kernel_output];
	dims[n.output_batch] = x->dims[n.input_batch] / n.batch_groups;
	dims[n.output_feature] = outputs;
	if (x->dims[n.input_feature] % n.feature_groups ||
	    x->dims[n.input_feature] / n.feature_groups != k->dims[n.kernel_input])
		shlo_run_error(call->run,
			       "the input has %lld features in %lld groups, but the kernel takes "
			       "%lld of each group",
			       (long long)x->dims[n.input_feature], (long long)n.feature_groups,
			       (long long)k->dims[n.kernel_input]);
	out = shlo_tensor_like(call->run, call->op->results[0]->type, x->type.rank, dims);
	call->out[0] = out;
	if (!out->count)
		return;
	do {
		int64_t feature = index[n.output_feature];
		int64_t batch = index[n.output_batch] +
				feature / (outputs / n.batch_groups) * dims[n.output_batch];
		struct sum sum = sum_new(call->in[0], out);

		convolve_one(&n, x, k, index, batch,
			     feature / (outputs / n.feature_groups) * k->dims[n.kernel_input],
			     &sum);
		set_sum(out, at++, &sum);
	} while (shlo_next(out->type.rank, dims, index));
}

void shlo_eval_convolution(struct shlo_call *call)
{
	convolution(call, NULL);
}

void shlo_eval_dynamic_conv(struct shlo_call *call)
{
	int64_t padding[2 * SHLO_MAX_RANK] = { 0 };

	if (call->in[2]->count != 2 * (call->in[0]->type.rank - 2))
		shlo_run_error(call->run,
			       "the padding has %lld numbers, but must have two for each of %d "
			       "spatial dimensions",
			       (long long)call->in[2]->count, call->in[0]->type.rank - 2);
	shlo_ints(call->run, call->in[2], padding);
	convolution(call, padding);
}

/* ---- einsum */

/* Adds the element of an only operand, or the product of the elements of two. */
static void add_term(struct sum *sum, struct shlo_tensor *const *values,
		     int64_t (*place)[SHLO_MAX_RANK], int operands)
{
	int64_t at = shlo_offset(values[0], place[0]);

	if (operands > 1)
		add_product(sum, values[0], at, values[1], shlo_offset(values[1], place[1]));
	else
		add_to(sum, shlo_get(values[0], at));
}

static void einsum(struct shlo_call *call, int operands)
{
	const char *text = shlo_attr_text(call->op, "einsum_config", "");
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t dims[128], index[128] = { 0 }, place[3][SHLO_MAX_RANK] = { { 0 } };
	char letters[128], of[3][SHLO_MAX_RANK];
	int count = 0, free_count, which = operands, at = 0;
	bool any = true;
	struct shlo_tensor *const values[3] = { call->in[0], operands > 1 ? call->in[1] : out,
						out };

	/*
	 * The letters of the result come first, then the letters over which the product is summed.
	 */
	for (const char *c = strchr(text, '>') + 1; *c; c++)
		of[2][at++] = *c;
	for (int i = 0; i < at; i++) {
		letters[count] = of[2][i];
		dims[count++] = out->dims[i];
	}
	free_count = count;
	which = at = 0;
	for (const char *c = text; *c && *c != '-'; c++) {
		if (*c == ',') {
			which++;
			at = 0;
			continue;
		}
		of[which][at] = *c;
		if (!memchr(letters, *c, (size_t)count)) {
			letters[count] = *c;
			dims[count++] = values[which]->dims[at];
		}
		at++;
	}
	/* Without terms, a sum is 0. */
	for (int i = free_count; i < count; i++)
		any = any && dims[i];
	for (int64_t to = 0; to < out->count; to++) {
		struct sum sum = sum_new(call->in[0], out);

		memset(index + free_count, 0, (size_t)(count - free_count) * sizeof(*index));
		if (any)
			do {
				for (int k = 0; k < operands; k++)
					for (int i = 0; i < values[k]->type.rank; i++)
						place[k][i] =
							index[(char *)memchr(letters, of[k][i],
									     (size_t)count) -
							      letters];
				add_term(&sum, values, place, operands);
			} while (shlo_next(count - free_count, dims + free_count,
					   index + free_count));
		set_sum(out, to, &sum);
		shlo_next(free_count, dims, index);
	}
}

void shlo_eval_einsum(struct shlo_call *call)
{
	need_same(call);
	einsum(call, 2);
}

void shlo_eval_unary_einsum(struct shlo_call *call)
{
	einsum(call, 1);
}

/* ---- ragged_dot */

/*
 * Returns the group of a position in the ragged dimension; -1: the position is after the last
 * group.
 */
static int64_t group_of(const struct shlo_tensor *sizes, int64_t offset, int64_t groups,
			int64_t position)
{
	for (int64_t g = 0; g < groups; g++) {
		position -= shlo_get(sizes, offset + g).i;
		if (position < 0)
			return g;
	}
	return -1;
}

/*
 * Returns the offset of the group sizes that apply: there is one list for all, or one for each
 * index of the dimensions in front of the ragged one.
 */
static int64_t sizes_offset(const struct shlo_ragged_numbers *r, const struct shlo_tensor *sizes,
			    const int64_t *lhs)
{
	int64_t offset = 0;

	for (int i = 0; i + 1 < sizes->type.rank && i < r->prefix.count; i++)
		offset = offset * sizes->dims[i] + lhs[r->prefix.at[i]];
	return offset * sizes->dims[sizes->type.rank - 1];
}

void shlo_eval_ragged_dot(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *y = call->in[1], *sizes = call->in[2];
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t index[SHLO_MAX_RANK] = { 0 }, a[SHLO_MAX_RANK] = { 0 }, b[SHLO_MAX_RANK] = { 0 };
	int64_t dims[SHLO_MAX_RANK], at = 0, groups = sizes->dims[sizes->type.rank - 1], ragged;
	struct shlo_ragged_numbers r;
	bool any = true;

	need_same(call);
	shlo_ragged_numbers(call->op, &r);
	ragged = r.ragged.at[0];
	for (int i = 0; i < r.dot.contract[0].count; i++) {
		dims[i] = x->dims[r.dot.contract[0].at[i]];
		any = any && dims[i];
	}
	/* Without terms, a sum is 0. */
	for (int64_t i = 0; !any && i < out->count; i++) {
		struct sum sum = sum_new(x, out);

		set_sum(out, i, &sum);
	}
	if (!any || !out->count)
		return;
	do {
		int64_t inner[SHLO_MAX_RANK] = { 0 };
		int from = 0;
		int64_t wanted = r.mode == SHLO_RAGGED_CONTRACTED ? index[from++] : -1, group;
		struct sum sum = sum_new(call->in[0], out);

		for (int i = 0; i < r.dot.batch[0].count; i++) {
			a[r.dot.batch[0].at[i]] = index[from];
			b[r.dot.batch[1].at[i]] = index[from++];
		}
		for (int i = 0; i < x->type.rank; i++)
			if (!shlo_list_has(&r.dot.batch[0], i) &&
			    !shlo_list_has(&r.dot.contract[0], i))
				a[i] = index[from++];
		for (int i = 0; i < y->type.rank; i++)
			if (!shlo_list_has(&r.dot.batch[1], i) &&
			    !shlo_list_has(&r.dot.contract[1], i) && !shlo_list_has(&r.group, i))
				b[i] = index[from++];
		group = group_of(sizes, sizes_offset(&r, sizes, a), groups, a[ragged]);
		if (r.mode == SHLO_RAGGED_FREE)
			b[r.group.at[0]] = group < 0 ? 0 : group;
		do {
			for (int i = 0; i < r.dot.contract[0].count; i++) {
				a[r.dot.contract[0].at[i]] = inner[i];
				b[r.dot.contract[1].at[i]] = inner[i];
			}
			if (r.mode == SHLO_RAGGED_CONTRACTED)
				group = group_of(sizes, sizes_offset(&r, sizes, a), groups,
						 a[ragged]) == wanted ?
						wanted :
						-1;
			if (group >= 0 || r.mode == SHLO_RAGGED_BATCH)
				add_product(&sum, x, shlo_offset(x, a), y, shlo_offset(y, b));
		} while (shlo_next(r.dot.contract[0].count, dims, inner));
		set_sum(out, at++, &sum);
	} while (shlo_next(out->type.rank, out->dims, index));
}
