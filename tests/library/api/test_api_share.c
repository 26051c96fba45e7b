// SPDX-License-Identifier: MIT
/*
 * Tests tensors on dma-bufs, and fences as sync files. Tests that need a dma-buf use udmabuf and
 * vgem, and are skipped without them; they also use an NPU if there is one.
 * tests/driver/guest_share.sh has all three.
 */
#include "fixture.h"

#include <drm/drm_mode.h>
#include <drm/vgem_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#define N     16
#define BYTES (N * N * sizeof(float))
/* The size of the dma-bufs here, and the offsets of x and y in them, in bytes. */
#define SIZE 65536u
#define X    4096
#define Y    (4096 * 3 + 64)

/* With ONPU_FIRMWARE, sim runs firmware: see open_context(). */
static const char *const devices[] = { "cpu", "sim", "npu" };
#define DEVICES 3

/* Returns a context on the device, or NULL when the machine has no NPU for "npu". */
static WNNContext try_context(WNNInstance instance, const char *device)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions wanted = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	if (strcmp(device, "npu"))
		return open_context(instance, device);
	options.device = WNN_STR(device);
	wanted.nextInChain = &options.chain;
	if (!wnnInstanceCreateContextSync(instance, &wanted, GENEROUS, &context))
		return context;
	assert_last_error(WNNStatus_NotSupportedError, "npu");
	return NULL;
}

static WNNStatus share(WNNContext context, int fd, uint64_t offset, bool writable,
		       WNNTensor *tensor)
{
	static const uint32_t shape[] = { N, N };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensorDmaBuf dmabuf = WNN_TENSOR_DMA_BUF_INIT;

	dmabuf.fd = fd;
	dmabuf.offset = offset;
	descriptor.nextInChain = &dmabuf.chain;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.readable = true;
	descriptor.writable = writable;
	return wnnContextCreateTensorSync(context, &descriptor, GENEROUS, tensor);
}

static WNNTensor must_share(WNNContext context, int fd, uint64_t offset)
{
	WNNTensor tensor = NULL;

	assert_ok(share(context, fd, offset, true, &tensor));
	assert_non_null(tensor);
	return tensor;
}

/*
 * Returns the descriptor of a new dma-buf, and sets *map to a mapping of its memory that does not
 * go through the dma-buf. Skips the test without udmabuf.
 */
static int make_udmabuf(char **map)
{
	struct udmabuf_create create = { .size = SIZE, .flags = UDMABUF_FLAGS_CLOEXEC };
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memory, fd;

	if (node < 0) {
		print_message("no /dev/udmabuf: %s\n", strerror(errno));
		skip();
	}
	memory = memfd_create("share", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	assert_true(memory >= 0);
	assert_int_equal(ftruncate(memory, SIZE), 0);
	assert_int_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	*map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	assert_ptr_not_equal(*map, MAP_FAILED);
	create.memfd = (uint32_t)memory;
	fd = ioctl(node, UDMABUF_CREATE, &create);
	assert_true(fd >= 0);
	close(memory);
	close(node);
	return fd;
}

static void fill(char *at, int first)
{
	float data[N * N];

	for (int i = 0; i < N * N; i++)
		data[i] = (float)(i - first);
	memcpy(at, data, sizeof(data));
}

/* Checks y = relu(x + 1), where x was written by fill(). */
static void check(const char *at, int first)
{
	float data[N * N];

	memcpy(data, at, sizeof(data));
	for (int i = 0; i < N * N; i++)
		assert_float_equal(data[i], i - first < -1 ? 0 : i - first + 1, 0);
}

/*
 * Waits up to @timeout_ms for a fence; returns whether it has signalled. A fence's file is readable
 * then.
 */
static bool signalled(int fd, int timeout_ms)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	return poll(&file, 1, timeout_ms) == 1 && (file.revents & POLLIN);
}

/* ---- tests without a dma-buf */

