//! SCTP's part of a run.

mod agreement;
mod authentication;
mod expect;
mod icmp;
mod inject;
mod matching;

use core::net::IpAddr;
use std::collections::BTreeMap;

use base::{Duration, Instant};

use self::authentication::Keys;
use super::shifts::shifts;
use super::state::{Party, Runner};
use super::times::Due;
use crate::config::RunConfig;
use crate::element::Memory;
use crate::mapping::Role;
use crate::mapping::{Mapping, Side};
use crate::script::{Call, Checksum, Content, Event, Packet, ScriptOption};
use crate::sockets::sctp::{Peer, Sockets, UserData};
use crate::sockets::{Application, Calls, Emitted, Outcome, Output};
use crate::stop::Stop;
use crate::{options, sysctl};

/// State of an SCTP run.
pub(super) struct Sctp {
    pub(super) sockets: Sockets,
    /// Exchange with the peer of the present packet.
    pub(super) talk: Talk,
    peer: Peer,
    /// Exchanges with other peers, by their addresses.
    others: BTreeMap<Peer, Talk>,
    shifts: (u32, u32),
}

/// Exchange between a peer and the stack.
pub(super) struct Talk {
    pub(super) mapping: Mapping,
    memory: Memory,
    /// Keys of both sides for authentication.
    keys: Keys,
    /// Tags on the wire of the script's INITs and INIT ACKs.
    script_tags: Vec<u32>,
    /// Tag on the wire of the script's last packet.
    last_tag: u32,
    /// The script's tag that the association uses, on the wire.
    agreed: agreement::Agreement,
    /// Whether the stack's numbers are those of its own INIT.
    bound_by_init: bool,
    /// Whether the script sent a COOKIE ECHO.
    cookie_returned: bool,
}

impl Talk {
    fn new((tag, tsn): (u32, u32)) -> Self {
        Talk {
            mapping: Mapping::new(tag, tsn),
            memory: Memory::default(),
            keys: Keys::default(),
            script_tags: Vec::new(),
            last_tag: 0,
            agreed: agreement::Agreement::default(),
            bound_by_init: false,
            cookie_returned: false,
        }
    }
}

impl Sctp {
    /// Switches to the peer with this address.
    fn switch_to(&mut self, address: IpAddr) {
        let peer = self.sockets.peer_at(address);
        if peer != self.peer {
            let talk = self.others.remove(&peer).unwrap_or_else(|| Talk::new(self.shifts));
            let before = core::mem::replace(&mut self.talk, talk);
            self.others.insert(core::mem::replace(&mut self.peer, peer), before);
        }
    }

    /// User data of the present packet's peer.
    fn user_data(&mut self) -> &mut UserData {
        self.sockets.user_data(self.peer)
    }
}

impl Party for Sctp {
    fn new(config: &RunConfig) -> Self {
        let shifts = shifts(config.seed);
        Sctp {
            sockets: Sockets::new(config.stack.clone(), config.seed),
            talk: Talk::new(shifts),
            peer: None,
            others: BTreeMap::new(),
            shifts,
        }
    }

    fn set_option(&mut self, option: &ScriptOption) -> Result<Option<Duration>, String> {
        let value = option.value.as_deref().unwrap_or_default();
        match option.name.as_str() {
            "ip_version" if value == "ipv6" => self.sockets.hosts.set_v6(),
            "peer" => {
                let address = value.parse().map_err(|_| {
                    format!("the option --peer={value} should name an address of a further peer")
                })?;
                self.sockets.add_peer(address);
            }
            // Packets show themselves whether they are encapsulated.
            "udp_encapsulation" if value.trim_matches('"') == "sctp" => {}
            _ => return options::apply(option, &mut self.sockets.config),
        }
        Ok(None)
    }

    fn refuses(&self, packet: &Packet, to_send: bool) -> Option<String> {
        if packet.traffic_class.is_some() || packet.hop_limit.is_some() {
            return Some("traffic class and hop limit are not supported".to_owned());
        }
        match &packet.content {
            Content::Sctp(sctp) if !to_send && sctp.checksum == Checksum::Bad => {
                Some("a wrong checksum from the stack is not supported".to_owned())
            }
            Content::Sctp(_) if packet.ecn.is_some() => Some("ECN is not supported".to_owned()),
            Content::Sctp(_) => None,
            Content::Tcp(_) => Some("TCP beside SCTP is not supported".to_owned()),
            Content::Icmp(message) if to_send => icmp::read(message)
                .is_none()
                .then(|| format!("ICMP {} is not supported", message.words.join(" "))),
            Content::Icmp(_) => Some("ICMP from the stack is not supported".to_owned()),
        }
    }

    fn inject(runner: &mut Runner<'_, Self>, packet: &Packet) -> Result<(), Stop> {
        runner.inject(packet)
    }

    fn expect(
        runner: &mut Runner<'_, Self>,
        packet: &Packet,
        due: Option<Due>,
        next: Option<&Event>,
    ) -> Result<bool, Stop> {
        runner.expect(packet, due, next)
    }

    fn call(&mut self, now: Instant, call: &Call) -> Result<Outcome, Stop> {
        self.sockets.call(now, call)
    }

    fn shell(&mut self, _now: Instant, command: &str) -> Result<(), Stop> {
        sysctl::apply(command, &mut self.sockets.config).map_err(Stop::Skip)
    }

    fn fact(&self, _now: Instant, name: &str) -> Option<i64> {
        self.sockets.fact(name)
    }

    fn sockets(&mut self) -> &mut impl Application {
        &mut self.sockets
    }

    fn symbolic(&self, output: &Output) -> Option<u32> {
        let perspective = self.talk.mapping.perspective(Side::Script);
        match output {
            Output::Tsn(live) => Some(perspective.script(Role::OwnTsn, *live)),
            Output::OwnTsn(live) => Some(perspective.script(Role::PeerTsn, *live)),
            _ => None,
        }
    }

    fn show(&self, packet: &Emitted) -> String {
        expect::show(self, packet)
    }
}
