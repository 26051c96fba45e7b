// SPDX-License-Identifier: MIT
/*
 * dma.copy, dma.fill and dma.pad. A copy visits elements in the order of the view in memory, so
 * that a dense run there is one access. Where the other view is not dense in this order, the
 * elements go through a buffer. SRAM is addressed directly. Functions return false when an access
 * has faulted or the copy cannot go on.
 */
#include <string.h>

#include "machine/dma.h"

#define DST ONPU_OPERAND_DST
#define S0  ONPU_OPERAND_S0

/* The most bytes of a row that go through a buffer at a time. */
#define BUFFER 65536
/* The most bytes of a block of several rows. */
#define BLOCK (256u << 10)
/* Elements along each side of the squares in which a block is transposed. */
#define SQUARE 16
/*
 * Rows that are dense on both sides and have at least this many bytes do not go through the buffer.
 */
#define DIRECT_ROW 64
/*
 * Up to this stride, elements and the gaps between them are read in one access: every page in
 * between holds an element anyway.
 */
#define GAP_MAX 64

void dma_count(struct sim_context *c, const struct sim_tensor *dst, const struct sim_tensor *src,
	       uint64_t elements)
{
	if (src && src->space == ONPU_SPACE_VA)
		c->counters->bytes_ld += elements * src->esize;
	if (dst && dst->space == ONPU_SPACE_VA)
		c->counters->bytes_st += elements * dst->esize;
}

void dma_copy_init(struct dma_copy *copy, struct sim_context *c, const struct sim_tensor *dst,
		   const struct sim_tensor *src)
{
	struct walk *walk = &copy->walk;
	const int64_t *follow;
	uint64_t bytes = dst->esize;
	unsigned int last;

	copy->c = c;
	copy->src_va = src->space == ONPU_SPACE_VA;
	copy->dst_va = dst->space == ONPU_SPACE_VA;
	copy->esize = dst->esize;
	/*
	 * The walk sorts by its first view: the view in memory, or DST when both or neither is in
	 * memory.
	 */
	copy->lead = copy->src_va && !copy->dst_va ? S0 : DST;
	copy->follow = copy->lead == DST ? S0 : DST;
	walk_init(walk, dst->rank, dst->dim);
	walk_operand(walk, 0, copy->lead == DST ? dst->stride : src->stride);
	walk_operand(walk, 0, copy->lead == DST ? src->stride : dst->stride);
	walk_simplify(walk);

	last = walk->rank - 1;
	follow = walk->stride[1];
	copy->block = last;
	copy->dense = walk->stride[0][last] == copy->esize || walk->dim[last] == 1;
	bytes *= walk->dim[last];
	if (!copy->dense || (follow[last] == copy->esize && bytes >= DIRECT_ROW))
		return;
	/* A buffer saves accesses to memory; a copy within SRAM makes none. */
	if (!copy->src_va && !copy->dst_va)
		return;
	while (copy->block && walk->stride[0][copy->block - 1] == (int64_t)bytes &&
	       bytes * walk->dim[copy->block - 1] <= BLOCK)
		bytes *= walk->dim[--copy->block];
}

/* ---- One row or block; positions are addresses of their view's space ---- */

/*
 * Reads @n elements of S0, @step bytes apart in memory, into a dense buffer. Returns false when the
 * job is given up or a read faults.
 */
static bool read_elements(const struct dma_copy *copy, uint64_t address, int64_t step, char *out,
			  uint32_t n)
{
	char span[BUFFER];
	unsigned int esize = copy->esize;

	if (step == esize || n == 1)
		return sim_read(copy->c, S0, address, out, (size_t)n * esize);
	if (step > 0 && step <= GAP_MAX) {
		uint32_t fit = (BUFFER - esize) / (uint32_t)step + 1;

		for (uint32_t i = 0; i < n; i += fit) {
			uint32_t count = n - i < fit ? n - i : fit;
			size_t bytes = (size_t)(count - 1) * (size_t)step + esize;

			if (!sim_read(copy->c, S0, address + (uint64_t)step * i, span, bytes))
				return false;
			copy->c->kernels->copy[sim_size(esize)](out + (size_t)i * esize, esize,
								span, step, count);
		}
		return true;
	}
	for (uint32_t i = 0; i < n; i++, address += (uint64_t)step, out += esize) {
		if (sim_stop(copy->c, i) || !sim_read(copy->c, S0, address, out, esize))
			return false;
	}
	return true;
}

