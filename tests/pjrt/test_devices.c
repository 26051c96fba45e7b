// SPDX-License-Identifier: MIT
/*
 * Tests clients with several devices, and arrays that are donated to programs: test_devices LIBRARY
 */
#include <webnn/webnn_npu.h>

#include "client.h"

/* Options (build options, field 3) with 2 partitions (field 5), on devices 1 and 0 (field 9). */
static const unsigned char two[] = { 0x1a, 14, 0x28, 2,	   0x4a, 10,   0x1a, 3,
				     0x0a, 1,  1,    0x1a, 3,	 0x0a, 1,    0 };

/* Options with 2 replicas (field 4) of 2 partitions: one on device 1, one on devices 2 and 3. */
static const unsigned char uneven[] = { 0x1a, 17, 0x20, 2,    0x28, 2,	  0x4a, 11, 0x1a, 3,
					0x0a, 1,  1,	0x1a, 4,    0x0a, 2,	2,  3 };

/* Options with 2 partitions, on device 1 twice, and on devices 0 and 4. */
static const unsigned char twice[] = { 0x1a, 14, 0x28, 2,    0x4a, 10,	 0x1a, 3,
				       0x0a, 1,	 1,    0x1a, 3,	   0x0a, 1,    1 };
static const unsigned char beyond[] = { 0x1a, 14, 0x28, 2,    0x4a, 10,	  0x1a, 3,
					0x0a, 1,  0,	0x1a, 3,    0x0a, 1,	4 };

/*
 * Makes `client` a new client of @count devices; returns the client that it was before, which other
 * tests use.
 */
static struct pjrt_client *open_several(int64_t count)
{
	struct pjrt_named_value options[2] = {
		{ .name = "device", .name_length = 6, .string = "cpu", .count = 3 },
		{ .name = "count", .name_length = 5, .kind = PJRT_INTEGER, .integer = count },
	};
	struct pjrt_Client_Create_args args =
		ARGS(Client_Create, .options = options, .option_count = 2);
	struct pjrt_client *before = client;

	works(api->Client_Create(&args));
	client = args.client;
	return before;
}

static void close_several(struct pjrt_client *before)
{
	struct pjrt_Client_Destroy_args args = ARGS(Client_Destroy, .client = client);

	works(api->Client_Destroy(&args));
	client = before;
}

