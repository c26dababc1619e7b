#include "rules/request/token.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/base64url_testing.h"

namespace weir {
namespace {

constexpr std::string_view kSecret = "an example of a secret, 32 bytes";
constexpr std::int64_t kNow = 1'800'000'000;  // seconds

std::string hmac(std::string_view text, std::string_view secret = kSecret) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
  return {reinterpret_cast<const char*>(out), size};
}

std::string token(std::string_view payload, std::string_view header = R"({"alg":"HS256"})") {
  const std::string text = base64url(header) + "." + base64url(payload);
  return text + "." + base64url(hmac(text));
}

TokenKey secret_key() { return *TokenKey::hs256(std::string(kSecret)); }

std::string claims(std::string_view text, const TokenKey* key) {
  static const ClaimNames kNames = {"plan", "roles", "id", "admin"};
  TokenScratch scratch;
  std::vector<NameValue> found;
  read_claims(text, key, kNames, scratch, found, instant_from_epoch_us(kNow * 1'000'000));
  std::string all;
  for (const NameValue& claim : found) {
    all.append(claim.name).append("=").append(claim.value).append("|");
  }
  return all;
}

std::string verified(std::string_view text) {
  const TokenKey key = secret_key();
  return claims(text, &key);
}

TEST(Token, HasTheClaimsThatAreWanted) {
  EXPECT_EQ(verified(token(R"({"plan":"gold","sub":"x","id":42,"admin":true})")),
            "plan=gold|id=42|admin=true|");
  EXPECT_EQ(verified(token(R"({"roles":["a","b",-3,{"c":1},null],"plan":{"x":1},"id":1.5})")),
            "roles=a|roles=b|roles=-3|");
  EXPECT_EQ(verified(token(R"({"plan":"g\u00f6ld\n"})")), "plan=g\xc3\xb6ld\n|");
}

TEST(Token, IsBelievedOnlyWithTheRightSignature) {
  const std::string good = token(R"({"plan":"gold"})");
  EXPECT_EQ(verified(good), "plan=gold|");
  const auto dot = good.rfind('.');
  std::string tampered = good;
  tampered[dot + 5] = tampered[dot + 5] == 'A' ? 'B' : 'A';
  EXPECT_EQ(verified(tampered), "");
  EXPECT_EQ(verified(good.substr(0, dot + 1)), "");
  EXPECT_EQ(verified(good.substr(0, dot)), "");
  EXPECT_EQ(verified(good.substr(0, good.size() - 1)), "");
  EXPECT_EQ(verified(base64url(R"({"alg":"HS256"})") + "." + base64url(R"({"plan":"free"})") +
                     good.substr(dot)),
            "");
}

TEST(Token, MayNotChooseAnotherAlgorithm) {
  const std::string payload = R"({"plan":"gold"})";
  for (const char* header :
       {R"({"alg":"none"})", R"({"alg":"RS256"})", R"({"alg":"hs256"})", R"({"alg":256})", R"({})",
        R"([])", "", R"({"alg":"HS256","crit":["exp"]})"}) {
    EXPECT_EQ(verified(token(payload, header)), "") << header;
  }
  EXPECT_EQ(verified(token(payload, R"({"typ":"JWT","alg":"HS256","kid":"1"})")), "plan=gold|");
}

TEST(Token, IsBelievedInItsTime) {
  const auto at = [](const std::string& times) {
    return verified(token(R"({"plan":"gold",)" + times + "}"));
  };
  EXPECT_EQ(at(R"("exp":1800000001)"), "plan=gold|");
  EXPECT_EQ(at(R"("exp":1800000000.5)"), "plan=gold|");
  EXPECT_EQ(at(R"("exp":1800000000)"), "");
  EXPECT_EQ(at(R"("nbf":1800000000)"), "plan=gold|");
  EXPECT_EQ(at(R"("nbf":1800000001)"), "");
  EXPECT_EQ(at(R"("exp":"1800000001")"), "");
  EXPECT_EQ(at(R"("exp":null)"), "");
}

TokenVerdict verdict_on(std::string_view text) {
  const TokenKey key = secret_key();
  TokenScratch scratch;
  std::vector<NameValue> found;
  return read_claims(text, &key, {}, scratch, found, instant_from_epoch_us(kNow * 1'000'000));
}

TEST(Token, ThatDoesNotCountHasAReason) {
  using enum TokenVerdict;
  const std::string good = token(R"({"plan":"gold"})");
  EXPECT_EQ(verdict_on(good), kCounts);
  EXPECT_EQ(verdict_on(""), kAbsent);
  EXPECT_EQ(verdict_on("dXNlcjpwYXNz"), kMalformed);
  EXPECT_EQ(verdict_on("a.b.c"), kMalformed);
  EXPECT_EQ(verdict_on(std::string(kTokenMax + 1, 'x')), kTooLong);
  EXPECT_EQ(verdict_on(token("{}", R"({"alg":"none"})")), kAlgorithm);
  EXPECT_EQ(verdict_on(token("{}", R"({"alg":"HS256","crit":["exp"]})")), kCritical);
  EXPECT_EQ(verdict_on(good.substr(0, good.rfind('.') + 1)), kSignature);
  EXPECT_EQ(verdict_on(token(R"({"exp":1800000000})")), kExpired);
  EXPECT_EQ(verdict_on(token(R"({"nbf":1800000001})")), kTooEarly);
  EXPECT_EQ(verdict_on(token(R"({"exp":"soon"})")), kDates);
  EXPECT_EQ(token_fault(kDates), "its 'exp' or 'nbf' is no number");
  EXPECT_EQ(token_fault(kTooEarly), "it does not hold yet");
}

TEST(Token, WithoutAKeyIsReadAsItIs) {
  const std::string payload = base64url(R"({"plan":"gold","exp":1})");
  EXPECT_EQ(claims("e30." + payload + ".", nullptr), "plan=gold|");
  EXPECT_EQ(claims("." + payload + ".nonsense", nullptr), "plan=gold|");
}

TEST(Token, ThatIsNoneHasNoClaims) {
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), std::string("a.b.c"),
        std::string("a.b.c.d"), std::string("e30.W10.x"), std::string("e30.e30=.x"),
        "e30." + base64url("{\"plan\":\"a\"} x") + ".", "e30." + base64url("{\"plan\":") + ".",
        "e30." + base64url("{\"plan\":\"\xff\"}") + ".",
        "e30." + base64url("{\"plan\":" + std::string(1000, '[') + std::string(1000, ']') + "}") +
            ".",
        "e30." + base64url("{\"plan\":\"" + std::string(kTokenMax, 'x') + "\"}") + "."}) {
    EXPECT_EQ(claims(text, nullptr), "") << text.substr(0, 80);
    EXPECT_EQ(verified(text), "") << text.substr(0, 80);
  }
}

