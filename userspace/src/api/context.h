/* SPDX-License-Identifier: MIT */
/* WNNContext: its device, its timeline, its pending requests, and the objects that belong to it. */
#ifndef WNN_API_CONTEXT_H
#define WNN_API_CONTEXT_H

#include "api/instance.h"
#include "graph/limits.h"
#include "run/device.h"
#include "run/timeline.h"

enum context_device { CONTEXT_AUTO, CONTEXT_NPU, CONTEXT_SIM, CONTEXT_CPU };

/* The application's options, checked and copied. */
struct context_config {
	enum context_device device; /* AUTO: neither an option nor the environment names a device */
	const char *named_by;	    /* the option or variable that names the device, for messages */
	bool want_accelerated;
	enum winsys_power power;
	WNNPlacementPolicy policy;
	uint32_t threads, sim_threads;
	/* CPU_REFERENCE: no layer is named, so that the best one is used */
	enum cpu_layer cpu_layer;
	const struct cpu_simd *cpu_level; /* NULL: no level is named */
	/* The times in microseconds that idle threads, and waits for the NPU, spin. */
	uint32_t cpu_spin, npu_spin;
	uint64_t memory_limit;
	bool sim_full;
	uint32_t sim_sram_bytes;
	const char *sim_machine; /* name of the machine that sim models; NULL: the default one */
	char *firmware;		 /* NULL: the installed firmware */
	char *node;		 /* NULL: the first device node that can be opened */
	bool no_folding;
	uint64_t rules_off; /* mask of disabled rules, see wnn_rules_mask() */
	bool profile;
};

struct WNNContextImpl {
	atomic_uint refs;
	WNNInstance instance;
	struct context_config config;
	struct wnn_limits limits;
	WNNOpSupportLimits op_limits; /* constant as soon as the application has the context */
	struct request_callback error_callback;
	struct timeline *timeline;
	/*
	 * only the thread that owns the timeline uses the device, except its heap and what
	 * identifies it
	 */
	struct run_device device;
	/* The members below are set when the device is opened, and constant from then on. */
	bool accelerated;
	const char *device_name;
	char reason[256];
	char machine[32];
	struct npu_caps caps; /* capabilities of the NPU; all zeros without one */
	struct object_label label;

	pthread_mutex_t lock;
	/* whether the CPU has been described; the description does not change */
	bool has_description;
	struct cpu_description description;
	atomic_bool lost;
	char lost_message[256];
	/* requests on the timeline, which fail when the context is lost */
	struct request *pending;
	struct request *lost_requests; /* requests of wnnContextGetLost */
	struct WNNTensorImpl *tensors;
	struct WNNGraphImpl *graphs;
	/*
	 * The first failure that wnnContextOnWorkDone has not reported yet. Only the thread that
	 * owns the timeline uses it.
	 */
	struct wnn_error work_error;
	bool has_work_error;
};

/* Count references; both accept NULL. */
void context_get(WNNContext context);
void context_put(WNNContext context);

/*
 * context_report() logs an error and gives it to the context's error callback. context_error() is
 * for synchronous calls: it also keeps the error for the thread, and returns its status.
 */
void context_report(WNNContext context, const struct wnn_error *err);
WNNStatus context_error(WNNContext context, const struct wnn_error *err);
/*
 * Reports an error of work on the timeline, and keeps it for wnnContextOnWorkDone unless it keeps
 * an earlier one.
 */
void context_fail_work(WNNContext context, const struct wnn_error *err);
/*
 * Ends an asynchronous operation that failed: reports the error and completes the request with it.
 */
void context_fail_request(WNNContext context, struct request *request, const struct wnn_error *err);

/* Returns 0, or -1 with InvalidStateError when the context is lost; @what begins the message. */
int context_check_lost(WNNContext context, const char *what, struct wnn_error *err);

/* Makes a request fail when the context is lost or @subject is destroyed; takes no reference. */
void context_add_pending(WNNContext context, struct request *request, const void *subject);
void context_remove_pending(WNNContext context, struct request *request);
/*
 * Makes the pending requests of @subject fail; NULL: all pending requests. Call it with the
 * context's lock held.
 */
void context_fail_pending(WNNContext context, const void *subject, const char *message);

/*
 * context_push - queue a task
 * @quick: the caller may run the task: it takes little time, or the caller waits for its end
 *
 * Returns true when the caller must run the task: with timeline_run(), without locks. The caller
 * must not use the context after that unless it has a reference.
 */
bool context_push(WNNContext context, struct timeline_task *task, bool quick);
/*
 * Takes the timeline for work without a task. Returns true when the caller may work; it must then
 * call timeline_leave(). May be called with the context's lock held.
 */
bool context_try_enter(WNNContext context);

void context_lose(WNNContext context, const char *message);

/* Whether some device can run a node under the placement policy. The device must be open. */
bool context_can_run(const struct ir_node *node, void *context);

/*
 * Checks a node that is not computed at build. Returns 0, or -1 with a TypeError that says what a
 * failed build would say.
 */
int context_place(const struct ir_node *node, void *context, struct wnn_error *err);

/* Opens the device; runs on the timeline's thread. Returns 0 or -1. */
int context_open_device(WNNContext context, struct wnn_error *err);

/* Checks and copies the options. Returns 0, or -1 with TypeError or NotSupportedError. */
int context_config_parse(const WNNContextOptions *options, struct context_config *config,
			 struct wnn_error *err);
void context_config_free(struct context_config *config);

#endif
