//! Recovery policies on the command line: presets by name, and single mechanisms that override
//! them.

mod or_off;

use core::marker::PhantomData;

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgGroup, ArgMatches, Command};
use recovery::RecoveryPolicy;
use recovery::policy::{Changes, FIELDS, Field, Protocol, Topic};

use crate::failure::Failure;
pub(crate) use or_off::OrOff;

/// A preset, perhaps with fields that differ, under the text that it was given by, and what the
/// preset does.
#[derive(Clone, Debug)]
pub(crate) struct NamedPolicy {
    pub(crate) name: String,
    pub(crate) description: &'static str,
    pub(crate) policy: RecoveryPolicy,
}

/// The protocol of a command, whose fields of a policy it has options for.
pub(crate) trait OfProtocol {
    const PROTOCOL: Protocol;
}

/// Options of the policies that SCTP has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sctp;

/// Options of the policies that TCP has, for `edge`, which is for Linux.
#[cfg(any(target_os = "linux", test))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tcp;

impl OfProtocol for Sctp {
    const PROTOCOL: Protocol = Protocol::Sctp;
}

#[cfg(any(target_os = "linux", test))]
impl OfProtocol for Tcp {
    const PROTOCOL: Protocol = Protocol::Tcp;
}

/// Single mechanisms, each instead of what the preset says: an option for each field of a policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides<P> {
    changes: Changes,
    protocol: PhantomData<P>,
}

/// Name of the group of these options, for arguments that go with none of them.
const OVERRIDES: &str = "Overrides";

/// The fields that affect a protocol.
fn fields<P: OfProtocol>() -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(|field| field.is_of(P::PROTOCOL))
}

impl<P: OfProtocol> clap::Args for Overrides<P> {
    fn augment_args(command: Command) -> Command {
        let names = fields::<P>().map(|field| field.name);
        let command = fields::<P>().fold(command, |command, field| command.arg(option(field)));
        command.group(ArgGroup::new(OVERRIDES).multiple(true).args(names))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Command-line option that sets a field of the policy.
fn option(field: &'static Field) -> Arg {
    let read = |text: &str| field.check(text).map(|()| text.to_owned());
    let option = Arg::new(field.name)
        .long(field.name)
        .value_name(field.value)
        .value_parser(read)
        .help(field.meaning.trim_end_matches('.'))
        .help_heading(heading(field.topic));
    match field.is_switch() {
        true => option.num_args(0..=1).require_equals(true).default_missing_value("on"),
        false => option,
    }
}

fn heading(topic: Topic) -> &'static str {
    match topic {
        Topic::Timeout => "Timeouts, instead of those of the policy",
        Topic::Loss => "Loss detection, instead of that of the policy",
        Topic::Congestion => "Congestion control, instead of that of the policy",
        Topic::Redundancy => "Redundancy, instead of that of the policy",
        Topic::Acknowledgement => "Acknowledgements, instead of those of the policy",
        Topic::PathMtu => "Packet sizes: changes of the policy",
    }
}

impl<P: OfProtocol> clap::FromArgMatches for Overrides<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut changes = Changes::new();
        for field in fields::<P>() {
            if let Some(text) = matches.get_one::<String>(field.name) {
                let wrong = |error| clap::Error::raw(ErrorKind::ValueValidation, error);
                changes.push(field.name, text).map_err(wrong)?;
            }
        }
        Ok(Overrides { changes, protocol: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<P> Overrides<P> {
    /// Changes `policy` where an option was given.
    ///
    /// # Errors
    /// When values of the result contradict each other.
    pub(crate) fn apply(&self, policy: &mut RecoveryPolicy) -> Result<(), Failure> {
        self.changes.apply(policy).map_err(Failure::usage)
    }
}

/// Reads a policy of a protocol, such as `thin` or `thin;bundling=paper`. Shells complete the names
/// of its presets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyParser(pub(crate) Protocol);

impl TypedValueParser for PolicyParser {
    type Value = NamedPolicy;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<NamedPolicy, clap::Error> {
        let protocol = self.0;
        let read = move |text: &str| find(protocol, text);
        TypedValueParser::parse_ref(&read, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let presets = self.0.presets().iter();
        Some(Box::new(presets.map(|(name, about)| PossibleValue::new(*name).help(*about))))
    }
}

/// The policy for TCP of a text such as `linux` or `linux;rto-min=100ms`.
///
/// # Errors
/// A missing preset, with the names that would be right.
#[cfg(any(target_os = "linux", test))]
pub(crate) fn tcp_preset(text: &str) -> Result<NamedPolicy, String> {
    find(Protocol::Tcp, text)
}

/// A help text, followed by the presets of the transport.
pub(crate) fn with_presets(what: &str, protocol: Protocol) -> String {
    let names: Vec<_> = protocol.presets().iter().map(|(name, _)| *name).collect();
    format!("{what}: {}", names.join(", "))
}

fn find(protocol: Protocol, text: &str) -> Result<NamedPolicy, String> {
    let policy = RecoveryPolicy::parse(protocol, text).map_err(|error| error.to_string())?;
    let preset = text.split(';').next().unwrap_or_default().trim();
    let known = protocol.presets().iter().find(|(known, _)| *known == preset);
    let description = known.map_or("", |(_, description)| *description);
    Ok(NamedPolicy { name: text.to_owned(), description, policy })
}

#[cfg(test)]
mod tests;
