/* SPDX-License-Identifier: MIT */
/*
 * The device model's core: executes command streams of the Open NPU (uapi/onpu/isa.xml).
 *
 * No global state: any number of machines may exist, each used by one thread at a time. The
 * result, the virtual time and every fault are functions of the configuration, the job, the memory
 * and what the last job left in SRAM: not of the host, its SIMD level or the number of threads.
 */
#ifndef ONPU_SIM_H
#define ONPU_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onpu/registers.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ONPU_SIM_MAX_THREADS 64

/**
 * struct onpu_sim_config - sizes of the machine and how the host runs it
 * @sram_bytes: SRAM, a multiple of 64
 * @lanes: 32-bit lanes of the vector unit
 * @mxu_rows: rows of the matrix unit's array
 * @mxu_cols: columns of the matrix unit's array
 * @fifo_depth: instructions that wait in front of each engine
 * @dma_bytes_per_cycle: bandwidth of each DMA engine
 * @num_queues: hardware queues; only the register interface uses it
 * @features: what CAP_FEATURES reads; zero in programs that were compiled with an earlier header,
 *	where @num_queues had 32 bits
 * @threads: host threads that work inside one instruction, 1 to ONPU_SIM_MAX_THREADS
 * @simd: enum onpu_simd of functions.h, -1: the best that the host has
 */
struct onpu_sim_config {
	uint32_t sram_bytes;
	uint32_t lanes;
	uint32_t mxu_rows, mxu_cols;
	uint32_t fifo_depth;
	uint32_t dma_bytes_per_cycle;
	uint16_t num_queues, features;
	unsigned int threads;
	int simd;
};

/**
 * struct onpu_sim_memory - functions that allocate the memory of a machine
 * @ctx: passed to the functions
 * @allocate: returns @size bytes at a multiple of @alignment, contents undefined; NULL: no memory
 * @release: frees memory of @allocate
 *
 * The threads that create, step and destroy the machine call them. All zeros: the C library.
 */
struct onpu_sim_memory {
	void *ctx;
	void *(*allocate)(void *ctx, size_t alignment, size_t size);
	void (*release)(void *ctx, void *memory);
};

/** onpu_sim_config_default - return the default machine with one thread and the best SIMD level */
struct onpu_sim_config onpu_sim_config_default(void);

/**
 * onpu_sim_config_name - make the sizes those of a named machine
 * @config: keeps its threads and its SIMD level
 * @name: of a machine of uapi/onpu/machines.xml, such as "onpu-ref1"
 *
 * Return: false if no machine has the name; @config then stays as it is.
 */
bool onpu_sim_config_name(struct onpu_sim_config *config, const char *name);

/**
 * onpu_sim_config_machine - return the named machine that has these sizes and features
 *
 * Return: what CAP_MACHINE reads; ONPU_MACHINE_CUSTOM if there is no such machine.
 */
enum onpu_machine_id onpu_sim_config_machine(const struct onpu_sim_config *config);

/**
 * struct onpu_mem - the memory that a job sees through its virtual addresses
 * @ctx: passed back to the functions
 * @read: copies @len bytes at @addr to @dst
 * @write: copies @len bytes from @src to @addr
 *
 * Both return 0 or an enum onpu_fault, usually ONPU_FAULT_MMU_NOT_PRESENT or
 * ONPU_FAULT_MMU_PERM, and must accept any address and length, also a range that wraps.
 * They are called from the thread that steps the machine only. A failing call may have
 * copied a part. @fault_address, when not NULL, tells after a failure which address failed;
 * otherwise the fault record names the start of the access.
 */
struct onpu_mem {
	void *ctx;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	int (*write)(void *ctx, uint64_t addr, const void *src, size_t len);
	uint64_t (*fault_address)(void *ctx);
};

