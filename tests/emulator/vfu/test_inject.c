// SPDX-License-Identifier: MIT
/*
 * Tests injected faults: how they are written as text, what they affect, and that all other
 * accesses go through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "onpu/registers.h"
#include "vfu/control.h"
#include "vfu/inject.h"

#define RING UINT64_C(0x123456000)

static struct vfu_injector in;
/* The calls that came through the injector; its thread counts here, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	unsigned int interrupts[4], writes, links, faults[VFU_FAULTS];
	uint32_t last;
} seen;

static void see_interrupt(void *ctx, unsigned int vector)
{
	(void)ctx;
	pthread_mutex_lock(&lock);
	seen.interrupts[vector]++;
	pthread_mutex_unlock(&lock);
}

static void see_write(void *ctx, uint32_t offset, uint32_t value)
{
	(void)ctx;
	(void)offset;
	pthread_mutex_lock(&lock);
	seen.writes++;
	seen.last = value;
	pthread_mutex_unlock(&lock);
}

static void see_fault(void *ctx, enum vfu_fault fault)
{
	(void)ctx;
	seen.faults[fault]++;
}

static void see_link(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&lock);
	seen.links++;
	pthread_mutex_unlock(&lock);
}

static int setup(void **state)
{
	const struct vfu_inject_ops ops = {
		.interrupt = see_interrupt,
		.write = see_write,
		.fault = see_fault,
		.link = see_link,
	};

	(void)state;
	memset(&seen, 0, sizeof(seen));
	return !vfu_inject_init(&in, &ops);
}

static int teardown(void **state)
{
	(void)state;
	vfu_inject_destroy(&in);
	return 0;
}

static void arm(const char *text)
{
	struct vfu_arm fault;
	const char *wrong = vfu_inject_parse(text, &fault);

	if (wrong)
		fail_msg("%s: %s", text, wrong);
	vfu_inject_arm(&in, &fault);
}

static unsigned int read_seen(const unsigned int *value)
{
	unsigned int now;

	pthread_mutex_lock(&lock);
	now = *value;
	pthread_mutex_unlock(&lock);
	return now;
}

/* Waits until the count is reached, however slow the machine is. */
static void expect(const unsigned int *value, unsigned int wanted)
{
	for (unsigned int i = 0; i < 60000 && read_seen(value) != wanted; i++)
		usleep(1000);
	assert_int_equal(read_seen(value), wanted);
}

static unsigned int read_delayed(void)
{
	unsigned int now;

	pthread_mutex_lock(&in.lock);
	now = in.num_delayed;
	pthread_mutex_unlock(&in.lock);
	return now;
}

static void raise_interrupts(unsigned int vector, unsigned int count)
{
	while (count--)
		vfu_inject_interrupt(&in, vector);
}

static void test_text(void **state)
{
	static const char *const wrong[] = {
		"",
		"lost",
		"lost-interrupts",
		"lost-interrupt,",
		"lost-interrupt,after",
		"lost-interrupt,after=",
		"lost-interrupt,after=x",
		"lost-interrupt,after=-1",
		"lost-interrupt,after= 1",
		"lost-interrupt,after=99999999999",
		"lost-interrupt,ms=5",
		"lost-interrupt,before=1",
		"late-message,vector=1",
		"none,after=1",
		"late-interrupt ms=5",
	};
	struct vfu_arm fault;

	(void)state;
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!vfu_inject_parse(wrong[i], &fault))
			fail_msg("'%s' is taken", wrong[i]);
	assert_null(vfu_inject_parse("late-interrupt,after=3,times=0,ms=20,vector=2", &fault));
	assert_int_equal(fault.fault, VFU_FAULT_LATE_INTERRUPT);
	assert_int_equal(fault.after, 3);
	assert_int_equal(fault.times, 0);
	assert_int_equal(fault.ms, 20);
	assert_int_equal(fault.vector, 2);
	assert_null(vfu_inject_parse("link-down", &fault));
	assert_int_equal(fault.times, 1);
	assert_int_equal(fault.vector, -1);
	assert_null(vfu_inject_parse("none", &fault));
	assert_int_equal(fault.fault, VFU_FAULTS);
}

static void test_lost(void **state)
{
	(void)state;
	arm("lost-interrupt,after=2,times=3,vector=1");
	raise_interrupts(0, 10);
	raise_interrupts(1, 10);
	assert_int_equal(seen.interrupts[0], 10);
	assert_int_equal(seen.interrupts[1], 7);
	arm("lost-interrupt,times=0");
	raise_interrupts(1, 100);
	assert_int_equal(seen.interrupts[1], 7);
	vfu_inject_clear(&in);
	raise_interrupts(1, 1);
	assert_int_equal(seen.interrupts[1], 8);
}

