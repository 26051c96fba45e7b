/* SPDX-License-Identifier: MIT */
/*
 * The parts of ggml's interface for back ends that this one uses, written from its published form:
 * structures that programs and back ends share, and the functions of libggml-base. The layouts are
 * those of the versions that library.c lists.
 */
#ifndef ONPU_GGML_H
#define ONPU_GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GG_API_VERSION 2 /* does not tell layouts apart: see library.c */
#define GG_DIMS	       4
#define GG_SOURCES     10

enum gg_status { GG_FAILED = -1, GG_SUCCESS = 0 };
enum gg_device_type { GG_DEVICE_GPU = 1 };
enum gg_usage { GG_USAGE_WEIGHTS = 1 };
/* PARAM: training changes the tensor; COMPUTE: the node must be computed. */
enum gg_flag { GG_FLAG_PARAM = 4, GG_FLAG_COMPUTE = 16 };

struct gg_buffer;
struct gg_buffer_type;
struct gg_backend;
struct gg_device;
struct gg_reg;
struct gg_graph;
struct gg_event;

/* A tensor: sizes and strides in bytes, innermost dimension first. */
struct gg_tensor {
	uint32_t type;
	struct gg_buffer *buffer;
	int64_t ne[GG_DIMS];
	size_t nb[GG_DIMS];
	uint32_t op;
	int32_t params[16];
	int32_t flags;
	struct gg_tensor *src[GG_SOURCES];
	struct gg_tensor *view_src; /* the tensor whose memory this one lies in, or NULL */
	size_t view_offs;
	void *data;
	char name[64];
	void *extra;
	char padding[8];
};

struct gg_buffer_type_table {
	const char *(*get_name)(struct gg_buffer_type *type);
	struct gg_buffer *(*alloc_buffer)(struct gg_buffer_type *type, size_t size);
	size_t (*get_alignment)(struct gg_buffer_type *type);
	size_t (*get_max_size)(struct gg_buffer_type *type);
	size_t (*get_alloc_size)(struct gg_buffer_type *type, const struct gg_tensor *tensor);
	bool (*is_host)(struct gg_buffer_type *type);
};

struct gg_buffer_type {
	struct gg_buffer_type_table table;
	struct gg_device *device;
	void *context;
};

struct gg_buffer_table {
	void (*free_buffer)(struct gg_buffer *buffer);
	void *(*get_base)(struct gg_buffer *buffer);
	int (*init_tensor)(struct gg_buffer *buffer, struct gg_tensor *tensor);
	void (*memset_tensor)(struct gg_buffer *buffer, struct gg_tensor *tensor, uint8_t value,
			      size_t offset, size_t size);
	void (*set_tensor)(struct gg_buffer *buffer, struct gg_tensor *tensor, const void *data,
			   size_t offset, size_t size);
	void (*get_tensor)(struct gg_buffer *buffer, const struct gg_tensor *tensor, void *data,
			   size_t offset, size_t size);
	void *set_tensor_2d, *get_tensor_2d; /* optional; the functions above take their place */
	bool (*cpy_tensor)(struct gg_buffer *buffer, const struct gg_tensor *from,
			   struct gg_tensor *to);
	void (*clear)(struct gg_buffer *buffer, uint8_t value);
	void (*reset)(struct gg_buffer *buffer);
};

struct gg_buffer {
	struct gg_buffer_table table;
	struct gg_buffer_type *type;
	void *context;
	size_t size;
	uint32_t usage;
};

struct gg_backend_table {
	const char *(*get_name)(struct gg_backend *backend);
	void (*free)(struct gg_backend *backend);
	void *set_tensor_async, *get_tensor_async, *set_tensor_2d_async, *get_tensor_2d_async;
	void *cpy_tensor_async;
	void (*synchronize)(struct gg_backend *backend);
	void *graph_plan_create, *graph_plan_free, *graph_plan_update, *graph_plan_compute;
	int (*graph_compute)(struct gg_backend *backend, struct gg_graph *graph);
	void *event_record, *event_wait, *graph_optimize;
};

struct gg_backend {
	const uint8_t (*guid)[16];
	struct gg_backend_table table;
	struct gg_device *device;
	void *context;
};

struct gg_device_props {
	const char *name;
	const char *description;
	size_t memory_free;
	size_t memory_total;
	uint32_t type;
	const char *device_id;
	bool async;
	bool host_buffer;
	bool buffer_from_host_ptr;
	bool events;
};

struct gg_device_table {
	const char *(*get_name)(struct gg_device *device);
	const char *(*get_description)(struct gg_device *device);
	void (*get_memory)(struct gg_device *device, size_t *free, size_t *total);
	uint32_t (*get_type)(struct gg_device *device);
	void (*get_props)(struct gg_device *device, struct gg_device_props *props);
	struct gg_backend *(*init_backend)(struct gg_device *device, const char *params);
	struct gg_buffer_type *(*get_buffer_type)(struct gg_device *device);
	struct gg_buffer_type *(*get_host_buffer_type)(struct gg_device *device);
	struct gg_buffer *(*buffer_from_host_ptr)(struct gg_device *device, void *data, size_t size,
						  size_t largest);
	bool (*supports_op)(struct gg_device *device, const struct gg_tensor *op);
	bool (*supports_buft)(struct gg_device *device, struct gg_buffer_type *type);
	bool (*offload_op)(struct gg_device *device, const struct gg_tensor *op);
	void *event_new, *event_free, *event_synchronize;
};

struct gg_device {
	struct gg_device_table table;
	struct gg_reg *reg;
	void *context;
};

struct gg_reg_table {
	const char *(*get_name)(struct gg_reg *reg);
	size_t (*get_device_count)(struct gg_reg *reg);
	struct gg_device *(*get_device)(struct gg_reg *reg, size_t index);
	void *(*get_proc_address)(struct gg_reg *reg, const char *name);
};

struct gg_reg {
	int api_version;
	struct gg_reg_table table;
	void *context;
};

/* A type of elements, as ggml describes it. */
struct gg_type_traits {
	const char *name;
	int64_t block;
	int64_t interleave;
	size_t size; /* bytes of a block */
	bool is_quantized;
	void (*to_float)(const void *from, float *to, int64_t count);
	void *from_float;
};

#endif
