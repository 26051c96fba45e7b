// SPDX-License-Identifier: MIT
/* webnn-run doctor: the checks of the library and its dependencies. */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../device_name.h"
#include "../smi/text.h"
#include "../smi/tree.h"

#define PAGES	       "/sys/kernel/mm/transparent_hugepage/enabled"
#define FOR_TEXT(view) (int)(view).length, (view).data ? (view).data : ""

/* ---- the processor */

static void look_at_processor(struct check *check)
{
	char *text = tree_read(NULL, "/proc/cpuinfo");
	char *name = text ? strstr(text, "model name") : NULL;
	struct utsname system;

	name = name ? strchr(name, ':') : NULL;
	if (name && name[1])
		check_add(check, "processor", FINE,
			  text_of("%.*s", (int)strcspn(name + 2, "\n"), name + 2), NULL);
	else if (!uname(&system))
		check_add(check, "processor", FINE, text_of("%s", system.machine), NULL);
	free(text);
}

static void look_at_onednn(struct check *check, const WNNCpuInfo *info)
{
	if (info->oneDnnBroken)
		check_add(check, "oneDNN", BROKEN, text_of("%.*s", FOR_TEXT(info->oneDnnProblem)),
			  text_of("Results are right without it and take longer. Install another "
				  "version of oneDNN; WEBNN_CPU_LAYER=openblas never loads it"));
	else if (info->oneDnnVersion.length)
		check_add(check, "oneDNN", FINE,
			  text_of("version %.*s at level %.*s; its self-test has passed",
				  FOR_TEXT(info->oneDnnVersion), FOR_TEXT(info->oneDnnLevel)),
			  NULL);
	else if (info->oneDnnProblem.length)
		check_add(check, "oneDNN", HINT, text_of("%.*s", FOR_TEXT(info->oneDnnProblem)),
			  text_of("With oneDNN (on Debian libdnnl3.7), convolutions take less time "
				  "on many processors"));
	else
		check_add(
			check, "oneDNN", HINT,
			text_of("the environment variable WEBNN_CPU_LAYER keeps it from being used"),
			text_of("Unset WEBNN_CPU_LAYER, unless that is what you want"));
}

static void look_at_openblas(struct check *check, const WNNCpuInfo *info)
{
	if (info->openBlasProblem.length)
		check_add(check, "OpenBLAS", BROKEN,
			  text_of("%.*s", FOR_TEXT(info->openBlasProblem)),
			  text_of("Install OpenBLAS (on Debian libopenblas0), and give the process "
				  "the memory that it needs"));
	else
		check_add(check, "OpenBLAS", FINE,
			  text_of("version %.*s for the processor %.*s",
				  FOR_TEXT(info->openBlasVersion), FOR_TEXT(info->openBlasCore)),
			  NULL);
}

static void look_at_threads(struct check *check, const WNNCpuInfo *info)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (online > info->threads)
		check_add(check, "threads", HINT,
			  text_of("%u, because this process may run on %u of %ld processors",
				  info->threads, info->threads, online),
			  text_of("Let the process run on all processors (taskset)"));
	else
		check_add(check, "threads", FINE,
			  text_of("%u, one for each processor", info->threads), NULL);
}

static void look_at_pages(struct check *check)
{
	char line[128];

	if (tree_line(line, sizeof(line), PAGES) || !strchr(line, '['))
		check_add(check, "pages", HINT, text_of("this kernel has no huge pages"),
			  text_of("Start a kernel with CONFIG_TRANSPARENT_HUGEPAGE"));
	else if (strstr(line, "[never]"))
		check_add(check, "pages", HINT, text_of("huge pages are switched off"),
			  text_of("As root: echo madvise > " PAGES
				  ". Large weights are read faster then"));
	else
		check_add(check, "pages", FINE,
			  text_of("large weights lie in huge pages (%.*s)",
				  (int)strcspn(strchr(line, '[') + 1, "]"), strchr(line, '[') + 1),
			  NULL);
}

static void look_at_kernels(struct check *check, WNNContext context)
{
	WNNCpuInfo info = WNN_CPU_INFO_INIT;

	if (wnnContextGetCpuInfo(context, &info) != WNNStatus_Success)
		return;
	check_add(check, "kernels", FINE,
		  text_of("level %.*s, of %.*s: %.*s", FOR_TEXT(info.level), FOR_TEXT(info.levels),
			  FOR_TEXT(info.levelReason)),
		  NULL);
	look_at_onednn(check, &info);
	look_at_openblas(check, &info);
	look_at_threads(check, &info);
}

void doctor_cpu(struct check *check, WNNInstance instance)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNError error = WNN_ERROR_INIT;
	WNNContext context = NULL;

	look_at_processor(check);
	device.device = WNN_STR("cpu");
	options.nextInChain = &device.chain;
	if (wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context) ==
	    WNNStatus_Success) {
		look_at_kernels(check, context);
		wnnContextRelease(context);
	} else {
		wnnGetLastError(&error);
		check_add(check, "kernels", BROKEN,
			  text_of("the CPU cannot be used: %.*s", FOR_TEXT(error.message)),
			  text_of("Where it names an environment variable, unset that"));
	}
	look_at_pages(check);
}

/* ---- devices */

/* Returns whether the user asks for an NPU; otherwise a machine without one is fine. */
static bool wants_npu(void)
{
	const char *device = getenv("WEBNN_DEVICE");

	return device && device_name_is_npu(device);
}

static void look_at_device(struct check *check, const WNNDeviceInfo *info, bool npus)
{
	const bool npu = info->device.length == 3 && !memcmp(info->device.data, "npu", 3);
	char name[64];

	device_name_of(info, NULL, name, sizeof(name));
	if (info->usable)
		check_add(check, npu ? "library" : "model", FINE,
			  text_of("contexts can be made on the device %s, %.*s", name,
				  FOR_TEXT(info->machine)),
			  NULL);
	else if (!npu)
		check_add(check, "model", BROKEN,
			  text_of("the model of the device does not start: %.*s",
				  FOR_TEXT(info->reason)),
			  text_of("Install libonpu-sim of the same release"));
	else if (npus)
		check_add(check, "library", BROKEN,
			  text_of("no context can be made on the device npu: %.*s",
				  FOR_TEXT(info->reason)),
			  text_of("See what is wrong above; onpu-smi tells more"));
}

void doctor_devices(struct check *check, WNNInstance instance)
{
	WNNDeviceInfoArray devices = WNN_DEVICE_INFO_ARRAY_INIT;
	bool npus;

	check->devices = devices_find(true);
	/* The library opens only NPUs of this machine, not NPUs of a copied system. */
	npus = check->devices.count && !tree_is_copy();
	if (check->devices.count || wants_npu())
		check_npus(check);
	else
		check_add(check, "device", FINE,
			  text_of("there is no NPU in this machine: graphs run on the CPU"), NULL);
	if (wnnInstanceGetDevices(instance, &devices) != WNNStatus_Success)
		return;
	for (size_t i = 0; i < devices.count; i++)
		if (devices.data[i].accelerated)
			look_at_device(check, &devices.data[i], npus);
	wnnDeviceInfoArrayFreeMembers(devices);
}
