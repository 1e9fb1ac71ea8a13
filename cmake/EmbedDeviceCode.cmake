# cmake -DROOT=folder -DFILES="a.cu;b.cuh" -DOUTPUT=file.cc -P EmbedDeviceCode.cmake
# Writes a source that defines DeviceCodeFiles() of weir/device/cuda/device_code.h: the texts of FILES by their paths below
# ROOT.
set(entries "")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(READ "${file}" text HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" text "${text}")
  string(REPEAT "\\\\x.." 24 line)
  string(REGEX REPLACE "(${line})" "\\1\"\n\"" text "${text}")
  file(RELATIVE_PATH path "${ROOT}" "${file}")
  string(APPEND entries "    {\"${path}\",\n\"${text}\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"weir/device/cuda/device_code.h\"\n
namespace weir::cuda {
namespace {

constexpr DeviceCodeFile kFiles[] = {
${entries}};

}  // namespace

std::span<const DeviceCodeFile> DeviceCodeFiles() { return kFiles; }

}  // namespace weir::cuda
")
