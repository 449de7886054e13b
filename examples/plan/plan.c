/* SPDX-License-Identifier: BSD-2-Clause
 *
 * plan MODEL.csv PD [PD_DEPTH [RS_DEPTH]]: prints what the crash of a PD would doom, one node a
 * line, in the order of destruction. MODEL.csv is a model state as a trace or `cellreap` writes it
 * (docs/semantics.md, "Model state as text"). The root task plans with the same code.
 *
 * The core allocates nothing: this program gives it memory for a model and for a planner. */
#include <cellreap/model_csv.h>
#include <cellreap/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 4096, ROW_BYTES = 512, DEPTH_ARG = 3 };

typedef struct row {
    char text[ROW_BYTES];
    const char *cells[CR_CSV_COLUMN_COUNT];
    cr_ref node; /* the node of a node's row, once it is in the model */
} row;

static row rows[MAX_ROWS];
static size_t n_rows;
static cr_model *model;

static _Noreturn void fail(const char *what, const char *which)
{
    fprintf(stderr, "plan: %s: %s\n", what, which);
    exit(2);
}

static void must(cr_status status, const char *which)
{
    if (status != CR_OK) {
        fprintf(stderr, "plan: %s: the core answers %d (cellreap/status.h)\n", which, (int)status);
        exit(2);
    }
}

static int has(const row *r, cr_csv_column column, const char *text)
{
    return strcmp(r->cells[column], text) == 0;
}

static void read_rows(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail(path, "cannot be read");
    }
    while (n_rows < MAX_ROWS && fgets(rows[n_rows].text, ROW_BYTES, file) != NULL) {
        row *r = &rows[n_rows];
        size_t length = strcspn(r->text, "\r\n");
        if (r->text[length] == '\0' && length + 1 == ROW_BYTES) {
            fail(path, "has a line that is too long");
        }
        r->text[length] = '\0';
        char *at = r->text;
        for (int i = 0; i < CR_CSV_COLUMN_COUNT; i++) {
            r->cells[i] = at;
            at += strcspn(at, ",");
            if (*at == '\0' && i + 1 < CR_CSV_COLUMN_COUNT) {
                fail(r->text, "has too few columns");
            }
            *at++ = '\0';
        }
        if (!has(r, CR_CSV_NODE_TYPE, "NODE_TYPE")) { /* the header */
            n_rows++;
        }
    }
    if (!feof(file)) {
        fail(path, "has too many rows");
    }
    fclose(file);
}

static row *find(const char *id)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (has(&rows[i], CR_CSV_NODE_ID, id) && id[0] != '\0') {
            return &rows[i];
        }
    }
    fail(id, "is no node of the model");
}

/* The other end of the first edge of this kind from a node, or to it. */
static row *other_end(const char *kind, const row *r, cr_csv_column end, cr_csv_column other)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (has(&rows[i], CR_CSV_EDGE_TYPE, kind) && has(&rows[i], end, r->cells[CR_CSV_NODE_ID])) {
            return find(rows[i].cells[other]);
        }
    }
    fail(r->cells[CR_CSV_NODE_ID], "has no such edge");
}

/* The number at the end of an id, in hexadecimal. */
static uint32_t number_of(const row *r)
{
    const char *last = strrchr(r->cells[CR_CSV_NODE_ID], '_');
    if (last == NULL) {
        fail(r->cells[CR_CSV_NODE_ID], "is no id");
    }
    return (uint32_t)strtoul(last + 1, NULL, 16);
}

/* The number of a type is the first row that has the type. */
static uint32_t type_of(const row *r)
{
    uint32_t i = 0;
    while (!has(&rows[i], CR_CSV_DATA, r->cells[CR_CSV_DATA])) {
        i++;
    }
    return i;
}

static int is_core(const row *space)
{
#define CR_CORE_TYPE(name, meaning) has(space, CR_CSV_DATA, name) ||
    return CR_CORE_TYPES 0;
#undef CR_CORE_TYPE
}

static void add_pd(row *r)
{
    uint32_t root = number_of(r) == 0 ? CR_FLAG_ROOT : 0;
    uint32_t pinned = strstr(r->cells[CR_CSV_EXTRA], "PINNED") != NULL ? CR_FLAG_PINNED : 0;
    must(cr_model_add_pd(model, number_of(r), root | pinned, &r->node), r->cells[CR_CSV_NODE_ID]);
}

static void add_space(row *r)
{
    int core = is_core(r);
    const row *manager =
        core ? find("PD_0") : other_end("HOLD", r, CR_CSV_EDGE_TO, CR_CSV_EDGE_FROM);
    must(cr_model_add_space(model, type_of(r), number_of(r), core ? CR_FLAG_CORE : 0, manager->node,
                            &r->node),
         r->cells[CR_CSV_NODE_ID]);
}

static void add_resource(row *r)
{
    const row *space = other_end("SUBSET", r, CR_CSV_EDGE_FROM, CR_CSV_EDGE_TO);
    must(cr_model_add_resource(model, space->node, number_of(r), &r->node),
         r->cells[CR_CSV_NODE_ID]);
}

