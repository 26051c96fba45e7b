// SPDX-License-Identifier: MIT
/* The factory through which ONNX Runtime creates providers, and the devices that it offers. */
#include <stdlib.h>
#include <string.h>

#include <onpu/registers.h>
#include <webnn/webnn_npu.h>

#include "provider.h"

#define VENDOR "Open NPU"

static const char *const virtual_names[2] = { "sim", "cpu" };

static const char *get_name(const struct ort_ep_factory *factory)
{
	(void)factory;
	return ONPU_PROVIDER;
}

static const char *get_vendor(const struct ort_ep_factory *factory)
{
	(void)factory;
	return VENDOR;
}

static uint32_t get_vendor_id(const struct ort_ep_factory *factory)
{
	(void)factory;
	return ONPU_PCI_VENDOR;
}

static const char *get_version(const struct ort_ep_factory *factory)
{
	(void)factory;
	return ONPU_VERSION;
}

static bool is_stream_aware(const struct ort_ep_factory *factory)
{
	(void)factory;
	return false;
}

/*
 * Offers a hardware device. @device: on which device sessions run; NULL: the session's options
 * select it.
 */
static struct ort_status *offer(struct onpu_factory *factory, const struct ort_hardware *hardware,
				const char *device, struct ort_ep_device **out)
{
	const struct ort_api *ort = &factory->ort;
	struct ort_pairs *metadata;
	struct ort_status *status;

	ort->CreateKeyValuePairs(&metadata);
	ort->AddKeyValuePair(metadata, "library", "libwebnn-npu " ONPU_VERSION);
	if (device)
		ort->AddKeyValuePair(metadata, "device", device);
	status = ort->CreateEpDevice(&factory->base, hardware, metadata, NULL, out);
	ort->ReleaseKeyValuePairs(metadata);
	if (status)
		return status;
	status = onpu_memory_offer(factory, *out);
	if (status)
		ort->ReleaseEpDevice(*out);
	return status;
}

/*
 * Sets *out to virtual device @index for ONNX Runtime, and creates it at the first call. ONNX
 * Runtime's policies take the first NPU, and always the first CPU. Only policies that look for a
 * GPU should find a virtual device, so that its kind is GPU. Returns NULL, or an error.
 */
static struct ort_status *offer_virtual(struct onpu_factory *factory, size_t index,
					struct ort_ep_device **out)
{
	const struct ort_api *ort = &factory->ort;
	struct ort_status *status = NULL;
	struct ort_pairs *metadata;

	if (!factory->virtual_devices[index]) {
		ort->CreateKeyValuePairs(&metadata);
		ort->AddKeyValuePair(metadata, "is_virtual", "1");
		ort->AddKeyValuePair(metadata, "description",
				     index ? "the CPU, through libwebnn-npu" :
					     "the model of the NPU in libwebnn-npu");
		status = ort->CreateHardwareDevice(ORT_HARDWARE_GPU, ONPU_PCI_VENDOR,
						   ONPU_PCI_DEVICE + 1 + (uint32_t)index, VENDOR,
						   metadata, &factory->virtual_devices[index]);
		ort->ReleaseKeyValuePairs(metadata);
	}
	if (status)
		return status;
	return offer(factory, factory->virtual_devices[index], virtual_names[index], out);
}

static struct ort_status *get_devices(struct ort_ep_factory *base,
				      const struct ort_hardware *const *hardware,
				      size_t hardware_count, struct ort_ep_device **devices,
				      size_t room, size_t *count)
{
	struct onpu_factory *factory = (struct onpu_factory *)base;
	const struct ort_api *ort = &factory->ort;
	struct ort_status *status = NULL;

	*count = 0;
	for (size_t i = 0; i < hardware_count && *count < room && !status; i++) {
		int type = ort->HardwareDevice_Type(hardware[i]);

		if (type == ORT_HARDWARE_NPU &&
		    ort->HardwareDevice_VendorId(hardware[i]) == ONPU_PCI_VENDOR &&
		    ort->HardwareDevice_DeviceId(hardware[i]) == ONPU_PCI_DEVICE)
			status = offer(factory, hardware[i], "npu", &devices[*count]);
		else if (type == ORT_HARDWARE_CPU && !factory->has_virtual)
			status = offer(factory, hardware[i], NULL, &devices[*count]);
		else
			continue;
		if (!status)
			++*count;
	}
	for (size_t i = 0; factory->has_virtual && i < 2 && *count < room && !status; i++) {
		status = offer_virtual(factory, i, &devices[*count]);
		if (!status)
			++*count;
	}
	return status;
}

/*
 * Returns the metadata of the NPU, if there is one: a policy for NPUs passes the CPU as well, for
 * the other nodes.
 */
static const struct ort_pairs *choose(const struct onpu_factory *factory,
				      const struct ort_pairs *const *metadata, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *device = metadata[i] ? factory->ort.GetKeyValue(metadata[i], "device") :
						   NULL;

		if (device && !strcmp(device, "npu"))
			return metadata[i];
	}
	return metadata[0];
}

static struct ort_status *create_ep(struct ort_ep_factory *base,
				    const struct ort_hardware *const *hardware,
				    const struct ort_pairs *const *metadata, size_t count,
				    const struct ort_session_options *options,
				    const struct ort_logger *logger, struct ort_ep **ep)
{
	struct onpu_factory *factory = (struct onpu_factory *)base;

	(void)hardware;
	*ep = NULL;
	if (!count)
		return onpu_error(&factory->ort, ORT_INVALID_ARGUMENT,
				  ONPU_PROVIDER
				  ": a session needs a device: add the provider with one "
				  "of get_ep_devices()");
	return onpu_ep_create(factory, choose(factory, metadata, count), options, logger, ep);
}

