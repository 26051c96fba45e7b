// SPDX-License-Identifier: MIT
/*
 * The functions of libprotobuf-c that libwebnn-onnx calls, for an addon that contains
 * libwebnn-onnx. They are looked up when the first model is loaded, so that the addon loads and
 * computes also where libprotobuf-c is not installed.
 */
#if defined(WITH_PROTOBUF_LOADER)

#include <dlfcn.h>
#include <protobuf-c/protobuf-c.h>

#include "addon.h"

#define LIBRARY "libprotobuf-c.so.1"

static struct {
	__typeof__(&protobuf_c_message_unpack) unpack;
	__typeof__(&protobuf_c_message_free_unpacked) free_unpacked;
	__typeof__(&protobuf_c_message_get_packed_size) get_packed_size;
	__typeof__(&protobuf_c_message_pack) pack;
	__typeof__(&protobuf_c_message_pack_to_buffer) pack_to_buffer;
} functions;

static bool all_found;
static uv_once_t once = UV_ONCE_INIT;

static void find_functions(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	*(void **)&functions.unpack = dlsym(library, "protobuf_c_message_unpack");
	*(void **)&functions.free_unpacked = dlsym(library, "protobuf_c_message_free_unpacked");
	*(void **)&functions.get_packed_size = dlsym(library, "protobuf_c_message_get_packed_size");
	*(void **)&functions.pack = dlsym(library, "protobuf_c_message_pack");
	*(void **)&functions.pack_to_buffer = dlsym(library, "protobuf_c_message_pack_to_buffer");
	all_found = functions.unpack && functions.free_unpacked && functions.get_packed_size &&
		    functions.pack && functions.pack_to_buffer;
}

bool protobuf_is_there(void)
{
	uv_once(&once, find_functions);
	return all_found;
}

ProtobufCMessage *protobuf_c_message_unpack(ProtobufCMessageDescriptor const *descriptor,
					    ProtobufCAllocator *allocator, size_t size,
					    uint8_t const *data)
{
	return functions.unpack(descriptor, allocator, size, data);
}

void protobuf_c_message_free_unpacked(ProtobufCMessage *message, ProtobufCAllocator *allocator)
{
	functions.free_unpacked(message, allocator);
}

size_t protobuf_c_message_get_packed_size(ProtobufCMessage const *message)
{
	return functions.get_packed_size(message);
}

size_t protobuf_c_message_pack(ProtobufCMessage const *message, uint8_t *out)
{
	return functions.pack(message, out);
}

size_t protobuf_c_message_pack_to_buffer(ProtobufCMessage const *message, ProtobufCBuffer *buffer)
{
	return functions.pack_to_buffer(message, buffer);
}

#endif
