// SPDX-License-Identifier: MIT
/* Converts values of 4-bit elements in memory to bytes and back, one chunk at a time in SRAM. */
#include "plan/kernel/nibbles.h"

uint64_t nibbles_unpacked_bytes(int64_t elements)
{
	return plan_align((uint64_t)elements);
}

/* A slice of a value, of whole bytes, in both forms: 4-bit elements (packed) and bytes. */
struct chunk {
	struct npu_view packed, bytes; /* in memory */
	/* the packed form in SRAM, seen as bytes and as 4-bit elements */
	struct npu_view packed_tile, nibbles;
	struct npu_view bytes_tile; /* the bytes in SRAM */
};

/* Returns `count` bytes of a dense view from byte `at` on, as one dim of elements of 8 bits. */
static struct npu_view flat(const struct npu_view *like, uint8_t dtype, int64_t at, int64_t count)
{
	struct npu_view view = *like;

	view.dtype = dtype;
	view.rank = 1;
	view.dim[0] = count;
	view.stride[0] = 1;
	view.offset = like->offset + at;
	return view;
}

/* Returns `count` bytes of SRAM as one dim: `count` elements of 8 bits, or twice as many of 4. */
static struct npu_view tile(uint64_t address, uint8_t dtype, int64_t count)
{
	struct npu_view view = { .base = NPU_BASE_NONE,
				 .dtype = dtype,
				 .rank = 1,
				 .window = address,
				 .window_bytes = (uint64_t)count,
				 .dim = { count },
				 .stride = { 1 } };

	if (plan_dtype_is_nibble(dtype))
		view.dim[0] = 2 * count;
	return view;
}

/*
 * Returns the most packed bytes of a chunk. SRAM holds two chunks in both forms, and the bytes take
 * twice the memory of the packed form.
 */
static int64_t chunk_bytes(const struct plan *plan)
{
	return plan_sram(plan) / 6 / PLAN_ALIGN * PLAN_ALIGN;
}

static struct chunk chunk_at(const struct plan *plan, const struct npu_view *packed,
			     const struct npu_view *bytes, int64_t at, uint64_t base)
{
	int64_t most = chunk_bytes(plan), total = (view_elements(packed) + 1) / 2;
	int64_t count = total - at < most ? total - at : most;
	uint64_t address = base + (uint64_t)(at / most % 2 * 3 * most);

	return (struct chunk){
		.packed = flat(packed, ONPU_DT_U8, at, count),
		.bytes = flat(bytes, bytes->dtype, 2 * at, 2 * count),
		.packed_tile = tile(address, ONPU_DT_U8, count),
		.nibbles = tile(address, packed->dtype, count),
		.bytes_tile = tile(address + (uint64_t)most, bytes->dtype, 2 * count),
	};
}

static void convert(struct plan *plan, const struct npu_view *dst, const struct npu_view *src)
{
	plan_emit(plan, &(struct plan_insn){ .op = ONPU_OP_CVT, .dst = dst, .s0 = src });
}

void nibbles_unpack(struct plan *plan, const struct npu_view *bytes, const struct npu_view *packed)
{
	int64_t total = (view_elements(packed) + 1) / 2, step = chunk_bytes(plan);
	uint64_t base = plan_take_sram(plan, 6 * (uint64_t)step);

	for (int64_t at = 0; at < total && !plan->report.failed; at += step) {
		struct chunk c = chunk_at(plan, packed, bytes, at, base);

		plan_transfer(plan, c.packed_tile, c.packed, false);
		convert(plan, &c.bytes_tile, &c.nibbles);
		plan_transfer(plan, c.bytes, c.bytes_tile, true);
	}
}

/*
 * Writes 0 after the last element when the number of elements is odd: the last 4-bit element shares
 * its byte with the one after it.
 */
static void clear_end(struct plan *plan, const struct npu_view *bytes)
{
	struct plan_param zero = plan_param_make(PLAN_FILL);
	struct npu_view end = flat(bytes, bytes->dtype, view_elements(bytes), 1);

	if (view_elements(bytes) % 2)
		plan_emit(plan, &(struct plan_insn){ .op = ONPU_OP_DMA_FILL,
						     .on_st = true,
						     .dst = &end,
						     .param = &zero });
}

void nibbles_pack(struct plan *plan, const struct npu_view *packed, const struct npu_view *bytes)
{
	int64_t total = (view_elements(packed) + 1) / 2, step = chunk_bytes(plan);
	uint64_t base = plan_take_sram(plan, 6 * (uint64_t)step);
	struct plan_param limits = plan_param_make(PLAN_SCALAR);
	bool is_signed = packed->dtype == ONPU_DT_I4;

	limits.scalar.alpha = is_signed ? (uint64_t)-8 : 0;
	limits.scalar.beta = is_signed ? 7 : 15;
	clear_end(plan, bytes);
	for (int64_t at = 0; at < total && !plan->report.failed; at += step) {
		struct chunk c = chunk_at(plan, packed, bytes, at, base);

		plan_transfer(plan, c.bytes_tile, c.bytes, false);
		plan_emit(plan, &(struct plan_insn){ .op = ONPU_OP_VCLAMP,
						     .dst = &c.bytes_tile,
						     .s0 = &c.bytes_tile,
						     .param = &limits });
		convert(plan, &c.nibbles, &c.bytes_tile);
		plan_transfer(plan, c.packed, c.packed_tile, true);
	}
}
