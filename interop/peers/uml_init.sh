#!/bin/sh
# Init of a User-Mode Linux guest (its root is the host's /, read-only): the real kernel's SCTP as echo (port 7, the
# program $peer) and discard (port 9) server, raw and in UDP 9899, and a shell on TCP port 2323 for the test's commands.
# Says "MARK ready" when all listen.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /run
modules=/usr/lib/uml/modules/$(uname -r)/kernel
for m in crypto/hmac lib/crc-ccitt net/ipv6/ipv6 net/ipv4/udp_tunnel net/ipv6/ip6_udp_tunnel \
         net/sctp/sctp net/ipv4/inet_diag net/ipv4/tcp_diag net/sctp/sctp_diag \
         net/sched/sch_netem net/sched/sch_ingress net/sched/act_gact net/sched/cls_matchall; do
  [ ! -f "$modules/$m.ko" ] || insmod "$modules/$m.ko"      # some are built in
done
ip link set lo up
ip addr add 10.77.0.2/24 dev vec0; ip addr add 10.87.1.2/24 dev vec1; ip addr add 10.87.2.2/24 dev vec2
for wire in vec0 vec1 vec2; do ip link set $wire up; done
# The guest's software segmentation drops SCTP inside UDP: let SCTP make packets of the wire's size itself.
# (After the link is up: that switches the offloads on again.)
for wire in vec0 vec1 vec2; do ethtool -K $wire tso off gso off gro off; done
# Interleaving may be asked for socket by socket.
sysctl -q -w net.sctp.udp_port=9899 net.sctp.intl_enable=1
# Starts the echo server with the timers of its arguments, in place of one that runs.
cat >/run/echo.sh <<'END'
if [ -f /run/echo.pid ]; then kill "$(cat /run/echo.pid)"; sleep .1; fi
"$peer" --port 7 --associations 1000000 --seconds 0 "$@" </dev/null >/dev/null 2>&1 &
echo $! >/run/echo.pid
until awk '$6 == 7 { found = 1 } END { exit !found }' /proc/net/sctp/eps; do sleep .02; done
END
sh /run/echo.sh --addresses 10.77.0.2
socat -u SCTP-LISTEN:9,fork,reuseaddr OPEN:/dev/null &
socat TCP-LISTEN:2323,fork,reuseaddr EXEC:'/bin/sh -s',stderr &
for try in $(seq 200); do       # 2 SCTP endpoints below the header line of eps, 1 TCP listener
  [ "$(grep -c . /proc/net/sctp/eps)" -ge 3 ] && [ "$(ss -Htln | wc -l)" -ge 1 ] && break
  sleep .05
done
echo "MARK ready"
while :; do sleep 3600; done
