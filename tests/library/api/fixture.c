// SPDX-License-Identifier: MIT
/* Implements fixture.h. */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void check_failed(WNNStatus status, WNNStatus wanted, const char *text, const char *file, int line)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	if (status == wanted && error.status == wanted &&
	    memmem(error.message.data, error.message.length, text, strlen(text)))
		return;
	print_error("status %d, wanted %d; last error %d: %.*s; wanted: %s\n", (int)status,
		    (int)wanted, (int)error.status, (int)error.message.length, error.message.data,
		    text);
	_fail(file, line);
}

void check_ok(WNNStatus status, const char *file, int line)
{
	WNNError error = WNN_ERROR_INIT;

	if (!status)
		return;
	wnnGetLastError(&error);
	print_error("status %d: %.*s\n", (int)status, (int)error.message.length,
		    error.message.data);
	_fail(file, line);
}

WNNContext open_context_with(WNNInstance instance, const WNNContextDeviceOptions *options)
{
	WNNContextDeviceOptions own = *options;
	WNNContextOptions wanted = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	wanted.nextInChain = &own.chain;
	assert_ok(wnnInstanceCreateContextSync(instance, &wanted, GENEROUS, &context));
	assert_non_null(context);
	return context;
}

WNNContext open_context(WNNInstance instance, const char *device)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	const char *firmware = getenv("ONPU_FIRMWARE");

	options.device = WNN_STR(device);
	options.threads = 1;
	options.simThreads = 1;
	options.simSramBytes = 65536;
	if (firmware) {
		options.simMode = WNNSimMode_Full;
		options.simFirmwarePath = WNN_STR(firmware);
	}
	return open_context_with(instance, &options);
}

WNNTensor make_tensor_flags(WNNContext context, uint32_t rows, uint32_t cols, bool readable,
			    bool writable)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	uint32_t shape[] = { rows, cols };
	WNNTensor tensor = NULL;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.readable = readable;
	descriptor.writable = writable;
	assert_ok(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &tensor));
	assert_non_null(tensor);
	return tensor;
}

WNNTensor make_tensor(WNNContext context, uint32_t rows, uint32_t cols)
{
	return make_tensor_flags(context, rows, cols, true, true);
}

WNNTensor make_picture(WNNContext context, const uint32_t *shape)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ 4, shape };
	desc.readable = desc.writable = WNN_TRUE;
	assert_ok(wnnContextCreateTensorSync(context, &desc, GENEROUS, &tensor));
	return tensor;
}

char *exchange_level(const char *level)
{
	const char *given = getenv(LEVEL_VARIABLE);
	char *before = given ? strdup(given) : NULL;

	if (level)
		setenv(LEVEL_VARIABLE, level, 1);
	else
		unsetenv(LEVEL_VARIABLE);
	return before;
}

bool has_lines(void)
{
	const char *level = getenv(LEVEL_VARIABLE);

	if (level && *level)
		return strcmp(level, "base") != 0;
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

WNNOperand make_input(WNNGraphBuilder builder, const char *name, uint32_t rows, uint32_t cols)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { rows, cols };

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	return wnnGraphBuilderInput(builder, WNN_STR(name), &descriptor);
}

WNNOperand make_constant(WNNGraphBuilder builder, const float *data, uint32_t rows, uint32_t cols)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { rows, cols };

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	return wnnGraphBuilderConstant(builder, &descriptor, data, sizeof(*data) * rows * cols);
}

WNNGraph build_one(WNNGraphBuilder builder, const char *name, WNNOperand operand)
{
	WNNNamedOperand output = { WNN_STR(name), operand };
	WNNGraph graph = NULL;

	assert_ok(wnnGraphBuilderBuildSync(builder, 1, &output, GENEROUS, &graph));
	assert_non_null(graph);
	return graph;
}

