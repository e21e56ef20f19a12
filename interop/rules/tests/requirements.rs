//! The tables of requirements keep what they promise: each row of docs/requirements names tests,
//! scripts or exceptions that exist.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LEVELS: [&str; 6] = ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "rule"];
const HEADER: [&str; 4] = ["section", "level", "requirement", "held by"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").to_owned()
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// The cells of a table's row; none where the line is no row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The rows below a table's header, with their line numbers. Text between tables is left out.
fn rows(text: &str) -> Result<Vec<(usize, Vec<&str>)>, String> {
    let mut found = Vec::new();
    let mut in_table = false;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let Some(cells) = cells(line) else {
            if line.trim_start().starts_with('|') {
                return Err(format!("line {number}: a row ends with |"));
            }
            in_table = false;
            continue;
        };
        if !in_table {
            if cells != HEADER {
                return Err(format!("line {number}: the columns of a table are {HEADER:?}"));
            }
            in_table = true;
        } else if !cells.iter().all(|cell| cell.chars().all(|c| c == '-')) {
            found.push((number, cells));
        }
    }
    Ok(found)
}

/// The RFC's number in the first line, `# RFC 9293: title`.
fn rfc_of(text: &str) -> Result<&str, String> {
    let number = text.strip_prefix("# RFC ").and_then(|rest| rest.split(':').next());
    let number = number.filter(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    number.ok_or_else(|| "the first line is `# RFC NUMBER: title`".to_owned())
}

/// A section's place in the order of its RFC: appendices stand behind all numbers.
fn section_order(cell: &str) -> Result<Vec<u32>, String> {
    let section = cell.split(',').next().unwrap_or_default();
    let part = |part: &str| match part.as_bytes() {
        [letter @ b'A'..=b'Z'] => Some(1000 + u32::from(*letter)),
        _ => part.parse().ok(),
    };
    let parts: Option<Vec<u32>> = section.split('.').map(part).collect();
    parts.ok_or_else(|| format!("`{cell}` is no section such as 3.10.7.4 or B"))
}

/// The cell `level`: `MUST`, `MUST ×2, SHOULD`, `MUST (part)`, and in RFC 9293 `MUST NOT (MUST-9)`
/// or `MUST (MUST-20 part)`.
#[derive(Debug)]
struct Level<'a> {
    /// Levels in the order of [`LEVELS`], each with the number of keywords that the row covers.
    kinds: Vec<(&'a str, u32)>,
    label: Option<&'a str>,
    /// Whether the row holds a further part of a requirement that another row counts.
    is_part: bool,
}

impl Level<'_> {
    fn is(&self, level: &str) -> bool {
        self.kinds.iter().all(|(kind, _)| *kind == level)
    }
}

fn level_of(cell: &str) -> Result<Level<'_>, String> {
    let (levels, label) = match cell.split_once(" (") {
        Some((levels, label)) => (levels, label.trim_end_matches(')')),
        None => (cell, ""),
    };
    let (label, is_part) = match label.strip_suffix("part") {
        Some(label) => (label.trim_end(), true),
        None => (label, false),
    };
    let kind = |part| match str::split_once(part, " ×") {
        Some((kind, number)) => number.parse().ok().filter(|n| *n > 1).map(|n| (kind, n)),
        None => Some((part, 1)),
    };
    let kinds: Option<Vec<(&str, u32)>> = levels.split(", ").map(kind).collect();
    let kinds = kinds.unwrap_or_default();
    let places = kinds.iter().map(|(kind, _)| LEVELS.iter().position(|level| level == kind));
    let is_good = places.clone().all(|place| place.is_some()) && places.is_sorted_by(|a, b| a < b);
    match is_good && !kinds.is_empty() {
        true => Ok(Level { kinds, label: Some(label).filter(|label| !label.is_empty()), is_part }),
        false => Err(format!(
            "`{cell}` is no level: {LEVELS:?}, in this order, such as `MUST ×2, SHOULD`"
        )),
    }
}

