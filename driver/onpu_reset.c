// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Start, reset and end of the device.
 *
 * A reset has three steps: onpu_reset_begin() stops all use of the device; then the device is
 * started, with firmware that remembers nothing; onpu_reset_end() ends the jobs that were lost.
 * A reset comes from the driver itself (work on the ordered queue), or from the PCI core: a
 * function reset that somebody asked for through sysfs, or an error of the bus. A device that
 * several resets do not bring back is wedged; another function reset or a new binding can still
 * revive it. Sleep is a reset too.
 */
#include <linux/iopoll.h>
#include <linux/pm_runtime.h>

#include <drm/drm_print.h>

#include "onpu_compat.h"
#include "onpu_core.h"
#include "onpu_ctx.h"
#include "onpu_trace.h"

#define ATTEMPTS		3
#define RESET_TIMEOUT_US	(2 * USEC_PER_SEC)

/*
 * The longest of the pauses, which double each time, until configuration space answers again: two
 * seconds in all. PCI Express allows a device one second after a reset.
 */
#define LONGEST_PAUSE_MS	1024

/* Time between checks whether a device that could not be reached is off the bus. */
#define QUARANTINE_CHECK	HZ

/* The most resets in a row for errors of the firmware; the time without one that ends a row. */
#define MAX_FW_RESETS		8u
#define FW_RESETS_APART		(60 * HZ)

/* Time that jobs get to end before the host sleeps. */
#define SUSPEND_WAIT_US		USEC_PER_SEC

int onpu_device_start(struct onpu_device *onpu)
{
	u32 value;
	int ret;

	onpu_write(onpu, ONPU_REG_RESET, ONPU_RESET_START__MASK);
	/* A register reads as all ones when the device is gone. */
	ret = read_poll_timeout(onpu_read, value,
				!(value & ONPU_RESET_START__MASK) || value == U32_MAX, 100,
				RESET_TIMEOUT_US, false, onpu, ONPU_REG_RESET);
	if (ret) {
		drm_err(&onpu->drm, "the device did not come back from a reset in time: if the driver then gives it up, try onpu-smi reset, or bind the driver anew\n");
		return ret;
	}
	if (onpu_read(onpu, ONPU_REG_ID) != ONPU_ID_MAGIC)
		return -ENODEV;
	/* The reset made the device forget all addresses, so it may access memory again. */
	pci_set_master(onpu->pdev);
	ret = onpu_fw_boot(onpu);
	if (!ret)
		onpu_mbox_start(onpu);
	return ret;
}

/* ---- steps of a reset */

/*
 * Takes the device off the bus: off the bus it can access no memory. If the driver cannot see that
 * the device is off, it may access memory when it answers again: the memory that it knows stays in
 * quarantine, unless the PCI core knows that the device was pulled out.
 */
static void leave_bus(struct onpu_device *onpu)
{
	struct pci_dev *pdev = onpu->pdev;
	u16 command;

	pci_clear_master(pdev);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	onpu->quarantine = command & PCI_COMMAND_MASTER &&
			   pdev->error_state != pci_channel_io_perm_failure;
	if (onpu->quarantine)
		queue_delayed_work(onpu->reset_wq, &onpu->quarantine_work, QUARANTINE_CHECK);
}

void onpu_device_quarantine_work(struct work_struct *work)
{
	struct onpu_device *onpu = container_of(to_delayed_work(work), struct onpu_device,
						quarantine_work);

	guard(rwsem_write)(&onpu->reset_lock);
	/* A device that sleeps is not checked; waking it up resets it. */
	if (!onpu->quarantine || onpu->asleep)
		return;
	leave_bus(onpu);
	if (!onpu->quarantine)
		onpu_mmu_post_reset(onpu);
}

/* Restores configuration space, which a reset has cleared that the PCI core may not know of. */
static void restore_config(struct onpu_device *onpu)
{
	pci_load_saved_state(onpu->pdev, onpu->config);
	pci_restore_state(onpu->pdev);
}

/*
 * Waits until configuration space answers; returns whether it does. It reads all ones for a moment
 * during a reset by somebody else, while a link comes back, and on a slow return from D3cold. If
 * there is a wait, all jobs are cancelled before it.
 */
