// SPDX-License-Identifier: MIT
/* Tests futures: modes, WaitAny, ProcessEvents, the event descriptor, order, cancellation. */
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

struct fixture {
	WNNInstance instance;
	WNNContext context;
	struct notes *notes;
};

static int setup(void **state)
{
	static struct fixture f;

	f.instance = wnnCreateInstance(NULL);
	f.context = open_context(f.instance, "cpu");
	f.notes = notes_create();
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	wnnContextRelease(f->context);
	wnnInstanceRelease(f->instance);
	return 0;
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void wait_any_runs_the_callback_here(void **state)
{
	struct fixture *f = *state;
	WNNFuture future = wnnContextOnWorkDone(
		f->context, note_done(f->notes, WNNCallbackMode_WaitAnyOnly, 1));

	assert_true(future.id);
	/* Neither of these calls may run the callback. */
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	assert_ok(wnnInstanceProcessEvents(f->instance));
	assert_int_equal(notes_count(f->notes), 0);
	assert_ok(wait_future(f->instance, future));
	assert_int_equal(notes_count(f->notes), 1);
	assert_true(notes_get(f->notes, 0).thread == this_thread());
	/* The future stays completed. */
	assert_ok(wait_future(f->instance, future));
	assert_int_equal(notes_count(f->notes), 1);
}

static void process_events_runs_in_order(void **state)
{
	struct fixture *f = *state;
	int fd = wnnInstanceGetEventFd(f->instance);

	assert_true(fd >= 0);
	assert_int_equal(wnnInstanceGetEventFd(f->instance), fd);
	assert_false(readable(fd, 0));
	for (int i = 0; i < 50; i++)
		assert_true(wnnContextOnWorkDone(f->context,
						 note_done(f->notes, WNNCallbackMode_Undefined, i))
				    .id);
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	assert_int_equal(notes_count(f->notes), 0);
	assert_true(readable(fd, 0));
	assert_ok(wnnInstanceProcessEvents(f->instance));
	assert_false(readable(fd, 0));
	assert_int_equal(notes_count(f->notes), 50);
	for (int i = 0; i < 50; i++)
		assert_int_equal(notes_get(f->notes, (size_t)i).tag, i);
	assert_true(notes_get(f->notes, 0).thread == this_thread());
}

static void the_descriptor_wakes_a_loop(void **state)
{
	struct fixture *f = *state;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	int fd = wnnInstanceGetEventFd(f->instance);
	struct note note;

	descriptor.dataType = WNNOperandDataType_Uint8;
	assert_true(
		wnnContextCreateTensor(f->context, &descriptor,
				       note_tensor(f->notes, WNNCallbackMode_AllowProcessEvents, 7))
			.id);
	while (!notes_count(f->notes)) {
		assert_true(readable(fd, 120000));
		assert_ok(wnnInstanceProcessEvents(f->instance));
	}
	note = notes_get(f->notes, 0);
	assert_int_equal(note.status, WNNStatus_Success);
	assert_int_equal(wnnTensorGetByteLength(note.object), 1);
	wnnTensorRelease(note.object);
}

static void spontaneous_ones_come_by_themselves(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++)
		assert_true(wnnContextOnWorkDone(f->context,
						 note_done(f->notes,
							   WNNCallbackMode_AllowSpontaneous, i))
				    .id);
	assert_true(notes_wait(f->notes, 20));
	for (int i = 0; i < 20; i++) {
		struct note note = notes_get(f->notes, (size_t)i);

		assert_int_equal(note.tag, i);
		assert_false(note.thread == this_thread());
	}
}

static void wait_any_waits_for_spontaneous_ones(void **state)
{
	struct fixture *f = *state;
	WNNFuture future = wnnContextOnWorkDone(
		f->context, note_done(f->notes, WNNCallbackMode_AllowSpontaneous, 1));

	assert_ok(wait_future(f->instance, future));
	assert_int_equal(notes_count(f->notes), 1);
}

static void waiting_ends_in_time(void **state)
{
	struct fixture *f = *state;
	WNNFutureWaitInfo waits[2] = { WNN_FUTURE_WAIT_INFO_INIT, WNN_FUTURE_WAIT_INFO_INIT };

	/* These futures do not complete as long as the context lives. */
	waits[0].future =
		wnnContextGetLost(f->context, note_lost(f->notes, WNNCallbackMode_WaitAnyOnly, 1));
	waits[1].future = wnnContextGetLost(
		f->context, note_lost(f->notes, WNNCallbackMode_AllowProcessEvents, 2));
	assert_failed(wnnInstanceWaitAny(f->instance, 2, waits, 0), WNNStatus_TimedOut, "time");
	assert_failed(wnnInstanceWaitAny(f->instance, 2, waits, 1000000), WNNStatus_TimedOut,
		      "time");
	assert_false(waits[0].completed || waits[1].completed);
	wnnContextDestroy(f->context);
	assert_ok(wnnInstanceWaitAny(f->instance, 2, waits, GENEROUS));
	assert_true(waits[0].completed && waits[1].completed);
	assert_int_equal(notes_count(f->notes), 2);
	/* The callback says why the context was lost. */
	assert_int_equal(notes_get(f->notes, 0).status, WNNStatus_Success);
	assert_non_null(strstr(notes_get(f->notes, 0).message, "wnnContextDestroy"));
}

