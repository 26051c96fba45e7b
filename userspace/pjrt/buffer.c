// SPDX-License-Identifier: MIT
/* Buffers: arrays of the client, which callers fill, read, copy and delete. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* ---- elements */

static void count_block(struct pjrt_device *device, int64_t size)
{
	int64_t used = atomic_fetch_add(&device->used, size) + size;
	int64_t most = atomic_load(&device->peak);

	atomic_fetch_add(&device->allocations, 1);
	while (used > most && !atomic_compare_exchange_weak(&device->peak, &most, used))
		;
	most = atomic_load(&device->largest);
	while (size > most && !atomic_compare_exchange_weak(&device->largest, &most, size))
		;
}

static struct onpu_block *create_block(struct pjrt_memory *memory, size_t size)
{
	struct onpu_block *block;

	if (size > SIZE_MAX / 2)
		return NULL;
	block = aligned_alloc(64, (sizeof(*block) + size + 63) / 64 * 64);
	if (!block)
		return NULL;
	atomic_init(&block->refs, 1);
	block->memory = memory;
	onpu_client_get(memory->device->client);
	block->size = size;
	if (memory->kind == ONPU_DEVICE)
		count_block(memory->device, (int64_t)size);
	return block;
}

void onpu_block_put(struct onpu_block *block)
{
	struct pjrt_device *device;

	if (!block || atomic_fetch_sub(&block->refs, 1) != 1)
		return;
	device = block->memory->device;
	if (block->memory->kind == ONPU_DEVICE)
		atomic_fetch_sub(&device->used, (int64_t)block->size);
	free(block);
	onpu_client_put(device->client);
}

struct onpu_block *onpu_buffer_take(struct pjrt_buffer *buffer)
{
	struct onpu_block *block;

	pthread_mutex_lock(&buffer->lock);
	block = buffer->block;
	if (block)
		atomic_fetch_add(&block->refs, 1);
	pthread_mutex_unlock(&buffer->lock);
	return block;
}

static struct pjrt_error *deleted(void)
{
	return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: the buffer is deleted");
}

/* ---- buffers */

/*
 * Sets *size to the bytes of an array; false: a dimension is negative, or there are too many bytes.
 */
static bool measure(const struct onpu_type *type, size_t rank, const int64_t *dims, size_t *size)
{
	bool is_empty = false;

	*size = type->size;
	for (size_t i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return false;
		if (!dims[i])
			is_empty = true;
		else if (__builtin_mul_overflow(*size, (size_t)dims[i], size) ||
			 *size > PTRDIFF_MAX)
			return false;
	}
	if (is_empty)
		*size = 0;
	return true;
}

struct pjrt_error *onpu_buffer_create(struct pjrt_memory *memory, const struct onpu_type *type,
				      size_t rank, const int64_t *dims, struct onpu_block *block,
				      struct pjrt_buffer **buffer)
{
	struct pjrt_buffer *new;
	size_t size;

	if (rank > ONPU_MAX_RANK)
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: the array has %zu dimensions; at most %d are possible",
				  rank, ONPU_MAX_RANK);
	if (!measure(type, rank, dims, &size))
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the array has a negative dimension or too many elements");
	new = calloc(1, sizeof(*new) + 2 * rank * sizeof(int64_t));
	if (!new)
		return onpu_nomem();
	if (block)
		atomic_fetch_add(&block->refs, 1);
	new->block = block ? block : create_block(memory, size);
	if (!new->block) {
		free(new);
		return onpu_error(PJRT_RESOURCE_EXHAUSTED,
				  "onpu: there is no memory for an array of %zu bytes", size);
	}
	pthread_mutex_init(&new->lock, NULL);
	new->memory = memory;
	new->type = type;
	new->rank = rank;
	new->minor_to_major = new->dims + rank;
	for (size_t i = 0; i < rank; i++) {
		new->dims[i] = dims[i];
		new->minor_to_major[i] = (int64_t)(rank - 1 - i);
	}
	onpu_client_get(memory->device->client);
	*buffer = new;
	return NULL;
}

void onpu_buffer_free(struct pjrt_buffer *buffer)
{
	if (!buffer)
		return;
	onpu_block_put(buffer->block);
	onpu_block_put(buffer->lent);
	pthread_mutex_destroy(&buffer->lock);
	onpu_client_put(buffer->memory->device->client);
	free(buffer);
}

struct pjrt_error *onpu_Buffer_Destroy(struct pjrt_Buffer_Destroy_args *args)
{
	onpu_buffer_free(args->buffer);
	return NULL;
}

