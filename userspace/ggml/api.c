// SPDX-License-Identifier: MIT
/* The registration with ggml: one device, and back ends on it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "plan.h"

struct onpu_device onpu = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- back ends */

static const char *backend_name(struct gg_backend *backend)
{
	(void)backend;
	return "ONPU0";
}

static void backend_free(struct gg_backend *backend)
{
	free(backend);
}

static int backend_compute(struct gg_backend *backend, struct gg_graph *graph)
{
	int status;

	(void)backend;
	pthread_mutex_lock(&onpu.lock);
	status = onpu_compute(graph) ? GG_FAILED : GG_SUCCESS;
	pthread_mutex_unlock(&onpu.lock);
	return status;
}

static struct gg_backend *init_backend(struct gg_device *device, const char *params)
{
	static const uint8_t guid[16] = { 0x5e, 0x1c, 0x0b, 0x71, 0x3d, 0xa2, 0x4f, 0x68,
					  0x91, 0x0e, 0xc4, 0x27, 0x6a, 0xf5, 0xb8, 0xd3 };
	struct gg_backend *backend = calloc(1, sizeof(*backend));

	(void)params;
	if (!backend)
		return NULL;
	backend->guid = &guid;
	backend->device = device;
	backend->table.get_name = backend_name;
	backend->table.free = backend_free;
	backend->table.graph_compute = backend_compute;
	return backend;
}

/* ---- the device */

static const char *device_name(struct gg_device *device)
{
	(void)device;
	return "ONPU0";
}

static const char *device_description(struct gg_device *device)
{
	(void)device;
	return onpu.description;
}

/*
 * Sets *available and *total to the bytes of the host's memory: buffers are in it, and the library
 * has no limit of its own.
 */
static void device_memory(struct gg_device *device, size_t *available, size_t *total)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)device;
	*available = (size_t)sysconf(_SC_AVPHYS_PAGES) * page;
	*total = (size_t)sysconf(_SC_PHYS_PAGES) * page;
}

/* Returns the type of a GPU, because programs give layers of a model to such devices only. */
static uint32_t device_type(struct gg_device *device)
{
	(void)device;
	return GG_DEVICE_GPU;
}

/* Sets the properties of the device; ggml has cleared the members that are not set here. */
static void device_props(struct gg_device *device, struct gg_device_props *props)
{
	props->name = device_name(device);
	props->description = device_description(device);
	device_memory(device, &props->memory_free, &props->memory_total);
	props->type = device_type(device);
	props->buffer_from_host_ptr = true;
}

static struct gg_buffer_type *device_buffer_type(struct gg_device *device)
{
	(void)device;
	return &onpu.type;
}

static struct gg_buffer *device_wrap(struct gg_device *device, void *data, size_t size,
				     size_t largest)
{
	(void)device;
	(void)largest;
	return onpu_buffer_wrap(data, size);
}

static bool device_supports_op(struct gg_device *device, const struct gg_tensor *op)
{
	bool supported;

	(void)device;
	pthread_mutex_lock(&onpu.lock);
	supported = onpu_supports(op);
	pthread_mutex_unlock(&onpu.lock);
	return supported;
}

/*
 * Returns whether buffers of a type can be used: only our own. Other memory of the host would do,
 * but ggml's scheduler would then have the device compute with weights that the user leaves to the
 * processor.
 */
static bool device_supports_type(struct gg_device *device, struct gg_buffer_type *type)
{
	(void)device;
	return type == &onpu.type;
}

static const struct gg_device_table device_table = {
	.get_name = device_name,
	.get_description = device_description,
	.get_memory = device_memory,
	.get_type = device_type,
	.get_props = device_props,
	.init_backend = init_backend,
	.get_buffer_type = device_buffer_type,
	.buffer_from_host_ptr = device_wrap,
	.supports_op = device_supports_op,
	.supports_buft = device_supports_type,
};

/* ---- the registration */

static const char *reg_name(struct gg_reg *reg)
{
	(void)reg;
	return "ONPU";
}

static size_t reg_count(struct gg_reg *reg)
{
	(void)reg;
	return 1;
}

static struct gg_device *reg_device(struct gg_reg *reg, size_t index)
{
	(void)reg;
	return index ? NULL : &onpu.device;
}

static void *reg_proc(struct gg_reg *reg, const char *name)
{
	(void)reg;
	return strcmp(name, "onpu_counts") ? NULL : &onpu_counts;
}

static struct gg_reg reg = {
	.api_version = GG_API_VERSION,
	.table = {
		.get_name = reg_name,
		.get_device_count = reg_count,
		.get_device = reg_device,
		.get_proc_address = reg_proc,
	},
};

/*
 * Opens the device that WEBNN_DEVICE names, else an NPU; returns false after a message if there is
 * none. The processor is refused unless WEBNN_DEVICE names it, because ggml's own back end for the
 * processor is faster.
 */
static bool open_device(void)
{
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	const char *wanted = getenv("WEBNN_DEVICE");

	onpu.instance = wnnCreateInstance(NULL);
	if (!onpu.instance ||
	    wnnInstanceCreateContextSync(onpu.instance, &options, WNN_WAIT_FOREVER,
					 &onpu.context) != WNNStatus_Success) {
		onpu_say_error("the device does not open");
		return false;
	}
	if (wnnContextGetDeviceInfo(onpu.context, &info) != WNNStatus_Success) {
		onpu_say_error("the device does not answer");
		return false;
	}
	if (!info.accelerated && (!wanted || !*wanted)) {
		onpu_say("%.*s; ggml computes with its own back ends, unless WEBNN_DEVICE=cpu or "
			 "WEBNN_DEVICE=sim is set",
			 (int)info.reason.length, info.reason.data);
		return false;
	}
	snprintf(onpu.description, sizeof(onpu.description), "Open NPU, device %.*s%s%.*s",
		 (int)info.device.length, info.device.data, info.machine.length ? " " : "",
		 (int)info.machine.length, info.machine.data ? info.machine.data : "");
	return true;
}

/* Prepares the device once. Returns whether programs can use it. */
static bool prepare(const void *caller)
{
	static enum { NEW, USABLE, UNUSABLE } state;
	bool usable;

	pthread_mutex_lock(&onpu.lock);
	if (state == NEW) {
		state = onpu_library_find(caller) && open_device() ? USABLE : UNUSABLE;
		if (state == USABLE) {
			onpu.type.table = onpu_buffer_type_table;
			onpu.type.device = &onpu.device;
			onpu.device.table = device_table;
			onpu.device.reg = &reg;
		} else if (onpu.instance) {
			if (onpu.context)
				wnnContextRelease(onpu.context);
			wnnInstanceRelease(onpu.instance);
			onpu.context = NULL;
			onpu.instance = NULL;
		}
	}
	usable = state == USABLE && onpu_library_find(caller);
	pthread_mutex_unlock(&onpu.lock);
	return usable;
}

struct gg_reg *ggml_backend_init(void);
int ggml_backend_score(void);

/* Returns the registration; NULL after onpu_say(), when ggml or the device cannot be used. */
__attribute__((visibility("default"))) struct gg_reg *ggml_backend_init(void)
{
	return prepare(__builtin_return_address(0)) ? &reg : NULL;
}

/* Returns 1 if ggml_backend_init() returns the registration, else 0. */
__attribute__((visibility("default"))) int ggml_backend_score(void)
{
	return prepare(__builtin_return_address(0)) ? 1 : 0;
}
