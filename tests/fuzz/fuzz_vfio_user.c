// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the vfio-user server behind a socket pair: messages of every kind, well formed or
 * damaged, in several parts, with descriptors of every kind, and clients that leave.
 *
 * The input is moves, each a byte with its operands. A byte before each message says how it is
 * sent. The device runs on the same thread (sync), so that an input always does the same. Every
 * command that wants a reply gets exactly one, of the right length, or the connection ends; a
 * client that leaves must leave nothing behind.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "vfu/server.h"

#define HOW_POSTED  0x01
#define HOW_PIECES  0x02
#define HOW_DAMAGED 0x04
#define HOW_FDS	    0x08 /* the message has more descriptors than it should */

#define MAX_MOVES    64
#define MAX_SENT_FDS 20
#define PAGE	     UINT64_C(4096)
#define MEMORY_PAGES 16

enum move {
	MOVE_RAW,
	MOVE_COMMAND,
	MOVE_MAP,
	MOVE_UNMAP,
	MOVE_READ,
	MOVE_WRITE,
	MOVE_IRQS,
	MOVE_INFO,
	MOVE_POKE,
	MOVE_LEAVE,
	MOVE_RUN,
	MOVE_TRUNCATE,
	MOVE_ENABLE,
	MOVE_COUNT
};

/* Kinds of descriptors that a client may pass. */
enum { FD_SEALED, FD_UNSEALED, FD_EVENT, FD_PIPE, FD_READ_ONLY, FD_COUNT };

static struct vfu_server server;
static int fds[FD_COUNT];
static uint8_t *memory;		 /* the memory of FD_SEALED */
static unsigned int descriptors; /* how many are open when no client is connected */

/*
 * The client's end of the stream, the replies that the server still owes, and the next message's
 * id.
 */
static int client = -1;
static unsigned int owed;
static uint16_t next_id;

/*
 * Returns how many descriptors of memory and events are open. Others do not count, such as the
 * pipes of libFuzzer's symbolizer.
 */
static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;
	struct dirent *entry;

	FUZZ_CHECK(dir, "no /proc");
	while ((entry = readdir(dir))) {
		char target[64] = "";

		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0)
			count += strstr(target, "memfd:guest") || strstr(target, "[eventfd]");
	}
	closedir(dir);
	return count;
}

static int make_memfd(int seals, size_t size)
{
	int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	FUZZ_CHECK(fd >= 0 && !ftruncate(fd, (off_t)size), "no memory");
	FUZZ_CHECK(!seals || !fcntl(fd, F_ADD_SEALS, seals), "no seals");
	return fd;
}

static void start(void)
{
	struct vfu_server_config config = {
		.function = { .device = onpu_device_config_default(), .msix = true, .sync = true },
		.quiet = true,
	};
	const char *error = "";
	int pipes[2];

	config.function.device.sim.sram_bytes = 64 << 10;
	config.function.device.sim.num_queues = 4;
	FUZZ_CHECK(vfu_server_init(&server, &config, -1, -1, &error), "no server: %s", error);
	FUZZ_CHECK(!pipe(pipes), "no pipe");
	fds[FD_SEALED] = make_memfd(F_SEAL_SHRINK, MEMORY_PAGES * PAGE);
	fds[FD_UNSEALED] = make_memfd(0, MEMORY_PAGES * PAGE);
	fds[FD_EVENT] = eventfd(0, EFD_CLOEXEC);
	fds[FD_PIPE] = pipes[1];
	fds[FD_READ_ONLY] = make_memfd(F_SEAL_SHRINK | F_SEAL_WRITE, PAGE);
	memory = mmap(NULL, MEMORY_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[FD_SEALED],
		      0);
	FUZZ_CHECK(memory != MAP_FAILED, "no memory");
	descriptors = count_descriptors();
}

/* ---- the connection */

