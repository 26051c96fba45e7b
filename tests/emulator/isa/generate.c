// SPDX-License-Identifier: MIT
/* Implements generate.h: random operands. */
#include "generate.h"

#include <string.h>

#include "reference.h"

unsigned int gen_rank(struct gen *g, unsigned int low, unsigned int high)
{
	return (unsigned int)rng_between(&g->random, low, high);
}

static void swap_dims(uint32_t *dims, unsigned int a, unsigned int b)
{
	uint32_t t = dims[a];

	dims[a] = dims[b];
	dims[b] = t;
}

/* Draws dimensions whose product is at most budget; a large one is likelier to be the last. */
void gen_dims(struct gen *g, unsigned int rank, uint64_t budget, uint32_t *dims)
{
	memset(dims, 0, ONPU_MAX_RANK * sizeof(*dims));
	for (unsigned int d = rank; d-- > 0;) {
		uint64_t most = rng_chance(&g->random, 40) ? budget : 5;

		if (rng_chance(&g->random, 15))
			most = 1;
		if (most > budget)
			most = budget;
		dims[d] = (uint32_t)rng_between(&g->random,
						most > 5 && budget > 500 ? (int64_t)most / 4 : 1,
						(int64_t)most);
		budget /= dims[d];
	}
	if (rank > 1 && rng_chance(&g->random, 30))
		swap_dims(dims, (unsigned int)rng_below(&g->random, rank),
			  (unsigned int)rng_below(&g->random, rank));
}

static unsigned int random_type(struct gen *g, unsigned int types)
{
	unsigned int n = (unsigned int)rng_below(&g->random, (uint64_t)__builtin_popcount(types));

	while (n--)
		types &= types - 1;
	return (unsigned int)__builtin_ctz(types);
}

/*
 * Draws types that the instruction takes: of the set of types of each operand, and of one type for
 * those operands that must have the same one or the same integers.
 */
void gen_types(struct gen *g)
{
	const unsigned int floats = ONPU_TYPES_FLOAT;
	unsigned int ints = rng_chance(&g->random, 60) ? floats : 0, same = 0xffff;

	for (unsigned int x = 0; x < 4; x++) {
		if (g->info->same >> x & 1)
			same &= g->info->operands[x].dtypes;
		if (g->info->same_ints >> x & 1 && !ints) {
			ints = 1u << random_type(g, ONPU_TYPES_NUM);
			if (!(ints & g->info->operands[x].dtypes))
				ints = floats;
		}
	}
	same = 1u << random_type(g, same);
	if (ints & floats)
		ints = floats;
	for (unsigned int x = 0; x < 4; x++) {
		unsigned int types = g->info->operands[x].dtypes;

		if (!g->info->operands[x].present)
			continue;
		if (g->info->same >> x & 1)
			types &= same;
		if (g->info->same_ints >> x & 1)
			types &= ints;
		g->dtype[x] = random_type(g, types ? types : g->info->operands[x].dtypes);
	}
}

static unsigned int random_space(struct gen *g)
{
	if (g->info->engine == ONPU_ENG_MXU || g->info->engine == ONPU_ENG_VPU)
		return ONPU_SPACE_SRAM;
	return rng_chance(&g->random, 50) ? ONPU_SPACE_SRAM : ONPU_SPACE_VA;
}

/* Reserves size bytes that no other operand has, at a multiple of align; returns the address. */
static uint64_t allocate(struct gen *g, unsigned int space, uint64_t size, uint64_t align)
{
	uint64_t *at = space == ONPU_SPACE_SRAM ? &g->sram_free : &g->memory_free;
	uint64_t limit = space == ONPU_SPACE_SRAM ? rig_sram_bytes(g->job->size) :
						    g->job->memory_size;
	uint64_t start = (*at + align - 1) / align * align;

	if (size > limit || start > limit - size) {
		g->failed = true;
		return space == ONPU_SPACE_SRAM ? 0 : RIG_BASE + RIG_DATA;
	}
	*at = start + size + rng_below(&g->random, 40);
	return space == ONPU_SPACE_SRAM ? start : RIG_BASE + start;
}

static int64_t gap(struct gen *g)
{
	return rng_chance(&g->random, 60) ? 0 : rng_between(&g->random, 1, 3);
}

