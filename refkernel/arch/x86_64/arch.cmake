# SPDX-License-Identifier: BSD-2-Clause
#
# The kernel runs in the upper 2 GiB. Interrupts may overwrite the stack below the stack pointer.
target_compile_options(kernel PRIVATE -mcmodel=kernel -mno-red-zone)
