// SPDX-License-Identifier: MIT
/*
 * Messages with descriptors over a unix stream socket.
 *
 * A message is received as header, then payload: one call never takes bytes of two messages, so
 * that descriptors belong to the message with which they came. A header is checked before any of it
 * is used.
 */
#define _GNU_SOURCE
#include "vfu/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "vfu/irq.h"

/*
 * A client can make close() sleep for long, so each descriptor whose close() may sleep has a thread
 * that closes it. When this many threads exist, further descriptors wait until a thread has closed
 * its own.
 */
#define MAX_CLOSERS 64
#define CLOSE_STACK (64 << 10) /* bytes */

static struct {
	pthread_mutex_t lock;
	unsigned int threads;
	int *waiting; /* descriptors that wait for a thread */
	unsigned int count, room;
} closers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *close_main(void *argument)
{
	int fd = (int)(intptr_t)argument;

	while (fd >= 0) {
		close(fd);
		pthread_mutex_lock(&closers.lock);
		fd = closers.count ? closers.waiting[--closers.count] : -1;
		closers.threads -= fd < 0;
		pthread_mutex_unlock(&closers.lock);
	}
	return NULL;
}

/*
 * Leaves a descriptor to the next thread that has closed its own. Returns false when memory is
 * exhausted.
 */
static bool close_later(int fd)
{
	if (closers.count == closers.room) {
		unsigned int room = closers.room ? closers.room * 2 : VFU_MAX_FDS;
		int *waiting = realloc(closers.waiting, room * sizeof(*waiting));

		if (!waiting)
			return false;
		closers.waiting = waiting;
		closers.room = room;
	}
	closers.waiting[closers.count++] = fd;
	return true;
}

/* Closes the descriptor in a thread of its own. Returns false when no thread can be created. */
static bool close_beside(int fd)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool made;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, CLOSE_STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	made = !pthread_create(&thread, &attr, close_main, (void *)(intptr_t)fd);
	pthread_attr_destroy(&attr);
	closers.threads += made;
	return made;
}

/* Returns whether closing the descriptor cannot sleep: memory files and eventfds. */
static bool closes_at_once(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0 || vfu_is_eventfd(fd);
}

void vfu_close(int fd)
{
	bool taken = false;

	if (!closes_at_once(fd)) {
		pthread_mutex_lock(&closers.lock);
		taken = closers.threads < MAX_CLOSERS ? close_beside(fd) : close_later(fd);
		pthread_mutex_unlock(&closers.lock);
	}
	if (!taken)
		close(fd);
}

void vfu_hang_up(int fd)
{
	shutdown(fd, SHUT_RDWR);
	vfu_close(fd);
}

void vfu_conn_open(struct vfu_conn *conn, int fd, uint8_t *payload, unsigned int patience_ms)
{
	memset(conn, 0, sizeof(*conn));
	conn->fd = fd;
	conn->payload = payload;
	conn->patience_ms = patience_ms;
}

void vfu_conn_close(struct vfu_conn *conn)
{
	vfu_conn_next(conn);
	vfu_hang_up(conn->fd);
	conn->fd = -1;
}

void vfu_conn_next(struct vfu_conn *conn)
{
	for (unsigned int i = 0; i < conn->num_fds; i++)
		if (conn->fds[i] >= 0)
			vfu_close(conn->fds[i]);
	conn->num_fds = 0;
	conn->have = 0;
}

size_t vfu_conn_payload_size(const struct vfu_conn *conn)
{
	return conn->header.size - sizeof(conn->header);
}

static enum vfu_receive broken(struct vfu_conn *conn, const char *why)
{
	conn->why = why;
	return VFU_RECEIVE_BROKEN;
}

/* Takes the descriptors of one control message. */
static void take_fds(struct vfu_conn *conn, const struct cmsghdr *cmsg)
{
	size_t size = cmsg->cmsg_len - CMSG_LEN(0);

	memcpy(conn->fds + conn->num_fds, CMSG_DATA(cmsg), size);
	conn->num_fds += (unsigned int)(size / sizeof(int));
}

/*
 * Receives as recv() does, without waiting, and returns the same; returns -1 with EPROTO when more
 * descriptors come than a message may have.
 */
static ssize_t receive(struct vfu_conn *conn, void *to, size_t size)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * VFU_MAX_SENT_FDS)];
	} control;
	struct iovec part = { to, size };
	struct msghdr msg = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	do {
		n = recvmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return n;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
			take_fds(conn, cmsg);
	if (conn->num_fds <= VFU_MAX_FDS && !(msg.msg_flags & MSG_CTRUNC))
		return n;
	errno = EPROTO;
	return -1;
}

/* Returns why a header cannot be from a client; NULL: it is valid. */
static const char *check_header(const struct vfu_header *header)
{
	if (header->size < sizeof(*header) || header->size > sizeof(*header) + VFU_MAX_PAYLOAD)
		return "a message's size is out of range";
	if ((header->flags & VFU_FLAG_TYPE) != VFU_TYPE_COMMAND)
		return "a message is no command";
	if (header->flags & ~(VFU_FLAG_TYPE | VFU_FLAG_NO_REPLY))
		return "a command has flags that only replies have";
	return NULL;
}

