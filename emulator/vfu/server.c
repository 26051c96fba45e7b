// SPDX-License-Identifier: MIT
/* The server's loop: accepts a client, serves it, and ends. */
#define _GNU_SOURCE
#include "vfu/server.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most messages that are answered before other descriptors are polled again. */
#define BURST 64
/* Milliseconds until the server tries again to accept or turn away a waiting client. */
#define RETRY_MS 100

void vfu_server_log(const struct vfu_server *server, const char *format, ...)
{
	va_list args;

	if (server->config.quiet)
		return;
	va_start(args, format);
	flockfile(stderr);
	fputs("onpu-emu: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(args);
}

bool vfu_server_init(struct vfu_server *server, const struct vfu_server_config *config,
		     int listening, int stop_fd, const char **error)
{
	memset(server, 0, sizeof(*server));
	server->config = *config;
	server->listening = listening;
	server->stop_fd = stop_fd;
	server->spare = vfu_spare();
	vfu_control_init(&server->control);
	server->command = malloc(VFU_MAX_PAYLOAD);
	server->reply = malloc(VFU_MAX_PAYLOAD);
	*error = "no memory, or no descriptor, for the server";
	if (server->command && server->reply && server->spare >= 0 &&
	    vfu_function_init(&server->function, &config->function, error))
		return true;
	if (server->spare >= 0)
		close(server->spare);
	free(server->command);
	free(server->reply);
	return false;
}

/* Drops the client and all memory and descriptors that it lent. */
static void disconnect(struct vfu_server *server)
{
	vfu_function_release(&server->function);
	vfu_conn_close(&server->conn);
	server->connected = false;
	server->ended |= server->config.once;
}

void vfu_server_destroy(struct vfu_server *server)
{
	if (server->connected)
		disconnect(server);
	if (server->listening >= 0)
		vfu_close(server->listening);
	close(server->spare);
	vfu_function_destroy(&server->function);
	free(server->command);
	free(server->reply);
}

void vfu_server_adopt(struct vfu_server *server, int fd)
{
	vfu_conn_open(&server->conn, fd, server->command, server->config.patience_ms);
	server->connected = true;
}

/* Returns what helps against an error of vfu_accept(), for the end of a message. */
static const char *accept_advice(int error)
{
	if (error == EACCES)
		return "; start it as the user of onpu-emu, or as root";
	if (error == EMFILE)
		return "; raise the limit of onpu-emu (ulimit -n)";
	return error == ENFILE || error == ENOMEM || error == ENOBUFS ? "; end other programs" : "";
}

static void accept_client(struct vfu_server *server)
{
	int fd = vfu_accept(server->listening, &server->spare, &server->paused);

	if (fd < 0) {
		int error = errno;

		/* Report an error once: it may occur again at once, many times. */
		if (error != server->refused)
			vfu_server_log(
				server,
				"a client cannot be accepted, so QEMU does not connect: %s%s",
				strerror(error), accept_advice(error));
		server->refused = error;
		return;
	}
	server->refused = 0;
	if (!server->connected) {
		vfu_server_adopt(server, fd);
		vfu_server_log(server, "client connected: QEMU uses the device");
		return;
	}
	/*
	 * Accept and close, so that the second client sees the end of its stream at once rather
	 * than waiting.
	 */
	vfu_hang_up(fd);
	vfu_server_log(
		server,
		"another client refused: this device has one already, so start another onpu-emu");
}

static void drop_client(struct vfu_server *server)
{
	vfu_server_log(server, "client dropped, as QEMU broke the protocol, hangs or has ended: %s",
		       server->conn.why);
	disconnect(server);
}

static void serve(struct vfu_server *server)
{
	struct vfu_conn *conn = &server->conn;

	for (unsigned int i = 0; i < BURST; i++) {
		switch (vfu_conn_receive(conn)) {
		case VFU_RECEIVE_LATER:
			return;
		case VFU_RECEIVE_GONE:
			vfu_server_log(server, "client gone: QEMU has closed the connection");
			disconnect(server);
			return;
		case VFU_RECEIVE_BROKEN:
			drop_client(server);
			return;
		case VFU_RECEIVE_MESSAGE:
			break;
		}
		if (!vfu_server_handle(server)) {
			drop_client(server);
			return;
		}
		vfu_conn_next(conn);
	}
}

bool vfu_server_poll(struct vfu_server *server, int timeout)
{
	bool paused = server->paused;
	/* poll() ignores negative descriptors. */
	struct pollfd fds[] = {
		{ .fd = server->stop_fd, .events = POLLIN },
		{ .fd = paused ? -1 : server->listening, .events = POLLIN },
		{ .fd = server->connected ? server->conn.fd : -1, .events = POLLIN },
		{ .fd = server->control.in, .events = POLLIN },
	};

	server->paused = false;
	if (paused && (timeout < 0 || timeout > RETRY_MS))
		timeout = RETRY_MS;
	if (vfu_worker_continue(&server->function.worker))
		timeout = 0;
	/* poll() refuses more entries than the process may have descriptors, even unused ones. */
	if (poll(fds, server->control.in >= 0 ? 4 : 3, timeout) <= 0)
		return !server->ended;
	if (fds[0].revents)
		server->ended = true;
	if (fds[3].revents)
		vfu_control_read(&server->control, &server->function.injector);
	if (fds[2].revents)
		serve(server);
	/*
	 * The client has hung up, but its last messages are still to be read. Accept no other
	 * client until then: it would be turned away as a second one.
	 */
	if (server->connected && fds[2].revents & POLLHUP)
		return !server->ended;
	if (fds[1].revents && !server->ended)
		accept_client(server);
	return !server->ended;
}
