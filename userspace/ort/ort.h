/* SPDX-License-Identifier: MIT */
/*
 * Declares the part of ONNX Runtime's C interface that is used, from its documentation: objects,
 * functions of its tables (slots.def), and tables that a provider fills in. Unused members are
 * placeholders.
 */
#ifndef ONPU_ORT_H
#define ONPU_ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The first version of the interface with compiling providers, and the newest that this code knows.
 */
#define ORT_OLDEST 23
#define ORT_NEWEST 29

struct ort_attribute;
struct ort_ep_device;
struct ort_env;
struct ort_events;
struct ort_external;
struct ort_graph;
struct ort_hardware;
struct ort_kernel_context;
struct ort_logger;
struct ort_memory_device;
struct ort_memory_info;
struct ort_node;
struct ort_node_context;
struct ort_pairs;
struct ort_prepacked;
struct ort_profiling_event;
struct ort_session;
struct ort_session_options;
struct ort_status;
struct ort_support;
struct ort_sync_stream;
struct ort_tensor_info;
struct ort_type_info;
struct ort_value;
struct ort_value_info;
struct ort_ep;
struct ort_ep_factory;
struct ort_fusion_options;

/*
 * A status must not be 11, EP_FAIL: Python's sessions would silently continue without the provider.
 */
enum ort_error {
	ORT_FAIL = 1,
	ORT_INVALID_ARGUMENT = 2,
	ORT_NOT_IMPLEMENTED = 9,
};

enum ort_level { ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2 };
enum ort_hardware_type { ORT_HARDWARE_CPU = 0, ORT_HARDWARE_GPU = 1, ORT_HARDWARE_NPU = 2 };
enum ort_kind { ORT_KIND_TENSOR = 1, ORT_KIND_SEQUENCE = 2, ORT_KIND_OPTIONAL = 6 };

enum ort_attribute_type {
	ORT_ATTRIBUTE_INT = 1,
	ORT_ATTRIBUTE_INTS,
	ORT_ATTRIBUTE_FLOAT,
	ORT_ATTRIBUTE_FLOATS,
	ORT_ATTRIBUTE_STRING,
	ORT_ATTRIBUTE_STRINGS,
	ORT_ATTRIBUTE_GRAPH,
	ORT_ATTRIBUTE_TENSOR,
};

/* Where memory is, who reaches it, and how it is allocated. */
enum ort_memory_device_type { ORT_MEMORY_CPU = 0, ORT_MEMORY_NPU = 3 };
enum ort_memory_type { ORT_MEMORY_HOST_ACCESSIBLE = 5 };
enum ort_allocator_type { ORT_ALLOCATOR_DEVICE = 0 };

/* Kinds of events in a profile. */
enum ort_profile_category { ORT_PROFILE_KERNEL = 2 };

/* How well a device can run a compiled model. */
enum ort_compatibility {
	ORT_COMPATIBILITY_NOT_APPLICABLE,
	ORT_COMPATIBILITY_OPTIMAL,
	ORT_COMPATIBILITY_RECOMPILE,
	ORT_COMPATIBILITY_UNSUPPORTED,
};

struct ort_api_base {
	const void *(*GetApi)(uint32_t version);
	const char *(*GetVersionString)(void);
};

#define SLOT(table, place, version, result, name, arguments) result(*name) arguments;
/* The functions that are used, of all tables; NULL: the version lacks the function. */
struct ort_api {
	uint32_t version;
#include "slots.def"
};
#undef SLOT

/* Fills in the functions; false: the version has no compiling providers. */
bool ort_api_open(struct ort_api *api, const struct ort_api_base *base);

struct ort_fusion_options {
	uint32_t version;
	bool drop_constant_initializers;
};

struct ort_compute_info {
	uint32_t version;
	struct ort_status *(*create_state)(struct ort_compute_info *info,
					   struct ort_node_context *context, void **state);
	struct ort_status *(*compute)(struct ort_compute_info *info, void *state,
				      struct ort_kernel_context *context);
	void (*release_state)(struct ort_compute_info *info, void *state);
};