/**
 * struct onpu_job - one program run
 * @program_va: instructions, 16 bytes each
 * @num_insns: number of instructions
 * @num_slots: slots in the table, at least 1 (slot 0: PROGRAM)
 * @slots_va: slot table, 128 bytes each
 * @profile_va: where instructions with TS append struct onpu_profile_record
 * @profile_size: bytes of the profile; records that do not fit are counted and dropped
 * @cycle_limit: an instruction that would start later is a TIMEOUT fault; 0: no limit
 */
struct onpu_job {
	uint64_t program_va;
	uint32_t num_insns;
	uint32_t num_slots;
	uint64_t slots_va;
	uint64_t profile_va, profile_size;
	uint64_t cycle_limit;
};

/**
 * struct onpu_counters - what the engines did, in virtual cycles
 * @busy: cycles each engine (enum onpu_engine) executed; of the CP: fetched and executed
 * @stall_sem: cycles in which each engine had an instruction but waited for a semaphore
 * @stall_fifo: cycles the CP waited for room in a FIFO
 * @bytes_ld: bytes that DMA instructions read from memory (space VA)
 * @bytes_st: bytes that DMA instructions wrote to memory (space VA)
 * @macs: multiply-accumulates of the matrix unit
 * @elements: destination elements of vector instructions (reductions: source elements)
 */
struct onpu_counters {
	uint64_t busy[5];
	uint64_t stall_sem[5];
	uint64_t stall_fifo;
	uint64_t bytes_ld, bytes_st;
	uint64_t macs;
	uint64_t elements;
};

/**
 * struct onpu_job_result - how a job ended
 * @fault: the fault that stopped it; code 0: none. context, queue and seqno are the caller's.
 * @code: CODE of the end instruction
 * @cycles: virtual cycles of the whole job
 * @profile_records: instructions with TS that started, also those whose record was dropped
 * @counters: totals over the job
 */
struct onpu_job_result {
	struct onpu_fault_record fault;
	uint32_t code;
	uint64_t cycles;
	uint64_t profile_records;
	struct onpu_counters counters;
};

/**
 * enum onpu_step - what a step did
 * @ONPU_STEP_RUNNING: one event; call again
 * @ONPU_STEP_PREEMPT_POINT: a preempt instruction: engines are empty, the state may be saved
 * @ONPU_STEP_DONE: the job ended, onpu_machine_result() says how
 * @ONPU_STEP_FAULT: the job faulted, onpu_machine_result() says why
 * @ONPU_STEP_IDLE: no job was begun, or it was dropped
 */
enum onpu_step {
	ONPU_STEP_RUNNING,
	ONPU_STEP_PREEMPT_POINT,
	ONPU_STEP_DONE,
	ONPU_STEP_FAULT,
	ONPU_STEP_IDLE,
};

struct onpu_machine;

/**
 * onpu_machine_create - make a machine
 * @config: sizes; NULL for the default
 * @error: receives a sentence when it fails; may be NULL
 *
 * Return: the machine, or NULL: a member of @config out of range, too little memory, no thread, or
 * a host without fused multiply-add.
 */
struct onpu_machine *onpu_machine_create(const struct onpu_sim_config *config, const char **error);
/**
 * onpu_machine_create_in - make a machine with memory from other functions than the C library's
 *
 * @memory is copied; NULL: the C library. All else is as described at onpu_machine_create().
 */
struct onpu_machine *onpu_machine_create_in(const struct onpu_sim_memory *memory,
					    const struct onpu_sim_config *config,
					    const char **error);
void onpu_machine_destroy(struct onpu_machine *machine);

/** onpu_machine_config - return the configuration in use, with the SIMD level in use as @simd */
const struct onpu_sim_config *onpu_machine_config(const struct onpu_machine *machine);

/**
 * onpu_machine_begin - start a job
 * @machine: a machine; a job still running is dropped
 * @mem: memory of the job's context; the structure must stay valid until the job ends
 * @job: the job, copied
 *
 * The first step reads the PROGRAM slot and zeroes the SRAM, unless it holds the contents that the
 * job asks for. Steps report faults of the job, also in that slot.
 */
void onpu_machine_begin(struct onpu_machine *machine, const struct onpu_mem *mem,
			const struct onpu_job *job);

