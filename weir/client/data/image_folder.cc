#include "weir/client/data/image_folder.h"

#include <algorithm>
#include <cctype>

#include "weir/client/eager/ops/array_ops.h"
#include "weir/client/eager/ops/image_ops.h"
#include "weir/client/eager/ops/io_ops.h"
#include "weir/client/eager/ops/math_ops.h"
#include "weir/client/eager_execute.h"
#include "weir/io/file.h"
#include "weir/io/file_system.h"

namespace weir::data {
namespace {

bool IsPicture(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.ends_with(".png") || name.ends_with(".jpg") || name.ends_with(".jpeg") || name.ends_with(".gif") ||
         name.ends_with(".bmp");
}

StatusOr<std::vector<std::string>> SortedNames(const std::string& folder) {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, ListFolder(folder));
  std::ranges::sort(names);
  return names;
}

}  // namespace

StatusOr<ImageFolder> ReadImageFolder(const std::string& folder, int64_t height, int64_t width, int64_t channels) {
  if (height < 1 || width < 1) return InvalidArgument("images cannot be scaled to ", height, " x ", width, " pixels");
  ImageFolder out;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> folders, SortedNames(folder));
  for (const std::string& name : folders) {
    const std::string path = Cat(folder, "/", name);
    if (!IsFolder(path)) continue;
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> files, SortedNames(path));
    for (const std::string& file : files) {
      if (!IsPicture(file)) continue;
      paths.push_back(Cat(path, "/", file));
      labels.push_back(static_cast<int64_t>(out.classes.size()));
    }
    out.classes.push_back(name);
  }
  if (paths.empty()) return NotFound("no images in the folders of ", folder);
  out.count = static_cast<int64_t>(paths.size());
  const Tensor size = Tensor::Vector<int32_t>({static_cast<int32_t>(height), static_cast<int32_t>(width)});
  out.dataset =
      FromTensors({Tensor::Vector<std::string>(std::span<const std::string>(paths)),
                   Tensor::Vector<int64_t>(std::span<const int64_t>(labels))})
          .Map(
              [&](const EagerTensors& e) {
                EagerTensor image =
                    eager::DecodeImage(eager::ReadFile(e[0]), {.channels = channels, .expand_animations = false});
                image = eager::ResizeBilinear(eager::ExpandDims(image, 0), size, {.half_pixel_centers = true});
                image = eager::Reshape(image / 255.0f, {height, width, channels});
                return EagerTensors{image, e[1]};
              },
              {.parallel = kAllCores});
  WEIR_RETURN_IF_ERROR(out.dataset.status());
  return out;
}

}  // namespace weir::data
