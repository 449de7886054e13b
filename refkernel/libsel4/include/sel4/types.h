/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Types of seL4's API. Bit layouts are those of seL4 even where users see them only through the
 * functions in this file. */
#ifndef REFKERNEL_SEL4_TYPES_H
#define REFKERNEL_SEL4_TYPES_H

#include <sel4/constants.h>

#define LIBSEL4_INLINE_FUNC static inline __attribute__((unused))

typedef signed char seL4_Int8;
typedef unsigned char seL4_Uint8;
typedef unsigned short seL4_Uint16;
typedef unsigned int seL4_Uint32;
typedef unsigned long seL4_Uint64;
typedef unsigned long seL4_Word;
typedef seL4_Word seL4_CPtr;
typedef seL4_Int8 seL4_Bool;
#define seL4_True 1
#define seL4_False 0

_Static_assert(sizeof(seL4_Word) * 8 == seL4_WordBits, "a word is a machine word");

typedef seL4_Word seL4_NodeId, seL4_PAddr, seL4_Domain, seL4_SlotPos;
typedef seL4_CPtr seL4_CNode, seL4_TCB, seL4_Untyped, seL4_IRQControl, seL4_IRQHandler;

typedef struct seL4_MessageInfo {
    seL4_Uint64 words[1];
} seL4_MessageInfo_t;

typedef struct seL4_CapRights {
    seL4_Uint64 words[1];
} seL4_CapRights_t;

typedef struct seL4_CNode_CapData {
    seL4_Uint64 words[1];
} seL4_CNode_CapData_t;

/* label : 52, capsUnwrapped : 3, extraCaps : 2, length : 7 */
LIBSEL4_INLINE_FUNC seL4_MessageInfo_t seL4_MessageInfo_new(seL4_Uint64 label,
                                                            seL4_Uint64 capsUnwrapped,
                                                            seL4_Uint64 extraCaps,
                                                            seL4_Uint64 length)
{
    return (seL4_MessageInfo_t){
        {label << 12 | (capsUnwrapped & 7) << 9 | (extraCaps & 3) << 7 | (length & 0x7f)}};
}

LIBSEL4_INLINE_FUNC seL4_Uint64 seL4_MessageInfo_get_label(seL4_MessageInfo_t info)
{
    return info.words[0] >> 12;
}

LIBSEL4_INLINE_FUNC seL4_Uint64 seL4_MessageInfo_get_capsUnwrapped(seL4_MessageInfo_t info)
{
    return (info.words[0] >> 9) & 7;
}

LIBSEL4_INLINE_FUNC seL4_Uint64 seL4_MessageInfo_get_extraCaps(seL4_MessageInfo_t info)
{
    return (info.words[0] >> 7) & 3;
}

LIBSEL4_INLINE_FUNC seL4_Uint64 seL4_MessageInfo_get_length(seL4_MessageInfo_t info)
{
    return info.words[0] & 0x7f;
}

/* grantReply : 1, grant : 1, read : 1, write : 1 */
LIBSEL4_INLINE_FUNC seL4_CapRights_t seL4_CapRights_new(seL4_Uint64 grantReply, seL4_Uint64 grant,
                                                        seL4_Uint64 read, seL4_Uint64 write)
{
    return (seL4_CapRights_t){
        {(grantReply & 1) << 3 | (grant & 1) << 2 | (read & 1) << 1 | (write & 1)}};
}

#define seL4_ReadWrite seL4_CapRights_new(0, 0, 1, 1)
#define seL4_AllRights seL4_CapRights_new(1, 1, 1, 1)
#define seL4_CanRead seL4_CapRights_new(0, 0, 1, 0)
#define seL4_CanWrite seL4_CapRights_new(0, 0, 0, 1)
#define seL4_CanGrant seL4_CapRights_new(0, 1, 0, 0)
#define seL4_CanGrantReply seL4_CapRights_new(1, 0, 0, 0)
#define seL4_NoWrite seL4_CapRights_new(1, 1, 1, 0)
#define seL4_NoRead seL4_CapRights_new(1, 1, 0, 1)
#define seL4_NoRights seL4_CapRights_new(0, 0, 0, 0)

/* guard : 58, guardSize : 6 */
LIBSEL4_INLINE_FUNC seL4_CNode_CapData_t seL4_CNode_CapData_new(seL4_Uint64 guard,
                                                                seL4_Uint64 guardSize)
{
    return (seL4_CNode_CapData_t){{guard << 6 | (guardSize & 0x3f)}};
}

typedef struct seL4_IPCBuffer_ {
    seL4_MessageInfo_t tag;
    seL4_Word msg[seL4_MsgMaxLength];
    seL4_Word userData;
    seL4_Word caps_or_badges[seL4_MsgMaxExtraCaps];
    seL4_CPtr receiveCNode;
    seL4_CPtr receiveIndex;
    seL4_Word receiveDepth;
} seL4_IPCBuffer __attribute__((__aligned__(1 << seL4_IPCBufferSizeBits)));

_Static_assert(sizeof(seL4_IPCBuffer) == 1 << seL4_IPCBufferSizeBits, "as the kernel finds it");

typedef struct seL4_SlotRegion {
    seL4_SlotPos start;
    seL4_SlotPos end; /* the first slot after it */
} seL4_SlotRegion;

typedef struct seL4_UntypedDesc {
    seL4_Word paddr;
    seL4_Uint8 sizeBits;
    seL4_Uint8 isDevice;
    seL4_Uint8 padding[sizeof(seL4_Word) - 2 * sizeof(seL4_Uint8)];
} seL4_UntypedDesc;

typedef struct seL4_BootInfo {
    seL4_Word extraLen;
    seL4_NodeId nodeID;
    seL4_Word numNodes;
    seL4_Word numIOPTLevels;
    seL4_IPCBuffer *ipcBuffer;
    seL4_SlotRegion empty;
    seL4_SlotRegion sharedFrames;
    seL4_SlotRegion userImageFrames;
    seL4_SlotRegion userImagePaging;
    seL4_SlotRegion ioSpaceCaps;
    seL4_SlotRegion extraBIPages;
    seL4_Word initThreadCNodeSizeBits;
    seL4_Domain initThreadDomain;
    seL4_SlotRegion untyped;
    seL4_UntypedDesc untypedList[CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS];
} seL4_BootInfo;

_Static_assert(sizeof(seL4_BootInfo) <= 1 << seL4_PageBits, "boot information is one page");

#include <sel4/sel4_arch/types.h>

#endif
