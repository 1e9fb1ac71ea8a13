// oneDNN's C functions, loaded at run time, and used by one thread at a time each.
//
// Loading rather than linking does two things: a program that multiplies no matrix does not pay for a library of 50 MB,
// and a machine without it runs all the same. The library is built for OpenMP, whose threads know nothing of ours: they
// either sleep between two calls and wake late, or spin and take the cores from the step. So every call here is for one
// thread (OneThread), and starts none; a large operation is cut into pieces that the step's own threads run
// (pieces_internal.h).
#ifndef WEIR_DEVICE_CPU_ONEDNN_LIBRARY_INTERNAL_H_
#define WEIR_DEVICE_CPU_ONEDNN_LIBRARY_INTERNAL_H_

#include <oneapi/dnnl/dnnl.h>

#include <string>

namespace weir::onednn {

#define WEIR_ONEDNN_FUNCTIONS(DO)                        \
  DO(convolution_backward_data_primitive_desc_create)    \
  DO(convolution_backward_weights_primitive_desc_create) \
  DO(convolution_forward_primitive_desc_create)          \
  DO(engine_create)                                      \
  DO(inner_product_forward_primitive_desc_create)        \
  DO(matmul_primitive_desc_create)                       \
  DO(memory_create)                                      \
  DO(memory_desc_clone)                                  \
  DO(memory_desc_create_with_strides)                    \
  DO(memory_desc_create_with_tag)                        \
  DO(memory_desc_destroy)                                \
  DO(memory_desc_equal)                                  \
  DO(memory_desc_get_size)                               \
  DO(memory_destroy)                                     \
  DO(post_ops_append_binary)                             \
  DO(post_ops_append_eltwise)                            \
  DO(post_ops_append_sum)                                \
  DO(post_ops_create)                                    \
  DO(post_ops_destroy)                                   \
  DO(primitive_attr_create)                              \
  DO(primitive_attr_destroy)                             \
  DO(primitive_attr_set_post_ops)                        \
  DO(primitive_attr_set_scratchpad_mode)                 \
  DO(primitive_create)                                   \
  DO(primitive_desc_destroy)                             \
  DO(primitive_desc_next_impl)                           \
  DO(primitive_desc_query)                               \
  DO(primitive_desc_query_md)                            \
  DO(primitive_destroy)                                  \
  DO(primitive_execute)                                  \
  DO(reorder_primitive_desc_create)                      \
  DO(stream_create)                                      \
  DO(stream_destroy)                                     \
  DO(version)

struct Library {
#define WEIR_ONEDNN_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  WEIR_ONEDNN_FUNCTIONS(WEIR_ONEDNN_MEMBER)
#undef WEIR_ONEDNN_MEMBER
  // OpenMP's number of threads for what the calling thread does next.
  int (*max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;
  dnnl_engine_t engine = nullptr;
};

// Null if it cannot be loaded; the first call loads it.
const Library* GetLibrary();
// Why GetLibrary() is null; empty if it is not.
const std::string& LoadError();

// While it lives, the library makes and runs primitives in the calling thread alone. What the thread does with OpenMP
// otherwise is as it was before when it ends. REQUIRES: GetLibrary() is not null.
class OneThread {
 public:
  OneThread() : before_(GetLibrary()->max_threads()) {
    if (before_ != 1) GetLibrary()->set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) GetLibrary()->set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_;
};

}  // namespace weir::onednn

#endif  // WEIR_DEVICE_CPU_ONEDNN_LIBRARY_INTERNAL_H_
