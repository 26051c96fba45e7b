// SPDX-License-Identifier: MIT
/* The provider of one session: settings, device, report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/webnn_npu.h>

#include "device.h"
#include "profile.h"

static const char *get_name(const struct ort_ep *ep)
{
	(void)ep;
	return ONPU_PROVIDER;
}

static const char *get_compatibility(struct ort_ep *base, const struct ort_graph *graph)
{
	(void)graph;
	return ((struct onpu_ep *)base)->compatibility;
}

static struct ort_status *is_concurrent(struct ort_ep *ep, bool *is)
{
	(void)ep;
	*is = true;
	return NULL;
}

/*
 * Returns whether nobody asked for this provider: neither an option nor WEBNN_DEVICE names a
 * device. ONNX Runtime's policies always choose the CPU, and with it this provider. Version 1.23
 * does not list NPUs: there, the choice of the CPU may mean an NPU, which open_device() tries then.
 */
static bool is_idle(const struct onpu_ep *ep)
{
	const char *variable = secure_getenv("WEBNN_DEVICE");

	return !*ep->options.device && !(variable && *variable);
}

/* @why: why an NPU does not open that was tried without being asked for; or empty. */
static struct ort_status *stay_idle(struct onpu_ep *ep, WNNStringView why)
{
	onpu_log(ep, ORT_LOG_WARNING,
		 ONPU_PROVIDER
		 ": all nodes stay with ONNX Runtime, since no device is chosen%s%.*s; the option "
		 "device can be " ONPU_DEVICES,
		 why.length ? " and npu does not open: " : "", (int)why.length,
		 why.data ? why.data : "");
	ep->compatibility = strdup("onpu " ONPU_VERSION " none");
	return ep->compatibility ? NULL : onpu_nomem(&ep->factory->ort);
}

static struct ort_status *open_device(struct onpu_ep *ep)
{
	const char *name = ep->options.device;
	bool idle = is_idle(ep);
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	const struct ort_api *ort = &ep->factory->ort;
	WNNError error = WNN_ERROR_INIT;

	device.device = (WNNStringView){ name, strlen(name) };
	if (idle && ep->factory->ort.version >= 24)
		return stay_idle(ep, WNN_VALUE(WNNStringView, { "", 0 }));
	if (idle)
		device.device = WNN_STR("npu");
	device.placementPolicy = ep->options.policy;
	device.threads = ep->options.threads;
	options.nextInChain = &device.chain;
	ep->instance = wnnCreateInstance(NULL);
	if (!ep->instance)
		return onpu_webnn_error(ort, "the library does not start");
	if (wnnInstanceCreateContextSync(ep->instance, &options, WNN_WAIT_FOREVER, &ep->context) !=
	    WNNStatus_Success) {
		wnnGetLastError(&error);
		return idle ? stay_idle(ep, error.message) :
			      onpu_webnn_error(ort, "the device does not open");
	}
	if (wnnContextGetDeviceInfo(ep->context, &info) != WNNStatus_Success)
		return onpu_webnn_error(ort, "the device does not answer");
	onpu_log(ep, ORT_LOG_INFO, ONPU_PROVIDER ": device %.*s: %.*s", (int)info.device.length,
		 info.device.data, (int)info.reason.length, info.reason.data);
	if (asprintf(&ep->compatibility, "onpu %s %.*s %.*s", ONPU_VERSION, (int)info.device.length,
		     info.device.data, (int)info.machine.length,
		     info.machine.data ? info.machine.data : "") < 0) {
		ep->compatibility = NULL;
		return onpu_nomem(ort);
	}
	return NULL;
}

static struct ort_status *open_report(struct onpu_ep *ep)
{
	if (!ep->options.report || !*ep->options.report)
		return NULL;
	ep->report = fopen(ep->options.report, "we");
	if (!ep->report)
		return onpu_error(&ep->factory->ort, ORT_INVALID_ARGUMENT,
				  ONPU_PROVIDER ": the report cannot be written: %s: %s",
				  ep->options.report, strerror(errno));
	return NULL;
}

struct ort_status *onpu_ep_create(struct onpu_factory *factory, const struct ort_pairs *metadata,
				  const struct ort_session_options *options,
				  const struct ort_logger *logger, struct ort_ep **out)
{
	struct onpu_ep *ep = calloc(1, sizeof(*ep));
	struct ort_status *status;

	if (!ep)
		return onpu_nomem(&factory->ort);
	pthread_mutex_init(&ep->report_lock, NULL);
	ep->factory = onpu_factory_get(factory);
	ep->logger = logger;
	ep->base.version = factory->ort.version;
	ep->base.get_name = get_name;
	ep->base.get_capability = onpu_get_capability;
	ep->base.compile = onpu_compile;
	ep->base.release_compute_infos = onpu_release_compute_infos;
	ep->base.get_compatibility = get_compatibility;
	ep->base.is_concurrent = is_concurrent;
	if (factory->ort.CreateProfilingEvent)
		ep->base.create_profiler = onpu_profiler_create;
	status = onpu_options_read(&ep->options, &factory->ort, options, metadata);
	if (!status)
		status = open_report(ep);
	if (!status)
		status = open_device(ep);
	if (status)
		onpu_ep_release(ep);
	else
		*out = &ep->base;
	return status;
}

void onpu_ep_release(struct onpu_ep *ep)
{
	if (!ep)
		return;
	onpu_profilers_leave(ep);
	onpu_held_free(ep->held);
	wnnContextRelease(ep->context);
	wnnInstanceRelease(ep->instance);
	if (ep->report)
		fclose(ep->report);
	pthread_mutex_destroy(&ep->report_lock);
	free(ep->compatibility);
	onpu_options_free(&ep->options);
	onpu_factory_put(ep->factory);
	free(ep);
}