struct pjrt_error *onpu_Buffer_Delete(struct pjrt_Buffer_Delete_args *args)
{
	struct onpu_block *block;

	pthread_mutex_lock(&args->buffer->lock);
	block = args->buffer->block;
	args->buffer->block = NULL;
	pthread_mutex_unlock(&args->buffer->lock);
	onpu_block_put(block);
	return NULL;
}

void onpu_buffer_give(struct pjrt_buffer *buffer)
{
	struct onpu_block *block = NULL;

	pthread_mutex_lock(&buffer->lock);
	if (!buffer->external) {
		block = buffer->block;
		buffer->block = NULL;
	}
	pthread_mutex_unlock(&buffer->lock);
	onpu_block_put(block);
}

struct pjrt_error *onpu_Buffer_IsDeleted(struct pjrt_Buffer_IsDeleted_args *args)
{
	pthread_mutex_lock(&args->buffer->lock);
	args->is_deleted = !args->buffer->block;
	pthread_mutex_unlock(&args->buffer->lock);
	return NULL;
}

/* ---- from and to the host */

static struct pjrt_error *fill(struct pjrt_buffer *buffer,
			       const struct pjrt_Client_BufferFromHostBuffer_args *args)
{
	int64_t from[ONPU_MAX_RANK], to[ONPU_MAX_RANK];
	const int64_t *strides = from;

	onpu_strides_dense(buffer->rank, buffer->dims, buffer->type->size, to);
	if (args->stride_count && args->stride_count != buffer->rank)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: there are %zu strides for %zu dimensions",
				  args->stride_count, buffer->rank);
	onpu_strides_dense(buffer->rank, buffer->dims, buffer->type->size, from);
	if (args->stride_count)
		strides = args->strides;
	if (buffer->block->size && !args->data)
		return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: the data of the array is missing");
	onpu_copy(buffer->rank, buffer->dims, buffer->type->size, buffer->block->data, to,
		  args->data, strides);
	return NULL;
}

/*
 * Returns NULL; an error: a layout is not row-major, as is the default that NULL stands for, or is
 * none for the array.
 */
static struct pjrt_error *check_layout(const struct pjrt_layout *layout, size_t rank,
				       const int64_t *dims, size_t element)
{
	int64_t wanted[ONPU_MAX_RANK], dense[ONPU_MAX_RANK];
	struct pjrt_error *error = onpu_strides_read(layout, rank, dims, element, wanted);

	if (error)
		return error;
	onpu_strides_dense(rank, dims, element, dense);
	for (size_t i = 0; i < rank; i++)
		if (dims[i] > 1 && wanted[i] != dense[i])
			return onpu_error(PJRT_UNIMPLEMENTED,
					  "onpu: a layout on the device other than row-major is "
					  "not implemented");
	return NULL;
}

struct pjrt_error *
onpu_Client_BufferFromHostBuffer(struct pjrt_Client_BufferFromHostBuffer_args *args)
{
	const struct onpu_type *type = onpu_type_by_number(args->type);
	struct pjrt_memory *memory = args->memory ? args->memory :
				     args->device ? args->device->memories[ONPU_DEVICE] :
						    args->client->memories[0];
	struct pjrt_error *error;
	struct pjrt_buffer *buffer;

	/* A type of size 0 is a token, which only programs can make. */
	if (!type || !type->size)
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: arrays of PJRT's element type %d are not implemented",
				  args->type);
	if (memory->device->client != args->client)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the memory or device is not the client's");
	error = onpu_buffer_create(memory, type, args->rank, args->dims, NULL, &buffer);
	if (error)
		return error;
	error = check_layout(args->layout, buffer->rank, buffer->dims, type->size);
	if (!error)
		error = fill(buffer, args);
	/* The elements are copied, whatever the semantics would allow. */
	args->done = error ? NULL : onpu_event_ready();
	if (!error && !args->done)
		error = onpu_nomem();
	if (error) {
		onpu_buffer_free(buffer);
		return error;
	}
	args->buffer = buffer;
	return NULL;
}

/*
 * Returns the bytes from the first element to the end of the last one, for strides of any order; 0
 * if a stride is negative or the result is too large.
 */
static size_t span_of(const struct pjrt_buffer *buffer, const int64_t *strides)
{
	size_t span = buffer->type->size, step;

	for (size_t i = 0; i < buffer->rank; i++)
		if (buffer->dims[i] > 1 && (strides[i] < 0 ||
					    __builtin_mul_overflow((size_t)(buffer->dims[i] - 1),
								   (size_t)strides[i], &step) ||
					    __builtin_add_overflow(span, step, &span)))
			return 0;
	return span;
}

