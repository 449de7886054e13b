/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Places the kernel, the device tree and the root task, and enters the kernel. See loader.h. An
 * error is printed and stops the machine. The loader must not overwrite itself, or the device tree
 * before it is copied. cr_loader_map runs with the MMU off, so it must use aligned accesses
 * only. */
#include "loader.h"

#define GIB ((uint64_t)1 << 30)
#define BLOCK_BYTES ((uint64_t)2 << 20)
#define PAGE ((uint64_t)4096)

enum { FDT_MAGIC = 0xd00dfeedu, FDT_HEADER = 40, FDT_VERSION = 17, FDT_MAX = 2 << 20 };

/* Words of the header of a device tree, big-endian (Devicetree Specification 0.4, 5.2). */
enum {
    FDT_WORD_MAGIC,
    FDT_WORD_TOTAL,
    FDT_WORD_STRUCT,
    FDT_WORD_STRINGS,
    FDT_WORD_RESERVED,
    FDT_WORD_VERSION,
    FDT_WORD_OLDEST,
    FDT_WORD_CPU,
    FDT_WORD_STRINGS_BYTES,
    FDT_WORD_STRUCT_BYTES
};

static void say(const char *text)
{
    for (; *text != '\0'; text++) {
        cr_loader_put(*text);
    }
}

static void say_hex(uint64_t value)
{
    int shift = 60;
    while (shift > 0 && value >> shift == 0) {
        shift -= 4;
    }
    say("0x");
    for (; shift >= 0; shift -= 4) {
        cr_loader_put("0123456789abcdef"[(value >> shift) & 15]);
    }
}

static void say_range(const char *what, uint64_t start, uint64_t end)
{
    say(what);
    say_hex(start);
    say("..");
    say_hex(end);
}

static _Noreturn void stop(void)
{
    say("\r\n");
    cr_loader_stop();
}

_Noreturn void cr_loader_fail(const char *what, uint64_t found, uint64_t expected)
{
    say("\r\ncellreap loader: error: ");
    say(what);
    say_hex(found);
    say(", expected ");
    say_hex(expected);
    stop();
}

_Noreturn void cr_loader_fault(uint64_t syndrome, uint64_t ip, uint64_t address)
{
    say("\r\ncellreap loader: error: exception ");
    say_hex(syndrome);
    say(" at ");
    say_hex(ip);
    say(", address ");
    say_hex(address);
    stop();
}

static uint64_t page_up(uint64_t address)
{
    return (address + PAGE - 1) & ~(PAGE - 1);
}

/* Without a call of the compiler's library. */
static uint32_t swapped(uint32_t word)
{
    return word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
}

static uint64_t fdt_word(uint64_t fdt, uint32_t word)
{
    return swapped(((const volatile uint32_t *)fdt)[word]);
}

/* The number of bytes of a device tree that are in use. Its blocks may end long before its total
 * size. 0: not a device tree. */
static uint64_t fdt_bytes(uint64_t fdt)
{
    if (fdt % 8 != 0 || fdt < cr_fact_ram_start || fdt > cr_fact_ram_end - FDT_HEADER ||
        fdt_word(fdt, FDT_WORD_MAGIC) != FDT_MAGIC ||
        fdt_word(fdt, FDT_WORD_VERSION) < FDT_VERSION ||
        fdt_word(fdt, FDT_WORD_OLDEST) > FDT_VERSION) {
        return 0;
    }
    uint64_t total = fdt_word(fdt, FDT_WORD_TOTAL);
    uint64_t structs = fdt_word(fdt, FDT_WORD_STRUCT) + fdt_word(fdt, FDT_WORD_STRUCT_BYTES);
    uint64_t strings = fdt_word(fdt, FDT_WORD_STRINGS) + fdt_word(fdt, FDT_WORD_STRINGS_BYTES);
    uint64_t used = structs > strings ? structs : strings;
    return used <= total && used >= FDT_HEADER && total <= FDT_MAX && total <= cr_fact_ram_end - fdt
               ? used
               : 0;
}

/* For all three: `to` is aligned to 4 KiB and `from` to 8. Both may be read or written up to the
 * next multiple of 8. */
