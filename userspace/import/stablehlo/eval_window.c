// SPDX-License-Identifier: MIT
/* Reference kernels of reductions and windows. */
#include "offsets.h"

#include <string.h>

#include "program.h"
#include "run.h"

#define MAX_OPERANDS 64
#define MAX_CELLS    256

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

/* The cells of windows over an operand, in row-major order. */
struct cells {
	const struct shlo_window *window;
	const int64_t *dims; /* of the operand */
	int64_t count;
	/*
	 * offsets of the cells from the first one, for windows that are within the operand; unless
	 * @is_plain, they are not known
	 */
	bool is_plain;
	int64_t offsets[MAX_CELLS];
	/* the position of a window, and for one that is not within the operand the current cell */
	const int64_t *position;
	int64_t first, cell[SHLO_MAX_RANK];
};

static void cells_init(struct cells *c, const struct shlo_window *w, const int64_t *dims,
		       const int64_t *position)
{
	int64_t at = 0;

	*c = (struct cells){ .window = w, .dims = dims, .position = position, .count = 1 };
	c->is_plain = true;
	for (int i = 0; i < w->rank; i++) {
		c->count = shlo_size_mul(c->count, w->size[i]);
		c->is_plain = c->is_plain && w->base_dilation[i] == 1;
	}
	c->is_plain = c->is_plain && c->count <= MAX_CELLS;
	do {
		int64_t offset = 0;

		for (int i = 0; i < w->rank; i++)
			offset = offset * dims[i] + c->cell[i] * w->window_dilation[i];
		if (c->is_plain)
			c->offsets[at++] = offset;
	} while (c->is_plain && shlo_next(w->rank, w->size, c->cell));
}

/* Begins with the window at the position. */
static void cells_begin(struct cells *c)
{
	const struct shlo_window *w = c->window;

	c->first = c->is_plain ? 0 : -1;
	for (int i = 0; i < w->rank && c->first >= 0; i++) {
		int64_t at = c->position[i] * w->stride[i] - w->low[i];
		int64_t last = at + (w->size[i] - 1) * w->window_dilation[i];

		c->first = at >= 0 && last < c->dims[i] ? c->first * c->dims[i] + at : -1;
	}
}

/* Returns the offset of cell @i; -1: it is padding. The cells are asked for one after the other. */
static int64_t cells_next(struct cells *c, int64_t i)
{
	int64_t at;

	if (c->first >= 0)
		return c->first + c->offsets[i];
	at = shlo_under(c->window, c->dims, c->position, c->cell);
	shlo_next(c->window->rank, c->window->size, c->cell);
	return at;
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
	struct cells cells;

	window_of(call, &w);
	cells_init(&cells, &w, x->dims, position);
	reduction_init(&r, call);
	if (call->out[0]->count)
		do {
			cells_begin(&cells);
			for (int64_t i = 0; i < cells.count; i++)
				combine(&r, at, cells_next(&cells, i));
			at++;
		} while (shlo_next(w.rank, call->out[0]->dims, position));
	shlo_applier_exit(&r.applier);
}

/* Returns the comparison that is all that a region of two elements does; NULL: it does something else. */
static const struct shlo_step *only_comparison(const struct shlo_region *region)
{
	const struct shlo_program *p = region->program;

	if (!p || p->step_count != 1 || p->result_count != 1 ||
	    p->steps[0].family != SHLO_COMPARE || p->results[0] != p->steps[0].out ||
	    p->steps[0].in[0] != 0 || p->steps[0].in[1] != 1)
		return NULL;
	return &p->steps[0];
}

/*
 * Returns the index of the element that select chooses in a window; -1: the window holds only
 * padding.
 */
static int64_t selected(struct shlo_applier *select, const struct shlo_step *comparison,
			struct cells *cells, const struct shlo_tensor *x)
{
	struct shlo_num arguments[2], keep;
	int64_t best = -1;

	cells_begin(cells);
	for (int64_t i = 0; i < cells->count; i++) {
		int64_t at = cells_next(cells, i);

		if (at < 0)
			continue;
		arguments[1] = shlo_get(x, at);
		if (best < 0)
			keep.i = false;
		else if (comparison)
			keep = shlo_run_step(comparison, arguments);
		else
			shlo_apply(select, arguments, &keep);
		if (keep.i)
			continue;
		best = at;
		arguments[0] = arguments[1];
	}
	return best;
}

void shlo_eval_select_and_scatter(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0], *source = call->in[1], *initial = call->in[2];
	const struct shlo_region *region = call->op->regions[1];
	struct shlo_tensor *out = shlo_result(call, 0);
	int64_t position[SHLO_MAX_RANK] = { 0 }, at = 0;
	const struct shlo_step *comparison = only_comparison(call->op->regions[0]);
	struct shlo_applier select, scatter;
	struct shlo_window w;
	struct cells cells;

	window_of(call, &w);
	cells_init(&cells, &w, x->dims, position);
	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i,
			 shlo_convert(out->type.element, initial->type.element,
				      shlo_get(initial, 0)));
	if (!source->count)
		return;
	shlo_applier_init(&select, call->run, call->frame, call->op->regions[0]);
	shlo_applier_init(&scatter, call->run, call->frame, region);
	do {
		int64_t to = selected(&select, comparison, &cells, x);
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