static void test_doubled_and_late(void **state)
{
	(void)state;
	arm("doubled-interrupt,vector=1");
	raise_interrupts(1, 2);
	expect(&seen.interrupts[1], 3);
	/* The delay is so long that the interrupt does not come during the test. */
	arm("late-interrupt,ms=1000000,vector=2");
	raise_interrupts(2, 2);
	assert_int_equal(seen.interrupts[2], 1);
	arm("late-interrupt,ms=10,vector=2");
	raise_interrupts(2, 1);
	expect(&seen.interrupts[2], 2);
	/*
	 * The injector delays at most VFU_INJECT_DELAYED interrupts, one of which is that of vector
	 * 2; further ones come at once.
	 */
	arm("late-interrupt,ms=1000000,times=0,vector=3");
	raise_interrupts(3, VFU_INJECT_DELAYED + 5);
	assert_int_equal(seen.interrupts[3], 6);
	/* Clearing all faults delivers the delayed interrupts. */
	vfu_inject_clear(&in);
	expect(&seen.interrupts[2], 3);
	expect(&seen.interrupts[3], VFU_INJECT_DELAYED + 5);
}

static void test_requests(void **state)
{
	(void)state;
	arm("late-message,after=1,ms=20");
	for (uint32_t tail = 1; tail <= 2; tail++)
		vfu_inject_write(&in, ONPU_REG_REQUEST_TAIL, tail);
	expect(&seen.writes, 2);
	assert_int_equal(seen.last, 2);
	/* A delayed request is not delivered again after a later one. */
	arm("late-message,ms=1000000");
	vfu_inject_write(&in, ONPU_REG_REQUEST_TAIL, 3);
	vfu_inject_write(&in, ONPU_REG_REQUEST_TAIL, 4);
	assert_int_equal(seen.writes, 3);
	vfu_inject_clear(&in);
	for (unsigned int i = 0; i < 60000 && read_delayed(); i++)
		usleep(1000);
	assert_int_equal(read_delayed(), 0);
	assert_int_equal(read_seen(&seen.writes), 3);
	/* A reset drops delayed requests. */
	arm("late-message,ms=1000000");
	vfu_inject_write(&in, ONPU_REG_REQUEST_TAIL, 5);
	assert_int_equal(in.num_delayed, 1);
	vfu_inject_write(&in, ONPU_REG_RESET, ONPU_RESET_START__MASK);
	assert_int_equal(in.num_delayed, 0);
	assert_int_equal(seen.writes, 4);
	arm("missing-message");
	for (uint32_t tail = 1; tail <= 5; tail++)
		vfu_inject_write(&in, ONPU_REG_REQUEST_TAIL, tail);
	assert_int_equal(seen.writes, 4);
	/* Writes to other registers go through. */
	vfu_inject_write(&in, ONPU_REG_RESPONSE_HEAD, 1);
	assert_int_equal(seen.writes, 5);
	vfu_inject_reset(&in);
	vfu_inject_write(&in, ONPU_REG_REQUEST_TAIL, 1);
	assert_int_equal(seen.writes, 6);
}

static void test_corrupt(void **state)
{
	uint8_t message[64] = { 0 }, expected[64] = { 0 };

	(void)state;
	for (unsigned int i = 1; i < sizeof(expected); i += 4)
		expected[i] = 0x10;
	vfu_inject_write(&in, ONPU_REG_RESPONSE_BASE_LO, (uint32_t)RING);
	vfu_inject_write(&in, ONPU_REG_RESPONSE_BASE_HI, (uint32_t)(RING >> 32));
	vfu_inject_write(&in, ONPU_REG_RESPONSE_SIZE, 16);
	assert_false(vfu_inject_spoils(&in));
	arm("corrupt-message");
	assert_true(vfu_inject_spoils(&in));
	/* Messages in front of the ring and after it stay as they are. */
	vfu_inject_memory(&in, RING - 64, message, sizeof(message));
	vfu_inject_memory(&in, RING + 1024, message, sizeof(message));
	assert_int_equal(message[1], 0);
	vfu_inject_memory(&in, RING + 960, message, sizeof(message));
	assert_memory_equal(message, expected, sizeof(message));
	vfu_inject_memory(&in, RING, message, sizeof(message));
	assert_memory_equal(message, expected, sizeof(message));
	assert_false(vfu_inject_spoils(&in));
}

