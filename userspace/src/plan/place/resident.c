// SPDX-License-Identifier: MIT
/*
 * Chooses the values that stay in SRAM (resident values) from the node that defines them to the
 * last one that uses them. They are neither stored nor loaded, and kernels read and write them in
 * place if they can. Their addresses begin at 0; the kernel of a node uses the SRAM after the
 * values that are live.
 *
 * An image between convolutions, pools and element-wise operators is laid out by rows, for every
 * layout in the graph, so that a node can begin with the first rows that the node before has
 * computed. It has the padding of convolutions and average pools (zeros or zero points) around it.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/operators.h"
#include "plan/place/values.h"

#include "util/malloc.h"

#define MAX_LIFE   64	 /* nodes; values with longer live ranges stay in memory */
#define MAX_ALIVE  24	 /* the most values in SRAM at a time */
#define MAX_PAD	   8	 /* the most rows or columns of padding on a side of an image */
#define SEAM	   256	 /* nodes between points where no value is in SRAM, so that a job can end */
#define LEAST_SRAM 16384 /* bytes; every kernel has a tile that fits */
#define TOPK_ENTRY 72	 /* bytes; at least what an entry of a chunk of topk takes in SRAM */

/*
 * The layout and padding that a root value (values_root()) should have, for the nodes that read or
 * write it.
 */
struct wish {
	/*
	 * touched: a node reads or writes the value itself. image: a node takes it by rows, in
	 * `layout`. plain: a node needs it dense and row-major, or two nodes want different
	 * layouts.
	 */
	bool touched, plain, image;
	enum ir_layout layout;
	/* the padding, as in struct value_location */
	int64_t halo[2][2];
	uint64_t halo_value;
};

struct chooser {
	struct plan *plan;
	struct wish *wish;	      /* by value id; used for roots */
	uint32_t (*alive)[MAX_ALIVE]; /* by node: the roots that are live in SRAM */
	uint8_t *num_alive;
	uint64_t *need; /* by node: bytes of SRAM that its kernel must have */
	/* the ids of the `count` values that may become resident, as collect() lists them */
	uint32_t *order;
	uint32_t count;
};

/* ---- the layouts that nodes need */

/* Returns the wish for the root of a value, and notes that a node reads or writes it. */
static struct wish *wish_of(struct chooser *ch, const struct ir_value *value)
{
	struct wish *wish = &ch->wish[values_root(ch->plan, value->id)];

	wish->touched = true;
	return wish;
}

static void want_plain(struct chooser *ch, const struct ir_value *value)
{
	if (value)
		wish_of(ch, value)->plain = true;
}

static bool has_halo(const struct wish *wish)
{
	return wish->halo[0][0] || wish->halo[0][1] || wish->halo[1][0] || wish->halo[1][1];
}

/*
 * Notes that a node reads an image, and the padding that the node needs. All padding elements of an
 * image are equal: a node that needs another padding value than the first node with padding loads
 * the image to tiles.
 */
static void want_image(struct chooser *ch, const struct ir_value *value, enum ir_layout layout,
		       const uint32_t *padding, uint64_t padded_with)
{
	struct wish *wish = wish_of(ch, value);

	if (wish->image && wish->layout != layout)
		wish->plain = true;
	wish->image = true;
	wish->layout = layout;
	if (padding && has_halo(wish) && wish->halo_value != padded_with)
		return;
	if (padding)
		wish->halo_value = padded_with;
	for (int i = 0; padding && i < 4; i++)
		if (padding[i] <= MAX_PAD && padding[i] > wish->halo[i / 2][i % 2])
			wish->halo[i / 2][i % 2] = padding[i];
}

/*
 * Returns true if a concat or slice shares the memory of all operands and its result: such a node
 * moves nothing, and needs no layout.
 */
static bool lies_inside(const struct plan *plan, const struct ir_node *node)
{
	if (node->op != IR_OP_CONCAT && node->op != IR_OP_SLICE)
		return false;
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (!values_shared(plan, node->operands[i], node->results[0]))
			return false;
	return true;
}

