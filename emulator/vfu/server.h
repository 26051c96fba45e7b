/* SPDX-License-Identifier: MIT */
/* The vfio-user server: takes clients one after the other and serves the function to them. */
#ifndef ONPU_VFU_SERVER_H
#define ONPU_VFU_SERVER_H

#include "vfu/control.h"
#include "vfu/function.h"
#include "vfu/transport.h"

/**
 * struct vfu_server_config - configuration of a server
 * @function: configuration of the function
 * @patience_ms: how long a client may leave replies unread
 * @once: the server ends when its first client is gone
 * @quiet: print nothing on standard error
 */
struct vfu_server_config {
	struct vfu_function_config function;
	unsigned int patience_ms;
	bool once;
	bool quiet;
};

/**
 * struct vfu_server - one function, at most one client
 * @listening: socket that accepts clients; -1: a client comes only by vfu_server_adopt()
 * @stop_fd: readable when the server shall end; -1: never
 * @spare: descriptor of vfu_spare(), for when a client holds all other descriptors
 * @refused: errno of the last attempt to accept a client; 0: it succeeded
 * @paused: a client waits that could be neither accepted nor turned away: the next
 *	vfu_server_poll() leaves out @listening
 * @control: reads control lines that ask for faults; at first there is no input
 * @command: bytes after the header of the current message
 * @reply: bytes after the header of its answer
 */
struct vfu_server {
	struct vfu_server_config config;
	struct vfu_function function;
	struct vfu_conn conn;
	bool connected, ended, paused;
	int listening, stop_fd, spare, refused;
	struct vfu_control control;
	uint8_t *command, *reply;
};

/*
 * Creates a server, which owns @listening, not @stop_fd. Returns false after an error; *error then
 * tells why.
 */
bool vfu_server_init(struct vfu_server *server, const struct vfu_server_config *config,
		     int listening, int stop_fd, const char **error);
void vfu_server_destroy(struct vfu_server *server);

/* Takes over a connected socket as the client's. */
void vfu_server_adopt(struct vfu_server *server, int fd);
/*
 * Waits for an event at most @timeout milliseconds, or for ever if it is -1, and handles it.
 * Returns false when the server ends.
 */
bool vfu_server_poll(struct vfu_server *server, int timeout);

/* commands.c: answers the message in server->conn. Returns false if the client must be dropped. */
bool vfu_server_handle(struct vfu_server *server);
void vfu_server_log(const struct vfu_server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
