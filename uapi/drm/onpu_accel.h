/* SPDX-License-Identifier: MIT */
/*
 * The contract between the onpu accel driver and user space: ioctls on /dev/accel/accelN,
 * their arguments, and the completion page.
 */
#ifndef _ONPU_ACCEL_H_
#define _ONPU_ACCEL_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Introduction
 *
 * This documentation describes the ioctls of the Open NPU driver.
 *
 * An open file is one client, and a client is one device address space. A buffer object (BO) has
 * an address in it, chosen by the kernel, from its creation until its handle is closed. Contexts
 * are the client's queues: each runs its jobs one after the other, in the order of submission;
 * jobs of different contexts have no order but the one that syncobjs give them.
 *
 * Handles are closed with DRM_IOCTL_GEM_CLOSE and shared with DRM_IOCTL_PRIME_HANDLE_TO_FD and
 * DRM_IOCTL_PRIME_FD_TO_HANDLE. Syncobjs are made, waited for and exported with the
 * DRM_IOCTL_SYNCOBJ ioctls. The driver adds no calls of its own for these.
 *
 * Rules for the data passed, and for those who extend this interface:
 *
 * - Structures are a multiple of 8 bytes, and every member lies at a multiple of its own size,
 *   with explicit padding members where needed. So 32-bit and 64-bit programs use one layout.
 * - All padding members, unused members and unknown flags must be zero, and so must be on input
 *   the members that are only returned (marked "out"); the driver checks this.
 * - Structures hold no unions, no bitfields and no pointers: a user address is a __u64.
 * - Flags and enum values can be added, but not removed, renumbered or given another meaning.
 * - Members can be added to the structures passed to an ioctl, at the end or in place of padding.
 *   A zero in a new member must mean the behaviour from before it existed.
 * - Members can be added to structures that are reached through an address only where the size
 *   known to user space comes along (&drm_onpu_obj_array.stride, &drm_onpu_dev_query.size).
 * - A driver that is too old to know a member refuses elements of arrays in which it is not zero.
 *   In the structures passed to an ioctl DRM drops such a member without an error, so a program
 *   looks at the version before it sets one. Members that the driver does not know return zero.
 * - Members that a program is too old to know are zero for the driver.
 * - Every addition raises the minor version, so that nobody has to find out by trial and error.
 * - Ioctls are not removed or replaced. New ones go to the end of &enum drm_onpu_ioctl_id.
 *
 * All members are in the byte order of the host. Data that the device itself writes to memory (the
 * completion page, the fault record, the profile) or reads from it (programs, slots) is
 * little-endian.
 */

/**
 * DOC: Memory
 *
 * User addresses lie in [&drm_onpu_dev_info.va_start, &drm_onpu_dev_info.va_end), which ends at or
 * below 2^37; address 0 is never used. Addresses above belong to the kernel, and the device does
 * not let a job touch them.
 *
 * All BOs of a client are resident as long as they have an address, so SUBMIT takes no list of
 * them. A BO whose last handle is closed while jobs still use it faults these jobs; its pages are
 * not given to anybody else before the device has forgotten the translation.
 *
 * SUBMIT makes every earlier write of the calling thread visible to the device, also through a
 * write-combining mapping; and a job's writes are visible once its fence has signalled. Where
 * %DRM_ONPU_FEATURE_COHERENT is missing, all mappings of BOs need BO_SYNC besides: the device does
 * not see the CPU's caches, or it has a copy of the memory in bounce buffers. A completion page
 * never needs it. Mappings of an exported dma-buf use DMA_BUF_IOCTL_SYNC instead.
 *
 * DRM_IOCTL_PRIME_FD_TO_HANDLE fails with EOPNOTSUPP for a dma-buf of another device whose memory
 * would be a copy in bounce buffers for this one, and so do imports of a BO by other devices, where
 * it is a copy for them or for this one.
 *
 * Offsets for mmap() returned by this interface are below 2^44, so that mmap2() reaches them from
 * a 32-bit program.
 */

/**
 * DOC: Synchronization
 *
 * There is explicit synchronization only: jobs wait for and signal syncobjs, binary and timeline,
 * and nothing else; the driver neither reads nor writes the fences of a BO. A dma-buf that is
 * shared with drivers that do so needs DMA_BUF_IOCTL_EXPORT_SYNC_FILE and
 * DMA_BUF_IOCTL_IMPORT_SYNC_FILE around the jobs.
 *
 * There is no ioctl to wait: DRM_IOCTL_SYNCOBJ_WAIT and DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT do it, and
 * DRM_IOCTL_SYNCOBJ_EVENTFD serves event loops. The completion page
 * (&struct drm_onpu_completion) is for programs that would rather look than sleep; it is a hint,
 * the syncobj is the truth. A program that looks at the page for a while before it sleeps has
 * DRM_IOCTL_ONPU_CTX_GET_STATE confirm what it sees there, without an interrupt.
 */

/**
 * DOC: Errors
 *
 * Every ioctl can fail with
 *
 * - ENODEV: the device is gone, or is still there and was given up after resets that failed. In the
 *   second case DRM_IOCTL_ONPU_CTX_GET_STATE goes on working, so that clients learn what happened,
 *   and so does DRM_IOCTL_ONPU_BO_SYNC, as results of jobs that had ended are still there.
 * - EFAULT: an address does not point to memory of the process.
 * - EINVAL: a value is out of range or not aligned, an unknown flag or a padding member is set, or
 *   a stride is smaller than the structure was in version 1.0.
 * - E2BIG: an array element is longer than the driver knows it, and the rest is not zero, or it is
 *   longer than 4096 bytes.
 * - ENOENT: no such handle, context or syncobj.
 * - ENOMEM: the host has no memory left.
 * - ENOSPC: a limit is reached that DRM_IOCTL_ONPU_DEV_QUERY tells: memory, addresses, contexts,
 *   jobs in a context. Resources that were given up count until they are freed: the call waits for
 *   that for some seconds, and fails with EINTR when a signal comes meanwhile (drmIoctl() calls
 *   again).
 *
 * An ioctl that fails has had no effect. Further errors are described at the ioctl that has them.
 * Opening the device fails with ENOSPC when it has no address space left, or the user has no memory
 * left or too many address spaces.
 *
 * A job that fails signals its fence all the same, with one of these errors, which
 * SYNC_IOC_FILE_INFO tells once the fence is exported as sync file:
 *
 * - EFAULT: page fault, access out of the bounds of a slot, or an index out of range.
 * - EINVAL: undefined instruction, bad slot, or shapes that do not fit.
 * - ETIME: no progress for the context's timeout, cycle limit or one of the administrator's limits
 *   exceeded, no time slice for too long while others ran, or deadlock.
 * - EREMOTEIO: a trap instruction, or a parity error in the device.
 * - ECANCELED: the job did not run to its end for no fault of its own: an earlier job of the same
 *   context failed, the context was destroyed, the device was reset for another reason than this
 *   context, or the machine went to sleep.
 * - ENODEV: the device is gone.
 */

