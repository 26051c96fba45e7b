/* SPDX-License-Identifier: MIT */
/* Messages with descriptors over a unix stream socket: one connection, and the listening socket. */
#ifndef ONPU_VFU_TRANSPORT_H
#define ONPU_VFU_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "vfu/protocol.h"

/* The most descriptors that one message may bring: the kernel's limit (unix(7)). */
#define VFU_MAX_SENT_FDS 253

/**
 * struct vfu_conn - one client
 * @fd: its socket
 * @patience_ms: how long a reply may stay unread before the client counts as gone
 * @have: bytes of the current message that came, its header included
 * @header: valid when those are as many as a header has
 * @payload: what follows the header
 * @fds: descriptors that came with the message; who takes one writes -1 in its place. There is
 *	room for more than it may have: what the kernel cannot deliver it closes in recvmsg().
 * @num_fds: how many
 * @negotiated: VERSION was answered
 * @why: after VFU_RECEIVE_BROKEN: what was wrong
 */
struct vfu_conn {
	int fd;
	unsigned int patience_ms;
	size_t have;
	struct vfu_header header;
	uint8_t *payload;
	int fds[VFU_MAX_FDS + VFU_MAX_SENT_FDS];
	unsigned int num_fds;
	bool negotiated;
	const char *why;
};

enum vfu_receive {
	VFU_RECEIVE_MESSAGE, /* a whole message is there */
	VFU_RECEIVE_LATER,   /* nothing more has come yet */
	VFU_RECEIVE_GONE,    /* the client has closed its end */
	VFU_RECEIVE_BROKEN,  /* the stream cannot be trusted any more */
};

/*
 * Close a descriptor that a client passed or holds, in another thread, since close() may sleep for
 * ever: for a socket until its peer has read (SO_LINGER), for a file until its server answers
 * (FUSE), for a unix socket because of descriptors in messages that nobody received.
 */
void vfu_close(int fd);
/* Ends a connection: its peer sees that at once, even when closing has to wait. */
void vfu_hang_up(int fd);

/* Owns @fd from now on; @payload has room for VFU_MAX_PAYLOAD bytes. */
void vfu_conn_open(struct vfu_conn *conn, int fd, uint8_t *payload, unsigned int patience_ms);
void vfu_conn_close(struct vfu_conn *conn);

/* Never waits. */
enum vfu_receive vfu_conn_receive(struct vfu_conn *conn);
/* Forget the current message; descriptors that nobody took are closed. */
void vfu_conn_next(struct vfu_conn *conn);
size_t vfu_conn_payload_size(const struct vfu_conn *conn);

/*
 * Answer the current message: with @size bytes, or with an errno. Waits for a client that does not
 * read, but not for ever; false: it is not to be reached.
 */
bool vfu_conn_reply(struct vfu_conn *conn, const void *data, size_t size);
bool vfu_conn_error(struct vfu_conn *conn, int error);

/* A listening socket that the owner of this process alone may connect to; -1 with errno. */
int vfu_listen(const char *path);
/* A descriptor that is kept for vfu_accept(); -1 with errno. */
int vfu_spare(void);
/*
 * A connection; -1 with errno: none waits, its owner is another user (EACCES), or there is no
 * descriptor or memory for it. Without a descriptor it is turned away with the help of *@spare, but
 * even that fails when the whole system has none. @waits: it has not been turned away, and poll()
 * goes on to report it.
 */
int vfu_accept(int listening, int *spare, bool *waits);

#endif
