# cmake -DINPUT=file -DOUTPUT=file.cc -DHEADER=weir/....h -DFUNCTION=Name -P EmbedFile.cmake
# Writes a source that defines `std::string_view Name()` of HEADER: the bytes of INPUT.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
string(REPEAT "(\\\\x..)" 8 line)
string(REGEX REPLACE "(${line})" "\\1\"\n\"" bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n
namespace weir {
namespace {

constexpr char kBytes[] =
\"${bytes}\";

}  // namespace

std::string_view ${FUNCTION}() { return std::string_view(kBytes, sizeof(kBytes) - 1); }

}  // namespace weir
")
