// SPDX-License-Identifier: MIT
/*
 * Replays a recording. A file is checked as a whole before any of it is used. Then there is one
 * device and one thread: each action of the device is compared with the next event, which gives the
 * data that the device reads; accesses of the host come at their position in the recording.
 */
#include "vfu/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onpu/registers.h"
#include "vfu/pci_config.h"
#include "vfu/record.h"

struct replay {
	const uint8_t *bytes;
	size_t size, at;		 /* @at: position of the next event */
	struct vfu_record_event event;	 /* the next event */
	struct vfu_record_access access; /* data of an event VFU_RECORD_ACCESS */
	const uint8_t *data;
	struct onpu_device *device;
	struct pci_config pci;
	bool differs;
	struct vfu_replay_report *report;
};

static void __attribute__((format(printf, 2, 3))) tell(struct vfu_replay_report *report,
						       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(report->text, sizeof(report->text), format, args);
	va_end(args);
}

/* ---- the file */

/*
 * Loads the event at @r->at, which is not checked yet; returns NULL, or a message about the error.
 */
static const char *load(struct replay *r)
{
	const size_t head = sizeof(r->event);

	if (r->size - r->at < head)
		return "it ends in the middle";
	memcpy(&r->event, r->bytes + r->at, head);
	r->data = r->bytes + r->at + head;
	if (r->event.size > r->size - r->at - head)
		return "it ends in the middle";
	if (r->event.kind == VFU_RECORD_ACCESS && r->event.size == sizeof(r->access))
		memcpy(&r->access, r->data, sizeof(r->access));
	return NULL;
}

static void step(struct replay *r)
{
	r->at += sizeof(r->event) + r->event.size;
	r->report->events++;
	load(r);
}

static bool is_sound_access(const struct vfu_record_access *access)
{
	const uint32_t kind = access->kind & ~(uint32_t)ONPU_ACCESS_INSIDE;

	/* Accesses of other kinds have no register in `offset`. */
	return (kind != ONPU_ACCESS_READ && kind != ONPU_ACCESS_WRITE) ||
	       (access->offset < ONPU_BAR0_SIZE && !(access->offset % sizeof(uint32_t)));
}

static bool is_sound(const struct replay *r)
{
	const struct vfu_record_event *e = &r->event;

	switch (e->kind) {
	case VFU_RECORD_ACCESS:
		return e->size == sizeof(r->access) && is_sound_access(&r->access);
	case VFU_RECORD_READ:
		return !e->size || e->size == e->what;
	case VFU_RECORD_WRITE:
		return e->what <= 1;
	case VFU_RECORD_CONFIG_READ:
	case VFU_RECORD_CONFIG_WRITE:
		return e->where <= PCI_CONFIG_SIZE && e->size <= PCI_CONFIG_SIZE - e->where;
	case VFU_RECORD_INTERRUPT:
	case VFU_RECORD_CONFIG_RESET:
		return !e->size;
	default:
		return false;
	}
}

/*
 * Checks a file. Returns NULL, or a message about the error. @r->at is after the header
 * afterwards.
 */
static const char *check(struct replay *r, struct vfu_record_header *header)
{
	uint64_t count = 0;
	const char *wrong = NULL;

	if (r->size < sizeof(*header))
		return "it is too short";
	memcpy(header, r->bytes, sizeof(*header));
	if (memcmp(header->magic, VFU_RECORD_MAGIC, sizeof(header->magic)))
		return "it is no recording of onpu-emu";
	if (header->version != VFU_RECORD_VERSION || header->size != sizeof(*header))
		return "it is of another version of the format";
	r->at = sizeof(*header);
	for (wrong = load(r); !wrong && r->event.kind != VFU_RECORD_END; wrong = load(r), count++) {
		if (!is_sound(r))
			return "it has an event that cannot be";
		r->at += sizeof(r->event) + r->event.size;
	}
	if (wrong)
		return wrong;
	if (r->size - r->at != sizeof(r->event))
		return "something follows its end";
	if (r->event.where != count || r->event.what != vfu_record_crc(0, r->bytes, r->at))
		return "its checksum is wrong";
	if (header->num_queues > ONPU_MAX_QUEUES || header->features > UINT16_MAX)
		return "its device has more queues or features than this one can have";
	if (header->vectors && header->vectors != header->num_queues + 1)
		return "it has another number of vectors than the device";
	r->at = sizeof(*header);
	return load(r);
}

/* ---- comparing */

