// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The firmware: its image, boot, log and heartbeat. */
#include <linux/crc32.h>
#include <linux/dma-mapping.h>
#include <linux/firmware.h>
#include <linux/iopoll.h>
#include <linux/moduleparam.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "onpu_core.h"
#include "onpu_trace.h"

/* The image's name has the major version of the messages in it. */
#define IMAGE_NAME	"onpu/onpu_v1.bin"

#define BOOT_TIMEOUT_US	(10 * USEC_PER_SEC)

static_assert(ONPU_ABI_MAJOR == 1, "the image's name bears the version");
static_assert(sizeof(struct onpu_fw_header) == ONPU_FW_HEADER_SIZE);

static unsigned int fw_log_level = ONPU_LOG_INFO;
module_param(fw_log_level, uint, 0644);
MODULE_PARM_DESC(fw_log_level,
		 "What the firmware logs, shown by drm.debug: 0 nothing, 1 errors, 2 more (default), 3 all");

MODULE_FIRMWARE(IMAGE_NAME);

/* ---- image */

static int reject_image(struct onpu_device *onpu, const char *why)
{
	drm_err(&onpu->drm, "firmware %s is refused: %s; install onpu-firmware of the driver's release anew\n",
		IMAGE_NAME, why);
	return -EINVAL;
}

static int check_image(struct onpu_device *onpu, const void *data, size_t size)
{
	struct onpu_fw_header h;
	u32 version = ONPU_VERSION__RESET;

	if (size < sizeof(h))
		return reject_image(onpu, "the file is damaged: it is too short for its header");
	memcpy(&h, data, sizeof(h));
	if (h.magic != ONPU_FW_MAGIC || h.header_size != ONPU_FW_HEADER_SIZE ||
	    memchr_inv(h.mbz_28, 0, sizeof(h.mbz_28)))
		return reject_image(onpu, "the file is not a firmware image of an Open NPU");
	if (h.image_size != size - sizeof(h) || !h.image_size || h.image_size % 4)
		return reject_image(onpu, "the file is damaged: the size in its header is wrong");
	if (h.memory_size < h.image_size)
		return reject_image(onpu, "the file is damaged: it reserves too little memory");
	if (~crc32_le(~0, data + sizeof(h), h.image_size) != h.crc)
		return reject_image(onpu, "the file is damaged: its checksum is wrong");
	if (h.abi_major != ONPU_ABI_MAJOR || h.abi_minor < ONPU_ABI_MINOR) {
		drm_err(&onpu->drm, "firmware %s speaks version %u.%u, but the driver needs %u.%u or newer: install onpu-firmware of the driver's release\n",
			IMAGE_NAME, h.abi_major, h.abi_minor, ONPU_ABI_MAJOR, ONPU_ABI_MINOR);
		return -EINVAL;
	}
	if (FIELD_GET(ONPU_VERSION_MAJOR__MASK, h.hw_version) !=
	    FIELD_GET(ONPU_VERSION_MAJOR__MASK, version))
		return reject_image(onpu, "the file is for another version of the device");
	onpu->fw.info.crc = h.crc;
	return 0;
}

static void heartbeat_work(struct work_struct *work)
{
	struct onpu_fw *fw = container_of(to_delayed_work(work), struct onpu_fw, heartbeat);
	struct onpu_device *onpu = container_of(fw, struct onpu_device, fw);
	union onpu_msg msg = { .header = { .type = ONPU_MSG_HEARTBEAT } };
	int ret = 0;

	if (!READ_ONCE(onpu->usage.running))
		return;
	/* With the lock, no reset comes between a firmware's error and the request for a reset. */
	if (down_read_trylock(&onpu->reset_lock)) {
		/* STATUS tells at once that the device is gone or was reset by somebody else. */
		onpu_fw_status_irq(onpu);
		/* Without an answer, onpu_mbox_call() asks for a reset; no other error matters. */
		ret = onpu_mbox_call(onpu, &msg);
		up_read(&onpu->reset_lock);
	}
	if (ret == -ENODEV)
		return;
	queue_delayed_work(onpu->wq, &fw->heartbeat, ONPU_HEARTBEAT_INTERVAL);
}