static void release_ep(struct ort_ep_factory *factory, struct ort_ep *ep)
{
	(void)factory;
	onpu_ep_release((struct onpu_ep *)ep);
}

/*
 * Returns whether a model that was compiled for a device, npu, sim or cpu, can run on a hardware
 * device. A graph for the NPU runs on its model, too. The CPU stands for all devices, as an option
 * of the session selects one.
 */
static bool fits(const struct onpu_factory *factory, const struct ort_hardware *hardware,
		 bool for_cpu)
{
	if (hardware == factory->virtual_devices[1])
		return for_cpu;
	if (hardware == factory->virtual_devices[0] ||
	    factory->ort.HardwareDevice_Type(hardware) == ORT_HARDWARE_NPU)
		return !for_cpu;
	return true;
}

/* @information is the text of onpu_ep.compatibility in the model. */
static struct ort_status *validate(struct ort_ep_factory *base,
				   const struct ort_hardware *const *hardware, size_t count,
				   const char *information, int *compatibility)
{
	static const char ours[] = "onpu ", version[] = ONPU_VERSION " ", cpu[] = "cpu ";
	const struct onpu_factory *factory = (struct onpu_factory *)base;
	const char *device;

	*compatibility = ORT_COMPATIBILITY_NOT_APPLICABLE;
	if (!information || strncmp(information, ours, strlen(ours)))
		return NULL;
	*compatibility = ORT_COMPATIBILITY_UNSUPPORTED;
	if (strncmp(information + strlen(ours), version, strlen(version)))
		return NULL;
	device = information + strlen(ours) + strlen(version);
	for (size_t i = 0; i < count; i++)
		if (hardware[i] && !fits(factory, hardware[i], !strncmp(device, cpu, strlen(cpu))))
			return NULL;
	*compatibility = ORT_COMPATIBILITY_OPTIMAL;
	return NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

__attribute__((visibility("default"))) struct ort_status *
CreateEpFactories(const char *name, const struct ort_api_base *base,
		  const struct ort_logger *logger, struct ort_ep_factory **factories, size_t room,
		  size_t *count);
__attribute__((visibility("default"))) struct ort_status *
ReleaseEpFactory(struct ort_ep_factory *factory);

/*
 * Returns a status saying that this version of ONNX Runtime is too old: it has no compiling
 * providers. The first version of the API creates the status.
 */
static struct ort_status *too_old(const struct ort_api_base *base)
{
	struct ort_status *(*create)(int code, const char *message);
	const void *table = base->GetApi(1);
	char message[200];

	if (!table)
		return NULL;
	memcpy(&create, table, sizeof(create));
	snprintf(message, sizeof(message),
		 ONPU_PROVIDER ": ONNX Runtime is of version %s, and 1.%d is the oldest that works",
		 base->GetVersionString(), ORT_OLDEST);
	return create(ORT_NOT_IMPLEMENTED, message);
}

struct ort_status *CreateEpFactories(const char *name, const struct ort_api_base *base,
				     const struct ort_logger *logger,
				     struct ort_ep_factory **factories, size_t room, size_t *count)
{
	struct onpu_factory *factory;
	struct ort_api ort;

	(void)logger;
	/* ONNX Runtime 1.22 passes no logger, so that the parameters behind it are others. */
	if (!ort_api_open(&ort, base))
		return too_old(base);
	*count = 0;
	factory = calloc(1, sizeof(*factory));
	if (!factory)
		return onpu_nomem(&ort);
	factory->ort = ort;
	atomic_init(&factory->users, 1);
	if (room < 1) {
		struct ort_status *status = onpu_error(&factory->ort, ORT_INVALID_ARGUMENT,
						       ONPU_PROVIDER
						       ": there is no room for a factory");

		free(factory);
		return status;
	}
	factory->has_virtual = name && ends_with(name, ".virtual") &&
			       factory->ort.CreateHardwareDevice;
	factory->base.version = factory->ort.version;
	factory->base.get_name = get_name;
	factory->base.get_vendor = get_vendor;
	factory->base.get_devices = get_devices;
	factory->base.create_ep = create_ep;
	factory->base.release_ep = release_ep;
	factory->base.get_vendor_id = get_vendor_id;
	factory->base.get_version = get_version;
	factory->base.validate = validate;
	factory->base.create_allocator = onpu_allocator_create;
	factory->base.release_allocator = onpu_allocator_release;
	factory->base.create_data_transfer = onpu_data_transfer_create;
	factory->base.is_stream_aware = is_stream_aware;
	factories[0] = &factory->base;
	*count = 1;
	return NULL;
}

struct onpu_factory *onpu_factory_get(struct onpu_factory *factory)
{
	atomic_fetch_add(&factory->users, 1);
	return factory;
}

void onpu_factory_put(struct onpu_factory *factory)
{
	if (atomic_fetch_sub(&factory->users, 1) != 1)
		return;
	if (factory->memory)
		factory->ort.ReleaseMemoryInfo(factory->memory);
	free(factory);
}

struct ort_status *ReleaseEpFactory(struct ort_ep_factory *base)
{
	struct onpu_factory *factory = (struct onpu_factory *)base;

	if (!factory)
		return NULL;
	for (size_t i = 0; i < 2; i++) {
		if (factory->virtual_devices[i])
			factory->ort.ReleaseHardwareDevice(factory->virtual_devices[i]);
		factory->virtual_devices[i] = NULL;
	}
	onpu_factory_put(factory);
	return NULL;
}