static bool write_elements(const struct dma_copy *copy, uint64_t address, int64_t step,
			   const char *src, uint32_t n)
{
	if (step == copy->esize || n == 1)
		return sim_write(copy->c, DST, address, src, (size_t)n * copy->esize);
	for (uint32_t i = 0; i < n; i++, address += (uint64_t)step, src += copy->esize) {
		if (sim_stop(copy->c, i) || !sim_write(copy->c, DST, address, src, copy->esize))
			return false;
	}
	return true;
}

/* The dimensions of a block, sorted by the strides of the view `follow`. */
struct block_walk {
	unsigned int rank;
	uint32_t dim[ONPU_MAX_RANK];
	int64_t follow[ONPU_MAX_RANK], buffer[ONPU_MAX_RANK];
};

static void block_walk_init(struct block_walk *b, const struct dma_copy *copy)
{
	const struct walk *walk = &copy->walk;
	struct walk block;
	int64_t dense[ONPU_MAX_RANK];
	int64_t bytes = copy->esize;

	b->rank = walk->rank - copy->block;
	for (unsigned int i = b->rank; i-- > 0;) {
		dense[i] = bytes;
		bytes *= walk->dim[copy->block + i];
	}
	walk_init(&block, b->rank, walk->dim + copy->block);
	walk_operand(&block, 0, walk->stride[1] + copy->block);
	walk_operand(&block, 0, dense);
	walk_simplify(&block);
	b->rank = block.rank;
	memcpy(b->dim, block.dim, sizeof(b->dim));
	memcpy(b->follow, block.stride[0], sizeof(b->follow));
	memcpy(b->buffer, block.stride[1], sizeof(b->buffer));
}

/*
 * Moves @n elements of the view `follow` to a buffer if @gather is true, else from it. Returns
 * false when the job is given up or a read faults.
 */
static bool follow_row(const struct dma_copy *copy, uint64_t address, int64_t step, char *buf,
		       int64_t buf_step, uint32_t n, bool gather)
{
	kernel_copy move = copy->c->kernels->copy[sim_size(copy->esize)];

	if (!(copy->follow == S0 ? copy->src_va : copy->dst_va)) {
		char *at = sim_at(copy->c, (int64_t)address);

		if (gather)
			move(buf, buf_step, at, step, n);
		else
			move(at, step, buf, buf_step, n);
		return true;
	}
	/* Both views are in memory; DST leads, so this is a source. */
	for (uint32_t i = 0; i < n; i++, address += (uint64_t)step, buf += buf_step) {
		if (sim_stop(copy->c, i) || !sim_read(copy->c, S0, address, buf, copy->esize))
			return false;
	}
	return true;
}

/*
 * Moves the two inner dimensions of a block, in squares. Returns false if follow_row() has failed.
 * One view may be dense along the rows and the other along the columns (a transposition): moving
 * whole rows would then load a cache line for each element.
 */
