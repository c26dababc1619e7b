#include "config/config_fields.h"

#include "rules/mode.h"
#include "weir/quota.h"

namespace weir {
namespace {

using Change = Field::Change;
using Presence = Field::Presence;

constexpr TextForm kListenName = {
    .pattern = "^(http|grpc|resp)(_tls)?$",
    .expected = "the name of an address in this section, such as http or http_tls",
};

constexpr Field kListenFields[] = {
    {.name = "http",
     .type = FieldType::kListenAddress,
     .default_text = "127.0.0.1:8080",
     .description = "Address of the HTTP door: HOST:PORT with an IP address or localhost, or "
                    "unix:/absolute/path. Port 0 takes any free one. Put an IPv6 address in "
                    "quotes: \"[::1]:8080\".",
     .option = {.name = "--http",
                .help = "Listen for HTTP on HOST:PORT (port 0 takes any free one) or unix:/path"},
     .change = Change::kByRestart},
    {.name = "grpc",
     .type = FieldType::kListenAddress,
     .description = "Address of a door for gRPC alone, written likewise. The HTTP door speaks "
                    "gRPC, too. None unless given.",
     .option = {.name = "--grpc", .help = "Listen for gRPC, likewise"},
     .change = Change::kByRestart},
    {.name = "resp",
     .type = FieldType::kListenAddress,
     .description = "Address of the door for Redis clients, written likewise. None unless given.",
     .option = {.name = "--resp", .help = "Listen for Redis clients, likewise"},
     .change = Change::kByRestart},
    {.name = "http_tls",
     .type = FieldType::kListenAddress,
     .description = "Address of the HTTP door under TLS. Without 'http', it is the only one.",
     .option = {.name = "--http-tls", .help = "Listen for HTTP under TLS, likewise"},
     .change = Change::kByRestart},
    {.name = "grpc_tls",
     .type = FieldType::kListenAddress,
     .description = "Address of the gRPC door under TLS. None unless given.",
     .option = {.name = "--grpc-tls", .help = "Listen for gRPC under TLS, likewise"},
     .change = Change::kByRestart},
    {.name = "resp_tls",
     .type = FieldType::kListenAddress,
     .description = "Address of the door for Redis clients under TLS. None unless given.",
     .option = {.name = "--resp-tls", .help = "Listen for Redis clients under TLS, likewise"},
     .change = Change::kByRestart},
    {.name = "http2_age_max",
     .type = FieldType::kDuration,
     .min = std::int64_t{1'000'000},
     .max = kWindowMax.count(),
     .default_text = "1d",
     .description = "How old a connection of HTTP/2 may get, a tenth more or less, before its "
                    "server asks its client to connect again, so that it finds other nodes.",
     .change = Change::kByRestart},
    {.name = "proxy_protocol",
     .type = FieldType::kTextList,
     .form = &kListenName,
     .description = "At which of these addresses connections begin with a header of the PROXY "
                    "protocol, version 1 or 2. There it is required, and only trusted_proxies "
                    "may connect.",
     .option = {.name = "--proxy-protocol",
                .help =
                    "Addresses where connections begin with a PROXY header, as in http,http-tls"},
     .change = Change::kByRestart},
};

constexpr Section kListen = {
    .name = "'listen'",
    .description = "The addresses to listen on.",
    .fields = kListenFields,
};

constexpr TextForm kPath = {.pattern = "^.+$", .expected = "the path of a file"};

constexpr Field kTlsFields[] = {
    {.name = "certificate",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kPath,
     .description = "PEM file of the certificate, and behind it those between it and its "
                    "authority.",
     .option = {.name = "--tls-certificate",
                .help = "PEM file of the certificate of the addresses under TLS"}},
    {.name = "key",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kPath,
     .description = "PEM file of the certificate's key, without a pass phrase.",
     .option = {.name = "--tls-key", .help = "PEM file of its key"}},
    {.name = "client_ca",
     .type = FieldType::kText,
     .form = &kPath,
     .description = "PEM file of authorities. With it, clients have to show a certificate that "
                    "one of them has signed.",
     .option = {.name = "--tls-client-ca",
                .help = "PEM file of authorities; clients then need a certificate by one of them"}},
};

constexpr Section kTls = {
    .name = "'tls'",
    .description = "What the addresses under TLS use.",
    .fields = kTlsFields,
};

constexpr TextForm kHeaderName = {
    .pattern = kHeaderNamePattern,
    .expected = "the name of a header, such as X-RateLimit-Limit",
};

const Field kJwtFields[] = {
    {.name = "header",
     .type = FieldType::kText,
     .form = &header_name_form(),
     .default_text = "Authorization",
     .description = "The header with the token, after 'Bearer ' or alone."},
    {.name = "secret_file",
     .type = FieldType::kText,
     .form = &kPath,
     .description = "File with the secret of tokens signed by HS256: at least 32 bytes. A line "
                    "break at its end does not count."},
    {.name = "public_key_file",
     .type = FieldType::kText,
     .form = &kPath,
     .description = "PEM file of the public key of tokens signed by RS256."},
};

const Section kJwt = {
    .name = "'jwt'",
    .description = "JSON Web Tokens: where they are, and what they are verified with.",
    .fields = kJwtFields,
};

constexpr TextForm kPrefix = {
    .pattern = "^[^{}\\x00-\\x20\\x7f]{1,64}$",
    .expected = "up to 64 characters without spaces and braces",
};

const Field kStoreFields[] = {
    {.name = "redis",
     .type = FieldType::kText,
     .presence = Presence::kRequired,
     .form = &kNotEmpty,
     .description = "Where the Redis is: redis://, rediss://, redis-sentinel://, "
                    "redis-cluster:// or unix:// (docs/redis.md).",
     .option = {.name = "--redis",
                .help = "Share limits through this Redis: redis://, rediss://, redis-sentinel://, "
                        "redis-cluster:// or unix://",
                .variable = "WEIR_REDIS_URL"},
     .change = Change::kByRestart},
    {.name = "mode",
     .type = FieldType::kChoice,
     .choices = kModeNames,
     .default_text = "strict",
     .description = "The mode of rules and calls that name none: local, async, leased or "
                    "strict.",
     .option = {.name = "--mode", .help = "The mode of rules and calls that name none"},
     .change = Change::kByRestart},
    {.name = "deadline",
     .type = FieldType::kDuration,
     .min = std::int64_t{1'000},
     .max = std::int64_t{10'000'000},
     .default_text = "20ms",
     .description = "How long a check may wait for the Redis before it counts as failed.",
     .option = {.name = "--redis-deadline", .help = "How long a check may wait for the Redis"},
     .change = Change::kByRestart},
    {.name = "sync_interval",
     .type = FieldType::kDuration,
     .min = std::int64_t{10'000},
     .max = std::int64_t{10'000'000},
     .default_text = "100ms",
     .description = "How often nodes exchange blocks and the counts of mode async.",
     .option = {.name = "--sync-interval",
                .help = "How often async counts and blocks are exchanged"},
     .change = Change::kByRestart},
    {.name = "prefix",
     .type = FieldType::kText,
     .form = &kPrefix,
     .default_text = "weir:",
     .description = "What the names of all keys in the Redis begin with. Nodes with the same "
                    "prefix share their limits.",
     .option = {.name = "--redis-prefix",
                .help = "What the names of all keys in the Redis begin with"},
     .change = Change::kByRestart},
};

const Section kStore = {
    .name = "'store'",
    .description = "The Redis through which nodes share their limits.",
    .fields = kStoreFields,
};

// What the reference service's settings are to Weir.
const Field kEnvoyFields[] = {
    {.name = "config",
     .type = FieldType::kText,
     .description = "A file, or a folder of files, in the YAML of Envoy's reference rate limit "
                    "service. They are read as they are.",
     .option = {.name = "--envoy-config",
                .help = "File or folder in the YAML of Envoy's reference rate limit service"}},
    {.name = "algorithm",
     .type = FieldType::kChoice,
     .choices = algorithm_names(),
     .default_text = "fixed_window",
     .description = "What their limits mean where they don't say: fixed_window is what the "
                    "reference service does.",
     .option = {.name = "--envoy-algorithm", .help = "What its limits mean where they don't say"}},
    {.name = "all_or_nothing",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Whether one denied descriptor keeps all others of its request from being "
                    "charged.",
     .option = {.name = "--envoy-all-or-nothing",
                .help = "A denied descriptor keeps the others of its request from being charged"},
     .change = Change::kByRestart},
    {.name = "response_headers",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Whether answers ask Envoy to add headers about the limit to the response.",
     .option = {.name = "--envoy-response-headers",
                .help = "Ask Envoy to add RateLimit-* to the response"},
     .change = Change::kByRestart},
    {.name = "limit_header",
     .type = FieldType::kText,
     .form = &kHeaderName,
     .default_text = "RateLimit-Limit",
     .description = "The name of the header for the limit.",
     .change = Change::kByRestart},
    {.name = "remaining_header",
     .type = FieldType::kText,
     .form = &kHeaderName,
     .default_text = "RateLimit-Remaining",
     .description = "The name of the header for what remains of it.",
     .change = Change::kByRestart},
    {.name = "reset_header",
     .type = FieldType::kText,
     .form = &kHeaderName,
     .default_text = "RateLimit-Reset",
     .description = "The name of the header for the seconds until it is reset.",
     .change = Change::kByRestart},
    {.name = "response_metadata",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Whether answers carry the 'metadata' of the rules that matched, as dynamic "
                    "metadata for Envoy.",
     .change = Change::kByRestart},
    {.name = "shadow_mode",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Whether every answer is OK, whatever was decided.",
     .option = {.name = "--envoy-shadow-mode", .help = "Answer OK to Envoy, whatever was decided"},
     .change = Change::kByRestart},
};

const Section kEnvoy = {
    .name = "'envoy'",
    .description = "Envoy's rate limit service.",
    .fields = kEnvoyFields,
};

const Field kConfigFields[] = {
    {.name = "listen",
     .type = FieldType::kSection,
     .section = &kListen,
     .description = "The addresses to listen on."},
    {.name = "tls",
     .type = FieldType::kSection,
     .section = &kTls,
     .description = "What the addresses under TLS use. The files are read again by a reload."},
    {.name = "threads",
     .type = FieldType::kInteger,
     .min = 1,
     .max = 256,
     .description = "How many threads serve requests. Without it, one for each core.",
     .option = {.name = "--threads", .help = "Threads that serve [one a core]"},
     .change = Change::kByRestart},
    {.name = "max_keys",
     .type = FieldType::kInteger,
     .min = 1024,
     .max = std::int64_t{1} << 32,
     .default_text = "1048576",
     .description = "How many keys the memory store has room for. The memory is reserved at "
                    "the start.",
     .option = {.name = "--max-keys", .help = "Keys to reserve memory for"},
     .change = Change::kByRestart},
    {.name = "max_buffered",
     .type = FieldType::kInteger,
     .min = 1 << 20,
     .max = std::int64_t{1} << 46,
     .description = "Bytes of input, output and requests under way that all connections "
                    "together may hold; beyond it those that hold most are reset. Without it, "
                    "an eighth of the memory of the machine or its cgroup, from 64 MiB to 4 GiB.",
     .option = {.name = "--max-buffered",
                .help = "Bytes that connections may hold [an eighth of the memory]"},
     .change = Change::kByRestart},
    {.name = "store",
     .type = FieldType::kSection,
     .section = &kStore,
     .description = "Where limits are shared with other nodes. Without it, this node is alone."},
    {.name = "state_file",
     .type = FieldType::kText,
     .form = &kPath,
     .description = "File in which blocks are kept over a restart. Keys are in it in clear. "
                    "Without it, a restart forgets blocks.",
     .option = {.name = "--state-file", .help = "File in which blocks are kept over a restart"},
     .change = Change::kByRestart},
    {.name = "watch",
     .type = FieldType::kBoolean,
     .default_text = "false",
     .description = "Whether this file, and Envoy's, are read again as soon as they change.",
     .option = {.name = "--watch",
                .help = "Read the configuration again as soon as its files change"},
     .change = Change::kByRestart},
    {.name = "rules",
     .type = FieldType::kSectionList,
     .section = &rule_section(),
     .description = "The rules. Where several match a request, their order counts: of each "
                    "group the first applies."},
    {.name = "drain_timeout",
     .type = FieldType::kDuration,
     .min = 0,
     .max = kWindowMax.count(),
     .default_text = "10s",
     .description = "How long a stop waits for requests under way.",
     .option = {.name = "--drain-timeout",
                .help = "At SIGTERM, how long to wait for requests under way"},
     .change = Change::kByRestart},
    {.name = "trusted_proxies",
     .type = FieldType::kTextList,
     .form = &network_form(),
     .description = "The proxies that say who a client is: networks in CIDR notation. "
                    "Without it, 127.0.0.0/8 and ::1, which is the proxy on the same machine; "
                    "a Unix socket is always trusted. An empty list trusts nobody.",
     .change = Change::kByRestart},
    {.name = "trusted_headers",
     .type = FieldType::kTextList,
     .form = &header_name_form(),
     .description = "Headers that a proxy sets or checks, so that rules may rely on them. "
                    "weir validate warns of keys, tiers and costs from other headers."},
    {.name = "country_header",
     .type = FieldType::kText,
     .form = &header_name_form(),
     .description = "The header in which a proxy says which country a client is in, such as "
                    "CF-IPCountry. Clients must not be able to send it themselves."},
    {.name = "country_database",
     .type = FieldType::kText,
     .form = &kPath,
     .description = "File in MaxMind's format (.mmdb) that says which country an address is in, "
                    "where country_header does not. It is read again by a reload."},
    {.name = "jwt",
     .type = FieldType::kSection,
     .section = &kJwt,
     .description = "Where tokens are, and what they are verified with. The file is read again "
                    "by a reload."},
    {.name = "envoy",
     .type = FieldType::kSection,
     .section = &kEnvoy,
     .description = "Envoy's rate limit service."},
};

const Section kConfig = {
    .name = "the top level",
    .description = "Configuration of weir, a distributed rate limiter.",
    .fields = kConfigFields,
};

}  // namespace

const Field* Section::find(std::string_view field_name) const {
  for (const Field& field : fields) {
    if (field.name == field_name) return &field;
  }
  return nullptr;
}

std::vector<std::string_view> Section::field_names() const {
  std::vector<std::string_view> names;
  names.reserve(fields.size());
  for (const Field& field : fields) names.push_back(field.name);
  return names;
}

const Section& config_section() { return kConfig; }
const Section& listen_section() { return kListen; }
const Section& tls_section() { return kTls; }
const Section& jwt_section() { return kJwt; }
const Section& envoy_section() { return kEnvoy; }
const Section& store_section() { return kStore; }

}  // namespace weir