static bool is_conv(const struct ir_node *node)
{
	return node->op == IR_OP_CONV || node->op == IR_OP_QCONV;
}

static bool is_pool(const struct ir_node *node)
{
	return node->op == IR_OP_POOL || node->op == IR_OP_QPOOL;
}

/* Returns true if a node can read or write this value when it is laid out by rows. */
static bool takes_rows(const struct ir_node *node, const struct ir_value *value)
{
	return plan_operators[node->op].any_layout && value->type.rank == 4 &&
	       !plan_dtype_is_nibble(plan_dtype(value->type.dtype));
}

static void ask_node(struct chooser *ch, const struct ir_node *node)
{
	const uint32_t *padding = NULL;
	uint64_t zero = 0;

	if (lies_inside(ch->plan, node))
		return;
	for (uint32_t i = 0; i < node->num_operands; i++) {
		const struct ir_value *value = node->operands[i];

		if (!value)
			continue;
		if (is_conv(node) && !i) {
			if (!node->attrs.conv.transposed)
				padding = node->attrs.conv.padding;
			if (node->op == IR_OP_QCONV)
				zero = (uint8_t)node->attrs.qconv.integer.a_zero;
			want_image(ch, value, node->attrs.conv.layout, padding, zero);
		} else if (is_pool(node) && !i) {
			if (node->attrs.pool.kind != IR_POOL_MAX)
				padding = node->attrs.pool.padding;
			if (node->op == IR_OP_QPOOL)
				zero = (uint8_t)node->attrs.qpool.a_zero;
			want_image(ch, value, node->attrs.pool.layout, padding, zero);
		} else if (takes_rows(node, value)) {
			wish_of(ch, value);
		} else {
			want_plain(ch, value);
		}
	}
	for (uint32_t i = 0; i < node->num_results; i++) {
		if (is_conv(node))
			want_image(ch, node->results[i], node->attrs.conv.layout, NULL, 0);
		else if (is_pool(node))
			want_image(ch, node->results[i], node->attrs.pool.layout, NULL, 0);
		else if (plan_operators[node->op].any_layout)
			wish_of(ch, node->results[i]);
		else
			want_plain(ch, node->results[i]);
	}
}

/* ---- the SRAM that kernels need */

static uint64_t filter_bytes(const struct ir_node *node)
{
	if (!is_conv(node) && node->op != IR_OP_MATMUL && node->op != IR_OP_QMATMUL &&
	    node->op != IR_OP_WMATMUL)
		return 0;
	return (uint64_t)ir_type_bytes(&node->operands[1]->type);
}

/*
 * Returns the bytes of SRAM that a node's kernel needs beside resident values: a share of the SRAM,
 * plus the bytes of the filter, but at most a quarter of the SRAM for these.
 */
static uint64_t need_of(const struct plan *plan, const struct ir_node *node)
{
	uint64_t sram = plan->caps->sram_bytes, need = sram / 16, filter = filter_bytes(node);

	/* The weights of a recurrent network stay in SRAM over all steps. */
	if (node->op == IR_OP_GRU || node->op == IR_OP_LSTM)
		return sram;
	if (filter > sram / 4)
		filter = sram / 4;
	need += filter;
	/* No tile of topk has fewer entries than a chunk: the count, rounded up to a power of 2. */
	if (node->op == IR_OP_TOPK) {
		uint64_t least = TOPK_ENTRY;

		while (least < TOPK_ENTRY * (uint64_t)ir_type_dim(&node->results[0]->type,
								  node->attrs.arg.axis))
			least *= 2;
		need = least > need ? least : need;
	}
	return need > LEAST_SRAM ? need : LEAST_SRAM;
}

/* ---- geometry */

/*
 * Lays out an image with rows outermost and channels innermost, with padding around it. The columns
 * of padding after a row are also those before the next row.
 */
