// SPDX-License-Identifier: MIT
/*
 * Fixes the layout of uapi/drm/onpu_accel.h: compiling this file is the test. Programs of every
 * word size and age rely on these numbers, so lines may be added but none may change, with one
 * exception: a structure may grow at its end, which changes its size and the number of its ioctl
 * (DRM accepts both numbers). test_accel_header.py compiles this file for several targets and
 * checks that it leaves nothing out.
 */
#include <stddef.h>

#include "onpu_accel.h"

#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), "size of struct " #type)

#define MEMBER(type, member, offset, size)                                   \
	_Static_assert(offsetof(struct type, member) == (offset) &&          \
			       sizeof(((struct type *)0)->member) == (size), \
		       #type "." #member)

#define VALUE(name, value) _Static_assert((name) == (value), #name)

SIZE(drm_onpu_obj_array, 16);
MEMBER(drm_onpu_obj_array, stride, 0, 4);
MEMBER(drm_onpu_obj_array, count, 4, 4);
MEMBER(drm_onpu_obj_array, array, 8, 8);

SIZE(drm_onpu_dev_query, 16);
MEMBER(drm_onpu_dev_query, type, 0, 4);
MEMBER(drm_onpu_dev_query, size, 4, 4);
MEMBER(drm_onpu_dev_query, pointer, 8, 8);

SIZE(drm_onpu_dev_info, 72);
MEMBER(drm_onpu_dev_info, interface_major, 0, 4);
MEMBER(drm_onpu_dev_info, interface_minor, 4, 4);
MEMBER(drm_onpu_dev_info, features, 8, 4);
MEMBER(drm_onpu_dev_info, priority_mask, 12, 4);
MEMBER(drm_onpu_dev_info, va_start, 16, 8);
MEMBER(drm_onpu_dev_info, va_end, 24, 8);
MEMBER(drm_onpu_dev_info, memory_limit, 32, 8);
MEMBER(drm_onpu_dev_info, page_size, 40, 4);
MEMBER(drm_onpu_dev_info, max_contexts, 44, 4);
MEMBER(drm_onpu_dev_info, max_jobs, 48, 4);
MEMBER(drm_onpu_dev_info, max_syncs, 52, 4);
MEMBER(drm_onpu_dev_info, timeout_ms, 56, 4);
MEMBER(drm_onpu_dev_info, max_timeout_ms, 60, 4);
MEMBER(drm_onpu_dev_info, max_queued_jobs, 64, 4);
MEMBER(drm_onpu_dev_info, max_user_contexts, 68, 4);

SIZE(drm_onpu_caps, 72);
MEMBER(drm_onpu_caps, machine, 0, 4);
MEMBER(drm_onpu_caps, isa, 4, 4);
MEMBER(drm_onpu_caps, sram_bytes, 8, 4);
MEMBER(drm_onpu_caps, lanes, 12, 4);
MEMBER(drm_onpu_caps, mxu_rows, 16, 4);
MEMBER(drm_onpu_caps, mxu_cols, 20, 4);
MEMBER(drm_onpu_caps, fifo_depth, 24, 4);
MEMBER(drm_onpu_caps, dma_bytes, 28, 4);
MEMBER(drm_onpu_caps, num_queues, 32, 4);
MEMBER(drm_onpu_caps, num_vms, 36, 4);
MEMBER(drm_onpu_caps, num_asids, 40, 4);
MEMBER(drm_onpu_caps, address, 44, 4);
MEMBER(drm_onpu_caps, clock_khz, 48, 4);
MEMBER(drm_onpu_caps, tcm_bytes, 52, 4);
MEMBER(drm_onpu_caps, vectors, 56, 4);
MEMBER(drm_onpu_caps, save_bytes, 60, 4);
MEMBER(drm_onpu_caps, features, 64, 4);
MEMBER(drm_onpu_caps, pad, 68, 4);

SIZE(drm_onpu_firmware_info, 24);
MEMBER(drm_onpu_firmware_info, abi_major, 0, 4);
MEMBER(drm_onpu_firmware_info, abi_minor, 4, 4);
MEMBER(drm_onpu_firmware_info, version_major, 8, 4);
MEMBER(drm_onpu_firmware_info, version_minor, 12, 4);
MEMBER(drm_onpu_firmware_info, version_patch, 16, 4);
MEMBER(drm_onpu_firmware_info, crc, 20, 4);

SIZE(drm_onpu_time_info, 32);
MEMBER(drm_onpu_time_info, cycles, 0, 8);
MEMBER(drm_onpu_time_info, cycles_per_second, 8, 8);
MEMBER(drm_onpu_time_info, monotonic_ns, 16, 8);
MEMBER(drm_onpu_time_info, error_ns, 24, 8);

SIZE(drm_onpu_counters, 56);
MEMBER(drm_onpu_counters, busy_ns, 0, 8);
MEMBER(drm_onpu_counters, jobs, 8, 8);
MEMBER(drm_onpu_counters, failed_jobs, 16, 8);
MEMBER(drm_onpu_counters, resets, 24, 8);
MEMBER(drm_onpu_counters, memory, 32, 8);
MEMBER(drm_onpu_counters, client_memory, 40, 8);
MEMBER(drm_onpu_counters, user_memory, 48, 8);

SIZE(drm_onpu_bo_create, 24);
MEMBER(drm_onpu_bo_create, size, 0, 8);
MEMBER(drm_onpu_bo_create, flags, 8, 4);
MEMBER(drm_onpu_bo_create, handle, 12, 4);
MEMBER(drm_onpu_bo_create, va, 16, 8);

SIZE(drm_onpu_bo_info, 32);
MEMBER(drm_onpu_bo_info, handle, 0, 4);
MEMBER(drm_onpu_bo_info, flags, 4, 4);
MEMBER(drm_onpu_bo_info, size, 8, 8);
MEMBER(drm_onpu_bo_info, mmap_offset, 16, 8);
MEMBER(drm_onpu_bo_info, va, 24, 8);

SIZE(drm_onpu_bo_wrap, 32);
MEMBER(drm_onpu_bo_wrap, address, 0, 8);
MEMBER(drm_onpu_bo_wrap, size, 8, 8);
MEMBER(drm_onpu_bo_wrap, flags, 16, 4);
MEMBER(drm_onpu_bo_wrap, handle, 20, 4);
MEMBER(drm_onpu_bo_wrap, va, 24, 8);

SIZE(drm_onpu_bo_sync, 24);
MEMBER(drm_onpu_bo_sync, handle, 0, 4);
MEMBER(drm_onpu_bo_sync, flags, 4, 4);
MEMBER(drm_onpu_bo_sync, offset, 8, 8);
MEMBER(drm_onpu_bo_sync, size, 16, 8);

SIZE(drm_onpu_ctx_create, 32);
MEMBER(drm_onpu_ctx_create, flags, 0, 4);
MEMBER(drm_onpu_ctx_create, priority, 4, 4);
MEMBER(drm_onpu_ctx_create, power, 8, 4);
MEMBER(drm_onpu_ctx_create, timeout_ms, 12, 4);
MEMBER(drm_onpu_ctx_create, ctx_id, 16, 4);
MEMBER(drm_onpu_ctx_create, pad, 20, 4);
MEMBER(drm_onpu_ctx_create, completion_offset, 24, 8);

SIZE(drm_onpu_completion, 16);
MEMBER(drm_onpu_completion, seqno, 0, 8);
MEMBER(drm_onpu_completion, error, 8, 4);
MEMBER(drm_onpu_completion, pad, 12, 4);

SIZE(drm_onpu_ctx_destroy, 8);
MEMBER(drm_onpu_ctx_destroy, ctx_id, 0, 4);
MEMBER(drm_onpu_ctx_destroy, pad, 4, 4);

SIZE(drm_onpu_fault, 64);
MEMBER(drm_onpu_fault, code, 0, 4);
MEMBER(drm_onpu_fault, context, 4, 2);
MEMBER(drm_onpu_fault, queue, 6, 2);
MEMBER(drm_onpu_fault, seqno, 8, 8);
MEMBER(drm_onpu_fault, pc, 16, 8);
MEMBER(drm_onpu_fault, insn, 24, 16);
MEMBER(drm_onpu_fault, engine, 40, 4);
MEMBER(drm_onpu_fault, operand, 44, 4);
MEMBER(drm_onpu_fault, address, 48, 8);
MEMBER(drm_onpu_fault, cycle, 56, 8);

SIZE(drm_onpu_ctx_get_state, 120);
MEMBER(drm_onpu_ctx_get_state, ctx_id, 0, 4);
MEMBER(drm_onpu_ctx_get_state, state, 4, 4);
MEMBER(drm_onpu_ctx_get_state, error, 8, 4);
MEMBER(drm_onpu_ctx_get_state, pad, 12, 4);
MEMBER(drm_onpu_ctx_get_state, submitted, 16, 8);
MEMBER(drm_onpu_ctx_get_state, completed, 24, 8);
MEMBER(drm_onpu_ctx_get_state, cancelled, 32, 8);
MEMBER(drm_onpu_ctx_get_state, busy_ns, 40, 8);
MEMBER(drm_onpu_ctx_get_state, cycles, 48, 8);
MEMBER(drm_onpu_ctx_get_state, fault, 56, 64);

SIZE(drm_onpu_sync, 16);
MEMBER(drm_onpu_sync, handle, 0, 4);
MEMBER(drm_onpu_sync, flags, 4, 4);
MEMBER(drm_onpu_sync, point, 8, 8);

SIZE(drm_onpu_job, 64);
MEMBER(drm_onpu_job, program_va, 0, 8);
MEMBER(drm_onpu_job, slots_va, 8, 8);
MEMBER(drm_onpu_job, instr_count, 16, 4);
MEMBER(drm_onpu_job, slot_count, 20, 4);
MEMBER(drm_onpu_job, profile_va, 24, 8);
MEMBER(drm_onpu_job, profile_size, 32, 4);
MEMBER(drm_onpu_job, flags, 36, 4);
MEMBER(drm_onpu_job, cycle_limit, 40, 8);
MEMBER(drm_onpu_job, syncs, 48, 16);

SIZE(drm_onpu_submit, 32);
MEMBER(drm_onpu_submit, ctx_id, 0, 4);
MEMBER(drm_onpu_submit, flags, 4, 4);
MEMBER(drm_onpu_submit, jobs, 8, 16);
MEMBER(drm_onpu_submit, seqno, 24, 8);

VALUE(DRM_ONPU_DEV_QUERY, 0);
VALUE(DRM_ONPU_BO_CREATE, 1);
VALUE(DRM_ONPU_BO_INFO, 2);
VALUE(DRM_ONPU_BO_SYNC, 3);
VALUE(DRM_ONPU_CTX_CREATE, 4);
VALUE(DRM_ONPU_CTX_DESTROY, 5);
VALUE(DRM_ONPU_CTX_GET_STATE, 6);
VALUE(DRM_ONPU_SUBMIT, 7);
VALUE(DRM_ONPU_BO_WRAP, 8);

VALUE(DRM_ONPU_DEV_QUERY_INFO, 0);
VALUE(DRM_ONPU_DEV_QUERY_CAPS, 1);
VALUE(DRM_ONPU_DEV_QUERY_FIRMWARE, 2);
VALUE(DRM_ONPU_DEV_QUERY_TIME, 3);
VALUE(DRM_ONPU_DEV_QUERY_COUNTERS, 4);

VALUE(DRM_ONPU_FEATURE_COHERENT, 1);

VALUE(DRM_ONPU_BO_WC, 1);
VALUE(DRM_ONPU_BO_DEVICE_RO, 2);
VALUE(DRM_ONPU_BO_NO_MMAP, 4);
VALUE(DRM_ONPU_BO_IMPORTED, 8);
VALUE(DRM_ONPU_BO_WRAPPED, 16);

VALUE(DRM_ONPU_BO_SYNC_FOR_DEVICE, 1);
VALUE(DRM_ONPU_BO_SYNC_FOR_CPU, 2);

VALUE(DRM_ONPU_PRIORITY_LOW, 0);
VALUE(DRM_ONPU_PRIORITY_NORMAL, 1);
VALUE(DRM_ONPU_PRIORITY_HIGH, 2);

VALUE(DRM_ONPU_CTX_LONG_RUNNING, 1);
VALUE(DRM_ONPU_POWER_DEFAULT, 0);
VALUE(DRM_ONPU_POWER_LOW, 1);
VALUE(DRM_ONPU_POWER_HIGH_PERFORMANCE, 2);

VALUE(DRM_ONPU_FAULT_NONE, 0);
VALUE(DRM_ONPU_FAULT_ILLEGAL_OPCODE, 1);
VALUE(DRM_ONPU_FAULT_RESERVED_BITS, 2);
VALUE(DRM_ONPU_FAULT_SLOT_INDEX, 3);
VALUE(DRM_ONPU_FAULT_SLOT_FORMAT, 4);
VALUE(DRM_ONPU_FAULT_SPACE, 5);
VALUE(DRM_ONPU_FAULT_DTYPE, 6);
VALUE(DRM_ONPU_FAULT_SHAPE, 7);
VALUE(DRM_ONPU_FAULT_BOUNDS, 8);
VALUE(DRM_ONPU_FAULT_INDEX_RANGE, 9);
VALUE(DRM_ONPU_FAULT_MMU_NOT_PRESENT, 10);
VALUE(DRM_ONPU_FAULT_MMU_PERM, 11);
VALUE(DRM_ONPU_FAULT_SEM_OVERFLOW, 12);
VALUE(DRM_ONPU_FAULT_SEM_OWNER, 13);
VALUE(DRM_ONPU_FAULT_DEADLOCK, 14);
VALUE(DRM_ONPU_FAULT_TIMEOUT, 15);
VALUE(DRM_ONPU_FAULT_TRAP, 16);
VALUE(DRM_ONPU_FAULT_PARITY, 17);

VALUE(DRM_ONPU_ENGINE_CP, 0);
VALUE(DRM_ONPU_ENGINE_LD, 1);
VALUE(DRM_ONPU_ENGINE_ST, 2);
VALUE(DRM_ONPU_ENGINE_MXU, 3);
VALUE(DRM_ONPU_ENGINE_VPU, 4);

VALUE(DRM_ONPU_OPERAND_DST, 0);
VALUE(DRM_ONPU_OPERAND_S0, 1);
VALUE(DRM_ONPU_OPERAND_S1, 2);
VALUE(DRM_ONPU_OPERAND_S2, 3);
VALUE(DRM_ONPU_OPERAND_PARAM, 4);
VALUE(DRM_ONPU_OPERAND_NONE, 255);

VALUE(DRM_ONPU_CTX_ACTIVE, 0);
VALUE(DRM_ONPU_CTX_INNOCENT, 1);
VALUE(DRM_ONPU_CTX_FAULT, 2);
VALUE(DRM_ONPU_CTX_TIMEDOUT, 3);
VALUE(DRM_ONPU_CTX_LOST, 4);

VALUE(DRM_ONPU_SYNC_WAIT, 1);
VALUE(DRM_ONPU_SYNC_SIGNAL, 2);
VALUE(DRM_ONPU_SYNC_TIMELINE, 4);

VALUE(DRM_IOCTL_ONPU_DEV_QUERY, 0xc0106440);
VALUE(DRM_IOCTL_ONPU_BO_CREATE, 0xc0186441);
VALUE(DRM_IOCTL_ONPU_BO_INFO, 0xc0206442);
VALUE(DRM_IOCTL_ONPU_BO_SYNC, 0xc0186443);
VALUE(DRM_IOCTL_ONPU_CTX_CREATE, 0xc0206444);
VALUE(DRM_IOCTL_ONPU_CTX_DESTROY, 0xc0086445);
VALUE(DRM_IOCTL_ONPU_CTX_GET_STATE, 0xc0786446);
VALUE(DRM_IOCTL_ONPU_SUBMIT, 0xc0206447);
VALUE(DRM_IOCTL_ONPU_BO_WRAP, 0xc0206448);

VALUE(DRM_ONPU_COMPLETION_BY_DRIVER, 0x80000000);
VALUE(DRM_ONPU_DRIVER_MAJOR, 1);
