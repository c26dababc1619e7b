#include "config/fields/fields.h"
#include "config/settings.h"

#include "rules/mode.h"

namespace weir {
namespace {

constexpr TextForm kListenName = {
    "^(http|grpc|resp)(_tls)?$",
    "the name of an address in this section, such as http or http_tls"};

constexpr Field kListenFields[] = {
    row::address<&ListenSettings::http>("http",
                                        "Address of the HTTP door: HOST:PORT with an IP address or "
                                        "localhost, or unix:/absolute/path. Port 0 takes any free "
                                        "one. Put an IPv6 address in quotes: \"[::1]:8080\".")
        .defaults_to("127.0.0.1:8080")
        .set_by(
            {"--http", "Listen for HTTP on HOST:PORT (port 0 takes any free one) or unix:/path"})
        .needs_restart(),
    row::address<&ListenSettings::grpc>("grpc",
                                        "Address for gRPC alone. The HTTP door speaks gRPC, too.")
        .set_by({"--grpc", "Listen for gRPC, likewise"})
        .needs_restart(),
    row::address<&ListenSettings::resp>("resp", "Address for Redis clients.")
        .set_by({"--resp", "Listen for Redis clients, likewise"})
        .needs_restart(),
    row::address<&ListenSettings::http_tls>(
        "http_tls", "Address for HTTP under TLS. Without 'http', it is the only one for HTTP.")
        .set_by({"--http-tls", "Listen for HTTP under TLS, likewise"})
        .needs_restart(),
    row::address<&ListenSettings::grpc_tls>("grpc_tls", "Address for gRPC under TLS.")
        .set_by({"--grpc-tls", "Listen for gRPC under TLS, likewise"})
        .needs_restart(),
    row::address<&ListenSettings::resp_tls>("resp_tls", "Address for Redis clients under TLS.")
        .set_by({"--resp-tls", "Listen for Redis clients under TLS, likewise"})
        .needs_restart(),
    row::duration<&ListenSettings::http2_age_max>(
        "http2_age_max", {1'000'000, kWindowMax.count()},
        "How old a connection of HTTP/2 may get, a tenth more or less. Then its client has to "
        "connect again, and may find other nodes.")
        .defaults_to("1d")
        .needs_restart(),
    row::texts<&ListenSettings::proxy_protocol>(
        "proxy_protocol", &kListenName,
        "At which of these addresses connections begin with a header of the PROXY protocol, "
        "version 1 or 2. There it is required, and only trusted_proxies may connect.")
        .set_by({"--proxy-protocol",
                 "Addresses where connections begin with a PROXY header, as in http,http-tls"})
        .needs_restart(),
};

constexpr Section kListen = {"'listen'", "The addresses to listen on.", kListenFields};

constexpr TextForm kPath = {"^.+$", "the path of a file"};

constexpr Field kTlsFields[] = {
    row::text<&TlsSettings::certificate>(
        "certificate", &kPath,
        "PEM file of the certificate, and behind it those between it and its authority.")
        .required()
        .set_by({"--tls-certificate", "PEM file of the certificate of the addresses under TLS"}),
    row::text<&TlsSettings::key>("key", &kPath,
                                 "PEM file of the certificate's key, without a pass phrase.")
        .required()
        .set_by({"--tls-key", "PEM file of its key"}),
    row::text<&TlsSettings::client_ca>("client_ca", &kPath,
                                       "PEM file of authorities. With it, clients have to show a "
                                       "certificate that one of them has signed.")
        .set_by({"--tls-client-ca",
                 "PEM file of authorities; clients then need a certificate by one of them"}),
};

constexpr Section kTls = {"'tls'", "What the addresses under TLS use.", kTlsFields};

constexpr Field kJwtFields[] = {
    row::text<&JwtSettings::header>("header", &kHeaderNameForm,
                                    "The header with the token, after 'Bearer ' or alone.")
        .defaults_to("Authorization"),
    row::text<&JwtSettings::secret_file>("secret_file", &kPath,
                                         "File with the secret of tokens signed by HS256: at least "
                                         "32 bytes. A line break at its end does not count."),
    row::text<&JwtSettings::public_key_file>(
        "public_key_file", &kPath, "PEM file of the public key of tokens signed by RS256."),
};

constexpr Section kJwt = {
    "'jwt'", "JSON Web Tokens: where they are, and what they are verified with.", kJwtFields};

constexpr TextForm kPrefix = {"^[^{}\\x00-\\x20\\x7f]{1,64}$",
                              "up to 64 characters without spaces and braces"};

constexpr Field kStoreFields[] = {
    row::text<&StoreSettings::redis>("redis", &kNotEmpty,
                                     "Where the Redis is: redis://, rediss://, redis-sentinel://, "
                                     "redis-cluster:// or unix:// (docs/reference/redis.md).")
        .required()
        .set_by({"--redis",
                 "Share limits through this Redis: redis://, rediss://, redis-sentinel://, "
                 "redis-cluster:// or unix://",
                 "WEIR_REDIS_URL"})
        .needs_restart(),
    row::text<&StoreSettings::world>(
        "world", &kNotEmpty,
        "One more Redis, which the nodes of all places reach: of rules with 'scope: world', and of "
        "blocks (docs/how-to/several-places.md).")
        .needs_restart(),
    row::choice<&StoreSettings::mode>("mode", kModeNames,
                                      "The mode of rules and calls that name none.")
        .defaults_to("strict")
        .set_by({"--mode", "The mode of rules and calls that name none"})
        .needs_restart(),
    row::duration<&StoreSettings::deadline>(
        "deadline", {1'000, 10'000'000},
        "How long a check may wait for the Redis before it counts as failed.")
        .defaults_to("20ms")
        .set_by({"--redis-deadline", "How long a check may wait for the Redis"})
        .needs_restart(),
    row::duration<&StoreSettings::sync_interval>(
        "sync_interval", {10'000, 10'000'000},
        "How often nodes exchange blocks and the counts of mode async.")
        .defaults_to("100ms")
        .set_by({"--sync-interval", "How often async counts and blocks are exchanged"})
        .needs_restart(),
    row::text<&StoreSettings::prefix>("prefix", &kPrefix,
                                      "What the names of all keys in the Redis begin with. Nodes "
                                      "with the same prefix share their limits.")
        .defaults_to("weir:")
        .set_by({"--redis-prefix", "What the names of all keys in the Redis begin with"})
        .needs_restart(),
};

constexpr Section kStore = {"'store'", "The Redis through which nodes share their limits.",
                            kStoreFields};

constexpr Field kUnusualTrafficFields[] = {
    row::duration<&UnusualTrafficSettings::learn>(
        "learn", {1'000'000, 86'400'000'000},
        "How long a rule's traffic is watched before any of it can be unusual.")
        .defaults_to("10m")
        .needs_restart(),
    row::text<&UnusualTrafficSettings::webhook>(
        "webhook", &kNotEmpty, "An http:// or https:// URL to which each event is posted as JSON.")
        .needs_restart(),
    row::text<&UnusualTrafficSettings::webhook_token_file>(
        "webhook_token_file", &kPath,
        "File with a word that goes along as 'Authorization: Bearer', so that the receiver knows "
        "the sender.")
        .needs_restart(),
};

constexpr Section kUnusualTraffic = {"'unusual_traffic'",
                                     "How events of unusual traffic are found and told.",
                                     kUnusualTrafficFields};

// Weir's form of the reference service's settings.
constexpr Field kEnvoyFields[] = {
    row::text<&EnvoySettings::config>("config", kAnyText,
                                      "A file, or a folder of files, in the YAML of Envoy's "
                                      "reference rate limit service. They are read as they are.")
        .set_by({"--envoy-config",
                 "File or folder in the YAML of Envoy's reference rate limit service"}),
    row::choice<&EnvoySettings::algorithm>("algorithm", kAlgorithmNames,
                                           "What their limits mean where they don't say.")
        .defaults_to("fixed_window")
        .set_by({"--envoy-algorithm", "What its limits mean where they don't say"}),
    row::boolean<&EnvoySettings::all_or_nothing>(
        "all_or_nothing",
        "Whether one denied descriptor keeps all others of its request from being charged.")
        .set_by({"--envoy-all-or-nothing",
                 "A denied descriptor keeps the others of its request from being charged"})
        .needs_restart(),
    row::boolean<&EnvoySettings::response_headers>(
        "response_headers",
        "Whether answers ask Envoy to add headers about the limit to the response.")
        .set_by({"--envoy-response-headers", "Ask Envoy to add RateLimit-* to the response"})
        .needs_restart(),
    row::text<&EnvoySettings::limit_header>("limit_header", &kHeaderNameForm,
                                            "The name of the header for the limit.")
        .defaults_to("RateLimit-Limit")
        .needs_restart(),
    row::text<&EnvoySettings::remaining_header>("remaining_header", &kHeaderNameForm,
                                                "The name of the header for what remains of it.")
        .defaults_to("RateLimit-Remaining")
        .needs_restart(),
    row::text<&EnvoySettings::reset_header>(
        "reset_header", &kHeaderNameForm,
        "The name of the header for the seconds until it is reset.")
        .defaults_to("RateLimit-Reset")
        .needs_restart(),
    row::boolean<&EnvoySettings::response_metadata>(
        "response_metadata",
        "Whether answers carry the 'metadata' of the rules that matched, as dynamic metadata for "
        "Envoy.")
        .needs_restart(),
    row::boolean<&EnvoySettings::shadow_mode>("shadow_mode",
                                              "Whether every answer is OK, whatever was decided.")
        .set_by({"--envoy-shadow-mode", "Answer OK to Envoy, whatever was decided"})
        .needs_restart(),
};

constexpr Section kEnvoy = {"'envoy'", "Envoy's rate limit service.", kEnvoyFields};

constexpr FieldRange kRates = {0, 1'000'000'000};

constexpr Field kAdaptiveFields[] = {
    row::number<&SwitchThresholds::burst_ratio>(
        "burst_ratio", {0, 5},
        "Above it, a rule follows token_bucket: the rate of the last two seconds, as a multiple of "
        "the rate of the last ten. 5 is the most it can be, after idleness; so 5 never selects "
        "token_bucket.")
        .defaults_to("3")
        .needs_restart(),
    row::number<&SwitchThresholds::burst_ratio_leave>("burst_ratio_leave", {0, 5},
                                                      "Below it, a rule leaves token_bucket.")
        .defaults_to("2")
        .needs_restart(),
    row::number<&SwitchThresholds::denied_share>(
        "denied_share", {0, 1},
        "Above it, a rule follows exponential_backoff: the share of the last ten seconds' requests "
        "that were denied. 1 never selects exponential_backoff.")
        .defaults_to("0.5")
        .needs_restart(),
    row::number<&SwitchThresholds::denied_share_leave>(
        "denied_share_leave", {0, 1}, "Below it, a rule leaves exponential_backoff.")
        .defaults_to("0.3")
        .needs_restart(),
    row::number<&SwitchThresholds::rate_min>(
        "rate_min", kRates,
        "Requests a second, of the whole fleet, above which a rule follows token_bucket (in the "
        "last two seconds) or exponential_backoff (in the last ten).")
        .defaults_to("20")
        .needs_restart(),
    row::number<&SwitchThresholds::rate_leave>("rate_leave", kRates,
                                               "Requests a second below which it leaves them.")
        .defaults_to("10")
        .needs_restart(),
    row::duration<&SwitchThresholds::dwell>("dwell", {1'000'000, 3'600'000'000},
                                            "A rule switches at most once in so long.")
        .defaults_to("5s")
        .needs_restart(),
};

constexpr Section kAdaptive = {
    "'adaptive'", "When rules whose algorithm is adaptive switch, and to what.", kAdaptiveFields};

constexpr std::string_view kHeaderForms[] = {"none", "draft-6", "draft-7", "draft-10"};
constexpr std::string_view kResetForms[] = {"seconds", "epoch"};
constexpr TextForm kXHeaderName = {"^(limit|remaining|reset)$", "limit, remaining or reset"};

constexpr TextForm kSize = {"^([1-9][0-9]{0,3}MiB|[1-9][0-9]?GiB)$",
                            "a size from 1MiB to 99GiB, such as 64MiB"};
constexpr TextForm kNodeName = {"^[!-~]([ -~]{0,62}[!-~])?$",
                                "up to 64 printable ASCII characters"};
constexpr TextForm kWebAddress = {
    "^https?://[A-Za-z0-9._:\\[\\]-]{1,192}$",  // is_console_address()
    "http:// or https://, a host and perhaps its port, without a path"};

constexpr TextForm kModel = {"^([!-)+-~]{1,100}|[!-)+-~]{0,99}\\*)$",
                             "the name of a model, or the beginning of names and '*': up to 100 "
                             "characters without spaces"};
constexpr FieldRange kDollars = {0, 1'000'000};

constexpr Field kPriceFields[] = {
    row::text("model", &kModel,
              "A model, as answers or requests name it; claude-sonnet-*, for all names that begin "
              "so; or *, for all others. The longest one wins.")
        .required(),
    row::number("input", kDollars, "Dollars for a million tokens of input.").required(),
    row::number("output", kDollars, "Dollars for a million tokens of output.").required(),
    row::number("cached_input", kDollars,
                "The same of input that the vendor has read from a cache. Without it, as 'input'."),
    row::number("cache_write", kDollars,
                "The same of input that the vendor has written to one. Without it, as 'input'."),
};

constexpr Section kPrice = {"a price", "What the tokens of a model cost.", kPriceFields};

constexpr std::string_view kConsoleUses[] = {"on", "public", "off"};

constexpr Field kConfigFields[] = {
    row::section<&ServerSettings::listen>("listen", kListen, "The addresses to listen on."),
    row::section<&ServerSettings::tls>(
        "tls", kTls, "What the addresses under TLS use. The files are read again by a reload."),
    row::integer<&ServerSettings::threads>(
        "threads", {1, 256}, "How many threads serve requests. Without it, one for each core.")
        .set_by({"--threads", "Threads that serve [one a core]"})
        .needs_restart(),
    row::integer<&ServerSettings::max_keys>(
        "max_keys", {1024, std::int64_t{1} << 32},
        "How many keys the memory store has room for. The memory is reserved at the start.")
        .defaults_to("1048576")
        .set_by({"--max-keys", "Keys to reserve memory for"})
        .needs_restart(),
    row::integer<&ServerSettings::precise_keys>(
        "precise_keys", {0, std::int64_t{1} << 24},
        "How many keys of sliding_window may be counted precisely at once, 624 bytes each "
        "(docs/reference/promises.md).")
        .defaults_to("0")
        .set_by({"--precise-keys", "Keys of sliding windows that may be counted precisely at once"})
        .needs_restart(),
    row::integer<&ServerSettings::max_buffered>(
        "max_buffered", {1 << 20, std::int64_t{1} << 46},
        "Bytes of input, output and requests under way that all connections together may hold; "
        "beyond it those that hold most are reset. Without it, an eighth of the memory of the "
        "machine or its cgroup, from 64 MiB to 4 GiB.")
        .set_by({"--max-buffered", "Bytes that connections may hold [an eighth of the memory]"})
        .needs_restart(),
    row::section<&ServerSettings::store>(
        "store", kStore,
        "Where limits are shared with other nodes. Without it, this node is alone."),
    row::section<&ServerSettings::switching>(
        "adaptive", kAdaptive,
        "When rules whose algorithm is adaptive switch. All nodes of a fleet should say the same."),
    row::text<&ServerSettings::state_file>(
        "state_file", &kPath,
        "File in which blocks are kept over a restart, keys in clear; FILE.tenants has the table "
        "of tenants. Without it, a restart forgets them.")
        .set_by({"--state-file", "File in which blocks are kept over a restart"})
        .needs_restart(),
    row::boolean<&ServerSettings::show_keys>(
        "show_keys",
        "Whether busiest keys, denials and events show keys, paths and clients, not only hashes, "
        "up to 64 bytes; the log and the webhook, too. With a store, the busiest are in the Redis "
        "in clear. Cookies and Authorization stay hashes.")
        .set_by({"--show-keys", "Show the busiest keys in clear at /admin/busiest"})
        .needs_restart(),
    row::integer<&ServerSettings::log_denials>(
        "log_denials", {0, 1'000},
        "How many denials a second the log names at most. /admin/denials has them in any case.")
        .defaults_to("0")
        .set_by({"--log-denials", "Denials a second that the log names at most"})
        .needs_restart(),
    row::text<&ServerSettings::remember>(
        "remember", &kSize,
        "Memory for recent requests, by hashed key, on which other limits can be tried.")
        .set_by({"--remember", "Memory for recent requests, to try limits on, such as 64MiB"})
        .needs_restart(),
    row::choice<&ServerSettings::console>(
        "console", kConsoleUses,
        "The console, a page at / of the HTTP door: on, for those who may use the admin routes; "
        "public, its figures for everybody (docs/reference/console.md); or off.")
        .defaults_to("on")
        .set_by({"--console", "The console at / of the HTTP door: on, public or off"})
        .needs_restart(),
    row::text<&ServerSettings::node_name>("node_name", &kNodeName,
                                          "What people call this node in consoles. Without it, "
                                          "the host name.")
        .set_by({"--node-name", "What people call this node [the host name]", "WEIR_NODE_NAME"})
        .needs_restart(),
    row::text<&ServerSettings::advertise>(
        "advertise", &kWebAddress,
        "Where browsers reach this node's console, for links in those of other nodes. Without it, "
        "the address of the HTTP door, unless that is 0.0.0.0 or [::].")
        .set_by({"--advertise",
                 "Where browsers reach this node's console, as in http://10.0.0.7:8080",
                 "WEIR_ADVERTISE"})
        .needs_restart(),
    row::boolean<&ServerSettings::watch>(
        "watch", "Whether this file, and Envoy's, are read again as soon as they change.")
        .set_by({"--watch", "Read the configuration again as soon as its files change"})
        .needs_restart(),
    row::sections("rules", kRuleSection,
                  "The rules. Where several match a request, their order counts: of each group the "
                  "first applies."),
    row::sections("prices", kPrice,
                  "What tokens of language models cost, for rules with 'cost: usage:dollars' "
                  "(docs/reference/usage.md). A model that is not here costs as the dearest."),
    row::duration<&ServerSettings::drain_timeout>("drain_timeout", {0, kWindowMax.count()},
                                                  "How long a stop waits for requests under way.")
        .defaults_to("10s")
        .set_by({"--drain-timeout", "At SIGTERM, how long to wait for requests under way"})
        .needs_restart(),
    row::texts<&ServerSettings::trusted_proxies>(
        "trusted_proxies", &kNetworkForm,
        "The proxies that say who a client is. Without it, those on the same machine (127.0.0.0/8 "
        "and ::1); a Unix socket is always trusted. An empty list trusts nobody.")
        .needs_restart(),
    row::choice<&ServerSettings::headers>(
        "headers", kHeaderForms,
        "By which draft of the IETF's RateLimit header fields answers tell their limits.")
        .defaults_to("draft-10")
        .needs_restart(),
    row::texts<&ServerSettings::x_headers>(
        "x_headers", &kXHeaderName,
        "Which of X-RateLimit-Limit, -Remaining and -Reset answers carry. Without it all, with an "
        "empty list none.")
        .needs_restart(),
    row::choice<&ServerSettings::x_reset>("x_reset", kResetForms,
                                          "What X-RateLimit-Reset says: the seconds until the "
                                          "limit is as new, or the second since 1970.")
        .defaults_to("seconds")
        .needs_restart(),
    row::texts<&ServerSettings::trusted_headers>(
        "trusted_headers", &kHeaderNameForm,
        "Headers that a proxy sets or checks, so that rules may rely on them. weir validate warns "
        "of keys, tiers and costs from other headers."),
    row::text<&ServerSettings::country_header>(
        "country_header", &kHeaderNameForm,
        "The header in which a proxy says which country a client is in, such as CF-IPCountry. "
        "Clients must not be able to send it themselves."),
    row::text<&ServerSettings::country_database>(
        "country_database", &kPath,
        "File in MaxMind's format (.mmdb) that says which country an address is in, where "
        "country_header does not. It is read again by a reload."),
    row::section<&ServerSettings::jwt>(
        "jwt", kJwt,
        "Where tokens are, and what they are verified with. The file is read again by a reload."),
    row::section<&ServerSettings::unusual_traffic>(
        "unusual_traffic", kUnusualTraffic,
        "How long traffic is learned, and who hears when it is unusual "
        "(docs/reference/unusual-traffic.md)."),
    row::section<&ServerSettings::envoy>("envoy", kEnvoy, "Envoy's rate limit service."),
};

}  // namespace

constexpr Section kConfigSection = {
    "the top level", "Configuration of weir, a distributed rate limiter.", kConfigFields};

}  // namespace weir
