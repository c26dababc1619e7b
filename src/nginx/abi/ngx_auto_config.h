// nginx's build configuration: the parts of its configure's output that its headers use.
//
// Debian's nginx-dev has nginx's headers, but not this one. nginx is built --with-compat, so its
// structs have the same layout for all other options. The module's signature holds the rest, and
// the build compares it with the signature of the installed nginx.
//
// Thread rule: constants. Tested by the static_assert in src/nginx/module/module.cc.

#pragma once

#define NGX_COMPAT 1

#define NGX_PTR_SIZE __SIZEOF_POINTER__
#define NGX_SIG_ATOMIC_T_SIZE 4
#define NGX_TIME_T_SIZE 8
#define NGX_TIME_T_LEN (sizeof("-9223372036854775808") - 1)
#define NGX_OFF_T_LEN (sizeof("-9223372036854775808") - 1)
#define NGX_SIZE_T_LEN (sizeof("-9223372036854775808") - 1)
#define NGX_MAX_TIME_T_VALUE 9223372036854775807LL
#define NGX_MAX_OFF_T_VALUE 9223372036854775807LL
#define NGX_MAX_SIZE_T_VALUE 9223372036854775807LL
#define NGX_HAVE_LITTLE_ENDIAN 1
#define NGX_HAVE_NONALIGNED 1
#define NGX_CPU_CACHE_LINE 64
#define NGX_KQUEUE_UDATA_T (void*)

#define NGX_HAVE_C99_VARIADIC_MACROS 1
#define NGX_HAVE_GCC_VARIADIC_MACROS 1
#define NGX_HAVE_VARIADIC_MACROS 1
#define NGX_HAVE_GCC_ATOMIC 1
#define NGX_HAVE_ATOMIC_OPS 1
#define NGX_HAVE_GCC_BSWAP64 1

#define NGX_HAVE_EPOLL 1
#define NGX_HAVE_CLEAR_EVENT 1
#define NGX_HAVE_EPOLLRDHUP 1
#define NGX_HAVE_EPOLLEXCLUSIVE 1
#define NGX_HAVE_EVENTFD 1
#define NGX_HAVE_POLL 1
#define NGX_HAVE_SELECT 1
#define NGX_HAVE_FIONBIO 1
#define NGX_HAVE_FIONREAD 1

#define NGX_HAVE_O_PATH 1
#define NGX_HAVE_OPENAT 1
#define NGX_HAVE_SENDFILE 1
#define NGX_HAVE_SENDFILE64 1
#define NGX_HAVE_PREAD 1
#define NGX_HAVE_PWRITE 1
#define NGX_HAVE_PWRITEV 1
#define NGX_HAVE_STATFS 1
#define NGX_HAVE_STATVFS 1
#define NGX_HAVE_O_DIRECT 1
#define NGX_HAVE_ALIGNED_DIRECTIO 1
#define NGX_HAVE_POSIX_FADVISE 1
#define NGX_HAVE_MEMALIGN 1
#define NGX_HAVE_POSIX_MEMALIGN 1
#define NGX_HAVE_MAP_ANON 1
#define NGX_HAVE_MAP_DEVZERO 1
#define NGX_HAVE_SYSVSHM 1
#define NGX_HAVE_POSIX_SEM 1
#define NGX_HAVE_DLOPEN 1
#define NGX_HAVE_D_TYPE 1
#define NGX_HAVE_GMTOFF 1
#define NGX_HAVE_SCHED_YIELD 1
#define NGX_HAVE_SCHED_SETAFFINITY 1
#define NGX_HAVE_GNU_CRYPT_R 1
#define NGX_HAVE_PR_SET_DUMPABLE 1
#define NGX_HAVE_PR_SET_KEEPCAPS 1
#define NGX_HAVE_CAPABILITIES 1
#define NGX_HAVE_LOCALTIME_R 1
#define NGX_HAVE_CLOCK_MONOTONIC 1
#define NGX_HAVE_UNIX_DOMAIN 1
#define NGX_HAVE_INET6 1
#define NGX_HAVE_MSGHDR_MSG_CONTROL 1
#define NGX_HAVE_IP_BIND_ADDRESS_NO_PORT 1
#define NGX_HAVE_TRANSPARENT_PROXY 1
#define NGX_HAVE_IP_PKTINFO 1
#define NGX_HAVE_IPV6_RECVPKTINFO 1
#define NGX_HAVE_DEFERRED_ACCEPT 1
#define NGX_HAVE_KEEPALIVE_TUNABLE 1
#define NGX_HAVE_TCP_FASTOPEN 1
#define NGX_HAVE_TCP_INFO 1
#define NGX_HAVE_ACCEPT4 1
#define NGX_HAVE_REUSEPORT 1

#define NGX_THREADS 1
#define NGX_SSL 1
#define NGX_OPENSSL 1
#define NGX_PCRE 1
#define NGX_PCRE2 1
#define NGX_ZLIB 1
#define NGX_CRYPT 1
#define NGX_HTTP_CACHE 1
#define NGX_HTTP_GZIP 1
#define NGX_HTTP_SSL 1
#define NGX_HTTP_V2 1
#define NGX_HTTP_SSI 1
#define NGX_HTTP_DAV 1
#define NGX_HTTP_REALIP 1
#define NGX_HTTP_X_FORWARDED_FOR 1
#define NGX_HTTP_HEADERS 1
#define NGX_HTTP_UPSTREAM_ZONE 1
#define NGX_STAT_STUB 1
