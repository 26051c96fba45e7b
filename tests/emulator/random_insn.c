// SPDX-License-Identifier: MIT
/* Implements random_insn.h: makes random instructions with operands that fit them. */
#include "random_insn.h"

/* Dimensions and type of an operand before it gets an address. */
struct shape {
	enum onpu_dtype dtype;
	unsigned int rank;
	uint32_t dim[ONPU_MAX_RANK];
};

struct generator {
	struct rng *r;
	struct program *p;
	enum onpu_op op;
	const struct onpu_op_info *info;
	uint32_t sram_bytes;
	struct onpu_insn insn;
	bool used[4];
	struct shape shape[4];
	bool has_param;
	uint8_t param[ONPU_SLOT_SIZE];
};

static uint32_t below(struct generator *g, uint32_t n)
{
	return (uint32_t)rng_below(g->r, n);
}

static bool one_in(struct generator *g, uint32_t n)
{
	return !below(g, n);
}

static uint32_t random_dim(struct generator *g)
{
	switch (below(g, 8)) {
	case 0:
		return 1;
	case 1:
		return 16 + below(g, 60);
	default:
		return 1 + below(g, 9);
	}
}

static enum onpu_dtype random_dtype(struct generator *g, unsigned int operand)
{
	uint32_t mask = g->info->operands[operand].dtypes;
	uint32_t dtype;

	do {
		dtype = below(g, ONPU_DT_COUNT);
	} while (!(mask >> dtype & 1));
	return (enum onpu_dtype)dtype;
}

/* Returns the bytes of an element; 1 for elements of 4 bits. */
static int64_t size_of(unsigned int dtype)
{
	return (onpu_dtype_bits(dtype) + 4) / 8;
}

static bool is_float(enum onpu_dtype dtype)
{
	return dtype >= ONPU_DT_F16 && dtype <= ONPU_DT_F32;
}

static void random_dtypes(struct generator *g)
{
	int kind = -1, same = -1;

	for (unsigned int i = 0; i < 4; i++) {
		const uint32_t num = 1u << ONPU_DT_F32 | 1u << ONPU_DT_I8;
		bool in_kind = g->info->same_ints && (g->info->operands[i].dtypes & num) == num;
		enum onpu_dtype dtype;

		if (!g->used[i])
			continue;
		dtype = random_dtype(g, i);
		if (in_kind && kind >= 0) {
			if (!is_float((enum onpu_dtype)kind))
				dtype = (enum onpu_dtype)kind;
			while (is_float((enum onpu_dtype)kind) && !is_float(dtype))
				dtype = random_dtype(g, i);
		}
		if (in_kind)
			kind = (int)dtype;
		if (g->info->same >> i & 1) {
			if (same >= 0)
				dtype = (enum onpu_dtype)same;
			same = (int)dtype;
		}
		g->shape[i].dtype = dtype;
	}
}

static void random_dims(struct generator *g, struct shape *s, unsigned int min_rank,
			unsigned int max_rank)
{
	uint64_t n = 1;

	s->rank = min_rank + below(g, max_rank - min_rank + 1);
	for (unsigned int i = 0; i < s->rank; i++) {
		s->dim[i] = random_dim(g);
		if (n * s->dim[i] > 4096)
			s->dim[i] = 1 + below(g, 2);
		n *= s->dim[i];
	}
}

static void copy_dims(struct shape *to, const struct shape *from)
{
	to->rank = from->rank;
	memcpy(to->dim, from->dim, sizeof(to->dim));
}

/* ---- Addresses and strides ---- */

/*
 * Makes an operand's slot and returns its index. Its strides are a random permutation of a dense
 * layout, with gaps, reversals and broadcasts.
 */
