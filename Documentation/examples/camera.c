// SPDX-License-Identifier: MIT
/*
 * Measures the light of frames of a camera, in the memory to which the camera writes them. Another
 * process stands for the camera. It gives its memory as a dma-buf, and writes to a frame again as
 * soon as the fence of the work on that frame has signalled. A real camera does both by its driver.
 *
 *	cc camera.c $(pkg-config --cflags --libs webnn-npu) -o camera
 *	./camera
 */
#define _GNU_SOURCE
#include <argp.h>
#include <err.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <webnn/webnn_npu.h>

#define WIDTH	    64
#define HEIGHT	    64
#define FRAME_BYTES (WIDTH * HEIGHT)
#define FRAMES	    2 /* frames in the memory; the camera writes them by turns */
#define PICTURES    6

struct options {
	const char *device;
};

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	errx(1, "%.*s", (int)error.message.length, error.message.data);
}

static const struct argp_option argp_options[] = {
	{ "device", 'd', "NAME", 0, "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = value;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options, parse_option,
	NULL,	      "Measures the light of frames in another process's memory.",
	NULL,	      NULL,
	NULL
};

/* ---- messages between the processes: a number, and a file descriptor unless that is -1 */

static void send_message(int socket, int number, int fd)
{
	char space[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec data = { &number, sizeof(number) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *head;

	if (fd >= 0) {
		message.msg_control = space;
		message.msg_controllen = sizeof(space);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		err(1, "the other process");
}

/*
 * Receives a number and, if one comes along, a file descriptor; *fd is -1 otherwise. Returns 0 when
 * the other process has ended, else 1.
 */
static int receive_message(int socket, int *number, int *fd)
{
	char space[CMSG_SPACE(sizeof(*fd))];
	struct iovec data = { number, sizeof(*number) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = space,
				  .msg_controllen = sizeof(space) };
	struct cmsghdr *head;

	*fd = -1;
	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof(*number))
		return 0;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), sizeof(*fd));
	return 1;
}

/* ---- the camera */

static int make_memory(unsigned char **map)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC,
					 .size = FRAMES * FRAME_BYTES };
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memory, fd;

	if (node < 0)
		err(1, "/dev/udmabuf");
	memory = memfd_create("camera", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (memory < 0 || ftruncate(memory, (off_t)create.size) ||
	    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK))
		err(1, "the camera's memory");
	*map = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	create.memfd = (unsigned int)memory;
	fd = ioctl(node, UDMABUF_CREATE, &create);
	if (*map == MAP_FAILED || fd < 0)
		err(1, "the camera's dma-buf");
	return fd;
}

/* Writes picture k, in which each row rises from k to k + 63. */
static void take_picture(unsigned char *frame, int k)
{
	for (int i = 0; i < FRAME_BYTES; i++)
		frame[i] = (unsigned char)(k + i % WIDTH);
}

static void run_camera(int socket)
{
	struct pollfd fence = { .events = POLLIN };
	unsigned char *map;
	int frame, memory = make_memory(&map);

	send_message(socket, FRAMES, memory);
	for (int k = 0; k < PICTURES; k++) {
		frame = k % FRAMES;
		/* The process that works on the frame has given a fence. */
		if (k >= FRAMES) {
			if (!receive_message(socket, &frame, &fence.fd))
				return;
			poll(&fence, 1, -1);
			close(fence.fd);
		}
		take_picture(map + frame * FRAME_BYTES, k);
		/* The processor has written it already: no fence. A device would give one. */
		send_message(socket, frame, -1);
	}
}

/* ---- the process that measures */

static WNNContext open_device(WNNInstance instance, const char *name)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;

	device.device = WNN_STR(name ? name : "");
	options.nextInChain = &device.chain;
	check(wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context));
	return context;
}

/* Builds the graph light = mean(frame) and returns it. check() ends the program if this fails. */
static WNNGraph build(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor type = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNNamedOperand light = { WNN_STR("light"), NULL };
	WNNGraph graph;
	WNNOperand x;

	type.dataType = WNNOperandDataType_Uint8;
	type.shape = WNN_UINT32_LIST(HEIGHT, WIDTH);
	x = wnnGraphBuilderInput(b, WNN_STR("frame"), &type);
	x = wnnGraphBuilderCast(b, x, WNNOperandDataType_Float32, NULL);
	light.operand = wnnGraphBuilderReduceMean(b, x, NULL);
	check(wnnGraphBuilderBuildSync(b, 1, &light, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

/*
 * Returns a tensor for frame number @frame. The tensor has no memory of its own, but uses the part
 * of the camera's memory that holds the frame.
 */
static WNNTensor tensor_of(WNNContext context, int memory, int frame)
{
	WNNTensorDescriptor type = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensorDmaBuf piece = WNN_TENSOR_DMA_BUF_INIT;
	WNNTensor tensor;

	piece.fd = memory;
	piece.offset = (uint64_t)frame * FRAME_BYTES;
	type.nextInChain = &piece.chain;
	type.dataType = WNNOperandDataType_Uint8;
	type.shape = WNN_UINT32_LIST(HEIGHT, WIDTH);
	check(wnnContextCreateTensorSync(context, &type, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

static WNNTensor result_tensor(WNNContext context)
{
	WNNTensorDescriptor type = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	type.dataType = WNNOperandDataType_Float32;
	type.readable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &type, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

static void measure(WNNContext context, int socket)
{
	WNNTensor frames[FRAMES], light = result_tensor(context);
	WNNGraph graph = build(context);
	int memory, number;

	if (!receive_message(socket, &number, &memory))
		errx(1, "there is no camera");
	for (int i = 0; i < FRAMES; i++)
		frames[i] = tensor_of(context, memory, i);
	close(memory);
	for (int k = 0, frame, begin; receive_message(socket, &frame, &begin); k++) {
		WNNNamedTensor in = { WNN_STR("frame"), frames[frame] },
			       out = { WNN_STR("light"), light };
		int32_t fence;
		float mean;

		/* A device that writes frames gives a fence: the work waits, not this thread. */
		if (begin >= 0)
			check(wnnContextWaitSyncFile(context, begin));
		check(wnnContextDispatch(context, graph, 1, &in, 1, &out));
		check(wnnContextExportSyncFile(context, WNN_WAIT_FOREVER, &fence));
		if (k + FRAMES < PICTURES)
			send_message(socket, frame, fence);
		close(fence);
		check(wnnContextReadTensorIntoSync(context, light, &mean, sizeof(mean),
						   WNN_WAIT_FOREVER));
		printf("picture %d: %.1f\n", k, (double)mean);
	}
	for (int i = 0; i < FRAMES; i++)
		wnnTensorRelease(frames[i]);
	wnnTensorRelease(light);
	wnnGraphRelease(graph);
}

int main(int argc, char *argv[])
{
	struct options o = { 0 };
	int sockets[2], status;
	WNNInstance instance;
	WNNContext context;
	pid_t camera;

	argp_err_exit_status = 64;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		err(1, "socketpair");
	camera = fork();
	if (camera < 0)
		err(1, "fork");
	if (!camera) {
		close(sockets[0]);
		run_camera(sockets[1]);
		return 0;
	}
	close(sockets[1]);
	instance = wnnCreateInstance(NULL);
	context = open_device(instance, o.device);
	measure(context, sockets[0]);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return waitpid(camera, &status, 0) < 0 || status ? 1 : 0;
}