/// Whether the text has the test function of that name: a function below an attribute that ends in
/// `test]`. An ignored test does not count, since nothing runs it; neither does one in a comment.
fn has_test(text: &str, name: &str) -> bool {
    let (mut is_test, mut is_ignored) = (false, false);
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
            is_ignored |= line.contains("ignore");
        } else if let Some((_, rest)) = line.split_once("fn ") {
            let here = rest.split(['(', '<']).next() == Some(name);
            if here && is_test && !is_ignored {
                return true;
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    false
}

#[test]
fn only_a_test_that_runs_holds_a_requirement() {
    let with = |attributes: &str| has_test(&format!("{attributes}\nfn holds() {{}}"), "holds");
    assert!(with("#[test]") && with("#[tokio::test(flavor = \"multi_thread\")]"));
    assert!(!with("") && !with("#[cfg(test)]"));
    assert!(!with("#[test]\n#[ignore]") && !with("#[ignore = \"slow\"]\n#[test]"));
    assert!(!with("#[test]\n#[cfg_attr(unix, ignore)]"));
    assert!(!has_test("// #[test]\n// fn holds() {}", "holds"));
    assert!(!has_test("#[test]\nfn another() {}\nfn holds() {}", "holds"));
}

/// The first cells of the rows of docs/exceptions.md that are about one RFC.
fn exceptions(text: &str, rfc: &str) -> BTreeSet<String> {
    let mut below = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            below = heading.split(|c: char| !c.is_ascii_digit()).any(|number| number == rfc);
        } else if let Some(cells) = cells(line) {
            let numbers = cells[0].split([',', ';', ' ']);
            if below || numbers.into_iter().any(|number| number == rfc) {
                found.insert(cells[0].to_owned());
            }
        }
    }
    found
}

/// Whether what a code span names exists: a test, a script or an exception.
fn check_reference(reference: &str, exceptions: &BTreeSet<String>) -> Result<(), String> {
    if let Some(cell) = reference.strip_prefix("docs/exceptions.md: ") {
        let known = exceptions.contains(cell);
        return known
            .then_some(())
            .ok_or(format!("no row of this RFC's exceptions begins `{cell}`"));
    }
    if let Some((file, name)) = reference.split_once("::") {
        let found = has_test(&read(file)?, name);
        return found.then_some(()).ok_or(format!("{file} has no test `{name}`"));
    }
    let is_script = reference.starts_with("conformance/") && reference.ends_with(".pkt");
    match is_script {
        true => read(reference).map(drop),
        false => Err(format!("`{reference}` is neither FILE::TEST, a script, nor an exception")),
    }
}

/// Parties that a requirement may bind instead of the stack.
const PARTIES: [&str; 7] = [
    "the application",
    "the peer",
    "the network",
    "the operating system",
    "the IP layer",
    "IANA",
    "authors of extensions",
];

/// Whether a cell `held by` says what holds its requirement, or who else has to.
fn check_held(cell: &str, level: &Level<'_>, exceptions: &BTreeSet<String>) -> Result<(), String> {
    if let Some(party) = cell.strip_prefix("Not ours: ") {
        let rest = PARTIES.iter().find_map(|known| party.strip_prefix(known));
        return match !level.is("rule")
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(';'))
        {
            true => Ok(()),
            false => Err(format!(
                "`Not ours:` names another party, one of {PARTIES:?}, and what the stack does after a `;`"
            )),
        };
    }
    if let Some(reason) = cell.strip_prefix("Not used:") {
        return match level.is("MAY") && reason.split_whitespace().count() >= 3 {
            true => Ok(()),
            false => Err("`Not used:` needs a reason, and is for a MAY".to_owned()),
        };
    }
    let spans: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if spans.is_empty() || cell.matches('`').count() % 2 == 1 {
        return Err("nothing holds it".to_owned());
    }
    spans.into_iter().try_for_each(|span| check_reference(span, exceptions))
}

/// Whether each mention of docs/exceptions.md in a page, in a cell or in prose, names a row that
/// exists.
fn check_mentions(text: &str, exceptions: &BTreeSet<String>) -> Result<(), String> {
    let named = text.split('`').skip(1).step_by(2).filter(|span| span.contains("exceptions.md"));
    let named: Vec<&str> = named.collect();
    if named.len() != text.matches("exceptions.md").count() {
        return Err(
            "a mention of exceptions.md is a span `docs/exceptions.md: FIRST CELL`".to_owned()
        );
    }
    named.into_iter().try_for_each(|span| check_reference(span, exceptions))
}

