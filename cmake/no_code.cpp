// Of targets that are there for their precompiled headers (RigelTargets.cmake).
int main() {}
