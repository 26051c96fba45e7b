// SPDX-License-Identifier: MIT
/*
 * Tests clients that come and go: a second client, one that dies during a job, many one after the
 * other.
 */
#include "bench.h"

#include <linux/pci_regs.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs.h"

static struct bench b;
static struct rig_vm vm;
static struct rig_context context;
/* The number of descriptors that were open before the first test. */
static unsigned int descriptors;

static int setup(void **state)
{
	const struct vfu_server_config config = bench_config();

	(void)state;
	bench_expect_descriptors(descriptors);
	bench_start(&b, &config);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_stop(&b);
	return 0;
}

static void attach_and_boot(void)
{
	bench_attach(&b);
	/* Nothing of the client before is left. */
	assert_int_equal(rig_read(&b.rig, ONPU_REG_STATUS), ONPU_STATE_RESET);
	bench_boot(&b);
	rig_vm_create(&b.rig, &vm, 0);
	rig_context_create(&b.rig, &context, &vm, 10, 0);
}

static void submit_long_jobs(void)
{
	struct program *p = job_stubborn(UINT64_C(4096) * 1000);
	struct onpu_ring_job job = rig_job(p);

	rig_load(&b.rig, &context, p);
	for (unsigned int i = 0; i < RIG_RING - 1; i++)
		rig_submit(&b.rig, &context, &job, false);
	rig_doorbell(&b.rig, &context);
	bench_wait(&b, &context, 1);
	program_destroy(p);
}

static void run_job(void)
{
	struct program *p = job_stages(2, 0.25f);
	struct onpu_ring_job job = rig_job(p);

	rig_load(&b.rig, &context, p);
	rig_submit(&b.rig, &context, &job, true);
	bench_wait(&b, &context, context.seqno);
	assert_int_equal(rig_completion(&b.rig, &context).error, 0);
	program_destroy(p);
}

/* A second client is refused at once, while the first goes on undisturbed. */
static void test_second(void **state)
{
	static struct client second;

	(void)state;
	attach_and_boot();
	for (unsigned int i = 0; i < 5; i++) {
		client_open(&second, b.path);
		client_expect_end(&second);
		client_close(&second);
		run_job();
	}
}

/*
 * A client for which the server has no free descriptor is refused as well; otherwise poll() would
 * report it without end.
 */
static void test_no_descriptor(void **state)
{
	static struct client second;
	struct rlimit old, few;
	int fds[64], count = 0;

	(void)state;
	attach_and_boot();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = sizeof(fds) / sizeof(fds[0]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((fds[count] = dup(0)) >= 0)
		count++;
	for (unsigned int i = 0; i < 5; i++) {
		/* The new connection takes the last free descriptor. */
		close(fds[--count]);
		client_open(&second, b.path);
		client_expect_end(&second);
		/* When this job is done, the server has dealt with the second client. */
		run_job();
		assert_int_equal(dup(0), -1);
		client_close(&second);
		fds[count] = dup(0);
		assert_true(fds[count++] >= 0);
	}
	while (count)
		close(fds[--count]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/*
 * When even the spare descriptor does not help, for example because the whole system has none, the
 * client waits. The server does not spin: for a while, its poll() leaves out the socket.
 */
static void test_no_spare_descriptor(void **state)
{
	static struct client first;
	struct vfu_server_config config = bench_config();
	char folder[] = "/tmp/vfu-XXXXXX", path[sizeof(folder) + 2];
	struct vfu_server server;
	struct rlimit old, few;
	const char *error;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s", folder);
	assert_true(vfu_server_init(&server, &config, vfu_listen(path), -1, &error));
	client_open(&first, path);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	/* Descriptors 0 to 2 are in use; poll() must be able to take three. */
	few.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(vfu_server_poll(&server, -1));
		assert_true(!server.connected && server.paused && server.spare == -1);
		/* The pause ends although poll() has nothing to report. */
		assert_true(vfu_server_poll(&server, -1));
		assert_true(!server.connected && !server.paused);
	}
	assert_true(vfu_server_poll(&server, -1));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(vfu_server_poll(&server, -1));
	assert_false(server.connected);
	assert_true(vfu_server_poll(&server, -1));
	assert_true(server.connected);
	client_close(&first);
	vfu_server_destroy(&server);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void test_gone_during_a_job(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		while (bench_interrupted(&b, 1, 0))
			;
		attach_and_boot();
		if (i & 1)
			run_job();
		else
			submit_long_jobs();
		client_close(&b.client);
	}
	/* Once the server has noticed the end of that client, it does not use the memory. */
	client_open(&b.client, b.path);
	assert_int_equal(client_version(&b.client), 0);
	memset(b.memory, 0xa5, RIG_MEMORY);
	usleep(20000);
	assert_true(b.memory[0] == 0xa5 && !memcmp(b.memory, b.memory + 1, RIG_MEMORY - 1));
}

/* The interrupt descriptors of a client that is gone are closed. */
static void test_descriptors_are_let_go(void **state)
{
	(void)state;
	attach_and_boot();
	submit_long_jobs();
	client_close(&b.client);
	bench_connect(&b);
	for (unsigned int i = 0; i < BENCH_VECTORS; i++)
		bench_interrupted(&b, i, 0);
	usleep(20000);
	for (unsigned int i = 0; i < BENCH_VECTORS; i++)
		assert_false(bench_interrupted(&b, i, 0));
}

static void test_many_in_turn(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		client_open(&b.client, b.path);
		if (i % 3)
			assert_int_equal(client_version(&b.client), 0);
		if (i % 3 == 2)
			bench_lend(&b);
		client_close(&b.client);
	}
	attach_and_boot();
	run_job();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_second, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_descriptor, setup, teardown),
		cmocka_unit_test(test_no_spare_descriptor),
		cmocka_unit_test_setup_teardown(test_gone_during_a_job, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_are_let_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_in_turn, setup, teardown),
	};

	descriptors = bench_descriptors();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