/**
 * DOC: Version
 *
 * .. c:macro:: DRM_ONPU_DRIVER_MAJOR
 *
 *    Major version of the interface described here. Versions with another one are not compatible.
 *
 * .. c:macro:: DRM_ONPU_DRIVER_MINOR
 *
 *    Minor version of the interface described here, raised with each addition. The running
 *    driver's version is in &struct drm_onpu_dev_info and in DRM_IOCTL_VERSION.
 *
 * Versions:
 *
 * - 1.0: the first.
 * - 1.1: the limit of memory is one for all open files of a user;
 *   &drm_onpu_counters.user_memory and &drm_onpu_dev_info.max_user_contexts.
 * - 1.2: users can be banned: DRM_IOCTL_ONPU_CTX_CREATE fails with EPERM.
 * - 1.3: jobs end when others may have waited for their fence for too long;
 *   %DRM_ONPU_CTX_LONG_RUNNING; DRM_IOCTL_ONPU_BO_SYNC works on a device that was given up, too.
 * - 1.4: DRM_IOCTL_ONPU_BO_WRAP and %DRM_ONPU_BO_WRAPPED.
 * - 1.5: DRM_IOCTL_ONPU_CTX_GET_STATE looks at the completion page.
 */
#define DRM_ONPU_DRIVER_MAJOR	1
#define DRM_ONPU_DRIVER_MINOR	5

/**
 * enum drm_onpu_ioctl_id - Numbers of the ioctls.
 *
 * New ones go to the end; none is reordered, replaced or removed. Programs use the
 * DRM_IOCTL_ONPU definitions at the end of the header instead.
 */
enum drm_onpu_ioctl_id {
	/** @DRM_ONPU_DEV_QUERY: Ask for properties of device, firmware and driver. */
	DRM_ONPU_DEV_QUERY = 0,
	/** @DRM_ONPU_BO_CREATE: Create a buffer object and give it a device address. */
	DRM_ONPU_BO_CREATE = 1,
	/** @DRM_ONPU_BO_INFO: Get size, device address and mmap offset of a buffer object. */
	DRM_ONPU_BO_INFO = 2,
	/** @DRM_ONPU_BO_SYNC: Hand a range of a buffer object to the device or back. */
	DRM_ONPU_BO_SYNC = 3,
	/** @DRM_ONPU_CTX_CREATE: Create a context. */
	DRM_ONPU_CTX_CREATE = 4,
	/** @DRM_ONPU_CTX_DESTROY: Destroy a context. */
	DRM_ONPU_CTX_DESTROY = 5,
	/** @DRM_ONPU_CTX_GET_STATE: Get state, fault record and counters of a context. */
	DRM_ONPU_CTX_GET_STATE = 6,
	/** @DRM_ONPU_SUBMIT: Queue jobs to a context. */
	DRM_ONPU_SUBMIT = 7,
	/** @DRM_ONPU_BO_WRAP: Make memory of the process a buffer object, without a copy. */
	DRM_ONPU_BO_WRAP = 8,
};

/**
 * struct drm_onpu_obj_array - An array in user memory whose elements may grow.
 *
 * Elements that are shorter than the driver's are taken as followed by zeros; of longer ones the
 * part unknown to the driver must be zero. DRM_ONPU_OBJ_ARRAY() fills this structure.
 */
struct drm_onpu_obj_array {
	/**
	 * @stride: Distance of two elements in bytes, which is their size as user space knows it.
	 * Ignored if @count is zero.
	 */
	__u32 stride;

	/** @count: Number of elements. */
	__u32 count;

	/** @array: User address of the first element; ignored if @count is zero. */
	__u64 array;
};

/**
 * DRM_ONPU_OBJ_ARRAY() - Initializer of a struct drm_onpu_obj_array.
 * @cnt: Number of elements.
 * @ptr: Typed pointer to the first one; its type gives the stride.
 */
#define DRM_ONPU_OBJ_ARRAY(cnt, ptr) \
	{ (__u32)sizeof((ptr)[0]), (__u32)(cnt), (__u64)(unsigned long)(ptr) }

/**
 * enum drm_onpu_dev_query_type - What DRM_IOCTL_ONPU_DEV_QUERY can be asked for.
 *
 * New types go to the end.
 */
enum drm_onpu_dev_query_type {
	/** @DRM_ONPU_DEV_QUERY_INFO: Version, features and limits, &struct drm_onpu_dev_info. */
	DRM_ONPU_DEV_QUERY_INFO = 0,
	/** @DRM_ONPU_DEV_QUERY_CAPS: What the device has, &struct drm_onpu_caps. */
	DRM_ONPU_DEV_QUERY_CAPS = 1,
	/** @DRM_ONPU_DEV_QUERY_FIRMWARE: The running firmware, &struct drm_onpu_firmware_info. */
	DRM_ONPU_DEV_QUERY_FIRMWARE = 2,
	/**
	 * @DRM_ONPU_DEV_QUERY_TIME: Device and host clock, &struct drm_onpu_time_info. The only
	 * query that wakes a device that sleeps.
	 */
	DRM_ONPU_DEV_QUERY_TIME = 3,
	/** @DRM_ONPU_DEV_QUERY_COUNTERS: Counters, &struct drm_onpu_counters. */
	DRM_ONPU_DEV_QUERY_COUNTERS = 4,
};

/**
 * struct drm_onpu_dev_query - Arguments of DRM_IOCTL_ONPU_DEV_QUERY.
 *
 * The query never waits for jobs. An unknown type fails with EINVAL, which is how a program
 * learns that the driver is older than the type.
 */
struct drm_onpu_dev_query {
	/** @type: in: One of &enum drm_onpu_dev_query_type. */
	__u32 type;

