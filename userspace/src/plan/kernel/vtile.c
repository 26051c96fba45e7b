// SPDX-License-Identifier: MIT
/*
 * Emits vector programs in tiles of whole rows, when rows fit into SRAM: each tile is loaded,
 * computed and stored once. The loads of the next tile come before the instructions of a tile, so
 * that they overlap, unless plan_pause() says that the program may have to be cut between two
 * tiles.
 */
#include "plan/list/cost.h"
#include "plan/list/split.h"
#include "plan/kernel/vprog.h"

#include <string.h>

struct vtile {
	int64_t tile[IR_MAX_RANK], grid[IR_MAX_RANK];
	uint64_t tiles;
	bool here[VP_MAX_REGS];	     /* by register: it is in SRAM and needs no tile */
	uint32_t slots[VP_MAX_REGS]; /* by register: number of tiles in SRAM; 2: double buffered */
	uint64_t address[VP_MAX_REGS][2];
	uint64_t bytes;
	uint64_t cycles;
};

/* ---- addresses of registers */

/*
 * Returns true if a program reads one of two registers and writes the other; false for two outputs
 * that no instruction reads.
 */
static bool are_together(const struct vprog *prog, uint32_t input, uint32_t output)
{
	return prog->reg[input].kind == VP_INPUT || vp_last_use(prog, (int)input) >= 0 ||
	       vp_last_use(prog, (int)output) >= 0;
}

/*
 * Finds inputs and outputs that are in SRAM and need no tile. An output whose window overlaps that
 * of an input gets a tile nevertheless: writing it in place could overwrite elements that are read
 * later.
 */
static void find_resident(const struct vprog *prog, struct vtile *vt)
{
	for (uint32_t r = 0; r < prog->num_regs; r++)
		vt->here[r] = prog->reg[r].kind == VP_INPUT &&
			      prog->reg[r].mem.base == NPU_BASE_NONE;
	for (uint32_t r = 0; r < prog->num_regs; r++) {
		const struct vp_reg *reg = &prog->reg[r];

		if (reg->kind != VP_OUTPUT || reg->mem.base != NPU_BASE_NONE)
			continue;
		vt->here[r] = true;
		for (uint32_t i = 0; i < prog->num_regs; i++)
			if (i != r && vt->here[i] && are_together(prog, i, r) &&
			    views_share_window(&reg->mem, &prog->reg[i].mem))
				vt->here[r] = false;
	}
}

/*
 * Returns a temporary whose tile register `reg` can overwrite: operation `def`, which computes
 * `reg`, is the last that reads it; -1: there is none.
 */
static int in_place_of(const struct vprog *prog, int reg, int def)
{
	const struct vp_op *op = &prog->op[def];

	if (vp_is_reduction(op->op) || op->op == ONPU_OP_SCAN_SUM)
		return -1;
	for (int s = 0; s < 3 && op->src[s] >= 0; s++) {
		const struct vp_reg *src = &prog->reg[op->src[s]];

		if (src->kind == VP_TEMP && src->mask == prog->reg[reg].mask && op->src[s] != reg &&
		    plan_dtype_bytes(src->dtype) == plan_dtype_bytes(prog->reg[reg].dtype) &&
		    vp_last_use(prog, op->src[s]) == def)
			return op->src[s];
	}
	return -1;
}

/* Returns the index of the first operation that writes a register. */
static int definition(const struct vprog *prog, int reg)
{
	for (uint32_t i = 0; i < prog->num_ops; i++)
		if (prog->op[i].dst == reg)
			return i;
	return 0;
}

/*
 * Assigns SRAM from `base` on to the temporaries, which share it when their live ranges do not
 * overlap; returns their bytes.
 */
