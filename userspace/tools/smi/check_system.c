// SPDX-License-Identifier: MIT
/* onpu-smi check: checks the machine: kernel, module, its signature, firmware file. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onpu/registers.h>

#include "check.h"
#include "text.h"
#include "tree.h"

#define OLDEST_MAJOR 6u
#define OLDEST_MINOR 12u

/* ---- the devices */

void check_presence(struct check *check)
{
	if (check->devices.count)
		check_add(check, "device", FINE,
			  text_of("%zu Open NPU%s among the PCI devices", check->devices.count,
				  check->devices.count == 1 ? " is" : "s are"),
			  NULL);
	else
		check_add(
			check, "device", BROKEN,
			text_of("no PCI device is an Open NPU (%04x:%04x)", ONPU_PCI_VENDOR,
				ONPU_PCI_DEVICE),
			text_of("See that it is in its slot and has power, then as root: echo 1 > "
				"/sys/bus/pci/rescan. A virtual machine has to be given one, see "
				"onpu-emu(1). Without it, WEBNN_DEVICE=sim computes the same "
				"results on a model of it"));
}

/* ---- the kernel */

/*
 * Returns whether the kernel's configuration lacks accelerators; false where the system has not
 * installed the file of the configuration.
 */
static bool lacks_accelerators(const char *release)
{
	char *config = tree_read(NULL, "/boot/config-%s", release);
	bool lacks = config && !strstr(config, "\nCONFIG_DRM_ACCEL=y");

	free(config);
	return lacks;
}

void check_kernel(struct check *check)
{
	unsigned int major = 0, minor = 0;

	if (sscanf(check->release, "%u.%u", &major, &minor) != 2) {
		check_add(check, "kernel", HINT, text_of("its release is not to be found"),
			  text_of("See that /proc is mounted"));
		return;
	}
	if (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR))
		check_add(check, "kernel", BROKEN,
			  text_of("Linux %s is too old for the driver", check->release),
			  text_of("Start a kernel of version %u.%u or later", OLDEST_MAJOR,
				  OLDEST_MINOR));
	else if (lacks_accelerators(check->release))
		check_add(check, "kernel", BROKEN,
			  text_of("Linux %s was built without accelerators (CONFIG_DRM_ACCEL)",
				  check->release),
			  text_of("Start a kernel of the distribution, such as linux-image-amd64"));
	else
		check_add(check, "kernel", FINE, text_of("Linux %s", check->release), NULL);
}

/* ---- the module */

/*
 * Finds the module's path, below the folder of the kernel's modules, in depmod's list. Returns
 * false when it is not listed.
 */
static bool find_module(const char *release, char *path, size_t size)
{
	char *list = tree_read(NULL, "/lib/modules/%s/modules.dep", release), *at, *end;
	bool found = false;

	for (at = list; at && *at && !found; at = end + (*end == '\n')) {
		size_t length = strcspn(at, ":\n");
		size_t base = length;

		end = at + strcspn(at, "\n");
		while (base && at[base - 1] != '/')
			base--;
		/* The module's file is onpu.ko or, if it is compressed, such as onpu.ko.xz. */
		if (length - base >= 7 && !strncmp(at + base, "onpu.ko", 7) && length < size) {
			memcpy(path, at, length);
			path[length] = '\0';
			found = true;
		}
	}
	free(list);
	return found;
}

/* Returns whether a line of a file of modprobe begins with "blacklist onpu", as a whole word. */
static bool file_forbids(const char *text)
{
	static const char rule[] = "blacklist onpu";
	const size_t length = sizeof(rule) - 1;

	/* Only a match at the start of a line counts, as others may be comments. */
	for (const char *at = text; (at = strstr(at, rule)); at += length)
		if ((at == text || at[-1] == '\n') && strchr(" \t\r\n", at[length]))
			return true;
	return false;
}

/*
 * Returns whether an option of the kernel, such as "modprobe.blacklist=a,onpu", lists the module.
 * *kernel: whether that is module_blacklist, by which the kernel itself refuses the module.
 */
static bool command_line_forbids(const char *line, bool *kernel)
{
	static const char option[] = "blacklist=", front[] = "module_";
	const size_t length_of_front = sizeof(front) - 1;

	for (const char *at = line; (at = strstr(at, option));) {
		char end = ',';

		*kernel = at >= line + length_of_front &&
			  !strncmp(at - length_of_front, front, length_of_front);
		for (at += sizeof(option) - 1; end == ',';) {
			size_t length = strcspn(at, ", ");

			if (length == 4 && !strncmp(at, "onpu", 4))
				return true;
			end = at[length];
			at += length + (end == ',');
		}
	}
	return false;
}

/*
 * Returns whether a file of modprobe or the kernel's command line forbids to load the module, and
 * then sets @where to the place, and *kernel to whether modprobe cannot load it either.
 */
