// SPDX-License-Identifier: MIT
/* Tests interrupts: attaching, raising, pending vectors, MSI in place of MSI-X. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTFD (VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER)
#define NONE	(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER)
#define MSIX	VFIO_PCI_MSIX_IRQ_INDEX
#define MSI	VFIO_PCI_MSI_IRQ_INDEX
#define VECTORS 5

static struct vfu_irqs irqs;
static int events[VECTORS];

static int setup(void **state)
{
	(void)state;
	assert_true(vfu_irqs_init(&irqs, VECTORS));
	vfu_irqs_enable(&irqs, true);
	for (unsigned int i = 0; i < VECTORS; i++)
		events[i] = eventfd(0, EFD_CLOEXEC);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vfu_irqs_destroy(&irqs);
	for (unsigned int i = 0; i < VECTORS; i++)
		close(events[i]);
	return 0;
}

static int set(uint32_t flags, uint32_t index, uint32_t start, uint32_t count, unsigned int num_fds)
{
	const struct vfio_irq_set head = {
		.argsz = sizeof(head),
		.flags = flags,
		.index = index,
		.start = start,
		.count = count,
	};
	static const uint8_t bools[VECTORS] = { 0, 1, 0, 1, 0 };
	int fds[VECTORS + 1], error;

	for (unsigned int i = 0; i < num_fds; i++)
		fds[i] = fcntl(events[(start + i) % VECTORS], F_DUPFD_CLOEXEC, 0);
	error = vfu_irqs_set(&irqs, &head, bools, flags & VFIO_IRQ_SET_DATA_BOOL ? VECTORS : 0, fds,
			     num_fds);
	for (unsigned int i = 0; i < num_fds; i++) {
		assert_int_equal(fds[i] < 0, !error);
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return error;
}

/* Returns how often the vector was raised since the last call. */
static unsigned int taken(unsigned int vector)
{
	eventfd_t count = 0;

	fcntl(events[vector], F_SETFL, O_NONBLOCK);
	return eventfd_read(events[vector], &count) ? 0 : (unsigned int)count;
}

static void test_msix(void **state)
{
	(void)state;
	assert_int_equal(set(EVENTFD, MSIX, 0, VECTORS, VECTORS), 0);
	for (unsigned int i = 0; i < VECTORS; i++) {
		for (unsigned int k = 0; k <= i; k++)
			vfu_irqs_raise(&irqs, i);
	}
	vfu_irqs_raise(&irqs, VFU_MAX_VECTORS);
	for (unsigned int i = 0; i < VECTORS; i++)
		assert_int_equal(taken(i), i + 1);
	assert_int_equal(set(NONE, MSIX, 0, 0, 0), 0);
	vfu_irqs_raise(&irqs, 1);
	assert_int_equal(taken(1), 0);
	assert_false(vfu_irqs_pending(&irqs, 1));
}

/* Interrupts are enabled as QEMU does it: first without any descriptor, then vector by vector. */
static void test_pending_until_attached(void **state)
{
	(void)state;
	assert_int_equal(set(EVENTFD, MSIX, 0, 1, 0), 0);
	vfu_irqs_raise(&irqs, 2);
	vfu_irqs_raise(&irqs, 2);
	assert_true(vfu_irqs_pending(&irqs, 2));
	assert_int_equal(set(EVENTFD, MSIX, 3, 1, 1), 0);
	assert_true(vfu_irqs_pending(&irqs, 2));
	assert_int_equal(set(EVENTFD, MSIX, 2, 1, 1), 0);
	assert_int_equal(taken(2), 1);
	assert_int_equal(taken(3), 0);
	assert_false(vfu_irqs_pending(&irqs, 2));
	/* Detach the vector again: an interrupt is pending, and a reset drops it. */
	assert_int_equal(set(EVENTFD, MSIX, 2, 1, 0), 0);
	vfu_irqs_raise(&irqs, 2);
	assert_true(vfu_irqs_pending(&irqs, 2));
	vfu_irqs_forget_pending(&irqs);
	assert_int_equal(set(EVENTFD, MSIX, 2, 1, 1), 0);
	assert_int_equal(taken(2), 0);
}

static void test_bus_master(void **state)
{
	(void)state;
	assert_int_equal(set(EVENTFD, MSIX, 0, VECTORS, VECTORS), 0);
	vfu_irqs_enable(&irqs, false);
	vfu_irqs_raise(&irqs, 0);
	assert_int_equal(taken(0), 0);
	assert_true(vfu_irqs_pending(&irqs, 0));
	vfu_irqs_enable(&irqs, true);
	assert_int_equal(taken(0), 1);
	assert_false(vfu_irqs_pending(&irqs, 0));
}

static void test_msi(void **state)
{
	(void)state;
	assert_int_equal(set(EVENTFD, MSI, 0, 1, 1), 0);
	vfu_irqs_raise(&irqs, 0);
	vfu_irqs_raise(&irqs, 4);
	assert_int_equal(taken(0), 2);
	assert_int_equal(taken(4), 0);
	/* While MSI-X is attached, MSI is not used. */
	assert_int_equal(set(EVENTFD, MSIX, 4, 1, 1), 0);
	vfu_irqs_raise(&irqs, 4);
	assert_int_equal(taken(0), 0);
	assert_int_equal(taken(4), 1);
	assert_int_equal(set(NONE, MSIX, 0, 0, 0), 0);
	vfu_irqs_raise(&irqs, 4);
	assert_int_equal(taken(0), 1);
}