static void leave(void)
{
	close(client);
	client = -1;
	while (server.connected)
		vfu_server_poll(&server, 0);
	FUZZ_CHECK(!server.function.dma.count, "%u maps are left", server.function.dma.count);
	/* The server's threads close the descriptors, which may take a while. */
	for (unsigned int i = 0; count_descriptors() != descriptors; i++) {
		FUZZ_CHECK(i < 100000, "descriptors are left");
		usleep(100);
	}
}

static void connect_client(void)
{
	int pair[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "no sockets");
	client = pair[0];
	owed = 0;
	vfu_server_adopt(&server, pair[1]);
}

/*
 * Reads the replies that have come and checks each; only the end of the connection may cut a reply
 * short.
 */
static void take_replies(void)
{
	static uint8_t replies[4 << 20];
	size_t have = 0, at = 0;
	ssize_t n;

	while ((n = recv(client, replies + have, sizeof(replies) - have, MSG_DONTWAIT)) > 0)
		have += (size_t)n;
	while (have - at >= sizeof(struct vfu_header)) {
		struct vfu_header header;

		memcpy(&header, replies + at, sizeof(header));
		FUZZ_CHECK((header.flags & VFU_FLAG_TYPE) == VFU_TYPE_REPLY, "no reply");
		FUZZ_CHECK(header.size >= sizeof(header) &&
				   header.size <= sizeof(header) + VFU_MAX_PAYLOAD,
			   "size %u", header.size);
		FUZZ_CHECK(!(header.flags & VFU_FLAG_ERROR) || header.size == sizeof(header),
			   "an error with data");
		FUZZ_CHECK(!!(header.flags & VFU_FLAG_ERROR) == !!header.error, "error %u",
			   header.error);
		if (header.size > have - at)
			break;
		FUZZ_CHECK(owed, "a reply to nothing");
		owed--;
		at += header.size;
	}
	FUZZ_CHECK(at == have || !server.connected, "a reply in pieces");
	FUZZ_CHECK(!owed || !server.connected, "%u replies are missing", owed);
}

static void serve(void)
{
	for (unsigned int i = 0; i < 4; i++)
		vfu_server_poll(&server, 0);
}

