// SPDX-License-Identifier: MIT
/* Implements template.h. */
#include <stdbool.h>

#include "template.h"

#define DST   ONPU_OPERAND_DST
#define S0    ONPU_OPERAND_S0
#define S1    ONPU_OPERAND_S1
#define S2    ONPU_OPERAND_S2
#define PARAM ONPU_OPERAND_PARAM

/* Most elements of a template's tensor: further dimensions become 1. */
#define MAX_ELEMENTS 16384

/* Bits of the layout byte of an operand. */
#define LAYOUT_TURNED	0x01 /* the dimensions have another order */
#define LAYOUT_GAPS	0x02 /* a gap of one element */
#define LAYOUT_REVERSED 0x04 /* the last dimension goes backwards */
#define LAYOUT_REPEATED 0x08 /* sources: one dimension has stride 0 */
#define LAYOUT_SRAM	0x10 /* DMA: the tensor is in SRAM, not in memory */
#define LAYOUT_IN_PLACE 0x20 /* sources: at the address of DST */

/* The bytes of input from which a template is made; their number is fixed. */
struct choice {
	uint8_t dtype[4];
	uint8_t layout[4];
	uint8_t rank, extra_rank;
	uint8_t dim[8], extra[8];
	uint8_t optional, axis, region, mode;
	uint64_t number[3];
};

static void choose(struct fuzz_input *in, struct choice *c)
{
	fuzz_bytes(in, c->dtype, sizeof(c->dtype));
	fuzz_bytes(in, c->layout, sizeof(c->layout));
	c->rank = fuzz_u8(in);
	c->extra_rank = fuzz_u8(in);
	fuzz_bytes(in, c->dim, sizeof(c->dim));
	fuzz_bytes(in, c->extra, sizeof(c->extra));
	c->optional = fuzz_u8(in);
	c->axis = fuzz_u8(in);
	c->region = fuzz_u8(in);
	c->mode = fuzz_u8(in);
	for (unsigned int i = 0; i < 3; i++)
		c->number[i] = fuzz_u64(in);
}

/* ---- Tensors ---- */

static uint32_t size_of(uint8_t byte)
{
	static const uint16_t sizes[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 33, 64, 100, 257, 1030
	};

	return byte < 0x80 ? sizes[byte & 15] : 1 + (byte & 31);
}

static unsigned int limit_rank(unsigned int rank, unsigned int least, unsigned int most)
{
	return least + rank % (most - least + 1);
}

struct shape {
	unsigned int rank;
	uint32_t dim[ONPU_MAX_RANK];
};

/* Appends a dimension, which becomes 1 when the tensor would be too large. */
static void append(struct shape *s, uint32_t dim)
{
	uint64_t n = dim;

	for (unsigned int i = 0; i < s->rank; i++)
		n *= s->dim[i];
	if (s->rank < ONPU_MAX_RANK)
		s->dim[s->rank++] = n > MAX_ELEMENTS ? 1 : dim;
}

static struct shape shape_of(const uint8_t *dims, unsigned int rank)
{
	struct shape s = { 0 };

	for (unsigned int i = 0; i < rank; i++)
		append(&s, size_of(dims[i]));
	return s;
}

static unsigned int pick_type(uint32_t set, uint8_t number)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ONPU_DT_COUNT; i++)
		n += set >> i & 1;
	if (!n)
		return 0;
	n = number % n;
	for (unsigned int i = 0;; i++) {
		if ((set >> i & 1) && !n--)
			return i;
	}
}

