/* SPDX-License-Identifier: MIT */
/*
 * The layer on oneDNN: convolutions in channels-last layout, and products; in float32, and on 8-bit
 * integers with constant operands. The library is loaded when the first node asks for it, never by
 * linking, since loading takes milliseconds. By itself it would share work among OpenMP's threads;
 * here every call has one thread, and a node is cut into slices that the pool's threads take. The
 * slices depend on shapes only, so that results do not depend on the number of threads.
 */
#ifndef WNN_CPU_ONEDNN_H
#define WNN_CPU_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#include "cpu/fast.h"

/* The functions that are called, by their names without dnnl_. */
#define ONEDNN_FUNCTIONS(F)                          \
	F(convolution_forward_primitive_desc_create) \
	F(engine_create)                             \
	F(get_effective_cpu_isa)                     \
	F(matmul_primitive_desc_create)              \
	F(memory_create)                             \
	F(memory_desc_clone)                         \
	F(memory_desc_create_with_strides)           \
	F(memory_desc_create_with_tag)               \
	F(memory_desc_destroy)                       \
	F(memory_desc_get_size)                      \
	F(memory_desc_query)                         \
	F(memory_destroy)                            \
	F(memory_set_data_handle)                    \
	F(primitive_attr_create)                     \
	F(primitive_attr_destroy)                    \
	F(primitive_attr_set_zero_points_mask)       \
	F(primitive_attr_set_scratchpad_mode)        \
	F(primitive_create)                          \
	F(primitive_desc_destroy)                    \
	F(primitive_desc_query)                      \
	F(primitive_desc_query_md)                   \
	F(primitive_destroy)                         \
	F(primitive_execute)                         \
	F(stream_create)                             \
	F(stream_destroy)                            \
	F(version)

struct onednn {
#define ONEDNN_FUNCTION(name) __typeof__(dnnl_##name) *name;
	ONEDNN_FUNCTIONS(ONEDNN_FUNCTION)
#undef ONEDNN_FUNCTION
	/* OpenMP's functions: the number of threads is a property of the calling thread. */
	void (*set_threads)(int threads);
	int (*get_threads)(void);
	dnnl_engine_t engine;
	bool exact_integers; /* sums of products of 8 bits do not saturate on the way */
	bool has_amx;	     /* it multiplies tiles of 8 bits */
	char form[64];	     /* the name of the form of packed operands */
};

/* NULL when there is none. Loads it on the first call; thread-safe. */
const struct onednn *onednn_get(void);

/* From enter to leave, calls on this thread have one thread. Returns what leave is to be given. */
static inline int onednn_enter(const struct onednn *dnn)
{
	int threads = dnn->get_threads();

	if (threads != 1)
		dnn->set_threads(1);
	return threads;
}

static inline void onednn_leave(const struct onednn *dnn, int threads)
{
	if (threads != 1)
		dnn->set_threads(threads);
}

static inline int onednn_make_memory(const struct onednn *dnn, dnnl_memory_t *memory,
				     const_dnnl_memory_desc_t desc)
{
	return dnn->memory_create(memory, desc, dnn->engine, DNNL_MEMORY_NONE);
}

/* Whether oneDNN has more for it than plain loops: these are there for every shape, but slow. */
bool onednn_is_fast(const struct onednn *dnn, const_dnnl_primitive_desc_t desc);

/*
 * Makes attributes of a primitive whose caller provides scratch memory; to be destroyed in any
 * case. They have no activations: those of oneDNN turn NaN into a limit.
 */
int onednn_make_attributes(const struct onednn *dnn, dnnl_primitive_attr_t *attr);

/*
 * Computes some small nodes, and compares them with the reference. 0, or -1: oneDNN is wrong
 * (WNN_NOT_SUPPORTED), or memory ran out.
 */
int onednn_check(const struct onednn *dnn, struct wnn_error *err);

/* Returns NULL when oneDNN is not the best for a node, or does not take it. */
struct cpu_prepared *onednn_matmul_prepare(const struct onednn *dnn, const struct cpu_context *cpu,
					   const struct ir_node *node);
struct cpu_prepared *onednn_winograd_prepare(const struct onednn *dnn,
					     const struct cpu_context *cpu,
					     const struct ir_node *node);
struct cpu_prepared *onednn_conv_prepare(const struct onednn *dnn, const struct cpu_context *cpu,
					 const struct ir_node *node);

#endif