static uint16_t place(struct generator *g, unsigned int operand)
{
	const struct shape *s = &g->shape[operand];
	bool nibble = onpu_dtype_bits(s->dtype) == 4;
	int64_t step = size_of(s->dtype), esize = step, low = 0;
	uint64_t area = g->sram_bytes / 8;
	struct onpu_slot_tensor t = { .kind = ONPU_SLOT_TENSOR,
				      .dtype = s->dtype,
				      .rank = s->rank };
	unsigned int order[ONPU_MAX_RANK];
	bool plain = one_in(g, 2);

	for (unsigned int i = 0; i < s->rank; i++)
		order[i] = s->rank - 1 - i;
	for (unsigned int i = 0; !plain && i < s->rank; i++) {
		unsigned int j = i + below(g, s->rank - i), k = order[i];

		order[i] = order[j];
		order[j] = k;
	}
	for (unsigned int i = 0; i < s->rank; i++) {
		unsigned int d = order[i];

		t.dim[d] = s->dim[d];
		if (!plain && one_in(g, 4))
			step += esize * below(g, 4);
		t.stride[d] = step;
		if (operand && one_in(g, 6))
			t.stride[d] = 0;
		else
			step *= s->dim[d];
		if (!plain && one_in(g, 5))
			t.stride[d] = -t.stride[d];
		if (t.stride[d] < 0)
			low -= t.stride[d] * (s->dim[d] - 1);
	}
	if (nibble)
		area *= 2;
	t.offset = (uint64_t)low;
	/*
	 * A source gets an eighth of the SRAM, or as many bytes of the data at the same offset; the
	 * destination gets four eighths.
	 */
	t.base = (uint64_t)g->sram_bytes / 8 * (operand ? operand : 4);
	t.size = (uint64_t)g->sram_bytes / 8 * (operand ? 1 : 4);
	if (g->info->engine == ONPU_ENG_DMA && one_in(g, 2)) {
		t.space = ONPU_SPACE_VA;
		t.base += DATA_VA;
	}
	if ((uint64_t)step < area && !plain)
		t.offset += (uint64_t)esize * below(g, 8);
	return program_slot(g->p, &t);
}

static void place_all(struct generator *g)
{
	uint16_t index[5] = { 0 };

	for (unsigned int i = 0; i < 4; i++) {
		if (g->used[i])
			index[i] = place(g, i);
	}
	if (g->has_param)
		index[4] = program_slot(g->p, g->param);
	g->insn.dst = index[0];
	g->insn.s0 = index[1];
	g->insn.s1 = index[2];
	g->insn.s2 = index[3];
	g->insn.param = index[4];
}

/* ---- Operands by family of instructions ---- */

static void taps(struct generator *g, bool moving)
{
	struct onpu_slot_param_taps t = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_TAPS };

	for (unsigned int i = 0; i < ONPU_TAPS_LOOPS; i++) {
		t.loop[i].count = 1 + below(g, 3);
		t.loop[i].s0_step = (int64_t)size_of(g->shape[1].dtype) * below(g, 40);
		if (g->used[2])
			t.loop[i].s1_step = (int64_t)size_of(g->shape[2].dtype) * below(g, 40);
		if (moving)
			t.loop[i].dst_step = (int64_t)size_of(g->shape[0].dtype) * below(g, 10);
	}
	if (g->op == ONPU_OP_MMA_I8) {
		t.zero_a = (int32_t)below(g, 256) - 128;
		t.zero_b = one_in(g, 4) ? (int32_t)rng_u32(g->r) : 0;
	}
	memcpy(g->param, &t, sizeof(t));
	g->has_param = true;
}

