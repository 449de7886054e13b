/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The machines that the root task knows: the only place that has their addresses and how they are
 * emulated. C takes constants from the tables, and the host tooling parses their rows
 * (pyhost/cellreap/platforms.py). The boot loader gets its addresses from the host. Where memory
 * lies is a fact of the kernel's build. What a machine has because of its architecture stands in
 * the file of the architecture. */
#ifndef CELLREAP_PLATFORMS_H
#define CELLREAP_PLATFORMS_H

/* UARTs: a byte is written to a register when a bit of the status has a certain value.
 * CR_UART(enumerator, bytes of a register, offset of the register for the byte, offset of the
 * status, the bit, its value as long as no byte is taken, offset of the control register, what is
 * written there first or 0: nothing, whether the root task has a driver for it) */
/* clang-format off */
#define CR_UARTS                                                                                   \
    CR_UART(CR_UART_16550, 1, 0, 5, 0x20, 0, 0, 0, 1) /* in ports */                               \
    CR_UART(CR_UART_16550_MAPPED, 1, 0, 5, 0x20, 0, 0, 0, 1) /* set by the firmware */             \
    /* on: the UART, its transmitter and its receiver */                                           \
    CR_UART(CR_UART_PL011, 4, 0, 0x18, 0x20, 0x20, 0x30, 0x301, 1)                                 \
    /* Amlogic Meson GX: "transmit FIFO full" */                                                   \
    CR_UART(CR_UART_MESON, 4, 0, 0xc, 0x200000, 0x200000, 0, 0, 0)                                 \
    /* the mini UART of the BCM2711: "transmitter empty" */                                        \
    CR_UART(CR_UART_BCM2711, 4, 0, 0x14, 0x20, 0, 0, 0, 0)                                         \
    /* Cadence: "transmit FIFO full"; on: transmitter and receiver */                              \
    CR_UART(CR_UART_CADENCE, 4, 0x30, 0x2c, 0x10, 0x10, 0, 0x14, 1)                                \
    /* SiFive: "full" is a bit of the register for the byte; on: the transmitter */                \
    CR_UART(CR_UART_SIFIVE, 4, 0, 0, 0x80000000, 0x80000000, 8, 1, 1)
/* clang-format on */

/* CR_PLATFORM(prefix of enumerators, the option that a kernel for it has, the kernel's ARM_PLAT,
 * SEL4_ARCH, its UART, the UART's address)
 *
 * The UART is the one that the kernel prints to. Only those with a CR_QEMU row have been run. */
#define CR_PLATFORMS                                                                               \
    CR_PLATFORM(CR_PC99, CONFIG_PLAT_PC99, "pc99", "x86_64", CR_UART_16550, 0x3f8)                 \
    CR_PLATFORM(CR_QEMU_ARM_VIRT, CONFIG_PLAT_QEMU_ARM_VIRT, "qemu-arm-virt", "aarch64",           \
                CR_UART_PL011, 0x9000000)                                                          \
    CR_PLATFORM(CR_ZCU102, CONFIG_PLAT_ZYNQMP_ZCU102, "zcu102", "aarch64", CR_UART_CADENCE,        \
                0xff000000)                                                                        \
    CR_PLATFORM(CR_ODROIDC4, CONFIG_PLAT_ODROIDC4, "odroidc4", "aarch64", CR_UART_MESON,           \
                0xff803000)                                                                        \
    CR_PLATFORM(CR_RPI4, CONFIG_PLAT_BCM2711, "rpi4", "aarch64", CR_UART_BCM2711, 0xfe215040)      \
    CR_PLATFORM(CR_QEMU_RISCV_VIRT, CONFIG_PLAT_QEMU_RISCV_VIRT, "qemu-riscv-virt", "riscv64",     \
                CR_UART_16550_MAPPED, 0x10000000)                                                  \
    CR_PLATFORM(CR_HIFIVE, CONFIG_PLAT_HIFIVE, "hifive", "riscv64", CR_UART_SIFIVE, 0x10010000)

/* Machines that enter the loader in EL3. It gives their interrupts to the lower levels.
 * CR_EL3(platform, the distributor of their interrupt controller, its CPU interface) */
