// SPDX-License-Identifier: MIT
/*
 * Disturbs the device behind the driver's back, by its registers: poke RESOURCE reset|request.
 * Needs root, and iomem=relaxed on the kernel's command line.
 */
#include <onpu/registers.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	volatile uint32_t *regs;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: poke /sys/bus/pci/devices/ADDRESS/resource0 reset|request\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	regs = fd < 0 ? MAP_FAILED : mmap(NULL, ONPU_BAR0_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
					  fd, 0);
	if (regs == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	if (!strcmp(argv[2], "reset"))
		regs[ONPU_REG_RESET / 4] = ONPU_RESET_START__MASK;
	else	/* An index that no ring has: the firmware gives up. */
		regs[ONPU_REG_REQUEST_TAIL / 4] = 0x12345678;
	return 0;
}
