// SPDX-License-Identifier: MIT
/*
 * The commands of vfio-user. A handler is called with at least as many bytes as its command's
 * structure has, copies them before it checks them, and returns an errno or fills in the answer.
 */
#include "vfu/server.h"

#include <errno.h>
#include <linux/vfio.h>
#include <string.h>

/* The size in the protocol; later kernels have added members to the structure. */
#define DEVICE_INFO_SIZE (offsetof(struct vfio_device_info, num_irqs) + sizeof(uint32_t))

static int answer(struct vfu_server *server, const void *data, size_t size, size_t *reply_size)
{
	memcpy(server->reply, data, size);
	*reply_size = size;
	return 0;
}

static int do_version(struct vfu_server *server, const uint8_t *in, size_t size, size_t *reply_size)
{
	static const char capabilities[] =
		"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":1048576,"
		"\"max_dma_maps\":32768}}";
	struct vfu_version version;

	_Static_assert(VFU_MAX_FDS == 16 && VFU_MAX_DATA == 1048576 && VFU_MAX_MAPS == 32768,
		       "as told above");
	memcpy(&version, in, sizeof(version));
	if (server->conn.negotiated)
		return EINVAL;
	if (version.major != VFU_MAJOR)
		return ENOTSUP;
	/*
	 * The client's capabilities must end with a NUL, and are not read: they limit commands that
	 * a server sends, and this server sends none.
	 */
	if (size > sizeof(version) && in[size - 1])
		return EINVAL;
	server->conn.negotiated = true;
	version = (struct vfu_version){ VFU_MAJOR, VFU_MINOR };
	memcpy(server->reply, &version, sizeof(version));
	memcpy(server->reply + sizeof(version), capabilities, sizeof(capabilities));
	*reply_size = sizeof(version) + sizeof(capabilities);
	return 0;
}

static int do_dma_map(struct vfu_server *server, const uint8_t *in, size_t size, size_t *reply_size)
{
	struct vfu_conn *conn = &server->conn;
	int fd = conn->num_fds ? conn->fds[0] : -1;
	struct vfu_dma_map map;
	struct vfu_map range;
	bool backed;
	int error;

	(void)size;
	memcpy(&map, in, sizeof(map));
	/* Other flags describe the memory to servers that map it in another way than this one. */
	if (map.argsz < sizeof(map) || conn->num_fds > 1)
		return EINVAL;
	range = (struct vfu_map){
		.address = map.address,
		.size = map.size,
		.readable = map.flags & VFU_DMA_READABLE,
		.writable = map.flags & VFU_DMA_WRITABLE,
	};
	error = vfu_dma_add(&server->function.dma, &range, fd, map.offset, &backed);
	if (!error && fd >= 0 && !backed)
		vfu_server_log(server,
			       "the guest's memory at %#llx is out of the device's reach: "
			       "start QEMU with memory-backend-memfd and share=on",
			       (unsigned long long)map.address);
	*reply_size = 0;
	return error;
}

static int do_dma_unmap(struct vfu_server *server, const uint8_t *in, size_t size,
			size_t *reply_size)
{
	struct vfu_dma *dma = &server->function.dma;
	struct vfu_dma_unmap unmap;
	int error = 0;

	(void)size;
	memcpy(&unmap, in, sizeof(unmap));
	if (unmap.argsz < sizeof(unmap))
		return EINVAL;
	/* This server keeps no bitmap of dirty pages. */
	if (unmap.flags & ~VFU_DMA_UNMAP_ALL)
		return ENOTSUP;
	if (!unmap.flags)
		error = vfu_dma_remove(dma, unmap.address, unmap.size);
	else if (unmap.address || unmap.size)
		error = EINVAL;
	else
		vfu_dma_clear(dma);
	return error ? error : answer(server, &unmap, sizeof(unmap), reply_size);
}

static int do_get_info(struct vfu_server *server, const uint8_t *in, size_t size,
		       size_t *reply_size)
{
	struct vfio_device_info info = {
		.argsz = DEVICE_INFO_SIZE,
		.flags = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
		.num_regions = VFIO_PCI_NUM_REGIONS,
		.num_irqs = VFIO_PCI_NUM_IRQS,
	};
	uint32_t argsz;

	(void)size;
	memcpy(&argsz, in, sizeof(argsz));
	if (argsz < DEVICE_INFO_SIZE)
		return EINVAL;
	return answer(server, &info, DEVICE_INFO_SIZE, reply_size);
}

static int do_get_region_info(struct vfu_server *server, const uint8_t *in, size_t size,
			      size_t *reply_size)
{
	struct vfio_region_info info;
	(void)size;
	memcpy(&info, in, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFIO_PCI_NUM_REGIONS)
		return EINVAL;
	info = (struct vfio_region_info){
		.argsz = sizeof(info),
		.index = info.index,
		.size = vfu_function_region(&server->function, info.index),
	};
	if (info.size)
		info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	return answer(server, &info, sizeof(info), reply_size);
}