static bool wait_for_config(struct onpu_device *onpu)
{
	struct pci_dev *pdev = onpu->pdev;

	if (pci_device_is_present(pdev))
		return true;
	onpu_ctx_cancel_all(onpu);
	for (unsigned int ms = 1; ms <= LONGEST_PAUSE_MS; ms *= 2) {
		if (pdev->error_state == pci_channel_io_perm_failure)
			return false;
		msleep(ms);
		if (pci_device_is_present(pdev))
			return true;
	}
	return false;
}

/* Stops all use of the device; returns why the driver asked for a reset, or ONPU_RESET_NONE. */
static enum onpu_reset_reason onpu_reset_begin(struct onpu_device *onpu)
{
	lockdep_assert_held_write(&onpu->reset_lock);
	WRITE_ONCE(onpu->in_reset, true);
	onpu_mbox_fail(onpu, -EAGAIN);
	onpu_irq_allow(onpu, false);
	onpu_ctx_pre_reset(onpu);
	/* All errors of the old firmware have been reported by now: this reset answers them. */
	return xchg(&onpu->reset_reason, ONPU_RESET_NONE);
}

static void mark_wedged(struct onpu_device *onpu)
{
	/* The device must not access memory that is about to be freed. */
	leave_bus(onpu);
	WRITE_ONCE(onpu->state, ONPU_DEV_WEDGED);
	onpu_mbox_fail(onpu, -ENODEV);
}

/*
 * Sends an event for udev rules, since the device is wedged, or was reset by the driver and works.
 * This waits for memory, so it is a work item of its own: no reset may wait for it.
 */
void onpu_device_event_work(struct work_struct *work)
{
	struct onpu_device *onpu = container_of(work, struct onpu_device, event_work);
	struct onpu_culprit culprit;

	CLASS(onpu_entered, entered)(&onpu->drm);
	if (entered < 0)
		return;
	scoped_guard(mutex, &onpu->ctx->bind_lock) {
		culprit = onpu->culprit;
		onpu->culprit.comm[0] = '\0';
	}
	onpu_wedged_event(&onpu->drm, onpu_device_lost(onpu), culprit.pid, culprit.comm);
}

/* Logs that the device is wedged or gone, and has udev told. */
static void report_wedged(struct onpu_device *onpu, int error)
{
	/* Pulling out a device is not an error. */
	if (error == -ENODEV)
		drm_notice(&onpu->drm, "the device is gone: it was removed, or does not answer on the bus\n");
	else
		drm_err(&onpu->drm, "the device is wedged: it runs no jobs until onpu-smi reset, or binding the driver anew, revives it\n");
	schedule_work(&onpu->event_work);
}

/* Ends a reset and releases reset_lock. @error: the result of starting the device again. */
static void onpu_reset_end(struct onpu_device *onpu, int error)
{
	bool tell = error && onpu->state == ONPU_DEV_UP;

	lockdep_assert_held_write(&onpu->reset_lock);
	if (!onpu->asleep)
		atomic_inc(&onpu->resets);
	WRITE_ONCE(onpu->asleep, false);
	onpu->quarantine = false;
	if (error)
		mark_wedged(onpu);
	else
		WRITE_ONCE(onpu->state, ONPU_DEV_UP);
	/* Pairs with the acquire in onpu_device_present(): the device answers by now. */
	smp_store_release(&onpu->in_reset, false);
	/* A device that was without power counts from 0 again, and has had no job since. */
	if (!error)
		onpu_energy_update(onpu);
	trace_onpu_reset(onpu, "end", error);
	onpu_irq_allow(onpu, true);
	onpu_mmu_post_reset(onpu);
	onpu_ctx_post_reset(onpu, !error);
	if (!error)
		onpu_fw_log_start(onpu);
	up_write(&onpu->reset_lock);
	if (tell && !drm_dev_is_unplugged(&onpu->drm))
		report_wedged(onpu, error);
}

/*
 * Resets the device and takes it off the bus. Accesses registers directly, because onpu_read() and
 * onpu_write() do nothing when the device is unplugged.
 */
static void halt_device(struct onpu_device *onpu)
{
	u32 value;

	writel(ONPU_RESET_START__MASK, onpu->regs + ONPU_REG_RESET);
	if (readl_poll_timeout(onpu->regs + ONPU_REG_RESET, value,
			       !(value & ONPU_RESET_START__MASK) || value == U32_MAX, 100,
			       RESET_TIMEOUT_US))
		drm_dbg(&onpu->drm, "the last reset of the device timed out\n");
	leave_bus(onpu);
}

