/* SPDX-License-Identifier: MIT */
/* The back end for ggml: the library that loaded it, the device, buffers. */
#ifndef ONPU_GGML_BACKEND_H
#define ONPU_GGML_BACKEND_H

#include <pthread.h>
#include <webnn/webnn_npu.h>

#include "ggml.h"

/*
 * Types of elements that the back end distinguishes; library.c finds them by their names in ggml.
 */
enum onpu_type { TYPE_OTHER, TYPE_F32, TYPE_F16, TYPE_I32, TYPE_I64, TYPE_COUNT };

/* The functions of the ggml that loaded the back end: base.version() is ggml_version(). */
struct onpu_base {
#define BASE(result, name, arguments) result(*name) arguments;
#include "base.def"
#undef BASE
};
extern struct onpu_base base;

/* The one device of the process, which lives as long as the process does. */
struct onpu_device {
	struct gg_device device;
	struct gg_buffer_type type;
	pthread_mutex_t lock; /* held while graphs are computed or weights change */
	WNNInstance instance;
	WNNContext context;
	char description[160];
};
extern struct onpu_device onpu;

/*
 * The library counts here what it has done since it was loaded: plans made for graphs of ggml,
 * computations of graphs, dispatches of graphs of WebNN, moves by the host, and weights repacked.
 * Programs find it as "onpu_counts" by ggml_backend_reg_get_proc_address().
 */
struct onpu_counts {
	uint64_t plans, runs, dispatches, moves, weights;
};
extern struct onpu_counts onpu_counts;

/*
 * library.c: finds ggml through the library or program that has the code at address. Returns true
 * when it has all functions and a known version, or is the one that was found before; else false,
 * after onpu_say(). A second ggml in the process is refused: it may have other structures.
 */
bool onpu_library_find(const void *address);
/* Returns the type of a tensor's elements, TYPE_OTHER for one that is not in the list. */
enum onpu_type onpu_type_of(const struct gg_tensor *tensor);

/* Writes a line to stderr that begins with "onpu: ". */
void onpu_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes such a line: what failed, then the message of the last error of libwebnn-npu. */
void onpu_say_error(const char *what);

/* buffer.c: memory of the host, in which ggml has its tensors. */
extern const struct gg_buffer_type_table onpu_buffer_type_table;
/* Returns a buffer over memory of the program, which it must keep; NULL after onpu_say(). */
struct gg_buffer *onpu_buffer_wrap(void *data, size_t size);
/* Returns memory with the alignment of tensors, which free() frees; NULL: memory is exhausted. */
void *onpu_alloc(size_t size);
/* Returns whether a buffer was made by this back end; false for NULL. */
bool onpu_buffer_is_ours(const struct gg_buffer *buffer);

#endif
