/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The version of cellreap. The CMake packages have it from here. */
#ifndef CELLREAP_VERSION_H
#define CELLREAP_VERSION_H

#define CR_VERSION "0.2.0"

#endif
