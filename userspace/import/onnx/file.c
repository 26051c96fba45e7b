// SPDX-License-Identifier: MIT
/* Maps files, and counts the references to them. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kind.h"
#include "memory.h"

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static WNNStatus map(const char *name, int fd, bool is_model, struct onnx_file *file)
{
	struct stat status;
	void *data;

	if (fstat(fd, &status))
		return onnx_error(WNNStatus_OperationError, "%s: %s", name, strerror(errno));
	if (S_ISDIR(status.st_mode) && is_model)
		return onnx_error(WNNStatus_OperationError, "%s: it is no model of ONNX; it is %s",
				  name, onnx_kind_of_folder(name));
	if (!S_ISREG(status.st_mode))
		return onnx_error(WNNStatus_OperationError, "%s is not a regular file", name);
	if (!status.st_size)
		return onnx_error(WNNStatus_OperationError, "%s is empty", name);
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return onnx_error(errno == ENOMEM ? WNNStatus_UnknownError :
						    WNNStatus_OperationError,
				  "%s cannot be mapped: %s", name, strerror(errno));
	file->data = data;
	file->size = (size_t)status.st_size;
	file->identity[0] = status.st_dev;
	file->identity[1] = status.st_ino;
	file->identity[2] = (uint64_t)status.st_size;
	file->identity[3] = nanoseconds(&status.st_mtim);
	file->identity[4] = nanoseconds(&status.st_ctim);
	return WNNStatus_Success;
}

WNNStatus onnx_file_open(const char *name, bool is_model, struct onnx_file **out)
{
	struct onnx_file *file = import_alloc(sizeof(*file));
	WNNStatus status;
	int fd;

	if (!file)
		return onnx_nomem();
	atomic_init(&file->references, 1);
	/* Without O_NONBLOCK, open() of a fifo would wait until a program opens it to write. */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		status = onnx_error(WNNStatus_OperationError, "%s: %s", name, strerror(errno));
	else
		status = map(name, fd, is_model, file);
	if (fd >= 0)
		close(fd);
	if (status == WNNStatus_Success) {
		file->name = import_alloc(strlen(name) + 1);
		if (file->name)
			strcpy(file->name, name);
		else
			status = onnx_nomem();
	}
	if (status != WNNStatus_Success) {
		onnx_file_put(file);
		return status;
	}
	*out = file;
	return WNNStatus_Success;
}

WNNStatus onnx_file_copy(const void *data, size_t size, struct onnx_file **out)
{
	struct onnx_file *file = import_alloc(sizeof(*file));
	uint8_t *bytes = import_alloc(size);

	if (!file || !bytes) {
		import_free(file);
		import_free(bytes);
		return onnx_nomem();
	}
	memcpy(bytes, data, size);
	*file = (struct onnx_file){ .data = bytes, .size = size, .copied = true };
	atomic_init(&file->references, 1);
	*out = file;
	return WNNStatus_Success;
}

WNNStatus onnx_file_lend(WNNReleaseConstantCallback release, void *userdata1, void *userdata2,
			 struct onnx_file **out)
{
	struct onnx_file *file = import_alloc(sizeof(*file));

	if (!file)
		return onnx_nomem();
	*file = (struct onnx_file){
		.size = SIZE_MAX,
		.lent = true,
		.release = release,
		.userdata1 = userdata1,
		.userdata2 = userdata2,
	};
	atomic_init(&file->references, 1);
	*out = file;
	return WNNStatus_Success;
}

void onnx_file_get(struct onnx_file *file)
{
	atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
}

void onnx_file_forget(struct onnx_file *file, const void *data, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)data + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)data + size) / page * page;

	/*
	 * This is only advice to the kernel: a page that is read again is loaded from the file
	 * again.
	 */
	if (!file->copied && !file->lent && begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void onnx_file_put(struct onnx_file *file)
{
	if (!file || atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) != 1)
		return;
	if (file->lent && file->release)
		file->release(NULL, 0, file->userdata1, file->userdata2);
	else if (file->copied)
		import_free((void *)(uintptr_t)file->data);
	else if (file->data)
		munmap((void *)(uintptr_t)file->data, file->size);
	import_free(file->name);
	import_free(file);
}
