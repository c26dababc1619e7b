#!/bin/sh -eu
# boot.sh ROOT UNIT: becomes the systemd of the Debian in ROOT, and starts UNIT there. It wants to
# be the first process of namespaces of its own: mounts, processes, network, cgroups.
root=$1 unit=$2

ip link set lo up
mount --bind "$root" "$root"  # pivot_root takes mounts alone
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"  # so that systemd starts no udev
mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"

cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -i container=weir PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
  /lib/systemd/systemd --unit="$unit" --show-status=no --log-level=warning