	/**
	 * @size: in: Bytes available at @pointer. out: Bytes that the driver has for this type.
	 * The smaller number is copied, and if @pointer has room for more, the rest is zeroed.
	 */
	__u32 size;

	/**
	 * @pointer: in: User address that the answer is written to. If it is zero, @size is not
	 * read, only returned.
	 */
	__u64 pointer;
};

/**
 * enum drm_onpu_feature - Bits of &drm_onpu_dev_info.features.
 */
enum drm_onpu_feature {
	/**
	 * @DRM_ONPU_FEATURE_COHERENT: The device and the CPU see each other's writes to BOs;
	 * BO_SYNC does nothing.
	 */
	DRM_ONPU_FEATURE_COHERENT = 1 << 0,
};

/**
 * struct drm_onpu_dev_info - Answer to %DRM_ONPU_DEV_QUERY_INFO.
 */
struct drm_onpu_dev_info {
	/** @interface_major: Major version of the interface that the driver implements. */
	__u32 interface_major;

	/** @interface_minor: Minor version of the interface that the driver implements. */
	__u32 interface_minor;

	/** @features: Combination of &enum drm_onpu_feature. */
	__u32 features;

	/** @priority_mask: Bit n: the caller may use value n of &enum drm_onpu_priority. */
	__u32 priority_mask;

	/** @va_start: Lowest device address that a BO can get. Not zero. */
	__u64 va_start;

	/** @va_end: First device address behind those that a BO can get. At most 2^37. */
	__u64 va_end;

	/**
	 * @memory_limit: Bytes that a user may have in all open files: BOs from their creation
	 * until nobody has them any more, imported ones included, contexts, and what the kernel
	 * needs for them. &drm_onpu_counters.user_memory tells how much it is now.
	 */
	__u64 memory_limit;

	/** @page_size: Bytes that sizes of BOs are rounded up to and addresses are aligned to. */
	__u32 page_size;

	/** @max_contexts: Number of contexts that a client may have. */
	__u32 max_contexts;

	/** @max_jobs: Number of jobs that one SUBMIT can take. */
	__u32 max_jobs;

	/** @max_syncs: Number of syncs that the jobs of one SUBMIT may have together. */
	__u32 max_syncs;

	/** @timeout_ms: Timeout of a context that asks for none. */
	__u32 timeout_ms;

	/** @max_timeout_ms: Longest timeout that a context can have. */
	__u32 max_timeout_ms;

	/** @max_queued_jobs: Number of jobs that a context may have accepted and not ended. */
	__u32 max_queued_jobs;

	/**
	 * @max_user_contexts: Number of contexts that a user may have in all open files. Since
	 * version 1.1; zero before, when there was no such limit.
	 */
	__u32 max_user_contexts;
};

/**
 * struct drm_onpu_caps - Answer to %DRM_ONPU_DEV_QUERY_CAPS.
 *
 * The members are the capability registers of the device as they are, in the order in which
 * uapi/onpu/registers.xml has them. Registers that the device does not have are zero. Later
 * versions have more members at the end, and the first of them takes the place of @pad.
 */
struct drm_onpu_caps {
	/**
	 * @machine: Number of the machine, by which uapi/onpu/machines.xml tells machines apart.
	 */
	__u32 machine;

	/**
	 * @isa: Version of the instruction set: 65536 times its major number, plus the minor one.
	 * Major is the highest that programs may be made for.
	 */
	__u32 isa;

	/** @sram_bytes: Bytes of SRAM, a multiple of 4096. */
	__u32 sram_bytes;

	/** @lanes: Lanes of the vector unit, of 32 bits each. */
	__u32 lanes;

	/** @mxu_rows: Rows of the matrix array. */
	__u32 mxu_rows;

	/** @mxu_cols: Columns of the matrix array. */
	__u32 mxu_cols;

	/** @fifo_depth: Instructions that can wait in the queue of an engine. */
	__u32 fifo_depth;

	/** @dma_bytes: Bytes that each DMA engine moves in a cycle. */
	__u32 dma_bytes;

	/** @num_queues: Hardware queues. */
	__u32 num_queues;

	/** @num_vms: Address spaces that the hardware queues can have at a time. */
	__u32 num_vms;

	/** @num_asids: Address spaces that the device tells apart: the most open files. */
	__u32 num_asids;

	/**
	 * @address: Bits 0 to 7: width of a device address, in bits; bits 8 to 15: that of a bus
	 * address.
	 */
	__u32 address;

	/** @clock_khz: Nominal rate of the clock that counts device cycles, in kHz. */
	__u32 clock_khz;

	/** @tcm_bytes: Bytes of memory of the management core. */
	__u32 tcm_bytes;

	/** @vectors: Interrupt vectors that the device offers. */
	__u32 vectors;

	/**
	 * @save_bytes: Bytes in which the state of an interrupted job is saved, a part of the
	 * memory that a context takes.
	 */
	__u32 save_bytes;

	/**
	 * @features: What the machine can do beyond the first one. Bits 0 to 3: how often the
	 * matrix array can be made twice as long on one side and half as long on the other; bit 4:
	 * a lane takes several short elements at a time; bit 5: there are products with a matrix of
	 * short elements that share scales; bits 8 to 11: the machine whose factors of cost it has,
	 * or 0.
	 */
	__u32 features;

	/** @pad: Zero. */
	__u32 pad;
};

/**
 * struct drm_onpu_firmware_info - Answer to %DRM_ONPU_DEV_QUERY_FIRMWARE.
 */
struct drm_onpu_firmware_info {
	/** @abi_major: Major version of the messages between driver and firmware. */
	__u32 abi_major;

	/** @abi_minor: Minor version of the messages between driver and firmware. */
	__u32 abi_minor;

	/** @version_major: Major version of the firmware image. */
	__u32 version_major;

	/** @version_minor: Minor version of the firmware image. */
	__u32 version_minor;

	/** @version_patch: Patch level of the firmware image. */
	__u32 version_patch;

	/** @crc: Checksum of the firmware image: tells builds of one version apart. */
	__u32 crc;
};

/**
 * struct drm_onpu_time_info - Answer to %DRM_ONPU_DEV_QUERY_TIME.
 *
 * One instant on two clocks. The device's clock counts device cycles and may stand still while
 * the device has nothing to do, so two instants give the rate only of the time between them.
 */
