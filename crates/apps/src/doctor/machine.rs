//! Abilities of a machine: sockets, rights, buffers, clocks, interfaces. Each probe looks at one
//! thing and changes nothing.

use std::io;
use std::time::{Duration, Instant};

use super::{Finding, Place, State};

/// All that is there to be found on this system.
pub(super) fn findings(place: &Place) -> Vec<Finding> {
    let mut all = udp();
    all.push(port());
    all.push(raw_ip(place));
    all.extend(tun(place));
    all.extend(descriptors(place));
    all.push(time_stamps());
    all.push(sleeping());
    all.extend(clock_source(place));
    all.extend(interfaces(place));
    all
}

fn finding(about: &'static str, state: State, found: String, follows: &str) -> Finding {
    Finding { about, state, found, follows: follows.to_owned(), remedy: None }
}

fn or_remedy(mut finding: Finding, remedy: impl Into<String>) -> Finding {
    if finding.state != State::Good {
        finding.remedy = Some(remedy.into());
    }
    finding
}

/// Offloads and buffers of a UDP socket.
fn udp() -> Vec<Finding> {
    match io_offloads() {
        Ok(offloads) => of_offloads(&offloads),
        Err(error) => vec![finding(
            "UDP",
            State::Missing,
            format!("no socket ({error})"),
            "Neither serve nor send nor demo can work here, except demo --virtual",
        )],
    }
}

fn io_offloads() -> io::Result<::io::UdpOffloads> {
    ::io::udp_offloads()
}

fn of_offloads(offloads: &::io::UdpOffloads) -> Vec<Finding> {
    let joined = |about, count: usize, what: &str, good: &str, bad: &str| match count {
        0 | 1 => finding(about, State::Limited, "none".to_owned(), bad),
        _ => finding(about, State::Good, format!("up to {count} datagrams {what}"), good),
    };
    let buffer = |about, bytes: usize, key: &str, bad: &str| {
        let is_enough = bytes >= offloads.wanted_buffer;
        let state = if is_enough { State::Good } else { State::Limited };
        let found = format!("{bytes} bytes of {} asked for", offloads.wanted_buffer);
        let good = "Bursts of many associations fit";
        let finding = finding(about, state, found, if is_enough { good } else { bad });
        or_remedy(finding, format!("sysctl -w net.core.{key}={}", offloads.wanted_buffer))
    };
    vec![
        joined(
            "UDP, sending many at once (GSO)",
            offloads.send_segments,
            "a call",
            "A burst costs one system call",
            "Each datagram costs a system call: bulk takes more of the processor, thin streams hardly",
        ),
        joined(
            "UDP, receiving many at once (GRO)",
            offloads.receive_segments,
            "joined",
            "A burst costs one system call",
            "Each datagram is received by itself: bulk takes more of the processor, thin streams hardly",
        ),
        buffer(
            "UDP, receive buffer",
            offloads.receive_buffer,
            "rmem_max",
            "While the process is busy, the system drops what does not fit: losses that no network made",
        ),
        buffer(
            "UDP, send buffer",
            offloads.send_buffer,
            "wmem_max",
            "Large bursts wait for the interface; thin streams do not notice",
        ),
    ]
}

/// Whether the port of SCTP over UDP is available.
fn port() -> Finding {
    let port = ::io::SCTP_OVER_UDP_PORT;
    match std::net::UdpSocket::bind(("127.0.0.1", port)) {
        Ok(_) => finding(
            "UDP port of SCTP",
            State::Good,
            format!("{port} is free"),
            "serve can listen where clients look for it",
        ),
        Err(error) => finding(
            "UDP port of SCTP",
            State::Limited,
            format!("{port} is not available ({error})"),
            "serve needs another port here, such as: thinstream serve [::]:9900",
        ),
    }
}

/// Whether SCTP can be sent directly over IP: raw sockets are allowed, and the kernel has no SCTP.
fn raw_ip(place: &Place) -> Finding {
    let kernel_has_sctp = place.line("proc/net/sctp/snmp").is_some();
    match (::io::try_raw_socket(), kernel_has_sctp) {
        (Ok(()), false) => finding(
            "SCTP without UDP (--raw-ip)",
            State::Good,
            "raw sockets are allowed".to_owned(),
            "serve --raw-ip and send --raw-ip work",
        ),
        (Ok(()), true) => or_remedy(
            finding(
                "SCTP without UDP (--raw-ip)",
                State::Limited,
                "raw sockets are allowed, but the kernel has SCTP of its own".to_owned(),
                "The kernel answers packets for ports that it does not know with an ABORT, which ends associations",
            ),
            "modprobe --remove sctp",
        ),
        (Err(error), _) => or_remedy(
            finding(
                "SCTP without UDP (--raw-ip)",
                State::Missing,
                format!("no raw sockets ({error})"),
                "serve and send work over UDP",
            ),
            "setcap cap_net_raw+ep $(command -v thinstream)",
        ),
    }
}

