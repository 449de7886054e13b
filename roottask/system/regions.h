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
/* What says how large a body is and where its pages are. `config`: of a configured PD, with its
 * regions, which stay until the next call; or CR_IMAGE_NONE. */
cr_body_params cr_body_shape(uint32_t config, uint32_t program, uint32_t cspace_bits);
/* Sets memory aside for the regions of a configured PD that does not exist yet. */
cr_status cr_regions_reserve(uint32_t config);

#endif
