# SPDX-License-Identifier: BSD-2-Clause

# The options by which no code uses registers of floating point, which seL4 does not save for every
# thread. riscv64 has no option for that, so the code is for a CPU without them.
if(CELLREAP_ARCH STREQUAL "riscv64")
  set(CELLREAP_NO_FLOAT -march=rv64imac_zicsr_zifencei -mabi=lp64)
else()
  set(CELLREAP_NO_FLOAT -mgeneral-regs-only)
endif()