static void transmit(const uint8_t *bytes, size_t size, const int *sent, unsigned int count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MAX_SENT_FDS)];
	} control = { .bytes = { 0 } };
	struct iovec part = { (void *)bytes, size };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };

	if (!size)
		return;
	if (count) {
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.align), sent, count * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	/* Sending may fail only when the server has closed its end. */
	if (sendmsg(client, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		FUZZ_CHECK(!server.connected, "sending fails: %s", strerror(errno));
}

/* ---- messages */

struct message {
	uint8_t bytes[sizeof(struct vfu_header) + 1024];
	size_t size;
	int fds[MAX_SENT_FDS];
	unsigned int num_fds;
};

static void message_fd(struct message *m, uint8_t which)
{
	if (m->num_fds < MAX_SENT_FDS)
		m->fds[m->num_fds++] = fds[which % FD_COUNT];
}

static void message_start(struct message *m, uint16_t command, const void *payload, size_t size)
{
	const struct vfu_header header = { .id = ++next_id, .command = command };

	m->num_fds = 0;
	memcpy(m->bytes, &header, sizeof(header));
	memcpy(m->bytes + sizeof(header), payload, size);
	m->size = sizeof(header) + size;
}

/* Sends a message. Replies to a damaged one are unknown, so that the connection ends after it. */
static void message_send(struct message *m, struct fuzz_input *in)
{
	uint8_t how = fuzz_u8(in);
	size_t first = how & HOW_PIECES ? (how >> 4) * m->size / 16 : 0;
	struct vfu_header header;

	memcpy(&header, m->bytes, sizeof(header));
	header.size = (uint32_t)m->size;
	if (how & HOW_POSTED)
		header.flags |= VFU_FLAG_NO_REPLY;
	memcpy(m->bytes, &header, sizeof(header));
	for (unsigned int i = how & HOW_FDS ? fuzz_u8(in) % MAX_SENT_FDS : 0; i; i--)
		message_fd(m, (uint8_t)i);
	owed += !(how & HOW_POSTED);
	if (how & HOW_DAMAGED) {
		m->bytes[fuzz_u8(in) % m->size] ^= (uint8_t)(fuzz_u8(in) | 1);
		owed += 64;
	}
	transmit(m->bytes, first, m->fds, first ? m->num_fds : 0);
	if (first)
		serve();
	transmit(m->bytes + first, m->size - first, m->fds, first ? 0 : m->num_fds);
	serve();
	if (how & HOW_DAMAGED) {
		leave();
		connect_client();
	}
	take_replies();
}

static void version(struct fuzz_input *in)
{
	static const char json[] = "\0\0\0\0{\"capabilities\":{}}";
	struct message m;

	message_start(&m, VFU_VERSION, json, sizeof(json));
	message_send(&m, in);
}

/* Sends any bytes: the reply is unknown, and only harm is a finding. */
static void raw(struct fuzz_input *in)
{
	uint8_t bytes[256];
	size_t size = fuzz_u8(in);

	fuzz_bytes(in, bytes, size);
	transmit(bytes, size, fds, fuzz_u8(in) % FD_COUNT);
	serve();
	leave();
	connect_client();
}

static void any_command(struct fuzz_input *in)
{
	uint8_t command = fuzz_u8(in), payload[256] = { 0 };
	size_t size = fuzz_u8(in);
	struct message m;

	fuzz_bytes(in, payload, size);
	message_start(&m, command, payload, size);
	message_send(&m, in);
}

/*
 * Returns the address of one of the pages 0 to 127, so that ranges overlap often, or of one of the
 * last 128 pages of the address space.
 */
static uint64_t address(struct fuzz_input *in)
{
	return (uint64_t)(int64_t)(int8_t)fuzz_u8(in) * PAGE;
}

static void map(struct fuzz_input *in)
{
	struct vfu_dma_map map = { .argsz = sizeof(map) };
	struct message m;
	uint8_t which;

	map.address = address(in);
	map.size = fuzz_u8(in) * PAGE;
	map.offset = address(in);
	which = fuzz_u8(in);
	map.flags = which >> 6;
	message_start(&m, VFU_DMA_MAP, &map, sizeof(map));
	if (which & 0x20)
		message_fd(&m, which & 0x1f);
	message_send(&m, in);
}

static void unmap(struct fuzz_input *in)
{
	struct vfu_dma_unmap unmap = { .argsz = sizeof(unmap) };
	struct message m;

	unmap.address = address(in);
	unmap.size = fuzz_u8(in) * PAGE;
	unmap.flags = unmap.size ? 0 : VFU_DMA_UNMAP_ALL;
	message_start(&m, VFU_DMA_UNMAP, &unmap, sizeof(unmap));
	message_send(&m, in);
}

static struct vfu_region_access access_of(struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in);

	return (struct vfu_region_access){
		.region = kind & 0xf,
		.offset = fuzz_u32(in) & (kind & 0x80 ? UINT32_MAX : 0xfff),
		.count = 1u << (kind >> 4 & 7),
	};
}

static void read_region(struct fuzz_input *in)
{
	struct vfu_region_access access = access_of(in);
	struct message m;

	message_start(&m, VFU_REGION_READ, &access, sizeof(access));
	message_send(&m, in);
}

static void write_region(struct fuzz_input *in)
{
	uint8_t payload[sizeof(struct vfu_region_access) + 128];
	struct vfu_region_access access = access_of(in);
	struct message m;

	memcpy(payload, &access, sizeof(access));
	fuzz_bytes(in, payload + sizeof(access), access.count);
	message_start(&m, VFU_REGION_WRITE, payload, sizeof(access) + access.count);
	message_send(&m, in);
}

