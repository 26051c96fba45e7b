// SPDX-License-Identifier: MIT
/* Tests the plugin for JAX as a client without JAX: test_plugin LIBRARY */
#include "client.h"

static const char sum[] = "module {\n"
			  "  func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> "
			  "(tensor<2x3xf32>, tensor<f32>) {\n"
			  "    %s = stablehlo.add %x, %y : tensor<2x3xf32>\n"
			  "    %c = stablehlo.constant dense<2.5> : tensor<f32>\n"
			  "    return %s, %c : tensor<2x3xf32>, tensor<f32>\n"
			  "  }\n"
			  "}\n";

/* ---- tests */

static void test_table(void **state)
{
	struct pjrt_Plugin_Attributes_args args = ARGS(Plugin_Attributes, );

	(void)state;
	assert_int_equal(api->size, sizeof(*api));
	assert_int_equal(api->version.major, 0);
	assert_int_equal(api->version.minor, 94);
	/* Version 0.94 has 3 functions of errors, and the 126 that slots.def lists. */
	assert_int_equal(api->size,
			 sizeof(size_t) * 2 + sizeof(api->version) + 129 * sizeof(void *));
	works(api->Plugin_Attributes(&args));
	assert_int_equal(args.count, 2);
	assert_string_equal(args.attributes[0].name, "stablehlo_current_version");
	assert_int_equal(args.attributes[0].count, 3);
	assert_int_equal(args.attributes[0].integers[0], 1);
	fails(api->Client_DmaMap(NULL), 12, "PJRT_Client_DmaMap is not implemented");
}

/*
 * Tests callers whose structures are shorter or longer than ours. When a structure ends before a
 * member that the call needs, the caller gets an error, and nothing is written.
 */
static void test_sizes(void **state)
{
	struct pjrt_Buffer_ElementType_args args = ARGS(Buffer_ElementType, .type = 77);
	struct pjrt_Device_MemoryStats_args stats;
	struct {
		struct pjrt_Device_MemoryStats_args known;
		struct pjrt_statistic more, end;
	} newer;
	struct pjrt_Client_AddressableDevices_args devices =
		ARGS(Client_AddressableDevices, .client = client);

	(void)state;
	args.struct_size = offsetof(struct pjrt_Buffer_ElementType_args, type);
	fails(api->Buffer_ElementType(&args), 3,
	      "the arguments of PJRT_Buffer_ElementType have 24 bytes; there must be at least 28");
	assert_int_equal(args.type, 77);
	works(api->Client_AddressableDevices(&devices));
	assert_int_equal(devices.count, 1);
	memset(&stats, 0x5a, sizeof(stats));
	stats.struct_size = offsetof(struct pjrt_Device_MemoryStats_args, rest);
	stats.device = devices.devices[0];
	works(api->Device_MemoryStats(&stats));
	assert_true(stats.has_largest);
	for (size_t i = 0; i < sizeof(stats.rest); i++)
		assert_int_equal(((unsigned char *)stats.rest)[i], 0x5a);
	/*
	 * A newer caller has members after ours. The plugin sets those members to 0, and writes
	 * nothing after the end of the structure.
	 */
	memset(&newer, 0x5a, sizeof(newer));
	newer.known.struct_size = offsetof(__typeof__(newer), end);
	newer.known.device = devices.devices[0];
	works(api->Device_MemoryStats(&newer.known));
	assert_true(newer.known.has_largest);
	for (size_t i = 0; i < sizeof(newer.known.rest); i++)
		assert_int_equal(((unsigned char *)newer.known.rest)[i], 0);
	for (size_t i = 0; i < sizeof(newer.more); i++)
		assert_int_equal(((unsigned char *)&newer.more)[i], 0);
	for (size_t i = 0; i < sizeof(newer.end); i++)
		assert_int_equal(((unsigned char *)&newer.end)[i], 0x5a);
}