static void set_strides(struct onpu_slot_tensor *t, const struct shape *s, uint8_t layout,
			unsigned int esize)
{
	int64_t step = layout & LAYOUT_GAPS ? 2 * (int64_t)esize : esize;
	unsigned int turn = layout & LAYOUT_TURNED ? s->rank / 2 : 0;

	for (unsigned int i = s->rank; i-- > 0;) {
		unsigned int d = (i + turn) % s->rank;

		t->stride[d] = step;
		step *= s->dim[d];
	}
	if ((layout & LAYOUT_REPEATED) && s->rank)
		t->stride[(layout >> 6) % s->rank] = 0;
	if ((layout & LAYOUT_REVERSED) && s->rank) {
		unsigned int last = s->rank - 1;

		t->offset = (uint64_t)t->stride[last] * (s->dim[last] - 1);
		t->stride[last] = -t->stride[last];
	}
}

/* Makes a tensor of the template; its region is its own unless it is in place. */
static void tensor(struct template *t, const struct choice *c, unsigned int operand,
		   const struct shape *s, unsigned int dtype)
{
	const struct onpu_op_info *info = &onpu_op_info[t->insn.op];
	struct onpu_slot_tensor *slot = &t->slot[operand].tensor;
	uint8_t layout = c->layout[operand];
	unsigned int bits = onpu_dtype_bits(dtype), esize = bits < 8 ? 1 : bits / 8;
	unsigned int region = (operand + c->region) % TEMPLATE_REGIONS;
	bool sram = info->engine == ONPU_ENG_VPU || info->engine == ONPU_ENG_MXU ||
		    (layout & LAYOUT_SRAM);

	if (operand != DST && (layout & LAYOUT_IN_PLACE) && (info->inplace >> operand & 1)) {
		layout = c->layout[DST];
		region = (DST + c->region) % TEMPLATE_REGIONS;
	}
	if (operand == DST)
		layout &= (uint8_t)~LAYOUT_REPEATED;
	memset(slot, 0, sizeof(*slot));
	slot->kind = ONPU_SLOT_TENSOR;
	slot->dtype = (uint8_t)dtype;
	slot->rank = (uint8_t)s->rank;
	slot->space = sram ? ONPU_SPACE_SRAM : ONPU_SPACE_VA;
	slot->base = (sram ? 0 : TEMPLATE_DATA_VA) + (uint64_t)region * TEMPLATE_REGION;
	slot->size = TEMPLATE_REGION;
	memcpy(slot->dim, s->dim, sizeof(slot->dim));
	set_strides(slot, s, layout, esize);
	t->present |= (uint8_t)(1u << operand);
}

/* Chooses types for all operands that the rules of the instruction allow together. */
static void types(const struct choice *c, const struct onpu_op_info *info, unsigned int type[4])
{
	int same = -1, num = -1;

	for (unsigned int i = 0; i < 4; i++) {
		uint32_t set = info->operands[i].dtypes;

		type[i] = pick_type(set, c->dtype[i]);
		if (info->same_ints && (set & ONPU_TYPES_FLOAT) && (set & 1u << ONPU_DT_I8)) {
			if (num >= 0 && (ONPU_TYPES_FLOAT >> num & 1))
				type[i] = pick_type(ONPU_TYPES_FLOAT, c->dtype[i]);
			else if (num >= 0)
				type[i] = (unsigned int)num;
			num = (int)type[i];
		}
		if (info->same >> i & 1) {
			if (same >= 0)
				type[i] = (unsigned int)same;
			same = (int)type[i];
		}
	}
}

static bool wanted(const struct template *t, const struct choice *c, unsigned int operand)
{
	const struct onpu_operand_info *info = &onpu_op_info[t->insn.op].operands[operand];

	return info->present && !(info->optional && (c->optional >> operand & 1));
}

/* ---- PARAM slots ---- */

static union onpu_slot *param(struct template *t)
{
	union onpu_slot *slot = &t->slot[PARAM];

	memset(slot, 0, sizeof(*slot));
	slot->param.kind = ONPU_SLOT_PARAM;
	slot->param.schema = onpu_op_info[t->insn.op].schema;
	t->present |= 1u << PARAM;
	return slot;
}