/// Checks a page and returns the labels in it, and how many rows it has.
fn check_page(text: &str, exceptions_text: &str) -> Result<(Vec<String>, usize), String> {
    let exceptions = exceptions(exceptions_text, rfc_of(text)?);
    let rows = rows(text)?;
    let mut labels = Vec::new();
    let mut last = Vec::new();
    let mut wrong: Vec<String> = check_mentions(text, &exceptions).err().into_iter().collect();
    for (line, cells) in &rows {
        let mut check = || {
            let [section, level, requirement, held] = cells[..] else {
                return Err(format!("{} cells, {} wanted", cells.len(), HEADER.len()));
            };
            let order = section_order(section)?;
            if order < last {
                return Err(format!("section {section} stands behind a later one"));
            }
            last = order;
            let level = level_of(level)?;
            labels.extend(level.label.map(str::to_owned));
            if requirement.split_whitespace().count() < 3 {
                return Err("the requirement is not told".to_owned());
            }
            check_held(held, &level, &exceptions)
        };
        if let Err(reason) = check() {
            wrong.push(format!("line {line}: {reason}"));
        }
    }
    match wrong.is_empty() {
        true => Ok((labels, rows.len())),
        false => Err(wrong.join("\n")),
    }
}

/// The labels of RFC 9293, appendix B.
fn labels_of_rfc9293() -> BTreeSet<String> {
    let kinds = [("MUST", 69), ("SHLD", 31), ("MAY", 18), ("REC", 1)];
    kinds.iter().flat_map(|(kind, last)| (1..=*last).map(move |n| format!("{kind}-{n}"))).collect()
}

/// The pages of docs/requirements except for the one that explains them, as names from the root.
fn pages() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs/requirements")).expect("docs/requirements");
    let names = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.retain(|name| name != "README.md");
    names.sort();
    names
}

