// A library that does not say WEIR_LIBRARY.
int NotAWeirLibrary() { return 0; }
