// SPDX-License-Identifier: MIT
/*
 * onpu-ort-preload.so, for programs that do not configure execution providers: with LD_PRELOAD and
 * ONPU_ORT=npu|npu:NUMBER|sim|cpu it adds this provider to the options of every session. It
 * overrides OrtGetApiBase, and replaces functions in ONNX Runtime's table itself: the table is not
 * copied, because its length differs by version.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "ort.h"

#define NAME	 "onpu-preload"
#define PROVIDER "OnpuExecutionProvider"
#define LIBRARY	 "libonnxruntime_providers_onpu.so"

__attribute__((visibility("default"))) const struct ort_api_base *OrtGetApiBase(void);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct ort_api_base *base;
static struct ort_api api; /* the original functions of ONNX Runtime */
static const char *wanted; /* the device that ONPU_ORT names */

static void complain(const char *what, const char *why)
{
	fprintf(stderr, "onpu-ort-preload: %s%s%s\n", what, *why ? ": " : "", why);
}

static int find_library(struct dl_phdr_info *info, size_t size, void *out)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (strncmp(slash ? slash + 1 : info->dlpi_name, "libonnxruntime.so", 17))
		return 0;
	*(const char **)out = info->dlpi_name;
	return 1;
}

/*
 * Returns the real OrtGetApiBase; NULL: no library has it. RTLD_NEXT does not find it when the
 * program loaded ONNX Runtime with local symbols; then the loaded libraries are searched.
 */
static void *find_real(void)
{
	void *real = dlsym(RTLD_NEXT, "OrtGetApiBase");
	const char *path = NULL;
	void *library;

	if (real)
		return real;
	dl_iterate_phdr(find_library, &path);
	library = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	return library ? dlsym(library, "OrtGetApiBase") : NULL;
}

/*
 * Sets the path of the provider's library: ONPU_ORT_LIBRARY, or else a file beside this library.
 * Returns false when the path is too long, or cannot be determined.
 */
static bool provider_path(char *path, size_t room)
{
	const char *given = getenv("ONPU_ORT_LIBRARY");
	Dl_info info;
	char *slash;

	if (given && *given)
		return snprintf(path, room, "%s", given) < (int)room;
	if (!dladdr((const void *)&once, &info) || !realpath(info.dli_fname, path))
		return false;
	slash = strrchr(path, '/');
	return slash && (size_t)(slash - path) + sizeof("/" LIBRARY) < room &&
	       strcpy(slash + 1, LIBRARY);
}

static const struct ort_ep_device *pick(const struct ort_ep_device *const *devices, size_t count)
{
	const struct ort_ep_device *other = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct ort_pairs *metadata;
		const char *device;

		if (strcmp(api.EpDevice_EpName(devices[i]), PROVIDER))
			continue;
		metadata = api.EpDevice_EpMetadata(devices[i]);
		device = metadata ? api.GetKeyValue(metadata, "device") : NULL;
		if (device && !strcmp(device, wanted))
			return devices[i];
		/* A hardware device without a device name runs sessions on any device. */
		if (!device && !other)
			other = devices[i];
	}
	return other;
}

/*
 * Sets *device to the device in an environment; NULL: there is none. If it is not there, registers
 * the provider's library with the environment and looks again. Returns NULL, or an error.
 */
static struct ort_status *find_device(struct ort_env *env, const struct ort_ep_device **device)
{
	const struct ort_ep_device *const *devices;
	char path[PATH_MAX];
	size_t count;

	*device = NULL;
	for (int i = 0; i < 2; i++) {
		struct ort_status *status = api.GetEpDevices(env, &devices, &count);

		if (status)
			return status;
		*device = pick(devices, count);
		if (*device || i)
			return NULL;
		if (!provider_path(path, sizeof(path)))
			return api.CreateStatus(1, "onpu-ort-preload: the path of " LIBRARY
						   " is too long, or cannot be told from that "
						   "of onpu-ort-preload.so; set ONPU_ORT_LIBRARY");
		status = api.RegisterExecutionProviderLibrary(env, NAME, path);
		if (status)
			return status;
	}
	return NULL;
}

/* Returns the most options that a text of ONPU_ORT_OPTIONS has, and one for the device. */
static size_t most_options(const char *text)
{
	size_t count = 2;

	for (; *text; text++)
		count += *text == ',';
	return count;
}

/*
 * Sets the options: the device, then those of ONPU_ORT_OPTIONS (NAME=VALUE,…). Returns their
 * number.
 */
static size_t split_options(char *text, const char **keys, const char **values)
{
	size_t count = 0;
	char *place = NULL;

	keys[count] = "device";
	values[count++] = wanted;
	for (char *word = strtok_r(text, ",", &place); word; word = strtok_r(NULL, ",", &place)) {
		char *equals = strchr(word, '=');

		if (equals)
			*equals = 0;
		keys[count] = word;
		values[count++] = equals ? equals + 1 : "";
	}
	return count;
}

/*
 * Sets *out to a copy of the options, or to new options, with the provider added. Returns NULL, or
 * an error.
 */
