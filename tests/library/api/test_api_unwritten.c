// SPDX-License-Identifier: MIT
/*
 * Tests tensors whose data is missing, because the work that should have written it failed: readers
 * get an error.
 */
#include "fake.h"

#include <string.h>
#include <time.h>

#define N     4
#define BYTES (N * N * sizeof(float))

struct chain {
	WNNContext context;
	WNNGraph graph;
	WNNTensor x, middle, y;
	float buffer[N * N];
};

static void begin_chain(struct chain *c, WNNContext context)
{
	*c = (struct chain){ .context = context };
	c->graph = build_add_relu(context, N, N);
	c->x = make_tensor(context, N, N);
	c->middle = make_tensor(context, N, N);
	c->y = make_tensor(context, N, N);
}

static void end_chain(struct chain *c)
{
	wnnGraphRelease(c->graph);
	wnnTensorRelease(c->x);
	wnnTensorRelease(c->middle);
	wnnTensorRelease(c->y);
}

static WNNStatus read(struct chain *c, WNNTensor tensor)
{
	return wnnContextReadTensorIntoSync(c->context, tensor, c->buffer, BYTES, GENEROUS);
}

static void fail_next_memory(void)
{
	pthread_mutex_lock(&fake.lock);
	fake.fail_bo_at = fake.made_bos + 1;
	pthread_mutex_unlock(&fake.lock);
}

/* Waits until a counter of the fake device, of buffers or jobs, has reached @wanted. */
static void wait_until(const unsigned int *count, unsigned int wanted)
{
	bool there = false;

	while (!there) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		pthread_mutex_lock(&fake.lock);
		there = *count >= wanted;
		pthread_mutex_unlock(&fake.lock);
	}
}

static void reading_fails_until_it_is_written(void **state)
{
	struct fixture *f = *state;
	struct chain c;
	void *data;

	begin_chain(&c, f->context);
	wnnTensorSetLabel(c.y, WNN_STR("result"));
	fail_next_memory();
	assert_ok(dispatch_xy(c.context, c.graph, c.x, c.y));
	for (int i = 0; i < 2; i++)
		assert_failed(read(&c, c.y), WNNStatus_UnknownError,
			      "readTensor: the tensor \"result\" has no data, as the work that "
			      "should write it failed: no memory on the fake device");
	assert_failed(wnnContextMapTensorSync(c.context, c.y, WNNMapMode_Read, GENEROUS, &data),
		      WNNStatus_UnknownError, "mapTensor: the tensor \"result\" has no data");
	assert_failed(wnnContextMapTensorSync(c.context, c.y, WNNMapMode_ReadWrite, GENEROUS,
					      &data),
		      WNNStatus_UnknownError, "no memory on the fake device");
	wnnContextReadTensor(c.context, c.y,
			     note_read(f->notes, WNNCallbackMode_AllowSpontaneous, 1));
	assert_true(notes_wait(f->notes, 1));
	assert_int_equal(notes_get(f->notes, 0).status, WNNStatus_UnknownError);
	/* The input of the failed dispatch is unchanged. */
	assert_ok(read(&c, c.x));
	assert_ok(dispatch_xy(c.context, c.graph, c.x, c.y));
	assert_ok(read(&c, c.y));
	end_chain(&c);
}

static void writing_and_mapping_write_it(void **state)
{
	float ones[N * N] = { 1, 1, 1 };
	struct fixture *f = *state;
	struct chain c;
	void *data;

	begin_chain(&c, f->context);
	fail_next_memory();
	assert_ok(dispatch_xy(c.context, c.graph, c.x, c.y));
	assert_failed(read(&c, c.y), WNNStatus_UnknownError, "has no data");
	assert_ok(wnnContextWriteTensor(c.context, c.y, ones, sizeof(ones)));
	assert_ok(read(&c, c.y));
	assert_memory_equal(c.buffer, ones, sizeof(ones));
	wnnGraphRelease(c.graph);
	c.graph = build_add_relu(c.context, N, N);
	fail_next_memory();
	assert_ok(dispatch_xy(c.context, c.graph, c.x, c.y));
	assert_failed(read(&c, c.y), WNNStatus_UnknownError, "has no data");
	assert_ok(wnnContextMapTensorSync(c.context, c.y, WNNMapMode_Write, GENEROUS, &data));
	memset(data, 0, BYTES);
	assert_ok(wnnTensorUnmap(c.y));
	assert_ok(read(&c, c.y));
	assert_float_equal(c.buffer[0], 0, 0);
	end_chain(&c);
}

