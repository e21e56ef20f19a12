//! Networks of the laboratory's library as values of options.

use ::lab::plan::NetworkName;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads the name of a network of the library.
pub(crate) fn names() -> impl TypedValueParser<Value = NetworkName> {
    let names = PossibleValuesParser::new(NetworkName::all().map(NetworkName::as_str));
    names.try_map(|name| name.parse::<NetworkName>())
}
