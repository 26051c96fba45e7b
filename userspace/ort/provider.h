/* SPDX-License-Identifier: MIT */
/*
 * The execution provider: its factory, the provider of a session, and groups of nodes that it
 * computes.
 */
#ifndef ONPU_PROVIDER_H
#define ONPU_PROVIDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <webnn/onnx.h>

#include "../import/common/memory.h"
#include "ort.h"

#define ONPU_PROVIDER "OnpuExecutionProvider"

struct onpu_factory {
	struct ort_ep_factory base;
	/* the registration, and all that was created and is not released yet */
	atomic_uint users;
	struct ort_api ort;
	bool has_virtual; /* registered under a name that allows virtual devices */
	struct ort_hardware *virtual_devices[2];
	/* kind of the memory that programs bind; NULL until a device has it */
	struct ort_memory_info *memory;
};

/* The size that an option gives for a named dimension. */
struct onpu_dimension {
	char *name;
	int64_t size;
};

/* Settings of a session. */
struct onpu_options {
	char *device; /* npu, npu:NUMBER, sim or cpu; empty: the library chooses */
	char *cache_dir;
	char *report; /* path of the report */
	WNNPlacementPolicy policy;
	uint32_t threads;
	bool context_enable, context_embed;
	char *context_path;
	size_t dimension_count;
	struct onpu_dimension *dimensions;
};

/* The provider of one session. */
struct onpu_ep {
	struct ort_ep base;
	struct onpu_factory *factory;
	const struct ort_logger *logger;
	struct onpu_options options;
	WNNInstance instance;
	WNNContext context;
	char *compatibility;	/* "onpu VERSION DEVICE MACHINE", which compiled models carry */
	bool has_taken;		/* 1.23: the last graph that had nodes to take was taken */
	struct onpu_held *held; /* nodes that may stay with ONNX Runtime; see capability.c */
	pthread_mutex_t report_lock;
	FILE *report;
	struct profiler *profilers; /* see profile.c */
	atomic_int profiling;	    /* number of profilers that are on */
};

/*
 * factory.c: programs may unregister the library too early, while sessions are open, although ONNX
 * Runtime forbids it. Each object that the factory creates holds a reference until it is released.
 */
struct onpu_factory *onpu_factory_get(struct onpu_factory *factory);
void onpu_factory_put(struct onpu_factory *factory);

/* options.c: reads the settings. Returns NULL, or a status that names the wrong setting. */
struct ort_status *onpu_options_read(struct onpu_options *options, const struct ort_api *ort,
				     const struct ort_session_options *session,
				     const struct ort_pairs *metadata);
void onpu_options_free(struct onpu_options *options);

/* ep.c */
struct ort_status *onpu_ep_create(struct onpu_factory *factory, const struct ort_pairs *metadata,
				  const struct ort_session_options *options,
				  const struct ort_logger *logger, struct ort_ep **ep);
void onpu_ep_release(struct onpu_ep *ep);
struct ort_status *onpu_get_capability(struct ort_ep *ep, const struct ort_graph *graph,
				       struct ort_support *support);
void onpu_held_free(struct onpu_held *held); /* frees a list */
struct ort_status *onpu_compile(struct ort_ep *ep, const struct ort_graph **graphs,
				const struct ort_node **fused, size_t count,
				struct ort_compute_info **infos, struct ort_node **contexts);
void onpu_release_compute_infos(struct ort_ep *ep, struct ort_compute_info **infos, size_t count);

/* memory.c: memory for values that programs bind, and copies from and to it. */
struct ort_status *onpu_memory_offer(struct onpu_factory *factory, struct ort_ep_device *device);
struct ort_status *onpu_allocator_create(struct ort_ep_factory *factory,
					 const struct ort_memory_info *memory,
					 const struct ort_pairs *options,
					 struct ort_allocator **allocator);
void onpu_allocator_release(struct ort_ep_factory *factory, struct ort_allocator *allocator);
struct ort_status *onpu_data_transfer_create(struct ort_ep_factory *factory,
					     struct ort_data_transfer **transfer);

/* log.c: statuses and messages. */
struct ort_status *onpu_error(const struct ort_api *ort, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
struct ort_status *onpu_nomem(const struct ort_api *ort);
/* Return a status with this thread's last error of libwebnn-npu or libwebnn-onnx. */
struct ort_status *onpu_webnn_error(const struct ort_api *ort, const char *what);
struct ort_status *onpu_onnx_error(const struct ort_api *ort, const char *what);
void onpu_log(const struct onpu_ep *ep, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes a line of the report: device, operator, node, reason. */
void onpu_report(struct onpu_ep *ep, const char *device_name, WNNStringView type,
		 WNNStringView node, WNNStringView reason);

#endif
