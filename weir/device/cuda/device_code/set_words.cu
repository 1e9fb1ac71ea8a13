// What recorded work reads anew in every replay.
struct WordSettings {
  unsigned long long count;
  unsigned long long* addresses[64];
  unsigned long long words[64][3];
};
extern "C" __global__ void SetWords(const WordSettings settings) {
  const int i = threadIdx.x;
  if (i >= settings.count) return;
  for (int k = 0; k < 3; ++k) settings.addresses[i][k] = settings.words[i][k];
}
