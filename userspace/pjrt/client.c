// SPDX-License-Identifier: MIT
/* The client with its device and memories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

static const char *const kinds[ONPU_MEMORY_COUNT] = { "device" };

struct pjrt_named_value onpu_value_text(const char *name, const char *text)
{
	struct pjrt_named_value value = { .size = sizeof(value), .kind = PJRT_STRING };

	value.name = name;
	value.name_length = strlen(name);
	value.string = text;
	value.count = strlen(text);
	return value;
}

/* ---- opening a device */

/* Finds the device among the options; another one is an error that names it. */
static struct pjrt_error *read_options(const struct pjrt_Client_Create_args *args,
				       WNNStringView *device)
{
	for (size_t i = 0; i < args->option_count; i++) {
		const struct pjrt_named_value *option = &args->options[i];

		if (option->name_length != strlen("device") ||
		    memcmp(option->name, "device", option->name_length))
			return onpu_error(PJRT_INVALID_ARGUMENT,
					  "onpu: there is no option %.*s; there is device",
					  (int)option->name_length, option->name);
		if (option->kind != PJRT_STRING)
			return onpu_error(
				PJRT_INVALID_ARGUMENT,
				"onpu: the option device must be a text: npu, npu:NUMBER, sim or cpu");
		*device = (WNNStringView){ option->string, option->count };
	}
	return NULL;
}

static void describe(struct pjrt_client *client, const WNNDeviceInfo *info)
{
	struct pjrt_device *device = &client->device;
	int length = (int)info->device.length;

	snprintf(client->version, sizeof(client->version), "onpu %s, device %.*s: %.*s",
		 ONPU_VERSION, length, info->device.data, (int)info->reason.length,
		 info->reason.data ? info->reason.data : "");
	device->client = client;
	client->devices[0] = device;
	snprintf(device->kind, sizeof(device->kind), "onpu %.*s%s%.*s", length, info->device.data,
		 info->machine.length ? " " : "", (int)info->machine.length,
		 info->machine.data ? info->machine.data : "");
	snprintf(device->text, sizeof(device->text), "OnpuDevice(id=0)");
	snprintf(device->debug, sizeof(device->debug), "OnpuDevice(id=0, kind=\"%s\")",
		 device->kind);
	for (int i = 0; i < ONPU_MEMORY_COUNT; i++) {
		struct pjrt_memory *memory = &client->memory[i];

		memory->client = client;
		memory->kind = (enum onpu_memory_kind)i;
		snprintf(memory->text, sizeof(memory->text), "OnpuMemory(id=%d)", i);
		snprintf(memory->debug, sizeof(memory->debug), "OnpuMemory(id=%d, kind=%s)", i,
			 kinds[i]);
		client->memories[i] = memory;
	}
}

static struct pjrt_error *open_device(struct pjrt_client *client, WNNStringView name)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;

	device.device = name;
	options.nextInChain = &device.chain;
	client->instance = wnnCreateInstance(NULL);
	if (!client->instance)
		return onpu_webnn_error("the library does not start");
	if (wnnInstanceCreateContextSync(client->instance, &options, WNN_WAIT_FOREVER,
					 &client->context) != WNNStatus_Success)
		return onpu_webnn_error("the device does not open");
	if (wnnContextGetDeviceInfo(client->context, &info) != WNNStatus_Success)
		return onpu_webnn_error("the device does not answer");
	describe(client, &info);
	return NULL;
}

struct pjrt_client *onpu_client_get(struct pjrt_client *client)
{
	atomic_fetch_add(&client->refs, 1);
	return client;
}

void onpu_client_put(struct pjrt_client *client)
{
	if (!client || atomic_fetch_sub(&client->refs, 1) != 1)
		return;
	if (client->context)
		wnnContextRelease(client->context);
	if (client->instance)
		wnnInstanceRelease(client->instance);
	free(client);
}

struct pjrt_error *onpu_Client_Create(struct pjrt_Client_Create_args *args)
{
	WNNStringView name = { NULL, 0 };
	struct pjrt_client *client;
	struct pjrt_error *error = read_options(args, &name);

	if (error)
		return error;
	client = calloc(1, sizeof(*client));
	if (!client)
		return onpu_nomem();
	atomic_init(&client->refs, 1);
	error = open_device(client, name);
	if (error) {
		onpu_client_put(client);
		return error;
	}
	args->client = client;
	return NULL;
}

struct pjrt_error *onpu_Client_Destroy(struct pjrt_Client_Destroy_args *args)
{
	onpu_client_put(args->client);
	return NULL;
}

/* ---- what a client has */

struct pjrt_error *onpu_Client_PlatformName(struct pjrt_Client_PlatformName_args *args)
{
	args->name = ONPU_PLATFORM;
	args->length = strlen(ONPU_PLATFORM);
	return NULL;
}

