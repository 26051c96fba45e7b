/* SPDX-License-Identifier: MIT */
/* Packs what lives only for a while into as little memory as is easily found. */
#ifndef WNN_RUN_LAYOUT_H
#define WNN_RUN_LAYOUT_H

#include <stdint.h>

/* Lives from step @first to step @last, both included. */
struct run_item {
	uint64_t size;
	uint32_t first, last;
	uint64_t offset;	/* out: a multiple of RUN_ITEM_ALIGN */
};

#define RUN_ITEM_ALIGN UINT64_C(256)

/*
 * run_layout - give every item its place; items that live at the same time do not overlap
 * @total: out: bytes that all of them take
 *
 * Returns 0, or -1 when out of memory.
 */
int run_layout(struct run_item *items, uint32_t count, uint64_t *total);

#endif
