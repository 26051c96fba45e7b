// SPDX-License-Identifier: MIT
/*
 * Several threads use a context while any of them destroys the context, its graph or its tensors,
 * and release their references in any order with work in flight. In every order, calls return only
 * what a race allows, each callback runs exactly once, and the sanitizers report nothing.
 */
#include "../../random.h"
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define TENSORS 6
#define STEPS	24
#define N	16

struct round {
	WNNInstance instance;
	WNNContext context;
	WNNGraph graph;
	WNNTensor tensors[TENSORS];
	uint32_t seed;
	atomic_uint asked, answered;
};

struct worker {
	struct round *round;
	uint32_t random;
	pthread_t thread;
};

/* Accepts the statuses to which a race with a destruction may lead. */
static void check_status(WNNStatus status)
{
	if (status != WNNStatus_Success && status != WNNStatus_TypeError &&
	    status != WNNStatus_InvalidStateError && status != WNNStatus_Cancelled)
		fail_msg("status %d", (int)status);
}

static void on_status(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
	struct round *round = userdata1;

	(void)message;
	(void)userdata2;
	check_status(status);
	atomic_fetch_add(&round->answered, 1);
}

static void on_read(WNNStatus status, void const *data, size_t size, WNNStringView message,
		    void *userdata1, void *userdata2)
{
	if (status == WNNStatus_Success)
		assert_true(data && size == N * N * sizeof(float));
	on_status(status, message, userdata1, userdata2);
}

static void on_tensor(WNNStatus status, WNNTensor tensor, WNNStringView message, void *userdata1,
		      void *userdata2)
{
	wnnTensorRelease(tensor);
	on_status(status, message, userdata1, userdata2);
}

static void on_build(WNNStatus status, WNNGraph graph, WNNStringView message, void *userdata1,
		     void *userdata2)
{
	wnnGraphRelease(graph);
	on_status(status, message, userdata1, userdata2);
}

static void ask(struct round *round, WNNFuture future, uint32_t random)
{
	if (!future.id)
		return;
	atomic_fetch_add(&round->asked, 1);
	if (random % 5 == 0)
		check_status(wnnInstanceCancel(round->instance, future));
}

static WNNCallbackMode mode_of(uint32_t random)
{
	return random & 1 ? WNNCallbackMode_AllowSpontaneous : WNNCallbackMode_AllowProcessEvents;
}

static void read_one(struct round *round, WNNTensor tensor, uint32_t random)
{
	WNNReadTensorCallbackInfo info = { NULL, mode_of(random), on_read, round, NULL };
	float data[N * N];

	if (random & 2)
		ask(round, wnnContextReadTensor(round->context, tensor, info), random >> 4);
	else
		check_status(wnnContextReadTensorIntoSync(round->context, tensor, data,
							  sizeof(data), GENEROUS));
}

static void map_one(struct round *round, WNNTensor tensor)
{
	void *data;

	if (wnnContextMapTensorSync(round->context, tensor, WNNMapMode_ReadWrite, GENEROUS, &data))
		return;
	memset(data, 0, sizeof(float));
	check_status(wnnTensorUnmap(tensor));
}

static void create_one(struct round *round, uint32_t random)
{
	WNNCreateTensorCallbackInfo info = { NULL, mode_of(random), on_tensor, round, NULL };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

	descriptor.dataType = WNNOperandDataType_Int8;
	ask(round, wnnContextCreateTensor(round->context, &descriptor, info), random >> 4);
}

static void build_one_more(struct round *round, uint32_t random)
{
	WNNBuildCallbackInfo info = { NULL, mode_of(random), on_build, round, NULL };
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(round->context);
	WNNNamedOperand output = { WNN_STR("y"), NULL };

	if (!builder)
		return;
	output.operand = wnnGraphBuilderTanh(builder, make_input(builder, "x", N, N), NULL);
	ask(round, wnnGraphBuilderBuild(builder, 1, &output, info), random >> 4);
	wnnGraphBuilderRelease(builder);
}

