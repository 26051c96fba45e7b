// SPDX-License-Identifier: MIT
/*
 * A hostile client sends each kind of wrong stream and command. The next client must be served all
 * the same.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Seconds that are longer than the client waits for a reply. */
#define LINGER 100
/* number of lingering sockets, each with a peer */
#define MANY 100

static struct bench b;

static int setup(void **state)
{
	const struct vfu_server_config config = bench_config();

	(void)state;
	bench_start(&b, &config);
	client_open(&b.client, b.path);
	return 0;
}

/* Checks that the next client is served, and finds the function as after power-on. */
static void expect_service(void)
{
	client_close(&b.client);
	client_open(&b.client, b.path);
	/*
	 * VERSION waits, because the server may see the new client before the end of the old one.
	 */
	assert_int_equal(client_version(&b.client), 0);
	assert_int_equal(client_config16(&b.client, PCI_VENDOR_ID), ONPU_PCI_VENDOR);
	assert_int_equal(client_config16(&b.client, PCI_COMMAND), 0);
}

static int teardown(void **state)
{
	(void)state;
	bench_stop(&b);
	return 0;
}

static void send_header(uint16_t command, uint32_t size, uint32_t flags)
{
	const struct vfu_header header = {
		.id = 1, .command = command, .size = size, .flags = flags
	};

	client_send(&b.client, &header, sizeof(header), NULL, 0);
}

static void test_bad_headers(void **state)
{
	static const struct {
		uint32_t size, flags;
	} bad[] = {
		{ 0, 0 },
		{ 15, 0 },
		{ UINT32_MAX, 0 },
		{ 0x80000000, 0 },
		{ sizeof(struct vfu_header) + VFU_MAX_PAYLOAD + 1, 0 },
		{ 16, VFU_TYPE_REPLY },
		{ 16, 2 },
		{ 16, 0xf },
		{ 16, VFU_FLAG_ERROR },
		{ 16, 0x40 },
		{ 16, 0x80000000 },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (unsigned int negotiated = 0; negotiated < 2; negotiated++) {
			if (negotiated)
				assert_int_equal(client_version(&b.client), 0);
			send_header(VFU_DEVICE_GET_INFO, bad[i].size, bad[i].flags);
			client_expect_end(&b.client);
			client_close(&b.client);
			client_open(&b.client, b.path);
		}
	}
	expect_service();
}

static void test_version_rules(void **state)
{
	struct vfu_version version = { 1, 0 };
	char json[] = "\0\0\0\0{}";

	(void)state;
	/* The first command is not VERSION. */
	assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, NULL, 0), EINVAL);
	client_expect_end(&b.client);
	client_close(&b.client);
	client_open(&b.client, b.path);
	assert_int_equal(client_call(&b.client, VFU_VERSION, &version, sizeof(version), NULL, 0),
			 ENOTSUP);
	client_expect_end(&b.client);
	client_close(&b.client);
	client_open(&b.client, b.path);
	/* The text has no terminating zero. */
	assert_int_equal(client_call(&b.client, VFU_VERSION, json, sizeof(json) - 1, NULL, 0),
			 EINVAL);
	client_expect_end(&b.client);
	client_close(&b.client);
	client_open(&b.client, b.path);
	/* VERSION is sent twice: the first one counts. */
	version.minor = 0;
	version.major = 0;
	assert_int_equal(client_call(&b.client, VFU_VERSION, &version, sizeof(version), NULL, 0),
			 0);
	assert_int_equal(client_version(&b.client), EINVAL);
	assert_int_equal(client_config16(&b.client, PCI_VENDOR_ID), ONPU_PCI_VENDOR);
}

static void test_short_payloads(void **state)
{
	static const struct {
		uint16_t command;
		size_t size;
	} commands[] = {
		{ VFU_VERSION, 4 },
		{ VFU_DMA_MAP, 32 },
		{ VFU_DMA_UNMAP, 24 },
		{ VFU_DEVICE_GET_INFO, 16 },
		{ VFU_DEVICE_GET_REGION_INFO, 32 },
		{ VFU_DEVICE_GET_IRQ_INFO, 16 },
		{ VFU_DEVICE_SET_IRQS, 20 },
		{ VFU_REGION_READ, 16 },
		{ VFU_REGION_WRITE, 16 },
	};
	uint32_t words[8];

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		for (size_t size = 0; size < commands[i].size; size++) {
			memset(words, 0, sizeof(words));
			words[0] = (uint32_t)commands[i].size;
			assert_int_equal(client_call(&b.client, commands[i].command, words, size,
						     NULL, 0),
					 EINVAL);
		}
	}
	/* argsz is too small for the structure. */
	for (unsigned int i = 1; i < 7; i++) {
		memset(words, 0, sizeof(words));
		words[0] = (uint32_t)commands[i].size - 1;
		assert_int_equal(client_call(&b.client, commands[i].command, words, sizeof(words),
					     NULL, 0),
				 EINVAL);
	}
}

