# SPDX-License-Identifier: BSD-2-Clause
#
# The kernel runs in the upper 2 GiB; interrupts may use the stack below its pointer.
target_compile_options(kernel PRIVATE -mcmodel=kernel -mno-red-zone)