struct pjrt_error *onpu_Buffer_ToHostBuffer(struct pjrt_Buffer_ToHostBuffer_args *args)
{
	struct pjrt_buffer *buffer = args->buffer;
	int64_t from[ONPU_MAX_RANK], to[ONPU_MAX_RANK];
	struct onpu_block *block = onpu_buffer_take(buffer);
	struct pjrt_error *error;
	size_t needed = 0;

	if (!block)
		return deleted();
	error = onpu_strides_read(args->layout, buffer->rank, buffer->dims, buffer->type->size, to);
	if (!error && block->size) {
		needed = span_of(buffer, to);
		if (!needed)
			error = onpu_error(PJRT_UNIMPLEMENTED,
					   "onpu: strides of an array on the host must be at least "
					   "0, and its bytes must fit into memory");
	}
	if (!error && !args->data) {
		args->size = needed;
	} else if (!error && args->size < needed) {
		error = onpu_error(PJRT_INVALID_ARGUMENT,
				   "onpu: the array has %zu bytes, there is room for %zu", needed,
				   args->size);
	} else if (!error) {
		args->done = onpu_event_ready();
		if (!args->done)
			error = onpu_nomem();
	}
	if (!error && args->data) {
		onpu_strides_dense(buffer->rank, buffer->dims, buffer->type->size, from);
		onpu_copy(buffer->rank, buffer->dims, buffer->type->size, args->data, to,
			  block->data, from);
	}
	onpu_block_put(block);
	return error;
}

struct pjrt_error *onpu_Buffer_CopyRawToHost(struct pjrt_Buffer_CopyRawToHost_args *args)
{
	struct onpu_block *block = onpu_buffer_take(args->buffer);
	struct pjrt_error *error = NULL;

	if (!block)
		return deleted();
	if (args->offset < 0 || args->size < 0 || (uint64_t)args->offset > block->size ||
	    (uint64_t)args->size > block->size - (uint64_t)args->offset)
		error = onpu_error(PJRT_INVALID_ARGUMENT,
				   "onpu: %lld bytes from byte %lld on are not in the array, which "
				   "has %zu",
				   (long long)args->size, (long long)args->offset, block->size);
	if (!error) {
		args->done = onpu_event_ready();
		if (!args->done)
			error = onpu_nomem();
	}
	if (!error && args->size)
		memcpy(args->data, block->data + args->offset, (size_t)args->size);
	onpu_block_put(block);
	return error;
}

static struct pjrt_error *copy_to(struct pjrt_buffer *buffer, struct pjrt_memory *memory,
				  struct pjrt_buffer **copy)
{
	struct onpu_block *block = onpu_buffer_take(buffer);
	struct pjrt_error *error;

	if (!block)
		return deleted();
	if (memory->device->client != buffer->memory->device->client)
		error = onpu_error(PJRT_INVALID_ARGUMENT,
				   "onpu: the memory or device is another client's");
	else
		error = onpu_buffer_create(memory, buffer->type, buffer->rank, buffer->dims, NULL,
					   copy);
	if (!error)
		memcpy((*copy)->block->data, block->data, block->size);
	onpu_block_put(block);
	return error;
}

struct pjrt_error *onpu_Buffer_CopyToMemory(struct pjrt_Buffer_CopyToMemory_args *args)
{
	return copy_to(args->buffer, args->memory, &args->copy);
}

struct pjrt_error *onpu_Buffer_CopyToDevice(struct pjrt_Buffer_CopyToDevice_args *args)
{
	if (args->device == args->buffer->memory->device)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the buffer is on device %d already; the device of a copy "
				  "must be another one",
				  args->device->id);
	return copy_to(args->buffer, args->device->memories[ONPU_DEVICE], &args->copy);
}

/* ---- for others */

/* Lends the elements, which stay where they are until the last borrower returns them. */
struct pjrt_error *onpu_Buffer_IncreaseExternalReferenceCount(
	struct pjrt_Buffer_IncreaseExternalReferenceCount_args *args)
{
	struct pjrt_buffer *buffer = args->buffer;
	struct pjrt_error *error = NULL;

	pthread_mutex_lock(&buffer->lock);
	if (!buffer->external && !buffer->block) {
		error = deleted();
	} else if (!buffer->external++) {
		buffer->lent = buffer->block;
		atomic_fetch_add(&buffer->lent->refs, 1);
	}
	pthread_mutex_unlock(&buffer->lock);
	return error;
}

