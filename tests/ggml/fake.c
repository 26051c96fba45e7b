// SPDX-License-Identifier: MIT
/*
 * Contains a ggml of the version in FAKE_VERSION that computes nothing, and asks a back end for its
 * score and registration, as ggml does: fake BACK_END [SECOND]. SECOND is this program as a
 * library, which then asks the same back end.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../userspace/ggml/ggml.h"

#define FAKE(result, name, arguments, value) \
	result ggml_##name arguments;        \
	result ggml_##name arguments         \
	{                                    \
		return value;                \
	}

FAKE(const char *, version, (void), getenv("FAKE_VERSION"))
FAKE(const char *, op_name, (void), "NONE")
FAKE(const char *, type_name, (void), "f32")
FAKE(const char *, unary_op_name, (void), "ABS")
FAKE(const char *, glu_op_name, (void), "GLU")
FAKE(int, graph_n_nodes, (void), 0)
FAKE(void *, graph_node, (void), NULL)
FAKE(size_t, nbytes, (void), 0)
FAKE(void *, get_type_traits, (void), NULL)
FAKE(void *, fp16_to_fp32_row, (void), NULL)
FAKE(void *, fp32_to_fp16_row, (void), NULL)
FAKE(void *, backend_buffer_init, (void), NULL)
#ifndef WITHOUT_LAST
FAKE(bool, backend_buft_is_host, (void), true)
#endif

int fake_run(const char *path);

/*
 * Asks the back end at @path for its score and registration, on behalf of the program or library
 * that has this function, and prints them. Returns 1 if the back end does not load, else 0.
 */
int fake_run(const char *path)
{
	struct gg_reg *(*init)(void);
	int (*score)(void);
	struct gg_reg *reg;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&score = dlsym(library, "ggml_backend_score");
	*(void **)&init = dlsym(library, "ggml_backend_init");
	printf("score %d\n", score());
	reg = init();
	if (reg)
		printf("%s, interface %d, %zu device\n", reg->table.get_name(reg), reg->api_version,
		       reg->table.get_device_count(reg));
	else
		puts("refused");
	return 0;
}

int main(int argc, char **argv)
{
	int (*run)(const char *path) = NULL;
	void *second;

	if (argc < 2 || fake_run(argv[1]))
		return 1;
	if (argc == 2)
		return 0;
	second = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (second)
		*(void **)&run = dlsym(second, "fake_run");
	return run ? run(argv[1]) : 1;
}