static void wait_any_needs_one_of_several(void **state)
{
	struct fixture *f = *state;
	WNNFutureWaitInfo waits[3] = { WNN_FUTURE_WAIT_INFO_INIT, WNN_FUTURE_WAIT_INFO_INIT,
				       WNN_FUTURE_WAIT_INFO_INIT };

	waits[0].future =
		wnnContextGetLost(f->context, note_lost(f->notes, WNNCallbackMode_WaitAnyOnly, 1));
	waits[1].future = wnnContextOnWorkDone(f->context,
					       note_done(f->notes, WNNCallbackMode_WaitAnyOnly, 2));
	waits[2].future = waits[1].future;
	assert_ok(wnnInstanceWaitAny(f->instance, 3, waits, GENEROUS));
	assert_false(waits[0].completed);
	assert_true(waits[1].completed);
	assert_true(waits[2].completed);
	assert_int_equal(notes_count(f->notes), 1);
}

static void bad_waits(void **state)
{
	struct fixture *f = *state;
	WNNInstance other = wnnCreateInstance(NULL);
	WNNFutureWaitInfo wait = WNN_FUTURE_WAIT_INFO_INIT;

	assert_failed(wnnInstanceWaitAny(f->instance, 0, &wait, 0), WNNStatus_TypeError,
		      "no future");
	assert_failed(wnnInstanceWaitAny(f->instance, 1, NULL, 0), WNNStatus_TypeError,
		      "no future");
	assert_failed(wnnInstanceWaitAny(f->instance, 1, &wait, 0), WNNStatus_TypeError, "{0}");
	wait.future = wnnContextOnWorkDone(f->context, note_done(f->notes, 0, 1));
	assert_failed(wnnInstanceWaitAny(other, 1, &wait, 0), WNNStatus_TypeError,
		      "belongs to no call of this instance");
	wait.future.id += 1000;
	assert_failed(wnnInstanceWaitAny(f->instance, 1, &wait, 0), WNNStatus_TypeError,
		      "belongs to no call of this instance");
	wnnInstanceRelease(other);
}

static void bad_callback_infos(void **state)
{
	struct fixture *f = *state;
	WNNWorkDoneCallbackInfo info = WNN_WORK_DONE_CALLBACK_INFO_INIT;
	WNNChainedStruct chain = { NULL, WNNSType_InstanceLog };

	assert_int_equal(wnnContextOnWorkDone(f->context, info).id, 0);
	assert_last_error(WNNStatus_TypeError, "callback is NULL");
	info = note_done(f->notes, (WNNCallbackMode)9, 1);
	assert_int_equal(wnnContextOnWorkDone(f->context, info).id, 0);
	assert_last_error(WNNStatus_TypeError, "mode");
	info = note_done(f->notes, 0, 1);
	info.nextInChain = &chain;
	assert_int_equal(wnnContextOnWorkDone(f->context, info).id, 0);
	assert_last_error(WNNStatus_TypeError, "chain");
	assert_ok(wnnContextWaitIdle(f->context, GENEROUS));
	assert_ok(wnnInstanceProcessEvents(f->instance));
	assert_int_equal(notes_count(f->notes), 0);
}

/* The results of calls inside a callback, where functions that wait are refused. */
struct inside {
	struct fixture *f;
	WNNStatus wait, process, sync, read;
	size_t bytes;
	WNNFuture future;
};

static void inside_callback(void *argument)
{
	struct inside *inside = argument;
	WNNFutureWaitInfo wait = { { 1 }, WNN_FALSE };
	struct fixture *f = inside->f;
	WNNTensor tensor = NULL;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

	descriptor.dataType = WNNOperandDataType_Float32;
	inside->wait = wnnInstanceWaitAny(f->instance, 1, &wait, WNN_WAIT_FOREVER);
	inside->process = wnnInstanceProcessEvents(f->instance);
	inside->sync =
		wnnContextCreateTensorSync(f->context, &descriptor, WNN_WAIT_FOREVER, &tensor);
	inside->future = wnnContextGetLost(f->context, note_lost(f->notes, 0, 5));
}