/* Writes COMMAND: memory and bus mastering on, so that BAR0 and DMA work. */
static void enable(struct fuzz_input *in)
{
	const struct {
		struct vfu_region_access access;
		uint16_t value;
	} __attribute__((packed)) payload = {
		{ PCI_COMMAND, VFIO_PCI_CONFIG_REGION_INDEX, 2 },
		PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER,
	};
	struct message m;

	message_start(&m, VFU_REGION_WRITE, &payload, sizeof(payload));
	message_send(&m, in);
}

static void set_irqs(struct fuzz_input *in)
{
	uint8_t payload[sizeof(struct vfio_irq_set) + 16] = { 0 };
	struct vfio_irq_set set = { .argsz = sizeof(set) };
	struct message m;
	uint8_t count;

	set.flags = fuzz_u8(in) & 0x7f;
	set.index = fuzz_u8(in) & 7;
	set.start = (uint32_t)(int32_t)(int8_t)fuzz_u8(in);
	set.count = (uint32_t)(int32_t)(int8_t)fuzz_u8(in);
	count = fuzz_u8(in);
	memcpy(payload, &set, sizeof(set));
	fuzz_bytes(in, payload + sizeof(set), count >> 4);
	message_start(&m, VFU_DEVICE_SET_IRQS, payload, sizeof(set) + (count >> 4));
	for (unsigned int i = 0; i < (count & 7); i++)
		message_fd(&m, count & 8 ? (uint8_t)i : FD_EVENT);
	message_send(&m, in);
}

static void info(struct fuzz_input *in)
{
	static const uint8_t commands[] = {
		VFU_DEVICE_GET_INFO,
		VFU_DEVICE_GET_REGION_INFO,
		VFU_DEVICE_GET_IRQ_INFO,
		VFU_DEVICE_RESET,
	};
	uint32_t payload[8] = { 32 };
	uint8_t which = fuzz_u8(in);
	struct message m;

	payload[2] = which >> 2;
	message_start(&m, commands[which & 3], payload, sizeof(payload));
	message_send(&m, in);
}

static void truncate_memory(struct fuzz_input *in)
{
	FUZZ_CHECK(!ftruncate(fds[FD_UNSEALED], (off_t)((fuzz_u8(in) & 31) * PAGE)), "no size");
}

static void make_move(struct fuzz_input *in)
{
	uint8_t move = fuzz_u8(in) % MOVE_COUNT;
	uint64_t at;

	switch ((enum move)move) {
	case MOVE_RAW:
		raw(in);
		break;
	case MOVE_COMMAND:
		any_command(in);
		break;
	case MOVE_MAP:
		map(in);
		break;
	case MOVE_UNMAP:
		unmap(in);
		break;
	case MOVE_READ:
		read_region(in);
		break;
	case MOVE_WRITE:
		write_region(in);
		break;
	case MOVE_IRQS:
		set_irqs(in);
		break;
	case MOVE_INFO:
		info(in);
		break;
	case MOVE_POKE:
		at = fuzz_u16(in);
		fuzz_bytes(in, memory + at % (MEMORY_PAGES * PAGE - 16), 16);
		break;
	case MOVE_LEAVE:
		leave();
		connect_client();
		version(in);
		break;
	case MOVE_RUN:
		serve();
		break;
	case MOVE_TRUNCATE:
		truncate_memory(in);
		break;
	case MOVE_ENABLE:
		enable(in);
		break;
	case MOVE_COUNT:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (!memory)
		start();
	memset(memory, 0, MEMORY_PAGES * PAGE);
	next_id = 0;
	connect_client();
	version(&in);
	for (unsigned int i = 0; in.left && i < MAX_MOVES; i++) {
		/* The server has ended the connection, so a new client connects. */
		if (!server.connected) {
			leave();
			connect_client();
			version(&in);
		}
		make_move(&in);
	}
	leave();
	return 0;
}
