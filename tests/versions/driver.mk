# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# The driver as of the minor version before or after, which onpu-variant tells (variant.py).

onpu-src := $(src)/../../../driver
include $(onpu-src)/Kbuild

onpu-make-variant := $(PYTHON3) $(src)/../../versions/variant.py $(onpu-variant)
onpu-variant-inputs := $(src)/../../versions/variant.py $(wildcard $(onpu-uapi)/drm/*.h $(onpu-uapi)/onpu/*.xml)
onpu-y := $(patsubst onpu_%.o,$(onpu-variant)_%.o,$(onpu-y))

# Its headers before those of the driver.
ccflags-y := -I$(obj)/variant $(ccflags-y)

quiet_cmd_onpu_headers = GEN     $@
      cmd_onpu_headers = $(onpu-make-variant) headers $(obj)/variant >/dev/null

$(obj)/variant/onpu/registers.h: $(onpu-variant-inputs) FORCE
	$(call if_changed,onpu_headers)

quiet_cmd_onpu_source = GEN     $@
      cmd_onpu_source = $(onpu-make-variant) source $< >$@

$(obj)/$(onpu-variant)_%.c: $(onpu-src)/onpu_%.c $(onpu-variant-inputs) FORCE
	$(call if_changed,onpu_source)

targets += variant/onpu/registers.h $(onpu-y:.o=.c)
clean-files += variant $(onpu-variant)_*.c

$(addprefix $(obj)/,$(onpu-y)): $(onpu-registers) $(obj)/variant/onpu/registers.h