static void scalar_param(struct template *t, const struct choice *c, bool floats)
{
	uint64_t mask = floats ? UINT32_MAX : UINT64_MAX;
	union onpu_slot *p = param(t);

	p->scalar.alpha = c->number[0] & mask;
	p->scalar.beta = c->number[1] & mask;
	p->scalar.gamma = c->number[2] & mask;
}

/* Makes taps whose steps are a few elements of the operands that they move. */
static void taps_param(struct template *t, const struct choice *c, const unsigned int type[4],
		       bool moving)
{
	struct onpu_slot_param_taps *p = &param(t)->taps;

	for (unsigned int i = 0; i < ONPU_TAPS_LOOPS; i++) {
		uint64_t steps = c->number[i];

		p->loop[i].count = 1 + (steps & 3);
		p->loop[i].s0_step = (int64_t)(steps >> 8 & 15) * onpu_dtype_bits(type[S0]) / 8;
		if (t->present >> S1 & 1)
			p->loop[i].s1_step =
				(int64_t)(steps >> 16 & 15) * onpu_dtype_bits(type[S1]) / 8;
		if (moving)
			p->loop[i].dst_step =
				(int64_t)(steps >> 24 & 15) * onpu_dtype_bits(type[DST]) / 8;
	}
	if (t->insn.op == ONPU_OP_MMA_I8) {
		p->zero_a = (int8_t)(c->number[0] >> 32);
		p->zero_b = (int32_t)(c->number[1] >> 32);
	}
}

static void resample_param(struct template *t, const struct choice *c, const struct shape *in,
			   const struct shape *out)
{
	struct onpu_slot_param_resample *p = &param(t)->resample;
	unsigned int axis[2] = { c->axis % out->rank, (c->axis + 1u) % out->rank };

	p->axis0 = (uint8_t)axis[0];
	p->axis1 = (uint8_t)axis[1];
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t more = c->mode & 1 ? (uint32_t)(c->number[i] & 255) : 0;

		p->in_size[i] = in->dim[axis[i]] + more;
		p->out_size[i] = out->dim[axis[i]] + (c->mode & 2 ? more : 0);
		p->in_base[i] = more ? (uint32_t)(c->number[i] >> 8) % (more + 1) : 0;
		if (c->mode & 2)
			p->out_base[i] = (uint32_t)(c->number[i] >> 16) % (more + 1);
	}
}

/* ---- Operands, by family of instructions ---- */

/* Makes tensors that all have DST's dimensions. */
static void elementwise(struct template *t, const struct choice *c, const unsigned int type[4])
{
	unsigned int least = t->insn.op == ONPU_OP_TRI ? 2 : 0;
	struct shape s = shape_of(c->dim, limit_rank(c->rank, least, 8));

	for (unsigned int i = DST; i <= S2; i++) {
		if (wanted(t, c, i))
			tensor(t, c, i, &s, type[i]);
	}
	if (!wanted(t, c, PARAM))
		return;
	switch (onpu_op_info[t->insn.op].schema) {
	case ONPU_SCHEMA_TRI:
		param(t)->tri.flags = c->mode & 1;
		t->slot[PARAM].tri.diagonal = c->mode & 2 ? (int64_t)c->number[0] :
							    (int8_t)c->number[0];
		break;
	case ONPU_SCHEMA_FILL:
		param(t)->fill.value = c->number[0];
		if (onpu_dtype_bits(type[DST]) < 64)
			t->slot[PARAM].fill.value &= (1ull << onpu_dtype_bits(type[DST])) - 1;
		break;
	case ONPU_SCHEMA_TAPS:
		taps_param(t, c, type, false);
		break;
	default:
		scalar_param(t, c, ONPU_TYPES_FLOAT >> type[S0] & 1);
	}
}

