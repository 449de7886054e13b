/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that says when its peer came back, of which it hears over a channel that nobody
 * else uses. */
#include <cellreap/epoch.h>
#include <microkit.h>

enum { IS_BACK = 60 };

volatile uint64_t *epoch_vaddr; /* set by the description */

static uint64_t known;

void init(void)
{
    known = *epoch_vaddr;
}

void notified(microkit_channel channel)
{
    if (channel == IS_BACK && cr_epoch_is_new(epoch_vaddr, &known)) {
        microkit_dbg_puts("watcher: peer is back, ");
        microkit_dbg_put32((unsigned)known);
        microkit_dbg_puts("\n");
    }
}