#[test]
fn every_requirement_is_held_by_what_exists() {
    let exceptions = read("docs/exceptions.md").unwrap();
    let mut wrong = Vec::new();
    for name in pages() {
        let page = format!("docs/requirements/{name}");
        match check_page(&read(&page).unwrap(), &exceptions) {
            Ok((_, rows)) if rows > 0 => {}
            Ok(_) => wrong.push(format!("{page}: no table")),
            Err(reasons) => wrong.extend(reasons.lines().map(|line| format!("{page}, {line}"))),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_list_of_pages_and_called_by_its_rfc() {
    let list = read("docs/requirements/README.md").unwrap();
    let pages = pages();
    assert!(!pages.is_empty());
    for name in pages {
        assert!(list.contains(&format!("[{name}]({name})")), "README.md does not list {name}");
        let text = read(&format!("docs/requirements/{name}")).unwrap();
        assert_eq!(format!("rfc{}.md", rfc_of(&text).unwrap()), name);
    }
}

#[test]
fn no_label_of_appendix_b_is_missing_from_the_table_of_rfc_9293() {
    let exceptions = read("docs/exceptions.md").unwrap();
    let (labels, _) =
        check_page(&read("docs/requirements/rfc9293.md").unwrap(), &exceptions).unwrap();
    let labels: BTreeSet<String> = labels.into_iter().collect();
    let missing: Vec<_> = labels_of_rfc9293().difference(&labels).cloned().collect();
    let unknown: Vec<_> = labels.difference(&labels_of_rfc9293()).cloned().collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
}

/// RFCs whose keywords docs/requirements/keywords.tsv counts.
const COUNTED: [&str; 11] =
    ["3758", "4895", "5061", "5961", "6525", "6675", "7323", "8260", "8985", "9260", "9293"];

/// The first four of [`LEVELS`]: numbers of MUST, MUST NOT, SHOULD and SHOULD NOT.
type Keywords = [u32; 4];

/// The numbers of keywords of each RFC's sections, from lines `RFC SECTION MUST MUST-NOT SHOULD
/// SHOULD-NOT MENTIONS`.
fn counted(text: &str) -> BTreeMap<(String, String), Keywords> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [rfc, section, ref numbers @ .., _] = cells[..] else { panic!("`{line}`") };
        let numbers: Vec<u32> = numbers.iter().map(|n| n.parse().expect("a number")).collect();
        let keywords = numbers.try_into().unwrap_or_else(|_| panic!("`{line}`"));
        ((rfc.to_owned(), section.to_owned()), keywords)
    };
    lines.map(entry).collect()
}

/// The numbers of keywords that the rows of a page cover in each section.
fn covered(rfc: &str, page: &str) -> BTreeMap<(String, String), Keywords> {
    let mut sum = BTreeMap::new();
    for (line, cells) in rows(page).unwrap() {
        let level =
            level_of(cells[1]).unwrap_or_else(|error| panic!("rfc{rfc}.md, {line}: {error}"));
        let section = cells[0].split(',').next().unwrap_or_default();
        let here: &mut Keywords = sum.entry((rfc.to_owned(), section.to_owned())).or_default();
        for (kind, number) in level.kinds.iter().filter(|_| !level.is_part) {
            if let Some(place) = LEVELS[..4].iter().position(|level| level == kind) {
                here[place] += number;
            }
        }
    }
    sum.retain(|_, keywords| *keywords != Keywords::default());
    sum
}

/// Differences between the keywords of sections and those that rows cover.
fn leaks(
    counted: &BTreeMap<(String, String), Keywords>,
    covered: &BTreeMap<(String, String), Keywords>,
) -> Vec<String> {
    let sections: BTreeSet<_> = counted.keys().chain(covered.keys()).collect();
    let of = |map: &BTreeMap<_, Keywords>, section| map.get(section).copied().unwrap_or_default();
    let differ =
        sections.into_iter().filter(|section| of(counted, section) != of(covered, section));
    let told = differ.map(|section| {
        let (rfc, number) = section;
        let (has, rows) = (of(counted, section), of(covered, section));
        format!("RFC {rfc}, {number} has {has:?} of {:?}, the rows cover {rows:?}", &LEVELS[..4])
    });
    told.collect()
}

#[test]
fn the_rows_of_a_section_cover_each_of_its_keywords() {
    let counted = counted(&read("docs/requirements/keywords.tsv").unwrap());
    let rfcs: BTreeSet<&str> = counted.keys().map(|(rfc, _)| rfc.as_str()).collect();
    assert_eq!(rfcs, BTreeSet::from(COUNTED));
    let pages =
        COUNTED.map(|rfc| covered(rfc, &read(&format!("docs/requirements/rfc{rfc}.md")).unwrap()));
    let leaks = leaks(&counted, &pages.into_iter().flatten().collect());
    assert!(leaks.is_empty(), "\n{}", leaks.join("\n"));
}

#[test]
fn a_keyword_without_a_row_and_a_row_without_a_keyword_are_found() {
    let counted = counted("# a comment\n9260\t6.1\t2\t1\t1\t0\t3\n");
    let held = |levels: &[&str]| {
        let rows: Vec<String> =
            levels.iter().map(|level| format!("| 6.1, rule A | {level} | is sent | x |")).collect();
        leaks(&counted, &covered("9260", &page(&rows.join("\n")))).len()
    };
    assert_eq!(held(&["MUST ×2, MUST NOT, SHOULD", "MUST (part)", "rule", "MAY"]), 0);
    assert_eq!(held(&["MUST", "MUST", "MUST NOT, SHOULD"]), 0);
    for wrong in [
        &["MUST, MUST NOT, SHOULD"][..],
        &["MUST ×2, SHOULD ×2"],
        &["MUST ×3, MUST NOT, SHOULD"],
        &[],
    ] {
        assert_eq!(held(wrong), 1, "{wrong:?}");
    }
    let other = covered("9260", &page("| 6.2 | MUST | is sent | x |"));
    assert_eq!(leaks(&counted, &other).len(), 2);
}

/// A protocol's list at the head of docs/exceptions.md of what it breaks by choice, and where the
/// reasons come from.
struct Broken {
    /// Heading of the list, as a line of the document.
    heading: &'static str,
    /// Whether a table with this heading is about the protocol.
    has_table: fn(&str) -> bool,
    /// Whether a row of the list is about a row of the tables that begins with this cell.
    names: fn(row: &str, cell: &str) -> bool,
    /// RFCs with a page of requirements.
    rfcs: &'static [&'static str],
}