static void test_clients(void **state)
{
	struct pjrt_named_value option = { .size = sizeof(option),
					   .name = "device",
					   .name_length = 6,
					   .string = "toaster",
					   .count = 7 };
	struct pjrt_Client_Create_args args =
		ARGS(Client_Create, .options = &option, .option_count = 1);
	struct pjrt_Client_Destroy_args destroy = ARGS(Client_Destroy, );
	struct pjrt_Client_PlatformVersion_args version = ARGS(Client_PlatformVersion, );
	struct pjrt_Client_LookupDevice_args look = ARGS(Client_LookupDevice, .client = client);

	(void)state;
	fails(api->Client_Create(&args), 12, "toaster");
	option.kind = PJRT_BOOL;
	fails(api->Client_Create(&args), 3, "the option device must be a text");
	option.name = "devise";
	fails(api->Client_Create(&args), 3,
	      "there is no option devise; there are device, count and cache_dir");
	option = (struct pjrt_named_value){
		.name = "count", .name_length = 5, .kind = PJRT_INTEGER, .integer = 9
	};
	fails(api->Client_Create(&args), 3, "the option count must be a whole number from 1 to 8");
	option = (struct pjrt_named_value){
		.name = "cache_dir", .name_length = 9, .kind = PJRT_INTEGER, .integer = 1
	};
	fails(api->Client_Create(&args), 3, "the option cache_dir must be a text");
	option.kind = PJRT_STRING;
	option.string = "/dev/null";
	option.count = 9;
	fails(api->Client_Create(&args), 3,
	      "the folder /dev/null of the option cache_dir cannot be used: Not a directory");
	/* The variable counts only without the option. */
	option = (struct pjrt_named_value){
		.name = "count", .name_length = 5, .kind = PJRT_INTEGER, .integer = 9
	};
	setenv("ONPU_PJRT_COUNT", "2x", 1);
	option.integer = 1;
	works(api->Client_Create(&args));
	destroy.client = args.client;
	works(api->Client_Destroy(&destroy));
	args.option_count = 0;
	fails(api->Client_Create(&args), 3,
	      "variable ONPU_PJRT_COUNT must be a whole number from 1 to 8");
	unsetenv("ONPU_PJRT_COUNT");
	args.option_count = 1;
	option = (struct pjrt_named_value){
		.name = "device", .name_length = 6, .string = "sim", .count = 3
	};
	works(api->Client_Create(&args));
	version.client = args.client;
	works(api->Client_PlatformVersion(&version));
	assert_non_null(strstr(version.version, "device sim"));
	destroy.client = args.client;
	works(api->Client_Destroy(&destroy));
	works(api->Client_LookupDevice(&look));
	look.id = 4;
	fails(api->Client_LookupDevice(&look), 3, "there is no device 4");
}

/* Tests that results go into the memory that the program names, and that others are refused. */
static void test_memories(void **state)
{
	static const char *const kinds[] = { "device", "pinned_host" };
	struct pjrt_Client_AddressableMemories_args memories =
		ARGS(Client_AddressableMemories, .client = client);
	struct pjrt_Memory_Kind_args kind = ARGS(Memory_Kind, );
	struct pjrt_Memory_Id_args id = ARGS(Memory_Id, );
	struct pjrt_Buffer_Memory_args of = ARGS(Buffer_Memory, );
	struct pjrt_loaded *loaded;
	struct pjrt_buffer *out;
	char text[256];

	(void)state;
	works(api->Client_AddressableMemories(&memories));
	assert_int_equal(memories.count, 2);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text),
			 "func.func @main() -> (tensor<f32> {mhlo.memory_kind = \"%s\"}) {\n"
			 "  %%x = stablehlo.constant dense<2.0> : tensor<f32>\n"
			 "  return %%x : tensor<f32>\n}\n",
			 i < 2 ? kinds[i] : "unpinned_host");
		if (i == 2) {
			fails(compile(text, "mlir", NULL, 0, &loaded), 3,
			      "output 0 of the program is for the memory unpinned_host");
			break;
		}
		works(compile(text, "mlir", NULL, 0, &loaded));
		works(execute(loaded, 0, NULL, &out));
		of.buffer = out;
		works(api->Buffer_Memory(&of));
		assert_ptr_equal(of.memory, memories.memories[i]);
		kind.memory = id.memory = of.memory;
		works(api->Memory_Kind(&kind));
		assert_string_equal(kind.kind, kinds[i]);
		works(api->Memory_Id(&id));
		assert_int_equal(id.id, i);
		drop(out);
		unload(loaded);
	}
}