struct drm_onpu_time_info {
	/** @cycles: The device's cycle counter. */
	__u64 cycles;

	/** @cycles_per_second: Nominal rate of the cycle counter while the device works. */
	__u64 cycles_per_second;

	/** @monotonic_ns: CLOCK_MONOTONIC of the host, in the middle of reading @cycles. */
	__u64 monotonic_ns;

	/** @error_ns: @monotonic_ns is right to this many nanoseconds, both ways. */
	__u64 error_ns;
};

/**
 * struct drm_onpu_counters - Answer to %DRM_ONPU_DEV_QUERY_COUNTERS.
 *
 * They count from the moment in which the driver was bound to the device, over all clients where
 * nothing else is said.
 */
struct drm_onpu_counters {
	/** @busy_ns: Host time during which the device had a job to work on. */
	__u64 busy_ns;

	/** @jobs: Number of jobs that have ended, with success or an error. */
	__u64 jobs;

	/** @failed_jobs: Number of the ended jobs whose fence has an error. */
	__u64 failed_jobs;

	/** @resets: Number of resets of the whole device. */
	__u64 resets;

	/** @memory: Bytes in BOs and contexts now. */
	__u64 memory;

	/** @client_memory: Bytes in BOs that the calling client has handles of. */
	__u64 client_memory;

	/**
	 * @user_memory: Bytes of the user who has opened the file, as
	 * &drm_onpu_dev_info.memory_limit counts them. Since version 1.1.
	 */
	__u64 user_memory;
};

/**
 * enum drm_onpu_bo_flags - Properties of a buffer object.
 */
enum drm_onpu_bo_flags {
	/**
	 * @DRM_ONPU_BO_WC: Map it write-combining for the CPU: for data that the CPU writes once,
	 * in order, and does not read. Without this flag mappings are cached. They are cached with
	 * it, too, where the device sees the caches or has copies in bounce buffers.
	 */
	DRM_ONPU_BO_WC = 1 << 0,
	/** @DRM_ONPU_BO_DEVICE_RO: The device only reads it; a write by a job is a page fault. */
	DRM_ONPU_BO_DEVICE_RO = 1 << 1,
	/** @DRM_ONPU_BO_NO_MMAP: The CPU never maps it. Not together with %DRM_ONPU_BO_WC. */
	DRM_ONPU_BO_NO_MMAP = 1 << 2,
	/**
	 * @DRM_ONPU_BO_IMPORTED: It came from another device as dma-buf. Returned by
	 * DRM_IOCTL_ONPU_BO_INFO, refused by DRM_IOCTL_ONPU_BO_CREATE.
	 */
	DRM_ONPU_BO_IMPORTED = 1 << 3,
	/**
	 * @DRM_ONPU_BO_WRAPPED: It is memory of a process, see &struct drm_onpu_bo_wrap. Returned
	 * by DRM_IOCTL_ONPU_BO_INFO, refused by DRM_IOCTL_ONPU_BO_CREATE. Since version 1.4.
	 */
	DRM_ONPU_BO_WRAPPED = 1 << 4,
};

/**
 * struct drm_onpu_bo_create - Arguments of DRM_IOCTL_ONPU_BO_CREATE.
 *
 * The memory is zero. The object has its device address until the handle is closed.
 */
struct drm_onpu_bo_create {
	/**
	 * @size: in: Size in bytes, not zero. out: The size it has, rounded up to
	 * &drm_onpu_dev_info.page_size.
	 */
	__u64 size;

	/** @flags: in: Combination of &enum drm_onpu_bo_flags. */
	__u32 flags;

	/** @handle: out: GEM handle of the new object. */
	__u32 handle;

	/** @va: out: Device address, a multiple of &drm_onpu_dev_info.page_size. */
	__u64 va;
};

/**
 * struct drm_onpu_bo_info - Arguments of DRM_IOCTL_ONPU_BO_INFO.
 *
 * An object that was received as dma-buf gets its device address by the first call; the call can
 * therefore fail with ENOSPC, or with an error of the exporting driver. An object of another client
 * of the same device keeps the flags that it was created with; one of another device is mapped
 * for reading and writing.
 */
struct drm_onpu_bo_info {
	/** @handle: in: GEM handle. */
	__u32 handle;

	/** @flags: out: Combination of &enum drm_onpu_bo_flags. */
	__u32 flags;

	/** @size: out: Size in bytes. */
	__u64 size;

	/**
	 * @mmap_offset: out: Offset for mmap() on the device file. Zero for an object that cannot
	 * be mapped: %DRM_ONPU_BO_NO_MMAP, %DRM_ONPU_BO_IMPORTED or %DRM_ONPU_BO_WRAPPED.
	 */
	__u64 mmap_offset;

	/** @va: out: Device address. */
	__u64 va;
};

/**
 * struct drm_onpu_bo_wrap - Arguments of DRM_IOCTL_ONPU_BO_WRAP.
 *
 * A range of the process that is mapped with MAP_SHARED becomes a buffer object without a copy: a
 * memfd, anonymous shared memory, hugetlbfs, and for the device to read also a file. The pages are
 * pinned as they are at the call until the object is freed. The object goes on to have them when
 * the range is unmapped, when the process ends, and when the file is cut short; it does not get
 * those that the range has later. A child process that was forked shares them, as it shares the
 * mapping.
 *
 * The object counts towards &drm_onpu_dev_info.memory_limit, and towards RLIMIT_MEMLOCK of the
 * user, unless the caller has CAP_IPC_LOCK. It cannot be exported as dma-buf: EOPNOTSUPP. It is
 * synced by DRM_IOCTL_ONPU_BO_SYNC as other objects are; where that is needed, the range belongs
 * to the device from a sync for the device to one for the CPU, and what jobs have written and no
 * sync has brought to the CPU is lost when the object is freed.
 *
 * The call fails with EOPNOTSUPP when a part of the range is mapped with MAP_PRIVATE, since the
 * device would get a copy of it; with EFAULT when a part of it is not mapped, or is memory of a
 * device, or, without %DRM_ONPU_BO_DEVICE_RO, is mapped for reading or comes from a file system
 * that has to know which pages are written, as those of disks do; with ENOSPC also when
 * RLIMIT_MEMLOCK is reached; with EINTR when the process is killed meanwhile.
 */
