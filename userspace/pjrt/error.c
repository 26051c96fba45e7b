// SPDX-License-Identifier: MIT
/* Creates the errors of the plugin. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* The members of an error whose message is a literal. */
#define fixed_text(literal) .length = sizeof(literal) - 1, .text = (literal)

struct pjrt_error *onpu_nomem(void)
{
	static struct pjrt_error error = {
		.code = PJRT_RESOURCE_EXHAUSTED,
		.is_static = true,
		fixed_text("onpu: memory is exhausted"),
	};

	return &error;
}

struct pjrt_error *onpu_error(int code, const char *format, ...)
{
	struct pjrt_error *error;
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	error = length < 0 ? NULL : malloc(sizeof(*error) + (size_t)length + 1);
	if (error) {
		error->code = code;
		error->is_static = false;
		error->length = (size_t)length;
		error->text = error->own;
		vsnprintf(error->own, error->length + 1, format, again);
	}
	va_end(again);
	va_end(args);
	return error ? error : onpu_nomem();
}

void onpu_error_free(struct pjrt_error *error)
{
	if (error && !error->is_static)
		free(error);
}

static int code_of(WNNStatus status)
{
	switch (status) {
	case WNNStatus_TypeError:
		return PJRT_INVALID_ARGUMENT;
	case WNNStatus_NotSupportedError:
		return PJRT_UNIMPLEMENTED;
	case WNNStatus_UnknownError:
		return PJRT_RESOURCE_EXHAUSTED;
	case WNNStatus_InvalidStateError:
		return PJRT_FAILED_PRECONDITION;
	default:
		return PJRT_INTERNAL;
	}
}

struct pjrt_error *onpu_webnn_error(const char *what)
{
	WNNError error = WNN_ERROR_INIT;
	WNNStatus status = wnnGetLastError(&error);

	return onpu_error(code_of(status), "onpu: %s: %.*s", what, (int)error.message.length,
			  error.message.data ? error.message.data : "");
}

struct pjrt_error *onpu_stablehlo_error(WNNStatus status, const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnStablehloGetLastError(&error);
	return onpu_error(code_of(status), "onpu: %s: %.*s", what, (int)error.message.length,
			  error.message.data ? error.message.data : "");
}