/*
 * Loads the firmware's image from its file; returns 0 or an errno. The image stays in memory,
 * because a reset cannot rely on a file system. Each boot starts from &onpu_fw.file, a copy that
 * the device cannot write, so that faulty firmware cannot spoil the image.
 */
int onpu_fw_init(struct onpu_device *onpu)
{
	struct onpu_fw *fw = &onpu->fw;
	struct device *dev = onpu->drm.dev;
	const struct firmware *file;
	int ret;

	INIT_DELAYED_WORK(&fw->heartbeat, heartbeat_work);
	ret = drmm_mutex_init(&onpu->drm, &fw->log_lock);
	if (ret)
		return ret;
	ret = request_firmware(&file, IMAGE_NAME, dev);
	if (ret) {
		if (ret == -ENOENT)
			drm_err(&onpu->drm, "firmware %s is not where the kernel looks for it: install the package onpu-firmware, which puts it in /lib/firmware\n",
				IMAGE_NAME);
		else
			drm_err(&onpu->drm, "firmware %s cannot be loaded: %pe\n", IMAGE_NAME,
				ERR_PTR(ret));
		return ret;
	}
	ret = check_image(onpu, file->data, file->size);
	if (!ret) {
		fw->size = file->size;
		fw->image = dmam_alloc_coherent(dev, fw->size, &fw->image_dma, GFP_KERNEL);
		fw->log = dmam_alloc_coherent(dev, ONPU_FW_LOG_BYTES, &fw->log_dma, GFP_KERNEL);
		fw->file = devm_kmemdup(dev, file->data, file->size, GFP_KERNEL);
		ret = fw->image && fw->log && fw->file ? 0 : -ENOMEM;
	}
	release_firmware(file);
	return ret;
}

const char *onpu_fw_describe(const struct onpu_device *onpu, char text[ONPU_FW_TEXT])
{
	const struct drm_onpu_firmware_info *info = &onpu->fw.info;

	snprintf(text, ONPU_FW_TEXT, "%u.%u.%u abi %u.%u crc %08x", info->version_major,
		 info->version_minor, info->version_patch, info->abi_major, info->abi_minor,
		 info->crc);
	return text;
}

/* ---- boot */

static u32 status_state(u32 status)
{
	return FIELD_GET(ONPU_STATUS_STATE__MASK, status);
}

static const char *boot_error_name(u32 error)
{
	static const char *const names[] = {
		[ONPU_BOOT_ERROR_NONE] = "no error",
		[ONPU_BOOT_ERROR_FETCH] = "the image could not be read",
		[ONPU_BOOT_ERROR_HEADER] = "bad header",
		[ONPU_BOOT_ERROR_SIZE] = "bad sizes, or too large for the device",
		[ONPU_BOOT_ERROR_CRC] = "wrong checksum",
		[ONPU_BOOT_ERROR_FIRMWARE] = "the firmware gave up",
	};

	return error < ARRAY_SIZE(names) && names[error] ? names[error] : "unknown error";
}

static const char *detail_name(u32 error, u32 detail)
{
	if (error != ONPU_BOOT_ERROR_FIRMWARE)
		return "";
	switch (detail) {
	case ONPU_FW_DETAIL_RING_SETUP:
		return ": a ring is misplaced or of a bad size";
	case ONPU_FW_DETAIL_RING_INDEX:
		return ": the index of a ring is out of step";
	case ONPU_FW_DETAIL_RING_ACCESS:
		return ": a ring cannot be reached";
	default:
		return detail >= ONPU_FW_DETAIL_EXCEPTION ? ": it has trapped" : "";
	}
}