/*
 * Resets the PCI function, unless somebody else holds the device lock: then the driver is being
 * unbound, or the function is being reset. The PCI core's own functions would take the lock and
 * call the driver back.
 */
static void reset_function(struct onpu_device *onpu)
{
	struct pci_dev *pdev = onpu->pdev;

	if (!pci_dev_trylock(pdev))
		return;
	if (pcie_reset_flr(pdev, PCI_RESET_DO_RESET))
		drm_dbg(&onpu->drm, "the function-level reset failed\n");
	restore_config(onpu);
	pci_dev_unlock(pdev);
}

static int restart_device(struct onpu_device *onpu)
{
	int ret = -ENODEV;

	for (unsigned int i = 0; i < ATTEMPTS && wait_for_config(onpu); i++) {
		if (i)
			reset_function(onpu);
		ret = onpu_device_start(onpu);
		if (!ret)
			break;
	}
	return ret;
}

/* ---- resets by the driver */

static const char *reason_text(enum onpu_reset_reason reason)
{
	static const char *const texts[] = {
		[ONPU_RESET_ABSENT] = "the device does not answer",
		[ONPU_RESET_BUS] = "an error on the bus",
		[ONPU_RESET_EXTERNAL] = "the firmware is not running",
		[ONPU_RESET_INVALIDATION] = "no answer to an invalidation",
		[ONPU_RESET_KILL] = "a context cannot be ended",
		[ONPU_RESET_TIMEOUT] = "the firmware does not answer",
		[ONPU_RESET_FW_FAILED] = "the firmware has failed",
		[ONPU_RESET_FW_PROTOCOL] = "the firmware sent an invalid message",
		[ONPU_RESET_FW_REFUSES] = "the firmware refuses a context",
	};

	return texts[reason];
}

/*
 * Returns whether to give up: the firmware starts, but fails again and again before a job has
 * succeeded. Called after onpu_reset_begin(). Resets that clients can cause, or that come from
 * outside, do not count: otherwise one client could take the device from all others.
 */
static bool fw_resets_exhausted(struct onpu_device *onpu, enum onpu_reset_reason reason)
{
	u64 jobs = atomic64_read(&onpu->usage.jobs) - atomic64_read(&onpu->usage.failed_jobs);

	lockdep_assert_held_write(&onpu->reset_lock);
	if (reason < ONPU_RESET_FW_FAILED)
		return false;
	if (jobs != onpu->fw_reset_jobs ||
	    time_after(jiffies, onpu->fw_reset_at + FW_RESETS_APART))
		onpu->fw_resets = 0;
	onpu->fw_reset_jobs = jobs;
	onpu->fw_reset_at = jiffies;
	if (onpu->fw_resets++ < MAX_FW_RESETS)
		return false;
	drm_err(&onpu->drm, "the firmware still fails after %u resets, so the driver tries no more: please report it\n",
		MAX_FW_RESETS);
	halt_device(onpu);
	return true;
}

void onpu_device_reset_work(struct work_struct *work)
{
	struct onpu_device *onpu = container_of(work, struct onpu_device, reset_work);
	enum onpu_reset_reason reason;
	int ret;

	/* Fail requests without an answer: their callers may hold reset_lock, taken next. */
	if (!onpu_mbox_fail_for_reset(onpu))
		return;
	down_write(&onpu->reset_lock);
	if (READ_ONCE(onpu->reset_reason) == ONPU_RESET_NONE) {
		/* Another reset has happened since this one was asked for. */
		up_write(&onpu->reset_lock);
	} else if (onpu->state == ONPU_DEV_UP) {
		reason = onpu_reset_begin(onpu);
		drm_notice(&onpu->drm, "the device gets a reset: %s\n", reason_text(reason));
		trace_onpu_reset(onpu, reason_text(reason), 0);
		onpu_dump_device(onpu, reason, reason_text(reason), true);
		ret = fw_resets_exhausted(onpu, reason) ? -EIO : restart_device(onpu);
		onpu_reset_end(onpu, ret);
		if (!ret)
			schedule_work(&onpu->event_work);
	} else {
		onpu_mbox_fail(onpu, -ENODEV);
		up_write(&onpu->reset_lock);
	}
}

