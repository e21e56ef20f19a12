//! `thinstream lab networks`: the networks of the library.

use ::lab::plan::NetworkName;
use results::text_table::Table;
use serde_json::json;

use crate::failure::Failure;
use crate::output;

/// List the networks of the library: recorded ones, and models after published numbers.
///
/// --network takes their names, and so do plans: network = "NAME", or like = "NAME" beside other
/// keys.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Also print the source of the numbers, their licence, and further assumptions.
    #[arg(long, short)]
    verbose: bool,
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let read = |name: NetworkName| Ok((name, name.network().map_err(Failure::usage)?));
    let networks = NetworkName::all().map(read).collect::<Result<Vec<_>, Failure>>()?;
    if arguments.json {
        let list = networks.iter().map(|(name, network)| {
            json!({
                "name": name.as_str(),
                "about": network.about,
                "source": network.source,
                "licence": network.licence,
                "assumed": network.assumed,
            })
        });
        let list: Vec<_> = list.collect();
        return output::print(&serde_json::to_string_pretty(&list).unwrap_or_default());
    }
    let mut table = Table::new(2);
    for (name, network) in networks {
        table.row([name.to_string(), network.about.clone()]);
        if arguments.verbose {
            table.row([String::new(), format!("source: {}", network.source)]);
            table.row([String::new(), format!("licence: {}", network.licence)]);
            table.row([String::new(), format!("assumed: {}", network.assumed)]);
        }
    }
    output::print(&table.to_string())
}
