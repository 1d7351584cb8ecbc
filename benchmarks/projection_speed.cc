// Times the projection core beside memcpy of the same output bytes, on one core.
//
// Arguments: a file with one text a line, repetitions, then config texts. Prints one line for each
// config: tokens, output bytes, and the best seconds for memcpy, writing (hashing and expanding)
// and the whole (tokenising included). Each repetition times all of them in turn, so that they see
// the same machine.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "projection.h"

namespace {

using export_mobile::AnalysedText;
using export_mobile::Projection;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Best {
  double seconds = 1e9;
  template <typename Work>
  void Time(const Work& work) {
    const double start = Now();
    work();
    const double took = Now() - start;
    if (took < seconds) seconds = took;
  }
};

volatile int8_t sink;  // keeps the compiler from leaving the copies out

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<std::string> texts;
  std::ifstream file(argv[1]);
  for (std::string line; std::getline(file, line);) texts.push_back(line);
  const int repetitions = std::atoi(argv[2]);
  for (int i = 3; i < argc; ++i) {
    export_mobile::ProjectionConfig config;
    Projection projection;
    export_mobile::Status status = export_mobile::ParseConfig(argv[i], &config);
    if (status.ok()) status = Projection::Create(config, &projection);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message.c_str());
      return 2;
    }
    std::vector<AnalysedText> analysed(texts.size());
    std::vector<size_t> begins;
    size_t tokens = 0;
    for (size_t t = 0; t < texts.size(); ++t) {
      projection.Analyse(texts[t], 0, &analysed[t]);
      begins.push_back(tokens * config.feature_size);
      tokens += static_cast<size_t>(projection.Length(analysed[t]));
    }
    const size_t bytes = tokens * config.feature_size;
    std::vector<int8_t> out(bytes);
    std::vector<int8_t> source(bytes, 1);
    const auto write = [&](size_t t) {
      projection.Write(analysed[t], projection.Length(analysed[t]), out.data() + begins[t]);
    };
    Best copying, writing, whole;
    for (int r = 0; r < repetitions; ++r) {
      copying.Time([&] {
        // Text by text, as the projection writes.
        for (size_t t = 0; t < texts.size(); ++t) {
          const size_t end = t + 1 < texts.size() ? begins[t + 1] : bytes;
          std::memcpy(out.data() + begins[t], source.data() + begins[t], end - begins[t]);
        }
        sink = out[static_cast<size_t>(r) % bytes];
      });
      writing.Time([&] {
        for (size_t t = 0; t < texts.size(); ++t) write(t);
        sink = out[static_cast<size_t>(r) % bytes];
      });
      whole.Time([&] {
        for (size_t t = 0; t < texts.size(); ++t) {
          projection.Analyse(texts[t], 0, &analysed[t]);
          write(t);
        }
        sink = out[static_cast<size_t>(r) % bytes];
      });
    }
    std::printf("%zu %zu %.9g %.9g %.9g\n", tokens, bytes, copying.seconds, writing.seconds,
                whole.seconds);
  }
  return 0;
}