static bool follow_plane(const struct dma_copy *copy, const struct block_walk *b, uint64_t address,
			 char *buf, bool gather)
{
	unsigned int last = b->rank - 1;
	uint32_t columns = b->dim[last], rows = last ? b->dim[last - 1] : 1;
	int64_t follow = last ? b->follow[last - 1] : 0, buffer = last ? b->buffer[last - 1] : 0;
	uint32_t height = last ? SQUARE : 1, width = last ? SQUARE : columns;

	for (uint32_t i = 0; i < rows; i += height) {
		uint32_t end = rows - i < height ? rows : i + height;

		for (uint32_t j = 0; j < columns; j += width) {
			uint32_t n = columns - j < width ? columns - j : width;

			for (uint32_t k = i; k < end; k++) {
				uint64_t at = address + (uint64_t)follow * k +
					      (uint64_t)b->follow[last] * j;

				if (!follow_row(copy, at, b->follow[last],
						buf + buffer * k + b->buffer[last] * j,
						b->buffer[last], n, gather))
					return false;
			}
		}
	}
	return true;
}

/*
 * Moves a block's elements from the view `follow` to a buffer if @gather is true, else back. The
 * buffer has the order of the view `lead`. Returns false when the job is given up or a read faults.
 */
static bool follow_block(const struct dma_copy *copy, uint64_t address, char *buf, bool gather)
{
	uint32_t at[ONPU_MAX_RANK] = { 0 };
	struct block_walk b;
	unsigned int outer;

	block_walk_init(&b, copy);
	outer = b.rank > 2 ? b.rank - 2 : 0;
	for (;;) {
		unsigned int d = outer;

		if (!follow_plane(copy, &b, address, buf, gather))
			return false;
		for (; d; d--) {
			address += (uint64_t)b.follow[d - 1];
			buf += b.buffer[d - 1];
			if (++at[d - 1] < b.dim[d - 1])
				break;
			address -= (uint64_t)b.follow[d - 1] * b.dim[d - 1];
			buf -= b.buffer[d - 1] * b.dim[d - 1];
			at[d - 1] = 0;
		}
		if (!d)
			return true;
	}
}

/*
 * Copies a block that is dense in memory, through the buffer. Returns false when there is no memory
 * for the buffer, when the job is given up, or when an access faults.
 */
static bool buffered_block(const struct dma_copy *copy, uint64_t lead, uint64_t follow)
{
	const struct walk *walk = &copy->walk;
	char *buf = sim_scratch(copy->c, BLOCK);
	size_t bytes = copy->esize;

	if (!buf)
		return false;
	for (unsigned int d = copy->block; d < walk->rank; d++)
		bytes *= walk->dim[d];
	if (copy->lead == S0)
		return sim_read(copy->c, S0, lead, buf, bytes) &&
		       follow_block(copy, follow, buf, false);
	return follow_block(copy, follow, buf, true) && sim_write(copy->c, DST, lead, buf, bytes);
}

/*
 * Copies @n elements of the last dimension, in several steps when they have to go through the
 * buffer. Returns false when the job is given up or an access faults.
 */
static bool copy_row(const struct dma_copy *copy, uint64_t lead, uint64_t follow, uint32_t n)
{
	unsigned int last = copy->walk.rank - 1, esize = copy->esize;
	int64_t lead_step = copy->walk.stride[0][last], step = copy->walk.stride[1][last];
	uint64_t dst = copy->lead == DST ? lead : follow, src = copy->lead == DST ? follow : lead;
	int64_t dst_step = copy->lead == DST ? lead_step : step;
	int64_t src_step = copy->lead == DST ? step : lead_step;
	struct sim_context *c = copy->c;
	char buf[BUFFER];
	uint32_t fit = BUFFER / esize;

	if (!copy->src_va && !copy->dst_va) {
		c->kernels->copy[sim_size(esize)](sim_at(c, (int64_t)dst), dst_step,
						  sim_at(c, (int64_t)src), src_step, n);
		return true;
	}
	if (!copy->dst_va && dst_step == esize)
		return read_elements(copy, src, src_step, sim_at(c, (int64_t)dst), n);
	if (!copy->src_va && src_step == esize)
		return write_elements(copy, dst, dst_step, sim_at(c, (int64_t)src), n);
	for (uint32_t i = 0; i < n; i += fit) {
		uint32_t count = n - i < fit ? n - i : fit;
		uint64_t d = dst + (uint64_t)dst_step * i, s = src + (uint64_t)src_step * i;

		if (copy->src_va) {
			if (!read_elements(copy, s, src_step, buf, count))
				return false;
		} else {
			c->kernels->copy[sim_size(esize)](buf, esize, sim_at(c, (int64_t)s),
							  src_step, count);
		}
		if (copy->dst_va) {
			if (!write_elements(copy, d, dst_step, buf, count))
				return false;
		} else {
			c->kernels->copy[sim_size(esize)](sim_at(c, (int64_t)d), dst_step, buf,
							  esize, count);
		}
	}
	return true;
}

