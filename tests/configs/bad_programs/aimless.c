void begin(void);
void cr_main(void);

/* As the library does. */
void begin(void)
{
    cr_main();
}