static void test_run(void **state)
{
	static const float x[6] = { 1, 2, 3, 4, 5, 6 }, y[6] = { 10, 20, 30, 40, 50, 60 };
	static const int64_t dims[2] = { 2, 3 };
	struct pjrt_LoadedExecutable_GetExecutable_args get =
		ARGS(LoadedExecutable_GetExecutable, );
	struct pjrt_Executable_OutputDimensions_args shapes = ARGS(Executable_OutputDimensions, );
	struct pjrt_Executable_Destroy_args put = ARGS(Executable_Destroy, );
	struct pjrt_Buffer_Delete_args delete = ARGS(Buffer_Delete, );
	struct pjrt_buffer *in[2], *out[2];
	struct pjrt_loaded *loaded;
	float result[6];

	(void)state;
	works(compile(sum, "mlir", NULL, 0, &loaded));
	get.loaded = loaded;
	works(api->LoadedExecutable_GetExecutable(&get));
	shapes.executable = get.executable;
	works(api->Executable_OutputDimensions(&shapes));
	assert_int_equal(shapes.count, 2);
	assert_int_equal(shapes.ranks[0], 2);
	assert_int_equal(shapes.ranks[1], 0);
	assert_int_equal(shapes.dims[1], 3);
	put.executable = get.executable;
	works(api->Executable_Destroy(&put));
	in[0] = upload(F32, 2, dims, x, NULL);
	in[1] = upload(F32, 2, dims, y, NULL);
	/* A program runs more than once. */
	for (int round = 0; round < 3; round++) {
		works(execute(loaded, 2, in, out));
		download(out[0], result, sizeof(result));
		for (int i = 0; i < 6; i++)
			assert_float_equal(result[i], x[i] + y[i], 0);
		download(out[1], result, sizeof(float));
		assert_float_equal(result[0], 2.5, 0);
		drop(out[0]);
		drop(out[1]);
	}
	fails(execute(loaded, 1, in, out), 3, "the program takes 2 arguments; there are 1");
	delete.buffer = in[1];
	works(api->Buffer_Delete(&delete));
	fails(execute(loaded, 2, in, out), 3, "argument 1 is deleted");
	drop(in[1]);
	in[1] = upload(S32, 2, dims, x, NULL);
	fails(execute(loaded, 2, in, out), 3,
	      "argument 1 must be tensor<2x3xf32>; it is tensor<2x3xi32>");
	drop(in[0]);
	drop(in[1]);
	unload(loaded);
}

static void test_refusals(void **state)
{
	/* Build options (field 3) with 2 replicas (field 4), and a field that ends too early. */
	static const unsigned char replicas[] = { 0x1a, 2, 0x20, 2 }, cut[] = { 0x1a, 9, 0x20 };
	/* Build options with a device assignment whose only device is 5. */
	static const unsigned char device[] = { 0x1a, 7, 0x4a, 5, 0x1a, 3, 0x0a, 1, 5 };
	/* Build options with a device assignment of 9 replicas. */
	static const unsigned char many[] = { 0x1a, 15, 0x4a, 13, 0x1a, 11, 0x0a, 9, 0,
					      1,    2,	3,    4,  5,	6,  7,	  8 };
	/* Compiler options (field 7) of some names. */
	static const unsigned char wrong[] = { 0x3a, 6, 0x0a, 4, 'm', 'i', 'n', 'e' };
	static const unsigned char xla[] = { 0x3a, 7, 0x0a, 5, 'x', 'l', 'a', '_', 'a' };
	/* The length of a name is 9 bytes, but no byte follows. */
	static const unsigned char cut_name[] = { 0x3a, 2, 0x0a, 9 };
	struct pjrt_loaded *loaded;

	(void)state;
	fails(compile(sum, "hlo", NULL, 0, &loaded), 12, "the program's format is hlo");
	fails(compile("module {", "mlir", NULL, 0, &loaded), 13, "the program cannot be read");
	fails(compile(sum, "mlir", replicas, sizeof(replicas), &loaded), 3,
	      "the program is for 2 replicas of 1 partitions; the client has 1 devices");
	fails(compile(sum, "mlir", cut, sizeof(cut), &loaded), 3, "are no CompileOptionsProto");
	fails(compile(sum, "mlir", device, sizeof(device), &loaded), 3,
	      "the program is for device 5; the client has 0 to 0");
	fails(compile(sum, "mlir", many, sizeof(many), &loaded), 3,
	      "the options assign more than 8 replicas or 8 partitions to devices");
	fails(compile("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
		      "  %y = stablehlo.custom_call @nothing(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
		      "  return %y : tensor<2xf32>\n}\n",
		      "mlir", NULL, 0, &loaded),
	      12, "stablehlo.custom_call at line 2, column 3: there is no function 'nothing'");
	fails(compile("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
		      "  return %x : tensor<?xf32>\n}\n",
		      "mlir", NULL, 0, &loaded),
	      12, "input 0 of the program is tensor<?xf32>; sizes that are only known at run time");
	fails(compile("func.func @main(%x: tuple<tensor<f32>>) -> tuple<tensor<f32>> {\n"
		      "  return %x : tuple<tensor<f32>>\n}\n",
		      "mlir", NULL, 0, &loaded),
	      12, "input 0 of the program is tuple<tensor<f32>>, which is no array");
	fails(compile(sum, "mlir", wrong, sizeof(wrong), &loaded), 3,
	      "No such compile option: 'mine'; there are none but those of XLA");
	fails(compile(sum, "mlir", cut_name, sizeof(cut_name), &loaded), 3,
	      "are no CompileOptionsProto");
	works(compile(sum, "mlir", xla, sizeof(xla), &loaded));
	unload(loaded);
}

