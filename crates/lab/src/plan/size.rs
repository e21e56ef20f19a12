//! Sizes of a plan: durations, seeds and swept values.

/// Size of a plan's runs: durations, numbers of seeds and values of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Size {
    /// Durations and seeds of `[run]`.
    #[default]
    Normal,
    /// The size of the paper: values of `[full]` replace those of the plan.
    Full,
    /// The size of tests, `[small]`.
    Small,
}

impl Size {
    /// Section of a plan with this size; `None` for that of `[run]`.
    pub(super) fn section(self) -> Option<&'static str> {
        match self {
            Size::Normal => None,
            Size::Full => Some("full"),
            Size::Small => Some("small"),
        }
    }

    /// Replaces values of `[run]` by those of the size's section.
    pub(super) fn apply(self, plan: &mut toml::Table) {
        let section = self.section().and_then(|name| plan.get(name)).and_then(|one| one.as_table());
        let Some(mut changes) = section.cloned() else { return };
        changes.remove("sweep");
        if let Some(run) = plan.get_mut("run").and_then(|run| run.as_table_mut()) {
            run.extend(changes);
        }
    }
}
