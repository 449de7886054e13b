/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The regions that the configuration gives PDs. A memory object is made with the first PD that maps
 * it, and goes with the last region of it. So a PD that comes back finds the memory that a survivor
 * has mapped, or new memory. */
#ifndef CELLREAP_SYSTEM_REGIONS_H
#define CELLREAP_SYSTEM_REGIONS_H

#include "system.h"

/* Takes the memory that has its place, before anything else takes memory. Stops the system if the
 * kernel does not give it. */
void cr_regions_claim(const cr_image_header *image);
/* Makes the frames of devices, and of memory that has its place. Stops the system if the kernel
 * does not give them. */
void cr_regions_init(const seL4_BootInfo *info, const cr_image_header *image);
/* Adds the regions of the PD that is being made, and their contents, to the chain (making.h). */
void cr_regions_add(const cr_pd *pd, uint32_t config);
/* Has the devices of a PD that is stopped become quiet, as the configuration says. It can be
 * repeated. */
cr_status cr_regions_quiet(cr_pd *pd);
/* The addresses of the regions of a configured PD, for its body. They stay until the next call. */
void cr_regions_fill(uint32_t config, cr_body_params *out);
/* Sets memory aside for the regions of a configured PD that does not exist yet. */
cr_status cr_regions_reserve(uint32_t config);

#endif
