/* SPDX-License-Identifier: MIT */
/* Functions of the unit tests that act as the driver does, on the fake hardware of fake.h. */
#ifndef TESTS_FIRMWARE_DRIVER_H
#define TESTS_FIRMWARE_DRIVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"

#define DRIVER_VA (UINT64_C(1) << 37)

/*
 * driver_start() starts a firmware, which must become READY. driver_expect_failed() expects that
 * the firmware has failed for the reason @detail.
 */
void driver_start(struct fake *f);
void driver_expect_failed(struct fake *f, uint32_t detail);

/*
 * driver_request() sends the request *m, runs the firmware until it responds, and returns the
 * status; *m is then the response. driver_simple() sends a request of @type whose first two words
 * after the header are @first and @second, and returns the status. Both keep events that come
 * meanwhile, and fail the test when no response comes.
 */
uint32_t driver_request(struct fake *f, union onpu_msg *m);
uint32_t driver_simple(struct fake *f, uint32_t type, uint32_t first, uint32_t second);
/* Return valid requests to create VM @vm, and to create context @id in VM 0. */
union onpu_msg driver_vm_message(uint32_t vm);
union onpu_msg driver_context_message(uint32_t id, enum onpu_priority priority);
/* Makes context 100 + @queue in VM 0 and binds it to @queue, whose jobs are like @jobs. */
void driver_queue(struct fake *f, uint32_t queue, enum onpu_priority priority,
		  struct fake_jobs jobs);
/* driver_queue_of() does the same in VM @vm. Both functions make the VM unless it exists. */
void driver_queue_of(struct fake *f, uint32_t vm, uint32_t queue, enum onpu_priority priority,
		     struct fake_jobs jobs);
/* Queues @count more jobs and rings the doorbell. */
void driver_submit(struct fake *f, uint32_t queue, uint32_t count);
struct onpu_msg_telemetry driver_telemetry(struct fake *f);
/*
 * Takes all messages, which must be events, and stores each in driver_event; returns how many
 * events have come since driver_start().
 */
unsigned int driver_events(struct fake *f);
extern struct onpu_msg_event_fault driver_event[ONPU_MAX_QUEUES];

#endif
