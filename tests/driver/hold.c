// SPDX-License-Identifier: MIT
/*
 * Holds resources of the device while the device is removed, for guest_dma.py: hold NODE keeps
 * buffers, one of them imported, and a context, until its standard input ends, and then checks
 * their contents; hold NODE churn creates and frees such resources and their file until the device
 * is gone. The exit status is 0 if all was right.
 */
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#define BYTES 16384u
/* The size of a buffer that is hardly ever contiguous in memory. */
#define LARGE (2u << 20)

/* Returns a dma-buf of memory, and sets *@map to a mapping of that memory. */
static int export_memory(uint8_t **map)
{
	struct udmabuf_create create = { .size = BYTES, .flags = UDMABUF_FLAGS_CLOEXEC };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memory, file;

	must(device >= 0);
	memory = memfd_create("onpu-test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	must(!ftruncate(memory, BYTES) && !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK));
	*map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	must(*map != MAP_FAILED);
	create.memfd = (uint32_t)memory;
	file = ioctl(device, UDMABUF_CREATE, &create);
	must(file >= 0);
	close(memory);
	close(device);
	return file;
}

static void hold(const char *node)
{
	int fd = npu_open_node(node), file;
	struct npu_bo own = npu_bo(fd, BYTES, 0);
	struct npu_bo large = npu_bo(fd, LARGE, 0);
	struct npu_ctx ctx = npu_ctx(fd, 0);
	struct drm_onpu_job job = npu_fill(fd, own.va, BYTES, 0x11);
	uint32_t handle;
	uint8_t *map;
	char byte;

	file = export_memory(&map);
	must(!drmPrimeFDToHandle(fd, file, &handle));
	npu_bo_info(fd, handle);
	must(!npu_run(fd, ctx.id, &job));
	memset(map, 0x22, BYTES);
	memset(large.map, 0x44, LARGE);
	puts("ready");
	fflush(stdout);
	must(!read(0, &byte, 1));
	/* The device has gone; its memory is still mapped. */
	must(npu_all(own.map, BYTES, 0x11) && npu_all(map, BYTES, 0x22) && ctx.page->seqno == 1);
	must(npu_all(large.map, LARGE, 0x44));
	memset(own.map, 0x33, BYTES);
	must(npu_all(own.map, BYTES, 0x33));
}

static int churn(const char *node)
{
	uint8_t *map;
	int file = export_memory(&map), error = 0;

	while (!error) {
		struct drm_onpu_ctx_create ctx = { 0 };
		int fd = open(node, O_RDWR | O_CLOEXEC);

		if (fd < 0)
			return errno;
		for (int i = 0; i < 16 && !error; i++) {
			struct drm_onpu_bo_create create = { .size = i ? BYTES : LARGE };
			struct drm_onpu_bo_info info = { 0 };

			error = npu_ioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &create);
			if (!error && drmPrimeFDToHandle(fd, file, &info.handle))
				error = errno;
			error = error ? error : npu_ioctl(fd, DRM_IOCTL_ONPU_BO_INFO, &info);
			if (i % 2)
				npu_gem_close(fd, create.handle);
		}
		error = error ? error : npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_CREATE, &ctx);
		close(fd);
	}
	return error;
}

int main(int argc, char **argv)
{
	int error;

	must(argc > 1);
	if (argc == 2) {
		hold(argv[1]);
		return 0;
	}
	error = churn(argv[1]);
	/* open() fails with ENOENT or ENXIO when the device node is gone, too. */
	if (error == ENODEV || error == ENOENT || error == ENXIO)
		return 0;
	fprintf(stderr, "# ended by errno %d\n", error);
	return 1;
}