static void lay_out_image(const struct ir_value *value, const struct wish *wish,
			  struct value_location *location)
{
	static const uint8_t axes[2][4] = { { 0, 1, 2, 3 }, { 0, 3, 1, 2 } };
	const uint8_t *axis = axes[wish->layout == IR_NHWC];
	int64_t size = plan_dtype_bytes(plan_dtype(value->type.dtype)), dim[4], side;

	memcpy(location->image_axis, axis, sizeof(location->image_axis));
	memcpy(location->halo, wish->halo, sizeof(location->halo));
	location->halo_value = wish->halo_value;
	for (int i = 0; i < 4; i++)
		dim[i] = ir_type_dim(&value->type, axis[i]);
	side = location->halo[1][0] > location->halo[1][1] ? location->halo[1][0] :
							     location->halo[1][1];
	location->stride[axis[1]] = size;
	location->stride[axis[3]] = size * dim[1];
	location->stride[axis[2]] = location->stride[axis[3]] * (dim[3] + side);
	location->stride[axis[0]] =
		location->stride[axis[2]] * (dim[2] + location->halo[0][0] + location->halo[0][1]) +
		location->stride[axis[3]] * side;
	location->origin =
		location->stride[axis[2]] * location->halo[0][0] + location->stride[axis[3]] * side;
	location->bytes = (uint64_t)(location->stride[axis[0]] * dim[0]);
	location->strided = true;
}

static void set_geometry(struct chooser *ch, uint32_t id)
{
	const struct ir_value *value = ch->plan->graph->values[id];
	const struct wish *wish = &ch->wish[id];
	struct value_location *location = &ch->plan->values->location[id];

	if (wish->image && !wish->plain && value->type.rank == 4)
		lay_out_image(value, wish, location);
}

/* Undoes set_geometry() for a value that stays in memory; the caller restores the strides. */
static void clear_geometry(const struct ir_value *value, struct value_location *location)
{
	location->strided = false;
	location->origin = 0;
	location->bytes = (uint64_t)ir_type_bytes(&value->type);
	memset(location->halo, 0, sizeof(location->halo));
}

/* ---- addresses in SRAM */

/* Returns true if a value is live across one of the points where no value may be in SRAM. */
static bool crosses_seam(const struct value_location *location)
{
	return location->begin / SEAM != location->end / SEAM;
}

/* Compares values for qsort_r(): short live ranges first, then large values, then early ones. */
static int by_life(const void *a, const void *b, void *data)
{
	const struct value_location *location = data;
	const struct value_location *x = &location[*(const uint32_t *)a],
				    *y = &location[*(const uint32_t *)b];
	uint32_t lx = x->end - x->begin, ly = y->end - y->begin;

	if (lx != ly)
		return lx < ly ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/*
 * Lists the values that are in SRAM during the live range of `location`, by address; returns their
 * number. UINT32_MAX: there are more than `room`.
 */
static uint32_t neighbours(const struct chooser *ch, const struct value_location *location,
			   const struct value_location **list, uint32_t room)
{
	const struct value_location *all = ch->plan->values->location;
	uint32_t count = 0;

	for (uint32_t n = location->begin; n <= location->end; n++) {
		for (uint32_t i = 0; i < ch->num_alive[n]; i++) {
			const struct value_location *other = &all[ch->alive[n][i]];
			uint32_t at;

			/* The value is in the list already, from an earlier node. */
			if (n > location->begin && other->begin < n)
				continue;
			if (count == room)
				return UINT32_MAX;
			for (at = count++; at > 0 && list[at - 1]->offset > other->offset; at--)
				list[at] = list[at - 1];
			list[at] = other;
		}
	}
	return count;
}

static uint64_t pinned_bytes(const struct plan *plan)
{
	return plan->sram.pinned ? plan->sram.pinned->bytes : 0;
}

/*
 * Finds the lowest free address for a value; false: it would leave a kernel too little SRAM, or too
 * many values would be live.
 */
static bool find_address(const struct chooser *ch, const struct value_location *location,
			 uint64_t *address)
{
	const struct value_location *list[4 * MAX_ALIVE];
	uint32_t count = neighbours(ch, location, list, 4 * MAX_ALIVE);

	if (count == UINT32_MAX)
		return false;
	*address = pinned_bytes(ch->plan);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = (uint64_t)list[i]->offset;

		if (from >= *address + location->bytes)
			break;
		if (from + plan_align(list[i]->bytes) > *address)
			*address = from + plan_align(list[i]->bytes);
	}
	for (uint32_t n = location->begin; n <= location->end; n++)
		if (ch->num_alive[n] == MAX_ALIVE ||
		    *address + plan_align(location->bytes) + ch->need[n] >
			    ch->plan->caps->sram_bytes)
			return false;
	return true;
}

