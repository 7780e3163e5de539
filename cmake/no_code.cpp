// Source of targets that exist for their precompiled headers (RigelTargets.cmake).
int main() {}
