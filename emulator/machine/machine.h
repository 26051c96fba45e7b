/* SPDX-License-Identifier: MIT */
/* Private interface of machine*.c: the state of the event machine. */
#ifndef ONPU_MACHINE_MACHINE_H
#define ONPU_MACHINE_MACHINE_H

#include "machine/sim.h"

#define NO_TIME	  UINT64_MAX
#define NO_ENGINE 0xff

/*
 * A semaphore. One engine signals it and executes one instruction at a time, and events are taken
 * in order of virtual time: so at most one instruction's tokens are on their way (pending).
 */
struct semaphore {
	uint32_t count;
	uint32_t pending;
	uint64_t time; /* time of the last token that arrived */
	uint64_t pending_time;
	uint8_t signaller, waiter; /* engines; NO_ENGINE: none so far */
	bool overflow; /* the count is too large since @time; arrive() makes it a fault */
};

struct engine {
	struct sim_work *queue; /* ring of fifo_depth instructions not started */
	uint32_t head, count;
	uint64_t end; /* time when the last started instruction ends */
	uint32_t pc;  /* index of that instruction */
	uint32_t words[ONPU_INSN_WORDS];
};

enum cp_state {
	CP_BEGIN,   /* slot 0 is not read yet */
	CP_TAKE,    /* the next event reads an instruction */
	CP_PUSH,    /* work waits for room in its engine's queue */
	CP_START,   /* `work` is an instruction of the CP that waits to start */
	CP_STOPPED, /* ended or faulted */
};

struct onpu_machine {
	struct onpu_sim_config config;
	struct sim_context context;
	struct sim_watch watch;
	bool executing; /* within sim_execute(): the machine must not be reset now */
	struct onpu_kernels kernels;
	struct onpu_job job;
	struct onpu_job_result result;
	bool active, faulted;
	uint64_t now; /* time of the last event */

	enum cp_state cp;
	uint64_t cp_time;      /* time when the CP goes on */
	uint64_t cp_end;       /* end of the last instruction that the CP executed */
	uint32_t pc;	       /* index of the next instruction */
	uint32_t start;	       /* index of the first instruction of the job */
	uint32_t live;	       /* LIVE of the last preempt instruction */
	uint64_t sram_dirty;   /* bytes of SRAM from here on are zero */
	uint64_t keep;	       /* KEEP of the program: names what the job leaves in SRAM; 0: none */
	uint64_t held;	       /* KEEP of the last job, whose contents are still in SRAM; 0: none */
	struct sim_work *work; /* the instruction that the CP holds */
	/* Time when the tokens of the CP's instruction were there; NO_TIME: not known yet. */
	uint64_t cp_tokens;
	struct engine engine[ONPU_ENG_COUNT]; /* the CP's own entry has no queue */
	struct semaphore semaphore[ONPU_NUM_SEMAPHORES];
	uint16_t slot_cache[ONPU_CACHED_SLOTS]; /* most recent first */
	uint32_t slots_cached;
};

/*
 * machine_issue.c: the CP starts the program, or takes the next instruction. Both return false if
 * the job has faulted.
 */
bool machine_begin_program(struct onpu_machine *m);
bool machine_take(struct onpu_machine *m);

/* machine.c: machine_fault() stops the job and returns false. */
bool machine_fault(struct onpu_machine *m, int code, unsigned int engine, uint32_t pc,
		   const uint32_t *words, uint32_t operand, uint64_t address, uint64_t cycle);
void machine_reset(struct onpu_machine *m);
void machine_clear_sram(struct onpu_machine *m);

#endif