/* Tests that a token has no elements, and that one program takes the token that another returns. */
static void test_tokens(void **state)
{
	static const char text[] =
		"func.func @main(%t: !stablehlo.token) -> (!stablehlo.token, tensor<f32>) {\n"
		"  %u = stablehlo.after_all %t : !stablehlo.token\n"
		"  %c = stablehlo.constant dense<2.5> : tensor<f32>\n"
		"  return %u, %c : !stablehlo.token, tensor<f32>\n}\n";
	static const char first[] = "func.func @main() -> !stablehlo.token {\n"
				    "  %t = stablehlo.create_token : !stablehlo.token\n"
				    "  return %t : !stablehlo.token\n}\n";
	struct pjrt_Buffer_ElementType_args type = ARGS(Buffer_ElementType, );
	static const int64_t none[1] = { 0 };
	struct pjrt_buffer *in, *out[2];
	struct pjrt_loaded *loaded;
	float number = 0;

	(void)state;
	works(compile(first, "mlir", NULL, 0, &loaded));
	works(execute(loaded, 0, NULL, &in));
	unload(loaded);
	type.buffer = in;
	works(api->Buffer_ElementType(&type));
	assert_int_equal(type.type, 23);
	works(compile(text, "mlir", NULL, 0, &loaded));
	for (int i = 0; i < 3; i++) {
		if (i == 2) {
			fails(execute(loaded, 1, &in, out), 3,
			      "argument 0 must be !stablehlo.token; it is tensor<");
		} else {
			works(execute(loaded, 1, &in, out));
			download(out[1], &number, sizeof(number));
			assert_float_equal(number, 2.5, 0);
			drop(out[0]);
			drop(out[1]);
		}
		drop(in);
		/* JAX gives an array of no booleans for a token. */
		in = upload(i ? F32 : 1, 1, none, &number, NULL);
	}
	drop(in);
	unload(loaded);
}

