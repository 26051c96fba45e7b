// SPDX-License-Identifier: MIT
/*
 * Computes the products of Winograd's algorithm (kernel/winograd.c) with oneDNN, if it has optimised
 * kernels that read a packed filter.
 */
#include "cpu/onednn/onednn.h"

#include "cpu/onednn/form.h"
#include "cpu/kernel/winograd.h"
#include "util/malloc.h"
#include "cpu/onednn/kernels.h"

/*
 * A primitive for chunks of `tiles` tiles: state.products[0] is for the usual number of tiles,
 * state.products[1] for the last chunk.
 */
struct products {
	int64_t tiles;
	dnnl_memory_desc_t src, dst;
	dnnl_primitive_desc_t desc;
	dnnl_primitive_t primitive;
	const_dnnl_memory_desc_t scratch; /* belongs to `desc` */
};

struct memories {
	dnnl_memory_t src, weights, dst, scratch;
};

struct state {
	const struct onednn *dnn;
	struct cpu_winograd_shape shape;
	dnnl_memory_desc_t packed; /* layout of the packed filter of a call */
	struct onednn_form form;
	size_t scratch_bytes;
	struct products products[2];
	struct memories *memories; /* [thread][2] */
	dnnl_stream_t *streams;	   /* [thread] */
};

static bool multiply(void *argument, const struct cpu_winograd_call *call)
{
	struct state *s = argument;
	const struct onednn *dnn = s->dnn;
	int which = call->tiles != s->shape.tiles;
	struct memories *m = &s->memories[2 * call->worker + (unsigned int)which];
	const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, m->src },
					 { DNNL_ARG_WEIGHTS, m->weights },
					 { DNNL_ARG_DST, m->dst },
					 { DNNL_ARG_SCRATCHPAD, m->scratch } };
	int threads = onednn_enter(dnn);
	bool done = !dnn->memory_set_data_handle(m->src, (void *)call->v) &&
		    !dnn->memory_set_data_handle(m->weights, (void *)call->filter) &&
		    !dnn->memory_set_data_handle(m->dst, call->m) &&
		    !dnn->memory_set_data_handle(m->scratch, call->scratch) &&
		    !dnn->primitive_execute(s->products[which].primitive, s->streams[call->worker],
					    4, args);

	onednn_leave(dnn, threads);
	return done;
}

static void repack(void *argument, float *points, char *packed, bool back)
{
	const struct state *s = argument;
	const int64_t strides[] = { s->shape.in_c * s->shape.out_c, s->shape.out_c, 1 };

	if (back)
		onednn_form_unpack(&s->form, packed, strides, points);
	else
		onednn_form_pack(&s->form, points, strides, packed);
}

static void destroy(void *argument)
{
	struct state *s = argument;
	const struct onednn *dnn = s->dnn;
	unsigned int threads = s->shape.threads;

	for (unsigned int i = 0; s->memories && i < 2 * threads; i++) {
		dnn->memory_destroy(s->memories[i].src);
		dnn->memory_destroy(s->memories[i].weights);
		dnn->memory_destroy(s->memories[i].dst);
		dnn->memory_destroy(s->memories[i].scratch);
	}
	for (unsigned int t = 0; s->streams && t < threads; t++)
		dnn->stream_destroy(s->streams[t]);
	for (int i = 0; i < 2; i++) {
		dnn->primitive_destroy(s->products[i].primitive);
		dnn->primitive_desc_destroy(s->products[i].desc);
		dnn->memory_desc_destroy(s->products[i].src);
		dnn->memory_desc_destroy(s->products[i].dst);
	}
	dnn->memory_desc_destroy(s->packed);
	wnn_free(s->memories);
	wnn_free(s->streams);
	wnn_free(s);
}

static int describe_products(struct state *s, struct products *p)
{
	const struct onednn *dnn = s->dnn;
	const dnnl_dims_t src = { s->shape.points, p->tiles, s->shape.in_c };
	const dnnl_dims_t dst = { s->shape.points, p->tiles, s->shape.out_c };
	dnnl_primitive_attr_t attr = NULL;
	int ret;

	if (dnn->memory_desc_create_with_tag(&p->src, 3, src, dnnl_f32, dnnl_abc) ||
	    dnn->memory_desc_create_with_tag(&p->dst, 3, dst, dnnl_f32, dnnl_abc))
		return -1;
	ret = onednn_make_attributes(dnn, &attr) ||
	      dnn->matmul_primitive_desc_create(&p->desc, dnn->engine, p->src, s->packed, NULL,
						p->dst, attr);
	dnn->primitive_attr_destroy(attr);
	return ret ? -1 : 0;
}