static void make_mma(struct generator *g)
{
	struct shape *d = &g->shape[0], *a = &g->shape[1], *b = &g->shape[2];
	uint32_t k = one_in(g, 8) ? 1 + below(g, 200) : random_dim(g);
	bool moving = one_in(g, 4);

	random_dims(g, d, 1, 4);
	if (one_in(g, 3))
		d->dim[d->rank - 1] = 1 + below(g, 120);
	g->insn.acc = moving || one_in(g, 2);
	if (g->op == ONPU_OP_MMA_F32)
		g->insn.piece = (uint8_t)below(g, 4);
	if (moving && g->op != ONPU_OP_MMA_I8)
		d->dtype = ONPU_DT_F32;
	copy_dims(a, d);
	a->dim[a->rank - 1] = k;
	copy_dims(b, d);
	b->dim[b->rank - 1] = k;
	b->dim[b->rank++] = d->dim[d->rank - 1];
	g->shape[3].rank = 1;
	g->shape[3].dim[0] = d->dim[d->rank - 1];
	if (g->op == ONPU_OP_MMA_W) {
		/* A scale for each row, or one for all. */
		g->shape[3].rank = 2;
		g->shape[3].dim[1] = g->shape[3].dim[0];
		g->shape[3].dim[0] = one_in(g, 2) ? k : 1;
	}
	if (g->used[3] && one_in(g, 2))
		g->used[3] = false;
	if (g->op != ONPU_OP_MMA_W && (moving || one_in(g, 2)))
		taps(g, moving);
}

static void make_reduce(struct generator *g)
{
	struct shape *d = &g->shape[0], *s = &g->shape[1];
	unsigned int form = below(g, 4);

	random_dims(g, s, 0, 5);
	if (form == 3) {
		g->insn.lanes = 1;
		copy_dims(d, s);
		if (is_float(d->dtype))
			s->dtype = ONPU_DT_F32;
		else
			s->dtype = d->dtype;
		s->dim[s->rank++] = ONPU_REDUCE_LANES;
		return;
	}
	g->insn.axes = (uint8_t)below(g, 1u << s->rank);
	copy_dims(d, s);
	for (unsigned int i = 0; i < s->rank; i++) {
		if (g->insn.axes >> i & 1)
			d->dim[i] = 1;
	}
	if (!form || form == 1)
		return;
	g->insn.part = 1;
	g->insn.acc = one_in(g, 2);
	d->dim[d->rank++] = ONPU_REDUCE_LANES;
	d->dtype = is_float(s->dtype) ? ONPU_DT_F32 : s->dtype;
}

static void make_arg(struct generator *g)
{
	struct shape *d = &g->shape[0], *s = &g->shape[1];
	struct onpu_slot_param_scalar base = { .kind = ONPU_SLOT_PARAM,
					       .schema = ONPU_SCHEMA_SCALAR,
					       .alpha = 1000 };

	random_dims(g, s, 1, 4);
	g->insn.axis = (uint8_t)below(g, s->rank);
	g->insn.last = one_in(g, 2);
	copy_dims(d, s);
	d->dim[g->insn.axis] = 1;
	g->has_param = one_in(g, 2);
	memcpy(g->param, &base, sizeof(base));
}

static void make_scan(struct generator *g)
{
	struct shape *d = &g->shape[0], *s = &g->shape[1], *carry = &g->shape[2];

	random_dims(g, s, 1, 4);
	g->insn.axis = (uint8_t)below(g, s->rank);
	g->insn.excl = one_in(g, 2);
	g->insn.rev = one_in(g, 2);
	copy_dims(d, s);
	copy_dims(carry, s);
	carry->dim[g->insn.axis] = 1;
	carry->dtype = is_float(s->dtype) ? ONPU_DT_F32 : s->dtype;
	g->used[2] = one_in(g, 2);
}

static void make_window(struct generator *g)
{
	random_dims(g, &g->shape[0], 0, 4);
	copy_dims(&g->shape[1], &g->shape[0]);
	copy_dims(&g->shape[2], &g->shape[0]);
	g->insn.acc = one_in(g, 2);
	taps(g, false);
}