static void test_layouts(void **state)
{
	static const int32_t numbers[6] = { 0, 1, 2, 3, 4, 5 };
	/* Column-major elements, with the columns from the last to the first. */
	static const int64_t dims[2] = { 2, 3 }, strides[2] = { 4, -8 }, columns[2] = { 0, 1 };
	static const int64_t wide[2] = { 16, 4 };
	static const int32_t wanted[6] = { 4, 2, 0, 5, 3, 1 }, reversed[6] = { 4, 5, 2, 3, 0, 1 };
	struct pjrt_layout layout = { .size = sizeof(layout), .kind = PJRT_TILED };
	struct pjrt_buffer *buffer = upload(S32, 2, dims, numbers + 4, strides);
	struct pjrt_Buffer_ToHostBuffer_args args =
		ARGS(Buffer_ToHostBuffer, .buffer = buffer, .layout = &layout);
	struct pjrt_Buffer_CopyRawToHost_args raw =
		ARGS(Buffer_CopyRawToHost, .buffer = buffer, .offset = 8, .size = 8);
	int32_t result[6];

	(void)state;
	download(buffer, result, sizeof(result));
	assert_memory_equal(result, wanted, sizeof(result));
	layout.tiled.minor_to_major = columns;
	layout.tiled.rank = 2;
	works(api->Buffer_ToHostBuffer(&args));
	assert_int_equal(args.size, sizeof(result));
	args.data = result;
	works(api->Buffer_ToHostBuffer(&args));
	finish(args.done);
	assert_memory_equal(result, reversed, sizeof(result));
	args.size--;
	fails(api->Buffer_ToHostBuffer(&args), 3, "the array has 24 bytes, there is room for 23");
	layout.tiled.rank = 1;
	fails(api->Buffer_ToHostBuffer(&args), 3, "the layout is for rank 1, the array has rank 2");
	layout.tiled.tile_count = 1;
	fails(api->Buffer_ToHostBuffer(&args), 12, "tiles, which are not implemented");
	/* With gaps between rows the array needs more than its own bytes. */
	layout = (struct pjrt_layout){ .size = sizeof(layout), .kind = PJRT_STRIDES };
	layout.strides.bytes = wide;
	layout.strides.rank = 2;
	args.size = sizeof(result);
	fails(api->Buffer_ToHostBuffer(&args), 3, "the array has 28 bytes, there is room for 24");
	layout.strides.bytes = strides;
	fails(api->Buffer_ToHostBuffer(&args), 12, "strides of an array on the host must be");
	raw.data = result;
	works(api->Buffer_CopyRawToHost(&raw));
	finish(raw.done);
	assert_memory_equal(result, wanted + 2, 8);
	raw.offset = 20;
	fails(api->Buffer_CopyRawToHost(&raw), 3,
	      "8 bytes from byte 20 on are not in the array, which has 24");
	raw.offset = INT64_MAX;
	fails(api->Buffer_CopyRawToHost(&raw), 3, "are not in the array, which has 24");
	drop(buffer);
}

static void test_uploads(void **state)
{
	static const int64_t negative[1] = { -1 }, huge[3] = { INT64_MAX, INT64_MAX, 2 },
			     none[2] = { 0, 5 };
	struct pjrt_Client_BufferFromHostBuffer_args args =
		ARGS(Client_BufferFromHostBuffer, .client = client, .data = negative, .type = 23);
	struct pjrt_Buffer_OnDeviceSizeInBytes_args size = ARGS(Buffer_OnDeviceSizeInBytes, );
	struct pjrt_layout layout = { .size = sizeof(layout), .kind = PJRT_TILED };

	(void)state;
	fails(api->Client_BufferFromHostBuffer(&args), 12, "element type 23");
	args.type = F32;
	args.dims = negative;
	args.rank = 1;
	fails(api->Client_BufferFromHostBuffer(&args), 3, "a negative dimension");
	args.dims = huge;
	args.rank = 3;
	fails(api->Client_BufferFromHostBuffer(&args), 3, "too many elements");
	args.rank = 65;
	fails(api->Client_BufferFromHostBuffer(&args), 12, "the array has 65 dimensions");
	args.dims = none;
	args.rank = 2;
	args.layout = &layout;
	fails(api->Client_BufferFromHostBuffer(&args), 3,
	      "the layout is for rank 0, the array has rank 2");
	size.buffer = upload(F32, 2, none, NULL, NULL);
	works(api->Buffer_OnDeviceSizeInBytes(&size));
	assert_int_equal(size.size, 0);
	drop(size.buffer);
}

