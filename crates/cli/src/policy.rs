//! Recovery policies on the command line: presets by name, and single mechanisms that override them.

mod or_off;

use core::marker::PhantomData;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};
use recovery::policy::{Changes, FIELDS, Field, Only, Topic};
use recovery::{PRESETS, RecoveryPolicy, TCP_PRESETS};

use crate::failure::Failure;
pub(crate) use or_off::OrOff;

/// A preset with its name and what it does.
#[derive(Clone, Debug)]
pub(crate) struct NamedPolicy {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) policy: RecoveryPolicy,
}

/// The protocol of a command, whose fields of a policy it has options for.
pub(crate) trait Protocol {
    const ONLY: Only;
}

/// SCTP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sctp;

/// TCP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tcp;

impl Protocol for Sctp {
    const ONLY: Only = Only::Sctp;
}

impl Protocol for Tcp {
    const ONLY: Only = Only::Tcp;
}

/// Single mechanisms, each in the place of what the preset says: an option for each field of a policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides<P> {
    changes: Changes,
    protocol: PhantomData<P>,
}

/// The fields that a protocol heeds.
fn fields<P: Protocol>() -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(|field| field.only.is_none_or(|only| only == P::ONLY))
}

impl<P: Protocol> clap::Args for Overrides<P> {
    fn augment_args(command: Command) -> Command {
        fields::<P>().fold(command, |command, field| command.arg(option(field)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The option of a field.
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
        Topic::Timeout => "Timeouts, in the place of what the policy says",
        Topic::Loss => "Loss told from delay, in the place of what the policy says",
        Topic::Congestion => "Congestion control, in the place of what the policy says",
        Topic::Redundancy => "Redundancy, in the place of what the policy says",
        Topic::Acknowledgement => "Acknowledgements, in the place of what the policy says",
    }
}

impl<P: Protocol> clap::FromArgMatches for Overrides<P> {
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
    /// When the result contradicts itself.
    pub(crate) fn apply(&self, policy: &mut RecoveryPolicy) -> Result<(), Failure> {
        self.changes.apply(policy).map_err(Failure::usage)
    }
}

/// The preset for SCTP of this name.
///
/// # Errors
/// When there is none; says which there are.
pub(crate) fn preset(name: &str) -> Result<NamedPolicy, String> {
    find(&PRESETS, RecoveryPolicy::preset, name)
}

/// The preset for TCP of this name.
///
/// # Errors
/// When there is none; says which there are.
pub(crate) fn tcp_preset(name: &str) -> Result<NamedPolicy, String> {
    find(&TCP_PRESETS, RecoveryPolicy::tcp_preset, name)
}

fn find(
    presets: &'static [(&'static str, &'static str)],
    make: impl Fn(&str) -> Option<RecoveryPolicy>,
    name: &str,
) -> Result<NamedPolicy, String> {
    let known = presets.iter().find(|(known, _)| *known == name);
    match known.zip(make(name)) {
        Some((&(name, description), policy)) => Ok(NamedPolicy { name, description, policy }),
        None => {
            let names: Vec<_> = presets.iter().map(|(name, _)| *name).collect();
            Err(format!("there is no policy \"{name}\"; there are {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