static void what_is_computed_of_it_has_no_data_either(void **state)
{
	WNNDispatchStatistics statistics = WNN_DISPATCH_STATISTICS_INIT;
	struct fixture *f = *state;
	struct chain c;

	begin_chain(&c, f->context);
	fail_next_memory();
	assert_ok(dispatch_xy(c.context, c.graph, c.x, c.middle));
	assert_ok(dispatch_xy(c.context, c.graph, c.middle, c.y));
	/* The message names only the first cause, however long the chain is. */
	assert_failed(read(&c, c.y), WNNStatus_UnknownError,
		      "readTensor: the tensor has no data, as the work that should write it "
		      "failed: no memory on the fake device");
	assert_failed(wnnContextWaitIdle(c.context, GENEROUS), WNNStatus_UnknownError,
		      "no memory on the fake device");
	assert_failed(wnnContextDispatchMeasuredSync(
			      c.context, c.graph, 1, &(WNNNamedTensor){ WNN_STR("x"), c.middle }, 1,
			      &(WNNNamedTensor){ WNN_STR("y"), c.y }, GENEROUS, &statistics),
		      WNNStatus_UnknownError, "dispatch: the tensor has no data");
	assert_ok(wnnContextWaitIdle(c.context, GENEROUS));
	assert_ok(dispatch_xy(c.context, c.graph, c.x, c.y));
	assert_ok(read(&c, c.y));
	assert_failed(read(&c, c.middle), WNNStatus_UnknownError, "has no data");
	assert_ok(dispatch_xy(c.context, c.graph, c.y, c.middle));
	assert_ok(read(&c, c.middle));
	end_chain(&c);
}

/*
 * Queues both dispatches before the device gets any job, and holds the jobs, so that the device
 * still has the first when the second begins. release_jobs() ends this.
 */
static void dispatch_both(struct chain *c, WNNTensor first, WNNGraph graph, WNNTensor from,
			  WNNTensor second)
{
	pthread_mutex_lock(&fake.lock);
	fake.hold = true;
	assert_ok(dispatch_xy(c->context, c->graph, c->x, first));
	assert_ok(dispatch_xy(c->context, graph, from, second));
	pthread_mutex_unlock(&fake.lock);
}

static void a_fault_while_the_next_is_under_way(void **state)
{
	struct fixture *f = *state;
	struct chain c;

	begin_chain(&c, f->context);
	fake.fault_at = 1;
	dispatch_both(&c, c.middle, c.graph, c.middle, c.y);
	wait_until(&fake.jobs, 2);
	release_jobs();
	assert_failed(read(&c, c.y), WNNStatus_UnknownError, "the NPU stopped with fault BOUNDS");
	assert_int_equal(fake.jobs, 3); /* the second job runs once more */
	end_chain(&c);
}

/* A dispatch that cannot begin ends after those that the device is still running. */
static void failures_are_in_the_order_of_the_calls(void **state)
{
	struct fixture *f = *state;
	WNNGraph same, other;
	unsigned int before;
	struct chain c;

	begin_chain(&c, f->context);
	same = build_add_relu(c.context, N, N);
	other = build_add_relu(c.context, N, N);
	before = fake.made_bos;
	assert_ok(dispatch_xy(c.context, same, c.x, c.y));
	assert_ok(wnnContextWaitIdle(c.context, GENEROUS));
	/* c.graph gets as many buffers as `same` did; the first buffer for `other` fails. */
	fake.fail_bo_at = fake.made_bos + (fake.made_bos - before) + 1;
	dispatch_both(&c, c.y, other, c.x, c.y);
	wait_until(&fake.made_bos, fake.fail_bo_at);
	release_jobs();
	assert_failed(read(&c, c.y), WNNStatus_UnknownError, "no memory on the fake device");
	wnnGraphRelease(same);
	wnnGraphRelease(other);
	end_chain(&c);
}

/* On the CPU, intermediate results need more memory than the limit. */
static void a_limit_that_a_dispatch_exceeds(void **state)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	struct fixture *f = *state;
	WNNContext context;
	WNNGraphBuilder builder;
	WNNOperand x, square;
	WNNTensor from, to;
	WNNGraph graph;
	float data[100 * 100];

	options.device = WNN_STR("cpu");
	options.memoryLimit = 100000;
	context = open_context_with(f->instance, &options);
	builder = wnnContextCreateGraphBuilder(context);
	x = make_input(builder, "x", 100, 100);
	square = wnnGraphBuilderMatmul(builder, x, x, NULL);
	graph = build_one(builder, "y", wnnGraphBuilderMatmul(builder, square, x, NULL));
	from = make_tensor(context, 100, 100);
	to = make_tensor(context, 100, 100);
	assert_ok(dispatch_xy(context, graph, from, to));
	assert_failed(wnnContextReadTensorIntoSync(context, to, data, sizeof(data), GENEROUS),
		      WNNStatus_UnknownError, "failed: the intermediate results of a graph needs");
	wnnGraphBuilderRelease(builder);
	wnnGraphRelease(graph);
	wnnTensorRelease(from);
	wnnTensorRelease(to);
	wnnContextRelease(context);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(reading_fails_until_it_is_written),
		TEST(writing_and_mapping_write_it),
		TEST(what_is_computed_of_it_has_no_data_either),
		TEST(a_fault_while_the_next_is_under_way),
		TEST(failures_are_in_the_order_of_the_calls),
		TEST(a_limit_that_a_dispatch_exceeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