static bool is_blacklisted(char *where, size_t size, bool *kernel)
{
	static const char *const folders[] = { "/etc/modprobe.d", "/run/modprobe.d",
					       "/usr/lib/modprobe.d", "/lib/modprobe.d" };
	char line[4096];

	tree_line(line, sizeof(line), "/proc/cmdline");
	if (command_line_forbids(line, kernel)) {
		snprintf(where, size, "the kernel's command line");
		return true;
	}
	*kernel = false;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		struct tree_names names = tree_list("%s", folders[i]);
		bool found = false;

		for (size_t j = 0; j < names.count && !found; j++) {
			char *text = tree_read(NULL, "%s/%s", folders[i], names.names[j]);

			found = text && file_forbids(text);
			if (found)
				snprintf(where, size, "%s/%s", folders[i], names.names[j]);
			free(text);
		}
		tree_names_free(&names);
		if (found)
			return true;
	}
	return false;
}

static bool has_source(void)
{
	struct tree_names names = tree_list("/usr/src");
	bool found = false;

	for (size_t i = 0; i < names.count; i++)
		found |= !strncmp(names.names[i], "onpu-", 5);
	tree_names_free(&names);
	return found;
}

static char *how_to_build(const char *release)
{
	if (!has_source())
		return text_of("Install the package onpu-dkms, which builds it, with "
			       "linux-headers-%s",
			       release);
	if (!tree_exists("/lib/modules/%s/build/Makefile", release))
		return text_of(
			"Install the kernel's headers: apt install linux-headers-%s; DKMS then "
			"builds the driver",
			release);
	return text_of("As root: dkms autoinstall. If it fails, /var/lib/dkms/onpu has the log");
}

void check_module(struct check *check)
{
	char path[PATH_MAX], where[PATH_MAX];
	bool kernel;

	check->loaded = tree_exists("/sys/module/onpu");
	if (check->loaded)
		check_add(check, "driver", FINE, text_of("the module onpu is loaded"), NULL);
	else if (!find_module(check->release, path, sizeof(path)))
		check_add(check, "driver", BROKEN,
			  text_of("there is no module onpu for the running kernel, %s",
				  check->release),
			  how_to_build(check->release));
	else if (is_blacklisted(where, sizeof(where), &kernel))
		check_add(check, "driver", BROKEN,
			  text_of("the module onpu is not loaded, as %s forbids it", where),
			  text_of("Take it out there and start the machine again%s",
				  kernel ? "" : ", or as root: modprobe onpu"));
	else
		check_add(check, "driver", BROKEN, text_of("the module onpu is not loaded"),
			  text_of("As root: modprobe onpu. What it says, and dmesg, tell more if "
				  "that fails"));
}

/* ---- what the kernel demands of modules */

/*
 * Returns whether Secure Boot is on, by a variable of the machine's firmware: four bytes of
 * attributes, then the value.
 */
