// The fields of a rule: the part of the table in config/fields/fields.h about what rules count and
// do. match_fields.cc has the fields about what they match.

#include "config/fields/fields.h"
#include "rules/mode.h"
#include "rules/request/key_part.h"
#include "rules/request_match.h"
#include "rules/rollout.h"
#include "rules/rule.h"
#include "rules/time/schedule.h"

namespace weir {
namespace {

constexpr TextForm kDays = {"^(mon|tue|wed|thu|fri|sat|sun)(-(mon|tue|wed|thu|fri|sat|sun))?$",
                            "a day such as mon, or days such as mon-fri"};
constexpr TextForm kTimeOfDay = {"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$",
                                 "a time of day in quotes, such as \"08:00\""};
constexpr TextForm kResetTime = {"^([01][0-9]|2[0-3]):[0-5][0-9]$",
                                 "a time of day in quotes, such as \"09:00\""};
constexpr TextForm kZone = {"^[A-Za-z0-9_+/-]+$", "the name of a time zone, such as Europe/Berlin"};

constexpr Field kActiveFields[] = {
    row::texts("days", &kDays, "The days: mon, or mon-fri, or a list of such. Without it, all."),
    row::text("from", &kTimeOfDay, "When it begins, in quotes.").defaults_to("00:00"),
    row::text("to", &kTimeOfDay,
              "When it ends, in quotes; if that is before 'from', on the next day.")
        .defaults_to("24:00"),
    row::text<&Schedule::Spec::zone>("zone", &kZone, "The time zone, such as Europe/Berlin.")
        .defaults_to("UTC"),
};

constexpr Section kActive = {"'active'", "Hours of the week, by the clocks of a time zone.",
                             kActiveFields};

constexpr Field kAlgorithm = row::choice<&QuotaSpec::algorithm>(
    "algorithm", kAlgorithmNames, "How limit and window are read. Without it, as the rule's own.");

constexpr Field kLimit = row::integer<&QuotaSpec::limit>(
                             "limit", {0, kLimitMax}, "How many units a key may spend in a window.")
                             .required();

constexpr Field kWindow =
    row::duration<&QuotaSpec::window>(
        "window", kWindowRange,
        "The length of the window, or a window of the rule's calendar: day, week, month or year.")
        .with(&Field::choices, std::span<const std::string_view>(kCalendarUnitNames))
        .required();

constexpr Field kAnchor = row::integer(
    "anchor", {1, 31},
    "Only for 'window: month': the day on which a month begins, as of a customer's bill. Months "
    "without that day begin on their last one.");

constexpr Field kBurst = row::integer<&QuotaSpec::burst>(
    "burst", {1, kLimitMax},
    "Only for token_bucket: the most that can be spent at once. Without it, the limit.");

constexpr std::string_view kBounds[] = {"average", "never_over"};
constexpr Field kBound = row::choice(
    "bound", kBounds,
    "Only for sliding_window: average, or never_over. Without it, as the rule's own, unless there "
    "is an 'algorithm'.");

constexpr Field kMoreLimitsFields[] = {kLimit, kWindow, kAlgorithm, kBound, kBurst};

constexpr Section kMoreLimits = {"an item of 'more_limits'", "A further limit.", kMoreLimitsFields};

constexpr Field kTierFields[] = {
    row::text("name", kAnyText, "The name of the tier, as the property has it.").required(),
    kLimit,
    kWindow,
    kAnchor,
    kAlgorithm,
    kBound,
    kBurst,
    row::sections("more_limits", kMoreLimits, "Further limits of the tier, all of which hold."),
};

constexpr Section kTier = {"a tier", "The limits of those who belong to a tier.", kTierFields};

constexpr Field kOverrideFields[] = {
    row::text("key", kAnyText, "The key it is for.").required(),
    kLimit,
    kWindow,
    kAnchor,
    kAlgorithm,
    kBound,
    kBurst,
    row::sections("more_limits", kMoreLimits, "Further limits of the key, all of which hold."),
};

constexpr Section kOverride = {"an override", "The limits of one key.", kOverrideFields};

constexpr TextForm kHeaderText = {"^[\\x20-\\x7e]*$",
                                  "a line of visible ASCII characters and blanks"};

constexpr Field kDenyHeaderFields[] = {
    row::text("name", &kHeaderNameForm, "The name of the header.").required(),
    row::text("value", &kHeaderText,
              "Its value; {{key}} and the like stand for what the denial is about.")
        .required(),
};

constexpr Section kDenyHeader = {"a header of 'on_deny'", "A header of the answer.",
                                 kDenyHeaderFields};

// Nobody waits longer than this for a page.
constexpr FieldRange kDelayRange = {1'000, 3'600'000'000};

constexpr Field kOnDenyFields[] = {
    row::texts("block", kAnyText,
               "How long a key that is denied is blocked: then it is denied without being counted. "
               "Several durations: the first block, the second, and so on."),
    row::integer<&Denial::block_after>("block_after", {1, 1000},
                                       "How many denials within block_window lead to a block.")
        .defaults_to("1"),
    row::duration<&Denial::block_window>("block_window", kWindowRange,
                                         "The time in which denials are counted for block_after.")
        .defaults_to("1m"),
    row::duration<&Denial::block_memory>(
        "block_memory", kWindowRange,
        "How long a block that has ended counts for the length of the next, at least.")
        .defaults_to("1d"),
    row::duration<&Denial::delay_max>(
        "delay_up_to", kDelayRange,
        "Only for nginx with Weir in it, and token_bucket: a request that would be denied waits "
        "for its turn instead, so long at most, at most a window."),
    row::integer<&Denial::waiting_max>(
        "waiting_max", {1, 100'000},
        "How many requests of the rule wait at once in one nginx; more are denied.")
        .defaults_to("100"),
    row::integer<&Denial::status>(
        "status", {400, 499},
        "The status of the answer, where the door is HTTP and its proxy does not want another. "
        "Without it, 429. Not 5xx, which proxies take for no answer and let pass."),
    row::text<&Denial::content_type>(
        "content_type", &kHeaderText,
        "The content type of the body: says how what is filled in is escaped."),
    row::text("body", kAnyText,
              "The body of the answer; {{key}}, {{retry_after}} and the like stand for what the "
              "denial is about."),
    row::sections("header", kDenyHeader, "Further headers of the answer."),
};

constexpr Section kOnDeny = {"'on_deny'", "What a denial brings.", kOnDenyFields};

constexpr std::string_view kCountOrSkip[] = {"count", "skip"};

constexpr Field kCountIfFields[] = {
    row::texts("status", kAnyText,
               "The status of the response, or 5xx for all from 500 to 599, or several.")
        .required(),
    row::choice("unknown", kCountOrSkip,
                "Whether a request counts whose response nobody has seen, as its client has left "
                "or the origin has not answered.")
        .defaults_to("count"),
};

constexpr Section kCountIf = {"'count_if'", "Which responses count.", kCountIfFields};

constexpr TextForm kEnforced = {"^([1-9]?[0-9]|100)%$", "a share of the keys from 0% to 100%"};
constexpr TextForm kEnforcedOr = {"^(([1-9]?[0-9]|100)%|proportional)$",
                                  "a share of the keys from 0% to 100%, or 'proportional'"};
constexpr TextForm kNotifyAt = {"^([1-9][0-9]?|100)%$",
                                "a part of the limit from 1% to 100%, such as 80%"};
constexpr TextForm kSurgeLimit = {"^[1-9][0-9]?%$", "a part of the limits from 1% to 99%"};

constexpr TextForm kStopIf = {"^ *denied_keys *> *[0-9]{1,2}(\\.[0-9]{1,4})? *% *$",
                              "'denied_keys>' and a share below 100%, such as denied_keys>0.1%"};

constexpr Field kRolloutFields[] = {
    row::texts("steps", &kEnforced,
               "The shares of the keys that are denied one after the other, rising; the first is "
               "the one before the rollout.")
        .required(),
    row::duration<&Rollout::every>("every", {1'000'000, kWindowMax.count()},
                                   "How long each step lasts.")
        .required(),
    row::text("stop_if", &kStopIf,
              "When it stops, and goes back a step: if a node denies more of the rule's keys than "
              "this share of those that it sees.")
        .required(),
    row::text<&Rollout::stopped>("stopped", kAnyText, "Why it has stopped. Weir writes it."),
};

constexpr Section kRollout = {"'rollout'", "How the rule comes to deny all of its keys.",
                              kRolloutFields};

constexpr Field kOnSurgeFields[] = {
    row::text(
        "limit", &kSurgeLimit,
        "The part of each limit, and burst, that holds while the traffic is unusual: 50%, for one.")
        .required(),
};

constexpr Section kOnSurge = {"'on_surge'", "What unusual traffic of the rule brings.",
                              kOnSurgeFields};

constexpr TextForm kKeyPart = {
    "^(client(/([0-9]|[12][0-9]|3[0-2])/"
    "([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))?|method|host|path|country|header:[A-Za-z0-9!#$%&'*+.^_`"
    "|~-]+|(query|cookie|jwt):[!-~]+)$",
    "client, client/24/48 (the bits that count of IPv4 and IPv6 addresses), method, host, path, "
    "country, header:NAME, query:NAME, cookie:NAME or jwt:CLAIM"};

constexpr Field kDescriptorEntryFields[] = {
    row::text<&DescriptorEntry::key>("key", &kNotEmpty, "The key of the entry.").required(),
    row::text<&DescriptorEntry::value>(
        "value", kAnyText,
        "Its value; '*' stands for any bytes. Without it, any value. A value that is left "
        "open is part of the counter's key."),
    row::boolean<&DescriptorEntry::shares>(
        "share_threshold", "Only for a value with '*': all values that match share one counter."),
};

constexpr Section kDescriptorEntry = {"an entry of 'descriptor'",
                                      "One entry of Envoy's descriptor.", kDescriptorEntryFields};

constexpr Field kDescriptorMatchFields[] = {
    row::text<&DescriptorMatch::domain>("domain", &kNotEmpty,
                                        "The domain of Envoy's rate limit filter.")
        .required(),
    row::sections("entries", kDescriptorEntry,
                  "The entries of the descriptor, all of them and in this order.")
        .required(),
};

constexpr Section kDescriptorMatch = {
    "'descriptor'", "Which descriptors of Envoy's rate limit filter the rule is for.",
    kDescriptorMatchFields};

constexpr std::array<std::string_view, 2> kLimited = {"requests", "concurrency"};

// A limit of requests under way has no window, and no algorithm.
constexpr Condition kOfRequests = {"of", "requests"};

constexpr std::array<std::string_view, 2> kLapses = {"charge", "refund"};

constexpr TextForm kReserveFrom = {
    "^(max_tokens|request:json:.*)$",
    "max_tokens, or a number of the request's JSON, such as request:json:max_tokens"};
constexpr TextForm kRuleName = {"^[^\\x00-\\x1f\\x7f]{1,100}$", "1 to 100 characters in one line"};

constexpr Field kRuleFields[] = {
    row::id<&Rule::id>("id",
                       "The name of the rule, by which requests, metrics and logs refer to it. "
                       "Unique in the file. Counters belong to it: a renamed rule starts at 0.")
        .required(),
    row::text<&Rule::name>("name", &kRuleName,
                           "What people call the rule, on pages and in documents."),
    row::choice("of", kLimited,
                "What the limit is of: requests in a window; or concurrency: what is under way at "
                "once. nginx with Weir in it counts each request until its response has been sent. "
                "Elsewhere callers take slots by /v1/acquire, and give them back by /v1/release.")
        .defaults_to("requests"),
    row::choice<&QuotaSpec::algorithm>("algorithm", kAlgorithmNames,
                                       "How limit and window are read. Windows of a calendar are "
                                       "fixed_window.")
        .defaults_to("sliding_window")
        .only_if(kOfRequests),
    row::integer<&QuotaSpec::limit>("limit", {0, kLimitMax},
                                    "How many units a key may spend in a window, or how much it "
                                    "may have under way. 0 denies everything.")
        .required(),
    row::duration<&QuotaSpec::window>(
        "window", kWindowRange,
        "The length of the window, 1ms to 366d: a duration such as 500ms, 90s or 1h30m, or a "
        "number of seconds with up to six decimals. Or a window of a calendar: day, week, month "
        "or year.")
        .with(&Field::choices, std::span<const std::string_view>(kCalendarUnitNames))
        .required()
        .only_if(kOfRequests),
    row::text("zone", &kZone,
              "Only for windows of a calendar: the time zone by whose clocks they begin.")
        .defaults_to("UTC")
        .only_if(kOfRequests),
    row::text("resets_at", &kResetTime,
              "Only for windows of a calendar: the time of day at which they begin, in quotes.")
        .defaults_to("00:00")
        .only_if(kOfRequests),
    row::choice("week_starts", kWeekdays, "Only for 'window: week': the day on which it begins.")
        .defaults_to("mon")
        .only_if(kOfRequests),
    kAnchor.only_if(kOfRequests),
    row::choice("bound", kBounds,
                "Only for sliding_window: what the limit bounds. average: units as if each window "
                "spent them evenly. never_over: units in any span of a window's length, at the "
                "price of some that would fit; each node counts for itself.")
        .defaults_to("average")
        .only_if({"algorithm", "sliding_window"}),
    row::integer<&QuotaSpec::burst>(
        "burst", {1, kLimitMax},
        "Only for token_bucket: the most a key can spend at once. Without it, the limit. At most "
        "what is refilled in 4 times 366 days.")
        .only_if({"algorithm", "token_bucket", "window"}),
    row::boolean<&Rule::enabled>(
        "enabled",
        "A disabled rule is checked like any other, but allows everything and counts nothing.")
        .defaults_to("true"),
    row::boolean<&Rule::shadow>("shadow",
                                "Whether the rule only counts and reports, but never denies a "
                                "request or descriptor that it has matched."),
    row::text(
        "enforce", &kEnforcedOr,
        "Of how many keys requests are denied: 10%, for one. All others are only counted, and "
        "neither blocked nor told. A higher share takes in the keys of a lower one. Which "
        "keys they are depends on the rule's id and the key, so all nodes agree. A client that "
        "chooses its key can choose one "
        "that is spared. proportional: of each key above its limit, the share of requests that is "
        "above is denied, evenly spread.")
        .defaults_to("100%"),
    row::section("rollout", kRollout,
                 "Raises 'enforce' step by step, and stops when it denies too many keys: weir "
                 "rollout starts it."),
    row::choice<&Rule::mode>(
        "mode", kModeNames,
        "How the nodes that share a store agree: local, async, leased or strict. local: each "
        "counts for itself. async: each counts and tells the others. leased: each spends what "
        "the store has charged ahead. strict: the store decides. Without it, the node's mode. "
        "Without a store, every rule is local. With 'of: concurrency' it is strict, the default, "
        "or leased: each gives out the slots that the store has lent it. In nginx, each "
        "counts for itself, unless it is leased."),
    row::choice(
        "scope", kScopeNames,
        "Whose requests count together. place: those of the nodes that share a store. world: "
        "those of all places, in mode async and by the Redis of 'store.world'. A check never "
        "waits for another place.")
        .defaults_to("place")
        .only_if(kOfRequests),
    row::choice<&Rule::on_store_failure>(
        "on_store_failure", kOnStoreFailureNames,
        "What happens while the shared store does not answer: local (this node decides by its "
        "share of the limit), allow or deny. With 'of: concurrency' deny is the default, and "
        "local cannot be.")
        .defaults_to("local"),
    row::choice<&Rule::on_full>(
        "on_full", kOnFullNames,
        "What happens to a new key when memory could count it only by forgetting a key that has "
        "nothing left of its limit. allow: the new key is counted in its place. deny: the new "
        "key is denied, and nobody is forgotten.")
        .defaults_to("allow"),
    row::boolean("overdraft",
                 "Whether costs count whether or not they fit: for work whose cost is known when "
                 "it is done. A key that goes beyond its limit is denied until the debt is paid, "
                 "and owes twice its limit at most; denials count, too.")
        .only_if(kOfRequests),
    row::integer<&Rule::holds_max>(
        "max_holds", {1, 10'000},
        "How many reservations a key may have at once: units that /v1/reserve holds for work whose "
        "cost is known when it is done. Without it, nobody can reserve. Not in mode async.")
        .only_if(kOfRequests),
    row::choice<&Rule::lapse>(
        "lapse", kLapses,
        "What becomes of a reservation that nobody commits in time. charge: the cost that was "
        "reported last counts, else the estimate. refund: nothing counts but what was reported.")
        .defaults_to("charge")
        .only_if(kOfRequests),
    row::id<&Rule::group>("group",
                          "In each group, the first rule that matches a request applies. Without "
                          "it, the group of all rules that have none. At most 16 groups."),
    row::section("active", kActive,
                 "The hours of the week in which the rule is in force. Without it, always. Outside "
                 "of them it is as if disabled."),
    row::section("match", kMatchSection,
                 "Which requests of proxies (/auth) the rule is for. Without it, and without "
                 "'descriptor', the rule applies where it is named. {} is every request."),
    row::texts(
        "key", &kKeyPart,
        "What of a matched request has its own counter: client, method, host, path, header:NAME, "
        "or several. client/24/48 counts IPv4 addresses by their first 24 bits and IPv6 addresses "
        "by 48; client alone is client/32/64. Several make one key together; headers, parameters, "
        "cookies and claims with client behind them are tried in turn, and the first that is there "
        "counts. Without it, all requests share one counter."),
    row::choice<&Rule::missing>(
        "missing", kMissingPartNames,
        "What becomes of a request that lacks a header, parameter, cookie or claim of the key, "
        "or whose token does not count. client: its client's address stands in for it. shared: "
        "all such requests share one counter. deny: they are denied. skip: the rule does not "
        "apply to them.")
        .defaults_to("client"),
    row::section("descriptor", kDescriptorMatch,
                 "Which descriptors of Envoy's rate limit filter the rule is for.")
        .only_if(kOfRequests),
    row::sections("more_limits", kMoreLimits,
                  "Further limits, all of which hold: a denial by one charges none. At most 8 "
                  "limits, no two with the same algorithm and window.")
        .only_if(kOfRequests),
    row::text("tier", &kKeyPart,
              "What of a matched request names its tier: header:X-Plan, for one.")
        .only_if(kOfRequests),
    row::sections(
        "tiers", kTier,
        "Limits of tiers, instead of the rule's own. Keys of no tier have the rule's own.")
        .only_if(kOfRequests),
    row::sections("overrides", kOverride, "Limits of named keys, instead of all others.")
        .only_if(kOfRequests),
    row::boolean<&Rule::has_tenants>(
        "tenants",
        "Whether keys have the plans and limits of the table of tenants, which requests change "
        "(/admin/tenants): a plan is one of the 'tiers'. Overrides win over it.")
        .defaults_to("false")
        .only_if(kOfRequests),
    row::texts("allow", kAnyText,
               "Keys, and networks of clients, that pass without being counted."),
    row::texts(
        "deny", kAnyText,
        "Keys, and networks of clients, that are denied without being counted. Wins over 'allow'."),
    row::text("cost", kAnyText,
              "The units that a matched request spends: a number, or a property that holds one, "
              "such as header:X-Cost; 1 where it holds none. For nginx with Weir in it also "
              "response:NAME, a header of the response, response:json:PATH, a number of its JSON, "
              "usage, the tokens that language models report, and usage:dollars, what they cost by "
              "'prices', in millionths of a dollar.")
        .defaults_to("1")
        .only_if(kOfRequests),
    row::section("count_if", kCountIf,
                 "Only for nginx with Weir in it: a request is counted when its response is known, "
                 "and only if the response is one of these.")
        .only_if(kOfRequests),
    row::text("reserve", kAnyText,
              "Only for what is counted by the response: how many units a request under way "
              "takes up until its response is known. So no more than limit / reserve pass at "
              "once. true: 1. false: none, and as many pass as come at once.")
        .defaults_to("true")
        .only_if(kOfRequests),
    row::text("reserve_from", &kReserveFrom,
              "What the request says of the units that it takes up, where it does: max_tokens, as "
              "vendors of language models call the most tokens of an answer, or request:json:PATH, "
              "a number of its JSON. 'reserve' is for requests that do not say.")
        .only_if(kOfRequests),
    row::section("on_deny", kOnDeny, "What a denial brings: blocks, and the answer of HTTP doors."),
    row::texts(
        "notify_at", &kNotifyAt,
        "Parts of a limit, at most 4: [80%, 100%]. The first time in a window that a key has "
        "used as much, the log, the console, /admin/events and the webhook of "
        "unusual_traffic tell of it.")
        .only_if(kOfRequests),
    row::section("on_surge", kOnSurge,
                 "What holds while the rule's traffic is unusual, as "
                 "docs/reference/unusual-traffic.md says when it is. Without it, the limits stay.")
        .only_if(kOfRequests),
};

}  // namespace

constexpr Section kRuleSection = {
    "a rule", "One quota, the name it goes by, and what it applies to.", kRuleFields};

}  // namespace weir