struct pjrt_error *onpu_Buffer_DecreaseExternalReferenceCount(
	struct pjrt_Buffer_DecreaseExternalReferenceCount_args *args)
{
	struct pjrt_buffer *buffer = args->buffer;
	struct onpu_block *block = NULL;
	struct pjrt_error *error = NULL;

	pthread_mutex_lock(&buffer->lock);
	if (!buffer->external) {
		error = onpu_error(PJRT_FAILED_PRECONDITION,
				   "onpu: the buffer has no external reference that could be "
				   "given back");
	} else if (!--buffer->external) {
		block = buffer->lent;
		buffer->lent = NULL;
	}
	pthread_mutex_unlock(&buffer->lock);
	onpu_block_put(block);
	return error;
}

/* Returns where the elements are; NULL: they are deleted. */
static void *address(struct pjrt_buffer *buffer)
{
	struct onpu_block *block;

	pthread_mutex_lock(&buffer->lock);
	block = buffer->block ? buffer->block : buffer->lent;
	pthread_mutex_unlock(&buffer->lock);
	return block ? block->data : NULL;
}

struct pjrt_error *onpu_Buffer_UnsafePointer(struct pjrt_Buffer_UnsafePointer_args *args)
{
	args->pointer = (uintptr_t)address(args->buffer);
	return args->pointer ? NULL : deleted();
}

struct pjrt_error *onpu_Buffer_OpaqueDeviceMemoryDataPointer(
	struct pjrt_Buffer_OpaqueDeviceMemoryDataPointer_args *args)
{
	args->pointer = address(args->buffer);
	return args->pointer ? NULL : deleted();
}

/* ---- what a buffer is */

struct pjrt_error *onpu_Buffer_ElementType(struct pjrt_Buffer_ElementType_args *args)
{
	args->type = args->buffer->type->number;
	return NULL;
}

struct pjrt_error *onpu_Buffer_Dimensions(struct pjrt_Buffer_Dimensions_args *args)
{
	args->dims = args->buffer->dims;
	args->count = args->buffer->rank;
	return NULL;
}

struct pjrt_error *onpu_Buffer_UnpaddedDimensions(struct pjrt_Buffer_UnpaddedDimensions_args *args)
{
	args->dims = args->buffer->dims;
	args->count = args->buffer->rank;
	return NULL;
}

struct pjrt_error *
onpu_Buffer_DynamicDimensionIndices(struct pjrt_Buffer_DynamicDimensionIndices_args *args)
{
	args->indices = NULL;
	args->count = 0;
	return NULL;
}

struct pjrt_error *onpu_Buffer_GetMemoryLayout(struct pjrt_Buffer_GetMemoryLayout_args *args)
{
	args->layout = (struct pjrt_layout){ .size = sizeof(args->layout), .kind = PJRT_TILED };
	args->layout.tiled.size = sizeof(args->layout.tiled);
	args->layout.tiled.minor_to_major = args->buffer->minor_to_major;
	args->layout.tiled.rank = args->buffer->rank;
	return NULL;
}

struct pjrt_error *
onpu_Buffer_OnDeviceSizeInBytes(struct pjrt_Buffer_OnDeviceSizeInBytes_args *args)
{
	struct onpu_block *block = onpu_buffer_take(args->buffer);

	if (!block)
		return deleted();
	args->size = block->size;
	onpu_block_put(block);
	return NULL;
}

struct pjrt_error *onpu_Buffer_Device(struct pjrt_Buffer_Device_args *args)
{
	args->device = args->buffer->memory->device;
	return NULL;
}

struct pjrt_error *onpu_Buffer_Memory(struct pjrt_Buffer_Memory_args *args)
{
	args->memory = args->buffer->memory;
	return NULL;
}

/*
 * Sets args->is to false and returns NULL: a buffer is never on the CPU, so that callers reach the
 * elements by functions only, and do not use their memory as an array.
 */
struct pjrt_error *onpu_Buffer_IsOnCpu(struct pjrt_Buffer_IsOnCpu_args *args)
{
	args->is = false;
	return NULL;
}

struct pjrt_error *onpu_Buffer_ReadyEvent(struct pjrt_Buffer_ReadyEvent_args *args)
{
	struct onpu_block *block = onpu_buffer_take(args->buffer);

	if (!block)
		return deleted();
	onpu_block_put(block);
	args->event = onpu_event_ready();
	return args->event ? NULL : onpu_nomem();
}
