# SPDX-License-Identifier: BSD-2-Clause

# A root task must be linked with these options, and with the script roottask.ld or one of its own.
set(CELLREAP_ROOT_TASK_LINK_OPTIONS
    -static -nostdlib -nostartfiles -no-pie -Wl,--gc-sections -Wl,--build-id=none
    -Wl,-z,max-page-size=4096 -Wl,-z,noexecstack)

# cellreap_add_root_task(NAME SOURCE ...): the root task NAME.elf. The sources define
# void cr_root_main(const seL4_BootInfo *), which must not return. They may include
# <cellreap/kernel/compat.h> for libsel4.
function(cellreap_add_root_task name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE cellreap::start)
  target_include_directories(${name} SYSTEM PRIVATE "${CELLREAP_LIBSEL4}")
  target_compile_options(${name} PRIVATE -ffreestanding -fno-pic -fno-pie -fno-stack-protector
                                         -fno-asynchronous-unwind-tables ${CELLREAP_NO_FLOAT})
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/roottask.ld")
  target_link_options(${name} PRIVATE ${CELLREAP_ROOT_TASK_LINK_OPTIONS} "-Wl,-T,${script}")
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${name}.elf LINK_DEPENDS "${script}")
endfunction()
