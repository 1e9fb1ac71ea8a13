// Pictures in folders, a folder a class.
#ifndef WEIR_CLIENT_DATA_IMAGE_FOLDER_H_
#define WEIR_CLIENT_DATA_IMAGE_FOLDER_H_

#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/data/dataset.h"

namespace WEIR_PUBLIC weir {
namespace data {

struct ImageFolder {
  Dataset dataset;                   // float [height, width, channels] in [0, 1], and the int64 number of its class
  std::vector<std::string> classes;  // names of the folders, in order
  int64_t count = 0;
};

// Every PNG, JPEG, GIF or BMP of `folder`/<class>/, scaled to one size, in the order of their names: Shuffle() before
// it is batched. NOT_FOUND if there is none.
StatusOr<ImageFolder> ReadImageFolder(const std::string& folder, int64_t height, int64_t width, int64_t channels = 3);

}  // namespace data
}  // namespace weir

#endif  // WEIR_CLIENT_DATA_IMAGE_FOLDER_H_