/* Draws an order of the dimensions, from the innermost in memory to the outermost. */
static void random_order(struct gen *g, unsigned int rank, unsigned int *order)
{
	for (unsigned int d = 0; d < rank; d++)
		order[d] = rank - 1 - d;
	for (unsigned int d = rank; d > 1; d--) {
		unsigned int other = (unsigned int)rng_below(&g->random, d), t = order[d - 1];

		order[d - 1] = order[other];
		order[other] = t;
	}
}

/*
 * Draws strides, in elements, with which no two elements overlap: dense ones, or some with gaps and
 * negative signs, of which half have the dimensions in a random order. Dimensions of the mask @skip
 * get stride 0.
 */
static void separate_strides(struct gen *g, unsigned int rank, const uint32_t *dims,
			     unsigned int skip, int64_t *stride)
{
	bool dense = rng_chance(&g->random, 40), rows = rng_chance(&g->random, 50);
	unsigned int order[ONPU_MAX_RANK];
	int64_t next = 1;

	for (unsigned int d = 0; d < rank; d++)
		order[d] = rank - 1 - d;
	if (!dense && !rows)
		random_order(g, rank, order);
	for (unsigned int n = 0; n < rank; n++) {
		unsigned int d = order[n];

		if (skip >> d & 1) {
			stride[d] = 0;
			continue;
		}
		if (!dense && (n || !rng_chance(&g->random, 70)))
			next += gap(g);
		stride[d] = !dense && rng_chance(&g->random, 20) ? -next : next;
		/* A dimension of one element may have any stride. */
		if (dims[d] == 1 && rng_chance(&g->random, 30))
			stride[d] = rng_between(&g->random, -1000, 1000);
		else
			next *= dims[d];
	}
}

/*
 * Puts a tensor with these strides (in elements) at a free address; sets g->failed when there is no
 * room.
 */
static void place(struct gen *g, unsigned int x, unsigned int rank, const uint32_t *dims,
		  const int64_t *stride)
{
	struct onpu_slot_tensor *t = &g->slot[x].tensor;
	unsigned int dtype = g->dtype[x], e = ref_size(dtype);
	bool nibble = ref_is_nibble(dtype), tight = rng_chance(&g->random, 40);
	int64_t low = x < 3 ? g->taps_low[x] : 0, high = (x < 3 ? g->taps_high[x] : 0) + e;
	int64_t before = tight ? 0 : rng_between(&g->random, 0, 9);
	int64_t after = tight ? 0 : rng_between(&g->random, 0, 9);

	memset(t, 0, sizeof(*t));
	t->kind = ONPU_SLOT_TENSOR;
	t->dtype = (uint8_t)dtype;
	t->rank = (uint8_t)rank;
	t->space = (uint8_t)random_space(g);
	for (unsigned int d = 0; d < rank; d++) {
		int64_t by = stride[d] * e * ((int64_t)dims[d] - 1);

		t->dim[d] = dims[d];
		t->stride[d] = stride[d] * e;
		*(by < 0 ? &low : &high) += by;
	}
	t->offset = (uint64_t)(before - low);
	t->size = (uint64_t)(before + high - low + after);
	if (nibble) {
		t->size = (t->size + 1) / 2;
		t->base = allocate(g, t->space, t->size, 1);
		return;
	}
	/* base + offset is aligned; base itself need not be */
	t->base = allocate(g, t->space, t->size + e, 1);
	t->base += (e - (t->base + t->offset) % e) % e;
}

void gen_written(struct gen *g, unsigned int x, unsigned int rank, const uint32_t *dims)
{
	int64_t stride[ONPU_MAX_RANK];

	separate_strides(g, rank, dims, 0, stride);
	place(g, x, rank, dims, stride);
	gen_fill(g, x, (unsigned int)rng_below(&g->random, FILL_STYLES));
}

/*
 * Makes source @x the destination itself in some cases in which the instruction allows it; returns
 * whether it does.
 */
static bool in_place(struct gen *g, unsigned int x)
{
	struct onpu_slot_tensor *t = &g->slot[x].tensor;
	const struct onpu_slot_tensor *dst = &g->slot[0].tensor;

	if (!(g->info->inplace >> x & 1) || ref_bits(g->dtype[x]) != ref_bits(g->dtype[0]) ||
	    !rng_chance(&g->random, 15))
		return false;
	*t = *dst;
	t->dtype = (uint8_t)g->dtype[x];
	for (unsigned int d = 0; d < t->rank; d++)
		if (t->dim[d] == 1)
			t->stride[d] = 0;
	return true;
}