static uint64_t place_temps(const struct vprog *prog, struct vtile *vt, uint64_t base)
{
	struct memory_interval interval[VP_MAX_REGS];
	uint32_t count = 0, group[VP_MAX_REGS];
	uint64_t total = 0;

	for (uint32_t r = 0; r < prog->num_regs; r++) {
		int def = definition(prog, r), last = vp_last_use(prog, r), with;

		if (prog->reg[r].kind != VP_TEMP)
			continue;
		with = in_place_of(prog, r, def);
		if (with >= 0 && with < (int)r) {
			group[r] = group[with];
			interval[group[r]].end = last < def ? def : last;
			continue;
		}
		group[r] = count;
		interval[count++] = (struct memory_interval){
			.bytes = vp_tile_bytes(&prog->reg[r], prog->rank, vt->tile),
			.begin = def,
			.end = last < def ? def : last,
		};
	}
	_Static_assert(VP_MAX_REGS <= MEMORY_FEW, "packing could run out of memory");
	if (memory_pack(interval, count, &total))
		return UINT32_MAX;
	for (uint32_t r = 0; r < prog->num_regs; r++)
		if (prog->reg[r].kind == VP_TEMP)
			vt->address[r][0] = vt->address[r][1] = base + interval[group[r]].offset;
	return total;
}

/* Returns true if tiles of a register are loaded from memory or stored to it. */
static bool needs_tile(const struct vprog *prog, const struct vtile *vt, uint32_t r)
{
	return (prog->reg[r].kind == VP_INPUT || prog->reg[r].kind == VP_OUTPUT) && !vt->here[r];
}

static void place(const struct vprog *prog, struct vtile *vt)
{
	uint64_t at = 0;

	for (uint32_t r = 0; r < prog->num_regs; r++) {
		const struct vp_reg *reg = &prog->reg[r];
		uint64_t bytes = vp_tile_bytes(reg, prog->rank, vt->tile), distinct = 1;

		if (!needs_tile(prog, vt, r))
			continue;
		for (uint32_t i = 0; i < prog->rank; i++)
			if (reg->mask >> i & 1)
				distinct *= vt->grid[i];
		vt->slots[r] = distinct > 1 ? 2 : 1;
		vt->address[r][0] = at;
		vt->address[r][1] = at + (vt->slots[r] - 1) * bytes;
		at += vt->slots[r] * bytes;
	}
	vt->bytes = at + place_temps(prog, vt, at);
}

/* ---- the cost of a tile size */

/* Returns how often tiles of an input are loaded, given that its last tile stays in SRAM. */
static uint64_t loads_of(const struct vprog *prog, const struct vtile *vt, const struct vp_reg *reg)
{
	uint64_t loads = 1, n = 1;

	for (uint32_t i = 0; i < prog->rank; i++) {
		n *= vt->grid[i];
		if ((reg->mask >> i & 1) && vt->grid[i] > 1)
			loads = n;
	}
	return loads;
}

static uint64_t op_cost(const struct plan *plan, const struct vp_op *op,
			const struct npu_view *tiles)
{
	return plan_cost_insn(plan->caps, &(struct plan_insn){
						  .op = op->op,
						  .dst = &tiles[op->dst],
						  .s0 = op->src[0] < 0 ? NULL : &tiles[op->src[0]],
						  .s1 = op->src[1] < 0 ? NULL : &tiles[op->src[1]],
						  .s2 = op->src[2] < 0 ? NULL : &tiles[op->src[2]],
						  .param = op->has_param ? &op->param : NULL,
					  });
}

/*
 * Sets vt->cycles to the estimated cycles of a program; UINT64_MAX: an instruction takes too long.
 */
