/* A program code object: variables that all agents share. */
int shared_variable = 1000;
int external_variable = 77;