WNNGraph build_add_relu(WNNContext context, uint32_t rows, uint32_t cols)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperand x, one, y;
	WNNGraph graph;

	assert_non_null(builder);
	x = make_input(builder, "x", rows, cols);
	one = wnnGraphBuilderConstantFromNumber(builder, WNNOperandDataType_Float32,
						WNN_NUMBER_DOUBLE(1.0));
	options.label = WNN_STR("plus one");
	y = wnnGraphBuilderAdd(builder, x, one, &options);
	options.label = WNN_STR("cut");
	y = wnnGraphBuilderRelu(builder, y, &options);
	assert_non_null(y);
	graph = build_one(builder, "y", y);
	wnnGraphBuilderRelease(builder);
	return graph;
}

WNNStatus dispatch_xy(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y)
{
	WNNNamedTensor in = { WNN_STR("x"), x }, out = { WNN_STR("y"), y };

	return wnnContextDispatch(context, graph, 1, &in, 1, &out);
}

/* --- Notes --- */

struct notes {
	struct notes *next;
	pthread_mutex_t lock;
	pthread_cond_t more;
	size_t count;
	void (*action)(void *);
	void *argument;
	struct note notes[NOTES];
};

struct notes *notes_create(void)
{
	static struct notes *all;
	struct notes *notes = calloc(1, sizeof(*notes));

	assert_non_null(notes);
	pthread_mutex_init(&notes->lock, NULL);
	pthread_cond_init(&notes->more, NULL);
	notes->next = all;
	all = notes;
	return notes;
}

void notes_set_action(struct notes *notes, void (*action)(void *), void *argument)
{
	pthread_mutex_lock(&notes->lock);
	notes->action = action;
	notes->argument = argument;
	pthread_mutex_unlock(&notes->lock);
}

size_t notes_count(struct notes *notes)
{
	size_t count;

	pthread_mutex_lock(&notes->lock);
	count = notes->count;
	pthread_mutex_unlock(&notes->lock);
	return count;
}

struct note notes_get(struct notes *notes, size_t index)
{
	struct note note;

	pthread_mutex_lock(&notes->lock);
	assert_true(index < notes->count);
	note = notes->notes[index];
	pthread_mutex_unlock(&notes->lock);
	return note;
}

bool notes_wait(struct notes *notes, size_t count)
{
	struct timespec deadline;
	bool there;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += (time_t)(GENEROUS / 1000000000);
	pthread_mutex_lock(&notes->lock);
	while (notes->count < count &&
	       !pthread_cond_timedwait(&notes->more, &notes->lock, &deadline))
		;
	there = notes->count >= count;
	pthread_mutex_unlock(&notes->lock);
	return there;
}

unsigned long this_thread(void)
{
	return (unsigned long)pthread_self();
}

static void note(struct notes *notes, void *tag, WNNStatus status, void *object, const void *data,
		 size_t size, WNNStringView message)
{
	void (*action)(void *), *argument;
	struct note *to;

	pthread_mutex_lock(&notes->lock);
	action = notes->action;
	argument = notes->argument;
	pthread_mutex_unlock(&notes->lock);
	if (action)
		action(argument);
	pthread_mutex_lock(&notes->lock);
	if (notes->count < NOTES) {
		to = &notes->notes[notes->count++];
		to->tag = (int)(intptr_t)tag;
		to->status = status;
		to->object = object;
		to->size = size;
		if (data && size >= sizeof(to->first))
			memcpy(&to->first, data, sizeof(to->first));
		snprintf(to->message, sizeof(to->message), "%.*s", (int)message.length,
			 message.data);
		to->thread = this_thread();
	}
	pthread_cond_broadcast(&notes->more);
	pthread_mutex_unlock(&notes->lock);
}

static void on_context(WNNStatus status, WNNContext context, WNNStringView message, void *notes,
		       void *tag)
{
	note(notes, tag, status, context, NULL, 0, message);
}

static void on_tensor(WNNStatus status, WNNTensor tensor, WNNStringView message, void *notes,
		      void *tag)
{
	note(notes, tag, status, tensor, NULL, 0, message);
}

static void on_read(WNNStatus status, void const *data, size_t size, WNNStringView message,
		    void *notes, void *tag)
{
	note(notes, tag, status, NULL, data, size, message);
}

static void on_build(WNNStatus status, WNNGraph graph, WNNStringView message, void *notes,
		     void *tag)
{
	note(notes, tag, status, graph, NULL, 0, message);
}