static void describe(const struct replay *r, char *text, size_t size)
{
	static const char *const accesses[] = {
		[ONPU_ACCESS_READ] = "a register is read",
		[ONPU_ACCESS_WRITE] = "a register is written",
		[ONPU_ACCESS_RESET] = "the device is reset",
		[ONPU_ACCESS_PARITY] = "a parity error is made",
		[ONPU_ACCESS_STUCK] = "an engine is made to hang",
		[ONPU_ACCESS_DEAD_CORE] = "the management core is made to stand still",
		[ONPU_ACCESS_RUN] = "the device runs",
		[ONPU_ACCESS_AGAIN] = "the device goes on",
		[ONPU_ACCESS_LOOK] = "an instruction is interrupted",
	};
	static const char *const kinds[] = {
		[VFU_RECORD_READ] = "memory is read",
		[VFU_RECORD_WRITE] = "memory is written",
		[VFU_RECORD_INTERRUPT] = "an interrupt is raised",
		[VFU_RECORD_CONFIG_READ] = "the configuration is read",
		[VFU_RECORD_CONFIG_WRITE] = "the configuration is written",
		[VFU_RECORD_CONFIG_RESET] = "the configuration is reset",
		[VFU_RECORD_END] = "the recording ends",
	};
	const uint32_t kind = r->access.kind & ~(uint32_t)ONPU_ACCESS_INSIDE;

	if (r->event.kind != VFU_RECORD_ACCESS)
		snprintf(text, size, "%s at 0x%" PRIx64 ", %" PRIu32 " bytes", kinds[r->event.kind],
			 r->event.where, r->event.size);
	else
		snprintf(text, size,
			 "%s at cycle %" PRIu64 ", offset 0x%" PRIx32 ", value 0x%" PRIx32,
			 kind <= ONPU_ACCESS_LOOK ? accesses[kind] : "something unknown happens",
			 r->event.what, r->access.offset, r->access.value);
}

/* Reports that the device differs from the next event: the first difference. */
static void __attribute__((format(printf, 2, 3))) differ(struct replay *r, const char *format, ...)
{
	char recorded[160], now[240];
	va_list args;

	if (r->differs || r->event.kind == VFU_RECORD_END)
		return;
	va_start(args, format);
	vsnprintf(now, sizeof(now), format, args);
	va_end(args);
	describe(r, recorded, sizeof(recorded));
	r->differs = true;
	tell(r->report,
	     "event %" PRIu64
	     ": the replay does not do what was recorded; recorded: %s; replayed: %s; replay with "
	     "the onpu-emu that made the recording",
	     r->report->events, recorded, now);
}

/*
 * Returns whether the replay is over, and stops the device then: after the end, or after a
 * difference, its actions do not matter any more.
 */
static bool is_over(struct replay *r)
{
	if (!r->differs && r->event.kind != VFU_RECORD_END)
		return false;
	onpu_device_stop(r->device);
	return true;
}

/*
 * Does the accesses to configuration space that come next: they do not involve the device, so they
 * may be anywhere between its events.
 */
static void do_config(struct replay *r)
{
	uint8_t data[PCI_CONFIG_SIZE];

	while (!r->differs) {
		if (r->event.kind == VFU_RECORD_CONFIG_WRITE) {
			pci_config_write(&r->pci, (uint32_t)r->event.where, r->data, r->event.size);
		} else if (r->event.kind == VFU_RECORD_CONFIG_READ) {
			pci_config_read(&r->pci, (uint32_t)r->event.where, data, r->event.size);
			if (memcmp(data, r->data, r->event.size))
				differ(r, "the bytes are others");
		} else if (r->event.kind == VFU_RECORD_CONFIG_RESET && r->event.where) {
			pci_config_init(&r->pci, r->pci.vectors);
		} else if (r->event.kind == VFU_RECORD_CONFIG_RESET) {
			pci_config_reset(&r->pci);
		} else {
			return;
		}
		if (!r->differs)
			step(r);
	}
}

/*
 * Does the accesses to configuration space that come next. Returns whether the event after them is
 * of this kind; false when the replay is over, after stopping the device.
 */
static bool expects(struct replay *r, enum vfu_record_kind kind)
{
	do_config(r);
	return !is_over(r) && r->event.kind == kind;
}

/* ---- functions that the device calls */

static int host_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct replay *r = ctx;

	if (!expects(r, VFU_RECORD_READ) || r->event.where != addr || r->event.what != len) {
		differ(r, "memory is read at 0x%" PRIx64 ", %zu bytes", addr, len);
		return -EIO;
	}
	if (r->event.size)
		memcpy(dst, r->data, len);
	len = r->event.size;
	step(r);
	return len ? 0 : -EIO;
}

