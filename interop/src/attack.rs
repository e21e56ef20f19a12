//! Hostile clients of the commands that serve, honest clients beside them, and what the process
//! that serves holds meanwhile.

mod edge;
mod honest;
mod resident;
mod serve;

pub use edge::{EdgeAttack, EdgeSeen, Greed, attack_edge};
pub use honest::Honest;
pub use resident::resident;
pub use serve::{Attack, AttackReport, Taken, attack, most_resident};