#define CR_EL3S CR_EL3(CR_ZCU102, 0xf9010000, 0xf9020000)

/* Timers that the root task drives where the kernel leaves it none of the architecture's. The
 * driver is in the folder of the architecture. A clock is the one that QEMU emulates; on a board,
 * firmware sets it. CR_TIMER(platform, address, interrupt, MHz of the clock) */
/* clang-format off */
#define CR_TIMERS                                                                                  \
    CR_TIMER(CR_ZCU102, 0xff110000, 68, 133) /* Cadence's triple timer counter */                  \
    CR_TIMER(CR_QEMU_RISCV_VIRT, 0x101000, 11, 1000) /* Goldfish's clock: ns */                    \
    CR_TIMER(CR_HIFIVE, 0x10020000, 42, 500) /* the first PWM, as QEMU clocks it */
/* clang-format on */

/* How often the time counter of riscv64 counts in a second. CR_TIMEBASE(platform, Hz) */
#define CR_TIMEBASES                                                                               \
    CR_TIMEBASE(CR_QEMU_RISCV_VIRT, 10000000)                                                      \
    CR_TIMEBASE(CR_HIFIVE, 1000000)

/* Addresses that the kernel hands out though they lead to its own interrupt controller: no PD gets
 * them. CR_KEPT(platform, start, end) */
/* clang-format off */
#define CR_KEPTS                                                                                   \
    CR_KEPT(CR_ZCU102, 0xf9010000, 0xf9080000)
/* clang-format on */

/* Interrupt controllers that refkernel drives itself.
 * CR_GIC(prefix of enumerators, distributor, CPU interface) */
#define CR_GICS CR_GIC(CR_QEMU_ARM_VIRT, 0x8000000, 0x8010000)

/* Where an emulated machine has its memory, which is filled in the order of the rows. A kernel may
 * begin somewhere behind the start. CR_RAM(platform, start, most bytes) */
#define CR_RAMS                                                                                    \
    CR_RAM(CR_QEMU_ARM_VIRT, 0x40000000, 0x3fc0000000)                                             \
    CR_RAM(CR_ZCU102, 0, 0x80000000)                                                               \
    CR_RAM(CR_ZCU102, 0x800000000, 0x800000000)                                                    \
    CR_RAM(CR_QEMU_RISCV_VIRT, 0x80000000, 0x3f80000000)                                           \
    CR_RAM(CR_HIFIVE, 0x80000000, 0x3f80000000)

/* The emulated machines.
 * CR_QEMU(platform, program, Debian package that has it, -machine, -m in MiB or 0: the kernel's
 * build says how much memory there is, -cpu if no CR_QEMU_CPU fits or "": then it cannot run the
 * kernel) */
#define CR_QEMUS                                                                                   \
    /* The oldest CPU that seL4 supports on x86_64, with the huge pages that it needs. */          \
    CR_QEMU(CR_PC99, "qemu-system-x86_64", "qemu-system-x86", "pc", 512, "Nehalem,+pdpe1gb")       \
    CR_QEMU(CR_QEMU_ARM_VIRT, "qemu-system-aarch64", "qemu-system-arm", "virt", 0, "")             \
    /* With secure=off no interrupt arrives. */                                                    \
    CR_QEMU(CR_ZCU102, "qemu-system-aarch64", "qemu-system-arm", "xlnx-zcu102,secure=on", 0, "")   \
    CR_QEMU(CR_QEMU_RISCV_VIRT, "qemu-system-riscv64", "qemu-system-misc", "virt", 0, "rv64")      \
    /* Hart 0 cannot run a kernel, and a kernel runs on hart 1. */                                 \
    CR_QEMU(CR_HIFIVE, "qemu-system-riscv64", "qemu-system-misc", "sifive_u", 0, "sifive-u54")

/* What is added to -machine for kernels with an option of gen_config.json.
 * CR_QEMU_MACHINE(platform, key, addition) */
