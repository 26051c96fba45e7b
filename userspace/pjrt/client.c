// SPDX-License-Identifier: MIT
/* The client with its devices and memories. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plugin.h"

const char *const onpu_memory_kinds[ONPU_MEMORY_KINDS] = { "device", "pinned_host" };

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

/* The values of a client's options. */
struct choice {
	WNNStringView device;
	WNNStringView cache_dir; /* folder of compiled graphs; .data is NULL: no option gives it */
	size_t count;		 /* number of devices; 0: it is not known yet */
};

static struct pjrt_error *set_count(struct choice *choice, const char *what, long long count)
{
	if (count < 1 || count > ONPU_MAX_DEVICES)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: %s must be a whole number from 1 to %d", what,
				  ONPU_MAX_DEVICES);
	choice->count = (size_t)count;
	return NULL;
}

static bool is_named(const struct pjrt_named_value *option, const char *name)
{
	return option->name_length == strlen(name) &&
	       !memcmp(option->name, name, option->name_length);
}

/*
 * Sets the number of devices from the environment; without the variable it is 1. Returns NULL; an
 * error: the number is not allowed.
 */
static struct pjrt_error *read_variable(struct choice *choice)
{
	const char *count = getenv("ONPU_PJRT_COUNT");
	long long number = 1;
	char *end;

	if (count && *count) {
		number = strtoll(count, &end, 10);
		if (*end)
			number = 0;
	}
	return set_count(choice, "the environment variable ONPU_PJRT_COUNT", number);
}

/*
 * Makes the folder of compiled graphs, which the option or else the environment names, for its user
 * alone, unless it exists. Returns NULL; an error: it cannot be made, or is no folder.
 */
static struct pjrt_error *open_cache(struct pjrt_client *client, WNNStringView folder)
{
	const char *variable = getenv("ONPU_PJRT_CACHE_DIR"), *from = "option cache_dir";
	const char *step = "used";
	struct stat status;
	int error = 0;

	if (!folder.data && variable) {
		folder = (WNNStringView){ variable, strlen(variable) };
		from = "environment variable ONPU_PJRT_CACHE_DIR";
	}
	if (!folder.length)
		return NULL;
	client->cache_dir = strndup(folder.data, folder.length);
	if (!client->cache_dir)
		return onpu_nomem();
	if (mkdir(client->cache_dir, 0700) && errno != EEXIST) {
		error = errno;
		step = "made";
	} else if (stat(client->cache_dir, &status)) {
		error = errno;
	} else if (!S_ISDIR(status.st_mode)) {
		error = ENOTDIR;
	}
	return error ? onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the folder %s of the %s cannot be %s: %s",
				  client->cache_dir, from, step, strerror(error)) :
		       NULL;
}

/*
 * Sets the device and the number of devices from the options, and a number that no option gives
 * from the environment. Returns NULL; an error: another option, or a wrong value.
 */
static struct pjrt_error *read_options(const struct pjrt_Client_Create_args *args,
				       struct choice *choice)
{
	struct pjrt_error *error = NULL;

	for (size_t i = 0; i < args->option_count && !error; i++) {
		const struct pjrt_named_value *option = &args->options[i];

		if (is_named(option, "device") && option->kind == PJRT_STRING)
			choice->device = (WNNStringView){ option->string, option->count };
		else if (is_named(option, "device"))
			error = onpu_error(
				PJRT_INVALID_ARGUMENT,
				"onpu: the option device must be a text: npu, npu:NUMBER, sim or cpu");
		else if (is_named(option, "cache_dir") && option->kind == PJRT_STRING)
			choice->cache_dir = (WNNStringView){ option->string, option->count };
		else if (is_named(option, "cache_dir"))
			error = onpu_error(PJRT_INVALID_ARGUMENT,
					   "onpu: the option cache_dir must be a text: the path of "
					   "a folder");
		else if (is_named(option, "count"))
			error = set_count(choice, "the option count",
					  option->kind == PJRT_INTEGER ? option->integer : 0);
		else
			error = onpu_error(PJRT_INVALID_ARGUMENT,
					   "onpu: there is no option %.*s; there are device, count "
					   "and cache_dir",
					   (int)option->name_length, option->name);
	}
	return error || choice->count ? error : read_variable(choice);
}

static void describe(struct pjrt_device *device, const WNNDeviceInfo *info)
{
	int length = (int)info->device.length;
	char kind[sizeof(device->kind)];

	device->self = device;
	snprintf(kind, sizeof(kind), "onpu %.*s%s%.*s", length, info->device.data,
		 info->machine.length ? " " : "", (int)info->machine.length,
		 info->machine.data ? info->machine.data : "");
	memcpy(device->kind, kind, sizeof(kind));
	snprintf(device->text, sizeof(device->text), "OnpuDevice(id=%d)", device->id);
	snprintf(device->debug, sizeof(device->debug), "OnpuDevice(id=%d, kind=\"%s\")", device->id,
		 kind);
	device->client->devices[device->id] = device;
}

static int id_of(const struct pjrt_memory *memory)
{
	return (int)memory->kind * (int)memory->device->client->count + memory->device->id;
}

/* Describes the memories of all devices, whose ids depend on the number of devices. */
static void describe_memories(struct pjrt_client *client)
{
	for (size_t i = 0; i < client->count; i++)
		for (int kind = 0; kind < ONPU_MEMORY_KINDS; kind++) {
			struct pjrt_memory *memory = &client->device[i].memory[kind];

			memory->device = &client->device[i];
			memory->kind = (enum onpu_memory_kind)kind;
			snprintf(memory->text, sizeof(memory->text), "OnpuMemory(id=%d)",
				 id_of(memory));
			snprintf(memory->debug, sizeof(memory->debug), "OnpuMemory(id=%d, kind=%s)",
				 id_of(memory), onpu_memory_kinds[kind]);
			client->device[i].memories[kind] = memory;
			client->memories[id_of(memory)] = memory;
		}
}

