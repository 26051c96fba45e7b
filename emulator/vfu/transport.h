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
 * struct vfu_conn - the connection of one client
 * @fd: the client's socket
 * @patience_ms: how long a reply may stay unread before the client counts as gone
 * @have: bytes of the current message that have come, its header included
 * @header: valid when @have is at least the header's size
 * @payload: the bytes after the header
 * @fds: descriptors that came with the message; a function that takes one writes -1 in its place.
 *	There is room for more than a message may have: the kernel closes those that it cannot
 *	deliver in recvmsg().
 * @num_fds: number of @fds
 * @negotiated: VERSION was answered
 * @why: after VFU_RECEIVE_BROKEN: a message about the error
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
	VFU_RECEIVE_MESSAGE, /* a whole message has come */
	VFU_RECEIVE_LATER,   /* the message is not complete yet */
	VFU_RECEIVE_GONE,    /* the client has closed its end */
	VFU_RECEIVE_BROKEN,  /* the stream cannot be trusted any more */
};

/*
 * Closes a descriptor that a client passed or holds. Another thread closes it if close() may sleep
 * for ever: for a socket until its peer has read (SO_LINGER), for a file until its server answers
 * (FUSE), for a unix socket because of descriptors in messages that nobody received.
 */
void vfu_close(int fd);
/* Ends a connection: its peer sees the end at once, even when close() has to wait. */
void vfu_hang_up(int fd);

/* Takes over the connected socket @fd; @payload must have room for VFU_MAX_PAYLOAD bytes. */
void vfu_conn_open(struct vfu_conn *conn, int fd, uint8_t *payload, unsigned int patience_ms);
void vfu_conn_close(struct vfu_conn *conn);

/* Receives more of the current message, without waiting; returns how far it has come. */
enum vfu_receive vfu_conn_receive(struct vfu_conn *conn);
/* Drops the current message; closes its descriptors that no function took. */
void vfu_conn_next(struct vfu_conn *conn);
size_t vfu_conn_payload_size(const struct vfu_conn *conn);

/*
 * Answer the current message with @size bytes, or with an errno. Wait for a client that does not
 * read, but not for ever. Return false if it cannot be reached.
 */
bool vfu_conn_reply(struct vfu_conn *conn, const void *data, size_t size);
bool vfu_conn_error(struct vfu_conn *conn, int error);

/* Returns a listening socket that only this process's user and root may use; -1 with errno. */
int vfu_listen(const char *path);
/* Returns a spare descriptor for vfu_accept(); -1 with errno. */
int vfu_spare(void);
/*
 * Returns a connection; -1 with errno: no client waits, the client is of another user (EACCES), or
 * descriptors or memory are missing. Without a descriptor the client is turned away with the help
 * of *@spare, but even that fails when the whole system has none. @waits: the client was not turned
 * away, and poll() continues to report it.
 */
int vfu_accept(int listening, int *spare, bool *waits);

#endif
