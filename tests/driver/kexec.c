// SPDX-License-Identifier: MIT
/*
 * Starts another kernel in the place of the running one: kexec KERNEL COMMAND_LINE. The running
 * kernel shuts its drivers down, as for a restart. Returns only if that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int kernel = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (kernel < 0) {
		fprintf(stderr,
			"usage: driver-kexec KERNEL COMMAND_LINE, with a kernel to be read\n");
		return 1;
	}
	if (syscall(SYS_kexec_file_load, kernel, -1, strlen(argv[2]) + 1, argv[2],
		    KEXEC_FILE_NO_INITRAMFS))
		fprintf(stderr, "the kernel is not loaded: %s\n", strerror(errno));
	else if (syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
			 LINUX_REBOOT_CMD_KEXEC, NULL))
		fprintf(stderr, "the kernel is not started: %s\n", strerror(errno));
	return 1;
}
