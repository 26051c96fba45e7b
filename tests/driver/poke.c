// SPDX-License-Identifier: MIT
/*
 * Disturbs the device through its registers, without the driver: poke RESOURCE reset|request|read
 * [FILE]. "reset" resets the device, "request" writes an index of requests that makes the firmware
 * fail, and "read" reads a register without a pause until the device is gone. 0.1 s later the
 * program writes "1" to FILE itself, because another program, started after this one, might write
 * too late. Needs root, and iomem=relaxed on the kernel's command line.
 */
#include <onpu/registers.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Waits for a heartbeat of the driver. The driver writes REQUEST_TAIL, too, once a second while
 * jobs are running. Soon after that, an index that this program writes can be read for most of a
 * second before the next one replaces it.
 */
static void wait_for_heartbeat(volatile uint32_t *regs)
{
	uint32_t before = regs[ONPU_REG_REQUEST_TAIL / 4];

	for (int tries = 0; tries < 500 && regs[ONPU_REG_REQUEST_TAIL / 4] == before; tries++)
		usleep(10000);
	/* Give the firmware time to answer. */
	usleep(200000);
}

int main(int argc, char **argv)
{
	volatile uint32_t *regs;
	int fd, file;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: poke /sys/bus/pci/devices/ADDRESS/resource0 "
				"reset|request|read [FILE]\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	regs = fd < 0 ? MAP_FAILED :
			mmap(NULL, ONPU_BAR0_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (regs == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	file = argc == 4 ? open(argv[3], O_WRONLY | O_CLOEXEC) : -1;
	if (argc == 4 && file < 0) {
		perror(argv[3]);
		return 1;
	}
	if (!strcmp(argv[2], "reset")) {
		regs[ONPU_REG_RESET / 4] = ONPU_RESET_START__MASK;
	} else if (!strcmp(argv[2], "read")) {
		while (regs[ONPU_REG_STATUS / 4] != UINT32_MAX)
			;
	} else {
		wait_for_heartbeat(regs);
		/* The ring cannot have this index, so the firmware fails. */
		regs[ONPU_REG_REQUEST_TAIL / 4] = 0x12345678;
	}
	if (file < 0)
		return 0;
	usleep(100000);
	return write(file, "1", 1) != 1;
}
