/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A disk of an IDE controller, which the processor feeds through ports. See disk.h. */
#ifdef __x86_64__
#include "disk.h"

enum { COMMANDS = 0, CONTROL = 1 /* the ranges of ports */ };
enum {
    DATA = 0x1f0,
    COUNT = 0x1f2,
    SECTOR_LOW = 0x1f3,
    SECTOR_MIDDLE = 0x1f4,
    SECTOR_HIGH = 0x1f5,
    DRIVE = 0x1f6,
    STATUS = 0x1f7, /* and the command */
    RESET = 0x3f6
};
enum { BUSY = 0x80, FAULT = 0x20, WANTS_DATA = 0x08, FAILED = 0x01, ABSENT = 0xff };
enum { READ = 0x20, WRITE = 0x30, FLUSH = 0xe7 };
enum { BY_SECTOR = 0xe0 /* the first drive, and numbers of sectors */, TURNS = 1000000 };

static int (*while_waiting)(const cr_work_entry *work);

/* To read the status takes the interrupt of the disk back. */
static uint8_t read_status(void)
{
    uint8_t status = ABSENT;
    (void)cr_port_read(COMMANDS, STATUS, &status);
    return status;
}

void disk_rung(uint32_t bits)
{
    (void)bits;
    (void)read_status();
    (void)cr_acknowledge(0);
}

/* Asks until the bits are so. Only for what takes the disk no time. */
static int poll(uint8_t mask, uint8_t wanted)
{
    uint8_t status = read_status();
    for (uint32_t turn = 0; turn < TURNS && (status & mask) != wanted; turn++) {
        status = read_status();
    }
    return (status & mask) == wanted && status != ABSENT;
}

int disk_start(int (*work)(const cr_work_entry *work))
{
    while_waiting = work;
    (void)cr_port_write(CONTROL, RESET, 4);
    (void)cr_port_write(CONTROL, RESET, 0);
    const int is_there = poll(BUSY, 0);
    disk_rung(0);
    return is_there;
}

/* Returns whether the disk has done the command without a failure. */
static int await(void)
{
    uint8_t status;
    while (((status = read_status()) & BUSY) != 0) {
        cr_await_signal(while_waiting);
        disk_rung(cr_rung());
    }
    return (status & (FAULT | FAILED)) == 0;
}

static int command(uint8_t what, uint32_t sector)
{
    (void)cr_port_write(COMMANDS, DRIVE, (uint8_t)(BY_SECTOR | (sector >> 24 & 0xf)));
    (void)cr_port_write(COMMANDS, COUNT, 1);
    (void)cr_port_write(COMMANDS, SECTOR_LOW, (uint8_t)sector);
    (void)cr_port_write(COMMANDS, SECTOR_MIDDLE, (uint8_t)(sector >> 8));
    (void)cr_port_write(COMMANDS, SECTOR_HIGH, (uint8_t)(sector >> 16));
    return poll(BUSY, 0) && cr_port_write(COMMANDS, STATUS, what);
}

int disk_read(uint32_t sector, uint64_t words[DISK_SECTOR_WORDS])
{
    if (!command(READ, sector) || !await() || !poll(WANTS_DATA, WANTS_DATA)) {
        return 0;
    }
    for (uint32_t i = 0; i < DISK_SECTOR_WORDS * 4; i++) {
        uint16_t part = 0;
        if (!cr_port_read16(COMMANDS, DATA, &part)) {
            return 0;
        }
        const uint64_t before = i % 4 == 0 ? 0 : words[i / 4];
        words[i / 4] = before | (uint64_t)part << (16 * (i % 4));
    }
    return 1;
}

int disk_write(uint32_t sector, const uint64_t words[DISK_SECTOR_WORDS])
{
    if (!command(WRITE, sector) || !poll(WANTS_DATA, WANTS_DATA)) {
        return 0;
    }
    for (uint32_t i = 0; i < DISK_SECTOR_WORDS * 4; i++) {
        if (!cr_port_write16(COMMANDS, DATA, (uint16_t)(words[i / 4] >> (16 * (i % 4))))) {
            return 0;
        }
    }
    return await() && command(FLUSH, 0) && await();
}
#endif