static void test_doorbell(void **state)
{
	(void)state;
	arm("stuck-engine,after=1");
	arm("parity");
	vfu_inject_write(&in, ONPU_REG_DOORBELL_TAIL(0), 1);
	assert_int_equal(seen.faults[VFU_FAULT_PARITY], 1);
	assert_int_equal(seen.faults[VFU_FAULT_STUCK_ENGINE], 0);
	arm("dead-firmware");
	vfu_inject_write(&in, ONPU_REG_DOORBELL_TAIL(3), 1);
	assert_int_equal(seen.faults[VFU_FAULT_PARITY], 1);
	assert_int_equal(seen.faults[VFU_FAULT_STUCK_ENGINE], 1);
	assert_int_equal(seen.faults[VFU_FAULT_DEAD_FIRMWARE], 1);
	assert_int_equal(seen.writes, 2);
}

static void test_all_ones(void **state)
{
	(void)state;
	arm("all-ones,after=1");
	assert_false(vfu_inject_ones(&in));
	assert_true(vfu_inject_ones(&in));
	vfu_inject_write(&in, ONPU_REG_INT_ENABLE, 0);
	assert_int_equal(seen.writes, 0);
	assert_false(vfu_inject_link_down(&in));
	vfu_inject_reset(&in);
	assert_false(vfu_inject_ones(&in));
	arm("all-ones,ms=20");
	assert_true(vfu_inject_ones(&in));
	for (unsigned int i = 0; i < 60000 && vfu_inject_ones(&in); i++)
		usleep(1000);
	assert_false(vfu_inject_ones(&in));
}

static void test_link(void **state)
{
	(void)state;
	arm("link-down");
	assert_false(vfu_inject_link_down(&in));
	vfu_inject_write(&in, ONPU_REG_INT_ENABLE, 0);
	assert_int_equal(seen.writes, 0);
	assert_true(vfu_inject_link_down(&in));
	assert_int_equal(seen.links, 1);
	/* A reset of the function does not bring the link back. */
	vfu_inject_reset(&in);
	assert_true(vfu_inject_link_down(&in));
	vfu_inject_clear(&in);
	assert_false(vfu_inject_link_down(&in));
	arm("link-down,ms=20");
	assert_true(vfu_inject_ones(&in));
	for (unsigned int i = 0; i < 60000 && vfu_inject_link_down(&in); i++)
		usleep(1000);
	assert_false(vfu_inject_link_down(&in));
	assert_false(vfu_inject_ones(&in));
	assert_int_equal(seen.links, 2);
}

/* Requests are lines; one read may return several lines or part of one. */
static void test_lines(void **state)
{
	struct vfu_control control;
	char answer[1000] = "", wrong[600];
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	vfu_control_init(&control);
	control.in = ends[1];
	control.out = ends[1];
	assert_true(write(ends[0], "lost-interrupt,times=0\nnons", 27) == 27);
	vfu_control_read(&control, &in);
	assert_true(write(ends[0], "ense\n", 5) == 5);
	vfu_control_read(&control, &in);
	assert_true(read(ends[0], answer, sizeof(answer) - 1) > 0);
	assert_memory_equal(answer, "ok\nerror: there is no such fault; ", 34);
	raise_interrupts(0, 1);
	assert_int_equal(seen.interrupts[0], 0);
	assert_true(write(ends[0], "hits lost-interrupt\n", 20) == 20);
	vfu_control_read(&control, &in);
	memset(answer, 0, sizeof(answer));
	assert_true(read(ends[0], answer, sizeof(answer) - 1) > 0);
	assert_string_equal(answer, "ok 1\n");
	assert_true(write(ends[0], "none\n", 5) == 5);
	vfu_control_read(&control, &in);
	raise_interrupts(0, 1);
	assert_int_equal(seen.interrupts[0], 1);
	/* The line is longer than any request. */
	memset(wrong, 'x', sizeof(wrong));
	wrong[sizeof(wrong) - 1] = '\n';
	assert_true(write(ends[0], wrong, sizeof(wrong)) == sizeof(wrong));
	for (unsigned int i = 0; i < 3; i++)
		vfu_control_read(&control, &in);
	memset(answer, 0, sizeof(answer));
	assert_true(read(ends[0], answer, sizeof(answer) - 1) > 0);
	assert_memory_equal(answer, "ok\nerror: ", 10);
	close(ends[0]);
	vfu_control_read(&control, &in);
	assert_int_equal(control.in, -1);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubled_and_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_corrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doorbell, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
