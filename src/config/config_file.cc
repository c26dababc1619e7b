#include "config/config_file.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "config/yaml/yaml_text.h"

namespace weir {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

ConfigErrors unreadable(const std::string& path, int error) {
  return {ConfigError{.file = path,
                      .message = "cannot be read: " + std::generic_category().message(error)}};
}

}  // namespace

std::variant<std::string, ConfigErrors> read_config_file(const std::string& path) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) return unreadable(path, errno);
  std::string text(kYamlBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return unreadable(path, errno);
  return text;
}

}  // namespace weir