static void estimate(const struct plan *plan, const struct vprog *prog, struct vtile *vt)
{
	static const int64_t zero[IR_MAX_RANK];
	uint64_t ld = 0, st = 0, vpu = 0, first = 0, worst = 0;
	struct npu_view tiles[VP_MAX_REGS];

	for (uint32_t r = 0; r < prog->num_regs; r++) {
		const struct vp_reg *reg = &prog->reg[r];
		struct npu_view mem;
		uint64_t cost;

		tiles[r] = reg->kind == VP_SLICE ? vp_slice_view(reg, tiles) :
						   vp_tile_view(reg, 0, prog->rank, vt->tile);
		if (!needs_tile(prog, vt, r))
			continue;
		mem = view_slice(&reg->mem, zero, tiles[r].dim);
		cost = plan_cost_copy(plan->caps, tiles[r], mem);
		if (cost > worst)
			worst = cost;
		if (reg->kind == VP_INPUT) {
			ld += cost * loads_of(prog, vt, reg);
			first += cost;
		} else {
			st += cost * vt->tiles;
			first += cost;
		}
	}
	for (uint32_t i = 0; i < prog->num_ops; i++) {
		uint64_t cost = op_cost(plan, &prog->op[i], tiles);

		if (cost > worst)
			worst = cost;
		vpu += cost * vt->tiles;
	}
	first += vpu / vt->tiles + 40;
	vt->cycles = (ld > st ? ld : st) > vpu ? (ld > st ? ld : st) : vpu;
	vt->cycles += first + vt->tiles * (prog->num_ops + prog->num_regs) * 4;
	if (worst > ONPU_MAX_COST)
		vt->cycles = UINT64_MAX;
}

/* Computes addresses and cycles of a tile size; false: it cannot be used. */
static bool evaluate(const struct plan *plan, const struct vprog *prog, struct vtile *vt)
{
	vt->tiles = 1;
	for (uint32_t i = 0; i < prog->rank; i++) {
		vt->grid[i] = (int64_t)wnn_div_up(prog->dim[i], vt->tile[i]);
		vt->tiles *= vt->grid[i];
	}
	place(prog, vt);
	if (vt->bytes > plan_sram(plan))
		return false;
	estimate(plan, prog, vt);
	return vt->cycles != UINT64_MAX;
}

/*
 * Doubles the tile along the dim where that gives the fewest cycles, at most to the whole extent;
 * false: no larger tile can be used.
 */
static bool grow(const struct plan *plan, const struct vprog *prog, struct vtile *vt)
{
	struct vtile best = { .cycles = UINT64_MAX };

	for (uint32_t i = prog->rank; i-- > 0;) {
		struct vtile next = *vt;

		if (vt->tile[i] == prog->dim[i])
			continue;
		next.tile[i] = vt->tile[i] * 2 < prog->dim[i] ? vt->tile[i] * 2 : prog->dim[i];
		if (evaluate(plan, prog, &next) && next.cycles < best.cycles)
			best = next;
	}
	if (best.cycles == UINT64_MAX)
		return false;
	*vt = best;
	return true;
}

/* Chooses the tile with the fewest cycles; false: not even the smallest one can be used. */
static bool choose(const struct plan *plan, const struct vprog *prog, struct vtile *best)
{
	struct vtile vt = { .bytes = 0 };

	find_resident(prog, &vt);
	for (uint32_t i = 0; i < prog->rank; i++)
		vt.tile[i] = prog->whole >> i & 1 ? prog->dim[i] : 1;
	if (!evaluate(plan, prog, &vt))
		return false;
	*best = vt;
	while (grow(plan, prog, &vt))
		if (vt.cycles <= best->cycles)
			*best = vt;
	return true;
}

/* ---- emission */

struct vtile_state {
	int64_t key[VP_MAX_REGS]; /* by input: the tile that its current slot holds; -1: none */
	uint32_t slot[VP_MAX_REGS];
};

static void forget_tiles(struct vtile_state *state)
{
	for (uint32_t r = 0; r < VP_MAX_REGS; r++)
		state->key[r] = -1;
}

static void tile_at(const struct vprog *prog, const struct vtile *vt, uint64_t index,
		    int64_t *begin, int64_t *dim)
{
	for (uint32_t i = prog->rank; i-- > 0;) {
		begin[i] = index % vt->grid[i] * vt->tile[i];
		dim[i] = prog->dim[i] - begin[i] < vt->tile[i] ? prog->dim[i] - begin[i] :
								 vt->tile[i];
		index /= vt->grid[i];
	}
}

