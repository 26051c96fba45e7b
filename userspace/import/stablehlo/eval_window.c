// SPDX-License-Identifier: MIT
/* Reference kernels of reductions and windows. */
#include "offsets.h"

#include <string.h>

#include "run.h"

#define MAX_OPERANDS 64

struct reduction {
	struct shlo_call *call;
	struct shlo_applier applier;
	size_t count; /* number of inputs; equally many initial values follow them */
	struct shlo_num initial[MAX_OPERANDS];
};

/* Sets the results to the initial values. */
static void reduction_init(struct reduction *r, struct shlo_call *call)
{
	const struct shlo_region *region = call->op->regions[0];

	r->call = call;
	r->count = call->op->operand_count / 2;
	if (r->count > MAX_OPERANDS)
		shlo_run_error(call->run, "it has more than %d inputs", MAX_OPERANDS);
	shlo_applier_init(&r->applier, call->run, call->frame, region);
	for (size_t i = 0; i < r->count; i++) {
		const struct shlo_tensor *initial = call->in[r->count + i];
		struct shlo_tensor *out = shlo_result(call, i);

		r->initial[i] = shlo_convert(shlo_argument_element(region, i),
					     initial->type.element, shlo_get(initial, 0));
		for (int64_t k = 0; k < out->count; k++)
			shlo_set(out, k, r->initial[i]);
	}
}

/*
 * Combines elements at offset @from into the results at offset @to; @from < 0 selects the initial
 * values, as padding.
 */
static void combine(struct reduction *r, int64_t to, int64_t from)
{
	struct shlo_num arguments[2 * MAX_OPERANDS], results[MAX_OPERANDS];
	struct shlo_call *call = r->call;

	for (size_t i = 0; i < r->count; i++) {
		arguments[i] = shlo_get(call->out[i], to);
		arguments[r->count + i] =
			from < 0 ?
				r->initial[i] :
				shlo_convert(
					shlo_argument_element(call->op->regions[0], r->count + i),
					call->in[i]->type.element, shlo_get(call->in[i], from));
	}
	shlo_apply(&r->applier, arguments, results);
	for (size_t i = 0; i < r->count; i++)
		shlo_set(call->out[i], to, results[i]);
}

void shlo_eval_reduce(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	int64_t index[SHLO_MAX_RANK] = { 0 }, to[SHLO_MAX_RANK], at = 0;
	struct shlo_list over;
	struct reduction r;

	over.count = (int)shlo_ints_of(shlo_attr_find(&call->op->attrs, "dimensions"), over.at,
				       SHLO_MAX_RANK);
	reduction_init(&r, call);
	if (x->count)
		do {
			int rank = 0;

			for (int i = 0; i < x->type.rank; i++)
				if (!shlo_list_has(&over, i))
					to[rank++] = index[i];
			combine(&r, shlo_offset(call->out[0], to), at++);
		} while (shlo_next(x->type.rank, x->dims, index));
	shlo_applier_exit(&r.applier);
}

int64_t shlo_under(const struct shlo_window *w, const int64_t *dims, const int64_t *position,
		   const int64_t *cell)
{
	int64_t offset = 0;

	for (int i = 0; i < w->rank; i++) {
		int64_t at =
			position[i] * w->stride[i] + cell[i] * w->window_dilation[i] - w->low[i];

		if (at < 0 || at % w->base_dilation[i] || at / w->base_dilation[i] >= dims[i])
			return -1;
		offset = offset * dims[i] + at / w->base_dilation[i];
	}
	return offset;
}

static void window_of(struct shlo_call *call, struct shlo_window *window)
{
	struct shlo_check check = { .guard = &call->run->guard, .run = call->run, .op = call->op };

	shlo_window_numbers(&check, call->in[0]->type.rank, window);
}

void shlo_eval_reduce_window(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	int64_t position[SHLO_MAX_RANK] = { 0 }, at = 0;
	struct shlo_window w;
	struct reduction r;

	window_of(call, &w);
	reduction_init(&r, call);
	if (call->out[0]->count)
		do {
			int64_t cell[SHLO_MAX_RANK] = { 0 };

			do
				combine(&r, at, shlo_under(&w, x->dims, position, cell));
			while (shlo_next(w.rank, w.size, cell));
			at++;
		} while (shlo_next(w.rank, call->out[0]->dims, position));
	shlo_applier_exit(&r.applier);
}

/*
 * Returns the index of the element that select chooses in a window; -1: the window holds only
 * padding.
 */
static int64_t selected(struct shlo_applier *select, const struct shlo_window *w,
			const struct shlo_tensor *x, const int64_t *position)
{
	int64_t cell[SHLO_MAX_RANK] = { 0 }, best = -1;

	do {
		int64_t at = shlo_under(w, x->dims, position, cell);
		struct shlo_num arguments[2], keep;

		if (at < 0)
			continue;
		if (best < 0) {
			best = at;
			continue;
		}
		arguments[0] = shlo_get(x, best);
		arguments[1] = shlo_get(x, at);
		shlo_apply(select, arguments, &keep);
		best = keep.i ? best : at;
	} while (shlo_next(w->rank, w->size, cell));
	return best;
}

void shlo_eval_select_and_scatter(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *source = call->in[1], *initial = call->in[2];
	const struct shlo_region *region = call->op->regions[1];
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t position[SHLO_MAX_RANK] = { 0 }, at = 0;
	struct shlo_applier select, scatter;
	struct shlo_window w;

	window_of(call, &w);
	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i,
			 shlo_convert(out->type.element, initial->type.element,
				      shlo_get(initial, 0)));
	if (!source->count)
		return;
	shlo_applier_init(&select, call->run, call->frame, call->op->regions[0]);
	shlo_applier_init(&scatter, call->run, call->frame, region);
	do {
		int64_t to = selected(&select, &w, x, position);
		struct shlo_num arguments[2], result;

		if (to >= 0) {
			arguments[0] = shlo_get(out, to);
			arguments[1] = shlo_convert(shlo_argument_element(region, 1),
						    source->type.element, shlo_get(source, at));
			shlo_apply(&scatter, arguments, &result);
			shlo_set(out, to, result);
		}
		at++;
	} while (shlo_next(w.rank, source->dims, position));
	shlo_applier_exit(&select);
	shlo_applier_exit(&scatter);
}