static void waiting_inside_callbacks_is_refused(void **state)
{
	struct fixture *f = *state;
	struct inside inside = { .f = f };
	WNNCallbackMode modes[] = { WNNCallbackMode_WaitAnyOnly, WNNCallbackMode_AllowSpontaneous };

	for (int i = 0; i < 2; i++) {
		notes_set_action(f->notes, inside_callback, &inside);
		memset(&inside.wait, 0, sizeof(inside) - offsetof(struct inside, wait));
		assert_ok(wait_future(f->instance,
				      wnnContextOnWorkDone(f->context,
							   note_done(f->notes, modes[i], 1))));
		notes_set_action(f->notes, NULL, NULL);
		assert_int_equal(inside.wait, WNNStatus_InvalidStateError);
		assert_int_equal(inside.process, WNNStatus_InvalidStateError);
		assert_int_equal(inside.sync, WNNStatus_InvalidStateError);
		assert_true(inside.future.id);
	}
}

static void release_cancels_what_is_pending(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	struct notes *notes = notes_create();
	WNNTensor tensor;
	float value[4] = { 1, 2, 3, 4 };

	(void)state;
	/* Two futures are complete but not delivered; the third one stays pending. */
	wnnContextOnWorkDone(context, note_done(notes, WNNCallbackMode_WaitAnyOnly, 1));
	wnnContextOnWorkDone(context, note_done(notes, WNNCallbackMode_AllowProcessEvents, 2));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	wnnContextGetLost(context, note_lost(notes, WNNCallbackMode_AllowProcessEvents, 3));
	wnnInstanceRelease(instance);
	assert_true(notes_wait(notes, 3));
	for (int i = 0; i < 3; i++) {
		struct note note = notes_get(notes, (size_t)i);

		assert_int_equal(note.tag, i + 1);
		assert_int_equal(note.status, WNNStatus_Cancelled);
		assert_false(note.thread == this_thread());
	}
	/* After the release, calls with a callback fail, and those without one still work. */
	assert_int_equal(wnnContextOnWorkDone(context, note_done(notes, 0, 4)).id, 0);
	assert_last_error(WNNStatus_InvalidStateError, "instance was released");
	tensor = make_tensor(context, 2, 2);
	assert_ok(wnnContextWriteTensor(context, tensor, value, sizeof(value)));
	memset(value, 0, sizeof(value));
	assert_ok(wnnContextReadTensorIntoSync(context, tensor, value, sizeof(value), GENEROUS));
	assert_true(value[3] == 4);
	wnnTensorRelease(tensor);
	wnnContextRelease(context);
	assert_int_equal(notes_count(notes), 3);
}

static void cancelled_objects_are_given_back(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	struct notes *notes = notes_create();
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

	(void)state;
	descriptor.dataType = WNNOperandDataType_Float32;
	wnnContextCreateTensor(context, &descriptor,
			       note_tensor(notes, WNNCallbackMode_WaitAnyOnly, 1));
	wnnInstanceCreateContext(instance, NULL,
				 note_context(notes, WNNCallbackMode_WaitAnyOnly, 2));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	wnnInstanceRelease(instance);
	assert_true(notes_wait(notes, 2));
	/*
	 * The callbacks get no objects: the library has to free them, which the leak checker
	 * checks.
	 */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(notes_get(notes, i).status, WNNStatus_Cancelled);
		assert_null(notes_get(notes, i).object);
	}
	wnnContextRelease(context);
}

static void release_all(void *argument)
{
	struct fixture *f = argument;

	wnnContextRelease(f->context);
	wnnInstanceRelease(f->instance);
}

/* A callback releases the last references: on the callback thread, in ProcessEvents, in WaitAny. */
static void last_release_in_a_callback(void **state)
{
	WNNCallbackMode modes[] = { WNNCallbackMode_AllowSpontaneous,
				    WNNCallbackMode_AllowProcessEvents,
				    WNNCallbackMode_WaitAnyOnly };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fixture f = { wnnCreateInstance(NULL), NULL, notes_create() };
		WNNInstance instance = f.instance;
		WNNFuture future;

		f.context = open_context(f.instance, "cpu");
		notes_set_action(f.notes, release_all, &f);
		future = wnnContextOnWorkDone(f.context, note_done(f.notes, modes[i], 1));
		if (i == 1) {
			assert_true(readable(wnnInstanceGetEventFd(instance), 120000));
			assert_ok(wnnInstanceProcessEvents(instance));
		} else if (i == 2) {
			assert_ok(wait_future(instance, future));
		}
		assert_true(notes_wait(f.notes, 1));
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(wait_any_runs_the_callback_here),
		TEST(process_events_runs_in_order),
		TEST(the_descriptor_wakes_a_loop),
		TEST(spontaneous_ones_come_by_themselves),
		TEST(wait_any_waits_for_spontaneous_ones),
		TEST(waiting_ends_in_time),
		TEST(wait_any_needs_one_of_several),
		TEST(bad_waits),
		TEST(bad_callback_infos),
		TEST(waiting_inside_callbacks_is_refused),
		cmocka_unit_test(release_cancels_what_is_pending),
		cmocka_unit_test(cancelled_objects_are_given_back),
		cmocka_unit_test(last_release_in_a_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
