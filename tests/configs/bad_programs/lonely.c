void nowhere(void);
void cr_main(void);

void cr_main(void)
{
    nowhere();
}
