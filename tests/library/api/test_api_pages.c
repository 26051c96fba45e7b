// SPDX-License-Identifier: MIT
/*
 * Large tensors take no memory before they are written, read as zero nevertheless, and are zero
 * again when they are created anew.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES	((size_t)128 << 20)
#define ELEMENT (BYTES / sizeof(float))
/* Bytes that are far less than a tensor takes, and more than a context takes. */
#define LITTLE ((size_t)32 << 20)

/* Returns how many bytes of the process are in memory. */
static size_t resident(void)
{
	size_t pages = 0, all;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu %zu", &all, &pages), 2);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void pages_of(const char *device)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, device);

	for (int round = 0; round < 2; round++) {
		WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
		uint32_t shape[] = { ELEMENT / 4096, 4096 };
		size_t before = resident();
		WNNTensor tensor;
		float *data;

		desc.dataType = WNNOperandDataType_Float32;
		desc.shape = WNN_UINT32_ARRAY(shape);
		desc.readable = desc.writable = true;
		assert_ok(wnnContextCreateTensorSync(context, &desc, GENEROUS, &tensor));
		assert_true(resident() < before + LITTLE);
		data = malloc(BYTES);
		assert_non_null(data);
		assert_ok(wnnContextReadTensorIntoSync(context, tensor, data, BYTES, GENEROUS));
		for (size_t i = 0; i < ELEMENT; i++)
			if (data[i] != 0)
				fail_msg("element %zu is not 0", i);
		memset(data, 0x11, BYTES);
		assert_ok(wnnContextWriteTensor(context, tensor, data, BYTES));
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		free(data);
		wnnTensorRelease(tensor);
	}
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void test_cpu(void **state)
{
	(void)state;
	pages_of("cpu");
}

static void test_sim(void **state)
{
	(void)state;
	pages_of("sim");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_sim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