void gen_source(struct gen *g, unsigned int x, unsigned int rank, const uint32_t *dims,
		unsigned int zero_strides)
{
	int64_t stride[ONPU_MAX_RANK];
	unsigned int zero = zero_strides & 0xff;

	if (in_place(g, x))
		return;
	if (zero_strides & STRIDES_RANDOM && rng_chance(&g->random, 40))
		zero = (unsigned int)rng_below(&g->random, 256);
	separate_strides(g, rank, dims, zero, stride);
	/* Elements of a source may overlap one another. */
	if (rng_chance(&g->random, 12))
		for (unsigned int d = 0; d < rank; d++)
			stride[d] = rng_between(&g->random, -3, 3);
	place(g, x, rank, dims, stride);
	gen_fill(g, x, (unsigned int)rng_below(&g->random, FILL_STYLES));
}

static uint32_t special_float(struct gen *g)
{
	static const uint32_t specials[] = {
		0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
		0xffc00000, 0x7f800001, 0xffabcdef, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
		0xff7fffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0x4b000001, 0xcb800000,
		0x477fe000, 0x477ff000, 0x387fc000, 0x33000000, 0x33000001, 0x4f000000, 0xcf000000,
		0x5f000000, 0xdf000000, 0x5f800000, 0x43000000, 0xc2ff0000, 0x41200000, 0x3fc90fdb,
		0x4d800000, 0x7e800000, 0xc0000000, 0x40c00000, 0xc0400000,
	};

	return specials[rng_below(&g->random, sizeof(specials) / sizeof(*specials))];
}

static uint64_t float_bits(struct gen *g, unsigned int dtype, unsigned int style)
{
	uint32_t bits = (uint32_t)rng_bits(&g->random);
	float f;

	if (style == FILL_SPECIAL && rng_chance(&g->random, 50)) {
		bits = special_float(g);
	} else if (style != FILL_ANY) {
		int spread = style == FILL_PLAIN ? 3 : 30;
		uint32_t exponent = (uint32_t)rng_between(&g->random, 127 - spread, 126 + spread);

		bits = (bits & 0x807fffff) | exponent << 23;
		if (rng_chance(&g->random, 10))
			bits &= 0xffff0000;
	}
	f = ref_float_of(bits);
	if (dtype == ONPU_DT_F32)
		return bits;
	if (style == FILL_ANY)
		return bits & 0xffff;
	return dtype == ONPU_DT_F16 ? ref_to_half(f) : ref_to_bfloat(f);
}

uint64_t gen_bits(struct gen *g, unsigned int dtype, unsigned int style)
{
	uint64_t any = rng_bits(&g->random);

	if (ref_is_float(dtype))
		return float_bits(g, dtype, style);
	if (ref_is_small(dtype))
		/*
		 * For FILL_PLAIN, scales are 2^-8 to 2^7. The other small types get any pattern,
		 * because their range is small.
		 */
		return style == FILL_PLAIN && dtype == ONPU_DT_F8E8M0 ? 119 + any % 16 : any & 255;
	if (style == FILL_PLAIN)
		return (uint64_t)rng_between(&g->random, ref_is_signed(dtype) ? -5 : 0, 9);
	if (style == FILL_SPECIAL && rng_chance(&g->random, 50)) {
		const ref_int specials[] = {
			0,
			1,
			-1,
			2,
			ref_least(dtype),
			ref_greatest(dtype),
			ref_least(dtype) + 1,
			ref_greatest(dtype) - 1,
			63,
			64,
			127,
			128,
			255,
		};

		return (uint64_t)specials[any % (sizeof(specials) / sizeof(*specials))];
	}
	if (style == FILL_WIDE)
		return (uint64_t)((int64_t)any >> rng_below(&g->random, 64));
	return any;
}

static uint8_t *initial_byte(struct gen *g, unsigned int space, uint64_t address)
{
	return space == ONPU_SPACE_SRAM ? g->job->sram + address :
					  g->job->memory + (address - RIG_BASE);
}

