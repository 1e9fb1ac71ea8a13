// Nothing: it is the headers before it that are compiled (cmake/WeirPch.cmake).
int main() { return 0; }