static int do_get_irq_info(struct vfu_server *server, const uint8_t *in, size_t size,
			   size_t *reply_size)
{
	struct vfio_irq_info info;
	(void)size;
	memcpy(&info, in, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFIO_PCI_NUM_IRQS)
		return EINVAL;
	/*
	 * Without VFIO_IRQ_INFO_NORESIZE, a client may attach to more vectors without detaching
	 * those that it has.
	 */
	info = (struct vfio_irq_info){
		.argsz = sizeof(info),
		.index = info.index,
		.flags = VFIO_IRQ_INFO_EVENTFD,
		.count = server->function.irqs.sets[info.index].count,
	};
	return answer(server, &info, sizeof(info), reply_size);
}

static int do_set_irqs(struct vfu_server *server, const uint8_t *in, size_t size,
		       size_t *reply_size)
{
	const size_t head_size = sizeof(struct vfio_irq_set);
	struct vfio_irq_set head;

	memcpy(&head, in, head_size);
	if (head.argsz < head_size)
		return EINVAL;
	*reply_size = 0;
	return vfu_irqs_set(&server->function.irqs, &head, in + head_size, size - head_size,
			    server->conn.fds, server->conn.num_fds);
}

static int check_access(struct vfu_server *server, const struct vfu_region_access *access)
{
	uint64_t size = vfu_function_region(&server->function, access->region);

	if (access->count > VFU_MAX_DATA || access->offset > size ||
	    access->count > size - access->offset)
		return EINVAL;
	return 0;
}

static int do_region_read(struct vfu_server *server, const uint8_t *in, size_t size,
			  size_t *reply_size)
{
	struct vfu_region_access access;
	int error;

	(void)size;
	memcpy(&access, in, sizeof(access));
	error = check_access(server, &access);
	if (error)
		return error;
	vfu_function_read(&server->function, access.region, access.offset,
			  server->reply + sizeof(access), access.count);
	memcpy(server->reply, &access, sizeof(access));
	*reply_size = sizeof(access) + access.count;
	return 0;
}

static int do_region_write(struct vfu_server *server, const uint8_t *in, size_t size,
			   size_t *reply_size)
{
	struct vfu_region_access access;
	int error;

	memcpy(&access, in, sizeof(access));
	error = check_access(server, &access);
	if (!error && size - sizeof(access) != access.count)
		error = EINVAL;
	if (error)
		return error;
	vfu_function_write(&server->function, access.region, access.offset, in + sizeof(access),
			   access.count);
	return answer(server, &access, sizeof(access), reply_size);
}

static int do_reset(struct vfu_server *server, const uint8_t *in, size_t size, size_t *reply_size)
{
	(void)in;
	(void)size;
	vfu_function_reset(&server->function);
	*reply_size = 0;
	return 0;
}

struct command {
	int (*handle)(struct vfu_server *server, const uint8_t *in, size_t size,
		      size_t *reply_size);
	size_t size; /* the least payload of the command, in bytes */
};

static const struct command commands[] = {
	[VFU_VERSION] = { do_version, sizeof(struct vfu_version) },
	[VFU_DMA_MAP] = { do_dma_map, sizeof(struct vfu_dma_map) },
	[VFU_DMA_UNMAP] = { do_dma_unmap, sizeof(struct vfu_dma_unmap) },
	[VFU_DEVICE_GET_INFO] = { do_get_info, DEVICE_INFO_SIZE },
	[VFU_DEVICE_GET_REGION_INFO] = { do_get_region_info, sizeof(struct vfio_region_info) },
	[VFU_DEVICE_GET_IRQ_INFO] = { do_get_irq_info, sizeof(struct vfio_irq_info) },
	[VFU_DEVICE_SET_IRQS] = { do_set_irqs, sizeof(struct vfio_irq_set) },
	[VFU_REGION_READ] = { do_region_read, sizeof(struct vfu_region_access) },
	[VFU_REGION_WRITE] = { do_region_write, sizeof(struct vfu_region_access) },
	[VFU_DEVICE_RESET] = { do_reset, 0 },
};

static const struct command *find_command(uint16_t number)
{
	if (number >= sizeof(commands) / sizeof(commands[0]) || !commands[number].handle)
		return NULL;
	return &commands[number];
}

bool vfu_server_handle(struct vfu_server *server)
{
	struct vfu_conn *conn = &server->conn;
	const struct command *command = find_command(conn->header.command);
	size_t size = vfu_conn_payload_size(conn), reply_size = 0;
	bool first = conn->negotiated || conn->header.command == VFU_VERSION;
	int error;

	if (!first || !command)
		error = first ? ENOTSUP : EINVAL;
	else if (size < command->size)
		error = EINVAL;
	else
		error = command->handle(server, conn->payload, size, &reply_size);
	conn->why = "it does not read its replies";
	if (error ? !vfu_conn_error(conn, error) : !vfu_conn_reply(conn, server->reply, reply_size))
		return false;
	conn->why = "its first message is no VERSION that fits";
	return conn->negotiated;
}
