/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An empty device tree, for firmware that provides none. refkernel does not read the device tree
 * (Devicetree Specification 0.4, chapter 5). Words are big-endian. */
    .macro be32 value
    .byte ((\value) >> 24) & 255, ((\value) >> 16) & 255, ((\value) >> 8) & 255, (\value) & 255
    .endm

    .text
    be32 0xd00dfeed
    be32 72 /* total size in bytes */
    be32 56 /* offset of the structure */
    be32 72 /* offset of the strings */
    be32 40 /* offset of the list of reserved memory */
    be32 17
    be32 16
    be32 0
    be32 0  /* size of the strings in bytes */
    be32 16 /* size of the structure in bytes */
    .quad 0, 0
    be32 1 /* a node begins, without a name */
    be32 0
    be32 2
    be32 9
