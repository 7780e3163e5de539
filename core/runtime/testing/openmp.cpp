// Empty: only the library's name matters.
