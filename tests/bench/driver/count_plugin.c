// SPDX-License-Identifier: MIT
/*
 * QEMU plugin that counts guest instructions from a mark in a program (markers.h) to another mark
 * or to the NPU's next doorbell, and writes a line "mark instructions" for each count. The guest
 * must have one virtual CPU.
 *
 * Debian's QEMU loads plugins but ships no header for them, so the few functions that are used are
 * declared here, for version 7 of the interface.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "markers.h"
#include "onpu/registers.h"

#define EXPORT __attribute__((visibility("default")))

/* With nokaslr, modules are above the kernel's text. */
#define MODULES_START 0xffffffffa0000000ull

struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_scoreboard;

typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

enum { CB_NO_REGS = 0, INLINE_ADD_U64 = 0, MEM_WRITE = 2 };

extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(struct qemu_plugin_tb *tb, void *data),
					   void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *data), int flags,
					    void *data);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
							 qemu_plugin_u64 entry, uint64_t imm);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, uint32_t info, uint64_t vaddr,
						 void *data),
				      int flags, int rw, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *data, size_t size);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
uint64_t qemu_plugin_u64_sum(qemu_plugin_u64 entry);

int qemu_plugin_version = 7;

static qemu_plugin_u64 counter;
static FILE *out;
static uint64_t start;	/* instructions at the last mark */
static uint8_t running; /* number of the mark from which the plugin counts; 0: it does not count */

static void write_count(void)
{
	fprintf(out, "%u %" PRIu64 "\n", running, qemu_plugin_u64_sum(counter) - start);
	running = 0;
}

static void at_marker(unsigned int cpu, void *data)
{
	uint8_t number = (uint8_t)(uintptr_t)data;

	(void)cpu;
	if (number != MARKER_END) {
		running = number;
		start = qemu_plugin_u64_sum(counter);
	} else if (running == MARKER_TRIVIAL) {
		write_count();
	}
}

/*
 * Called for each store that a kernel module executes. A store to a doorbell of the NPU ends the
 * count; a doorbell's offset in BAR0 is aligned to its size.
 */
static void at_store(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	struct qemu_plugin_hwaddr *haddr;
	uint64_t offset;

	(void)cpu;
	(void)data;
	if (running != MARKER_SUBMIT_ONE && running != MARKER_SUBMIT_MANY)
		return;
	haddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!haddr || !qemu_plugin_hwaddr_is_io(haddr))
		return;
	offset = qemu_plugin_hwaddr_phys_addr(haddr) % ONPU_BAR0_SIZE;
	if (offset >= ONPU_DOORBELL_BASE)
		write_count();
}

static uint8_t marker_of(const struct qemu_plugin_insn *insn)
{
	uint8_t pattern[MARKER_SIZE] = MARKER_BYTES, bytes[MARKER_SIZE];

	if (qemu_plugin_insn_size(insn) != MARKER_SIZE ||
	    qemu_plugin_insn_data(insn, bytes, sizeof(bytes)) != sizeof(bytes))
		return 0;
	pattern[MARKER_NUMBER] = bytes[MARKER_NUMBER];
	return memcmp(pattern, bytes, sizeof(bytes)) ? 0 : bytes[MARKER_NUMBER];
}

static void translate(struct qemu_plugin_tb *tb, void *data)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)data;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
		uint8_t number = marker_of(insn);

		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, INLINE_ADD_U64, counter,
								    1);
		if (number)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_marker, CB_NO_REGS,
							       (void *)(uintptr_t)number);
		else if (vaddr >= MODULES_START)
			qemu_plugin_register_vcpu_mem_cb(insn, at_store, CB_NO_REGS, MEM_WRITE,
							 NULL);
	}
}

/*
 * Called by QEMU with one argument, "out=FILE". Opens the file and starts to count; returns 0, or
 * -1 when the argument is another one or the file cannot be opened.
 */
int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "count_plugin: give it out=FILE\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	/* Each line is written at once, as QEMU may end without telling plugins. */
	setvbuf(out, NULL, _IOLBF, 0);
	counter.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate, NULL);
	return 0;
}