static void report_fw_status(struct onpu_device *onpu, u32 status)
{
	u32 error = FIELD_GET(ONPU_STATUS_ERROR__MASK, status);
	u32 detail = FIELD_GET(ONPU_STATUS_DETAIL__MASK, status);

	if (status == U32_MAX)
		drm_err(&onpu->drm, "the device does not answer: its status register reads %#x\n",
			status);
	else if (status_state(status) == ONPU_STATE_FAILED && error == ONPU_BOOT_ERROR_ABI)
		drm_err(&onpu->drm, "the firmware needs a newer device: install onpu-firmware of the device's release\n");
	else if (status_state(status) == ONPU_STATE_FAILED)
		drm_err(&onpu->drm, "the firmware failed: %s%s (detail %u); please report it\n",
			boot_error_name(error), detail_name(error, detail), detail);
	else if (status_state(status) == ONPU_STATE_HALTED)
		drm_err(&onpu->drm, "the firmware crashed with exception %u of RISC-V (mcause); please report it\n",
			detail);
	else
		drm_err(&onpu->drm, "the firmware has not started, or has stopped: its status register reads %#x; please report it\n",
			status);
}

void onpu_fw_status_irq(struct onpu_device *onpu)
{
	u32 status;

	/* The device must not be accessed during a reset, which checks the status itself. */
	if (smp_load_acquire(&onpu->in_reset))
		return;
	status = onpu_read(onpu, ONPU_REG_STATUS);
	if (status_state(status) == ONPU_STATE_READY || READ_ONCE(onpu->in_reset) ||
	    !onpu_device_present(onpu))
		return;
	onpu_fw_log_drain(onpu);
	/* A device that somebody else has reset has no error to report. */
	if (onpu_fw_reset_async(onpu, ONPU_RESET_FW_FAILED))
		report_fw_status(onpu, status);
}

bool onpu_fw_reset_async(struct onpu_device *onpu, enum onpu_reset_reason reason)
{
	u32 state = status_state(onpu_read(onpu, ONPU_REG_STATUS));
	bool external = state == ONPU_STATE_RESET || state == ONPU_STATE_BOOTING;

	onpu_device_reset_async(onpu, external ? ONPU_RESET_EXTERNAL : reason);
	return !external;
}

static void write_boot_regs(struct onpu_device *onpu)
{
	u32 wanted = ONPU_INT_ENABLE_STATUS__MASK | ONPU_INT_ENABLE_RESPONSE__MASK |
		     ONPU_INT_ENABLE_INVALIDATED__MASK | ONPU_INT_ENABLE_LOG__MASK;

	if (onpu->num_vectors == 1)
		wanted |= ONPU_INT_ENABLE_COMPLETION__MASK;
	memcpy(onpu->fw.image, onpu->fw.file, onpu->fw.size);
	onpu_mbox_setup(onpu);
	onpu->fw.log_head = 0;
	onpu_write64(onpu, ONPU_REG_LOG_BASE_LO, onpu->fw.log_dma);
	onpu_write(onpu, ONPU_REG_LOG_SIZE, ONPU_FW_LOG_BYTES);
	onpu_write64(onpu, ONPU_REG_FW_ADDRESS_LO, onpu->fw.image_dma);
	onpu_write(onpu, ONPU_REG_FW_SIZE, onpu->fw.size);
	onpu_write(onpu, ONPU_REG_INT_ENABLE, wanted);
}

static int check_fw_abi(struct onpu_device *onpu)
{
	u32 abi = onpu_read(onpu, ONPU_REG_FW_ABI);
	u32 version = onpu_read(onpu, ONPU_REG_FW_VERSION);
	struct drm_onpu_firmware_info *info = &onpu->fw.info;

	if (FIELD_GET(ONPU_FW_ABI_MAJOR__MASK, abi) != ONPU_ABI_MAJOR) {
		drm_err(&onpu->drm, "the running firmware speaks version %u, but its file says %u: install the package onpu-firmware anew\n",
			FIELD_GET(ONPU_FW_ABI_MAJOR__MASK, abi), ONPU_ABI_MAJOR);
		return -EINVAL;
	}
	info->abi_major = FIELD_GET(ONPU_FW_ABI_MAJOR__MASK, abi);
	info->abi_minor = FIELD_GET(ONPU_FW_ABI_MINOR__MASK, abi);
	info->version_major = FIELD_GET(ONPU_FW_VERSION_MAJOR__MASK, version);
	info->version_minor = FIELD_GET(ONPU_FW_VERSION_MINOR__MASK, version);
	info->version_patch = FIELD_GET(ONPU_FW_VERSION_PATCH__MASK, version);
	return 0;
}