static void make_resample(struct generator *g)
{
	struct shape *d = &g->shape[0], *s = &g->shape[1];
	struct onpu_slot_param_resample p = { .kind = ONPU_SLOT_PARAM,
					      .schema = ONPU_SCHEMA_RESAMPLE };
	uint8_t axis[2];

	random_dims(g, d, 2, 4);
	copy_dims(s, d);
	axis[0] = (uint8_t)below(g, d->rank);
	axis[1] = (uint8_t)((axis[0] + 1 + below(g, d->rank - 1)) % d->rank);
	p.axis0 = axis[0];
	p.axis1 = axis[1];
	for (unsigned int i = 0; i < 2; i++) {
		s->dim[axis[i]] = 1 + below(g, 10);
		p.in_size[i] = s->dim[axis[i]];
		p.out_size[i] = d->dim[axis[i]] + below(g, 5);
		p.out_base[i] = below(g, p.out_size[i] - d->dim[axis[i]] + 1);
	}
	memcpy(g->param, &p, sizeof(p));
	g->has_param = true;
}

static void make_pad(struct generator *g)
{
	struct onpu_slot_param_pad p = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_PAD };
	struct shape *d = &g->shape[0], *s = &g->shape[1];

	random_dims(g, s, 0, 4);
	copy_dims(d, s);
	p.mode = (uint8_t)below(g, 4);
	if (!p.mode)
		p.value = below(g, 256);
	for (unsigned int i = 0; i < s->rank; i++) {
		uint32_t reach = p.mode == ONPU_PAD_REFLECTION ? s->dim[i] - 1 : s->dim[i], hi;

		p.lo[i] = below(g, (reach < 4 ? reach : 4) + 1);
		hi = below(g, (reach < 4 ? reach : 4) + 1);
		d->dim[i] += p.lo[i] + hi;
	}
	memcpy(g->param, &p, sizeof(p));
	g->has_param = true;
}

static void make_index(struct generator *g)
{
	struct onpu_slot_param_index p = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_INDEX };
	bool scatter = g->op == ONPU_OP_DMA_SCATTER_ELEM || g->op == ONPU_OP_DMA_SCATTER_ND;
	struct shape *full = &g->shape[scatter ? 0 : 1], *part = &g->shape[scatter ? 1 : 0];
	struct shape *x = &g->shape[2];

	random_dims(g, full, 1, 4);
	g->insn.clamp = !one_in(g, 8);
	g->insn.neg = g->insn.clamp || one_in(g, 2);
	g->insn.ch = one_in(g, 2);
	p.axis = (uint8_t)below(g, full->rank);
	if (g->op == ONPU_OP_DMA_GATHER_AXIS) {
		random_dims(g, x, 0, 2);
		part->rank = full->rank - 1 + x->rank;
		for (unsigned int i = 0; i < part->rank; i++)
			part->dim[i] = i < p.axis	    ? full->dim[i] :
				       i < p.axis + x->rank ? x->dim[i - p.axis] :
							      full->dim[i - x->rank + 1];
	} else if (g->op == ONPU_OP_DMA_GATHER_ELEM || g->op == ONPU_OP_DMA_SCATTER_ELEM) {
		copy_dims(x, full);
		x->dim[p.axis] = random_dim(g);
		copy_dims(part, x);
	} else {
		unsigned int batch = below(g, full->rank), lead;
		uint32_t c = 1 + below(g, full->rank - batch);

		p.axis = 0;
		p.batch_dims = (uint8_t)batch;
		copy_dims(x, full);
		lead = batch + below(g, 2);
		if (lead > batch)
			x->dim[batch] = random_dim(g);
		x->dim[lead] = c;
		x->rank = lead + 1;
		part->rank = lead + full->rank - batch - c;
		for (unsigned int i = 0; i < part->rank; i++)
			part->dim[i] = i < lead ? x->dim[i] : full->dim[i - lead + batch + c];
	}
	memcpy(g->param, &p, sizeof(p));
	g->has_param = true;
}

