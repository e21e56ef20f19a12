//! Rules that are looked after while connections go on.

use std::io;

use tokio::task::{JoinHandle, spawn_blocking};

use super::{Applied, RouteError, Routes};

/// Rules that an edge keeps in force, or none. If the process that holds them ends, they are made
/// again: on a thread of its own, since nft takes its time, and as often as it takes, since it may
/// fail.
#[derive(Default)]
pub(in super::super) struct Kept {
    routes: Option<Routes>,
    /// Rules in force; none while they are not.
    applied: Option<Applied>,
    /// Task that applies the rules again. If its result is not taken, dropping it takes the rules
    /// back.
    renewing: Option<JoinHandle<Result<Applied, RouteError>>>,
    /// Whether the last attempt to apply the rules again failed.
    failed: bool,
}

impl Kept {
    /// Applies the rules, to keep them.
    ///
    /// # Errors
    /// As [`Routes::apply`].
    pub(in super::super) fn apply(routes: &Routes) -> Result<Kept, RouteError> {
        let applied = Some(routes.apply()?);
        Ok(Kept { routes: Some(routes.clone()), applied, ..Kept::default() })
    }

    /// Begins to make the rules again if they are not in force.
    pub(in super::super) fn look(&mut self) {
        let is_held = self.applied.as_mut().is_some_and(Applied::is_held);
        let Some(routes) = self.routes.as_ref().filter(|_| self.renewing.is_none() && !is_held)
        else {
            return;
        };
        let (ended, routes) = (self.applied.take(), routes.clone());
        self.renewing = Some(spawn_blocking(move || {
            // While anything is left of it, its table cannot be replaced.
            drop(ended);
            Applied::new(&routes)
        }));
    }

    /// Waits for the end of the attempt that [`Kept::look`] began; for ever if there was none. Of
    /// several failures in a row only the first is reported.
    ///
    /// # Errors
    /// As [`Routes::apply`]: the rules are not in force, until another attempt succeeds.
    pub(in super::super) async fn renewed(&mut self) -> Result<(), RouteError> {
        while let Some(renewing) = &mut self.renewing {
            let done = renewing.await;
            self.renewing = None;
            let done = done.unwrap_or_else(|error| Err(RouteError::NoNft(io::Error::other(error))));
            let has_failed_before = std::mem::replace(&mut self.failed, done.is_err());
            match done {
                Ok(applied) => {
                    self.applied = Some(applied);
                    return Ok(());
                }
                Err(error) if !has_failed_before => return Err(error),
                Err(_) => {}
            }
        }
        std::future::pending().await
    }

    /// Takes the rules back, those too that are just being made.
    pub(in super::super) async fn take_back(&mut self) {
        self.applied = None;
        if let Some(renewing) = self.renewing.take() {
            let _ = renewing.await;
        }
    }
}