/* A provider's part in profiling, which ONNX Runtime has from version 1.25 on. */
struct ort_profiler {
	uint32_t version;
	void (*release)(struct ort_profiler *profiler);
	/* @nanoseconds: time since the profile began */
	struct ort_status *(*start)(struct ort_profiler *profiler, int64_t nanoseconds);
	/* start and end of each event of ONNX Runtime */
	void (*unused[2])(void);
	struct ort_status *(*end)(struct ort_profiler *profiler, struct ort_events *events);
};

struct ort_allocator {
	uint32_t version;
	void *(*allocate)(struct ort_allocator *allocator, size_t size);
	void (*deallocate)(struct ort_allocator *allocator, void *memory);
	const struct ort_memory_info *(*get_info)(const struct ort_allocator *allocator);
	/* functions for weights, statistics, allocation on a stream, and later additions */
	void (*unused_later[8])(void);
};

struct ort_data_transfer {
	uint32_t version;
	void (*release)(struct ort_data_transfer *transfer);
	bool (*can_copy)(const struct ort_data_transfer *transfer,
			 const struct ort_memory_device *from, const struct ort_memory_device *to);
	struct ort_status *(*copy_tensors)(struct ort_data_transfer *transfer,
					   const struct ort_value **from, struct ort_value **to,
					   struct ort_sync_stream **streams, size_t count);
};

struct ort_ep {
	uint32_t version;
	const char *(*get_name)(const struct ort_ep *ep);
	struct ort_status *(*get_capability)(struct ort_ep *ep, const struct ort_graph *graph,
					     struct ort_support *support);
	struct ort_status *(*compile)(struct ort_ep *ep, const struct ort_graph **graphs,
				      const struct ort_node **fused, size_t count,
				      struct ort_compute_info **infos, struct ort_node **contexts);
	void (*release_compute_infos)(struct ort_ep *ep, struct ort_compute_info **infos,
				      size_t count);
	/* layout (2 functions), dynamic options, start and end of a run, allocator, stream */
	void (*unused[7])(void);
	const char *(*get_compatibility)(struct ort_ep *ep, const struct ort_graph *graph);
	/* kernels, and functions from 1.24 on */
	void (*unused_kernels)(void);
	struct ort_status *(*is_concurrent)(struct ort_ep *ep, bool *is);
	void (*unused_sync)(void);
	struct ort_status *(*create_profiler)(struct ort_ep *ep, struct ort_profiler **profiler);
	void (*unused_later[30])(void);
};

struct ort_ep_factory {
	uint32_t version;
	const char *(*get_name)(const struct ort_ep_factory *factory);
	const char *(*get_vendor)(const struct ort_ep_factory *factory);
	struct ort_status *(*get_devices)(struct ort_ep_factory *factory,
					  const struct ort_hardware *const *hardware,
					  size_t hardware_count, struct ort_ep_device **devices,
					  size_t room, size_t *count);
	struct ort_status *(*create_ep)(struct ort_ep_factory *factory,
					const struct ort_hardware *const *hardware,
					const struct ort_pairs *const *metadata, size_t count,
					const struct ort_session_options *options,
					const struct ort_logger *logger, struct ort_ep **ep);
	void (*release_ep)(struct ort_ep_factory *factory, struct ort_ep *ep);
	uint32_t (*get_vendor_id)(const struct ort_ep_factory *factory);
	const char *(*get_version)(const struct ort_ep_factory *factory);
	struct ort_status *(*validate)(struct ort_ep_factory *factory,
				       const struct ort_hardware *const *hardware, size_t count,
				       const char *information, int *compatibility);
	struct ort_status *(*create_allocator)(struct ort_ep_factory *factory,
					       const struct ort_memory_info *memory,
					       const struct ort_pairs *options,
					       struct ort_allocator **allocator);
	void (*release_allocator)(struct ort_ep_factory *factory, struct ort_allocator *allocator);
	struct ort_status *(*create_data_transfer)(struct ort_ep_factory *factory,
						   struct ort_data_transfer **transfer);
	bool (*is_stream_aware)(const struct ort_ep_factory *factory);
	void (*unused_later[32])(void);
};

#endif