bool dma_copy_run(const struct dma_copy *copy, uint64_t dst, uint64_t src)
{
	const struct walk *walk = &copy->walk;
	uint64_t lead = copy->lead == DST ? dst : src, follow = copy->lead == DST ? src : dst;
	uint32_t at[ONPU_MAX_RANK] = { 0 };
	unsigned int last = walk->rank - 1;
	uint64_t rows = 0;

	for (;;) {
		unsigned int d = copy->block;

		if (sim_stop(copy->c, rows++))
			return false;
		if (!(copy->block < last ? buffered_block(copy, lead, follow) :
					   copy_row(copy, lead, follow, walk->dim[last])))
			return false;
		for (; d; d--) {
			lead += (uint64_t)walk->stride[0][d - 1];
			follow += (uint64_t)walk->stride[1][d - 1];
			if (++at[d - 1] < walk->dim[d - 1])
				break;
			lead -= (uint64_t)walk->stride[0][d - 1] * walk->dim[d - 1];
			follow -= (uint64_t)walk->stride[1][d - 1] * walk->dim[d - 1];
			at[d - 1] = 0;
		}
		if (!d)
			return true;
	}
}

/* ---- Fill ---- */

static bool fill_row(struct sim_context *c, const struct sim_tensor *t, uint64_t address,
		     int64_t step, uint32_t n, const uint64_t *value, const char *pattern)
{
	uint32_t fit = step == t->esize ? BUFFER / t->esize : 1;

	if (t->space == ONPU_SPACE_SRAM) {
		c->kernels->copy[sim_size(t->esize)](sim_at(c, (int64_t)address), step,
						     (const char *)value, 0, n);
		return true;
	}
	for (uint32_t i = 0; i < n; i += fit) {
		uint32_t count = n - i < fit ? n - i : fit;

		if (sim_stop(c, i / fit) || !sim_write(c, DST, address + (uint64_t)step * i,
						       pattern, (size_t)count * t->esize))
			return false;
	}
	return true;
}

bool dma_fill(struct sim_context *c, const struct sim_tensor *dst, uint64_t value)
{
	uint32_t at[ONPU_MAX_RANK] = { 0 };
	uint64_t address = dst->start;
	char pattern[BUFFER];
	struct walk walk;
	unsigned int last;
	uint64_t rows = 0;
	uint32_t count;

	walk_init(&walk, dst->rank, dst->dim);
	walk_operand(&walk, 0, dst->stride);
	walk_simplify(&walk);
	last = walk.rank - 1;
	count = walk.dim[last] < BUFFER / dst->esize ? walk.dim[last] : BUFFER / dst->esize;
	if (dst->space == ONPU_SPACE_VA)
		c->kernels->copy[sim_size(dst->esize)](pattern, dst->esize, (const char *)&value, 0,
						       count);
	for (;;) {
		unsigned int d = last;

		if (sim_stop(c, rows++))
			return false;
		if (!fill_row(c, dst, address, walk.stride[0][last], walk.dim[last], &value,
			      pattern))
			return false;
		for (; d; d--) {
			address += (uint64_t)walk.stride[0][d - 1];
			if (++at[d - 1] < walk.dim[d - 1])
				break;
			address -= (uint64_t)walk.stride[0][d - 1] * walk.dim[d - 1];
			at[d - 1] = 0;
		}
		if (!d)
			return true;
	}
}