struct drm_onpu_bo_wrap {
	/** @address: in: User address, a multiple of &drm_onpu_dev_info.page_size. */
	__u64 address;

	/**
	 * @size: in: Size in bytes, not zero. out: The size that the object has, rounded up to
	 * &drm_onpu_dev_info.page_size.
	 */
	__u64 size;

	/** @flags: in: Zero or %DRM_ONPU_BO_DEVICE_RO: then the range need not be writable. */
	__u32 flags;

	/** @handle: out: GEM handle of the new object. */
	__u32 handle;

	/** @va: out: Device address, a multiple of &drm_onpu_dev_info.page_size. */
	__u64 va;
};

/**
 * enum drm_onpu_bo_sync_flags - Direction of DRM_IOCTL_ONPU_BO_SYNC.
 */
enum drm_onpu_bo_sync_flags {
	/** @DRM_ONPU_BO_SYNC_FOR_DEVICE: The CPU has written; jobs submitted from now on see it. */
	DRM_ONPU_BO_SYNC_FOR_DEVICE = 1 << 0,
	/** @DRM_ONPU_BO_SYNC_FOR_CPU: Jobs have written and ended; the CPU will see it. */
	DRM_ONPU_BO_SYNC_FOR_CPU = 1 << 1,
};

/**
 * struct drm_onpu_bo_sync - Arguments of DRM_IOCTL_ONPU_BO_SYNC.
 *
 * Cleans and invalidates CPU caches where the device does not see them, and copies to and from
 * bounce buffers; does nothing with %DRM_ONPU_FEATURE_COHERENT. It does not wait for jobs: the
 * caller has waited for the syncobj of those that write the range. It fails with EINTR when the
 * process is killed meanwhile. Copies are of whole bytes of the range: a sync for the CPU replaces
 * what the CPU has written there since the last sync for the device.
 */
struct drm_onpu_bo_sync {
	/** @handle: in: GEM handle of an object that is not %DRM_ONPU_BO_IMPORTED. */
	__u32 handle;

	/** @flags: in: Combination of &enum drm_onpu_bo_sync_flags, at least one. */
	__u32 flags;

	/** @offset: in: First byte of the range in the object. */
	__u64 offset;

	/** @size: in: Bytes in the range, not zero. The range must lie within the object. */
	__u64 size;
};

/**
 * enum drm_onpu_priority - Priority of a context.
 *
 * The context of highest priority that has a job ready goes first; contexts of equal priority share
 * the device in time slices of a millisecond of its nominal clock. So that no job waits for ever, a
 * lower priority gets a time slice after 32 slices of others.
 */
enum drm_onpu_priority {
	/** @DRM_ONPU_PRIORITY_LOW: For work that nobody waits for. */
	DRM_ONPU_PRIORITY_LOW = 0,
	/** @DRM_ONPU_PRIORITY_NORMAL: For everything else. */
	DRM_ONPU_PRIORITY_NORMAL = 1,
	/** @DRM_ONPU_PRIORITY_HIGH: Before all others. Needs CAP_SYS_NICE, else EACCES. */
	DRM_ONPU_PRIORITY_HIGH = 2,
};

/**
 * enum drm_onpu_power - Power preference of a context.
 *
 * A hint that never changes results.
 */
enum drm_onpu_power {
	/** @DRM_ONPU_POWER_DEFAULT: The driver decides. */
	DRM_ONPU_POWER_DEFAULT = 0,
	/**
	 * @DRM_ONPU_POWER_LOW: Rather less energy than more speed: the device may sleep as soon as
	 * the jobs have ended, if it may sleep at all.
	 */
	DRM_ONPU_POWER_LOW = 1,
	/**
	 * @DRM_ONPU_POWER_HIGH_PERFORMANCE: Rather more speed than less energy: the device does not
	 * fall asleep until the context has had no job for the administrator's limit, the module
	 * parameter linger_ms.
	 */
	DRM_ONPU_POWER_HIGH_PERFORMANCE = 2,
};

/**
 * enum drm_onpu_ctx_flags - Flags of a context.
 */
enum drm_onpu_ctx_flags {
	/**
	 * @DRM_ONPU_CTX_LONG_RUNNING: Jobs may run as long as they make progress. They may wait for
	 * syncobjs, but not signal any, as others must not wait that long: SUBMIT fails with
	 * EOPNOTSUPP. The completion page and DRM_IOCTL_ONPU_CTX_GET_STATE tell when a job has
	 * ended. The administrator's limits of run time do not apply, and
	 * &drm_onpu_job.cycle_limit is taken as it is; zero means no limit.
	 */
	DRM_ONPU_CTX_LONG_RUNNING = 1 << 0,
};

/**
 * struct drm_onpu_ctx_create - Arguments of DRM_IOCTL_ONPU_CTX_CREATE.
 *
 * Fails with ENOSPC when the client has &drm_onpu_dev_info.max_contexts already, or its user
 * &drm_onpu_dev_info.max_user_contexts. Contexts that were destroyed count until their jobs have
 * gone; the call waits for that for some seconds, and fails with EINTR when a signal comes
 * meanwhile (drmIoctl() calls again). Fails with EPERM when the user is banned: three times within
 * ten minutes of each other, jobs could not be ended by anything but a reset of the device, which
 * cancels the work of all. All other contexts of the user that have not failed are LOST then. The
 * ban ends ten minutes after the last of these resets.
 */
struct drm_onpu_ctx_create {
	/** @flags: in: Combination of &enum drm_onpu_ctx_flags. */
	__u32 flags;

	/** @priority: in: One of &enum drm_onpu_priority. */
	__u32 priority;

	/** @power: in: One of &enum drm_onpu_power. */
	__u32 power;

	/**
	 * @timeout_ms: in: Time without progress of a running job after which the driver ends it
	 * and the context, at most a quarter of that time, or four ticks of the kernel, later; zero
	 * means &drm_onpu_dev_info.timeout_ms. A job that makes progress is ended by its cycle
	 * limit, or by those of the administrator, the module parameters max_run_ms and
	 * max_wait_ms.
	 * Whatever it does, it is ended when its waits have signalled longer ago than the module
	 * parameter max_fence_ms says, since others may wait for its fence;
	 * %DRM_ONPU_CTX_LONG_RUNNING lifts that.
	 * out: The value in force, at most &drm_onpu_dev_info.max_timeout_ms.
	 */
	__u32 timeout_ms;