/*
 * Makes a primitive; the first one chooses the layout of the filter. Returns 0, or -1 when oneDNN
 * fails or chooses an unknown layout.
 */
static int make_products(struct state *s, struct products *p)
{
	const struct onednn *dnn = s->dnn;
	const_dnnl_memory_desc_t chosen;
	dnnl_memory_desc_t copy = NULL;
	size_t scratch;

	if (dnn->primitive_create(&p->primitive, p->desc))
		return -1;
	chosen = dnn->primitive_desc_query_md(p->desc, dnnl_query_weights_md, 0);
	if (p == s->products) {
		if (!onednn_form_read(dnn, chosen, (struct onednn_input){ 0 }, &s->form) ||
		    dnn->memory_desc_clone(&copy, chosen))
			return -1;
		dnn->memory_desc_destroy(s->packed);
		s->packed = copy;
	}
	p->scratch = dnn->primitive_desc_query_md(p->desc, dnnl_query_scratchpad_md, 0);
	scratch = cpu_round_up(dnn->memory_desc_get_size(p->scratch));
	if (scratch > s->scratch_bytes)
		s->scratch_bytes = scratch;
	return 0;
}

static int make_memories(struct state *s)
{
	const struct onednn *dnn = s->dnn;

	for (unsigned int t = 0; t < s->shape.threads; t++) {
		if (dnn->stream_create(&s->streams[t], dnn->engine, dnnl_stream_default_flags))
			return -1;
		for (unsigned int i = 0; i < 2 && s->products[i].tiles; i++) {
			struct memories *m = &s->memories[2 * t + i];

			if (onednn_make_memory(dnn, &m->src, s->products[i].src) ||
			    onednn_make_memory(dnn, &m->weights, s->packed) ||
			    onednn_make_memory(dnn, &m->dst, s->products[i].dst) ||
			    onednn_make_memory(dnn, &m->scratch, s->products[i].scratch))
				return -1;
		}
	}
	return 0;
}

/*
 * Describes the first primitive; sets *fast to whether oneDNN has an optimised implementation of
 * it. Returns 0 or -1.
 */
static int begin(struct state *s, bool *fast)
{
	const struct onednn *dnn = s->dnn;
	const dnnl_dims_t dims = { s->shape.points, s->shape.in_c, s->shape.out_c };

	s->memories = wnn_calloc(2 * (size_t)s->shape.threads, sizeof(*s->memories));
	s->streams = wnn_calloc(s->shape.threads, sizeof(dnnl_stream_t));
	if (!s->memories || !s->streams ||
	    dnn->memory_desc_create_with_tag(&s->packed, 3, dims, dnnl_f32, dnnl_format_tag_any))
		return -1;
	s->products[0].tiles = s->shape.tiles;
	s->products[1].tiles = s->shape.rest;
	if (describe_products(s, &s->products[0]))
		return -1;
	*fast = onednn_is_fast(dnn, s->products[0].desc);
	return 0;
}

static int make_all(struct state *s)
{
	if (make_products(s, &s->products[0]))
		return -1;
	if (s->shape.rest &&
	    (describe_products(s, &s->products[1]) || make_products(s, &s->products[1])))
		return -1;
	return make_memories(s);
}

static int make(const void *library, const struct cpu_winograd_shape *shape,
		struct cpu_winograd_products *products)
{
	struct state *s = wnn_calloc(1, sizeof(*s));
	bool fast = false;
	int ret;

	if (!s)
		return -1;
	s->dnn = library;
	s->shape = *shape;
	ret = begin(s, &fast);
	if (!ret && fast)
		ret = make_all(s);
	if (ret || !fast) {
		destroy(s);
		return ret;
	}
	*products = (struct cpu_winograd_products){
		.state = s,
		.filter_bytes = cpu_round_up(s->dnn->memory_desc_get_size(s->packed)),
		.scratch_bytes = s->scratch_bytes,
		.multiply = multiply,
		.repack = repack,
		.fail = onednn_failed,
		.destroy = destroy,
	};
	return 0;
}

struct cpu_plan *cpu_onednn_winograd_plan(const struct cpu_ask *ask)
{
	const struct onednn *dnn = onednn_get();
	int threads = onednn_enter(dnn);
	struct cpu_plan *plan = cpu_winograd_make(ask, make, dnn);

	onednn_leave(dnn, threads);
	return plan;
}
