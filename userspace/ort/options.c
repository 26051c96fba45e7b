// SPDX-License-Identifier: MIT
/*
 * Reads the settings of a session: ep.onpuexecutionprovider.NAME, and some of ONNX Runtime's own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "provider.h"

#define PREFIX	"ep.onpuexecutionprovider."
#define CONTEXT "ep.context_"

static const struct {
	const char *name;
	WNNPlacementPolicy policy;
} policies[] = {
	{ "npu-only", WNNPlacementPolicy_NPUOnly },
	{ "prefer-npu", WNNPlacementPolicy_PreferNPU },
	{ "cpu-only", WNNPlacementPolicy_CPUOnly },
};

static struct ort_status *wrong(const struct ort_api *ort, const char *name, const char *value,
				const char *right)
{
	return onpu_error(ort, ORT_INVALID_ARGUMENT,
			  ONPU_PROVIDER ": the option %s cannot be \"%s\": it must be %s", name,
			  value, right);
}

static struct ort_status *set_text(const struct ort_api *ort, char **place, const char *value)
{
	free(*place);
	*place = strdup(value);
	return *place ? NULL : onpu_nomem(ort);
}

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *number <= most;
}

static struct ort_status *set_dimension(struct onpu_options *options, const struct ort_api *ort,
					const char *name, const char *value)
{
	struct onpu_dimension *more;
	uint64_t size;

	if (!read_number(value, INT32_MAX, &size) || !size)
		return wrong(ort, name, value, "a number of elements from 1 to 2147483647");
	more = realloc(options->dimensions, (options->dimension_count + 1) * sizeof(*more));
	if (!more)
		return onpu_nomem(ort);
	options->dimensions = more;
	more[options->dimension_count].size = (int64_t)size;
	more[options->dimension_count].name = strdup(name + strlen("dim."));
	if (!more[options->dimension_count].name)
		return onpu_nomem(ort);
	options->dimension_count++;
	return NULL;
}

static struct ort_status *set(struct onpu_options *options, const struct ort_api *ort,
			      const char *name, const char *value)
{
	uint64_t number;

	if (!strcmp(name, "device")) {
		if (*value && !onpu_is_device(value))
			return wrong(ort, name, value, ONPU_DEVICES);
		return set_text(ort, &options->device, value);
	}
	if (!strcmp(name, "cache_dir"))
		return set_text(ort, &options->cache_dir, value);
	if (!strcmp(name, "report"))
		return set_text(ort, &options->report, value);
	if (!strcmp(name, "threads")) {
		if (!read_number(value, 4096, &number))
			return wrong(ort, name, value,
				     "a number of threads from 1 to 4096, or 0 for all processors");
		options->threads = (uint32_t)number;
		return NULL;
	}
	if (!strcmp(name, "policy")) {
		for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
			if (!strcmp(value, policies[i].name)) {
				options->policy = policies[i].policy;
				return NULL;
			}
		}
		return wrong(ort, name, value, "npu-only, prefer-npu or cpu-only");
	}
	if (!strncmp(name, "dim.", 4) && name[4])
		return set_dimension(options, ort, name, value);
	return onpu_error(ort, ORT_INVALID_ARGUMENT,
			  ONPU_PROVIDER
			  ": there is no option %s; there are device, policy, cache_dir, "
			  "report, threads and dim.NAME",
			  name);
}

static struct ort_status *set_context(struct onpu_options *options, const struct ort_api *ort,
				      const char *name, const char *value)
{
	if (!strcmp(name, "enable"))
		options->context_enable = !strcmp(value, "1");
	else if (!strcmp(name, "embed_mode"))
		options->context_embed = !strcmp(value, "1");
	else if (!strcmp(name, "file_path"))
		return set_text(ort, &options->context_path, value);
	return NULL;
}

struct ort_status *onpu_options_read(struct onpu_options *options, const struct ort_api *ort,
				     const struct ort_session_options *session,
				     const struct ort_pairs *metadata)
{
	const char *device = metadata ? ort->GetKeyValue(metadata, "device") : NULL;
	const char *const *keys, *const *values;
	struct ort_status *status;
	struct ort_pairs *pairs;
	size_t count;

	*options = (struct onpu_options){ .policy = WNNPlacementPolicy_PreferNPU };
	status = set_text(ort, &options->device, device ? device : "");
	if (!status)
		status = ort->GetSessionOptionsConfigEntries(session, &pairs);
	if (status)
		return status;
	ort->GetKeyValuePairs(pairs, &keys, &values, &count);
	for (size_t i = 0; i < count && !status; i++) {
		if (!strncmp(keys[i], PREFIX, strlen(PREFIX)))
			status = set(options, ort, keys[i] + strlen(PREFIX), values[i]);
		else if (!strncmp(keys[i], CONTEXT, strlen(CONTEXT)))
			status = set_context(options, ort, keys[i] + strlen(CONTEXT), values[i]);
	}
	ort->ReleaseKeyValuePairs(pairs);
	return status;
}

void onpu_options_free(struct onpu_options *options)
{
	for (size_t i = 0; i < options->dimension_count; i++)
		free(options->dimensions[i].name);
	free(options->dimensions);
	free(options->device);
	free(options->cache_dir);
	free(options->report);
	free(options->context_path);
}
