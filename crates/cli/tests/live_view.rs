//! Tests of the terminal's contents while a command redraws its state, read from the terminal's
//! other side: no number is cut, and nothing of an earlier state is left.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Read;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// A terminal's screen, as far as the command uses one. As in xterm, a character in the last column
/// leaves the cursor there until another follows, and erasing takes that character away.
struct Screen {
    columns: usize,
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The last column was written, and the next character begins another row.
    wraps: bool,
}

impl Screen {
    fn new(columns: usize, rows: usize) -> Screen {
        let rows = vec![vec![' '; columns]; rows];
        Screen { columns, rows, row: 0, column: 0, wraps: false }
    }

    /// Shows text; before each frame, which begins with a way up, `check` sees the one before.
    fn show(&mut self, text: &str, mut check: impl FnMut(&Screen)) {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\r' => (self.column, self.wraps) = (0, false),
                '\n' => self.feed(),
                '\x1b' => {
                    assert_eq!(characters.next(), Some('['));
                    let mut number = String::new();
                    let command = loop {
                        match characters.next().expect("a whole sequence") {
                            digit @ '0'..='9' => number.push(digit),
                            command => break command,
                        }
                    };
                    match command {
                        'A' => {
                            check(self);
                            self.row = self.row.saturating_sub(number.parse().unwrap());
                            self.wraps = false;
                        }
                        'K' => self.rows[self.row][self.column..].fill(' '),
                        other => panic!("a sequence that ends in {other:?}"),
                    }
                }
                character => self.put(character),
            }
        }
    }

    fn put(&mut self, character: char) {
        assert!(!character.is_control(), "{character:?}");
        if self.wraps {
            (self.column, self.wraps) = (0, false);
            self.feed();
        }
        self.rows[self.row][self.column] = character;
        match self.column + 1 == self.columns {
            true => self.wraps = true,
            false => self.column += 1,
        }
    }

    /// A line down; what stands in the first row scrolls away at the end.
    fn feed(&mut self) {
        self.wraps = false;
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.remove(0);
            self.rows.push(vec![' '; self.columns]);
            self.row -= 1;
        }
    }

    /// The rows from the first to the last with anything in it.
    fn lines(&self) -> Vec<String> {
        let lines =
            self.rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned());
        let mut lines: Vec<String> = lines.collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

const POLICIES: [&str; 3] = ["rfc", "lksctp", "latency"];
const HEADINGS: [&str; 7] = ["policy", "sent", "there", "again", "p50", "p99", "max"];
const CUT: &str = "…";

/// Numbers of a view that never become less: time, and three of each policy.
type Counted = Vec<f64>;

/// Holds a screen to what a view may look like in `columns`, and returns what it counts.
fn check(screen: &Screen, all_rows: usize) -> Counted {
    let lines = screen.lines();
    let text = lines.join("\n");
    let room = all_rows - 1;
    let shown = if lines.len() > room { panic!("{text}") } else { lines.len().min(5) };
    let (time, rest) = lines[0].split_once(" s of 2s").unwrap_or_else(|| panic!("{text}"));
    assert!(rest.is_empty() || rest.starts_with([';', ',', ' ']), "{text}");
    let mut counted = vec![time.parse().unwrap_or_else(|_| panic!("{text}"))];

    let headings: Vec<&str> = lines[1].split_whitespace().collect();
    let is_cut = headings.last() == Some(&CUT);
    let columns = headings.iter().take_while(|one| HEADINGS.contains(one)).count();
    assert_eq!(headings[..columns], HEADINGS[..columns], "{text}");
    let behind = &headings[columns..];
    assert!(behind == ["latest", "messages"] || behind == [CUT], "{text}");
    assert_eq!(is_cut, columns < HEADINGS.len(), "{text}");

    let whole = room >= 5;
    let policies = if whole { 3 } else { room - 3 };
    for (line, policy) in lines[2..2 + policies].iter().zip(POLICIES) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[0], policy, "{text}");
        assert_eq!(cells.last() == Some(&CUT), is_cut, "{text}");
        let numbers = &cells[1..columns];
        let is_number = |cell: &&str| **cell == *"-" || cell.parse::<u64>().is_ok();
        assert!(numbers.iter().all(is_number), "{text}");
        // Behind the numbers stand bars, as many as there is room for, and nothing else.
        let bars = cells[columns..].concat();
        assert!(is_cut || bars.chars().all(|bar| ('▁'..='█').contains(&bar)), "{text}");
        // Of the columns that are whole, those that only grow.
        counted.extend(numbers.iter().take(3).map(|cell| cell.parse::<f64>().unwrap()));
    }
    match whole {
        true => assert_eq!(shown, 5, "{text}"),
        false => assert_eq!(lines[2 + policies], format!("{CUT} {} more lines", 3 - policies)),
    }
    counted
}

/// Runs a demo on a terminal, and holds each of its views to [`check`].
fn watch(columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let page = std::env::temp_dir().join(format!("live-{}-{columns}.html", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_thinstream"));
    command
        .args(["demo", "--duration", "2s", "--flows", "3", "--interval", "20ms", "--rtt", "20ms"])
        .args(["--policies", &POLICIES.join(","), "--html"])
        .arg(&page)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(terminal.slave));
    let mut process = command.spawn().unwrap();
    drop(command);
    let mut bytes = Vec::new();
    // The terminal's other side ends with an error once the command has ended.
    let _ = std::fs::File::from(terminal.master).read_to_end(&mut bytes);
    assert!(process.wait().unwrap().success(), "{}", String::from_utf8_lossy(&bytes));
    let _ = std::fs::remove_file(page);

    let mut screen = Screen::new(columns.into(), rows.into());
    let (mut views, mut full, mut before) = (0, false, Counted::new());
    screen.show(std::str::from_utf8(&bytes).unwrap(), |screen| {
        // The way up behind a frame that was taken away sees nothing.
        if screen.lines().is_empty() {
            return;
        }
        let counted = check(screen, rows.into());
        let grew = before.iter().zip(&counted).all(|(before, now)| now >= before);
        assert!(grew, "{before:?} {counted:?}");
        // Bars take all the room that there is: none may be lost in the last column.
        full |= screen.rows.iter().any(|row| row.last() != Some(&' '));
        (views, before) = (views + 1, counted);
    });
    assert!(views >= 5, "{views} views in two seconds");
    assert!(full || columns < 80, "no view had a bar in its last column");
    let left = screen.lines().join("\n");
    assert!(!POLICIES.iter().any(|policy| left.contains(&format!("{policy} "))), "left: {left}");
}

#[test]
fn a_terminal_of_80_by_8_shows_whole_numbers_and_nothing_of_earlier_views() {
    watch(80, 8);
}

#[test]
fn a_terminal_of_40_by_5_shows_whole_numbers_and_nothing_of_earlier_views() {
    watch(40, 5);
}

#[test]
fn erasing_behind_a_full_row_would_take_its_last_character() {
    let mut screen = Screen::new(4, 2);
    screen.show("1234\x1b[K", |_| ());
    assert_eq!(screen.lines(), ["123"], "what the command must not do");
    let mut screen = Screen::new(4, 2);
    screen.show("\x1b[K1234\r\n\x1b[K12", |_| ());
    assert_eq!(screen.lines(), ["1234", "12"]);
}