static void make_elementwise(struct generator *g)
{
	struct onpu_slot_param_scalar s = { .kind = ONPU_SLOT_PARAM, .schema = ONPU_SCHEMA_SCALAR };
	bool floats = is_float(g->shape[1].dtype);

	random_dims(g, &g->shape[0], g->op == ONPU_OP_TRI ? 2 : 0, 5);
	for (unsigned int i = 1; i < 4; i++)
		copy_dims(&g->shape[i], &g->shape[0]);
	if (g->info->operands[3].optional && one_in(g, 2))
		g->used[3] = false;
	g->has_param = g->info->schema != ONPU_SCHEMA_NONE;
	s.alpha = floats ? 0x3f000000 + below(g, 4) * 0x10000 : below(g, 200) - UINT64_C(100);
	s.beta = floats ? 0x40000000 + below(g, 4) * 0x100000 : below(g, 100);
	memcpy(g->param, &s, sizeof(s));
	if (g->info->schema == ONPU_SCHEMA_TRI) {
		struct onpu_slot_param_tri t = { .kind = ONPU_SLOT_PARAM,
						 .schema = ONPU_SCHEMA_TRI,
						 .flags = (uint8_t)below(g, 2),
						 .diagonal = (int64_t)below(g, 9) - 4 };
		memcpy(g->param, &t, sizeof(t));
	}
	if (g->info->schema == ONPU_SCHEMA_FILL) {
		struct onpu_slot_param_fill f = { .kind = ONPU_SLOT_PARAM,
						  .schema = ONPU_SCHEMA_FILL,
						  .value = below(g, 256) };
		memcpy(g->param, &f, sizeof(f));
	}
	if (g->info->engine == ONPU_ENG_DMA)
		g->insn.ch = one_in(g, 2);
}

void random_insn(struct rng *r, struct program *p, enum onpu_op op, uint32_t sram_bytes)
{
	struct generator g = {
		.r = r, .p = p, .op = op, .info = &onpu_op_info[op], .sram_bytes = sram_bytes
	};

	g.insn.op = op;
	for (unsigned int i = 0; i < 4; i++)
		g.used[i] = g.info->operands[i].present;
	random_dtypes(&g);
	switch (g.info->cost) {
	case ONPU_COST_MMA:
		make_mma(&g);
		break;
	case ONPU_COST_REDUCE:
		if (op == ONPU_OP_RARGMAX || op == ONPU_OP_RARGMIN)
			make_arg(&g);
		else
			make_reduce(&g);
		break;
	case ONPU_COST_SCAN:
		make_scan(&g);
		break;
	case ONPU_COST_WINDOW:
		make_window(&g);
		break;
	case ONPU_COST_GATHER:
		make_index(&g);
		break;
	default:
		if (op == ONPU_OP_DMA_PAD)
			make_pad(&g);
		else if (g.info->schema == ONPU_SCHEMA_RESAMPLE)
			make_resample(&g);
		else
			make_elementwise(&g);
		break;
	}
	place_all(&g);
	program_insn(p, g.insn);
}

void random_data(struct rng *r, uint8_t *data, size_t size)
{
	static const uint32_t special[] = {
		0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffa00000,
		0x00000001, 0x807fffff, 0x7f7fffff, 0x3f800000, 0x7c007e01, 0xfc000001,
		0x000083ff, 0x7f81ff80, 0xffffffff, 0x7fffffff, 0x80808080, 0x01010101,
	};

	for (size_t i = 0; i + 4 <= size; i += 4) {
		uint32_t kind = (uint32_t)rng_below(r, 64), word = rng_u32(r);

		if (kind < 40)
			word = (word & 0x81ff81ff) + 0x3e003e00;
		else if (kind < 48)
			word = special[word % (sizeof(special) / sizeof(special[0]))];
		else if (kind < 54)
			word &= 0x000f000f;
		memcpy(data + i, &word, 4);
	}
}