static void other_files_are_refused(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	int memory = memfd_create("share", MFD_CLOEXEC);
	WNNTensor tensor = NULL;
	int32_t fd = 4711;

	(void)state;
	assert_int_equal(ftruncate(memory, SIZE), 0);
	assert_failed(
		share(context, memory, 0, true, &tensor), WNNStatus_TypeError,
		"is not that of a dma-buf that the processor can read: Inappropriate ioctl for "
		"device");
	assert_null(tensor);
	assert_failed(share(context, 99999, 0, true, &tensor), WNNStatus_TypeError,
		      "the file descriptor 99999 of a dma-buf or sync file cannot be duplicated: "
		      "Bad file descriptor");
	assert_failed(share(context, -2, 0, true, &tensor), WNNStatus_TypeError,
		      "the file descriptor -2 of a dma-buf or sync file cannot be duplicated");
	assert_failed(share(context, -1, 64, true, &tensor), WNNStatus_TypeError,
		      "offset is 64, but fd is -1");
	assert_failed(wnnContextWaitSyncFile(context, memory), WNNStatus_TypeError,
		      "is not that of a sync file");
	assert_failed(wnnContextWaitSyncFile(context, -1), WNNStatus_TypeError,
		      "the file descriptor -1 of a dma-buf or sync file cannot be duplicated");
	tensor = make_tensor(context, N, N);
	assert_failed(wnnTensorExportDmaBuf(tensor, &fd), WNNStatus_TypeError,
		      "was not made with WNNTensorDmaBuf");
	assert_int_equal(fd, -1);
	assert_failed(wnnTensorExportDmaBuf(tensor, NULL), WNNStatus_TypeError, "fd is NULL");
	assert_failed(wnnContextExportSyncFile(context, 0, NULL), WNNStatus_TypeError,
		      "fd is NULL");
	wnnTensorRelease(tensor);
	wnnContextDestroy(context);
	assert_failed(share(context, -1, 0, true, &tensor), WNNStatus_InvalidStateError, "is lost");
	fd = 4711;
	assert_failed(wnnContextExportSyncFile(context, GENEROUS, &fd), WNNStatus_InvalidStateError,
		      "is lost");
	assert_int_equal(fd, -1);
	close(memory);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

static void other_chains_are_refused(void **state)
{
	static const uint32_t shape[] = { 1 };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensorDmaBuf first = WNN_TENSOR_DMA_BUF_INIT, second = WNN_TENSOR_DMA_BUF_INIT;
	WNNBorrowedConstant loan = WNN_BORROWED_CONSTANT_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor tensor = NULL;

	(void)state;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.nextInChain = &loan.chain;
	assert_failed(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &tensor),
		      WNNStatus_TypeError, "holds an unknown struct of sType 0x10002");
	descriptor.nextInChain = &first.chain;
	first.chain.next = &second.chain;
	assert_failed(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &tensor),
		      WNNStatus_TypeError, "holds a second struct of sType 0x10004");
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/*
 * A device other than an NPU may refuse to make a fence, with an error; otherwise the fence has
 * signalled.
 */
