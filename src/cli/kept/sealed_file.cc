#include "cli/kept/sealed_file.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "config/config.h"
#include "rulebook/replace_file.h"

namespace weir {

std::string SealedFile::seal_of(std::string_view mark, std::string_view body) {
  return fmt::format("{}{:016x}\n", mark, XXH3_64bits(body.data(), body.size()));
}

std::optional<std::string_view> SealedFile::body_of(std::string_view mark, std::string_view file) {
  const std::string_view seal = file.substr(0, file.find('\n') + 1);
  const std::string_view body = file.substr(seal.size());
  return seal == seal_of(mark, body) ? std::optional(body) : std::nullopt;
}

std::optional<Fault> SealedFile::unless_missing(const std::error_code& error) const {
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  return Fault{fmt::format("cannot read the {} file {}: {}", kind_.name, path_, error.message())};
}

// It may be the configuration, or a device, by mistake.
std::optional<Fault> SealedFile::check() const {
  if (!is_used()) return std::nullopt;
  const std::string start = fmt::format("weir {} ", kind_.name);
  const auto begin = read_file(path_, start.size() - 1);
  if (!begin) return unless_missing(begin.error());
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(path_, ignored);
  if (is_file && start.starts_with(*begin)) return std::nullopt;
  return Fault{
      fmt::format("{} is not a {} file; name another file, or move this one", path_, kind_.name)};
}

std::optional<Fault> SealedFile::load(
    const std::function<bool(std::string_view body)>& take) const {
  if (auto fault = check(); fault || !is_used()) return fault;
  const auto read = read_file(path_, kind_.bytes_max);
  if (!read) return unless_missing(read.error());
  const auto body = body_of(kind_.mark, *read);
  if (body && take(*body)) return std::nullopt;
  const bool is_damaged = read->starts_with(kind_.mark);
  return move_aside(is_damaged ? "is damaged" : "is damaged, or of another version");
}

std::optional<Fault> SealedFile::move_aside(std::string_view reason) const {
  const std::string aside = path_ + ".broken";
  if (std::rename(path_.c_str(), aside.c_str()) != 0) {
    return Fault{fmt::format("{} {}, and cannot be moved to {}: {}", path_, reason, aside,
                             std::strerror(errno))};
  }
  spdlog::error("{} {}: starting without its {}; it is now {}", path_, reason, kind_.content,
                aside);
  return std::nullopt;
}

std::optional<Fault> SealedFile::save(std::string_view body) {
  auto fault = replace_file(path_, seal_of(kind_.mark, body).append(body), kOwnerOnly);
  const bool had_failed = std::exchange(has_failed_, fault.has_value());
  if (fault && !had_failed) spdlog::error("{} are not kept: {}", kind_.content, fault->message);
  if (!fault && had_failed) spdlog::info("{} are kept in {} again", kind_.content, path_);
  return fault;
}

}  // namespace weir
