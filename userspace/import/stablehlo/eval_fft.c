// SPDX-License-Identifier: MIT
/* Fourier transforms of one to three dimensions. */
#include "fft.h"

#include <string.h>

#include "run.h"

static void transform(struct shlo_run *run, struct shlo_tensor *x, int dim, bool inverse)
{
	int64_t length = x->dims[dim], inner = 1, room;
	struct shlo_type type = { .element = SHLO_C128, .rank = 1, .dims = &room };
	struct shlo_tensor *vectors;
	double *from, *to, *data = x->data;

	if (!x->count)
		return;
	room = 2 * length;
	for (int i = dim + 1; i < x->type.rank; i++)
		inner *= x->dims[i];
	vectors = shlo_tensor_new(run, &type);
	from = vectors->data;
	to = from + 2 * length;
	for (int64_t vector = 0; vector < x->count / length; vector++) {
		int64_t first = vector / inner * inner * length + vector % inner;

		for (int64_t i = 0; i < length; i++)
			memcpy(from + 2 * i, data + 2 * (first + i * inner), 2 * sizeof(*data));
		if (shlo_fft((size_t)length, inverse, from, to))
			shlo_run_lack(run, 0);
		for (int64_t i = 0; i < length; i++)
			for (int k = 0; k < 2; k++)
				data[2 * (first + i * inner) + k] =
					inverse ? to[2 * i + k] / (double)length : to[2 * i + k];
	}
	shlo_tensor_put(vectors);
}

/*
 * Returns the operand as complex<f64>; for IRFFT, with the half of the spectrum that follows from
 * symmetry.
 */
static struct shlo_tensor *whole(struct shlo_call *call, bool to_real, const int64_t *dims)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_type type = { .element = SHLO_C128, .rank = x->type.rank, .dims = dims };
	struct shlo_tensor *out = shlo_tensor_new(call->run, &type);
	int64_t index[SHLO_MAX_RANK] = { 0 }, at = 0;
	int last = x->type.rank - 1;

	if (!out->count)
		return out;
	do {
		int64_t place[SHLO_MAX_RANK];
		bool mirrored = to_real && index[last] >= x->dims[last];
		struct shlo_num number;

		memcpy(place, index, sizeof(place));
		if (mirrored)
			place[last] = dims[last] - index[last];
		number = shlo_get(x, shlo_offset(x, place));
		if (!shlo_is_complex(x->type.element))
			number.im = 0;
		if (mirrored)
			number.im = -number.im;
		/*
		 * The first and the middle number of a real signal's spectrum are real; any
		 * imaginary part is ignored.
		 */
		if (to_real && (index[last] == 0 || 2 * index[last] == dims[last]))
			number.im = 0;
		shlo_set(out, at++, number);
	} while (shlo_next(x->type.rank, dims, index));
	return out;
}

void shlo_eval_fft(struct shlo_call *call)
{
	const char *kind = shlo_attr_text(call->op, "fft_type", "");
	bool to_real = !strcmp(kind, "IRFFT"), inverse = to_real || !strcmp(kind, "IFFT");
	struct shlo_tensor *out = shlo_result(call, 0), *work;
	int64_t lengths[SHLO_MAX_RANK], dims[SHLO_MAX_RANK], index[SHLO_MAX_RANK] = { 0 }, at = 0;
	int rank = out->type.rank, first;

	first = rank - (int)shlo_ints_of(shlo_attr_find(&call->op->attrs, "fft_length"), lengths,
					 SHLO_MAX_RANK);
	memcpy(dims, call->in[0]->dims, sizeof(dims));
	if (to_real)
		dims[rank - 1] = out->dims[rank - 1];
	/* IRFFT transforms the last dimension last, because only that result is real. */
	if (to_real && rank - first > 1) {
		work = whole(call, false, call->in[0]->dims);
		for (int i = first; i < rank - 1; i++)
			transform(call->run, work, i, true);
		struct shlo_call last = *call;
		struct shlo_tensor *const in[1] = { work };

		last.in = in;
		work = whole(&last, true, dims);
		shlo_tensor_put(in[0]);
		transform(call->run, work, rank - 1, true);
	} else {
		work = whole(call, to_real, dims);
		for (int i = rank - 1; i >= first; i--)
			transform(call->run, work, i, inverse);
	}
	if (out->count)
		do
			shlo_set(out, at++, shlo_get(work, shlo_offset(work, index)));
		while (shlo_next(rank, out->dims, index));
	shlo_tensor_put(work);
}
