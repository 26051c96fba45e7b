// SPDX-License-Identifier: MIT
/* The functions of a device, which is its own description in PJRT's sense. */
#include <string.h>

#include "plugin.h"

struct pjrt_error *onpu_DeviceDescription_Id(struct pjrt_DeviceDescription_Id_args *args)
{
	args->id = args->description->id;
	return NULL;
}

struct pjrt_error *
onpu_DeviceDescription_ProcessIndex(struct pjrt_DeviceDescription_ProcessIndex_args *args)
{
	args->index = 0;
	return NULL;
}

struct pjrt_error *
onpu_DeviceDescription_Attributes(struct pjrt_DeviceDescription_Attributes_args *args)
{
	args->attributes = NULL;
	args->count = 0;
	return NULL;
}

struct pjrt_error *onpu_DeviceDescription_Kind(struct pjrt_DeviceDescription_Kind_args *args)
{
	args->kind = args->description->kind;
	args->length = strlen(args->kind);
	return NULL;
}

struct pjrt_error *
onpu_DeviceDescription_DebugString(struct pjrt_DeviceDescription_DebugString_args *args)
{
	args->text = args->description->debug;
	args->length = strlen(args->text);
	return NULL;
}

struct pjrt_error *
onpu_DeviceDescription_ToString(struct pjrt_DeviceDescription_ToString_args *args)
{
	args->text = args->description->text;
	args->length = strlen(args->text);
	return NULL;
}

struct pjrt_error *onpu_Device_GetDescription(struct pjrt_Device_GetDescription_args *args)
{
	args->description = args->device;
	return NULL;
}

struct pjrt_error *onpu_Device_IsAddressable(struct pjrt_Device_IsAddressable_args *args)
{
	args->is = true;
	return NULL;
}

struct pjrt_error *onpu_Device_LocalHardwareId(struct pjrt_Device_LocalHardwareId_args *args)
{
	args->id = args->device->id;
	return NULL;
}

struct pjrt_error *
onpu_Device_AddressableMemories(struct pjrt_Device_AddressableMemories_args *args)
{
	args->memories = args->device->memories;
	args->count = ONPU_MEMORY_KINDS;
	return NULL;
}

struct pjrt_error *onpu_Device_DefaultMemory(struct pjrt_Device_DefaultMemory_args *args)
{
	args->memory = args->device->memories[ONPU_DEVICE];
	return NULL;
}

struct pjrt_error *onpu_Device_MemoryStats(struct pjrt_Device_MemoryStats_args *args)
{
	struct pjrt_device *device = args->device;

	args->used = atomic_load(&device->used);
	args->peak = atomic_load(&device->peak);
	args->has_peak = true;
	args->allocations = atomic_load(&device->allocations);
	args->has_allocations = true;
	args->largest = atomic_load(&device->largest);
	args->has_largest = true;
	PJRT_CLEAR_FROM(args, rest);
	return NULL;
}

void onpu_release_nothing(void *owner)
{
	(void)owner;
}

struct pjrt_error *onpu_Device_GetAttributes(struct pjrt_Device_GetAttributes_args *args)
{
	args->attributes = NULL;
	args->count = 0;
	args->owner = NULL;
	args->release = onpu_release_nothing;
	return NULL;
}