const OF_SCTP: Broken = Broken {
    heading: "\n## SCTP: requirements broken by choice\n",
    has_table: |heading| !heading.contains("(TCP)"),
    names: |row, cell| row.split_once(": ").is_some_and(|(_, named)| named == cell),
    rfcs: &[
        "3758", "4895", "5061", "6525", "6951", "7053", "7496", "7829", "8260", "8899", "9260",
        "9653",
    ],
};

const OF_TCP: Broken = Broken {
    heading: "\n## TCP: requirements broken by choice\n",
    has_table: |heading| heading.contains("(TCP)"),
    names: |row, cell| row == cell,
    rfcs: &[
        "2018", "2883", "3042", "3168", "5681", "5682", "5827", "5961", "6298", "6582", "6675",
        "6928", "7323", "7765", "8985", "9293", "9406",
    ],
};

/// First cells of a section's rows, without the head of its table.
fn first_cells(section: &str) -> Vec<&str> {
    let all = section.lines().filter_map(cells).map(|cells| cells[0]);
    all.filter(|cell| cell.contains(|c: char| c.is_ascii_digit())).collect()
}

impl Broken {
    /// The protocol's list: its rows, and all of its text on one line.
    fn list<'a>(&self, text: &'a str) -> (Vec<&'a str>, String) {
        let (_, rest) = text.split_once(self.heading).expect("the list");
        let list = rest.split("\n## ").next().unwrap_or_default();
        (first_cells(list), list.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// First cells of the tables' rows that depart from a MUST, and mistakes: such a row without a
    /// reason in the list, one in the list that says of no MUST, and rows of the list that no
    /// table has.
    fn compared<'a>(&self, text: &'a str) -> (BTreeSet<&'a str>, Vec<&'a str>) {
        let (list, _) = self.list(text);
        let is_table = |section: &&str| {
            let heading = section.lines().next().unwrap_or_default();
            (self.has_table)(heading) && !heading.contains("requirements broken by choice")
        };
        let tables = text.split("\n## ").skip(1).filter(is_table);
        let rows: BTreeSet<&str> = tables.flat_map(first_cells).collect();
        let (broken, kept): (BTreeSet<&str>, BTreeSet<&str>) =
            rows.into_iter().partition(|cell| cell.contains("(MUST"));
        let is_listed = |cell: &str| list.iter().any(|row| (self.names)(row, cell));
        let missing = broken.iter().filter(|cell| !is_listed(cell));
        let wrong = kept.iter().filter(|cell| is_listed(cell));
        let is_row = |row: &str| broken.iter().any(|cell| (self.names)(row, cell));
        let stale = list.iter().filter(|row| !is_row(row));
        let mistakes = missing.chain(wrong).chain(stale).copied().collect();
        (broken, mistakes)
    }
}

#[test]
fn what_a_protocol_breaks_of_a_must_is_in_its_list_and_nothing_else_is() {
    let text = read("docs/exceptions.md").unwrap();
    for (protocol, least) in [(OF_SCTP, 15), (OF_TCP, 12)] {
        let (broken, mistakes) = protocol.compared(&text);
        assert!(mistakes.is_empty(), "{}: {mistakes:?}", protocol.heading.trim());
        assert!(broken.len() >= least, "{}: {broken:?}", protocol.heading.trim());
        // Each row has to be in the list: without it the check fails.
        for cell in broken {
            let row = text
                .lines()
                .find(|line| cells(line).is_some_and(|cells| (protocol.names)(cells[0], cell)));
            let without = text.replacen(&format!("{}\n", row.unwrap()), "", 1);
            assert!(!protocol.compared(&without).1.is_empty(), "the list can lack {cell}");
        }
    }
}

#[test]
fn an_exception_that_a_must_cites_is_in_the_list_as_broken_or_as_kept() {
    let text = read("docs/exceptions.md").unwrap();
    for (protocol, least) in [(OF_SCTP, 20), (OF_TCP, 20)] {
        let (_, list) = protocol.list(&text);
        let (mut cited, mut wrong) = (0, Vec::new());
        for rfc in protocol.rfcs {
            let page = read(&format!("docs/requirements/rfc{rfc}.md")).unwrap();
            for (line, cells) in rows(&page).unwrap() {
                if !cells[1].starts_with("MUST") {
                    continue;
                }
                let spans = cells[3].split('`').skip(1).step_by(2);
                for cell in spans.filter_map(|span| span.strip_prefix("docs/exceptions.md: ")) {
                    cited += 1;
                    if !list.contains(cell) {
                        wrong.push(format!("rfc{rfc}.md, line {line}: {cell}"));
                    }
                }
            }
        }
        assert!(cited > least && wrong.is_empty(), "{cited} cited, not in the list: {wrong:?}");
    }
}

