// SPDX-License-Identifier: MIT
/*
 * The tasks of a kernel driver in full mode: boots the firmware, sends requests to it, invalidates
 * translations, and has the thread that runs the device and serves vector 0.
 */
#include "winsys/sim_full.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/number.h"
#include "winsys/sim_heap.h"

#define BUDGET (UINT64_C(1) << 20)
#define INT_WANTED                                                       \
	(ONPU_INT_STATUS_STATUS__MASK | ONPU_INT_STATUS_RESPONSE__MASK | \
	 ONPU_INT_STATUS_INVALIDATED__MASK)
#define MAX_IMAGE (UINT32_C(1) << 20)

uint32_t full_read(struct full *full, uint32_t offset)
{
	return (uint32_t)onpu_device_mmio_read(full->device, offset, 4);
}

void full_write(struct full *full, uint32_t offset, uint32_t value)
{
	onpu_device_mmio_write(full->device, offset, 4, value);
}

static void write64(struct full *full, uint32_t offset, uint64_t value)
{
	full_write(full, offset, (uint32_t)value);
	full_write(full, offset + 4, (uint32_t)(value >> 32));
}

/* ---- what the device calls */

static void interrupt(void *ctx, unsigned int vector)
{
	struct full *full = ctx;

	pthread_mutex_lock(&full->sync.lock);
	if (!vector)
		full->interrupted = true;
	else if (full->queues[vector - 1])
		full_completed(full->queues[vector - 1]);
	pthread_cond_broadcast(&full->sync.changed);
	pthread_mutex_unlock(&full->sync.lock);
}

static void wake(void *ctx)
{
	struct full *full = ctx;

	pthread_mutex_lock(&full->sync.lock);
	full->kicked = true;
	pthread_cond_signal(&full->sync.wake);
	pthread_mutex_unlock(&full->sync.lock);
}

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct full *full = ctx;

	return full_memory_read(&full->memory, addr, dst, len);
}

static int write_memory(void *ctx, uint64_t addr, const void *src, size_t len)
{
	struct full *full = ctx;

	return full_memory_write(&full->memory, addr, src, len);
}

/* ---- vector 0 */

/*
 * Passes responses to the thread that waits for them. It ignores fault events, because the
 * completion page reports the same faults.
 */
static void take_responses(struct full *full)
{
	while (full_read(full, ONPU_REG_RESPONSE_TAIL) != full->response_head) {
		uint64_t at = full->response_ring + full->response_head % FULL_RING * ONPU_MSG_SIZE;
		union onpu_msg m;

		memcpy(&m, full_memory_at(&full->memory, at), sizeof(m));
		full_write(full, ONPU_REG_RESPONSE_HEAD, ++full->response_head);
		if (m.header.type == ONPU_MSG_EVENT_FAULT)
			continue;
		pthread_mutex_lock(&full->sync.lock);
		full->answer = m;
		full->answered = true;
		pthread_cond_broadcast(&full->sync.changed);
		pthread_mutex_unlock(&full->sync.lock);
	}
}

static void look_at_status(struct full *full)
{
	uint32_t status = full_read(full, ONPU_REG_STATUS);
	uint32_t state = (status & ONPU_STATUS_STATE__MASK) >> ONPU_STATUS_STATE__SHIFT;

	pthread_mutex_lock(&full->sync.lock);
	full->status = status;
	full->sync.lost = state == ONPU_STATE_FAILED || state == ONPU_STATE_HALTED;
	pthread_cond_broadcast(&full->sync.changed);
	pthread_mutex_unlock(&full->sync.lock);
}

