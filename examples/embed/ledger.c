/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server with a bug: after some entries it writes through a null pointer. */
#include "embed.h"
#include <cellreap/client.h>

static uint64_t *volatile last; /* nobody ever sets it */
static uint64_t entries;

static uint32_t serve(cr_incoming *m)
{
    if (m->label != ENTER) {
        return CR_REPLY_BASE + 1;
    }
    if (++entries > ENTRIES) {
        *last = entries;
    }
    return CR_REPLY_BASE;
}

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    static const cr_server server = {serve, work, 0, 0};
    (void)cr_own_space();
    cr_serve(&server);
}
