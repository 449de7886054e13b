# SPDX-License-Identifier: BSD-2-Clause

# Every program of a PD must be linked with these options, and with the script pd.ld.
set(CELLREAP_PD_LINK_OPTIONS
    -static -nostdlib -nostartfiles -no-pie -Wl,--gc-sections -Wl,--build-id=none
    -Wl,-z,max-page-size=4096 -Wl,-z,noexecstack)

# cellreap_add_program(SOURCE [LIBRARY ...]): a PD's program, pds/<name of the source>.elf in the
# build folder, linked with the library for PDs and with further libraries. SOURCE defines cr_main
# (cellreap/client.h).
function(cellreap_add_program source)
  get_filename_component(program "${source}" NAME_WE)
  add_executable(${program} "${source}" "${CELLREAP_PD_START}")
  target_link_libraries(${program} PRIVATE ${ARGN} cellreap_pd)
  target_link_options(${program} PRIVATE ${CELLREAP_PD_LINK_OPTIONS}
                      "-Wl,-T,${CELLREAP_PD_SCRIPT}")
  set_target_properties(${program} PROPERTIES OUTPUT_NAME ${program}.elf
                                              RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/pds"
                                              LINK_DEPENDS "${CELLREAP_PD_SCRIPT}")
endfunction()