static bool has_secure_boot(void)
{
	size_t size = 0;
	char *value = tree_read(&size, "/sys/firmware/efi/efivars/"
				       "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
	bool is_on = value && size == 5 && value[4] == 1;

	free(value);
	return is_on;
}

/*
 * Reads the lockdown mode: "none", "integrity" or "confidentiality", the word in brackets; empty:
 * not known.
 */
static void read_lockdown(char *mode, size_t size)
{
	char line[128], *begin, *end;

	mode[0] = '\0';
	tree_line(line, sizeof(line), "/sys/kernel/security/lockdown");
	begin = strchr(line, '[');
	end = begin ? strchr(begin, ']') : NULL;
	if (end) {
		*end = '\0';
		snprintf(mode, size, "%s", begin + 1);
	}
}

/*
 * Returns whether the module lacks the mark that ends a signature; false for a compressed module,
 * of which it is not known.
 */
static bool is_unsigned(const struct check *check)
{
	static const char mark[] = "~Module signature appended~\n";
	char path[PATH_MAX], *module;
	size_t size = 0, length = sizeof(mark) - 1;
	bool is_signed;

	if (!find_module(check->release, path, sizeof(path)))
		return false;
	if (strcmp(path + strlen(path) - 3, ".ko"))
		return false;
	if (*path == '/')
		module = tree_read(&size, "%s", path);
	else
		module = tree_read(&size, "/lib/modules/%s/%s", check->release, path);
	is_signed = !module || (size >= length && !memcmp(module + size - length, mark, length));
	free(module);
	return !is_signed;
}

void check_signature(struct check *check)
{
	char lockdown[32], enforce[8];
	const char *why = NULL;

	read_lockdown(lockdown, sizeof(lockdown));
	tree_line(enforce, sizeof(enforce), "/sys/module/module/parameters/sig_enforce");
	if (!strcmp(enforce, "Y"))
		why = "module.sig_enforce is set";
	else if (*lockdown && strcmp(lockdown, "none"))
		why = has_secure_boot() ? "Secure Boot is on and locks the kernel down" :
					  "the kernel is locked down";
	if (!why || check->loaded) {
		check_add(check, "signature", FINE,
			  text_of("%s", !why ? "the kernel takes modules without a signature" :
					       "the kernel has taken the module's signature"),
			  NULL);
		return;
	}
	check->wants_signature = true;
	check_add(
		check, "signature", is_unsigned(check) ? BROKEN : HINT,
		text_of("the kernel takes only modules whose signature it trusts, as %s%s", why,
			is_unsigned(check) ? "; the module onpu has none" : ""),
		text_of("As root: mokutil --import /var/lib/dkms/mok.pub, start the machine again "
			"and confirm the key on its screen. A module that was built by hand is "
			"signed with the kernel's scripts/sign-file"));
}

/* ---- the firmware's file */

#define IMAGE "onpu/onpu_v1.bin"

/* Returns the CRC-32 of IEEE 802.3. */
static uint32_t crc32_of(const unsigned char *data, size_t size)
{
	uint32_t crc = UINT32_MAX;

	while (size--) {
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/*
 * Returns what is wrong with a firmware image, or NULL, by the driver's own criteria. The driver
 * may be of another release than this program: the text on a wrong version names the version that
 * drivers of this program's release need.
 */
static char *image_problem(const char *data, size_t size)
{
	struct onpu_fw_header header;

	if (size < sizeof(header))
		return text_of("is too short for a header");
	memcpy(&header, data, sizeof(header));
	if (header.magic != ONPU_FW_MAGIC || header.header_size != ONPU_FW_HEADER_SIZE)
		return text_of("is no firmware of the Open NPU");
	if (header.image_size != size - sizeof(header))
		return text_of("is cut off, or has more than its header tells");
	if (crc32_of((const unsigned char *)data + sizeof(header), header.image_size) != header.crc)
		return text_of("is damaged: its checksum is wrong");
	if (header.abi_major != ONPU_ABI_MAJOR || header.abi_minor < ONPU_ABI_MINOR)
		return text_of("speaks version %u.%u, drivers of the release of onpu-smi need "
			       "%u.%u",
			       header.abi_major, header.abi_minor, ONPU_ABI_MAJOR, ONPU_ABI_MINOR);
	return NULL;
}

static bool try_folder(struct check *check, const char *folder, enum verdict verdict)
{
	static const char *const packed[] = { ".xz", ".zst" };
	size_t size = 0;
	char *data = tree_read(&size, "%s/" IMAGE, folder), *problem;

	for (size_t i = 0; !data && i < sizeof(packed) / sizeof(packed[0]); i++) {
		if (!tree_exists("%s/" IMAGE "%s", folder, packed[i]))
			continue;
		check_add(check, "firmware", FINE, text_of("%s/" IMAGE "%s", folder, packed[i]),
			  NULL);
		return true;
	}
	if (!data)
		return false;
	problem = image_problem(data, size);
	if (problem)
		check_add(check, "firmware", verdict, text_of("%s/" IMAGE " %s", folder, problem),
			  text_of("Install the package onpu-firmware again, of the same release as "
				  "onpu-dkms, then as root: onpu-smi reset --rebind"));
	else
		check_add(check, "firmware", FINE, text_of("%s/" IMAGE, folder), NULL);
	free(problem);
	free(data);
	return true;
}

/*
 * Returns how bad a missing file is: HINT when the driver onpu has all devices, as a bound device
 * has its firmware already and needs the file only the next time; else BROKEN.
 */
static enum verdict firmware_verdict(const struct check *check)
{
	for (size_t i = 0; i < check->devices.count; i++)
		if (strcmp(check->devices.list[i].driver, "onpu"))
			return BROKEN;
	return HINT;
}

/* Checks the firmware file, in the folders and order in which the kernel looks for it. */
void check_firmware(struct check *check)
{
	const enum verdict verdict = firmware_verdict(check);
	char folders[5][PATH_MAX];

	tree_line(folders[0], PATH_MAX, "/sys/module/firmware_class/parameters/path");
	snprintf(folders[1], PATH_MAX, "/lib/firmware/updates/%s", check->release);
	snprintf(folders[2], PATH_MAX, "/lib/firmware/updates");
	snprintf(folders[3], PATH_MAX, "/lib/firmware/%s", check->release);
	snprintf(folders[4], PATH_MAX, "/lib/firmware");
	for (size_t i = 0; i < 5; i++)
		if (*folders[i] && try_folder(check, folders[i], verdict))
			return;
	check_add(check, "firmware", verdict, text_of("/lib/firmware/" IMAGE " is missing"),
		  text_of("Install the package onpu-firmware, or copy the file of meson install "
			  "there; then as root: onpu-smi reset --rebind"));
}