int onpu_fw_boot(struct onpu_device *onpu)
{
	u32 status;
	int ret;

	write_boot_regs(onpu);
	onpu_write(onpu, ONPU_REG_BOOT, ONPU_BOOT_START__MASK);
	ret = read_poll_timeout(onpu_read, status,
				status_state(status) != ONPU_STATE_RESET &&
				status_state(status) != ONPU_STATE_BOOTING,
				100, BOOT_TIMEOUT_US, false, onpu, ONPU_REG_STATUS);
	if (ret || status_state(status) != ONPU_STATE_READY) {
		onpu_fw_log_drain(onpu);
		report_fw_status(onpu, status);
		return ret ?: -EIO;
	}
	return check_fw_abi(onpu);
}

/* ---- log */

/*
 * Adds a byte to a line of the log; prints the line at its end, or when the buffer is full: then
 * the byte begins the next line. The firmware's bytes are not trusted, as a terminal may show them:
 * other than printable characters become '?'.
 */
static void put_log_byte(struct onpu_device *onpu, unsigned int *length, char c)
{
	struct onpu_fw *fw = &onpu->fw;

	if (c == '\n' || *length == sizeof(fw->line) - 1) {
		fw->line[*length] = '\0';
		*length = 0;
		drm_dbg(&onpu->drm, "firmware: %s\n", fw->line);
		trace_onpu_firmware(onpu, fw->line, 0);
	}
	if (c != '\n')
		fw->line[(*length)++] = c >= ' ' && c <= '~' ? c : '?';
}

void onpu_fw_log_drain(struct onpu_device *onpu)
{
	struct onpu_fw *fw = &onpu->fw;
	unsigned int length = 0;
	u32 tail;

	guard(mutex)(&fw->log_lock);
	tail = onpu_read(onpu, ONPU_REG_LOG_TAIL);
	/* Bytes that were overwritten are lost; a tail that goes back tells of a reset. */
	if ((s32)(tail - fw->log_head) < 0)
		fw->log_head = tail;
	else if (tail - fw->log_head > ONPU_FW_LOG_BYTES)
		fw->log_head = tail - ONPU_FW_LOG_BYTES;
	dma_rmb();
	while (fw->log_head != tail)
		put_log_byte(onpu, &length, READ_ONCE(fw->log[fw->log_head++ % ONPU_FW_LOG_BYTES]));
	if (length)
		put_log_byte(onpu, &length, '\n');
}

size_t onpu_fw_log_copy(struct onpu_device *onpu, char *to)
{
	u32 tail = onpu_read(onpu, ONPU_REG_LOG_TAIL), bytes;

	if (tail == U32_MAX)
		return 0;
	bytes = min_t(u32, tail, ONPU_FW_LOG_BYTES);
	dma_rmb();
	for (u32 i = 0; i < bytes; i++)
		to[i] = READ_ONCE(onpu->fw.log[(tail - bytes + i) % ONPU_FW_LOG_BYTES]);
	return bytes;
}

void onpu_fw_log_start(struct onpu_device *onpu)
{
	union onpu_msg msg = {
		.log_config = {
			.type = ONPU_MSG_LOG_CONFIG,
			.level = min_t(u32, READ_ONCE(fw_log_level), ONPU_LOG_DEBUG),
			.interrupt = 1,
		},
	};
	int ret = onpu_mbox_call(onpu, &msg);

	if (ret)
		drm_dbg(&onpu->drm, "no firmware log: %pe\n", ERR_PTR(ret));
	onpu_fw_log_drain(onpu);
}