/* Destroys the tensor, the graph, the context or nothing, as @random decides. */
static void destroy_one(struct round *round, WNNTensor tensor, uint32_t random)
{
	if (random % 4 == 0)
		wnnTensorDestroy(tensor);
	else if (random % 16 == 1)
		wnnGraphDestroy(round->graph);
	else if (random % 32 == 2)
		wnnContextDestroy(round->context);
}

static void step(struct round *round, uint32_t *random)
{
	WNNTensor x = round->tensors[rng_xorshift32(random) % TENSORS];
	WNNTensor y = round->tensors[rng_xorshift32(random) % TENSORS];
	WNNWorkDoneCallbackInfo done = { NULL, WNNCallbackMode_AllowSpontaneous, on_status, round,
					 NULL };
	float data[N * N] = { 1 };
	uint32_t choice = rng_xorshift32(random), detail = rng_xorshift32(random);

	switch (choice % 9) {
	case 0:
		check_status(wnnContextWriteTensor(round->context, x, data, sizeof(data)));
		break;
	case 1:
	case 2:
		check_status(dispatch_xy(round->context, round->graph, x, y));
		break;
	case 3:
		read_one(round, x, detail);
		break;
	case 4:
		map_one(round, x);
		break;
	case 5:
		create_one(round, detail);
		break;
	case 6:
		build_one_more(round, detail);
		break;
	case 7:
		ask(round, wnnContextOnWorkDone(round->context, done), detail);
		break;
	default:
		destroy_one(round, y, detail);
		break;
	}
	if (choice & 1024)
		check_status(wnnInstanceProcessEvents(round->instance));
}

static void take_references(struct round *round)
{
	wnnContextAddRef(round->context);
	wnnGraphAddRef(round->graph);
	for (int i = 0; i < TENSORS; i++)
		wnnTensorAddRef(round->tensors[i]);
}

/* Releases the references of take_references(), beginning with number `first`. */
static void give_references(struct round *round, uint32_t first)
{
	for (uint32_t i = 0; i < TENSORS + 2; i++) {
		uint32_t k = (first + i) % (TENSORS + 2);

		if (k < TENSORS)
			wnnTensorRelease(round->tensors[k]);
		else if (k == TENSORS)
			wnnGraphRelease(round->graph);
		else
			wnnContextRelease(round->context);
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (int i = 0; i < STEPS; i++)
		step(worker->round, &worker->random);
	give_references(worker->round, rng_xorshift32(&worker->random));
	return NULL;
}

static void play(struct round *round, const char *device)
{
	WNNContextLostCallbackInfo lost = { NULL, WNNCallbackMode_AllowProcessEvents, on_status,
					    round, NULL };
	struct worker workers[THREADS];

	round->context = open_context(round->instance, device);
	round->graph = build_add_relu(round->context, N, N);
	for (int i = 0; i < TENSORS; i++)
		round->tensors[i] = make_tensor(round->context, N, N);
	ask(round, wnnContextGetLost(round->context, lost), 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i].round = round;
		workers[i].random = (round->seed * THREADS + i) * 2654435761u | 1;
		take_references(round);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	give_references(round, round->seed);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	/* Deliver the callbacks that are due, and wait for those on the library's own thread. */
	while (atomic_load(&round->answered) < atomic_load(&round->asked)) {
		assert_ok(wnnInstanceProcessEvents(round->instance));
		sched_yield();
	}
	assert_int_equal(atomic_load(&round->answered), atomic_load(&round->asked));
}

static void run_rounds(const char *device, uint32_t rounds)
{
	const char *more = getenv("ONPU_STRESS_ROUNDS");

	if (more)
		rounds = (uint32_t)atoi(more);
	for (uint32_t seed = 1; seed <= rounds; seed++) {
		struct round round = { .seed = seed };

		round.instance = wnnCreateInstance(NULL);
		assert_non_null(round.instance);
		play(&round, device);
		wnnInstanceRelease(round.instance);
	}
}

static void any_order_on_cpu(void **state)
{
	(void)state;
	run_rounds("cpu", 60);
}

static void any_order_on_sim(void **state)
{
	(void)state;
	run_rounds("sim", 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_on_cpu),
		cmocka_unit_test(any_order_on_sim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