static void copy(uint64_t to, const void *from, uint64_t bytes)
{
    volatile uint64_t *out = (volatile uint64_t *)to;
    const volatile uint64_t *in = from;
    for (uint64_t i = 0; i < (bytes + 7) / 8; i++) {
        out[i] = in[i];
    }
}

static void copy_from_the_end(uint64_t to, const void *from, uint64_t bytes)
{
    volatile uint64_t *out = (volatile uint64_t *)to;
    const volatile uint64_t *in = from;
    for (uint64_t i = (bytes + 7) / 8; i > 0; i--) {
        out[i - 1] = in[i - 1];
    }
}

enum { CLEARED = 64 }; /* bytes at a time */

static void place(uint64_t to, const uint8_t *start, const uint8_t *end, uint64_t memory)
{
    uint64_t bytes = (uint64_t)(end - start);
    uint64_t filled = (bytes + 7) & ~(uint64_t)7;
    copy(to, start, bytes);
    for (uint64_t at = to + bytes; at < to + filled; at++) {
        *(volatile uint8_t *)at = 0;
    }
    uint64_t at = to + filled;
    const uint64_t last = to + page_up(memory);
    /* Most of the memory of the root task is zero. */
    for (; at + CLEARED <= last; at += CLEARED) {
        volatile uint64_t *out = (volatile uint64_t *)at;
        out[0] = out[1] = out[2] = out[3] = out[4] = out[5] = out[6] = out[7] = 0;
    }
    for (; at < last; at += 8) {
        *(volatile uint64_t *)at = 0;
    }
}

_Noreturn void cr_loader_main(uint64_t hint, uint64_t level)
{
    cr_loader_open();
    if ((uint64_t)cr_loader_start != cr_fact_loader) {
        cr_loader_fail("it runs at ", (uint64_t)cr_loader_start, cr_fact_loader);
    }
    const char *from = "firmware";
    uint64_t source = hint;
    uint64_t bytes = fdt_bytes(source);
    if (bytes == 0) {
        from = "start of memory"; /* QEMU places it there for a program that is not Linux */
        source = cr_fact_ram_start;
        bytes = fdt_bytes(source);
    }
    if (bytes == 0) {
        from = "image";
        source = (uint64_t)cr_fdt_start;
        bytes = fdt_bytes(source);
    }
    if (bytes == 0) {
        from = "nowhere"; /* the kernel starts without one */
    }
    uint64_t kernel_end = cr_fact_kernel + page_up(cr_fact_kernel_bytes);
    uint64_t fdt = kernel_end;
    uint64_t user = page_up(fdt + bytes);
    /* Behind the root task the kernel's untypeds begin. The better this is aligned, the fewer they
     * are, and the kernel hands out only so many. */
    uint64_t user_end = user + page_up(cr_fact_user_bytes);
    user_end = user_end < cr_fact_user_end ? cr_fact_user_end : user_end;
    /* The image builder places the loader after all of this, with room for a device tree. */
    if (user_end > cr_fact_loader) {
        cr_loader_fail("no room for the root task: it ends at ", user_end, cr_fact_loader);
    }
    /* Copy the device tree first, because the kernel may overwrite its present place. The device
     * tree may overlap its new place. */
    if (source >= fdt) {
        copy(fdt, (const void *)source, bytes);
    } else {
        copy_from_the_end(fdt, (const void *)source, bytes);
    }
    if (bytes != 0) {
        *(volatile uint32_t *)(fdt + 4 * FDT_WORD_TOTAL) = swapped((uint32_t)bytes);
    }
    place(cr_fact_kernel, cr_kernel_start, cr_kernel_end, cr_fact_kernel_bytes);
    place(user, cr_user_start, cr_user_end, user_end - user);
    cr_loader_clean(cr_fact_kernel, user_end);

    say_range("cellreap loader: kernel ", cr_fact_kernel, kernel_end);
    say_range(", device tree ", fdt, fdt + bytes);
    say(" from ");
    say(from);
    say_range(", root task ", user, user_end);
    say(", entered in ");
    say(cr_loader_level(level));
    say("\r\n");
    cr_loader_enter(user, user_end, user - cr_fact_user_virt, cr_fact_user_entry,
                    bytes != 0 ? fdt : 0, user - fdt, cr_fact_kernel_entry);
}
