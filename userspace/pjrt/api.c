// SPDX-License-Identifier: MIT
/* The table of functions, by which JAX loads the plugin. */
#include <string.h>

#include "plugin.h"

/* The newest and the oldest version of StableHLO that is read. */
static const int64_t newest[3] = { 1, 20, 0 }, oldest[3] = { 0, 9, 0 };

static struct pjrt_error *too_small(const char *name, size_t size, size_t least)
{
	return onpu_error(PJRT_INVALID_ARGUMENT,
			  "onpu: the arguments of PJRT_%s have %zu bytes; there must be at least "
			  "%zu",
			  name, size, least);
}

static struct pjrt_error *lacking(const char *name)
{
	return onpu_error(PJRT_UNIMPLEMENTED, "onpu: PJRT_%s is not implemented", name);
}

/* Functions of the table: each checks how many bytes of its arguments there are. */
#define HAVE(name, last, ...)                                                        \
	static struct pjrt_error *call_##name(struct pjrt_##name##_args *args)       \
	{                                                                            \
		if (!PJRT_HAS(args, last))                                           \
			return too_small(#name, args->struct_size,                   \
					 offsetof(struct pjrt_##name##_args, last) + \
						 sizeof(args->last));                \
		return onpu_##name(args);                                            \
	}
#define LACK(name)                                        \
	static struct pjrt_error *call_##name(void *args) \
	{                                                 \
		(void)args;                               \
		return lacking(#name);                    \
	}
#include "slots.def"
#undef HAVE
#undef LACK

/* ---- errors, whose functions return none */

static void destroy_error(struct pjrt_Error_Destroy_args *args)
{
	onpu_error_free(args->error);
}

static void get_message(struct pjrt_Error_Message_args *args)
{
	args->message = args->error->text;
	args->length = args->error->length;
}

static struct pjrt_error *get_code(struct pjrt_Error_GetCode_args *args)
{
	args->code = args->error->code;
	return NULL;
}

/* ---- the plugin */

struct pjrt_error *onpu_Plugin_Initialize(struct pjrt_Plugin_Initialize_args *args)
{
	(void)args;
	return NULL;
}

struct pjrt_error *onpu_Plugin_Attributes(struct pjrt_Plugin_Attributes_args *args)
{
	static const struct pjrt_named_value attributes[] = {
		{ .size = sizeof(attributes[0]),
		  .name = "stablehlo_current_version",
		  .name_length = sizeof("stablehlo_current_version") - 1,
		  .kind = PJRT_INTEGERS,
		  .integers = newest,
		  .count = 3 },
		{ .size = sizeof(attributes[0]),
		  .name = "stablehlo_minimum_version",
		  .name_length = sizeof("stablehlo_minimum_version") - 1,
		  .kind = PJRT_INTEGERS,
		  .integers = oldest,
		  .count = 3 },
	};

	args->attributes = attributes;
	args->count = sizeof(attributes) / sizeof(attributes[0]);
	return NULL;
}

static const struct pjrt_api api = {
	.size = sizeof(api),
	.extensions = &onpu_shardings_extension.base,
	.version = { .size = sizeof(api.version), .major = PJRT_MAJOR, .minor = PJRT_MINOR },
	.Error_Destroy = destroy_error,
	.Error_Message = get_message,
	.Error_GetCode = get_code,
#define HAVE(name, last, ...) .name = call_##name,
#define LACK(name)	      .name = call_##name,
#include "slots.def"
#undef HAVE
#undef LACK
};

const struct pjrt_api *GetPjrtApi(void);

__attribute__((visibility("default"))) const struct pjrt_api *GetPjrtApi(void)
{
	return &api;
}

/* Sets the function by which programs call into Python: jax_plugins.onpu finds it by its name. */
__attribute__((visibility("default"))) void onpu_set_callback(WNNStablehloCallback callback);

void onpu_set_callback(WNNStablehloCallback callback)
{
	wnnStablehloSetCallback(callback);
}
