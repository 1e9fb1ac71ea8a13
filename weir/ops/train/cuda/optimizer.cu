// Update rules applied to all elements of variables, or to some of their rows.
// clang-format off: the rules are in terms of number.cuh
#include "weir/ops/train/cuda/number.cuh"
// clang-format on
#include "weir/ops/train/adagrad_rules.h"
#include "weir/ops/train/adam_rules.h"
#include "weir/ops/train/descent_rules.h"
#include "weir/ops/train/ftrl_rules.h"
#include "weir/ops/train/proximal_rules.h"
#include "weir/ops/train/rmsprop_rules.h"

using namespace weir::train;

struct Update {
  void* states[4];
  const void* scalars[8];
  int64 num_scalars;
  const void* grad;
};

template <typename T, template <typename> class Rule>
Rule<typename Number<T>::type> MakeRule(const Update& update) {
  typename Number<T>::type numbers[8];
  for (int i = 0; i < 8; ++i) {
    numbers[i] = Number<T>::Load(i < update.num_scalars ? *(const T*)update.scalars[i] : T(0.0f));
  }
  return Rule<typename Number<T>::type>(numbers);
}

template <typename T, template <typename> class Rule, bool kFlag>
void UpdateElement(const Rule<typename Number<T>::type>& rule, const Update& update, int64 at, T grad) {
  constexpr int kStates = Rule<typename Number<T>::type>::kStates;
  typename Number<T>::type element[kStates];
  for (int k = 0; k < kStates; ++k) element[k] = Number<T>::Load(((const T*)update.states[k])[at]);
  rule.template Step<kFlag>(element, Number<T>::Load(grad));
  for (int k = 0; k < kStates; ++k) ((T*)update.states[k])[at] = Number<T>::Store(element[k]);
}

template <typename T, template <typename> class Rule, bool kFlag>
__global__ void UpdateAll(const Update update, int64 n) {
  const auto rule = MakeRule<T, Rule>(update);
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    UpdateElement<T, Rule, kFlag>(rule, update, i, ((const T*)update.grad)[i]);
  }
}

struct ManyUpdates {
  struct Variable {
    void* states[4];
    const void* grad;
    int64 size, first_chunk;
  };
  Variable variables[64];
  const void* scalars[8];
  int64 num_scalars, count, chunk;
};

// A block updates one chunk of one variable. Gradients of another type are widened.
template <typename T, typename G, template <typename> class Rule, bool kFlag>
__global__ void UpdateMany(const ManyUpdates many) {
  int64 which = 0;
  for (int64 end = many.count; end - which > 1;) {
    const int64 middle = (which + end) / 2;
    (many.variables[middle].first_chunk <= blockIdx.x ? which : end) = middle;
  }
  Update update;
  for (int k = 0; k < 4; ++k) update.states[k] = many.variables[which].states[k];
  for (int k = 0; k < 8; ++k) update.scalars[k] = many.scalars[k];
  update.num_scalars = many.num_scalars;
  const G* grad = (const G*)many.variables[which].grad;
  const int64 size = many.variables[which].size;
  const int64 begin = (blockIdx.x - many.variables[which].first_chunk) * many.chunk;
  const int64 end = begin + many.chunk < size ? begin + many.chunk : size;
  const auto rule = MakeRule<T, Rule>(update);
  // Loads of several elements before the first is stored: the compiler cannot know that they do not overlap.
  typedef typename Number<T>::type N;
  constexpr int kAtATime = 4, kStates = Rule<N>::kStates;
  for (int64 first = begin + threadIdx.x; first < end; first += kAtATime * blockDim.x) {
    N elements[kAtATime][kStates];
    G grads[kAtATime];
#pragma unroll
    for (int i = 0; i < kAtATime; ++i) {
      const int64 at = first + i * blockDim.x;
      if (at >= end) continue;
      grads[i] = grad[at];
      for (int k = 0; k < kStates; ++k) elements[i][k] = Number<T>::Load(((const T*)update.states[k])[at]);
    }
#pragma unroll
    for (int i = 0; i < kAtATime; ++i) {
      const int64 at = first + i * blockDim.x;
      if (at >= end) continue;
      rule.template Step<kFlag>(elements[i], Number<T>::Load((T)grads[i]));
      for (int k = 0; k < kStates; ++k) ((T*)update.states[k])[at] = Number<T>::Store(elements[i][k]);
    }
  }
}

// For each row of the gradient the next one with the same index; -1: none. `is_first` marks those without one before. A
// bad index raises the error and is left out.
template <typename Index>
__global__ void LinkRows(const Index* indices, int64 n, int64 limit, int64* next, bool* is_first, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const Index index = indices[i];
    const bool is_good = index >= 0 && index < limit;
    if (!is_good) *error = 1;
    bool first = is_good;
    for (int64 j = 0; j < i && first; ++j) first = indices[j] != index;
    int64 following = -1;
    for (int64 j = i + 1; j < n && following < 0 && is_good; ++j) {
      if (indices[j] == index) following = j;
    }
    is_first[i] = first;
    next[i] = following;
  }
}

// A row that is named several times is updated in the order of the indices.
template <typename T, typename Index, template <typename> class Rule, bool kFlag>
__global__ void UpdateRows(const Update update, const Index* indices, const int64* next, const bool* is_first,
                           int64 rows, int64 row_size) {
  const auto rule = MakeRule<T, Rule>(update);
  for (int64 i = GridFirst(); i < rows * row_size; i += GridStride()) {
    const int64 row = i / row_size, column = i % row_size;
    if (!is_first[row]) continue;
    const int64 at = (int64)indices[row] * row_size + column;
    for (int64 each = row; each >= 0; each = next[each]) {
      UpdateElement<T, Rule, kFlag>(rule, update, at, ((const T*)update.grad)[each * row_size + column]);
    }
  }
}
