//! Lines in one place of a terminal: the escape sequences that put new ones there.

use crate::terminal::Size;

/// The lines that were drawn last.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Columns that each line takes.
    widths: Vec<usize>,
}

impl Frame {
    /// Output that replaces the previous lines by `lines`, which fit the terminal.
    pub(super) fn replace(&mut self, lines: &[String], size: Size) -> String {
        let rows = self.rows(size);
        let mut text = match (rows, self.widths.is_empty()) {
            (0, true) => String::new(),
            (0, false) => "\r".to_owned(),
            (up, _) => format!("\x1b[{up}A\r"),
        };
        // Line by line: terminals keep a screen that is cleared at once among the lines that
        // scrolled away. Behind a line that fills its row the cursor stands on the last
        // character, which erasing would take away: so before it.
        for line in lines {
            text.push_str("\x1b[K");
            text.push_str(line);
            text.push('\n');
        }
        let left = rows.saturating_sub(lines.len());
        if left > 0 {
            text.push_str(&"\x1b[K\n".repeat(left));
            text.push_str(&format!("\x1b[{left}A"));
        }
        self.widths = lines.iter().map(|line| line.chars().count()).collect();
        text
    }

    /// Rows of the terminal from the first line drawn to the cursor. One that became narrower since
    /// has broken lines in two; above its first row nothing can be reached.
    fn rows(&self, size: Size) -> usize {
        let rows = |width: &usize| width.div_ceil(size.columns.max(1)).max(1);
        self.widths.iter().map(rows).sum::<usize>().min(size.rows.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_first_frame_erases_nothing_and_the_next_exactly_the_last() {
        let size = Size { columns: 80, rows: 24 };
        let mut frame = Frame::default();
        assert_eq!(frame.replace(&lines(&["a", "b"]), size), "\x1b[Ka\n\x1b[Kb\n");
        let fewer = frame.replace(&lines(&["c"]), size);
        assert_eq!(fewer, "\x1b[2A\r\x1b[Kc\n\x1b[K\n\x1b[1A");
        assert_eq!(frame.replace(&[], size), "\x1b[1A\r\x1b[K\n\x1b[1A");
        assert_eq!(frame.replace(&[], size), "");
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_erased_whole() {
        let mut frame = Frame::default();
        frame.replace(&lines(&[&"x".repeat(80), "y", ""]), Size { columns: 80, rows: 24 });
        let narrow = Size { columns: 40, rows: 24 };
        let text = frame.replace(&lines(&["z"]), narrow);
        assert_eq!(text, format!("\x1b[4A\r\x1b[Kz\n{}\x1b[3A", "\x1b[K\n".repeat(3)));
    }

    #[test]
    fn a_lower_terminal_is_erased_to_its_first_row() {
        let mut frame = Frame::default();
        frame.replace(&lines(&["x"; 7]), Size { columns: 80, rows: 8 });
        let text = frame.replace(&[], Size { columns: 80, rows: 4 });
        assert!(text.starts_with("\x1b[3A\r\x1b[K\n") && text.ends_with("\x1b[3A"), "{text:?}");
        frame.replace(&lines(&["x"; 7]), Size { columns: 80, rows: 8 });
        assert_eq!(frame.replace(&[], Size { columns: 80, rows: 1 }), "\r");
    }
}
