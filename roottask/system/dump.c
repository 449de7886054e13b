/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory of doomed PDs, for the PDs that the configuration trusts with it. */
#include "regions.h"
#include "text.h"

static const cr_image_pd *config_of(const cr_pd *pd)
{
    return pd->config != CR_IMAGE_NONE ? &cr_image_pds(cr_sys.image)[pd->config] : 0;
}

uint32_t cr_reader_of(const cr_pd *pd)
{
    const cr_image_pd *config = config_of(pd);
    return config != 0 ? config->reader : 0;
}

static uint32_t read_body(const cr_pd *pd, uint64_t address, uint64_t *out)
{
    const cr_image_pd *config = config_of(pd);
    const cr_image_program *program = &cr_image_programs(cr_sys.image)[pd->program];
    cr_body_params params = {
        .elf = cr_image_elf(cr_sys.image, program),
        .elf_bytes = program->bytes,
        .cspace_bits = pd->body.cspace_bits,
        .stack_pages = config != 0 ? config->stack_pages : CR_SPAWNED_STACK_PAGES,
        .thread = config != 0 ? config->thread : 0,
    };
    if (config != 0) {
        cr_regions_fill(pd->config, &params);
    }
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
