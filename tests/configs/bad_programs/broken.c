void cr_main(void)
{
    missing_semicolon()
}