static void test_unknown_commands(void **state)
{
	static const uint16_t unknown[] = {
		0,
		VFU_DEVICE_GET_REGION_IO_FDS,
		VFU_DMA_READ,
		VFU_DMA_WRITE,
		VFU_REGION_WRITE_MULTI,
		16,
		17,
		18,
		0x7fff,
		0xffff,
	};
	uint8_t payload[64] = { 64 };

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_int_equal(client_call(&b.client, unknown[i], payload, sizeof(payload), NULL,
					     0),
				 ENOTSUP);
}

static void test_accesses(void **state)
{
	struct vfu_region_access access = { 0, VFIO_PCI_CONFIG_REGION_INDEX, 4 };
	static const uint32_t none[] = { 1, 3, 4, 5, 6, 8, 9, 0x7fffffff, UINT32_MAX };
	uint8_t payload[sizeof(access) + 8] = { 0 };
	uint32_t word;

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	for (unsigned int i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(client_read(&b.client, none[i], 0, &word, 4), EINVAL);
		assert_int_equal(client_write(&b.client, none[i], 0, &word, 4), EINVAL);
	}
	assert_int_equal(client_read(&b.client, access.region, 4093, &word, 4), EINVAL);
	assert_int_equal(client_read(&b.client, access.region, 4097, &word, 0), EINVAL);
	assert_int_equal(client_read(&b.client, access.region, UINT64_MAX - 1, &word, 4), EINVAL);
	assert_int_equal(client_read(&b.client, access.region, UINT64_MAX, &word, 1), EINVAL);
	assert_int_equal(client_write(&b.client, access.region, 4093, &word, 4), EINVAL);
	assert_int_equal(client_write(&b.client, 0, ONPU_BAR0_SIZE - 3, &word, 4), EINVAL);
	access.count = 4097;
	assert_int_equal(client_call(&b.client, VFU_REGION_READ, &access, sizeof(access), NULL, 0),
			 EINVAL);
	access.count = UINT32_MAX;
	assert_int_equal(client_call(&b.client, VFU_REGION_READ, &access, sizeof(access), NULL, 0),
			 EINVAL);
	/* The message has more or less data than its count says. */
	access.count = 4;
	memcpy(payload, &access, sizeof(access));
	for (size_t size = sizeof(access); size <= sizeof(payload); size++) {
		assert_int_equal(client_call(&b.client, VFU_REGION_WRITE, payload, size, NULL, 0),
				 size == sizeof(access) + 4 ? 0 : EINVAL);
	}
}

static void test_info_indices(void **state)
{
	struct vfio_region_info region = { .argsz = sizeof(region) };
	struct vfio_irq_info irq = { .argsz = sizeof(irq) };
	static const uint32_t bad[] = { 9, 10, 0x80000000, UINT32_MAX };

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	for (unsigned int i = 0; i < 4; i++) {
		region.index = bad[i];
		irq.index = bad[i] == 9 ? 5 : bad[i];
		assert_int_equal(client_call(&b.client, VFU_DEVICE_GET_REGION_INFO, &region,
					     sizeof(region), NULL, 0),
				 EINVAL);
		assert_int_equal(client_call(&b.client, VFU_DEVICE_GET_IRQ_INFO, &irq, sizeof(irq),
					     NULL, 0),
				 EINVAL);
	}
}

