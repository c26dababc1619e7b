#include "rules/request/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <simdjson.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/base64url.h"
#include "base/decimal.h"

namespace weir {
namespace {

namespace json = simdjson::dom;

constexpr std::size_t kSecretMin = 32;  // RFC 7518 3.2: as long as the hash
constexpr int kRsaBitsMin = 2048;       // RFC 7518 3.3
constexpr std::size_t kDepthMax = 16;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Decodes an object. It is valid until the next one is read.
std::optional<json::object> read_object(std::string_view encoded, TokenScratch& scratch) {
  if (!decode_base64url(encoded, scratch.json)) return std::nullopt;
  const std::size_t size = scratch.json.size();
  scratch.json.resize(size + simdjson::SIMDJSON_PADDING);
  json::object object;
  const auto error = scratch.parser->parse(scratch.json.data(), size, false).get(object);
  return error == simdjson::SUCCESS ? std::optional(object) : std::nullopt;
}

struct TokenParts {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
  std::string_view signed_text;
};

std::optional<TokenParts> split(std::string_view token) {
  const auto first = token.find('.');
  const auto last = token.rfind('.');
  if (first == last || token.find('.', first + 1) != last) return std::nullopt;
  return TokenParts{.header = token.substr(0, first),
                    .payload = token.substr(first + 1, last - first - 1),
                    .signature = token.substr(last + 1),
                    .signed_text = token.substr(0, last)};
}

// Whether the key has signed the token.
TokenVerdict authenticity(const TokenParts& parts, const TokenKey& key, TokenScratch& scratch) {
  const auto header = read_object(parts.header, scratch);
  std::string_view algorithm;
  if (!header || (*header)["alg"].get(algorithm) != simdjson::SUCCESS) {
    return TokenVerdict::kMalformed;
  }
  // A token may name extensions that its reader must know. We know none (RFC 7515 4.1.11).
  if ((*header)["crit"].error() != simdjson::NO_SUCH_FIELD) return TokenVerdict::kCritical;
  if (algorithm != key.algorithm()) return TokenVerdict::kAlgorithm;
  const bool verifies = decode_base64url(parts.signature, scratch.signature) &&
                        key.verifies(parts.signed_text, scratch.signature);
  return verifies ? TokenVerdict::kCounts : TokenVerdict::kSignature;
}

// Whether the claim is missing, or is a time for which `holds` is true; else `fault`.
template <typename Holds>
TokenVerdict time_verdict(const json::object& claims, std::string_view name, TokenVerdict fault,
                          Holds holds) {
  const auto claim = claims[name];
  if (claim.error() == simdjson::NO_SUCH_FIELD) return TokenVerdict::kCounts;
  double seconds = 0;
  if (claim.get(seconds) != simdjson::SUCCESS) return TokenVerdict::kDates;
  return holds(seconds) ? TokenVerdict::kCounts : fault;
}

TokenVerdict timeliness(const json::object& claims, Instant now) {
  const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  const auto end =
      time_verdict(claims, "exp", TokenVerdict::kExpired, [&](double at) { return seconds < at; });
  if (end != TokenVerdict::kCounts) return end;
  return time_verdict(claims, "nbf", TokenVerdict::kTooEarly,
                      [&](double at) { return seconds >= at; });
}

// Nothing if the value has no text. REQUIRES: the capacity of `text` suffices.
std::optional<std::string_view> text_of(const json::element& value, std::string& text) {
  if (value.is_string()) return value.get_string().value_unsafe();
  if (value.is_bool()) return value.get_bool().value_unsafe() ? "true" : "false";
  std::int64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS) return std::nullopt;
  const std::size_t begin = text.size();
  append_decimal(text, number);
  return std::string_view(text).substr(begin);
}

void add_claim(std::string_view name, const json::element& value, std::string& text,
               std::vector<NameValue>& claims) {
  json::array items;
  if (value.get(items) != simdjson::SUCCESS) {
    if (const auto found = text_of(value, text)) claims.push_back({.name = name, .value = *found});
    return;
  }
  for (const json::element item : items) {
    if (const auto found = text_of(item, text)) claims.push_back({.name = name, .value = *found});
  }
}

}  // namespace

TokenScratch::TokenScratch() : parser(std::make_unique<json::parser>(kTokenMax)) {
  // If there is no memory for this, parsing tries again, and fails.
  std::ignore = parser->allocate(kTokenMax, kDepthMax);
}

TokenScratch::~TokenScratch() = default;

Result<TokenKey, Fault> TokenKey::hs256(std::string secret) {
  if (secret.size() < kSecretMin) return Fault{"the secret is shorter than 32 bytes"};
  TokenKey key;
  key.secret_ = std::move(secret);
  return key;
}

Result<TokenKey, Fault> TokenKey::rs256(const std::string& public_key_pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(public_key_pem.data(), static_cast<int>(public_key_pem.size())), &BIO_free);
  TokenKey key;
  key.rsa_ = {PEM_read_bio_PUBKEY(memory.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free};
  if (key.rsa_ == nullptr) {
    return Fault{"it holds no public key in PEM form (-----BEGIN PUBLIC KEY-----)"};
  }
  if (EVP_PKEY_get_base_id(key.rsa_.get()) != EVP_PKEY_RSA)
    return Fault{"its key is not an RSA key"};
  if (EVP_PKEY_get_bits(key.rsa_.get()) < kRsaBitsMin) {
    return Fault{"its key has less than 2048 bits"};
  }
  return key;
}

bool TokenKey::verifies(std::string_view text, std::string_view signature) const {
  if (rsa_ == nullptr) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> expected{};
    unsigned size = 0;
    HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()), bytes(text), text.size(),
         expected.data(), &size);
    return size == signature.size() && CRYPTO_memcmp(expected.data(), signature.data(), size) == 0;
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  return context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, rsa_.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                          text.size()) == 1;
}

TokenVerdict read_claims(std::string_view token, const TokenKey* key, const ClaimNames& names,
                         TokenScratch& scratch, std::vector<NameValue>& claims, Instant now) {
  claims.clear();
  if (token.empty()) return TokenVerdict::kAbsent;
  if (token.size() > kTokenMax) return TokenVerdict::kTooLong;
  const auto parts = split(token);
  if (!parts) return TokenVerdict::kMalformed;
  auto verdict = TokenVerdict::kCounts;
  if (key != nullptr) verdict = authenticity(*parts, *key, scratch);
  if (verdict != TokenVerdict::kCounts) return verdict;
  const auto object = read_object(parts->payload, scratch);
  if (!object) return TokenVerdict::kMalformed;
  if (key != nullptr) verdict = timeliness(*object, now);
  if (verdict != TokenVerdict::kCounts) return verdict;
  scratch.text.clear();
  scratch.text.reserve(kTokenMax);  // a number is no longer than its digits in the token
  for (const auto [name, value] : *object) {
    const auto wanted = names.find(name);
    if (wanted != names.end()) add_claim(*wanted, value, scratch.text, claims);
  }
  return verdict;
}

}  // namespace weir
