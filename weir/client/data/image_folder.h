// Images in folders, one folder per class.
#ifndef WEIR_CLIENT_DATA_IMAGE_FOLDER_H_
#define WEIR_CLIENT_DATA_IMAGE_FOLDER_H_

#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/data/dataset.h"

namespace WEIR_PUBLIC weir {
namespace data {

struct ImageFolder {
  Dataset dataset;                   // float [height, width, channels] in [0, 1], and the int64 class number
  std::vector<std::string> classes;  // the names of the folders, sorted
  int64_t count = 0;
};

// All PNG, JPEG, GIF and BMP files in `folder`/<class>/, scaled to one size and sorted by name: use Shuffle() before
// Batch(). NOT_FOUND if there are none.
StatusOr<ImageFolder> ReadImageFolder(const std::string& folder, int64_t height, int64_t width, int64_t channels = 3);

}  // namespace data
}  // namespace weir

#endif  // WEIR_CLIENT_DATA_IMAGE_FOLDER_H_
