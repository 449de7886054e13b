/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The columns of a model state as CSV, in the order of a row. STATE and MODEL events of the trace
 * have such rows. The first seven columns are those of CellulOS and must stay. A new column is
 * added at the end. */
#ifndef CELLREAP_MODEL_CSV_H
#define CELLREAP_MODEL_CSV_H

#define CR_CSV_COLUMNS(column)                                                                     \
    column(NODE_TYPE) column(NODE_ID) column(DATA) column(EDGE_TYPE) column(EDGE_FROM)             \
        column(EDGE_TO) column(EXTRA)

typedef enum cr_csv_column {
#define CR_CSV_COLUMN(name) CR_CSV_##name,
    CR_CSV_COLUMNS(CR_CSV_COLUMN)
#undef CR_CSV_COLUMN
        CR_CSV_COLUMN_COUNT
} cr_csv_column;

#endif