/* ---- Pad: copies and fills of the regions of the destination */

/* A region of a dimension of DST: where it begins, and which elements of S0 it gets. */
struct pad_part {
	uint32_t first, count;
	bool outside; /* the region is beyond the source */
	uint32_t source;
	int64_t step; /* source elements to move for each element of DST: 1, 0 or -1 */
};

static struct pad_part pad_part(const struct sim_work *w, unsigned int d, unsigned int part)
{
	const struct onpu_slot_param_pad *p = &w->param.pad;
	uint32_t n = w->t[S0].dim[d], lo = p->lo[d], hi = w->t[DST].dim[d] - n - lo;
	unsigned int skip = p->mode == ONPU_PAD_REFLECTION;

	if (part == 1)
		return (struct pad_part){ lo, n, false, 0, 1 };
	if (p->mode == ONPU_PAD_EDGE)
		return part ? (struct pad_part){ lo + n, hi, true, n - 1, 0 } :
			      (struct pad_part){ 0, lo, true, 0, 0 };
	/* A reflection leaves out the element at the edge, which a symmetric copy repeats. */
	return part ? (struct pad_part){ lo + n, hi, true, n - 1 - skip, -1 } :
		      (struct pad_part){ 0, lo, true, lo - 1 + skip, -1 };
}

static bool pad_dim(struct sim_context *c, const struct sim_work *w, unsigned int d,
		    struct sim_tensor *dst, struct sim_tensor *src)
{
	const struct onpu_slot_param_pad *p = &w->param.pad;

	if (d == dst->rank) {
		struct dma_copy copy;

		dma_copy_init(&copy, c, dst, src);
		return dma_copy_run(&copy, dst->start, src->start);
	}
	for (unsigned int i = 0; i < 3; i++) {
		struct pad_part part = pad_part(w, d, i);
		struct sim_tensor to = *dst, from = *src;
		bool ok;

		if (!part.count)
			continue;
		to.start += (uint64_t)dst->stride[d] * part.first;
		to.dim[d] = part.count;
		if (p->mode == ONPU_PAD_CONSTANT && part.outside) {
			ok = dma_fill(c, &to, p->value);
		} else {
			from.start += (uint64_t)src->stride[d] * part.source;
			from.dim[d] = part.count;
			from.stride[d] = (int64_t)((uint64_t)src->stride[d] * (uint64_t)part.step);
			ok = pad_dim(c, w, d + 1, &to, &from);
		}
		if (!ok)
			return false;
	}
	return true;
}

/* Counts the elements that a pad writes to DST, and those of S0, each as often as it is read. */
static void pad_count(struct sim_context *c, const struct sim_work *w)
{
	bool constant = w->param.pad.mode == ONPU_PAD_CONSTANT;
	uint64_t all = sim_elements(&w->t[DST]);

	dma_count(c, &w->t[DST], NULL, all);
	dma_count(c, NULL, &w->t[S0], constant ? sim_elements(&w->t[S0]) : all);
}

bool sim_dma(struct sim_context *c, const struct sim_work *w)
{
	struct sim_tensor dst = w->t[DST], src = w->t[S0];
	struct dma_copy copy;

	switch (w->insn.op) {
	case ONPU_OP_DMA_FILL:
		dma_count(c, &dst, NULL, sim_elements(&dst));
		return dma_fill(c, &dst, w->param.fill.value);
	case ONPU_OP_DMA_PAD:
		pad_count(c, w);
		return pad_dim(c, w, 0, &dst, &src);
	default:
		dma_count(c, &dst, &src, sim_elements(&dst));
		dma_copy_init(&copy, c, &dst, &src);
		return dma_copy_run(&copy, dst.start, src.start);
	}
}
