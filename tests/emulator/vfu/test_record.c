// SPDX-License-Identifier: MIT
/*
 * Recordings of a server's device: a replay does the same, finds differences, and refuses damaged
 * files.
 */
#include "bench.h"

#include <fcntl.h>
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <unistd.h>

#include "jobs.h"
#include "random.h"
#include "vfu/replay.h"

/* Bytes that a job loads one by one, so that many accesses can come during one instruction. */
#define BYTES 65536u

static struct bench b;
static struct rig_vm vm;
static struct rig_context context;
static struct rng rng = { .state = 1 };

/* The recording of session(). */
static uint8_t *bytes;
static size_t size;

/* ---- the recorded session */

static void start_work(void)
{
	bench_boot(&b);
	rig_vm_create(&b.rig, &vm, 0);
	rig_context_create(&b.rig, &context, &vm, 10, 0);
}

static void submit(struct program *p)
{
	struct onpu_ring_job job = rig_job(p);
	static uint32_t name;

	rig_load(&b.rig, &context, p);
	/* Forget the translations of the program before. */
	rig_write(&b.rig, ONPU_REG_INV_ASID, ONPU_INV_ASID_ALL__MASK);
	rig_write(&b.rig, ONPU_REG_INV_REQ, ++name);
	while (rig_read(&b.rig, ONPU_REG_INV_DONE) != name)
		usleep(100);
	rig_submit(&b.rig, &context, &job, true);
	program_destroy(p);
}

static void run(struct program *p)
{
	submit(p);
	bench_wait(&b, &context, context.seqno);
}

static struct program *slow(void)
{
	const int64_t none = 0;
	const uint32_t n = BYTES;
	struct onpu_slot_tensor from =
		program_tensor(ONPU_DT_U8, ONPU_SPACE_VA, DATA_VA, 1, &n, &none);
	struct program *p = program_create(JOB_SRAM, JOB_DATA);
	struct onpu_insn copy = { .op = ONPU_OP_DMA_COPY };

	copy.dst = program_dense(p, ONPU_DT_U8, ONPU_SPACE_SRAM, 0, 1, DIM(BYTES));
	copy.s0 = program_slot(p, &from);
	for (unsigned int i = 0; i < 8; i++)
		program_insn(p, copy);
	program_end(p);
	program_job(p);
	return p;
}

/* Runs a job that register accesses interrupt inside its instructions, and at last a kill. */
static void kill_a_job(void)
{
	submit(slow());
	for (unsigned int i = 0; i < 100; i++) {
		rig_read(&b.rig, ONPU_REG_QUEUE_RUN_CYCLES_LO(0));
		rig_write(&b.rig, ONPU_REG_INT_ENABLE, i);
	}
	assert_int_equal(rig_simple(&b.rig, ONPU_MSG_CTX_KILL, 10, 0), ONPU_MSG_OK);
}

static struct program *trap(void)
{
	struct program *p = program_create(JOB_SRAM, JOB_DATA);

	program_insn(p, (struct onpu_insn){ .op = ONPU_OP_TRAP, .code = 7 });
	program_job(p);
	return p;
}

static void session(void)
{
	onpu_device_inject_stuck(b.server.function.device);
	bench_attach(&b);
	start_work();
	submit(job_stages(1, 0.25f));
	/* The job hangs. */
	assert_int_equal(rig_simple(&b.rig, ONPU_MSG_CTX_KILL, 10, 0), ONPU_MSG_OK);
	assert_int_equal(client_config16(&b.client, PCI_VENDOR_ID), ONPU_PCI_VENDOR);
	assert_int_not_equal(client_config16(&b.client, PCI_COMMAND), 0);
	assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0);
	assert_int_equal(client_config16(&b.client, PCI_COMMAND), 0);
	bench_enable(&b);
	start_work();
	for (unsigned int i = 0; i < 4; i++)
		run(job_stages(1 + i, 0.5f * (float)i));
	run(trap());
	assert_int_equal(rig_completion(&b.rig, &context).error, ONPU_FAULT_TRAP);
	assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0);
	bench_enable(&b);
	start_work();
	kill_a_job();
	assert_int_equal(client_call(&b.client, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0);
	bench_enable(&b);
	start_work();
	/* The memory of job and firmware is unmapped. */
	submit(slow());
	onpu_device_inject_parity(b.server.function.device);
	assert_int_equal(client_dma_unmap(&b.client, RIG_BUS, RIG_MEMORY), 0);
	onpu_device_inject_dead_core(b.server.function.device);
	rig_read(&b.rig, ONPU_REG_STATUS);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	size = (size_t)lseek(fd, 0, SEEK_END);
	bytes = malloc(size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, size, 0), (ssize_t)size);
	close(fd);
}

