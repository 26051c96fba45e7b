// SPDX-License-Identifier: MIT
/* Tests the back end in ggml of npm: its registration, its device and its buffers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

static void check(bool condition, const char *what)
{
	if (!condition)
		fail("%s", what);
}

static void test_device(void)
{
	const char *wanted = getenv("WEBNN_DEVICE");
	struct gg_device_props props = { 0 };
	const char *text = gg.ggml_backend_dev_description(gg.onpu);

	check(gg.ggml_backend_dev_count() == 2, "there are devices besides CPU and ONPU0");
	check(gg.ggml_backend_dev_type(gg.onpu) == GG_DEVICE_GPU, "the device gets no layers");
	check(wanted && strstr(text, wanted), text);
	gg.ggml_backend_dev_get_props(gg.onpu, &props);
	check(!strcmp(props.name, "ONPU0") && props.type == GG_DEVICE_GPU, "the properties");
	check(props.memory_total >= props.memory_free && props.memory_free, "the memory");
	check(props.buffer_from_host_ptr && !props.async && !props.events, "the capabilities");
}

/*
 * Tests that tensors keep the bytes that are written, in a buffer of the device and in memory of
 * ours.
 */
static void test_buffer(struct gg_backend *backend)
{
	struct gg_context *context = gg.ggml_init((struct gg_init){ 1 << 20, NULL, true });
	struct gg_tensor *a = gg.ggml_new_tensor_4d(context, 0, 7, 3, 1, 1);
	struct gg_tensor *b = gg.ggml_new_tensor_4d(context, 2, 64, 2, 1, 1);
	struct gg_tensor *c = gg.ggml_new_tensor_4d(context, 0, 7, 3, 1, 1);
	struct gg_buffer *buffer = gg.ggml_backend_alloc_ctx_tensors(context, backend);
	unsigned char in[96], out[96];
	float numbers[21];

	check(buffer && a->data && b->data && c->data, "the buffer is not allocated");
	check((uintptr_t)a->data % 64 == 0 && (uintptr_t)b->data % 64 == 0, "the alignment");
	gg.ggml_backend_buffer_clear(buffer, 0);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(3 * i + 1);
	gg.ggml_backend_tensor_set(b, in, 0, 72);
	gg.ggml_backend_tensor_get(b, out, 0, 72);
	check(!memcmp(in, out, 72), "a tensor does not keep its bytes");
	gg.ggml_backend_tensor_set(a, in, 8, 20);
	gg.ggml_backend_tensor_get(a, numbers, 0, sizeof(numbers));
	check(!memcmp((char *)numbers + 8, in, 20), "a part of a tensor does not keep its bytes");
	check(!numbers[0] && !numbers[1] && !numbers[20], "a part changes what is around it");
	/*
	 * ggml copies from and to memory of the host itself, but its RPC server calls this
	 * function.
	 */
	check(buffer->table.cpy_tensor(buffer, a, c), "a tensor is not copied");
	gg.ggml_backend_tensor_memset(a, 255, 8, 16);
	gg.ggml_backend_tensor_get(a, out, 0, 32);
	check(out[7] == 0 && out[8] == 255 && out[23] == 255, "a part is not filled");
	check(!memcmp(out + 24, in + 16, 4), "filling a part changes what is behind it");
	gg.ggml_backend_tensor_get(c, numbers, 0, sizeof(numbers));
	check(!memcmp((char *)numbers + 8, in, 20), "a copy does not have the bytes of the tensor");
	gg.ggml_backend_buffer_free(buffer);
	gg.ggml_free(context);
	buffer = gg.ggml_backend_dev_buffer_from_host_ptr(gg.onpu, numbers, sizeof(numbers),
							  sizeof(numbers));
	check(buffer && gg.ggml_backend_buffer_get_base(buffer) == numbers, "memory of ours");
	gg.ggml_backend_buffer_free(buffer);
	check(!memcmp((char *)numbers + 8, in, 20), "memory of ours is changed");
}

int main(int argc, char **argv)
{
	struct gg_backend *backend;

	if (argc != 3)
		fail("usage: %s LIBRARY FOLDER", argv[0]);
	client_load(argv[2], argv[1]);
	test_device();
	backend = gg.ggml_backend_dev_init(gg.onpu, NULL);
	check(backend, "the device has no back end");
	test_buffer(backend);
	gg.ggml_backend_free(backend);
	printf("ok: ggml %s lists ONPU0: %s\n", gg.ggml_version(),
	       gg.ggml_backend_dev_description(gg.onpu));
	return 0;
}
