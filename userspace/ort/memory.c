// SPDX-License-Identifier: MIT
/*
 * Allocates memory that ONNX Runtime requests for values that programs bind: whole pages, which
 * devices that import memory use directly. ONNX Runtime is told that the processor can access this
 * memory, so that nodes on the processor and nodes on the device both use it.
 */
#include <stdlib.h>
#include <string.h>

#include <onpu/registers.h>

#include "read.h"

#define PAGE 4096

struct allocator {
	struct ort_allocator base;
	struct onpu_factory *factory;
};

struct transfer {
	struct ort_data_transfer base;
	struct onpu_factory *factory;
};

static void *allocate(struct ort_allocator *allocator, size_t size)
{
	(void)allocator;
	if (size > SIZE_MAX - PAGE)
		return NULL;
	return aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
}

static void deallocate(struct ort_allocator *allocator, void *memory)
{
	(void)allocator;
	free(memory);
}

static const struct ort_memory_info *get_info(const struct ort_allocator *allocator)
{
	return ((const struct allocator *)allocator)->factory->memory;
}

struct ort_status *onpu_memory_offer(struct onpu_factory *factory, struct ort_ep_device *device)
{
	const struct ort_api *ort = &factory->ort;

	if (!factory->memory)
		ORT_TRY(ort->CreateMemoryInfo_V2("Open NPU", ORT_MEMORY_NPU, ONPU_PCI_VENDOR, 0,
						 ORT_MEMORY_HOST_ACCESSIBLE, 0,
						 ORT_ALLOCATOR_DEVICE, &factory->memory));
	return ort->EpDevice_AddAllocatorInfo(device, factory->memory);
}

struct ort_status *onpu_allocator_create(struct ort_ep_factory *factory,
					 const struct ort_memory_info *memory,
					 const struct ort_pairs *options,
					 struct ort_allocator **out)
{
	const struct ort_api *ort = &((struct onpu_factory *)factory)->ort;
	struct allocator *allocator = calloc(1, sizeof(*allocator));

	(void)memory;
	(void)options;
	if (!allocator)
		return onpu_nomem(ort);
	allocator->base.version = ort->version;
	allocator->base.allocate = allocate;
	allocator->base.deallocate = deallocate;
	allocator->base.get_info = get_info;
	allocator->factory = onpu_factory_get((struct onpu_factory *)factory);
	*out = &allocator->base;
	return NULL;
}

void onpu_allocator_release(struct ort_ep_factory *factory, struct ort_allocator *allocator)
{
	(void)factory;
	if (allocator)
		onpu_factory_put(((struct allocator *)allocator)->factory);
	free((struct allocator *)allocator);
}

static void release_transfer(struct ort_data_transfer *base)
{
	struct transfer *transfer = (struct transfer *)base;

	onpu_factory_put(transfer->factory);
	free(transfer);
}

static bool is_ours(const struct onpu_factory *factory, const struct ort_memory_device *device)
{
	return factory->memory &&
	       factory->ort.MemoryDevice_AreEqual(
		       device, factory->ort.MemoryInfo_GetMemoryDevice(factory->memory));
}

static bool is_reached(const struct onpu_factory *factory, const struct ort_memory_device *device)
{
	return is_ours(factory, device) ||
	       factory->ort.MemoryDevice_GetDeviceType(device) == ORT_MEMORY_CPU;
}

static bool can_copy(const struct ort_data_transfer *base, const struct ort_memory_device *from,
		     const struct ort_memory_device *to)
{
	const struct onpu_factory *factory = ((const struct transfer *)base)->factory;

	return (is_ours(factory, from) || is_ours(factory, to)) && is_reached(factory, from) &&
	       is_reached(factory, to);
}

static struct ort_status *copy_tensors(struct ort_data_transfer *base,
				       const struct ort_value **from, struct ort_value **to,
				       struct ort_sync_stream **streams, size_t count)
{
	const struct ort_api *ort = &((struct transfer *)base)->factory->ort;

	(void)streams;
	for (size_t i = 0; i < count; i++) {
		void *source, *target;
		size_t size;

		ORT_TRY(ort->GetTensorSizeInBytes(from[i], &size));
		ORT_TRY(ort->GetTensorMutableData((struct ort_value *)(uintptr_t)from[i], &source));
		ORT_TRY(ort->GetTensorMutableData(to[i], &target));
		if (size && source != target)
			memcpy(target, source, size);
	}
	return NULL;
}

struct ort_status *onpu_data_transfer_create(struct ort_ep_factory *base,
					     struct ort_data_transfer **out)
{
	struct onpu_factory *factory = (struct onpu_factory *)base;
	struct transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return onpu_nomem(&factory->ort);
	transfer->base.version = factory->ort.version;
	transfer->base.release = release_transfer;
	transfer->base.can_copy = can_copy;
	transfer->base.copy_tensors = copy_tensors;
	transfer->factory = onpu_factory_get(factory);
	*out = &transfer->base;
	return NULL;
}
