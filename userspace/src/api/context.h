/* SPDX-License-Identifier: MIT */
/* WNNContext: its device, its timeline, its pending requests, and the objects that belong to it. */
#ifndef WNN_API_CONTEXT_H
#define WNN_API_CONTEXT_H

#include "api/instance.h"
#include "graph/limits.h"
#include "run/device.h"
#include "run/timeline.h"

enum context_device { CONTEXT_AUTO, CONTEXT_NPU, CONTEXT_SIM, CONTEXT_CPU };

/* The options of the application, checked and copied. */
struct context_config {
	enum context_device device; /* AUTO: neither an option nor the environment names one */
	const char *named_by;	    /* the option or variable that named it, for messages */
	bool want_accelerated;
	enum winsys_power power;
	WNNPlacementPolicy policy;
	uint32_t threads, sim_threads;
	enum cpu_layer cpu_layer; /* CPU_REFERENCE: none was named, so that the best is taken */
	const struct cpu_simd *cpu_level; /* NULL: none was named */
	bool has_cpu_spin;
	uint32_t cpu_spin; /* microseconds */
	uint64_t memory_limit;
	bool sim_full;
	uint32_t sim_sram_bytes;
	char *firmware; /* NULL: the installed one */
	char *node;	/* NULL: the first that opens */
	bool no_folding;
	uint64_t rules_off; /* local rules that do not apply: wnn_rules_mask() */
	bool profile;
};

struct WNNContextImpl {
	atomic_uint refs;
	WNNInstance instance;
	struct context_config config;
	struct wnn_limits limits;
	WNNOpSupportLimits op_limits; /* constant once the context is handed out */
	struct request_callback error_callback;
	struct timeline *timeline;
	struct run_device device; /* used by tasks of the timeline only, except its heap */
	/* Set when the device is opened, constant from then on. */
	bool accelerated;
	const char *device_name;
	char reason[256];
	char machine[32];
	struct npu_caps caps; /* all zero without an NPU */
	struct object_label label;

	pthread_mutex_t lock;
	bool has_description; /* of the CPU, which stays as it is */
	struct cpu_description description;
	atomic_bool lost;
	char lost_message[256];
	struct request *pending;       /* on the timeline, fail when the context is lost */
	struct request *lost_requests; /* of wnnContextGetLost */
	struct WNNTensorImpl *tensors;
	struct WNNGraphImpl *graphs;
	/*
	 * The first failure that wnnContextOnWorkDone has not reported; used by tasks of the
	 * timeline only.
	 */
	struct wnn_error work_error;
	bool has_work_error;
};

/* Take NULL. */
void context_get(WNNContext context);
void context_put(WNNContext context);

/* Reports an error to the errorCallbackInfo; of synchronous calls also to the thread. */
void context_report(WNNContext context, const struct wnn_error *err);
WNNStatus context_error(WNNContext context, const struct wnn_error *err);
/* Work of the timeline failed: reported, and kept for wnnContextOnWorkDone. */
void context_fail_work(WNNContext context, const struct wnn_error *err);
/* The end of an asynchronous operation that failed: reported, and delivered. */
void context_fail_request(WNNContext context, struct request *request, const struct wnn_error *err);

/* 0 or -1 with InvalidStateError; @what begins the message. */
int context_check_lost(WNNContext context, const char *what, struct wnn_error *err);

/* Makes a request fail when the context is lost or @subject destroyed; takes no reference. */
void context_add_pending(WNNContext context, struct request *request, const void *subject);
void context_remove_pending(WNNContext context, struct request *request);
/* Under the lock of the context. */
void context_fail_pending(WNNContext context, const void *subject, const char *message);

/*
 * context_push - queue a task
 * @quick: it takes so little time that the caller may run it
 *
 * True when the caller has to: with timeline_run(), without locks, and then not touch the context
 * unless it has a reference.
 */
bool context_push(WNNContext context, struct timeline_task *task, bool quick);
/*
 * True when the caller may do work without a task: it must call timeline_leave() after it. May be
 * called with the context's lock held.
 */
bool context_try_enter(WNNContext context);

void context_lose(WNNContext context, const char *message);

/* Whether the device can run a node under the placement policy. The device must be open. */
bool context_can_run(const struct ir_node *node, void *context);

/*
 * context_can_run() for a node that is not computed at build; -1 with a TypeError that has the
 * sentence of the build.
 */
int context_place(const struct ir_node *node, void *context, struct wnn_error *err);

/* Opens the device; on the timeline's thread. */
int context_open_device(WNNContext context, struct wnn_error *err);

/* Parses options; 0 or -1 with TypeError or NotSupportedError. */
int context_config_parse(const WNNContextOptions *options, struct context_config *config,
			 struct wnn_error *err);
void context_config_free(struct context_config *config);

#endif