static void serve_interrupt(struct full *full)
{
	uint32_t causes;
	bool pending;

	pthread_mutex_lock(&full->sync.lock);
	pending = full->interrupted;
	full->interrupted = false;
	pthread_mutex_unlock(&full->sync.lock);
	if (!pending)
		return;
	causes = full_read(full, ONPU_REG_INT_STATUS);
	full_write(full, ONPU_REG_INT_STATUS, causes);
	if (causes & ONPU_INT_STATUS_STATUS__MASK)
		look_at_status(full);
	if (causes & ONPU_INT_STATUS_RESPONSE__MASK)
		take_responses(full);
	if (causes & ONPU_INT_STATUS_INVALIDATED__MASK) {
		uint32_t done = full_read(full, ONPU_REG_INV_DONE);

		pthread_mutex_lock(&full->sync.lock);
		full->inv_done = done;
		pthread_cond_broadcast(&full->sync.changed);
		pthread_mutex_unlock(&full->sync.lock);
	}
}

/*
 * Waits while the device is idle, until somebody accesses it. Returns false when the thread has to
 * end.
 */
static bool pause_device(struct full *full, bool idle)
{
	bool stop;

	pthread_mutex_lock(&full->sync.lock);
	while (idle && !full->kicked && !full->interrupted && !full->stop)
		pthread_cond_wait(&full->sync.wake, &full->sync.lock);
	full->kicked = false;
	stop = full->stop;
	pthread_mutex_unlock(&full->sync.lock);
	return !stop;
}

static void *device_main(void *arg)
{
	struct full *full = arg;
	bool idle = false;

	while (pause_device(full, idle)) {
		idle = onpu_device_run(full->device, BUDGET) == ONPU_PROGRESS_IDLE;
		serve_interrupt(full);
		if (full_feed(full))
			idle = false;
	}
	return NULL;
}

/* ---- requests and invalidations */

/* Returns a clause for messages that says what the register STATUS means. */
static const char *state_text(uint32_t status)
{
	static const char *const errors[] = {
		[ONPU_BOOT_ERROR_NONE] = "it does not say why",
		[ONPU_BOOT_ERROR_FETCH] = "the image could not be read",
		[ONPU_BOOT_ERROR_HEADER] = "the file is no firmware image",
		[ONPU_BOOT_ERROR_SIZE] = "the file is cut off, or larger than the device's memory",
		[ONPU_BOOT_ERROR_CRC] = "the file is damaged: its checksum is wrong",
		[ONPU_BOOT_ERROR_ABI] = "the image is for another version of the device",
		[ONPU_BOOT_ERROR_FIRMWARE] = "it stopped with an error of its own",
	};
	uint32_t error = (status & ONPU_STATUS_ERROR__MASK) >> ONPU_STATUS_ERROR__SHIFT;

	switch ((status & ONPU_STATUS_STATE__MASK) >> ONPU_STATUS_STATE__SHIFT) {
	case ONPU_STATE_RESET:
		return "it was reset";
	case ONPU_STATE_BOOTING:
		return "it is still starting";
	case ONPU_STATE_READY:
		return "the device stopped without a word of the firmware";
	case ONPU_STATE_FAILED:
		return error < ARRAY_SIZE(errors) ? errors[error] : "for a reason unknown here";
	case ONPU_STATE_HALTED:
		return "the management core of the device has locked up";
	default:
		return "its state is unknown here";
	}
}

static int lost_error(struct full *full, struct wnn_error *err)
{
	return wnn_error_set(
		err, WNN_UNKNOWN_ERROR,
		"the firmware of the device sim has stopped: %s (status %#x); make a new context, "
		"and please report it",
		state_text(full->status), full->status);
}

static const char *status_name(uint32_t status)
{
	static const char *const names[] = {
		[ONPU_MSG_UNSUPPORTED] = "it does not know this request",
		[ONPU_MSG_INVALID] = "a member is out of range",
		[ONPU_MSG_NOT_FOUND] = "no such object",
		[ONPU_MSG_EXISTS] = "the number is taken",
		[ONPU_MSG_BUSY] = "the object is in use",
		[ONPU_MSG_INTERNAL] = "it has failed",
	};

	return status < ARRAY_SIZE(names) ? names[status] : "for no reason known";
}