static void matrix(struct template *t, const struct choice *c, const unsigned int type[4])
{
	unsigned int lead = limit_rank(c->rank, 0, 6);
	struct shape d = shape_of(c->dim, lead), a = d, b = d, z = { 0 };
	uint32_t k = size_of(c->extra[0]), n = size_of(c->extra[1]);
	struct onpu_slot_tensor *s1 = &t->slot[S1].tensor;

	append(&a, k);
	append(&d, n);
	b = a;
	append(&b, d.dim[lead]);
	/* L, k and n must agree in all operands, also where a dimension was cut to 1. */
	d.dim[lead] = b.dim[lead + 1];
	/* mma.w takes a row of scales for each row of S1 or for all, and perhaps zero points. */
	if (t->insn.op == ONPU_OP_MMA_W && (c->extra[2] & 2))
		append(&z, 2);
	if (t->insn.op == ONPU_OP_MMA_W)
		append(&z, c->extra[2] & 1 ? a.dim[lead] : 1);
	append(&z, d.dim[lead]);
	tensor(t, c, DST, &d, type[DST]);
	tensor(t, c, S0, &a, type[S0]);
	tensor(t, c, S1, &b, type[S1]);
	/* Some dimensions of L are no batch: one matrix S1 serves all. */
	for (unsigned int i = 0; i < lead; i++) {
		if (!(c->mode >> i & 1))
			s1->stride[i] = 0;
	}
	if (wanted(t, c, S2))
		tensor(t, c, S2, &z, type[S2]);
	if (wanted(t, c, PARAM))
		taps_param(t, c, type, (c->mode & 0x80) != 0);
}

static void reduction(struct template *t, const struct choice *c, unsigned int type[4])
{
	unsigned int rank = limit_rank(c->rank, 1, 7);
	struct shape s = shape_of(c->dim, rank), d = s;
	bool floats = ONPU_TYPES_FLOAT >> type[S0] & 1;
	unsigned int lanes_type = floats ? ONPU_DT_F32 : type[S0];

	t->insn.axes &= (uint8_t)((1u << rank) - 1);
	for (unsigned int i = 0; i < rank; i++) {
		if (t->insn.axes >> i & 1)
			d.dim[i] = 1;
	}
	if (t->insn.lanes) {
		s = d;
		append(&s, ONPU_REDUCE_LANES);
		type[DST] = floats ? type[DST] : type[S0];
		type[S0] = floats ? ONPU_DT_F32 : type[S0];
	} else if (t->insn.part) {
		append(&d, ONPU_REDUCE_LANES);
		type[DST] = lanes_type;
	}
	tensor(t, c, DST, &d, type[DST]);
	tensor(t, c, S0, &s, type[S0]);
}

/* Makes operands of rargmax, rargmin and scan.sum, which have one axis. */
static void along_axis(struct template *t, const struct choice *c, unsigned int type[4])
{
	struct shape s = shape_of(c->dim, limit_rank(c->rank, 1, 8)), one = s;
	bool scan = t->insn.op == ONPU_OP_SCAN_SUM;

	t->insn.axis = (uint8_t)(t->insn.axis % s.rank);
	one.dim[t->insn.axis] = 1;
	if (ONPU_TYPES_FLOAT >> type[S0] & 1)
		type[S1] = ONPU_DT_F32;
	tensor(t, c, DST, scan ? &s : &one, type[DST]);
	tensor(t, c, S0, &s, type[S0]);
	if (scan && wanted(t, c, S1))
		tensor(t, c, S1, &one, type[S1]);
	if (wanted(t, c, PARAM))
		scalar_param(t, c, ONPU_TYPES_FLOAT >> type[S0] & 1);
}

static void resample(struct template *t, const struct choice *c, const unsigned int type[4])
{
	struct shape in = shape_of(c->dim, limit_rank(c->rank, 2, 8)), out = { 0 };

	for (unsigned int i = 0; i < in.rank; i++) {
		bool resampled = i == c->axis % in.rank || i == (c->axis + 1u) % in.rank;

		append(&out, resampled ? size_of(c->extra[i]) : in.dim[i]);
		if (!resampled)
			in.dim[i] = out.dim[i];
	}
	tensor(t, c, DST, &out, type[DST]);
	tensor(t, c, S0, &in, type[S0]);
	resample_param(t, c, &in, &out);
}