/* Tests that messages are checked by the rules for maps; test_dma.c tests the rules themselves. */
static void test_maps(void **state)
{
	int fds[2] = { b.memory_fd, b.memory_fd };
	struct vfu_dma_map map = { sizeof(map), 3, 0, 0, 4096 };

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	assert_int_equal(client_dma_map(&b.client, 0, 4096, b.memory_fd, 0, 0), EINVAL);
	assert_int_equal(client_dma_map(&b.client, 0, 4096, b.memory_fd, 0, 4), EINVAL);
	assert_int_equal(client_dma_map(&b.client, 0, 4095, b.memory_fd, 0, 3), EINVAL);
	assert_int_equal(client_dma_map(&b.client, 0, 2 * (uint64_t)RIG_MEMORY, b.memory_fd, 0, 3),
			 EINVAL);
	assert_int_equal(client_dma_map(&b.client, 0, 4096, b.memory_fd, UINT64_MAX - 4095, 3),
			 EINVAL);
	assert_int_equal(client_call(&b.client, VFU_DMA_MAP, &map, sizeof(map), fds, 2), EINVAL);
	/* Memory that is sealed against writing can be lent for reading only. */
	fds[0] = bench_memfd(4096);
	assert_int_equal(fcntl(fds[0], F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_int_equal(client_dma_map(&b.client, 0, 4096, fds[0], 0, 3), EPERM);
	assert_int_equal(client_dma_map(&b.client, 0, 4096, fds[0], 0, 1), 0);
	close(fds[0]);
}

/* The client shrinks the memory after it has lent it: the device gets a bus error. */
static void test_shrinking_memory(void **state)
{
	int fd = memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	/* cmocka has set its own handler after setup(). */
	vfu_dma_handle_sigbus();
	assert_int_equal(client_version(&b.client), 0);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(client_dma_map(&b.client, 0, 1 << 20, fd, 0, 3), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	bench_enable(&b);
	client_write32(&b.client, 0, ONPU_REG_FW_SIZE, 4096);
	client_write32(&b.client, 0, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	assert_int_equal(client_read32(&b.client, 0, ONPU_REG_STATUS),
			 ONPU_STATE_FAILED | ONPU_BOOT_ERROR_FETCH << ONPU_STATUS_ERROR__SHIFT);
	close(fd);
}

/* Descriptors that no command takes, or that are too many, are closed. */
static void test_descriptors(void **state)
{
	const struct vfu_header reset = { .id = 1, .command = VFU_DEVICE_RESET, .size = 16 };
	unsigned int before;
	int fds[40];

	(void)state;
	for (unsigned int i = 0; i < 40; i++)
		fds[i] = b.vectors[0];
	assert_int_equal(client_version(&b.client), 0);
	before = bench_descriptors();
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, fds, 16), 0);
	assert_int_equal(client_set_irqs(&b.client,
					 VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
					 VFIO_PCI_MSIX_IRQ_INDEX, 0, 1, fds, 3),
			 EINVAL);
	assert_int_equal(client_dma_map(&b.client, 1, 4096, b.memory_fd, 0, 3), EINVAL);
	/* Descriptors come with the first byte of a header, and with the last. */
	assert_true(client_send(&b.client, &reset, 1, fds, 8));
	assert_true(client_send(&b.client, (const char *)&reset + 1, 14, NULL, 0));
	assert_true(client_send(&b.client, (const char *)&reset + 15, 1, fds, 8));
	assert_true(client_receive(&b.client));
	assert_int_equal(client_config16(&b.client, PCI_COMMAND), 0);
	bench_expect_descriptors(before);
	/* Too many descriptors come: at once, then over several calls. */
	client_send(&b.client, &reset, sizeof(reset), fds, 17);
	client_expect_end(&b.client);
	expect_service();
	assert_true(client_send(&b.client, &reset, 4, fds, 10));
	client_send(&b.client, (const char *)&reset + 4, 12, fds, 7);
	client_expect_end(&b.client);
	expect_service();
	bench_expect_descriptors(before);
}

/* The eventfd's counter is full, and the client has made the descriptor blocking again. */
static void test_full_counter(void **state)
{
	const uint32_t trigger = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
	eventfd_t count;

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	bench_attach_vectors(&b);
	assert_int_equal(eventfd_write(b.vectors[1], UINT64_MAX - 1), 0);
	assert_int_equal(fcntl(b.vectors[1], F_SETFL, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(client_set_irqs(&b.client, trigger, VFIO_PCI_MSIX_IRQ_INDEX, 0,
						 BENCH_VECTORS, NULL, 0),
				 0);
	assert_int_equal(eventfd_read(b.vectors[0], &count), 0);
	assert_int_equal(count, 3);
	expect_service();
}

/* Returns a socket whose last close() waits for its peer, which does not read. */
static int lingering(int *peer)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const struct linger linger = { .l_onoff = 1, .l_linger = LINGER };
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const char bytes[1 << 16];
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listening, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
	*peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(*peer >= 0);
	close(listening);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	return fd;
}

/*
 * Sends a lingering descriptor: with a message that takes none, among too many, after a message
 * that ends the connection, or as a second client.
 */
static void send_lingering(unsigned int how, int fd, struct client *second)
{
	const struct vfu_header reset = { .id = 1, .command = VFU_DEVICE_RESET, .size = 16 };
	int many[40];

	for (unsigned int i = 0; i < 40; i++)
		many[i] = i < 20 ? b.vectors[0] : fd;
	switch (how) {
	case 0:
		client_send(&b.client, &reset, sizeof(reset), &fd, 1);
		break;
	case 1:
		client_send(&b.client, &reset, sizeof(reset), many, 40);
		break;
	case 2:
		send_header(VFU_DEVICE_RESET, 0, 0);
		client_send(&b.client, &reset, sizeof(reset), &fd, 1);
		break;
	default:
		client_open(second, b.path);
		client_send(second, &reset, sizeof(reset), &fd, 1);
	}
}

/*
 * Takes the lock of the DMA map and sends a request that waits for it: until release_server() gives
 * the lock back, the server sees nothing of what is sent.
 */
static void hold_server(void)
{
	const struct {
		struct vfu_header header;
		struct vfu_dma_unmap unmap;
	} m = {
		.header = { .id = 1, .command = VFU_DMA_UNMAP, .size = sizeof(m) },
		.unmap = { .argsz = sizeof(m.unmap), .size = 4096 },
	};

	pthread_mutex_lock(&b.server.function.dma.lock);
	client_send(&b.client, &m, sizeof(m), NULL, 0);
}

static void release_server(void)
{
	pthread_mutex_unlock(&b.server.function.dma.lock);
	assert_true(client_receive(&b.client));
}

/*
 * The server goes on while it closes descriptors whose close() takes long. This process closes its
 * own copies while the server waits for the lock, so that the server's close() is the last one,
 * which lingers.
 */
static void test_lingering(void **state)
{
	struct client second = { .fd = -1 };
	int peers[4];

	(void)state;
	for (unsigned int how = 0; how < 4; how++) {
		int fd = lingering(&peers[how]);

		assert_int_equal(client_version(&b.client), 0);
		hold_server();
		send_lingering(how, fd, &second);
		close(fd);
		release_server();
		if (second.fd >= 0)
			client_expect_end(&second);
		expect_service();
		client_close(&b.client);
		client_open(&b.client, b.path);
	}
	client_close(&second);
	for (unsigned int how = 0; how < 4; how++)
		close(peers[how]);
}

static unsigned int threads_of_this_process(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;

	assert_non_null(tasks);
	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count - 2;
}

/*
 * There are more lingering descriptors than threads that may close them: clients come and go as
 * before.
 */
static void test_many_lingering(void **state)
{
	const struct vfu_header reset = { .id = 1, .command = VFU_DEVICE_RESET, .size = 16 };
	unsigned int before = threads_of_this_process();
	struct client second = { .fd = -1 };
	int peers[MANY];

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	hold_server();
	for (unsigned int i = 0; i < MANY; i++) {
		int fd = lingering(&peers[i]);

		client_send(&b.client, &reset, sizeof(reset), &fd, 1);
		close(fd);
	}
	release_server();
	for (unsigned int i = 0; i < MANY; i++)
		assert_true(client_receive(&b.client));
	assert_true(threads_of_this_process() > before + 10);
	assert_true(threads_of_this_process() <= before + 64);
	expect_service();
	client_open(&second, b.path);
	client_expect_end(&second);
	client_close(&second);
	for (unsigned int i = 0; i < MANY; i++)
		close(peers[i]);
	/* The threads end when there is nothing left to close. */
	while (threads_of_this_process() > before)
		usleep(1000);
}

/* A message may be sent in several parts. */
static void test_pieces(void **state)
{
	struct {
		struct vfu_header header;
		struct vfu_region_access access;
	} m = {
		.header = { .id = 5, .command = VFU_REGION_READ, .size = sizeof(m) },
		.access = { 0, VFIO_PCI_CONFIG_REGION_INDEX, 4 },
	};
	uint32_t id;

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	for (size_t i = 0; i < sizeof(m); i++) {
		assert_true(client_send(&b.client, (const char *)&m + i, 1, NULL, 0));
		usleep(200);
	}
	assert_true(client_receive(&b.client));
	memcpy(&id, b.client.data + sizeof(m.access), sizeof(id));
	assert_int_equal(id, (uint32_t)ONPU_PCI_DEVICE << 16 | ONPU_PCI_VENDOR);
	/* A connection that ends inside a message is closed. */
	assert_true(client_send(&b.client, &m, 20, NULL, 0));
	expect_service();
}

/*
 * A client sends commands without end and reads no reply: the server gives up, and serves the next
 * client.
 */
static void test_unread_replies(void **state)
{
	struct {
		struct vfu_header header;
		struct vfu_region_access access;
	} m = {
		.header = { .id = 5, .command = VFU_REGION_READ, .size = sizeof(m) },
		.access = { 0, VFIO_PCI_CONFIG_REGION_INDEX, 4096 },
	};
	bool served = true;

	(void)state;
	assert_int_equal(client_version(&b.client), 0);
	for (unsigned int i = 0; served && i < 100000; i++)
		served = client_send(&b.client, &m, sizeof(m), NULL, 0);
	assert_false(served);
	expect_service();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bad_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_version_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_payloads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_commands, setup, teardown),
		cmocka_unit_test_setup_teardown(test_accesses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_info_indices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_maps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shrinking_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_counter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lingering, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_lingering, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unread_replies, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
