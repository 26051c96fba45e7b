// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Files in the PCI device's folder of sysfs, of which monitoring programs look for those named
 * npu_*, and energy and power for programs that read hwmon.
 */
#include <linux/device.h>
#include <linux/hwmon.h>
#include <linux/math64.h>
#include <linux/sysfs.h>

#include <drm/drm_print.h>

#include "onpu_core.h"

/* Defines a file that shows one value. */
#define ONPU_ATTR(name, format, value)								\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{												\
	struct onpu_device *onpu = dev_get_drvdata(dev);					\
												\
	return sysfs_emit(buf, format "\n", value);						\
}												\
static DEVICE_ATTR_RO(name)

/* Time during which the device had a job, in microseconds. */
ONPU_ATTR(npu_busy_time_us, "%llu", div_u64(onpu_usage_busy_ns(onpu), NSEC_PER_USEC));
/* Bytes in buffer objects and contexts. */
ONPU_ATTR(npu_memory_utilization, "%lld", atomic64_read(&onpu->usage.memory));
/* The clock's frequency; 0 while there is no job, as if the clock stood still. */
ONPU_ATTR(npu_current_frequency_mhz, "%u",
	  READ_ONCE(onpu->usage.running) ? onpu_cap(onpu, ONPU_REG_CAP_CLOCK_KHZ) / 1000 : 0);
ONPU_ATTR(npu_max_frequency_mhz, "%u", onpu_cap(onpu, ONPU_REG_CAP_CLOCK_KHZ) / 1000);
/* Versions of the firmware and of its messages, and the image's checksum. */
ONPU_ATTR(fw_version, "%s", onpu_fw_describe(onpu, (char [ONPU_FW_TEXT]) {}));
/* Number of resets of the whole device. */
ONPU_ATTR(reset_count, "%u", atomic_read(&onpu->resets));

static struct attribute *onpu_sysfs_attrs[] = {
	&dev_attr_npu_busy_time_us.attr,
	&dev_attr_npu_memory_utilization.attr,
	&dev_attr_npu_current_frequency_mhz.attr,
	&dev_attr_npu_max_frequency_mhz.attr,
	&dev_attr_fw_version.attr,
	&dev_attr_reset_count.attr,
	NULL
};

const struct attribute_group onpu_sysfs_group = {
	.attrs = onpu_sysfs_attrs,
};

/* ---- hwmon: the device estimates its energy, and nothing measures a temperature */

#define PJ_PER_UJ	1000000

void onpu_energy_update(struct onpu_device *onpu)
{
	typeof(onpu->usage.energy) *energy = &onpu->usage.energy;
	u64 now;

	guard(spinlock)(&energy->lock);
	if (onpu->num_counters <= ONPU_COUNTER_ENERGY ||
	    !onpu_read_counter(onpu, ONPU_COUNTER_ENERGY, &now))
		return;
	/* A device that was without power counts from 0 again. */
	energy->total += now < energy->counter ? now : now - energy->counter;
	energy->counter = now;
}

static umode_t energy_visible(const void *data, enum hwmon_sensor_types type, u32 attr, int channel)
{
	return 0444;
}

/*
 * Sets *@value to the energy in microjoules, or to the power in microwatts, averaged since the last
 * reading of the power that is at least a second old. Returns 0. Does not wake a device that
 * sleeps, which takes no energy.
 */
static int energy_read(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel,
		       long *value)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);
	typeof(onpu->usage.energy) *energy = &onpu->usage.energy;
	s64 us;

	if (down_read_trylock(&onpu->reset_lock)) {
		onpu_energy_update(onpu);
		up_read(&onpu->reset_lock);
	}
	guard(spinlock)(&energy->lock);
	us = ktime_us_delta(ktime_get(), energy->since);
	if (type == hwmon_power && us >= USEC_PER_SEC) {
		energy->power = div64_u64(energy->total - energy->before, us);
		energy->before = energy->total;
		energy->since = ktime_get();
	}
	*value = type == hwmon_power ? energy->power : div_u64(energy->total, PJ_PER_UJ);
	return 0;
}

static const struct hwmon_channel_info *const energy_channels[] = {
	HWMON_CHANNEL_INFO(energy, HWMON_E_INPUT),
	HWMON_CHANNEL_INFO(power, HWMON_P_AVERAGE),
	NULL
};

static const struct hwmon_ops energy_ops = {
	.is_visible = energy_visible,
	.read = energy_read,
};

static const struct hwmon_chip_info sensors = { .ops = &energy_ops, .info = energy_channels };

/* Shows energy and power from now on; does nothing for a device that does not count its energy. */
void onpu_hwmon_add(struct onpu_device *onpu)
{
	typeof(onpu->usage.energy) *energy = &onpu->usage.energy;
	struct device *hwmon;

	if (!IS_REACHABLE(CONFIG_HWMON) || onpu->num_counters <= ONPU_COUNTER_ENERGY)
		return;
	energy->since = ktime_get();
	onpu_read_counter(onpu, ONPU_COUNTER_ENERGY, &energy->counter);
	hwmon = devm_hwmon_device_register_with_info(onpu->drm.dev, "onpu", onpu, &sensors, NULL);
	if (IS_ERR(hwmon))
		drm_notice(&onpu->drm, "hwmon shows no energy: %pe\n", hwmon);
}
