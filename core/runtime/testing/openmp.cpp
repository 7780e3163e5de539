// Nothing: what counts is the library's name.