/*
 * Resets the device soon. Callable from any context. Calls are merged until the reset begins; the
 * first reason counts. No reset may happen between the error that the caller saw and this call, or
 * a second one follows. So the caller holds a lock that onpu_reset_begin() waits for:
 * &onpu_device.reset_lock, &onpu_mbox.pending_lock, a lock of onpu_ctx.h or onpu_mmu.c; or it is an
 * interrupt handler.
 */
void onpu_device_reset_async(struct onpu_device *onpu, enum onpu_reset_reason reason)
{
	cmpxchg(&onpu->reset_reason, ONPU_RESET_NONE, reason);
	queue_work(onpu->reset_wq, &onpu->reset_work);
}

/* Starts device and firmware after a reset from outside, or after sleep; returns 0 or an errno. */
static int restart_from_outside(struct onpu_device *onpu)
{
	onpu->fw_resets = 0;
	if (!wait_for_config(onpu))
		return -ENODEV;
	/* The PCI core may have saved and restored the state of a device that had lost its link. */
	restore_config(onpu);
	return onpu_device_start(onpu);
}

/* ---- resets by the PCI core, under the device lock */

static void onpu_reset_prepare(struct pci_dev *pdev)
{
	struct onpu_device *onpu = pci_get_drvdata(pdev);

	trace_onpu_reset(onpu, "of the PCI function", 0);
	onpu_mbox_fail(onpu, -EAGAIN);
	down_write(&onpu->reset_lock);
	/* A device that sleeps is reset all the same; it is started when it wakes up. */
	if (!onpu->asleep)
		onpu_reset_begin(onpu);
}

static void onpu_reset_done(struct pci_dev *pdev)
{
	struct onpu_device *onpu = pci_get_drvdata(pdev);

	drm_notice(&onpu->drm, "the device gets a reset: somebody asked for it, by sysfs or a virtual machine\n");
	if (onpu->asleep)
		up_write(&onpu->reset_lock);
	else
		onpu_reset_end(onpu, restart_from_outside(onpu));
}

/*
 * Handles an error of the bus. While the bus works, asks for a reset and returns CAN_RECOVER.
 * Otherwise returns NEED_RESET for a frozen bus and DISCONNECT for a dead one; unless the device
 * sleeps, it is marked as wedged at once and its contexts are lost, because the PCI core does not
 * promise to call the next step of its recovery.
 */
static pci_ers_result_t onpu_error_detected(struct pci_dev *pdev, pci_channel_state_t channel)
{
	struct onpu_device *onpu = pci_get_drvdata(pdev);

	if (channel == pci_channel_io_normal) {
		onpu_device_reset_async(onpu, ONPU_RESET_BUS);
		return PCI_ERS_RESULT_CAN_RECOVER;
	}
	trace_onpu_reset(onpu, reason_text(ONPU_RESET_BUS), 0);
	onpu_mbox_fail(onpu, -EAGAIN);
	down_write(&onpu->reset_lock);
	if (onpu->asleep) {
		up_write(&onpu->reset_lock);
	} else {
		onpu_reset_begin(onpu);
		onpu_dump_device(onpu, ONPU_RESET_BUS, reason_text(ONPU_RESET_BUS), false);
		onpu_reset_end(onpu, -EIO);
	}
	return channel == pci_channel_io_frozen ? PCI_ERS_RESULT_NEED_RESET :
						  PCI_ERS_RESULT_DISCONNECT;
}

static pci_ers_result_t onpu_slot_reset(struct pci_dev *pdev)
{
	restore_config(pci_get_drvdata(pdev));
	return PCI_ERS_RESULT_RECOVERED;
}

static void onpu_error_resume(struct pci_dev *pdev)
{
	struct onpu_device *onpu = pci_get_drvdata(pdev);

	down_write(&onpu->reset_lock);
	if (onpu->state == ONPU_DEV_WEDGED) {
		onpu_reset_begin(onpu);
		onpu_reset_end(onpu, restart_from_outside(onpu));
	} else {
		up_write(&onpu->reset_lock);
	}
}