/// Times of arrival that the kernel notes.
fn time_stamps() -> Finding {
    let (state, found) = match ::io::try_time_stamps() {
        Ok(()) => (State::Good, "the kernel notes when a datagram came".to_owned()),
        Err(error) => (State::Limited, format!("none ({error})")),
    };
    finding(
        "Time stamps of UDP",
        state,
        found,
        "Captures need them. serve and send take the time when they read, so that a busy machine's wait is part of \
         their latencies",
    )
}

/// Requirements of `edge`: a TUN device and the right to set one up; none but on Linux.
fn tun(place: &Place) -> Vec<Finding> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let about = "TUN device (edge)";
    let device = match (place.opens("dev/net/tun"), may_administer(place)) {
        (Ok(()), true) => finding(
            about,
            State::Good,
            "/dev/net/tun opens, with CAP_NET_ADMIN".to_owned(),
            "edge works",
        ),
        (Ok(()), false) => or_remedy(
            finding(
                about,
                State::Missing,
                "this process lacks CAP_NET_ADMIN".to_owned(),
                "edge needs root, or its unit of systemd (thinstream-edge.service)",
            ),
            "setcap cap_net_admin+ep $(command -v thinstream)",
        ),
        (Err(error), _) => or_remedy(
            finding(
                about,
                State::Missing,
                format!("/dev/net/tun does not open ({error})"),
                "edge cannot work; a container needs the device passed in",
            ),
            "modprobe tun",
        ),
    };
    let rules = match place.has_program("nft") {
        true => finding(
            "nftables (edge --setup)",
            State::Good,
            "nft is installed".to_owned(),
            "edge --setup can lead clients of other machines to the edge",
        ),
        false => or_remedy(
            finding(
                "nftables (edge --setup)",
                State::Missing,
                "there is no nft".to_owned(),
                "Clients reach only the edge's own address",
            ),
            "apt install nftables",
        ),
    };
    vec![device, rules]
}