// Each text has one spelling: else a blocked token could be spelled in another way.
TEST(Token, HasOneSpelling) {
  const std::string encoded = base64url(R"({"plan":"a"})");  // 12 bytes: no bits are left over
  EXPECT_EQ(claims("." + encoded + ".", nullptr), "plan=a|");
  EXPECT_EQ(claims("." + base64url(R"({"plan":"ab"})") + ".", nullptr), "plan=ab|");
  std::string other = base64url(R"({"plan":"ab"})");
  other.back() = static_cast<char>(other.back() + 1);
  EXPECT_EQ(claims("." + other + ".", nullptr), "");
  EXPECT_EQ(claims("." + encoded + "A.", nullptr), "");
}

struct RsaPair {
  explicit RsaPair(unsigned bits) : key(EVP_RSA_gen(bits), &EVP_PKEY_free) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PUBKEY(memory.get(), key.get());
    char* text = nullptr;
    const auto size = BIO_get_mem_data(memory.get(), &text);
    pem.assign(text, static_cast<std::size_t>(size));
  }
  std::string sign(std::string_view text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get());
    std::string signature(1024, '\0');
    std::size_t size = signature.size();
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    signature.resize(size);
    return signature;
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key;
  std::string pem;
};

TEST(Token, MayBeSignedWithRsa) {
  const RsaPair pair(2048);
  const auto made = TokenKey::rs256(pair.pem);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const TokenKey& key = *made;
  const std::string text = base64url(R"({"alg":"RS256"})") + "." + base64url(R"({"plan":"a"})");
  EXPECT_EQ(claims(text + "." + base64url(pair.sign(text)), &key), "plan=a|");
  EXPECT_EQ(claims(text + "." + base64url(pair.sign(text + "x")), &key), "");
  EXPECT_EQ(claims(text + ".", &key), "");
  EXPECT_EQ(claims(token(R"({"plan":"a"})"), &key), "");
}

// Everybody knows the public key, so no other algorithm may use it as a secret.
TEST(Token, MayNotTakeThePublicKeyForASecret) {
  const RsaPair pair(2048);
  const TokenKey key = *TokenKey::rs256(pair.pem);
  const std::string payload = "." + base64url(R"({"plan":"a"})");
  for (const std::string_view algorithm : {"HS256", "RS256", "none", "PS256", "rs256"}) {
    const auto text = base64url(R"({"alg":")" + std::string(algorithm) + R"("})") + payload;
    EXPECT_EQ(claims(text + "." + base64url(hmac(text, pair.pem)), &key), "") << algorithm;
    EXPECT_EQ(claims(text + ".", &key), "") << algorithm;
  }
}

TEST(TokenKey, HasToBeStrong) {
  const auto mistake = [](const auto& made) { return made ? std::string() : made.error().message; };
  EXPECT_EQ(mistake(TokenKey::hs256(std::string(31, 'x'))), "the secret is shorter than 32 bytes");
  EXPECT_EQ(mistake(TokenKey::hs256(std::string(32, 'x'))), "");
  EXPECT_EQ(mistake(TokenKey::rs256(RsaPair(1024).pem)), "its key has less than 2048 bits");
  EXPECT_NE(mistake(TokenKey::rs256("-----BEGIN nonsense")), "");
}

}  // namespace
}  // namespace weir
