// SPDX-License-Identifier: MIT
/*
 * Creates statuses, writes messages to ONNX Runtime's log, and writes the report of where nodes
 * run.
 */
#include <stdarg.h>
#include <string.h>

#include "provider.h"

struct ort_status *onpu_error(const struct ort_api *ort, int code, const char *format, ...)
{
	char message[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return ort->CreateStatus(code, message);
}

struct ort_status *onpu_nomem(const struct ort_api *ort)
{
	return onpu_error(ort, ORT_FAIL, ONPU_PROVIDER ": memory is exhausted");
}

struct ort_status *onpu_webnn_error(const struct ort_api *ort, const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	return onpu_error(ort, ORT_FAIL, ONPU_PROVIDER ": %s: %.*s", what,
			  (int)error.message.length, error.message.data ? error.message.data : "");
}

struct ort_status *onpu_onnx_error(const struct ort_api *ort, const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnOnnxGetLastError(&error);
	return onpu_error(ort, ORT_FAIL, ONPU_PROVIDER ": %s: %.*s", what,
			  (int)error.message.length, error.message.data ? error.message.data : "");
}

void onpu_log(const struct onpu_ep *ep, int level, const char *format, ...)
{
	const struct ort_api *ort = &ep->factory->ort;
	struct ort_status *status;
	char message[1200];
	va_list args;
	int wanted = 0;

	status = ort->Logger_GetLoggingSeverityLevel(ep->logger, &wanted);
	if (status)
		ort->ReleaseStatus(status);
	if (level < wanted)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	status = ort->Logger_LogMessage(ep->logger, level, message, "onpu", 0, ONPU_PROVIDER);
	if (status)
		ort->ReleaseStatus(status);
}

static void put(FILE *file, WNNStringView text, char end)
{
	for (size_t i = 0; i < text.length; i++)
		putc(text.data[i] == '\t' || text.data[i] == '\n' ? ' ' : text.data[i], file);
	putc(end, file);
}

void onpu_report(struct onpu_ep *ep, const char *device_name, WNNStringView type,
		 WNNStringView node, WNNStringView reason)
{
	if (!ep->report)
		return;
	pthread_mutex_lock(&ep->report_lock);
	fprintf(ep->report, "%s\t", device_name);
	put(ep->report, type, '\t');
	put(ep->report, node, '\t');
	put(ep->report, reason, '\n');
	fflush(ep->report);
	pthread_mutex_unlock(&ep->report_lock);
}