static void pad(struct template *t, const struct choice *c, const unsigned int type[4])
{
	struct shape s = shape_of(c->dim, limit_rank(c->rank, 0, 8)), d = { 0 };
	struct onpu_slot_param_pad *p;

	for (unsigned int i = 0; i < s.rank; i++)
		append(&d, s.dim[i] + (c->extra[i] & 7) + (c->extra[i] >> 3 & 7));
	p = &param(t)->pad;
	for (unsigned int i = 0; i < s.rank; i++) {
		if (d.dim[i] < s.dim[i])
			d.dim[i] = s.dim[i];
		if (d.dim[i] - s.dim[i] >= (c->extra[i] & 7))
			p->lo[i] = c->extra[i] & 7;
	}
	p->mode = c->mode & 3;
	if (p->mode == ONPU_PAD_CONSTANT)
		p->value = c->number[0] & ((2ull << (onpu_dtype_bits(type[DST]) - 1)) - 1);
	tensor(t, c, DST, &d, type[DST]);
	tensor(t, c, S0, &s, type[S0]);
}

/*
 * Makes the shapes of gathers and scatters: @index holds indices into @full, and @part is what a
 * gather reads from @full or a scatter writes into it.
 */
static void indexed_shapes(struct template *t, const struct choice *c, struct shape *full,
			   struct shape *index, struct shape *part)
{
	struct onpu_slot_param_index *p = &param(t)->index;
	bool nd = t->insn.op == ONPU_OP_DMA_GATHER_ND || t->insn.op == ONPU_OP_DMA_SCATTER_ND;
	unsigned int axis, coordinates;

	*full = shape_of(c->dim, limit_rank(c->rank, 1, 4));
	axis = c->axis % full->rank;
	if (nd) {
		p->batch_dims = (uint8_t)axis;
		coordinates = 1 + c->extra_rank % (full->rank - axis);
		*index = (struct shape){ 0 };
		for (unsigned int i = 0; i < axis; i++)
			append(index, full->dim[i]);
		for (unsigned int i = 0; i < (c->extra_rank >> 4 & 3); i++)
			append(index, 1 + c->extra[i] % 8);
		*part = *index;
		index->dim[index->rank++] = coordinates;
		for (unsigned int i = axis + coordinates; i < full->rank; i++)
			append(part, full->dim[i]);
		return;
	}
	p->axis = (uint8_t)axis;
	if (t->insn.op == ONPU_OP_DMA_GATHER_AXIS) {
		*index = shape_of(c->extra, limit_rank(c->extra_rank, 0, 4));
		*part = (struct shape){ 0 };
		for (unsigned int i = 0; i < axis; i++)
			append(part, full->dim[i]);
		for (unsigned int i = 0; i < index->rank; i++) {
			append(part, index->dim[i]);
			index->dim[i] = part->dim[part->rank - 1];
		}
		for (unsigned int i = axis + 1; i < full->rank; i++)
			append(part, full->dim[i]);
		return;
	}
	*index = *full;
	index->dim[axis] = 1 + c->extra[0] % 16;
	*part = *index;
}

static void indexed(struct template *t, const struct choice *c, const unsigned int type[4])
{
	bool scatter = t->insn.op == ONPU_OP_DMA_SCATTER_ELEM ||
		       t->insn.op == ONPU_OP_DMA_SCATTER_ND;
	struct shape full, index, part;

	indexed_shapes(t, c, &full, &index, &part);
	tensor(t, c, DST, scatter ? &full : &part, type[DST]);
	tensor(t, c, S0, scatter ? &part : &full, type[S0]);
	tensor(t, c, S1, &index, type[S1]);
}

