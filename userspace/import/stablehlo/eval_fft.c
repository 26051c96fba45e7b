// SPDX-License-Identifier: MIT
/* Fourier transforms of one to three dimensions. */
#include "fft.h"

#include <string.h>

#include "run.h"

/* Numbers that are transformed at once: those of some vectors fit into a cache. */
#define AT_ONCE 4096

/* Where the numbers of some vectors are: distances of neighbouring numbers, and of vectors. */
struct layout {
	int64_t length, numbers, vectors;
};

/* Copies @some vectors between @data and @packed, where they lie one behind the other. */
static void copy_vectors(const struct layout *layout, double *data, double *packed, int64_t some,
			 bool back, double scale)
{
	for (int64_t i = 0; i < layout->length; i++)
		for (int64_t v = 0; v < some; v++) {
			double *a = data + 2 * (i * layout->numbers + v * layout->vectors);
			double *b = packed + 2 * (v * layout->length + i);

			if (back) {
				a[0] = b[0] / scale;
				a[1] = b[1] / scale;
			} else {
				b[0] = a[0];
				b[1] = a[1];
			}
		}
}

/* Transforms dimension @dim of complex<f64>. */
static void transform(struct shlo_run *run, struct shlo_tensor *x, int dim, bool inverse)
{
	int64_t length = x->dims[dim], inner = 1, group, most, room;
	struct shlo_type type = { .element = SHLO_C128, .rank = 1, .dims = &room };
	struct shlo_tensor *packed;
	struct layout layout;
	double *from, *to;

	if (!x->count)
		return;
	for (int i = dim + 1; i < x->type.rank; i++)
		inner *= x->dims[i];
	/* Vectors of a group have the same distance from each other. */
	group = inner == 1 ? x->count / length : inner;
	layout = (struct layout){ length, inner, inner == 1 ? length : 1 };
	most = AT_ONCE / length > 1 ? AT_ONCE / length : 1;
	most = most < group ? most : group;
	room = 2 * length * most;
	packed = shlo_tensor_unset(run, &type);
	from = packed->data;
	to = from + 2 * length * most;
	for (int64_t first = 0; first < x->count; first += length * group)
		for (int64_t v = 0; v < group; v += most) {
			int64_t some = group - v < most ? group - v : most;
			double *data = (double *)x->data + 2 * (first + v * layout.vectors);

			copy_vectors(&layout, data, from, some, false, 1);
			if (shlo_fft((size_t)length, inverse, (size_t)some, from, to))
				shlo_run_lack(run, 0);
			copy_vectors(&layout, data, to, some, true, inverse ? (double)length : 1);
		}
	shlo_tensor_put(packed);
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

	if (!to_real)
		for (int64_t i = 0; i < out->count; i++)
			shlo_set(out, i, shlo_get(x, i));
	if (!to_real || !out->count)
		return out;
	do {
		int64_t place[SHLO_MAX_RANK];
		bool mirrored = index[last] >= x->dims[last];
		struct shlo_num number;

		memcpy(place, index, sizeof(place));
		if (mirrored)
			place[last] = dims[last] - index[last];
		number = shlo_get(x, shlo_offset(x, place));
		if (mirrored)
			number.im = -number.im;
		/*
		 * The first and the middle number of a real signal's spectrum are real; any
		 * imaginary part is ignored.
		 */
		if (index[last] == 0 || 2 * index[last] == dims[last])
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
	/* The results of RFFT are the first numbers of each vector. */
	if (out->count)
		do {
			int64_t from = shlo_offset(work, index);

			for (int64_t i = 0; i < out->dims[rank - 1]; i++)
				shlo_set(out, at++, shlo_get(work, from + i));
		} while (shlo_next(rank - 1, out->dims, index));
	shlo_tensor_put(work);
}