/* Fills every element position of the window, whatever the strides. */
void gen_fill(struct gen *g, unsigned int x, unsigned int style)
{
	const struct onpu_slot_tensor *t = &g->slot[x].tensor;
	unsigned int e = ref_size(t->dtype);
	uint64_t first = ref_is_nibble(t->dtype) ? 0 : t->offset % e;

	if (g->failed)
		return;
	for (uint64_t at = first; at + e <= t->size; at += e) {
		uint64_t bits = gen_bits(g, t->dtype, style);

		if (ref_is_nibble(t->dtype))
			bits = rng_bits(&g->random);
		for (unsigned int b = 0; b < e; b++)
			*initial_byte(g, t->space, t->base + at + b) = (uint8_t)(bits >> 8 * b);
	}
}

/* Sets the initial content of one element (types of 8 bits and more). */
void gen_set_bits(struct gen *g, unsigned int x, const uint32_t *index, uint64_t bits)
{
	const struct onpu_slot_tensor *t = &g->slot[x].tensor;
	uint64_t at = t->base + t->offset;

	if (g->failed)
		return;
	for (unsigned int d = 0; d < t->rank; d++)
		at += (uint64_t)(index[d] * t->stride[d]);
	for (unsigned int b = 0; b < ref_size(t->dtype); b++)
		*initial_byte(g, t->space, at + b) = (uint8_t)(bits >> 8 * b);
}

void gen_scalar(struct gen *g, unsigned int dtype)
{
	struct onpu_slot_param_scalar *p = &g->slot[ONPU_OPERAND_PARAM].scalar;
	unsigned int style = (unsigned int)rng_below(&g->random, FILL_STYLES);

	memset(p, 0, sizeof(*p));
	p->kind = ONPU_SLOT_PARAM;
	p->schema = ONPU_SCHEMA_SCALAR;
	if (ref_is_float(dtype)) {
		p->alpha = float_bits(g, ONPU_DT_F32, style);
		p->beta = float_bits(g, ONPU_DT_F32, style);
	} else {
		/* The numbers may be ones that the type does not have. */
		bool own = rng_chance(&g->random, 70);

		p->alpha = gen_bits(g, own ? dtype : ONPU_DT_I64, style);
		p->beta = gen_bits(g, own ? dtype : ONPU_DT_I64, style);
	}
	if (rng_chance(&g->random, 20))
		p->gamma = (uint32_t)rng_bits(&g->random);
}

/* Draws a PARAM slot TAPS, and records how far it moves the operands. */
void gen_taps(struct gen *g, unsigned int max_taps, bool moving)
{
	struct onpu_slot_param_taps *p = &g->slot[ONPU_OPERAND_PARAM].taps;

	memset(p, 0, sizeof(*p));
	p->kind = ONPU_SLOT_PARAM;
	p->schema = ONPU_SCHEMA_TAPS;
	for (unsigned int l = 0; l < ONPU_TAPS_LOOPS; l++) {
		struct onpu_slot_param_taps_loop *loop = &p->loop[l];
		int64_t *step[3] = { &loop->dst_step, &loop->s0_step, &loop->s1_step };

		loop->count = (uint32_t)rng_between(&g->random, 1, max_taps < 4 ? max_taps : 4);
		max_taps /= loop->count;
		for (unsigned int x = 0; x < 3; x++) {
			if (!g->has[x] || (x == 0 && !moving) || rng_chance(&g->random, 20))
				continue;
			*step[x] = rng_between(&g->random, -6, 10) * ref_size(g->dtype[x]);
			int64_t by = *step[x] * ((int64_t)loop->count - 1);

			*(by < 0 ? &g->taps_low[x] : &g->taps_high[x]) += by;
		}
	}
}

static uint64_t random_budget(struct gen *g)
{
	if (g->job->size == RIG_LARGE)
		return (uint64_t)rng_between(&g->random, 3000, 30000);
	if (rng_chance(&g->random, 65))
		return (uint64_t)rng_between(&g->random, 1, 40);
	return (uint64_t)rng_between(&g->random, 40, g->job->size == RIG_ODD ? 400 : 1000);
}

static void fill_noise(struct gen *g, uint8_t *at, uint32_t n)
{
	uint64_t bits;

	for (uint32_t i = 0; i + 8 <= n; i += 8) {
		bits = rng_bits(&g->random);
		memcpy(at + i, &bits, 8);
	}
}