static void add_edge(row *r)
{
    static const char *const names[] = {
#define CR_EDGE_KIND(enumerator, number, name, meaning) [enumerator] = name,
        CR_EDGE_KINDS
#undef CR_EDGE_KIND
    };
    const char *kind = r->cells[CR_CSV_EDGE_TYPE];
    cr_edge_kind i = CR_EDGE_HOLD;
    if (strcmp(kind, "SUBSET") == 0) {
        return; /* add_resource made it */
    }
    while (i < CR_EDGE_KIND_COUNT && strcmp(kind, names[i]) != 0) {
        i++;
    }
    /* The row of a REQUEST names the manager, and the space in EXTRA. */
    const char *to = r->cells[i == CR_EDGE_REQUEST ? CR_CSV_EXTRA : CR_CSV_EDGE_TO];
    if (i == CR_EDGE_KIND_COUNT) {
        fail(kind, "is no kind of edge");
    }
    must(cr_model_add_edge(model, i, find(r->cells[CR_CSV_EDGE_FROM])->node, find(to)->node), to);
}

/* Calls a function for each row with this word in a column, or with any word if it is 0. */
static void each(cr_csv_column column, const char *word, void (*add)(row *r))
{
    for (size_t i = 0; i < n_rows; i++) {
        if (word != NULL ? has(&rows[i], column, word) : !has(&rows[i], column, "")) {
            add(&rows[i]);
        }
    }
}

static void *memory(size_t bytes)
{
    void *given = malloc(bytes);
    if (given == NULL) {
        fail("memory", "there is too little");
    }
    return given;
}

static uint32_t depth_of(int argc, char **argv, int at)
{
    char *end = NULL;
    if (argc <= at) {
        return 0;
    }
    unsigned long depth = strtoul(argv[at], &end, 10);
    if (strcmp(argv[at], "inf") != 0 && (*end != '\0' || depth >= CR_DEPTH_INF)) {
        fail(argv[at], "is no depth: expected a number or inf");
    }
    return strcmp(argv[at], "inf") == 0 ? CR_DEPTH_INF : (uint32_t)depth;
}

int main(int argc, char **argv)
{
    static const char *const whys[CR_WHY_COUNT] = {
        [CR_WHY_TRIGGER] = "it crashed",
        [CR_WHY_LINK] = "linked with",
        [CR_WHY_FAULT] = "fault handler is",
        [CR_WHY_REQUEST] = "requests",
        [CR_WHY_HOLD] = "holds",
        [CR_WHY_MANAGED] = "managed by",
        [CR_WHY_MAP] = "maps to",
    };
    if (argc < DEPTH_ARG || argc > DEPTH_ARG + 2) {
        fail("usage", "plan MODEL.csv PD [PD_DEPTH [RS_DEPTH]]");
    }
    const uint32_t pd_depth = depth_of(argc, argv, DEPTH_ARG);
    const uint32_t rs_depth = depth_of(argc, argv, DEPTH_ARG + 1);
    read_rows(argv[1]);

    const size_t bytes = cr_model_bytes(MAX_ROWS, 2 * MAX_ROWS);
    must(cr_model_init(memory(bytes), bytes, MAX_ROWS, 2 * MAX_ROWS, &model), "the model");
    each(CR_CSV_NODE_TYPE, "PD", add_pd);
    each(CR_CSV_NODE_TYPE, "RESOURCE_SPACE", add_space);
    each(CR_CSV_NODE_TYPE, "RESOURCE", add_resource);
    each(CR_CSV_EDGE_TYPE, NULL, add_edge);

    cr_planner *planner;
    cr_plan plan;
    const size_t room = cr_planner_bytes(MAX_ROWS, 4 * MAX_ROWS);
    must(cr_planner_init(memory(room), room, MAX_ROWS, 4 * MAX_ROWS, &planner), "the planner");
    must(cr_plan_crash(planner, model, find(argv[2])->node, pd_depth, rs_depth, &plan), argv[2]);
    for (uint32_t i = 0; i < plan.n_doomed; i++) {
        const cr_doomed *doomed = &plan.doomed[i];
        printf("group %u:", doomed->group);
        for (size_t k = 0; k < n_rows; k++) { /* the node itself, then the one it is doomed by */
            if (rows[k].node.generation != 0 && rows[k].node.index == doomed->node.index) {
                printf(" %s (%s)", rows[k].cells[CR_CSV_NODE_ID], rows[k].cells[CR_CSV_DATA]);
            }
        }
        printf(": %s", whys[doomed->why]);
        for (size_t k = 0; k < n_rows && doomed->why != CR_WHY_TRIGGER; k++) {
            if (rows[k].node.generation != 0 && rows[k].node.index == doomed->cause.index) {
                printf(" %s", rows[k].cells[CR_CSV_NODE_ID]);
            }
        }
        printf("\n");
    }
    return 0;
}
