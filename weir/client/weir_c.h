/* weir for C, and for languages that call C: load a SavedModel, run a signature, free it.
 *
 *   char error[256];
 *   weir_model* model = weir_load("/models/digits/1", error, sizeof(error));
 *   int64_t dims[4] = {1, 28, 28, 1};
 *   weir_tensor image = {"inputs", WEIR_FLOAT, 4, dims, pixels, sizeof(float) * 28 * 28};
 *   weir_outputs* outputs = weir_run(model, "serving_default", &image, 1, error, sizeof(error));
 *   const weir_tensor* scores = weir_output(outputs, 0);
 *   weir_free_outputs(outputs);
 *   weir_free_model(model);
 *
 * A model may be used by several threads at once. A function that fails returns NULL and writes why into `error`, cut
 * to its size and ended by a zero; `error` may be NULL if its size is 0. */
#ifndef WEIR_CLIENT_WEIR_C_H_
#define WEIR_CLIENT_WEIR_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WEIR_C_API __attribute__((visibility("default")))
#else
#define WEIR_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Element types, with TensorFlow's numbers. Strings have no C form. */
typedef enum weir_dtype {
  WEIR_FLOAT = 1,
  WEIR_DOUBLE = 2,
  WEIR_INT32 = 3,
  WEIR_UINT8 = 4,
  WEIR_INT16 = 5,
  WEIR_INT8 = 6,
  WEIR_INT64 = 9,
  WEIR_BOOL = 10,
  WEIR_UINT16 = 17,
  WEIR_HALF = 19,
  WEIR_UINT32 = 22,
  WEIR_UINT64 = 23
} weir_dtype;

/* A named tensor: elements in row-major order. Of an input all pointers are the caller's, and are read during weir_run
 * only. */
typedef struct weir_tensor {
  const char* name; /* in the signature */
  int32_t dtype;    /* a weir_dtype */
  int32_t rank;
  const int64_t* dims;
  const void* data;
  size_t bytes;
} weir_tensor;

typedef struct weir_model weir_model;
typedef struct weir_outputs weir_outputs;

/* The model in a folder, with the tag "serve". Free it with weir_free_model. */
WEIR_C_API weir_model* weir_load(const char* folder, char* error, size_t error_size);
/* Runs a signature ("serving_default" if NULL) on all its inputs. Free the outputs with weir_free_outputs. */
WEIR_C_API weir_outputs* weir_run(weir_model* model, const char* signature, const weir_tensor* inputs,
                                  size_t num_inputs, char* error, size_t error_size);
/* Outputs are in the order of their names; what they point to lives as long as `outputs`. NULL past the last. */
WEIR_C_API size_t weir_num_outputs(const weir_outputs* outputs);
WEIR_C_API const weir_tensor* weir_output(const weir_outputs* outputs, size_t index);
/* Both take NULL, too. */
WEIR_C_API void weir_free_outputs(weir_outputs* outputs);
WEIR_C_API void weir_free_model(weir_model* model);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_CLIENT_WEIR_C_H_ */