static struct ort_status *add_provider(const struct ort_env *env,
				       const struct ort_session_options *options,
				       struct ort_session_options **out)
{
	const char *more = getenv("ONPU_ORT_OPTIONS");
	const struct ort_ep_device *device;
	struct ort_status *status;
	char *text = strdup(more ? more : "");
	size_t count = text ? most_options(text) : 0;
	const char **keys = calloc(count, sizeof(*keys)), **values = calloc(count, sizeof(*values));

	*out = NULL;
	pthread_mutex_lock(&lock);
	status = find_device((struct ort_env *)(uintptr_t)env, &device);
	pthread_mutex_unlock(&lock);
	if (!status && (!text || !keys || !values))
		status = api.CreateStatus(1, "onpu-ort-preload: memory is exhausted");
	if (!status && !device) {
		char what[200];

		snprintf(what, sizeof(what),
			 "onpu-ort-preload: ONNX Runtime lists no device of " PROVIDER
			 " for ONPU_ORT=%.60s",
			 wanted);
		status = api.CreateStatus(1, what);
	}
	if (!status)
		status = options ? api.CloneSessionOptions(options, out) :
				   api.CreateSessionOptions(out);
	if (!status) {
		count = split_options(text, keys, values);
		status = api.SessionOptionsAppendExecutionProvider_V2(
			*out, (struct ort_env *)(uintptr_t)env, &device, 1, keys, values, count);
	}
	free(text);
	free(keys);
	free(values);
	if (status && *out)
		api.ReleaseSessionOptions(*out);
	return status;
}

#define WITH_PROVIDER(call)                                 \
	do {                                                \
		struct ort_session_options *with;           \
		struct ort_status *status;                  \
                                                            \
		*session = NULL;                            \
		status = add_provider(env, options, &with); \
		if (status)                                 \
			return status;                      \
		status = call;                              \
		api.ReleaseSessionOptions(with);            \
		return status;                              \
	} while (0)

static struct ort_status *create(const struct ort_env *env, const char *path,
				 const struct ort_session_options *options,
				 struct ort_session **session)
{
	WITH_PROVIDER(api.CreateSession(env, path, with, session));
}

static struct ort_status *create_from_array(const struct ort_env *env, const void *model,
					    size_t size, const struct ort_session_options *options,
					    struct ort_session **session)
{
	WITH_PROVIDER(api.CreateSessionFromArray(env, model, size, with, session));
}

static struct ort_status *create_prepacked(const struct ort_env *env, const char *path,
					   const struct ort_session_options *options,
					   struct ort_prepacked *weights,
					   struct ort_session **session)
{
	WITH_PROVIDER(
		api.CreateSessionWithPrepackedWeightsContainer(env, path, with, weights, session));
}

static struct ort_status *create_prepacked_from_array(const struct ort_env *env, const void *model,
						      size_t size,
						      const struct ort_session_options *options,
						      struct ort_prepacked *weights,
						      struct ort_session **session)
{
	WITH_PROVIDER(api.CreateSessionFromArrayWithPrepackedWeightsContainer(
		env, model, size, with, weights, session));
}

static const struct {
	__typeof__(api.CreateSession) file;
	__typeof__(api.CreateSessionFromArray) array;
	__typeof__(api.CreateSessionWithPrepackedWeightsContainer) prepacked_file;
	__typeof__(api.CreateSessionFromArrayWithPrepackedWeightsContainer) prepacked_array;
} functions = { create, create_from_array, create_prepacked, create_prepacked_from_array };

/*
 * Writes a function into the table, whose memory the linker has write-protected. Returns false when
 * that fails.
 */
static bool put(void *table, size_t place, const void *function)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	char *slot = (char *)table + place * sizeof(void (*)(void));
	char *begin = (char *)((uintptr_t)slot / page * page);
	size_t size = (size_t)(slot + sizeof(void (*)(void)) - begin);

	if (mprotect(begin, size, PROT_READ | PROT_WRITE))
		return false;
	memcpy(slot, function, sizeof(void (*)(void)));
	/* The page stays writable, because other data on it may have been so before. */
	return true;
}

static void patch(void)
{
	void *table;

	wanted = getenv("ONPU_ORT");
	if (!wanted || !*wanted)
		return;
	if (!onpu_is_device(wanted)) {
		complain("ONPU_ORT must be " ONPU_DEVICES "; sessions stay as they are", "");
		return;
	}
	if (!ort_api_open(&api, base)) {
		complain("ONNX Runtime is too old, 1.23 is needed; sessions stay as they are",
			 base->GetVersionString());
		return;
	}
	table = (void *)(uintptr_t)base->GetApi(api.version);
	if (!put(table, 7, &functions.file) || !put(table, 8, &functions.array) ||
	    !put(table, 168, &functions.prepacked_file) ||
	    !put(table, 169, &functions.prepacked_array))
		complain("ONNX Runtime's table cannot be changed; sessions stay as they are",
			 strerror(errno));
}

static void open_real(void)
{
	const struct ort_api_base *(*get)(void);
	void *real = find_real();

	if (!real) {
		complain("there is no libonnxruntime.so in this program", "");
		return;
	}
	memcpy(&get, &real, sizeof(get));
	base = get();
	if (base)
		patch();
}

const struct ort_api_base *OrtGetApiBase(void)
{
	pthread_once(&once, open_real);
	return base;
}
