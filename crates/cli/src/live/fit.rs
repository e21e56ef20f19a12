//! Lines cut to the size of a terminal, so that each word that is left is whole.

use crate::terminal::Size;

/// Stands behind a line that was cut.
const CUT: &str = "…";

/// The lines as far as the terminal has room. Lines of a table lose the same columns; any other is
/// cut behind a part of its sentence, or a word. A number stays only with its column, or with the
/// word behind it.
pub(super) fn fit(lines: &[String], size: Size) -> Vec<String> {
    // The cursor stands below the last line.
    let room = size.rows.saturating_sub(1).max(1);
    let mut fitting = Vec::new();
    for block in lines.chunk_by(|one, next| is_of_table(one) && is_of_table(next)) {
        match block {
            [line] => fitting.push(cut_sentence(line, size.columns)),
            table => fitting.extend(cut_table(table, size.columns)),
        }
    }
    if fitting.len() > room {
        let left_out = fitting.len() - (room - 1);
        fitting.truncate(room - 1);
        fitting.push(cut_sentence(&format!("{CUT} {left_out} more lines"), size.columns));
    }
    fitting
}

/// Whether a line has columns.
fn is_of_table(line: &str) -> bool {
    line.trim_start().contains("  ")
}

fn width(line: &str) -> usize {
    line.chars().count()
}

/// The first `columns` characters, without spaces at the end, and a sign that there was more.
fn cut(line: &str, columns: usize) -> String {
    let kept: String = line.chars().take(columns).collect();
    let kept = kept.trim_end();
    if kept.is_empty() { CUT.to_owned() } else { format!("{kept} {CUT}") }
}

/// The last of these places behind which the sign still fits, or none.
fn last_place(places: impl Iterator<Item = usize>, columns: usize) -> Option<usize> {
    places.filter(|place| place + 1 + width(CUT) <= columns).max()
}

fn cut_table(table: &[String], columns: usize) -> Vec<String> {
    if table.iter().all(|line| width(line) <= columns) {
        return table.to_vec();
    }
    let rows: Vec<Vec<char>> = table.iter().map(|line| line.chars().collect()).collect();
    let is_gap = |place: &usize| rows.iter().all(|row| row.get(*place).is_none_or(|c| *c == ' '));
    let place = last_place((1..columns).filter(is_gap), columns).unwrap_or(0);
    let is_cut = |line: &&String| line.chars().skip(place).any(|c| c != ' ');
    let one = |line: &String| match is_cut(&line) {
        true => cut(line, place),
        false => line.trim_end().to_owned(),
    };
    table.iter().map(one).collect()
}

fn cut_sentence(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let characters: Vec<char> = line.chars().collect();
    let is_space = |place: &usize| characters[*place] == ' ';
    let spaces = || (1..characters.len()).filter(is_space);
    let ends_part = |place: &usize| ",;:".contains(characters[place - 1]);
    // A number alone, cut off from its unit, says nothing, and a part of a number something wrong.
    let ends_word = |place: &usize| {
        let word = characters[..*place].iter().rev().take_while(|c| **c != ' ');
        word.clone().any(|c| c.is_alphabetic()) && !word.clone().any(|c| c.is_ascii_digit())
    };
    let place = last_place(spaces().filter(ends_part), columns)
        .or_else(|| last_place(spaces().filter(ends_word), columns));
    cut(line, place.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo() -> Vec<String> {
        [
            "13.4 s of 20s; one-way latency in ms",
            "policy   sent  there  again     p50     p99     max  latest messages",
            "rfc      1340   1335    137      50    1150    3200  ▁▁█▃▁▁▁▁▁▁▂▁▁▁",
            "lksctp   1340   1335    137      50     850   13200  ▁▁█▃▁▁▁▁▁▁▂▁▁▁",
            "thin     1340   1340    152      50     300     601  ▁▁█▃▁▁▁▁▁▁▂▁▁▁",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    const TALL: usize = 50;

    fn at(lines: &[String], columns: usize) -> Vec<String> {
        fit(lines, Size { columns, rows: TALL })
    }

    /// Whether `shown` is the beginning of `line` up to the end of a word.
    fn is_whole(shown: &str, line: &str) -> bool {
        let kept = shown.strip_suffix(CUT).map_or(shown, str::trim_end);
        let rest = line.strip_prefix(kept);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ') || kept.is_empty())
    }

    #[test]
    fn what_is_shown_fits_and_every_word_of_it_is_whole_at_any_width() {
        let sentences = [
            "3 of 4 clients, 1000 messages, 50000 B",
            "game 10.0.0.2:22 to 127.0.0.1:22 (thin-rdb): 12 connections, 1234 segments",
            "sctp-thin/fig8a (3 of 45): 123 of 480 runs, 17 s",
            "123456789",
        ];
        let sentences = sentences.map(str::to_owned);
        for columns in 1..=120 {
            for lines in [&demo()[..], &sentences] {
                let shown = at(lines, columns);
                assert_eq!(shown.len(), lines.len());
                for (shown, line) in shown.iter().zip(lines) {
                    assert!(width(shown) <= columns, "{columns}: {shown}");
                    assert!(is_whole(shown, line), "{columns}: {shown}");
                }
            }
        }
        assert_eq!(at(&demo(), 120), demo());
    }

    #[test]
    fn lines_of_a_table_lose_the_same_columns() {
        let shown = at(&demo(), 46);
        assert_eq!(shown[1], "policy   sent  there  again     p50     p99 …");
        assert_eq!(shown[3], "lksctp   1340   1335    137      50     850 …");
        assert_eq!(shown[0], demo()[0]);
        // One column less has no room for the column and the sign.
        assert_eq!(at(&demo(), 44)[3], "lksctp   1340   1335    137      50 …");
    }

    #[test]
    fn a_number_too_long_for_its_column_takes_its_neighbours_with_it() {
        let table = ["name   count   rest", "a   123456789   12345", "b       12      9"];
        let table = table.map(str::to_owned);
        for columns in 1..=20 {
            for (shown, line) in at(&table, columns).iter().zip(&table) {
                assert!(is_whole(shown, line), "{columns}: {shown}");
            }
        }
    }

    #[test]
    fn a_number_does_not_stand_without_what_it_counts() {
        let line = "3 of 4 clients, 1000 messages, 50000 B".to_owned();
        assert_eq!(at(std::slice::from_ref(&line), 37), ["3 of 4 clients, 1000 messages, …"]);
        assert_eq!(at(std::slice::from_ref(&line), 25), ["3 of 4 clients, …"]);
        // Not "3 of 4": four of what?
        assert_eq!(at(std::slice::from_ref(&line), 8), ["3 of …"]);
        assert_eq!(at(&[line], 4), ["…"]);
        assert_eq!(at(&["received 1234567 bytes".to_owned()], 20), ["received …"]);
    }

    #[test]
    fn a_low_terminal_shows_the_first_lines_and_how_many_are_left_out() {
        let shown = fit(&demo(), Size { columns: 80, rows: 4 });
        assert_eq!(shown.len(), 3);
        assert_eq!((&shown[1], shown[2].as_str()), (&demo()[1], "… 3 more lines"));
        assert_eq!(fit(&demo(), Size { columns: 80, rows: 6 }), demo());
        assert_eq!(fit(&demo(), Size { columns: 80, rows: 1 }), ["… 5 more lines"]);
    }
}