	/** @ctx_id: out: Number of the new context in this client, not zero. */
	__u32 ctx_id;

	/** @pad: Must be zero. */
	__u32 pad;

	/**
	 * @completion_offset: out: Offset for mmap() on the device file, with PROT_READ and
	 * MAP_SHARED, of one page of the host that starts with a &struct drm_onpu_completion; what
	 * follows it may be anything. The mapping outlives the context.
	 */
	__u64 completion_offset;
};

/**
 * DOC: Constants
 *
 * .. c:macro:: DRM_ONPU_COMPLETION_BY_DRIVER
 *
 *    Bit in &drm_onpu_completion.error: the driver wrote the page after it had ended the context's
 *    jobs, and the other bits are a (positive) errno of the host. Without the bit they are one of
 *    &enum drm_onpu_fault_code.
 */
#define DRM_ONPU_COMPLETION_BY_DRIVER	0x80000000u

/**
 * struct drm_onpu_completion - What the completion page of a context starts with.
 *
 * The device writes it when a job has ended, after everything else that the job has written and
 * before the interrupt, @error no later than @seqno. The driver writes it when it kills a context
 * or resets the device. A reader loads @seqno with acquire order, and then @error. A 32-bit reader
 * loads @seqno again until two loads agree.
 *
 * The page is a hint: a job may be seen here a little before its fence signals, and only the
 * fence tells what became of it.
 */
struct drm_onpu_completion {
	/** @seqno: Number of the last job that has ended, with success or not; at first zero. */
	__u64 seqno;

	/**
	 * @error: Zero if the job numbered @seqno succeeded. Else its fault code, or an errno with
	 * %DRM_ONPU_COMPLETION_BY_DRIVER.
	 */
	__u32 error;

	/** @pad: Zero. */
	__u32 pad;
};

/**
 * struct drm_onpu_ctx_destroy - Arguments of DRM_IOCTL_ONPU_CTX_DESTROY.
 *
 * Jobs that have not ended are killed, and their fences signal with ECANCELED. The call does not
 * wait for that. Closing the file destroys all its contexts in the same way.
 */
struct drm_onpu_ctx_destroy {
	/** @ctx_id: in: Number of the context. */
	__u32 ctx_id;

	/** @pad: Must be zero. */
	__u32 pad;
};

/**
 * enum drm_onpu_ctx_state - State of a context.
 *
 * A context begins as ACTIVE and may become INNOCENT. Either of these states may change to one of
 * the other three, and no state changes back. In FAULT, TIMEDOUT and LOST the context takes no more
 * jobs: DRM_IOCTL_ONPU_SUBMIT fails with EIO, or with ENODEV while the device is gone.
 */
enum drm_onpu_ctx_state {
	/** @DRM_ONPU_CTX_ACTIVE: No job has failed. */
	DRM_ONPU_CTX_ACTIVE = 0,
	/**
	 * @DRM_ONPU_CTX_INNOCENT: Jobs were cancelled by a reset that this context did not cause
	 * (&drm_onpu_ctx_get_state.cancelled counts them), and the local memory of the device is
	 * zero for this context as it was at first. Otherwise as good as ACTIVE.
	 */
	DRM_ONPU_CTX_INNOCENT = 1,
	/**
	 * @DRM_ONPU_CTX_FAULT: The device stopped a job, and &drm_onpu_ctx_get_state.fault says
	 * why; deadlock and an exceeded cycle limit are among the reasons.
	 */
	DRM_ONPU_CTX_FAULT = 2,
	/**
	 * @DRM_ONPU_CTX_TIMEDOUT: The driver stopped a job that made no progress for too long, or
	 * for whose fence others may have waited for too long.
	 */
	DRM_ONPU_CTX_TIMEDOUT = 3,
	/** @DRM_ONPU_CTX_LOST: The device is gone, or a reset has lost the context. */
	DRM_ONPU_CTX_LOST = 4,
};

/**
 * enum drm_onpu_fault_code - Why the device stopped a job.
 *
 * New codes go to the end.
 */
enum drm_onpu_fault_code {
	/** @DRM_ONPU_FAULT_NONE: No fault. */
	DRM_ONPU_FAULT_NONE = 0,
	/**
	 * @DRM_ONPU_FAULT_ILLEGAL_OPCODE: There is no such instruction, or none after the last one.
	 */
	DRM_ONPU_FAULT_ILLEGAL_OPCODE = 1,
	/**
	 * @DRM_ONPU_FAULT_RESERVED_BITS: A bit that must be zero is set, or a field holds no legal
	 * value.
	 */
	DRM_ONPU_FAULT_RESERVED_BITS = 2,
	/**
	 * @DRM_ONPU_FAULT_SLOT_INDEX: A slot index is beyond the table, or 0 for a required
	 * operand.
	 */
	DRM_ONPU_FAULT_SLOT_INDEX = 3,
	/** @DRM_ONPU_FAULT_SLOT_FORMAT: A slot is not well formed, or of the wrong kind. */
	DRM_ONPU_FAULT_SLOT_FORMAT = 4,
	/** @DRM_ONPU_FAULT_SPACE: An operand that must be in SRAM is not. */
	DRM_ONPU_FAULT_SPACE = 5,
	/**
	 * @DRM_ONPU_FAULT_DTYPE: The type of elements is not allowed for the operand or
	 * combination.
	 */
	DRM_ONPU_FAULT_DTYPE = 6,
	/** @DRM_ONPU_FAULT_SHAPE: Dimensions, strides, overlap or cost are not allowed. */
	DRM_ONPU_FAULT_SHAPE = 7,
	/** @DRM_ONPU_FAULT_BOUNDS: An element is outside its window, or a window outside SRAM. */
	DRM_ONPU_FAULT_BOUNDS = 8,
	/**
	 * @DRM_ONPU_FAULT_INDEX_RANGE: An index of a gather or scatter is outside its dimension.
	 */
	DRM_ONPU_FAULT_INDEX_RANGE = 9,
	/** @DRM_ONPU_FAULT_MMU_NOT_PRESENT: The address has no memory. */
	DRM_ONPU_FAULT_MMU_NOT_PRESENT = 10,
	/** @DRM_ONPU_FAULT_MMU_PERM: The memory at the address does not permit the access. */
	DRM_ONPU_FAULT_MMU_PERM = 11,
	/** @DRM_ONPU_FAULT_SEM_OVERFLOW: A semaphore would count more than 65535. */
	DRM_ONPU_FAULT_SEM_OVERFLOW = 12,
	/** @DRM_ONPU_FAULT_SEM_OWNER: A second engine signals or waits for a semaphore. */
	DRM_ONPU_FAULT_SEM_OWNER = 13,
	/** @DRM_ONPU_FAULT_DEADLOCK: Each engine waits, and no signal can come. */
	DRM_ONPU_FAULT_DEADLOCK = 14,
	/**
	 * @DRM_ONPU_FAULT_TIMEOUT: The cycle limit is reached, or no preemption point came in time.
	 */
	DRM_ONPU_FAULT_TIMEOUT = 15,
	/** @DRM_ONPU_FAULT_TRAP: The trap instruction. */
	DRM_ONPU_FAULT_TRAP = 16,
	/** @DRM_ONPU_FAULT_PARITY: An error of memory in the device. */
	DRM_ONPU_FAULT_PARITY = 17,
};

