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

int constants_add(struct plan_constants *constants, const struct plan_section *section, size_t size)
{
	struct plan_section *added;
	void *recipe = NULL;

	if (wnn_array_reserve(&constants->sections, &constants->cap, constants->num + 1,
			      sizeof(*constants->sections)))
		return -1;
	if (size) {
		recipe = wnn_malloc(size);
		if (!recipe)
			return -1;
		memcpy(recipe, section->recipe, size);
	}
	added = &constants->sections[constants->num++];
	*added = *section;
	added->recipe = recipe;
	for (int i = 0; i < PLAN_SECTION_SOURCES; i++)
		if (added->source[i])
			ir_constant_ref(added->source[i]);
	return 0;
}

static void section_release(struct plan_section *section)
{
	for (int i = 0; i < PLAN_SECTION_SOURCES; i++)
		ir_constant_unref(section->source[i]);
	wnn_free(section->recipe);
}

static bool compute_sources(const struct plan_section *section)
{
	bool computed = true;

	for (int i = 0; i < PLAN_SECTION_SOURCES; i++)
		computed &= !section->source[i] || ir_constant_data(section->source[i]);
	return computed;
}

int constants_write(struct plan_constants *constants, uint8_t *to, struct wnn_filling *filling)
{
	uint64_t end = 0;

	for (size_t i = 0; i < constants->num; i++) {
		struct plan_section *section = &constants->sections[i];

		if (!compute_sources(section)) {
			for (; i < constants->num; i++)
				section_release(&constants->sections[i]);
			constants->num = 0;
			constants_release(constants);
			return -1;
		}
		if (filling)
			wnn_filling_reach(filling, to + section->at + section->bytes);
		memset(to + end, 0, section->at - end);
		if (section->write)
			section->write(section, to + section->at);
		else
			memcpy(to + section->at, section->source[0]->data, section->bytes);
		end = section->at + section->bytes;
		section_release(section);
	}
	constants->num = 0;
	constants_release(constants);
	return 0;
}

void constants_release(struct plan_constants *constants)
{
	for (size_t i = 0; i < constants->num; i++)
		section_release(&constants->sections[i]);
	wnn_free(constants->sections);
	constants->sections = NULL;
	constants->num = constants->cap = 0;
}