enum vfu_receive vfu_conn_receive(struct vfu_conn *conn)
{
	const size_t head = sizeof(conn->header);

	while (conn->have < head || conn->have < conn->header.size) {
		bool in_header = conn->have < head;
		uint8_t *to = in_header ? (uint8_t *)&conn->header + conn->have :
					  conn->payload + (conn->have - head);
		size_t left = (in_header ? head : conn->header.size) - conn->have;
		ssize_t n = receive(conn, to, left);

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return VFU_RECEIVE_LATER;
		if (n < 0 && errno == EPROTO)
			return broken(
				conn,
				"a message of the client has more file descriptors than the 16 "
				"that are allowed, or than onpu-emu may open (ulimit -n)");
		if (n < 0 || (!n && !conn->have))
			return VFU_RECEIVE_GONE;
		if (!n)
			return broken(
				conn,
				"the client closed the connection in the middle of a message");
		conn->have += (size_t)n;
		if (in_header && conn->have == head) {
			const char *why = check_header(&conn->header);

			if (why)
				return broken(conn, why);
		}
	}
	return VFU_RECEIVE_MESSAGE;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static bool wait_for_room(int fd, int64_t until)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	int64_t left = until - now_ms();
	int ready;

	if (left <= 0)
		return false;
	ready = poll(&poll_fd, 1, (int)left);
	return ready > 0 || (ready < 0 && errno == EINTR);
}

/*
 * Sends a reply. Returns false if the client cannot be reached. Header and data go in one call
 * while the socket has room, since some clients expect both in one read.
 */
static bool send_all(const struct vfu_conn *conn, const struct vfu_header *header, const void *data,
		     size_t size)
{
	const int64_t until = now_ms() + conn->patience_ms;
	size_t sent = 0, head = sizeof(*header);

	while (sent < head + size) {
		size_t from = sent < head ? 0 : sent - head;
		struct iovec parts[2];
		struct msghdr msg = { .msg_iov = parts };
		ssize_t n;

		if (sent < head)
			parts[msg.msg_iovlen++] =
				(struct iovec){ (char *)header + sent, head - sent };
		if (size)
			parts[msg.msg_iovlen++] =
				(struct iovec){ (char *)data + from, size - from };
		n = sendmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0)
			sent += (size_t)n;
		else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (!wait_for_room(conn->fd, until))
				return false;
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

static bool answer(struct vfu_conn *conn, uint32_t flags, int error, const void *data, size_t size)
{
	const struct vfu_header header = {
		.id = conn->header.id,
		.command = conn->header.command,
		.size = (uint32_t)(sizeof(header) + size),
		.flags = VFU_TYPE_REPLY | flags,
		.error = (uint32_t)error,
	};

	if (conn->header.flags & VFU_FLAG_NO_REPLY)
		return true;
	return send_all(conn, &header, data, size);
}

bool vfu_conn_reply(struct vfu_conn *conn, const void *data, size_t size)
{
	return answer(conn, 0, 0, data, size);
}

bool vfu_conn_error(struct vfu_conn *conn, int error)
{
	return answer(conn, VFU_FLAG_ERROR, error, NULL, 0);
}

/*
 * Removes a socket that a server has left behind. Returns true if @address can be bound now; false,
 * with errno: a server listens on the socket, the file is of another kind, or the check fails.
 */
static bool remove_stale(const struct sockaddr_un *address)
{
	struct stat st;
	bool dead;
	int fd;

	if (lstat(address->sun_path, &st))
		return errno == ENOENT;
	errno = EADDRINUSE;
	if (!S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	dead = connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
	       errno == ECONNREFUSED;
	close(fd);
	if (dead)
		return !unlink(address->sun_path);
	errno = EADDRINUSE;
	return false;
}

int vfu_listen(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd, ret;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	if (!remove_stale(&address))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	mask = umask(0177);
	ret = bind(fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (!ret && !listen(fd, 4))
		return fd;
	ret = errno;
	close(fd);
	errno = ret;
	return -1;
}

int vfu_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * Accepts the first client that waits and closes its connection, with the help of the spare
 * descriptor; otherwise poll() would report it for ever. Returns whether that worked.
 */
static bool turn_away(int listening, int *spare)
{
	int fd;

	if (*spare >= 0)
		close(*spare);
	fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	*spare = vfu_spare();
	return fd >= 0;
}

int vfu_accept(int listening, int *spare, bool *waits)
{
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	socklen_t size = sizeof(struct ucred);
	struct ucred peer;

	*waits = false;
	if (fd < 0) {
		int error = errno;

		if (error == EMFILE || error == ENFILE)
			*waits = !turn_away(listening, spare);
		else
			*waits = error == ENOBUFS || error == ENOMEM;
		errno = error;
		return -1;
	}
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	    (peer.uid == geteuid() || !peer.uid))
		return fd;
	vfu_hang_up(fd);
	errno = EACCES;
	return -1;
}