static void record(bool sync, uint64_t limit)
{
	struct vfu_server_config config = bench_config();
	struct vfu_recorder recorder;
	char path[] = "/tmp/onpu-record-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_true(vfu_recorder_init(&recorder, path, limit));
	config.function.recorder = &recorder;
	config.function.sync = sync;
	bench_start(&b, &config);
	session();
	bench_stop(&b);
	assert_true(recorder.ended);
	assert_int_equal(recorder.full, limit != 0);
	assert_int_equal(vfu_recorder_destroy(&recorder), 0);
	free(bytes);
	load(path);
	unlink(path);
}

static int set_up(void **state)
{
	(void)state;
	record(false, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(bytes);
	return 0;
}

/* ---- the content of a recording */

static struct vfu_record_event event_at(const uint8_t *from, size_t at)
{
	struct vfu_record_event event;

	memcpy(&event, from + at, sizeof(event));
	return event;
}

/*
 * Returns the offset, in the bytes of the recording, of the event of a kind with number @nth, and
 * sets *@number to its index among all events. When there is no such event, returns the number of
 * events of the kind.
 */
static size_t find(enum vfu_record_kind kind, size_t nth, uint64_t *number)
{
	size_t found = 0;

	*number = 0;
	for (size_t at = sizeof(struct vfu_record_header); at < size; ++*number) {
		struct vfu_record_event event = event_at(bytes, at);

		if (event.kind == kind && found++ == nth)
			return at;
		at += sizeof(event) + event.size;
	}
	return found;
}

static size_t count(enum vfu_record_kind kind)
{
	uint64_t number;

	return find(kind, SIZE_MAX, &number);
}

static void seal(uint8_t *copy)
{
	size_t at = size - sizeof(struct vfu_record_event);
	struct vfu_record_event end = event_at(copy, at);

	end.what = vfu_record_crc(0, copy, at);
	memcpy(copy + at, &end, sizeof(end));
}

static enum vfu_replay_result replay(const uint8_t *from, size_t length,
				     struct vfu_replay_report *report)
{
	enum vfu_replay_result result = vfu_replay_bytes(from, length, report);

	assert_true(*report->text);
	return result;
}

static void expect_same(void)
{
	struct vfu_replay_report report;
	enum vfu_replay_result result = replay(bytes, size, &report);

	if (result != VFU_REPLAY_SAME)
		fail_msg("%s", report.text);
	assert_int_equal(report.events + 1,
			 count(VFU_RECORD_ACCESS) + count(VFU_RECORD_READ) +
				 count(VFU_RECORD_WRITE) + count(VFU_RECORD_INTERRUPT) +
				 count(VFU_RECORD_CONFIG_READ) + count(VFU_RECORD_CONFIG_WRITE) +
				 count(VFU_RECORD_CONFIG_RESET) + count(VFU_RECORD_END));
}

/* Returns how many accesses came during an instruction. */
static size_t count_inside(void)
{
	size_t inside = 0;

	for (size_t at = sizeof(struct vfu_record_header); at < size;) {
		struct vfu_record_event event = event_at(bytes, at);
		struct vfu_record_access access;

		at += sizeof(event);
		if (event.kind == VFU_RECORD_ACCESS) {
			memcpy(&access, bytes + at, sizeof(access));
			inside += (access.kind & ONPU_ACCESS_INSIDE) != 0;
		}
		at += event.size;
	}
	return inside;
}

/* ---- tests */

static void test_same(void **state)
{
	(void)state;
	assert_true(count(VFU_RECORD_READ) > 100 && count(VFU_RECORD_WRITE) > 20 &&
		    count(VFU_RECORD_INTERRUPT) > 3);
	assert_true(count_inside() > 0);
	expect_same();
	expect_same();
}

static void test_sync(void **state)
{
	(void)state;
	record(true, 0);
	expect_same();
	record(false, 0);
}

/*
 * With a limit, the recording ends in the middle of the session, and the replay does the same up to
 * there.
 */
static void test_limit(void **state)
{
	/* The length of a recording depends on when jobs are killed; each is longer than this. */
	const size_t limit = 128 << 10, whole = size;

	(void)state;
	record(false, limit);
	assert_true(size >= limit && size < whole);
	expect_same();
	record(false, 0);
}

/*
 * Changes events one at a time: the replay must find the changed event as the first difference,
 * because it compares all that is recorded.
 */
static void test_differs(void **state)
{
	static const enum vfu_record_kind kinds[] = {
		VFU_RECORD_ACCESS,    VFU_RECORD_READ,	      VFU_RECORD_WRITE,
		VFU_RECORD_INTERRUPT, VFU_RECORD_CONFIG_READ,
	};
	uint8_t *copy = malloc(size);

	(void)state;
	assert_non_null(copy);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t events = count(kinds[i]);

		assert_true(events > 0);

		for (unsigned int n = 0; n < 6; n++) {
			struct vfu_replay_report report;
			uint64_t number;
			size_t at = find(kinds[i], n < 5 ? events * n / 5 : events - 1, &number);
			struct vfu_record_event event = event_at(bytes, at);

			memcpy(copy, bytes, size);
			/*
			 * A replay supplies the bytes that the device reads; it compares when the
			 * device reads, and from where.
			 */
			if (kinds[i] == VFU_RECORD_ACCESS)
				event.what ^= 8;
			else if (kinds[i] == VFU_RECORD_READ || !event.size)
				event.where ^= 8;
			else
				copy[at + sizeof(event) + event.size - 1] ^= 1;
			memcpy(copy + at, &event, sizeof(event));
			seal(copy);
			assert_int_equal(replay(copy, size, &report), VFU_REPLAY_DIFFERS);
			assert_int_equal(report.events, number);
			assert_non_null(
				strstr(report.text,
				       ": the replay does not do what was recorded; recorded: "));
		}
	}
	free(copy);
}

