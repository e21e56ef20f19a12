//! Runs the interop matrix: `cargo run -p interop --bin matrix -- [--markdown FILE] [--quick]
//! [--only TEXT]... [--data-channels]`.
//!
//! `--only` keeps the runs whose title contains the text, and leaves data channels out;
//! `--data-channels` runs those alone, with `--only` those of peers whose name contains the text.
//! Exit codes: 0 all passed, 1 some failed, 2 wrong usage.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("matrix: the peers run on Linux only");
    std::process::ExitCode::from(2)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::PathBuf;
    use std::process::ExitCode;

    use anyhow::{Context, Result};
    use interop::matrix::{Column, EXERCISES, Matrix, Outcome, Run, Table};
    use interop::{DATA_CHANNELS, DataChannelTable};

    #[derive(Default)]
    struct Arguments {
        markdown: Option<PathBuf>,
        quick: bool,
        only: Vec<String>,
        data_channels: bool,
    }

    fn parse() -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--markdown" => arguments.markdown = Some(value()?.into()),
                "--only" => arguments.only.push(value()?),
                "--quick" => arguments.quick = true,
                "--data-channels" => arguments.data_channels = true,
                _ => return Err(format!("unknown: {word}")),
            }
        }
        Ok(arguments)
    }

    pub(super) fn main() -> ExitCode {
        let arguments = match parse() {
            Ok(arguments) => arguments,
            Err(error) => {
                eprintln!("matrix: {error}");
                return ExitCode::from(2);
            }
        };
        match run(&arguments) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("matrix: {error:#}");
                ExitCode::FAILURE
            }
        }
    }

    fn run_stacks(arguments: &Arguments) -> Result<Table> {
        let mut runs = match arguments.quick {
            true => Run::quick(&Column::ALL),
            false => Run::all(EXERCISES, &Column::ALL),
        };
        runs.retain(|run| {
            let title = run.title();
            arguments.only.iter().all(|text| title.contains(text))
        });
        let mut columns: Vec<Column> = runs.iter().map(|run| run.column).collect();
        columns.sort_unstable();
        columns.dedup();
        let matrix = Matrix::open(&columns)?;
        for column in &columns {
            if let Some(missing) = matrix.missing(*column) {
                eprintln!("{}: not there: {missing}", column.name());
            }
        }
        let table = matrix.run(&runs, |run, outcome| match outcome {
            Outcome::Passed(text) => println!("ok    {}: {text}", run.title()),
            Outcome::Failed(why) => println!("FAIL  {}: {why}", run.title()),
            Outcome::Lacking(what) => println!("no    {}: {what}", run.title()),
            Outcome::Missing => {}
        });
        let (passed, failed) = table.counts();
        println!("{passed} runs passed, {failed} failed");
        Ok(table)
    }

    fn run(arguments: &Arguments) -> Result<bool> {
        let mut failed = 0;
        // What stands above the section of data channels.
        let mut page = match (&arguments.markdown, arguments.data_channels) {
            (Some(path), true) => std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?,
            _ => String::new(),
        };
        if !arguments.data_channels {
            let table = run_stacks(arguments)?;
            failed += table.counts().1;
            page = table.markdown();
        }
        if arguments.data_channels || arguments.only.is_empty() && !arguments.quick {
            let table = DataChannelTable::run(&arguments.only, |line| println!("{line}"));
            failed += table.failures().len();
            let above = page.split(DATA_CHANNELS).next().unwrap_or_default().trim_end();
            page = format!("{above}\n\n{}", table.markdown());
        }
        if let Some(path) = &arguments.markdown {
            std::fs::write(path, page)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(failed == 0)
    }
}