/**
 * enum drm_onpu_engine - Engines of the device.
 */
enum drm_onpu_engine {
	/** @DRM_ONPU_ENGINE_CP: Command processor. */
	DRM_ONPU_ENGINE_CP = 0,
	/** @DRM_ONPU_ENGINE_LD: DMA engine, meant for loads. */
	DRM_ONPU_ENGINE_LD = 1,
	/** @DRM_ONPU_ENGINE_ST: DMA engine, meant for stores. */
	DRM_ONPU_ENGINE_ST = 2,
	/** @DRM_ONPU_ENGINE_MXU: Matrix unit. */
	DRM_ONPU_ENGINE_MXU = 3,
	/** @DRM_ONPU_ENGINE_VPU: Vector unit. */
	DRM_ONPU_ENGINE_VPU = 4,
};

/**
 * enum drm_onpu_operand - Operands of an instruction.
 */
enum drm_onpu_operand {
	/** @DRM_ONPU_OPERAND_DST: Destination. */
	DRM_ONPU_OPERAND_DST = 0,
	/** @DRM_ONPU_OPERAND_S0: First source. */
	DRM_ONPU_OPERAND_S0 = 1,
	/** @DRM_ONPU_OPERAND_S1: Second source. */
	DRM_ONPU_OPERAND_S1 = 2,
	/** @DRM_ONPU_OPERAND_S2: Third source. */
	DRM_ONPU_OPERAND_S2 = 3,
	/** @DRM_ONPU_OPERAND_PARAM: Parameters. */
	DRM_ONPU_OPERAND_PARAM = 4,
	/** @DRM_ONPU_OPERAND_NONE: The fault is of no operand. */
	DRM_ONPU_OPERAND_NONE = 255,
};

/**
 * struct drm_onpu_fault - The first fault of a job, as the device has recorded it.
 *
 * Members that do not apply to @code are zero, except @operand. uapi/onpu/registers.xml defines the
 * record.
 */
struct drm_onpu_fault {
	/** @code: One of &enum drm_onpu_fault_code. */
	__u32 code;

	/** @context: Number by which the device knows the context; it is not that of the client. */
	__u16 context;

	/** @queue: Hardware queue of the context. */
	__u16 queue;

	/** @seqno: Number of the job. */
	__u64 seqno;

	/** @pc: Index of the instruction in the program. */
	__u64 pc;

	/** @insn: The instruction. */
	__u32 insn[4];

	/** @engine: One of &enum drm_onpu_engine. */
	__u32 engine;

	/** @operand: One of &enum drm_onpu_operand. */
	__u32 operand;

	/**
	 * @address: By @code: the address (BOUNDS, MMU_NOT_PRESENT, MMU_PERM), the slot index
	 * (SLOT_INDEX, SLOT_FORMAT), the position of the index (INDEX_RANGE), the number in the
	 * instruction (TRAP), or the semaphore (SEM_OVERFLOW, SEM_OWNER).
	 */
	__u64 address;

	/** @cycle: The cycle of the job at which it stopped. */
	__u64 cycle;
};

/**
 * struct drm_onpu_ctx_get_state - Arguments of DRM_IOCTL_ONPU_CTX_GET_STATE.
 *
 * Works in every state of the context, also on a device that was given up. It waits for nothing
 * but a reset that is just giving the device up (EINTR when a signal comes). Since version 1.5, the
 * fences of jobs that the completion page shows as ended have signalled when it returns, whether or
 * not the device's interrupt has come. Exceptions are a reset that is under way, and the moment at
 * which an interrupted job goes on: @completed tells which jobs have ended.
 */
struct drm_onpu_ctx_get_state {
	/** @ctx_id: in: Number of the context. */
	__u32 ctx_id;

	/** @state: out: One of &enum drm_onpu_ctx_state. */
	__u32 state;

	/**
	 * @error: out: The (positive) errno of the fence of the job that took the context into its
	 * state; zero in %DRM_ONPU_CTX_ACTIVE.
	 */
	__u32 error;

	/** @pad: Must be zero. */
	__u32 pad;

	/** @submitted: out: Number of the last job accepted. */
	__u64 submitted;

	/** @completed: out: Number of the last job that has ended. */
	__u64 completed;

	/** @cancelled: out: Number of jobs whose fence has ECANCELED. */
	__u64 cancelled;

	/**
	 * @busy_ns: out: Host time during which the hardware had its jobs. Time in which the
	 * hardware had jobs of several contexts is divided evenly among them.
	 */
	__u64 busy_ns;

	/** @cycles: out: Device cycles that its jobs took. */
	__u64 cycles;

	/** @fault: out: The fault of %DRM_ONPU_CTX_FAULT; all zero if there was none. */
	struct drm_onpu_fault fault;
};

/**
 * enum drm_onpu_sync_flags - What to do with a syncobj.
 *
 * Exactly one of %DRM_ONPU_SYNC_WAIT and %DRM_ONPU_SYNC_SIGNAL is given.
 */
enum drm_onpu_sync_flags {
	/** @DRM_ONPU_SYNC_WAIT: The job starts when the syncobj has signalled. */
	DRM_ONPU_SYNC_WAIT = 1 << 0,
	/** @DRM_ONPU_SYNC_SIGNAL: The syncobj signals when the job has ended. */
	DRM_ONPU_SYNC_SIGNAL = 1 << 1,
	/** @DRM_ONPU_SYNC_TIMELINE: The syncobj is a timeline, &drm_onpu_sync.point its point. */
	DRM_ONPU_SYNC_TIMELINE = 1 << 2,
};

