// SPDX-License-Identifier: MIT
/* Describes a fault of the NPU as an error message, for dispatch.c. */
#include "run/fault.h"

#include <inttypes.h>

#include "onpu/registers.h"

static const struct {
	const char *name, *text;
} faults[ONPU_FAULT_COUNT] = {
	[ONPU_FAULT_ILLEGAL_OPCODE] = { "ILLEGAL_OPCODE", "no such instruction" },
	[ONPU_FAULT_RESERVED_BITS] = { "RESERVED_BITS", "an instruction is not well formed" },
	[ONPU_FAULT_SLOT_INDEX] = { "SLOT_INDEX", "an operand has no slot" },
	[ONPU_FAULT_SLOT_FORMAT] = { "SLOT_FORMAT", "a slot is not well formed" },
	[ONPU_FAULT_SPACE] = { "SPACE", "an operand is not in SRAM" },
	[ONPU_FAULT_DTYPE] = { "DTYPE", "an element type is not allowed" },
	[ONPU_FAULT_SHAPE] = { "SHAPE", "dimensions, strides or cost are not allowed" },
	[ONPU_FAULT_BOUNDS] = { "BOUNDS", "an element lies outside its window" },
	[ONPU_FAULT_INDEX_RANGE] = { "INDEX_RANGE", "an index lies outside its dimension" },
	[ONPU_FAULT_MMU_NOT_PRESENT] = { "MMU_NOT_PRESENT", "an address is not mapped" },
	[ONPU_FAULT_MMU_PERM] = { "MMU_PERM", "an access is not permitted" },
	[ONPU_FAULT_SEM_OVERFLOW] = { "SEM_OVERFLOW", "a semaphore counts too high" },
	[ONPU_FAULT_SEM_OWNER] = { "SEM_OWNER", "a semaphore has a second user" },
	[ONPU_FAULT_DEADLOCK] = { "DEADLOCK", "all engines wait for each other" },
	[ONPU_FAULT_TIMEOUT] = { "TIMEOUT",
				 "the cycle limit is reached, or no preemption point in time" },
	[ONPU_FAULT_TRAP] = { "TRAP", "a trap instruction was executed" },
	[ONPU_FAULT_PARITY] = { "PARITY", "the device's memory has an error" },
};

void run_fault_error(const struct winsys_result *result, const struct ir_node *node,
		     struct wnn_error *err)
{
	static const char *const engines[ONPU_ENG_COUNT] = { "CP", "LD", "ST", "MXU", "VPU" };
	static const char *const operands[ONPU_OPERAND_COUNT] = { "DST", "S0", "S1", "S2",
								  "PARAM" };
	const char *name = "unknown", *text = "a fault of a newer device";
	char node_name[IR_NODE_NAME_SIZE];

	if (result->fault_code < ONPU_FAULT_COUNT && faults[result->fault_code].name) {
		name = faults[result->fault_code].name;
		text = faults[result->fault_code].text;
	}
	/* Nothing tells which instruction was running, so no operator is named. */
	if (result->fault_code == ONPU_FAULT_TIMEOUT && result->fault_engine >= ONPU_ENG_COUNT) {
		wnn_error_set(err, WNN_OPERATION_ERROR,
			      "a job of the NPU made no progress, or took longer than allowed, so "
			      "it was ended; run a smaller model, or end other programs that use "
			      "the NPU; onpu-smi dump may tell which limit it was");
		return;
	}
	wnn_error_set(
		err, WNN_OPERATION_ERROR,
		"%s: the NPU stopped with fault %s (%s) at instruction %" PRIu64
		", engine %s, operand %s, address %#" PRIx64 "; please report it",
		ir_node_name(node, node_name, sizeof(node_name)), name, text, result->fault_pc,
		result->fault_engine < ONPU_ENG_COUNT ? engines[result->fault_engine] : "none",
		result->fault_operand < ONPU_OPERAND_COUNT ? operands[result->fault_operand] :
							     "none",
		result->fault_address);
}
