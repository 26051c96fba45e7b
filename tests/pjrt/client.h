/* SPDX-License-Identifier: MIT */
/* Declares a client of the plugin, and functions for calls of the plugin that tests make often. */
#ifndef TESTS_PJRT_CLIENT_H
#define TESTS_PJRT_CLIENT_H

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../userspace/pjrt/pjrt.h"

#define F32 11
#define F64 12
#define S32 4

static const struct pjrt_api *api;
static struct pjrt_client *client;

#define ARGS(name, ...)                                                                 \
	((struct pjrt_##name##_args){ .struct_size = sizeof(struct pjrt_##name##_args), \
				      __VA_ARGS__ })

/*
 * Checks that a call has failed with @code, and that the message of the error has @words; frees the
 * error.
 */
static inline void fails(struct pjrt_error *error, int code, const char *words)
{
	struct pjrt_Error_Message_args message = { .size = sizeof(message), .error = error };
	struct pjrt_Error_GetCode_args get = { .size = sizeof(get), .error = error };
	struct pjrt_Error_Destroy_args destroy = { .size = sizeof(destroy), .error = error };

	assert_non_null(error);
	api->Error_Message(&message);
	assert_null(api->Error_GetCode(&get));
	if (!strstr(message.message, words))
		print_message("%s\n", message.message);
	assert_non_null(strstr(message.message, words));
	assert_int_equal(message.length, strlen(message.message));
	assert_int_equal(get.code, code);
	api->Error_Destroy(&destroy);
}

static inline void works(struct pjrt_error *error)
{
	struct pjrt_Error_Message_args message = { .size = sizeof(message), .error = error };

	if (error) {
		api->Error_Message(&message);
		fail_msg("%s", message.message);
	}
}

static inline void finish(struct pjrt_event *event)
{
	struct pjrt_Event_Await_args await = ARGS(Event_Await, .event = event);
	struct pjrt_Event_Destroy_args destroy = ARGS(Event_Destroy, .event = event);

	works(api->Event_Await(&await));
	works(api->Event_Destroy(&destroy));
}

static inline struct pjrt_buffer *upload(int type, size_t rank, const int64_t *dims,
					 const void *data, const int64_t *strides)
{
	struct pjrt_Client_BufferFromHostBuffer_args args = ARGS(
		Client_BufferFromHostBuffer, .client = client, .data = data, .type = type,
		.dims = dims, .rank = rank, .strides = strides, .stride_count = strides ? rank : 0);

	works(api->Client_BufferFromHostBuffer(&args));
	finish(args.done);
	return args.buffer;
}

static inline void download(struct pjrt_buffer *buffer, void *data, size_t size)
{
	struct pjrt_Buffer_ToHostBuffer_args args =
		ARGS(Buffer_ToHostBuffer, .buffer = buffer, .data = data, .size = size);

	works(api->Buffer_ToHostBuffer(&args));
	finish(args.done);
}

static inline void drop(struct pjrt_buffer *buffer)
{
	struct pjrt_Buffer_Destroy_args args = ARGS(Buffer_Destroy, .buffer = buffer);

	works(api->Buffer_Destroy(&args));
}

static inline struct pjrt_error *compile(const char *code, const char *format, const void *options,
					 size_t size, struct pjrt_loaded **loaded)
{
	struct pjrt_program program = { .size = sizeof(program),
					.code = (char *)code,
					.code_size = strlen(code),
					.format = format,
					.format_length = strlen(format) };
	struct pjrt_Client_Compile_args args = ARGS(Client_Compile, .client = client,
						    .program = &program, .options = options,
						    .options_size = size);
	struct pjrt_error *error = api->Client_Compile(&args);

	*loaded = error ? NULL : args.executable;
	return error;
}

static inline void unload(struct pjrt_loaded *loaded)
{
	struct pjrt_LoadedExecutable_Destroy_args args =
		ARGS(LoadedExecutable_Destroy, .executable = loaded);

	works(api->LoadedExecutable_Destroy(&args));
}

static inline struct pjrt_error *execute(struct pjrt_loaded *loaded, size_t count,
					 struct pjrt_buffer **inputs, struct pjrt_buffer **outputs)
{
	struct pjrt_buffer *const *const arguments[1] = { inputs };
	struct pjrt_buffer **const results[1] = { outputs };
	struct pjrt_event *done = NULL;
	struct pjrt_LoadedExecutable_Execute_args args =
		ARGS(LoadedExecutable_Execute, .executable = loaded, .arguments = arguments,
		     .device_count = 1, .argument_count = count, .outputs = results, .done = &done);
	struct pjrt_error *error = api->LoadedExecutable_Execute(&args);

	if (!error)
		finish(done);
	return error;
}

/* Loads the plugin and opens its client on the CPU; returns false when it does not load. */
static inline bool open_plugin(int argc, char **argv)
{
	struct pjrt_Client_Create_args create = ARGS(Client_Create, );
	const struct pjrt_api *(*get)(void);
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!library) {
		fprintf(stderr, "usage: %s LIBRARY: %s\n", argv[0], argc == 2 ? dlerror() : "");
		return false;
	}
	*(void **)&get = dlsym(library, "GetPjrtApi");
	api = get();
	setenv("WEBNN_DEVICE", "cpu", 1);
	works(api->Client_Create(&create));
	client = create.client;
	return true;
}

static inline void close_plugin(void)
{
	struct pjrt_Client_Destroy_args destroy = ARGS(Client_Destroy, .client = client);

	works(api->Client_Destroy(&destroy));
}

#endif