/*
 * A device that reads other data does other things, because programs, rings and firmware are in the
 * data.
 */
static void test_other_data(void **state)
{
	uint8_t *copy = malloc(size);
	struct vfu_replay_report report;
	uint64_t number;
	size_t at = find(VFU_RECORD_READ, 0, &number);

	(void)state;
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	copy[at + sizeof(struct vfu_record_event)] ^= 1;
	seal(copy);
	assert_int_equal(replay(copy, size, &report), VFU_REPLAY_DIFFERS);
	assert_true(report.events > number);
	free(copy);
}

static void expect_refused(const uint8_t *from, size_t length)
{
	struct vfu_replay_report report;

	assert_int_equal(replay(from, length, &report), VFU_REPLAY_REFUSED);
	assert_int_equal(report.events, 0);
}

static void test_damaged(void **state)
{
	uint8_t *copy = malloc(size + 1);

	(void)state;
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	for (size_t length = 0; length < 200; length++)
		expect_refused(copy, length);
	for (unsigned int i = 1; i < 40; i++)
		expect_refused(copy, size - i);
	copy[size] = 0;
	expect_refused(copy, size + 1);
	for (unsigned int i = 0; i < 100; i++) {
		size_t at = rng_below(&rng, size);

		copy[at] ^= (uint8_t)(1u << i % 8);
		expect_refused(copy, size);
		copy[at] = bytes[at];
	}
	free(copy);
}

/* A sound recording of a machine that no device can be is refused for another reason. */
static void test_no_device(void **state)
{
	uint8_t *copy = malloc(size);
	struct vfu_record_header header;
	struct vfu_replay_report report;

	(void)state;
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	memcpy(&header, copy, sizeof(header));
	header.sram_bytes++;
	memcpy(copy, &header, sizeof(header));
	seal(copy);
	assert_int_equal(replay(copy, size, &report), VFU_REPLAY_REFUSED);
	assert_non_null(strstr(report.text, "cannot be made: the SRAM of a device is a multiple"));
	free(copy);
}

/*
 * Reading a file with a correct checksum and any content does no harm; a short file allows many
 * tries.
 */
static void test_hostile(void **state)
{
	const size_t whole = size;
	uint8_t *copy = malloc(size);
	struct vfu_record_event end = { .kind = VFU_RECORD_END };
	uint64_t number;

	(void)state;
	assert_non_null(copy);
	for (unsigned int i = 0; i < 300; i++) {
		struct vfu_replay_report report;
		unsigned int changes = 1 + (unsigned int)rng_below(&rng, 3);

		size = find(VFU_RECORD_ACCESS, 60, &number);
		memcpy(copy, bytes, size);
		end.where = number;
		memcpy(copy + size, &end, sizeof(end));
		size += sizeof(end);
		while (changes--)
			copy[rng_below(&rng, size - sizeof(end))] ^=
				(uint8_t)(1u << rng_below(&rng, 8));
		seal(copy);
		replay(copy, size, &report);
		size = whole;
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),	cmocka_unit_test(test_sync),
		cmocka_unit_test(test_differs), cmocka_unit_test(test_other_data),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_limit),	cmocka_unit_test(test_no_device),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