#define CR_QEMU_MACHINES                                                                           \
    CR_QEMU_MACHINE(CR_QEMU_ARM_VIRT, "ARM_HYPERVISOR_SUPPORT", ",virtualization=on")              \
    CR_QEMU_MACHINE(CR_ZCU102, "ARM_HYPERVISOR_SUPPORT", ",virtualization=on")

/* -cpu for kernels with an option of gen_config.json; the first row that fits counts.
 * CR_QEMU_CPU(platform, key, -cpu) */
#define CR_QEMU_CPUS                                                                               \
    CR_QEMU_CPU(CR_PC99, "FSGSBASE_INST", "max")                                                   \
    CR_QEMU_CPU(CR_PC99, "XSAVE", "max")                                                           \
    CR_QEMU_CPU(CR_QEMU_ARM_VIRT, "ARM_CORTEX_A53", "cortex-a53")                                  \
    CR_QEMU_CPU(CR_QEMU_ARM_VIRT, "ARM_CORTEX_A57", "cortex-a57")                                  \
    CR_QEMU_CPU(CR_QEMU_ARM_VIRT, "ARM_CORTEX_A72", "cortex-a72")                                  \
    CR_QEMU_CPU(CR_ZCU102, "ARM_CORTEX_A53", "cortex-a53")

/* Options that the kernel must not have, because the emulated machine cannot run it then.
 * CR_QEMU_LACKS(platform, key of gen_config.json, option of CMake) */
#define CR_QEMU_LACK                                                                               \
    CR_QEMU_LACKS(CR_PC99, "SUPPORT_PCID", "KernelSupportPCID")                                    \
    CR_QEMU_LACKS(CR_PC99, "XSAVE_XSAVEC", "KernelXSave")                                          \
    CR_QEMU_LACKS(CR_PC99, "XSAVE_XSAVES", "KernelXSave")                                          \
    CR_QEMU_LACKS(CR_QEMU_ARM_VIRT, "ARM_GIC_V3_SUPPORT", "KernelArmGicV3")

/* How it gets a drive: the options of -drive, and what -device is given, "" if nothing is; %s is
 * the name of the drive. CR_QEMU_DRIVE(platform, -drive, -device) */
#define CR_QEMU_DRIVES                                                                             \
    CR_QEMU_DRIVE(CR_PC99, "if=ide", "")                                                           \
    CR_QEMU_DRIVE(CR_QEMU_ARM_VIRT, "if=none,id=%s", "virtio-blk-device,drive=%s")                 \
    CR_QEMU_DRIVE(CR_QEMU_RISCV_VIRT, "if=none,id=%s", "virtio-blk-device,drive=%s")

/* The files that it boots. CR_QEMU_FILE(platform, option, file) */
#define CR_QEMU_FILES                                                                              \
    CR_QEMU_FILE(CR_PC99, "-kernel", "kernel.elf") /* as ELF32 */                                  \
    CR_QEMU_FILE(CR_PC99, "-initrd", "roottask.elf")                                               \
    CR_QEMU_FILE(CR_QEMU_ARM_VIRT, "-kernel", "loader.elf")                                        \
    CR_QEMU_FILE(CR_ZCU102, "-kernel", "loader.elf")                                               \
    CR_QEMU_FILE(CR_QEMU_RISCV_VIRT, "-kernel", "loader.elf")                                      \
    CR_QEMU_FILE(CR_HIFIVE, "-kernel", "loader.elf")

enum {
#define CR_UART(name, bytes, data, status, bit, busy, control, on, driver)                         \
    name##_BYTES = bytes, name##_DATA = data, name##_STATUS = status, name##_BIT = bit,            \
    name##_BUSY = busy, name##_CONTROL = control, name##_ON = on, name##_DRIVER = driver,
    CR_UARTS
#undef CR_UART
};

/* Addresses may be larger than an int. */
#define CR_PLATFORM(prefix, config, name, arch, uart, address)                                     \
    static const unsigned long prefix##_UART = address##ul;
CR_PLATFORMS
#undef CR_PLATFORM

#define CR_GIC(prefix, distributor, cpu)                                                           \
    enum { prefix##_GIC_DISTRIBUTOR = distributor, prefix##_GIC_CPU = cpu };
CR_GICS
#undef CR_GIC

#endif