int full_request(struct full *full, union onpu_msg *m, struct wnn_error *err)
{
	uint32_t type = m->header.type;
	uint64_t at;
	int ret = 0;

	pthread_mutex_lock(&full->requests);
	m->header.id = ++full->request_id;
	at = full->request_ring + full->request_tail % FULL_RING * ONPU_MSG_SIZE;
	memcpy(full_memory_at(&full->memory, at), m, sizeof(*m));
	full_write(full, ONPU_REG_REQUEST_TAIL, ++full->request_tail);
	pthread_mutex_lock(&full->sync.lock);
	while (!full->answered && !full->sync.lost)
		pthread_cond_wait(&full->sync.changed, &full->sync.lock);
	if (full->answered)
		*m = full->answer;
	else
		ret = lost_error(full, err);
	full->answered = false;
	pthread_mutex_unlock(&full->sync.lock);
	pthread_mutex_unlock(&full->requests);
	if (!ret && m->header.status)
		ret = wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"internal error, please report it: the firmware refused request %u: %s",
			type, status_name(m->header.status));
	return ret;
}

void full_invalidate(struct full *full, uint64_t va, size_t size)
{
	uint32_t name;

	pthread_mutex_lock(&full->invalidations);
	full_write(full, ONPU_REG_INV_ASID, 1);
	full_write(full, ONPU_REG_INV_PAGES, (uint32_t)(size / ONPU_PAGE_SIZE));
	write64(full, ONPU_REG_INV_VA_LO, va);
	name = ++full->inv_request;
	full_write(full, ONPU_REG_INV_REQ, name);
	pthread_mutex_unlock(&full->invalidations);
	pthread_mutex_lock(&full->sync.lock);
	while (!full->sync.lost && (int32_t)(full->inv_done - name) < 0)
		pthread_cond_wait(&full->sync.changed, &full->sync.lock);
	pthread_mutex_unlock(&full->sync.lock);
}

/* ---- start and stop */

static const char *image_path(const struct winsys_sim_config *config)
{
	const char *path = config->firmware;

	if (!path || !*path)
		path = secure_getenv("ONPU_FIRMWARE");
	return path && *path ? path : WNN_FIRMWARE_PATH;
}

static int read_error(const char *path, int why, struct wnn_error *err)
{
	return wnn_error_set(err, WNN_NOT_SUPPORTED,
			     "the device sim in full mode cannot read the firmware's image %s: %s; "
			     "install the package onpu-firmware, or name another image (webnn-run "
			     "--firmware, or the variable ONPU_FIRMWARE)",
			     path, strerror(why));
}

static int load_image(struct full *full, const char *path, uint64_t *bus, uint32_t *size,
		      struct wnn_error *err)
{
	FILE *file = fopen(path, "rb");
	size_t length = 0;
	int why = 0;

	if (!file)
		return read_error(path, errno, err);
	*bus = full_memory_alloc(&full->memory, MAX_IMAGE);
	if (*bus)
		length = fread(full_memory_at(&full->memory, *bus), 1, MAX_IMAGE, file);
	if (ferror(file))
		why = errno;
	fclose(file);
	if (why)
		return read_error(path, why, err);
	*size = (uint32_t)length;
	return *bus ? 0 : wnn_error_nomem(err, "the firmware's image");
}

static int set_rings(struct full *full, struct wnn_error *err)
{
	full->request_ring = full_memory_alloc(&full->memory, FULL_RING * ONPU_MSG_SIZE);
	full->response_ring = full_memory_alloc(&full->memory, FULL_RING * ONPU_MSG_SIZE);
	if (!full->request_ring || !full->response_ring)
		return wnn_error_nomem(err, "message rings");
	write64(full, ONPU_REG_REQUEST_BASE_LO, full->request_ring);
	full_write(full, ONPU_REG_REQUEST_SIZE, FULL_RING);
	write64(full, ONPU_REG_RESPONSE_BASE_LO, full->response_ring);
	full_write(full, ONPU_REG_RESPONSE_SIZE, FULL_RING);
	full_write(full, ONPU_REG_INT_ENABLE, INT_WANTED);
	return 0;
}

