/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device tree for where firmware gives none: an empty one, as refkernel looks into none (Devicetree
 * Specification 0.4, chapter 5). Words are big-endian. */
    .macro be32 value
    .byte ((\value) >> 24) & 255, ((\value) >> 16) & 255, ((\value) >> 8) & 255, (\value) & 255
    .endm

    .text
    be32 0xd00dfeed
    be32 72 /* bytes in all */
    be32 56 /* where the structure is */
    be32 72 /* where the strings are */
    be32 40 /* where the list of reserved memory is */
    be32 17
    be32 16
    be32 0
    be32 0  /* bytes of strings */
    be32 16 /* bytes of structure */
    .quad 0, 0
    be32 1 /* a node begins, without a name */
    be32 0
    be32 2
    be32 9