struct pjrt_error *onpu_Client_PlatformVersion(struct pjrt_Client_PlatformVersion_args *args)
{
	args->version = args->client->version;
	args->length = strlen(args->client->version);
	return NULL;
}

struct pjrt_error *onpu_Client_ProcessIndex(struct pjrt_Client_ProcessIndex_args *args)
{
	args->index = 0;
	return NULL;
}

struct pjrt_error *onpu_Client_Devices(struct pjrt_Client_Devices_args *args)
{
	args->devices = args->client->devices;
	args->count = 1;
	return NULL;
}

struct pjrt_error *onpu_Client_AddressableDevices(struct pjrt_Client_AddressableDevices_args *args)
{
	args->devices = args->client->devices;
	args->count = 1;
	return NULL;
}

static struct pjrt_error *look_up(struct pjrt_client *client, int id, struct pjrt_device **device)
{
	if (id)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: there is no device %d; the only one is 0", id);
	*device = &client->device;
	return NULL;
}

struct pjrt_error *onpu_Client_LookupDevice(struct pjrt_Client_LookupDevice_args *args)
{
	return look_up(args->client, args->id, &args->device);
}

struct pjrt_error *
onpu_Client_LookupAddressableDevice(struct pjrt_Client_LookupAddressableDevice_args *args)
{
	return look_up(args->client, args->id, &args->device);
}

struct pjrt_error *
onpu_Client_AddressableMemories(struct pjrt_Client_AddressableMemories_args *args)
{
	args->memories = args->client->memories;
	args->count = ONPU_MEMORY_COUNT;
	return NULL;
}

struct pjrt_error *
onpu_Client_DefaultDeviceAssignment(struct pjrt_Client_DefaultDeviceAssignment_args *args)
{
	if (args->replicas != 1 || args->partitions != 1)
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: %d replicas of %d partitions are wanted; a client has "
				  "one device",
				  args->replicas, args->partitions);
	if (args->room < 1)
		return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: there is no room for the device");
	args->ids[0] = 0;
	return NULL;
}

/* ---- its topology */

struct pjrt_error *
onpu_Client_TopologyDescription(struct pjrt_Client_TopologyDescription_args *args)
{
	args->topology = args->client;
	return NULL;
}

/* It belongs to the client. */
struct pjrt_error *
onpu_TopologyDescription_Destroy(struct pjrt_TopologyDescription_Destroy_args *args)
{
	(void)args;
	return NULL;
}

struct pjrt_error *
onpu_TopologyDescription_PlatformName(struct pjrt_TopologyDescription_PlatformName_args *args)
{
	args->name = ONPU_PLATFORM;
	args->length = strlen(ONPU_PLATFORM);
	return NULL;
}

struct pjrt_error *
onpu_TopologyDescription_PlatformVersion(struct pjrt_TopologyDescription_PlatformVersion_args *args)
{
	args->version = args->topology->version;
	args->length = strlen(args->topology->version);
	return NULL;
}

struct pjrt_error *onpu_TopologyDescription_GetDeviceDescriptions(
	struct pjrt_TopologyDescription_GetDeviceDescriptions_args *args)
{
	args->descriptions = args->topology->devices;
	args->count = 1;
	return NULL;
}

struct pjrt_error *
onpu_TopologyDescription_Attributes(struct pjrt_TopologyDescription_Attributes_args *args)
{
	args->attributes = NULL;
	args->count = 0;
	return NULL;
}

/* ---- memories */

struct pjrt_error *onpu_Memory_Id(struct pjrt_Memory_Id_args *args)
{
	args->id = (int)args->memory->kind;
	return NULL;
}

struct pjrt_error *onpu_Memory_Kind(struct pjrt_Memory_Kind_args *args)
{
	args->kind = kinds[args->memory->kind];
	args->length = strlen(args->kind);
	return NULL;
}

struct pjrt_error *onpu_Memory_Kind_Id(struct pjrt_Memory_Kind_Id_args *args)
{
	args->id = (int)args->memory->kind;
	return NULL;
}

struct pjrt_error *onpu_Memory_DebugString(struct pjrt_Memory_DebugString_args *args)
{
	args->text = args->memory->debug;
	args->length = strlen(args->text);
	return NULL;
}

struct pjrt_error *onpu_Memory_ToString(struct pjrt_Memory_ToString_args *args)
{
	args->text = args->memory->text;
	args->length = strlen(args->text);
	return NULL;
}

struct pjrt_error *
onpu_Memory_AddressableByDevices(struct pjrt_Memory_AddressableByDevices_args *args)
{
	args->devices = args->memory->client->devices;
	args->count = 1;
	return NULL;
}