/// Whether the effective capabilities have CAP_NET_ADMIN (capabilities(7): bit 12).
fn may_administer(place: &Place) -> bool {
    let status = place.line("proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> 12 & 1 == 1)
}

/// Files that may be open, which bound the connections of an edge.
fn descriptors(place: &Place) -> Option<Finding> {
    let limits = place.line("proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let hard = line.split_whitespace().nth(1)?;
    let count: u64 = hard.parse().unwrap_or(u64::MAX);
    // A connection of an edge has one socket towards its service.
    let state = if count >= 65_536 { State::Good } else { State::Limited };
    let follows = "An edge has one for each connection; serve needs one for all clients together";
    let found = format!("{hard} at most");
    Some(or_remedy(finding("Open files", state, found, follows), "ulimit -n 65536"))
}

/// Delay with which a sleeping thread wakes, and thus with which timers of the protocols fire.
fn sleeping() -> Finding {
    const SLEEPS: usize = 20;
    const EACH: Duration = Duration::from_millis(2);
    let mut late: Vec<Duration> = (0..SLEEPS)
        .map(|_| {
            let start = Instant::now();
            std::thread::sleep(EACH);
            start.elapsed().saturating_sub(EACH)
        })
        .collect();
    late.sort();
    let [median, longest] = [late[SLEEPS / 2], late[SLEEPS - 1]];
    let state = if median < Duration::from_millis(1) { State::Good } else { State::Limited };
    let in_ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
    finding(
        "Timers",
        state,
        format!("sleeping ends {} late, {} at most of {SLEEPS}", in_ms(median), in_ms(longest)),
        "Retransmissions and measured latencies are late by as much; a busy machine is later",
    )
}

/// The kernel's source of time.
fn clock_source(place: &Place) -> Option<Finding> {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = place.line(path)?;
    let is_slow = matches!(source.as_str(), "acpi_pm" | "hpet" | "jiffies" | "refined-jiffies");
    let (state, follows) = match is_slow {
        false => (State::Good, "Reading the clock needs no system call, or a short one"),
        true => (
            State::Limited,
            "Each look at the clock costs a microsecond or more, several for each packet",
        ),
    };
    Some(finding("Clock", state, source, follows))
}

/// The largest packets of the interfaces that are up.
fn interfaces(place: &Place) -> Option<Finding> {
    let folder = "sys/class/net";
    let of = |name: String| {
        let mtu = place.number(&format!("{folder}/{name}/mtu"))?;
        let state = place.line(&format!("{folder}/{name}/operstate"))?;
        (state != "down" && name != "lo").then_some((name, mtu))
    };
    let all: Vec<(String, u64)> = place.names(folder).into_iter().filter_map(of).collect();
    let least = all.iter().map(|(_, mtu)| *mtu).min()?;
    let found: Vec<String> = all.iter().map(|(name, mtu)| format!("{name} {mtu}")).collect();
    // What each link of IPv6 carries (RFC 8200, section 5).
    let (state, follows) = match least < 1280 {
        true => (
            State::Limited,
            "Below 1280 bytes there is no IPv6, and more packets for each large message",
        ),
        false => (State::Good, "Paths may carry less: associations and edge find out (RFC 8899)"),
    };
    Some(finding("Largest packets (MTU)", state, format!("{} bytes", found.join(", ")), follows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A system of the test's own, gone at its end.
    struct System(PathBuf);

    impl System {
        fn new(name: &str, files: &[(&str, &str)]) -> System {
            let name = format!("thinstream-machine-{name}-{}", std::process::id());
            let system = System(std::env::temp_dir().join(name));
            for (path, text) in files {
                let path = system.0.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            system
        }

        fn place(&self) -> Place {
            Place::at(self.0.clone())
        }
    }

    impl Drop for System {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn small_buffers_are_told_with_the_command_that_makes_them_larger() {
        let mut offloads = ::io::udp_offloads().unwrap();
        offloads.wanted_buffer = 4_194_304;
        (offloads.receive_buffer, offloads.send_buffer) = (212_992, 4_194_304);
        (offloads.send_segments, offloads.receive_segments) = (1, 64);
        let all = of_offloads(&offloads);
        let told: Vec<_> = all.iter().map(|one| (one.state, one.remedy.as_deref())).collect();
        assert_eq!(
            told,
            [
                (State::Limited, None),
                (State::Good, None),
                (State::Limited, Some("sysctl -w net.core.rmem_max=4194304")),
                (State::Good, None),
            ]
        );
        assert!(all[2].found.starts_with("212992 bytes of 4194304"), "{:?}", all[2]);
    }

    #[test]
    fn rights_and_devices_are_read_from_the_system() {
        let device = ("dev/net/tun", "");
        let status = |bits: &str| format!("Name:\tx\nCapEff:\t{bits}\n");
        for (files, state, remedy) in [
            (vec![], State::Missing, Some("modprobe tun")),
            (
                vec![device, ("proc/self/status", &*status("0000000000000400"))],
                State::Missing,
                Some("setcap cap_net_admin+ep $(command -v thinstream)"),
            ),
            (vec![device, ("proc/self/status", &*status("0000000000001000"))], State::Good, None),
        ] {
            let system = System::new("tun", &files);
            let found = tun(&system.place());
            assert_eq!((found[0].state, found[0].remedy.as_deref()), (state, remedy), "{files:?}");
            assert_eq!(found[1].remedy.as_deref(), Some("apt install nftables"));
        }
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n";
        let system = System::new("limits", &[("proc/self/limits", limits)]);
        let found = descriptors(&system.place()).unwrap();
        assert_eq!((found.state, found.found.as_str()), (State::Limited, "4096 at most"));
    }

    #[test]
    fn interfaces_that_are_down_and_loopback_do_not_count() {
        let system = System::new(
            "mtu",
            &[
                ("sys/class/net/lo/mtu", "65536"),
                ("sys/class/net/lo/operstate", "unknown"),
                ("sys/class/net/eth0/mtu", "1500"),
                ("sys/class/net/eth0/operstate", "up"),
                ("sys/class/net/eth1/mtu", "576"),
                ("sys/class/net/eth1/operstate", "down"),
            ],
        );
        let found = interfaces(&system.place()).unwrap();
        assert_eq!((found.state, found.found.as_str()), (State::Good, "eth0 1500 bytes"));
        assert_eq!(clock_source(&system.place()), None);
    }
}
