// SPDX-License-Identifier: MIT
/* Start-up and the main loop of the firmware. */
#include "firmware.h"

static void set_status(uint32_t state, uint32_t error, uint32_t detail)
{
	hw_write(ONPU_REG_CORE_STATUS, state << ONPU_CORE_STATUS_STATE__SHIFT |
					       error << ONPU_CORE_STATUS_ERROR__SHIFT |
					       detail << ONPU_CORE_STATUS_DETAIL__SHIFT);
}

/* Records a failure. Only the first one is reported: later failures are its consequences. */
void fw_fail(struct firmware *fw, uint32_t detail)
{
	if (fw->failed)
		return;
	fw->failed = true;
	hw_write(ONPU_REG_CORE_RUN_QUEUE, ONPU_NO_QUEUE);
	set_status(ONPU_STATE_FAILED, ONPU_BOOT_ERROR_FIRMWARE, detail);
}

void fw_start(struct firmware *fw)
{
	fw->num_queues = hw_read(ONPU_REG_CORE_NUM_QUEUES);
	if (fw->num_queues > ONPU_MAX_QUEUES)
		fw->num_queues = ONPU_MAX_QUEUES;
	fw->num_vms = hw_read(ONPU_REG_CORE_NUM_VMS);
	if (fw->num_vms > ONPU_REG_CORE_VM__LENGTH)
		fw->num_vms = ONPU_REG_CORE_VM__LENGTH;
	fw->num_asids = hw_read(ONPU_REG_CORE_NUM_ASIDS);
	mailbox_start(fw);
	log_start(fw);
	sched_start(fw);
	if (fw->failed)
		return;
	hw_write(ONPU_REG_CORE_FW_ABI, ONPU_ABI_MAJOR << ONPU_FW_ABI_MAJOR__SHIFT |
					       ONPU_ABI_MINOR << ONPU_FW_ABI_MINOR__SHIFT);
	hw_write(ONPU_REG_CORE_FW_VERSION,
		 FW_VERSION_MAJOR << ONPU_FW_VERSION_MAJOR__SHIFT |
			 FW_VERSION_MINOR << ONPU_FW_VERSION_MINOR__SHIFT |
			 FW_VERSION_PATCH << ONPU_FW_VERSION_PATCH__SHIFT);
	log_value(fw, ONPU_LOG_INFO, "firmware started, queues", fw->num_queues);
	/*
	 * Requests and doorbells may have come before the interrupts were enabled: check for them
	 * without waiting.
	 */
	fw->more = true;
	fw->irq_enable = FW_IRQS;
	hw_write(ONPU_REG_CORE_IRQ_ENABLE, FW_IRQS);
	hw_enable_wake();
	if (!fw->failed)
		set_status(ONPU_STATE_READY, ONPU_BOOT_ERROR_NONE, 0);
}

/*
 * One iteration of the loop. The interrupt causes are cleared before the state that raised them is
 * read, so that an event in between raises them again.
 */
static void iterate(struct firmware *fw)
{
	hw_write(ONPU_REG_CORE_IRQ_STATUS, hw_read(ONPU_REG_CORE_IRQ_STATUS));
	fw->counts.beats++;
	fault_poll(fw);
	fw->more = !fw->failed && mailbox_poll(fw);
	if (!fw->failed)
		sched_poll(fw);
}

void fw_step(struct firmware *fw)
{
	if (!fw->more) {
		uint64_t before = hw_cycle();

		hw_wait();
		fw->counts.idle_cycles += hw_cycle() - before;
	}
	iterate(fw);
}

#ifdef __riscv

static struct firmware the_firmware;

int main(void);
void give_up_trap(uint32_t cause);

int main(void)
{
	struct firmware *fw = &the_firmware;

	fw_start(fw);
	while (!fw->failed)
		fw_step(fw);
	return 0;
}

/*
 * Called after a trap, when no memory can be trusted, not even the flag `failed`: clears it, so
 * that fw_fail() reports the exception in any case.
 */
void give_up_trap(uint32_t cause)
{
	the_firmware.failed = false;
	fw_fail(&the_firmware, ONPU_FW_DETAIL_EXCEPTION + (cause & 31));
}

#endif
