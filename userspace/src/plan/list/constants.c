// SPDX-License-Identifier: MIT
/*
 * Records what the constants of a program consist of while kernels are planned, and writes them
 * when the device memory for them exists.
 */
#include "plan/list/constants.h"

#include <string.h>

#include "plan/list/plan.h"
#include "util/array.h"
#include "util/malloc.h"

uint64_t constants_take(struct plan_constants *constants, uint64_t bytes)
{
	uint64_t at = plan_align(constants->bytes);

	constants->bytes = at + bytes;
	return at;
}

int constants_add(struct plan_constants *constants, const struct plan_piece *piece, size_t size)
{
	struct plan_piece *added;
	void *recipe = NULL;

	if (wnn_array_reserve(&constants->pieces, &constants->cap, constants->num + 1,
			      sizeof(*constants->pieces)))
		return -1;
	if (size) {
		recipe = wnn_malloc(size);
		if (!recipe)
			return -1;
		memcpy(recipe, piece->recipe, size);
	}
	added = &constants->pieces[constants->num++];
	*added = *piece;
	added->recipe = recipe;
	for (int i = 0; i < PLAN_PIECE_SOURCES; i++)
		if (added->source[i])
			ir_constant_ref(added->source[i]);
	return 0;
}

static void piece_release(struct plan_piece *piece)
{
	for (int i = 0; i < PLAN_PIECE_SOURCES; i++)
		ir_constant_unref(piece->source[i]);
	wnn_free(piece->recipe);
}

static bool compute_sources(const struct plan_piece *piece)
{
	bool computed = true;

	for (int i = 0; i < PLAN_PIECE_SOURCES; i++)
		computed &= !piece->source[i] || ir_constant_data(piece->source[i]);
	return computed;
}

int constants_write(struct plan_constants *constants, uint8_t *to, struct wnn_filling *filling)
{
	uint64_t end = 0;

	for (size_t i = 0; i < constants->num; i++) {
		struct plan_piece *piece = &constants->pieces[i];

		if (!compute_sources(piece)) {
			for (; i < constants->num; i++)
				piece_release(&constants->pieces[i]);
			constants->num = 0;
			constants_release(constants);
			return -1;
		}
		if (filling)
			wnn_filling_reach(filling, to + piece->at + piece->bytes);
		memset(to + end, 0, piece->at - end);
		if (piece->write)
			piece->write(piece, to + piece->at);
		else
			memcpy(to + piece->at, piece->source[0]->data, piece->bytes);
		end = piece->at + piece->bytes;
		piece_release(piece);
	}
	constants->num = 0;
	constants_release(constants);
	return 0;
}

void constants_release(struct plan_constants *constants)
{
	for (size_t i = 0; i < constants->num; i++)
		piece_release(&constants->pieces[i]);
	wnn_free(constants->pieces);
	constants->pieces = NULL;
	constants->num = constants->cap = 0;
}
