/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory of doomed PDs, for the PDs that the configuration trusts with it. */
#include "regions.h"
#include "text.h"

uint32_t cr_reader_of(const cr_pd *pd)
{
    return pd->config != CR_IMAGE_NONE ? cr_image_pds(cr_sys.image)[pd->config].reader : 0;
}

static uint32_t read_body(const cr_pd *pd, uint64_t address, uint64_t *out)
{
    const cr_body_params params = cr_body_shape(pd->config, pd->program, pd->body.cspace_bits);
    return cr_body_read(&params, &pd->body, address, out, CR_DUMP_WORDS);
}

/* The body of a thread has its own pages, that of its process the rest of the address space. */
uint32_t cr_read_memory(const cr_pd *pd, uint64_t address, uint64_t *out)
{
    const uint32_t process = cr_process_of(pd);
    const cr_pd *first = process != CR_IMAGE_NONE ? cr_find_configured(process) : 0;
    const uint32_t count = read_body(pd, address, out);
    return count == 0 && first != 0 && first != pd ? read_body(first, address, out) : count;
}
