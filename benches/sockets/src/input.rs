//! The input of a process of this program: lines are questions, and its end ends the process.

use std::io::BufRead;
use std::result::Result;

/// Calls `answer` for each line of the input, in a thread of its own, which sleeps between them,
/// and ends the process with the input.
pub fn follow(mut answer: impl FnMut() + Send + 'static) {
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).for_each(|_| answer());
        std::process::exit(0);
    });
}