static int boot(struct full *full, const char *path, struct wnn_error *err)
{
	uint32_t size = 0, status, state;
	uint64_t bus = 0;

	if (load_image(full, path, &bus, &size, err) || set_rings(full, err))
		return -1;
	write64(full, ONPU_REG_FW_ADDRESS_LO, bus);
	full_write(full, ONPU_REG_FW_SIZE, size);
	full_write(full, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	pthread_mutex_lock(&full->sync.lock);
	while (!full->sync.lost &&
	       (full->status & ONPU_STATUS_STATE__MASK) >> ONPU_STATUS_STATE__SHIFT !=
		       ONPU_STATE_READY)
		pthread_cond_wait(&full->sync.changed, &full->sync.lock);
	status = full->status;
	pthread_mutex_unlock(&full->sync.lock);
	full_memory_free(&full->memory, bus, MAX_IMAGE);
	state = (status & ONPU_STATUS_STATE__MASK) >> ONPU_STATUS_STATE__SHIFT;
	if (state != ONPU_STATE_READY)
		return wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the firmware %s does not start on the device sim: %s (status %#x); "
			"install the package onpu-firmware again, or name another image (webnn-run "
			"--firmware, or the variable ONPU_FIRMWARE)",
			path, state_text(status), status);
	if (full_read(full, ONPU_REG_FW_ABI) >> ONPU_FW_ABI_MAJOR__SHIFT != ONPU_ABI_MAJOR)
		return wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the firmware %s has version %u of the protocol, but this library needs "
			"version %u; install the package onpu-firmware of the library's release, "
			"or name another image (webnn-run --firmware, or the variable "
			"ONPU_FIRMWARE)",
			path, full_read(full, ONPU_REG_FW_ABI) >> ONPU_FW_ABI_MAJOR__SHIFT,
			ONPU_ABI_MAJOR);
	return 0;
}

static struct onpu_device *make_device(struct full *full, const struct winsys_sim_config *config,
				       const char **why)
{
	struct onpu_device_config device = onpu_device_config_default();
	struct onpu_sim_memory memory;
	const struct onpu_host_ops host = {
		.ctx = full,
		.read = read_memory,
		.write = write_memory,
		.interrupt = interrupt,
		.wake = wake,
	};

	sim_configure(&device.sim, config);
	/* The device keeps translations until they are invalidated, so that a missing one shows. */
	device.tlb_sticky = true;
	memory = sim_heap_memory(&full->allocator);
	return onpu_device_create_in(&memory, &device, &host, why);
}

int full_driver_start(struct full *full, const struct winsys_sim_config *config,
		      struct wnn_error *err)
{
	union onpu_msg m = {
		.vm = { .type = ONPU_MSG_VM_CREATE, .asid = 1, .root = full->memory.root }
	};
	const char *why = "";

	full->device = make_device(full, config, &why);
	if (!full->device)
		return wnn_error_set(err, WNN_UNKNOWN_ERROR, "the device sim does not start: %s",
				     why);
	full->started = !pthread_create(&full->thread, NULL, device_main, full);
	if (!full->started)
		return wnn_error_set(err, WNN_UNKNOWN_ERROR, "the device sim does not start: %s",
				     "no thread can be started; end other programs, or raise the "
				     "limits (ulimit -u, ulimit -v)");
	if (boot(full, image_path(config), err))
		return -1;
	return full_request(full, &m, err);
}

void full_driver_stop(struct full *full)
{
	pthread_mutex_lock(&full->sync.lock);
	full->stop = true;
	pthread_cond_signal(&full->sync.wake);
	pthread_mutex_unlock(&full->sync.lock);
	if (full->device)
		onpu_device_stop(full->device);
	if (full->started)
		pthread_join(full->thread, NULL);
	onpu_device_destroy(full->device);
}
