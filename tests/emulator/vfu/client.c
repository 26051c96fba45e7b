// SPDX-License-Identifier: MIT
/*
 * Implements client.h, a vfio-user client for tests. It shares only the format of messages with the
 * server.
 */
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Milliseconds that are longer than any reply takes, with sanitizers, too. */
#define PATIENCE_MS  60000
#define MAX_SENT_FDS 64

void client_open(struct client *c, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	c->id = 0;
	assert_true(strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(c->fd >= 0);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

void client_close(struct client *c)
{
	close(c->fd);
	c->fd = -1;
}

bool client_send(struct client *c, const void *bytes, size_t size, const int *fds, unsigned int n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MAX_SENT_FDS)];
	} control;
	struct iovec part = { (void *)bytes, size };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (n) {
		assert_true(n <= MAX_SENT_FDS);
		memset(&control, 0, sizeof(control));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	sent = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
	if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
		return false;
	assert_int_equal(sent, size);
	return true;
}

static bool receive_all(struct client *c, void *to, size_t size)
{
	for (size_t have = 0; have < size;) {
		struct pollfd fd = { .fd = c->fd, .events = POLLIN };
		ssize_t n;

		if (poll(&fd, 1, PATIENCE_MS) != 1)
			fail_msg("the server does not answer");
		n = recv(c->fd, (char *)to + have, size - have, 0);
		if (!n || (n < 0 && errno == ECONNRESET)) {
			assert_int_equal(have, 0);
			return false;
		}
		assert_true(n > 0);
		have += (size_t)n;
	}
	return true;
}

bool client_receive(struct client *c)
{
	if (!receive_all(c, &c->reply, sizeof(c->reply)))
		return false;
	assert_int_equal(c->reply.flags & VFU_FLAG_TYPE, VFU_TYPE_REPLY);
	assert_in_range(c->reply.size, sizeof(c->reply), sizeof(c->reply) + sizeof(c->data));
	c->size = c->reply.size - sizeof(c->reply);
	if (c->size)
		assert_true(receive_all(c, c->data, c->size));
	return true;
}

void client_expect_end(struct client *c)
{
	assert_false(client_receive(c));
}

int client_call(struct client *c, uint16_t command, const void *payload, size_t size,
		const int *fds, unsigned int n)
{
	uint8_t message[sizeof(struct vfu_header) + 4096];
	const struct vfu_header header = {
		.id = ++c->id,
		.command = command,
		.size = (uint32_t)(sizeof(header) + size),
	};

	assert_true(size <= sizeof(message) - sizeof(header));
	memcpy(message, &header, sizeof(header));
	if (size)
		memcpy(message + sizeof(header), payload, size);
	assert_true(client_send(c, message, sizeof(header) + size, fds, n));
	assert_true(client_receive(c));
	assert_int_equal(c->reply.id, header.id);
	assert_int_equal(c->reply.command, command);
	if (!(c->reply.flags & VFU_FLAG_ERROR)) {
		assert_int_equal(c->reply.error, 0);
		return 0;
	}
	assert_int_equal(c->size, 0);
	assert_int_not_equal(c->reply.error, 0);
	return (int)c->reply.error;
}

int client_version(struct client *c)
{
	static const char json[] =
		"\0\0\0\0{\"capabilities\": {\"pgsizes\": 4096, \"max_msg_fds\": 16, "
		"\"max_dma_maps\": 65535, \"max_data_xfer_size\": 1048576}}";

	return client_call(c, VFU_VERSION, json, sizeof(json), NULL, 0);
}

int client_dma_map(struct client *c, uint64_t address, uint64_t size, int fd, uint64_t offset,
		   uint32_t flags)
{
	const struct vfu_dma_map map = { sizeof(map), flags, offset, address, size };

	return client_call(c, VFU_DMA_MAP, &map, sizeof(map), &fd, fd >= 0);
}

int client_dma_unmap(struct client *c, uint64_t address, uint64_t size)
{
	const struct vfu_dma_unmap unmap = { sizeof(unmap), 0, address, size };

	return client_call(c, VFU_DMA_UNMAP, &unmap, sizeof(unmap), NULL, 0);
}

struct vfio_region_info client_region_info(struct client *c, uint32_t index)
{
	struct vfio_region_info info = { .argsz = sizeof(info), .index = index };

	assert_int_equal(client_call(c, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), NULL, 0),
			 0);
	assert_int_equal(c->size, sizeof(info));
	memcpy(&info, c->data, sizeof(info));
	return info;
}

struct vfio_irq_info client_irq_info(struct client *c, uint32_t index)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = index };

	assert_int_equal(client_call(c, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info), NULL, 0), 0);
	assert_int_equal(c->size, sizeof(info));
	memcpy(&info, c->data, sizeof(info));
	return info;
}

int client_set_irqs(struct client *c, uint32_t flags, uint32_t index, uint32_t start,
		    uint32_t count, const int *fds, unsigned int n)
{
	const struct vfio_irq_set set = {
		.argsz = sizeof(set),
		.flags = flags,
		.index = index,
		.start = start,
		.count = count,
	};

	return client_call(c, VFU_DEVICE_SET_IRQS, &set, sizeof(set), fds, n);
}

int client_read(struct client *c, uint32_t region, uint64_t offset, void *data, uint32_t count)
{
	const struct vfu_region_access access = { offset, region, count };
	int error = client_call(c, VFU_REGION_READ, &access, sizeof(access), NULL, 0);

	if (error)
		return error;
	assert_int_equal(c->size, sizeof(access) + count);
	assert_memory_equal(c->data, &access, sizeof(access));
	memcpy(data, c->data + sizeof(access), count);
	return 0;
}

int client_write(struct client *c, uint32_t region, uint64_t offset, const void *data,
		 uint32_t count)
{
	uint8_t payload[sizeof(struct vfu_region_access) + 64];
	const struct vfu_region_access access = { offset, region, count };
	int error;

	assert_true(count <= 64);
	memcpy(payload, &access, sizeof(access));
	memcpy(payload + sizeof(access), data, count);
	error = client_call(c, VFU_REGION_WRITE, payload, sizeof(access) + count, NULL, 0);
	if (!error)
		assert_int_equal(c->size, sizeof(access));
	return error;
}

uint32_t client_read32(struct client *c, uint32_t region, uint64_t offset)
{
	uint32_t value;

	assert_int_equal(client_read(c, region, offset, &value, sizeof(value)), 0);
	return value;
}

void client_write32(struct client *c, uint32_t region, uint64_t offset, uint32_t value)
{
	assert_int_equal(client_write(c, region, offset, &value, sizeof(value)), 0);
}

uint16_t client_config16(struct client *c, uint32_t offset)
{
	uint16_t value;

	assert_int_equal(
		client_read(c, VFIO_PCI_CONFIG_REGION_INDEX, offset, &value, sizeof(value)), 0);
	return value;
}

void client_set_config16(struct client *c, uint32_t offset, uint16_t value)
{
	assert_int_equal(
		client_write(c, VFIO_PCI_CONFIG_REGION_INDEX, offset, &value, sizeof(value)), 0);
}
