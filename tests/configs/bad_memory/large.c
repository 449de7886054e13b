/* A body of 16 MiB: the program has eleven. */
char large_room[11 << 20];

void cr_main(void);

void cr_main(void)
{
    large_room[0] = 1;
}
