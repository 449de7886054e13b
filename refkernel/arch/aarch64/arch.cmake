# SPDX-License-Identifier: BSD-2-Clause
#
# The boot loader passes a device tree on. It uses this one if the firmware provides none.
add_library(fdt OBJECT "${arch}/fdt/fdt.S")
set(dtb "${CMAKE_CURRENT_BINARY_DIR}/kernel.dtb")
add_custom_command(
  OUTPUT "${dtb}"
  COMMAND "${CMAKE_OBJCOPY}" -O binary -j .text "$<TARGET_OBJECTS:fdt>" "${dtb}"
  DEPENDS fdt "$<TARGET_OBJECTS:fdt>"
  VERBATIM)
add_custom_target(device_tree ALL DEPENDS "${dtb}")
install(FILES "${dtb}" DESTINATION support)