/* The client triggers its own vectors. */
static void test_trigger(void **state)
{
	(void)state;
	assert_int_equal(set(EVENTFD, MSIX, 0, VECTORS, VECTORS), 0);
	assert_int_equal(set(NONE, MSIX, 2, 2, 0), 0);
	assert_int_equal(taken(2) + taken(3), 2);
	assert_int_equal(
		set(VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER, MSIX, 0, VECTORS, 0), 0);
	for (unsigned int i = 0; i < VECTORS; i++)
		assert_int_equal(taken(i), i & 1);
}

static void test_refused(void **state)
{
	int pipes[2], kept[1];
	const struct vfio_irq_set head = {
		.argsz = sizeof(head),
		.flags = EVENTFD,
		.index = MSIX,
		.count = 1,
	};
	const struct vfio_irq_set bools = {
		.argsz = sizeof(bools),
		.index = MSIX,
		.count = 3,
		.flags = VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER,
	};
	static const uint8_t data[2];

	(void)state;
	assert_int_equal(set(EVENTFD, VFIO_PCI_NUM_IRQS, 0, 1, 1), EINVAL);
	assert_int_equal(set(EVENTFD, UINT32_MAX, 0, 1, 1), EINVAL);
	assert_int_equal(set(EVENTFD, VFIO_PCI_INTX_IRQ_INDEX, 0, 1, 1), EINVAL);
	assert_int_equal(set(EVENTFD, MSIX, VECTORS, 1, 1), EINVAL);
	assert_int_equal(set(EVENTFD, MSIX, 1, VECTORS, VECTORS), EINVAL);
	assert_int_equal(set(EVENTFD, MSIX, UINT32_MAX, 2, 2), EINVAL);
	assert_int_equal(set(EVENTFD, MSIX, 1, UINT32_MAX, 1), EINVAL);
	/* A message must have as many descriptors as vectors, or none. */
	assert_int_equal(set(EVENTFD, MSIX, 0, 3, 2), EINVAL);
	assert_int_equal(set(EVENTFD, MSIX, 0, 1, 2), EINVAL);
	assert_int_equal(set(EVENTFD, MSIX, 0, 0, 0), EINVAL);
	assert_int_equal(set(NONE, MSIX, 0, 1, 1), EINVAL);
	/* A message must name exactly one kind of data and one action. */
	assert_int_equal(set(0, MSIX, 0, 1, 1), EINVAL);
	assert_int_equal(set(VFIO_IRQ_SET_DATA_EVENTFD, MSIX, 0, 1, 1), EINVAL);
	assert_int_equal(set(EVENTFD | VFIO_IRQ_SET_DATA_NONE, MSIX, 0, 1, 1), EINVAL);
	assert_int_equal(set(EVENTFD | VFIO_IRQ_SET_ACTION_MASK, MSIX, 0, 1, 1), EINVAL);
	assert_int_equal(set(EVENTFD | 0x40, MSIX, 0, 1, 1), EINVAL);
	assert_int_equal(set(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_MASK, MSIX, 0, 1, 0),
			 ENOTSUP);
	assert_int_equal(vfu_irqs_set(&irqs, &bools, data, sizeof(data), NULL, 0), EINVAL);
	/* A descriptor that is no eventfd is refused, so that nothing is ever written to it. */
	assert_int_equal(pipe(pipes), 0);
	kept[0] = pipes[1];
	assert_int_equal(vfu_irqs_set(&irqs, &head, NULL, 0, kept, 1), EINVAL);
	assert_int_equal(kept[0], pipes[1]);
	close(pipes[0]);
	close(pipes[1]);
	vfu_irqs_raise(&irqs, 0);
	assert_false(vfu_irqs_pending(&irqs, 0));
}

/* An eventfd whose counter is full does not block the device. */
static void test_full_counter(void **state)
{
	(void)state;
	assert_int_equal(set(EVENTFD, MSIX, 1, 1, 1), 0);
	assert_int_equal(eventfd_write(events[1], UINT64_MAX - 1), 0);
	vfu_irqs_raise(&irqs, 1);
	vfu_irqs_raise(&irqs, 1);
	assert_true(taken(1));
	vfu_irqs_raise(&irqs, 1);
	assert_int_equal(taken(1), 1);
}

/*
 * Makes io_setup() fail from now on and ends this process: with status 0 if no function can be
 * created.
 */
static void start_refused(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	const struct vfu_server_config config = bench_config();
	static struct vfu_function function;
	const char *error = "";

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(2);
	_exit(vfu_function_init(&function, &config.function, &error) || !strstr(error, "io_setup"));
}

static void test_without_aio(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child)
		start_refused();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_msix, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pending_until_attached, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bus_master, setup, teardown),
		cmocka_unit_test_setup_teardown(test_msi, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trigger, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_counter, setup, teardown),
		cmocka_unit_test(test_without_aio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