/* Puts the operands at random indices of the slot table, among unused slots. */
static void put_slots(struct gen *g)
{
	uint16_t *index[ONPU_OPERAND_COUNT] = {
		&g->insn.dst, &g->insn.s0, &g->insn.s1, &g->insn.s2, &g->insn.param,
	};
	unsigned int used = 1 + (unsigned int)rng_below(&g->random, 20);

	for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++) {
		if (!g->has[x])
			continue;
		rig_put_slot(g->job, used, &g->slot[x]);
		*index[x] = (uint16_t)used;
		used += 1 + (unsigned int)rng_below(&g->random, 12);
	}
	g->job->program.num_slots += (unsigned int)rng_below(&g->random, 4);
}

static void put_program(struct gen *g)
{
	struct onpu_insn end = { .op = ONPU_OP_END };
	struct ref_machine m = rig_reference_machine(g->job->size);

	end.code = (uint16_t)rng_below(&g->random, 3);
	g->insn.ts = rng_chance(&g->random, 80);
	rig_put_insn(g->job, 0, &g->insn);
	rig_put_insn(g->job, 1, &end);
	/* Sometimes the program has no more SRAM than the operands need. */
	if (rng_chance(&g->random, 30) && g->sram_free < m.sram_bytes)
		rig_slot(g->job, 0)->program.sram_bytes = (uint32_t)g->sram_free;
}

static void pick_operands(struct gen *g)
{
	for (unsigned int x = 0; x < ONPU_OPERAND_COUNT; x++)
		g->has[x] = g->info->operands[x].present &&
			    !(g->info->operands[x].optional && rng_chance(&g->random, 50));
}

/*
 * Makes g->job: the instruction, its slots and the contents of its operands. Sets g->failed when
 * they do not fit into memory.
 */
static void generate_once(struct gen *g, enum onpu_op op)
{
	g->insn = (struct onpu_insn){ .op = op };
	g->info = &onpu_op_info[op];
	g->failed = false;
	memset(g->slot, 0, sizeof(g->slot));
	memset(g->taps_low, 0, sizeof(g->taps_low));
	memset(g->taps_high, 0, sizeof(g->taps_high));
	g->sram_free = rng_below(&g->random, 64);
	g->memory_free = RIG_DATA + rng_below(&g->random, 64);
	pick_operands(g);
	gen_types(g);
	switch (g->info->cost) {
	case ONPU_COST_DMA:
	case ONPU_COST_GATHER:
		generate_dma(g);
		break;
	case ONPU_COST_MMA:
		generate_mma(g);
		break;
	case ONPU_COST_WINDOW:
		generate_window(g);
		break;
	case ONPU_COST_SCAN:
		generate_scan(g);
		break;
	case ONPU_COST_REDUCE:
		if (op == ONPU_OP_RARGMAX || op == ONPU_OP_RARGMIN)
			generate_argreduce(g);
		else
			generate_reduce(g);
		break;
	default:
		if (op == ONPU_OP_RESAMPLE_LINEAR || op == ONPU_OP_RESAMPLE_NEAREST)
			generate_resample(g);
		else
			generate_elementwise(g);
	}
}

void generate(struct gen *g, enum onpu_op op)
{
	/* Instructions that only some machines have are mostly tested on one of these. */
	unsigned int odd = onpu_op_info[op].feature ? 90 : 30;

	generate_size(g, op,
		      rng_chance(&g->random, 7)	  ? RIG_LARGE :
		      rng_chance(&g->random, odd) ? RIG_ODD :
						    RIG_SMALL);
}

void generate_size(struct gen *g, enum onpu_op op, enum rig_size size)
{
	rig_clear(g->job, size, RIG_DATA + (size == RIG_LARGE ? 1u << 20 : 32u << 10));
	fill_noise(g, g->job->sram, rig_sram_bytes(size));
	fill_noise(g, g->job->memory + RIG_DATA, g->job->memory_size - RIG_DATA);
	g->budget = random_budget(g);
	do {
		generate_once(g, op);
		g->budget = g->budget * 3 / 4 + 1;
	} while (g->failed);
	put_slots(g);
	put_program(g);
}
