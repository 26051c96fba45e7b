// SPDX-License-Identifier: MIT
/*
 * Maps and synchronises dma-bufs, and merges, polls and exports sync files, by the ioctls that all
 * drivers share.
 */
#include "util/dmabuf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* For headers of the kernel that are older than Linux 6.0. */
#ifndef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
struct dma_buf_export_sync_file {
	__u32 flags;
	__s32 fd;
};
#define DMA_BUF_IOCTL_EXPORT_SYNC_FILE _IOWR(DMA_BUF_BASE, 2, struct dma_buf_export_sync_file)
#endif

/* Milliseconds between two checks whether a wait was cancelled. */
#define LOOK_MS 20

static int do_ioctl(int fd, unsigned long request, void *argument)
{
	int ret;

	do
		ret = ioctl(fd, request, argument);
	while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret;
}

int wnn_file_copy(int fd, struct wnn_error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		wnn_error_set(
			err, errno == EBADF || errno == EINVAL ? WNN_TYPE_ERROR : WNN_UNKNOWN_ERROR,
			"the file descriptor %d of a dma-buf or sync file cannot be duplicated: "
			"%s; give an open one, or raise ulimit -n",
			fd, strerror(errno));
	return copy;
}

/* ---- dma-bufs */

static int sync_access(int fd, unsigned long long flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return do_ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
}

/* Maps the dma-buf of the descriptor in *buffer. Returns 0 or -1. */
static int map_buffer(struct wnn_dmabuf *buffer, struct wnn_error *err)
{
	off_t size = lseek(buffer->fd, 0, SEEK_END);
	int protection = PROT_READ | PROT_WRITE;

	if (size < 0)
		return wnn_error_set(err, WNN_UNKNOWN_ERROR,
				     "internal error, please report it: the kernel does not tell "
				     "the size of the dma-buf: %s",
				     strerror(errno));
	if (!size)
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"the dma-buf has 0 bytes, so it has no room for a tensor: make it as large "
			"as the tensor");
	buffer->size = (size_t)size;
	buffer->map = mmap(NULL, buffer->size, protection, MAP_SHARED, buffer->fd, 0);
	if (buffer->map == MAP_FAILED && errno == EACCES) {
		buffer->read_only = true;
		buffer->map = mmap(NULL, buffer->size, PROT_READ, MAP_SHARED, buffer->fd, 0);
	}
	if (buffer->map != MAP_FAILED)
		return 0;
	buffer->map = NULL;
	return wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"the processor cannot map the dma-buf of %zu bytes: %s; if memory has run out, use "
		"a smaller tensor or raise ulimit -v, else use memory that the processor can reach",
		buffer->size, strerror(errno));
}

/* Fills in *buffer for a descriptor, which it takes over in any case. Returns 0 or -1. */
static int adopt(struct wnn_dmabuf *buffer, int fd, struct wnn_error *err)
{
	*buffer = (struct wnn_dmabuf){ .fd = fd };
	if (!map_buffer(buffer, err))
		return 0;
	close(fd);
	*buffer = (struct wnn_dmabuf){ .fd = 0 };
	return -1;
}

int wnn_dmabuf_open(struct wnn_dmabuf *buffer, int fd, struct wnn_error *err)
{
	int copy = wnn_file_copy(fd, err), why;

	memset(buffer, 0, sizeof(*buffer));
	if (copy < 0)
		return -1;
	/* Only a dma-buf has this ioctl; it fails for other files. */
	if (sync_access(copy, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ)) {
		why = errno;
		close(copy);
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"the file descriptor %d is not that of a dma-buf that the processor can "
			"read: %s; give one that a driver or udmabuf has exported",
			fd, strerror(why));
	}
	sync_access(copy, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
	return adopt(buffer, copy, err);
}

