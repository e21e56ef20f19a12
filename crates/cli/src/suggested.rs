//! Arguments for which shells suggest words, although others are read, too.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Reads what `parser` reads. Shells complete `words`, with what each means where that is known.
#[derive(Clone)]
pub(crate) struct Suggested<P> {
    pub(crate) parser: P,
    pub(crate) words: fn() -> Vec<PossibleValue>,
}

impl<P: TypedValueParser> TypedValueParser for Suggested<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.words)().into_iter()))
    }
}
