/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The disk of QEMU's machines. aarch64 and riscv64: virtio_block.h, with its registers in the page
 * at 1 GiB, and a region for a vb_memory at 2 GiB. x86_64: the first drive of an IDE controller,
 * with two ranges of ports, from 0x1f0 to 0x1f7 and 0x3f6. The first interrupt is the disk's. */
#ifndef CELLREAP_PDS_DISK_H
#define CELLREAP_PDS_DISK_H

#include <cellreap/device.h>

enum { DISK_SECTOR_WORDS = 512 / 8 };

/* Brings the disk into a known state, whatever the last driver asked it for. Returns 0 if there is
 * none. `work`: handles notices that come while the disk is awaited. */
int disk_start(int (*work)(const cr_work_entry *work));
/* Return 0 if the disk fails. What was written is on the disk. */
int disk_read(uint32_t sector, uint64_t words[DISK_SECTOR_WORDS]);
int disk_write(uint32_t sector, const uint64_t words[DISK_SECTOR_WORDS]);

/* Of the server: an interrupt that nobody awaited. */
void disk_rung(uint32_t bits);

#endif
