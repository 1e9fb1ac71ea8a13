/* inference_c FOLDER INPUT SHAPE FILE [REPEAT]: runs a SavedModel's signature `serving_default` on the floats of a
 * file.
 *
 *   inference_c /models/digits/1 images 1x28x28x1 pixels.bin
 *
 * FILE holds the elements as the processor has them in memory. Every number of every output is printed on a line of its
 * own; with REPEAT, the mean time of a run as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir_c.h"

enum { kMaxRank = 8 };

static int Fail(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

/* "1x28x28x1"; the number of elements, 0 if it is no shape. */
static size_t ReadShape(const char* text, int64_t* dims, int32_t* rank) {
  size_t count = 1;
  *rank = 0;
  while (*text != '\0' && *rank < kMaxRank) {
    char* end = NULL;
    dims[*rank] = strtoll(text, &end, 10);
    if (end == text || dims[*rank] <= 0) return 0;
    count *= (size_t)dims[(*rank)++];
    text = *end == 'x' ? end + 1 : end;
    if (*end != 'x' && *end != '\0') return 0;
  }
  return *text == '\0' ? count : 0;
}

static void Print(const weir_tensor* tensor) {
  printf("%s\n", tensor->name);
  if (tensor->dtype == WEIR_FLOAT) {
    const float* values = tensor->data;
    for (size_t i = 0; i < tensor->bytes / sizeof(float); ++i) printf("%.9g\n", values[i]);
  } else if (tensor->dtype == WEIR_INT64) {
    const int64_t* values = tensor->data;
    for (size_t i = 0; i < tensor->bytes / sizeof(int64_t); ++i) printf("%lld\n", (long long)values[i]);
  } else {
    printf("(%zu bytes of type %d)\n", tensor->bytes, (int)tensor->dtype);
  }
}

int main(int argc, char** argv) {
  if (argc < 5) return Fail("usage", "inference_c FOLDER INPUT SHAPE FILE [REPEAT]");
  int64_t dims[kMaxRank];
  int32_t rank = 0;
  const size_t count = ReadShape(argv[3], dims, &rank);
  if (count == 0) return Fail(argv[3], "not a shape such as 1x28x28x1");
  float* values = malloc(count * sizeof(float));
  FILE* file = fopen(argv[4], "rb");
  if (values == NULL || file == NULL || fread(values, sizeof(float), count, file) != count) {
    return Fail(argv[4], "cannot read so many floats");
  }
  fclose(file);

  char error[512];
  weir_model* model = weir_load(argv[1], error, sizeof(error));
  if (model == NULL) return Fail(argv[1], error);
  const weir_tensor input = {argv[2], WEIR_FLOAT, rank, dims, values, count * sizeof(float)};
  const int repeat = argc > 5 ? atoi(argv[5]) : 0;
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < repeat; ++i) weir_free_outputs(weir_run(model, NULL, &input, 1, error, sizeof(error)));
  clock_gettime(CLOCK_MONOTONIC, &end);
  weir_outputs* outputs = weir_run(model, NULL, &input, 1, error, sizeof(error));
  if (outputs == NULL) return Fail("run", error);
  for (size_t i = 0; i < weir_num_outputs(outputs); ++i) Print(weir_output(outputs, i));
  if (repeat > 0) {
    const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    fprintf(stderr, "%.1f us per run\n", 1e6 * seconds / repeat);
  }
  weir_free_outputs(outputs);
  weir_free_model(model);
  free(values);
  return 0;
}
