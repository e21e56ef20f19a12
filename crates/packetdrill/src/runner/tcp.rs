//! TCP's part of a run.

mod expect;
mod hosts;
mod icmp;
mod inject;
mod matching;
mod numbers;
mod window;
mod wire;

use base::{Duration, Instant, Purpose, RandomStream};

use self::numbers::Numbers;
use self::window::Promise;
use super::shifts::shifts;
use super::state::{Party, Runner};
use super::times::Due;
use crate::config::RunConfig;
use crate::leniency::Leniency;
use crate::options;
use crate::script::{Call, Content, Event, Packet, ScriptOption, TcpOption};
use crate::sockets::tcp::Sockets;
use crate::sockets::{Application, Calls, Emitted, Outcome, Output};
use crate::stop::Stop;
use crate::sysctl;

/// State of a TCP run.
pub(super) struct Tcp {
    sockets: Sockets,
    numbers: Numbers,
    /// Duration of a tick of the stack's timestamps, if the script wants them compared.
    tick: Option<Duration>,
    /// Sequence number on the wire of the stack's FIN, once it was sent.
    fin_sent: Option<u32>,
    /// Acknowledgement number on the wire, and window, of its last acknowledgement.
    last_ack: Option<(u32, u16)>,
    /// Right edge of the window that the stack advertised, which it must not take back.
    promise: Promise,
    /// Whether segments of the stack are never merged to match one of the script's.
    strict_segments: bool,
    /// Whether the script's SYN or SYN ACK negotiated ECN, so that segments without a codepoint in
    /// the script may carry one.
    ecn_agreed: bool,
}

impl Party for Tcp {
    fn new(config: &RunConfig) -> Self {
        let (clock, sequence) = shifts(config.seed);
        let clock = if config.seed == 0 { 0 } else { clock_shift(clock) };
        Tcp {
            sockets: Sockets::new(config.stack.tcp.clone(), config.seed),
            numbers: Numbers::new(sequence, clock),
            tick: None,
            fin_sent: None,
            last_ack: None,
            promise: Promise::default(),
            strict_segments: !config.overlooks(Leniency::SuperSegment),
            ecn_agreed: false,
        }
    }

    fn set_option(&mut self, option: &ScriptOption) -> Result<Option<Duration>, String> {
        let value = option.value.as_deref().unwrap_or_default();
        let unknown = || format!("the option --{}={value} is not supported", option.name);
        match option.name.as_str() {
            "ip_version" if value == "ipv6" => self.sockets.hosts.set_v6(),
            "ip_version" if value == "ipv4" => {}
            "tcp_ts_tick_usecs" => {
                let micros = value.parse().map_err(|_| unknown())?;
                self.tick = Some(Duration::from_micros(micros)).filter(|tick| !tick.is_zero());
            }
            // Size to which a network card cuts segments: no segment is cut here.
            "mss" => {}
            "strict_segments" if option.value.is_none() => self.strict_segments = true,
            _ => return options::apply_tcp(option, &mut self.sockets.config),
        }
        Ok(None)
    }

    fn refuses(&self, packet: &Packet, to_send: bool) -> Option<String> {
        let unsupported = |what: &str| Some(format!("{what} is not supported"));
        match &packet.content {
            Content::Sctp(_) => unsupported("SCTP beside TCP"),
            Content::Icmp(message) if to_send => {
                match icmp::read(message, self.sockets.hosts.local.is_ipv6()) {
                    Some(_) => None,
                    None => unsupported(&format!("ICMP {}", message.words.join(" "))),
                }
            }
            Content::Icmp(_) => unsupported("ICMP from the stack"),
            Content::Tcp(_) if !to_send && packet.traffic_class.is_some() => {
                unsupported("the traffic class of a segment")
            }
            Content::Tcp(_) if !to_send && packet.hop_limit.is_some() => {
                unsupported("the hop limit of a segment")
            }
            Content::Tcp(segment) => {
                let mut options = segment.options.iter().flatten();
                options.find_map(|option| match option {
                    TcpOption::Other(text) => unsupported(&format!("the TCP option {text}")),
                    _ => None,
                })
            }
        }
    }

    fn inject(runner: &mut Runner<'_, Self>, packet: &Packet) -> Result<(), Stop> {
        runner.inject(packet)
    }

    fn expect(
        runner: &mut Runner<'_, Self>,
        packet: &Packet,
        due: Option<Due>,
        _next: Option<&Event>,
    ) -> Result<bool, Stop> {
        runner.expect(packet, due).map(|()| false)
    }

    fn call(&mut self, now: Instant, call: &Call) -> Result<Outcome, Stop> {
        if call.name == "connect" {
            self.numbers.expect_another();
        }
        self.sockets.call(now, call)
    }

    fn shell(&mut self, _now: Instant, command: &str) -> Result<(), Stop> {
        if hosts::ask(command, &self.sockets)? {
            return Ok(());
        }
        sysctl::tcp::apply(command, &mut self.sockets.config).map_err(Stop::Skip)
    }

    fn fact(&self, now: Instant, name: &str) -> Option<i64> {
        self.sockets.fact(now, name)
    }

    fn sockets(&mut self) -> &mut impl Application {
        &mut self.sockets
    }

    fn symbolic(&self, _output: &Output) -> Option<u32> {
        None
    }

    fn show(&self, packet: &Emitted) -> String {
        matching::show_packet(self, packet)
    }
}

/// Shift of the clock, which differs from that of the sequence numbers.
fn clock_shift(seed: u32) -> u32 {
    RandomStream::new(seed.into(), Purpose("packetdrill clock", 0)).next_u32()
}
