/* SPDX-License-Identifier: MIT */
/*
 * A vfio-user client for tests. The functions named after commands send well-formed messages,
 * client_send() sends any bytes. A reply that is not the expected one fails the test.
 */
#ifndef TESTS_VFU_CLIENT_H
#define TESTS_VFU_CLIENT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/vfio.h>

#include "vfu/protocol.h"

struct client {
	int fd;
	uint16_t id;
	struct vfu_header reply;
	uint8_t data[VFU_MAX_PAYLOAD]; /* data of the last reply */
	size_t size;
};

/* Connects; the caller sends VERSION. */
void client_open(struct client *c, const char *path);
void client_close(struct client *c);

/* Sends bytes unchanged, with descriptors; returns false when the server has closed its end. */
bool client_send(struct client *c, const void *bytes, size_t size, const int *fds, unsigned int n);
/* Receives the next reply; returns false at the end of the stream. */
bool client_receive(struct client *c);
/* Expects that the server closes the connection without a further reply. */
void client_expect_end(struct client *c);

/* Sends a command and returns the errno in its reply, or 0. The reply's data is in c->data. */
int client_call(struct client *c, uint16_t command, const void *payload, size_t size,
		const int *fds, unsigned int n);

/*
 * The following functions send the commands of their names. They return the errno in the reply, or
 * 0; those that return a structure fail the test on an error.
 */
int client_version(struct client *c);
int client_dma_map(struct client *c, uint64_t address, uint64_t size, int fd, uint64_t offset,
		   uint32_t flags);
int client_dma_unmap(struct client *c, uint64_t address, uint64_t size);
struct vfio_region_info client_region_info(struct client *c, uint32_t index);
struct vfio_irq_info client_irq_info(struct client *c, uint32_t index);
int client_set_irqs(struct client *c, uint32_t flags, uint32_t index, uint32_t start,
		    uint32_t count, const int *fds, unsigned int n);
int client_read(struct client *c, uint32_t region, uint64_t offset, void *data, uint32_t count);
int client_write(struct client *c, uint32_t region, uint64_t offset, const void *data,
		 uint32_t count);

/*
 * client_read32() and client_write32() read and write a register of 4 bytes, the other two one of 2
 * bytes in configuration space. The functions that read return the value. An error reply fails the
 * test.
 */
uint32_t client_read32(struct client *c, uint32_t region, uint64_t offset);
void client_write32(struct client *c, uint32_t region, uint64_t offset, uint32_t value);
uint16_t client_config16(struct client *c, uint32_t offset);
void client_set_config16(struct client *c, uint32_t offset, uint16_t value);

#endif
