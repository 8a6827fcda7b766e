/* examples/watch/train.c - a loop in C with marks: cc -I adapters/c train.c && sluice watch -- ./a.out
 * SPDX-License-Identifier: Apache-2.0 */
#include "sluice_marks.h"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 40;
  static double weights[4096];
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    sluice_marks_step();
    uint64_t begin = sluice_marks_begin();
    for (int i = 0; i < 4096; ++i) sum += weights[i] * i;
    sluice_marks_end("forward", begin);
    begin = sluice_marks_begin();
    for (int i = 0; i < 4096; ++i) weights[i] += 1e-6 * (i - sum);
    sluice_marks_end("update", begin);
  }
  sluice_marks_pause();
  printf("sum %.3f\n", sum);
  return 0;
}