static struct pjrt_error *open_device(struct pjrt_client *client, WNNStringView name)
{
	struct pjrt_device *device = &client->device[client->count];
	WNNContextDeviceOptions wanted = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;

	wanted.device = name;
	options.nextInChain = &wanted.chain;
	if (wnnInstanceCreateContextSync(client->instance, &options, WNN_WAIT_FOREVER,
					 &device->context) != WNNStatus_Success)
		return onpu_webnn_error("the device does not open");
	device->client = client;
	device->id = (int)client->count++;
	if (wnnContextGetDeviceInfo(device->context, &info) != WNNStatus_Success)
		return onpu_webnn_error("the device does not answer");
	describe(device, &info);
	if (!device->id)
		snprintf(client->version, sizeof(client->version), "onpu %s, device %.*s: %.*s",
			 ONPU_VERSION, (int)info.device.length, info.device.data,
			 (int)info.reason.length, info.reason.data ? info.reason.data : "");
	return NULL;
}

/*
 * Opens devices of the kind that the first one has, until the client has @count. Returns NULL; an
 * error: one does not open, or the first is an NPU other than number 0.
 */
static struct pjrt_error *open_others(struct pjrt_client *client, size_t count)
{
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;
	struct pjrt_error *error = NULL;
	char name[64], node[64];
	bool is_npu;

	if (wnnContextGetDeviceInfo(client->device[0].context, &info) != WNNStatus_Success)
		return onpu_webnn_error("the device does not answer");
	snprintf(name, sizeof(name), "%.*s", (int)info.device.length, info.device.data);
	is_npu = !strcmp(name, "npu");
	snprintf(node, sizeof(node), "%.*s", (int)info.nodePath.length,
		 info.nodePath.data ? info.nodePath.data : "");
	if (is_npu && strcmp(node + strcspn(node, "0123456789"), "0") != 0)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: %zu devices are the NPUs 0 to %zu, but the first one is "
				  "%s; choose the device npu:0, or 1 device",
				  count, count - 1, node);
	while (client->count < count && !error) {
		if (is_npu)
			snprintf(name, sizeof(name), "npu:%zu", client->count);
		error = open_device(client, (WNNStringView){ name, strlen(name) });
	}
	return error;
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
	for (size_t i = 0; i < client->count; i++)
		wnnContextRelease(client->device[i].context);
	if (client->instance)
		wnnInstanceRelease(client->instance);
	free(client->cache_dir);
	free(client);
}

struct pjrt_error *onpu_Client_Create(struct pjrt_Client_Create_args *args)
{
	struct choice choice = { 0 };
	struct pjrt_client *client;
	struct pjrt_error *error = read_options(args, &choice);

	if (error)
		return error;
	client = calloc(1, sizeof(*client));
	if (!client)
		return onpu_nomem();
	atomic_init(&client->refs, 1);
	client->instance = wnnCreateInstance(NULL);
	error = client->instance ? open_device(client, choice.device) :
				   onpu_webnn_error("the library does not start");
	if (!error && choice.count > 1)
		error = open_others(client, choice.count);
	if (!error)
		error = open_cache(client, choice.cache_dir);
	if (error) {
		onpu_client_put(client);
		return error;
	}
	describe_memories(client);
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
	args->count = args->client->count;
	return NULL;
}

struct pjrt_error *onpu_Client_AddressableDevices(struct pjrt_Client_AddressableDevices_args *args)
{
	args->devices = args->client->devices;
	args->count = args->client->count;
	return NULL;
}

static struct pjrt_error *look_up(struct pjrt_client *client, int id, struct pjrt_device **device)
{
	if (id < 0 || (size_t)id >= client->count)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: there is no device %d; the client has 0 to %zu", id,
				  client->count - 1);
	*device = &client->device[id];
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
	args->count = args->client->count * ONPU_MEMORY_KINDS;
	return NULL;
}

struct pjrt_error *
onpu_Client_DefaultDeviceAssignment(struct pjrt_Client_DefaultDeviceAssignment_args *args)
{
	int64_t count = (int64_t)args->replicas * args->partitions;

	if (args->replicas < 1 || args->partitions < 1 || count > (int64_t)args->client->count)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: %d replicas of %d partitions are wanted; the client has "
				  "%zu devices",
				  args->replicas, args->partitions, args->client->count);
	if ((int64_t)args->room < count)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: there is room for %zu devices, but %lld are needed",
				  args->room, (long long)count);
	for (int i = 0; i < count; i++)
		args->ids[i] = i;
	return NULL;
}

/* ---- its topology */

struct pjrt_error *
onpu_Client_TopologyDescription(struct pjrt_Client_TopologyDescription_args *args)
{
	args->topology = args->client;
	return NULL;
}

/* Frees nothing: the topology is the client itself. */
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
	args->count = args->topology->count;
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
	args->id = id_of(args->memory);
	return NULL;
}

struct pjrt_error *onpu_Memory_Kind(struct pjrt_Memory_Kind_args *args)
{
	args->kind = onpu_memory_kinds[args->memory->kind];
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
	args->devices = &args->memory->device->self;
	args->count = 1;
	return NULL;
}
