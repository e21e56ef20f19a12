//! Rules across the lines of a script: the form and order of times, and options before the first
//! event.

use base::Duration;

use crate::error::ParseError;
use crate::script::{Action, Event, Script, When};

/// # Errors
/// The first event or option that breaks a rule.
pub(super) fn check(script: &Script) -> Result<(), ParseError> {
    let first = script.events.iter().find(|event| !is_setting(&event.action));
    if let Some(first) = first
        && let Some(late) = script.options.iter().find(|option| option.line > first.line)
    {
        let message = format!("the option --{} stands behind the first event", late.name);
        return Err(ParseError::new(late.line, message));
    }
    let mut time = Duration::ZERO;
    for event in &script.events {
        check_form(event)?;
        let When::At { relative, from, .. } = event.when else { continue };
        if !relative && from < time {
            let message = format!("{from} lies before the event before, at {time}");
            return Err(ParseError::new(event.line, message));
        }
        time = if relative { time + from } else { from };
    }
    Ok(())
}

fn is_setting(action: &Action) -> bool {
    matches!(action, Action::Shell(_) | Action::Code(_))
}

/// Checks that the form of a time suits the action: packets of the stack may come at any time or
/// within a range, calls have a duration, and all other events happen at one time.
fn check_form(event: &Event) -> Result<(), ParseError> {
    let wrong = |message: &str| Err(ParseError::new(event.line, message));
    let (is_expected, is_call) =
        (matches!(event.action, Action::Expect(_)), matches!(event.action, Action::Call(_)));
    match (&event.action, event.when) {
        (Action::Unsupported(_) | Action::Shell(_) | Action::Code(_), _) => Ok(()),
        (_, When::Any) if !is_expected => {
            wrong("only a packet that is expected may come at any time")
        }
        (_, When::At { to: Some(_), .. }) if !is_expected => {
            wrong("only a packet that is expected may come within a range of time")
        }
        (_, When::At { until: Some(_), .. }) if !is_call => {
            wrong("only a call may take from a...b")
        }
        (_, When::At { from, to: Some(end), .. } | When::At { from, until: Some(end), .. })
            if end < from =>
        {
            wrong("the end of the time lies before its beginning")
        }
        _ => Ok(()),
    }
}
