#!/usr/bin/env bash
# Runs a command as root on an emulated machine of its own: a Debian kernel, systemd as init, cgroups of version 2 alone. For
# what this machine's own cgroups can't show. It sees this machine's files but for /tmp and /run; what it writes is gone
# afterwards. The command has this folder, no network but its loopback, and about a tenth of this machine's speed.
#
#   tests/containerd/on-cgroup-v2.sh KERNEL.deb COMMAND [ARGUMENT...]
#
# KERNEL.deb is a Debian kernel: `apt-get download "$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: //p')"`.
# Needs the Debian packages qemu-system-x86, kmod, cpio, busybox-static, systemd and dbus. MACHINE_SECONDS (3600) bounds it,
# MACHINE_MEMORY (8192) is how much memory it has, MACHINE_SWAP (0) how much swap, both in MiB.
# The exit code is the command's; 125 says that the machine didn't come to its end.
set -euo pipefail

fail() { echo "$0: $*" >&2; exit 125; }
[ $# -ge 2 ] || fail "KERNEL.deb and a command are required; the head of the script says more"
kernel=$(realpath "$1"); shift
for program in qemu-system-x86_64 depmod modprobe cpio busybox dpkg-deb; do
    command -v "$program" > /dev/null || fail "$program isn't installed"
done
[ -x /lib/systemd/systemd ] || fail "systemd isn't installed"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{kernel,out} "$work"/initrd/{bin,modules,proc,sys,dev,lower,upper,root}
dpkg-deb -x "$kernel" "$work/kernel"
image=$(echo "$work"/kernel/boot/vmlinuz-*)
version=${image##*/vmlinuz-}
depmod -b "$work/kernel" "$version"

# In the order in which they need each other; what a kernel has built in isn't named.
modules="9p 9pnet_virtio virtio_pci virtio_rng virtio_blk overlay bridge veth br_netfilter nf_tables nft_compat nft_chain_nat xt_comment
    xt_MASQUERADE xt_multiport xt_conntrack xt_mark xt_addrtype xt_nat xt_tcpudp"
number=100
for module in $modules; do
    modprobe -d "$work/kernel" -S "$version" --show-depends "$module" 2> /dev/null || true
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
    cp "$path" "$work/initrd/modules/$number-${path##*/}"
    number=$((number + 1))
done

cp "$(command -v busybox)" "$work/initrd/bin/busybox"
cat > "$work/initrd/init" << 'INIT'
#!/bin/busybox sh
b=/bin/busybox
share="-t 9p -o trans=virtio,version=9p2000.L,msize=1048576"
$b mount -t proc proc /proc && $b mount -t sysfs sys /sys && $b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod "$module"; done
$b mount $share,ro,cache=loose host /lower && $b mount -t tmpfs -o size=50% upper /upper || $b poweroff -f
$b mkdir /upper/files /upper/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work root /root || $b poweroff -f
for fs in proc sysfs devtmpfs; do
    case $fs in proc) to=proc ;; sysfs) to=sys ;; devtmpfs) to=dev ;; esac
    $b mount -t $fs $fs /root/$to
done
[ ! -b /dev/vda ] || { $b mkswap /dev/vda > /dev/null && $b swapon /dev/vda; } || $b poweroff -f
for to in tmp run; do $b mount -t tmpfs -o mode=1777,size=40% tmp /root/$to; done
$b mkdir -p /root/run/out /root/etc/systemd/system
$b mount $share out /root/run/out || $b poweroff -f
$b cp /unit.service /root/etc/systemd/system/machine.service
printf '[Unit]\nWants=machine.service\n' > /root/etc/systemd/system/machine.target
$b ln -sf machine.target /root/etc/systemd/system/default.target
exec $b switch_root /root /lib/systemd/systemd
INIT
chmod +x "$work/initrd/init"
cat > "$work/initrd/unit.service" << 'UNIT'
[Unit]
DefaultDependencies=no
Wants=dbus.socket
After=dbus.socket
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
Delegate=yes
TimeoutStartSec=infinity
ExecStart=/bin/bash /run/out/command
StandardOutput=file:/dev/ttyS1
StandardError=file:/dev/ttyS1
UNIT
{
    echo "export PATH=$(printf %q "$PATH") HOME=/root"
    # What the suites on containerd are recognised by.
    export -p | grep -E ' (WITLET_[A-Z_]*|RUST_[A-Z_]*)=' || true
    echo "ip link set lo up; cd $(printf %q "$PWD") && { $(printf '%q ' "$@"); }"
    echo 'echo $? > /run/out/code'
} > "$work/out/command"
(cd "$work/initrd" && find . | cpio -o -H newc --quiet | gzip -1) > "$work/initrd.gz"

disk=()
if [ "${MACHINE_SWAP:-0}" -gt 0 ]; then
    truncate -s "${MACHINE_SWAP}M" "$work/swap"
    disk=(-drive "file=$work/swap,format=raw,if=virtio")
fi

# On a busy machine the emulated timer is late, which the kernel would take for a broken one.
timeout "${MACHINE_SECONDS:-3600}" qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp 2 -m "${MACHINE_MEMORY:-8192}" \
    -display none -no-reboot -nic none -serial "file:$work/out/console" -serial stdio -kernel "$image" \
    -initrd "$work/initrd.gz" -append "console=ttyS0 quiet panic=-1 no_timer_check" -device virtio-rng-pci "${disk[@]}" \
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -fsdev local,id=out,path="$work/out",security_model=none -device virtio-9p-pci,fsdev=out,mount_tag=out \
    < /dev/null || true
[ -s "$work/out/code" ] || { tail -n 20 "$work/out/console" >&2; fail "the machine ended before the command did"; }
exit "$(cat "$work/out/code")"