#[test]
fn each_page_of_requirements_is_of_one_protocol_whose_list_is_checked() {
    let of_both: Vec<&str> = OF_SCTP.rfcs.iter().chain(OF_TCP.rfcs).copied().collect();
    for name in pages() {
        let rfc = name.trim_start_matches("rfc").trim_end_matches(".md");
        assert_eq!(of_both.iter().filter(|one| **one == rfc).count(), 1, "{name}");
    }
}

/// A page of one row, for the tests of the check itself.
fn page(row: &str) -> String {
    format!(
        "# RFC 9260: x\n\n| section | level | requirement | held by |\n|---|---|---|---|\n{row}\n"
    )
}

const EXCEPTIONS: &str =
    "## RFC 9260 (SCTP)\n| 6.3.3 E2, back-off | x | y |\n## Others\n| 9293, 3.7 | x | y |\n";
const THIS: &str = "`interop/rules/tests/requirements.rs::the_check_takes_what_exists`";

#[test]
fn the_check_takes_what_exists() {
    let script = "`conformance/tcp/close/active.pkt`";
    let exception = "`docs/exceptions.md: 6.3.3 E2, back-off`";
    for (level, held) in [
        ("MUST", THIS),
        ("SHOULD NOT", script),
        ("MUST NOT (MUST-9)", exception),
        ("rule", &format!("{script}, but {exception}")),
        ("MAY", "Not used: words for no reason"),
        ("SHOULD", "Not ours: the application; no call of the stack does it"),
        ("MUST ×2, MUST NOT", THIS),
        ("MUST (MUST-20 part)", THIS),
        ("MAY", "Not used: words for no reason, as `docs/exceptions.md: 6.3.3 E2, back-off`"),
    ] {
        let page = page(&format!("| 6.3.3, E2 | {level} | is doubled once more | {held} |"));
        assert_eq!(check_page(&page, EXCEPTIONS).map(|(_, rows)| rows), Ok(1));
    }
}

#[test]
fn the_check_refuses_what_does_not_exist() {
    for row in [
        "| 6.3.3 | MUST | is doubled once more |  |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | open |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | Not used: words for no reason |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | Not ours: |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | Not ours: no call changes it |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | Not ours: the applications decide |".to_owned(),
        "| 6.3.3 | MAY | is doubled once more | Not used: as [exceptions.md](x) says |".to_owned(),
        "| 6.3.3 | MAY | is doubled once more | Not used: as `docs/exceptions.md: 6.3` |"
            .to_owned(),
        format!("| 6.3.3 | MUST ×1 | is doubled once more | {THIS} |"),
        format!("| 6.3.3 | SHOULD, MUST | is doubled once more | {THIS} |"),
        "| 6.3.3 | MUST | is doubled once more | `conformance/tcp/none.pkt` |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | `docs/exceptions.md: 9293, 3.7` |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | `interop/rules/tests/requirements.rs::page` |"
            .to_owned(),
        "| 6.3.3 | MUST | is doubled once more | `interop/tests/none.rs::page` |".to_owned(),
        "| 6.3.3 | MUST | is doubled once more | `README.md` |".to_owned(),
        format!("| 6.3.3 | WOULD | is doubled once more | {THIS} |"),
        format!("| six | MUST | is doubled once more | {THIS} |"),
        format!("| 6.3.3 | MUST |  | {THIS} |"),
        format!("| 6.3.3 | MUST | is doubled | once more | {THIS} |"),
        format!(
            "| 6.10 | MUST | is doubled once more | {THIS} |\n| 6.3.3 | MUST | is doubled once more | {THIS} |"
        ),
    ] {
        assert!(check_page(&page(&row), EXCEPTIONS).is_err(), "{row}");
    }
    assert!(check_page("# RFC 9260\n", EXCEPTIONS).is_err());
    assert!(check_page("# RFC 9260: x\n| a | b |\n", EXCEPTIONS).is_err());
}
