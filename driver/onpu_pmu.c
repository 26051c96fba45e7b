// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The counters of the device as events of perf: `perf stat -e onpu_0/cycles/`, where 0 is the
 * number of /dev/accel/accel0. perf adds up all devices for `onpu/cycles/`.
 *
 * Older kernels free what open events use when a PMU is unregistered. So a PMU stays until the
 * module is unloaded, which no event outlives, and serves the next device of its number. The
 * events of a device that is gone stand still, and keep its number in use.
 */
#include <linux/device.h>
#include <linux/perf_event.h>
#include <linux/pm_runtime.h>

#include <drm/drm_print.h>

#include "onpu_core.h"

struct onpu_pmu {
	struct pmu base;
	/* The device of this number, without a reference, or NULL. Under pmu_device_lock. */
	struct onpu_device *onpu;
	char name[sizeof("onpu_4294967295")];
};

/* Stands for the last value of a counter that could not be read since its event was started. */
#define UNKNOWN	U64_MAX

/*
 * Protects @pmus. Locks of perf are taken under it. event_init() must not take it, because perf
 * holds some of its locks when it calls that function.
 */
static DEFINE_MUTEX(pmus_lock);
/* Protects the pointers from PMUs to their devices. */
static DEFINE_SPINLOCK(pmu_device_lock);
/* PMUs by the numbers of their nodes. */
static DEFINE_XARRAY(pmus);

/* ---- counting */

/* Returns the value of an event's counter; the last one if the device does not answer. */
static u64 counter_now(struct perf_event *event)
{
	u64 value;

	return onpu_read_counter(event->pmu_private, event->attr.config, &value) ? value :
	       local64_read(&event->hw.prev_count);
}

static void event_read(struct perf_event *event)
{
	local64_t *last = &event->hw.prev_count;
	s64 before = local64_read(last);
	u64 now;

	do {
		now = counter_now(event);
	} while (!local64_try_cmpxchg(last, &before, now));
	if (before == UNKNOWN)
		return;
	/* A device that was without power counts from 0 again. */
	local64_add(now < before ? now : now - before, &event->count);
}

static void event_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, UNKNOWN);
	local64_set(&event->hw.prev_count, counter_now(event));
	event->hw.state = 0;
}

static void event_stop(struct perf_event *event, int flags)
{
	if (flags & PERF_EF_UPDATE && !(event->hw.state & PERF_HES_STOPPED))
		event_read(event);
	event->hw.state = PERF_HES_STOPPED;
}

static int event_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		event_start(event, flags);
	return 0;
}

static void event_del(struct perf_event *event, int flags)
{
	event_stop(event, PERF_EF_UPDATE);
}

/* Lets the device sleep again: while it has events it is awake, or they would miss counts. */
static void event_destroy(struct perf_event *event)
{
	struct onpu_device *onpu = event->pmu_private;

	pm_runtime_put_autosuspend(onpu->drm.dev);
	drm_dev_put(&onpu->drm);
}

static int event_init(struct perf_event *event)
{
	struct onpu_pmu *pmu = container_of(event->pmu, struct onpu_pmu, base);
	struct onpu_device *onpu;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	/* The device counts for all clients together, and no counter raises an interrupt. */
	if (is_sampling_event(event) || event->attach_state & PERF_ATTACH_TASK)
		return -EINVAL;
	scoped_guard(spinlock, &pmu_device_lock) {
		onpu = pmu->onpu;
		/* With this error perf skips the event; with -ENODEV it would give up. */
		if (!onpu || onpu_device_lost(onpu))
			return -ENXIO;
		if (event->attr.config >= onpu->num_counters || event->attr.config1 ||
		    event->attr.config2)
			return -EINVAL;
		drm_dev_get(&onpu->drm);
	}
	ret = pm_runtime_resume_and_get(onpu->drm.dev);
	if (ret) {
		drm_dev_put(&onpu->drm);
		return ret;
	}
	event->pmu_private = onpu;
	event->destroy = event_destroy;
	return 0;
}

/* ---- files in sysfs */