/**
 * onpu_machine_step - process the next event
 *
 * Return: what the step did. When the job has ended already, how it ended.
 */
enum onpu_step onpu_machine_step(struct onpu_machine *machine);

/**
 * onpu_machine_abort - drop the running job
 *
 * Takes effect at once. When the function set by onpu_machine_watch() calls it, it takes effect on
 * the way out of the instruction under way, whose destination is then undefined; that step is
 * ONPU_STEP_IDLE.
 */
void onpu_machine_abort(struct onpu_machine *machine);

/**
 * onpu_machine_forget - let no job find in SRAM what the job before has left
 *
 * For use before a job of another context.
 */
void onpu_machine_forget(struct onpu_machine *machine);

/**
 * onpu_machine_watch - have a function called inside long instructions
 * @look: called at least some thousand times in each second of execution, by the thread that steps
 *	the machine; true drops the job as onpu_machine_abort() does. It may read the job's time and
 *	result, but start nothing on the machine. NULL: nothing is called
 * @ctx: passed to @look
 */
void onpu_machine_watch(struct onpu_machine *machine, bool (*look)(void *ctx), void *ctx);

/**
 * onpu_machine_result - returns the result of the job that ended, or that of a running one so far
 */
const struct onpu_job_result *onpu_machine_result(const struct onpu_machine *machine);

/** onpu_machine_energy - returns the energy of the job's instructions so far, in femtojoules */
uint64_t onpu_machine_energy(const struct onpu_machine *machine);

/** onpu_machine_time - returns the job's virtual time, that of the last event */
uint64_t onpu_machine_time(const struct onpu_machine *machine);

/** onpu_machine_pc - returns the number of instructions issued so far */
uint64_t onpu_machine_pc(const struct onpu_machine *machine);

/** onpu_machine_index - returns the index, in its program, of the instruction to issue next */
uint64_t onpu_machine_index(const struct onpu_machine *machine);

/**
 * onpu_machine_run - begin a job and step it to its end
 *
 * Return: true when it ended without fault.
 */
bool onpu_machine_run(struct onpu_machine *machine, const struct onpu_mem *mem,
		      const struct onpu_job *job, struct onpu_job_result *result);

/* Bytes of the saved state before the contents of the SRAM. */
#define ONPU_MACHINE_STATE_HEADER 8192

/**
 * onpu_machine_state_size - bytes that onpu_machine_save() writes now
 *
 * ONPU_MACHINE_STATE_HEADER plus LIVE of the preempt instruction just executed. A save area
 * that fits every state has ONPU_MACHINE_STATE_HEADER + sram_bytes bytes.
 */
size_t onpu_machine_state_size(const struct onpu_machine *machine);

/**
 * onpu_machine_save - write the running job's state to memory
 * @machine: a machine whose last step was ONPU_STEP_PREEMPT_POINT
 * @mem: where to write (not necessarily the job's own memory)
 * @addr: start of the save area
 *
 * Return: 0, or what @mem returned.
 */
int onpu_machine_save(struct onpu_machine *machine, const struct onpu_mem *mem, uint64_t addr);

/**
 * onpu_machine_restore - continue a saved job
 * @machine: a machine of the same configuration
 * @job_mem: memory of the job, as for onpu_machine_begin()
 * @mem: where the state is
 * @addr: start of the save area
 *
 * SRAM that was not saved is zero afterwards. Return: 0; what @mem returned; or
 * ONPU_FAULT_PARITY when the area does not hold a state of this machine. After an error the
 * machine has no job.
 */
int onpu_machine_restore(struct onpu_machine *machine, const struct onpu_mem *job_mem,
			 const struct onpu_mem *mem, uint64_t addr);

/**
 * onpu_machine_sram - returns the SRAM, sram_bytes of the configuration
 *
 * Its contents may be changed between two steps; call this again after each job.
 */
uint8_t *onpu_machine_sram(struct onpu_machine *machine);

#ifdef __cplusplus
}
#endif

#endif