/* Makes a value resident if it fits into SRAM. */
static void try_resident(struct chooser *ch, uint32_t id)
{
	const struct ir_value *value = ch->plan->graph->values[id];
	struct plan_values *values = ch->plan->values;
	struct value_location *location = &values->location[id];
	int64_t dense[IR_MAX_RANK];
	uint64_t address;

	memcpy(dense, location->stride, sizeof(dense));
	set_geometry(ch, id);
	if (!find_address(ch, location, &address)) {
		memcpy(location->stride, dense, sizeof(dense));
		clear_geometry(value, location);
		return;
	}
	location->base = NPU_BASE_NONE;
	location->offset = (int64_t)address;
	values->resident[values->num_resident++] = id;
	for (uint32_t n = location->begin; n <= location->end; n++) {
		ch->alive[n][ch->num_alive[n]++] = id;
		if (values->node_base[n] < address + plan_align(location->bytes))
			values->node_base[n] = address + plan_align(location->bytes);
	}
}

/* Lists the values that may become resident, in the order in which they are tried. */
static void collect(struct chooser *ch)
{
	const struct ir_graph *graph = ch->plan->graph;

	for (uint32_t id = 0; id < graph->num_values; id++) {
		const struct value_location *location = &ch->plan->values->location[id];

		if (location->used && !location->in_slices && location->parent == NO_PARENT &&
		    location->base == NPU_BASE_ARENA && ch->wish[id].touched &&
		    location->end - location->begin <= MAX_LIFE && !crosses_seam(location) &&
		    location->bytes < ch->plan->caps->sram_bytes &&
		    graph->values[id]->kind == IR_VALUE_RESULT)
			ch->order[ch->count++] = id;
	}
	qsort_r(ch->order, ch->count, sizeof(*ch->order), by_life, ch->plan->values->location);
}

static int by_begin(const void *a, const void *b, void *data)
{
	const struct value_location *location = data;
	uint32_t x = location[*(const uint32_t *)a].begin, y = location[*(const uint32_t *)b].begin;

	return x < y ? -1 : x > y;
}

static bool prepare(struct chooser *ch)
{
	struct plan_values *values = ch->plan->values;
	uint32_t nodes = ch->plan->count, num = ch->plan->graph->num_values;

	ch->wish = wnn_calloc(num + 1, sizeof(*ch->wish));
	ch->alive = wnn_calloc(nodes + 1, sizeof(*ch->alive));
	ch->num_alive = wnn_calloc(nodes + 1, sizeof(*ch->num_alive));
	ch->need = wnn_calloc(nodes + 1, sizeof(*ch->need));
	ch->order = wnn_calloc(num + 1, sizeof(*ch->order));
	values->resident = wnn_calloc(num + 1, sizeof(*values->resident));
	values->node_base = wnn_calloc(nodes + 1, sizeof(*values->node_base));
	return ch->wish && ch->alive && ch->num_alive && ch->need && ch->order &&
	       values->resident && values->node_base;
}

