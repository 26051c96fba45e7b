// SPDX-License-Identifier: MIT
/* External values: handles of the library that are released when they are garbage-collected. */
#include <stdlib.h>

#include "addon.h"

static void release_handle(struct object *object)
{
	switch (object->kind) {
	case OBJECT_CONTEXT:
		/*
		 * Nobody can see the loss of a collected context, so that its request is cancelled.
		 */
		if (object->lost_request && !atomic_load(&object->addon->closing)) {
			object->lost_request->context = NULL;
			wnnInstanceCancel(object->addon->instance, object->lost);
		}
		wnnContextRelease(object->context);
		break;
	case OBJECT_TENSOR:
		wnnTensorRelease(object->tensor);
		break;
	case OBJECT_GRAPH:
		wnnGraphRelease(object->graph);
		break;
	case OBJECT_BUILDER:
		wnnGraphBuilderRelease(object->builder);
		break;
	case OBJECT_MODEL:
		model_release(object->model);
		break;
	}
}

void object_forget_bytes(struct object *object)
{
	int64_t total;

	if (object->bytes && !atomic_load(&object->addon->closing))
		napi_adjust_external_memory(object->addon->env, -object->bytes, &total);
	object->bytes = 0;
}

static void finalize(napi_env env, void *data, void *hint)
{
	struct object *object = data;

	(void)env;
	(void)hint;
	release_handle(object);
	object_forget_bytes(object);
	addon_release(object->addon);
	free(object->operands);
	free(object);
}

napi_value object_create(struct addon *addon, enum object_kind kind, void *handle, int64_t bytes,
			 struct object **result)
{
	struct object *object = calloc(1, sizeof(*object));
	int64_t total;
	napi_value value;

	if (!object) {
		struct object lost = { .kind = kind, .addon = addon, .context = handle };

		release_handle(&lost);
		throw_status(addon, WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
		return NULL;
	}
	object->kind = kind;
	object->addon = addon;
	/* All members of the union are pointers to handles. */
	object->context = handle;
	atomic_fetch_add(&addon->references, 1);
	if (napi_create_external(addon->env, object, finalize, NULL, &value) != napi_ok) {
		finalize(addon->env, object, NULL);
		throw_internal(addon->env,
			       "Node.js made no external value: memory may be exhausted");
		return NULL;
	}
	object->bytes = bytes;
	if (bytes)
		napi_adjust_external_memory(addon->env, bytes, &total);
	if (result)
		*result = object;
	return value;
}

struct object *object_get(napi_env env, napi_value value, enum object_kind kind)
{
	void *data = NULL;
	struct object *object;

	if (napi_get_value_external(env, value, &data) == napi_ok) {
		object = data;
		if (object->kind == kind)
			return object;
	}
	throw_internal(
		env,
		"call the package webnn-npu, not its addon: the value is no handle of the kind "
		"that is needed");
	return NULL;
}

bool get_bytes(napi_env env, napi_value value, void **data, size_t *size)
{
	if (napi_get_typedarray_info(env, value, NULL, size, data, NULL, NULL) == napi_ok)
		return true;
	throw_internal(env,
		       "call the package webnn-npu, not its addon: the value is no Uint8Array");
	return false;
}

bool get_text(napi_env env, napi_value value, WNNStringView *text)
{
	size_t length;
	char *data;

	if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok) {
		throw_internal(env,
			       "call the package webnn-npu, not its addon: the value is no string");
		return false;
	}
	data = malloc(length + 1);
	if (!data) {
		throw_status(addon_of(env), WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
		return false;
	}
	napi_get_value_string_utf8(env, value, data, length + 1, &length);
	text->data = data;
	text->length = length;
	return true;
}

bool get_u32s(napi_env env, napi_value value, uint32_t **items, size_t *count)
{
	uint32_t length;
	uint32_t *list;

	if (napi_get_array_length(env, value, &length) != napi_ok) {
		throw_internal(env,
			       "call the package webnn-npu, not its addon: the value is no array");
		return false;
	}
	/* One more item, because NULL would mean that the list is absent. */
	list = malloc(((size_t)length + 1) * sizeof(*list));
	if (!list) {
		throw_status(addon_of(env), WNNStatus_UnknownError, WNN_STR("memory is exhausted"));
		return false;
	}
	for (uint32_t i = 0; i < length; i++) {
		napi_handle_scope scope;
		napi_value item;
		napi_status status;

		napi_open_handle_scope(env, &scope);
		status = napi_get_element(env, value, i, &item);
		if (status == napi_ok)
			status = napi_get_value_uint32(env, item, &list[i]);
		napi_close_handle_scope(env, scope);
		if (status != napi_ok) {
			free(list);
			throw_internal(
				env,
				"call the package webnn-npu, not its addon: an item is no number");
			return false;
		}
	}
	*items = list;
	*count = length;
	return true;
}