static void a_fence_of_nothing_has_signalled(void **state)
{
	(void)state;
	for (int d = 0; d < DEVICES; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = try_context(instance, devices[d]);
		int32_t fd = -1;

		if (context && !wnnContextExportSyncFile(context, GENEROUS, &fd)) {
			assert_true(signalled(fd, 0));
			assert_ok(wnnContextWaitSyncFile(context, fd));
			assert_ok(wnnContextWaitIdle(context, GENEROUS));
			close(fd);
		} else if (context) {
			assert_last_error(WNNStatus_NotSupportedError,
					  "/dev/udmabuf, which does not open");
			assert_int_equal(fd, -1);
		}
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

/* ---- udmabuf */

static void the_memory_is_the_tensor(WNNContext context, bool dispatch)
{
	float one = 41, read[N * N];
	int32_t exported = -1;
	WNNTensor x, y;
	WNNGraph graph;
	void *data;
	char *map;
	int fd = make_udmabuf(&map);

	x = must_share(context, fd, X);
	y = must_share(context, fd, Y);
	/* The library keeps a duplicate of the descriptor. */
	assert_ok(wnnTensorExportDmaBuf(x, &exported));
	close(fd);
	fill(map + X, 7);
	assert_ok(wnnContextReadTensorIntoSync(context, x, read, sizeof(read), GENEROUS));
	assert_memory_equal(read, map + X, sizeof(read));
	graph = build_add_relu(context, N, N);
	for (int first = 7; dispatch && first < 12; first++) {
		fill(map + X, first);
		assert_ok(dispatch_xy(context, graph, x, y));
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		check(map + Y, first);
	}
	assert_ok(wnnContextMapTensorSync(context, y, WNNMapMode_ReadWrite, GENEROUS, &data));
	memcpy(data, &one, sizeof(one));
	assert_ok(wnnTensorUnmap(y));
	assert_memory_equal(map + Y, &one, sizeof(one));
	memset(read, 0, sizeof(read));
	assert_ok(wnnContextWriteTensor(context, y, read, sizeof(read)));
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	assert_memory_equal(map + Y, read, sizeof(read));
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorDestroy(y);
	assert_failed(wnnTensorExportDmaBuf(y, &exported), WNNStatus_InvalidStateError,
		      "is destroyed");
	wnnTensorRelease(y);
	munmap(map, SIZE);
}

static void udmabufs_are_tensors(void **state)
{
	(void)state;
	for (int d = 0; d < DEVICES; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = try_context(instance, devices[d]);

		/* The second time checks that addresses and handles were freed. */
		for (int i = 0; context && i < 2; i++)
			the_memory_is_the_tensor(context, true);
		print_message("%s: %s\n", devices[d], context ? "shares" : "there is none");
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

static void ranges_are_checked(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_context(instance, "cpu");
	WNNTensor tensor = NULL;
	char *map;
	int fd = make_udmabuf(&map);

	(void)state;
	assert_failed(share(context, fd, 32, true, &tensor), WNNStatus_TypeError,
		      "the offset 32 in the dma-buf is no multiple of 64");
	assert_failed(share(context, fd, SIZE - 960, true, &tensor), WNNStatus_TypeError,
		      "the tensor needs 1024 bytes from offset 64576; the dma-buf has 65536 bytes");
	assert_failed(share(context, fd, UINT64_MAX - 63, true, &tensor), WNNStatus_TypeError,
		      "the dma-buf has 65536 bytes");
	assert_null(tensor);
	tensor = must_share(context, fd, SIZE - BYTES);
	wnnTensorRelease(tensor);
	close(fd);
	munmap(map, SIZE);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

/* The result of one device is the input of another, in the same memory. */
static void between(WNNInstance instance, const char *from, const char *to)
{
	WNNContext a = try_context(instance, from), b = try_context(instance, to);
	float data[N * N], result[N * N];
	WNNTensor x, middle, other, y;
	WNNGraph first, second;
	int32_t fd = -1, fence = -1;

	if (a && b) {
		x = make_tensor(a, N, N);
		middle = must_share(a, -1, 0);
		assert_ok(wnnTensorExportDmaBuf(middle, &fd));
		other = must_share(b, fd, 0);
		close(fd);
		y = make_tensor(b, N, N);
		first = build_add_relu(a, N, N);
		second = build_add_relu(b, N, N);
		fill((char *)data, 3);
		assert_ok(wnnContextWriteTensor(a, x, data, sizeof(data)));
		assert_ok(dispatch_xy(a, first, x, middle));
		assert_ok(wnnContextExportSyncFile(a, GENEROUS, &fence));
		assert_ok(wnnContextWaitSyncFile(b, fence));
		close(fence);
		assert_ok(dispatch_xy(b, second, other, y));
		assert_ok(wnnContextReadTensorIntoSync(b, y, result, sizeof(result), GENEROUS));
		for (int i = 0; i < N * N; i++)
			assert_float_equal(result[i], (i < 2 ? 0 : i - 2) + 1, 0);
		/* The memory outlives the tensor for which it was made. */
		wnnTensorRelease(middle);
		wnnTensorRelease(x);
		wnnGraphRelease(first);
		wnnContextRelease(a);
		a = NULL;
		assert_ok(wnnContextReadTensorIntoSync(b, other, result, sizeof(result), GENEROUS));
		assert_float_equal(result[5], 3, 0);
		wnnTensorRelease(other);
		wnnTensorRelease(y);
		wnnGraphRelease(second);
	}
	wnnContextRelease(a);
	wnnContextRelease(b);
}

static void tensors_are_shared_between_devices(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	char *map;

	(void)state;
	close(make_udmabuf(&map));
	munmap(map, SIZE);
	for (int from = 0; from < DEVICES; from++)
		for (int to = 0; to < DEVICES; to++)
			between(instance, devices[from], devices[to]);
	wnnInstanceRelease(instance);
}

/*
 * Several tensors share one handle of the kernel's driver, which stays as long as one of them does.
 */
static void one_dma_buf_serves_often(void **state)
{
	(void)state;
	for (int d = 0; d < DEVICES; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = try_context(instance, devices[d]);
		WNNTensor own, again, y;
		WNNGraph graph;
		int32_t fd = -1;
		float data[N * N];
		char *map;

		close(make_udmabuf(&map));
		munmap(map, SIZE);
		if (context) {
			own = must_share(context, -1, 0);
			assert_ok(wnnTensorExportDmaBuf(own, &fd));
			again = must_share(context, fd, 0);
			close(fd);
			fill((char *)data, 3);
			assert_ok(wnnContextWriteTensor(context, own, data, sizeof(data)));
			wnnTensorRelease(own);
			y = must_share(context, -1, 0);
			graph = build_add_relu(context, N, N);
			assert_ok(dispatch_xy(context, graph, again, y));
			assert_ok(wnnContextReadTensorIntoSync(context, y, data, sizeof(data),
							       GENEROUS));
			check((char *)data, 3);
			wnnGraphRelease(graph);
			wnnTensorRelease(again);
			wnnTensorRelease(y);
		}
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

/* ---- vgem: fences */

struct vgem {
	int fd, dmabuf;
	uint32_t handle;
	char *map;
};

static int open_vgem(void)
{
	for (int i = 0; i < 16; i++) {
		char path[32];
		drmVersionPtr version;
		bool found;
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		version = drmGetVersion(fd);
		found = version && !strcmp(version->name, "vgem");
		drmFreeVersion(version);
		if (found)
			return fd;
		close(fd);
	}
	return -1;
}

static struct vgem make_vgem(uint32_t flags)
{
	struct drm_mode_create_dumb dumb = { .width = SIZE, .height = 1, .bpp = 8 };
	struct drm_mode_map_dumb offset = { 0 };
	struct vgem vgem = { .fd = open_vgem() };

	if (vgem.fd < 0) {
		print_message("no vgem: modprobe vgem\n");
		skip();
	}
	assert_int_equal(drmIoctl(vgem.fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb), 0);
	vgem.handle = offset.handle = dumb.handle;
	assert_int_equal(drmIoctl(vgem.fd, DRM_IOCTL_MODE_MAP_DUMB, &offset), 0);
	vgem.map =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, vgem.fd, (off_t)offset.offset);
	assert_ptr_not_equal(vgem.map, MAP_FAILED);
	assert_int_equal(
		drmPrimeHandleToFD(vgem.fd, vgem.handle, DRM_CLOEXEC | flags, &vgem.dmabuf), 0);
	return vgem;
}

static void close_vgem(struct vgem *vgem)
{
	munmap(vgem->map, SIZE);
	close(vgem->dmabuf);
	close(vgem->fd);
}

/* Makes vgem begin to write its buffer; returns the number of the fence. */
static uint32_t begin_write(const struct vgem *vgem)
{
	struct drm_vgem_fence_attach attach = { .handle = vgem->handle, .flags = VGEM_FENCE_WRITE };

	assert_int_equal(drmIoctl(vgem->fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach), 0);
	return attach.out_fence;
}

/* Signals the fence and returns true; returns false when the kernel had timed it out before. */
static bool end_write(const struct vgem *vgem, uint32_t fence)
{
	struct drm_vgem_fence_signal signal = { .fence = fence };

	return !drmIoctl(vgem->fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal);
}

/* Returns the descriptor of a sync file for which a reader of the dma-buf has to wait. */
static int fences_of(const struct vgem *vgem)
{
	struct dma_buf_export_sync_file file = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };

	assert_int_equal(ioctl(vgem->dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &file), 0);
	return file.fd;
}

static void short_while(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

/*
 * A device, the camera, writes late: the graph must see what the camera writes last, and the
 * graph's results get a fence, too.
 */
static void late_camera(WNNContext context)
{
	struct vgem vgem = make_vgem(DRM_RDWR), camera = make_vgem(DRM_RDWR);
	struct dma_buf_import_sync_file put = { .flags = DMA_BUF_SYNC_RW };
	WNNGraph graph = build_add_relu(context, N, N);
	WNNTensor x, y = must_share(context, vgem.dmabuf, Y);
	uint32_t fence;
	int32_t file;
	bool in_time;
	int wait;

	x = must_share(context, vgem.dmabuf, X);
	fill(vgem.map + X, 100);
	/*
	 * The camera's fence is on another buffer: on the buffer with x, the kernel would make the
	 * CPU wait for it even without wnnContextWaitSyncFile().
	 */
	fence = begin_write(&camera);
	wait = fences_of(&camera);
	assert_false(signalled(wait, 0));
	assert_ok(wnnContextWaitSyncFile(context, wait));
	close(wait);
	assert_ok(dispatch_xy(context, graph, x, y));
	short_while();
	assert_float_equal(*(float *)(void *)(vgem.map + Y), 0, 0);
	fill(vgem.map + X, 9);
	in_time = end_write(&camera, fence);
	assert_ok(wnnContextExportSyncFile(context, GENEROUS, &file));
	put.fd = file;
	assert_int_equal(ioctl(vgem.dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &put), 0);
	/*
	 * The graph's fence is now on the buffer, so others that use the buffer wait for the
	 * results.
	 */
	assert_true(signalled(vgem.dmabuf, 120000));
	assert_true(signalled(file, 0));
	close(file);
	if (in_time)
		check(vgem.map + Y, 9);
	else
		print_message("the machine is too slow for this test\n");
	assert_ok(wnnContextWaitIdle(context, GENEROUS));
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	close_vgem(&vgem);
	close_vgem(&camera);
}

static void fences_go_both_ways(void **state)
{
	(void)state;
	for (int d = 0; d < DEVICES; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = try_context(instance, devices[d]);

		for (int i = 0; context && i < 2; i++)
			late_camera(context);
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

/* A read waits for two fences, also when the first has signalled and only the second is left. */
static void a_read_waits(void **state)
{
	(void)state;
	for (int d = 0; d < DEVICES; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = try_context(instance, devices[d]);
		struct vgem one = make_vgem(DRM_RDWR), two = make_vgem(DRM_RDWR);
		struct notes *notes = notes_create();
		int wait_one, wait_two;
		uint32_t first, second;
		WNNTensor x;

		if (context) {
			x = make_tensor(context, N, N);
			first = begin_write(&one);
			second = begin_write(&two);
			wait_one = fences_of(&one);
			wait_two = fences_of(&two);
			assert_ok(wnnContextWaitSyncFile(context, wait_one));
			assert_ok(wnnContextWaitSyncFile(context, wait_two));
			wnnContextReadTensor(context, x,
					     note_read(notes, WNNCallbackMode_AllowSpontaneous, 1));
			end_write(&one, first);
			short_while();
			/* If the kernel has timed the second fence out, the read may have ended. */
			if (!signalled(wait_two, 0))
				assert_int_equal(notes_count(notes), 0);
			end_write(&two, second);
			assert_true(notes_wait(notes, 1));
			assert_int_equal(notes_get(notes, 0).status, WNNStatus_Success);
			close(wait_one);
			close(wait_two);
			wnnTensorRelease(x);
		}
		close_vgem(&one);
		close_vgem(&two);
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

/* When the context is destroyed, the library stops waiting for the fence. */
static void destroy_ends_the_waiting(void **state)
{
	(void)state;
	for (int d = 0; d < DEVICES; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = try_context(instance, devices[d]);
		struct vgem vgem = make_vgem(DRM_RDWR);
		uint32_t fence = begin_write(&vgem);
		int wait = fences_of(&vgem);

		if (context) {
			WNNTensor x = make_tensor(context, N, N), y = make_tensor(context, N, N);
			WNNGraph graph = build_add_relu(context, N, N);
			float data[N * N];

			assert_ok(wnnContextWaitSyncFile(context, wait));
			assert_ok(dispatch_xy(context, graph, x, y));
			assert_failed(wnnContextReadTensorIntoSync(context, y, data, sizeof(data),
								   50000000),
				      WNNStatus_TimedOut, "the time is over");
			wnnContextDestroy(context);
			wnnGraphRelease(graph);
			wnnTensorRelease(x);
			wnnTensorRelease(y);
		}
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
		end_write(&vgem, fence);
		close(wait);
		close_vgem(&vgem);
	}
}

static void read_only_memory_is_for_inputs(void **state)
{
	(void)state;
	for (int d = 0; d < DEVICES; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = try_context(instance, devices[d]);
		struct vgem vgem = make_vgem(0);
		WNNTensor x = NULL, y;
		WNNGraph graph;
		float data[N * N];

		if (context) {
			assert_failed(share(context, vgem.dmabuf, X, true, &x), WNNStatus_TypeError,
				      "the file descriptor of the dma-buf is for reading only");
			assert_ok(share(context, vgem.dmabuf, X, false, &x));
			fill(vgem.map + X, 5);
			y = make_tensor(context, N, N);
			graph = build_add_relu(context, N, N);
			assert_failed(
				dispatch_xy(context, graph, y, x), WNNStatus_TypeError,
				"lies in a dma-buf whose file descriptor is for reading only");
			assert_ok(dispatch_xy(context, graph, x, y));
			assert_ok(wnnContextReadTensorIntoSync(context, y, data, sizeof(data),
							       GENEROUS));
			check((char *)data, 5);
			wnnGraphRelease(graph);
			wnnTensorRelease(x);
			wnnTensorRelease(y);
		}
		close_vgem(&vgem);
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

/*
 * A failed dispatch leaves shared memory readable, because other devices may have written it since.
 */
static void a_failed_dispatch_leaves_it_to_others(void **state)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	float data[N * N], *memory;
	WNNTensor from, to, own;
	WNNGraphBuilder builder;
	WNNContext context;
	WNNOperand x;
	WNNGraph graph;
	char *map;
	int fd;

	(void)state;
	fd = make_udmabuf(&map);
	options.device = WNN_STR("cpu");
	options.memoryLimit = 3 * BYTES; /* the tensors, and no intermediate results */
	context = open_context_with(instance, &options);
	builder = wnnContextCreateGraphBuilder(context);
	x = make_input(builder, "x", N, N);
	graph = build_one(builder, "y",
			  wnnGraphBuilderMatmul(builder, wnnGraphBuilderMatmul(builder, x, x, NULL),
						x, NULL));
	from = make_tensor(context, N, N);
	to = must_share(context, fd, Y);
	own = make_tensor(context, N, N);
	assert_ok(dispatch_xy(context, graph, from, own));
	assert_ok(dispatch_xy(context, graph, from, to));
	assert_failed(wnnContextReadTensorIntoSync(context, own, data, sizeof(data), GENEROUS),
		      WNNStatus_UnknownError, "memoryLimit");
	memory = (void *)(map + Y);
	memory[3] = 7;
	assert_ok(wnnContextReadTensorIntoSync(context, to, data, sizeof(data), GENEROUS));
	assert_float_equal(data[3], 7, 0);
	munmap(map, SIZE);
	close(fd);
	wnnGraphBuilderRelease(builder);
	wnnGraphRelease(graph);
	wnnTensorRelease(from);
	wnnTensorRelease(to);
	wnnTensorRelease(own);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(other_chains_are_refused),
		cmocka_unit_test(a_fence_of_nothing_has_signalled),
		cmocka_unit_test(udmabufs_are_tensors),
		cmocka_unit_test(ranges_are_checked),
		cmocka_unit_test(tensors_are_shared_between_devices),
		cmocka_unit_test(one_dma_buf_serves_often),
		cmocka_unit_test(fences_go_both_ways),
		cmocka_unit_test(a_read_waits),
		cmocka_unit_test(destroy_ends_the_waiting),
		cmocka_unit_test(read_only_memory_is_for_inputs),
		cmocka_unit_test(a_failed_dispatch_leaves_it_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
