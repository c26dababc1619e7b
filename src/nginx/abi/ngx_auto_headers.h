// The system headers that exist: nginx's configure writes this file; here for Debian.
//
// Thread rule: constants. Tested by the static_assert in src/nginx/module/module.cc.

#pragma once

#define NGX_LINUX 1
#define NGX_HAVE_UNISTD_H 1
#define NGX_HAVE_INTTYPES_H 1
#define NGX_HAVE_LIMITS_H 1
#define NGX_HAVE_SYS_PARAM_H 1
#define NGX_HAVE_SYS_MOUNT_H 1
#define NGX_HAVE_SYS_STATVFS_H 1
#define NGX_HAVE_CRYPT_H 1
#define NGX_HAVE_SYS_PRCTL_H 1
#define NGX_HAVE_SYS_VFS_H 1
#define NGX_HAVE_SYS_EVENTFD_H 1
