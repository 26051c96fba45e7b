/* SPDX-License-Identifier: MIT */
/*
 * The layer on oneDNN: convolutions in channels-last layout, and products; in float32, and on 8-bit
 * integers with a constant second operand. The library is not linked, but loaded when it is first
 * needed, since loading takes milliseconds. By default oneDNN divides work among OpenMP's threads;
 * here every call uses one thread, and the work of a node is cut into slices that the pool's
 * threads take. The slices depend on shapes only, so that results do not depend on the number of
 * threads.
 */
#ifndef WNN_CPU_ONEDNN_H
#define WNN_CPU_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#include "cpu/fast.h"
#include "cpu/kernel/conv.h"

/* The functions of oneDNN that this layer calls, without their prefix dnnl_. */
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
	/* Set and return OpenMP's number of threads, which is a property of the calling thread. */
	void (*set_threads)(int threads);
	int (*get_threads)(void);
	dnnl_engine_t engine;
	bool exact_integers; /* whether sums of 8-bit products are computed without saturation */
	bool has_amx;	     /* whether oneDNN multiplies tiles of 8-bit integers with AMX */
	char form[64];	     /* name of the layout of packed operands */
};

/*
 * Returns the functions of oneDNN, which the first call loads and tests; NULL when it cannot be
 * loaded or fails the self-test. Thread-safe.
 */
const struct onednn *onednn_get(void);

/*
 * Makes oneDNN use one thread for calls on this thread. Returns the number of threads that was set
 * before, which onednn_leave() restores.
 */
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

/* Sets the error of a call of oneDNN that failed in a dispatch. Returns -1. */
int onednn_failed(struct wnn_error *err);

/*
 * Whether oneDNN has an optimised implementation of a primitive. For every shape it has plain
 * loops, but they are slow.
 */
bool onednn_is_fast(const struct onednn *dnn, const_dnnl_primitive_desc_t desc);

/*
 * Makes the attributes of a primitive whose caller provides scratch memory; the caller destroys
 * them, also after a failure. They have no activation: oneDNN's activations replace NaN by a limit.
 * Returns 0 on success.
 */
int onednn_make_attributes(const struct onednn *dnn, dnnl_primitive_attr_t *attr);

/*
 * Computes some small nodes and compares the results with the reference. Returns 0, or -1 when
 * oneDNN's are wrong (WNN_NOT_SUPPORTED), a call of oneDNN failed, or memory ran out.
 */
int onednn_check(const struct onednn *dnn, struct wnn_error *err);

/*
 * Return true if oneDNN computes a convolution right: onednn_sums_are_right() for sums of integers,
 * onednn_floats_are_right() for floats. @zero_point: the integers of the input have a zero point.
 */
bool onednn_sums_are_right(const struct onednn *dnn, const struct cpu_conv *conv, bool zero_point);
bool onednn_floats_are_right(const struct cpu_conv *conv);

/*
 * onednn_matmul_plan() plans a float32 product; it takes one with a constant matrix only if that
 * has more elements than the rows and results together. onednn_conv_plan() plans a convolution or a
 * product with a constant matrix. NULL: oneDNN does not take the node, or memory ran out. Unlike
 * the functions of kernels.h they need no self-test before.
 */
struct cpu_plan *onednn_matmul_plan(const struct onednn *dnn, const struct cpu_context *cpu,
				    const struct ir_node *node);
struct cpu_plan *onednn_conv_plan(const struct onednn *dnn, const struct cpu_context *cpu,
				  const struct ir_node *node);

#endif