static int64_t key_of(const struct vprog *prog, const struct vp_reg *reg, const int64_t *begin)
{
	int64_t key = 0;

	for (uint32_t i = 0; i < prog->rank; i++)
		if (reg->mask >> i & 1)
			key = key * prog->dim[i] + begin[i];
	return key;
}

static struct npu_view memory_slice(const struct vprog *prog, const struct vp_reg *reg,
				    const int64_t *begin, const struct npu_view *tile)
{
	int64_t at[IR_MAX_RANK];

	for (uint32_t i = 0; i < prog->rank; i++)
		at[i] = reg->mask >> i & 1 ? begin[i] : 0;
	return view_slice(&reg->mem, at, tile->dim);
}

static void load_tile(struct plan *plan, const struct vprog *prog, const struct vtile *vt,
		      struct vtile_state *state, uint64_t index)
{
	int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK];

	tile_at(prog, vt, index, begin, dim);
	for (uint32_t r = 0; r < prog->num_regs; r++) {
		const struct vp_reg *reg = &prog->reg[r];
		struct npu_view tile;

		if (reg->kind != VP_INPUT || !needs_tile(prog, vt, r) ||
		    state->key[r] == key_of(prog, reg, begin))
			continue;
		state->key[r] = key_of(prog, reg, begin);
		state->slot[r] = (state->slot[r] + 1) % vt->slots[r];
		tile = vp_tile_view(reg, vt->address[r][state->slot[r]], prog->rank, dim);
		plan_transfer(plan, tile, memory_slice(prog, reg, begin, &tile), false);
	}
}

static void compute_tile(struct plan *plan, const struct vprog *prog, const struct vtile *vt,
			 const struct vtile_state *state, uint64_t index)
{
	struct npu_view tiles[VP_MAX_REGS];
	int64_t begin[IR_MAX_RANK], dim[IR_MAX_RANK];

	tile_at(prog, vt, index, begin, dim);
	for (uint32_t r = 0; r < prog->num_regs; r++) {
		uint32_t slot = prog->reg[r].kind == VP_INPUT ? state->slot[r] : index % 2;

		if (prog->reg[r].kind == VP_SLICE) {
			tiles[r] = vp_slice_view(&prog->reg[r], tiles);
			continue;
		}
		tiles[r] = vp_tile_view(&prog->reg[r], vt->address[r][slot], prog->rank, dim);
		if (vt->here[r])
			tiles[r] = memory_slice(prog, &prog->reg[r], begin, &tiles[r]);
	}
	for (uint32_t i = 0; i < prog->num_ops; i++)
		vp_emit_op(plan, prog, &prog->op[i], tiles, begin, dim);
	for (uint32_t r = 0; r < prog->num_regs; r++)
		if (prog->reg[r].kind == VP_OUTPUT && needs_tile(prog, vt, r))
			plan_transfer(plan, memory_slice(prog, &prog->reg[r], begin, &tiles[r]),
				      tiles[r], true);
}

bool vtile_emit(struct plan *plan, const struct vprog *prog)
{
	struct vtile_state now, next;
	struct vtile vt;
	uint64_t base;

	if (!choose(plan, prog, &vt))
		return false;
	base = plan_take_sram(plan, vt.bytes);
	forget_tiles(&now);
	for (uint32_t r = 0; r < VP_MAX_REGS; r++) {
		now.slot[r] = 0;
		vt.address[r][0] += base;
		vt.address[r][1] += base;
	}
	load_tile(plan, prog, &vt, &now, 0);
	for (uint64_t i = 0; i < vt.tiles && !plan->report.failed; i++) {
		bool pause = plan_pause(plan);

		next = now;
		if (i + 1 < vt.tiles && !pause)
			load_tile(plan, prog, &vt, &next, i + 1);
		compute_tile(plan, prog, &vt, &now, i);
		if (i + 1 < vt.tiles && pause) {
			forget_tiles(&next);
			load_tile(plan, prog, &vt, &next, i + 1);
		}
		now = next;
	}
	plan_tiles(plan, vt.tiles);
	return true;
}
