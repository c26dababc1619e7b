#include "nginx/changed_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "nginx/admin_testing.h"
#include "nginx/judge_testing.h"

namespace weir::nginx {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kStrictLogin = R"({"id":"login","match":{"path":"/login"},
    "key":"client","limit":1,"window":"1m"})";

// A worker with its pages.
struct Office {
  Office(std::unique_ptr<Judge> of, const Admin::World& world, Instant now)
      : judge(std::move(of)), admin(world, now) {}

  std::unique_ptr<Judge> judge;
  Admin admin;
};

class ChangedRulesTest : public Workers {
 protected:
  std::unique_ptr<Office> office(const Gateway& gateway) {
    auto judge = std::make_unique<Judge>(gateway, Zone(zone_), figures_, ids_, clock_);
    const Admin::World world{.judge = *judge,
                             .gateway = gateway,
                             .zone = Zone(zone_),
                             .ids = ids_,
                             .fleet = nullptr,
                             .workers = 2,
                             .say = [this](const std::string& line) { said_ += line + "\n"; }};
    return std::make_unique<Office>(std::move(judge), world, clock_.time);
  }
  std::string send(Office& office, std::string_view method, std::string_view target,
                   std::string_view body = {}) {
    return ask_page(office.admin,
                    {.method = method,
                     .place = {},
                     .target = target,
                     .fields = kFromHere,
                     .body = {},
                     .client = IpAddress::parse("127.0.0.1")},
                    std::string(body), clock_.time);
  }
  std::string put(Office& office, std::string_view id, std::string_view rule) {
    return send(office, "PUT", "/admin/rules/" + std::string(id), rule);
  }
  static std::string version_of(const std::string& reply) {
    return reply.substr(reply.find("ETag: "), reply.find("\r\n", reply.find("ETag: ")));
  }
  bool is_denied(Office& office, std::string_view uri = "/login") {
    return ask(*office.judge, uri).is_denied();
  }

  std::string said_;
  std::unique_ptr<Office> one_ = office(*loaded_.gateway);
  std::unique_ptr<Office> other_ = office(*loaded_.gateway);
};

TEST_F(ChangedRulesTest, AChangeHoldsInEveryWorkerFromItsNextRequestOn) {
  EXPECT_FALSE(is_denied(*other_));
  const auto done = put(*one_, "login", kStrictLogin);
  EXPECT_THAT(done, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"persisted\":false")));
  EXPECT_THAT(said_, HasSubstr("by request: changed login"));
  EXPECT_TRUE(is_denied(*other_));
  EXPECT_TRUE(is_denied(*one_));
  EXPECT_EQ(version_of(send(*other_, "GET", "/admin/rules")),
            version_of(send(*one_, "GET", "/admin/rules")));

  EXPECT_THAT(put(*other_, "more", R"({"id":"more","match":{"path":"/more"},"limit":0,
                                       "window":"1m"})"),
              StartsWith("HTTP/1.1 201"));
  EXPECT_TRUE(is_denied(*one_, "/more"));
  EXPECT_THAT(send(*one_, "DELETE", "/admin/rules/more"), StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(is_denied(*other_, "/more"));
}

TEST_F(ChangedRulesTest, AChangeThatLetsAllClientsShareACounterWarns) {
  put(*one_, "login", kStrictLogin);
  const auto done =
      put(*one_, "login", R"({"id":"login","match":{"path":"/login"},"limit":500,"window":"1m"})");
  EXPECT_THAT(done, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("warnings":["the rule had)")));
  EXPECT_THAT(said_, HasSubstr("by request: login: warning: the rule had a 'key'"));
}

TEST_F(ChangedRulesTest, ChangesOfBothWorkersAddUp) {
  EXPECT_THAT(put(*one_, "a", R"({"id":"a","match":{"path":"/a"},"limit":0,"window":"1m"})"),
              StartsWith("HTTP/1.1 201"));
  EXPECT_THAT(put(*other_, "b", R"({"id":"b","match":{"path":"/b"},"limit":0,"window":"1m"})"),
              StartsWith("HTTP/1.1 201"));
  for (Office* const office : {one_.get(), other_.get()}) {
    EXPECT_TRUE(is_denied(*office, "/a"));
    EXPECT_TRUE(is_denied(*office, "/b"));
  }
  EXPECT_THAT(send(*one_, "GET", "/admin/history"), HasSubstr("added b"));
}

TEST_F(ChangedRulesTest, AWorkerThatStartsLaterFollows) {
  put(*one_, "login", kStrictLogin);
  EXPECT_FALSE(is_denied(*one_));
  other_ = office(*loaded_.gateway);
  EXPECT_TRUE(is_denied(*other_));
}

// Places that choose among the rules have sets of their own.
TEST_F(ChangedRulesTest, RulesThatPlacesNameChangeThereAndStay) {
  EXPECT_THAT(put(*one_, "named", R"({"id":"named","limit":0,"window":"1m"})"),
              StartsWith("HTTP/1.1 200"));
  Question question{.described = other_->judge->scratch(), .rules = named_};
  question.described.request = {.method = "GET", .client = IpAddress::parse("192.0.2.1")};
  set_target("/x", "example.com", question.described);
  const Instant now = other_->judge->catch_up();
  EXPECT_TRUE(other_->judge->judge(question, now).is_denied());
  EXPECT_THAT(send(*one_, "DELETE", "/admin/rules/named"),
              AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("weir_rules")));
}

TEST_F(ChangedRulesTest, RefusesWhatWorkersCannotDo) {
  EXPECT_THAT(put(*one_, "log", R"({"id":"log","match":{"path":"/log"},"limit":1,"window":"1m",
                                     "algorithm":"sliding_log"})"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("cannot share")));
  EXPECT_THAT(put(*one_, "login", R"({"id":"login","limti":1})"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(put(*one_, "login?persist=true", kStrictLogin),
              AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("reload nginx")));
  EXPECT_FALSE(is_denied(*other_));
  EXPECT_FALSE(is_denied(*other_));
}

TEST_F(ChangedRulesTest, RulesThatFindNoRoomChangeNothing) {
  std::string reply;
  int added = 0;
  for (; added < 500; ++added) {
    const std::string id = "rule_" + std::to_string(added);
    reply = put(*one_, id,
                R"({"id":")" + id + R"(","match":{"path":"/)" + std::string(100, 'x') + id +
                    R"("},"limit":0,"window":"1m"})");
    if (!reply.starts_with("HTTP/1.1 201")) break;
  }
  EXPECT_GT(added, 20);
  EXPECT_THAT(reply, AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("weir_zone has no room")));
  const std::string last = "rule_" + std::to_string(added);
  EXPECT_THAT(send(*one_, "GET", "/admin/rules/" + last), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(version_of(send(*other_, "GET", "/admin/rules")),
            version_of(send(*one_, "GET", "/admin/rules")));
}

TEST_F(ChangedRulesTest, AReloadBringsBackTheFilesRules) {
  put(*one_, "login", kStrictLogin);
  LoadedText reloaded(kRules, ids_);
  ASSERT_TRUE(reloaded.gateway->choose(std::array{std::string_view("named")}));
  const auto next = office(*reloaded.gateway);
  EXPECT_FALSE(is_denied(*next));
  EXPECT_FALSE(is_denied(*next));
  EXPECT_TRUE(is_denied(*one_));  // which ends its last requests
  EXPECT_THAT(put(*one_, "login", kStrictLogin), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(put(*next, "login", kStrictLogin), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace weir::nginx