/* Returns a memory file that cannot shrink, as udmabuf demands; -1 with errno. */
static int sealed_memory(size_t size)
{
	int fd = memfd_create("webnn-tensor", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	int why;

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t)size) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* Returns the descriptor of a new dma-buf; -1 with *err. */
static int make_udmabuf(size_t size, struct wnn_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC };
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memory, made, why;

	if (node < 0) {
		wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the devices cpu and sim, or an NPU that is lost, share memory or a fence "
			"by /dev/udmabuf, which does not open: %s; load the module udmabuf, give "
			"this user access to the file, or close other files",
			strerror(errno));
		return -1;
	}
	create.size = (size + page - 1) / page * page;
	memory = sealed_memory(create.size);
	create.memfd = (__u32)memory;
	made = memory < 0 ? -1 : do_ioctl(node, UDMABUF_CREATE, &create);
	why = errno;
	close(node);
	if (memory >= 0)
		close(memory);
	if (made < 0)
		wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"udmabuf cannot make a dma-buf of %zu bytes: %s; use a smaller tensor, "
			"close files, or end other programs",
			size,
			why == EINVAL ? "it is more than the parameter size_limit_mb of the "
					"module udmabuf allows" :
					strerror(why));
	return made;
}

int wnn_dmabuf_create(struct wnn_dmabuf *buffer, size_t size, struct wnn_error *err)
{
	int fd = make_udmabuf(size, err);

	memset(buffer, 0, sizeof(*buffer));
	return fd < 0 ? -1 : adopt(buffer, fd, err);
}

void wnn_dmabuf_close(struct wnn_dmabuf *buffer)
{
	if (!buffer->map)
		return;
	munmap(buffer->map, buffer->size);
	close(buffer->fd);
	memset(buffer, 0, sizeof(*buffer));
}

static unsigned long long access_flags(bool writes)
{
	return writes ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ;
}

int wnn_dmabuf_begin(const struct wnn_dmabuf *buffer, bool writes, struct wnn_error *err)
{
	if (!sync_access(buffer->fd, DMA_BUF_SYNC_START | access_flags(writes)))
		return 0;
	return wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"the driver that made the dma-buf cannot make it ready for the processor: %s; try "
		"again, and look in dmesg for that driver's reason",
		strerror(errno));
}

void wnn_dmabuf_end(const struct wnn_dmabuf *buffer, bool writes)
{
	sync_access(buffer->fd, DMA_BUF_SYNC_END | access_flags(writes));
}

/* ---- sync files */

int wnn_sync_file_check(int fd, int name, struct wnn_error *err)
{
	struct sync_file_info info = { .num_fences = 0 };

	if (!do_ioctl(fd, SYNC_IOC_FILE_INFO, &info))
		return 0;
	return wnn_error_set(
		err, WNN_TYPE_ERROR,
		"the file descriptor %d is not that of a sync file: %s; give one that a driver or "
		"another library has exported",
		name, strerror(errno));
}

int wnn_sync_file_merge(int one, int other, struct wnn_error *err)
{
	struct sync_merge_data merge = { .name = "webnn", .fd2 = other, .fence = -1 };

	if (!do_ioctl(one, SYNC_IOC_MERGE, &merge)) {
		fcntl(merge.fence, F_SETFD, FD_CLOEXEC);
		return merge.fence;
	}
	wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"the kernel cannot merge the sync files to wait for: %s; close files, or end other "
		"programs",
		strerror(errno));
	return -1;
}

void wnn_sync_file_wait(int fd, bool (*cancelled)(void *userdata), void *userdata)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };
	int ret;

	do
		ret = poll(&file, 1, LOOK_MS);
	while ((!ret || (ret < 0 && (errno == EINTR || errno == EAGAIN))) &&
	       !(cancelled && cancelled(userdata)));
}

/* An unused dma-buf exports a sync file that has already signalled. */
int wnn_sync_file_signalled(struct wnn_error *err)
{
	struct dma_buf_export_sync_file file = { .flags = DMA_BUF_SYNC_RW, .fd = -1 };
	int buffer = make_udmabuf(1, err), ret;

	if (buffer < 0)
		return -1;
	ret = do_ioctl(buffer, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &file);
	if (ret)
		wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the kernel cannot make a sync file: %s; use Linux 6.0 or newer, and close "
			"files or end other programs",
			strerror(errno));
	close(buffer);
	return ret ? -1 : file.fd;
}