static int host_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	struct replay *r = ctx;
	bool failed;

	if (!expects(r, VFU_RECORD_WRITE) || r->event.where != addr || r->event.size != len) {
		differ(r, "memory is written at 0x%" PRIx64 ", %zu bytes", addr, len);
		return -EIO;
	}
	for (size_t i = 0; i < len; i++)
		if (r->data[i] != ((const uint8_t *)src)[i]) {
			differ(r, "byte %zu of them is 0x%02x, not 0x%02x", i,
			       ((const uint8_t *)src)[i], r->data[i]);
			return -EIO;
		}
	failed = r->event.what;
	step(r);
	return failed ? -EIO : 0;
}

static void host_interrupt(void *ctx, unsigned int vector)
{
	struct replay *r = ctx;

	if (expects(r, VFU_RECORD_INTERRUPT) && r->event.where == vector)
		step(r);
	else
		differ(r, "interrupt %u is raised", vector);
}

static void host_trace(void *ctx, uint64_t cycle, unsigned int kind, uint32_t offset,
		       uint32_t value)
{
	struct replay *r = ctx;

	if (expects(r, VFU_RECORD_ACCESS) && r->event.what == cycle &&
	    r->event.where == onpu_device_point(r->device) && r->access.kind == kind &&
	    r->access.offset == offset && r->access.value == value)
		step(r);
	else
		differ(r,
		       "the access is at cycle %" PRIu64 ", offset 0x%" PRIx32 ", value 0x%" PRIx32,
		       cycle, offset, value);
}

static bool next(void *ctx, uint64_t point, struct onpu_device_event *event)
{
	struct replay *r = ctx;

	if (!expects(r, VFU_RECORD_ACCESS) || r->event.where != point)
		return false;
	*event = (struct onpu_device_event){ point, r->access.kind, r->access.offset,
					     r->access.value };
	return true;
}

/* ---- the whole replay */

enum vfu_replay_result vfu_replay_bytes(const void *bytes, size_t size,
					struct vfu_replay_report *report)
{
	struct replay r = { .bytes = bytes, .size = size, .report = report };
	const struct onpu_host_ops host = { &r,	  host_read, host_write, host_interrupt,
					    NULL, host_trace };
	struct onpu_device_config config = onpu_device_config_default();
	struct vfu_record_header header;
	const char *wrong = check(&r, &header);

	*report = (struct vfu_replay_report){ .events = 0 };
	if (wrong) {
		tell(report,
		     "the recording that --replay names cannot be replayed: %s; record again, or "
		     "replay it with the onpu-emu that made it",
		     wrong);
		return VFU_REPLAY_REFUSED;
	}
	config.sim.sram_bytes = header.sram_bytes;
	config.sim.num_queues = (uint16_t)header.num_queues;
	config.sim.features = (uint16_t)header.features;
	config.sim.lanes = header.lanes;
	config.sim.mxu_rows = header.mxu_rows;
	config.sim.mxu_cols = header.mxu_cols;
	config.sim.fifo_depth = header.fifo_depth;
	config.sim.dma_bytes_per_cycle = header.dma_bytes_per_cycle;
	config.sim.threads = 1;
	config.tlb_sticky = header.tlb_sticky;
	r.device = onpu_device_create(&config, &host, &wrong);
	if (!r.device) {
		tell(report, "the device of the recording that --replay names cannot be made: %s",
		     wrong);
		return VFU_REPLAY_REFUSED;
	}
	pci_config_init(&r.pci, header.vectors);
	onpu_device_replay(r.device, next);
	do_config(&r);
	differ(&r, "the device waits for something else");
	onpu_device_destroy(r.device);
	if (r.differs)
		return VFU_REPLAY_DIFFERS;
	tell(report,
	     "the device does the same in all %" PRIu64 " events as when they were recorded",
	     report->events);
	return VFU_REPLAY_SAME;
}

enum vfu_replay_result vfu_replay_file(const char *path, struct vfu_replay_report *report)
{
	enum vfu_replay_result result = VFU_REPLAY_REFUSED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { .st_size = 0 };
	void *bytes;

	if (fd < 0 || fstat(fd, &st)) {
		tell(report, "the recording that --replay names cannot be read: %s",
		     strerror(errno));
	} else if (!S_ISREG(st.st_mode) || !st.st_size) {
		tell(report,
		     "the recording cannot be replayed, as the file is empty or not a regular "
		     "file: give one that onpu-emu --record has made");
	} else {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED) {
			tell(report, "the recording that --replay names cannot be read: %s",
			     strerror(errno));
		} else {
			result = vfu_replay_bytes(bytes, (size_t)st.st_size, report);
			munmap(bytes, (size_t)st.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	return result;
}
