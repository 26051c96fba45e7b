/* SPDX-License-Identifier: MIT */
/*
 * Helpers that the tests of the API share: devices, small graphs, callbacks that record their
 * arguments.
 */
#ifndef TESTS_API_FIXTURE_H
#define TESTS_API_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <webnn/webnn_npu.h>

/* Nanoseconds that are enough on every machine: a wait that takes longer has found a bug. */
#define GENEROUS UINT64_C(120000000000)

/* Fails the test unless the call returned that status and its error's message contains the text. */
#define assert_failed(call, wanted, text) check_failed((call), (wanted), (text), __FILE__, __LINE__)
void check_failed(WNNStatus status, WNNStatus wanted, const char *text, const char *file, int line);
/* Checks status and message of the thread's last error. */
#define assert_last_error(wanted, text) \
	check_failed(wnnGetLastError(NULL), (wanted), (text), __FILE__, __LINE__)

#define assert_ok(call) check_ok((call), __FILE__, __LINE__)
void check_ok(WNNStatus status, const char *file, int line);

/*
 * Returns a new context on "cpu" or "sim"; an error fails the test. The device sim has 64 KiB of
 * SRAM, so that even small graphs are cut into tiles. If ONPU_FIRMWARE has the path of a firmware
 * image, sim runs the firmware.
 */
WNNContext open_context(WNNInstance instance, const char *device);
WNNContext open_context_with(WNNInstance instance, const WNNContextDeviceOptions *options);

WNNTensor make_tensor(WNNContext context, uint32_t rows, uint32_t cols); /* readable and writable */
WNNTensor make_tensor_flags(WNNContext context, uint32_t rows, uint32_t cols, bool readable,
			    bool writable);
/* Makes a readable and writable tensor of float32; `shape` has 4 dimensions. */
WNNTensor make_picture(WNNContext context, const uint32_t *shape);
WNNOperand make_input(WNNGraphBuilder builder, const char *name, uint32_t rows, uint32_t cols);
WNNOperand make_constant(WNNGraphBuilder builder, const float *data, uint32_t rows, uint32_t cols);
WNNGraph build_one(WNNGraphBuilder builder, const char *name, WNNOperand operand);

/*
 * The variable that sets the level of vector instructions of contexts on the CPU. exchange_level()
 * sets it, or unsets it with NULL, and returns its former value, which the caller frees, or NULL if
 * it was not set.
 */
#define LEVEL_VARIABLE "WEBNN_CPU_LEVEL"
char *exchange_level(const char *level);

/*
 * Returns whether contexts on the CPU run at the level avx2 or avx512: only there does the library
 * have kernels for single rows, which fuse the operators after them, too.
 */
bool has_lines(void);

/* Returns the built graph y = relu(x + 1); x and y are [rows,cols]. */
WNNGraph build_add_relu(WNNContext context, uint32_t rows, uint32_t cols);
WNNStatus dispatch_xy(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y);

/*
 * Notes record the arguments of callbacks. A lock guards them, because callbacks may run on any
 * thread.
 */
#define NOTES 512

struct note {
	int tag; /* userdata2 */
	WNNStatus status;
	void *object; /* context, tensor or graph */
	size_t size;
	float first; /* first element of the data */
	char message[512];
	unsigned long thread;
};

struct notes;
/* Returns new notes, which live until the process ends: a callback may come after its test. */
struct notes *notes_create(void);
size_t notes_count(struct notes *notes);
struct note notes_get(struct notes *notes, size_t index);
/* Waits up to GENEROUS until there are that many notes; returns whether there are. */
bool notes_wait(struct notes *notes, size_t count);
unsigned long this_thread(void);
/* Sets a function that every callback calls, outside the lock, before it adds its note. */
void notes_set_action(struct notes *notes, void (*action)(void *), void *argument);

#define TAG(n) ((void *)(intptr_t)(n))
/* Each returns the info of a callback that adds a note with @tag and the callback's arguments. */
WNNCreateContextCallbackInfo note_context(struct notes *notes, WNNCallbackMode mode, int tag);
WNNCreateTensorCallbackInfo note_tensor(struct notes *notes, WNNCallbackMode mode, int tag);
WNNReadTensorCallbackInfo note_read(struct notes *notes, WNNCallbackMode mode, int tag);
WNNReadTensorIntoCallbackInfo note_read_into(struct notes *notes, WNNCallbackMode mode, int tag);
WNNBuildCallbackInfo note_build(struct notes *notes, WNNCallbackMode mode, int tag);
WNNContextLostCallbackInfo note_lost(struct notes *notes, WNNCallbackMode mode, int tag);
WNNWorkDoneCallbackInfo note_done(struct notes *notes, WNNCallbackMode mode, int tag);
WNNErrorCallbackInfo note_error(struct notes *notes, WNNCallbackMode mode, int tag);

/* Holds up the timeline of a context, so that later work stays queued. CPU contexts only. */
struct gate;
struct gate *gate_create(void);		      /* lives until the process ends */
WNNInstance gate_instance(struct gate *gate); /* its contexts can be held up */
void gate_close(struct gate *gate, WNNContext context);
void gate_open(struct gate *gate);

/* Waits up to GENEROUS; returns WNNStatus_OperationError if the future is not complete then. */
WNNStatus wait_future(WNNInstance instance, WNNFuture future);

#endif