/* Tests that lent elements stay when the buffer is deleted, until the borrower gives them back. */
static void test_lending(void **state)
{
	static const int64_t dims[1] = { 2 };
	static const int32_t numbers[2] = { 7, 8 };
	struct pjrt_buffer *buffer = upload(S32, 1, dims, numbers, NULL);
	struct pjrt_Buffer_IncreaseExternalReferenceCount_args more =
		ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = buffer);
	struct pjrt_Buffer_DecreaseExternalReferenceCount_args less =
		ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer);
	struct pjrt_Buffer_OpaqueDeviceMemoryDataPointer_args pointer =
		ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
	struct pjrt_Buffer_Delete_args delete = ARGS(Buffer_Delete, .buffer = buffer);
	struct pjrt_Buffer_IsDeleted_args is = ARGS(Buffer_IsDeleted, .buffer = buffer);
	struct pjrt_Buffer_ReadyEvent_args ready = ARGS(Buffer_ReadyEvent, .buffer = buffer);

	(void)state;
	fails(api->Buffer_DecreaseExternalReferenceCount(&less), 9, "no external reference");
	works(api->Buffer_IncreaseExternalReferenceCount(&more));
	works(api->Buffer_ReadyEvent(&ready));
	finish(ready.event);
	works(api->Buffer_Delete(&delete));
	works(api->Buffer_IsDeleted(&is));
	assert_true(is.is_deleted);
	works(api->Buffer_OpaqueDeviceMemoryDataPointer(&pointer));
	assert_memory_equal(pointer.pointer, numbers, sizeof(numbers));
	works(api->Buffer_DecreaseExternalReferenceCount(&less));
	fails(api->Buffer_OpaqueDeviceMemoryDataPointer(&pointer), 3, "the buffer is deleted");
	fails(api->Buffer_ReadyEvent(&ready), 3, "the buffer is deleted");
	drop(buffer);
}

static struct pjrt_error *seen;
static int calls;

static void on_ready(struct pjrt_error *error, void *user)
{
	assert_ptr_equal(user, &calls);
	seen = error;
	calls++;
}

static void *set_later(void *event)
{
	struct pjrt_Event_Set_args set =
		ARGS(Event_Set, .event = event, .code = 1, .message = "no more", .length = 7);

	works(api->Event_Set(&set));
	return NULL;
}

static void test_events(void **state)
{
	struct pjrt_Event_Create_args create = ARGS(Event_Create, );
	struct pjrt_Event_IsReady_args is = ARGS(Event_IsReady, );
	struct pjrt_Event_OnReady_args on =
		ARGS(Event_OnReady, .callback = on_ready, .user = &calls);
	struct pjrt_Event_Await_args await = ARGS(Event_Await, );
	struct pjrt_Event_Error_args error = ARGS(Event_Error, );
	struct pjrt_Event_Destroy_args destroy = ARGS(Event_Destroy, );
	struct pjrt_Event_Set_args set = ARGS(Event_Set, );
	pthread_t thread;

	(void)state;
	calls = 0;
	works(api->Event_Create(&create));
	is.event = on.event = await.event = error.event = destroy.event = set.event = create.event;
	works(api->Event_IsReady(&is));
	assert_false(is.is_ready);
	fails(api->Event_Error(&error), 9, "the event is not ready yet");
	works(api->Event_OnReady(&on));
	assert_int_equal(calls, 0);
	assert_int_equal(pthread_create(&thread, NULL, set_later, create.event), 0);
	fails(api->Event_Await(&await), 1, "no more");
	pthread_join(thread, NULL);
	assert_int_equal(calls, 1);
	fails(seen, 1, "no more");
	works(api->Event_OnReady(&on));
	assert_int_equal(calls, 2);
	fails(seen, 1, "no more");
	fails(api->Event_Error(&error), 1, "no more");
	fails(api->Event_Set(&set), 9, "the event is ready already");
	works(api->Event_Destroy(&destroy));
	/* A callback of an event that is never set is called all the same. */
	works(api->Event_Create(&create));
	on.event = destroy.event = create.event;
	works(api->Event_OnReady(&on));
	works(api->Event_Destroy(&destroy));
	assert_int_equal(calls, 3);
	fails(seen, 1, "destroyed before it is set");
}

