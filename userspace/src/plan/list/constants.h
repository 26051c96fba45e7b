/* SPDX-License-Identifier: MIT */
/*
 * The constants of a program: their offsets, and the recipes of their bytes. The bytes are made
 * only when the memory that the device reads exists, so that each byte is written once. Each
 * constant that the bytes come from is released as soon as they are written.
 */
#ifndef WNN_PLAN_CONSTANTS_H
#define WNN_PLAN_CONSTANTS_H

#include "ir/ir.h"

#define PLAN_SECTION_SOURCES 3

/* A range of a program's constants, with the recipe that writes its bytes. */
struct plan_section {
	uint64_t at, bytes; /* offset and length among the constants */
	struct ir_constant *source[PLAN_SECTION_SOURCES]; /* referenced; NULL: none */
	/* Writes all bytes of the range and reads none of them; NULL: copy the first source. */
	void (*write)(const struct plan_section *section, uint8_t *to);
	void *recipe; /* parameters for write(); allocated by wnn_malloc() */
};

struct wnn_filling;

struct plan_constants {
	struct plan_section *sections; /* in the order of their offsets; empty when dry */
	size_t num, cap;
	uint64_t bytes;
	bool dry; /* only the size is wanted: the plan is a candidate */
};

/* Reserves bytes at the end, aligned; returns their offset. */
uint64_t constants_take(struct plan_constants *constants, uint64_t bytes);
/*
 * constants_add - record the recipe of bytes that were reserved
 *
 * @section: has a higher offset than all sections before; its sources get a reference
 * @size: size of section->recipe, which is copied; 0: it has no recipe
 *
 * Returns 0, or -1 when memory is exhausted.
 */
int constants_add(struct plan_constants *constants, const struct plan_section *section,
		  size_t size);
/*
 * constants_write - write all `bytes` to memory that may be slow to read, and release the sources
 *
 * @filling: the filling that the memory at `to` belongs to, or NULL
 *
 * Returns 0, or -1 when memory is exhausted for a source that is computed here.
 */
int constants_write(struct plan_constants *constants, uint8_t *to, struct wnn_filling *filling);
void constants_release(struct plan_constants *constants);

#endif