static void test_several(void **state)
{
	static const char text[] =
		"sdy.mesh @m = <[\"x\"=2]>\n"
		"func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>})\n"
		"    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) {\n"
		"  %r = stablehlo.reverse %x, dims = [0] : tensor<4xf32>\n"
		"  return %r : tensor<4xf32>\n}\n";
	static const float x[2][2] = { { 1, 2 }, { 3, 4 } }, wanted[2][2] = { { 4, 3 }, { 2, 1 } };
	static const int64_t dims[1] = { 2 };
	struct pjrt_client *before = open_several(2);
	struct pjrt_Client_Devices_args devices = ARGS(Client_Devices, .client = client);
	struct pjrt_LoadedExecutable_GetDeviceAssignment_args assignment =
		ARGS(LoadedExecutable_GetDeviceAssignment, );
	static const char assigned[] = { 8, 1, 16, 2, 26, 3, 10, 1, 1, 26, 3, 10, 1, 0 };
	static const char sharding[] = { 8, 3, 26, 1, 2, 34, 2, 0, 1 };
	struct {
		struct pjrt_extension base;
		struct pjrt_error *(*ask[2])(struct pjrt_shardings_args *args);
	} *extension = (void *)api->extensions;
	struct pjrt_shardings_args cut = { .struct_size = sizeof(cut) };
	struct pjrt_LoadedExecutable_GetExecutable_args get =
		ARGS(LoadedExecutable_GetExecutable, );
	struct pjrt_Executable_Destroy_args put = ARGS(Executable_Destroy, );
	struct pjrt_buffer *in[2], *out[2], **results[2] = { &out[0], &out[1] };
	struct pjrt_buffer *const *lists[2] = { &in[0], &in[1] };
	struct pjrt_LoadedExecutable_Execute_args run =
		ARGS(LoadedExecutable_Execute, .arguments = lists, .device_count = 2,
		     .argument_count = 1, .outputs = results);
	struct pjrt_Buffer_CopyToDevice_args copy = ARGS(Buffer_CopyToDevice, );
	struct pjrt_Buffer_Device_args where = ARGS(Buffer_Device, );
	float values[2];

	(void)state;
	works(api->Client_Devices(&devices));
	assert_int_equal(devices.count, 2);
	works(compile(text, "mlir", two, sizeof(two), &run.executable));
	assignment.executable = run.executable;
	works(api->LoadedExecutable_GetDeviceAssignment(&assignment));
	assert_int_equal(assignment.size, sizeof(assigned));
	assert_memory_equal(assignment.bytes, assigned, sizeof(assigned));
	get.loaded = run.executable;
	works(api->LoadedExecutable_GetExecutable(&get));
	put.executable = cut.executable = get.executable;
	assert_int_equal(extension->base.kind, PJRT_SHARDINGS);
	for (int i = 0; i < 2; i++) {
		works(extension->ask[i](&cut));
		assert_int_equal(cut.count, 1);
		assert_int_equal(cut.sizes[0], sizeof(sharding));
		assert_memory_equal(cut.bytes[0], sharding, sizeof(sharding));
	}
	works(api->Executable_Destroy(&put));
	for (int i = 0; i < 2; i++) {
		in[i] = upload(F32, 1, dims, x[i], NULL);
		copy.buffer = in[i];
		copy.device = devices.devices[1];
		works(api->Buffer_CopyToDevice(&copy));
		where.buffer = copy.copy;
		works(api->Buffer_Device(&where));
		assert_ptr_equal(where.device, copy.device);
		download(copy.copy, values, sizeof(values));
		assert_memory_equal(values, x[i], sizeof(values));
		drop(copy.copy);
	}
	works(api->LoadedExecutable_Execute(&run));
	for (int i = 0; i < 2; i++) {
		where.buffer = out[i];
		works(api->Buffer_Device(&where));
		assert_ptr_equal(where.device, devices.devices[1 - i]);
		download(out[i], values, sizeof(values));
		assert_memory_equal(values, wanted[i], sizeof(values));
		drop(in[i]);
		drop(out[i]);
	}
	run.device_count = 1;
	fails(api->LoadedExecutable_Execute(&run), 3, "on 2 devices; there are arguments for 1");
	run.device = devices.devices[1];
	fails(api->LoadedExecutable_Execute(&run), 3, "it cannot run on device 1 alone");
	unload(run.executable);
	close_several(before);
	fails(compile(text, "mlir", two, sizeof(two), &run.executable), 3,
	      "1 replicas of 2 partitions; the client has 1 devices");
}

static void test_assignments(void **state)
{
	static const char text[] = "func.func @main() {\n  return\n}\n";
	struct pjrt_client *before = open_several(4);
	struct pjrt_loaded *loaded;

	(void)state;
	fails(compile(text, "mlir", uneven, sizeof(uneven), &loaded), 3,
	      "the options ask for 2 replicas of 2 partitions, but assign devices to 2 of 2; "
	      "all partitions must have as many replicas");
	fails(compile(text, "mlir", twice, sizeof(twice), &loaded), 3,
	      "the program is for device 1 twice");
	fails(compile(text, "mlir", beyond, sizeof(beyond), &loaded), 3,
	      "the program is for device 4; the client has 0 to 3");
	close_several(before);
}

/*
 * The device node of the NPU that a client of the CPU seems to have; NULL: it has none. The
 * function below replaces the library's for this.
 */
static const char *npu_node;
static void *plugin;

WNNStatus wnnContextGetDeviceInfo(WNNContext context, WNNDeviceInfo *info)
{
	WNNStatus (*real)(WNNContext context, WNNDeviceInfo *info);
	WNNStatus status;

	*(void **)&real = dlsym(plugin, "wnnContextGetDeviceInfo");
	status = real(context, info);
	if (npu_node) {
		info->device = (WNNStringView){ "npu", 3 };
		info->nodePath = (WNNStringView){ npu_node, strlen(npu_node) };
	}
	return status;
}