int residents_choose(struct plan *plan)
{
	struct chooser ch = { .plan = plan };
	bool ok = prepare(&ch);

	if (!ok)
		plan_nomem(plan);
	for (uint32_t n = 0; ok && n < plan->count; n++)
		plan->values->node_base[n] = pinned_bytes(plan);
	for (uint32_t n = 0; ok && n < plan->count; n++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + n];

		uint32_t fused = values_fused(plan, n);

		ask_node(&ch, node);
		/* The node of an addition may compute the convolution before it, too. */
		if (fused != NOT_FUSED && fused < n)
			node = plan->graph->nodes[plan->first + fused];
		ch.need[n] = need_of(plan, node);
	}
	if (ok)
		collect(&ch);
	for (uint32_t i = 0; i < ch.count; i++)
		try_resident(&ch, ch.order[i]);
	if (ok)
		qsort_r(plan->values->resident, plan->values->num_resident,
			sizeof(*plan->values->resident), by_begin, plan->values->location);
	wnn_free(ch.wish);
	wnn_free(ch.alive);
	wnn_free(ch.num_alive);
	wnn_free(ch.need);
	wnn_free(ch.order);
	return ok ? 0 : -1;
}

/* ---- while nodes are lowered */

/* Fills `runs` runs of bytes of each image, `distance` bytes apart, from `offset` on. */
static void fill(struct plan *plan, const struct npu_view *image, uint64_t value, int64_t offset,
		 int64_t runs, int64_t distance, int64_t bytes)
{
	struct plan_param param = plan_param_make(PLAN_FILL);
	int64_t size = plan_dtype_bytes(image->dtype);
	struct npu_view view = *image, *list[1] = { &view };

	if (!bytes || !runs)
		return;
	param.fill.value = value;
	view.offset = offset;
	view.rank = 3;
	view.dim[1] = runs;
	view.stride[1] = distance;
	view.dim[2] = bytes / size;
	view.stride[2] = size;
	views_simplify(list, 1);
	/* The fill runs on ST, which has less to do than LD when values stay in SRAM. */
	plan_emit(plan,
		  &(struct plan_insn){
			  .op = ONPU_OP_DMA_FILL, .on_st = true, .dst = &view, .param = &param });
}

/* Fills the padding before the first row, after each row, and after the last row. */
static void fill_halo(struct plan *plan, const struct ir_value *value,
		      const struct value_location *location)
{
	int64_t image = location->stride[location->image_axis[0]],
		row = location->stride[location->image_axis[2]],
		rows = ir_type_dim(&value->type, location->image_axis[2]),
		inner = ir_type_dim(&value->type, location->image_axis[3]) *
			location->stride[location->image_axis[3]];
	struct npu_view view = {
		.base = NPU_BASE_NONE,
		.dtype = plan_dtype(value->type.dtype),
		.window = (uint64_t)location->offset,
		.window_bytes = location->bytes,
	};

	view.dim[0] = ir_type_dim(&value->type, location->image_axis[0]);
	view.stride[0] = image;
	fill(plan, &view, location->halo_value, 0, 1, row, location->origin);
	fill(plan, &view, location->halo_value, location->origin + inner, rows, row, row - inner);
	fill(plan, &view, location->halo_value, location->origin + rows * row, 1, row,
	     row * location->halo[0][1]);
}

static void begin_value(struct plan *plan, const struct ir_value *value)
{
	const struct value_location *location = &plan->values->location[value->id];

	plan_birth(plan, location->offset, location->offset + (int64_t)plan_align(location->bytes));
	if (plan->report.failed)
		return;
	if (location->origin || location->halo[0][1])
		fill_halo(plan, value, location);
}

void residents_begin(struct plan *plan)
{
	struct plan_values *values = plan->values;

	if (!values->node_base)
		return;
	plan->sram.base = values->node_base[plan->report.node];
	while (values->next_resident < values->num_resident && !plan->report.failed) {
		uint32_t id = values->resident[values->next_resident];

		if (values->location[id].begin > plan->report.node)
			return;
		begin_value(plan, plan->graph->values[id]);
		values->next_resident++;
	}
}