const struct pci_error_handlers onpu_error_handlers = {
	.error_detected = onpu_error_detected,
	.slot_reset = onpu_slot_reset,
	.resume = onpu_error_resume,
	.reset_prepare = onpu_reset_prepare,
	.reset_done = onpu_reset_done,
};

/* ---- sleep of the device */

static void put_to_sleep(struct onpu_device *onpu)
{
	/* A reset would wake the device. */
	disable_work_sync(&onpu->reset_work);
	onpu_mbox_fail(onpu, -EAGAIN);
	down_write(&onpu->reset_lock);
	onpu_energy_update(onpu);
	onpu_reset_begin(onpu);
	halt_device(onpu);
	/* The PCI core does not put a device to sleep that has a saved state. */
	pci_load_saved_state(onpu->pdev, NULL);
	/* The device has forgotten all addresses, so memory is freed without asking it. */
	WRITE_ONCE(onpu->asleep, true);
	onpu_mmu_post_reset(onpu);
	onpu_ctx_post_reset(onpu, !onpu_device_lost(onpu));
	trace_onpu_power(onpu, "suspend", 0);
	up_write(&onpu->reset_lock);
}

static int onpu_resume(struct device *dev)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);
	int ret;

	down_write(&onpu->reset_lock);
	/* The start below replaces any reset that was asked for. */
	xchg(&onpu->reset_reason, ONPU_RESET_NONE);
	ret = restart_from_outside(onpu);
	/* From here on a reset can be asked for; it waits for the lock. */
	enable_work(&onpu->reset_work);
	trace_onpu_power(onpu, "resume", ret);
	onpu_reset_end(onpu, ret);
	return ret;
}

/*
 * Suspends the device before the host sleeps; programs are frozen. Waits at most SUSPEND_WAIT_US
 * for jobs to end, then cancels the rest, as any reset does. Returns 0.
 */
static int onpu_suspend(struct device *dev)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);
	bool busy;

	if (read_poll_timeout(READ_ONCE, busy, !busy, USEC_PER_MSEC, SUSPEND_WAIT_US, false,
			      onpu->usage.running))
		drm_dbg(&onpu->drm, "jobs are cancelled for system sleep\n");
	put_to_sleep(onpu);
	atomic_inc(&onpu->resets);
	return 0;
}

/* Suspends a device that has no job, as a context with a job keeps it awake; returns 0. */
static int onpu_runtime_suspend(struct device *dev)
{
	put_to_sleep(dev_get_drvdata(dev));
	return 0;
}

/*
 * Wakes the device up. Returns 0 even if the device does not start: it is then wedged, but awake,
 * and a function reset may revive it.
 */
static int onpu_runtime_resume(struct device *dev)
{
	onpu_resume(dev);
	return 0;
}

const struct dev_pm_ops onpu_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(onpu_suspend, onpu_resume)
	RUNTIME_PM_OPS(onpu_runtime_suspend, onpu_runtime_resume, NULL)
};

/* ---- the end */

void onpu_device_unplug(struct onpu_device *onpu)
{
	/* The work that is cancelled below may be waiting for an answer of the firmware. */
	onpu_mbox_fail(onpu, -ENODEV);
	disable_work_sync(&onpu->reset_work);
	disable_work_sync(&onpu->event_work);
	disable_delayed_work_sync(&onpu->fw.heartbeat);
	disable_delayed_work_sync(&onpu->quarantine_work);
	down_write(&onpu->reset_lock);
	/* A reset may have started the mailbox again. */
	onpu_mbox_fail(onpu, -ENODEV);
	devm_release_action(onpu->drm.dev, onpu_irq_fini, onpu);
	halt_device(onpu);
	/*
	 * From now on memory is freed without an invalidation, as the device is halted, and without
	 * a quarantine, as no work would end it.
	 */
	onpu->quarantine = false;
	WRITE_ONCE(onpu->state, ONPU_DEV_GONE);
	onpu_mmu_post_reset(onpu);
	up_write(&onpu->reset_lock);
	onpu_ctx_post_reset(onpu, false);
	/* Contexts that are ending and checks for hangs must not outlast the module. */
	flush_workqueue(onpu->wq);
	flush_workqueue(onpu->reset_wq);
	/* Nothing is left that could find another failure. */
	onpu_dump_flush(onpu);
	onpu_gem_unplug(onpu);
	onpu_mmu_unplug(onpu);
}