PMU_FORMAT_ATTR(event, "config:0-7");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr,
	NULL
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

static ssize_t counter_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "event=%llu\n",
			  container_of(attr, struct perf_pmu_events_attr, attr)->id);
}

#define EVENT(name, counter)	PMU_EVENT_ATTR_ID(name, counter_show, ONPU_COUNTER_##counter)
#define BUSY(name, engine)	\
	PMU_EVENT_ATTR_ID(name, counter_show, (u64)ONPU_COUNTER_BUSY + ONPU_ENG_##engine)

PMU_EVENT_ATTR_STRING(energy.unit, energy_unit, "Joules");
PMU_EVENT_ATTR_STRING(energy.scale, energy_scale, "1e-12");

static struct attribute *event_attrs[] = {
	EVENT(cycles, CYCLES),
	BUSY(busy_cp, CP),
	BUSY(busy_ld, LD),
	BUSY(busy_st, ST),
	BUSY(busy_mxu, MXU),
	BUSY(busy_vpu, VPU),
	EVENT(read_bytes, BYTES_LD),
	EVENT(written_bytes, BYTES_ST),
	EVENT(macs, MACS),
	EVENT(elements, ELEMENTS),
	EVENT(tlb_misses, TLB_MISSES),
	EVENT(energy, ENERGY),
	&energy_unit.attr.attr,
	&energy_scale.attr.attr,
	NULL
};

static const struct attribute_group event_group = {
	.name = "events",
	.attrs = event_attrs,
};

static const struct attribute_group *attr_groups[] = {
	&format_group,
	&event_group,
	NULL
};

/* ---- devices */

/* Returns the PMU of a number, which is made when there is none, or an error pointer. */
static struct onpu_pmu *find_pmu(unsigned int number)
{
	struct onpu_pmu *new __free(kfree) = NULL, *pmu = xa_load(&pmus, number);
	int ret;

	lockdep_assert_held(&pmus_lock);
	if (pmu)
		return pmu;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return ERR_PTR(-ENOMEM);
	snprintf(new->name, sizeof(new->name), "onpu_%u", number);
	new->base = (struct pmu) {
		.module = THIS_MODULE,
		.task_ctx_nr = perf_invalid_context,
		.scope = PERF_PMU_SCOPE_SYS_WIDE,
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
		.attr_groups = attr_groups,
		.event_init = event_init,
		.add = event_add,
		.del = event_del,
		.start = event_start,
		.stop = event_stop,
		.read = event_read,
	};
	ret = xa_err(xa_store(&pmus, number, new, GFP_KERNEL));
	if (ret)
		return ERR_PTR(ret);
	ret = perf_pmu_register(&new->base, new->name, -1);
	if (!ret)
		return no_free_ptr(new);
	xa_erase(&pmus, number);
	return ERR_PTR(ret);
}

static void forget_device(void *data)
{
	struct onpu_pmu *pmu = data;

	guard(spinlock)(&pmu_device_lock);
	pmu->onpu = NULL;
}

/* Shows the device's counters to perf, or logs why it cannot. */
void onpu_pmu_add(struct onpu_device *onpu)
{
	struct onpu_pmu *pmu;
	int ret;

	if (!onpu->num_counters)
		return;
	scoped_guard(mutex, &pmus_lock)
		pmu = find_pmu(onpu->drm.accel->index);
	ret = PTR_ERR_OR_ZERO(pmu);
	if (!ret) {
		scoped_guard(spinlock, &pmu_device_lock)
			pmu->onpu = onpu;
		ret = devm_add_action_or_reset(onpu->drm.dev, forget_device, pmu);
	}
	if (ret)
		drm_notice(&onpu->drm, "perf shows no counters of the device: %pe\n", ERR_PTR(ret));
}

void onpu_pmu_exit(void)
{
	struct onpu_pmu *pmu;
	unsigned long number;

	xa_for_each(&pmus, number, pmu) {
		perf_pmu_unregister(&pmu->base);
		kfree(pmu);
	}
	xa_destroy(&pmus);
}