/**
 * struct drm_onpu_sync - A syncobj that a job waits for or signals.
 *
 * Waits refer to the syncobjs as they were before the ioctl: no job waits for a signal of the same
 * SUBMIT, since jobs of a context run in order. A syncobj or point without a fence cannot be waited
 * for: EINVAL. If the fence waited for has an error, the job runs nevertheless.
 */
struct drm_onpu_sync {
	/** @handle: Handle of the syncobj. */
	__u32 handle;

	/** @flags: Combination of &enum drm_onpu_sync_flags. */
	__u32 flags;

	/**
	 * @point: Point of the timeline, not zero; to be signalled in rising order. Must be zero
	 * without %DRM_ONPU_SYNC_TIMELINE.
	 */
	__u64 point;
};

/**
 * struct drm_onpu_job - One run of a program.
 *
 * The driver checks that the ranges given are aligned and lie below &drm_onpu_dev_info.va_end.
 * Whether there is memory, the device finds out: a page fault is an error of the job.
 */
struct drm_onpu_job {
	/** @program_va: Device address of the first instruction, a multiple of 16. */
	__u64 program_va;

	/** @slots_va: Device address of the slot table, a multiple of 128. */
	__u64 slots_va;

	/** @instr_count: Number of instructions of 16 bytes, not zero. */
	__u32 instr_count;

	/** @slot_count: Number of slots of 128 bytes in the table, 1 to 65536. */
	__u32 slot_count;

	/**
	 * @profile_va: Device address of a buffer for the time stamps of the instructions that ask
	 * for one, a multiple of 32, in the layout of uapi/onpu/registers.xml. Zero for none.
	 */
	__u64 profile_va;

	/**
	 * @profile_size: Bytes in the profile buffer, a multiple of 32; zero if and only if
	 * @profile_va is zero. Time stamps that have no room are dropped.
	 */
	__u32 profile_size;

	/** @flags: Must be zero. */
	__u32 flags;

	/**
	 * @cycle_limit: Device cycles after which the job fails with ETIME. Zero, or more than the
	 * administrator allows, means the administrator's limit.
	 */
	__u64 cycle_limit;

	/** @syncs: Array of &struct drm_onpu_sync, waits and signals in any order. */
	struct drm_onpu_obj_array syncs;
};

/**
 * struct drm_onpu_submit - Arguments of DRM_IOCTL_ONPU_SUBMIT.
 *
 * Takes all jobs or none. They run in the order of the array, after all jobs that the context
 * took before. The call does not wait for them, nor for what they wait for. It fails with
 *
 * - EIO if the context takes no more jobs (see &enum drm_onpu_ctx_state);
 * - EINVAL for more jobs or syncs than &drm_onpu_dev_info.max_jobs and
 *   &drm_onpu_dev_info.max_syncs;
 * - EOPNOTSUPP if a job of a context with %DRM_ONPU_CTX_LONG_RUNNING is to signal a syncobj;
 * - ENOSPC if the context would have more than &drm_onpu_dev_info.max_queued_jobs to do.
 */
struct drm_onpu_submit {
	/** @ctx_id: in: Number of the context. */
	__u32 ctx_id;

	/** @flags: in: Must be zero. */
	__u32 flags;

	/** @jobs: in: Array of &struct drm_onpu_job, at least one. */
	struct drm_onpu_obj_array jobs;

	/**
	 * @seqno: out: Number of the last of these jobs. A context numbers its jobs 1, 2, 3 and so
	 * on, so the others have the numbers before.
	 */
	__u64 seqno;
};

/**
 * DOC: Ioctl numbers
 *
 * Each ioctl is declared read and write, so that its structure can get a member that is returned.
 *
 * .. c:macro:: DRM_IOCTL_ONPU_DEV_QUERY
 *              DRM_IOCTL_ONPU_BO_CREATE
 *              DRM_IOCTL_ONPU_BO_INFO
 *              DRM_IOCTL_ONPU_BO_SYNC
 *              DRM_IOCTL_ONPU_CTX_CREATE
 *              DRM_IOCTL_ONPU_CTX_DESTROY
 *              DRM_IOCTL_ONPU_CTX_GET_STATE
 *              DRM_IOCTL_ONPU_SUBMIT
 *              DRM_IOCTL_ONPU_BO_WRAP
 *              DRM_IOCTL_ONPU
 *
 *    One for each value of &enum drm_onpu_ioctl_id, with the structure of its name: the argument
 *    of DRM_IOCTL_ONPU_BO_INFO is a &struct drm_onpu_bo_info. DRM_IOCTL_ONPU() makes the others.
 */
#define DRM_IOCTL_ONPU(id, type) \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_ONPU_##id, struct drm_onpu_##type)

#define DRM_IOCTL_ONPU_DEV_QUERY	DRM_IOCTL_ONPU(DEV_QUERY, dev_query)
#define DRM_IOCTL_ONPU_BO_CREATE	DRM_IOCTL_ONPU(BO_CREATE, bo_create)
#define DRM_IOCTL_ONPU_BO_INFO		DRM_IOCTL_ONPU(BO_INFO, bo_info)
#define DRM_IOCTL_ONPU_BO_SYNC		DRM_IOCTL_ONPU(BO_SYNC, bo_sync)
#define DRM_IOCTL_ONPU_CTX_CREATE	DRM_IOCTL_ONPU(CTX_CREATE, ctx_create)
#define DRM_IOCTL_ONPU_CTX_DESTROY	DRM_IOCTL_ONPU(CTX_DESTROY, ctx_destroy)
#define DRM_IOCTL_ONPU_CTX_GET_STATE	DRM_IOCTL_ONPU(CTX_GET_STATE, ctx_get_state)
#define DRM_IOCTL_ONPU_SUBMIT		DRM_IOCTL_ONPU(SUBMIT, submit)
#define DRM_IOCTL_ONPU_BO_WRAP		DRM_IOCTL_ONPU(BO_WRAP, bo_wrap)

#if defined(__cplusplus)
}
#endif

#endif /* _ONPU_ACCEL_H_ */