static void test_serialising(void **state)
{
	struct pjrt_LoadedExecutable_GetExecutable_args get =
		ARGS(LoadedExecutable_GetExecutable, );
	struct pjrt_Executable_Serialize_args args = ARGS(Executable_Serialize, );
	struct pjrt_Executable_DeserializeAndLoad_args load =
		ARGS(Executable_DeserializeAndLoad, .client = client);
	struct pjrt_Executable_Destroy_args put = ARGS(Executable_Destroy, );
	struct pjrt_LoadedExecutable_Fingerprint_args one = ARGS(LoadedExecutable_Fingerprint, );
	struct pjrt_LoadedExecutable_Fingerprint_args other = ARGS(LoadedExecutable_Fingerprint, );
	struct pjrt_loaded *loaded;

	(void)state;
	works(compile(sum, "mlir", NULL, 0, &loaded));
	get.loaded = loaded;
	works(api->LoadedExecutable_GetExecutable(&get));
	args.executable = put.executable = get.executable;
	works(api->Executable_Serialize(&args));
	load.bytes = args.bytes;
	load.size = args.size;
	works(api->Executable_DeserializeAndLoad(&load));
	one.executable = loaded;
	other.executable = load.executable;
	works(api->LoadedExecutable_Fingerprint(&one));
	works(api->LoadedExecutable_Fingerprint(&other));
	assert_int_equal(one.length, 32);
	assert_memory_equal(one.text, other.text, one.length);
	unload(load.executable);
	for (load.size = 0; load.size < args.size; load.size++)
		fails(api->Executable_DeserializeAndLoad(&load), 3,
		      "are not an executable of this plugin");
	args.release(args.owner);
	works(api->Executable_Destroy(&put));
	unload(loaded);
}

/* Returns how many bytes the process has allocated, as far as mallinfo2() counts them. */
static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Tests that a program keeps neither a copy of its results nor memory for those of the next run. */
static void test_memory(void **state)
{
	static const char text[] =
		"func.func @main(%x: tensor<2097152xf64>) -> tensor<2097152xf64> {\n"
		"  %r = stablehlo.add %x, %x : tensor<2097152xf64>\n"
		"  return %r : tensor<2097152xf64>\n}\n";
	static const int64_t dims[1] = { 2097152 };
	const size_t size = (size_t)dims[0] * sizeof(double);
	double *numbers = calloc(1, size);
	struct pjrt_buffer *in, *out;
	struct pjrt_loaded *loaded;
	size_t before, after;

	(void)state;
	assert_non_null(numbers);
	works(compile(text, "mlir", NULL, 0, &loaded));
	in = upload(F64, 1, dims, numbers, NULL);
	before = allocated();
	works(execute(loaded, 1, &in, &out));
	after = allocated();
	/* Under ASan, mallinfo() tells nothing. */
	if (before) {
		assert_in_range(after - before, size, size + size / 2);
		drop(out);
		assert_true(allocated() < before + size / 2);
	} else {
		drop(out);
	}
	drop(in);
	unload(loaded);
	free(numbers);
}

/* Tests that a buffer and a program outlive the client that made them. */
static void test_order(void **state)
{
	static const int64_t dims[1] = { 1 };
	static const int32_t number = 5;
	struct pjrt_Client_Create_args create = ARGS(Client_Create, );
	struct pjrt_Client_Destroy_args destroy = ARGS(Client_Destroy, );
	struct pjrt_client *before = client;
	struct pjrt_buffer *buffer;
	struct pjrt_loaded *loaded;
	int32_t result = 0;

	(void)state;
	works(api->Client_Create(&create));
	client = destroy.client = create.client;
	buffer = upload(S32, 1, dims, &number, NULL);
	works(compile(sum, "mlir", NULL, 0, &loaded));
	works(api->Client_Destroy(&destroy));
	client = before;
	download(buffer, &result, sizeof(result));
	assert_int_equal(result, 5);
	drop(buffer);
	unload(loaded);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	    cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_clients),	    cmocka_unit_test(test_memories),
		cmocka_unit_test(test_run),	    cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_layouts),	    cmocka_unit_test(test_uploads),
		cmocka_unit_test(test_lending),	    cmocka_unit_test(test_events),
		cmocka_unit_test(test_serialising), cmocka_unit_test(test_order),
		cmocka_unit_test(test_memory),	    cmocka_unit_test(test_tokens),
	};
	int status;

	if (!open_plugin(argc, argv))
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	close_plugin();
	return status;
}