/* Tests that a client with two devices opens NPU 0 and NPU 1, each once. */
static void test_nodes(void **state)
{
	struct pjrt_named_value options[2] = {
		{ .name = "device", .name_length = 6, .string = "cpu", .count = 3 },
		{ .name = "count", .name_length = 5, .kind = PJRT_INTEGER, .integer = 2 },
	};
	struct pjrt_Client_Create_args args =
		ARGS(Client_Create, .options = options, .option_count = 2);
	struct pjrt_Client_Destroy_args destroy = ARGS(Client_Destroy, );

	(void)state;
	npu_node = "/dev/accel/accel1";
	fails(api->Client_Create(&args), 3,
	      "2 devices are the NPUs 0 to 1, but the first one is /dev/accel/accel1");
	/* The second device is npu:1, and the machines that run tests have no NPU. */
	npu_node = "/dev/accel/accel0";
	fails(api->Client_Create(&args), 12, "npu");
	/* A single device may have any number. */
	npu_node = "/dev/accel/accel1";
	options[1].integer = 1;
	works(api->Client_Create(&args));
	destroy.client = args.client;
	works(api->Client_Destroy(&destroy));
	npu_node = NULL;
}

static bool is_deleted(struct pjrt_buffer *buffer)
{
	struct pjrt_Buffer_IsDeleted_args args = ARGS(Buffer_IsDeleted, .buffer = buffer);

	works(api->Buffer_IsDeleted(&args));
	return args.is_deleted;
}

static void *address_of(struct pjrt_buffer *buffer)
{
	struct pjrt_Buffer_OpaqueDeviceMemoryDataPointer_args args =
		ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);

	works(api->Buffer_OpaqueDeviceMemoryDataPointer(&args));
	return args.pointer;
}

/* Tests that a donated argument is deleted, and that the result is at its address. */
static void test_donation(void **state)
{
	static const char text[] =
		"func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32},\n"
		"    %y: tensor<4xf32> {jax.buffer_donor = true}) -> (tensor<4xf32>, tensor<4xf32>) {\n"
		"  %s = stablehlo.add %x, %y : tensor<4xf32>\n"
		"  %d = stablehlo.subtract %x, %y : tensor<4xf32>\n"
		"  return %s, %d : tensor<4xf32>, tensor<4xf32>\n}\n";
	static const float x[4] = { 1, 2, 3, 4 }, sums[4] = { 2, 4, 6, 8 }, zeros[4];
	static const int64_t dims[1] = { 4 }, kept[1] = { 0 };
	struct pjrt_execute_options options = { .size = sizeof(options) };
	struct pjrt_buffer *in[2], *out[2], **results[1] = { out };
	struct pjrt_buffer *const *lists[1] = { in };
	struct pjrt_LoadedExecutable_Execute_args run =
		ARGS(LoadedExecutable_Execute, .arguments = lists, .device_count = 1,
		     .argument_count = 2, .outputs = results, .options = &options);
	struct pjrt_Buffer_IncreaseExternalReferenceCount_args more =
		ARGS(Buffer_IncreaseExternalReferenceCount, );
	struct pjrt_Buffer_DecreaseExternalReferenceCount_args less =
		ARGS(Buffer_DecreaseExternalReferenceCount, );
	void *addresses[2];
	float values[4];

	(void)state;
	works(compile(text, "mlir", NULL, 0, &run.executable));
	/*
	 * Both arrays are donated; in the second run the caller keeps the first one, and the second
	 * one has an external reference.
	 */
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2; i++) {
			in[i] = upload(F32, 1, dims, x, NULL);
			addresses[i] = address_of(in[i]);
		}
		if (round) {
			options.kept = kept;
			options.kept_count = 1;
			more.buffer = less.buffer = in[1];
			works(api->Buffer_IncreaseExternalReferenceCount(&more));
		}
		works(api->LoadedExecutable_Execute(&run));
		for (int i = 0; i < 2; i++) {
			assert_int_equal(is_deleted(in[i]), !round);
			assert_int_equal(address_of(out[i]) == addresses[i], !round);
			download(out[i], values, sizeof(values));
			assert_memory_equal(values, i ? zeros : sums, sizeof(values));
			drop(out[i]);
			if (round && i)
				works(api->Buffer_DecreaseExternalReferenceCount(&less));
			if (round) {
				download(in[i], values, sizeof(values));
				assert_memory_equal(values, x, sizeof(values));
			}
			drop(in[i]);
		}
	}
	options.kept_count = 0;
	in[0] = in[1] = upload(F32, 1, dims, x, NULL);
	fails(api->LoadedExecutable_Execute(&run), 3,
	      "argument 0 is donated, and is argument 1, too");
	assert_false(is_deleted(in[0]));
	drop(in[0]);
	unload(run.executable);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_assignments),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_donation),
	};
	int status;

	plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!open_plugin(argc, argv))
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	close_plugin();
	return status;
}