static void on_status(WNNStatus status, WNNStringView message, void *notes, void *tag)
{
	note(notes, tag, status, NULL, NULL, 0, message);
}

#define INFO(type, function) ((type){ NULL, mode, function, notes, TAG(tag) })

WNNCreateContextCallbackInfo note_context(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNCreateContextCallbackInfo, on_context);
}

WNNCreateTensorCallbackInfo note_tensor(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNCreateTensorCallbackInfo, on_tensor);
}

WNNReadTensorCallbackInfo note_read(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNReadTensorCallbackInfo, on_read);
}

WNNReadTensorIntoCallbackInfo note_read_into(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNReadTensorIntoCallbackInfo, on_status);
}

WNNBuildCallbackInfo note_build(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNBuildCallbackInfo, on_build);
}

WNNContextLostCallbackInfo note_lost(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNContextLostCallbackInfo, on_status);
}

WNNWorkDoneCallbackInfo note_done(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNWorkDoneCallbackInfo, on_status);
}

WNNErrorCallbackInfo note_error(struct notes *notes, WNNCallbackMode mode, int tag)
{
	return INFO(WNNErrorCallbackInfo, on_status);
}

WNNStatus wait_future(WNNInstance instance, WNNFuture future)
{
	WNNFutureWaitInfo info = { future, WNN_FALSE };
	WNNStatus status = wnnInstanceWaitAny(instance, 1, &info, GENEROUS);

	if (!status && !info.completed)
		return WNNStatus_OperationError;
	return status;
}

/* --- The gate: while it is closed, its memory hook blocks the library's threads --- */

struct gate {
	struct gate *next;
	pthread_mutex_t lock;
	pthread_cond_t opened;
	pthread_t owner;
	bool closed;
};

static void *gate_allocate(size_t size, size_t alignment, void *userdata1, void *userdata2)
{
	struct gate *gate = userdata1;
	void *block = NULL;

	(void)userdata2;
	pthread_mutex_lock(&gate->lock);
	while (gate->closed && !pthread_equal(pthread_self(), gate->owner))
		pthread_cond_wait(&gate->opened, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
	return posix_memalign(&block, alignment, size) ? NULL : block;
}

static void gate_deallocate(void *block, void *userdata1, void *userdata2)
{
	(void)userdata1;
	(void)userdata2;
	free(block);
}

struct gate *gate_create(void)
{
	static struct gate *all;
	struct gate *gate = calloc(1, sizeof(*gate));

	assert_non_null(gate);
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->opened, NULL);
	gate->owner = pthread_self();
	gate->next = all;
	all = gate;
	return gate;
}

WNNInstance gate_instance(struct gate *gate)
{
	WNNInstanceDescriptor descriptor = WNN_INSTANCE_DESCRIPTOR_INIT;
	WNNInstanceAllocator hook = WNN_INSTANCE_ALLOCATOR_INIT;
	WNNInstance instance;

	descriptor.nextInChain = &hook.chain;
	hook.allocate = gate_allocate;
	hook.deallocate = gate_deallocate;
	hook.userdata1 = gate;
	instance = wnnCreateInstance(&descriptor);
	assert_non_null(instance);
	return instance;
}

static void drop_tensor(WNNStatus status, WNNTensor tensor, WNNStringView message, void *userdata1,
			void *userdata2)
{
	(void)status;
	(void)message;
	(void)userdata1;
	(void)userdata2;
	wnnTensorRelease(tensor);
}

void gate_close(struct gate *gate, WNNContext context)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNCreateTensorCallbackInfo info = { NULL, WNNCallbackMode_AllowSpontaneous, drop_tensor,
					     NULL, NULL };

	pthread_mutex_lock(&gate->lock);
	gate->closed = true;
	pthread_mutex_unlock(&gate->lock);
	descriptor.dataType = WNNOperandDataType_Uint8;
	assert_true(wnnContextCreateTensor(context, &descriptor, info).id);
}

void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->closed = false;
	pthread_cond_broadcast(&gate->opened);
	pthread_mutex_unlock(&gate->lock);
}
