// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Files in the PCI device's folder of sysfs. Monitoring programs look for those named npu_*. */
#include <linux/device.h>
#include <linux/math64.h>
#include <linux/sysfs.h>

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

static const struct attribute_group onpu_sysfs_group = {
	.attrs = onpu_sysfs_attrs,
};

const struct attribute_group *onpu_sysfs_groups[] = {
	&onpu_sysfs_group,
	NULL
};