static void operands(struct template *t, const struct choice *c)
{
	const struct onpu_op_info *info = &onpu_op_info[t->insn.op];
	const struct shape six = { 1, { 6 } };
	unsigned int type[4];

	types(c, info, type);
	switch (info->cost) {
	case ONPU_COST_MMA:
		matrix(t, c, type);
		break;
	case ONPU_COST_REDUCE:
		if (t->insn.op == ONPU_OP_RARGMAX || t->insn.op == ONPU_OP_RARGMIN)
			along_axis(t, c, type);
		else
			reduction(t, c, type);
		break;
	case ONPU_COST_SCAN:
		along_axis(t, c, type);
		break;
	case ONPU_COST_GATHER:
		indexed(t, c, type);
		break;
	default:
		if (t->insn.op == ONPU_OP_TIMESTAMP)
			tensor(t, c, DST, &six, type[DST]);
		else if (info->schema == ONPU_SCHEMA_PAD)
			pad(t, c, type);
		else if (info->schema == ONPU_SCHEMA_RESAMPLE)
			resample(t, c, type);
		else
			elementwise(t, c, type);
	}
}

/* ---- The instruction ---- */

static bool is_operand(uint8_t field)
{
	return field == ONPU_FIELD_ID_DST || field == ONPU_FIELD_ID_S0 ||
	       field == ONPU_FIELD_ID_S1 || field == ONPU_FIELD_ID_S2 ||
	       field == ONPU_FIELD_ID_PARAM;
}

/*
 * Sets fields other than operands. Waits are rare, because otherwise most programs would be
 * deadlocks.
 */
static void fields(struct fuzz_input *in, struct template *t)
{
	const struct onpu_op_info *info = &onpu_op_info[t->insn.op];
	uint8_t use = fuzz_u8(in);

	for (unsigned int i = 0; i < info->num_fields; i++) {
		const struct onpu_field_info *field = &info->fields[i];
		uint32_t value;

		if (is_operand(field->id))
			continue;
		value = fuzz_u32(in) & (uint32_t)((1ull << (field->high - field->low + 1)) - 1);
		if ((field->id == ONPU_FIELD_ID_WAIT && !(use & 1)) ||
		    (field->id == ONPU_FIELD_ID_SIGNAL && !(use & 2)))
			value = 0;
		if (field->id == ONPU_FIELD_ID_LIVE && !(use & 4))
			value = TEMPLATE_SRAM;
		if (!onpu_field_legal(field, value))
			value = 0;
		onpu_insn_set(&t->insn, (enum onpu_field)field->id, value);
	}
}

void template_make(struct fuzz_input *in, enum onpu_op op, uint16_t first_slot, struct template *t)
{
	uint16_t *const index[] = { &t->insn.dst, &t->insn.s0, &t->insn.s1, &t->insn.s2,
				    &t->insn.param };
	struct choice c;

	memset(t, 0, sizeof(*t));
	t->insn.op = op;
	choose(in, &c);
	fields(in, t);
	if (onpu_op_info[op].operands[DST].present)
		operands(t, &c);
	for (unsigned int i = 0; i < ONPU_OPERAND_COUNT; i++) {
		if (t->present >> i & 1)
			*index[i] = (uint16_t)(first_slot + i);
	}
}

void template_program_slot(struct fuzz_input *in, union onpu_slot *slot)
{
	memset(slot, 0, sizeof(*slot));
	slot->program.kind = ONPU_SLOT_PROGRAM;
	slot->program.isa_major = ONPU_ISA_MAJOR;
	slot->program.sram_bytes = TEMPLATE_SRAM;
	fuzz_bytes(in, slot->program.sem_init, 8);
}

void template_flip(struct fuzz_input *in, void *bytes, size_t size)
{
	uint16_t where = fuzz_u16(in);
	uint8_t *at = (uint8_t *)bytes + (where & 0x7fff) % size;
	uint8_t mask[8] = { 0 };
	size_t n = where & 0x8000 ? 8 : 1;

	fuzz_bytes(in, mask, n);
	for (size_t i = 0; i < n && at + i < (uint8_t *)bytes + size; i++)
		at[i] ^= mask[i];
}
