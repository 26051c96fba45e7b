// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Files in the PCI device's folder of sysfs. Monitoring programs know those named npu_*.
 */
#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/math64.h>
#include <linux/sysfs.h>

#include "onpu_core.h"

/* Time during which the device had a job to work on, in microseconds. */
static ssize_t npu_busy_time_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%llu\n", div_u64(onpu_usage_busy_ns(onpu), NSEC_PER_USEC));
}
static DEVICE_ATTR_RO(npu_busy_time_us);

/* Bytes in buffer objects and contexts. */
static ssize_t npu_memory_utilization_show(struct device *dev, struct device_attribute *attr,
					   char *buf)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%lld\n", atomic64_read(&onpu->usage.memory));
}
static DEVICE_ATTR_RO(npu_memory_utilization);

/* 0 while there is no job, as if the clock stood still. */
static ssize_t npu_current_frequency_mhz_show(struct device *dev, struct device_attribute *attr,
					      char *buf)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);
	bool running = READ_ONCE(onpu->usage.running);

	return sysfs_emit(buf, "%u\n", running ? onpu->caps.clock_khz / 1000 : 0);
}
static DEVICE_ATTR_RO(npu_current_frequency_mhz);

static ssize_t npu_max_frequency_mhz_show(struct device *dev, struct device_attribute *attr,
					  char *buf)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", onpu->caps.clock_khz / 1000);
}
static DEVICE_ATTR_RO(npu_max_frequency_mhz);

/* Version of the image and of the messages it speaks. */
static ssize_t fw_version_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);
	u32 version = READ_ONCE(onpu->fw.version), abi = READ_ONCE(onpu->fw.abi);

	return sysfs_emit(buf, "%u.%u.%u abi %u.%u crc %08x\n",
			  FIELD_GET(ONPU_FW_VERSION_MAJOR__MASK, version),
			  FIELD_GET(ONPU_FW_VERSION_MINOR__MASK, version),
			  FIELD_GET(ONPU_FW_VERSION_PATCH__MASK, version),
			  FIELD_GET(ONPU_FW_ABI_MAJOR__MASK, abi),
			  FIELD_GET(ONPU_FW_ABI_MINOR__MASK, abi), onpu->fw.crc);
}
static DEVICE_ATTR_RO(fw_version);

/* Resets of the whole device. */
static ssize_t reset_count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct onpu_device *onpu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", atomic_read(&onpu->resets));
}
static DEVICE_ATTR_RO(reset_count);

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
